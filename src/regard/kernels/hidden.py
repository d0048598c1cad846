"""Masked positions may hold any number: none of it reaches an output or a gradient.

A weight of 0 does not hide what is not a number (0 · NaN is NaN), neither in a sum of values nor in a gradient. So:

- A key that no query sees has no part in anything, whatever it and its value hold.
- A key that only some queries see (causal, a band, a mask of pairs) has no part in the answers of the others. Where it
  or its value is not a finite number, the answers that see it are NaN.

To look for such numbers takes one pass over keys and values, little beside attention itself. On a GPU nobody waits for
an answer: our kernels do it all (`additive_triton`, `feature_triton`), and before PyTorch's (`dot_attention`) and the
readable path the keys that nobody sees are filled with zeros. There alone a number that is not finite and that some
queries see may reach the answers of others.

    k, v, reached = shielded(k, v, seen)        # reached: queries whose answers are NaN; None where there are none
"""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

__all__ = ["poisoned", "reaching", "shielded", "tame", "without_padding"]


LARGE = 2.0**60  # products and sums of such numbers may leave float32


def tame(x: Tensor) -> bool:
    """Whether all numbers are finite, and small enough to stay so when they are multiplied; on a GPU this waits."""
    if not x.numel():
        return True
    low, high = x.detach().aminmax()  # one pass; a NaN is both
    return float(low) > -LARGE and float(high) < LARGE


def _looks(x: Tensor) -> bool:
    """Whether one may look at the numbers: nothing has to wait for them, and nobody traces the call."""
    return x.device.type == "cpu" and not torch.compiler.is_compiling()


def without_padding(x: Float[Tensor, "batch time size"], mask: Bool[Tensor, "batch time"]) -> Tensor:
    """Zeros where there is no token; as it is where padding can do no harm."""
    return x if _looks(x) and tame(x) else x.masked_fill(~mask.unsqueeze(-1), 0.0)


def shielded(
    k: Float[Tensor, "*lead key hidden"],
    v: Float[Tensor, "*lead key value"],
    seen: Bool[Tensor, "*some key"],
    by_feature: bool = False,
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Keys and values that can do no harm where they are hidden, and which queries see what is not finite: one flag a
    query, or one for each of its features where these do not meet."""
    looks = _looks(k)
    # One pattern for all sentences does not hide what is padding in one of them.
    if (tame(k) and tame(v)) if looks else (seen.dim() > 2 and seen.shape[0] == 1 < seen.shape[-2]):
        return k, v, None
    nobody = ~seen.any(-2).unsqueeze(-1)
    k, v = k.masked_fill(nobody, 0.0), v.masked_fill(nobody, 0.0)
    if not looks:
        return k, v, None
    bad = ~(k.isfinite() & v.isfinite()) if by_feature else ~(k.isfinite().all(-1) & v.isfinite().all(-1)).unsqueeze(-1)
    if not bad.any():
        return k, v, None
    reached = (seen.unsqueeze(-1) & bad.unsqueeze(-3)).any(-2)
    return k.masked_fill(bad, 0.0), v.masked_fill(bad, 0.0), reached


def reaching(answer: Float[Tensor, "*lead query value"], reached: Tensor | None) -> Float[Tensor, "*lead query value"]:
    """The answers, NaN where a query sees what is not finite."""
    return answer if reached is None else answer.masked_fill(reached, float("nan"))


def poisoned(k: Float[Tensor, "batch key hidden"], v: Float[Tensor, "batch key value"]) -> tuple[Tensor, Tensor]:
    """Keys and values for a kernel that hides keys well but multiplies hidden values by 0: values that are not finite
    become 0 and their keys NaN, so that the weights of all who see them, and of no others, are NaN."""
    return k + (v * 0).sum(-1, keepdim=True), v.nan_to_num(0.0, 0.0, 0.0)
