"""LSTM: `recurrent`, one way."""

import pytest
import torch
from torch import nn

from regard import find
from regard.encode.lstm import Lstm
from regard.encode.recurrent import Recurrent
from regard.errors import RegardError
from regard.types import Sequences


def test_it_is_recurrent_with_these_options() -> None:
    part = Lstm(4, hidden=3, layers=2).eval()
    plain = Recurrent(4, cell="lstm", hidden=3, layers=2, both=False).eval()
    plain.load_state_dict(part.state_dict())
    counts = torch.tensor([5, 2])
    given = Sequences(torch.randn(2, 5, 4), torch.arange(5)[None] < counts[:, None], counts)
    one, other = part(given), plain(given)
    assert torch.equal(one.values, other.values)
    assert torch.equal(one.summary, other.summary)
    assert one.values.shape == (2, 5, 3)
    assert Lstm(4, hidden=3, layers=2, dropout=0.5).rnn.dropout == 0.5
    assert part.size == part.summary == 3


def test_its_size_by_hand() -> None:
    """Four gates, each 300 × (300 + 300) and two biases of 300."""
    part = find.build("encode", "lstm", inputs=300)
    assert isinstance(part.rnn, nn.LSTM)
    assert sum(p.numel() for p in part.parameters()) == 4 * (300 * 600 + 2 * 300)
    assert part.size == 300
    assert part.pool == "last"


def test_its_cell_and_its_ways_are_not_for_choosing() -> None:
    assert list(find.settable(Lstm)) == ["hidden", "layers", "dropout"]
    for option in [{"cell": "gru"}, {"both": True}]:
        with pytest.raises(RegardError, match="unknown option"):
            find.build("encode", {"name": "lstm", **option}, inputs=4)
