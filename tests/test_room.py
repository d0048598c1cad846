"""A model too large for the machine is refused while it is built, and nothing is counted afterwards."""

import pytest
from torch import nn

from regard import room
from regard.errors import RegardError
from regard.room import fits


def test_a_model_beyond_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "memory", lambda: 4 * 10 * 11.0)  # bytes: just enough for one layer
    with fits():
        nn.Linear(10, 10)
    with pytest.raises(RegardError, match=r"^the model needs more than \S+ GiB; expected at .* use smaller sizes$"):  # noqa: SIM117
        with fits():
            nn.Sequential(nn.Linear(10, 10), nn.Linear(10, 10))
    nn.Linear(10, 20)  # outside the block nobody counts


def test_this_machine_has_memory() -> None:
    assert room.memory() > 2**28
    with fits():
        nn.LSTM(4, 4)
