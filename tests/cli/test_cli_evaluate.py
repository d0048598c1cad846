"""`regard evaluate`: the run's own test split, another split, or a file; a table or one JSON object."""

import json
import shutil
from pathlib import Path

import pytest
from command_line import Regard, contents

from regard.api import load


def test_json_is_one_object_and_nothing_else(regard: Regard, run: Path) -> None:
    before = contents(run)
    said = regard("evaluate", run, "--json")
    assert (said.code, said.err) == (0, "")
    assert said.out.count("\n") == 1
    figures = json.loads(said.out)
    model = load(run)
    test = model.data().test
    figures.pop("warnings", None)  # thirty steps may not make a model that looks anywhere
    assert figures == {"split": "test", "examples": len(test), **model.evaluate(test)}
    assert 0 <= figures["exact_match"] <= 1
    assert contents(run) == before


def test_a_table(regard: Regard, run: Path) -> None:
    lines = regard("evaluate", run, "--split", "valid", "--beam", "2", "--device", "cpu").out.split("\n")
    assert lines[0].startswith("valid, ")
    assert lines[1].split()[0] == "exact_match"


def test_a_file(regard: Regard, run: Path, tmp_path: Path) -> None:
    path = tmp_path / "two.tsv"
    path.write_text("abc\tcba\nfed\tdef\n")
    said = regard("evaluate", run, "--data", path, "--json")
    assert json.loads(said.out)["examples"] == 2
    assert json.loads(said.out)["data"] == str(path)
    path.write_text("abc\n")
    assert f"{path}:1: 1 field" in regard("evaluate", run, "--data", path).line()
    assert "one of them" in regard("evaluate", run, "--data", path, "--split", "test").line()


def test_several_references(regard: Regard, run: Path, tmp_path: Path) -> None:
    """What the run answers is right where it is any of the references: a list, or lines that are grouped."""
    answers = [one.text for one in load(run).predict(["abc", "fed"])]
    rows, path = [{"source": "abc", "target": ["c", answers[0]]}, {"source": "fed", "target": ["d"]}], tmp_path / "two"
    path.with_suffix(".jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = json.loads(regard("evaluate", run, "--data", path.with_suffix(".jsonl"), "--json").out)
    assert (found["examples"], found["exact_match"]) == (2, 0.5)
    lines = path.with_suffix(".tsv")
    lines.write_text(f"abc\tc\nfed\td\nabc\t{answers[0]}\n")
    assert json.loads(regard("evaluate", run, "--data", lines, "--json").out)["examples"] == 3
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    config = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text(config.replace("group = false", "group = true"))
    found = json.loads(regard("evaluate", folder, "--data", lines, "--json").out)
    assert (found["examples"], found["exact_match"]) == (2, 0.5)


def test_an_error_report(regard: Regard, run: Path, pairs: Path, tmp_path: Path) -> None:
    before, out = contents(run), tmp_path / "report"
    said = regard("evaluate", run, "--data", pairs, "--errors", "-o", out, "--device", "cpu")
    assert (said.code, said.err) == (0, "")
    assert said.out.rstrip().split("\n")[-1].startswith(f"error report: {out}/index.html, with plots")
    found = json.loads((out / "errors.json").read_text())
    assert (found["examples"], found["data"], len(found["worst"])) == (60, str(pairs), 50)
    assert found["worst"][0]["scores"]["loss"] > 0
    assert {row["where"] for row in found["worst"]} <= {f"{pairs}:{line}" for line in range(1, 61)}
    assert "Worst examples" in (out / "index.html").read_text()
    assert contents(run) == before


def test_an_error_report_that_cannot_be_written(regard: Regard, run: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "cannot write to" in regard("evaluate", run, "--errors", "-o", tmp_path / "file").line()
    assert regard("evaluate", run, "-o", tmp_path).line() == "--out without --errors; add --errors to write a report"


def test_without_a_test_split_valid_is_measured(regard: Regard, run: Path, pairs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder)
    (tmp_path / "valid.tsv").write_text("abc\tcba\n")
    config = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text(config.replace('valid = ""', f'valid = "{tmp_path / "valid.tsv"}"'))
    assert regard("evaluate", folder).out.startswith("valid (the run has no test set), 1 example\n")
    assert json.loads(regard("evaluate", folder, "--json").out)["split"] == "valid"
    assert "has no test split" in regard("evaluate", folder, "--split", "test").line()


@pytest.mark.parametrize(
    ("name", "damage", "found"),
    [
        ("model.safetensors", lambda data: data[: len(data) // 2], "is a damaged run"),
        ("model.safetensors", lambda data: b"", "is a damaged run"),
        ("model.safetensors", None, "is a damaged run"),
        ("config.toml", lambda data: b"[" + data, "is a damaged run"),
        ("config.toml", lambda data: data.replace(b'"recurrent"', b'"recurent"'), "did you mean 'recurrent'?"),
        ("config.toml", None, "is not a run: it has no config.toml"),
        ("tokenizer.json", lambda data: data[:-9], "is a damaged run"),
        ("tokenizer.json", lambda data: b"{}", "is a damaged run"),
        ("tokenizer.json", lambda data: data.replace(b'"model"', b'"muddle"'), "tokeni"),
    ],
)
@pytest.mark.parametrize("verb", ["evaluate", "predict", "look", "info"])
def test_a_damaged_run(
    regard: Regard, run: Path, tmp_path: Path, verb: str, name: str, damage: object, found: str
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("state"))
    if damage is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(damage((folder / name).read_bytes()))  # type: ignore[operator]
    before = contents(folder)
    assert found in regard(verb, folder, *(["abc"] if verb == "look" else [])).line()
    assert contents(folder) == before


def test_a_folder_that_is_no_run(regard: Regard, tmp_path: Path) -> None:
    assert regard("evaluate", tmp_path).line().startswith(f"{tmp_path} is not a run")
    assert regard("evaluate", tmp_path / "no").line().startswith(f"{tmp_path / 'no'} does not exist")


def test_a_device_that_is_not_there(regard: Regard, run: Path) -> None:
    assert "device 'cuda:99' cannot be used here" in regard("evaluate", run, "--device", "cuda:99").line()


def test_code_that_a_run_names_is_run_only_where_it_is_trusted(regard: Regard, run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(run, folder, ignore=shutil.ignore_patterns("state"))
    config = (folder / "config.toml").read_text()
    (folder / "config.toml").write_text(config.replace('"recurrent"', '"regard.encode.recurrent.Recurrent"', 1))
    for verb in ("evaluate", "predict", "info"):
        assert "which is not part of regard" in regard(verb, folder).line()
    assert "which is not part of regard" in regard("look", folder, "abc").line()
    assert "which is not part of regard" not in regard("predict", folder, "--trust").err
