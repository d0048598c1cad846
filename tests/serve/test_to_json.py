"""JSON in pieces is the same JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from regard.serve import to_json as module
from regard.serve.to_json import to_json

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
leaf = st.none() | st.booleans() | numbers | st.text(max_size=5)
values = st.recursive(
    leaf, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=4)
)


@given(values.filter(lambda value: "\\ud" not in json.dumps(value)))
def test_the_same_as_whole(value: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "some", 2)
        assert to_json(value) == json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def test_no_piece_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths, whole = list[int](), module._dumps
    monkeypatch.setattr(module, "_dumps", lambda value: lengths.append(len(whole(value))) or whole(value))
    look = {"maps": [{"rows": [{"text": "a", "start": 0}] * 50, "heads": [[0.25] * 10_000] * 3}], "breaks": (1, 2)}
    assert json.loads(to_json(look)) == json.loads(json.dumps(look))
    assert max(lengths) < 12_000


def test_what_json_does_not_know() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json({"score": float("nan")})
