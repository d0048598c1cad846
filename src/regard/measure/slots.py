"""Slots: of the field values that the target says, the share that the answer says too. For texts made from fields.

A value is said where it stands as it is, whole words in any case; one that even the target puts otherwise (the "yes"
of familyFriendly[yes]) does not count. `slots_all` is the share of answers that say every one.

    Slots()(results)  →  {"slots": 0.97, "slots_all": 0.91}, or {} where no target says any value
"""

from typing import Literal

from regard.measure import Results
from regard.text._fields import mentions, parse

__all__ = ["Slots"]


class Slots:
    """Values said, of those that should be."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        said: list[list[bool]] = []
        for example, prediction in results.pairs():
            values = [mentions(field.value) for field in parse(example.source, example.where)]
            said.append([bool(v.search(prediction.text)) for v in values if v.search(example.target)])
        said = [one for one in said if one]
        if not said:
            return {}
        every = [hit for one in said for hit in one]
        return {"slots": sum(every) / len(every), "slots_all": sum(map(all, said)) / len(said)}
