"""Additive attention in Triton: `e_qk = Σ_f w_f tanh(q_f + k_f)` without anything of size query × key × feature.

With X = e^{2q} and Y = e^{2k}, made once a row, `tanh(q + k) = 1 - 2r` and `r = 1 / (1 + X·Y)`; two terms share one
reciprocal, `w₁/d₁ + w₂/d₂ = (w₁d₂ + w₂d₁) / (d₁d₂)`, and `1 - tanh² = 4r(1 - r)` serves the gradients. A batch row
whose |q| + |k| could leave the range of the products (`BOUND`), is no number, or is so small that 1 - 2r would lose
digits (`NEAR`) is computed with a plain tanh instead; the kernel looks at the largest sizes itself, so that nothing
waits for the GPU.

Energies and weights are float32 `[batch, query, key]`. Where there are too many of them the queries are taken in
pieces, and the backward pass computes a piece's weights again instead of keeping them.

    answer, weights = forward(q, k, v, w, None, Sight(pattern="causal"), 0.0, None)
"""

from dataclasses import dataclass
from typing import Any, no_type_check

import torch
import triton  # type: ignore[import-untyped, unused-ignore]
import triton.language as tl  # type: ignore[import-untyped, unused-ignore]
from torch import Tensor
from torch.nn.functional import pad

from regard.kernels.additive_cpu import pieces, whole
from regard.kernels.exponents_triton import WIDE, exponents, in_range, padded
from regard.kernels.mask import Sight
from regard.kernels.mask_triton import arguments, reach, visible
from regard.kernels.math_triton import exponential, first_of, reciprocal, second_of, tanh
from regard.kernels.softmax_triton import softmax_, softmax_backward

__all__ = ["Tiles", "backward", "forward", "tiles", "weights"]
# One kernel serves every length: these never make Triton compile another. (The width may: whether it divides by 16.)
LENGTHS_OF_ENERGIES = [
    "batch", "count", "queries", "keys", "width", "first", "groups", "low", "high", "skip",
    "bias_batch", "bias_query", "allowed_batch", "allowed_query",
]  # fmt: skip
LENGTHS_OF_GRADIENTS = ["batch", "owns", "count", "others", "own_first", "other_first", "other_count", "low", "high"]


@dataclass(frozen=True)
class Tiles:
    """Sizes of the tiles, in rows × columns, and the warps that share one."""

    queries: int = 64
    keys: int = 64
    warps: int = 4
    rows: int = 32  # gradients: rows × features
    features: int = 32
    grad_warps: int = 2
    anchor: bool = True


def tiles(batch: int, queries: int, keys: int) -> Tiles:
    """Large tiles reuse what they load; small problems need more of them to fill the GPU."""
    large = batch * triton.cdiv(queries, 64) * triton.cdiv(keys, 64) >= 512
    return Tiles() if large else Tiles(queries=32, keys=32, warps=4)


@triton.jit(do_not_specialize=LENGTHS_OF_ENERGIES)
@no_type_check
def energies_kernel(
    x, y, q, k, w, sizes, bias, bias_batch, bias_query, out,
    batch, count, queries, keys, width, first, groups, x_stride, y_stride, stride,
    low, high, skip, lengths, query_lengths, allowed, allowed_batch, allowed_query, query_positions, key_positions,
    LENGTHS: tl.constexpr, QUERY_LENGTHS: tl.constexpr, ALLOWED: tl.constexpr, POSITIONS: tl.constexpr,
    BIAS: tl.constexpr, ANCHOR: tl.constexpr, Q: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """A tile of energies; -inf where hidden. `count` queries from `first` on, of `queries` in all."""
    across = tl.cdiv(keys, K)
    down = tl.cdiv(count, Q)
    i = tl.program_id(0) // across % down
    b = tl.program_id(0) // (across * down)
    b64 = b.to(tl.int64)
    rows = i * Q + tl.arange(0, Q)
    cols = tl.program_id(0) % across * K + tl.arange(0, K)
    places = out + b64 * count * stride + rows[:, None] * stride + cols[None, :]
    from_key, to_key = reach(b, first + i * Q, first + i * Q + Q, keys, low, high, query_lengths, lengths,
                             QUERY_LENGTHS, LENGTHS, POSITIONS)  # fmt: skip
    here = tl.program_id(0) % across * K
    needed = (here < to_key) & (here + K > from_key)
    if ANCHOR:  # loads nothing, but gives the tile the layout of a wide load instead of one column a thread
        acc = tl.load(places, mask=(rows[:, None] < 0) & (cols[None, :] < 0), other=0.0)
    else:
        acc = tl.zeros([Q, K], dtype=tl.float32)
    if in_range(sizes, b, batch):
        x_at = x + b64 * groups * 4 * x_stride + first + rows
        y_at = y + b64 * groups * 4 * y_stride + cols
        for group in range(tl.where(needed, groups, 0)):
            half = 0.0
            for one in tl.static_range(8):
                half += tl.load(w + group * 8 + one)
            # w·r less w/2: as small as w·tanh, and eight features at a time, so that little is lost in the long sum.
            part = tl.zeros([Q, K], dtype=tl.float32) - 0.5 * half
            for pair in tl.static_range(4):
                xs = tl.load(x_at)
                ys = tl.load(y_at)
                w1 = tl.load(w + group * 8 + pair * 2)
                w2 = tl.load(w + group * 8 + pair * 2 + 1)
                d1 = first_of(xs)[:, None] * first_of(ys)[None, :] + 1.0
                d2 = second_of(xs)[:, None] * second_of(ys)[None, :] + 1.0
                part += (w1 * d2 + w2 * d1) * reciprocal(d1 * d2)
                x_at += x_stride
                y_at += y_stride
            acc += part
    else:
        q_at = q + (b64 * queries + first + rows) * width
        k_at = k + (b64 * keys + cols) * width
        for f in range(tl.where(needed, width, 0)):
            of_query = tl.load(q_at + f, mask=rows < count, other=0.0).to(tl.float32)
            of_key = tl.load(k_at + f, mask=cols < keys, other=0.0).to(tl.float32)
            acc -= 0.5 * tl.load(w + f) * tanh(of_query[:, None] + of_key[None, :])
    energies = -2.0 * acc
    places_q, places_k = first + rows[:, None], cols[None, :]
    inside = (rows[:, None] < count) & (places_k < keys)
    if BIAS:
        at = bias + b64 * bias_batch + places_q.to(tl.int64) * bias_query + places_k
        energies += tl.load(at, mask=inside, other=0.0).to(tl.float32)
    seen = visible(b, places_q, places_k, queries, keys, low, high, skip, lengths, query_lengths,
                   allowed, allowed_batch, allowed_query, query_positions, key_positions,
                   LENGTHS, QUERY_LENGTHS, ALLOWED, POSITIONS)  # fmt: skip
    tl.store(places, tl.where(seen, energies, float("-inf")), mask=inside)


@triton.jit(do_not_specialize=LENGTHS_OF_GRADIENTS)
@no_type_check
def gradient_kernel(
    own, other, powers, slopes, w, sizes, out, partial,
    batch, owns, count, others, width, own_first, other_first, other_count, stride, slope_stride,
    low, high, own_lengths, other_lengths,
    OWN_LENGTHS: tl.constexpr, OTHER_LENGTHS: tl.constexpr, POSITIONS: tl.constexpr,
    PARTIAL: tl.constexpr, N: tl.constexpr, F: tl.constexpr,
):  # fmt: skip
    """Gradients of a tile of queries (the others are keys), or of keys (the others are queries): rows × features,
    one pass over the others, two of which share a reciprocal. `slopes` are dE as [batch, other, own]."""
    blocks = tl.cdiv(width, F)
    down = tl.cdiv(count, N)
    i = tl.program_id(0) // blocks % down
    b = tl.program_id(0) // (blocks * down)
    b64 = b.to(tl.int64)
    rows = i * N + tl.arange(0, N)
    feats = tl.program_id(0) % blocks * F + tl.arange(0, F)
    inside = (rows[:, None] < count) & (feats[None, :] < width)
    tile = tl.load(own + (b64 * owns + own_first + rows[:, None]) * width + feats[None, :], mask=inside, other=0.0)
    tile = tile.to(tl.float32)
    start, stop = reach(b, own_first + i * N, own_first + i * N + N, others, low, high, own_lengths, other_lengths,
                        OWN_LENGTHS, OTHER_LENGTHS, POSITIONS)  # fmt: skip
    start = tl.maximum(start, other_first)
    stop = tl.maximum(tl.minimum(stop, other_first + other_count), start)
    slope_at = slopes + (b64 * other_count + start - other_first) * slope_stride + rows
    acc = tl.zeros([N, F], dtype=tl.float32)
    through = tl.zeros([N, F], dtype=tl.float32)  # Σ dE·r, for w
    if in_range(sizes, b, batch):
        x = exponential(2.0 * tile)
        y_at = powers + (b64 * others + start) * stride + feats
        for _ in range((stop - start) // 2):
            d1 = x * tl.load(y_at)[None, :] + 1.0
            d2 = x * tl.load(y_at + stride)[None, :] + 1.0
            shared = reciprocal(d1 * d2)
            r1 = d2 * shared
            r2 = d1 * shared
            s1 = tl.load(slope_at)[:, None]
            s2 = tl.load(slope_at + slope_stride)[:, None]
            acc += s1 * (r1 - r1 * r1)
            acc += s2 * (r2 - r2 * r2)
            if PARTIAL:
                through += s1 * r1
                through += s2 * r2
            y_at += 2 * stride
            slope_at += 2 * slope_stride
        if (stop - start) % 2 == 1:
            r = reciprocal(x * tl.load(y_at)[None, :] + 1.0)
            s = tl.load(slope_at)[:, None]
            acc += s * (r - r * r)
            if PARTIAL:
                through += s * r
    else:
        for o in range(start, stop):
            z = tl.load(other + (b64 * others + o) * width + feats, mask=feats < width, other=0.0).to(tl.float32)
            t = tanh(tile + z[None, :])
            s = tl.load(slope_at)[:, None]
            acc += s * (0.25 - 0.25 * t * t)
            if PARTIAL:
                through -= s * 0.5 * t  # r less 1/2, which adds up to nothing
            slope_at += slope_stride
    scale = 4.0 * tl.load(w + feats, mask=feats < width, other=0.0)
    place = (b64 * count + rows[:, None]) * width + feats[None, :]
    tl.store(out + place, (acc * scale[None, :]).to(out.dtype.element_ty), mask=inside)
    if PARTIAL:  # Σ_k dE = 0, so that dE·(1 - 2r) sums to -2 Σ dE·r
        here = tl.sum(tl.where(rows[:, None] < count, through, 0.0), 0) * -2.0
        tl.store(partial + (b64 * down + i) * width + feats, here, mask=feats < width)


def _energies(
    ready: tuple[Tensor, Tensor, Tensor], q: Tensor, k: Tensor, w: Tensor, bias: Tensor | None, sight: Sight,
    first: int, count: int, tile: Tiles,
) -> Tensor:  # fmt: skip
    """[batch, count, padded key]: the energies of `count` queries from `first` on; the padding is not written."""
    x, y, sizes = ready
    (batch, queries, width), keys = q.shape, k.shape[1]
    out = torch.empty(batch, count, padded(keys, WIDE), dtype=torch.float32, device=q.device)
    steps = [0, 0] if bias is None else [bias.stride(axis) if bias.shape[axis] > 1 else 0 for axis in (0, 1)]
    grid = (batch * triton.cdiv(count, tile.queries) * triton.cdiv(keys, tile.keys),)
    energies_kernel[grid](
        x, y, q, k, pad(w, (0, -width % 8)) if width % 8 else w, sizes, bias, *steps, out,
        batch, count, queries, keys, width, first, padded(width, 8) // 8, x.shape[2], y.shape[2], out.shape[2],
        **arguments(sight, queries, keys), BIAS=bias is not None, ANCHOR=tile.anchor,
        Q=tile.queries, K=tile.keys, num_warps=tile.warps,
    )  # fmt: skip
    return out


def _gradient(
    own: Tensor, other: Tensor, powers: Tensor, slopes: Tensor, w: Tensor, sizes: Tensor, span: tuple[int, int],
    others: tuple[int, int], facts: dict[str, Any], partial: bool, dtype: torch.dtype, tile: Tiles,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The gradient of rows `span` of `own` from the rows `others` of `other`, and that of w if `partial`."""
    (batch, owns, width), count = own.shape, span[1]
    out = torch.empty(batch, count, width, dtype=dtype, device=own.device)
    down = triton.cdiv(count, tile.rows)
    sums = torch.empty(batch * down if partial else 0, width, dtype=torch.float32, device=own.device)
    gradient_kernel[(batch * down * triton.cdiv(width, tile.features),)](
        own, other, powers, slopes, w, sizes, out, sums, batch, owns, count, other.shape[1], width,
        span[0], *others, powers.shape[2], slopes.shape[2], **facts,
        PARTIAL=partial, N=tile.rows, F=tile.features, num_warps=tile.grad_warps,
    )  # fmt: skip
    return out, sums.sum(0)


def forward(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, bias: Tensor | None, sight: Sight, dropout: float, seed: Tensor | None,
    tile: Tiles | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The answers [batch, query, value], and the weights for `backward` (none where the queries went in pieces)."""
    (batch, queries, _), keys = q.shape, k.shape[1]
    q, k, w = q.contiguous(), k.contiguous(), w.float().contiguous()
    tile = tile or tiles(batch, queries, keys)
    answers = []
    with torch.cuda.device_of(q):  # type: ignore[no-untyped-call]
        ready = exponents(q, k, pack=True)
        for first, count in pieces(batch, queries, keys, WIDE):
            p = _energies(ready, q, k, w, bias, sight, first, count, tile)
            factors = softmax_(p, keys, queries, first, v.dtype, dropout, seed)
            answers.append(torch.bmm(factors[:, :, :keys], v))
    answer = answers[0] if len(answers) == 1 else torch.cat(answers, 1)
    return answer, p if whole(batch, queries, keys) else q.new_empty(0, dtype=torch.float32)


def backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, w: Tensor, bias: Tensor | None, sight: Sight, dropout: float,
    seed: Tensor | None, p: Tensor, tile: Tiles | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:  # fmt: skip
    """The gradients of q, k, v, w and, where there is one, of the bias; `p` as `forward` left it."""
    (batch, queries, _), keys = q.shape, k.shape[1]
    q, k, grad, weight = q.contiguous(), k.contiguous(), grad.to(v.dtype), w.float().contiguous()
    tile = tile or tiles(batch, queries, keys)
    exact = whole(batch, queries, keys)  # else the pieces are added up in float32
    facts = arguments(sight, queries, keys)
    ends = {"OWN_LENGTHS": facts["QUERY_LENGTHS"], "OTHER_LENGTHS": facts["LENGTHS"], "POSITIONS": facts["POSITIONS"]}
    of_queries = {**ends, "low": facts["low"], "high": facts["high"],
                  "own_lengths": facts["query_lengths"], "other_lengths": facts["lengths"]}  # fmt: skip
    of_keys = {**ends, "low": -facts["high"], "high": -facts["low"], "own_lengths": facts["lengths"],
               "other_lengths": facts["query_lengths"], "OWN_LENGTHS": facts["LENGTHS"],
               "OTHER_LENGTHS": facts["QUERY_LENGTHS"]}  # fmt: skip
    dqs, dk, dv, dw = [], None, None, None
    dbias = None if bias is None else torch.zeros(bias.shape, dtype=torch.float32, device=q.device)
    with torch.cuda.device_of(q):  # type: ignore[no-untyped-call]
        x, y, sizes = exponents(q, k, pack=False)
        ready = None if exact else exponents(q, k, pack=True)
        for first, count in pieces(batch, queries, keys, WIDE):
            rows = slice(first, first + count)
            if ready is not None:
                p = _energies(ready, q, k, weight, bias, sight, first, count, tile)
                softmax_(p, keys, queries, first, torch.float32, 0.0, None)
            dp = torch.bmm(grad[:, rows], v.transpose(1, 2))
            slopes, factors = softmax_backward(p, dp, keys, queries, first, v.dtype, dropout, seed)
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
            turned = slopes.new_empty(batch, keys, padded(count, WIDE))
            turned[:, :, :count] = slopes[:, :, :keys].transpose(1, 2)
            dq, part = _gradient(
                q, k, y, turned, weight, sizes, (first, count), (0, keys), of_queries, True, q.dtype, tile
            )
            dqs.append(dq)
            del turned
            dw = part if dw is None else dw.add_(part)
            here, _ = _gradient(k, q, x, slopes, weight, sizes, (0, keys), (first, count), of_keys, False,
                                k.dtype if exact else torch.float32, tile)  # fmt: skip
            dk = here if dk is None else dk.add_(here)
    assert dk is not None
    assert dv is not None
    assert dw is not None
    dq = dqs[0] if len(dqs) == 1 else torch.cat(dqs, 1)
    term = None if bias is None or dbias is None else dbias.to(bias.dtype)
    return dq, dk.to(k.dtype), dv.to(v.dtype), dw.to(w.dtype), term


def weights(q: Tensor, k: Tensor, w: Tensor, bias: Tensor | None, sight: Sight) -> Tensor:
    """The weights themselves, float32 [batch, query, key]."""
    (batch, queries, _), keys = q.shape, k.shape[1]
    q, k = q.contiguous(), k.contiguous()
    with torch.cuda.device_of(q):  # type: ignore[no-untyped-call]
        ready = exponents(q, k, pack=True)
        p = _energies(ready, q, k, w.float().contiguous(), bias, sight, 0, queries, tiles(batch, queries, keys))
        softmax_(p, keys, queries, 0, torch.float32, 0.0, None)
    return p[:, :, :keys]
