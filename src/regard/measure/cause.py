"""Cause: whether attention is on the item that is known to be the cause of the next one.

For histories whose cause is known (the example's `links`, in characters), with the model asked about the true next item
(`Results.read`): `cause` is the share of examples whose highest weight is on the cause, `cause_mass` the mean weight on
it, and `cause_chance` the mean of 1 / length, what even weights would give. Several heads are averaged first.

    Cause()(results)  →  {"cause": 0.98, "cause_mass": 0.9, "cause_chance": 0.12}, or {} where nothing is known
"""

from typing import Literal

import numpy as np

from regard.measure import Results
from regard.regions import Item

__all__ = ["Cause"]


class Cause:
    """Share of histories whose highest attention weight is on the item that caused the next one."""

    better: Literal["higher", "lower"] = "higher"

    def __call__(self, results: Results) -> dict[str, float | str]:
        found = []
        for example, read in zip(results.examples, results.read, strict=False):
            causes = {example.source[: link.source_start].count(" ") for link in example.links}
            if causes and read.look is not None:
                [weights] = read.look.mean().weights
                here = np.array([isinstance(one, Item) and one.index in causes for one in read.look.columns])
                found.append((bool(here[weights.argmax()]), float(weights[here].sum()), 1 / len(weights)))
        names = ("cause", "cause_mass", "cause_chance")
        return dict(zip(names, np.mean(found, axis=0).tolist(), strict=True)) if found else {}
