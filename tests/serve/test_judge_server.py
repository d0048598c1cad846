"""The server: on this machine only, its file made when it runs, stopped cleanly."""

import json
import os
import signal
import socket
import time
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

import pytest

from regard.errors import RegardError
from regard.serve import judge_server
from regard.serve.judge import Stand
from regard.serve.judge_server import serve
from regard.serve.judge_sheet import Sheet
from regard.serve.judge_store import existing


def ask(address: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(address, data, {"Content-Type": "application/json"}), timeout=20) as answer:
        return json.load(answer)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_judge_comes_and_goes(sheet: Sheet, tmp_path: Path, end: signal.Signals) -> None:
    path, seen, before = tmp_path / "j.sqlite", list[Any](), signal.getsignal(end)

    def judge(address: str) -> None:
        try:
            name = ask(f"{address}api/sheet")["sheet"]
            for question in ("adequacy", "fluency"):
                body = {"sheet": name, "output": 0, "question": question, "value": 3}
                seen.append(ask(f"{address}api/lines/4", body)["done"])
        finally:
            os.kill(os.getpid(), end)

    def say(address: str, stand: Stand) -> None:
        assert address.startswith("http://127.0.0.1:")
        seen.append(stand)
        Thread(target=judge, args=(address,)).start()

    stand = serve(sheet, path, "ana", port=0, say=say)
    assert seen == [Stand(0, 0, 4), False, True]
    assert stand == Stand(6, 1, 4)  # three systems wrote the same, and are marked together
    assert [p.name for p in tmp_path.glob("j.sqlite*")] == ["j.sqlite"]
    assert signal.getsignal(end) is before
    with existing(path) as store:
        assert {mark.value for mark in store.latest()} == {3}


def test_a_port_in_use_leaves_nothing_behind(sheet: Sheet, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(
            RegardError, match=rf"port {port} is in use; is another 'regard judge' running\? use another --port"
        ):
            serve(sheet, tmp_path / "j.sqlite", "ana", port=port)
    with pytest.raises(RegardError, match="port 70000"):
        serve(sheet, tmp_path / "j.sqlite", "ana", port=70000)
    assert not (tmp_path / "j.sqlite").exists()


def test_a_browser_is_opened_where_there_is_a_screen(
    sheet: Sheet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = list[str]()
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr(judge_server, "_run", lambda session, listener: time.sleep(0.05))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    for show, screen in ((True, ""), (False, ":0"), (True, ":0")):
        monkeypatch.setenv("DISPLAY", screen) if screen else monkeypatch.delenv("DISPLAY", raising=False)
        serve(sheet, tmp_path / "j.sqlite", "ana", port=0, show=show)
    for _ in range(100):
        if opened:
            break
        time.sleep(0.02)
    assert len(opened) == 1
