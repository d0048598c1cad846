"""Softmax over the keys in Triton, hidden keys (-inf) included, with dropout on the weights, and its backward pass.

Rows lie `stride` apart (padded, the padding is never read); a row with nothing visible becomes zeros. What dropout
keeps is a function of the seed and the place alone, so that the backward pass finds it again. Rows of up to `LONGEST`
keys are read once and kept in registers; longer ones a piece at a time, as often as they are needed.

    factors = softmax_(scores, keys, queries, 0, torch.bfloat16, 0.1, seed)    # scores are weights now
"""

from functools import lru_cache
from typing import Any, no_type_check

import torch
import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]
from torch import Tensor

from regard.kernels.exponents_triton import WIDE, padded
from regard.kernels.launch_triton import Launch, blocks

__all__ = [
    "LONGEST", "kept", "softmax_", "softmax_backward", "softmax_backward_plan", "softmax_plan", "weights_of",
]  # fmt: skip

LONGEST = 2048
ROWS = 2  # a program's
TURNED = 8  # the same of turned gradients: so many lie side by side, which makes a whole sector of 32 bytes


@triton.jit
@no_type_check
def kept(seed, row, column, DROPOUT: tl.constexpr, dropout):
    """What dropout multiplies a weight by: a function of the seed and the place alone."""
    if DROPOUT:
        nothing = 0 * row + 0 * column
        word, _, _, _ = tl.philox(tl.load(seed), row + nothing, column + nothing, nothing, nothing)
        return tl.where(tl.uint_to_uniform_float(word) >= dropout, 1.0 / (1.0 - dropout), 0.0)
    else:  # noqa: RET505 (without it both ways would be compiled)
        return 1.0


@triton.jit
@no_type_check
def weights_of(scores):
    """Of whole rows."""
    top = tl.max(scores, 1)[:, None]
    x = tl.exp(scores - tl.where(top == float("-inf"), 0.0, top))
    total = tl.sum(x, 1)[:, None]
    return tl.where(scores == float("-inf"), 0.0, x * tl.where(total == 0.0, 0.0, 1.0 / total))  # 0: none was visible


# Whether the keys divide by 16 may make another kernel, with wide loads; no other length does.
@triton.jit(do_not_specialize=["rows", "count", "queries", "first", "dropout"])
@no_type_check
def softmax_kernel(
    scores, out, seed, rows, count, queries, keys, first, stride, dropout,
    DROPOUT: tl.constexpr, COPY: tl.constexpr, ONCE: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Scores become weights in place; COPY: `out` gets them as the matrix product wants them."""
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    at = scores + r.to(tl.int64) * stride
    to = out + r.to(tl.int64) * stride
    row = r // count * queries + first + r % count
    if ONCE:
        cols = tl.arange(0, C)[None, :]
        inside = (r < rows) & (cols < keys)
        e = tl.load(at + cols, mask=inside, other=float("-inf"))
        p = weights_of(e)
        tl.store(at + cols, p, mask=inside)
        if COPY:
            tl.store(to + cols, (p * kept(seed, row, cols, DROPOUT, dropout)).to(out.dtype.element_ty), mask=inside)
    else:
        top = tl.full([R, 1], float("-inf"), dtype=tl.float32)
        total = tl.zeros([R, 1], dtype=tl.float32)
        for c in range(0, keys, C):
            cols = c + tl.arange(0, C)[None, :]
            e = tl.load(at + cols, mask=(r < rows) & (cols < keys), other=float("-inf"))
            higher = tl.maximum(top, tl.max(e, 1)[:, None])
            base = tl.where(higher == float("-inf"), 0.0, higher)
            total = total * tl.exp(top - base) + tl.sum(tl.exp(e - base), 1)[:, None]
            top = higher
        base = tl.where(top == float("-inf"), 0.0, top)
        scale = tl.where(total == 0.0, 0.0, 1.0 / total)
        for c in range(0, keys, C):
            cols = c + tl.arange(0, C)[None, :]
            inside = (r < rows) & (cols < keys)
            e = tl.load(at + cols, mask=inside, other=float("-inf"))
            p = tl.where(e == float("-inf"), 0.0, tl.exp(e - base) * scale)
            tl.store(at + cols, p, mask=inside)
            if COPY:
                factor = kept(seed, row, cols, DROPOUT, dropout)
                tl.store(to + cols, (p * factor).to(out.dtype.element_ty), mask=inside)


@triton.jit
@no_type_check
def weights_and_pull(p_at, dp_at, seed, row, cols, inside, DROPOUT: tl.constexpr, dropout):
    """P and dP, and what dropout multiplied P by."""
    keep = kept(seed, row, cols, DROPOUT, dropout)
    p = tl.load(p_at + cols, mask=inside, other=0.0)
    return p, tl.load(dp_at + cols, mask=inside, other=0.0).to(tl.float32) * keep, keep


@triton.jit(do_not_specialize=["queries", "first", "dropout"])
@no_type_check
def softmax_backward_kernel(
    p, dp, de, turned, out, seed, count, queries, keys, first, stride, turned_stride, dropout,
    DROPOUT: tl.constexpr, COPY: tl.constexpr, ONCE: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """dE = P ⊙ (dP - D), D = Σ_k P dP, with the weights' dropout, and the same `turned`, [batch, key, query]; COPY:
    `out` gets the weights as in the forward pass.

    D is summed twice: Σ_k P (dP - D) should be 0, and what rounding left of it (P does not sum to 1, products are
    rounded) is taken off as well. Where few keys are seen dP - D is a small difference of large numbers, and the other
    gradients are sums of dE, so that they would show it."""
    down = tl.cdiv(count, R)
    b = (tl.program_id(0) // down).to(tl.int64)
    i = tl.program_id(0) % down * R + tl.arange(0, R)[:, None]
    row = tl.program_id(0) // down * queries + first + i
    p_at, dp_at = p + (b * count + i) * stride, dp + (b * count + i) * keys
    de_at, out_at, turned_at = de + (b * count + i) * stride, out + (b * count + i) * stride, turned + i
    total = tl.zeros([R, 1], dtype=tl.float32)
    rest = tl.zeros([R, 1], dtype=tl.float32)
    if not ONCE:
        for turn in tl.static_range(2):  # noqa: B007 (not `_`, which takes what is left over below)
            total += rest
            rest = tl.zeros([R, 1], dtype=tl.float32)
            for c in range(0, keys, C):
                cols = c + tl.arange(0, C)[None, :]
                inside = (i < count) & (cols < keys)
                weights, pull, _ = weights_and_pull(p_at, dp_at, seed, row, cols, inside, DROPOUT, dropout)
                rest += tl.sum(tl.where(weights == 0.0, 0.0, weights * (pull - total)), 1)[:, None]
    for c in range(0, C if ONCE else keys, C):
        cols = c + tl.arange(0, C)[None, :]
        inside = (i < count) & (cols < keys)
        weights, pull, keep = weights_and_pull(p_at, dp_at, seed, row, cols, inside, DROPOUT, dropout)
        if ONCE:
            total = tl.sum(tl.where(weights == 0.0, 0.0, weights * pull), 1)[:, None]
            rest = tl.sum(tl.where(weights == 0.0, 0.0, weights * (pull - total)), 1)[:, None]
        # Hidden keys have weight 0 and no gradient, not even in a row whose sum is no number.
        slopes = tl.where(weights == 0.0, 0.0, weights * (pull - total - rest))
        tl.store(de_at + cols, slopes, mask=inside)
        tl.store(turned_at + (b * keys + cols) * turned_stride, slopes, mask=inside)
        if COPY:
            tl.store(out_at + cols, (weights * keep).to(out.dtype.element_ty), mask=inside)


def _shape(keys: int, rows: int) -> tuple[tuple[bool, int, int], int]:
    """ONCE, R and C, and the warps for so many keys: few kinds, so that few kernels are compiled."""
    if keys > LONGEST:
        return (False, rows, 512), 4
    columns = next(c for c in (256, 512, 1024, LONGEST) if c >= keys)
    return (True, rows, columns), max(columns // 128, rows // 2)


@lru_cache(maxsize=4096)
def softmax_plan(
    batch: int, count: int, stride: int, queries: int, keys: int, first: int, dtype: torch.dtype, dropout: float,
    *kind: Any,
) -> Launch:  # fmt: skip
    """For `softmax_`; `kind` is the device."""
    shape, warps = _shape(keys, ROWS)
    copy = dropout > 0 or dtype != torch.float32
    numbers = (batch * count, count, queries, keys, first, stride, dropout)
    return Launch(softmax_kernel, (blocks(batch * count, ROWS),), numbers, (dropout > 0, copy, *shape), warps)


def softmax_backward_plan(
    batch: int, count: int, queries: int, keys: int, first: int, dtype: torch.dtype, dropout: float
) -> Launch:
    """For `softmax_backward`."""
    shape, warps = _shape(keys, TURNED)
    copy = dropout > 0 or dtype != torch.float32
    numbers = (count, queries, keys, first, padded(keys, WIDE), padded(count, WIDE), dropout)
    grid = (batch * blocks(count, TURNED),)
    return Launch(softmax_backward_kernel, grid, numbers, (dropout > 0, copy, *shape), warps)


def softmax_(
    scores: Tensor, keys: int, queries: int, first: int, dtype: torch.dtype, dropout: float, seed: Tensor | None,
    plan: Launch | None = None,
) -> Tensor:  # fmt: skip
    """In place; what comes back are the weights in `dtype` with dropout (the same tensor where nothing changes).
    The scores are those of `scores.shape[1]` queries from `first` on, of `queries`."""
    out = torch.empty_like(scores, dtype=dtype) if dropout > 0 or dtype != torch.float32 else scores
    if plan is None:
        plan = softmax_plan(*scores.shape, queries, keys, first, dtype, dropout, scores.device)
    plan(scores, out, seed)
    return out


def softmax_backward(
    p: Tensor, dp: Tensor, turned: Tensor, dtype: torch.dtype, dropout: float, seed: Tensor | None, plan: Launch
) -> tuple[Tensor, Tensor]:
    """The gradient of the scores (zero where hidden), which takes the place of dP where that has its shape and type,
    and the weights in `dtype` with dropout. `turned` gets the gradient as [batch, key, padded query]."""
    de = dp if dp.shape == p.shape and dp.dtype == p.dtype else torch.empty_like(p)
    out = torch.empty_like(p, dtype=dtype) if dropout > 0 or dtype != p.dtype else p
    plan(p, dp, de, turned, out, seed)
    return de, out
