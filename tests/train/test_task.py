"""What the loop knows of a task, and that every task has it."""

import pytest

from regard.find import find, names
from regard.train.task import Item, Task

wanted = {name for name in {**vars(Task), **Task.__annotations__} if not name.startswith("_")}


def test_lengths_are_the_longest_input_s_and_the_target_s() -> None:
    assert Item(([1, 2, 3], [4]), [5, 6]).lengths == (3, 2)
    assert Item(([1],), [5, 6]).lengths == (1, 2)


@pytest.mark.parametrize("name", names("tasks"))
def test_every_task_has_what_the_loop_asks_for(name: str) -> None:
    kind = find("tasks", name)
    assert {"loss", "predict", "best", "preset", "columns"} <= wanted
    assert [member for member in sorted(wanted) if not hasattr(kind, member)] == []
    assert kind.name == name
    assert kind.columns >= 1
