"""Several right targets for one input: one example in evaluation, one pair each in training.

A JSON line whose target is a list has them already. Files with one target a line repeat the input (as the E2E
challenge's do); `grouped` makes one example of such lines, which `data.group=true` asks for.

    grouped([Example(("a",), "b"), Example(("a",), "c")])  →  one example with the references b and c
    each_pair(those)                                       →  the two examples again
"""

from collections.abc import Sequence
from dataclasses import replace

from regard.types import Example

__all__ = ["each_pair", "grouped"]


def grouped(examples: Sequence[Example]) -> list[Example]:
    """One example for each different input, where it first stands, with all of its targets in order, none twice."""
    groups: dict[tuple[str, ...], list[Example]] = {}
    for example in examples:
        groups.setdefault(example.inputs, []).append(example)
    found = []
    for first, *others in groups.values():
        targets = dict.fromkeys(target for one in (first, *others) for target in one.references)
        found.append(replace(first, alternatives=tuple(targets)[1:], spans=first.spans if not others else ()))
    return found


def each_pair(examples: Sequence[Example]) -> list[Example]:
    """An example for every reference, with its own span; known links are those of the first."""
    found: list[Example] = []
    for example in examples:
        if not example.alternatives:
            found.append(example)
            continue
        for number, target in enumerate(example.references):
            one = replace(example, target=target, alternatives=(), spans=example.spans[number : number + 1])
            found.append(one if number == 0 else replace(one, links=(), grounding=()))
    return found
