"""Batch single requests: those that wait during one call form the next batch."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeAlias, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


Outcome: TypeAlias = Result | Exception
# Turns of the event loop between two batches: one to write answers, one to read what
# has come, and one in which its handlers submit.
TURNS_BETWEEN_BATCHES = 3


class OverloadedError(RuntimeError):
    """Too many requests are waiting."""


class Batcher(Generic[Item, Result]):
    """Collects items while a call is running and passes them to the next call.

    A batch never waits to fill up: with one request at a time each batch has one item,
    and batches grow with the load. Between two batches the event loop answers and reads
    what has come, so that these requests are in the next batch and not in the one after
    it. An item that fails does not fail its neighbours.

    Parameters
    ----------
    process
        Function from several items to their results, in the same order. Runs in `pool`.
    pool
        The executor, beside the event loop.
    largest
        Maximum number of items in one call.
    longest
        Maximum number of waiting items; further ones are refused.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> async def submit_three(batcher):
    ...     return await asyncio.gather(*(batcher.submit(n) for n in range(3)))
    >>> with ThreadPoolExecutor(1) as pool:
    ...     doubles = Batcher(lambda numbers: [2 * n for n in numbers], pool)
    ...     asyncio.run(submit_three(doubles))
    [0, 2, 4]
    """

    def __init__(
        self,
        process: Callable[[Sequence[Item]], Sequence[Result]],
        pool: Executor,
        *,
        largest: int = 64,
        longest: int = 4096,
    ) -> None:
        self._process, self._pool = process, pool
        self._largest, self._longest = largest, longest
        self._waiting: deque[tuple[Item, Future[Result]]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def submit(self, item: Item) -> Result:
        """The result for one item, computed in one batch with other waiting items."""
        if len(self._waiting) >= self._longest:
            raise OverloadedError(
                f"{self._longest} requests are waiting already; try again in a moment."
            )
        future: Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._task is None:
            self._task = asyncio.create_task(self._process_waiting())
        return await future

    async def _process_waiting(self) -> None:
        try:
            while batch := self._next_batch():
                await self._process_batch(*zip(*batch, strict=True))
                for _ in range(TURNS_BETWEEN_BATCHES):
                    await asyncio.sleep(0)
        finally:
            self._task = None

    async def _process_batch(
        self, items: tuple[Item, ...], futures: tuple[Future[Result], ...]
    ) -> None:
        loop = asyncio.get_running_loop()
        try:
            outcomes = await loop.run_in_executor(
                self._pool, process_each, self._process, items
            )
        except Exception as error:  # the pool is closed
            outcomes = [error] * len(items)
        for future, outcome in zip(futures, outcomes, strict=True):
            _resolve(future, outcome)

    def _next_batch(self) -> list[tuple[Item, Future[Result]]]:
        """The first waiting items, without cancelled ones."""
        batch: list[tuple[Item, Future[Result]]] = []
        while self._waiting and len(batch) < self._largest:
            item, future = self._waiting.popleft()
            if not future.done():
                batch.append((item, future))
        return batch


def process_each(
    process: Callable[[Sequence[Item]], Sequence[Result]], items: Sequence[Item]
) -> list[Outcome[Result]]:
    """The result of each item, or its own error.

    One call does it if nothing fails. A batch that fails is halved until the items that
    fail are alone.

    Examples
    --------
    >>> process_each(lambda numbers: [6 / n for n in numbers], [1, 2, 0, 3])
    [6.0, 3.0, ZeroDivisionError('division by zero'), 2.0]
    """
    try:
        results: list[Outcome[Result]] = list(process(items))
        if len(results) != len(items):
            raise RuntimeError(f"{len(items)} items gave {len(results)} results.")
        return results
    except Exception as error:
        if len(items) == 1:
            return [error]
        half = len(items) // 2
        parts = items[:half], items[half:]
        return [outcome for part in parts for outcome in process_each(process, part)]


def _resolve(future: Future[Result], outcome: Outcome[Result]) -> None:
    """Hand an outcome to the request that waits for it, unless that was cancelled."""
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
