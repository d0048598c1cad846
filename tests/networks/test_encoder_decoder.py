"""The network that answers texts with texts: what it encodes, when half precision pays, and runs of before."""

from functools import partial

import pytest
import torch
from torch import Tensor

from regard.attend.attention import make
from regard.attend.reinforce import Reinforce
from regard.encode.recurrent import Recurrent as Encoder
from regard.fields.embed.words import Words
from regard.networks.encoder_decoder import EncoderDecoder
from regard.predict.generate.recurrent import Recurrent
from regard.types import Sequences


def made(reinforce: Reinforce | None = None, dropout: float = 0.0, feed: bool = False) -> EncoderDecoder:
    encoder = Encoder(inputs=3, hidden=2)
    attention = partial(make, normalizer="softmax" if reinforce is None else "sample")
    decoder = Recurrent(6, encoder.size, encoder.summary, attention, embed=3, hidden=3, place="after", feed=feed)
    return EncoderDecoder(Words(5, 0, dim=3, dropout=dropout), encoder, decoder, reinforce=reinforce)


def test_words_become_a_memory() -> None:
    source = Sequences.pad([[4, 2, 3], [1]])
    model = made(dropout=0.5).eval()
    memory = model.encode(source)
    assert memory.keys.shape == (2, 3, 4)
    assert memory.mask is source.mask
    torch.testing.assert_close(memory.keys[1:, :1], model.encode(Sequences.pad([[1]])).keys)
    torch.manual_seed(1)
    assert not torch.equal(model.train().encode(source).keys, memory.keys)  # vectors of words are dropped


def test_half_precision_pays_where_tokens_are_read_at_once() -> None:
    assert made().wide
    assert not made(feed=True).wide


@pytest.mark.parametrize("baseline", ["moving", "learned"])
def test_runs_that_sampled_untaught_still_load(baseline: str) -> None:
    model, other = (made(Reinforce(4, baseline)) for _ in range(2))  # type: ignore[arg-type]
    kept = model.state_dict()
    old: dict[str, Tensor] = {key: value for key, value in kept.items() if not key.startswith("reinforce")}
    assert 3 <= len(kept) - len(old) <= 5
    other.load_state_dict(old)
    assert all(torch.equal(value, other.state_dict()[key]) for key, value in old.items())
    assert other.reinforce is not None
    assert not other.reinforce.started
    with pytest.raises(RuntimeError, match="Missing key"):
        other.load_state_dict({key: value for key, value in kept.items() if "score" not in key})
    kept["reinforce.average"] = torch.tensor(-3.0)
    other.load_state_dict(kept)
    assert other.reinforce.average.item() == -3
    torch.nn.ModuleList([other]).load_state_dict({f"0.{key}": value for key, value in old.items()})


def test_without_samples_there_is_nothing_to_teach_them() -> None:
    assert made().reinforce is None
    assert made().teach.scheduled_sampling == "none"
    assert not any("reinforce" in key for key in made().state_dict())
