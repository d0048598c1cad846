"""Biases under every decoder: all steps at once as one by one."""

from functools import partial
from typing import Any

import pytest
import torch

from regard import find
from regard.attend.attention import make
from regard.predict.generate import Decoder
from regard.types import Memory

tokens = torch.tensor([[1, 6, 0, 3, 2], [1, 4, 4, 5, 6]])
# Made small, and such as take all steps at once where nothing hinders them.
options = {"hidden": 8, "embed": 8, "size": 8, "layers": 2, "place": "after", "feed": False, "fusion": "shallow"}


@pytest.mark.parametrize("name", find.names("predict.generate"))
@pytest.mark.parametrize(
    "bias", ["position", "markov", "fertility", {"name": "window", "kind": "monotone", "D": 1}, "window"], ids=str
)
def test_biases_count_steps_alike(name: str, bias: Any) -> None:
    """What speaks for a position by the number of the step is told it also where all steps are taken at once."""
    torch.manual_seed(2)
    known = find.settable(find.find("predict.generate", name))
    spec = {"name": name, **{key: value for key, value in options.items() if key in known}}
    sizes = {"vocab": 7, "memory": 8, "summary": 8}
    part = find.build("predict.generate", spec, **sizes, attention=partial(make, bias=(bias,))).double().eval()
    with torch.no_grad():  # biases begin as zeros
        for parameter in part.parameters():
            parameter += torch.randn_like(parameter) / 2
    mask = torch.arange(4)[None, :] < torch.tensor([[4], [2]])
    memory = Memory(*(torch.randn(2, 4, 8).double() for _ in range(2)), mask, torch.randn(2, 8).double())
    once, stepped = part.unroll(memory, tokens), Decoder.unroll(part, memory, tokens)
    torch.testing.assert_close(once[1], stepped[1])
    torch.testing.assert_close(once[0].weights, stepped[0].weights)
