"""Architecture: config.json is checked, value by value, and written as it was."""

import json
from pathlib import Path

import pytest

from regard.errors import RegardError
from regard.pretrained.architecture import Architecture
from regard.pretrained.weights import Checkpoint
from small_encoders import configs, encoder_folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "gpt2"}, "model_type 'gpt2'; expected one of bert, roberta"),
        ({"hidden_size": 10**12}, "size: got 1,000,000,000,000; expected from 1 to 16,384"),
        ({"num_hidden_layers": "2"}, "layers: got '2'; expected int"),
        ({"num_attention_heads": 3}, "3 heads with size 8"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type is 'relative_key'"),
        ({"hidden_act": "tanhshrink"}, "activation 'tanhshrink'"),
        ({"is_decoder": True}, "is_decoder is True"),
        ({"vocab_size": 25}, r"word_embeddings.weight has the shape \[24, 8\]; expected \[25, 8\]"),
    ],
)
def test_a_configuration_is_checked(change: dict[str, object], message: str, tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in")
    (folder / "config.json").write_text(json.dumps({**configs["bert"], **change}))
    with pytest.raises(RegardError, match=message):
        Checkpoint.open(folder)


@pytest.mark.parametrize("family", configs)
def test_an_architecture_is_kept_as_json(family: str) -> None:
    of = Architecture.of(configs[family], "config.json")
    assert Architecture.from_dict(json.loads(json.dumps(of.to_dict()))) == of
    assert Architecture.of(of.config(), "config.json") == of


def test_a_table_that_is_no_architecture_is_refused() -> None:
    good = Architecture.of(configs["bert"], "config.json").to_dict()
    for wrong in (None, [], {}, {**good, "more": 1}, {**good, "size": 8.5}, {**good, "pad": 24}, {**good, "first": 20}):
        with pytest.raises(RegardError):
            Architecture.from_dict(wrong)
