"""Transcriber: which parts it has at each weight, and that both teach the encoder."""

from functools import partial

import pytest
import torch

from regard.attend.attention import make
from regard.encode.bilstm import Bilstm
from regard.fields.embed.frames import Frames
from regard.networks.encoder_decoder import EncoderDecoder
from regard.networks.transcriber import Transcriber
from regard.predict.ctc import Ctc
from regard.predict.generate.recurrent import Recurrent
from regard.types import Batch, Sequences


def network(weight: float) -> Transcriber:
    torch.manual_seed(1)
    embed = Frames(4_000, 8, 100, 40, [0.0] * 8, [1.0] * 8, "set", dim=4, channels=2)
    encoder = Bilstm(4, hidden=3)
    decoder = Recurrent(vocab=6, memory=6, summary=6, attention=partial(make), embed=4, hidden=4)
    parts = EncoderDecoder(embed, encoder, decoder)
    return Transcriber(parts, Ctc(6, 6) if weight else None, weight).eval()


def batch() -> Batch:
    sound = torch.randn(2, 800, generator=torch.Generator().manual_seed(1))
    lengths = torch.tensor([800, 500])
    mask = torch.arange(800) < lengths[:, None]
    return Batch((Sequences(sound * mask, mask, lengths),), Sequences.pad([[4, 5, 3], [4, 3]]))


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_the_parts_that_have_a_loss_learn(weight: float) -> None:
    one = network(weight)
    output = one(batch())
    assert output.count == 5
    output.total.backward()
    reached = {name.partition(".")[0] for name, p in one.named_parameters() if p.grad is not None and p.grad.any()}
    assert reached >= {"embed", "encoder"}
    assert "decoder" in reached
    assert ("ctc" in reached) == ("ctc" in output.notes) == (weight == 0.5)
    assert isinstance(one.decoder, Ctc) == (weight == 1)
