"""The arithmetic of feature-wise attention in Triton: scores of a tile with two rows, and dropout's draw.

With `X = e^{2q/c}`, `Y = e^{2k/c}` and `r = 1/(1 + XY)` the score is `c·tanh((q+k)/c) = c − 2c·r`, here in bits
(times log₂e) so that a weight is one `exp2`. Two rows share one reciprocal: `R = 1/(d₁d₂)`, `r₁ = d₂R`, `r₂ = d₁R`.
"""

from typing import no_type_check

import triton
import triton.language as tl

from regard.kernels.math_triton import reciprocal

__all__ = ["grown", "kept", "row_hash", "settled", "two"]


@triton.jit
@no_type_check
def grown(x, step, step_low):
    """e^{2x/c}, exact to about 1 unit in the last place for large x too: what rounding takes from the exponent is put
    back, and a polynomial (Cephes) takes the place of a GPU's `exp2`, whose 2 units make 4 in X·Y and would reach
    every weight times c. Once a row it costs nothing."""
    high = tl.minimum(tl.maximum(x * step, -126.0), 126.0)  # what is beyond goes another way (`ROOM`)
    low = tl.fma(x, step, -high) + x * step_low
    n = tl.floor(high + 0.5)
    rest = ((high - n) + low) * 0.6931471805599453
    p = ((1.9875691500e-4 * rest + 1.3981999507e-3) * rest + 8.3334519073e-3) * rest + 4.1665795894e-2
    p = (p * rest + 1.6666665459e-1) * rest + 5.0000001201e-1
    return (p * rest * rest + rest + 1.0) * ((n.to(tl.int32) + 127) << 23).to(tl.float32, bitcast=True)


@triton.jit
@no_type_check
def settled(z):
    """`r = 1/(1 + 2^z)` and `1 − r` for any z, each to its last bits."""
    u = tl.exp2(-tl.abs(z))
    near = reciprocal(1.0 + u)
    far = u * near
    return tl.where(z > 0, far, near), tl.where(z > 0, near, far)


@triton.jit
@no_type_check
def two(x, y1, y2, see1, see2, step, decay, SAFE: tl.constexpr, FULL: tl.constexpr, EXACT: tl.constexpr,
        SLOPE: tl.constexpr):  # fmt: skip
    """Scores of a tile with two rows, in bits, and (SLOPE) a quarter of the tanh's slope, r(1 − r).
    What may not be seen (it may be NaN) must not reach its partner. EXACT (float32) takes one step of Newton's, which
    mends what sharing a reciprocal cost, and avoids the cancellation in 1 − r."""
    if SAFE:
        d1 = x * y1 + 1.0
        d2 = x * y2 + 1.0
        if not FULL:
            d1 = tl.where(see1, d1, 1.0)
            d2 = tl.where(see2, d2, 1.0)
        R = reciprocal(d1 * d2)
        if EXACT or SLOPE:
            r1 = d2 * R
            r2 = d1 * R
            if EXACT:
                r1 += r1 * (1.0 - d1 * r1)
                r2 += r2 * (1.0 - d2 * r2)
            e1 = decay * (0.5 - r1)  # the difference is exact near 0.5: rounding is relative to the score itself
            e2 = decay * (0.5 - r2)
        else:
            R = R * -decay
            e1 = d2 * R + 0.5 * decay
            e2 = d1 * R + 0.5 * decay
        s1 = e1
        s2 = e2
        if SLOPE:
            if EXACT:
                s1 = x * y1 * r1 * r1
                s2 = x * y2 * r2 * r2
            else:
                s1 = r1 - r1 * r1
                s2 = r2 - r2 * r2
    else:
        r1, s1 = settled((x + y1) * step)
        r2, s2 = settled((x + y2) * step)
        e1 = decay * (0.5 - r1)
        e2 = decay * (0.5 - r2)
        s1 = s1 * r1
        s2 = s2 * r2
    return e1, e2, s1, s2


@triton.jit
@no_type_check
def mixed(h):
    """A good 32-bit mixing function (lowbias32, public domain)."""
    h = h ^ (h >> 16)
    h = h * 0x7FEB352D
    h = h ^ (h >> 15)
    h = h * 0x846CA68B
    return h ^ (h >> 16)


@triton.jit
@no_type_check
def row_hash(seed_ptr, row, f):
    """The part of dropout's hash that belongs to a query and a feature."""
    seed = tl.load(seed_ptr).to(tl.uint32)
    return mixed(mixed(tl.cast(row, tl.uint32) ^ seed) + tl.cast(f, tl.uint32) * 0x9E3779B9)


@triton.jit
@no_type_check
def kept(h, k, threshold):
    """Whether dropout keeps this weight: a fair draw for (query, feature) `h` and key `k`."""
    drawn = mixed(h + tl.cast(k, tl.uint32) * 0x85EBCA6B)
    return drawn.to(tl.int32, bitcast=True) >= threshold
