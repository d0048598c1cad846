"""A moment comes back bit for bit, and whatever breaks a save leaves the moment before it."""

import errno
import json
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from torch import Tensor, nn

from regard.errors import RegardError
from regard.train import checkpoint
from regard.train.average import Average

files = {"weights.safetensors", "optimiser.safetensors", "average.safetensors", "random.safetensors", "place.json"}


class Training:
    """A network with dropout, AdamW in two groups and an average, as the loop has them."""

    def __init__(self, seed: int = 0, average: float = 0.9) -> None:
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))
        parameters = list(self.model.parameters())
        groups = [{"params": parameters[::2], "weight_decay": 0.1}, {"params": parameters[1::2], "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, lr=0.1, betas=(0.9, 0.98))
        self.average = Average(self.model, average)
        self.step = 0

    def train(self, steps: int) -> None:
        for _ in range(steps):
            self.model(torch.randn(5, 3)).square().mean().backward()
            self.optimiser.step()
            self.optimiser.zero_grad()
            self.step += 1
            self.average.update(self.step)

    def save(self, folder: Path) -> None:
        checkpoint.save(folder, self.model, self.optimiser, self.average.mean, {"step": self.step, "best": 1 / 3})

    def restore(self, folder: Path) -> dict[str, Any] | None:
        place = checkpoint.restore(folder, self.model, self.optimiser, self.average.mean)
        self.step = place["step"] if place else 0
        return place

    def everything(self) -> dict[str, Tensor]:
        moments = {
            f"{number} {key}": value
            for number, state in self.optimiser.state_dict()["state"].items()
            for key, value in state.items()
        }
        average = {f"average {name}": value for name, value in self.average.mean.items()}
        found = {**self.model.state_dict(), **moments, **average, "random": torch.get_rng_state()}
        return {name: value.clone() for name, value in found.items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and torch.equal(one[name], other[name]) for name in one
    )


@pytest.mark.parametrize("average", [0.9, 0.0])
def test_all_comes_back_bit_for_bit_and_goes_on_so(tmp_path: Path, average: float) -> None:
    one = Training(average=average)
    one.train(3)
    one.save(tmp_path / "state")
    saved = one.everything()
    one.train(4)

    other = Training(seed=99, average=average)
    other.train(1)
    assert other.restore(tmp_path / "state") == {"step": 3, "best": 1 / 3}
    assert same(other.everything(), saved)
    assert [group["weight_decay"] for group in other.optimiser.param_groups] == [0.1, 0.0]
    other.train(4)
    assert same(other.everything(), one.everything())


def test_nothing_was_saved_yet(tmp_path: Path) -> None:
    training = Training()
    before = training.everything()
    assert training.restore(tmp_path / "state") is None
    (tmp_path / "state").mkdir()
    assert training.restore(tmp_path / "state") is None
    assert same(training.everything(), before)


def test_before_the_first_step(tmp_path: Path) -> None:
    """The optimiser has no state yet; a moment without any is a moment too."""
    one = Training()
    one.save(tmp_path)
    saved = one.everything()
    other = Training(seed=5)
    other.restore(tmp_path)
    assert same(other.everything(), saved)


def test_the_newest_is_taken_by_number(tmp_path: Path) -> None:
    """step-10 is newer than step-9, though it sorts before it; what only looks like a moment is none."""
    training = Training()
    training.train(9)
    training.save(tmp_path)
    shutil.copytree(tmp_path / "step-9", tmp_path / "kept")
    training.train(1)
    training.save(tmp_path)
    shutil.move(tmp_path / "kept", tmp_path / "step-9")
    for name in ("step-x", "step-", ".step-30.tmp-abc", "other"):
        (tmp_path / name).mkdir()
    assert checkpoint.peek(tmp_path) == {"step": 10, "best": 1 / 3}
    assert training.restore(tmp_path) == {"step": 10, "best": 1 / 3}
    assert {path.name for path in tmp_path.iterdir()} == {"step-10", "other"}  # what a killed writer left is cleared


def test_older_moments_go_only_when_the_new_one_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training()
    training.train(1)
    training.save(tmp_path)
    left = tmp_path / ".step-2.tmp-left"  # by a writer that was killed
    left.mkdir()
    (left / "weights.safetensors").write_bytes(b"half")
    removed, real = [], shutil.rmtree

    def watching(path: Path, **options: Any) -> None:
        removed.append(path.name)
        assert {file.name for file in (tmp_path / "step-2").iterdir()} == files
        assert checkpoint.peek(tmp_path) == {"step": 2, "best": 1 / 3}
        real(path, **options)

    training.train(1)
    monkeypatch.setattr(shutil, "rmtree", watching)
    training.save(tmp_path)
    assert sorted(removed) == [".step-2.tmp-left", "step-1"]
    assert [path.name for path in tmp_path.iterdir()] == ["step-2"]


def breaking(real: Callable[..., Any], number: int) -> Callable[..., Any]:
    """A call that raises at this time (the first is 0), after doing its work: that leaves the most behind."""
    calls = iter(range(1000))

    def wrapped(*given: Any, **named: Any) -> Any:
        result = real(*given, **named)
        if next(calls) == number:
            raise OSError(errno.ENOSPC, "No space left on device")
        return result

    return wrapped


@pytest.mark.parametrize(
    ("where", "call", "number"),
    [
        *((checkpoint, "save_file", number) for number in range(4)),
        *((os, "fsync", number) for number in range(6)),  # five files and their folder
        (Path, "write_text", 0),
        (Path, "chmod", 0),
    ],
)
def test_a_save_that_breaks_leaves_the_moment_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: Any, call: str, number: int
) -> None:
    training = Training()
    training.train(2)
    training.save(tmp_path)
    saved = training.everything()
    training.train(1)
    with monkeypatch.context() as patch:
        patch.setattr(where, call, breaking(getattr(where, call), number))
        with pytest.raises(OSError, match="No space"):
            training.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["step-2"]
    other = Training(seed=1)
    assert other.restore(tmp_path) == {"step": 2, "best": 1 / 3}
    assert same(other.everything(), saved)
    training.save(tmp_path)  # and once there is space again, all goes on
    assert [path.name for path in tmp_path.iterdir()] == ["step-3"]


def test_a_moment_is_saved_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training()
    training.save(tmp_path)
    monkeypatch.setattr(checkpoint, "save_file", breaking(lambda *_: None, 0))
    training.save(tmp_path)


@pytest.mark.parametrize("name", sorted(files))
@pytest.mark.parametrize("damage", ["removed", "emptied", "cut", "garbage"])
def test_damage_is_told_in_one_line(tmp_path: Path, name: str, damage: str) -> None:
    training = Training()
    training.train(1)
    training.save(tmp_path)
    file = tmp_path / "step-1" / name
    content = file.read_bytes()
    if damage == "removed":
        file.unlink()
    else:
        file.write_bytes({"emptied": b"", "cut": content[: len(content) // 2], "garbage": b"\xff" * 64}[damage])
    with pytest.raises(RegardError, match=r"step-1 is damaged .*; remove that folder") as caught:
        Training().restore(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_damaged_moment_clears_nothing_away(tmp_path: Path) -> None:
    training = Training()
    training.train(2)
    training.save(tmp_path)
    shutil.copytree(tmp_path / "step-2", tmp_path / "step-1")
    (tmp_path / "step-2" / "weights.safetensors").unlink()
    with pytest.raises(RegardError, match="step-2 is damaged"):
        training.restore(tmp_path)
    shutil.rmtree(tmp_path / "step-2")  # as the message says
    assert training.restore(tmp_path) is not None


def test_a_moment_of_another_model_is_not_taken(tmp_path: Path) -> None:
    training = Training()
    training.train(1)
    training.save(tmp_path)
    other = nn.Linear(3, 3)
    with pytest.raises(RegardError, match="damaged") as caught:
        checkpoint.restore(tmp_path, other, torch.optim.AdamW(other.parameters()), {})
    assert "\n" not in str(caught.value)


def test_nothing_is_pickled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("pickled")

    for module, name in ((pickle, "dumps"), (pickle, "loads"), (pickle, "load"), (torch, "save"), (torch, "load")):
        monkeypatch.setattr(module, name, never)
    training = Training()
    training.train(2)
    training.save(tmp_path)
    Training().restore(tmp_path)
    assert {file.name for file in (tmp_path / "step-2").iterdir()} == files
    for file in (tmp_path / "step-2").glob("*.safetensors"):
        with safe_open(file, "pt") as opened:
            assert opened.metadata() is None
            assert all(isinstance(opened.get_tensor(name), Tensor) for name in opened.keys())  # noqa: SIM118
    assert json.loads((tmp_path / "step-2" / "place.json").read_text()) == {"step": 2, "best": 1 / 3}
