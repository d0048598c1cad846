"""Tag: a label for each token; padding is neither learned from nor counted; labels and tokens must be as many."""

from pathlib import Path
from typing import Any

import pytest

from regard.api import configure, make_task, prepare
from regard.errors import RegardError
from regard.find import find
from regard.tasks.tag import Tag
from regard.train.task import Ask
from regard.types import Example, Sequences
from sentence_tasks import batch_of, both, examples, prepared, refused, task_of

good = ["EU rejects\tB-ORG O", "Peter runs\tB-PER O"]


def test_it_is_found_by_its_name() -> None:
    assert find("tasks", "tag") is Tag
    assert (Tag.name, Tag.default_data, Tag.counts) == ("tag", "builtin:fields", "tokens")


@pytest.mark.parametrize("options", [{}, {"data": {"train": "ner.conll"}}])
def test_presets_and_defaults_make_a_model(options: dict[str, Any]) -> None:
    task = make_task(configure("tag", options))
    task.learn(examples["tag"] if options else [Example(("5. 3.",), "D O O M O")])  # characters, where dates are read
    assert task.network().read([Sequences.pad([[4, 5], [6]])]).logits.shape == (2, 2, len(task.target.names))


def test_as_many_labels_as_tokens_are_answered() -> None:
    task, model = both("tag")
    for one, example in zip(
        task.predict(model, [e.inputs for e in examples["tag"]], Ask()), examples["tag"], strict=True
    ):
        labels = one.text.split(" ")
        assert len(labels) == len(example.source.split())
        assert set(labels) <= set(task.target.names)
        assert one.look is None
    figures = task.measure(task.results(model, examples["tag"]))
    assert 0 <= figures["tag_accuracy"] <= 1
    assert "span_f1" not in figures  # no label begins with B- or I-


def test_padding_teaches_nothing() -> None:
    task, model = both("tag")
    read = model.read(batch_of(task, examples["tag"]).inputs)
    read.logits.retain_grad()
    model.head.loss(read.logits, batch_of(task, examples["tag"]).target).sum().backward()
    assert not read.logits.grad[~read.inputs.mask].any()
    assert read.logits.grad[read.inputs.mask].any(-1).all()


fill = "expected at least one character; fill it or remove the line, or set data.skip=true to skip such lines"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("EU rejects\tB-ORG", "1 label for 2 tokens; expected one label per token, separated by spaces"),
        ("EU\tB-ORG O O", "3 labels for 1 token; expected one label per token, separated by spaces"),
        ("EU rejects\t", f"an empty target; {fill}"),
        ("EU rejects\tB-ORG X", "label 'X'; expected a label from the training data; known: B-ORG, B-PER, O"),
        ("EU rejects\tB-ORK O", "label 'B-ORK'; expected a label from the training data; did you mean 'B-ORG'?"),
        ("\tO", f"an empty text; {fill}"),
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
        Tag(head={}).learn([Example(("a",), "")])


def test_more_than_one_space_is_one(tmp_path: Path) -> None:
    """As the measures count them."""
    ready = prepared("tag", tmp_path, ["EU  rejects\tB-ORG  O", "Peter runs\tB-PER O "], good)
    assert ready.task.target.names == ["B-ORG", "B-PER", "O"]
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
    task = task_of("tag")
    assert len(task.items([Example(("don't , U.K.",), "D D D", "x:1")])[0].inputs[0]) == 3


def test_a_one_way_model_tags_a_stream_as_it_arrives() -> None:
    task, model = both("tag", encoder={"name": "lstm", "hidden": 8})
    stream = task.stream(model)
    for example in examples["tag"]:
        [whole] = task.predict(model, [example.inputs], Ask())
        assert " ".join(map(stream, example.source.split())) == whole.text
        stream.end()
    with pytest.raises(RegardError, match="empty token"):
        stream("")


def test_a_stream_may_be_of_any_values_with_spaces_between() -> None:
    task, model = both("tag", encoder={"name": "lstm", "hidden": 8}, input="items")
    [example] = examples["tag"][:1]
    [whole] = task.predict(model, [example.inputs], Ask())
    assert " ".join(map(task.stream(model), example.source.split())) == whole.text


def test_a_model_that_reads_from_both_ends_cannot() -> None:
    task, model = both("tag")
    with pytest.raises(RegardError, match="unidirectional"):
        task.stream(model)
