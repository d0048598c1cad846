"""Shares of the learning rate by layer: by hand, and in the networks they are made for."""

import pytest
from torch import nn

from regard.encode.bilstm import Bilstm
from regard.encode.transformer import Transformer
from regard.train.layers import rates


def test_by_hand() -> None:
    names = ["embed.learned", "encoder.W_x.weight", "encoder.blocks.0.W", "encoder.blocks.1.W", "encoder.norm.weight",
             "pool.0.w", "head.W"]  # fmt: skip
    assert rates(names, 0.5) == [0.125, 0.25, 0.25, 0.5, 0.5, 1.0, 1.0]
    assert rates(names, 1.0) == [1.0] * 7


def test_without_an_encoder_all_of_it_is_in_layers() -> None:
    names = ["embedding.weight", "blocks.0.W", "blocks.1.W", "norm.weight"]
    assert rates(names, 0.5) == [0.125, 0.25, 0.5, 0.5]


@pytest.mark.parametrize("kind", ["transformer", "bilstm"])
def test_of_networks(kind: str) -> None:
    encoder = Transformer(4, size=4, heads=1, layers=3, ffn=4) if kind == "transformer" else Bilstm(4, 4, layers=3)
    network = nn.ModuleDict({"embed": nn.Embedding(3, 4), "encoder": encoder, "head": nn.Linear(4, 2)})
    names = [name for name, _ in network.named_parameters()]
    found = dict(zip(names, rates(names, 0.5), strict=True))
    assert found["embed.weight"] == 0.0625
    assert found["head.weight"] == 1.0
    assert set(found.values()) == {0.0625, 0.125, 0.25, 0.5, 1.0}
