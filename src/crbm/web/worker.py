"""Run the predictions of one model in threads, beside the event loop."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np

from crbm.preprocessing.conversion import WrongValueError
from crbm.web import prediction
from crbm.web.batching import Batcher, Outcome, process_each
from crbm.web.metrics import Metrics
from crbm.web.models import LoadedModel
from crbm.web.prediction import Answer, Case, InputError
from crbm.web.schemas import LabelSets, Trajectory

OVERFLOW = (
    "The inputs are so large that the computation overflows; scale them as in training."
)
Result = TypeVar("Result")


class Pools:
    """One thread for single predictions and one for large requests."""

    def __init__(self) -> None:
        self.single = ThreadPoolExecutor(1, thread_name_prefix="single")
        self.large = ThreadPoolExecutor(1, thread_name_prefix="large")

    def close(self) -> None:
        """Stop the threads and cancel the requests that still wait."""
        for pool in (self.single, self.large):
            pool.shutdown(cancel_futures=True)


class ModelWorker:
    """Predicts with one model without blocking the event loop."""

    def __init__(self, model: LoadedModel, pools: Pools, metrics: Metrics) -> None:
        self.model, self.classifier = model, model.classifier
        self._pools, self._metrics = pools, metrics
        self._batcher: Batcher[Case, Answer] = Batcher(
            self._predict_cases, pools.single
        )

    async def predict(self, case: Case) -> Answer:
        """Predict one case, in one batch with other waiting cases."""
        with _overflow_as_input_error():
            result = await self._batcher.submit(case)
            _check_finite(result.probabilities)
        return result

    async def predict_batch(self, cases: Sequence[Case]) -> list[Answer]:
        """Predict several cases."""
        call = partial(process_each, self._predict_cases, cases)
        outcomes = await self._in_large_pool(call)
        return [
            _answer_of_case(place, outcome) for place, outcome in enumerate(outcomes)
        ]

    async def top_sets(self, case: Case, k: int) -> LabelSets:
        """The most probable label sets of a case."""
        call = partial(prediction.top_sets, self.classifier, case, k)
        with _overflow_as_input_error():
            result = await self._in_large_pool(call)
            _check_finite(label_set.probability for label_set in result.sets)
        return result

    async def trajectory(self, case: Case, n_steps: int) -> Trajectory:
        """The free energy after each mean-field step."""
        call = partial(prediction.trajectory, self.classifier, case, n_steps)
        with _overflow_as_input_error():
            result = await self._in_large_pool(call)
            _check_finite(result.free_energy + result.bound)
        return result

    def _predict_cases(self, cases: Sequence[Case]) -> list[Answer]:
        self._metrics.count_batch(self.model.name, len(cases))
        return prediction.predict(self.classifier, cases)

    async def _in_large_pool(self, call: Callable[[], Result]) -> Result:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pools.large, call)


@contextmanager
def _overflow_as_input_error(place: str = "") -> Iterator[None]:
    """Report that a model refuses a case: it was parsed, so its values overflow.

    Of a table, it may also refuse what a column holds.
    """
    try:
        yield
    except InputError:
        raise
    except WrongValueError as error:
        raise InputError(f"{place}`input`: {error.problem}") from error
    except ValueError as error:
        raise InputError(place + OVERFLOW) from error


def _answer_of_case(place: int, outcome: Outcome[Answer]) -> Answer:
    with _overflow_as_input_error(f"Case {place}: "):
        if isinstance(outcome, Exception):
            raise outcome
        _check_finite(outcome.probabilities)
    return outcome


def _check_finite(values: Iterable[float] | np.ndarray) -> None:
    total = values.sum() if isinstance(values, np.ndarray) else sum(values)
    if not math.isfinite(total):
        raise ValueError("not finite")
