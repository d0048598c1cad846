"""Batches: who waits together is answered together, each gets their own, an error is one's own, full is full."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from threading import Event, Lock
from typing import Any

import pytest

from regard.serve.batcher import Batcher, FullError, StoppedError


def tenfold(rows: list[Any], key: Any) -> list[Any]:
    return [row * 10 for row in rows]


class Held:
    """Work that begins when it is let."""

    def __init__(self) -> None:
        self.go, self.begun = Event(), Event()
        self.batches = list[tuple[list[Any], Any]]()

    def __call__(self, rows: list[Any], key: Any) -> list[Any]:
        self.batches.append((list(rows), key))
        self.begun.set()
        assert self.go.wait(10)
        return tenfold(rows, key)


def with_batcher(
    work: Callable[[list[Any], Any], list[Any]], test: Callable[[Batcher], Coroutine[Any, Any, None]], **options: Any
) -> None:
    batcher = Batcher(work, **{"batch": 4, "window": 0.0, "queue": 100} | options)

    async def whole() -> None:
        batcher.start()
        try:
            await asyncio.wait_for(test(batcher), 20)
        finally:
            batcher.stop()

    asyncio.run(whole())


async def begun(held: Held) -> None:
    await asyncio.to_thread(held.begun.wait, 10)


def test_answers_come_back_to_whoever_asked() -> None:
    sizes = list[int]()

    async def test(batcher: Batcher) -> None:
        asked = [[n] * (n % 3 + 1) for n in range(60)]
        found = await asyncio.gather(*(batcher.submit(rows, "k") for rows in asked[:30]))
        found += await asyncio.gather(*(batcher.submit(rows, "k") for rows in asked[30:]))
        assert found == [[row * 10 for row in rows] for rows in asked]
        assert await batcher.submit([], "k") == []
        assert sum(sizes) == sum(map(len, asked))
        assert max(sizes) <= 4

    with_batcher(tenfold, test, seen=sizes.append)


def test_what_gathers_while_one_is_in_work_goes_together_by_key() -> None:
    held = Held()

    async def test(batcher: Batcher) -> None:
        first = batcher.submit([0], "a")
        await begun(held)
        later = [batcher.submit([n], key) for n, key in enumerate("abaabaa", 1)]
        assert batcher.depth == 7
        held.go.set()
        assert await first == [0]
        assert await asyncio.gather(*later) == [[10 * n] for n in range(1, 8)]
        # The oldest leads; of its kind at most four go with it, and nobody of another kind is passed over for ever.
        assert held.batches == [([0], "a"), ([1, 3, 4, 6], "a"), ([2, 5], "b"), ([7], "a")]
        await asyncio.sleep(0.05)
        assert batcher.idle

    with_batcher(held, test)


def test_a_batch_waits_for_others_but_not_long() -> None:
    sizes = list[int]()

    async def test(batcher: Batcher) -> None:
        began = time.monotonic()
        answers = [batcher.submit([1], "k")]
        await asyncio.sleep(0.02)
        answers += [batcher.submit([2], "k") for _ in range(3)]  # now there are four, and nobody waits any longer
        await asyncio.gather(*answers)
        assert time.monotonic() - began < 50
        assert sizes == [4]

    with_batcher(tenfold, test, window=100.0, seen=sizes.append)

    async def alone(batcher: Batcher) -> None:
        began = time.monotonic()
        await batcher.submit([1], "k")
        assert 0.05 <= time.monotonic() - began < 50

    with_batcher(tenfold, alone, window=0.05)


def test_an_error_is_that_of_one_request() -> None:
    held, calls = Held(), list[int]()

    def work(rows: list[Any], key: Any) -> list[Any]:
        calls.append(len(rows))
        held([], key)
        if 3 in rows:
            raise ValueError("three")
        return tenfold(rows, key)

    async def test(batcher: Batcher) -> None:
        first = batcher.submit([0], "k")
        await begun(held)
        answers = [batcher.submit(rows, "k") for rows in ([1], [2, 3], [4], [5], [6], [7])]
        held.go.set()
        await first
        found = await asyncio.gather(*answers, return_exceptions=True)
        assert [str(one) if isinstance(one, ValueError) else one for one in found] == [
            *([10], "three", [40]),
            *([50], [60], [70]),
        ]
        assert calls == [1, 7, 3, 1, 2, 1, 1, 4]  # halved, not one by one

    with_batcher(work, test, batch=8)


def test_too_few_answers_are_an_error() -> None:
    async def test(batcher: Batcher) -> None:
        with pytest.raises(RuntimeError, match="0 answers for 1 rows"):
            await batcher.submit([1], "k")

    with_batcher(lambda rows, key: [], test)


def test_a_full_queue_takes_no_more_and_says_how_long() -> None:
    held = Held()

    async def test(batcher: Batcher) -> None:
        first = batcher.submit([0], "k")
        await begun(held)
        waiting = batcher.submit([1] * 5, "k")
        assert not batcher.full
        with pytest.raises(FullError):
            batcher.submit([2, 3], "k")
        gone = batcher.submit([4], "k")
        assert batcher.full
        batcher.pace = 0.5
        with pytest.raises(FullError) as full:
            batcher.submit([5], "k")
        assert full.value.seconds == 3.0
        gone.cancel()  # whoever goes away makes room
        last = batcher.submit([6], "k")
        held.go.set()
        assert await asyncio.gather(first, waiting, last) == [[0], [10] * 5, [60]]
        assert [4] not in [rows for rows, _ in held.batches]
        assert 0 < batcher.pace < 0.5

    with_batcher(held, test, queue=6)


def test_nobody_works_for_those_who_went_away() -> None:
    held = Held()

    async def test(batcher: Batcher) -> None:
        first, gone, last = batcher.submit([0], "k"), batcher.submit([1, 2], "k"), batcher.submit([3], "k")
        await begun(held)
        waiting = batcher.submit([4, 5], "k")
        for one in (gone, waiting):
            one.cancel()
        held.go.set()
        await asyncio.gather(first, last)
        await asyncio.sleep(0.05)
        assert [rows for rows, _ in held.batches] in ([[0], [3]], [[0, 1, 2, 3]])

    with_batcher(held, test)


def test_stopping() -> None:
    held = Held()

    async def test(batcher: Batcher) -> None:
        first = batcher.submit([0], "k")
        await begun(held)
        waiting = batcher.submit([1, 2], "k")
        assert not batcher.idle
        batcher.stop()
        with pytest.raises(StoppedError):
            await waiting
        with pytest.raises(StoppedError):
            batcher.submit([3], "k")
        held.go.set()
        assert await first == [0]  # what was begun is finished

    with_batcher(held, test)

    async def not_started() -> None:
        with pytest.raises(StoppedError):
            Batcher(tenfold, 1, 0.0, 1).submit([1], "k")

    asyncio.run(not_started())


def test_those_who_share_a_turn_work_one_at_a_time() -> None:
    turn, at_once, most = Lock(), list[int](), list[int]()

    def work(rows: list[Any], key: Any) -> list[Any]:
        at_once.append(1)
        most.append(len(at_once))
        time.sleep(0.01)
        at_once.pop()
        return tenfold(rows, key)

    async def test(batcher: Batcher) -> None:
        other = Batcher(work, 4, 0.0, 100, turn)
        other.start()
        await asyncio.gather(*(one.submit([n] * 9, "k") for n in range(3) for one in (batcher, other)))
        other.stop()
        assert max(most) == 1

    with_batcher(work, test, turn=turn)
