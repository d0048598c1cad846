"""Agree: both directions in one loss, the agreement of their looks by hand, and the two runs that come of it."""

import json
from inspect import Parameter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import regard.train.loop
from regard import api
from regard.errors import RegardError
from regard.find import mark, settable, words
from regard.tasks.agree import Agree, Both, agreement, turned, turned_data
from regard.tasks.translate import Translate
from regard.types import Batch, Example, Link, Look, Sequences
from tiers import sweep_but

examples = [Example(("eins zwei drei",), "one two"), Example(("vier",), "four five six"), Example(("",), "")]
sizes: dict[str, Any] = {
    "source": "word",
    "target": "character",
    "embed": 6,
    "encoder": {"name": "recurrent", "hidden": 5, "layers": 1},
    "decoder": {"name": "recurrent", "embed": 6, "hidden": 7, "dropout": 0.0},
    "attention": {"score": {"name": "additive", "hidden": 4}},
    "best_metric": "exact_match",
    "dropout": 0.0,
}


def seen(weights: Tensor) -> Look:
    return Look(torch.zeros(len(weights), weights.shape[-2], 1), compute_weights=lambda: weights)


def long(*lengths: int) -> Sequences:
    return Sequences.pad([[5] * length for length in lengths])


# --- the agreement -------------------------------------------------------------------------------------------


def test_a_number_by_hand() -> None:
    """Three source tokens, two target tokens; 0.5·1 + 0.5·0.5 of the first, 1·0.75 of the second."""
    there = torch.tensor([[[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]])
    back = torch.tensor([[[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]]])
    assert agreement(seen(there), seen(back), long(3), long(2)).tolist() == [0.5 + 0.25 + 0.75]
    assert float(torch.trace(there[0] @ back[0])) == 1.5


def test_it_is_at_most_the_shorter_length() -> None:
    torch.manual_seed(1)
    for i, j in [(2, 5), (5, 2), (4, 4), (1, 3)]:
        for sharp in (1.0, 30.0):
            there, back = (torch.randn(50, j, i) * sharp).softmax(-1), (torch.randn(50, i, j) * sharp).softmax(-1)
            found = agreement(seen(there), seen(back), long(*[i] * 50), long(*[j] * 50))
            assert (found >= 0).all()
            assert (found <= min(i, j) + 1e-4).all()
        same = torch.eye(max(i, j))[:j, :i][None]  # everyone who has a partner looks at it
        assert float(agreement(seen(same), seen(same.transpose(1, 2)), long(i), long(j))) == min(i, j)


def test_padding_and_heads() -> None:
    torch.manual_seed(1)
    there, back = torch.rand(2, 2, 3, 4), torch.rand(2, 2, 4, 3)
    x, y = long(4, 2), long(3, 1)
    found = agreement(seen(there), seen(back), x, y)
    alone = agreement(seen(there[1:, :, :1, :2]), seen(back[1:, :, :2, :1]), long(2), long(1))
    torch.testing.assert_close(found[1:], alone)
    flat = agreement(seen(there.mean(1)), seen(back.mean(1)), x, y)
    torch.testing.assert_close(found, flat)
    with pytest.raises(RegardError, match="keep its tokens"):
        agreement(seen(there[..., :2]), seen(back), x, y)


def test_gradients() -> None:
    given = [torch.rand(*shape, dtype=torch.float64, requires_grad=True) for shape in ((2, 3, 4), (2, 4, 3))]
    torch.autograd.gradcheck(lambda a, b: agreement(seen(a), seen(b), long(4, 2), long(3, 1)), given)


# --- the task ------------------------------------------------------------------------------------------------


def small(**options: Any) -> tuple[Agree, Both]:
    torch.manual_seed(1)
    task = Agree(**{**sizes, **options})
    task.learn(examples)
    return task, task.model()


def test_its_options_are_those_of_translate_and_gamma() -> None:
    ours, theirs = settable(Agree), settable(Translate)
    assert ours.keys() - theirs.keys() == {"gamma", "after"}

    def told(option: Parameter) -> tuple[object, ...]:  # all but the sentence
        return option.default, option.kind, mark(option), words(option.annotation)

    assert all(told(ours[name]) == told(theirs[name]) for name in theirs)


def test_the_words_of_one_side_are_one_vocabulary() -> None:
    task, network = small()
    assert task.other.texts["source"] is task.texts["target"]
    assert task.other.texts["target"] is task.texts["source"]
    twin = Agree(**sizes)
    twin.restore(task.keep())
    assert twin.other.keep() == task.other.keep() == {"source": task.keep()["target"], "target": task.keep()["source"]}
    words, characters = len(task.texts["source"]), len(task.texts["target"])
    rows = [part.embedding.num_embeddings for part in (network.there, network.there.decoder)]  # type: ignore[union-attr]
    assert rows == [words, characters]
    rows = [part.embedding.num_embeddings for part in (network.back, network.back.decoder)]  # type: ignore[union-attr]
    assert rows == [characters, words]


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_its_loss_is_that_of_both_and_their_agreement(gamma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    task, network = small(gamma=gamma)
    network.eval()
    batch = task.collate(task.items(examples))
    there, back = Translate(**sizes), Translate(**{**sizes, "source": "character", "target": "word"})
    there.learn(examples)
    back.learn(turned(examples))
    other = back.collate(back.items(turned(examples)))
    with torch.no_grad():
        losses = [there.loss(network.there, batch), back.loss(network.back, other)]
        assert isinstance(batch.target, Sequences)
        looks = [
            network.there.decoder.unroll(network.there.encode(batch.source), there._before(batch)[1])[0],
            network.back.decoder.unroll(network.back.encode(other.source), back._before(other)[1])[0],
        ]
        agreed = agreement(looks[0], looks[1], batch.source, batch.target)
        if not gamma:
            monkeypatch.setattr(Look, "weights", property(lambda look: pytest.fail("weights")))
        found = task.loss(network, batch)
    assert found.count == losses[0].count + losses[1].count
    expected = float(losses[0].total + losses[1].total - gamma * agreed.sum())
    assert float(found.total) == pytest.approx(expected, rel=1e-5)
    if gamma:
        shorter = torch.tensor([3 + 1, 1 + 1, 1])  # words, of which there are fewer than characters, and an end
        assert float(found.notes["agreement"]) == pytest.approx(float((agreed / shorter).mean()), rel=1e-5)
    else:
        assert found.notes == {}


def test_both_attentions_learn_from_it() -> None:
    task, network = small(gamma=1.0, fertility=0.5, teach={"scheduled_sampling": "linear", "source_replace": 0.2})
    task.on_step(network, 0.5)
    assert (network.there.progress, network.back.progress) == (0.5, 0.5)
    batch = task.collate(task.items(examples))
    plain, rich = [], []
    for gamma, found in ((0.0, plain), (50.0, rich)):
        task.gamma = gamma
        torch.manual_seed(2)
        loss = task.loss(network.train(), batch)
        network.zero_grad()
        loss.total.backward()  # type: ignore[no-untyped-call]
        found += [part.decoder.attention.score.w.grad.clone() for part in (network.there, network.back)]  # type: ignore
    assert not any(torch.allclose(one, other) for one, other in zip(plain, rich, strict=True))
    chances = {"label_smoothing", "source_replace"}  # the same for both directions, so said once
    assert loss.notes.keys() == chances | {"truth", "back_truth", "fertility", "back_fertility", "agreement"}


def test_until_it_counts_each_direction_learns_by_itself() -> None:
    task, network = small(gamma=0.5, after=0.5, label_smoothing=0.0, dropout=0.0)
    network.train()
    batch, totals = task.collate(task.items(examples)), []
    for progress in (0.0, 0.49, 0.5, 1.0):
        task.on_step(network, progress)
        torch.manual_seed(3)  # what falls to dropout is the same
        loss = task.loss(network, batch)
        totals.append(float(loss.total.detach()))
        assert 0 < float(loss.notes["agreement"]) < 1
    assert totals[0] == pytest.approx(totals[1])
    assert totals[2] == pytest.approx(totals[3])
    assert totals[2] < totals[1] - 1e-3


@pytest.mark.parametrize(
    "options",
    [
        {"gamma": -1.0},
        {"after": 1.0},
        {"after": -0.1},
        {"teach": {"source_dropout": 0.1}},
        {"teach": {"source_swap": 0.1}},
    ],
)
def test_what_cannot_agree_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(RegardError, match=r"gamma|after|teach\.source_dropout"):
        Agree(**options)


def test_what_looks_at_nothing_cannot_agree() -> None:
    with pytest.raises(RegardError, match=r"gamma=1\.0 and decoder=plain"):
        small(decoder={"name": "plain", "embed": 6, "hidden": 6})
    small(decoder={"name": "plain", "embed": 6, "hidden": 6}, gamma=0.0)


def test_examples_turned() -> None:
    one = Example(("ab",), "cde", "x:1", (Link(0, 1, 1, 2),))
    assert turned([one]) == [Example(("cde",), "ab", "x:1", (Link(1, 2, 0, 1),))]
    assert turned(turned([one])) == [one]


# --- the data the other way round ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"train": "a.tsv"}, {"train": "a.tsv", "source": "2", "target": "1"}),
        ({"train": "a.csv.gz", "valid": "b.tsv"}, {"source": "2", "target": "1", "valid": "b.tsv"}),
        ({"train": "a.jsonl"}, {"source": "target", "target": "source"}),
        ({"train": "hf:a/b"}, {"train": "hf:a/b", "source": "target", "target": "source"}),
        ({"train": "a.tsv", "source": "de", "target": "en"}, {"source": "en", "target": "de"}),
        ({"train": "a.tsv", "source": "3,1"}, {"source": "1", "target": "3"}),
        (
            {"train": "a.de,a.en", "test": "b.de, b.en"},
            {"train": "a.en,a.de", "test": "b.en,b.de", "source": "", "target": ""},
        ),
        ({"train": "a.de,a.en", "valid": "b.tsv"}, {"train": "a.en,a.de", "valid": "b.tsv", "source": "2"}),
        ({"train": "a.tsv", "valid": "b.jsonl"}, None),
        ({"train": "a.x", "form": "tsv"}, None),
        ({"train": "builtin:dates"}, None),
        ({"train": ""}, None),
    ],
)
def test_options_of_data_turned(data: dict[str, str], expected: dict[str, str] | None) -> None:
    whole = {"train": "", "valid": "", "test": "", "source": "", "target": "", "form": "auto"} | data
    found = turned_data(whole)
    if expected is None or found is None:
        assert found is expected
    else:
        assert found == whole | {"target": found["target"]} | expected


def quick(folder: Path, **options: Any) -> api.Trained:
    train = {"steps": 20, "validate_every": 10, "batch_size": 16, "lr": 0.02, "warmup": 2, "ema": 0.0, "device": "cpu"}
    return api.train("agree", out=folder / "run", quiet=True, train=train, **{**sizes, **options})


pairs = [(f"{a} {b}", f"{b}{a}") for a in "abcdefgh" for b in "ijklmnop"]


def a_file(folder: Path) -> dict[str, str]:
    (folder / "pairs.tsv").write_text("".join(f"{x}\t{y}\n" for x, y in pairs))
    return {"train": str(folder / "pairs.tsv")}


def a_file_of_odd_name(folder: Path) -> dict[str, str]:
    (folder / "pairs.data").write_text("".join(f"{x}\t{y}\n" for x, y in pairs))
    return {"train": str(folder / "pairs.data"), "form": "tsv"}


def parallel(folder: Path) -> dict[str, str]:
    for side, name in enumerate(("x", "y")):
        (folder / f"train.{name}").write_text("".join(f"{pair[side]}\n" for pair in pairs[8:]))
        (folder / f"valid.{name}").write_text("".join(f"{pair[side]}\n" for pair in pairs[:8]))
    return {part: f"{folder}/{part}.x,{folder}/{part}.y" for part in ("train", "valid")}


def a_folder(folder: Path) -> dict[str, str]:
    (folder / "data").mkdir()
    for part, some in (("train", pairs[8:]), ("valid", pairs[:4]), ("test", pairs[4:8])):
        rows = [json.dumps({"source": x, "target": y}) + "\n" for x, y in some]
        (folder / "data" / f"{part}.jsonl").write_text("".join(rows))
    return {"train": str(folder / "data")}


@pytest.mark.sweep
@pytest.mark.parametrize("data", sweep_but([a_file, a_file_of_odd_name, parallel, a_folder], a_file_of_odd_name))
def test_two_runs_come_of_it(data: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole runs of translate, whose own data are the pairs that were held out, in their own direction."""
    monkeypatch.setattr(regard.train.loop, "draw", lambda folder: None)
    done = quick(tmp_path, data=data(tmp_path))
    there, back = (api.load(tmp_path / "run" / name, device="cpu") for name in ("there", "back"))
    assert (there.config["task"], back.config["task"]) == ("translate", "translate")
    ours = done.splits
    same, other = there.data(), back.data()
    for part in ("valid", "test"):
        expected = [(one.source, one.target) for one in getattr(ours, part)]
        assert [(one.source, one.target) for one in getattr(same, part)] == expected
        assert [(one.target, one.source) for one in getattr(other, part)] == expected
    assert {(one.target, one.source) for one in other.train} >= {(one.source, one.target) for one in ours.train}
    held = ours.test or ours.valid
    figures = done.model.evaluate(held)
    assert {"exact_match", "back_exact_match", "back_perplexity"} <= figures.keys()
    assert there.evaluate(same.test or same.valid) == {
        name: value for name, value in figures.items() if not name.startswith("back_")
    }
    assert {f"back_{name}": value for name, value in back.evaluate(other.test or other.valid).items()} == {
        name: value for name, value in figures.items() if name.startswith("back_")
    }
    assert [one.text for one in there(["a i", "b k"])] == [one.text for one in done.model(["a i", "b k"])]
    assert back("ia").look is not None


@pytest.mark.sweep
def test_it_is_written_again_and_taken_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regard.train.loop, "draw", lambda folder: None)
    data, inner = a_file(tmp_path), tmp_path / "run" / "back"
    quick(tmp_path, data=data)
    weights = (inner / "model.safetensors").read_bytes()
    (inner / "model.safetensors").write_bytes(b"")
    (inner / "tokenizer.json").write_text("{}")
    quick(tmp_path, data=data)  # finished already, and whole again
    assert (inner / "model.safetensors").read_bytes() == weights
    assert api.load(inner)("ia").text == api.load(tmp_path / "run" / "back")("ia").text
    with pytest.raises(RegardError, match="was started with gamma"):
        quick(tmp_path, data=data, gamma=0.25)
    assert quick(tmp_path, data=data, gamma=0.25, fresh=True).outcome.per_second > 0
    (inner / "mine.txt").write_text("keep")
    with pytest.raises(RegardError, match="also contains mine"):
        quick(tmp_path, data=data, fresh=True)
    assert (inner / "mine.txt").read_text() == "keep"


@pytest.mark.sweep
def test_what_is_looked_at_comes_to_agree() -> None:
    """Eighty steps with and without: both learn, and one of them to look at the same places both ways."""
    some = [Example((x,), y) for x, y in pairs]
    wide = {
        "embed": 16,
        "encoder": {"name": "recurrent", "hidden": 16, "layers": 1},
        "decoder": {"name": "recurrent", "embed": 16, "hidden": 16, "dropout": 0.0},
        "attention": {"score": {"name": "additive", "hidden": 16}},
    }
    shares = {}
    for gamma in (0.001, 1.0):
        torch.manual_seed(1)
        task = Agree(**{**sizes, **wide, "gamma": gamma})
        task.learn(some)
        network, batch = task.model().train(), task.collate(task.items(some))
        optimiser = torch.optim.Adam(network.parameters(), lr=0.02)
        for _ in range(80):
            loss = task.loss(network, batch)
            optimiser.zero_grad()
            (loss.total / loss.count).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        shares[gamma] = float(loss.notes["agreement"])
    assert shares[1.0] > shares[0.001] + 0.05
    assert shares[1.0] <= 1


def test_a_batch_the_other_way_round_is_the_same_batch() -> None:
    task, _ = small()
    batch = task.collate(task.items(examples))
    other = task.other.collate(task.other.items(turned(examples)))
    assert isinstance(batch.target, Sequences)
    back = Batch((batch.target,), batch.source)
    assert torch.equal(back.source.values, other.source.values)
    assert isinstance(other.target, Sequences)
    assert torch.equal(batch.source.values, other.target.values)
