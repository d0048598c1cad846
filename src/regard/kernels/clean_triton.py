"""Keys and values that are not finite, made harmless for queries that do not see them; see `hidden.poisoned`.

Values that are not finite become 0, and their keys NaN: whoever sees one has weights of NaN, and nobody else.
"""

from typing import no_type_check

import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]

__all__ = ["clean_kernel"]


@triton.jit
@no_type_check
def clean_kernel(k, v, out_k, out_v, width, values, C: tl.constexpr):
    """A program for each key."""
    row = tl.program_id(0).to(tl.int64)
    nothing = tl.zeros([C], tl.float32)  # NaN where a number is not finite
    for start in range(0, values, C):
        cols = start + tl.arange(0, C)
        x = tl.load(v + row * values + cols, mask=cols < values, other=0.0).to(tl.float32)
        nothing += x - x
        kept = tl.where(x - x == 0.0, x, 0.0)
        tl.store(out_v + row * values + cols, kept.to(out_v.dtype.element_ty), mask=cols < values)
    none = tl.sum(nothing, 0)
    for start in range(0, width, C):
        cols = start + tl.arange(0, C)
        x = tl.load(k + row * width + cols, mask=cols < width, other=0.0).to(tl.float32)
        tl.store(out_k + row * width + cols, (x + none).to(out_k.dtype.element_ty), mask=cols < width)
