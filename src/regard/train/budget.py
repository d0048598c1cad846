"""Time budget of a command.

`--time 5m` covers everything: reading, training, validation, the test and writing. The budget measures how long a
step, a validation and the test take, reserves time for what follows the last step, and plans as many steps as fit.
The learning rate decays over that plan. Without a limit nothing is probed or cut.

    budget = Budget(300.0, began=start, now=time.monotonic)
    budget.stepped(20, 1.5);  budget.plan(wanted=10_000, step=20, every=100)   # → 3,960 or so
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["NO_LIMIT", "Budget", "seconds_each", "spread"]

# Shares of the limit: all validations together, one of them, the test, one probe of how fast answers come.
VALIDATING, ONE, TESTING, PROBE = 0.12, 0.03, 0.15, 0.005
FEW = 64  # examples
# Probes are taken when this much of the time is gone: a model that has learned more writes shorter answers.
MOMENTS = (0.1, 0.4, 0.7, 0.9)
# Loading the best weights, drawing the curve, writing the card, leaving the process: seconds, but no more than a share.
TAIL, TAIL_SHARE = 2.5, 0.1
# A plan is made of what so many steps took; fewer do where they already took a noticeable part of the time.
TRUSTED, NOTICEABLE = 50, 0.02
# How much the past counts against the last second or two: a machine that becomes busy is noticed within a minute.
MEMORY = 0.98


class Budget:
    """Seconds for one command, counted from `began`; None for no limit."""

    def __init__(self, limit: float, began: float, now: Callable[[], float]) -> None:
        self.limit, self.began, self.now = limit, began, now
        self.steps, self.seconds = 0.0, 0.0  # of training alone, the past counting less and less
        self.taken = 0  # steps of this sitting
        self.validation = 0.0  # seconds the last validation took, or the next one is thought to take
        self.validated = 0.0  # seconds of all validations and probes
        self.test = 0.0  # seconds the test is thought to take
        self.moments = list(MOMENTS)
        self.probed = False

    @property
    def limited(self) -> bool:
        return math.isfinite(self.limit)

    def spent(self) -> float:
        return self.now() - self.began

    def left(self) -> float:
        return self.limit - self.spent()

    @property
    def tail(self) -> float:
        """Seconds reserved for the files written at the end."""
        return min(TAIL, TAIL_SHARE * self.limit) if self.limited else 0.0

    def reserved(self) -> float:
        """Seconds reserved for what follows the last step. A test that would take more than its share is cut."""
        if not self.limited:
            return 0.0
        return min(self.validation + min(self.test, TESTING * self.limit) + self.tail, self.limit / 2)

    def over(self) -> bool:
        """Whether it is time to end the training."""
        return self.left() <= self.reserved()

    def stepped(self, steps: int, seconds: float) -> None:
        """Records the time of some steps, without validations and probes."""
        self.steps, self.seconds = MEMORY * self.steps + steps, MEMORY * self.seconds + seconds
        self.taken += steps

    @property
    def pace(self) -> float:
        """Seconds per step; 0 if unknown."""
        return self.seconds / self.steps if self.steps else 0.0

    def plan(self, wanted: int, step: int, every: int) -> int:
        """How many of the wanted steps fit into the time, with their validations."""
        if self.over():
            return step
        known = self.taken >= TRUSTED or (self.taken > 1 and self.seconds > NOTICEABLE * self.limit)
        if not self.limited or not known or not self.pace:
            return max(step, wanted)
        return max(step, min(wanted, step + int((self.left() - self.reserved()) / self._each(every))))

    def _each(self, every: int) -> float:
        """Seconds per step, including its share of the validations."""
        beside = self.validation / every
        return self.pace + (min(beside, self.pace * VALIDATING / (1 - VALIDATING)) if self.limited else beside)

    def remaining(self, step: int, steps: int, every: int) -> float:
        """Seconds until the end; NaN while unknown."""
        if not self.pace:
            return self.left() if self.limited else math.nan
        ahead = (steps - step) * self._each(every)
        return min(ahead + self.reserved(), self.left()) if self.limited else ahead + self.validation

    def may_validate(self) -> bool:
        """Whether a validation now keeps validations within their share of the time, with time for more steps."""
        if not self.limited:
            return True
        within = self.validated + self.validation <= VALIDATING * self.spent()
        return within and self.left() - self.reserved() > self.validation

    def due(self) -> bool:
        """Whether a probe is due; if so, it counts as done."""
        if not self.limited or not self.moments or self.spent() < self.moments[0] * self.limit:
            return False
        while self.moments and self.spent() >= self.moments[0] * self.limit:
            self.moments.pop(0)
        return True

    def fitting(self, wanted: int, each: float) -> int:
        """How many examples one validation may have at this many seconds each. Too few cannot tell weights apart, so a
        small set may take half as long again."""
        if not self.limited or each <= 0:
            return wanted
        usual, most = (int(share * self.limit / each) for share in (ONE, 1.5 * ONE))
        return max(1, min(wanted, max(usual, min(FEW, most))))


NO_LIMIT = Budget(math.inf, 0.0, lambda: 0.0)


def seconds_each(
    answer: Callable[[Sequence[Any]], Any], examples: Sequence[Any], most: float, now: Callable[[], float]
) -> float:
    """Seconds per example, measured on a few examples spread over the set; more of them if they are fast."""
    took, count = 0.0, 1
    for size in (1, 8, 64, 256):
        some = spread(examples, size)
        before = now()
        answer(some)
        took, count = now() - before, max(1, len(some))
        if len(some) == len(examples) or took * 8 > most:
            break
    return took / count


def spread(examples: Sequence[Any], size: int) -> list[Any]:
    """That many items, evenly spaced; the same ones every time."""
    if size >= len(examples):
        return list(examples)
    return [examples[number * len(examples) // size] for number in range(size)]
