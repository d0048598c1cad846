"""Pre-trained encoders: equal to Hugging Face Transformers, with LoRA, frozen, and by words."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from regard.encode.pretrained import Lora, Pretrained, Table
from regard.errors import RegardError
from regard.pretrained.weights import Checkpoint, save
from regard.types import Sequences, Subwords
from small_encoders import encoder_folder

lengths = [9, 4, 1]
sizes: dict[str, Any] = {"vocab_size": 60, "max_position_embeddings": 16}
bert = {**sizes, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 24}
kinds: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("Bert", bert),
    "bert with another activation": ("Bert", {**bert, "hidden_act": "gelu_new", "layer_norm_eps": 1e-5}),
    "roberta": ("Roberta", {**bert, "type_vocab_size": 1}),
    "distilbert": ("DistilBert", {**sizes, "dim": 16, "n_layers": 2, "n_heads": 4, "hidden_dim": 24}),
    "electra": ("Electra", {**bert, "embedding_size": 8}),
}


def loaded(folder: Path, **options: Any) -> tuple[Table, Pretrained]:
    checkpoint = Checkpoint.open(folder)
    encoder = Pretrained(0, checkpoint.architecture, **options).eval()
    table = encoder.table()
    encoder.fill(table, checkpoint.tensors())
    return table, encoder


def batch(vocab: int, pad: int, segments: int) -> Subwords:
    counts = torch.tensor(lengths)
    mask = torch.arange(max(lengths)) < counts[:, None]
    ids = torch.randint(5, vocab, mask.shape).masked_fill(~mask, pad)
    return Subwords(ids, mask, counts, torch.randint(0, segments, mask.shape) if segments else None)


@pytest.mark.parametrize("kind", kinds)
def test_states_equal_those_of_transformers(kind: str, tmp_path: Path) -> None:
    transformers: Any = pytest.importorskip("transformers")
    name, config = kinds[kind]
    model = getattr(transformers, f"{name}Model")(getattr(transformers, f"{name}Config")(**config)).eval()
    for parameter in model.parameters():  # gains and biases are not those it begins with
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(tmp_path / "in")
    table, encoder = loaded(tmp_path / "in")
    given = batch(60, encoder.architecture.pad, encoder.architecture.segments)
    asked = {"input_ids": given.values, "attention_mask": given.mask.long()}
    asked |= {} if given.segments is None else {"token_type_ids": given.segments}
    with torch.no_grad():
        want = model(**asked, output_attentions=False).last_hidden_state
        got = encoder(table(given))
    torch.testing.assert_close(got.values[given.mask], want[given.mask], atol=1e-5, rtol=0)
    # And back: what we write, Transformers loads, and computes the same.
    out = save(tmp_path / "out", encoder.merged(table), encoder.architecture, {})
    (out / "tokenizer.json").unlink()
    again = transformers.AutoModel.from_pretrained(out).eval()
    with torch.no_grad():
        torch.testing.assert_close(again(**asked).last_hidden_state[given.mask], want[given.mask], atol=1e-6, rtol=0)


def states(table: Table, encoder: Pretrained, given: Subwords) -> Tensor:
    return encoder(table(given)).values


def test_lora_begins_as_the_encoder_and_is_merged_into_one_matrix(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in")
    given = batch(24, 0, 2)
    plain, (table, encoder) = loaded(folder), loaded(folder, lora=2, lora_alpha=4.0)
    assert torch.equal(states(table, encoder, given), states(*plain, given))
    trained = [name for name, one in [*encoder.named_parameters(), *table.named_parameters()] if one.requires_grad]
    assert len(trained) == 2 * 4 * 2  # two matrices beside each of four in two layers
    for module in encoder.modules():
        if isinstance(module, Lora):
            torch.nn.init.normal_(module.B, std=0.3)
    moved = states(table, encoder, given)
    assert not torch.allclose(moved, states(*plain, given), atol=1e-3)
    merged = plain[1]
    merged.fill(plain[0], encoder.merged(table))
    torch.testing.assert_close(states(plain[0], merged, given), moved, atol=1e-5, rtol=0)


def test_lora_by_hand() -> None:
    """W x + b + (α / r) B A x = 2·3 + 1 + (4 / 1) · 5 · (0.5 · 3) = 37."""
    layer = Lora(1, 1, True, rank=1, alpha=4.0)
    for name, value in (("weight", 2.0), ("bias", 1.0), ("A", 0.5), ("B", 5.0)):
        torch.nn.init.constant_(layer.get_parameter(name), value)
    assert layer(torch.tensor([[3.0]])).item() == 37.0
    assert layer.merged().item() == 12.0


def test_frozen_nothing_is_trained_and_nothing_drops(tmp_path: Path) -> None:
    table, encoder = loaded(encoder_folder(tmp_path / "in"), freeze=True)
    assert not any(one.requires_grad for one in [*encoder.parameters(), *table.parameters()])
    given = batch(24, 0, 2)
    assert torch.equal(states(table, encoder.train(), given), states(table, encoder.eval(), given))
    with pytest.raises(RegardError, match="only one of them"):
        loaded(encoder_folder(tmp_path / "both"), freeze=True, lora=2)


def test_a_word_has_the_state_of_its_first_piece_and_the_weights_between_first_pieces(tmp_path: Path) -> None:
    table, encoder = loaded(encoder_folder(tmp_path / "in"))
    given = batch(24, 0, 0)
    plain = encoder(table(given))
    words = Sequences.pad([[1, 2, 5, 8], [1, 3], [0]])
    found = encoder(table(Subwords(given.values, given.mask, given.lengths, words=words)))
    assert torch.equal(found.values[0], plain.values[0, [1, 2, 5, 8]])
    assert torch.equal(found.values[1, :2], plain.values[1, [1, 3]])
    assert not found.values[1, 2:].any()
    look = dict(plain.looks)["layer 2"].weights
    assert torch.equal(dict(found.looks)["layer 2"].weights[1, 0, :2, :2], look[1, 0][[1, 3]][:, [1, 3]])
