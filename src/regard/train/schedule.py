"""The number of steps and the learning-rate schedule.

`rate(step)` rises linearly over `warmup` steps (at most a quarter of the plan; `shortened` says so if they are cut),
then falls to 0 at the last planned step. A time budget (see `regard.train.budget`) shortens the plan if the machine is
too slow, so that the rate always reaches the end of its decay. The plan is part of a run's state.

    plan = Plan(steps=2000, warmup=100, decay="cosine");  plan.rate(150)   # share of the full rate
"""

import math
import re
from dataclasses import dataclass
from typing import Literal

from regard.errors import RegardError, brief, counted

__all__ = ["Decay", "Plan", "seconds", "spelled"]

Decay = Literal["cosine", "linear", "inverse", "none"]

LONGEST = 10_000 * 3600.0  # seconds: more than a year is a typing error


def seconds(text: str) -> float:
    """90, 90s, 5m or 1h30m in seconds; an empty text means no limit."""
    if not text:
        return math.inf
    found = re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?", text.strip())
    if not found or not any(found.groups()):
        raise RegardError(f"time {brief(text)}", expected="a time such as 90s, 5m or 1h30m")
    hours, minutes, rest = (float(part or 0) for part in found.groups())
    total = 3600 * hours + 60 * minutes + rest
    if not 0 < total <= LONGEST:
        raise RegardError(f"time {brief(text)}", expected="more than 0s and at most 10000h")
    return total


def spelled(length: float) -> str:
    """Seconds in the form that `seconds` reads: 90s, 5m, 1h30m."""
    minutes, rest = divmod(math.ceil(length), 60)
    if minutes < 2 and rest:
        return f"{math.ceil(length)}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h" * (hours > 0) + f"{minutes}m" * (minutes > 0) + f"{rest}s" * (rest > 0) or "0s"


@dataclass(frozen=True)
class Plan:
    """The planned number of steps and the shape of the schedule."""

    steps: int
    warmup: int
    decay: Decay

    @property
    def rises(self) -> int:
        """The warm-up steps: at most a quarter of the plan, so that a short plan still reaches the peak rate."""
        return min(self.warmup, self.steps // 4)

    @property
    def shortened(self) -> str | None:
        """A line for the user if the warm-up is shorter than requested."""
        if self.rises == self.warmup:
            return None
        plan = counted(self.steps, "planned step")
        return f"train.warmup={self.warmup} is reduced to {self.rises}: warm-up is at most a quarter of the {plan}"

    def rate(self, step: int) -> float:
        """Share of the peak learning rate at a step (the first step is 0)."""
        warmup = self.rises
        if step < warmup:
            return (step + 1) / warmup
        done = min(1.0, (step - warmup) / max(1, self.steps - warmup))
        if self.decay == "cosine":
            return 0.5 * (1 + math.cos(math.pi * done))
        if self.decay == "linear":
            return 1 - done
        if self.decay == "inverse":
            return math.sqrt(max(1, warmup) / max(1, step, warmup))
        return 1.0
