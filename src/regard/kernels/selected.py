"""Attention among chosen tokens only: the work falls with (chosen queries × chosen keys).

Shen et al. 2018, "Reinforced Self-Attention Network: a Hybrid of Hard and Soft Attention for Sequence Modeling":
some tokens are chosen to ask and some to be looked at. The chosen rows are gathered side by side, the fused kernel
runs on those with their original places (so that forward, backward, not_self and a band mean what they always do),
and the answers go back to where their queries stood; an unchosen query answers zeros. Gathering and putting back are
each other's gradients, and both only read rows, so the result never depends on the order of additions.

    answer = selected_attention("feature", q, k, v, chosen_queries, chosen_keys, pattern="forward")

How many rows to make room for is known only to the device; finding out makes the program wait for it once. A caller
who knows a bound gives it as `capacity`, and nothing waits.
"""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import RegardError
from regard.kernels.feature import feature_attention

__all__ = ["selected_attention"]


@dataclass(frozen=True)
class _Chosen:
    """Chosen rows of each sentence, in order: `index` says where row c stood, `place` where row t went."""

    index: Int[Tensor, "batch some"]
    place: Int[Tensor, "batch time"]
    mask: Bool[Tensor, "batch time"]
    count: Int[Tensor, " batch"]


def _flat(rows: Int[Tensor, "batch some"], time: int) -> Int[Tensor, " all"]:
    """Rows of each sentence as rows of all sentences laid end to end."""
    return (rows + torch.arange(rows.shape[0], device=rows.device)[:, None] * time).flatten()


class _Gather(torch.autograd.Function):
    """The chosen rows, side by side. Rows beyond the count repeat row 0 and get no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, place: Tensor, mask: Tensor) -> Tensor:
        ctx.save_for_backward(index, place, mask)
        return x.flatten(0, 1).index_select(0, _flat(index, x.shape[1])).view(*index.shape, x.shape[-1])

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        index, place, mask = ctx.saved_tensors
        return _Return.apply(grad, index, place, mask), None, None, None  # type: ignore[no-untyped-call]


class _Return(torch.autograd.Function):
    """Rows put back where they stood; zeros elsewhere."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, place: Tensor, mask: Tensor) -> Tensor:
        ctx.save_for_backward(index, place, mask)
        rows = x.flatten(0, 1).index_select(0, _flat(place, x.shape[1])).view(*place.shape, x.shape[-1])
        return rows.masked_fill_(~mask.unsqueeze(-1), 0.0)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        # Rows beyond the count answered nothing, so what the kernel is told about them is never read.
        return _Gather.apply(grad, *ctx.saved_tensors), None, None, None  # type: ignore[no-untyped-call]


def _choose(queries: Tensor, keys: Tensor, capacity: int | None) -> tuple[_Chosen, _Chosen]:
    """Both choices at once: half the launches."""
    mask = torch.stack([queries, keys])
    place = mask.cumsum(-1) - 1
    count = place[..., -1] + 1
    if capacity is None or mask.device.type == "cpu":
        most = int(count.max())
        if capacity is not None and most > capacity:
            raise RegardError(f"{most} tokens chosen", expected=f"at most {capacity} (capacity)", do="raise capacity")
        capacity = most if capacity is None else capacity
    else:
        torch._assert_async(count.max() <= capacity)
    room = max(1, min(capacity, mask.shape[-1]))
    index = torch.zeros(*mask.shape[:2], room + 1, dtype=torch.long, device=mask.device)
    time = torch.arange(mask.shape[-1], device=mask.device).expand_as(place)
    index.scatter_(2, torch.where(mask, place, room), time)  # unchosen ones all fall into the last column
    place = place.clamp(0, room - 1)
    own = [_Chosen(index[side, :, :room], place[side], mask[side], count[side]) for side in (0, 1)]
    return own[0], own[1]


def selected_attention(
    score: Literal["additive", "feature"],
    q: Float[Tensor, "batch time hidden"],
    k: Float[Tensor, "batch time hidden"],
    v: Float[Tensor, "batch time value"],
    chosen_queries: Bool[Tensor, "batch time"],
    chosen_keys: Bool[Tensor, "batch time"],
    *,
    w: Float[Tensor, " hidden"] | None = None,
    pattern: str = "none",
    band: int = -1,
    scale: float = 5.0,
    dropout: float = 0.0,
    capacity: int | None = None,
    backend: Literal["auto", "triton", "cpu", "reference"] = "auto",
) -> Float[Tensor, "batch time value"]:
    """Every chosen query looks at the chosen keys its pattern and band allow; all other rows are zeros.
    `w` is additive attention's vector, `scale` feature-wise attention's c; `capacity` bounds how many are chosen."""
    if 0 in q.shape:
        return v * 0
    asking, looked_at = _choose(chosen_queries, chosen_keys, capacity)
    few_q = _Gather.apply(q, asking.index, asking.place, asking.mask)  # type: ignore[no-untyped-call]
    few_k, few_v = (
        _Gather.apply(t, looked_at.index, looked_at.place, looked_at.mask)  # type: ignore[no-untyped-call]
        for t in (k, v)
    )
    shared: dict[str, Any] = {
        "lengths": looked_at.count,
        "query_lengths": asking.count,
        "pattern": pattern,
        "band": band,
        "dropout": dropout,
        "backend": backend,
    }
    if pattern != "none" or band >= 0:
        shared["positions"] = (asking.index, looked_at.index)
    if score == "feature":
        answer = feature_attention(few_q, few_k, few_v, scale=scale, **shared)
    elif score == "additive":
        if w is None:
            raise RegardError("additive attention without w", expected="its vector, one number a hidden feature")
        from regard.kernels.additive import additive_attention

        answer = additive_attention(few_q, few_k, few_v, w, **shared)
    else:
        raise RegardError(f"no score {score!r} among chosen tokens", expected="'additive' or 'feature'")
    return _Return.apply(answer, asking.index, asking.place, asking.mask)  # type: ignore[no-any-return,no-untyped-call]
