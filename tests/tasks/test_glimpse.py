"""Glimpse: it finds a bright spot, and says where it looked."""

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from regard.errors import RegardError
from regard.fields.image import to_data_url
from regard.look.attention_map import AttentionMap
from regard.regions import Box
from regard.tasks.glimpse import Glimpse
from regard.train.task import Ask
from regard.types import Example

pytestmark = pytest.mark.usefixtures("one_thread")
small: dict[str, Any] = {
    "input": {"size": 8, "colour": False},
    "network": {"glimpses": 2, "size": 4, "scales": 2, "hidden": 16, "seen": 8},
}


def spot(left: bool, shade: int) -> str:
    pixels = np.zeros((8, 8), np.uint8)
    pixels[2:6, slice(0, 3) if left else slice(5, 8)] = shade
    return to_data_url(Image.fromarray(pixels))


examples = [Example((spot(bool(n % 2), 120 + 8 * n),), "left" if n % 2 else "right", f"row {n}") for n in range(16)]


def task(**options: Any) -> Glimpse:
    torch.manual_seed(1)
    made = Glimpse(**{**small, **options})
    made.learn(examples)
    return made


def test_it_learns() -> None:
    made = task()
    network = made.network().train()
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    batch = made.collate(made.items(examples))
    for _ in range(60):
        optimiser.zero_grad()
        network(batch).total.backward()
        optimiser.step()
    found = made.measure(made.results(network.eval(), examples))
    assert found["accuracy"] == 1.0


def test_where_it_looked() -> None:
    """A row for each glimpse; each scale is a head, whose weight is all on one box."""
    made = task()
    network = made.network().eval()
    torch.nn.init.constant_(network.W_l.bias, 0.0)
    [found] = made.predict(network, [examples[0].inputs], Ask())
    look = found.look
    assert isinstance(look, AttentionMap)
    assert look.weights.shape == (2, 2, 4)
    assert look.weights[0, 0].tolist() == [1, 0, 0, 0]
    assert look.weights[1, 1].tolist() == [0, 0, 0, 1]
    assert [row.text for row in look.rows] == ["glimpse 1", "glimpse 2"]
    assert look.names == ("4 pixels", "8 pixels")
    assert look.columns[0] == Box(0.25, 0.25, 0.75, 0.75)  # the first place is the middle
    assert look.columns[2] == Box(0.0, 0.0, 1.0, 1.0)
    assert look.source.startswith("data:image/png")


def test_without_a_look() -> None:
    made = task()
    [found] = made.predict(made.network().eval(), [examples[0].inputs], Ask(look=False))
    assert found.look is None
    assert found.text in ("left", "right")


def test_a_reward_that_is_not_there() -> None:
    with pytest.raises(RegardError, match=r"unknown reward 'corect'; did you mean 'correct'"):
        task(reward="corect").network()


def test_a_moving_baseline() -> None:
    made = task(reinforce={"baseline": "moving"})
    network = made.network()
    assert network.reinforce.value is None
    assert network.reinforce.scale == 0.01
