"""`regard look`: in the terminal, or as a file by its ending."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from command_line import Regard

from regard.api import load
from regard.cli.look import kinds
from regard.errors import RegardError
from regard.look.attention_map import AttentionMap


def test_in_the_terminal(regard: Regard, run: Path) -> None:
    said = regard("look", run, "abc", "fed", "--beam", "2")
    assert (said.code, said.err) == (0, "")
    lines = said.out.split("\n")
    assert lines[0] == f"abc → {load(run)('abc', beam_size=2).text}"
    assert lines[2].split() == ["a", "b", "c", "</s>"]
    assert any(line.startswith("fed → ") for line in lines)
    assert "\x1b" not in said.out


@pytest.mark.parametrize("kind", [kind for kind in kinds if kind != ".gif"])  # which is for pictures
def test_as_a_file(regard: Regard, run: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"look{kind}"
    said = regard("look", run, "abc", "-o", path)
    assert (said.code, said.err) == (0, "")
    assert said.out.endswith(f"written to {path}\n")
    start = {".png": b"\x89PNG", ".svg": b"<?xml", ".html": b"<!doctype html>", ".json": b"{", ".txt": b"abc"}[kind]
    assert path.read_bytes()[: len(start)].lower() == start.lower()
    if kind == ".svg":
        said = f"→ {load(run)('abc').text}"
        assert all(f">{text}<" in path.read_text().replace("\n", "") for text in ("abc", said, "source", "target"))
    if kind == ".json":
        assert [token["text"] for token in json.loads(path.read_text())["columns"]] == ["a", "b", "c", "</s>"]


def test_every_kind_is_one_that_an_attention_map_can_be_saved_as(tmp_path: Path) -> None:
    with pytest.raises(RegardError) as error:
        AttentionMap(np.zeros((0, 0)), (), ()).save(tmp_path / "x.doc")
    assert str(error.value).endswith(", ".join(kinds))


def test_several_texts_make_one_page(regard: Regard, run: Path, tmp_path: Path) -> None:
    said = regard("look", run, "abcab", "fed<b>", "-o", tmp_path / "page.html")
    assert said.code == 0
    page = (tmp_path / "page.html").read_text()
    assert "abcab" in page
    assert "fed\\u003cb\\u003e" in page
    assert "2 texts for one .png" in regard("look", run, "a", "b", "-o", tmp_path / "page.png").line()


def test_what_cannot_be_shown(regard: Regard, run: Path, tmp_path: Path) -> None:
    assert "expected a name ending in .png" in regard("look", run, "abc", "-o", tmp_path / "look.doc").line()
    (tmp_path / "file").write_text("mine")
    assert "cannot write" in regard("look", run, "abc", "-o", tmp_path / "file" / "x.json").line()
    assert "input 1: 1,501 tokens" in regard("look", run, "a" * 1500).line()
    assert regard("look", run, " ").line() == "an empty text; expected at least one word"
    assert regard("look", run).line() == "missing argument 'TEXT'; see regard look --help"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_text_is_never_obeyed(regard: Regard, run: Path) -> None:
    said = regard("look", run, "[red]a\x1b[1m")
    assert said.code == 0
    assert "[red]a\\x1b[1m → " in said.out
    assert "\x1b" not in said.out


def test_two_runs_beside_each_other(regard: Regard, run: Path, tmp_path: Path) -> None:
    other, path = tmp_path / "copy", tmp_path / "look.html"
    shutil.copytree(run, other)
    said = regard("look", run, "abc", "fed", "--beside", other, "-o", path)
    assert (said.code, said.err) == (0, "")
    assert said.out.count("abc → ") == 2
    text = path.read_text()
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert [one["name"] for one in data["runs"]] == [run.resolve().name, "copy"]
    assert [(one["run"], one["inputs"]) for one in data["items"]] == [
        (0, ["abc"]), (1, ["abc"]), (0, ["fed"]), (1, ["fed"])
    ]  # fmt: skip
    assert regard("look", run, "abc", "--beside", other).code == 2


def test_layers_are_of_a_transformer(regard: Regard, run: Path) -> None:
    said = regard("look", run, "abc", "--layers", "all")
    assert said.code == 2
    assert said.err == "regard: layers: this model has none to choose from; expected a Transformer\n"
