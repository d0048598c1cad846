"""Additive attention, fused: `e_qk = Σ_f w_f tanh(q_qf + k_kf)`, `answer_q = Σ_k softmax_k(e_qk + bias_qk) v_k`.

Bahdanau, Cho & Bengio 2014, "Neural Machine Translation by Jointly Learning to Align and Translate", appendix A.1.2.
Queries and keys come projected. Written out, the scores need query × key × feature numbers; here neither the
answer nor its gradients ever store them. `additive_weights` works out the weights of some rows, or the largest of
each row, when a person wants to look.

    answer = additive_attention(q, k, v, w, lengths=lengths, pattern="causal")
    weights = additive_weights(q, k, w, lengths=lengths, pattern="causal", rows=[3])      # [batch, 1, key]
    values, keys = additive_weights(q, k, w, top=5)                                       # [batch, query, 5] each
"""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import once_differentiable

from regard.errors import RegardError
from regard.kernels import additive_cpu
from regard.kernels.direct import TRITON, directly, pulled
from regard.kernels.hidden import reaching, shielded
from regard.kernels.mask import MaskSpec, flat

__all__ = ["additive_attention", "additive_reference", "additive_weights", "additive_weights_reference"]

Backend = Literal["auto", "triton", "cpu", "reference"]


def additive_weights_reference(
    q: Float[Tensor, "batch query hidden"],
    k: Float[Tensor, "batch key hidden"],
    w: Float[Tensor, " hidden"],
    seen: Bool[Tensor, "#batch #query key"] | None = None,
    bias: Float[Tensor, "some rows key"] | None = None,
) -> Float[Tensor, "batch query key"]:
    """The readable path: `softmax_k(wᵀ tanh(q + k) + bias)` over the keys seen (a bias of -inf hides its key too);
    zeros where there are none."""
    scores = torch.tanh(q.unsqueeze(2) + k.unsqueeze(1)) @ w.to(q.dtype)
    if bias is not None:
        scores = scores + bias
        there = (bias != float("-inf")).expand(scores.shape)
        seen = there if seen is None else seen & there
    if seen is None:
        return torch.softmax(scores, dim=-1)
    scores = scores.masked_fill(~seen, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1).masked_fill(~seen, 0.0)


def additive_reference(
    q: Float[Tensor, "batch query hidden"],
    k: Float[Tensor, "batch key hidden"],
    v: Float[Tensor, "batch key value"],
    w: Float[Tensor, " hidden"],
    seen: Bool[Tensor, "#batch #query key"] | None = None,
    bias: Float[Tensor, "some rows key"] | None = None,
    dropout: float = 0.0,
) -> Float[Tensor, "batch query value"]:
    """The readable path: the weighted sum of the values, dropout on the weights."""
    weights = torch.dropout(additive_weights_reference(q, k, w, seen, bias), dropout, train=True)
    return weights.to(v.dtype) @ v


@lru_cache(maxsize=8)
def _path(backend: str) -> Any:
    """The module whose `forward`, `backward` and `weights` serve."""
    if backend == "cpu":
        return additive_cpu
    from regard.kernels import additive_triton  # late: CPU machines need no Triton, and it takes its time

    return additive_triton


def _forward(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, bias: Tensor | None, lengths: Tensor | None,
    query_lengths: Tensor | None, pattern: str, band: int, allowed: Tensor | None, query_positions: Tensor | None,
    key_positions: Tensor | None, dropout: float, seed: Tensor | None, backend: str,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The answers, and the weights for the backward pass (none where there are too many)."""
    spec = MaskSpec.again(lengths, query_lengths, pattern, band, allowed, query_positions, key_positions)
    return _path(backend).forward(q, k, v, w, bias, spec, dropout, seed)  # type: ignore[no-any-return]


_attend = torch.library.custom_op("regard::additive_attention", _forward, mutates_args=())


@_attend.register_fake
def _(q: Tensor, k: Tensor, v: Tensor, w: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    batch, queries, keys = q.shape[0], q.shape[1], k.shape[1]
    answer = v.new_empty(batch, queries, v.shape[2])
    if not additive_cpu.whole(batch, queries, keys):
        return answer, q.new_empty(0, dtype=torch.float32)
    wide = 1 if rest[-1] == "cpu" else _path("triton").WIDE
    columns = (keys + wide - 1) // wide * wide
    return answer, q.new_empty(batch, queries, columns, dtype=torch.float32)


def _pulled(grad: Tensor, p: Tensor, *inputs: Any) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """The gradients; no tensor for that of a bias where there is none."""
    q, k, v, w, bias, *hidden, dropout, seed, backend = inputs
    return _path(backend).backward(grad, q, k, v, w, bias, MaskSpec.again(*hidden), dropout, seed, p)  # type: ignore[no-any-return]


def _backward(
    grad: Tensor, p: Tensor, q: Tensor, k: Tensor, v: Tensor, w: Tensor, bias: Tensor | None, lengths: Tensor | None,
    query_lengths: Tensor | None, pattern: str, band: int, allowed: Tensor | None, query_positions: Tensor | None,
    key_positions: Tensor | None, dropout: float, seed: Tensor | None, backend: str,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    dq, dk, dv, dw, dbias = _pulled(
        grad, p, q, k, v, w, bias, lengths, query_lengths, pattern, band, allowed, query_positions, key_positions,
        dropout, seed, backend,
    )  # fmt: skip
    return dq, dk, dv, dw, q.new_empty(0) if dbias is None else dbias


_pull = torch.library.custom_op("regard::additive_attention_backward", _backward, mutates_args=())


@_pull.register_fake
def _(
    grad: Tensor, p: Tensor, q: Tensor, k: Tensor, v: Tensor, w: Tensor, bias: Tensor | None, *rest: Any
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    dq, dk, dv, dw = (tensor.new_empty(tensor.shape) for tensor in (q, k, v, w))
    return dq, dk, dv, dw, q.new_empty(0) if bias is None else bias.new_empty(bias.shape)


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, w, bias, lengths, query_lengths, pattern, band, allowed, at_q, at_k, dropout, seed, backend = inputs
    ctx.save_for_backward(output[1], q, k, v, w, bias, lengths, query_lengths, allowed, at_q, at_k, seed)
    ctx.given = pattern, band, dropout, backend


def _gradients(ctx: Any, grad: Tensor, _: Tensor | None = None, pull: Any = _pull) -> tuple[Tensor | None, ...]:
    p, q, k, v, w, bias, lengths, query_lengths, allowed, at_q, at_k, seed = ctx.saved_tensors
    pattern, band, dropout, backend = ctx.given
    dq, dk, dv, dw, dbias = pull(
        grad, p, q, k, v, w, bias, lengths, query_lengths, pattern, band, allowed, at_q, at_k, dropout, seed, backend
    )
    return (dq, dk, dv, dw, None if bias is None else dbias, *[None] * 10)


_attend.register_autograd(_gradients, setup_context=_keep)


class _AdditiveDirect(torch.autograd.Function):
    """The same without PyTorch's operator around it, which costs its host more than a small kernel runs."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Tensor:
        output = _forward(*inputs)
        _keep(ctx, inputs, output)
        return output[0]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        return _gradients(ctx, grad, pull=_pulled)


def _alike(q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
    """Queries and keys in one type, as their sum would be: under autocast one side may have been projected outside."""
    if q.dtype == k.dtype:
        return q, k
    kind = torch.promote_types(q.dtype, k.dtype)
    return q.to(kind), k.to(kind)


def _chosen(backend: str, *tensors: Tensor) -> str:
    """The backend that serves: float64 always takes the readable path, and so does what is empty."""
    if backend not in ("auto", "triton", "cpu", "reference"):
        raise RegardError(f"backend {backend!r}", expected="auto, triton, cpu or reference")
    for tensor in tensors:
        if tensor.dtype is torch.float64 or tensor.numel() == 0:
            return "reference"
    if backend != "auto":
        return backend
    if tensors[0].device.type == "cpu":
        return "cpu"
    return "triton" if tensors[0].device.type == "cuda" and TRITON else "reference"


def additive_attention(
    q: Float[Tensor, "*lead query hidden"],
    k: Float[Tensor, "*lead key hidden"],
    v: Float[Tensor, "*lead key value"],
    w: Float[Tensor, " hidden"],
    mask: Bool[Tensor, "*some key"] | None = None,
    *,
    lengths: Int[Tensor, "*few"] | None = None,
    pattern: str = "none",
    band: int = -1,
    bias: Float[Tensor, "*more key"] | None = None,
    dropout: float = 0.0,
    positions: Int[Tensor, "*some time"] | tuple[Tensor, Tensor] | None = None,
    query_lengths: Int[Tensor, "*few"] | None = None,
    backend: Backend = "auto",
) -> Float[Tensor, "*lead query value"]:
    """The context of each query, by additive attention: `Σ_k softmax_k(Σ_f w_f tanh(q_f + k_f) + bias) v_k`.

    q, k, v: queries, keys and values, [*lead, time, feature]. Queries and keys are already projected.
    w: a weight for each hidden feature.
    mask: True where a query may attend to a key; broadcasts to [*lead, query, key].
    lengths, query_lengths: numbers of keys and of queries, where the rest is padding.
    pattern: keys that a query may attend to: none (all), causal (up to its own position), forward (before it),
        backward (after it) or not_self.
    band: largest distance between a query and a key; -1 for any.
    bias: added to the scores; broadcasts to [*lead, query, key].
    dropout: dropout on the weights; pass 0 outside training.
    positions: positions in place of 0, 1, … for `pattern` and `band`: one tensor, or one each for queries and keys.
    backend: auto, triton, cpu or reference.

    A query without a visible key gets zeros. The result has the type of the values."""
    if not 0 <= dropout < 1:
        raise RegardError(f"dropout: got {dropout}", expected="0 or more and less than 1")
    q, k = _alike(q, k)
    (*lead, queries, _), keys = q.shape, k.shape[-2]
    batch = prod(lead)
    spec = MaskSpec.of(lead, queries, keys, mask, lengths=lengths, query_lengths=query_lengths, pattern=pattern,
                     band=band, positions=positions, device=q.device)  # fmt: skip
    term = None if bias is None else flat(bias, "bias", lead, queries, keys).contiguous()
    flat_q, flat_k, flat_v = (q, k, v) if len(lead) == 1 else (t.reshape(batch, *t.shape[-2:]) for t in (q, k, v))
    chosen = _chosen(backend, q, k, v, w)
    if chosen == "reference":
        seen = None if spec.everything else spec.dense(batch, queries, keys, q.device)
        if term is not None:
            seen = term != float("-inf") if seen is None else seen & (term != float("-inf"))
        reached = None
        if seen is not None:
            flat_k, flat_v, reached = shielded(flat_k, flat_v, seen)
        answer = reaching(additive_reference(flat_q, flat_k, flat_v, w, seen, term, dropout), reached)
    else:
        seed = torch.randint(0, 2**31 - 1, (1,), device=q.device) if dropout > 0 else None
        direct = directly(flat_q)
        if direct and not pulled((q, k, v, w, term)):
            options = {} if chosen == "cpu" else {"keep": False}  # on a CPU the weights are there in any case
            answer = _path(chosen).forward(flat_q, flat_k, flat_v, w, term, spec, dropout, seed, **options)[0]
        else:
            given = (
                flat_q, flat_k, flat_v, w, term, spec.lengths, spec.query_lengths, pattern, band, spec.allowed,
                spec.query_positions, spec.key_positions, dropout, seed, chosen,
            )  # fmt: skip
            answer = _AdditiveDirect.apply(*given) if direct else _attend(*given)[0]  # type: ignore[no-untyped-call]
    return answer if len(lead) == 1 else answer.reshape(*lead, queries, v.shape[-1])


@torch.no_grad()
def additive_weights(
    q: Float[Tensor, "*lead query hidden"],
    k: Float[Tensor, "*lead key hidden"],
    w: Float[Tensor, " hidden"],
    mask: Bool[Tensor, "*some key"] | None = None,
    *,
    lengths: Int[Tensor, "*few"] | None = None,
    pattern: str = "none",
    band: int = -1,
    bias: Float[Tensor, "*more key"] | None = None,
    positions: Int[Tensor, "*some time"] | tuple[Tensor, Tensor] | None = None,
    query_lengths: Int[Tensor, "*few"] | None = None,
    rows: Sequence[int] | Int[Tensor, " chosen"] | None = None,
    top: int | None = None,
    backend: Backend = "auto",
) -> Tensor | tuple[Tensor, Tensor]:
    """The weights of these query `rows` (of all), [*lead, row, key], or with `top` the largest of each row and which
    keys they are, [*lead, row, top]. To look at, without gradients; before any dropout."""
    q, k = _alike(q, k)
    lead, queries, keys, batch = q.shape[:-2], q.shape[-2], k.shape[-2], prod(q.shape[:-2])
    spec = MaskSpec.of(lead, queries, keys, mask, lengths=lengths, query_lengths=query_lengths, pattern=pattern,
                     band=band, positions=positions, device=q.device)  # fmt: skip
    term = None if bias is None else flat(bias, "bias", lead, queries, keys).contiguous()
    chosen = _chosen(backend, q, k, w)
    flat_q, flat_k = q.reshape(batch, queries, -1), k.reshape(batch, keys, -1)
    if rows is None and top is None and chosen != "reference":  # none is picked out: what is seen need not be dense
        return _path(chosen).weights(flat_q, flat_k, w, term, spec).to(q.dtype).reshape(*lead, queries, keys)  # type: ignore[no-any-return]
    every = torch.arange(queries) if rows is None else torch.as_tensor(rows, dtype=torch.long)

    def some(part: Tensor) -> Tensor:
        """The weights of these rows."""
        part = part.to(q.device)
        seen = None if spec.everything else spec.dense(batch, queries, keys, q.device, rows=part)
        add = term if term is None or term.shape[1] == 1 else term[:, part]
        if chosen == "reference":
            return additive_weights_reference(flat_q[:, part], flat_k, w, seen, add)
        return _path(chosen).weights(flat_q[:, part], flat_k, w, add, MaskSpec(allowed=seen)).to(q.dtype)  # type: ignore[no-any-return]

    if top is None:
        return some(every).reshape(*lead, len(every), keys)
    step = max(additive_cpu.CHUNK // max(batch * keys, 1), 1)
    found = [some(part).topk(min(top, keys), dim=-1) for part in torch.split(every, step)]
    values, indices = (torch.cat([pair[i] for pair in found], 1).reshape(*lead, len(every), -1) for i in (0, 1))
    return values, indices
