"""A run is made at once, opens or says why not, and never takes a folder that is someone else's."""

import math
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from regard.errors import RegardError
from regard.format import FORMAT
from regard.train.run import Run, plain

config: dict[str, Any] = {
    "task": "translate",
    "search": None,
    "metrics": ("bleu", {"name": "chrf", "word_order": 2}),
    "train": {"lr": 1e-3, "time": "", "deep": {"none": None, "on": True}},
}
told = {
    "task": "translate",
    "metrics": ["bleu", {"name": "chrf", "word_order": 2}],
    "train": {"lr": 1e-3, "time": "", "deep": {"on": True}},
}
kept = {"source": {"ü": "漢字 ☃"}}


def model(seed: int = 0, size: int = 3) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(size, 2), nn.Linear(2, size))


def weights(of: nn.Module) -> list[list[float]]:
    return [parameter.detach().flatten().tolist() for parameter in of.parameters()]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run.create(tmp_path / "runs" / "one", config, kept, model())


def refused(act: Any) -> str:
    with pytest.raises(RegardError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_plain_is_what_toml_holds() -> None:
    assert plain(config) == told
    assert plain((1, (2, None))) == [1, [2, None]]


def test_made_and_opened_again(run: Run) -> None:
    assert {file.name for file in run.folder.iterdir()} == {
        "config.toml",
        "tokenizer.json",
        "model.safetensors",
        "log.jsonl",
    }
    opened = Run.open(run.folder)
    assert opened.config == run.config == told
    assert opened.kept == kept
    assert opened.state == run.folder / "state"
    fresh = model(seed=1)
    opened.load_weights(fresh)
    assert weights(fresh) == weights(model())
    assert list(run.folder.parent.iterdir()) == [run.folder]


def test_changed(run: Run) -> None:
    run.configure({**config, "train": {"epochs": 9}})
    assert Run.open(run.folder).config["train"] == {"epochs": 9}
    run.save_weights(model(seed=4))
    fresh = model()
    run.load_weights(fresh)
    assert weights(fresh) == weights(model(seed=4))


@pytest.mark.parametrize("call", ["tomli_w.dumps", "json.dumps", "regard.train.run.packed", "os.fsync", "os.rename"])
def test_half_a_run_is_never_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def broken(*_: object, **__: object) -> None:
        assert not (tmp_path / "one").exists()
        raise OSError("No space left on device")

    monkeypatch.setattr(call, broken)
    with pytest.raises(OSError, match="No space"):
        Run.create(tmp_path / "one", config, kept, model())
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_may_become_a_run(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    Run.create(tmp_path / "one", config, kept, model())
    assert Run.is_in(tmp_path / "one")


@pytest.mark.parametrize("name", ["diary.txt", ".hidden"])
def test_a_folder_of_other_things_is_left_alone(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / name).write_text("dear diary")
    assert "is not a run; use another --out" in refused(lambda: Run.create(folder, config, kept, model()))
    assert [(file.name, file.read_text()) for file in folder.iterdir()] == [(name, "dear diary")]
    file = tmp_path / "file"
    file.write_text("x")
    assert "is not a run" in refused(lambda: Run.create(file, config, kept, model()))
    assert file.read_text() == "x"
    assert {path.name for path in tmp_path.iterdir()} == {"mine", "file"}


def test_no_run(tmp_path: Path, run: Run) -> None:
    assert "does not exist; expected a folder made by 'regard train'" in refused(lambda: Run.open(tmp_path / "no"))
    assert "it has no config.toml" in refused(lambda: Run.open(tmp_path))
    assert "is not a run: it is a file" in refused(lambda: Run.open(run.folder / "config.toml"))
    assert not Run.is_in(tmp_path)
    assert Run.is_in(run.folder)


@pytest.mark.parametrize("name", ["config.toml", "tokenizer.json"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"[[[", b"3", b"a=" + b"[" * 10**5, b"[" * 10**5, None])
def test_damaged_words_about_itself(run: Run, name: str, content: bytes | None) -> None:
    file = run.folder / name
    file.unlink()
    if content is not None:
        file.write_bytes(content)
    said = refused(lambda: Run.open(run.folder))
    assert f"is a damaged run ({name}: " in said or (content is None and "no config" in said)
    assert len(said) < 500


@pytest.mark.parametrize("name", ["config.toml", "tokenizer.json", "model.safetensors"])
def test_only_regular_files_of_a_bearable_size_are_read(run: Run, name: str) -> None:
    def act() -> None:
        Run.open(run.folder).load_weights(model())

    file = run.folder / name
    kept = file.read_bytes()
    file.unlink()
    file.symlink_to("/dev/zero")
    assert name in refused(act)
    file.unlink()
    (run.folder / "elsewhere").write_bytes(kept)
    file.symlink_to("elsewhere")  # a link to a file is as good as the file
    act()
    with (run.folder / "elsewhere").open("r+b") as large:
        large.truncate(2**30)
    assert name in refused(act)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.safetensors"])
def test_a_run_without_a_file_is_not_made_over(run: Run, name: str) -> None:
    (run.folder / name).unlink()
    before = sorted(run.folder.iterdir())
    said = refused(lambda: Run.create(run.folder, config, kept, model()))
    assert f"is a damaged run ({name} is missing); remove it" in said
    assert sorted(run.folder.iterdir()) == before


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.99])
def test_truncated_weights(run: Run, share: float) -> None:
    file = run.folder / "model.safetensors"
    content = file.read_bytes()
    file.write_bytes(content[: int(share * len(content))])
    assert "damaged run" in refused(lambda: run.load_weights(model()))
    file.unlink()
    assert "damaged run" in refused(lambda: run.load_weights(model()))


def test_weights_of_another_model(run: Run) -> None:
    said = refused(lambda: run.load_weights(model(size=5)))
    assert "damaged run" in said
    assert len(said) < 500  # not a line for each of its tensors


def test_a_flipped_bit_in_the_weights(run: Run) -> None:
    file = run.folder / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    assert "(model.safetensors: its checksum is wrong); repeat 'regard train' to resume" in refused(
        lambda: run.load_weights(model())
    )


def test_weights_from_before_there_were_checksums(run: Run) -> None:
    save_file(model(seed=3).state_dict(), run.folder / "model.safetensors")
    fresh = model()
    run.load_weights(fresh)
    assert weights(fresh) == weights(model(seed=3))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda w: {**w, "0.weight": w["0.weight"].double()}, "'0.weight' is float64, not float32"),
        (lambda w: {**w, "0.weight": w["0.weight"].T.contiguous()}, "'0.weight' has the shape [3, 2], not [2, 3]"),
        (lambda w: {**w, "0.bias": w["0.bias"].int()}, "'0.bias' is int32, not float32"),
        (lambda w: {**w, "2.weight": w["0.weight"].clone()}, "'2.weight' is not one of"),
        (lambda w: {**w, "0.bias": w["0.bias"] / 0}, "'0.bias' has values that are not finite"),
        (lambda w: {**w, "1.bias": w["1.bias"].fill_(math.nan)}, "'1.bias' has values that are not finite"),
        (lambda w: {"0.bias": w["0.bias"]}, "Missing key"),
        (lambda w: {}, "Missing key"),
    ],
)
def test_tensors_that_are_not_the_model_s(run: Run, change: Any, said: str) -> None:
    save_file(change(model().state_dict()), run.folder / "model.safetensors")
    told = refused(lambda: run.load_weights(model()))
    assert "is a damaged run (model.safetensors: " in told
    assert said in told


def test_weights_are_replaced_whole(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="No space"):
        run.save_weights(model(seed=4))
    with pytest.raises(OSError, match="No space"):
        run.configure({"task": "other"})
    fresh = model(seed=2)
    run.load_weights(fresh)
    assert weights(fresh) == weights(model())
    assert tomllib.loads((run.folder / "config.toml").read_text()) == {"format": FORMAT, **told}
    assert len(list(run.folder.iterdir())) == 4


def test_removed_with_what_killed_writers_left(run: Run) -> None:
    (run.state / "step-3").mkdir(parents=True)
    (run.state / "step-3" / "place.json").write_text("{}")
    (run.folder / ".model.safetensors.tmp-abc").write_bytes(b"half")
    Run.remove(run.folder)
    assert list(run.folder.parent.iterdir()) == []


def test_half_a_run_is_never_left(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("shutil.rmtree", killed)
    with pytest.raises(KeyboardInterrupt):
        Run.remove(run.folder)
    assert not run.folder.exists()


def test_what_is_not_the_run_s_own_is_not_removed(run: Run) -> None:
    (run.folder / "diary").write_text("dear diary")
    assert "also contains diary; move that elsewhere" in refused(lambda: Run.remove(run.folder))
    assert (run.folder / "diary").read_text() == "dear diary"
    assert Run.is_in(run.folder)  # and the run is whole
