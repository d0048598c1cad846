"""Softmax over the keys in Triton, hidden keys (-inf) included, with dropout on the weights, and its backward pass.

Rows lie `stride` apart (padded, the padding is never read); a row with nothing visible becomes zeros. What dropout
keeps is a function of the seed and the place alone, so that the backward pass finds it again.

    factors = softmax_(energies, keys, queries, 0, torch.bfloat16, 0.1, seed)    # energies are weights now
"""

from functools import lru_cache
from typing import Any, no_type_check

import torch
import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]
from torch import Tensor

from regard.kernels.launch_triton import Launch, blocks

__all__ = ["softmax_", "softmax_backward"]


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


@triton.jit(do_not_specialize=["rows", "count", "queries", "keys", "first", "dropout"])
@no_type_check
def softmax_kernel(
    energies, out, seed, rows, count, queries, keys, first, stride, dropout,
    DROPOUT: tl.constexpr, COPY: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """Energies become weights in place; COPY: `out` gets them as the matrix product wants them."""
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    at = energies + r.to(tl.int64) * stride
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
    scale = tl.where(total == 0.0, 0.0, 1.0 / total)  # 0: nothing was visible
    row = r // count * queries + first + r % count
    for c in range(0, keys, C):
        cols = c + tl.arange(0, C)[None, :]
        inside = (r < rows) & (cols < keys)
        e = tl.load(at + cols, mask=inside, other=float("-inf"))
        p = tl.where(e == float("-inf"), 0.0, tl.exp(e - base) * scale)
        tl.store(at + cols, p, mask=inside)
        if COPY:
            dropped = p * kept(seed, row, cols, DROPOUT, dropout)
            tl.store(out + r.to(tl.int64) * stride + cols, dropped.to(out.dtype.element_ty), mask=inside)


@triton.jit(do_not_specialize=["rows", "count", "queries", "keys", "first", "dropout"])
@no_type_check
def softmax_backward_kernel(
    p_at, dp_at, de_at, out, seed, rows, count, queries, keys, first, stride, dropout,
    DROPOUT: tl.constexpr, COPY: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
):  # fmt: skip
    """dE = P ⊙ (dP - D), D = Σ_k P dP, with the weights' dropout; COPY: `out` gets the weights as in the forward pass.

    D is summed twice: Σ_k P (dP - D) should be 0, and what rounding left of it (P does not sum to 1, products are
    rounded) is taken off as well. Where few keys are seen dP - D is a small difference of large numbers, and the other
    gradients are sums of dE, so that they would show it."""
    r = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    row = r // count * queries + first + r % count
    r64 = r.to(tl.int64)
    total = tl.zeros([R, 1], dtype=tl.float32)
    rest = tl.zeros([R, 1], dtype=tl.float32)
    for _ in tl.static_range(2):
        total += rest
        rest = tl.zeros([R, 1], dtype=tl.float32)
        for c in range(0, keys, C):
            cols = c + tl.arange(0, C)[None, :]
            inside = (r < rows) & (cols < keys)
            p = tl.load(p_at + r64 * stride + cols, mask=inside, other=0.0)
            dp = tl.load(dp_at + r64 * keys + cols, mask=inside, other=0.0).to(tl.float32)
            rest += tl.sum(p * (dp * kept(seed, row, cols, DROPOUT, dropout) - total), 1)[:, None]
    for c in range(0, keys, C):
        cols = c + tl.arange(0, C)[None, :]
        inside = (r < rows) & (cols < keys)
        p = tl.load(p_at + r64 * stride + cols, mask=inside, other=0.0)
        dp = tl.load(dp_at + r64 * keys + cols, mask=inside, other=0.0).to(tl.float32)
        keep = kept(seed, row, cols, DROPOUT, dropout)
        # Hidden keys have weight 0 and no gradient, not even in a row whose sum is no number.
        tl.store(de_at + r64 * stride + cols, tl.where(p == 0.0, 0.0, p * (dp * keep - total - rest)), mask=inside)
        if COPY:
            tl.store(out + r64 * stride + cols, (p * keep).to(out.dtype.element_ty), mask=inside)


@lru_cache(maxsize=4096)
def _plan(
    kernel: Any, batch: int, count: int, queries: int, keys: int, first: int, stride: int, dropout: float, copy: bool,
    *kind: Any,
) -> Launch:  # fmt: skip
    numbers = (batch * count, count, queries, keys, first, stride, dropout)
    return Launch(kernel, (blocks(batch * count, 4),), numbers, (dropout > 0, copy, 4, 256))


def softmax_(
    energies: Tensor, keys: int, queries: int, first: int, dtype: torch.dtype, dropout: float, seed: Tensor | None
) -> Tensor:
    """In place; what comes back are the weights in `dtype` with dropout (the same tensor where nothing changes).
    The energies are those of `energies.shape[1]` queries from `first` on, of `queries`."""
    batch, count, stride = energies.shape
    copy = dropout > 0 or dtype != energies.dtype
    out = torch.empty_like(energies, dtype=dtype) if copy else energies
    plan = _plan(softmax_kernel, batch, count, queries, keys, first, stride, dropout, copy, energies.device, dtype)
    plan(energies, out, seed)
    return out


def softmax_backward(
    p: Tensor, dp: Tensor, keys: int, queries: int, first: int, dtype: torch.dtype, dropout: float, seed: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The gradient of the energies (zero where hidden), and the weights in `dtype` with dropout."""
    batch, count, stride = p.shape
    copy = dropout > 0 or dtype != p.dtype
    de, out = torch.empty_like(p), torch.empty_like(p, dtype=dtype) if copy else p
    kind = (p.device, dtype, dp.dtype)
    plan = _plan(softmax_backward_kernel, batch, count, queries, keys, first, stride, dropout, copy, *kind)
    plan(p, dp.contiguous(), de, out, seed)
    return de, out
