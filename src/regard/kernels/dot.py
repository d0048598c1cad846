"""Dot-product attention through PyTorch's `scaled_dot_product_attention`, with hidden rows made safe.

dot_attention(q, k, v, mask, scale=1.0)

Where many layers share a mask, and nothing that it hides is ever NaN or infinite, the mask is prepared once for all:

hiding = hidden(mask, like=x);  dot_attention(q, k, v, hiding=hiding)
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from regard.kernels.hidden import reaching, shielded

__all__ = ["dot_attention", "hidden"]

ALIGNED = 8  # PyTorch's memory-efficient kernel copies a mask whose rows do not start at multiples of so many numbers


def hidden(mask: Bool[Tensor, "*some key"], like: Tensor) -> Float[Tensor, "*some key"]:
    """The mask as numbers to add to scores, 0 and −∞, in the precision in which attention to `like` is computed.

    A query that sees no key attends to all of them; the caller has to set its answer to 0.
    """
    kind = like.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else like.dtype
    time = mask.shape[-1]
    room = torch.zeros(*mask.shape[:-1], -(-time // ALIGNED) * ALIGNED, dtype=dtype, device=mask.device)
    return room[..., :time].masked_fill_(~mask & mask.any(-1, keepdim=True), float("-inf"))


def dot_attention(
    q: Float[Tensor, "*lead query hidden"],
    k: Float[Tensor, "*lead key hidden"],
    v: Float[Tensor, "*lead key value"],
    mask: Bool[Tensor, "*some key"] | None = None,
    bias: Float[Tensor, "*more key"] | None = None,
    scale: float = 1.0,
    clean: bool = False,
    hiding: Float[Tensor, "*other key"] | None = None,
) -> Float[Tensor, "*lead query value"]:
    """`softmax(scale · q kᵀ + bias) v` over the visible keys; zeros where there are none. What is hidden may hold
    anything (see `regard.kernels.hidden`), unless the caller says that it is `clean`. `hiding` takes the place of mask
    and bias; then all is clean."""
    if hiding is not None:
        return scaled_dot_product_attention(q, k, v, attn_mask=hiding, scale=scale)
    reached = None
    if mask is not None and not clean:
        k, v, reached = shielded(k, v, mask)
    flat = q.dim() == 3
    if flat:  # the fused CPU kernel wants a head axis
        q, k, v = q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1)
        mask = None if mask is None else mask.unsqueeze(-3)
        bias = None if bias is None else bias.unsqueeze(-3)
    seen = None if mask is None else mask.any(-1, keepdim=True)
    if mask is not None and seen is not None:
        mask = mask | ~seen  # a hidden row looks everywhere, and its answer is then zeroed, with its gradients
    if bias is not None:
        joint = bias if mask is None else bias.masked_fill(~mask, float("-inf"))
    answer = scaled_dot_product_attention(q, k, v, attn_mask=mask if bias is None else joint, scale=scale)
    if seen is not None:
        answer = answer.masked_fill(~seen, 0.0)
    return reaching(answer.squeeze(1) if flat else answer, reached)
