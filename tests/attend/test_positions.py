"""Positions: the paper's numbers, rotations that know only distances, places that do not depend on how one reads."""

from math import cos, sin

import pytest
import torch
from torch import Tensor

from regard.attend.positions import Kind, Places, Positions, angles, rotated, sinusoid
from regard.errors import RegardError

kinds: list[Kind] = ["sinusoid", "learned", "rotary"]
every = pytest.mark.parametrize("kind", kinds)


def tensors(places: Places) -> list[Tensor]:
    return [one for one in (places.vectors, places.cos, places.sin) if one is not None]


def test_sinusoids_by_hand() -> None:
    """Place 3, four features: sin 3, cos 3, then the same of 3 / 10000^(2/4) = 0.03."""
    place = sinusoid(torch.tensor(3), 4)
    assert place.tolist() == pytest.approx([sin(3), cos(3), sin(0.03), cos(0.03)], abs=1e-15)
    assert place.tolist() == pytest.approx([0.14112, -0.98999, 0.029996, 0.99955], abs=1e-5)
    assert sinusoid(torch.arange(2), 3).shape == (2, 3)
    assert sinusoid(torch.arange(7), 5).shape == (7, 5)  # an odd width ends with a sine


def test_a_turn_by_hand() -> None:
    """Two heads of four features at place 2: pairs turn by 2 and by 2 / 10000^(1/2) = 0.02, alike in both heads."""
    at = angles(torch.tensor([2]), 4)
    x = torch.tensor([[1.0, 0.0, 0.0, 2.0, 3.0, 4.0, 1.0, 0.0]]).double()
    a = [cos(2), sin(2), -2 * sin(0.02), 2 * cos(0.02)]
    b = [3 * cos(2) - 4 * sin(2), 3 * sin(2) + 4 * cos(2), cos(0.02), sin(0.02)]
    assert rotated(x, at.cos(), at.sin())[0].tolist() == pytest.approx(a + b, abs=1e-15)


def test_turned_products_know_only_distances() -> None:
    q, k = torch.randn(2, 5, 12).double()
    positions, products = Positions("rotary", 12, heads=3), []
    for first in [0, 1, 40]:
        places = positions(first, 5)
        p, r = places.rotated(q), places.rotated(k)
        torch.testing.assert_close(p.norm(dim=-1), q.norm(dim=-1))
        products.append(torch.einsum("jhw,ihw->hji", p.reshape(5, 3, 4), r.reshape(5, 3, 4)))
    torch.testing.assert_close(products[1], products[0])
    torch.testing.assert_close(products[2], products[0])
    plain = torch.einsum("jhw,ihw->hji", q.reshape(5, 3, 4), k.reshape(5, 3, 4))
    torch.testing.assert_close(products[0].diagonal(dim1=1, dim2=2), plain.diagonal(dim1=1, dim2=2))
    assert not torch.allclose(products[0], plain)


@every
def test_a_place_is_the_same_however_it_is_read(kind: Kind) -> None:
    positions = Positions(kind, 8, heads=2, max_length=20)
    whole = positions(0, 20)
    for first, time in [(0, 3), (7, 1), (19, 1), (4, 16), (5, 0)]:
        for one, all_of_it in zip(tensors(positions(first, time)), tensors(whole), strict=True):
            assert torch.equal(one, all_of_it[first : first + time])


@every
def test_each_kind_acts_in_its_own_place(kind: Kind) -> None:
    places, x = Positions(kind, 8, heads=2)(1, 3), torch.randn(2, 3, 8)
    assert torch.equal(places.added(x), x) is (kind == "rotary")
    assert torch.equal(places.rotated(x), x) is (kind != "rotary")
    assert places.added(x).dtype == places.rotated(x).dtype == torch.float32


def test_only_learned_places_learn_and_end() -> None:
    assert not list(Positions("sinusoid", 8, 2).parameters())
    assert not list(Positions("rotary", 8, 2).parameters())
    positions = Positions("learned", 8, 2, max_length=6)
    positions(2, 3).added(torch.zeros(4, 3, 8)).sum().backward()
    assert positions.places is not None
    assert positions.places.weight.grad is not None
    assert positions.places.weight.grad.any(-1).tolist() == [False, False, True, True, True, False]
    with pytest.raises(RegardError, match=r"7 tokens.*at most 6.*positions=sinusoid"):
        positions(6, 1)


def test_pairs_need_an_even_width() -> None:
    with pytest.raises(RegardError, match=r"heads of width 3.*even"):
        Positions("rotary", 6, heads=2)


def test_half_precision_rounds_once() -> None:
    """Far out, where an angle in half precision would be off by whole turns."""
    x = torch.randn(1, 9, 8).bfloat16()
    places = Positions("rotary", 8, heads=2)(1000, 9)
    exact, half = places.rotated(x.double()), places.rotated(x)
    assert half.dtype == torch.bfloat16
    torch.testing.assert_close(half, exact.bfloat16(), rtol=0.008, atol=1e-5)


def test_gradients_are_right() -> None:
    at = angles(torch.arange(3, 7), 6)
    x = torch.randn(2, 4, 12).double().requires_grad_()
    assert torch.autograd.gradcheck(lambda x: rotated(x, at.cos(), at.sin()), (x,))
