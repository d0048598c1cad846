"""Additive attention in Triton: `e_qk = Σ_f w_f tanh(q_f + k_f)` without anything of size query × key × feature.

The kernels are in `additive_tiles_triton.py`, with the algebra. Scores and weights are float32 `[batch, query, key]`.
Where there are too many of them the queries are taken in pieces, and the backward pass computes a piece's weights
again instead of keeping them.

    answer, weights = forward(q, k, v, w, None, MaskSpec(pattern="causal"), 0.0, None)
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from regard.kernels import exponents_triton
from regard.kernels.additive_cpu import pieces, whole
from regard.kernels.additive_gradient_triton import gradient_kernel
from regard.kernels.additive_tiles_triton import scores_kernel
from regard.kernels.clean_triton import clean_kernel
from regard.kernels.exponents_triton import WIDE, Exponents, exponents, padded, powers_plan
from regard.kernels.launch_triton import Launch, blocks
from regard.kernels.mask import MaskSpec
from regard.kernels.mask_triton import MaskArguments, arguments
from regard.kernels.product_triton import multiplies, parts, product
from regard.kernels.softmax_triton import softmax_, softmax_backward, softmax_backward_plan, softmax_plan

__all__ = ["TILES", "Tiles", "backward", "forward", "weights"]


@dataclass(frozen=True, eq=False)  # plans are kept by which one it is
class Tiles:
    """Sizes of the tiles, in rows × columns, and the warps that share one."""

    queries: int = 32
    keys: int = 32
    warps: int = 2
    far: tuple[int, int, int] = (32, 32, 4)  # the same where four factors would leave their range
    # Up to so many pairs × features one launch serves every range, and one both sides' powers: the host is the bound
    # there. A kernel of all ranges wants 164 registers a thread, so that a multiprocessor has room for 12 warps; for
    # more work each range has its own, and that of four factors does with 128, for 16 warps.
    together: int = 2**28
    # Such work with few keys has its answers in the same launch: the most keys, queries and warps of a tile.
    short: tuple[tuple[int, int, int], ...] = ((32, 32, 4), (64, 32, 4), (128, 32, 8))
    # Gradients: rows × features and warps, where there are more than half so many rows; `few` otherwise.
    of_queries: tuple[int, int, int] = (64, 64, 4)
    of_keys: tuple[int, int, int] = (64, 32, 4)
    few: tuple[int, int, int] = (32, 32, 2)
    anchor: bool = True


TILES = Tiles()  # the best of those tried on one H200, at every size (docs/LOG.md)


@lru_cache(maxsize=4096)
def _numbers(pattern: str, band: int, queries: int, keys: int) -> MaskArguments:
    return arguments(MaskSpec(pattern=pattern, band=band), queries, keys)


def _seen(spec: MaskSpec, queries: int, keys: int) -> MaskArguments:
    """What the kernels are told of what may be seen; kept where no tensor is part of it."""
    ends = spec.lengths is not None or spec.query_lengths is not None
    if ends or spec.allowed is not None or spec.query_positions is not None:
        return arguments(spec, queries, keys)
    return _numbers(spec.pattern, spec.band, queries, keys)


class AdditivePlan(NamedTuple):
    """All that is launched for the answers of some of the queries."""

    exponents: exponents_triton.ExponentsPlan  # of all of them
    scores: tuple[Launch, ...]  # together they write every batch row
    shape: tuple[int, int, int]  # of the scores: their rows are padded
    softmax: Launch
    answers: tuple[Launch, Launch] | None  # both of these at once, and the product: without the weights, and with them


@lru_cache(maxsize=4096)
def _plan(
    shape: tuple[int, int, int], keys: int, values: int, first: int, count: int, spec: tuple[Any, ...],
    bias: tuple[int, int] | None, dtype: torch.dtype, dropout: float, tile: Tiles, *kind: Any,
) -> AdditivePlan:  # fmt: skip
    (batch, queries, width), stride = shape, padded(keys, WIDE)
    ready = exponents_triton.exponents_plan(batch, queries, keys, width, *kind[:3])
    low, high, skip, *steps, lengths, query_lengths, allowed, positions = spec
    numbers = (
        batch, count, queries, keys, width, first, padded(width, 8) // 8, *ready.strides, stride, *ready.sizes,
        *(bias or (0, 0)), low, high, skip, *steps,
    )  # fmt: skip

    def launch(
        four: bool, rest: bool, queries: int, keys_: int, warps: int, short: bool = False, keep: bool = False
    ) -> Launch:
        turns = 1 if four else max(WIDE // queries, 1)
        grid = (batch * blocks(count, queries * turns) * blocks(keys, keys_),)
        constants = (
            lengths, query_lengths, allowed, positions, bias is not None, tile.anchor, short, keep,
            short and dropout > 0, four, rest, turns, queries, keys_,
        )  # fmt: skip
        last = (values, dropout) if short else (16, 0.0)  # 16: no kernel of its own for what it does not use
        registers = 128 if four and not rest else None
        return Launch(scores_kernel, grid, (*numbers, *last), constants, warps, ready.launch.parts, registers=registers)

    near = (tile.queries, tile.keys, tile.warps)
    together = batch * count * keys * width <= tile.together
    scores = (launch(True, True, *near),) if together else (launch(True, False, *near), launch(False, True, *tile.far))
    softmax = softmax_plan(batch, count, stride, queries, keys, first, dtype, dropout, kind[0])
    fit, answers = [sizes for sizes in tile.short if sizes[0] >= keys], None
    if together and fit and multiplies(kind[0]):
        most, tall, warps = fit[0]
        alone, both = (launch(True, True, tall, most, warps, short=True, keep=keep) for keep in (False, True))
        answers = (alone, both)
    return AdditivePlan(ready, scores, (batch, count, stride), softmax, answers)


def _planned(
    q: Tensor, k: Tensor, values: int, bias: Tensor | None, seen: MaskArguments, first: int, count: int,
    dtype: torch.dtype, dropout: float, tile: Tiles,
) -> AdditivePlan:  # fmt: skip
    """For `count` queries from `first` on, whose weights are wanted in `dtype`, the type of so many `values`."""
    steps = kind = None
    if bias is not None:
        steps = (bias.stride(0) if bias.shape[0] > 1 else 0, bias.stride(1) if bias.shape[1] > 1 else 0)
        kind = bias.dtype
    return _plan(
        q.shape, k.shape[1], values, first, count, seen.numbers, steps, dtype, dropout, tile, q.device, q.dtype,
        k.dtype, kind, seen.types,
    )  # fmt: skip


def _scores(
    ready: Exponents, q: Tensor, k: Tensor, w: Tensor, bias: Tensor | None, seen: MaskArguments, first: int, count: int,
    tile: Tiles, plan: AdditivePlan | None = None,
) -> Tensor:  # fmt: skip
    """[batch, count, padded key]: the scores of `count` queries from `first` on; the padding is not written."""
    if plan is None:
        plan = _planned(q, k, 1, bias, seen, first, count, torch.float32, 0.0, tile)
    out = torch.empty(plan.shape, dtype=torch.float32, device=q.device)
    for launch in plan.scores:
        launch(ready.data, q, k, w, bias, out, None, None, None, *seen.tensors)
    return out


def _gradient_tile(tile: Tiles, of_queries: bool, count: int) -> tuple[int, int, int]:
    """Rows, features and warps for the gradients of so many rows."""
    sizes = tile.of_queries if of_queries else tile.of_keys
    return sizes if 2 * count > sizes[0] else tile.few


class Pull(NamedTuple):
    """All that is launched for the gradients of some of the queries, and of the keys through them."""

    softmax: Launch
    numbers: int  # of the tensor that holds the scores' gradient turned; of small work the powers lie behind it
    powers: tuple[
        exponents_triton.ExponentsPlan, ...
    ]  # of both sides; of large work those of the keys, then of the queries
    dq: Launch
    dk: Launch
    sums: tuple[int, ...]  # the gradient of w as so many rows to be added up; no such axis where there is one


@lru_cache(maxsize=4096)
def _pull_plan(
    shape: tuple[int, int, int], keys: int, first: int, count: int, spec: tuple[Any, ...], dtype: torch.dtype,
    dropout: float, tile: Tiles, *kind: Any,
) -> Pull:  # fmt: skip
    (batch, queries, width), tall = shape, padded(count, WIDE)
    low, high, *_, lengths, query_lengths, _, positions = spec
    numbers = batch * keys * tall
    powers: tuple[exponents_triton.ExponentsPlan, ...] = (
        powers_plan(batch, 0, keys, width), powers_plan(batch, queries, 0, width)
    )  # fmt: skip
    if batch * count * keys * width <= tile.together:
        powers = (powers_plan(batch, queries, keys, width, numbers),)
        numbers = powers[0].numbers

    def launch(of_keys: bool, own: tuple[int, ...], other: tuple[int, ...], slope_stride: int) -> Launch:
        (owns, start, here), (others, *span) = own, other
        ends, bounds = (query_lengths, lengths), (low, high)
        side, ready = 1, powers[0]
        if of_keys:
            ends, bounds, side, ready = (lengths, query_lengths), (-high, -low), 0, powers[-1]
        rows, features, warps = _gradient_tile(tile, not of_keys, here)
        numbers = (
            batch, owns, here, others, width, start, *span, *ready.strides, slope_stride, ready.sizes[side], *bounds,
        )  # fmt: skip
        grid = (batch * blocks(here, rows) * blocks(width, features),)
        parts = ready.launch.parts[2 * side : 2 * side + 2]
        return Launch(gradient_kernel, grid, numbers, (*ends, positions, not of_keys, rows, features), warps, parts)

    some, every = (queries, first, count), (keys, 0, keys)
    parts = batch * blocks(count, _gradient_tile(tile, True, count)[0])
    return Pull(
        softmax_backward_plan(batch, count, queries, keys, first, dtype, dropout), numbers, powers,
        launch(False, some, every, tall), launch(True, every, some, padded(keys, WIDE)),
        (width,) if parts == 1 else (parts, width),
    )  # fmt: skip


@lru_cache(maxsize=4096)
def _clean_plan(batch: int, keys: int, width: int, values: int, *kind: Any) -> Launch:
    return Launch(clean_kernel, (batch * keys,), (width, values), (128,), 1)


def _clean(k: Tensor, v: Tensor, spec: MaskSpec, bias: Tensor | None) -> tuple[Tensor, Tensor]:
    """What is hidden may hold anything (see `hidden`): one launch, and none where nothing is hidden."""
    if spec.everything and bias is None:
        return k, v
    v = v.contiguous()
    out_k, out_v = torch.empty_like(k), torch.empty_like(v)
    plan = _clean_plan(*k.shape, v.shape[2], k.device, k.dtype, v.dtype)
    plan(k, v, out_k, out_v)
    return out_k, out_v


def forward(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, bias: Tensor | None, spec: MaskSpec, dropout: float,
    seed: Tensor | None,
    keep: bool = True, tile: Tiles | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The answers [batch, query, value], and the weights for `backward` (none where the queries went in pieces; the
    answers again, or anything, where nobody will `keep` them)."""
    (batch, queries, _), keys = q.shape, k.shape[1]
    q, k, w = q.contiguous(), k.contiguous(), w.float().contiguous()
    tile = tile or TILES
    k, v = _clean(k, v, spec, bias)
    seen = _seen(spec, queries, keys)
    every = whole(batch, queries, keys)
    answers: list[Tensor] = []
    ready = right = None
    for first, count in [(0, queries)] if every else pieces(batch, queries, keys, WIDE):
        plan = _planned(q, k, v.shape[2], bias, seen, first, count, v.dtype, dropout, tile)
        ready = ready or exponents(q, k, w, plan.exponents)
        if every and plan.answers is not None:
            answer = torch.empty((batch, queries, v.shape[2]), dtype=v.dtype, device=q.device)
            p = torch.empty(plan.shape, dtype=torch.float32, device=q.device) if keep else answer
            # Where there is no room for weights anything of their type stands for it: nothing is read or written there.
            place, v = p if keep else w, v.contiguous()
            plan.answers[keep](ready.data, q, k, w, bias, place, v, answer, seed, *seen.tensors)
            return answer, p
        p = _scores(ready, q, k, w, bias, seen, first, count, tile, plan)
        factors = softmax_(p, keys, queries, first, v.dtype, dropout, seed, plan.softmax)
        right = right if answers else parts(v, queries)
        answers.append(product(factors, v, right))
    answer = answers[0] if every else torch.cat(answers, 1)
    return answer, p if every else q.new_empty(0, dtype=torch.float32)


def backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, w: Tensor, bias: Tensor | None, spec: MaskSpec, dropout: float,
    seed: Tensor | None, p: Tensor, tile: Tiles | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:  # fmt: skip
    """The gradients of q, k, v, w and, where there is one, of the bias; `p` as `forward` left it."""
    (batch, queries, width), keys = q.shape, k.shape[1]
    q, k, weight = q.contiguous(), k.contiguous(), w.float().contiguous()
    tile = tile or TILES
    k, v = _clean(k, v, spec, bias)
    exact = whole(batch, queries, keys)  # else the pieces are added up in float32
    seen = _seen(spec, queries, keys)
    lengths, query_lengths = seen.tensors[:2]
    dqs, dk, dv, dw = [], None, None, None
    dbias = None if bias is None else torch.zeros(bias.shape, dtype=torch.float32, device=q.device)
    ready = None if exact else exponents(q, k, weight)
    for first, count in pieces(batch, queries, keys, WIDE):
        plan = _pull_plan(
            q.shape, keys, first, count, seen.numbers, v.dtype, dropout, tile, q.device, q.dtype, k.dtype, exact,
            seen.types,
        )  # fmt: skip
        if ready is not None:
            p = _scores(ready, q, k, weight, bias, seen, first, count, tile)
            softmax_(p, keys, queries, first, torch.float32, 0.0, None)
        pull = grad if count == queries else grad[:, first : first + count]
        dp = torch.bmm(pull, v.transpose(1, 2))
        turned = p.new_empty(plan.numbers)
        slopes, factors = softmax_backward(p, dp, turned, v.dtype, dropout, seed, plan.softmax)
        del dp
        if dbias is not None:
            total = slopes[:, :, :keys]
            total = total.sum(0, keepdim=True) if dbias.shape[0] == 1 else total
            if dbias.shape[1] == 1:
                dbias += total.sum(1, keepdim=True)
            else:
                dbias[:, first : first + count] = total
        together = len(plan.powers) == 1
        powers = turned if together else p.new_empty(plan.powers[0].numbers)
        plan.powers[0].launch(powers, q, k)
        dqs.append(q.new_empty(batch, count, width))
        sums = p.new_empty(*plan.sums)
        plan.dq(powers, q, k, turned, weight, dqs[-1], sums, query_lengths, lengths)
        part = sums if sums.dim() == 1 else sums.sum(0)
        dw = part if dw is None else dw.add_(part)
        del turned
        if not together:
            del powers  # one side at a time, and of each piece anew: little work, and less memory than both
            powers = p.new_empty(plan.powers[1].numbers)
            plan.powers[1].launch(powers, q, k)
        here = torch.empty_like(k, dtype=k.dtype if exact else torch.float32)
        plan.dk(powers, k, q, slopes, weight, here, None, lengths, query_lengths)
        dk = here if dk is None else dk.add_(here)
        del powers, slopes  # the values last: their factors often are the weights, which stay in any case
        factors = factors if factors.shape[2] == keys else factors[:, :, :keys]
        here = torch.bmm(factors.transpose(1, 2), pull)
        dv = here if exact else here.float() if dv is None else dv.add_(here)
        del factors
    assert dk is not None
    assert dv is not None
    assert dw is not None
    if not exact:
        dk, dv = dk.to(k.dtype), dv.to(v.dtype)
    dq = dqs[0] if len(dqs) == 1 else torch.cat(dqs, 1)
    term = None if bias is None or dbias is None else dbias.to(bias.dtype)
    return dq, dk, dv, dw if weight is w else dw.to(w.dtype), term


def weights(q: Tensor, k: Tensor, w: Tensor, bias: Tensor | None, spec: MaskSpec) -> Tensor:
    """The weights themselves, float32 [batch, query, key]."""
    queries, keys = q.shape[1], k.shape[1]
    q, k, w = q.contiguous(), k.contiguous(), w.float().contiguous()
    ready = exponents(q, k, w)
    seen = _seen(spec, queries, keys)
    p = _scores(ready, q, k, w, bias, seen, 0, queries, TILES)
    softmax_(p, keys, queries, 0, torch.float32, 0.0, None)
    return p[:, :, :keys]
