"""Agree: both directions in one loss, the agreement of their looks by hand, and the two runs that come of it."""

import json
from inspect import Parameter
from pathlib import Path
from typing import Any

import pytest
import torch

from generation_tasks import sides
from regard import api
from regard.data.splits import Splits
from regard.errors import RegardError
from regard.find import mark, settable, words
from regard.measure import Results
from regard.networks.both import Both, agreement
from regard.networks.encoder_decoder import shifted
from regard.tasks.agree import Agree, _data, swapped, swapped_data
from regard.tasks.translate import Translate
from regard.types import Batch, Example, Link, Look, Prediction, Sequences
from tiers import sweep_but

examples = [Example(("eins zwei drei",), "one two"), Example(("vier",), "four five six"), Example(("",), "")]
sizes: dict[str, Any] = {
    **sides("word", "character"),
    "encoder": {"name": "recurrent", "hidden": 5, "layers": 1},
    "decoder": {"name": "recurrent", "embed": 6, "hidden": 7, "dropout": 0.0},
    "attention": {"score": {"name": "additive", "hidden": 4}},
    "best_metric": "exact_match",
}


# --- the task ------------------------------------------------------------------------------------------------


def small(**options: Any) -> tuple[Agree, Both]:
    torch.manual_seed(1)
    task = Agree(**{**sizes, **options})
    task.learn(examples)
    return task, task.network()


def test_its_options_are_those_of_translate_and_gamma() -> None:
    ours, theirs = settable(Agree), settable(Translate)
    assert ours.keys() - theirs.keys() == {"gamma", "after"}

    def told(option: Parameter) -> tuple[object, ...]:  # all but the sentence
        return option.default, option.kind, mark(option), words(option.annotation)

    assert all(told(ours[name]) == told(theirs[name]) for name in theirs)


def test_the_words_of_one_side_are_one_vocabulary() -> None:
    task, network = small()
    assert task.other.source.text is task.target.text
    assert task.other.target.text is task.source.text
    twin = Agree(**sizes)
    twin.restore(task.keep())
    kept, other = task.keep(), task.other.keep()
    assert twin.other.keep() == other
    assert other["source"]["tokenizer"] == kept["target"]["tokenizer"]
    assert other["target"]["tokenizer"] == kept["source"]["tokenizer"]
    words, characters = len(task.source.text), len(task.target.text)
    rows = [network.there.embed.vocab, network.there.decoder.embedding.num_embeddings]  # type: ignore[union-attr]
    assert rows == [words, characters]
    rows = [network.back.embed.vocab, network.back.decoder.embedding.num_embeddings]  # type: ignore[union-attr]
    assert rows == [characters, words]


@pytest.mark.parametrize("gamma", [0.0, 0.5])
def test_its_loss_is_that_of_both_and_their_agreement(gamma: float, monkeypatch: pytest.MonkeyPatch) -> None:
    task, network = small(gamma=gamma)
    network.eval()
    batch = task.collate(task.items(examples))
    there, back = Translate(**sizes), Translate(**{**sizes, **sides("character", "word")})
    there.learn(examples)
    back.learn(swapped(examples))
    other = back.collate(back.items(swapped(examples)))
    with torch.no_grad():
        losses = [network.there(batch), network.back(other)]
        assert isinstance(batch.target, Sequences)
        assert isinstance(other.target, Sequences)
        looks = [
            network.there.decoder.unroll(network.there.encode(batch.source), shifted(batch.target))[0],
            network.back.decoder.unroll(network.back.encode(other.source), shifted(other.target))[0],
        ]
        agreed = agreement(looks[0], looks[1], batch.source, batch.target)
        if not gamma:
            monkeypatch.setattr(Look, "weights", property(lambda look: pytest.fail("weights")))
        found = network(batch)
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
    batch = task.collate(task.items(examples))
    plain, rich = [], []
    for gamma, found in ((0.0, plain), (50.0, rich)):
        network.gamma = gamma
        torch.manual_seed(2)
        loss = network.train()(batch)
        network.zero_grad()
        loss.total.backward()  # type: ignore[no-untyped-call]
        found += [part.decoder.attention.score.w.grad.clone() for part in (network.there, network.back)]  # type: ignore
    assert not any(torch.allclose(one, other) for one, other in zip(plain, rich, strict=True))
    chances = {"label_smoothing", "source_replace"}  # the same for both directions, so said once
    assert loss.notes.keys() == chances | {"truth", "back_truth", "fertility", "back_fertility", "agreement"}


def test_until_it_counts_each_direction_learns_by_itself() -> None:
    task, network = small(gamma=0.5, after=0.5, label_smoothing=0.0)
    network.train()
    batch, totals = task.collate(task.items(examples)), []
    for progress in (0.0, 0.49, 0.5, 1.0):
        torch.manual_seed(3)  # what falls to dropout is the same
        loss = network(batch, progress)
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
    assert swapped([one]) == [Example(("cde",), "ab", "x:1", (Link(1, 2, 0, 1),))]
    assert swapped(swapped([one])) == [one]


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
    found = swapped_data(whole)
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


def test_what_is_written_for_the_other_way_round(tmp_path: Path) -> None:
    """The parts that were held out, or all of data that cannot be read the other way round."""
    splits = Splits([Example(("a",), "b")], [Example(("c",), "d")], [Example(("e",), "f")])
    data = dict.fromkeys(("train", "valid", "test", "source", "target"), "") | {"train": "pairs.tsv", "form": "auto"}
    found, written = _data(data, splits, tmp_path)
    assert found["train"] == "pairs.tsv"
    assert {name: json.loads(text) for name, text in written.items()} == {
        "valid.jsonl": {found["source"]: "d", found["target"]: "c"},
        "test.jsonl": {found["source"]: "f", found["target"]: "e"},
    }
    found, written = _data({**data, "train": "pairs.data", "form": "tsv"}, splits, tmp_path)
    assert found["train"] == str(tmp_path / "train.jsonl")
    assert json.loads(written["train.jsonl"]) == {"source": "b", "target": "a"}


def test_results_of_one_direction_alone_are_measured() -> None:
    task, _ = small(metrics=("exact_match",))
    one = Results([Example(("a",), "b")], [Prediction("b", 0.0)])
    assert task.measure(one) == {"exact_match": 1.0}


@pytest.mark.sweep
@pytest.mark.parametrize("data", sweep_but([a_file, a_file_of_odd_name, parallel, a_folder], a_file_of_odd_name))
def test_two_runs_come_of_it(data: Any, tmp_path: Path) -> None:
    """Whole runs of translate, whose own data are the pairs that were held out, in their own direction."""
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
def test_it_is_written_again_and_taken_away(tmp_path: Path) -> None:
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
        **sides("word", "character", dim=16),
        "encoder": {"name": "recurrent", "hidden": 16, "layers": 1},
        "decoder": {"name": "recurrent", "embed": 16, "hidden": 16, "dropout": 0.0},
        "attention": {"score": {"name": "additive", "hidden": 16}},
    }
    shares = {}
    for gamma in (0.001, 1.0):
        torch.manual_seed(1)
        task = Agree(**{**sizes, **wide, "gamma": gamma})
        task.learn(some)
        network, batch = task.network().train(), task.collate(task.items(some))
        optimiser = torch.optim.Adam(network.parameters(), lr=0.02)
        for _ in range(80):
            loss = network(batch)
            optimiser.zero_grad()
            (loss.total / loss.count).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        shares[gamma] = float(loss.notes["agreement"])
    assert shares[1.0] > shares[0.001] + 0.05
    assert shares[1.0] <= 1


def test_a_batch_the_other_way_round_is_the_same_batch() -> None:
    task, _ = small()
    batch = task.collate(task.items(examples))
    other = task.other.collate(task.other.items(swapped(examples)))
    assert isinstance(batch.target, Sequences)
    back = Batch((batch.target,), batch.source)
    assert torch.equal(back.source.values, other.source.values)
    assert isinstance(other.target, Sequences)
    assert torch.equal(batch.source.values, other.target.values)
