"""Where training stands: the numbers that, with the tensors in `state/`, are all there is to know of it."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

from regard.types import Example

__all__ = ["Place", "digest"]


@dataclass
class Place:
    """The one thing of the loop that changes; saved as JSON."""

    data: str  # a digest of the training examples: going on with others would not be going on
    steps: int  # the plan: what is wanted, or what of it the time allows
    wanted: int = 0
    limit: float = math.inf  # seconds
    step: int = 0
    epoch: int = 0
    batch: int = 0  # the next batch of this epoch
    best: float = math.nan
    since: int = 0  # validations since the best one
    settled: bool = False  # whether the best is one of the model as it will be used
    spent: float = 0.0  # seconds of training, all sittings together
    tokens: int = 0  # target tokens, all together
    loss_sum: float = 0.0  # since the last validation, for the log
    loss_count: int = 0
    finished: bool = False


def digest(examples: Sequence[Example]) -> str:
    """A short name for exactly these examples in this order."""
    total = hashlib.blake2b(digest_size=16)
    for example in examples:
        total.update(b"%d " % len(example.inputs))
        for text in (*example.inputs, example.target):
            data = text.encode("utf-8", "surrogatepass")
            total.update(b"%d " % len(data) + data)  # its length first: no text can pass for two
    return total.hexdigest()
