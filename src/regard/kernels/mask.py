"""Which keys each query may attend to, in the one form that all fused kernels take: a `MaskSpec`.

Every pattern that compares places (causal, forward, backward, not self, band) says only how far a key may stand
from its query, so that all of them come down to three whole numbers: a pair is visible where

    low <= key place - query place <= high   and   key place - query place != skip

together with the lengths (keys and queries that are there) and any boolean mask. A kernel gets the three numbers
and the pointers; `dense` gives the same as a boolean mask, for the readable path. True = may be looked at.

    spec = MaskSpec.of((2,), 5, 5, pattern="causal", lengths=torch.tensor([5, 3]))
    spec.dense(2, 5, 5)          # [2, 5, 5]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

import torch
from jaxtyping import Bool, Int, Shaped
from torch import Tensor

from regard.errors import RegardError
from regard.find import nearest

__all__ = ["FAR", "PATTERNS", "MaskSpec", "flat"]

FAR = 2**30
"""Further than any two places are apart: a bound that holds nothing back, and a `skip` that skips nothing."""

# How far ahead of its query a key may stand, and the one distance that is hidden. Shen 2018 calls strictly
# earlier keys forward and strictly later ones backward.
PATTERNS = {
    "none": (-FAR, FAR, FAR),
    "causal": (-FAR, 0, FAR),
    "forward": (-FAR, -1, FAR),
    "backward": (1, FAR, FAR),
    "not_self": (-FAR, FAR, 0),
}


def flat(
    pairs: Shaped[Tensor, "*given"], name: str, lead: Sequence[int], queries: int, keys: int
) -> Shaped[Tensor, "some rows key"]:
    """A mask or a bias that broadcasts to [*lead, query, key], with the leading axes as one: [batch or 1, query or 1,
    key]. What is the same for all stays one."""
    shape = (1,) * (len(lead) + 2 - pairs.dim()) + tuple(pairs.shape)
    fits = len(shape) == len(lead) + 2 and shape[-2] in (1, queries)
    same = all(size == 1 for size in shape[:-2])
    try:
        wide = pairs.reshape(shape).expand(*((1,) * len(lead) if same else lead), shape[-2], keys) if fits else None
    except RuntimeError:
        wide = None
    if wide is None:
        expected = f"one that broadcasts to {[*lead, queries, keys]}"
        raise RegardError(f"a {name} of shape {list(pairs.shape)}", expected=expected)
    return wide.reshape(1 if same else prod(lead), shape[-2], keys)


@dataclass(frozen=True)
class MaskSpec:
    """Which keys each query may look at. The leading axes (batch, heads) are one axis here."""

    lengths: Int[Tensor, " batch"] | None = None  # of the keys
    query_lengths: Int[Tensor, " batch"] | None = None
    pattern: str = "none"
    band: int = -1  # at most this far apart; -1 for any distance
    allowed: Bool[Tensor, "some rows key"] | None = None  # some = batch or 1, rows = query or 1
    query_positions: Int[Tensor, "batch query"] | None = None  # where chosen tokens stood before they were chosen
    key_positions: Int[Tensor, "batch key"] | None = None

    def __post_init__(self) -> None:
        if self.pattern not in PATTERNS:
            raise RegardError(f"unknown mask pattern {self.pattern!r}", do=nearest(self.pattern, PATTERNS))
        if self.band < -1:
            raise RegardError(f"band: got {self.band}", expected="0 or more, or -1 for none")
        if (self.query_positions is None) != (self.key_positions is None):
            raise RegardError("positions of queries or keys only", expected="both, or neither")

    @staticmethod
    def of(
        lead: Sequence[int],
        queries: int,
        keys: int,
        mask: Bool[Tensor, "*some key"] | None = None,
        *,
        lengths: Int[Tensor, "*lead"] | None = None,
        query_lengths: Int[Tensor, "*lead"] | None = None,
        pattern: str = "none",
        band: int = -1,
        positions: Int[Tensor, "*lead time"] | tuple[Tensor, Tensor] | None = None,
        device: torch.device | str | None = None,
    ) -> "MaskSpec":
        """From what a caller gives. `lead` are the sizes of the axes before [time, feature]; a mask broadcasts to
        [*lead, query, key], lengths and positions to [*lead] and [*lead, time] (without a head axis: the same for
        every head). One tensor of positions serves queries and keys alike."""
        plain = mask is None and lengths is None and query_lengths is None and positions is None
        if plain and not torch.compiler.is_compiling():  # torch.compile cannot follow what is kept
            return _plain(pattern, band)
        batch = prod(lead)
        both = positions if isinstance(positions, tuple) else (positions, positions)

        def whole(tensor: Tensor | None, name: str, *rest: int) -> Tensor | None:
            """[*lead, *rest] with the leading axes as one."""
            if tensor is None:
                return None
            missing = len(lead) + len(rest) - tensor.dim()
            own = tensor.shape[: tensor.dim() - len(rest)]
            shaped = tensor.reshape(*own, *[1] * max(missing, 0), *tensor.shape[len(own) :])
            try:
                return shaped.expand(*lead, *rest).reshape(batch, *rest).to(device, non_blocking=True)
            except RuntimeError:
                raise RegardError(f"{name} of shape {list(tensor.shape)}", expected=f"{[*lead, *rest]}") from None

        if mask is not None:
            mask = flat(mask, "mask", lead, queries, keys).to(device, non_blocking=True)
        return MaskSpec(
            lengths=whole(lengths, "lengths"),
            query_lengths=whole(query_lengths, "query lengths"),
            pattern=pattern,
            band=band,
            allowed=mask,
            query_positions=whole(both[0], "query positions", queries),
            key_positions=whole(both[1], "key positions", keys),
        )

    @staticmethod
    def again(
        lengths: Tensor | None, query_lengths: Tensor | None, pattern: str, band: int, allowed: Tensor | None,
        query_positions: Tensor | None, key_positions: Tensor | None,
    ) -> "MaskSpec":  # fmt: skip
        """From its parts, as an operator hands them on."""
        given = (allowed, query_positions, key_positions)
        if lengths is None and query_lengths is None and given == (None, None, None):
            return _plain(pattern, band)
        return MaskSpec(lengths, query_lengths, pattern, band, *given)

    @property
    def everything(self) -> bool:
        """Nothing is hidden from anyone."""
        return (
            self.lengths is None
            and self.query_lengths is None
            and self.allowed is None
            and self.pattern == "none"
            and self.band < 0
        )

    def diagonal(self, queries: int, keys: int) -> tuple[int, int, int]:
        """`low`, `high`, `skip` for `key place - query place`. Without positions the place is the index and a
        pattern lets the last query stand at the last key, as in cached decoding; a band counts both from 0."""
        offset = keys - queries if self.key_positions is None else 0
        low, high, skip = (bound if abs(bound) == FAR else bound + offset for bound in PATTERNS[self.pattern])
        return (low, high, skip) if self.band < 0 else (max(low, -self.band), min(high, self.band), skip)

    def dense(
        self,
        batch: int,
        queries: int,
        keys: int,
        device: torch.device | str | None = None,
        rows: Int[Tensor, " some"] | None = None,
    ) -> Bool[Tensor, "batch some key"]:
        """The same as a boolean mask (a view where axes are shared), of every query or of these `rows`."""
        query = torch.arange(queries, device=device) if rows is None else rows.to(device)
        key = torch.arange(keys, device=device)
        low, high, skip = self.diagonal(queries, keys)
        if self.query_positions is not None and self.key_positions is not None:
            at = self.query_positions.to(device)[:, query]
            apart = self.key_positions.to(device)[:, None, :] - at[:, :, None]
        else:
            apart = (key[None, :] - query[:, None])[None]
        seen = (apart >= low) & (apart <= high) & (apart != skip)
        if self.allowed is not None:
            allowed = self.allowed.to(device)
            seen = seen & (allowed if rows is None or allowed.shape[1] == 1 else allowed[:, query])
        if self.lengths is not None:
            seen = seen & (key < self.lengths.to(device)[:, None])[:, None, :]
        if self.query_lengths is not None:
            seen = seen & (query < self.query_lengths.to(device)[:, None])[:, :, None]
        return seen.expand(batch, query.shape[0], keys)


@lru_cache(maxsize=256)
def _plain(pattern: str, band: int) -> MaskSpec:
    """A spec without tensors: what is asked for most often is made once."""
    return MaskSpec(pattern=pattern, band=band)
