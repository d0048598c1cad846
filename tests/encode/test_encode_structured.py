"""Structured self-attention: a Bi-LSTM under several rows of attention."""

from typing import Any

import torch

from regard import find
from regard.encode.bilstm import Bilstm
from regard.encode.structured import Structured
from regard.pool.structured import Structured as Pool
from regard.types import Sequences


def test_it_is_a_bilstm_under_its_own_pooling() -> None:
    encoder = find.build("encode", {"name": "structured", "hidden": 3}, inputs=4)
    assert isinstance(encoder, Structured)
    assert isinstance(encoder, Bilstm)
    plain = Bilstm(4, hidden=3)
    plain.load_state_dict(encoder.state_dict())
    counts = torch.tensor([5, 2])
    given = Sequences(torch.randn(2, 5, 4), torch.arange(5)[None] < counts[:, None], counts)
    assert torch.equal(encoder(given).values, plain(given).values)
    pool: Any = find.build("pool", encoder.pool, inputs=encoder.size, summary=encoder.summary)
    assert isinstance(pool, Pool)
    pooled = pool(encoder(given))
    assert pooled.vector.shape == (2, 10 * 6)
    assert not pooled.look.weights[1, :, 2:].any()


def test_its_size_by_hand() -> None:
    """A Bi-LSTM of 300 each way; W₁ of 600 × 150 and ten rows of 150."""
    encoder = find.build("encode", "structured", inputs=300)
    pool = find.build("pool", encoder.pool, inputs=600)
    assert sum(p.numel() for p in encoder.parameters()) == 1_444_800
    assert sum(p.numel() for p in pool.parameters()) == 600 * 150 + 10 * 150
