"""What every interaction must do: padding changes nothing, gradients are right, and it says how it came to it."""

import math
from typing import Any

import pytest
import torch
from interact_cases import close, memory

from regard.attend.interact import bare
from regard.find import build, names
from regard.types import Memory

every = names("attend.interact")


def made(name: str) -> Any:
    torch.manual_seed(1)
    return build("attend.interact", name, inputs=4).double()


@pytest.mark.parametrize("garbage", [7.0, math.nan])
@pytest.mark.parametrize("name", every)
def test_padding_changes_nothing(name: str, garbage: float) -> None:
    """Neither its values nor how much of it there is; and each row is what it would be alone."""
    one = made(name)
    lengths, asked = (5, 3), (2, 4)
    plain = one(memory(lengths, 1), memory(asked, 2))
    padded = one(memory(lengths, 1, garbage, extra=2), memory(asked, 2, garbage, extra=3))
    for row in range(2):
        d, q = memory(lengths, 1), memory(asked, 2)
        cut = [
            Memory(side.values[row : row + 1, :n], side.values[row : row + 1, :n], None, side.summary[row : row + 1])
            for side, n in ((d, lengths[row]), (q, asked[row]))
        ]
        alone = one(*cut)
        for key in ("values", "weights"):
            if (expected := getattr(alone, key)) is not None:
                for found in (plain, padded):
                    close(getattr(found, key)[row, : lengths[row]], expected[0])
        if plain.weights is not None:
            assert padded.weights[row, lengths[row] :].eq(0).all()


@pytest.mark.parametrize("name", every)
def test_gradients(name: str) -> None:
    one = made(name)
    d, q = memory((3, 2), 1), memory((2, 1), 2)

    def run(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        found = one(Memory(a, a, d.mask), Memory(b, b, q.mask, b[:, 0]))
        return found.values if found.values is not None else found.weights

    a, b = d.values.clone().requires_grad_(), q.values.clone().requires_grad_()
    assert torch.autograd.gradcheck(run, (a, b))


@pytest.mark.parametrize("name", every)
def test_its_normalizations(name: str) -> None:
    one = made(name)
    found = one(memory((5, 3), 1), memory((2, 4), 2))
    if found.weights is not None:
        close(found.weights.sum(1), torch.ones(2, dtype=torch.float64))
    if found.over_document is not None:
        sums = found.over_document.sum(-1)
        assert sums.amin() > 1 - 1e-9
    assert one.gives == ("values" if found.values is not None else "weights")
    if found.values is not None:
        assert found.values.shape == (2, 5, one.size)


def test_without_a_mask_everything_is_there() -> None:
    values, mask = bare(Memory(torch.ones(1, 2, 3), torch.ones(1, 2, 3)))
    assert mask.all()
    assert values.shape == (1, 2, 3)
