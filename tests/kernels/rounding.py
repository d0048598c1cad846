"""How far rounding may take a computation, from arithmetic alone: no processor is asked.

One processor's error is one draw: its order of additions and its `tanh` decide the roundings, and where an answer is a
sum that cancels (the gradient of w where every tanh is 1) all of the error may be one lucky or unlucky number. So the
yardstick is Monte Carlo arithmetic (Parker 1997): the readable path runs in float64, and after every operation each
number is multiplied by 1 + δ with δ uniform in ±eps/2, which is what correct rounding to the narrower type may do. An
operation that is several inside is rounded as often: of a sum, each term and each partial sum. Several runs
give the mean of the error and its spread.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten

DRAWS = 5
LANES = 4  # numbers in the narrowest vectors in use, those of SSE and NEON
ONCE = {aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor, aten.tanh.default, aten._softmax.default}
EXACT = {
    "_local_scalar_dense", "_to_copy", "_unsafe_view", "abs", "aminmax", "any", "bitwise_and", "bitwise_not", "detach",
    "eq", "expand", "isfinite", "lift_fresh", "masked_fill", "ne", "permute", "randn", "select", "squeeze", "t",
    "transpose", "unsqueeze", "view",
}  # fmt: skip


class Rounding(TorchDispatchMode):
    """Every operation on float64 is rounded at random, as if to a type with this `eps`."""

    def __init__(self, eps: float, seed: int) -> None:
        super().__init__()
        self.eps, self.generator = eps, torch.Generator().manual_seed(seed)

    def off(self, exact: Tensor) -> Tensor:
        """Rounded."""
        draw = torch.rand(exact.shape, generator=self.generator, dtype=torch.float32).double()
        return exact * (1 + self.eps * (draw - 0.5))

    def total(self, terms: Tensor, dim: int, keep: bool = False) -> Tensor:
        """Added up in `LANES` sums side by side, one term after another in each."""
        last = terms.movedim(dim, -1)
        sums = pad(last, (0, -last.shape[-1] % LANES)).unflatten(-1, (-1, LANES)).cumsum(-2)
        error = (self.off(sums[..., 1:, :]) - sums[..., 1:, :]).sum((-2, -1))
        return self.off(terms.sum(dim, keep) + (error.unsqueeze(dim) if keep else error))

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in ONCE:
            return self.off(function(*args, **(kwargs or {})))
        if function is aten.mv.default:
            return self.total(self.off(args[0] * args[1]), 1)
        if function is aten.bmm.default:
            return self.total(self.off(args[0].unsqueeze(3) * args[1].unsqueeze(1)), 2)
        if function is aten.sum.dim_IntList:
            out, dims, keep = args[0], args[1], len(args) > 2 and args[2]
            for dim in sorted(dims, reverse=True):
                out = self.total(out, dim, keep)
            return out
        if function is aten.tanh_backward.default:  # pull · (1 - t²)
            pull, t = args
            return self.off(pull * self.off(1 - self.off(t * t)))
        if function is aten._softmax_backward_data.default:  # p · (pull - Σ p · pull)
            pull, p, dim, _ = args
            return self.off(p * self.off(pull - self.total(self.off(pull * p), dim, True)))
        assert function.__name__.split(".")[0] in EXACT, f"how is {function} rounded?"
        return function(*args, **(kwargs or {}))


def rms(a: Tensor, b: Tensor) -> float:
    return float((a.double() - b.double()).square().mean().sqrt())


def expected(run: Callable[[], list[Tensor]], exact: list[Tensor], dtype: torch.dtype) -> list[float]:
    """The largest root mean square error of each answer of `run`, a computation in float64, that rounding to `dtype`
    explains: the mean of several draws and three times their spread. Where the errors of many numbers make up the mean
    there is no spread to speak of; where they are all the same error, it is about as large as the mean."""
    errors = []
    for seed in range(DRAWS):
        with Rounding(torch.finfo(dtype).eps, seed):
            found = run()
        errors.append([rms(a, b) for a, b in zip(found, exact, strict=True)])
    table = torch.tensor(errors, dtype=torch.float64)
    return (table.mean(0) + 3 * table.std(0)).tolist()


def at_most_twice(run: Callable[[str, torch.dtype], list[Tensor]], backend: str, dtype: torch.dtype) -> None:
    """The promise of every kernel: its error against float64 is at most twice the readable path's.

    Kernels work in float32. The readable path works in the type it is given: in half precision its error is so much
    larger that one measurement will do, whatever the processor. In float32 rounding alone says what to expect of it.
    """
    true = run("reference", torch.float64)
    if dtype == torch.float32:
        theirs = expected(partial(run, "reference", torch.float64), true, dtype)
    else:
        theirs = [rms(a, b) for a, b in zip(run("reference", dtype), true, strict=True)]
    for place, (found, exact, readable) in enumerate(zip(run(backend, dtype), true, theirs, strict=True)):
        # What is returned has been rounded once: half a unit in the last place at most, evenly, so 1/√12 of one.
        floor = rms(exact, torch.zeros_like(exact)) * torch.finfo(dtype).eps * 12**-0.5
        ours = rms(found, exact)
        assert ours <= 2 * readable + floor, (("answer", "q", "k", "v", "w", "bias")[place], ours, readable)
