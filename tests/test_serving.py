"""The way to the service says what is missing."""

import sys

import pytest

from regard import serving
from regard.errors import RegardError


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("regard.serve.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(RegardError, match=r"prometheus_client is not installed.*pip install 'regard\[serve\]'"):
        serving.serve(["x"], {})


def test_limits_and_options_arrive(monkeypatch: pytest.MonkeyPatch) -> None:
    from regard.serve import server

    seen = dict[str, object]()
    monkeypatch.setattr(server, "serve", lambda folders, limits, **options: seen.update(options, limits=limits))
    serving.serve(["x"], {"batch": 3}, port=5)
    assert seen == {"port": 5, "limits": server.ServiceLimits(batch=3)}
