"""Slots: the share of the field values mentioned in the target that the prediction mentions too. For data-to-text.

A value is mentioned if it occurs as whole words, in any case. Values that the target rephrases (the "yes" of
familyFriendly[yes]) do not count. `slots_all` is the share of predictions that mention all values.

    Slots()(results)  →  {"slots": 0.97, "slots_all": 0.91}, or {} where no target says any value
"""

from typing import Literal

from regard.measure import Results
from regard.records import mentions, parse

__all__ = ["Slots"]


class Slots:
    """Share of the field values mentioned in the target that the prediction mentions too."""

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
