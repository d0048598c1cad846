"""A linear map that every step of a loop uses: its gradient is one product at the end, not one a step.

Going back through T steps, autograd would multiply, sum and add T times for the same weight. Here each step only
hands its input and slope over, and `dW = Σ_t g_tᵀ x_t = [g_1 … g_T]ᵀ [x_1 … x_T]` is one large product once all
have come. In a decoder that steps token by token this is a third of the backward pass's launches.

    turn = Shared(linear.weight, linear.bias)
    for x in steps: y = turn(x)
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import Function, once_differentiable
from torch.nn.functional import linear

__all__ = ["Shared"]


class _Gather(Function):
    """Stands before all uses of the weight, so that going back it comes after them."""

    @staticmethod
    def forward(ctx: Any, steps: list[tuple[Tensor, Tensor]], weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        ctx.steps = steps
        ctx.set_materialize_grads(False)
        return weight.view_as(weight), bias.view_as(bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *_: Any) -> tuple[None, Tensor | None, Tensor | None]:
        if not ctx.steps:
            return None, None, None
        x, g = (torch.cat(parts) for parts in zip(*ctx.steps, strict=True))
        ctx.steps.clear()
        return None, g.T @ x, g.sum(0)


class _Use(Function):
    @staticmethod
    def forward(ctx: Any, steps: list[tuple[Tensor, Tensor]], x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        ctx.steps = steps
        ctx.save_for_backward(x, weight)
        return linear(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: Tensor) -> tuple[None, Tensor | None, None, None]:
        x, weight = ctx.saved_tensors
        ctx.steps.append((x, g))
        return None, g @ weight if ctx.needs_input_grad[1] else None, None, None


class Shared:
    """`x Wᵀ + b`, used many times within one forward pass; make a new one for each pass."""

    def __init__(self, weight: Float[Tensor, "out in"], bias: Float[Tensor, " out"]) -> None:
        # All that the backward pass knows: were it the whole object, that would hold its own graph, and never be freed.
        self.steps: list[tuple[Tensor, Tensor]] = []
        self.learns = torch.is_grad_enabled() and weight.requires_grad and bias.requires_grad
        if torch.compiler.is_compiling():  # a compiled backward would not see the steps that are gathered aside
            self.learns = False
        gather: Any = _Gather
        self.weight: Tensor
        self.bias: Tensor
        self.weight, self.bias = gather.apply(self.steps, weight, bias) if self.learns else (weight, bias)

    def __call__(self, x: Float[Tensor, "row in"]) -> Float[Tensor, "row out"]:
        if self.learns:
            use: Any = _Use
            return use.apply(self.steps, x, self.weight, self.bias)  # type: ignore[no-any-return]
        return linear(x, self.weight, self.bias)
