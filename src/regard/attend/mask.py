"""Attention masks. True means that a key can be attended to, everywhere in regard.

    padding(lengths, 7)          [batch, key]   real keys, not padding
    causal(5, 5)                 [query, key]   this one and earlier ones
    direction(5, "forward")      [query, key]   only earlier ones (Shen 2018: forward mask); "backward" only later
    band(5, 7, 2)                [query, key]   at most 2 away

Masks combine with `&`.
"""

from typing import Literal

import torch
from jaxtyping import Bool, Int
from torch import Tensor

__all__ = ["band", "causal", "direction", "padding"]


def padding(lengths: Int[Tensor, " batch"], keys: int) -> Bool[Tensor, "batch key"]:
    """The first `lengths[b]` keys of each row."""
    return torch.arange(keys, device=lengths.device)[None, :] < lengths[:, None]


def _distance(queries: int, keys: int, device: torch.device | str | None) -> Int[Tensor, "query key"]:
    """How many positions a key is before its query (negative: after it); the last query is at the last key."""
    query = torch.arange(queries, device=device)[:, None] + (keys - queries)
    return query - torch.arange(keys, device=device)[None, :]


def causal(queries: int, keys: int, device: torch.device | str | None = None) -> Bool[Tensor, "query key"]:
    """This key and earlier ones. With fewer queries than keys the queries are the last ones (cached decoding)."""
    return _distance(queries, keys, device) >= 0


def direction(
    length: int, way: Literal["forward", "backward", "not_self"], device: torch.device | str | None = None
) -> Bool[Tensor, "query key"]:
    """Shen 2018, section 3.2: forward looks at strictly earlier keys, backward at strictly later ones."""
    ahead = _distance(length, length, device)
    return {"forward": ahead > 0, "backward": ahead < 0, "not_self": ahead != 0}[way]


def band(queries: int, keys: int, width: int, device: torch.device | str | None = None) -> Bool[Tensor, "query key"]:
    """Keys at most `width` away. Queries and keys are counted from the same first position."""
    return (torch.arange(queries, device=device)[:, None] - torch.arange(keys, device=device)[None, :]).abs() <= width
