"""Dot-product attention through PyTorch's `scaled_dot_product_attention`, with hidden rows made safe.

dot_attention(q, k, v, mask, scale=1.0)
"""

from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from regard.kernels.hidden import reaching, shielded

__all__ = ["dot_attention"]


def dot_attention(
    q: Float[Tensor, "*lead query hidden"],
    k: Float[Tensor, "*lead key hidden"],
    v: Float[Tensor, "*lead key value"],
    mask: Bool[Tensor, "*some key"] | None = None,
    bias: Float[Tensor, "*more key"] | None = None,
    scale: float = 1.0,
    clean: bool = False,
) -> Float[Tensor, "*lead query value"]:
    """`softmax(scale · q kᵀ + bias) v` over the visible keys; zeros where there are none. What is hidden may hold
    anything (see `hidden`), unless the caller says that it is `clean`."""
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
