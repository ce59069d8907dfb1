"""Waiting items form one batch; an item that fails does not affect the others."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from crbm.web.batching import Batcher, OverloadedError


class Doubling:
    """Doubles numbers, records its batches, and blocks while `go_on` is cleared."""

    def __init__(self):
        self.batches, self.go_on = [], Event()
        self.go_on.set()

    def __call__(self, numbers):
        self.batches.append(list(numbers))
        assert self.go_on.wait(10)
        if 13 in numbers:
            raise ArithmeticError("unlucky")
        return [2 * number for number in numbers]


def run(scenario, **limits):
    """Run a scenario with a batcher over a `Doubling`."""
    double = Doubling()
    with ThreadPoolExecutor(1) as pool:
        result = asyncio.run(scenario(Batcher(double, pool, **limits), double))
    return result, double.batches


async def busy(batcher, double):
    """Keep the batcher busy with the number 0, so that later items wait."""
    double.go_on.clear()
    first = asyncio.create_task(batcher.submit(0))
    while not double.batches:
        await asyncio.sleep(0.001)
    return first


async def submit_while_busy(batcher, double, numbers):
    first = await busy(batcher, double)
    waiting = [asyncio.create_task(batcher.submit(number)) for number in numbers]
    await asyncio.sleep(0)
    double.go_on.set()
    return await asyncio.gather(first, *waiting, return_exceptions=True)


def test_a_single_item_does_not_wait():
    async def scenario(batcher, double):
        return [await batcher.submit(1), await batcher.submit(2)]

    assert run(scenario) == ([2, 4], [[1], [2]])


def test_waiting_items_are_processed_in_one_call_in_order():
    async def scenario(batcher, double):
        return await submit_while_busy(batcher, double, range(1, 8))

    answers, batches = run(scenario)
    assert answers == [0, 2, 4, 6, 8, 10, 12, 14]
    assert batches == [[0], [1, 2, 3, 4, 5, 6, 7]]


def test_requests_that_answers_bring_join_the_next_batch():
    async def client(batcher, numbers):
        return [await batcher.submit(number) for number in numbers]

    async def scenario(batcher, double):
        first = await busy(batcher, double)
        waiting = [asyncio.create_task(client(batcher, (n, 10 + n))) for n in (1, 2)]
        first.add_done_callback(
            lambda _: waiting.append(asyncio.create_task(client(batcher, (3, 13 * 3))))
        )
        await asyncio.sleep(0)
        double.go_on.set()
        await first
        await asyncio.sleep(0)
        return await asyncio.gather(*waiting)

    answers, batches = run(scenario)
    assert answers == [[2, 22], [4, 24], [6, 78]]
    assert batches == [[0], [1, 2, 3], [11, 12, 39]]


def test_a_batch_has_at_most_the_largest_size():
    async def scenario(batcher, double):
        return await submit_while_busy(batcher, double, range(1, 8))

    assert run(scenario, largest=3)[1] == [[0], [1, 2, 3], [4, 5, 6], [7]]


def test_an_error_reaches_its_own_item_only():
    async def scenario(batcher, double):
        found = await submit_while_busy(batcher, double, [11, 12, 13, 14, 13])
        return [*found, await batcher.submit(15)]

    answers, batches = run(scenario)
    assert [repr(answer) for answer in answers] == [
        *("0", "22", "24"),
        *("ArithmeticError('unlucky')", "28", "ArithmeticError('unlucky')"),
        "30",
    ]
    # halved until the failing items are alone
    assert batches[1:3] == [[11, 12, 13, 14, 13], [11, 12]]


def test_a_wrong_number_of_results_is_an_error_not_a_hang():
    async def scenario():
        return await Batcher(lambda items: [], pool).submit(1)

    with ThreadPoolExecutor(1) as pool, pytest.raises(RuntimeError, match="0 results"):
        asyncio.run(asyncio.wait_for(scenario(), 10))


def test_cancelled_items_are_not_processed():
    async def scenario(batcher, double):
        first = await busy(batcher, double)
        gone, stays = (asyncio.create_task(batcher.submit(n)) for n in (1, 2))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        double.go_on.set()
        return await asyncio.gather(first, stays)

    assert run(scenario) == ([0, 4], [[0], [2]])


def test_items_beyond_the_longest_queue_are_refused():
    async def scenario(batcher, double):
        first = await busy(batcher, double)
        waiting = [asyncio.create_task(batcher.submit(n)) for n in (1, 2)]
        await asyncio.sleep(0)
        with pytest.raises(OverloadedError, match="2 requests are waiting"):
            await batcher.submit(3)
        double.go_on.set()
        return await asyncio.gather(first, *waiting)

    assert run(scenario, longest=2)[0] == [0, 2, 4]
