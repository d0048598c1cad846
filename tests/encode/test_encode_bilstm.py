"""Bi-LSTM: `recurrent`, an LSTM each way."""

from recurrent_cases import cell_is_not_for_choosing, is_recurrent, published
from torch import nn

from regard import find
from regard.encode.bilstm import Bilstm


def test_it_is_recurrent_with_these_options() -> None:
    is_recurrent(Bilstm, "lstm", bidirectional=True)


def test_its_size_by_hand() -> None:
    """Two ways, four gates each, each 300 × (300 + 300) and two biases of 300."""
    part = find.build("encode", "bilstm", inputs=300)
    assert isinstance(part.rnn, nn.LSTM)
    assert sum(p.numel() for p in part.parameters()) == 2 * 4 * (300 * 600 + 2 * 300)
    assert part.size == 600
    assert part.pool == "source2token"


def test_the_published_number_of_parameters() -> None:
    """2.9m, as ReSAN's table has it."""
    # 600 · 600 + 600, twice, and 2400 · 300 + 300 + 300 · 3 + 3
    assert published(Bilstm) == 1_444_800 + 721_200 + 721_203
    assert f"{published(Bilstm) / 1e6:.1f}m" == "2.9m"


def test_its_cell_and_its_ways_are_not_for_choosing() -> None:
    cell_is_not_for_choosing(Bilstm, "bilstm")
