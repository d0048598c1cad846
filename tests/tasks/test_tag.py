"""Tag: a label for each token; padding is neither learned from nor counted; labels and tokens must be as many."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_tasks import batch_of, both, examples, prepared, refused, task_of

from regard.api import configure, make_task, prepare
from regard.errors import RegardError
from regard.find import find
from regard.tasks._reader import Read
from regard.tasks.tag import Tag
from regard.types import Example, Memory, Sequences

good = ["EU rejects\tB-ORG O", "Peter runs\tB-PER O"]


def test_it_is_found_by_its_name() -> None:
    assert find("tasks", "tag") is Tag
    assert (Tag.name, Tag.columns, Tag.default_data, Tag.counts) == ("tag", 2, "builtin:fields", "tokens")


@pytest.mark.parametrize("options", [{}, {"data": {"train": "ner.conll"}}])
def test_presets_and_defaults_make_a_model(options: dict[str, Any]) -> None:
    task = make_task(configure("tag", options))
    task.learn(examples["tag"] if options else [Example(("5. 3.",), "D O O M O")])  # characters, where dates are read
    assert task.model()([Sequences.pad([[4, 5], [6]])]).logits.shape == (2, 2, len(task.labels))


def read_of(probabilities: list[list[list[float]]], rows: list[list[int]]) -> Read:
    nothing = torch.zeros(1, 1, 1)
    return Read(torch.tensor(probabilities).log(), Memory(nothing, nothing), None, Sequences.pad(rows))


def test_the_loss_by_hand() -> None:
    """Two labels. Of the first sentence ½ · ¼ is right, of the second ¾; its padding counts for nothing."""
    task = Tag()
    task.learn([Example(("x y",), "A B"), Example(("z",), "B")])
    assert task.labels == ["A", "B"]
    items = task.items([Example(("x y",), "A B", "t:1"), Example(("z",), "B", "t:2")])
    batch = task.collate(items)
    assert [item.target for item in items] == [[0, 1], [1]]
    read = read_of([[[0.5, 0.5], [0.75, 0.25]], [[0.25, 0.75], [0.9, 0.1]]], [[4, 5], [6]])
    assert task.nats(read, batch.target).tolist() == pytest.approx([math.log(8), math.log(4 / 3)])
    assert task.count(batch) == 3
    [one, other] = task.answers(read, 2)
    assert (one.text, other.text) == ("A A", "B")
    assert one.log_prob == pytest.approx(math.log(0.5 * 0.75))
    assert other.log_prob == pytest.approx(math.log(0.75))
    assert one.log_prob_per_token == pytest.approx(math.log(0.5 * 0.75) / 2)
    assert other.log_prob_per_token == other.log_prob


def test_as_many_labels_as_tokens_are_answered() -> None:
    task, model = both("tag")
    for one, example in zip(task.predict(model, [e.inputs for e in examples["tag"]]), examples["tag"], strict=True):
        labels = one.text.split(" ")
        assert len(labels) == len(example.source.split())
        assert set(labels) <= set(task.labels)
        assert one.look is None
    figures = task.measure(task.results(model, examples["tag"]))
    assert 0 <= figures["tag_accuracy"] <= 1
    assert "span_f1" not in figures  # no label begins with B- or I-


def test_padding_teaches_nothing() -> None:
    task, model = both("tag")
    read = model(batch_of(task, examples["tag"]).inputs)
    read.logits.retain_grad()
    task.nats(read, batch_of(task, examples["tag"]).target).sum().backward()
    assert not read.logits.grad[~read.inputs.mask].any()
    assert read.logits.grad[read.inputs.mask].any(-1).all()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("EU rejects\tB-ORG", "1 label for 2 tokens; expected a label for each token, with spaces between"),
        ("EU\tB-ORG O O", "3 labels for 1 token; expected a label for each token, with spaces between"),
        ("EU rejects\t", "0 labels for 2 tokens; expected a label for each token, with spaces between"),
        ("EU rejects\tB-ORG X", "label 'X'; expected one that was seen in training; known: B-ORG, B-PER, O"),
        ("EU rejects\tB-ORK O", "label 'B-ORK'; expected one that was seen in training; did you mean 'B-ORG'?"),
        ("\tO", "an empty text; expected at least one word"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, line: str, said: str) -> None:
    assert refused("tag", tmp_path, good, [good[1], line]) == f"valid-tag.tsv:2: {said}"
    if "training" not in said:
        assert refused("tag", tmp_path, [*good, line], good) == f"tag.tsv:3: {said}"


def test_only_one_label(tmp_path: Path) -> None:
    assert refused("tag", tmp_path, ["a b\tO O", "b\tO", "c\tO"]).endswith(
        "every label is 'O'; expected at least two different labels"
    )
    with pytest.raises(RegardError, match=r"^no labels"):
        Tag().learn([Example(("a",), "")])


def test_more_than_one_space_is_one(tmp_path: Path) -> None:
    """As the measures count them."""
    ready = prepared("tag", tmp_path, ["EU  rejects\tB-ORG  O", "Peter runs\tB-PER O "], good)
    assert ready.task.labels == ["B-ORG", "B-PER", "O"]
    assert [item.target for item in ready.task.items(ready.splits.train)] == [[0, 2], [1, 2]]
    figures = ready.task.measure(ready.task.results(ready.network.eval(), ready.splits.train))
    assert {"tag_accuracy", "span_f1"} <= figures.keys()


def test_conll_columns(tmp_path: Path) -> None:
    path = tmp_path / "ner.conll"
    path.write_text("EU NNP B-ORG\nrejects VBZ O\n\nPeter NNP B-PER\n")
    ready = prepare("tag", {"data": {"train": str(path), "valid": str(path)}, "encoder": {"hidden": 2}})
    assert [example.target for example in ready.splits.train] == ["B-ORG O", "B-PER"]
    path.write_text("EU NNP B-ORG\nrejects VBZ\n")
    with pytest.raises(RegardError, match=r"ner\.conll:2: 2 columns"):
        prepare("tag", {"data": {"train": str(path)}})


def test_words_are_told_apart_by_spaces_alone() -> None:
    task = task_of("tag", text="word")
    assert len(task.items([Example(("don't , U.K.",), "D D D", "x:1")])[0].inputs[0]) == 3


def test_a_one_way_model_tags_a_stream_as_it_arrives() -> None:
    task, model = both("tag", encoder={"name": "lstm", "hidden": 8})
    stream = task.stream(model)
    for example in examples["tag"]:
        [whole] = task.predict(model, [example.inputs])
        assert " ".join(map(stream, example.source.split())) == whole.text
        stream.end()
    with pytest.raises(RegardError, match="empty token"):
        stream("")


def test_a_model_that_reads_from_both_ends_cannot() -> None:
    task, model = both("tag")
    with pytest.raises(RegardError, match="one-way"):
        task.stream(model)
