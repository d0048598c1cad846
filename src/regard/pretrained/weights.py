"""Weights: the tensors of a pre-trained encoder, from safetensors and nothing else.

A checkpoint that is only there as a pickle (`pytorch_model.bin`) is refused, with the way to convert it: to unpickle a
file is to run it. Names and shapes are checked against config.json in the file's header, before any tensor is read.

    Checkpoint.open(folder).tensors()                    # our name → tensor in float32
    save(folder, tensors, architecture, tokenizer)
"""

import json
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as packed
from torch import Tensor

from regard.errors import RegardError, counted
from regard.files import new_folder, regular
from regard.pretrained.architecture import Architecture
from regard.pretrained.layout import bare, shapes, to_ours, to_theirs
from regard.pretrained.source import CONFIG, WEIGHTS, read_json

__all__ = ["Checkpoint", "save"]

HEADER = 16 * 2**20  # bytes
PICKLES = ("pytorch_model.bin", "model.pt", "model.pth", "pytorch_model.pt")
KINDS = {"F16": torch.float16, "BF16": torch.bfloat16, "F32": torch.float32, "F64": torch.float64}
# What stands beside an encoder in its file: heads and poolers, which are not read, and counters, which are no weights.
BESIDE = (
    *("cls.", "lm_head.", "pooler.", "classifier.", "qa_outputs.", "discriminator_predictions.", "vocab_transform."),
    *("vocab_layer_norm.", "vocab_projector.", "pre_classifier.", "generator_predictions.", "generator_lm_head."),
)


@dataclass(frozen=True)
class Checkpoint:
    """A folder whose config.json and header fit each other. `unread` are tensors beside the encoder: its heads."""

    folder: Path
    architecture: Architecture
    names: dict[str, str]  # bare name → name in the file
    unread: tuple[str, ...]

    @staticmethod
    def open(folder: Path) -> "Checkpoint":
        """Raises RegardError where it is no encoder that can be read, with all that is missing or too much."""
        of = Architecture.of(read_json(folder / "config.json", CONFIG), folder / "config.json")
        path = folder / WEIGHTS
        if not path.is_file():
            raise _no_weights(folder)
        there = _header(path)
        wanted = shapes(of)
        names: dict[str, str] = {}
        for name in there:
            if names.setdefault(bare(name, of), name) != name:
                raise RegardError(f"{path} has {bare(name, of)!r:.100} twice", expected="each tensor once")
        if missing := [name for name in wanted if name not in names]:
            raise RegardError(
                f"{path} lacks {_listed(missing)}",
                expected=f"the weights of {of.model_type} that config.json describes",
            )
        for name, shape in wanted.items():
            found, kind = there[names[name]]
            if found != shape:
                said = f"{path}: {name} has the shape {list(found)}"
                raise RegardError(said, expected=f"{list(shape)} by config.json")
            if kind not in KINDS:
                raise RegardError(f"{path}: {name} holds {kind}", expected=f"one of {', '.join(KINDS)}")
        rest = [name for name in names if name not in wanted and not name.endswith("position_ids")]
        if unknown := [name for name in rest if not name.startswith(BESIDE)]:
            raise RegardError(
                f"{path} also has {_listed(unknown)}", expected=f"the weights of {of.model_type} and its heads"
            )
        return Checkpoint(folder, of, {name: names[name] for name in wanted}, tuple(rest))

    def tensors(self) -> dict[str, Tensor]:
        """Under our names, in float32."""
        path = self.folder / WEIGHTS
        try:
            with safe_open(path, "pt") as opened:
                found = {ours: opened.get_tensor(theirs).float() for ours, theirs in self.names.items()}
        except (SafetensorError, OSError, RuntimeError) as error:
            raise RegardError(f"cannot read {path} ({error!s:.200})") from None
        for name, value in found.items():
            if not value.isfinite().all():
                raise RegardError(f"{path}: {name} has values that are not finite", expected="finite weights")
        return to_ours(found, self.architecture)


def _header(path: Path) -> dict[str, tuple[tuple[int, ...], str]]:
    """Name → shape and dtype; no tensor is read."""
    try:
        with regular(path) as file:
            if int.from_bytes(file.read(8), "little") > HEADER:
                raise RegardError(f"cannot read {path} (its header is too long)")
        with safe_open(path, "pt") as opened:
            slices = {name: opened.get_slice(name) for name in opened.keys()}  # noqa: SIM118
            return {name: (tuple(one.get_shape()), one.get_dtype()) for name, one in slices.items()}
    except (SafetensorError, OSError, RuntimeError, ValueError, OverflowError) as error:
        raise RegardError(f"cannot read {path} ({error!s:.200})", expected="a safetensors file") from None


def _no_weights(folder: Path) -> RegardError:
    pickled = next((name for name in PICKLES if (folder / name).exists()), None)
    if pickled is None:
        several = " (it is split into several files)" if (folder / f"{WEIGHTS}.index.json").exists() else ""
        return RegardError(f"{folder} has no {WEIGHTS}{several}", expected=f"config.json, tokenizer.json and {WEIGHTS}")
    return RegardError(
        f"{folder} has only {pickled}, a pickle, and loading a pickle runs whatever code is in it",
        expected=WEIGHTS,
        do='if you trust the file, convert it once: python -c "from transformers import AutoModel; '
        "AutoModel.from_pretrained('IN').save_pretrained('OUT')\"",
    )


def _listed(names: list[str], most: int = 5) -> str:
    shown = ", ".join(f"{name:.100}" for name in names[:most])
    more = f" and {counted(len(names) - most, 'other')}" if len(names) > most else ""
    return f"{counted(len(names), 'tensor')}: {shown}{more}" if len(names) > 1 else shown


def save(folder: Path, tensors: dict[str, Tensor], of: Architecture, tokenizer: dict[str, Any]) -> Path:
    """A new folder that Transformers, and regard, can load the encoder from; whole or not at all."""
    theirs = to_theirs(tensors, of)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RegardError(f"{folder} already exists", do="use another folder")
    assert all(tuple(theirs[name].shape) == shape and prod(shape) for name, shape in shapes(of).items())
    if folder.exists():
        folder.rmdir()
    with new_folder(folder) as making:
        (making / "config.json").write_text(json.dumps(of.config(), indent=2) + "\n", encoding="utf-8")
        (making / WEIGHTS).write_bytes(packed(theirs, {"format": "pt"}))
        (making / "tokenizer.json").write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")
        plain = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": of.longest}
        (making / "tokenizer_config.json").write_text(json.dumps(plain) + "\n", encoding="utf-8")
    return folder
