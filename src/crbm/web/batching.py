"""Single questions answered in batches: what waits during one call is the next."""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Generic, TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")


class OverloadedError(RuntimeError):
    """More questions wait than may."""


class Batcher(Generic[Question, Answer]):
    """Collects questions while a call is running and asks them in one call.

    Nobody waits for a batch to fill: with one question at a time every batch is a
    single one, and batches grow with the load.

    Parameters
    ----------
    answer
        Answers several questions at once, in their order; runs in `pool`.
    pool
        Where it runs, beside the event loop.
    largest
        Most questions of one call.
    longest
        Most questions that may wait; further ones are refused.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> async def ask_three(batcher):
    ...     return await asyncio.gather(*(batcher.ask(n) for n in range(3)))
    >>> with ThreadPoolExecutor(1) as pool:
    ...     doubles = Batcher(lambda numbers: [2 * n for n in numbers], pool)
    ...     asyncio.run(ask_three(doubles))
    [0, 2, 4]
    """

    def __init__(
        self,
        answer: Callable[[Sequence[Question]], Sequence[Answer]],
        pool: Executor,
        *,
        largest: int = 64,
        longest: int = 4096,
    ) -> None:
        self._answer, self._pool = answer, pool
        self._largest, self._longest = largest, longest
        self._waiting: deque[tuple[Question, Future[Answer]]] = deque()
        self._task: asyncio.Task[None] | None = None

    async def ask(self, question: Question) -> Answer:
        """The answer to one question, computed together with others that wait."""
        if len(self._waiting) >= self._longest:
            raise OverloadedError(
                f"{self._longest} requests are waiting already; try again in a moment."
            )
        future: Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        if self._task is None:
            self._task = asyncio.create_task(self._work_off())
        return await future

    async def _work_off(self) -> None:
        try:
            while batch := self._next_batch():
                await self._answer_all(*zip(*batch, strict=True))
        finally:
            self._task = None

    async def _answer_all(
        self, questions: tuple[Question, ...], futures: tuple[Future[Answer], ...]
    ) -> None:
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._pool, self._answer, questions)
        except Exception as error:
            for future in _waited_for(futures):
                future.set_exception(error)
            return
        settled = dict(zip(futures, answers, strict=True))
        for future in _waited_for(futures):
            future.set_result(settled[future])

    def _next_batch(self) -> list[tuple[Question, Future[Answer]]]:
        """What waits, without those who have gone away."""
        batch: list[tuple[Question, Future[Answer]]] = []
        while self._waiting and len(batch) < self._largest:
            question, future = self._waiting.popleft()
            if not future.done():
                batch.append((question, future))
        return batch


def _waited_for(futures: Sequence[Future[Answer]]) -> list[Future[Answer]]:
    """Those whose askers have not gone away meanwhile."""
    return [future for future in futures if not future.done()]
