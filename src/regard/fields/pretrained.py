"""Pretrained: a picture read by a pre-trained network, whose features are computed once and cached.

The features of each picture are computed when the data is read, in half precision, and kept in safetensors files in
`$XDG_CACHE_HOME/regard/features` (without that variable `~/.cache`), by what is in the picture's file and in the
network's weights. Training reads features, never pictures, so it
is as fast as training on text. The network itself is not trained and not part of a run. A few pictures, as in a
prediction, are not written to the cache.

A map of L positions has a box for each (`regions`); with `pooled` one vector, their mean, stands for the whole picture.
Dropping a box fills it with the network's mean colour, and computes the features again.

    field = Pretrained(network="efficientnet_lite0");  field.fit(paths)
    field.collate(field.encode(paths, where)).values            # [batch, 49, 1280]
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from regard.errors import RegardError, counted
from regard.fields import Profile, Where
from regard.fields._features import Features
from regard.fields._in_file import is_url
from regard.fields._pretrained_networks import grid_of, identity_of, load_network, scale_of
from regard.fields.embed.projection import Projection
from regard.fields.image import MOST_BYTES, Image, Picture, decode
from regard.find import PLAIN, Of, Spec, call, table
from regard.ranges import Range, ranged
from regard.regions import Box, Region
from regard.types import Sequences

__all__ = ["Pretrained"]

TOGETHER = 64  # pictures computed at once
MANY = 64  # of fewer pictures the features are not written to the cache
IN_A_FILE = 512


@dataclass(frozen=True)
class ReadPicture(Picture):
    """A picture whose features are in the cache under this name, or here."""

    name: str = ""
    features: Tensor | None = None


class Pretrained(Image):
    """A picture to read, through a pre-trained network."""

    slow: ClassVar[bool] = False  # features are read, not computed

    @ranged
    def __init__(
        self,
        network: Annotated[
            str,
            "the pre-trained network: efficientnet_lite0 (packaged), timm.NAME, or a torch module as package.Thing",
        ] = "efficientnet_lite0",
        weights: Annotated[
            str, "file with its weights (.safetensors or .pt); empty uses the weights it comes with"
        ] = "",
        size: Annotated[int, Range(4, 1024), "pixels of each side after resizing"] = 224,
        pooled: Annotated[bool, "average the feature map into one vector; false keeps the map"] = False,
        embed: Annotated[
            Spec, Of("fields.embed.projection.Projection"), "how features become the vectors that the model reads"
        ] = PLAIN,
    ) -> None:
        self.name, self.weights, self.size, self.pooled = network, weights, size, pooled
        self.embed = table(embed)
        self.colour = True
        self.shape = (0, 0, 0)  # rows, columns, channels: known from `fit` on
        self.identity = ""
        self.computed = 0
        self._network: nn.Module | None = None
        self._features: Features | None = None

    @property
    def notes(self) -> Sequence[str]:  # type: ignore[override]
        if not self.computed or self._features is None:
            return ()
        return [f"computed the features of {counted(self.computed, 'picture')}, kept in {self._features.folder}"]

    @property
    def positions(self) -> int:
        return self.shape[0] * self.shape[1]

    # --- the network -------------------------------------------------------------------------------------

    def _loaded(self) -> nn.Module:
        """The network, on a GPU if there is one; the same weights as in training."""
        if self._network is None:
            network = load_network(self.name, self.weights)
            identity = identity_of(network)
            if self.identity and identity != self.identity:
                raise RegardError(
                    f"network={self.name} has other weights than in training", do="install the version trained with"
                )
            self.identity = identity
            self._network = network.to("cuda" if torch.cuda.is_available() else "cpu")
        return self._network

    def _kept(self) -> Features:
        if self._features is None:
            # Not an option: a run from elsewhere must not say where files are written.
            home = Path(os.path.expanduser(os.environ.get("XDG_CACHE_HOME") or "~/.cache"))
            how = f"{self.identity}-{self.size}{'-pooled' if self.pooled else ''}"
            self._features = Features(home / "regard" / "features" / how)
        return self._features

    def _compute(self, pixels: Float[Tensor, "batch 3 size size"]) -> Float[Tensor, "batch place channel"]:
        network = self._loaded()
        mean, std = scale_of(network)
        device = next((one.device for one in network.parameters()), torch.device("cpu"))
        grid = grid_of(network, ((pixels - mean) / std).to(device)).float().cpu()
        if self.pooled:
            grid = grid.mean((1, 2), keepdim=True)
        if not self.shape[2]:
            self.shape = (grid.shape[1], grid.shape[2], grid.shape[3])
        return grid.flatten(1, 2).half()

    def fit(self, values: Sequence[str]) -> None:
        self._compute(torch.zeros(1, 3, self.size, self.size))

    def state(self) -> dict[str, Any]:
        return {"shape": list(self.shape), "identity": self.identity}

    def restore(self, state: Mapping[str, Any]) -> None:
        rows, columns, channels = map(int, state["shape"])
        if min(rows, columns, channels) < 1:
            raise ValueError("a shape of positive numbers")
        self.shape, self.identity = (rows, columns, channels), str(state["identity"])

    def embedding(self) -> Projection:
        rows, columns, channels = self.shape
        found: Projection = call(Projection, self.embed, channels=channels, rows=rows, columns=columns)
        return found

    # --- pictures ----------------------------------------------------------------------------------------

    def encode(self, values: Sequence[str], where: Where, role: str = "picture") -> list[Picture]:
        """With the features of every picture computed or found."""
        super().encode(values, where, role)  # tells of what is not there
        if not values:
            return []
        self._loaded()
        first = dict(zip(reversed(values), reversed(where), strict=True))
        names = {value: _content(value, at) for value, at in first.items()}
        kept = self._kept()
        missing = set(kept.missing(names.values()))
        fresh: dict[str, Tensor] = {}
        for some in _batches(list({names[value]: value for value in first if names[value] in missing}.values())):
            pixels = self._decoded(some, [first[value] for value in some])
            fresh |= zip((names[value] for value in some), self._compute(pixels), strict=True)
            if len(missing) >= MANY and len(fresh) >= IN_A_FILE:
                self._keep(fresh)
                fresh = {}
        if len(missing) >= MANY and fresh:
            self._keep(fresh)
            fresh = {}
        return [
            ReadPicture(value, at, name=names[value], features=fresh.get(names[value]))
            for value, at in zip(values, where, strict=True)
        ]

    def _keep(self, fresh: Mapping[str, Tensor]) -> None:
        self._kept().add({name: value.contiguous() for name, value in fresh.items()})
        self.computed += len(fresh)

    def _decoded(self, values: Sequence[str], where: Sequence[str]) -> Float[Tensor, "batch 3 size size"]:
        with ThreadPoolExecutor() as threads:
            return torch.from_numpy(np.stack(list(threads.map(self._pixels, values, where))))

    def length(self, row: Picture) -> int:
        return self.positions

    def collate(self, rows: Sequence[Picture]) -> Sequences:  # type: ignore[override]
        features = torch.stack([self._of(row) for row in rows])  # in half precision, so that less goes to the GPU
        mask = torch.ones(features.shape[:2], dtype=torch.bool)
        return Sequences(features, mask, torch.full((len(features),), features.shape[1]))

    def _of(self, row: Picture) -> Float[Tensor, "place channel"]:
        assert isinstance(row, ReadPicture)
        if not row.blank:
            return self._kept()[row.name] if row.features is None else row.features
        pixels, (mean, _) = self._decoded([row.value], [row.where]), scale_of(self._loaded())
        for box in (self._boxes()[place] for place in row.blank):
            left, top, right, bottom = (round(edge * self.size) for edge in (box.left, box.top, box.right, box.bottom))
            pixels[0, :, top:bottom, left:right] = mean
        return self._compute(pixels)[0]

    def _boxes(self) -> tuple[Box, ...]:
        high, wide, _ = self.shape
        return tuple(Box(x / wide, y / high, (x + 1) / wide, (y + 1) / high) for y in range(high) for x in range(wide))

    def regions(self, values: Sequence[str]) -> list[tuple[Region, ...]]:
        return [self._boxes()] * len(values)

    def profile(self, values: Sequence[str]) -> Profile:
        if not self.shape[2]:
            self.fit(values)
        return Profile(float(self.positions), encoder="identity")


def _batches(values: Sequence[str]) -> Iterator[Sequence[str]]:
    for first in range(0, len(values), TOGETHER):
        yield values[first : first + TOGETHER]


def _content(value: str, where: str) -> str:
    """A name for what is in a picture's file."""
    try:
        if is_url(value):
            content = value.encode()
        else:
            with open(value, "rb") as file:
                content = file.read(MOST_BYTES + 1)
    except OSError:
        decode(value, where, load=False)  # says what is wrong with it
        raise
    return blake2b(content, digest_size=16).hexdigest()
