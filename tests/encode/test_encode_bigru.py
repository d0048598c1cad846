"""Bi-GRU: `recurrent`, a GRU each way."""

from recurrent_cases import cell_is_not_for_choosing, is_recurrent, published
from torch import nn

from regard import find
from regard.encode.bigru import Bigru


def test_it_is_recurrent_with_these_options() -> None:
    is_recurrent(Bigru, "gru", bidirectional=True)


def test_its_size_by_hand() -> None:
    """Two ways, three gates each, each 300 × (300 + 300) and two biases of 300."""
    part = find.build("encode", "bigru", inputs=300)
    assert isinstance(part.rnn, nn.GRU)
    assert sum(p.numel() for p in part.parameters()) == 2 * 3 * (300 * 600 + 2 * 300)
    assert part.size == 600
    assert part.pool == "source2token"


def test_the_published_number_of_parameters() -> None:
    """2.5m, as ReSAN's table has it."""
    # 600 · 600 + 600, twice, and 2400 · 300 + 300 + 300 · 3 + 3
    assert published(Bigru) == 1_083_600 + 721_200 + 721_203
    assert f"{published(Bigru) / 1e6:.1f}m" == "2.5m"


def test_its_cell_and_its_ways_are_not_for_choosing() -> None:
    cell_is_not_for_choosing(Bigru, "bigru")
