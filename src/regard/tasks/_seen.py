"""Where a network looked while it read a batch, and the attention maps of each of its examples.

seen = Seen.of(read, ("forward", "backward"), features=5)
seen.attention_maps([0, 3], [premise, hypothesis], texts, "", "yes", roles, "label")   # the first of three pairs
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from regard.look.attention_map import AttentionMap, Panels
from regard.networks.reader import Read
from regard.regions import Region, Token
from regard.tasks._features import fitting, spread
from regard.train.task import Features

__all__ = ["Seen"]

Array = NDArray[Any]


@dataclass(frozen=True)
class Seen:
    """Where a network looked in a batch, as arrays; worked out once for all its rows."""

    pooling: Array | None  # [row, query, key]
    encoder: tuple[tuple[str, Array], ...]  # [row, …, query, key]
    chosen: dict[str, Array]
    head_names: tuple[str, ...]  # what several squares of one look are called
    features: Features  # those to be shown one by one
    single: dict[str, Array]  # by the look's name, "" for the pooling's: [row, …, query, key, feature], if asked for

    @staticmethod
    def of(read: Read, head_names: tuple[str, ...], features: Features = ()) -> "Seen":
        def array(weights: Tensor) -> Array:
            return weights.detach().float().cpu().numpy()

        look = None if read.pooled is None else read.pooled.look
        single = {}
        if features:
            looks = [*([] if look is None else [("", look)]), *read.memory.looks]
            single = {name: array(one.weights) for name, one in looks if one.features}
            fitting(features, [weights.shape[-1] for weights in single.values()])
        return Seen(
            None if look is None else array(look.by_key),
            tuple((name, array(one.by_key)) for name, one in read.memory.looks),
            {choice.name: choice.chosen.cpu().numpy() for choice in read.choices},
            head_names,
            features,
            single,
        )

    def attention_maps(
        self,
        rows: Sequence[int],
        columns: Sequence[Sequence[Region]],
        titles: Sequence[str],
        source: str,
        answer: str,
        roles: Sequence[str],
        kind: str,
        breaks: tuple[int, ...] = (),
    ) -> tuple[AttentionMap, ...]:
        """Where the pooling looked (all inputs side by side), then where the encoder did, input by input.

        `rows` are where the example's inputs stand in the batch, `columns` their regions, `titles` their names.
        `source` is what the regions are drawn over, where that is not text. `roles` name the inputs, `kind` the answer.
        `breaks` are where other inputs begin in one that the encoder read joined.
        """
        title = " | ".join(titles)
        axes = kind, " | ".join(roles)
        pooling = (
            ()
            if self.pooling is None
            else self._pooling(self.pooling, rows, columns, title, source, answer, axes, breaks)
        )
        read = zip(rows, columns, titles, roles, strict=True)
        return (
            *pooling,
            *(
                attention_map
                for row, regions, title, role in read
                for attention_map in self._encoder(row, regions, title, source, role, breaks)
            ),
        )

    def _pooling(
        self,
        pooling: Array,
        rows: Sequence[int],
        columns: Sequence[Sequence[Region]],
        title: str,
        source: str,
        answer: str,
        axes: tuple[str, str],
        breaks: tuple[int, ...],
    ) -> tuple[AttentionMap, ...]:
        lengths = [len(tokens) for tokens in columns]
        ends = list(zip(rows, lengths, strict=True))
        weights = np.concatenate([pooling[row][..., :end] for row, end in ends], -1)
        single = self.single.get("")
        if single is not None:
            single = np.concatenate([single[row][..., :end, :] for row, end in ends], -2)
        several = len(weights) > 1
        asking = tuple(Token(f"{answer} {i + 1}" if several else answer) for i in range(len(weights)))
        every = tuple(token for tokens in columns for token in tokens)
        breaks = breaks or tuple(accumulate(lengths))[:-1]
        panels: Panels = "rows" if several else "heads"
        pooled = AttentionMap(weights, asking, every, title, breaks=breaks, source=source, panels=panels, axes=axes)
        return spread(pooled, single, self.features)

    def _encoder(
        self,
        row: int,
        columns: Sequence[Region],
        title: str,
        source: str,
        role: str,
        breaks: tuple[int, ...],
    ) -> Iterator[AttentionMap]:
        tokens, end = tuple(columns), len(columns)
        heads, dependents = (
            tuple(self.chosen[name][row, :end].tolist()) if name in self.chosen else ()
            for name in ("heads", "dependents")
        )
        for name, squares in self.encoder:
            weights = squares[row][..., :end, :end]
            head_names = self.head_names if weights.ndim == 3 else ()
            marks = (head_names, heads, dependents)
            more: dict[str, Any] = {"breaks": breaks, "source": source, "axes": (role, role)}
            attention_map = AttentionMap(weights, tokens, tokens, f"{name}: {title}", (), *marks, **more)
            single = self.single[name][row][..., :end, :end, :] if name in self.single else None
            yield from spread(attention_map, single, self.features)
