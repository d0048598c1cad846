"""Attention among selected tokens only: the cost is (selected queries × selected keys).

Shen et al. 2018, "Reinforced Self-Attention Network: a Hybrid of Hard and Soft Attention for Sequence Modeling":
some tokens are chosen to ask and some to be looked at. The chosen rows are gathered side by side, the fused kernel
runs on those with their original places (so that forward, backward, not_self and a band mean what they always do),
and the answers go back to where their queries stood; an unchosen query answers zeros. Gathering and putting back are
each other's gradients, and both only read rows, so the result never depends on the order of additions. On a GPU
feature-wise attention gathers nothing: its kernels find the chosen rows by themselves (`selected_feature_triton.py`).

    answer = selected_attention("feature", q, k, v, chosen_queries, chosen_keys, pattern="forward")

How many rows to make room for is known only to the device. A caller who knows a bound gives it as `capacity`; without
one, feature-wise attention makes room for all (rows beyond the count cost next to nothing), and additive attention,
whose scores lie in memory, waits for the device once to find out.
"""

from typing import Any, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from regard.errors import RegardError
from regard.kernels.direct import TRITON, directly
from regard.kernels.feature import LARGEST_SCALE, feature_attention

__all__ = ["selected_attention"]


Chosen = tuple[Tensor, Tensor, Tensor]
"""Of the queries and of the keys, one after the other: `index` [2, batch, room] says where the chosen row c stood
(-1 beyond the last), `place` [2, batch, time] which chosen row t is (-1 for none), `count` [2, batch] how many."""


def _places(mask: Bool[Tensor, "side batch time"], room: int) -> Chosen:
    place = mask.cumsum(-1) - 1
    count = place[..., -1] + 1
    index = torch.full((*mask.shape[:2], room + 1), -1, device=mask.device)
    time = torch.arange(mask.shape[-1], device=mask.device).expand_as(place)
    index.scatter_(2, torch.where(mask, place, room), time)  # unchosen ones all fall into the last column
    return index[..., :room], place.masked_fill(~mask, -1), count


def _rows(tensor: Tensor, rows: Int[Tensor, "batch some"]) -> Tensor:
    """These rows of each sentence; zeros where the number is below 0."""
    found = tensor.gather(1, rows.clamp(min=0).unsqueeze(-1).expand(*rows.shape, tensor.shape[-1]))
    return found.masked_fill_((rows < 0).unsqueeze(-1), 0.0)


def _gathered(tensors: tuple[Tensor, ...], sides: tuple[int, ...], chosen: Chosen) -> tuple[Tensor, ...]:
    return tuple(_rows(tensor, chosen[0][side].long()) for tensor, side in zip(tensors, sides, strict=True))


def _returned(tensors: tuple[Tensor, ...], sides: tuple[int, ...], chosen: Chosen) -> tuple[Tensor, ...]:
    return tuple(_rows(tensor, chosen[1][side].long()) for tensor, side in zip(tensors, sides, strict=True))


def _moves(tensors: tuple[Tensor, ...]) -> Any:
    """The functions that find, gather and return: one launch each on a GPU."""
    if tensors[0].is_cuda and directly(tensors[0]) and len({tensor.dtype for tensor in tensors}) == 1 and TRITON:
        from regard.kernels import selected_triton

        return selected_triton
    return None


class _Rows(torch.autograd.Function):
    """The chosen rows, side by side; zeros beyond the last."""

    @staticmethod
    def forward(ctx: Any, sides: tuple[int, ...], index: Tensor, place: Tensor, count: Tensor, *tensors: Tensor) -> Any:
        ctx.save_for_backward(index, place, count)
        ctx.sides = sides
        moves = _moves(tensors)
        return (moves.gathered if moves else _gathered)(tensors, sides, (index, place, count))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, None, None, *_return(ctx.sides, ctx.saved_tensors, *grads)


class _Return(torch.autograd.Function):
    """Rows put back where they stood; zeros elsewhere."""

    @staticmethod
    def forward(ctx: Any, sides: tuple[int, ...], index: Tensor, place: Tensor, count: Tensor, *tensors: Tensor) -> Any:
        ctx.save_for_backward(index, place, count)
        ctx.sides = sides
        moves = _moves(tensors)
        return (moves.returned if moves else _returned)(tensors, sides, (index, place, count))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, None, None, None, *_gather(ctx.sides, ctx.saved_tensors, *grads)


def _gather(sides: tuple[int, ...], chosen: Chosen, *tensors: Tensor) -> tuple[Tensor, ...]:
    return _Rows.apply(sides, *chosen, *tensors)  # type: ignore[no-untyped-call, no-any-return]


def _return(sides: tuple[int, ...], chosen: Chosen, *tensors: Tensor) -> tuple[Tensor, ...]:
    return _Return.apply(sides, *chosen, *tensors)  # type: ignore[no-untyped-call, no-any-return]


def _choose(q: Tensor, queries: Tensor, keys: Tensor, capacity: int | None, waits: bool) -> Chosen:
    """Both choices at once: half the launches."""
    mask, time = torch.stack([queries, keys]), queries.shape[-1]
    if capacity is None and not (waits or mask.device.type == "cpu"):
        capacity = time
    elif capacity is None or mask.device.type == "cpu":
        most = int(mask.sum(-1).max())
        if capacity is not None and most > capacity:
            raise RegardError(f"{most} tokens selected", expected=f"at most {capacity} (capacity)", do="raise capacity")
        capacity = most if capacity is None else capacity
    room = max(1, min(capacity, time))
    moves = _moves((q,))
    return (moves.places if moves else _places)(mask, room)


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
    positions: Int[Tensor, "batch time"] | None = None,
    capacity: int | None = None,
    backend: Literal["auto", "triton", "cpu", "reference"] = "auto",
) -> Float[Tensor, "batch time value"]:
    """Every chosen query looks at the chosen keys its pattern and band allow; all other rows are zeros.
    `w` is additive attention's vector, `scale` feature-wise attention's c; `positions` replace 0, 1, … in pattern and
    band; `capacity` bounds how many are chosen (on a GPU those beyond it are left out, as if they were not)."""
    if 0 in q.shape:
        return v * 0
    if score == "feature" and _fused(q, k, v, chosen_queries, chosen_keys, scale, positions, backend):
        from regard.kernels.selected_feature_triton import selected_feature

        return selected_feature(
            q, k, v, chosen_queries, chosen_keys, scale, pattern, band, dropout, positions, capacity
        )  # fmt: skip
    chosen = _choose(q, chosen_queries, chosen_keys, capacity, waits=score == "additive")
    index, _, count = chosen
    few_q, few_k, few_v = _gather((0, 1, 1), chosen, q, k, v)
    shared: dict[str, Any] = {
        "lengths": count[1],
        "query_lengths": count[0],
        "pattern": pattern,
        "band": band,
        "dropout": dropout,
        "backend": backend,
    }
    if pattern != "none" or band >= 0:
        shared["positions"] = _positions(positions, chosen) if positions is not None else (index[0], index[1])
    if score == "feature":
        answer = feature_attention(few_q, few_k, few_v, scale=scale, **shared)
    elif score == "additive":
        if w is None:
            raise RegardError("additive attention without w", expected="w, a vector with one number per hidden feature")
        from regard.kernels.additive import additive_attention

        answer = additive_attention(few_q, few_k, few_v, w, **shared)
    else:
        raise RegardError(f"unknown score {score!r} for selected tokens", expected="'additive' or 'feature'")
    return _return((0,), chosen, answer)[0]


def _fused(
    q: Tensor, k: Tensor, v: Tensor, asks: Tensor, seen: Tensor, scale: float, positions: Tensor | None, backend: str
) -> bool:  # fmt: skip
    """Whether the kernels that find chosen rows by themselves may serve: nothing is gathered or put back."""
    shape, dtype = q.shape, q.dtype
    device, rows = q.device, shape[:2]
    return (
        (backend == "triton" or (backend == "auto" and q.is_cuda))
        and TRITON
        and directly(q)
        and 0 < scale <= LARGEST_SCALE
        and dtype in (torch.bfloat16, torch.float16, torch.float32)
        and k.dtype == v.dtype == dtype
        and len(shape) == 3
        and k.shape == v.shape == shape
        and asks.dtype == seen.dtype == torch.bool
        and asks.shape == seen.shape == rows
        and asks.device == seen.device == device
        and (positions is None or (positions.shape == rows and positions.device == device))
    )


def _positions(positions: Int[Tensor, "batch time"], chosen: Chosen) -> tuple[Tensor, Tensor]:
    """Those of the chosen queries and keys."""
    rows = chosen[0].long().clamp(min=0)
    return positions.gather(1, rows[0]), positions.gather(1, rows[1])
