"""Limits and groups of a search on the command line: text becomes tokens, and what cannot be is one line."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Regard

from regard.api import configure, load
from regard.search import Rules, compiled
from regard.tasks.translate import Translate

LINES = b"abc\nfedcb\nab\n"


def lines(regard: Regard, run: Path, *words: object) -> list[str]:
    said = regard("predict", run, *words, stdin=LINES)
    assert (said.code, said.err) == (0, "")
    return said.out.splitlines()


@pytest.mark.parametrize("how", [(), ("--beam", 3), ("--sample", "--seed", 3)])
def test_limits_under_every_search(regard: Regard, run: Path, tmp_path: Path, how: tuple[object, ...]) -> None:
    assert all(len(text) >= 12 for text in lines(regard, run, *how, "--min-length", 12))
    assert all(len(set(text)) == len(text) for text in lines(regard, run, *how, "--no-repeat-ngram", 1))
    assert all(text.startswith("afa") for text in lines(regard, run, *how, "--prefix", "afa"))
    path = tmp_path / "allowed.txt"
    path.write_bytes(b"cba\r\n\nbcdef\nba")
    assert set(lines(regard, run, *how, "--allowed", path)) <= {"cba", "bcdef", "ba"}
    together = lines(regard, run, *how, "--allowed", path, "--prefix", "b", "--min-length", 3)
    assert together == ["bcdef"] * 3


def test_the_answer_is_the_likeliest_of_those_allowed(regard: Regard, run: Path, tmp_path: Path) -> None:
    path = tmp_path / "allowed.txt"
    path.write_text("cba\nbcdef\nba\n")
    first, *_ = (json.loads(line) for line in lines(regard, run, "--allowed", path, "--json", "--n-best", 3))
    found = {one["text"]: one["log_prob_per_token"] for one in (first, *first["others"])}
    assert set(found) == {"cba", "bcdef", "ba"}
    assert list(found.values()) == sorted(found.values(), reverse=True)
    model = load(run)
    assert model("abc", allowed=["bcdef", "ba"]).text == next(text for text in found if text != "cba")


def test_banned_words(regard: Regard, run: Path, tmp_path: Path) -> None:
    """The runs' answers to LINES, given word by word, in a file, and in Python."""
    first, second, _ = lines(regard, run)
    without = lines(regard, run, "--banned", first, "--banned", second)
    assert without[0] != first
    assert without[1] != second
    path = tmp_path / "words.txt"
    path.write_text(f"{second}\n\n{first}\n")
    assert lines(regard, run, "--banned", f"@{path}") == without
    given = ["abc", "fedcb", "ab"]
    assert [one.text for one in load(run).predict(given, banned=[first, second])] == without
    assert lines(regard, run, "--banned", first, "--sample", "--seed", 1)[0] != first


def test_python_takes_the_same_words_as_the_command_line(regard: Regard, run: Path, tmp_path: Path) -> None:
    path, model = tmp_path / "allowed.txt", load(run)
    path.write_text("cba\nbcdef\nba\nbab\n")
    for words, options in (
        (("--prefix", "fa", "--min-length", 9), {"prefix": "fa", "min_length": 9}),
        (("--allowed", path, "--banned", "cba"), {"allowed": ["cba", "bcdef", "ba", "bab"], "banned": ["cba"]}),
        (("--no-repeat-ngram", 2, "--beam", 3), {"no_repeat_ngram": 2, "beam_size": 3}),
        (("--groups", 3, "--diversity", 2), {"groups": 3, "diversity": 2.0}),
    ):
        assert lines(regard, run, *words) == [one.text for one in model.predict(["abc", "fedcb", "ab"], **options)]


def test_an_allowed_set_is_compiled_once_for_all_predictions(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, trees = load(run), set()
    before = compiled.cache_info().misses
    begin = Rules.begin

    def seen(rules: Rules, beam: int) -> Any:
        trees.add(id(rules.tree))
        return begin(rules, beam)

    monkeypatch.setattr(Rules, "begin", seen)
    for text in ("abc", "fedcb", "ab"):
        assert model(text, allowed=["cba", "bcdef", "ba"]).text in ("cba", "bcdef", "ba")
    assert len(trees) == 1
    assert compiled.cache_info().misses == before + 1


def test_groups(regard: Regard, run: Path) -> None:
    options = ("--groups", 3, "--diversity", 5, "--json", "--n-best", 3)
    for line in map(json.loads, lines(regard, run, *options)):
        texts = [line["text"], *(other["text"] for other in line["others"])]
        assert len({text[:1] for text in texts}) == 3  # five is more than any token is worth here
    assert lines(regard, run, "--groups", 1) == lines(regard, run, "--beam", 5)


def test_as_options_of_a_run(run: Path) -> None:
    search = configure("translate", {"search": {"groups": 5, "limits": {"no_repeat_ngram": 3}}})["search"]
    assert (search["groups"], search["limits"]["no_repeat_ngram"]) == (5, 3)
    assert "limits" not in configure("translate", {})["search"]
    assert len(load(run)("ab", limits={"min_length": 9}).text) >= 9


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["--diversity", "1"], "--diversity without --groups"),
        (["--groups", "2", "--sample"], "--sample and --groups"),
        (["--groups", "0"], "--groups: got 0; expected a whole number from 1 to 1,000"),
        (
            ["--groups", "2", "--beam", "5"],
            "groups=2 with beam_size=5; expected a number of groups that divides beam_size",
        ),
        (["--groups", "2", "--diversity", "-1"], "--diversity: got -1.0; expected a number from 0 to 1,000,000"),
        (["--min-length", "-1"], "--min-length: got -1"),
        (["--no-repeat-ngram", "-2"], "--no-repeat-ngram: got -2"),
        (["--prefix", "aß"], "prefix 'aß': 'ß' is not in the target vocabulary"),
        (["--prefix", "abc" * 40], "sentence 0 of the batch: a prefix longer than its greatest length"),
        (["--allowed", "none.txt"], "none.txt: no such file"),
        (["--banned", "@none.txt"], "none.txt: no such file"),
        (["--banned", " "], "banned: an empty word"),
    ],
)
def test_wishes_that_cannot_be_met(regard: Regard, run: Path, words: list[str], found: str) -> None:
    assert found in regard("predict", run, "--strict", *words, stdin=b"abc\n").line()


def test_files_that_cannot_be_used(regard: Regard, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "allowed.txt"
    for text, found in {
        "": ": no texts; expected one per line",
        "\n \n": ": no texts; expected one per line",
        "ab\n\naxb\n": "allowed answer 'axb': 'x' is not in the target vocabulary",
        "a" * 60: "sentence 0 of the batch: no allowed answer is short enough",
    }.items():
        path.write_text(text)
        assert found in regard("predict", run, "--strict", "--allowed", path, stdin=b"abc\n").line()
    monkeypatch.setattr(Translate, "capabilities", frozenset())
    assert "translate has no search" in regard("predict", run, "--allowed", path, stdin=b"abc\n").line()
    assert "translate has no search" in regard("predict", run, "--min-length", 3, stdin=b"abc\n").line()
    assert "translate has no search" in regard("predict", run, "--banned", "a", stdin=b"abc\n").line()
