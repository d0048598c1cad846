"""`regard predict RUN "a text"`: what is a file and what a text, and that no mistyped name is translated."""

import json
from pathlib import Path

import pytest
from command_line import Regard

from regard.cli.arguments import looks_like_path


@pytest.mark.parametrize(
    ("argument", "path"),
    [
        *((one, True) for one in ("lines.tx", "lines.txt", "my lines.txt", "a/b", "~x", "C:\\x", "../x", "x.gz")),
        *((one, False) for one in ("abc", "and so on.", "3.5", "yes/no, or both", "Dr. No", "…", "你好。", "-")),
    ],
)
def test_what_looks_like_a_path(argument: str, path: bool) -> None:
    assert looks_like_path(argument) is path


def test_texts_are_answered(regard: Regard, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    lines = regard("predict", run, stdin=b"ab cd\nfed\n").out
    said = regard("predict", run, "ab cd", "fed")
    assert (said.code, said.out) == (0, lines)
    assert said.err == "'fed': no such file, so read as text (--text says that it is one)\n"
    assert regard("predict", run, "ab cd").err == ""
    for flag in ("--text", "-t"):
        assert (regard("predict", run, "ab cd", "fed", flag).out, regard("predict", run, flag, "fed").err) == (
            lines,
            "",
        )
    [found] = map(json.loads, regard("predict", run, "ab\tcd", "--json").out.splitlines())
    assert found["source"] == "ab\tcd"


def test_an_argument_that_exists_is_a_file(
    regard: Regard, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ab cd").write_text("fed\nab\n")
    assert regard("predict", run, "ab cd").out == regard("predict", run, stdin=b"fed\nab\n").out
    assert regard("predict", run, "ab cd", "--text").out == regard("predict", run, stdin=b"ab cd\n").out
    said = regard("predict", run, "ab cd", "a text").line()
    assert said == "ab cd is a file, and 'a text' is not; expected only files, or only texts"


def test_a_mistyped_name_is_not_translated(
    regard: Regard, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lines.txt").write_text("fed\n")
    said = regard("predict", run, "lines.tx").line()
    assert said == "lines.tx: no such file; did you mean 'lines.txt'?; add --text if it is a text"
    assert regard("predict", run, "a text", "no/lines").line().startswith("no/lines: no such file")
    assert regard("predict", run, "lines.tx", "--text").code == 0


def test_wrong_texts(regard: Regard, run: Path) -> None:
    assert regard("predict", run, "--text").line().startswith("--text without a text")
    assert regard("predict", run, "").line() == "an empty text; expected at least one character"
    assert regard("predict", run, "-t", "a text", " ").line() == "an empty text; expected at least one character"
    said = regard("predict", run, "a text \udcff", "ab cd")  # what the terminal did not write as UTF-8
    assert "Traceback" not in said.err


def test_texts_are_scored_with_their_targets(regard: Regard, run: Path) -> None:
    lines = regard("predict", run, "--score", stdin=b"ab\tba\ncd\tdc\n").out
    assert regard("predict", run, "--score", "-t", "ab", "ba", "cd", "dc").out == lines
    assert regard("predict", run, "--score", "-t", "ab").line() == "1 text; expected 2 each (source, target)"
