"""Features that were computed before, in safetensors files of a folder, with a name for each value.

A file holds the features of some hundred values and is never changed; what comes later is written beside it. A file
that is damaged counts as not there, so its features are computed again.

    kept = Features(Path("~/.cache/regard/features/5c2f…"));  kept.add({"9a41…": features});  kept["9a41…"]
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.errors import RegardError
from regard.files import write_whole

__all__ = ["Features"]


class Features:
    """A folder of features, read by name."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file_of: dict[str, Path] = {}
        self._open: dict[Path, Any] = {}
        self._seen: set[Path] = set()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_open": {}}  # a process of a data loader opens files of its own

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those that are not there, each once."""
        from safetensors import SafetensorError, safe_open

        for path in sorted(self.folder.glob("*.safetensors")):
            if path not in self._seen:
                self._seen.add(path)
                with suppress(SafetensorError, OSError), safe_open(path, "pt") as file:
                    self._file_of.update(dict.fromkeys(file.keys(), path))
        return [name for name in dict.fromkeys(names) if name not in self._file_of]

    def add(self, features: Mapping[str, Tensor]) -> None:
        from safetensors.torch import save

        name = blake2b(" ".join(sorted(features)).encode(), digest_size=8).hexdigest()
        path = self.folder / f"{name}.safetensors"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, save(dict(features)))
        except OSError as error:
            raise RegardError(
                f"cannot write features to {self.folder} ({error.strerror})", do="set XDG_CACHE_HOME to another folder"
            ) from None
        self._file_of.update(dict.fromkeys(features, path))

    def __getitem__(self, name: str) -> Tensor:
        from safetensors import SafetensorError, safe_open

        path = self._file_of[name]
        try:
            if path not in self._open:
                self._open[path] = safe_open(path, "pt")
            found: Tensor = self._open[path].get_tensor(name)
        except (SafetensorError, OSError) as error:
            raise RegardError(f"cannot read features from {path} ({error})", do="remove it, and train again") from None
        return found
