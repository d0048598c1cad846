"""Feature-wise attention on a GPU: Triton kernels that never store anything of size query × key × feature.

Since the scores `c·tanh((q+k)/c)` lie in (−c, c), their softmax needs no running maximum: a tile of answers is two
sums over the keys. `prepare` makes `e^{2q/c}` or `e^{2k/c}` once a row, with the largest magnitudes; where their
products could leave the range of float32 a tile adds `q + k` first instead, and each tile decides for itself, on the
device. `feature_keys_triton` has the walk over the keys (answers, gradient of the queries), `feature_queries_triton`
that over the queries (gradients of keys and values), and here is the one over features (gradient of a bias).

`regard.kernels.feature` is the way in; it calls `forward` and `backward`.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.feature_keys_triton import walk_keys_kernel
from regard.kernels.feature_queries_triton import walk_queries_kernel
from regard.kernels.feature_score_triton import grown, kept, row_hash, settled
from regard.kernels.feature_walk_triton import STEP
from regard.kernels.launch_triton import Launch, Parts, blocks
from regard.kernels.mask import MaskSpec
from regard.kernels.math_triton import reciprocal

__all__ = ["ROOM", "TILES", "WIDE", "backward", "forward", "numbers", "tile"]

WIDE = 64  # features a program of `prepare` and `pull` takes
ROOM = 60.0  # bits: (1 + 2^60)² is well inside float32, and so is its reciprocal

TILES: dict[str, tuple[int, int, int]] = {  # rows, features, warps; found by benchmarks/check_feature.py
    "answer": (32, 32, 2),
    "query_gradient": (32, 64, 4),
    "key_gradient": (32, 64, 4),
    "bias_gradient": (16, 32, 4),
}


def tile(name: str, features: int) -> tuple[int, int, int]:
    """Rows, features and warps of a walk's tile. Where answers reach beyond the last feature, their masks want room:
    more warps share it."""
    height, width, warps = TILES[name]
    return height, width, 2 * warps if name == "answer" and features % width else warps


@triton.jit(do_not_specialize=["T"])
@no_type_check
def prepare_kernel(
    x_ptr, grown_ptr, largest_ptr, lengths_ptr,
    T, F, step, step_low,
    LENGTHED: tl.constexpr, BF: tl.constexpr,
):  # fmt: skip
    """e^{2x/c} of some rows and their largest magnitude."""
    part, block, b = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    n = T
    if LENGTHED:
        n = tl.minimum(tl.load(lengths_ptr + b).to(tl.int32), T)
    f = block * BF + tl.arange(0, BF)
    most = tl.zeros([8, BF], tl.float32)
    for start in range(part * STEP, tl.minimum(part * STEP + STEP, n), 8):
        i = start + tl.arange(0, 8)
        there = (i < n)[:, None] & (f < F)[None, :]
        at = b * T * F + i[:, None] * F + f[None, :]
        x = tl.load(x_ptr + at, mask=there, other=0.0).to(tl.float32)
        most = tl.maximum(most, tl.abs(x))
        tl.store(grown_ptr + at, grown(x, step, step_low), mask=there)
    parts = tl.num_programs(0)
    tl.store(largest_ptr + (b * parts + part) * F + f, tl.max(most, 0), mask=f < F)


@triton.jit(do_not_specialize=["T"])
@no_type_check
def pull_kernel(
    grad_ptr, exact_ptr, den_ptr, g_ptr, d_ptr, lengths_ptr, T, F, keep_scale, LENGTHED: tl.constexpr, BF: tl.constexpr
):
    """What the walks of the backward pass need of the queries' answers: `g = dO/den` and `D = g·O`."""
    part, block, b = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    n = T
    if LENGTHED:
        n = tl.minimum(tl.load(lengths_ptr + b).to(tl.int32), T)
    f = block * BF + tl.arange(0, BF)
    for start in range(part * STEP, tl.minimum(part * STEP + STEP, n), 8):
        i = start + tl.arange(0, 8)
        there = (i < n)[:, None] & (f < F)[None, :]
        at = b * T * F + i[:, None] * F + f[None, :]
        den = tl.load(den_ptr + at, mask=there, other=1.0)
        grad = tl.load(grad_ptr + at, mask=there, other=0.0).to(tl.float32)
        g = tl.where(den == 0.0, 0.0, tl.div_rn(grad, tl.where(den == 0.0, 1.0, den)))  # 0: it saw nothing
        D = g * tl.load(exact_ptr + at, mask=there, other=0.0)
        tl.store(g_ptr + at, g * keep_scale, mask=there)
        tl.store(d_ptr + at, D, mask=there)


@triton.jit
@no_type_check
def largest_of_all(ptr, size, MANY: tl.constexpr):
    """The largest magnitude in one sentence, from `prepare`'s partial answers."""
    most = tl.zeros([MANY], tl.float32)
    for start in range(0, size, MANY):
        i = start + tl.arange(0, MANY)
        most = tl.maximum(most, tl.load(ptr + i, mask=i < size, other=0.0))
    return tl.max(most)


@triton.jit(do_not_specialize=["Q", "K", "threshold", "parts_q", "parts_k"])
@no_type_check
def bias_gradient_kernel(
    q_ptr, k_ptr, v_ptr, x_ptr, y_ptr, most_q_ptr, most_k_ptr, g_ptr, d_ptr, bias_ptr, out_ptr, seed_ptr,
    Q, K, F, parts_q, parts_k, step, decay, room, threshold,
    DROPPED: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """A tile of pairs walks over the features: what the scores of a pair, summed over features, would change.
    Its weights are made as the walks make theirs: D is the mean of g·v by those, and by no others do they cancel."""
    blocks_k, blocks_q = tl.cdiv(K, BK), tl.cdiv(Q, BQ)
    pid = tl.program_id(0)
    k = (pid % blocks_k) * BK + tl.arange(0, BK)
    q = (pid // blocks_k % blocks_q) * BQ + tl.arange(0, BQ)
    b = (pid // (blocks_k * blocks_q)).to(tl.int64)
    pair = b * Q * K + q.to(tl.int64)[:, None] * K + k[None, :]
    there = (q < Q)[:, None] & (k < K)[None, :]
    e = tl.load(bias_ptr + pair, mask=there, other=float("-inf"))
    total = tl.zeros([BQ, BK], tl.float32)
    q_at = b * Q * F + q * F
    k_at = b * K * F + k * F
    reach = largest_of_all(most_q_ptr + b * parts_q * F, parts_q * F, 128)
    reach += largest_of_all(most_k_ptr + b * parts_k * F, parts_k * F, 128)
    safe = reach * step <= room
    for start in range(0, F, 16):  # sums of sums: a long one loses a digit
        part = tl.zeros([BQ, BK], tl.float32)
        for f in range(start, tl.minimum(start + 16, F)):
            g = tl.load(g_ptr + q_at + f, mask=q < Q, other=0.0)
            D = tl.load(d_ptr + q_at + f, mask=q < Q, other=0.0)
            v = tl.load(v_ptr + k_at + f, mask=k < K, other=0.0).to(tl.float32)
            if safe:
                x = tl.load(x_ptr + q_at + f, mask=q < Q, other=0.0)
                y = tl.load(y_ptr + k_at + f, mask=k < K, other=0.0)
                d = x[:, None] * y[None, :] + 1.0
                r = reciprocal(d)
                r += r * (1.0 - d * r)
            else:
                x = tl.load(q_ptr + q_at + f, mask=q < Q, other=0.0).to(tl.float32)
                y = tl.load(k_ptr + k_at + f, mask=k < K, other=0.0).to(tl.float32)
                r, _ = settled((x[:, None] + y[None, :]) * step)
            o = g[:, None] * v[None, :]
            if DROPPED:
                o = tl.where(kept(row_hash(seed_ptr, (b * Q + q)[:, None], f), k[None, :], threshold), o, 0.0)
            part += tl.exp2(e + decay * (0.5 - r)) * (o - D[:, None])
        total += part
    tl.store(out_ptr + pair, tl.where(e == float("-inf"), 0.0, total), mask=there)


@dataclass(frozen=True)
class _FeaturePlan:
    """Every launch of one kind of call; only the tensors are missing."""

    prepare_keys: Launch
    prepare_queries: Launch
    answer: Launch
    alone: Launch  # the answer without what a backward pass needs
    pull: Launch
    query_gradient: Launch
    key_gradient: Launch
    bias_gradient: Launch
    work: Parts  # of one tensor: e^{2x/c} of a side, its partial largest magnitudes, then of queries g and D
    sizes: tuple[int, int]  # so many numbers has it for the answer, and for the gradients


def numbers(scale: float, dropout: float) -> tuple[float, float, float, int, float]:
    """`step` and what its rounding took (see `grown`), `decay`, dropout's `threshold`, the factor of what is kept."""
    step = 2 * math.log2(math.e) / scale
    rounded = torch.tensor(step, dtype=torch.float32).item()
    threshold = min(int(dropout * 2**32), 2**32 - 1) - 2**31  # as a signed number; see kept()
    return rounded, step - rounded, 2 * scale * math.log2(math.e), threshold, 1 / (1 - dropout)


@lru_cache(maxsize=4096)
def _plan(
    batch: int, queries: int, keys: int, features: int, scale: float, dropout: float,
    pattern: str, band: int, away: bool, lengthed: bool, query_lengthed: bool, placed: bool,
    allowed: tuple[int, ...] | None, bias: tuple[int, ...] | None, exact: bool, *kind: Any,
) -> _FeaturePlan:  # fmt: skip
    """`away`: rows have positions of their own (`placed`: and nothing but these tells what is seen); `allowed` and
    `bias` are strides over batch, query and key; `kind` the device and the types of the tensors."""
    low, high, skip = MaskSpec(pattern=pattern, band=band).diagonal(0, 0 if away else keys - queries)
    ranged = bias is None and (pattern != "none" or band >= 0)
    *growth, decay, threshold, keep_scale = numbers(scale, dropout)
    parts = blocks(keys, STEP.value), blocks(queries, STEP.value)
    # One room serves both walks of the backward pass, that over the keys and that over the queries.
    rooms = [batch * features * n for n in (max(parts), max(queries, keys), queries, queries)]
    most, x, g, D, end = accumulate((-(-room // 4) * 4 for room in rooms), initial=0)
    work = tuple((4 * at, torch.float32) for at in (x, most, g, D))
    strides = (*(allowed or (0, 0, 0)), *(bias or (0, 0, 0)))

    def prepare(time: int, n: int, some: bool) -> Launch:
        grid = (n, blocks(features, WIDE), batch)
        return Launch(prepare_kernel, grid, (time, features, *growth), (some, WIDE), 4, work[:2], 1)

    def walk(kernel: Any, name: str, rows: int, n: int, switch: tuple[bool, ...], has: Parts = work) -> Launch:
        height, width, warps = tile(name, features)
        last = (keep_scale,) if kernel is walk_keys_kernel else ()
        sizes = (queries, keys, features, n, *growth, decay, ROOM, low, high, skip, threshold, *last, *strides, 0)
        constants = (
            *switch, exact, features % width == 0, ranged, lengthed, query_lengthed, placed, allowed is not None,
            bias is not None, dropout > 0, False, False, height, width,
        )  # fmt: skip
        grid = (blocks(rows, height) * blocks(features, width) * batch,)
        return Launch(kernel, grid, sizes, constants, warps, has, 3)

    height, width, warps = TILES["bias_gradient"]
    return _FeaturePlan(
        prepare(keys, parts[0], lengthed),
        prepare(queries, parts[1], query_lengthed),
        walk(walk_keys_kernel, "answer", queries, parts[0], (False, True), work[:2]),
        walk(walk_keys_kernel, "answer", queries, parts[0], (False, False), work[:2]),
        Launch(pull_kernel, (parts[1], blocks(features, WIDE), batch), (queries, features, keep_scale),
               (query_lengthed, WIDE), 4, work[2:], 3),
        walk(walk_keys_kernel, "query_gradient", queries, parts[0], (True, False)),
        walk(walk_queries_kernel, "key_gradient", keys, parts[1], ()),
        Launch(bias_gradient_kernel, (blocks(queries, height) * blocks(keys, width) * batch,),
               (queries, keys, features, *reversed(parts), growth[0], decay, ROOM, threshold),
               (dropout > 0, height, width), warps),
        work, (x + batch * keys * features, end),
    )  # fmt: skip


def _strides(tensor: Tensor | None) -> tuple[int, ...] | None:
    """Strides over batch, query and key; 0 where an axis is shared."""
    if tensor is None:
        return None
    return tuple(s if size > 1 else 0 for s, size in zip(tensor.stride(), tensor.shape, strict=True))


def _ready(
    q: Tensor, k: Tensor, v: Tensor, scale: float, spec: MaskSpec, bias: Tensor | None, dropout: float,
    seed: Tensor | None,
) -> tuple[_FeaturePlan, tuple[Tensor, ...]]:  # fmt: skip
    """The plan of this call, and the pointers that all its walks share (anything where there is none: q)."""
    (batch, queries, features), keys = q.shape, k.shape[1]
    away = spec.query_positions is not None
    allowed = None if spec.allowed is None or bias is not None else spec.allowed.view(torch.uint8)
    placed = away and bias is None
    given = (spec.lengths, spec.query_lengths, spec.query_positions, spec.key_positions, allowed, bias, seed)
    pointers = tuple([q if t is None else t if t is allowed or t is bias else t.contiguous() for t in given])
    plan = _plan(
        batch, queries, keys, features, scale, dropout, spec.pattern, spec.band, away,
        spec.lengths is not None, spec.query_lengths is not None, placed, _strides(allowed), _strides(bias),
        q.dtype == torch.float32, q.device.index, q.dtype, k.dtype, v.dtype, *[t.dtype for t in pointers[:4]],
        tuple(TILES.values()),
    )  # fmt: skip
    return plan, pointers


def _empty(like: Tensor) -> Tensor:
    return torch.empty(like.shape, dtype=torch.float32, device=like.device)


def forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    spec: MaskSpec,
    bias: Tensor | None,
    dropout: float,
    seed: Tensor | None,
    keep: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """The answer, the same in float32 (empty where it is that already) and the sums of the weights; the answer alone,
    three times, where nobody will `keep` the others.

    `bias` is in bits, its largest visible value in a row 0, and −inf where nothing may be seen (see `feature.py`).
    """
    plan, pointers = _ready(q, k, v, scale, spec, bias, dropout, seed)
    work = torch.empty(plan.sizes[0], dtype=torch.float32, device=q.device)
    plan.prepare_keys(k, work, pointers[0])
    answer = torch.empty_like(q)
    if not keep:
        plan.alone(q, k, v, work, q, q, q, answer, q, *pointers)
        return answer, answer, answer
    den = _empty(q)
    exact = _empty(q) if q.dtype != torch.float32 else q.new_empty(0)
    plan.answer(q, k, v, work, q, q, den, answer, exact if len(exact) else q, *pointers)
    return answer, exact, den


def backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, exact: Tensor, den: Tensor, scale: float, spec: MaskSpec,
    bias: Tensor | None, dropout: float, seed: Tensor | None, bias_gradient: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of q, k, v and, if asked for, of the scores summed over features (else empty)."""
    plan, pointers = _ready(q, k, v, scale, spec, bias, dropout, seed)
    work = torch.empty(plan.sizes[1], dtype=torch.float32, device=q.device)
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    plan.pull(grad, exact, den, work, pointers[1])
    plan.prepare_keys(k, work, pointers[0])
    plan.query_gradient(q, k, v, work, den, dq, q, *pointers)
    plan.prepare_queries(q, work, pointers[1])
    plan.key_gradient(q, k, v, work, dk, dv, *pointers)
    if bias is None or not bias_gradient:
        return dq, dk, dv, q.new_empty(0)
    dbias = torch.zeros_like(bias, memory_format=torch.contiguous_format)
    x, most_q, g, D = (work[at // 4 :] for at, _ in plan.work)
    of_keys = torch.empty(plan.sizes[0], dtype=torch.float32, device=q.device)
    plan.prepare_keys(k, of_keys, pointers[0])
    y, most_k = (of_keys[at // 4 :] for at, _ in plan.work[:2])
    plan.bias_gradient(q, k, v, x, y, most_q, most_k, g, D, bias, dbias, pointers[6])
    return dq, dk, dv, dbias
