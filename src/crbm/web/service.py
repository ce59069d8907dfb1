"""One model at work: single requests in batches, large ones beside them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from crbm.web import answers
from crbm.web.answers import Case
from crbm.web.batching import Batcher
from crbm.web.metrics import Metrics
from crbm.web.questions import InputError
from crbm.web.schemas import LabelSets, Prediction, Trajectory
from crbm.web.served import Served

Answer = TypeVar("Answer")


class Pools:
    """A thread for single requests and one for large ones, which may take long."""

    def __init__(self) -> None:
        self.single = ThreadPoolExecutor(1, thread_name_prefix="single")
        self.large = ThreadPoolExecutor(1, thread_name_prefix="large")

    def close(self) -> None:
        """End the threads; what waits is dropped."""
        for pool in (self.single, self.large):
            pool.shutdown(cancel_futures=True)


class Service:
    """Answers about one model, without blocking the event loop."""

    def __init__(self, served: Served, pools: Pools, metrics: Metrics) -> None:
        self.served, self.classifier = served, served.classifier
        self._pools, self._metrics = pools, metrics
        self._batcher: Batcher[Case, Prediction] = Batcher(self._batch, pools.single)

    async def predict(self, case: Case) -> Prediction:
        """The prediction for one case, computed with others that wait."""
        found = await self._batcher.ask(case)
        _check_finite(found.probabilities)
        return found

    async def predict_batch(self, cases: Sequence[Case]) -> list[Prediction]:
        """Predictions for many cases."""
        found = await self._beside(partial(self._batch, cases))
        for prediction in found:
            _check_finite(prediction.probabilities)
        return found

    async def top_sets(self, case: Case, k: int) -> LabelSets:
        """The likeliest label sets of a case."""
        ask = partial(answers.top_sets, self.classifier, case, k)
        found = await self._beside(ask)
        _check_finite(label_set.probability for label_set in found.sets)
        return found

    async def trajectory(self, case: Case, n_steps: int) -> Trajectory:
        """The free energy along mean field."""
        ask = partial(answers.trajectory, self.classifier, case, n_steps)
        found = await self._beside(ask)
        _check_finite(found.free_energy + found.bound)
        return found

    def _batch(self, cases: Sequence[Case]) -> list[Prediction]:
        self._metrics.batch(self.served.name, len(cases))
        return answers.predictions(self.classifier, cases)

    async def _beside(self, ask: Callable[[], Answer]) -> Answer:
        return await asyncio.get_running_loop().run_in_executor(self._pools.large, ask)


def _check_finite(values: Iterable[float]) -> None:
    if not math.isfinite(math.fsum(values)):
        raise InputError(
            "The inputs are so large that the model's numbers overflow; scale them as "
            "in training."
        )
