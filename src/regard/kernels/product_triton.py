"""Products of float32 matrices on tensor cores, to the last digits of float32.

PyTorch multiplies such matrices without tensor cores, unless they may be rounded to TF32 (11 bits for 24); the product
of weights and values was a sixth of additive attention's time. Here each number is the sum of three of bfloat16,
`x = x₁ + x₂ + x₃` (8 bits each, so that nothing is lost), and six of the nine products are taken: what the other three
would add is less than float32 keeps. A tensor core cuts sums off instead of rounding them, so those of some
rows are added up apart from it: errors are smaller than those of PyTorch's product (docs/LOG.md). An infinite value
makes NaN.

    right = parts(v, rows=512)              # None where torch.bmm does as well
    answer = product(weights, v, right)     # rows of weights may be padded
"""

from functools import cache, lru_cache
from typing import no_type_check

import torch
import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]
from torch import Tensor

from regard.kernels.launch_triton import Launch, blocks
from regard.kernels.math_triton import PLAIN

__all__ = ["exact_dot", "multiplies", "parts", "product"]

# Rows, columns and what is summed at once, by four warps: the best of nine tried on one H200. And what is summed
# together in a tensor core: twice as much, or all, would cost digits.
TILE = (64, 128, 32, 64)
LEAST = 2**30  # multiplications: fewer are not worth two launches
MANY = 2048  # numbers that a program takes apart


@triton.jit
@no_type_check
def three(x):
    """Three numbers of bfloat16 whose sum is x."""
    first = x.to(tl.bfloat16)
    rest = x - first.to(tl.float32)
    second = rest.to(tl.bfloat16)
    return first, second, (rest - second.to(tl.float32)).to(tl.bfloat16)


@triton.jit
@no_type_check
def dot(a, b, c):
    """c + a @ b, summed in float32."""
    if PLAIN:  # the interpreter knows no product of bfloat16
        return tl.dot(a.to(tl.float32), b.to(tl.float32), c, input_precision="ieee")
    else:  # noqa: RET505 (without it both ways would be compiled)
        return tl.dot(a, b, c)


@triton.jit
@no_type_check
def six(a, b1, b2, b3, c):
    """c + a @ (b₁ + b₂ + b₃), the smallest products first."""
    a1, a2, a3 = three(a)
    c = dot(a1, b3, dot(a3, b1, c))
    c = dot(a2, b1, dot(a2, b2, c))
    return dot(a1, b1, dot(a1, b2, c))


@triton.jit
@no_type_check
def exact_dot(a, b, c):
    """c + a @ b: of float32 as above, of half precision as it is."""
    if a.dtype == tl.float32:
        b1, b2, b3 = three(b)
        return six(a, b1, b2, b3, c)
    else:  # noqa: RET505
        return dot(a, b, c)


@triton.jit
@no_type_check
def parts_kernel(x, out, count, MANY: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * MANY + tl.arange(0, MANY)
    a, b, c = three(tl.load(x + i, mask=i < count, other=0.0))
    tl.store(out + i, a, mask=i < count)
    tl.store(out + count + i, b, mask=i < count)
    tl.store(out + 2 * count + i, c, mask=i < count)


@triton.jit(do_not_specialize=["rows", "sums"])
@no_type_check
def product_kernel(
    a, b, out, rows, sums, cols, stride, plane,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, TOGETHER: tl.constexpr,
):  # fmt: skip
    """A tile of `a @ b`; rows of `a` lie `stride` apart, parts of `b` a `plane`."""
    down, across = tl.cdiv(rows, M), tl.cdiv(cols, N)
    row = tl.program_id(0) // across % down * M + tl.arange(0, M)[:, None]
    col = tl.program_id(0) % across * N + tl.arange(0, N)[None, :]
    which = (tl.program_id(0) // (across * down)).to(tl.int64)
    k = tl.arange(0, K)
    a_at = a + (which * rows + row) * stride + k[None, :]
    b_at = b + (which * sums + k[:, None]) * cols + col
    total = tl.zeros([M, N], tl.float32)
    part = tl.zeros([M, N], tl.float32)
    for start in range(0, sums, K):
        inside = (start + k[:, None] < sums) & (col < cols)
        left = tl.load(a_at, mask=(row < rows) & (start + k[None, :] < sums), other=0.0)
        b1 = tl.load(b_at, mask=inside, other=0.0)
        b2 = tl.load(b_at + plane, mask=inside, other=0.0)
        b3 = tl.load(b_at + 2 * plane, mask=inside, other=0.0)
        if start % TOGETHER == 0:
            total += part
            part = tl.zeros([M, N], tl.float32)
        part = six(left, b1, b2, b3, part)
        a_at += K
        b_at += K * cols
    tl.store(out + (which * rows + row) * cols + col, total + part, mask=(row < rows) & (col < cols))


@cache
def multiplies(device: torch.device) -> bool:
    """Whether it knows products of bfloat16, in which tiles are multiplied here; GPUs before 2020 do not."""
    return device.type != "cuda" or torch.cuda.get_device_capability(device) >= (8, 0)


@cache
def suits(device: torch.device) -> bool:
    """Whether its tensor cores are so much quicker than its other ones that six products are quicker than one: those of
    an H100 and an H200 are, those of most smaller GPUs are not."""
    return device.type == "cuda" and torch.cuda.get_device_capability(device) == (9, 0)


@lru_cache(maxsize=4096)
def _parts_plan(count: int) -> Launch:
    return Launch(parts_kernel, (blocks(count, MANY),), (count,), (MANY,), warps=2)


def taken_apart(v: Tensor) -> Tensor:
    """[3, …]: three tensors of bfloat16 whose sum is v."""
    out = torch.empty((3, *v.shape), dtype=torch.bfloat16, device=v.device)
    _parts_plan(v.numel())(v.contiguous(), out)
    return out


def parts(v: Tensor, rows: int) -> Tensor | None:
    """What `product` needs of v, [batch, sum, column], for so many rows; nothing where `torch.bmm` is as good."""
    if v.dtype is not torch.float32 or v.numel() * rows < LEAST or not suits(v.device):
        return None
    return None if torch.backends.cuda.matmul.fp32_precision == "tf32" else taken_apart(v)


@lru_cache(maxsize=4096)
def _plan(batch: int, rows: int, sums: int, cols: int, stride: int, plane: int) -> Launch:
    grid = (batch * blocks(rows, TILE[0]) * blocks(cols, TILE[1]),)
    return Launch(product_kernel, grid, (rows, sums, cols, stride, plane), TILE)


def product(a: Tensor, v: Tensor, right: Tensor | None) -> Tensor:
    """[batch, row, sum or more] times [batch, sum, column]: `torch.bmm`, or from the `parts` of v."""
    (batch, rows, stride), (_, sums, cols) = a.shape, v.shape
    if right is None:
        return torch.bmm(a if stride == sums else a[:, :, :sums], v)
    out = torch.empty((batch, rows, cols), dtype=torch.float32, device=a.device)
    _plan(batch, rows, sums, cols, stride, v.numel())(a, right, out)
    return out
