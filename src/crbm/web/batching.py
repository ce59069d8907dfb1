"""Batch single requests: those that wait during one call form the next batch."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class OverloadedError(RuntimeError):
    """Too many requests are waiting."""


class Batcher(Generic[Item, Result]):
    """Collects items while a call is running and passes them to the next call.

    A batch never waits to fill up: with one request at a time each batch has one item,
    and batches grow with the load.

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
        finally:
            self._task = None

    async def _process_batch(
        self, items: tuple[Item, ...], futures: tuple[Future[Result], ...]
    ) -> None:
        loop = asyncio.get_running_loop()
        try:
            results = await loop.run_in_executor(self._pool, self._process, items)
        except Exception as error:
            for future in _not_cancelled(futures):
                future.set_exception(error)
            return
        result_of = dict(zip(futures, results, strict=True))
        for future in _not_cancelled(futures):
            future.set_result(result_of[future])

    def _next_batch(self) -> list[tuple[Item, Future[Result]]]:
        """The first waiting items, without cancelled ones."""
        batch: list[tuple[Item, Future[Result]]] = []
        while self._waiting and len(batch) < self._largest:
            item, future = self._waiting.popleft()
            if not future.done():
                batch.append((item, future))
        return batch


def _not_cancelled(futures: Sequence[Future[Result]]) -> list[Future[Result]]:
    return [future for future in futures if not future.done()]
