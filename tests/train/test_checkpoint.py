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
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from regard.errors import RegardError
from regard.train import checkpoint
from regard.train.ema import Ema
from regard.train.state import TrainState

files = {
    *("weights.safetensors", "optimiser.safetensors", "average.safetensors", "random.safetensors"),
    *("place.json", "sums.json"),
}


def place_at(step: int) -> TrainState:
    return TrainState(data="x", steps=100, step=step, best=1 / 3)


class Training:
    """A network with dropout, AdamW in two groups and an average, as the loop has them."""

    def __init__(self, seed: int = 0, average: float = 0.9) -> None:
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(3, 4), nn.Dropout(0.5), nn.Linear(4, 2))
        parameters = list(self.model.parameters())
        groups = [{"params": parameters[::2], "weight_decay": 0.1}, {"params": parameters[1::2], "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, lr=0.1, betas=(0.9, 0.98))
        self.average = Ema(self.model, average)
        self.step = 0

    def train(self, steps: int) -> None:
        for _ in range(steps):
            self.model(torch.randn(5, 3)).square().mean().backward()
            self.optimiser.step()
            self.optimiser.zero_grad()
            self.step += 1
            self.average.update(self.step)

    def save(self, folder: Path) -> None:
        checkpoint.save(folder, self.model, self.optimiser, self.average.mean, place_at(self.step))

    def restore(self, folder: Path) -> TrainState | None:
        restored = checkpoint.restore(folder, self.model, self.optimiser, self.average.mean)
        self.damaged = restored.damaged if restored else ()
        self.step = restored.place.step if restored else 0
        return restored.place if restored else None

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
    assert other.restore(tmp_path / "state") == place_at(3)
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


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_newest_is_taken_by_number(tmp_path: Path) -> None:
    """step-10 is newer than step-9, though it sorts before it; what only looks like a moment is none."""
    training = Training()
    for steps in (8, 1, 1):
        training.train(steps)
        training.save(tmp_path)
    for name in ("step-x", "step-", "step-²", "step-" + "9" * 200, ".step-30.tmp-abc", "other"):
        (tmp_path / name).mkdir()
    assert training.restore(tmp_path) == place_at(10)
    assert names(tmp_path) == {"step-10", "step-9", "other"}  # what a killed writer left is cleared


def test_older_moments_go_only_when_the_new_one_is_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training()
    for _ in range(2):
        training.train(1)
        training.save(tmp_path)
    left = tmp_path / ".step-3.tmp-left"  # by a writer that was killed
    left.mkdir()
    (left / "weights.safetensors").write_bytes(b"half")
    removed, real = [], shutil.rmtree

    def watching(path: Path, **options: Any) -> None:
        removed.append(path.name)
        assert names(tmp_path / "step-3") == files
        real(path, **options)

    training.train(1)
    monkeypatch.setattr(shutil, "rmtree", watching)
    training.save(tmp_path)
    assert sorted(removed) == [".step-3.tmp-left", "step-1"]
    assert names(tmp_path) == {"step-2", "step-3"}


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
        *((os, "fsync", number) for number in range(7)),  # six files and their folder
        *((Path, "write_text", number) for number in range(2)),
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
    assert other.restore(tmp_path) == place_at(2)
    assert same(other.everything(), saved)
    training.save(tmp_path)  # and once there is space again, all goes on
    assert names(tmp_path) == {"step-2", "step-3"}


def test_a_moment_is_saved_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training()
    training.save(tmp_path)
    monkeypatch.setattr(checkpoint, "save_file", breaking(lambda *_: None, 0))
    training.save(tmp_path)


def damage(file: Path, how: str) -> None:
    content = file.read_bytes()
    if how == "removed":
        file.unlink()
    elif how == "a device":
        file.unlink()
        file.symlink_to("/dev/zero")
    else:
        flipped = bytearray(content)
        flipped[-1] ^= 1
        made = {"emptied": b"", "cut": content[: len(content) // 2], "garbage": b"\xff" * 64, "flipped": bytes(flipped)}
        file.write_bytes(made[how])


@pytest.mark.parametrize("name", sorted(files))
@pytest.mark.parametrize("how", ["removed", "emptied", "cut", "garbage", "flipped", "a device"])
def test_a_damaged_moment_is_named_and_the_one_before_it_used(tmp_path: Path, name: str, how: str) -> None:
    training = Training()
    training.train(1)
    training.save(tmp_path)
    before = training.everything()
    training.train(1)
    training.save(tmp_path)
    whole = training.everything()
    damage(tmp_path / "step-2" / name, how)
    other = Training(seed=9)
    if (name, how) == ("sums.json", "removed"):  # as before there were any
        assert other.restore(tmp_path) == place_at(2)
        return
    assert other.restore(tmp_path) == place_at(1)
    assert same(other.everything(), before)
    [said] = other.damaged
    assert str(tmp_path / "step-2") in said
    assert name in said or name == "sums.json"
    assert " is damaged (" in said
    assert "\n" not in said
    assert names(tmp_path) == {"step-1"}  # else the new step 2 would be taken for saved
    other.train(1)
    other.save(tmp_path)
    assert same(other.everything(), whole)
    assert names(tmp_path) == {"step-1", "step-2"}


@pytest.mark.parametrize("name", ["weights", "average"])
def test_numbers_that_are_not_finite_are_damage(tmp_path: Path, name: str) -> None:
    """Even where the checksum is right: no training writes them."""
    training = Training()
    for _ in range(2):
        training.train(1)
        training.save(tmp_path)
    last = tmp_path / "step-2"
    tensors = load_file(last / f"{name}.safetensors")
    next(iter(tensors.values())).view(-1)[0] = float("nan")
    save_file(tensors, last / f"{name}.safetensors")
    (last / "sums.json").unlink()
    again = Training(seed=1)
    place = again.restore(tmp_path)
    assert place is not None
    assert place.step == 1
    [line] = again.damaged
    assert f"{name}.safetensors is damaged" in line
    assert "not finite" in line


def test_where_all_are_damaged_nothing_is_cleared_away(tmp_path: Path) -> None:
    training = Training()
    for _ in range(2):
        training.train(1)
        training.save(tmp_path)
    for step in (1, 2):
        damage(tmp_path / f"step-{step}" / "average.safetensors", "cut")
    with pytest.raises(RegardError, match=r"step-2/average.safetensors is damaged .*--fresh") as caught:
        Training().restore(tmp_path)
    assert "\n" not in str(caught.value)
    assert names(tmp_path) == {"step-1", "step-2"}


def swapped(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    one, other = "0.exp_avg", "1.exp_avg"
    return {**tensors, one: tensors[other], other: tensors[one]}


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("optimiser", swapped, "'0.exp_avg' has the shape"),
        ("optimiser", lambda t: {**t, "0.step": torch.tensor(-1.0)}, "the state of parameter 0 is incomplete"),
        ("optimiser", lambda t: {**t, "0.step": torch.tensor(torch.nan)}, "the state of parameter 0 is incomplete"),
        ("optimiser", lambda t: {**t, "0.step": torch.tensor(9.0)}, "the state of parameter 0 is incomplete"),
        ("optimiser", lambda t: {k: v for k, v in t.items() if k != "1.exp_avg_sq"}, "state of parameter 1"),
        ("optimiser", lambda t: {**t, "99.step": torch.tensor(1.0)}, "'99.step' is not one"),
        ("optimiser", lambda t: {**t, "²": torch.tensor(1.0)}, "'²' is not one"),
        ("optimiser", lambda t: {}, "it is empty"),
        ("optimiser", lambda t: {**t, "0.exp_avg": t["0.exp_avg"].half()}, "float16, not float32"),
        ("weights", lambda t: {**t, "0.bias": t["0.bias"].to(torch.complex64)}, "complex64, not float32"),
        ("weights", lambda t: {**t, "0.bias": t["0.bias"][:1]}, "'0.bias' has the shape [1]"),
        ("average", lambda t: {"0.bias": t["0.bias"]}, "'0.weight' is missing"),
        ("random", lambda t: {}, "'cpu' is missing"),
        ("random", lambda t: {"cpu": t["cpu"].float()}, "'cpu' is float32"),
        ("random", lambda t: {"cpu": t["cpu"][:9]}, "'cpu' has the shape"),
        ("random", lambda t: {"cpu": torch.full_like(t["cpu"], 255)}, ""),
    ],
)
def test_tensors_that_cannot_be_are_told_without_checksums_too(
    tmp_path: Path, name: str, change: Callable[[dict[str, Tensor]], dict[str, Tensor]], said: str
) -> None:
    training = Training()
    training.train(1)
    training.save(tmp_path)
    file = tmp_path / "step-1" / f"{name}.safetensors"
    save_file(change(load_file(file)), file)
    (tmp_path / "step-1" / "sums.json").unlink()
    with pytest.raises(RegardError, match="is damaged") as caught:
        Training().restore(tmp_path)
    assert f"{file} is damaged (" in str(caught.value)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_moment_of_another_model_is_not_taken(tmp_path: Path) -> None:
    training = Training()
    training.train(1)
    training.save(tmp_path)
    other = nn.Linear(3, 3)
    with pytest.raises(RegardError, match=r"weights\.safetensors is damaged") as caught:
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
    assert TrainState.read(json.loads((tmp_path / "step-2" / "place.json").read_text())) == place_at(2)
