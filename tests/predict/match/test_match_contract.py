"""What every matching promises. Nothing is listed: the tests walk the folder, so a new file is held to it at once."""

import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor

from regard import find
from regard.errors import RegardError
from regard.predict.match import Match

every = pytest.mark.parametrize("name", find.names("predict.match"))
inputs, rows = 6, 3
small = {"hidden": 5}  # where a matching has it


def match(name: str) -> Match:
    known = find.settable(find.find("predict.match", name))
    options = {key: value for key, value in small.items() if key in known}
    part = find.build("predict.match", {"name": name, **options}, inputs=inputs, rows=rows)
    assert isinstance(part, Match)
    return part.double().eval()


def pair(batch: int = 4) -> tuple[Tensor, Tensor]:
    return torch.randn(batch, inputs).double(), torch.randn(batch, inputs).double()


@every
@pytest.mark.parametrize("batch", [4, 1, 0])
def test_it_is_as_wide_as_it_says(name: str, batch: int) -> None:
    part = match(name)
    found = part(*pair(batch))
    assert found.shape == (batch, part.size)
    assert found.dtype == torch.float64


@every
def test_every_pair_is_matched_as_if_alone(name: str) -> None:
    part, (u, v) = match(name), pair()
    together = part(u, v)
    for row in range(4):
        torch.testing.assert_close(part(u[row : row + 1], v[row : row + 1])[0], together[row])


@every
def test_both_sides_matter_and_are_told_apart(name: str) -> None:
    part, (u, v) = match(name), pair()
    found = part(u, v)
    for other in [part(u, v + 1), part(u + 1, v)]:
        assert (other != found).any(-1).all()
    turned = part(v, u)
    assert torch.equal(turned, found) if part.symmetric else (turned != found).any(-1).all()


@every
def test_gradients_are_right(name: str) -> None:
    part, (u, v) = match(name), pair()
    assert torch.autograd.gradcheck(
        lambda u, v, *_: part(u, v), (u.requires_grad_(), v.requires_grad_(), *part.parameters())
    )


@every
def test_zeros_and_twins_have_finite_gradients(name: str) -> None:
    """Nothing is divided: two empty sentences are zeros, and a sentence beside itself has no distance."""
    part = match(name)
    for u in [torch.zeros(2, inputs).double().requires_grad_(), pair(2)[0].requires_grad_()]:
        found = part(u, u)
        gradients = torch.autograd.grad(found.square().sum(), [u, *part.parameters()])
        assert all(tensor.isfinite().all() for tensor in [found, *gradients])


@every
def test_it_is_saved_whole_and_keeps_no_batch(name: str) -> None:
    part, other, (u, v) = match(name), match(name), pair()
    found = part(u, v)
    part(*pair(2))
    other.load_state_dict(load(save(part.state_dict())))
    assert all(torch.equal(one(u, v), found) for one in [other, part])


@every
@pytest.mark.parametrize("half", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("given", [torch.float32, None])
def test_it_works_in_half_precision(name: str, half: torch.dtype, given: torch.dtype | None) -> None:
    part, whole = match(name).float(), match(name)
    whole.load_state_dict(part.state_dict())
    u, v = (one.to(given or half).requires_grad_() for one in pair())
    with torch.autocast("cpu", dtype=half):
        found = part(u, v)
    torch.testing.assert_close(found.double(), whole(u.double(), v.double()), atol=0.05, rtol=0.02)
    found.float().sum().backward()
    assert all(leaf.grad.isfinite().all() for leaf in [u, v, *part.parameters()])


@every
def test_an_unknown_option_is_refused(name: str) -> None:
    with pytest.raises(RegardError, match="unknown option 'no_such_option'"):
        find.build("predict.match", {"name": name, "no_such_option": 1}, inputs=inputs, rows=rows)
