"""Recommend: what is ranked, why, and what is said where there is nothing to recommend."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch

from regard.api import Model
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.networks.recommend import Recommender
from regard.tasks.recommend import Recommend
from regard.train.run import Run
from regard.train.task import Ask
from regard.types import Example, Link

pytestmark = pytest.mark.usefixtures("one_thread")
examples = [
    Example((text,), target, f"h.tsv:{n}", user=user)
    for n, (text, target, user) in enumerate([("a b c", "d", "ann"), ("b c", "e", "bob"), ("c a e", "b", "cy")], 1)
]


def made(kind: str = "sasrec", **options: Any) -> tuple[Recommend, Recommender]:
    torch.manual_seed(2)
    task = Recommend(**{"history": {"embed": {"dim": 4, "init_std": 1.0}}, "network": {"name": kind}, **options})
    task.learn(examples)
    task.remember(Splits(examples, [Example(("a b c d",), "e", user="ann")]))
    return task, task.network().eval()


def model_of(task: Recommend, network: Recommender) -> Model:
    return Model(Run(Path("run"), {"task": "recommend", "train": {"precision": "float32"}}, {}), task, network)


both = pytest.mark.parametrize("name", ["sasrec", "nais"])


@both
def test_it_recommends_what_was_not_had(name: str) -> None:
    task, network = made(name)
    [found] = task.predict(network, [("a b",)], Ask())
    ranking = [found, *found.others]
    assert sorted(one.text for one in ranking) == ["c", "d", "e"]
    scores = [one.log_prob for one in ranking if one.log_prob is not None]
    assert scores == sorted(scores, reverse=True)
    if name == "sasrec":
        assert np.exp(scores).sum() == pytest.approx(1)
    [first] = task.predict(network, [("a b",)], Ask(top=2))
    assert [first.text, *(one.text for one in first.others)] == [one.text for one in ranking[:2]]
    repeated = Recommend(history={"embed": {"dim": 4}, "repeats": True}, network=name)
    repeated.learn(examples)
    assert len(repeated.predict(repeated.network().eval(), [("a b",)], Ask())[0].others) == 4


def test_why_an_item() -> None:
    """NAIS has weights of its own for each candidate, SASRec one look for all; unknown items are in brackets."""
    task, network = made("nais")
    [found] = task.predict(network, [("a new b",)], Ask())
    look = found.look
    assert [one.text for one in look.rows] == [found.text, *(one.text for one in found.others)]
    assert [one.text for one in look.columns] == ["a", "new", "b"]
    assert look.column_selected == (True, False, True)
    assert look.weights.shape == (3, 3)
    assert not look.weights[:, 1].any()
    np.testing.assert_allclose(look.weights.sum(-1), 1)
    [again] = task.score(network, [("a new b", found.text)], Ask())
    np.testing.assert_allclose(again.look.weights, look.weights[:1])
    assert again.log_prob == pytest.approx(found.log_prob)
    task, network = made("sasrec", network={"name": "sasrec", "heads": 2, "max_length": 2})
    [found] = task.predict(network, [("a b c",)], Ask())
    assert found.look.weights.shape == (2, 1, 3)
    assert not found.look.weights[..., 0].any()  # too long ago
    assert found.look.column_selected == (False, True, True)


@both
def test_dropping_an_item_is_never_having_had_it(name: str) -> None:
    task, network = made(name)
    model = model_of(task, network)
    [found] = model.predict(["a b c"], drop_tokens=[((1,),)])
    expected = model.predict("a c")
    assert sorted([found.text, *(one.text for one in found.others)]) == ["b", "d", "e"]
    assert found.log_prob == pytest.approx(expected.log_prob)
    np.testing.assert_allclose(found.look.weights, expected.look.weights, atol=1e-6)
    assert [(one.text, one.index) for one in found.look.columns] == [("a", 0), ("c", 2)]


@both
def test_results_are_those_of_sorting(name: str) -> None:
    task, network = made(name)
    held = [Example(("a b",), "e", "t:1"), Example(("c",), "a", "t:2"), Example(("c",), "new", "t:3")]
    results = task.results(network, held)
    for example, rank, prediction in zip(held, results.ranks, results.predictions, strict=True):
        [found] = task.predict(network, [example.inputs], Ask(look=False))
        order = [found.text, *(one.text for one in found.others)]
        assert prediction.text == order[0]
        place = order.index(example.target) if example.target in order else len(order)
        assert (rank.above, rank.equal) == (place, 0)
        assert rank.others == len(order) - (example.target in order)
    measured = task.measure(results)
    assert measured["hit_rate"] == pytest.approx(2 / 3)  # an item that nobody has had is a miss
    assert results.tokens == 2


def test_users_by_name() -> None:
    task, network = made()
    [ann, bob, listed] = task.predict(network, [("user:ann",), ("user: bob",), ("b c e",)], Ask())
    assert (ann.text, ann.others) == ("", ())  # ann has had everything, the held-out items too
    assert bob.log_prob == pytest.approx(listed.log_prob)
    assert [one.text for one in bob.look.columns] == ["b", "c", "e"]
    without, network = made(keep_users=False)
    with pytest.raises(RegardError, match="this run keeps no users' histories"):
        without.predict(network, [("user:ann",)], Ask())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("xx yy", r"^input 1: 2 items, none of them known; expected at least one item of the training data"),
        ("  ", r"^input 1: an empty history; expected at least one item$"),
        ("user:zoe", r"^input 1: no user 'zoe'; expected a user of the training data, or items"),
    ],
)
def test_nothing_to_recommend_from(text: str, said: str) -> None:
    task, network = made()
    with pytest.raises(RegardError, match=said):
        task.predict(network, [(text,)], Ask())


def test_an_item_that_nobody_has_had_has_no_score() -> None:
    task, network = made()
    with pytest.raises(RegardError, match=r"^input 1: item 'dd'; expected an item of the training data"):
        task.score(network, [("a b", "dd")], Ask())
    [had] = task.score(network, [("a b", "a")], Ask())  # but one that this user has had can be asked about
    assert had.log_prob is not None


def test_titles(tmp_path: Path) -> None:
    (tmp_path / "titles.tsv").write_text("a\tThe First\ne\tThe Last\nz\tNone\n")
    task, network = made(titles=str(tmp_path / "titles.tsv"))
    assert task.notes == [f"{tmp_path / 'titles.tsv'}: titles for 2 of 5 items"]
    [found] = task.predict(network, [("a b c d",)], Ask())
    assert (found.text, found.title, str(found)) == ("e", "The Last", "e The Last")
    assert [one.text for one in found.look.columns] == ["The First", "b", "c", "d"]
    assert [one.text for one in found.look.rows] == ["The Last"]
    twin = Recommend(history={"embed": {"dim": 4}})
    twin.restore(task.keep())
    assert twin.titles == {"a": "The First", "e": "The Last"}


def test_a_user_who_has_had_everything() -> None:
    rich = [*examples, Example(("a b c d",), "e", "h.tsv:9")]
    with pytest.raises(RegardError, match=r"^h\.tsv:9: this user has had every item; .*network\.loss=softmax"):
        Recommend(network="nais").learn(rich)
    Recommend(network={"name": "sasrec", "loss": "softmax"}).learn(rich)
    with pytest.raises(RegardError, match="1 item in all histories; expected two or more"):
        Recommend().learn([Example(("a",), "a")])


def test_too_many_users_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.tasks.recommend.USERS_BYTES", 5)
    task, _ = made()
    assert task.history.users == {}
    assert any("are not kept with the run" in note for note in task.notes)


@both
def test_it_finds_the_cause(name: str) -> None:
    """One of four devices among ordinary items, and its accessory next: the device has most of the weight."""
    torch.manual_seed(1)
    chance, some = Random(1), list[Example]()
    for device in range(4):
        for _ in range(16):
            items = [f"o{n}" for n in chance.sample(range(8), 3)]
            items.insert(place := chance.randint(0, 3), f"d{device}")
            some.append(Example((" ".join(items),), f"a{device}", links=(Link(0, 2, 3 * place, 3 * place + 2),)))
    options = {"layers": 1, "dropout": 0.0} if name == "sasrec" else {}
    task = Recommend(history={"embed": {"dim": 16}}, network={"name": name, **options})
    task.learn(some)
    network = task.network()
    optimiser = torch.optim.Adam(network.parameters(), lr=2e-2)
    batch = task.collate(task.items(some))
    for _ in range(60):
        optimiser.zero_grad()
        found = network(batch)
        (found.total / found.count).backward()
        optimiser.step()
    measured = task.measure(task.results(network.eval(), some))
    assert measured["hit_rate"] == 1.0
    assert measured["cause"] >= 0.6  # of four items
    assert measured["cause_mass"] > 1.2 * 0.25
    assert not task.results(network, [replace(one, links=()) for one in some[:3]]).read
