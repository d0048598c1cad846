"""An answer for each line in its place, whatever the others are."""

import json
from pathlib import Path

from command_line import Regard

from regard.api import load

broken = b"abc\nfe\xff\n\n" + b"a" * 1500 + b"\nfed\n\xe9\nab"
complaints = [
    "regard: standard input:2: byte 3 of the line is 0xff; expected UTF-8; convert the input to UTF-8",
    "regard: standard input:4: 1,501 tokens in the source; expected at most 1,024; "
    "shorten it, or train with source.max_length=1501",
    "regard: standard input:6: byte 1 of the line is 0xe9; expected UTF-8; convert the input to UTF-8",
    "regard: 3 of 7 lines failed",
]


def test_a_line_that_cannot_be_answered_leaves_the_others_as_they_are(regard: Regard, run: Path) -> None:
    said = regard("predict", run, stdin=broken)
    one, two, three = (load(run)(text).text for text in ("abc", "fed", "ab"))
    assert (said.code, said.out) == (3, f"{one}\n\n\n\n{two}\n\n{three}\n")
    assert said.err.splitlines() == complaints


def test_json_says_why_a_line_has_no_answer(regard: Regard, run: Path) -> None:
    said = regard("predict", run, "--json", stdin=broken)
    found = [json.loads(line) for line in said.out.splitlines()]
    assert (said.code, len(found), said.err.splitlines()) == (3, 7, complaints)
    nothing = {"text": None, "log_prob": None, "log_prob_per_token": None}
    assert found[1] == {"source": None, **nothing, "error": complaints[0].removeprefix("regard: ")}
    assert found[3] == {"source": "a" * 1500, **nothing, "error": complaints[1].removeprefix("regard: ")}
    assert all("error" not in found[row] for row in (0, 2, 4, 6))


def test_strict_stops_at_the_first(regard: Regard, run: Path) -> None:
    said = regard("predict", run, "--strict", stdin=broken)
    assert (said.code, said.out) == (2, f"{load(run)('abc').text}\n")
    assert said.err.splitlines() == complaints[:1]


def test_given_answers_too(regard: Regard, run: Path) -> None:
    data = b"abc\tcba\nabc\n\xff\tabc\nfed\tdef\n"
    said = regard("predict", run, "--score", stdin=data)
    first, second = (f"{one.log_prob:.6g}" for one in load(run).score([("abc", "cba"), ("fed", "def")]))
    assert (said.code, said.out) == (3, f"{first}\n\n\n{second}\n")
    assert [line.split(": ")[1] for line in said.err.splitlines()[:2]] == ["standard input:2", "standard input:3"]
    found = [json.loads(line) for line in regard("predict", run, "--score", "--json", stdin=data).out.splitlines()]
    assert found[1] == {
        "source": None,
        "target": None,
        "log_prob": None,
        "log_prob_per_token": None,
        "tokens": [],
        "error": "standard input:2: 1 field; expected 2 (source TAB target)",
    }
    assert "error" not in found[3]
