"""The contract of a task: what everybody may ask, and what is done once for all tasks."""

import pytest

from generation_tasks import data, made, pairs
from regard.errors import RegardError
from regard.fields import Field, Input
from regard.find import find, names
from regard.train.task import Ask, Task, places
from sentence_tasks import examples, task_of

wanted = {
    "name",
    "default_data",
    "preset",
    "recipe",
    "counts",
    "capabilities",
    "known",
    "network",
    "predict",
    "results",
}


@pytest.mark.parametrize("name", names("tasks"))
def test_every_task_has_what_is_asked_for(name: str) -> None:
    kind = find("tasks", name)
    assert issubclass(kind, Task)
    assert [member for member in sorted(wanted) if not hasattr(kind, member)] == []
    assert (kind.name, kind.counts in ("tokens", "examples", "items")) == (name, True)
    task = made(name)
    assert all(isinstance(field, Input) for field in task.inputs.values())
    assert task.target is None or isinstance(task.target, Field)
    assert list(task.fields)[: len(task.inputs)] == list(task.inputs)


@pytest.mark.parametrize("name", names("tasks"))
def test_what_it_declares_it_can_do(name: str) -> None:
    task = made(name)
    network, [row] = task.network().eval(), [data.get(name, pairs)[0].inputs]
    for capability, method in (("scores", "score"), ("streams", "stream")):
        assert task.can(capability) == (getattr(type(task), method) is not getattr(Task, method))  # type: ignore[arg-type]
    if task.can("drops_tokens"):
        [one] = task.predict(network, [row], Ask(drop_tokens=[[(0,), *[()] * (len(row) - 1)]]))
        assert one.text is not None


def test_encoded_examples_know_their_lengths() -> None:
    task = task_of("entail")
    [item, *_] = task.items(examples["entail"])
    assert item.lengths == (3, 3, 1)
    assert task.items(examples["entail"]) is task.items(examples["entail"])  # encoded once


def test_a_field_with_two_roles_is_kept_once() -> None:
    task = task_of("entail")
    assert list(task.keep()) == ["premise", "target"]
    assert task.inputs["premise"] is task.inputs["hypothesis"]


def test_where_a_text_was_read() -> None:
    assert list(places("ab", ())) == ["input 1", "input 2"]
    assert places("ab", ["x:1", "x:2"]) == ["x:1", "x:2"]
    task = task_of("classify")
    with pytest.raises(RegardError, match=r"^x:2: input: no token 9 to drop"):
        task.rows([("a dog",), ("a",)], Ask(drop_tokens=[[()], [(9,)]]), ["x:1", "x:2"])
