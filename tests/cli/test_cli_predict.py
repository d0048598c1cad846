"""`regard predict`: lines in, lines out, in order, as they come."""

import gzip
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import Drip, Regard

from regard.api import load
from regard.cli import inputs
from regard.cli.main import answer


def test_order_empty_lines_and_ends_of_lines(regard: Regard, run: Path) -> None:
    texts = ["abc", "", "fedcb", " ", "a", "abc"]
    expected = [load(run)(text).text if text.strip() else "" for text in texts]
    said = regard("predict", run, stdin="\ufeffabc\n\r\nfedcb\r\n \na\nabc".encode())
    assert (said.code, said.err) == (0, "")
    assert said.out == "".join(f"{line}\n" for line in expected)


def test_nothing_in_nothing_out(regard: Regard, run: Path) -> None:
    assert regard("predict", run) == regard("predict", run, "-")
    assert regard("predict", run).out == ""


def test_only_a_line_feed_ends_a_line(regard: Regard, run: Path) -> None:
    assert regard("predict", run, stdin="ab\u2028c\x0bd\x85e\rf\n".encode()).out.count("\n") == 1


def test_a_file(regard: Regard, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "together", 2)
    path = tmp_path / "lines.txt"
    path.write_text("abc\n\nfed\nab\nba\n")
    assert regard("predict", run, path).out == regard("predict", run, stdin=path.read_bytes()).out
    assert regard("predict", run, path).out.count("\n") == 5
    assert regard("predict", run, tmp_path / "no.txt").line().startswith(f"{tmp_path / 'no.txt'}: no such file")
    assert regard("predict", run, tmp_path).line() == f"{tmp_path}: is a folder; expected a file"


def test_json(regard: Regard, run: Path) -> None:
    lines = regard("predict", run, "--json", "--n-best", "3", stdin=b"abc\n\n").out.splitlines()
    first, second = map(json.loads, lines)
    assert set(first) == {"source", "text", "log_prob", "log_prob_per_token", "others"}
    assert (first["source"], len(first["others"])) == ("abc", 2)
    scores = [first["log_prob_per_token"], *(other["log_prob_per_token"] for other in first["others"])]
    assert scores == sorted(scores, reverse=True)
    assert second == {"source": "", "text": "", "log_prob": None, "log_prob_per_token": None}
    assert "others" not in json.loads(regard("predict", run, "--json", "--beam", "2", stdin=b"abc\n").out)


def test_answers_come_as_soon_as_they_can(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second piece is read only when the first line's answer is out; half a line waits for its rest."""
    pieces, seen = [b"abc\nfe", b"d\n", b""], []

    def read1(size: int) -> bytes:
        seen.append(capsys.readouterr().out.count("\n"))
        return pieces[len(seen) - 1]

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read1=read1, read=None)))
    assert answer(["predict", str(run)]) == 0
    assert seen == [0, 1, 1]


def test_samples_are_the_same_however_the_input_comes(
    run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "together", 2)
    words = ["predict", str(run), *["--sample", "--temperature", "2", "--top-k", "9", "--top-p", "0.99", "--seed", "4"]]
    said = []
    for piece in (6, 7, 100):
        read = Drip(b"abcde\nfedcb\nabcde\nfedcb\nabcde\n", piece).read
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read1=read, read=None)))
        assert answer(words) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] == said[2]
    assert len(set(said[0].split("\n"))) > 2  # neither each line nor each chunk draws alike


def test_packed_lines(regard: Regard, run: Path, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt.gz"
    path.write_bytes(gzip.compress(b"abc\n\nfed\n"))
    assert regard("predict", run, path).out == regard("predict", run, stdin=b"abc\n\nfed\n").out
    path.write_bytes(gzip.compress(b"abc\n" * 10)[:-9])
    assert regard("predict", run, path).line().startswith(f"{path}: broken gzip")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--n-best", "3"], "--n-best 3 without --json"),
        (["--seed", "3"], "--seed without --sample"),
        (["--sample", "--beam", "3"], "--sample and --beam"),
        (["--sample", "--temperature", "0"], "--temperature: got 0.0; expected a number from 1e-06 to 1,000,000"),
        (["--beam", "0"], "--beam: got 0; expected a whole number from 1 to 1,000"),
        (["--json", "--n-best", "0"], "--n-best: got 0; expected a whole number from 1 to 1,000"),
        (["--beam", "wide"], "--beam"),
    ],
)
def test_wishes_that_cannot_be_met(regard: Regard, run: Path, words: list[str], found: str) -> None:
    assert found in regard("predict", run, *words, stdin=b"abc\n").line()
