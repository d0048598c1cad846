"""The splits of a data set, and how a single file is split.

A hash of the inputs alone decides the split of an example. So the same input is never in two splits, the split is the
same on every machine, and adding lines does not move others (except the few that a cap, a very small set or a unique
label moves back to train).

    split(examples)                 # about 90 : 5 : 5, at most 2,000 for valid and for test
    split(examples, test=0.0)       # nothing for test
    split(examples, labels=Tags().labels)   # no label is held out that train never shows
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from regard.data.readlog import Fault
from regard.errors import RegardError, counted
from regard.types import Example

__all__ = ["Labels", "Splits", "split"]

Labels = Callable[[str], Iterable[str] | None]  # the labels in a target, which train has to know; None: no labels


@dataclass(frozen=True)
class Splits:
    train: Sequence[Example]  # a list, or a text that is read in a stream
    valid: list[Example] = field(default_factory=list)
    test: list[Example] = field(default_factory=list)
    notes: list[str] = field(default_factory=list, init=False)  # what was left out in reading, one line each
    faults: list[Fault] = field(default_factory=list, init=False)  # the lines among it that cannot be used
    columns: list[str] = field(default_factory=list, init=False)  # those that a header named, where it was recognised

    def __repr__(self) -> str:
        return f"<splits: train {len(self.train):,}, valid {len(self.valid):,}, test {len(self.test):,} examples>"

    def validates(self, name: str) -> None:
        """Raises if there is no validation set, before training starts."""
        if not self.valid:
            if len(self.train) < 2:
                why = ""
            elif len({example.inputs for example in self.train}) == 1:
                why = ", all with the same input"
            else:
                why = ": a label that only one of them has stays in train"
            raise RegardError(
                f"{name}: cannot hold out a validation set from {counted(len(self.train), 'example')}{why}",
                do="add more examples, or give a validation set with data.valid="
                + ", or check that data.target= names the column of labels" * ("label" in why),
            )


def place(inputs: tuple[str, ...], seed: int) -> float:
    """A number in [0, 1) that depends only on the inputs and the seed."""
    state = blake2b(digest_size=8, salt=(seed % 2**64).to_bytes(8, "little"))
    for text in inputs:
        data = text.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "little") + data)
    return int.from_bytes(state.digest(), "little") / 2**64


def split(
    examples: Sequence[Example],
    valid: float = 0.05,
    test: float = 0.05,
    most: int = 2_000,
    seed: int = 0,
    labels: Labels | None = None,
    sides: int | None = None,
) -> Splits:
    """Shares `test` and `valid` of the distinct inputs, each capped at about `most` examples.

    With three or more distinct inputs no requested split is empty; with two, test is; with one, both are. If targets
    are `labels`, the only input with a label stays in train. With `sides` only so many inputs count: examples that
    share them stay together.
    """
    counts = Counter(example.inputs[:sides] for example in examples)
    placed = sorted((place(inputs, seed), inputs) for inputs in counts)
    numbers = [number for number, _ in placed]

    room = max(len(placed) - 1, 0)  # one distinct input, at least, is for train
    first = bisect_left(numbers, test)
    valids = min(max(bisect_left(numbers, test + valid) - first, 1), room) if valid else 0
    tests = min(max(first, 1), room - min(valids, 1)) if test else 0
    valids = min(valids, room - tests)
    begin = max(first, tests) if max(first, tests) + valids < len(placed) else tests  # of valid, in order of place

    def first_few(some: list[tuple[float, tuple[str, ...]]]) -> set[tuple[str, ...]]:
        chosen: set[tuple[str, ...]] = set()
        size = 0
        for _, inputs in some:
            size += counts[inputs]
            if chosen and size > most:
                break
            chosen.add(inputs)
        return chosen

    for_test, for_valid = first_few(placed[:tests]), first_few(placed[begin : begin + valids])
    if labels is not None:
        alone = _alone(examples, [inputs for _, inputs in placed if inputs in for_test | for_valid], labels)
        for_test, for_valid = for_test - alone, for_valid - alone
    held = for_test | for_valid
    return Splits(
        train=[example for example in examples if example.inputs[:sides] not in held],
        valid=[example for example in examples if example.inputs[:sides] in for_valid],
        test=[example for example in examples if example.inputs[:sides] in for_test],
    )


def _alone(examples: Sequence[Example], held: list[tuple[str, ...]], labels: Labels) -> set[tuple[str, ...]]:
    """The held-out inputs with a label that is missing from train, the first one for each label."""
    has: dict[tuple[str, ...], set[str]] = {inputs: set() for inputs in held}
    known: set[str] = set()
    for example in examples:
        has.get(example.inputs, known).update(labels(example.target) or ())
    alone = set()
    for inputs in held:
        if not has[inputs] <= known:
            alone.add(inputs)
            known |= has[inputs]
    return alone
