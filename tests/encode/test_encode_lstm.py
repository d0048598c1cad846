"""LSTM: `recurrent`, one way."""

from recurrent_cases import cell_is_not_for_choosing, is_recurrent
from torch import nn

from regard import find
from regard.encode.lstm import Lstm


def test_it_is_recurrent_with_these_options() -> None:
    is_recurrent(Lstm, "lstm", bidirectional=False)


def test_its_size_by_hand() -> None:
    """Four gates, each 300 × (300 + 300) and two biases of 300."""
    part = find.build("encode", "lstm", inputs=300)
    assert isinstance(part.rnn, nn.LSTM)
    assert sum(p.numel() for p in part.parameters()) == 4 * (300 * 600 + 2 * 300)
    assert part.size == 300
    assert part.pool == "last"


def test_its_cell_and_its_ways_are_not_for_choosing() -> None:
    cell_is_not_for_choosing(Lstm, "lstm")
