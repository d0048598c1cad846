"""Where a decoder looked for the tokens of its hypotheses, as attention maps.

maps = AttentionMaps(hypotheses, head_names, ("target", "source"));  maps(hypotheses[0], rows, columns, title)
"""

from collections.abc import Sequence

import numpy as np

from regard.look.attention_map import AttentionMap, Panels
from regard.regions import Region
from regard.search import Hypothesis

__all__ = ["AttentionMaps", "attention_map"]


def attention_map(
    found: Hypothesis,
    rows: Sequence[Region],
    columns: Sequence[Region],
    title: str,
    source: str,
    head_names: tuple[str, ...],
    axes: tuple[str, str] = ("", ""),
) -> AttentionMap | None:
    """Where the decoder looked for the tokens of a hypothesis; None where it does not look, or was not asked."""
    weights = found.array
    if weights is None or not weights.shape[-1]:  # without attention there are no keys
        return None
    weights = weights[..., : len(columns)]
    names = head_names if weights.ndim == 3 else ()
    panels: Panels = "layers" if names else "heads"  # a decoder names its heads where it shows all of its layers
    return AttentionMap(
        weights, tuple(rows), tuple(columns), title, head_names=names, source=source, panels=panels, axes=axes
    )


class AttentionMaps:
    """`attention_map` for many hypotheses of one decoder, at a third of the cost: all weights are checked together."""

    def __init__(
        self, found: Sequence[Hypothesis], head_names: tuple[str, ...], axes: tuple[str, str] = ("", "")
    ) -> None:
        self.head_names, self.axes = head_names, axes
        arrays = [array for one in found if (array := one.array) is not None]
        self.sound = all(_sound(arrays[first : first + 1024]) for first in range(0, len(arrays), 1024))

    def __call__(
        self, found: Hypothesis, rows: tuple[Region, ...], columns: tuple[Region, ...], title: str, source: str = ""
    ) -> AttentionMap | None:
        weights, time, keys = found.array, len(rows), len(columns)
        if weights is None or not weights.shape[-1]:
            return None
        if weights.shape[-1] > keys:
            weights = weights[..., :keys]
        head_names = self.head_names if weights.ndim == 3 else ()
        if (
            not (
                self.sound
                and weights.shape[-2:] == (time, keys)
                and (not head_names or len(head_names) == len(weights))
            )
            or source
        ):
            return attention_map(
                found, rows, columns, title, source, head_names, self.axes
            )  # which says what is wrong, if anything is
        panels: Panels = "layers" if head_names else "heads"
        return AttentionMap.known(weights, rows, columns, title, head_names, panels, self.axes)


def _sound(some: Sequence[np.ndarray]) -> bool:
    """Finite, and none below 0; where there is a nan, neither comparison holds."""
    every = np.concatenate(some, axis=None)
    return not every.size or bool(every.min() >= 0 and every.max() < np.inf)
