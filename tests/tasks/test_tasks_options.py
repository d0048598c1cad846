"""Options that several tasks share: the same sentence and the same choices everywhere."""

import pytest

from regard.errors import RegardError
from regard.find import In, find, mark, names, settable
from regard.tasks import _options


def test_each_name_means_one_thing() -> None:
    """A task that has an option of this name takes it from here."""
    shared = {"pool": _options.Pooling, "sparsity": _options.Sparsity, "search": _options.Searching}
    for task in set(names("tasks")) - {"language"}:  # which says of its search that a text is continued
        for name, option in settable(find("tasks", task)).items():
            if name in shared:
                assert option.annotation == shared[name], (task, name)


@pytest.mark.parametrize("task", ["classify", "entail", "relate", "tag"])
def test_what_is_read_is_a_field(task: str) -> None:
    assert mark(settable(find("tasks", task))["input"]) == In("fields")


@pytest.mark.parametrize("name", ["label", "number", "tags"])
def test_what_cannot_be_read_is_told(name: str) -> None:
    for task, option in (("classify", "input"), ("translate", "source")):
        with pytest.raises(RegardError, match=f"^field={name} cannot be an input; expected a field for inputs"):
            find("tasks", task)(**{option: name})
