"""What the tests of feature-wise attention share: cases drawn at random, and the comparison with float64."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import rounding
import torch
from hypothesis import strategies as st
from torch import Tensor

from regard.kernels.feature import feature_attention

PATTERNS = ["none", "causal", "forward", "backward", "not_self"]


@dataclass
class Case:
    """Inputs of one call; `bias` counts as an input where it is given."""

    q: Tensor
    k: Tensor
    v: Tensor
    options: dict[str, Any] = field(default_factory=dict)

    def run(self, backend: str, dtype: torch.dtype) -> list[Tensor]:
        """The answer and the gradients of q, k, v (and the bias), with the same draw of dropout each time."""
        inputs = [t.detach().to(dtype).requires_grad_() for t in (self.q, self.k, self.v)]
        options = dict(self.options)
        if "bias" in options:
            options["bias"] = options["bias"].detach().to(dtype).requires_grad_()
            inputs.append(options["bias"])
        torch.manual_seed(7)
        answer = feature_attention(*inputs[:3], backend=backend, **options)
        pull = torch.randn(answer.shape, generator=torch.Generator().manual_seed(3)).to(answer)
        return [answer.detach(), *torch.autograd.grad(answer, inputs, pull)]


@st.composite
def cases(draw: st.DrawFn, largest: int = 19) -> Case:
    """Odd shapes, every mask, sometimes a bias, sometimes dropout."""
    batch, width = draw(st.integers(1, 3)), draw(st.integers(1, largest))
    queries, keys = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    torch.manual_seed(draw(st.integers(0, 10**6)))
    options: dict[str, Any] = {
        "pattern": draw(st.sampled_from(PATTERNS)),
        "band": draw(st.sampled_from([-1, -1, 0, 3])),
    }
    options["scale"] = draw(st.sampled_from([5.0, 1.0, 12.5]))
    if draw(st.booleans()):
        options["lengths"] = torch.randint(0, keys + 1, (batch,))
    if draw(st.booleans()):
        options["query_lengths"] = torch.randint(0, queries + 1, (batch,))
    if draw(st.booleans()):
        options["mask"] = torch.rand(draw(st.sampled_from([(batch, queries, keys), (1, keys), (batch, 1, keys)]))) < 0.6
    if draw(st.booleans()):
        bias = 3 * torch.randn(batch, queries, keys)
        options["bias"] = bias.masked_fill(torch.rand_like(bias) < 0.2, float("-inf"))
    if draw(st.booleans()):
        options["positions"] = (torch.randint(0, 20, (batch, queries)), torch.randint(0, 20, (batch, keys)))
    options["dropout"] = draw(st.sampled_from([0.0, 0.0, 0.4]))
    size = draw(st.sampled_from([1.0, 1.0, 40.0]))
    q, k = size * torch.randn(batch, queries, width), size * torch.randn(batch, keys, width)
    return Case(q, k, torch.randn(batch, keys, width), options)


def hostile(name: str, queries: int = 9, keys: int = 21, width: int = 40) -> Case:
    """Inputs that break a careless kernel."""
    torch.manual_seed(1)
    q, k, v = torch.randn(2, queries, width), torch.randn(2, keys, width), torch.randn(2, keys, width)
    if name == "huge":
        q, k = 1e4 * q, 1e4 * k
    elif name == "one huge":
        k[0, 3, 5] = 3e3
    elif name == "edge of the range":
        q, k = 26 * q, 26 * k
    elif name in ("cancelling", "cancelling far out"):
        middle = (30 if name == "cancelling" else 1e4) * torch.randn(2, 1, width)
        q, k = middle.expand_as(q) + 0, k - middle
    elif name == "saturated below":
        q = q - 30
    elif name == "saturated above":
        q = q + 30
    return Case(q, k, v)


HOSTILE = ["plain", "huge", "one huge", "edge of the range", "cancelling", "cancelling far out", "saturated below",
           "saturated above"]  # fmt: skip


def error(got: list[Tensor], true: list[Tensor]) -> list[float]:
    """Root mean square error of the answer and of each gradient."""
    return [float((a.double() - b).square().mean().sqrt()) for a, b in zip(got, true, strict=True)]


def close(got: list[Tensor], true: list[Tensor], tolerance: float = 2e-5) -> bool:
    return all(
        torch.allclose(a.double(), b, rtol=tolerance, atol=tolerance * max(1.0, float(b.detach().abs().max())))
        for a, b in zip(got, true, strict=True)
    )


def at_most_twice(case: Case, backend: str, dtype: torch.dtype) -> None:
    """Its inputs, numbers of `dtype`, give errors that rounding explains."""
    rounding.at_most_twice(Case(*(t.to(dtype) for t in (case.q, case.k, case.v)), case.options).run, backend, dtype)


def poisoned(backend: str) -> None:
    """What may not be seen may hold anything; it reaches neither answers nor gradients."""
    torch.manual_seed(5)
    lengths, query_lengths = torch.tensor([5, 3]), torch.tensor([4, 6])
    clean = Case(torch.randn(2, 6, 7), torch.randn(2, 7, 7), torch.randn(2, 7, 7),
                 {"lengths": lengths, "query_lengths": query_lengths, "pattern": "not_self"})  # fmt: skip
    before = clean.run(backend, torch.float32)
    for row, (n_k, n_q) in enumerate(zip(lengths, query_lengths, strict=True)):
        clean.k[row, n_k:], clean.v[row, n_k:], clean.q[row, n_q:] = float("nan"), float("nan"), float("nan")
    after = clean.run(backend, torch.float32)
    for a, b in zip(before, after, strict=True):
        assert torch.allclose(a, b, atol=1e-6)
    # One key hidden by a mask in the middle: its neighbour shares its reciprocal.
    mask = torch.ones(7, dtype=torch.bool)
    mask[2] = False
    case = Case(torch.randn(1, 5, 6), torch.randn(1, 7, 6), torch.randn(1, 7, 6), {"mask": mask[None]})
    case.k[0, 2], case.v[0, 2] = float("nan"), float("inf")
    assert all(t.isfinite().all() for t in case.run(backend, torch.float32))


def honest_about_nan(backend: str) -> None:
    """A visible NaN reaches exactly the answers it reaches in the readable path."""
    torch.manual_seed(6)
    case = Case(torch.randn(1, 5, 6), torch.randn(1, 7, 6), torch.randn(1, 7, 6), {"pattern": "causal"})
    case.q[0, 1, 2] = float("nan")
    case.k[0, 5, 3] = float("nan")
    case.v[0, 6, 4] = float("nan")
    got, true = case.run(backend, torch.float32), case.run("reference", torch.float64)
    assert torch.equal(got[0].isnan(), true[0].isnan())


def like_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Triton's interpreter with a GPU's errors: 2 units in the last place of `exp2`, 1 of a reciprocal and the rounding
    of a product in `/`; always the same for the same number, as from a table."""
    from triton.runtime.interpreter import InterpreterBuilder

    tables = np.random.default_rng(0).uniform(-1, 1, (2, 2**15))

    def off(exact: Any, place: Any, units: int) -> Any:
        error = tables[units - 1][np.clip(np.nan_to_num(place) * 2**15, 0, 2**15 - 1).astype(int)]
        return np.where(place == 0, exact, exact * (1 + error * units * 2**-23.5)).astype(np.float32)

    def exp2(x: Any) -> Any:
        x = x.astype(np.float64)
        return off(np.exp2(x), x - np.floor(x), 2)

    def divide(a: Any, b: Any) -> Any:
        b = b.astype(np.float64)
        return a * off(1 / b, 2 * np.frexp(np.abs(b))[0] - 1, 1)

    monkeypatch.setattr(InterpreterBuilder, "create_exp2", lambda self, x: self.unary_op(x, exp2))
    monkeypatch.setattr(InterpreterBuilder, "create_fdiv", lambda self, a, b: self.binary_op(a, b, divide))
