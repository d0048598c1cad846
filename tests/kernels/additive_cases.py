"""What the tests of additive attention share: cases drawn at random, and the comparison with float64."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import rounding
import torch
from hypothesis import strategies as st
from torch import Tensor

from regard.kernels.additive import additive_attention, additive_weights
from regard.kernels.mask import PATTERNS


@pytest.fixture(autouse=True)
def poisoned() -> Iterator[None]:
    """Memory that nobody wrote holds NaN."""

    def empty(make):  # type: ignore[no-untyped-def]
        def made(*args, **kwargs):  # type: ignore[no-untyped-def]
            tensor = make(*args, **kwargs)
            return tensor.fill_(float("nan") if tensor.is_floating_point() else -1)

        return made

    with pytest.MonkeyPatch.context() as patch:
        for name in ("empty", "empty_like"):
            patch.setattr(torch, name, empty(getattr(torch, name)))
        patch.setattr(torch.Tensor, "new_empty", empty(torch.Tensor.new_empty))
        yield


@dataclass
class Case:
    """Inputs of one call; `bias` counts as an input where it is given."""

    q: Tensor
    k: Tensor
    v: Tensor
    w: Tensor
    options: dict[str, Any] = field(default_factory=dict)

    def run(self, backend: str, dtype: torch.dtype) -> list[Tensor]:
        """The answer and the gradients of q, k, v, w (and the bias)."""
        inputs = [t.detach().to(dtype).requires_grad_() for t in (self.q, self.k, self.v, self.w)]
        options = dict(self.options)
        if "bias" in options:
            options["bias"] = options["bias"].detach().to(dtype).requires_grad_()
            inputs.append(options["bias"])
        answer = additive_attention(*inputs[:4], backend=backend, **options)
        pull = torch.randn(answer.shape, generator=torch.Generator().manual_seed(3)).to(answer)
        return [answer.detach(), *torch.autograd.grad(answer, inputs, pull)]


@st.composite
def cases(draw: st.DrawFn, largest: int = 40) -> Case:
    """Odd shapes, every mask, sometimes a bias, sometimes far outside the range of the products."""
    batch, width = draw(st.integers(1, 3)), draw(st.integers(1, largest))
    queries, keys = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    torch.manual_seed(draw(st.integers(0, 10**6)))
    options: dict[str, Any] = {
        "pattern": draw(st.sampled_from(sorted(PATTERNS))),
        "band": draw(st.sampled_from([-1, -1, 0, 3])),
    }
    if draw(st.booleans()):
        options["lengths"] = torch.randint(0, keys + 1, (batch,))
    if draw(st.booleans()):
        options["query_lengths"] = torch.randint(0, queries + 1, (batch,))
    if draw(st.booleans()):
        options["mask"] = torch.rand(draw(st.sampled_from([(batch, queries, keys), (1, keys), (batch, 1, keys)]))) < 0.6
    if draw(st.booleans()):
        bias = 3 * torch.randn(draw(st.sampled_from([(batch, queries, keys), (1, keys), (batch, 1, keys), (keys,)])))
        options["bias"] = bias.masked_fill(torch.rand_like(bias) < 0.2, float("-inf"))
    if draw(st.booleans()):
        options["positions"] = (torch.randint(0, 20, (batch, queries)), torch.randint(0, 20, (batch, keys)))
    size = draw(st.sampled_from([1.0, 1.0, 40.0]))
    q, k = size * torch.randn(batch, queries, width), size * torch.randn(batch, keys, width)
    return Case(q, k, torch.randn(batch, keys, 5), torch.randn(width), options)


def hostile(name: str, queries: int = 37, keys: int = 70, width: int = 67, batch: int = 2) -> Case:
    """Inputs that break a careless kernel."""
    torch.manual_seed(1)
    q, k, v = torch.randn(batch, queries, width), torch.randn(batch, keys, width), torch.randn(batch, keys, 9)
    w = torch.randn(width) * width**-0.5
    options: dict[str, Any] = {}
    if name == "huge":
        q, k = 1e4 * q, 1e4 * k
    elif name == "one huge":
        k[0, 3, 5] = 1e4
    elif name == "edge of the range":
        q, k = q.clamp(-1, 1) * 10.4, k.clamp(-1, 1) * 10.4
    elif name == "cancelling far out":
        middle = 1e4 * torch.randn(batch, 1, width)
        q, k = middle.expand_as(q) + 0, k - middle
    elif name == "saturated":
        q = q + 8
    elif name == "saturated below":
        q = q - 8
    elif name == "small":
        q, k = 1e-3 * q, 1e-3 * k
    elif name == "positive w":
        w = w.abs()
    elif name == "w of many sizes":  # the smallest that are folded into the factors
        w = w.sign() / 8 * torch.where(torch.arange(width) % 2 == 0, 1.0, 2.0**-16)
    elif name == "nothing in w":  # none are
        w[7] = 0.0
    elif name == "shut out":
        bias = torch.randn(batch, queries, keys)
        bias[:, :, 5:60] = float("-inf")
        bias[0, 3] = float("-inf")
        options = {"bias": bias}
    return Case(q, k, v, w, options)


HOSTILE = ["plain", "huge", "one huge", "edge of the range", "cancelling far out", "saturated", "saturated below",
           "small", "positive w", "w of many sizes", "nothing in w", "shut out"]  # fmt: skip


def at_most_twice(case: Case, backend: str, dtype: torch.dtype) -> None:
    """Its inputs, numbers of `dtype`, give errors that rounding explains."""
    options = dict(case.options)
    if "bias" in options:
        options["bias"] = options["bias"].to(dtype)
    rounding.at_most_twice(Case(*(t.to(dtype) for t in (case.q, case.k, case.v, case.w)), options).run, backend, dtype)


def close(got: list[Tensor], true: list[Tensor], tolerance: float = 2e-5) -> bool:
    return all(
        torch.allclose(a.double(), b, rtol=tolerance, atol=tolerance * max(1.0, float(b.abs().max())))
        for a, b in zip(got, true, strict=True)
    )


def honest_about_nan(backend: str) -> None:
    """A visible NaN reaches exactly the answers it reaches in the readable path."""
    torch.manual_seed(6)
    case = Case(torch.randn(1, 5, 6), torch.randn(1, 7, 6), torch.randn(1, 7, 6), torch.randn(6), {"pattern": "causal"})
    case.q[0, 1, 2] = float("nan")
    case.k[0, 5, 3] = float("nan")
    got, true = case.run(backend, torch.float32), case.run("reference", torch.float64)
    assert torch.equal(got[0].isnan(), true[0].isnan())


def dropped(backend: str) -> None:
    """Dropout keeps what it should, is the same in both passes, and follows PyTorch's seed."""
    batch, queries, keys = 2, 30, 40
    q, k = torch.randn(batch, queries, 6), torch.randn(batch, keys, 6)
    w, eye = torch.randn(6), torch.eye(keys).expand(batch, keys, keys).contiguous().requires_grad_()
    torch.manual_seed(4)
    answer = additive_attention(q, k, eye, w, dropout=0.25, backend=backend)  # the dropped weights themselves
    weights = additive_attention(q, k, torch.eye(keys).expand(batch, keys, keys), w, backend="reference")
    kept = answer.detach() != 0
    assert abs(float(kept.float().mean()) - 0.75) < 0.03
    assert torch.allclose(answer.detach(), torch.where(kept, weights / 0.75, 0.0), atol=1e-6)
    upstream = torch.randn(batch, queries, keys)
    (found,) = torch.autograd.grad(answer, eye, upstream)
    assert torch.allclose(found, answer.detach().transpose(1, 2) @ upstream, atol=1e-5)
    leaf = q.clone().requires_grad_()
    torch.manual_seed(4)
    (dq,) = torch.autograd.grad(additive_attention(leaf, k, eye, w, dropout=0.25, backend=backend), leaf, upstream)
    true = q.double().requires_grad_()
    scores = torch.tanh(true[:, :, None] + k.double()[:, None]) @ w.double()
    (expected,) = torch.autograd.grad(torch.softmax(scores, -1) * kept / 0.75, true, upstream.double())
    assert torch.allclose(dq.double(), expected, atol=1e-5)


def of_sizes(
    sizes: Sequence[tuple[float, float]], queries: int = 9, keys: int = 37, width: int = 11
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and w: a batch row for each pair of sizes, its largest |q| and |k| exactly as given."""
    q, k = 2 * torch.rand(len(sizes), queries, width) - 1, 2 * torch.rand(len(sizes), keys, width) - 1
    q[:, 3, 0], k[:, -1, -1] = 1.0, -1.0
    large_q, large_k = (torch.tensor(side)[:, None, None] for side in zip(*sizes, strict=True))
    return q * large_q, k * large_k, torch.randn(width)


SIGHTS = ["lengths", "band", "mask", "bias", "positions"]


def at_once(name: str, backend: str) -> None:
    """The weights of all rows are those of each: none is picked out, and the kernel is told what they see as it is."""
    q, k, w = torch.randn(2, 6, 7), torch.randn(2, 9, 7), torch.randn(7)
    options: dict[str, Any] = {
        "lengths": {"lengths": torch.tensor([9, 0]), "query_lengths": torch.tensor([6, 2])},
        "band": {"pattern": "causal", "band": 2},
        "mask": {"mask": torch.rand(2, 6, 9) < 0.5},
        "bias": {"bias": torch.randn(1, 9), "pattern": "not_self"},
        "positions": {"positions": (torch.randint(9, (2, 6)), torch.randint(9, (2, 9))), "pattern": "forward"},
    }[name]
    every = additive_weights(q, k, w, backend=backend, **options)  # type: ignore[arg-type]
    each = additive_weights(q, k, w, rows=range(6), backend=backend, **options)  # type: ignore[arg-type]
    torch.testing.assert_close(every, each, rtol=0, atol=0)
    torch.testing.assert_close(every, additive_weights(q, k, w, backend="reference", **options))
