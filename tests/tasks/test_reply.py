"""Reply suggestions: what is learned, three that differ, silence, files that people edit, and exact scores."""

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from regard import api
from regard.data.builtin.conversations import Conversations
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.messages.choose import choose
from regard.tasks.reply import TRIED, best_threshold
from regard.text import Tokenizer
from regard.types import Example, Sequences

pytestmark = pytest.mark.usefixtures("one_thread")
SMALL: dict[str, Any] = {
    "message": {"embed": {"dim": 32, "dropout": 0.0}},
    "encoder": {"name": "bigru", "hidden": 32, "layers": 1, "dropout": 0.0},
    "decoder": {"name": "prefix", "embed": 32, "hidden": 32, "dropout": 0.0},
    "match": {"size": 32, "pairs": 256},
}
RULES = [
    (f"{a} {b} {c}", reply)
    for c in ("today", "tomorrow", "on friday", "next week", "at noon", "in the evening")
    for a, b, reply in (
        ("can you", "come to us", "Sure, count me in."),
        ("will you", "be there for us", "No, I can't."),
        ("thank you", "for the flowers", "You're welcome!"),
        ("is it", "ready for us", "Let me check."),
        ("where is", "the key that you had", "It lies under the mat behind the green door, where you left it."),
    )
] * 6


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, one_thread: None) -> api.Trained:
    train = {"steps": 60, "lr": 1e-2, "ema": 0.9, "warmup": 5, "device": "cpu", "validate_every": 30}
    data = {"train": RULES, "valid": RULES[:30], "test": RULES[:30]}
    return api.train(
        "reply", data=data, out=tmp_path_factory.mktemp("runs") / "reply", quiet=True, train=train, **SMALL
    )


def test_it_learns_rules_and_when_to_be_silent(trained: api.Trained) -> None:
    assert trained.test["mrr"] > 0.99
    assert trained.test["trigger_precision"] == trained.test["trigger_recall"] == 1
    assert trained.test["click_share"] == pytest.approx(0.8)
    found = trained.predict("can you come to us tomorrow")
    assert (found.text, found.intent, found.reason) == ("Sure, count me in.", "accept", "")
    silent = trained.predict("where is the key that you had today")
    assert silent.text == ""
    assert silent.reason.startswith("no short reply is likely to do (p = 0.")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("my father died today", "sensitive (death)"),
        ("can qwert yuiop asdfg hjkl", "too many unknown words (4 of 5)"),
        ("> come to us", "nothing is left after cleaning"),
    ],
)
def test_silence_says_why(text: str, reason: str, trained: api.Trained) -> None:
    found = trained.predict(text)
    assert (found.text, found.reason, found.look, found.others) == ("", reason, None, ())


def test_scores_of_all_replies_are_those_one_by_one(trained: api.Trained) -> None:
    task, network = trained.model.task, trained.model.network
    texts = [text for text, _ in RULES[:5]]
    with torch.no_grad():
        rows = task.message.encode(texts, [""] * 5)
        scored = dict(task.scored(network, rows))
    replies = task.target.allowed
    for n, text in enumerate(texts):
        for one, (written, matched, frequent) in zip(replies, scored[n].parts.tolist(), strict=True):
            [alone] = trained.model.score([(text, one.text)])
            assert written == pytest.approx(alone.log_prob, abs=1e-5)
            message, reply = Sequences.pad([rows[n]]), Sequences.pad([task.target.text.encode(one.key)])
            with torch.no_grad():
                pair = network.match.scores(network.match.message(message).vector, network.match.reply(reply).vector)
            assert matched == pytest.approx(float(pair), abs=1e-5)
            assert frequent == pytest.approx(math.log(one.count / sum(each.count for each in replies)))
        best = int(task._order(scored[n].parts).argmax())
        a, b, c = task.weights
        by_hand = [a * written + b * matched + c * frequent for written, matched, frequent in scored[n].parts.tolist()]
        assert best == max(range(len(by_hand)), key=by_hand.__getitem__)


def test_where_it_looks_and_what_is_dropped(trained: api.Trained) -> None:
    found = trained.predict("can you come to us today")
    assert [one.text for one in found.look.columns] == [*["can", "you", "come", "to", "us", "today"], "</s>"]
    assert [one.text for one in found.look.rows[:1] + found.look.rows[-2:]] == ["sure", "</s>", "(matched)"]
    source = trained.model.task.message.collate(trained.model.task.message.encode(["can you come to us today"], [""]))
    with torch.no_grad():
        matched = trained.model.network.match.message(source).look.weights[0, 0]
    assert found.look.weights[-1].tolist() == pytest.approx(matched.tolist(), abs=1e-6)
    assert float(found.look.weights[-1].sum()) == pytest.approx(1, abs=1e-5)
    assert len(found.looks) == len(found.others)
    [fewer] = trained.model.predict(["can you come to us today"], drop_tokens=[[[5]]])
    assert [one.text for one in fewer.look.columns] == [*["can", "you", "come", "to", "us"], "</s>"]


def test_at_most_one_of_an_intent_and_a_no_beside_a_yes(trained: api.Trained) -> None:
    task = trained.model.task
    scores = -0.01 * torch.arange(len(task.target.allowed))  # all about equally likely
    chosen = [task.target.allowed[n] for n in task._chosen(scores)]
    assert len({one.intent for one in chosen}) == len(chosen) == 3
    assert {"positive", "negative"} <= {one.polarity for one in chosen}
    order = list(range(len(task.target.allowed)))
    assert task._chosen(scores) == choose(order, scores.tolist(), task.target.allowed)


def copy(trained: api.Trained, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained.model.run.folder, tmp_path / "run"))


def test_edited_replies_are_suggested_from_then_on(trained: api.Trained, tmp_path: Path) -> None:
    folder = copy(trained, tmp_path)
    lines = (folder / "replies.tsv").read_text().splitlines()
    assert lines[0].split("\t") == ["reply", "intent", "polarity", "count"]
    kept = [line for line in lines if "count me in" not in line]
    (folder / "replies.tsv").write_text("\n".join([*kept, "Sure, let me in!\tgo\tpositive\t3"]) + "\n")
    found = api.load(folder)
    assert {"Sure, let me in!": "go"}.items() <= {one.text: one.intent for one in found.task.target.allowed}.items()
    assert "Sure, count me in." not in [one.text for one in found.task.target.allowed]
    assert "count me" not in found.predict("can you come to us tomorrow").text
    (folder / "replies.tsv").write_text("Xylophone!\n")
    with pytest.raises(RegardError, match=r"replies.tsv: 'Xylophone!' has a word that the model never read in a reply"):
        api.load(folder)


def test_a_list_of_unsuitable_replies_is_kept_to(trained: api.Trained, tmp_path: Path) -> None:
    folder = copy(trained, tmp_path)
    with (folder / "unsuitable.txt").open("a") as file:
        file.write("count me*\n")
    found = api.load(folder).predict("can you come to us tomorrow")
    assert all("count me" not in one.text for one in (found, *found.others))
    model = api.load(folder)
    model.task.never = list(range(len(model.task.target.allowed)))
    assert model.predict("can you come to us tomorrow").reason == "every reply is listed as unsuitable"


def test_damaged_choices(trained: api.Trained, tmp_path: Path) -> None:
    folder = copy(trained, tmp_path)
    chosen = json.loads((folder / "suggest.json").read_text())
    assert chosen.keys() == {"threshold", "weights"}
    for text in ("[]", json.dumps({**chosen, "weights": {"written": 1.0}}), '{"threshold": 0.5, "weights": [1, 2, 3]}'):
        (folder / "suggest.json").write_text(text)
        with pytest.raises(RegardError, match=r"suggest\.json is damaged"):
            api.load(folder)


def test_weights_are_chosen_and_an_edited_file_is_followed(trained: api.Trained, tmp_path: Path) -> None:
    assert TRIED[0] == (0.5, 0.5, 0.5)
    assert len(set(TRIED)) == len(TRIED)
    a, b, c = trained.model.task.weights
    assert a >= 0
    assert b >= 0
    assert -0.4 <= c / (a + b) <= 3  # a mean of those that are tried
    assert a + b != pytest.approx(1)  # as long as makes true replies most likely
    folder = copy(trained, tmp_path)
    (folder / "suggest.json").write_text('{"threshold": 0.0, "weights": {"written": 0, "matched": 0, "frequent": -1}}')
    model = api.load(folder)
    assert model.task.weights == (0.0, 0.0, -1.0)
    parts = torch.stack([torch.randn(4), torch.randn(4), model.task.target.log_frequency], -1)
    assert torch.equal(model.task._order(parts), -model.task.target.log_frequency)


def test_the_threshold_has_the_best_f1() -> None:
    assert best_threshold([(0.9, True), (0.8, True), (0.4, False), (0.2, True)]) == pytest.approx(0.1)  # F1 6 / 7
    assert best_threshold([(0.9, True), (0.8, True), (0.4, False), (0.3, False), (0.2, False)]) == pytest.approx(0.6)
    assert best_threshold([(0.9, False)]) == 0.5
    assert best_threshold([]) == 0.5


def test_messages_that_get_nothing_teach_silence() -> None:
    task = api.make_task(api.configure("reply", SMALL))
    examples = [
        Example(("can you come to us?",), "sure"),
        Example(("my father died",), "sure"),
        *[Example(("is it you?",), "no")] * 2,
    ]
    task.learn(examples)
    assert [(len(item.target) > 0, item.target.suggest) for item in task.items(examples)][:2] == [
        (True, True),
        (False, False),
    ]
    lines = task.prepared_lines(
        [Example(("Hi Ann,\nis it you?",), "no", "a.tsv:1"), Example(("my father died",), "", "a.tsv:2")]
    )
    assert "  greeting: changes 1" in lines
    assert "  nothing would be suggested for 1: sensitive (death)" in lines


def test_few_of_what_teaches_only_the_trigger_is_trained_on(tmp_path: Path) -> None:
    task = api.make_task(api.configure("reply", {**SMALL, "negatives": 2}))
    examples = [Example(("can you come to us?",), "sure"), *[Example((f"is it {n} you?",), "") for n in "abcdefgh"]]
    task.learn(examples)
    stored = task.stored(examples, tmp_path)
    assert [item.target.suggest for item in stored] == [True, False, False]
    assert stored == task.stored(examples, tmp_path)
    task.negatives = 0
    assert len(task.stored(examples, tmp_path)) == 9


@pytest.mark.sweep
def test_made_conversations_are_learned(tmp_path: Path) -> None:
    made = Conversations(2_000, 100, 200).splits()
    train = {"steps": 300, "lr": 5e-3, "ema": 0.98, "warmup": 20, "device": "cpu"}
    data = {name: getattr(made, name) for name in ("train", "valid", "test")}
    assert isinstance(made, Splits)
    found = api.train("reply", data=data, out=tmp_path / "run", quiet=True, train=train).test
    assert found["trigger_precision"] > 0.9
    assert found["trigger_recall"] > 0.9
    assert found["distinct_intents"] > 2.5
    assert found["click_share_intent"] > 0.5
    assert Tokenizer.end == 3
