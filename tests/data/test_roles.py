"""The names of a task's columns stand for source and target."""

import pytest

from regard.data.roles import by_role
from regard.errors import RegardError
from regard.find import find, names

entail = (("premise",), ("hypothesis",), ("label",))
classify = (("text", "image"), ("label",))


def test_by_hand() -> None:
    assert by_role({"premise": "P", "label": "L", "hypothesis": "H", "skip": True}, entail) == {
        "source": "P,H",
        "target": "L",
        "skip": True,
    }
    assert by_role({"hypothesis": "H"}, entail) == {"source": ",H"}
    assert by_role({"text": 2, "target": "L"}, classify) == {"source": "2", "target": "L"}
    assert by_role({"text": "T"}, (("text",),)) == {"source": "T"}
    assert by_role({"source": "a"}, classify) == {"source": "a"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"txt": "T"}, "unknown option 'data.txt'; did you mean 'text'?"),
        ({"text": "T", "source": "S"}, "data.source and data.text; expected only one of them"),
        ({"text": "T", "image": "S"}, "data.text and data.image; expected only one of them"),
        ({"text": ["T"]}, r"data.text: got \['T'\]; expected the name of a column"),
    ],
)
def test_wrong_names(options: dict[str, object], message: str) -> None:
    with pytest.raises(RegardError, match=message):
        by_role(options, classify, ["source", "target"])


def test_every_task_names_its_columns() -> None:
    for name in names("tasks"):
        task = find("tasks", name)()
        assert len(task.columns) >= len(task.fields), name  # a file of histories has a column more: the time
