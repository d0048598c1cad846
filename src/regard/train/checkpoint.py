"""Checkpoints: weights, optimizer, averages, random state and position, for an exact resume.

`state/step-N/` is one checkpoint, in safetensors and JSON, with a checksum of each file. A new one is written under a
temporary name, flushed and renamed; then all older ones but the last are removed. If the writer is killed, the newest
complete checkpoint is still there, and if its files are damaged later, so is the one before.
"""

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from regard.errors import RegardError
from regard.files import new_folder, read_whole, regular
from regard.train.distribute import Processes
from regard.train.state import TrainState
from regard.train.tensors import reason, unpacked

__all__ = ["KEPT", "Restored", "restore", "save"]

KEPT = 2  # moments
WEIGHTS, OPTIMISER, AVERAGE, RANDOM = (f"{name}.safetensors" for name in ("weights", "optimiser", "average", "random"))
PLACE, SUMS = "place.json", "sums.json"
FILES = (WEIGHTS, OPTIMISER, AVERAGE, RANDOM, PLACE)
SMALL = 2**20  # bytes of a JSON file, many times over
MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # what Adam keeps of each parameter


@dataclass(frozen=True)
class Restored:
    """The restored training state, and a line for each newer checkpoint that is damaged."""

    place: TrainState
    damaged: tuple[str, ...] = ()


def _moments(folder: Path) -> list[Path]:
    """Newest first."""
    return sorted((path for path in folder.glob("step-*") if _step(path) >= 0), key=_step, reverse=True)


def _step(moment: Path) -> int:
    number = moment.name[5:]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 16 else -1


def _random() -> dict[str, Tensor]:
    state = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state()
    return state


def save(
    folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer, average: dict[str, Tensor], place: TrainState
) -> None:
    """Writes a checkpoint; older ones stay until it is complete. Of several processes the first writes, with the random
    state of all."""
    team = Processes.now()
    random = team.gathered(_random())
    if not team.first:
        return
    folder.mkdir(exist_ok=True)
    target = folder / f"step-{place.step}"
    if target.exists():  # this very moment was saved already
        return
    moments = {
        f"{number}.{key}": value
        for number, state in optimiser.state_dict()["state"].items()
        for key, value in state.items()
    }
    tensors = (model.state_dict(), moments, average, random)
    with new_folder(target) as making:
        for name, some in zip(FILES, tensors, strict=False):
            save_file({key: value.contiguous() for key, value in some.items()}, making / name)
        (making / PLACE).write_text(json.dumps(asdict(place)))
        (making / SUMS).write_text(json.dumps({name: _sum(making / name) for name in FILES}))
    _keep(folder, [path for path in _moments(folder) if _step(path) <= place.step])


def _sum(path: Path) -> str:
    with regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _keep(folder: Path, moments: list[Path]) -> None:
    """Removes all other checkpoints and the temporary files of killed writers."""
    for old in folder.iterdir():
        if old not in moments[:KEPT] and (old.name.startswith("step-") or ".tmp-" in old.name):
            shutil.rmtree(old, ignore_errors=True)


def restore(
    folder: Path, model: nn.Module, optimiser: torch.optim.Optimizer, average: dict[str, Tensor], data: str = ""
) -> Restored | None:
    """Restores the newest intact checkpoint; None if there is none. If it was trained on other `data` (a digest), only
    the training state is returned, since its tensors need not fit."""
    found, damaged = _moments(folder), list[str]()
    for number, moment in enumerate(found):
        try:
            place = _restore(moment, model, optimiser, average, data)
        except RegardError as error:
            damaged.append(str(error))
            continue
        if Processes.now().first:
            _keep(folder, found[number:])
        return Restored(place, tuple(damaged))
    if damaged:
        raise RegardError(damaged[0], do="no older checkpoint is intact: start over with --fresh")
    return None


def _restore(
    moment: Path, model: nn.Module, optimiser: torch.optim.Optimizer, average: dict[str, Tensor], data: str
) -> TrainState:
    """Restores this checkpoint, or raises and changes nothing."""
    name, team = SUMS, Processes.now()
    random = {"cuda": torch.zeros(16, dtype=torch.uint8), **_random()}  # it may come from a machine that has a GPU
    random |= {f"{key}.{rank}": state for key, state in random.items() for rank in range(1, team.size)}
    try:
        sums = _json(moment / name) if (moment / name).exists() else None  # a run from before there were any
        name = PLACE
        table = _json(moment / name)
        _check(moment / name, sums)
        place = TrainState.read(table)
        if _step(moment) != place.step:
            raise ValueError(f"it belongs to step {place.step}")
        if data and place.data != data:
            return place
        like = (model.state_dict(), _like(optimiser), average, random)
        found = {}
        for name, some in zip(FILES, like, strict=False):
            found[name] = unpacked(moment / name, some)  # before the checksum: a file of any length may stand there
            _check(moment / name, sums)
        for name in (WEIGHTS, AVERAGE):
            if wrong := next((key for key, value in found[name].items() if not value.isfinite().all()), None):
                raise ValueError(f"tensor {wrong!r} has values that are not finite")
        name = OPTIMISER
        state = _by_number(found[name], place.step)
        name = AVERAGE
        if missing := average.keys() - found[name].keys():
            raise KeyError(min(missing))
        name = RANDOM
        torch.set_rng_state(found[name][team.own("cpu")])
        if team.own("cuda") in found[name] and torch.cuda.is_available():
            torch.cuda.set_rng_state(found[name][team.own("cuda")])
        name = WEIGHTS
        model.load_state_dict(found[name])
    except (OSError, ValueError, KeyError, RuntimeError, TypeError, RecursionError) as error:
        raise RegardError(f"{moment / name} is damaged ({reason(error)})") from None
    for key, value in average.items():
        value.copy_(found[AVERAGE][key])
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
    return place


def _check(path: Path, sums: dict[str, Any] | None) -> None:
    if sums is not None and _sum(path) != sums.get(path.name):
        raise ValueError("its checksum is wrong")


def _json(path: Path) -> dict[str, Any]:
    table = json.loads(read_whole(path, SMALL))
    if not isinstance(table, dict):
        raise ValueError("it is not a JSON object")
    return table


def _like(optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Tensors with the dtypes and shapes of the optimizer's state."""
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    return {
        f"{number}.{key}": torch.zeros((), dtype=torch.float32) if key == "step" else parameter
        for number, parameter in enumerate(parameters)
        for key in MOMENTS
    }


def _by_number(tensors: dict[str, Tensor], steps: int) -> dict[int, dict[str, Tensor]]:
    moments: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        number, _, key = name.partition(".")
        moments.setdefault(int(number), {})[key] = value
    if steps and not moments:
        raise ValueError("it is empty")
    for of, state in moments.items():
        if len(state) < len(MOMENTS) or not 0 < float(state["step"]) <= steps:
            raise ValueError(f"the state of parameter {of} is incomplete")
    return moments
