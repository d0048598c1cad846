"""`regard predict --score` and `regard look --target`: answers that are given instead of found."""

import json
import math
from pathlib import Path

import pytest
from command_line import Regard, contents, tiny

from regard.api import load
from regard.cli.look import kinds

lines = "abc\tcba\n\nfedcb\tbcdef\n \nab\taaaa"


def test_a_line_a_pair(regard: Regard, run: Path, tmp_path: Path) -> None:
    pairs = [("abc", "cba"), ("fedcb", "bcdef"), ("ab", "aaaa")]
    expected = [one.log_prob for one in load(run).score(pairs)]
    said = regard("predict", run, "--score", stdin=lines.encode())
    assert (said.code, said.err) == (0, "")
    first, empty, second, blank, third, end = said.out.split("\n")
    assert [float(one) for one in (first, second, third)] == pytest.approx(expected, rel=1e-4)
    assert empty == blank == end == ""
    (tmp_path / "pairs.tsv").write_text(lines)
    assert regard("predict", run, tmp_path / "pairs.tsv", "--score").out == said.out


def test_an_answer_has_one_log_prob_whether_found_or_given(regard: Regard, run: Path) -> None:
    """The sum and the mean each have a name, and the same name always means the same number."""
    found = json.loads(regard("predict", run, "--json", "--beam", "3", stdin=b"abc\n").out)
    scored = json.loads(regard("predict", run, "--score", "--json", stdin=f"abc\t{found['text']}\n".encode()).out)
    assert scored["log_prob"] == pytest.approx(found["log_prob"], abs=1e-5)
    assert scored["log_prob_per_token"] == pytest.approx(found["log_prob_per_token"], abs=1e-5)
    assert scored["log_prob"] == pytest.approx(sum(one["log_prob"] for one in scored["tokens"]), abs=1e-5)
    assert scored["log_prob_per_token"] == pytest.approx(scored["log_prob"] / len(scored["tokens"]), abs=1e-5)
    plain = regard("predict", run, "--score", stdin=f"abc\t{found['text']}\n".encode()).out
    assert float(plain) == pytest.approx(found["log_prob"], abs=1e-4)
    other = load(run)(
        "abc", beam_size=3, length_penalty=0.5
    )  # a penalty on length changes the ranking, never what a name means
    [known] = load(run).score([("abc", other.text)])
    assert (other.log_prob, other.log_prob_per_token) == pytest.approx(
        (known.log_prob, known.log_prob_per_token), abs=1e-5
    )


def test_json(regard: Regard, run: Path) -> None:
    first, empty, *_ = map(
        json.loads, regard("predict", run, "--score", "--json", stdin=lines.encode()).out.splitlines()
    )
    assert set(first) == {"source", "target", "log_prob", "log_prob_per_token", "tokens"}
    assert (first["source"], first["target"]) == ("abc", "cba")
    assert [one["text"] for one in first["tokens"]] == ["c", "b", "a", "</s>"]
    assert sum(one["log_prob"] for one in first["tokens"]) == pytest.approx(first["log_prob"], abs=1e-5)
    assert empty == {"source": "", "target": "", "log_prob": None, "log_prob_per_token": None, "tokens": []}


@pytest.mark.parametrize(
    ("words", "data", "found"),
    [
        ([], "abc\tcba\nabc\n", "standard input:2: 1 field; expected 2 (source TAB target)"),
        ([], "abc\tcba\tx\n", "standard input:1: 3 fields; expected 2 (source TAB target)"),
        ([], "abc\t\n", "standard input:1: an empty target; expected at least one character"),
        ([], "\tabc\n", "standard input:1: an empty source; expected at least one character"),
        ([], "\t\n", "standard input:1: an empty source; expected at least one character"),
        ([], f"a\t{'a' * 1500}\n", "standard input:1: 1,501 tokens in the target; expected at most 1,024"),
        (["--beam", "3"], "", "--score does not search; remove the search options"),
        (["--sample"], "", "--score does not search"),
        (["--prefix", "a"], "", "--score does not search"),
        (["--stream"], "", "--score does not search"),
    ],
)
def test_wishes_that_cannot_be_met(regard: Regard, run: Path, words: list[str], data: str, found: str) -> None:
    assert found in regard("predict", run, "--score", "--strict", *words, stdin=data.encode()).line()


def test_a_look_at_what_is_given(regard: Regard, run: Path) -> None:
    said = regard("look", run, "abc", "fed", "--target", "cb", "--target", "d")
    assert (said.code, said.err) == (0, "")
    first, second = load(run).score([("abc", "cb"), ("fed", "d")])
    shown = said.out.split("\n")
    assert shown[0] == "abc → cb"
    assert shown[2].split() == ["a", "b", "c", "</s>"]
    assert [line.split()[0] for line in shown[3:6]] == ["c", "b", "</s>"]
    assert (
        f"log_prob = {first.log_prob:.4g}, log_prob_per_token = {first.log_prob_per_token:.4g}; "
        "probability of each token:\n" in said.out
    )
    assert "  " + "  ".join(f"{token.text} {math.exp(p):.2f}" for token, p in first.tokens) + "\n" in said.out
    assert f"log_prob = {second.log_prob:.4g}," in said.out


@pytest.mark.parametrize("kind", [kind for kind in kinds if kind != ".gif"])  # which is for pictures
def test_as_a_file(regard: Regard, run: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"look{kind}"
    said = regard("look", run, "abc", "--target", "fff", "-o", path)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("abc → fff\nlog_prob = -")
    assert said.out.endswith(f"written to {path}\n")
    if kind == ".json":
        assert [token["text"] for token in json.loads(path.read_text())["rows"]] == ["f", "f", "f", "</s>"]
    if kind == ".html":
        [item] = json.loads(path.read_text().partition('id="data">')[2].partition("</script>")[0])["items"]
        assert (item["answer"], item["steps"]) == ("fff", None)
        assert item["log_prob"] == pytest.approx(load(run).score([("abc", "fff")])[0].log_prob)


def test_looks_that_cannot_be(regard: Regard, run: Path) -> None:
    line = regard("look", run, "abc", "--target", "").line()
    assert line == "input 1: an empty target; expected at least one character"
    assert regard("look", run, "a", "b", "--target", "c").line() == "1 target for 2 texts; expected one target per text"
    line = regard("look", run, "a", "--target", "c", "--beam", 2).line()
    assert line == "--target and --beam; expected only one of them"
    assert "--target and --features" in regard("look", run, "a", "--target", "c", "--features", 2).line()


def test_a_score_without_queries_is_told_before_a_run_is_made(regard: Regard, pairs: Path, tmp_path: Path) -> None:
    options = [one for one in tiny if not one.startswith("attention")]
    said = regard(
        "train", "translate", "--data", pairs, "--out", tmp_path / "run", *options, "attention.score=learned_query"
    )
    assert said.line().startswith("score learned_query in a decoder; expected a score that takes a query")
    assert contents(tmp_path) == {}


@pytest.mark.sweep
def test_a_language_model_scores_texts_alone(regard: Regard, tmp_path: Path) -> None:
    data, folder = tmp_path / "lines.txt", tmp_path / "run"
    data.write_text("the cat sat\na dog ran\n" * 20)
    options = ("text.tokenizer=word", "network=transformer", "network.size=8", "network.layers=1", "network.heads=2")
    assert regard("train", "language", "--data", data, "--out", folder, "--quiet", *options, "train.steps=2").code == 0
    texts = ["the cat ran", "a dog"]
    said = regard("predict", folder, "--score", stdin="".join(f"{text}\n" for text in texts).encode())
    assert said.err == ""
    assert [float(one) for one in said.out.split()] == pytest.approx(
        [one.log_prob for one in load(folder).score(texts)], rel=1e-4
    )
    assert "takes no target; remove it, or use predict --score" in regard("look", folder, "a", "--target", "dog").line()
    assert regard("look", folder, "the cat", "--layers", "1").code == 0
