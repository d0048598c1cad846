"""A run is a folder: config.toml, model.safetensors, tokenizer.json, state/, log.jsonl, about.json, curve.png, card.md.

run = Run.create(Path("runs/translate"), config, kept, model);  run = Run.open(Path("runs/translate"))
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import tomli_w
from torch import Tensor, nn

from regard.errors import RegardError
from regard.files import new_folder, read_whole, sweep, tables, write_whole
from regard.format import FORMAT, check_format
from regard.text import own
from regard.train import lock
from regard.train.sizes import Shapes, UnfitError, bounded, check, shapes
from regard.train.tensors import packed, reason, unpacked
from regard.trust import Trust, admit, outside

__all__ = ["Run", "plain"]

Made = TypeVar("Made")

ABOUT = "about.json"
FILES = (
    *("config.toml", "tokenizer.json", "model.safetensors", "log.jsonl", ABOUT, "curve.png", "card.md"),
    *(
        "faithful.json",
        "faithful.md",
        "faithful.png",
        "errors",
        "tensorboard",
        "tracking.json",
        "state",
        "tokens",
        lock.NAME,
    ),
)

WEIGHTS = "model.safetensors"
# The most bytes of config.toml and of tokenizer.json. JSON takes up to 25 times as much memory as its file.
CONFIG, WORDS = 2**18, 2**25


def plain(config: Any) -> Any:
    """A configuration for TOML: without None and tuples."""
    if isinstance(config, dict):
        return {key: plain(value) for key, value in config.items() if value is not None}
    return [plain(value) for value in config] if isinstance(config, list | tuple) else config


def _written(config: dict[str, Any]) -> str:
    return tomli_w.dumps({"format": FORMAT, **plain(config)})


class Run:
    """The folder of one training, finished or not."""

    def __init__(self, folder: Path, config: dict[str, Any], kept: dict[str, Any]) -> None:
        self.folder, self.config, self.kept = folder, config, kept

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @staticmethod
    def create(folder: Path, config: dict[str, Any], kept: dict[str, Any], model: nn.Module) -> "Run":
        """Creates the folder with the untrained weights, so that it can be loaded at once."""
        if (folder / "config.toml").is_file() and any((folder / name).exists() for name in ("tokenizer.json", WEIGHTS)):
            missing = "tokenizer.json" if (folder / WEIGHTS).exists() else WEIGHTS
            raise RegardError(f"{folder} is a damaged run ({missing} is missing)", do="remove it, or use another --out")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise RegardError(f"{folder} already exists and is not a run", do="use another --out")
        if folder.exists():
            folder.rmdir()
        words = json.dumps(kept, ensure_ascii=False).encode()
        if len(words) > WORDS:
            said = f"a vocabulary of {len(words):,} bytes"
            raise RegardError(said, expected=f"at most {WORDS:,}", do="use a smaller vocabulary")
        with new_folder(folder) as making:
            (making / "config.toml").write_text(_written(config), encoding="utf-8")
            (making / "tokenizer.json").write_bytes(words)
            (making / WEIGHTS).write_bytes(packed(model.state_dict()))
            (making / "log.jsonl").touch()
        return Run(folder, plain(config), kept)

    @staticmethod
    def open(folder: Path, trust: Trust = False) -> "Run":
        """Opens a run. Raises if its configuration names untrusted code."""
        if not (folder / "config.toml").is_file():
            what = "does not exist"
            if folder.exists():
                what = "is not a run: it " + ("has no config.toml" if folder.is_dir() else "is a file")
            raise RegardError(f"{folder} {what}", expected="a folder made by 'regard train'")
        name = "config.toml"
        try:
            config = tables(read_whole(folder / name, CONFIG))
            if not isinstance(config.get("task"), str):
                raise ValueError("it does not name a task")
            name = "tokenizer.json"
            kept = json.loads(read_whole(folder / name, WORDS))
            if not isinstance(kept, dict):
                raise ValueError("it is not a JSON object")
        except (OSError, ValueError, RecursionError) as error:
            raise _damaged(folder, name, error) from None
        check_format(str(folder / "config.toml"), config)
        admit(folder, config, trust)
        if trust is not True and not any(outside(config)):
            for table in _tokenizers(kept):
                own(folder, table)
        return Run(folder, config, kept)

    @staticmethod
    def is_in(folder: Path) -> bool:
        """Whether the folder is a run; a config.toml alone is not enough."""
        return all((folder / name).is_file() for name in ("config.toml", "tokenizer.json", "model.safetensors"))

    @staticmethod
    def remove(folder: Path) -> None:
        """Removes a run atomically; raises if its folder has other files."""
        sweep(folder)
        if others := sorted(path.name for path in folder.iterdir() if path.name not in FILES):
            raise RegardError(
                f"{folder} also contains {', '.join(others[:5])}", do="move that elsewhere, or use another --out"
            )
        aside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.tmp-"))
        os.replace(folder, aside)  # a folder that is killed half removed would be neither a run nor free for one
        shutil.rmtree(aside, ignore_errors=True)

    def configure(self, config: dict[str, Any]) -> None:
        """Writes a changed configuration, for example a longer training."""
        self.config = plain(config)
        write_whole(self.folder / "config.toml", _written(self.config))

    def built(self, make: Callable[[], Made]) -> Made:
        """Builds something from the run's configuration; errors name its file."""
        try:
            return make()
        except RegardError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: RegardError) -> RegardError:
        return RegardError(f"{self.folder / 'config.toml'}: {error}")

    def load_words(self, task: Any) -> None:
        """Restores a task's vocabulary and labels."""
        try:
            task.restore(self.kept)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise _damaged(self.folder, "tokenizer.json", error) from None

    def check_sizes(self, build: Callable[[], nn.Module]) -> None:
        """Raises if the weights do not fit the model that the configuration describes."""
        if any(outside(self.config)):  # code that is trusted may build what it likes
            return
        try:
            check(build, shapes(self.folder / WEIGHTS))
        except (OSError, UnfitError) as error:
            raise _damaged(self.folder, WEIGHTS, error) from None
        except RegardError as error:
            raise self._unusable(error) from None

    def check_room(self, build: Callable[[], nn.Module]) -> None:
        """Raises if the model would be much larger than the saved weights. Damaged weights can be restored from a
        checkpoint, so any readable file counts."""
        if any(outside(self.config)):
            return
        trained: Shapes = {}
        for path in (self.folder / WEIGHTS, *sorted(self.state.glob("step-*/weights.safetensors"))[:10]):
            with suppress(OSError, RegardError):
                trained = shapes(path)
                break
        try:
            bounded(build, trained)
        except UnfitError as error:
            raise _damaged(self.folder, WEIGHTS, error) from None

    def save_weights(self, model: nn.Module) -> None:
        write_whole(self.folder / WEIGHTS, packed(model.state_dict()))

    def check_weights(self, model: nn.Module) -> None:
        """Raises if the saved weights do not fit this model."""
        self._weights(model)

    def load_weights(self, model: nn.Module) -> None:
        weights = self._weights(model)
        try:
            model.load_state_dict(weights)
        except RuntimeError as error:  # some are missing
            raise _damaged(self.folder, WEIGHTS, error) from None

    def _weights(self, model: nn.Module) -> dict[str, Tensor]:
        try:
            found = unpacked(self.folder / WEIGHTS, model.state_dict())
            if wrong := next((name for name, value in found.items() if not value.isfinite().all()), None):
                raise ValueError(f"tensor {wrong!r} has values that are not finite")
            return found
        except (OSError, ValueError) as error:
            raise _damaged(self.folder, WEIGHTS, error) from None


def _tokenizers(kept: Any) -> Iterator[dict[str, Any]]:
    """Every table from which a tokenizer could be made; `foreign` checks a pre-trained one when it is read."""
    for key, table in kept.items() if isinstance(kept, dict) else ():
        if key == "pretrained":
            continue
        if isinstance(table, dict) and "model" in table:
            yield table
        else:
            yield from _tokenizers(table)


def _damaged(folder: Path, name: str, error: Exception) -> RegardError:
    do = "start over with --fresh"
    if name == WEIGHTS:
        do = f"repeat 'regard train' to resume from the last checkpoint, or {do}"
    return RegardError(f"{folder} is a damaged run ({name}: {reason(error)})", do=do)
