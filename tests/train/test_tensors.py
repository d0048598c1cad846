"""Tensors come back as they were, or the file says why not, before its data is read."""

import json
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import load
from torch import Tensor

from regard.train.tensors import packed, reason, unpacked

tensors: dict[str, Tensor] = {
    "a": torch.arange(6.0).reshape(2, 3),
    "transposed": torch.arange(6.0).reshape(2, 3).T,
    "scalar": torch.tensor(3.5, dtype=torch.float64),
    "half": torch.arange(3).to(torch.bfloat16),
    "whole": torch.arange(4),
    "yes": torch.tensor([True, False]),
    "none": torch.zeros(0, 3),
}


def test_there_and_back(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(packed(tensors))
    for found in (unpacked(path, tensors), load(path.read_bytes())):
        assert found.keys() == tensors.keys()
        assert all(found[name].dtype == tensors[name].dtype for name in tensors)
        assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    assert packed(tensors) == packed(dict(reversed(tensors.items())))


def test_every_bit_counts(tmp_path: Path) -> None:
    content, path, told = packed(tensors), tmp_path / "x.safetensors", 0
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        path.write_bytes(changed)
        try:
            found = unpacked(path, tensors)
        except ValueError:
            told += 1
        else:  # in the words around the checksum, or the space after the header
            assert all(torch.equal(found[name], tensors[name]) for name in tensors)
    assert told > len(content) * 0.8


def test_a_file_that_claims_much_costs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", 2**40) + b"{}")
    with pytest.raises(ValueError, match="header is too long"):
        unpacked(path, tensors)
    table = json.dumps({"a": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}).encode()
    path.write_bytes(struct.pack("<Q", len(table)) + table)
    with pytest.raises(ValueError, match=r"\w"):
        unpacked(path, tensors)


def test_reasons_are_short_and_of_one_line() -> None:
    assert reason(RuntimeError("a\n  b" + "c" * 900))[:4] == "a bc"
    assert len(reason(RuntimeError("c" * 900))) == 200
    assert reason(KeyError("x")) == "'x' is missing"
    assert reason(RecursionError("maximum …")) == "it is nested too deeply"
    assert reason(TypeError("list indices must be integers")) == "a value in it is of the wrong kind"
    assert reason(FileNotFoundError(2, "No such file", "x")) == "No such file"
    assert reason(ValueError()) == "ValueError"
