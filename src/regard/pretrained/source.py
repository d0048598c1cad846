"""Finds a pre-trained model: a folder, or `hf:NAME`, which huggingface_hub downloads if it is installed.

folder = located("hf:sentence-transformers/all-MiniLM-L6-v2");  read_json(folder / "config.json", CONFIG)
"""

import importlib
import json
import os
from pathlib import Path
from typing import Any

from regard.errors import RegardError, brief
from regard.files import read_whole

__all__ = ["CONFIG", "TOKENIZER", "WEIGHTS", "located", "read_json"]

WEIGHTS = "model.safetensors"
# The most bytes of config.json and tokenizer.json. JSON takes up to 25 times as much memory as its file.
CONFIG, TOKENIZER = 2**18, 2**25
WANTED = ("config.json", "tokenizer.json", "tokenizer_config.json", WEIGHTS)


def located(name: str) -> Path:
    """The folder of a model; one from the hub is downloaded, or found in the hub's cache."""
    if not name:
        raise RegardError("no pre-trained model", expected="a folder, or hf:NAME", do="add encoder.from=FOLDER")
    if not name.startswith("hf:"):
        folder = Path(os.path.expanduser(name))
        try:
            there = folder.is_dir()
        except (OSError, ValueError):  # too long, or a NUL in it
            there = False
        if not there:
            hint = "" if folder.is_absolute() else f"; from the hub it is hf:{name}"
            raise RegardError(f"{brief(name)} is not a folder", expected="a folder with config.json" + hint)
        return folder
    try:
        hub = importlib.import_module("huggingface_hub")
    except ImportError:
        raise RegardError(
            f"{name} needs the huggingface_hub package", do="pip install 'regard[hf]', or give a folder"
        ) from None
    try:
        return Path(hub.snapshot_download(name.removeprefix("hf:"), allow_patterns=list(WANTED)))
    except Exception as error:  # the hub, the network, the name: each raises its own kinds
        why = str(error).split("\n")[0] or type(error).__name__
        raise RegardError(f"{name} could not be downloaded ({why:.200})", do="check the name and the network") from None


def read_json(path: Path, most: int) -> dict[str, Any]:
    """The object in a JSON file of at most `most` bytes."""
    try:
        found = json.loads(read_whole(path, most))
    except FileNotFoundError:
        raise RegardError(f"{path.parent} has no {path.name}") from None
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise RegardError(f"cannot read {path} ({why:.200})", expected="a JSON object") from None
    if not isinstance(found, dict):
        raise RegardError(f"{path} has {brief(found)}", expected="a JSON object")
    return found
