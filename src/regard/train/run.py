"""A run is a folder: config.toml, model.safetensors, tokenizer.json, state/, log.jsonl, curve.png, card.md.

run = Run.create(Path("runs/translate"), config, kept, model);  run = Run.open(Path("runs/translate"))
"""

import json
import os
import shutil
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import tomli_w
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from regard.errors import RegardError
from regard.files import new_folder, sweep, write_whole
from regard.train import lock
from regard.trust import Trust, admit

__all__ = ["Run", "plain"]

FILES = (
    *("config.toml", "tokenizer.json", "model.safetensors", "log.jsonl", "curve.png", "card.md"),
    *("faithful.json", "faithful.md", "faithful.png", "state", lock.NAME),
)


def plain(config: Any) -> Any:
    """A configuration as TOML can hold it: no None, no tuples."""
    if isinstance(config, dict):
        return {key: plain(value) for key, value in config.items() if value is not None}
    return [plain(value) for value in config] if isinstance(config, list | tuple) else config


class Run:
    """The folder of one training, finished or not."""

    def __init__(self, folder: Path, config: dict[str, Any], kept: dict[str, Any]) -> None:
        self.folder, self.config, self.kept = folder, config, kept

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @staticmethod
    def create(folder: Path, config: dict[str, Any], kept: dict[str, Any], model: nn.Module) -> "Run":
        """Make the whole folder at once, with the untrained weights in it: it loads from the first moment."""
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise RegardError(f"{folder} is there already and is not a run", do="choose another --out")
        if folder.exists():
            folder.rmdir()
        with new_folder(folder) as making:
            (making / "config.toml").write_text(tomli_w.dumps(plain(config)), encoding="utf-8")
            (making / "tokenizer.json").write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
            (making / "model.safetensors").write_bytes(_packed(model))
            (making / "log.jsonl").touch()
        return Run(folder, plain(config), kept)

    @staticmethod
    def open(folder: Path, trust: Trust = False) -> "Run":
        """A run that is there. Its configuration is only to be had where all code that it names is trusted."""
        if not (folder / "config.toml").is_file():
            what = "is not there"
            if folder.exists():
                what = "is not a run: it " + ("has no config.toml" if folder.is_dir() else "is a file")
            raise RegardError(f"{folder} {what}", expected="a folder made by 'regard train'")
        try:
            config = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
            kept = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise _damaged(folder, error) from None
        if not isinstance(config.get("task"), str) or not isinstance(kept, dict):
            raise _damaged(folder, "config.toml names no task")
        admit(folder, config, trust)
        return Run(folder, config, kept)

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Whether the folder is a run: a file of that name alone could be anybody's."""
        return all((folder / name).is_file() for name in ("config.toml", "tokenizer.json", "model.safetensors"))

    @staticmethod
    def remove(folder: Path) -> None:
        """Take a run away, at once and whole; not where its folder also holds something else."""
        sweep(folder)
        if others := sorted(path.name for path in folder.iterdir() if path.name not in FILES):
            raise RegardError(f"{folder} also holds {', '.join(others[:5])}", do="move that away, or use another --out")
        aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.tmp-"))
        os.replace(folder, aside)  # a folder that is killed half removed would be neither a run nor free for one
        shutil.rmtree(aside, ignore_errors=True)

    def configure(self, config: dict[str, Any]) -> None:
        """Write a changed configuration (a longer training, say)."""
        self.config = plain(config)
        write_whole(self.folder / "config.toml", tomli_w.dumps(self.config))

    def load_words(self, task: Any) -> None:
        """Give a task the words and labels that it learned."""
        try:
            task.restore(self.kept)
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(self.folder, f"tokenizer.json: {error}") from None

    def save_weights(self, model: nn.Module) -> None:
        write_whole(self.folder / "model.safetensors", _packed(model))

    def load_weights(self, model: nn.Module) -> None:
        try:
            weights: dict[str, Tensor] = load((self.folder / "model.safetensors").read_bytes())
            model.load_state_dict(weights)
        except (OSError, SafetensorError, RuntimeError, KeyError) as error:
            raise _damaged(self.folder, error) from None


def _packed(model: nn.Module) -> bytes:
    return save({name: value.contiguous() for name, value in model.state_dict().items()})


def _damaged(folder: Path, why: object) -> RegardError:
    reason = str(why).splitlines()[0][:200]
    return RegardError(f"{folder} is a damaged run ({reason})", do="run the same 'regard train' again, or --fresh")
