"""All that a run needs to go on as if it had never stopped: weights, optimiser, averages, random state, place.

`state/step-N/` holds one such moment, in safetensors and JSON. A new one is written out of sight, put
on disk, moved to its name, and only then are older ones removed: whatever kills the writer, the
newest complete moment is there.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from regard.errors import RegardError
from regard.files import new_folder

__all__ = ["peek", "restore", "save"]


def _newest(folder: Path) -> Path | None:
    found = [p for p in folder.glob("step-*") if p.name[5:].isdigit()] if folder.is_dir() else []
    return max(found, key=lambda p: int(p.name[5:]), default=None)


def _random() -> dict[str, Tensor]:
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def save(
    folder: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    average: dict[str, Tensor],
    place: dict[str, Any],
) -> None:
    """Write the moment `place["step"]`; the newest one before it stays until this one is complete."""
    folder.mkdir(exist_ok=True)
    target = folder / f"step-{place['step']}"
    if target.exists():  # this very moment was saved already
        return
    moments = {
        f"{number}.{key}": value.contiguous()
        for number, state in optimiser.state_dict()["state"].items()
        for key, value in state.items()
    }
    with new_folder(target) as making:
        save_file({k: v.contiguous() for k, v in model.state_dict().items()}, making / "weights.safetensors")
        save_file(moments, making / "optimiser.safetensors")
        save_file(average, making / "average.safetensors")
        save_file(_random(), making / "random.safetensors")
        (making / "place.json").write_text(json.dumps(place))
    _only(target)


def _only(moment: Path) -> None:
    """Older moments, and what a killed writer left, are of no more use beside a complete one."""
    for old in moment.parent.iterdir():
        if old != moment and (old.name.startswith("step-") or ".tmp-" in old.name):
            shutil.rmtree(old, ignore_errors=True)


def peek(folder: Path) -> dict[str, Any] | None:
    """The place of the newest moment, without going there."""
    newest = _newest(folder)
    if newest is None:
        return None
    try:
        place = json.loads((newest / "place.json").read_text())
        if not isinstance(place, dict):
            raise ValueError("place.json holds no table")
    except (OSError, ValueError) as error:
        raise damaged(newest, error) from None
    return place


def damaged(moment: Path, why: object) -> RegardError:
    return RegardError(
        f"{moment} is damaged ({why})", do="remove that folder and train again, or start over with --fresh"
    )


def restore(
    folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer, average: dict[str, Tensor]
) -> dict[str, Any] | None:
    """Go back to the newest moment and return its place; None where there is none yet."""
    newest, place = _newest(folder), peek(folder)
    if newest is None:
        return None
    try:
        model.load_state_dict(load_file(newest / "weights.safetensors"))
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in load_file(newest / "optimiser.safetensors").items():
            number, _, key = name.partition(".")
            moments.setdefault(int(number), {})[key] = value
        groups = optimiser.state_dict()["param_groups"]
        optimiser.load_state_dict({"state": moments, "param_groups": groups})
        for name, value in load_file(newest / "average.safetensors").items():
            average[name].copy_(value)
        random = load_file(newest / "random.safetensors")
        torch.set_rng_state(random["cpu"])
        if "cuda" in random and torch.cuda.is_available():
            torch.cuda.set_rng_state(random["cuda"])
    except (OSError, SafetensorError, KeyError, RuntimeError, ValueError) as error:
        raise damaged(newest, error) from None
    _only(newest)
    return place
