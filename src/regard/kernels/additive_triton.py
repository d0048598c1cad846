"""Additive attention in Triton: `e_qk = Σ_f w_f tanh(q_f + k_f)` without anything of size query × key × feature.

The kernels are in `additive_tiles_triton.py`, with the algebra. Energies and weights are float32 `[batch, query, key]`.
Where there are too many of them the queries are taken in pieces, and the backward pass computes a piece's weights
again instead of keeping them.

    answer, weights = forward(q, k, v, w, None, Sight(pattern="causal"), 0.0, None)
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.kernels import exponents_triton
from regard.kernels.additive_cpu import pieces, whole
from regard.kernels.additive_gradient_triton import gradient_kernel
from regard.kernels.additive_tiles_triton import energies_kernel
from regard.kernels.exponents_triton import WIDE, Exponents, exponents, padded, powers
from regard.kernels.launch_triton import Launch, blocks
from regard.kernels.mask import Sight
from regard.kernels.mask_triton import Seen, arguments
from regard.kernels.softmax_triton import softmax_, softmax_backward, softmax_plan

__all__ = ["TILES", "Tiles", "backward", "forward", "weights"]


@dataclass(frozen=True, eq=False)  # plans are kept by which one it is
class Tiles:
    """Sizes of the tiles, in rows × columns, and the warps that share one."""

    queries: int = 32
    keys: int = 32
    warps: int = 2
    far: tuple[int, int, int] = (32, 32, 4)  # the same where four factors would leave their range
    # Up to so many pairs × features one launch serves every range: the host is the bound there. A kernel of all ranges
    # has 159 registers a thread for 124, so 12 warps a multiprocessor for 16: for more work each range has its own.
    together: int = 2**28
    # Gradients: rows × features and warps, where there are more than half so many rows; `short` otherwise.
    of_queries: tuple[int, int, int] = (64, 64, 4)
    of_keys: tuple[int, int, int] = (64, 32, 4)
    short: tuple[int, int, int] = (32, 32, 2)
    anchor: bool = True


TILES = Tiles()  # the best of those tried on one H200, at every size (docs/LOG.md)


@lru_cache(maxsize=4096)
def _numbers(pattern: str, band: int, queries: int, keys: int) -> Seen:
    return arguments(Sight(pattern=pattern, band=band), queries, keys)


def _seen(sight: Sight, queries: int, keys: int) -> Seen:
    """What the kernels are told of what may be seen; kept where no tensor is part of it."""
    ends = sight.lengths is not None or sight.query_lengths is not None
    if ends or sight.allowed is not None or sight.query_positions is not None:
        return arguments(sight, queries, keys)
    return _numbers(sight.pattern, sight.band, queries, keys)


class Plan(NamedTuple):
    """All that is launched for the weights of some of the queries."""

    exponents: exponents_triton.Plan  # of all of them
    energies: tuple[Launch, ...]  # together they write every batch row
    shape: tuple[int, int, int]  # of the energies: their rows are padded
    softmax: Launch


@lru_cache(maxsize=4096)
def _plan(
    shape: tuple[int, int, int], keys: int, first: int, count: int, sight: tuple[Any, ...],
    bias: tuple[int, int] | None, dtype: torch.dtype, dropout: float, tile: Tiles, *kind: Any,
) -> Plan:  # fmt: skip
    (batch, queries, width), stride = shape, padded(keys, WIDE)
    ready = exponents_triton.exponents_plan(batch, queries, keys, width, *kind[:3])
    low, high, skip, *steps, lengths, query_lengths, allowed, positions = sight
    numbers = (
        batch, count, queries, keys, width, first, padded(width, 8) // 8, *ready.strides, stride, *ready.sizes,
        *(bias or (0, 0)), low, high, skip, *steps,
    )  # fmt: skip

    def launch(four: bool, rest: bool, queries: int, keys_: int, warps: int) -> Launch:
        grid = (batch * blocks(count, queries) * blocks(keys, keys_),)
        constants = (
            lengths, query_lengths, allowed, positions, bias is not None, tile.anchor, four, rest, queries, keys_,
        )  # fmt: skip
        return Launch(energies_kernel, grid, numbers, constants, warps, ready.launch.parts)

    near = (tile.queries, tile.keys, tile.warps)
    together = batch * count * keys * width <= tile.together
    energies = (
        (launch(True, True, *near),) if together else (launch(True, False, *near), launch(False, True, *tile.far))
    )
    softmax = softmax_plan(batch, count, stride, queries, keys, first, dtype, dropout, kind[0])
    return Plan(ready, energies, (batch, count, stride), softmax)


def _planned(
    q: Tensor, k: Tensor, bias: Tensor | None, seen: Seen, first: int, count: int, dtype: torch.dtype, dropout: float,
    tile: Tiles,
) -> Plan:  # fmt: skip
    """For `count` queries from `first` on, whose weights are wanted in `dtype`."""
    steps = kind = None
    if bias is not None:
        steps = (bias.stride(0) if bias.shape[0] > 1 else 0, bias.stride(1) if bias.shape[1] > 1 else 0)
        kind = bias.dtype
    return _plan(
        q.shape, k.shape[1], first, count, seen.numbers, steps, dtype, dropout, tile, q.device, q.dtype, k.dtype, kind,
        seen.types,
    )  # fmt: skip


def _energies(
    ready: Exponents, q: Tensor, k: Tensor, w: Tensor, bias: Tensor | None, seen: Seen, first: int, count: int,
    tile: Tiles, plan: Plan | None = None,
) -> Tensor:  # fmt: skip
    """[batch, count, padded key]: the energies of `count` queries from `first` on; the padding is not written."""
    if plan is None:
        plan = _planned(q, k, bias, seen, first, count, torch.float32, 0.0, tile)
    out = torch.empty(plan.shape, dtype=torch.float32, device=q.device)
    for launch in plan.energies:
        launch(ready.data, q, k, w, bias, out, *seen.tensors)
    return out


def _gradient_tile(tile: Tiles, of_queries: bool, count: int) -> tuple[int, int, int]:
    """Rows, features and warps for the gradients of so many rows."""
    sizes = tile.of_queries if of_queries else tile.of_keys
    return sizes if 2 * count > sizes[0] else tile.short


@lru_cache(maxsize=4096)
def _gradient_plan(
    shape: tuple[int, int, int], others: int, span: tuple[int, int], other_span: tuple[int, int], slope_stride: int,
    ready: exponents_triton.Plan, bounds: tuple[int, int], switches: tuple[bool, bool, bool], partial: bool,
    tile: Tiles, *kind: Any,
) -> Launch:  # fmt: skip
    batch, owns, width = shape
    rows, features, warps = _gradient_tile(tile, partial, span[1])
    numbers = (
        batch, owns, span[1], others, width, span[0], *other_span, *ready.strides, slope_stride, *ready.sizes, *bounds,
    )  # fmt: skip
    constants = (*switches, partial, rows, features)
    grid = (batch * blocks(span[1], rows) * blocks(width, features),)
    return Launch(gradient_kernel, grid, numbers, constants, warps, ready.launch.parts)


def _gradient(
    own: Tensor, other: Tensor, slopes: Tensor, w: Tensor, ready: Exponents, span: tuple[int, int],
    others: tuple[int, int], seen: Seen, of_keys: bool, dtype: torch.dtype, tile: Tiles,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """The gradient of rows `span` of `own` from the rows `others` of `other`; that of w beside that of the queries."""
    (batch, _, width), count = own.shape, span[1]
    low, high = seen.numbers[:2]
    lengths, query_lengths = seen.tensors[:2]
    ends, bounds = (query_lengths, lengths), (low, high)
    if of_keys:
        ends, bounds = (lengths, query_lengths), (-high, -low)
    out = torch.empty(batch, count, width, dtype=dtype, device=own.device)
    sums = None
    if not of_keys:
        rows = _gradient_tile(tile, True, count)[0]
        sums = torch.empty(batch * blocks(count, rows), width, dtype=torch.float32, device=own.device)
    switches = (ends[0] is not None, ends[1] is not None, seen.tensors[4] is not None)
    launch = _gradient_plan(
        own.shape, other.shape[1], span, others, slopes.shape[2], ready.plan, bounds, switches, not of_keys, tile,
        own.device, own.dtype, other.dtype, dtype, seen.types,
    )  # fmt: skip
    launch(ready.data, own, other, slopes, w, out, sums, *ends)
    return out, None if sums is None else sums.sum(0)


def forward(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, bias: Tensor | None, sight: Sight, dropout: float, seed: Tensor | None,
    tile: Tiles | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The answers [batch, query, value], and the weights for `backward` (none where the queries went in pieces)."""
    (batch, queries, _), keys = q.shape, k.shape[1]
    q, k, w = q.contiguous(), k.contiguous(), w.float().contiguous()
    tile = tile or TILES
    seen = _seen(sight, queries, keys)
    every = whole(batch, queries, keys)
    answers, ready = [], None
    for first, count in [(0, queries)] if every else pieces(batch, queries, keys, WIDE):
        plan = _planned(q, k, bias, seen, first, count, v.dtype, dropout, tile)
        ready = ready or exponents(q, k, w, plan.exponents)
        p = _energies(ready, q, k, w, bias, seen, first, count, tile, plan)
        factors = softmax_(p, keys, queries, first, v.dtype, dropout, seed, plan.softmax)
        answers.append(torch.bmm(factors if factors.shape[2] == keys else factors[:, :, :keys], v))
    answer = answers[0] if every else torch.cat(answers, 1)
    return answer, p if every else q.new_empty(0, dtype=torch.float32)


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
    ready = None if exact else exponents(q, k, weight)
    for first, count in pieces(batch, queries, keys, WIDE):
        rows = slice(first, first + count)
        if ready is not None:
            p = _energies(ready, q, k, weight, bias, seen, first, count, tile)
            softmax_(p, keys, queries, first, torch.float32, 0.0, None)
        dp = torch.bmm(grad[:, rows], v.transpose(1, 2))
        slopes, turned, factors = softmax_backward(p, dp, keys, queries, first, v.dtype, dropout, seed)
        del dp
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
        assert part is not None
        dw = part if dw is None else dw.add_(part)
        here, _ = _gradient(
            k, q, slopes, weight, powers(q, True), (0, keys), (first, count), seen, True,
            k.dtype if exact else torch.float32, tile,
        )  # fmt: skip
        dk = here if dk is None else dk.add_(here)
        del slopes  # the values last: their factors often are the weights, which stay in any case
        here = torch.bmm(factors[:, :, :keys].transpose(1, 2), grad[:, rows])
        dv = here if exact else here.float() if dv is None else dv.add_(here)
        del factors
    assert dk is not None
    assert dv is not None
    assert dw is not None
    dq = dqs[0] if len(dqs) == 1 else torch.cat(dqs, 1)
    term = None if bias is None or dbias is None else dbias.to(bias.dtype)
    return dq, dk.to(k.dtype), dv.to(v.dtype), dw.to(w.dtype), term


def weights(q: Tensor, k: Tensor, w: Tensor, bias: Tensor | None, sight: Sight) -> Tensor:
    """The weights themselves, float32 [batch, query, key]."""
    queries, keys = q.shape[1], k.shape[1]
    q, k, w = q.contiguous(), k.contiguous(), w.float().contiguous()
    ready = exponents(q, k, w)
    seen = _seen(sight, queries, keys)
    p = _energies(ready, q, k, w, bias, seen, 0, queries, TILES)
    softmax_(p, keys, queries, 0, torch.float32, 0.0, None)
    return p[:, :, :keys]
