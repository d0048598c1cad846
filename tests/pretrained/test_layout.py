"""Layout: queries, keys and values are one matrix, and every name has its shape."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from regard.pretrained.architecture import Architecture
from regard.pretrained.layout import bare, names, shapes, to_ours
from regard.pretrained.weights import Checkpoint
from small_encoders import configs, encoder_folder


def test_queries_keys_and_values_are_one_matrix_in_this_order(tmp_path: Path) -> None:
    checkpoint = Checkpoint.open(encoder_folder(tmp_path / "in"))
    there = load_file(checkpoint.folder / "model.safetensors")
    ours = checkpoint.tensors()["blocks.1.attending.W_qkv.weight"]
    for part, name in enumerate(("query", "key", "value")):
        assert torch.equal(ours[part * 8 : part * 8 + 8], there[f"encoder.layer.1.attention.self.{name}.weight"])


@pytest.mark.parametrize("family", configs)
def test_every_name_has_one_shape_and_rows_that_nothing_reads_are_left_out(family: str) -> None:
    of = Architecture.of(configs[family], "config.json")
    assert len(shapes(of)) == sum(len(one.theirs) for one in names(of))
    ours = to_ours({name: torch.zeros(shape) for name, shape in shapes(of).items()}, of)
    assert ours["positions.places.weight"].shape[0] == of.longest == 20 - of.first


def test_names_of_models_with_a_head_and_of_old_norms() -> None:
    of = Architecture.of(configs["roberta"], "config.json")
    assert bare("roberta.embeddings.LayerNorm.gamma", of) == "embeddings.LayerNorm.weight"
    assert bare("lm_head.bias", of) == "lm_head.bias"
