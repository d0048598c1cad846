"""Limits that make sense, and bodies that are cut short as soon as they are too large."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from regard.errors import RegardError
from regard.serve.limits import RefusedError, ServiceLimits, read_body


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"batch": 0}, "--batch 0; expected 1 or more"),
        ({"queue": -1}, "--queue -1; expected 1"),
        ({"window": -1.0}, "--window -1.0; expected seconds"),
        ({"grace": float("nan")}, "--grace nan"),
        ({"texts": 65, "queue": 64}, "--texts 65 with --queue 64; expected a queue that fits a whole request"),
    ],
)
def test_limits_without_sense(options: dict[str, Any], said: str) -> None:
    with pytest.raises(RegardError, match=said):
        ServiceLimits(**options).check()


def sent(*parts: bytes, end: bool = True, wait: float = 0.0) -> Callable[[], Awaitable[Mapping[str, Any]]]:
    messages = [
        {"type": "http.request", "body": part, "more_body": not end or n < len(parts) - 1}
        for n, part in enumerate(parts)
    ]

    async def receive() -> Mapping[str, Any]:
        await asyncio.sleep(wait)
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    return receive


def read(headers: dict[str, str], receive: Any, **limits: Any) -> bytes:
    return asyncio.run(read_body(headers, receive, ServiceLimits(**{"body": 10, **limits})))


def test_bodies() -> None:
    assert read({}, sent(b"01234", b"56789")) == b"0123456789"
    assert read({"content-length": "x"}, sent(b"")) == b""
    cases: list[tuple[int, dict[str, str], Any, dict[str, float]]] = [
        (413, {"content-length": "11"}, None, {}),  # which is not even asked for
        (413, {}, sent(b"01234567890", end=False), {}),  # which nobody waits for
        (413, {}, sent(b"01234", b"567890", b"more"), {}),
        (400, {}, sent(b"0", end=False), {}),
        (408, {}, sent(b"0", wait=5), {"slow": 0.01}),
    ]
    for status, headers, receive, limits in cases:
        with pytest.raises(RefusedError) as refused:
            read(headers, receive, **limits)
        assert refused.value.status == status
