"""The attention of several layers as one look: the last layer, one layer, the mean of all head by head, or all layers
with their heads side by side. This changes only what is shown, not the output.

    class Transformer(Layers, nn.Module): …          # has `blocks` and `look`; says whose look a block's is
    decoder.showing("2").shown(looks)
"""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import torch
from torch import Tensor

from regard.attend.attention import Attention
from regard.errors import RegardError
from regard.types import Look

__all__ = ["Layers"]


class Layers:
    """For a network of `blocks`, each with one attention to show."""

    blocks: Any
    look: str | int  # last, mean, all, or a layer by its number, the first being 0

    def looking(self, block: Any) -> Attention:
        """The attention of a block that is shown."""
        raise NotImplementedError

    def show(self, look: str | int) -> None:
        """`last`, `mean`, `all`, or a layer's number, the first being 0."""
        layers = len(self.blocks)
        if isinstance(look, int) and not -layers <= look < layers:
            raise RegardError(f"look={look}", expected=f"a layer from 0 to {layers - 1}, or last, mean or all")
        self.look = look

    @property
    def layers(self) -> int:
        """How many layers there are to choose from."""
        return len(self.blocks)

    def showing(self, layers: str) -> Any:
        """The same network, sharing its parameters, that shows `last`, `mean`, `all`, or one layer by its number from
        1; itself for "". This one stays as it is: other threads may use it."""
        if not layers:
            return self
        view = copy(self)
        if layers in ("last", "mean", "all"):
            view.look = layers
        elif layers.isascii() and layers.isdecimal() and 1 <= int(layers) <= self.layers:
            view.look = int(layers) - 1
        else:
            raise RegardError(f"layers {layers}", expected=f"a number from 1 to {self.layers}, or last, mean or all")
        return view

    @property
    def head_names(self) -> tuple[str, ...]:
        """The names of the heads, if they have more than a number."""
        if self.look != "all" or len(self.blocks) == 1:
            return ()
        around = [self.looking(block).heads for block in self.blocks]
        heads = [1 if one is None else one.heads for one in around]
        return tuple(f"layer {i} head {j}" for i, many in enumerate(heads, 1) for j in range(1, many + 1))

    def shown(self, looks: Sequence[Look]) -> Look:
        """The looks of all layers as the one that was asked for."""
        if self.look == "last" or len(looks) == 1:
            return looks[-1]
        if isinstance(self.look, int):
            return looks[self.look]
        return _mean(looks) if self.look == "mean" else _side_by_side(looks)


def _mean(looks: Sequence[Look]) -> Look:
    """The mean of several layers, head by head; what they chose, they chose together."""
    return Look(
        context=torch.stack([look.context for look in looks]).mean(0),
        compute_weights=lambda: torch.stack([look.weights for look in looks]).mean(0),
        log_prob=_of_all([look.log_prob for look in looks], lambda parts: torch.stack(parts).sum(0)),
        entropy=_of_all([look.entropy for look in looks], lambda parts: torch.stack(parts).sum(0)),
        features=looks[0].features,
    )


def _side_by_side(looks: Sequence[Look]) -> Look:
    """Several layers as if their heads were one layer's: those of the first layer, of the second, …"""
    return Look(
        context=torch.cat([look.context for look in looks], dim=-1),
        compute_weights=lambda: torch.cat([look.weights for look in looks], dim=1),
        log_prob=_of_all([look.log_prob for look in looks], lambda parts: torch.cat(parts, dim=1)),
        entropy=_of_all([look.entropy for look in looks], lambda parts: torch.cat(parts, dim=1)),
        features=looks[0].features,
    )


def _of_all(parts: list[Tensor | None], join: Callable[[list[Tensor]], Tensor]) -> Tensor | None:
    there = [part for part in parts if part is not None]
    return join(there) if len(there) == len(parts) else None
