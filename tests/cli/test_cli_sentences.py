"""Tasks of one sentence and of two from the command line: train → evaluate → predict → look."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from command_line import Regard, contents

from regard.api import Model, load
from regard.cli.main import answer
from regard.errors import RegardError
from regard.look.attention_map import AttentionMap
from regard.regions import Token
from tiers import sweep_but

small = [
    *("encoder=bigru", "encoder.hidden=8", "input.embed.dim=8", "dropout=0.0", "train.device=cpu"),
    *("train.steps=8", "train.validate_every=4", "train.batch_size=16", "train.lr=0.02", "train.warmup=2"),
]
pooled = [*small, "pool=attention"]
choosing = [*small, "encoder=resan", "encoder.soft=0.25", "encoder.start=-5.0"]  # few tokens are chosen
tasks = {"classify": pooled, "entail": pooled, "relate": pooled, "tag": small}
pair = ("the red dog runs", "the old house stands")


def sentence(random: Random) -> str:
    words = random.choice(["red", "blue", "old", "new"]), random.choice(["dog", "car", "house", "boat"])
    return f"the {' '.join(words)} {random.choice(['runs', 'stands', 'falls'])}"


def table(task: str) -> str:
    random, lines = Random(1), []
    for _ in range(60):
        a, b = sentence(random), sentence(random)
        shared = len(set(a.split()) & set(b.split()))
        lines.append(
            {
                "classify": f"{a}\t{'still' if a.endswith('stands') else 'moving'}",
                "entail": f"{a}\t{b}\t{('no', 'maybe', 'yes')[min(shared - 1, 2)]}",
                "relate": f"{a}\t{b}\t{1 + shared}",
                "tag": f"{a}\tD A N V",
            }[task]
        )
    return "\n".join(lines) + "\n"


Runs = Callable[..., Path]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """`runs("entail")`: a small finished run of the task, trained when it is first asked for."""
    top, made = tmp_path_factory.mktemp("sentences"), dict[str, Path]()

    def run(task: str, name: str = "", options: list[str] | None = None) -> Path:
        folder = top / (name or task)
        if folder.name not in made:
            (top / f"{task}.tsv").write_text(table(task))
            words = ["train", task, "--data", str(top / f"{task}.tsv"), "--out", str(folder), "--quiet"]
            assert answer([*words, *(options or tasks[task])]) == 0
            made[folder.name] = folder
        return made[folder.name]

    return run


@pytest.fixture(scope="module")
def resan(runs: Runs) -> Path:
    return runs("entail", "resan", choosing)


def texts_of(task: str) -> tuple[str, ...]:
    return pair if task in ("entail", "relate") else pair[:1]


@pytest.mark.parametrize("task", sweep_but(tasks, "classify"))
def test_the_ending_shows_an_example(regard: Regard, runs: Runs, task: str) -> None:
    folder = runs(task)
    said = regard("train", task, "--data", folder.parent / f"{task}.tsv", "--out", folder, "--quiet", *tasks[task])
    assert (said.code, said.err) == (0, "")
    line = next(line for line in said.out.split("\n") if " → " in line)
    inputs, told = line.split(" → ")
    if task in ("classify", "entail"):
        assert re.fullmatch(r"\w+ \(p = [01]\.\d\d(, true: \w+)?\)", told)
    else:
        assert "p =" not in told
    quoted = " ".join(f"'{text}'" for text in inputs.split(" | "))
    assert len(inputs.split(" | ")) == len(texts_of(task))
    assert ("█" in said.out) == (task != "tag")
    assert (f"  regard look {folder} -o look.html {quoted}\n" in said.out) == (task != "tag")
    assert f"  regard predict {folder} {quoted}\n" in said.out


def test_where_nothing_is_looked_at_the_ending_is_a_line(regard: Regard, runs: Runs) -> None:
    folder = runs("classify", "mean", [*small, "pool=mean"])
    words = ["train", "classify", "--data", folder.parent / "classify.tsv", "--out", folder, "--quiet", *small]
    said = regard(*words, "pool=mean")
    lines = said.out.split("\n")
    at = next(i for i, line in enumerate(lines) if " → " in line)
    assert re.fullmatch(r"the \w+ \w+ \w+ → \w+ \(p = [01]\.\d\d(, true: \w+)?\)", lines[at])
    assert lines[at + 1 : at + 3] == ["", f"Saved to {folder}. Try next:"]
    assert "regard look" not in said.out
    assert regard("look", folder, "the dog").line().startswith(f"{folder} has no attention over its input")


@pytest.mark.parametrize("task", tasks)
def test_evaluate(regard: Regard, runs: Runs, task: str, tmp_path: Path) -> None:
    folder = runs(task)
    best = {"relate": "pearson", "tag": "tag_accuracy"}.get(task, "accuracy")
    own = json.loads(regard("evaluate", folder, "--json").out)
    assert own["split"] == "test"
    assert math.isfinite(own[best])
    (tmp_path / "some.tsv").write_text("".join(table(task).splitlines(keepends=True)[:7]))
    file = json.loads(regard("evaluate", folder, "--data", tmp_path / "some.tsv", "--json").out)
    assert (file["examples"], set(file) - {"data"}) == (7, set(own) - {"split"})


def test_a_file_is_read_as_the_task_knows_it(regard: Regard, runs: Runs, tmp_path: Path) -> None:
    """SNLI's own lines, by their keys; what has no label is left out, which is said and is not an error."""
    path = tmp_path / "snli_1.0_dev.jsonl"
    rows = [{"sentence1": pair[0], "sentence2": pair[1], "gold_label": label} for label in ("no", "yes", "-", "no")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = regard("evaluate", runs("entail"), "--data", path, "--json")
    assert said.code == 0
    assert json.loads(said.out)["examples"] == 3
    assert said.err.count("\n") == 1
    assert "snli_1.0_dev.jsonl" in said.err


def test_a_file_is_read_in_the_form_of_the_run(regard: Regard, tmp_path: Path) -> None:
    lines = [line.split("\t") for line in table("classify").splitlines()]
    (tmp_path / "all.train").write_text("".join(f"{label} {text}\n" for text, label in lines))
    (tmp_path / "some.dev").write_text("".join(f"{label} {text}\n" for text, label in lines[:5]))
    words = ["train", "classify", "--data", tmp_path / "all.train", "--out", tmp_path / "run", "--quiet", *pooled]
    assert regard(*words, "data.form=labelled").code == 0
    said = regard("evaluate", tmp_path / "run", "--data", tmp_path / "some.dev", "--json")
    assert json.loads(said.out)["examples"] == 5


@pytest.mark.parametrize("task", tasks)
def test_predict(regard: Regard, runs: Runs, task: str) -> None:
    folder, texts = runs(task), texts_of(task)
    line = "\t".join(texts)
    model = load(folder)
    expected = model(texts if len(texts) > 1 else texts[0], look=False)
    said = regard("predict", folder, stdin=f"{line}\n\n{line}\r\n".encode())
    assert (said.code, said.err) == (0, "")
    assert said.out == f"{expected.text}\n\n{expected.text}\n"
    first, second = map(json.loads, regard("predict", folder, "--json", stdin=f"{line}\n \n".encode()).out.splitlines())
    given = {"inputs": list(texts)} if len(texts) > 1 else {"source": texts[0]}
    chances = first.pop("labels", None)
    probable = {"log_prob": expected.log_prob, "log_prob_per_token": expected.log_prob_per_token}
    assert (probable["log_prob"] is None, probable["log_prob_per_token"] is None) == (task == "relate", task != "tag")
    assert first == {**given, "text": expected.text, **probable}
    nothing = {"text": "", "log_prob": None, "log_prob_per_token": None}
    assert second == {**({"inputs": []} if len(texts) > 1 else {"source": " "}), **nothing}
    if task == "tag":
        assert chances is None
        return
    first = expected.others[0] if task == "relate" else expected
    assert chances[0] == {"label": first.text, "probability": math.exp(first.log_prob)}
    if task == "relate":  # the answer is no label, but the mean of them
        mean = sum(int(one["label"]) * one["probability"] for one in chances)
        assert float(expected.text) == pytest.approx(mean, abs=1e-4)
    known = set("12345") if task == "relate" else set(model.task.target.names)
    assert {one["label"] for one in chances} == known
    assert len(chances) == len(known)
    assert sum(one["probability"] for one in chances) == pytest.approx(1)
    assert [one["probability"] for one in chances] == sorted((one["probability"] for one in chances), reverse=True)


def test_a_line_of_another_number_of_texts_names_its_place(regard: Regard, runs: Runs, tmp_path: Path) -> None:
    path, entail = tmp_path / "pairs.tsv", runs("entail")
    good = "\t".join(pair)
    for bad, count in (("the dog", "1 field"), (f"{good}\tyes", "3 fields")):
        path.write_text(f"{good}\n{bad}\n")
        expected = f"{path}:2: {count}; expected 2, separated by TAB (premise, hypothesis)"
        assert regard("predict", entail, path, "--strict").err == f"regard: {expected}\n"
    path.write_text(f"{good}\n\n{pair[0]}\t\n")
    assert f"{path}:3: an empty hypothesis" in regard("predict", entail, path).err
    assert "first sentence, second sentence" in regard("predict", runs("relate"), stdin=b"the dog\n").err
    assert regard("predict", runs("classify"), stdin=b"the\tdog\n").code == 0  # one input is the whole line


@pytest.mark.parametrize("task", tasks)
def test_options_of_a_search_where_there_is_none(regard: Regard, runs: Runs, task: str) -> None:
    folder, expected = runs(task), f"{task} has no search; remove the search options"
    for words in (["--beam", "3"], ["--n-best", "2", "--json"], ["--sample"]):
        assert regard("predict", folder, *words).line() == expected  # even where nothing is asked
    assert regard("look", folder, *texts_of(task), "--beam", "3").line() == expected
    assert regard("evaluate", folder, "--beam", "3").line() == expected


@pytest.mark.parametrize("task", ["classify", "entail", "relate"])
def test_look_in_the_terminal(regard: Regard, runs: Runs, task: str) -> None:
    folder, texts = runs(task), texts_of(task)
    said = regard("look", folder, *texts, *texts)
    assert (said.code, said.err) == (0, "")
    lines = said.out.split("\n")
    prediction = load(folder).predict([texts])[0]
    assert lines[0].startswith(f"{' | '.join(texts)} → {prediction.text}")
    assert (" (p = " in lines[0]) == (task != "relate")
    assert lines[2].split() == " │ ".join(texts).split()
    assert lines[3].startswith(f"{prediction.text} ")
    assert lines[:5] == lines[len(lines) // 2 : len(lines) // 2 + 5]  # the same texts again look the same


def test_texts_come_in_groups(regard: Regard, runs: Runs, tmp_path: Path) -> None:
    entail = runs("entail")
    expected = "3 texts for a task with 2 inputs (premise, hypothesis)"
    assert regard("look", entail, "a", "b", "c").line() == expected
    assert regard("look", entail, "a").line() == "1 text for a task with 2 inputs (premise, hypothesis)"
    line = regard("look", entail, *pair, *pair, "-o", tmp_path / "look.png").line()
    assert line == "2 pairs for one .png; give one pair, or write a page with -o look.html"
    assert regard("look", entail, pair[0], " ").line() == "an empty text; expected at least one word"
    assert list(tmp_path.iterdir()) == []


def test_what_answers_and_what_encodes_are_both_shown(regard: Regard, resan: Path) -> None:
    """The pooling first, then the encoder's own looks, input by input; tokens it did not choose in brackets."""
    said = regard("look", resan, *pair)
    assert (said.code, said.err) == (0, "")
    prediction = load(resan).predict([pair])[0]
    assert len(prediction.looks) == 2
    blocks = said.out.strip("\n").split("\n\n")
    assert len(blocks) == 4
    assert blocks[0].startswith(f"{' | '.join(pair)} → {prediction.text} (p = ")
    assert [block.split("\n")[0] for block in blocks[2:]] == [f"self-attention: {text}" for text in pair]
    assert "(word) was not selected" in blocks[2]
    assert "│ another input begins" in blocks[1]
    assert [line for line in blocks[2].split("\n") if line in ("forward", "backward")] == ["forward", "backward"]
    for attention_map, block in zip(prediction.looks, blocks[2:], strict=True):
        sides = zip((attention_map.rows, attention_map.columns), attention_map.left_out, strict=True)
        left_out = {f"({t.text})" for tokens, out in sides for t, o in zip(tokens, out, strict=True) if o}
        assert left_out
        assert set(re.findall(r"\(\w+\)", block)) == {*left_out, "(word)"}


def test_a_look_of_the_encoder_alone_keeps_its_title(regard: Regard, runs: Runs) -> None:
    said = regard("look", runs("tag", "disan", [*small, "encoder=disan"]), pair[0])
    assert said.out.split("\n")[1:3] == ["", f"self-attention: {pair[0]}"]
    assert regard("look", runs("tag"), pair[0]).line().endswith("expected a run whose model uses attention")


@pytest.mark.parametrize("kind", [".png", ".svg", ".json", ".txt"])
def test_every_look_has_its_file(regard: Regard, resan: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"look{kind}"
    said = regard("look", resan, *pair, "-o", path)
    assert (said.code, said.err) == (0, "")
    names = [path, tmp_path / f"look-2{kind}", tmp_path / f"look-3{kind}"]
    assert said.out.split("\n")[1:] == [f"written to {', '.join(map(str, names))}", ""]
    assert sorted(tmp_path.iterdir()) == sorted(names)
    if kind == ".json":
        prediction = load(resan).predict([pair])[0]
        read = [AttentionMap.from_json(name.read_text()) for name in names]
        assert read == [prediction.look, *prediction.looks]


def test_a_page_holds_every_look_under_its_heading(regard: Regard, resan: Path, tmp_path: Path) -> None:
    path = tmp_path / "look.html"
    said = regard("look", resan, *pair, *pair[::-1], "-o", path)
    assert said.out.endswith(f"written to {path}\n")
    [data] = re.findall(r'id="data">(.*?)</script>', path.read_text())
    titles = [attention_map["title"] for item in json.loads(data)["items"] for attention_map in item["maps"]]
    one, other = ([" | ".join(texts), *(f"self-attention: {text}" for text in texts)] for texts in (pair, pair[::-1]))
    assert titles == [*one, *other]
    assert [file.name for file in tmp_path.iterdir()] == ["look.html"]


def test_text_of_a_pair_is_never_obeyed(regard: Regard, runs: Runs) -> None:
    said = regard("look", runs("entail"), "[red]a\x1b[1m", "b\tc")
    assert said.code == 0
    assert said.out.startswith("[red]a\\x1b[1m | b\\tc → ")
    assert "\x1b" not in said.out


def test_nothing_but_training_touches_a_run(regard: Regard, runs: Runs) -> None:
    folder = runs("relate")
    before = contents(folder)
    regard("look", folder, *pair)
    regard("predict", folder, stdin="\t".join(pair).encode())
    regard("evaluate", folder)
    assert contents(folder) == before


# --- from Python -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def entail(runs: Runs) -> Model:
    return load(runs("entail"))


def test_pairs_are_tuples(entail: Model) -> None:
    one = entail(pair)
    assert one.text in entail.task.target.names
    assert [answer.text for answer in entail([pair, pair[::-1]])] == [one.text, entail(pair[::-1]).text]
    for same in (entail((pair, pair))[1], entail([list(pair)])[0]):
        assert same.log_prob == pytest.approx(one.log_prob, abs=1e-5)
    assert entail.predict([pair], look=False)[0].look is None
    assert entail([]) == []


@pytest.mark.parametrize("given", ["the dog", ["the dog", "the cat"], ("a", "b", "c"), [("a",)]])
def test_other_than_pairs(entail: Model, given: object) -> None:
    with pytest.raises(RegardError, match=r"^[13] texts? for a task with 2 inputs \(premise, hypothesis\)$"):
        entail(given)  # type: ignore[arg-type]


def test_single_texts_are_strings(runs: Runs) -> None:
    model = load(runs("classify"))
    one = model("the old dog runs")
    assert not isinstance(one, list)
    for several in (["the old dog runs"] * 2, ("the old dog runs",) * 2, [("the old dog runs",)] * 2):
        assert [answer.text for answer in model(several)] == [one.text] * 2
    with pytest.raises(RegardError, match=r"2 texts for a task with 1 input$"):
        model([("a", "b")])
    with pytest.raises(RegardError, match="classify has no search"):
        model("a", beam_size=3)
    assert isinstance(one.look, AttentionMap)
    assert [token.text for token in one.look.columns] == ["the", "old", "dog", "runs"]
    assert one.look.rows == (Token(one.text),)


def test_features_are_shown_one_by_one(regard: Regard, resan: Path, runs: Runs, run: Path, tmp_path: Path) -> None:
    plain = regard("look", resan, *pair).out
    assert "feature" not in plain
    said = regard("look", resan, *pair, "--features", "2")
    assert (said.code, said.err) == (0, "")
    assert said.out.count("\nfeature ") == 2 * 5  # of the pooling, and of both directions of both texts
    assert said.out.count("\nmean\n") == 5
    assert [
        line for line in regard("look", resan, *pair, "--features", "3,1").out.split("\n") if "feature" in line
    ] == [
        "feature 3",
        "feature 1",
    ] * 5
    assert regard("look", resan, *pair, "--features", "4,").out.count("feature 4\n") == 5
    path = tmp_path / "look.html"
    assert regard("look", resan, *pair, "--features", "3, 1", "-o", path).code == 0
    page = path.read_text().replace(" ", "")
    assert page.count('"names":["mean","feature3","feature1"]') == page.count('"panels":"features"') == 5
    assert regard("look", resan, *pair, "--features", "2", "-o", tmp_path / "look.json").code == 0
    first = AttentionMap.from_json((tmp_path / "look.json").read_text())
    [expected] = load(resan).predict([pair])
    assert first.head_names[0] == "mean"
    assert abs(first.mean().weights - expected.look.weights).max() < 1e-6
    for wrong in ("0", "x", "1,,2", "-3", "3,0", ",", "٣"):
        line = regard("look", resan, *pair, "--features", wrong).line()
        assert line == f"--features {wrong}; expected a number of features such as 5, or a list such as 3,17,40"
    assert regard("look", resan, *pair, "--features", "999,").line() == "feature 999; expected 1 to 16"
    assert "without feature-wise attention" in regard("look", runs("entail"), *pair, "--features", "2").line()
    assert regard("look", run, "abc", "--features", "2").line() == "translate has no features; remove features"
