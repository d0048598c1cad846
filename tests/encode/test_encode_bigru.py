"""Bi-GRU: `recurrent`, a GRU each way."""

import pytest
import torch
from torch import nn

from regard import find
from regard.encode.bigru import Bigru
from regard.encode.recurrent import Recurrent
from regard.errors import RegardError
from regard.pool.source2token import Source2token
from regard.predict.classify import Classify
from regard.types import Sequences


def test_it_is_recurrent_with_these_options() -> None:
    part = Bigru(4, hidden=3, layers=2).eval()
    plain = Recurrent(4, cell="gru", hidden=3, layers=2, both=True).eval()
    plain.load_state_dict(part.state_dict())
    counts = torch.tensor([5, 2])
    given = Sequences(torch.randn(2, 5, 4), torch.arange(5)[None] < counts[:, None], counts)
    one, other = part(given), plain(given)
    assert torch.equal(one.values, other.values)
    assert torch.equal(one.summary, other.summary)
    assert one.values.shape == (2, 5, 6)
    assert Bigru(4, hidden=3, layers=2, dropout=0.5).rnn.dropout == 0.5
    assert part.size == part.summary == 6


def test_its_size_by_hand() -> None:
    """Two ways, three gates each, each 300 × (300 + 300) and two biases of 300."""
    part = find.build("encode", "bigru", inputs=300)
    assert isinstance(part.rnn, nn.GRU)
    assert sum(p.numel() for p in part.parameters()) == 2 * 3 * (300 * 600 + 2 * 300)
    assert part.size == 600
    assert part.pool == "source2token"


def test_the_published_number_of_parameters() -> None:
    """With source2token over 600, and a layer of 300 over [u; v; u − v; u ⊙ v]: 2.5m, as ReSAN's table has it."""
    pool, head = Source2token(inputs=600), Classify(inputs=4 * 600, labels=3, hidden=300)
    count = sum(p.numel() for part in (Bigru(300), pool, head) for p in part.parameters())
    # 600 · 600 + 600, twice, and 2400 · 300 + 300 + 300 · 3 + 3
    assert count == 1_083_600 + 721_200 + 721_203
    assert f"{count / 1e6:.1f}m" == "2.5m"


def test_its_cell_and_its_ways_are_not_for_choosing() -> None:
    assert list(find.settable(Bigru)) == ["hidden", "layers", "dropout"]
    for option in [{"cell": "gru"}, {"both": True}]:
        with pytest.raises(RegardError, match="unknown option"):
            find.build("encode", {"name": "bigru", **option}, inputs=4)
