"""The format of a config.toml: today's is taken out, any other is refused in one line."""

from typing import Any

import pytest

from regard.errors import RegardError
from regard.format import FORMAT, check_format


def test_today_s_is_taken_out() -> None:
    config = {"format": FORMAT, "task": "tag"}
    check_format("config.toml", config)
    assert config == {"task": "tag"}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({}, f"r/config.toml: format 1; expected format {FORMAT}; train it again"),
        ({"format": 1}, "train it again"),
        ({"format": FORMAT + 1}, "install a newer regard"),
        ({"format": "x" * 99}, "format 'xxxxxxxxxxxxxxxxxx…; expected"),
        ({"format": [2]}, "format [2]; expected"),
        ({"format": True}, "format True; expected"),
    ],
)
def test_any_other_is_refused(found: dict[str, Any], said: str) -> None:
    with pytest.raises(RegardError) as caught:
        check_format("r/config.toml", found)
    assert said in str(caught.value)
