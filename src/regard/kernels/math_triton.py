"""Small functions that Triton kernels share: reciprocal, exponential, tanh, and a pair of floats in one word.

They are written so that the compiled kernel and Triton's interpreter (which knows no PTX) give the same numbers up
to the last bits. `exponential` is exact to about 1 unit in the last place over its range: the plain `tl.exp`
loses a digit by |x| = 20, which would show in `e^{2q}·e^{2k}`.
"""

import os
from typing import no_type_check

import torch
import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]

__all__ = ["PLAIN", "exponential", "first_of", "packed", "reciprocal", "second_of", "tanh"]

# No PTX: under the interpreter, and on GPUs that are not NVIDIA's.
PLAIN = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1" or torch.version.hip is not None)


@triton.jit
@no_type_check
def reciprocal(x):
    """1 / x in one instruction (1 unit in the last place); results below 2^-126 are 0."""
    if PLAIN:
        return 1.0 / x
    else:  # noqa: RET505 (without it both ways would be compiled)
        return tl.inline_asm_elementwise(
            "rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], dtype=tl.float32, is_pure=True, pack=1
        )


@triton.jit
@no_type_check
def exponential(x):
    """e^x for |x| up to 87: the argument is reduced to ±ln 2 / 2 in two exact steps, then a polynomial (Cephes)."""
    n = tl.floor(tl.minimum(tl.maximum(x, -87.0), 87.0) * 1.4426950408889634 + 0.5)
    rest = (x - n * 0.693359375) + n * 2.12194440054690583e-4
    p = ((1.9875691500e-4 * rest + 1.3981999507e-3) * rest + 8.3334519073e-3) * rest + 4.1665795894e-2
    p = (p * rest + 1.6666665459e-1) * rest + 5.0000001201e-1
    return (p * rest * rest + rest + 1.0) * ((n.to(tl.int32) + 127) << 23).to(tl.float32, bitcast=True)


@triton.jit
@no_type_check
def tanh(x):
    """Exact to the last bits everywhere: an odd polynomial near 0 (Cephes), 1 - 2 / (e^{2|x|} + 1) beyond."""
    size = tl.abs(x)
    far = 1.0 - 2.0 * reciprocal(tl.exp(2.0 * tl.minimum(size, 15.0)) + 1.0)
    square = x * x
    p = ((-5.70498872745e-3 * square + 2.06390887954e-2) * square - 5.37397155531e-2) * square
    near = ((p + 1.33314422036e-1) * square - 3.33332819422e-1) * square * x + x
    # A NaN is neither near nor far: x + x keeps it.
    return tl.where(size < 0.625, near, tl.where(size >= 0.625, tl.where(x < 0, -far, far), x + x))


@triton.jit
@no_type_check
def packed(first, second):
    """Two float32 as one 64-bit word, so that one load fetches both."""
    low_bits = first.to(tl.int32, bitcast=True).to(tl.int64) & 0xFFFFFFFF
    return low_bits | (second.to(tl.int32, bitcast=True).to(tl.int64) << 32)


@triton.jit
@no_type_check
def first_of(pair):
    return pair.to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
@no_type_check
def second_of(pair):
    return (pair >> 32).to(tl.int32).to(tl.float32, bitcast=True)
