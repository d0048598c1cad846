"""Feature-wise attention on a GPU: Triton kernels that never store anything of size query × key × feature.

Since the energies `c·tanh((q+k)/c)` lie in (−c, c), their softmax needs no running maximum: a tile of answers is two
sums over the keys. `prepare` makes `e^{2q/c}` or `e^{2k/c}` once a row, with the largest magnitudes; where their
products could leave the range of float32 a tile adds `q + k` first instead, and each tile decides for itself, on the
device. `feature_keys_triton` has the walk over the keys (answers, gradient of the queries), `feature_queries_triton`
that over the queries (gradients of keys and values), and here is the one over features (gradient of a bias).

`regard.kernels.feature` is the way in; it calls `forward` and `backward`.
"""

import math
from typing import Any, no_type_check

import torch
import triton
import triton.language as tl
from torch import Tensor

from regard.kernels.feature_energy_triton import grown, kept, row_hash, settled
from regard.kernels.feature_keys_triton import walk_keys_kernel
from regard.kernels.feature_queries_triton import walk_queries_kernel
from regard.kernels.feature_walk_triton import STEP
from regard.kernels.mask import Sight

__all__ = ["TILES", "backward", "forward"]

ROOM = 60.0  # bits: (1 + 2^60)² is well inside float32, and so is its reciprocal

TILES: dict[str, tuple[int, int, int]] = {  # rows, features, warps; found by benchmarks/check_feature.py
    "answer": (32, 128, 8),
    "query_gradient": (32, 64, 4),
    "key_gradient": (32, 64, 4),
    "bias_gradient": (16, 32, 4),
}


@triton.jit(do_not_specialize=["T"])
@no_type_check
def prepare_kernel(
    x_ptr, grown_ptr, largest_ptr, lengths_ptr,
    grad_ptr, exact_ptr, den_ptr, g_ptr, d_ptr,
    T, F, step, step_low, keep_scale,
    LENGTHED: tl.constexpr, GRADIENT: tl.constexpr, BF: tl.constexpr,
):  # fmt: skip
    """e^{2x/c} of some rows and their largest magnitude; for queries also `g = dO/den` and `D = g·O`."""
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
        if GRADIENT:
            den = tl.load(den_ptr + at, mask=there, other=1.0)
            grad = tl.load(grad_ptr + at, mask=there, other=0.0).to(tl.float32)
            g = tl.where(den == 0.0, 0.0, grad / tl.where(den == 0.0, 1.0, den))  # 0 for a query that saw nothing
            D = g * tl.load(exact_ptr + at, mask=there, other=0.0)
            tl.store(g_ptr + at, g * keep_scale, mask=there)
            tl.store(d_ptr + at, D, mask=there)
    parts = tl.num_programs(0)
    tl.store(largest_ptr + (b * parts + part) * F + f, tl.max(most, 0), mask=f < F)


@triton.jit(do_not_specialize=["Q", "K", "threshold"])
@no_type_check
def bias_gradient_kernel(
    q_ptr, k_ptr, v_ptr, g_ptr, d_ptr, bias_ptr, out_ptr, seed_ptr,
    Q, K, F, step, decay, threshold,
    DROPPED: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """A tile of pairs walks over the features: what the energies of a pair, summed over features, would change."""
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
    for start in range(0, F, 16):  # sums of sums: a long one loses a digit
        part = tl.zeros([BQ, BK], tl.float32)
        for f in range(start, tl.minimum(start + 16, F)):
            x = tl.load(q_ptr + q_at + f, mask=q < Q, other=0.0).to(tl.float32)
            g = tl.load(g_ptr + q_at + f, mask=q < Q, other=0.0)
            D = tl.load(d_ptr + q_at + f, mask=q < Q, other=0.0)
            y = tl.load(k_ptr + k_at + f, mask=k < K, other=0.0).to(tl.float32)
            v = tl.load(v_ptr + k_at + f, mask=k < K, other=0.0).to(tl.float32)
            r, _ = settled((x[:, None] + y[None, :]) * step)
            o = g[:, None] * v[None, :]
            if DROPPED:
                o = tl.where(kept(row_hash(seed_ptr, (b * Q + q)[:, None], f), k[None, :], threshold), o, 0.0)
            part += tl.exp2(e + decay * (0.5 - r)) * (o - D[:, None])
        total += part
    tl.store(out_ptr + pair, tl.where(e == float("-inf"), 0.0, total), mask=there)


class _Call:
    """What all kernels of one call share: sizes, constants, and the sight as pointers, strides and switches."""

    def __init__(
        self, q: Tensor, k: Tensor, scale: float, sight: Sight, bias: Tensor | None, dropout: float, seed: Tensor | None
    ) -> None:
        (self.batch, self.queries, self.features), self.keys = q.shape, k.shape[1]
        self.seed = q if seed is None else seed
        low, high, skip = sight.diagonal(self.queries, self.keys)
        allowed = None if sight.allowed is None or bias is not None else sight.allowed.view(torch.uint8)
        placed = sight.query_positions is not None and bias is None
        step = 2 * math.log2(math.e) / scale
        rounded = torch.tensor(step, dtype=torch.float32).item()
        self.growth = {"step": rounded, "step_low": step - rounded}
        self.decay = 2 * scale * math.log2(math.e)
        self.threshold = min(int(dropout * 2**32), 2**32 - 1) - 2**31  # as a signed number; see kept()
        self.dropped = dropout > 0
        self.keep_scale = 1 / (1 - dropout) if dropout < 1 else 0.0
        self.pointers = {
            "lengths_ptr": q if sight.lengths is None else sight.lengths.contiguous(),
            "qlengths_ptr": q if sight.query_lengths is None else sight.query_lengths.contiguous(),
            "qpos_ptr": q if sight.query_positions is None else sight.query_positions.contiguous(),
            "kpos_ptr": q if sight.key_positions is None else sight.key_positions.contiguous(),
            "allowed_ptr": q if allowed is None else allowed,
            "bias_ptr": q if bias is None else bias,
            "seed_ptr": self.seed,
        }
        self.numbers = {
            "Q": self.queries, "K": self.keys, "F": self.features, **self.growth, "decay": self.decay, "room": ROOM,
            "low": low, "high": high, "skip": skip, "threshold": self.threshold,
            **_strides("a", allowed), **_strides("e", bias),
        }  # fmt: skip
        self.switches = {
            "EXACT": q.dtype == torch.float32,
            "RANGED": bias is None and (sight.pattern != "none" or sight.band >= 0),
            "LENGTHED": sight.lengths is not None, "QLENGTHED": sight.query_lengths is not None, "PLACED": placed,
            "ALLOWED": allowed is not None, "BIASED": bias is not None, "DROPPED": self.dropped,
        }  # fmt: skip

    def prepare(self, x: Tensor, lengths: Tensor | None, gradient: tuple[Tensor, ...] = ()) -> tuple[Tensor, ...]:
        """e^{2x/c} and partial largest magnitudes of queries or keys; with `(dO, O, den)` also `g` and `D`."""
        batch, time, features = x.shape
        parts = triton.cdiv(time, STEP.value)
        width = 64
        out = torch.empty_like(x, dtype=torch.float32)
        most = x.new_empty((batch, parts, features), dtype=torch.float32)
        g, D = (torch.empty_like(out), torch.empty_like(out)) if gradient else (out, out)
        grad, exact, den = gradient or (x, x, x)
        prepare_kernel[(parts, triton.cdiv(features, width), batch)](
            x, out, most, x if lengths is None else lengths, grad, exact, den, g, D,
            T=time, F=features, **self.growth, keep_scale=self.keep_scale,
            LENGTHED=lengths is not None, GRADIENT=bool(gradient), BF=width,
        )  # fmt: skip
        return out, most, g, D

    def walk(self, kernel: Any, name: str, rows: int, **given: Any) -> None:
        height, width, warps = TILES[name]
        grid = (triton.cdiv(rows, height) * triton.cdiv(self.features, width) * self.batch,)
        numbers = {n: value for n, value in self.numbers.items() if n not in given}
        kernel[grid](
            **given, **self.pointers, **numbers, **self.switches, WHOLE=self.features % width == 0, BT=height,
            BF=width, num_warps=warps,
        )  # fmt: skip


def _strides(name: str, tensor: Tensor | None) -> dict[str, int]:
    """Strides over batch, query and key; 0 where an axis is shared."""
    if tensor is None:
        return dict.fromkeys((f"{name}_b", f"{name}_q", f"{name}_k"), 0)
    steps = (s if size > 1 else 0 for s, size in zip(tensor.stride(), tensor.shape, strict=True))
    return dict(zip((f"{name}_b", f"{name}_q", f"{name}_k"), steps, strict=True))


def forward(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float,
    sight: Sight,
    bias: Tensor | None,
    dropout: float,
    seed: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The answer, the same in float32 (empty where it is that already) and the sums of the weights.

    `bias` is in bits, its largest visible value in a row 0, and −inf where nothing may be seen (see `feature.py`).
    """
    call = _Call(q, k, scale, sight, bias, dropout, seed)
    y, most, *_ = call.prepare(k, sight.lengths)
    answer = torch.empty_like(q)
    den = torch.empty_like(q, dtype=torch.float32)
    exact = torch.empty_like(den) if q.dtype != torch.float32 else q.new_empty(0)
    call.walk(
        walk_keys_kernel, "answer", call.queries, q_ptr=q, k_ptr=k, v_ptr=v, y_ptr=y, largest_ptr=most, g_ptr=q,
        d_ptr=q, den_ptr=den, out_ptr=answer, exact_ptr=exact, parts=most.shape[1], keep_scale=call.keep_scale,
        GRADIENT=False,
    )  # fmt: skip
    return answer, exact, den


def backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, exact: Tensor, den: Tensor, scale: float, sight: Sight,
    bias: Tensor | None, dropout: float, seed: Tensor | None, bias_gradient: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of q, k, v and, if asked for, of the energies summed over features (else empty)."""
    call = _Call(q, k, scale, sight, bias, dropout, seed)
    y, most_k, *_ = call.prepare(k, sight.lengths)
    x, most_q, g, D = call.prepare(q, sight.query_lengths, (grad, exact, den))
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    call.walk(
        walk_keys_kernel, "query_gradient", call.queries, q_ptr=q, k_ptr=k, v_ptr=v, y_ptr=y, largest_ptr=most_k,
        g_ptr=g, d_ptr=D, den_ptr=den, out_ptr=dq, exact_ptr=q, parts=most_k.shape[1], keep_scale=call.keep_scale,
        GRADIENT=True,
    )  # fmt: skip
    del y
    call.walk(
        walk_queries_kernel, "key_gradient", call.keys, q_ptr=q, k_ptr=k, v_ptr=v, x_ptr=x, largest_ptr=most_q,
        g_ptr=g, d_ptr=D, dk_ptr=dk, dv_ptr=dv, parts=most_q.shape[1],
    )  # fmt: skip
    if bias is None or not bias_gradient:
        return dq, dk, dv, q.new_empty(0)
    dbias = torch.zeros_like(bias, memory_format=torch.contiguous_format)
    height, width, warps = TILES["bias_gradient"]
    bias_gradient_kernel[(triton.cdiv(call.queries, height) * triton.cdiv(call.keys, width) * call.batch,)](
        q, k, v, g, D, bias, dbias, call.seed, call.queries, call.keys, call.features, call.growth["step"],
        call.decay, call.threshold, DROPPED=call.dropped, BQ=height, BK=width, num_warps=warps,
    )  # fmt: skip
    return dq, dk, dv, dbias
