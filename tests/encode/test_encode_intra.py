"""Intra-attention: a Bi-LSTM whose mean state asks."""

from typing import Any

import torch

from regard import find
from regard.encode.bilstm import Bilstm
from regard.encode.intra import Intra
from regard.pool.intra import Intra as Pool
from regard.types import Sequences


def test_it_is_a_bilstm_under_its_own_pooling() -> None:
    encoder = find.build("encode", {"name": "intra", "hidden": 3}, inputs=4)
    assert isinstance(encoder, Intra)
    assert isinstance(encoder, Bilstm)
    plain = Bilstm(4, hidden=3)
    plain.load_state_dict(encoder.state_dict())
    counts = torch.tensor([5, 2])
    given = Sequences(torch.randn(2, 5, 4), torch.arange(5)[None] < counts[:, None], counts)
    assert torch.equal(encoder(given).values, plain(given).values)
    pool: Any = find.build("pool", encoder.pool, inputs=encoder.size, summary=encoder.summary)
    assert isinstance(pool, Pool)
    pooled = pool(encoder(given))
    assert pooled.vector.shape == (2, 6)
    assert not pooled.look.weights[1, :, 2:].any()


def test_its_size_by_hand() -> None:
    """A Bi-LSTM of 300 each way; W_k and W_q of 600 × 300, b and w of 300."""
    encoder = find.build("encode", "intra", inputs=300)
    pool = find.build("pool", encoder.pool, inputs=600)
    assert sum(p.numel() for p in encoder.parameters()) == 1_444_800
    assert sum(p.numel() for p in pool.parameters()) == 2 * 600 * 300 + 2 * 300
