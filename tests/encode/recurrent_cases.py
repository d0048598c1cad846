"""What the encoders that are `recurrent` under a name of their own have in common."""

from typing import Any, Literal

import pytest
import torch

from regard import find
from regard.encode.recurrent import Recurrent
from regard.errors import RegardError
from regard.pool.source2token import Source2token
from regard.predict.classify import ClassifyHead
from regard.types import Sequences


def is_recurrent(kind: Any, cell: Literal["gru", "lstm"], bidirectional: bool) -> None:
    """With the same weights it answers as `recurrent` does."""
    part, plain = (
        kind(4, hidden=3, layers=2).eval(),
        Recurrent(4, cell=cell, hidden=3, layers=2, bidirectional=bidirectional).eval(),
    )
    plain.load_state_dict(part.state_dict())
    counts = torch.tensor([5, 2])
    given = Sequences(torch.randn(2, 5, 4), torch.arange(5)[None] < counts[:, None], counts)
    one, other = part(given), plain(given)
    assert torch.equal(one.values, other.values)
    assert torch.equal(one.summary, other.summary)
    assert one.values.shape == (2, 5, 6 if bidirectional else 3)
    assert part.size == part.summary == (6 if bidirectional else 3)
    assert kind(4, hidden=3, layers=2, dropout=0.5).rnn.dropout == 0.5


def cell_is_not_for_choosing(kind: Any, name: str) -> None:
    assert list(find.settable(kind)) == ["hidden", "layers", "dropout"]
    for option in [{"cell": "gru"}, {"bidirectional": True}]:
        with pytest.raises(RegardError, match="unknown option"):
            find.build("encode", {"name": name, **option}, inputs=4)


def published(kind: Any) -> int:
    """Parameters with source2token over 600, and a layer of 300 over [u; v; u − v; u ⊙ v]."""
    pool, head = Source2token(inputs=600), ClassifyHead(inputs=4 * 600, labels=3, hidden=300)
    return sum(p.numel() for part in (kind(300), pool, head) for p in part.parameters())
