"""Checkpoints: what is missing or too much is named, sizes are checked first, nothing is unpickled."""

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from regard.errors import RegardError
from regard.pretrained.layout import names, to_theirs
from regard.pretrained.weights import Checkpoint, save
from small_encoders import configs, encoder_folder, tokenizer

families = pytest.mark.parametrize("family", [*configs])


def changed(folder: Path, **change: torch.Tensor | None) -> Path:
    """With other tensors; None leaves one out. Names have "/" for dots here."""
    tensors = load_file(folder / "model.safetensors")
    for name, value in change.items():
        if value is None:
            del tensors[name.replace("/", ".")]
        else:
            tensors[name.replace("/", ".")] = value
    save_file(tensors, folder / "model.safetensors")
    return folder


@families
def test_every_tensor_goes_there_and_back(family: str, tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in", family)
    checkpoint = Checkpoint.open(folder)
    back = to_theirs(checkpoint.tensors(), checkpoint.architecture)
    there = load_file(folder / "model.safetensors")
    assert back.keys() == there.keys()
    first = checkpoint.architecture.first
    for name, value in back.items():
        unused = first if name.endswith("position_embeddings.weight") else 0  # RoBERTa's rows that nothing reads
        assert torch.equal(value[unused:], there[name][unused:]), name


@families
def test_what_is_written_is_read_again(family: str, tmp_path: Path) -> None:
    first = Checkpoint.open(encoder_folder(tmp_path / "in", family))
    table = json.loads(tokenizer().to_str())
    again = Checkpoint.open(save(tmp_path / "out", first.tensors(), first.architecture, table))
    assert again.architecture == first.architecture
    for name, value in first.tensors().items():
        assert torch.equal(again.tensors()[name], value)
    with pytest.raises(RegardError, match="already exists"):
        save(tmp_path / "out", first.tensors(), first.architecture, table)


def test_a_head_is_left_out_and_told_of(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in")
    tensors = {f"bert.{name}": value for name, value in load_file(folder / "model.safetensors").items()}
    tensors = {name.replace("LayerNorm.weight", "LayerNorm.gamma"): value for name, value in tensors.items()}
    tensors |= {"cls.predictions.bias": torch.zeros(24), "bert.embeddings.position_ids": torch.arange(20)}
    save_file(tensors, folder / "model.safetensors")
    checkpoint = Checkpoint.open(folder)
    assert checkpoint.unread == ("cls.predictions.bias",)
    assert checkpoint.tensors().keys() == {one.ours for one in names(checkpoint.architecture)}


def test_missing_and_unknown_tensors_are_named(tmp_path: Path) -> None:
    lacking = {"encoder/layer/1/output/dense/bias": None, "embeddings/LayerNorm/bias": None}
    folder = changed(encoder_folder(tmp_path / "less"), **lacking)
    with pytest.raises(RegardError, match=r"lacks 2 tensors: embeddings.LayerNorm.bias, encoder.layer.1.output"):
        Checkpoint.open(folder)
    folder = changed(encoder_folder(tmp_path / "more"), **{"encoder/layer/2/output/dense/bias": torch.zeros(8)})
    with pytest.raises(RegardError, match=r"also has encoder.layer.2.output.dense.bias"):
        Checkpoint.open(folder)
    folder = changed(encoder_folder(tmp_path / "other"), **{"embeddings/LayerNorm/bias": torch.zeros(9)})
    with pytest.raises(RegardError, match=r"embeddings.LayerNorm.bias has the shape \[9\]; expected \[8\]"):
        Checkpoint.open(folder)
    folder = changed(encoder_folder(tmp_path / "nan"), **{"embeddings/LayerNorm/bias": torch.full((8,), torch.nan)})
    with pytest.raises(RegardError, match="not finite"):
        Checkpoint.open(folder).tensors()


def test_half_precision_is_read_as_float32(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in")
    tensors = load_file(folder / "model.safetensors")
    save_file({name: value.half() for name, value in tensors.items()}, folder / "model.safetensors")
    words = Checkpoint.open(folder).tensors()["words"]
    assert words.dtype == torch.float32
    assert torch.equal(words, tensors["embeddings.word_embeddings.weight"].half().float())


def test_a_pickle_is_refused_with_the_way_to_convert_it(tmp_path: Path) -> None:
    folder = encoder_folder(tmp_path / "in")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(RegardError, match=r"only pytorch_model.bin, a pickle.*save_pretrained\('OUT'\)"):
        Checkpoint.open(folder)
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(RegardError, match=r"has no model\.safetensors"):
        Checkpoint.open(folder)
