"""Whether a fused call may go straight to its kernels, past PyTorch's operator.

An operator (`torch.library.custom_op`) is what torch.compile, fake tensors and the other modes of PyTorch understand,
and costs its host about a tenth of a millisecond a call, forward and backward. Where nobody is listening the same
functions are called under a plain `torch.autograd.Function`.

    answer = straight(Function, forward, given) if directly(q) else operator(*given)[0]
"""

from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

__all__ = ["TRITON", "directly", "pulled", "straight"]

# Asked once: torch.compile cannot follow the question.
TRITON = find_spec("triton") is not None


def directly(tensor: Tensor) -> bool:
    """Nothing traces, fakes, wraps or transforms this call."""
    return (
        not torch.compiler.is_compiling()
        and type(tensor) in (Tensor, torch.nn.Parameter)
        and torch._C._len_torch_dispatch_stack() == 0
        and not torch._C._are_functorch_transforms_active()
    )


def pulled(given: Iterable[Any]) -> bool:
    """Whether a gradient may be asked for: that of any tensor given."""
    return torch.is_grad_enabled() and any(isinstance(one, Tensor) and one.requires_grad for one in given)


def straight(function: Any, forward: Callable[..., tuple[Tensor, ...]], given: tuple[Any, ...]) -> Tensor:
    """The answer under the autograd function, or of its forward alone where no gradient will be asked for."""
    if pulled(given):
        return function.apply(*given)  # type: ignore[no-any-return]
    return forward(*given)[0]
