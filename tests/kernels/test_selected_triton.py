"""Chosen rows in Triton: found, gathered and put back as the plain functions do it."""

import os

import pytest
import torch

from tiers import sweep_but

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

from regard.kernels import selected, selected_triton

place = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize(
    ("time", "room", "share"),
    sweep_but([(1, 1, 1.0), (7, 7, 0.4), (300, 200, 0.5), (20, 20, 0.0)], (1, 1, 1.0), (7, 7, 0.4)),
)
def test_as_the_plain_functions(time: int, room: int, share: float) -> None:
    torch.manual_seed(time)
    mask = torch.rand(2, 3, time, device=place) < share
    found, expected = selected_triton.places(mask, room), selected._places(mask, room)
    for one, other in zip(found, expected, strict=True):
        assert torch.equal(one.long(), other.long())
    q, k, v = (torch.randn(3, time, width, device=place) for width in (5, 5, 600))
    few = selected_triton.gathered((q, k, v), (0, 1, 1), found)
    for one, other in zip(few, selected._gathered((q, k, v), (0, 1, 1), expected), strict=True):
        assert torch.equal(one, other)
    (back,) = selected_triton.returned((few[0],), (0,), found)
    assert torch.equal(back, q * mask[0].unsqueeze(-1))


def test_what_does_not_fit_is_left_out() -> None:
    mask = torch.ones(1, 1, 5, dtype=torch.bool, device=place)
    index, where, count = selected_triton.places(mask, 3)
    assert index.tolist() == [[[0, 1, 2]]]
    assert where.tolist() == [[[0, 1, 2, -1, -1]]]
    assert count.tolist() == [[3]]


def test_a_number_by_hand() -> None:
    mask = torch.tensor([[[True, False, True, False]]], device=place)
    index, where, count = selected_triton.places(mask, 3)
    assert (index.tolist(), where.tolist(), count.tolist()) == ([[[0, 2, -1]]], [[[0, -1, 1, -1]]], [[2]])
