"""Additive attention in Triton: `e_qk = Σ_f w_f tanh(q_f + k_f)` without anything of size query × key × feature.

The kernels are in `additive_tiles_triton.py`, with the algebra. Energies and weights are float32 `[batch, query, key]`.
Where there are too many of them the queries are taken in pieces, and the backward pass computes a piece's weights
again instead of keeping them.

    answer, weights = forward(q, k, v, w, None, Sight(pattern="causal"), 0.0, None)
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from regard.kernels.additive_cpu import pieces, whole
from regard.kernels.additive_tiles_triton import energies_kernel, gradient_kernel
from regard.kernels.exponents_triton import WIDE, Exponents, Powers, exponents, padded, powers
from regard.kernels.launch_triton import Launch, blocks
from regard.kernels.mask import Sight
from regard.kernels.mask_triton import Seen, arguments
from regard.kernels.softmax_triton import softmax_, softmax_backward

__all__ = ["TILES", "Tiles", "backward", "forward", "weights"]


@dataclass(frozen=True)
class Tiles:
    """Sizes of the tiles, in rows × columns, and the warps that share one."""

    queries: int = 32
    keys: int = 32
    warps: int = 2
    far: tuple[int, int, int] = (32, 32, 4)  # the same where four factors would leave their range
    rows: int = 32  # gradients: rows × features
    features: int = 32
    grad_warps: int = 2
    anchor: bool = True


TILES = Tiles()  # the best of those tried on one H200, at every size (docs/LOG.md)


@lru_cache(maxsize=4096)
def _numbers(pattern: str, band: int, queries: int, keys: int) -> Seen:
    return arguments(Sight(pattern=pattern, band=band), queries, keys)


def _seen(sight: Sight, queries: int, keys: int) -> Seen:
    """What the kernels are told of what may be seen; kept where no tensor is part of it."""
    given = (sight.lengths, sight.query_lengths, sight.allowed, sight.query_positions)
    if all([one is None for one in given]):  # noqa: C419 (a list is quicker, and this is asked at every call)
        return _numbers(sight.pattern, sight.band, queries, keys)
    return arguments(sight, queries, keys)


@lru_cache(maxsize=4096)
def _energies_plan(
    batch: int, queries: int, keys: int, width: int, first: int, count: int, strides: tuple[int, int, int],
    parts: tuple[int, int], sight: tuple[Any, ...], bias: tuple[int, int] | None, tile: Tiles, *kind: Any,
) -> tuple[Launch, Launch]:  # fmt: skip
    low, high, skip, *steps, lengths, query_lengths, allowed, positions = sight
    numbers = (
        batch, count, queries, keys, width, first, padded(width, 8) // 8, *strides, *parts, *(bias or (0, 0)),
        low, high, skip, *steps,
    )  # fmt: skip

    def launch(four: bool, queries: int, keys_: int, warps: int) -> Launch:
        grid = (batch * blocks(count, queries) * blocks(keys, keys_),)
        constants = (
            lengths, query_lengths, allowed, positions, bias is not None, tile.anchor, four, queries, keys_,
        )  # fmt: skip
        return Launch(energies_kernel, grid, numbers, constants, warps)

    return launch(True, tile.queries, tile.keys, tile.warps), launch(False, *tile.far)


def _energies(
    ready: Exponents, q: Tensor, k: Tensor, w: Tensor, bias: Tensor | None, seen: Seen, first: int, count: int,
    tile: Tiles,
) -> Tensor:  # fmt: skip
    """[batch, count, padded key]: the energies of `count` queries from `first` on; the padding is not written."""
    (batch, queries, width), keys = q.shape, k.shape[1]
    out = torch.empty(batch, count, padded(keys, WIDE), dtype=torch.float32, device=q.device)
    steps = None
    if bias is not None:
        steps = (bias.stride(0) if bias.shape[0] > 1 else 0, bias.stride(1) if bias.shape[1] > 1 else 0)
    near, far = _energies_plan(
        batch, queries, keys, width, first, count, (ready.x.shape[2], ready.y.shape[2], out.shape[2]), ready.parts,
        seen.numbers, steps, tile, q.device, q.dtype, k.dtype, None if bias is None else bias.dtype, seen.types,
    )  # fmt: skip
    padding = -width % 8
    weight = pad(w, (0, padding)) if padding else w
    for launch in (near, far):
        launch(ready.x, ready.y, q, k, weight, ready.sizes, bias, out, *seen.tensors)
    return out


@lru_cache(maxsize=4096)
def _gradient_plan(
    batch: int, owns: int, others: int, width: int, span: tuple[int, int], other_span: tuple[int, int],
    strides: tuple[int, int], parts: int, bounds: tuple[int, int], switches: tuple[bool, bool, bool],
    partial: bool, tile: Tiles, *kind: Any,
) -> Launch:  # fmt: skip
    down = blocks(span[1], tile.rows)
    numbers = (batch, owns, span[1], others, width, span[0], *other_span, *strides, parts, *bounds)
    constants = (*switches, partial, tile.rows, tile.features)
    return Launch(gradient_kernel, (batch * down * blocks(width, tile.features),), numbers, constants, tile.grad_warps)


def _gradient(
    own: Tensor, other: Tensor, slopes: Tensor, w: Tensor, ready: Powers, span: tuple[int, int],
    others: tuple[int, int], seen: Seen, of_keys: bool, dtype: torch.dtype, tile: Tiles,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The gradient of rows `span` of `own` from the rows `others` of `other`; that of w beside that of the queries."""
    (batch, owns, width), count = own.shape, span[1]
    low, high = seen.numbers[:2]
    lengths, query_lengths = seen.tensors[:2]
    ends, bounds = (query_lengths, lengths), (low, high)
    if of_keys:
        ends, bounds = (lengths, query_lengths), (-high, -low)
    out = torch.empty(batch, count, width, dtype=dtype, device=own.device)
    rows = 0 if of_keys else batch * blocks(count, tile.rows)
    sums = torch.empty(rows, width, dtype=torch.float32, device=own.device)
    switches = (ends[0] is not None, ends[1] is not None, seen.tensors[4] is not None)
    launch = _gradient_plan(
        batch, owns, other.shape[1], width, span, others, (ready.rows.shape[2], slopes.shape[2]), ready.parts, bounds,
        switches, not of_keys, tile, own.device, own.dtype, other.dtype, dtype, seen.types,
    )  # fmt: skip
    launch(own, other, ready.rows, slopes, w, ready.sizes, out, sums, *ends)
    return out, sums if of_keys else sums.sum(0)


def forward(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, bias: Tensor | None, sight: Sight, dropout: float, seed: Tensor | None,
    tile: Tiles | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The answers [batch, query, value], and the weights for `backward` (none where the queries went in pieces)."""
    (batch, queries, _), keys = q.shape, k.shape[1]
    q, k, w = q.contiguous(), k.contiguous(), w.float().contiguous()
    tile = tile or TILES
    answers = []
    seen = _seen(sight, queries, keys)
    ready = exponents(q, k)
    for first, count in pieces(batch, queries, keys, WIDE):
        p = _energies(ready, q, k, w, bias, seen, first, count, tile)
        factors = softmax_(p, keys, queries, first, v.dtype, dropout, seed)
        answers.append(torch.bmm(factors if factors.shape[2] == keys else factors[:, :, :keys], v))
    answer = answers[0] if len(answers) == 1 else torch.cat(answers, 1)
    return answer, p if whole(batch, queries, keys) else q.new_empty(0, dtype=torch.float32)


def backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, w: Tensor, bias: Tensor | None, sight: Sight, dropout: float,
    seed: Tensor | None, p: Tensor, tile: Tiles | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:  # fmt: skip
    """The gradients of q, k, v, w and, where there is one, of the bias; `p` as `forward` left it."""
    (batch, queries, _), keys = q.shape, k.shape[1]
    q, k, grad, weight = q.contiguous(), k.contiguous(), grad.to(v.dtype), w.float().contiguous()
    tile = tile or TILES
    exact = whole(batch, queries, keys)  # else the pieces are added up in float32
    seen = _seen(sight, queries, keys)
    dqs, dk, dv, dw = [], None, None, None
    dbias = None if bias is None else torch.zeros(bias.shape, dtype=torch.float32, device=q.device)
    ready = None if exact else exponents(q, k)
    for first, count in pieces(batch, queries, keys, WIDE):
        rows = slice(first, first + count)
        if ready is not None:
            p = _energies(ready, q, k, weight, bias, seen, first, count, tile)
            softmax_(p, keys, queries, first, torch.float32, 0.0, None)
        dp = torch.bmm(grad[:, rows], v.transpose(1, 2))
        slopes, turned, factors = softmax_backward(p, dp, keys, queries, first, v.dtype, dropout, seed)
        del dp
        here = torch.bmm(factors[:, :, :keys].transpose(1, 2), grad[:, rows])
        dv = here if exact else here.float() if dv is None else dv.add_(here)
        del factors
        if dbias is not None:
            total = slopes[:, :, :keys]
            total = total.sum(0, keepdim=True) if dbias.shape[0] == 1 else total
            if dbias.shape[1] == 1:
                dbias += total.sum(1, keepdim=True)
            else:
                dbias[:, rows] = total
        # The powers of one side at a time, and of each piece anew: little work, and less memory than both.
        of_keys = powers(k)
        dq, part = _gradient(q, k, turned, weight, of_keys, (first, count), (0, keys), seen, False, q.dtype, tile)
        del of_keys
        dqs.append(dq)
        del turned
        dw = part if dw is None else dw.add_(part)
        here, _ = _gradient(
            k, q, slopes, weight, powers(q), (0, keys), (first, count), seen, True,
            k.dtype if exact else torch.float32, tile,
        )  # fmt: skip
        dk = here if dk is None else dk.add_(here)
    assert dk is not None
    assert dv is not None
    assert dw is not None
    dq = dqs[0] if len(dqs) == 1 else torch.cat(dqs, 1)
    term = None if bias is None or dbias is None else dbias.to(bias.dtype)
    return dq, dk.to(k.dtype), dv.to(v.dtype), dw.to(w.dtype), term


def weights(q: Tensor, k: Tensor, w: Tensor, bias: Tensor | None, sight: Sight) -> Tensor:
    """The weights themselves, float32 [batch, query, key]."""
    queries, keys = q.shape[1], k.shape[1]
    q, k = q.contiguous(), k.contiguous()
    ready = exponents(q, k)
    seen = _seen(sight, queries, keys)
    p = _energies(ready, q, k, w.float().contiguous(), bias, seen, 0, queries, TILES)
    softmax_(p, keys, queries, 0, torch.float32, 0.0, None)
    return p[:, :, :keys]
