"""Dynamic batching: texts of many requests are answered together.

A thread takes what waits: the oldest text, and with it all that were asked for in the same way (the same `key`), up to
`batch` of them or `window` seconds after the oldest came, whichever is first. While it works, others gather. Threads
that share a `turn` work one at a time, as suits models that share the cores of one machine.

An error is the fault of one text, not of those that happened to be beside it: the batch is halved until the text is
alone, so each request gets the answers, or the error, it would get alone.

    batcher = Batcher(work, batch=32, window=0.003, queue=256)      # work(rows, key) → an answer a row
    batcher.start()
    answers = await batcher.submit(rows, key)
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from threading import Condition, Lock, Thread
from typing import Any

__all__ = ["Batcher", "FullError", "StoppedError"]


class FullError(Exception):
    """No room for so many texts; `seconds` is how long the queue takes at the present pace."""

    def __init__(self, seconds: float) -> None:
        super().__init__("the queue is full")
        self.seconds = seconds


class StoppedError(Exception):
    """The batcher does not work, or no longer."""


@dataclass(eq=False)
class Ticket:
    """One request: its rows, and the answers that are there."""

    key: Hashable
    rows: Sequence[Any]
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[list[Any]]"
    came: float = field(default_factory=time.monotonic)
    found: dict[int, Any] = field(default_factory=dict)
    error: Exception | None = None

    @property
    def over(self) -> bool:
        """Nobody waits for more of it: it failed, or whoever asked has gone."""
        return self.error is not None or self.future.cancelled()

    def settle(self) -> None:
        """In the loop's thread."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result([self.found[row] for row in range(len(self.rows))])


class Batcher:
    """`work` is called in the batcher's own thread, with rows of one key; `seen` is told the size of each batch."""

    def __init__(
        self,
        work: Callable[[list[Any], Any], list[Any]],
        batch: int,
        window: float,
        queue: int,
        turn: AbstractContextManager[Any] | None = None,
        seen: Callable[[int], None] = lambda size: None,
        name: str = "batcher",
    ) -> None:
        self.work, self.batch, self.window, self.queue = work, batch, window, queue
        self.turn, self.seen = turn or Lock(), seen
        self.pace = 0.0  # seconds a text, a moving mean
        self._waiting: deque[tuple[Ticket, int]] = deque()
        self._change = Condition()
        self._open, self._busy = False, 0
        self._thread = Thread(target=self._run, name=name, daemon=True)

    # --- those who ask, in a loop ------------------------------------------------------------------------

    def submit(self, rows: Sequence[Any], key: Hashable) -> "asyncio.Future[list[Any]]":
        """The answers to come, in order. Cancelling it takes the rows out of the queue again."""
        loop = asyncio.get_running_loop()
        ticket = Ticket(key, rows, loop, loop.create_future())
        with self._change:
            if not self._open:
                raise StoppedError
            if len(self._waiting) + len(rows) > self.queue:
                self._waiting = deque(one for one in self._waiting if not one[0].over)
            if len(self._waiting) + len(rows) > self.queue:
                raise FullError(self.seconds)
            self._waiting.extend((ticket, row) for row in range(len(rows)))
            self._change.notify()
        if not rows:
            ticket.settle()
        return ticket.future

    @property
    def depth(self) -> int:
        """How many texts wait."""
        return len(self._waiting)

    @property
    def full(self) -> bool:
        """Whether not even one text has room; read without a lock, for refusing quickly."""
        return len(self._waiting) >= self.queue

    @property
    def seconds(self) -> float:
        """How long what waits will take, at the pace of late."""
        return len(self._waiting) * self.pace

    @property
    def idle(self) -> bool:
        with self._change:
            return not self._waiting and not self._busy

    # --- the life of the thread --------------------------------------------------------------------------

    def start(self) -> None:
        self._open = True
        self._thread.start()

    def stop(self) -> None:
        """At once: what still waits is told so; a batch in work is not waited for."""
        with self._change:
            self._open = False
            left, self._waiting = list(self._waiting), deque()
            self._change.notify()
        for ticket, _ in left:
            ticket.error = ticket.error or StoppedError()
        _deliver([ticket for ticket, _ in left])

    def _run(self) -> None:
        while self._gathered():
            with self.turn:
                some = self._take()
                if some:
                    began = time.monotonic()
                    answers = self._answers([ticket.rows[row] for ticket, row in some], some[0][0].key)
                    pace = (time.monotonic() - began) / len(some)
                    self.pace = pace if not self.pace else 0.8 * self.pace + 0.2 * pace
            if some:
                self.seen(len(some))
                self._give(some, answers)

    def _gathered(self) -> bool:
        """Wait until there is a batch to take; False when there will be none."""
        with self._change:
            while self._open and not self._waiting:
                self._change.wait()
            while self._open and self._waiting and len(self._waiting) < self.batch:
                rest = self._waiting[0][0].came + self.window - time.monotonic()
                if rest <= 0:
                    break
                self._change.wait(rest)
            return self._open

    def _take(self) -> list[tuple[Ticket, int]]:
        """The oldest, and what may go with it; the others stay in their order."""
        some: list[tuple[Ticket, int]] = []
        others: deque[tuple[Ticket, int]] = deque()
        with self._change:
            for one in self._waiting:
                if one[0].over:
                    continue
                fits = not some or (len(some) < self.batch and one[0].key == some[0][0].key)
                (some if fits else others).append(one)
            self._waiting, self._busy = others, len(some)
        return some

    def _answers(self, rows: list[Any], key: Any) -> list[Any]:
        """An answer or an error for each row."""
        try:
            found = self.work(rows, key)
            if len(found) != len(rows):
                raise RuntimeError(f"{len(found)} answers for {len(rows)} rows")
            return found
        except Exception as error:
            if len(rows) == 1:
                return [error]
            half = len(rows) // 2
            return self._answers(rows[:half], key) + self._answers(rows[half:], key)

    def _give(self, some: list[tuple[Ticket, int]], answers: list[Any]) -> None:
        for (ticket, row), answer in zip(some, answers, strict=True):
            if isinstance(answer, Exception):
                ticket.error = ticket.error or answer
            else:
                ticket.found[row] = answer
        tickets = dict.fromkeys(ticket for ticket, _ in some)
        _deliver([ticket for ticket in tickets if ticket.error or len(ticket.found) == len(ticket.rows)])
        with self._change:
            self._busy = 0


def _deliver(tickets: Sequence[Ticket]) -> None:
    """Wake each loop once, however many of its requests are answered."""
    for loop in {ticket.loop for ticket in tickets}:
        mine = [ticket for ticket in tickets if ticket.loop is loop]
        with suppress(RuntimeError):  # the loop is closed, and nobody waits
            loop.call_soon_threadsafe(_settle, mine)


def _settle(tickets: Sequence[Ticket]) -> None:
    for ticket in tickets:
        ticket.settle()
