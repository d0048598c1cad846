"""Answer: it learns little stories, in windows too; spans are those of the user's text; or there is no answer."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard import api
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.fields.span import Span
from regard.networks.answering import Answering
from regard.tasks._passages import Passage
from regard.tasks.answer import Answer, Found, asked_with, best_threshold
from regard.train.task import Ask
from regard.types import Example

pytestmark = pytest.mark.usefixtures("one_thread")

NAMES, PLACES = ("Ada", "Bo", "Cy"), ("hall", "shed", "park", "mill")
small: dict[str, Any] = {
    "input": {
        "name": "text",
        "tokenizer": {"name": "word", "lower": True, "split": "punctuation"},
        "embed": {"dim": 16},
    },
    "encoder": {"name": "bigru", "hidden": 8},
    "again": {"name": "bigru", "hidden": 8},
    "point": {"name": "dynamic", "hidden": 8, "pool": 2},
    "dropout": 0.0,
}


def examples(padding: int = 0) -> list[Example]:
    """Who is where, with the answer's place; and some words before and behind."""
    found = []
    for n in range(24):
        a, b = NAMES[n % 3], NAMES[(n + 1) % 3]
        first, second = PLACES[n % 4], PLACES[(n // 3 + n + 1) % 4]
        text = f"{'so ' * (n % 5 * padding)}{a} is in the {first}. {b} is in the {second}.{' so' * (n % 4 * padding)}"
        for who, where in ((a, first), (b, second)):
            start = text.index(f"{who} is in the ") + len(f"{who} is in the ")
            sentence = text.index(f"{who} is"), start + len(where) + 1
            found.append(
                Example(
                    (text, f"Where is {who}?"),
                    where,
                    f"a.tsv:{n}",
                    spans=((start, start + len(where)),),
                    evidence=(sentence,),
                )
            )
    return found


def learned(rows: list[Example], steps: int = 60, **options: Any) -> tuple[Answer, Answering]:
    torch.manual_seed(1)
    task = Answer(**{**small, **options})
    task.learn(rows)
    network = task.network().train()
    optimiser = torch.optim.Adam(network.parameters(), lr=1e-2)
    batch = task.collate(task.items(rows))
    for _ in range(steps):
        optimiser.zero_grad()
        network(batch).total.backward()
        optimiser.step()
    return task, network.eval()


@pytest.fixture(scope="module")
def trained() -> tuple[Answer, Answering]:
    return learned(examples())


@pytest.mark.sweep
def test_it_learns(trained: tuple[Answer, Answering]) -> None:
    task, network = trained
    found = task.measure(task.results(network, examples()))
    assert found["squad_exact_match"] == 1.0
    assert float(found["evidence_answer"]) > 0.9 > float(found["evidence_chance"])


def test_what_it_answers(trained: tuple[Answer, Answering]) -> None:
    """The characters of the user's own text, and how likely each answer is: together at most 1."""
    task, network = trained
    text = "Ada is in the  PARK. Bo is in the shed."
    [found] = task.predict(network, [(text, "Where is Ada?")], Ask())
    assert found.span is not None
    assert text[slice(*found.span)] == found.text
    every = (found, *found.others)
    assert len(every) == task.n_best
    # In float32 log-odds of up to 32 are known to 4e-6.
    assert sum(math.exp(one.log_prob) for one in every if one.log_prob is not None) <= 1 + 1e-5
    assert [one.log_prob for one in every] == sorted((one.log_prob for one in every), reverse=True)
    assert len({one.span for one in every}) == len(every)
    [more] = task.predict(network, [(text, "Where is Ada?")], Ask(n_best=9))
    assert more.others[:4] == found.others
    assert len(more.others) == 8


def test_a_document_is_learned_from_once() -> None:
    """However many questions it has: a word that it has once does not become a frequent one."""
    rows = [Example(("Ada is in the hall", f"Where is {who}?"), "hall", f"a.tsv:{n}") for n, who in enumerate("abc")]
    counted = {"name": "text", "tokenizer": {"name": "word", "min_frequency": 2}, "embed": {"dim": 4}}
    task = Answer(**{**small, "input": counted})
    task.learn(rows)
    assert "hall" not in task.field.text.vocabulary  # three times in three examples, but of one document
    assert "Where" in task.field.text.vocabulary  # in three different questions


def test_where_it_looked(trained: tuple[Answer, Answering]) -> None:
    task, network = trained
    [found] = task.predict(network, [examples()[0].inputs], Ask())
    pointed, asked, read, affinity = found.look, *found.looks
    assert [row.text for row in pointed.rows[:3]] == ["turn 1: start", "turn 1: end", "turn 2: start"]
    assert pointed.weights.shape == (8, 13)
    assert pointed.columns[-1].text == "</s>"
    assert asked.columns[-1].text == asked.rows[-1].text == "<sentinel>"
    np.testing.assert_allclose(asked.weights.sum(1), 1, rtol=1e-4)
    np.testing.assert_allclose(read.weights.sum(1), 1, rtol=1e-4)
    assert asked.axes == read.axes[::-1] == ("question", "document")
    assert affinity.weights.min() == 0
    [without] = task.predict(network, [examples()[0].inputs], Ask(look=False))
    assert without.look is None
    assert without.text == found.text


def test_the_answer_does_not_depend_on_the_batch(trained: tuple[Answer, Answering]) -> None:
    task, network = trained
    texts = [one.inputs for one in examples()[:6]] + [("Bo is in the hall. " * 9, "Where is Bo?")]
    together = task.predict(network, texts, Ask(look=False))
    for text, found in zip(texts, together, strict=True):
        [alone] = task.predict(network, [text], Ask(look=False))
        assert alone.text == found.text
        assert alone.log_prob == pytest.approx(found.log_prob, abs=1e-4)


@pytest.mark.sweep
def test_long_documents_by_windows() -> None:
    rows = examples(padding=6)
    task, network = learned(rows, window=24, stride=12)
    assert len(task.items(rows)) > len(rows)
    found = task.measure(task.results(network, rows))
    assert float(found["squad_exact_match"]) > 0.9
    [one] = task.predict(network, [rows[0].inputs], Ask())
    assert one.span is not None
    assert rows[0].source[slice(*one.span)] == one.text


def test_windows_are_joined_by_their_odds() -> None:
    """Two windows see the same span with odds 2 and 1 against none, the second another one with odds 3: 3/6 each."""
    task = Answer(**small)
    a = Passage(0, [5, 3], [5], [(0, 1), (-1, -1)])
    b = Passage(0, [5, 5, 3], [5], [(0, 1), (2, 3), (-1, -1)])
    windows = [
        Found(a, [(0, 0)], [math.log(2)], math.log(2)),
        Found(b, [(1, 1), (0, 0)], [math.log(3), 0.0], math.log(4)),
    ]
    found = task._best("x y", windows, threshold=0.0, count=5)
    assert sorted((one.text, round(math.exp(one.log_prob or 0), 6)) for one in (found, *found.others)) == [
        ("x", 0.5),
        ("y", 0.5),
    ]
    assert isinstance(task.target, Span)
    task.target.unanswered = True  # then none has odds of 1, and all others 6 of 7
    found = task._best("x y", windows, threshold=2.0, count=5)
    assert (found.text, found.span) == ("", None)
    assert math.exp(found.log_prob or 0) == pytest.approx(1 / 7)
    assert task._best("x y", windows, 1.0, count=5).text in "xy"


def test_where_an_answer_that_occurs_twice_is_learned() -> None:
    """Where the data marks it, unless every place is asked for; without a mark at every place. Windows have theirs."""
    text = "a hall in a hall"
    rows = [
        Example((text, "Where?"), "hall", "a.tsv:1", spans=((12, 16),)),
        Example((text, "Where?"), "hall", "a.tsv:2"),
    ]

    def targets(**options: Any) -> list[Any]:
        task = Answer(**{**small, **options})
        task.learn(rows)
        return [item.target for item in task.encode(rows)]

    assert targets() == [((4, 4),), ((1, 1), (4, 4))]
    assert targets(occurrences="all") == [((1, 1), (4, 4))] * 2
    assert targets(occurrences="all", window=3, stride=2)[:2] == [((1, 1),), ((2, 2),)]


@pytest.mark.sweep
def test_questions_without_an_answer(tmp_path: Path) -> None:
    """It learns that nothing is said of Dee, and the threshold is kept with the run."""
    rows = [
        one
        for n, one in enumerate(examples())
        for one in ([one] if n % 3 else [one, Example((one.source, "Where is Dee?"), "", "x")])
    ]
    task, network = learned(rows)
    assert task.keep()["target"] == {"unanswered": True}
    kept = []

    class Run:
        def save_weights(self, model: Any) -> None:
            kept.append(float(model.threshold))

    task.finish(Run(), network, Splits(rows, rows))
    assert kept == [float(network.threshold)]
    assert math.isfinite(kept[0])
    found = task.measure(task.results(network, rows))
    assert float(found["squad_exact_match"]) > 0.9
    [one] = task.predict(network, [(rows[0].source, "Where is Dee?")], Ask())
    assert (one.text, one.span) == ("", None)
    assert one.others[0].span is not None
    [there] = task.predict(network, [rows[0].inputs], Ask())
    assert (there.text, there.others[0].span) == ("hall", None)  # "none" is among the answers, with its probability


@pytest.mark.parametrize(
    ("rows", "best"),
    [
        ([(1.0, 1.0, False), (-1.0, 0.0, True)], 0.0),  # between the two
        ([(1.0, 1.0, False), (2.0, 1.0, False)], 0.0),  # below both: everything is answered
        ([(1.0, 0.0, True), (2.0, 0.0, True)], 3.0),  # above both
    ],
)
def test_the_threshold_by_brute_force(rows: list[tuple[float, float, bool]], best: float) -> None:
    def score(threshold: float) -> float:
        return sum(answered if odds >= threshold else float(silent) for odds, answered, silent in rows)

    assert best_threshold(rows) == pytest.approx(best)
    assert score(best_threshold(rows)) == max(score(at / 4) for at in range(-20, 20))


def test_words_by_attention_over_attention() -> None:
    """Its answers are words; one that is in no document is read after it."""
    rows = [Example(one.inputs, one.target, one.where, evidence=one.evidence) for one in examples()]
    rows += [Example((one.source, f"Is {one.inputs[1][9:-1]} in the {one.target}?"), "yes", "y") for one in rows[:12]]
    task, network = learned(rows, answer="choice", steps=80)
    assert task.keep()["target"] == {"outside": ["yes"]}
    results = task.results(network, rows)
    found = task.measure(results)
    assert found["cloze_accuracy"] == 1.0
    assert found["mrr"] == 1.0
    assert float(found["evidence_answer"]) > float(found["evidence_chance"])
    [one] = task.predict(network, [rows[0].inputs], Ask())
    assert one.span is not None
    assert rows[0].source[slice(*one.span)] == one.text == "hall"
    assert one.look.columns[-1].text == "yes"
    [said] = task.predict(network, [rows[-1].inputs], Ask())
    assert (said.text, said.span) == ("yes", None)


def test_an_error_report_by_question_answer_and_document(tmp_path: Path, trained: tuple[Answer, Answering]) -> None:
    from types import SimpleNamespace

    from regard.error_analysis import analyse, write

    task, network = trained
    rows = [*examples(padding=1), Example(("Ada is in the hall.", "How long is it?"), "the hall", "x")]
    model = SimpleNamespace(task=task, config={"task": "answer"}, run=SimpleNamespace(folder=tmp_path))
    report = analyse(model, rows, task.results(network, rows))
    assert [(row["from"], row["examples"]) for row in report["by_group"]["question word"]] == [
        ("where", 48),
        ("how long", 1),
    ]
    assert [row["to"] for row in report["by_group"]["answer length"]] == [1, 2]
    assert report["by_group"]["document length"][-1]["to"] == 19
    (tmp_path / "errors").mkdir()
    files = write(report, model, tmp_path / "errors")
    assert {"by_question_word.png", "by_answer_length.png", "by_document_length.png"} <= set(files)
    assert "Question word" in (tmp_path / "errors" / "index.html").read_text()


@pytest.mark.parametrize(
    ("question", "word"),
    [("In what year?", "what"), ("How many are there?", "how many"), ("XXXXX sang", "other"), ("Whom?", "whom")],
)
def test_question_words(question: str, word: str) -> None:
    assert asked_with(question) == word


@pytest.mark.parametrize("interact", ["attention", "concatenation", {"name": "coattention", "sentinel": False}])
def test_other_ways_to_meet(interact: Any) -> None:
    task, network = learned(examples(), steps=2, interact=interact, point="linear")
    [found] = task.predict(network, [examples()[0].inputs], Ask())
    assert found.look.weights.shape == (2, 13)
    assert len(found.looks) == (0 if interact == "concatenation" else 3)


def test_a_plain_attention_reader() -> None:
    task, network = learned(examples(), steps=2, answer="choice", interact="attention_sum")
    [found] = task.predict(network, [examples()[0].inputs], Ask())
    assert [one.axes for one in found.looks] == [("question", "document"), ("document", "question")]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"interact": "attention_sum"}, "answer=span with interact='attention_sum'; expected coattention"),
        ({"answer": "choice", "interact": "coattention"}, "expected attention_over_attention or attention_sum"),
        ({"stride": 500}, "stride=500 with window=400; expected at most 400"),
        ({"input": "items"}, "input=items; expected text"),
    ],
)
def test_what_does_not_fit_is_told(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        learned(examples()[:2], steps=0, **options)


def test_bad_rows_are_named() -> None:
    task = Answer(**small)
    for row, said in (
        (Example(("Ada.", "Who?"), "Bo", "a.tsv:7"), r"a\.tsv:7: the answer 'Bo' is not in the document"),
        (Example(("Ada.", " "), "Ada", "a.tsv:8"), r"a\.tsv:8: an empty question"),
        (Example((" ", "Who?"), "", "a.tsv:9"), r"a\.tsv:9: an empty document"),
    ):
        with pytest.raises(RegardError, match=said):
            task.learn([examples()[0], row])


def test_from_a_file_to_a_prediction(tmp_path: Path) -> None:
    rows = [f"{one.source}\t{one.inputs[1]}\t{one.target}\n" for one in examples()]
    (tmp_path / "qa.tsv").write_text("document\tquestion\tanswer\n" + "".join(rows))
    plan = {"steps": 2, "report_to": "none"}
    done = api.train("answer", data=str(tmp_path / "qa.tsv"), out=tmp_path / "run", quiet=True, train=plan, **small)
    assert "squad_f1" in done.test
    model = api.load(tmp_path / "run")
    [one, two] = model.predict([("Ada is in the hall.", "Where is Ada?"), ("Bo is in the shed.", "Where is Bo?")])
    assert one.text in "Ada is in the hall."
    assert two.look is not None
