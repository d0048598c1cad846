"""Options that do not fit the weights beside them are found out before a model of their sizes is made."""

import json
import os
import resource
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch
from safetensors.torch import save_file
from small_runs import splits
from torch import nn

from generation_tasks import sides
from regard import api, find
from regard.errors import RegardError
from regard.train.run import Run
from regard.train.sizes import UnfitError, check, shapes
from regard.types import Example
from small_pictures import captions, picture
from small_sounds import recordings

one = {"weight": (3, 4), "bias": (3,)}


def test_the_header_tells_names_and_shapes(tmp_path: Path) -> None:
    save_file({"a": torch.zeros(2, 3), "b": torch.tensor(1.0)}, tmp_path / "file")
    assert shapes(tmp_path / "file") == {"a": (2, 3), "b": ()}


@pytest.mark.parametrize("content", [b"", b"\xff" * 8, (2**24 + 1).to_bytes(8, "little"), b"\2" + b"\0" * 7 + b"{}x"])
def test_a_header_that_cannot_be_read(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UnfitError):
        shapes(tmp_path / "file")


def test_what_fits_is_built_without_memory_and_without_random_numbers() -> None:
    before = torch.get_rng_state()
    check(lambda: nn.Linear(4, 3), one)
    check(lambda: nn.GRU(2**14, 2**14), {k: tuple(v.shape) for k, v in _large().items()})  # 6 GB, were it made
    assert torch.equal(torch.get_rng_state(), before)
    assert nn.Linear(1, 1).weight.device.type == "cpu"  # all is as before


def _large() -> dict[str, torch.Tensor]:
    with torch.device("meta"):
        return nn.GRU(2**14, 2**14).state_dict()


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: nn.Linear(5, 3), "weight is 3×4 there, and 3×5 by the options"),
        (lambda: nn.Linear(4, 3, bias=False), "bias is 3 there, and missing by the options"),
        (lambda: nn.Sequential(nn.Linear(4, 3)), "0.bias is missing there"),
        (lambda: nn.Linear(2**30, 2**30), "much larger"),
        (lambda: nn.GRU(1, 1, num_layers=2**60), "many more parts"),
        (lambda: nn.ModuleList(nn.Identity() for _ in iter(int, 1)), "many more parts"),
        (lambda: _table(2**31), "much larger"),
    ],
)
def test_what_does_not_fit_is_told(build: Callable[[], nn.Module], said: str) -> None:
    with pytest.raises(UnfitError, match=said):
        check(build, one)
    nn.Linear(2**6, 2**6)  # nothing is bounded any more
    nn.ModuleList(nn.Identity() for _ in range(2000))


def _table(size: int) -> nn.Module:
    """A tensor that is no weight, and grows out of a small one."""
    module = nn.Linear(4, 3)
    module.table = torch.zeros(1).expand(size).clone()  # type: ignore[assignment]
    return module


def _text(task: str) -> dict[str, Any]:
    """Words for the text that a task decides about."""
    found = find.settable(find.find("tasks", task)).get("input")
    return {"input": {"tokenizer": "word"}} if found is not None and isinstance(find.mark(found), find.In) else {}


examples = {
    "relate": [Example((f"a {n}", "b"), str(n % 5 + 1)) for n in range(9)],
    "answer": [Example((f"a {n}", "b"), "a") for n in range(9)],
    "entail": [Example((f"a {n}", "b"), "xy"[n % 2]) for n in range(9)],
    "tag": [Example((f"a {n}",), "X Y") for n in range(9)],
    "classify": [Example((f"a {n}",), "xy"[n % 2]) for n in range(9)],
    "glimpse": [Example((picture(n),), "xy"[n % 2]) for n in range(9)],
    "language": [Example((f"a {n}",), "") for n in range(9)],
    "describe": [Example((f"name[a {n}], place[b]",), "b") for n in range(9)],
    "caption": captions,
    "transcribe": recordings,
}
parts = [
    (task, key, name)
    for task in find.names("tasks")
    for key, parameter in find.settable(find.find("tasks", task)).items()
    if isinstance(mark := find.mark(parameter), find.In) and mark.folder not in ("text", "measure", "search", "fields")
    for name in find.names(mark.folder)
    if name != "pretrained"  # which needs a folder to come from: tests/tasks/test_tasks_reading.py
    if task not in ("agree", "summarise") or (key, name) == ("decoder", "transformer")  # they are as translate
]


@pytest.mark.thin
@pytest.mark.parametrize(("task", "key", "name"), parts)
def test_every_part_can_be_built_without_memory(task: str, key: str, name: str) -> None:
    made: Any = api.make_task(api.configure(task, {**_text(task), key: name}))
    made.learn(examples.get(task, [Example((f"a {n}",), "b") for n in range(9)]))
    try:
        built = made.network()
    except RegardError:
        return  # not with this task
    check(made.network, {key: tuple(value.shape) for key, value in built.state_dict().items()})


small = {
    **sides(dim=8),
    "encoder": {"name": "recurrent", "hidden": 8},
    "decoder": {"name": "recurrent", "embed": 8, "hidden": 16},
    "attention": {"score": {"name": "additive", "hidden": 8}},
}


def hostile(run: Path, change: Callable[[dict[str, Any]], None], tokenizer: Callable[[Any], None] = id) -> None:
    """Change the configuration and the tokenizers of a run."""
    config = tomllib.loads((run / "config.toml").read_text())
    change(config)
    (run / "config.toml").write_text(tomli_w.dumps(config))
    kept = json.loads((run / "tokenizer.json").read_text())
    tokenizer(kept)
    (run / "tokenizer.json").write_text(json.dumps(kept))


@pytest.mark.parametrize(
    ("change", "tokenizer"),
    [
        (lambda config: None, lambda kept: kept["source"].update(dim=65536)),
        (lambda config: config["encoder"].update(hidden=65536, layers=4), id),
        (lambda config: config["decoder"].update(hidden=65536), id),
        (lambda config: config["encoder"].update(layers=1000), id),
        (lambda config: None, lambda kept: kept["source"]["tokenizer"]["model"]["vocab"].update(a=10**9)),
        (lambda config: None, lambda kept: kept["source"]["tokenizer"].update(padding={"strategy": {"Fixed": 10**9}})),
    ],
    ids=["embed", "encoder", "decoder", "layers", "numbers", "padding"],
)
def test_a_small_hostile_run_costs_little_and_ends_in_one_line(tmp_path: Path, change: Any, tokenizer: Any) -> None:
    run = tmp_path / "run"
    config = api.configure("translate", small)
    made: Any = api.make_task(config)
    made.learn(splits().train)
    Run.create(run, config, made.keep(), made.network())
    api.load(run, "cpu")  # so far it is one that loads
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    hostile(run, change, tokenizer)
    with pytest.raises(RegardError, match=r"run is a damaged run \(") as told:
        api.load(run, "cpu")
    assert "\n" not in str(told.value)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 2**10


@pytest.mark.sweep
def test_files_that_are_no_files_or_too_large_end_in_one_line(tmp_path: Path) -> None:
    config = api.configure("translate", small)
    made: Any = api.make_task(config)
    made.learn(splits().train)
    for name in ("config.toml", "tokenizer.json", "model.safetensors"):
        for number, other in enumerate((Path("/dev/zero"), "pipe", "sparse")):
            run = tmp_path / f"{name}{number}"
            Run.create(run, config, made.keep(), made.network())
            (run / name).rename(run / "aside")
            if isinstance(other, Path):
                (run / name).symlink_to(other)
            elif other == "pipe":
                os.mkfifo(run / name)
            else:
                with (run / name).open("wb") as file:
                    file.truncate(2**40)
            with pytest.raises(RegardError, match=r"not a regular file|has 1,099|is not a run|damaged run"):
                api.load(run, "cpu")
            (run / name).unlink()
            (run / name).symlink_to(run / "aside")  # but a link to a file is as good as the file
            api.load(run, "cpu")


@pytest.mark.sweep
def test_a_run_goes_on_only_with_a_model_of_about_its_size(tmp_path: Path) -> None:
    data, run = tmp_path / "pairs.tsv", tmp_path / "run"
    data.write_text("".join(f"{n}\t{n + 1}\n" for n in range(100, 140)))
    tiny = {**small, "train": {"steps": 1, "device": "cpu"}}
    api.train("translate", str(data), run, quiet=True, **tiny)
    hostile(run, lambda config: config["encoder"].update(hidden=65536, layers=9))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RegardError, match=r"does not fit config.toml: the options ask for much larger"):
        api.train("translate", out=run, quiet=True)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 2**10
