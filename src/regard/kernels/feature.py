"""Feature-wise (multi-dimensional) attention, fused: `e_qkf = c·tanh((q_qf + k_kf)/c)`, a softmax over the keys for
each feature by itself, `answer_qf = Σ_k a_qkf · v_kf`.

Shen et al. 2018, "DiSAN: Directional Self-Attention Network for RNN/CNN-Free Language Understanding", section 3.1,
where c = 5. Queries and keys come projected (the bias b of the paper in either). Written out, the weights need
query × key × feature numbers; here neither the answer nor its gradients ever store them. `feature_weights` works
out those of some rows when a person wants to look.

    answer = feature_attention(q, k, v, lengths=lengths, pattern="forward")
    weights = feature_weights(q, k, lengths=lengths, pattern="forward", rows=[3])     # [batch, 1, key, feature]
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.errors import RegardError
from regard.kernels import feature_cpu
from regard.kernels.direct import directly, straight
from regard.kernels.hidden import reaching, shielded
from regard.kernels.mask import MaskSpec, flat

__all__ = ["feature_attention", "feature_reference", "feature_weights", "feature_weights_reference"]

Backend = Literal["auto", "triton", "cpu", "reference"]
LARGEST_SCALE = 40.0  # e^{−2c} must stay a normal float32: beyond this only the readable path is exact


def feature_weights_reference(
    q: Float[Tensor, "batch query feature"],
    k: Float[Tensor, "batch key feature"],
    scale: float = 5.0,
    seen: Bool[Tensor, "batch query key"] | None = None,
    bias: Float[Tensor, "batch query key"] | None = None,
) -> Float[Tensor, "batch query key feature"]:
    """The readable path: `softmax_k(c·tanh((q + k)/c) + bias)` over the keys seen; zeros where there are none."""
    scores = scale * torch.tanh((q.unsqueeze(2) + k.unsqueeze(1)) / scale)
    if bias is not None:
        scores = scores + bias.unsqueeze(-1)
        seen = bias != float("-inf") if seen is None else seen & (bias != float("-inf"))
    if seen is None:
        return torch.softmax(scores, dim=2)
    scores = scores.masked_fill(~seen.unsqueeze(-1), torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=2).masked_fill(~seen.unsqueeze(-1), 0.0)


def feature_reference(
    q: Float[Tensor, "batch query feature"],
    k: Float[Tensor, "batch key feature"],
    v: Float[Tensor, "batch key feature"],
    scale: float = 5.0,
    seen: Bool[Tensor, "batch query key"] | None = None,
    bias: Float[Tensor, "batch query key"] | None = None,
    keep: Float[Tensor, "batch query key feature"] | None = None,
) -> Float[Tensor, "batch query feature"]:
    """The readable path: `Σ_k a_k ⊙ v_k`; `keep` multiplies the weights (dropout)."""
    weights = feature_weights_reference(q, k, scale, seen, bias)
    values = v.unsqueeze(1)
    if seen is not None:  # a hidden value may be anything, even not a number
        values = values.masked_fill(~seen.unsqueeze(-1), 0.0)
    return ((weights if keep is None else weights * keep) * values).sum(2)


@lru_cache(maxsize=64)
def _path(backend: str, device: torch.device) -> Any:
    """The module whose `forward` and `backward` serve: one decision for both passes."""
    if backend == "triton" or (backend == "auto" and device.type == "cuda"):
        try:
            from regard.kernels import feature_triton  # late: CPU machines need no Triton, and it takes its time
        except ImportError:
            if backend == "triton":
                raise RegardError(
                    "backend 'triton' without Triton", do="install triton, or use backend='auto'"
                ) from None
        else:
            return feature_triton
    return feature_cpu


def _relative(bias: Tensor | None, spec: MaskSpec, keys: int, path: Any) -> Tensor | None:
    """A bias less its largest visible value in each row, −inf where a pair is hidden; in bits for Triton."""
    if bias is None:
        return None
    seen = spec.dense(bias.shape[0], bias.shape[1], keys, bias.device)
    bias = bias.float().masked_fill(~seen, float("-inf"))
    bias = bias - bias.amax(-1, keepdim=True).clamp(min=torch.finfo(torch.float32).min)
    return bias if path is feature_cpu else bias * math.log2(math.e)


def _answer(*given: Any, keep: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """What `_forward` gives; where nothing is kept for a backward pass, only the answer means something."""
    q, k, v, scale, lengths, query_lengths, pattern, band, allowed, at_q, at_k, bias, dropout, seed, backend = given
    spec = MaskSpec.again(lengths, query_lengths, pattern, band, allowed, at_q, at_k)
    path = _path(backend, q.device)
    more = () if path is feature_cpu else (keep,)
    relative = _relative(bias, spec, k.shape[1], path)
    return path.forward(  # type: ignore[no-any-return]
        q.contiguous(), k.contiguous(), v.contiguous(), scale, spec, relative, dropout, seed, *more
    )


def _forward(
    q: Tensor, k: Tensor, v: Tensor, scale: float, lengths: Tensor | None, query_lengths: Tensor | None, pattern: str,
    band: int, allowed: Tensor | None, query_positions: Tensor | None, key_positions: Tensor | None,
    bias: Tensor | None, dropout: float, seed: Tensor | None, backend: str,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The answer, the same in float32 where it is not that already, and the sums of the weights."""
    return _answer(
        q, k, v, scale, lengths, query_lengths, pattern, band, allowed, query_positions, key_positions, bias, dropout,
        seed, backend, keep=True,
    )  # fmt: skip


_attend = torch.library.custom_op("regard::feature_attention", _forward, mutates_args=())


@_attend.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor]:
    den = q.new_empty(q.shape, dtype=torch.float32)
    exact = q.new_empty(0) if q.dtype == torch.float32 else torch.empty_like(den)
    return q.new_empty(q.shape), exact, den


def _backward(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, exact: Tensor, den: Tensor, scale: float, lengths: Tensor | None,
    query_lengths: Tensor | None, pattern: str, band: int, allowed: Tensor | None, query_positions: Tensor | None,
    key_positions: Tensor | None, bias: Tensor | None, dropout: float, seed: Tensor | None, backend: str,
    bias_gradient: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    spec = MaskSpec.again(lengths, query_lengths, pattern, band, allowed, query_positions, key_positions)
    path = _path(backend, q.device)
    grad, q, k, v = grad.contiguous(), q.contiguous(), k.contiguous(), v.contiguous()
    relative = _relative(bias, spec, k.shape[1], path)
    return path.backward(  # type: ignore[no-any-return]
        grad, q, k, v, exact, den, scale, spec, relative, dropout, seed, bias_gradient
    )


_pull = torch.library.custom_op("regard::feature_attention_backward", _backward, mutates_args=())


@_pull.register_fake
def _(grad: Tensor, q: Tensor, k: Tensor, v: Tensor, *rest: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    bias, asked = rest[10], rest[14]
    size = (q.shape[0], q.shape[1], k.shape[1]) if bias is not None and asked else (0,)
    dbias = q.new_empty(size, dtype=torch.float32 if len(size) > 1 else q.dtype)
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape), dbias


def _remember(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    q, k, v, scale, lengths, query_lengths, pattern, band, allowed, at_q, at_k, bias, dropout, seed, backend = inputs
    answer, exact, den = output
    precise = answer if q.dtype == torch.float32 else exact
    ctx.save_for_backward(q, k, v, precise, den, lengths, query_lengths, allowed, at_q, at_k, bias, seed)
    ctx.given = scale, pattern, band, dropout, backend


def _gradients(ctx: Any, grad: Tensor, *_: Tensor | None, pull: Any = _pull) -> tuple[Tensor | None, ...]:
    q, k, v, precise, den, lengths, query_lengths, allowed, at_q, at_k, bias, seed = ctx.saved_tensors
    scale, pattern, band, dropout, backend = ctx.given
    wanted = bias is not None and ctx.needs_input_grad[11]
    dq, dk, dv, dbias = pull(
        grad, q, k, v, precise, den, scale, lengths, query_lengths, pattern, band, allowed, at_q, at_k, bias, dropout,
        seed, backend, wanted,
    )  # fmt: skip
    none = [None] * 8
    return (dq, dk, dv, *none, dbias.to(bias.dtype) if wanted else None, None, None, None)


_attend.register_autograd(_gradients, setup_context=_remember)


class _FeatureDirect(torch.autograd.Function):
    """The same without PyTorch's operator around it, which costs its host more than a small kernel runs."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        output = _forward(*inputs)
        _remember(ctx, inputs, output)
        return output[0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return _gradients(ctx, grad, pull=_backward)


def _whole(bias: Tensor | None, lead: Sequence[int], queries: int, keys: int) -> Tensor | None:
    """A bias for every pair, with the leading axes as one."""
    if bias is None:
        return None
    return flat(bias, "bias", lead, queries, keys).expand(math.prod(lead), queries, keys)


def feature_attention(
    q: Float[Tensor, "*lead query feature"],
    k: Float[Tensor, "*lead key feature"],
    v: Float[Tensor, "*lead key feature"],
    mask: Bool[Tensor, "*some key"] | None = None,
    *,
    scale: float = 5.0,
    lengths: Int[Tensor, "*batch"] | None = None,
    pattern: str = "none",
    band: int = -1,
    bias: Float[Tensor, "*more key"] | None = None,
    dropout: float = 0.0,
    positions: Tensor | tuple[Tensor, Tensor] | None = None,
    query_lengths: Int[Tensor, "*batch"] | None = None,
    backend: Backend = "auto",
) -> Float[Tensor, "*lead query feature"]:
    """The context of each query, by feature-wise attention: each feature has its own weights over the keys,
    `softmax_k(c tanh((q_f + k_f)/c) + bias)` with c = `scale`.

    q, k, v: queries, keys and values, [*lead, time, feature]. Queries and keys are already projected.
    bias: added to the scores of every feature; broadcasts to [*lead, query, key].
    mask, lengths, query_lengths, pattern, band, dropout, positions, backend: as in `additive_attention`.

    A query without a visible key gets zeros."""
    if not scale > 0:
        raise RegardError(f"scale: got {scale}", expected="a number above 0")
    if not 0 <= dropout < 1:
        raise RegardError(f"dropout: got {dropout}", expected="0 or more and less than 1")
    lead, queries, keys, features = q.shape[:-2], q.shape[-2], k.shape[-2], q.shape[-1]
    spec = MaskSpec.of(
        lead, queries, keys, mask, lengths=lengths, query_lengths=query_lengths, pattern=pattern, band=band,
        positions=positions, device=q.device,
    )  # fmt: skip
    kind, batch = q.dtype, math.prod(lead)
    if k.dtype != kind or v.dtype != kind:
        kind = torch.promote_types(torch.promote_types(kind, k.dtype), v.dtype)
        q, k, v = (t.to(kind) for t in (q, k, v))
    flat_q, flat_k, flat_v = (q, k, v) if len(lead) == 1 else (t.reshape(batch, *t.shape[-2:]) for t in (q, k, v))
    bias = _whole(bias, lead, queries, keys)
    seed = torch.randint(2**31 - 1, (1,), device=q.device) if dropout > 0 else None
    empty = 0 in (flat_q.numel(), keys)
    if kind == torch.float64 or backend == "reference" or empty or (backend == "auto" and scale > LARGEST_SCALE):
        seen = None if spec.everything else spec.dense(batch, queries, keys, q.device)
        keep = None
        if seed is not None:
            rows = torch.arange(batch * queries, device=q.device).view(batch, queries)
            keep = feature_cpu.kept(seed, dropout, rows, torch.arange(keys, device=q.device), features)
            keep = keep.to(kind) / (1 - dropout)
        if bias is not None:
            seen = bias != float("-inf") if seen is None else seen & (bias != float("-inf"))
        reached = None
        if seen is not None:
            flat_k, flat_v, reached = shielded(flat_k, flat_v, seen, by_feature=True)
        answer = reaching(feature_reference(flat_q, flat_k, flat_v, scale, seen, bias, keep), reached)
    elif scale > LARGEST_SCALE:
        raise RegardError(
            f"scale: got {scale}", expected=f"at most {LARGEST_SCALE:g} when fused", do="use backend='auto'"
        )
    else:
        given = (
            flat_q, flat_k, flat_v, scale, spec.lengths, spec.query_lengths, pattern, band, spec.allowed,
            spec.query_positions, spec.key_positions, bias, dropout, seed, backend,
        )  # fmt: skip
        answer = straight(_FeatureDirect, _answer, given) if directly(flat_q) else _attend(*given)[0]
    return answer if len(lead) == 1 else answer.reshape(*lead, queries, features)


def feature_weights(
    q: Float[Tensor, "*lead query feature"],
    k: Float[Tensor, "*lead key feature"],
    mask: Bool[Tensor, "*some key"] | None = None,
    *,
    scale: float = 5.0,
    lengths: Int[Tensor, "*batch"] | None = None,
    pattern: str = "none",
    band: int = -1,
    bias: Float[Tensor, "*more key"] | None = None,
    positions: Tensor | tuple[Tensor, Tensor] | None = None,
    query_lengths: Int[Tensor, "*batch"] | None = None,
    rows: Sequence[int] | Int[Tensor, " row"] | None = None,
    features: Sequence[int] | Int[Tensor, " some"] | None = None,
) -> Float[Tensor, "*lead row key some"]:
    """Where the answers came from: the weights of some query rows and some features (default: all, which is large)."""
    lead, queries, keys = q.shape[:-2], q.shape[-2], k.shape[-2]
    spec = MaskSpec.of(
        lead, queries, keys, mask, lengths=lengths, query_lengths=query_lengths, pattern=pattern, band=band,
        positions=positions, device=q.device,
    )  # fmt: skip
    batch = math.prod(lead)
    q, k = q.reshape(batch, *q.shape[-2:]), k.reshape(batch, *k.shape[-2:])
    at = torch.arange(queries, device=q.device) if rows is None else torch.as_tensor(rows, device=q.device)
    if features is not None:
        q, k = (t.index_select(-1, torch.as_tensor(features, device=q.device)) for t in (q, k))
    seen = None if spec.everything else spec.dense(batch, queries, keys, q.device).index_select(1, at)
    bias = _whole(bias, lead, queries, keys)
    bias = None if bias is None else bias.index_select(1, at)
    weights = feature_weights_reference(q.index_select(1, at), k, scale, seen, bias)
    return weights.reshape(*lead, *weights.shape[1:])
