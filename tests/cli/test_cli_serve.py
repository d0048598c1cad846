"""`regard serve`: as a user does it; mistakes are one line."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from command_line import Regard

from regard import serving


def test_serve_ask_and_stop(run: Path) -> None:
    started = "import sys; from regard.cli.main import main; sys.argv[0] = 'regard'; main()"
    words = ["serve", str(run), "--port", "0", "--batch", "4"]
    environ = {**os.environ, "REGARD_TOKEN": "word", "OMP_NUM_THREADS": "1"}
    server = subprocess.Popen(
        [sys.executable, "-c", started, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ
    )
    try:
        assert server.stdout is not None
        line = server.stdout.readline().decode()
        assert line.startswith("http://127.0.0.1:")
        assert line.endswith("/  (small; Ctrl-C to stop)\n")
        headers = {"Content-Type": "application/json", "Authorization": "Bearer word"}
        body = json.dumps({"inputs": [["abc"]]}).encode()
        with urlopen(Request(f"{line.split()[0]}api/runs/small/predict", body, headers), timeout=120) as answer:
            assert json.load(answer)["items"][0]["inputs"] == ["abc"]
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=120)
    finally:
        server.kill()
        server.communicate()
    assert (server.returncode, out, err) == (0, b"", b"")


def test_what_is_asked_for_arrives(regard: Regard, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = list[Any]()
    monkeypatch.setattr(serving, "serve", lambda folders, limits, **options: seen.append((folders, limits, options)))
    monkeypatch.setenv("REGARD_TOKEN", "hidden")
    assert regard("serve", "a", "b", "--window", 5, "--queue", 8).code == 0
    assert regard("serve", "a", "--token", "shown", "--texts", 3, "--host", "0.0.0.0").code == 0
    (folders, limits, options), (_, other, others) = seen
    assert folders == ["a", "b"]
    assert (limits["window"], limits["queue"], limits["texts"], limits["batch"]) == (0.005, 8, 8, 32)
    assert (options["token"], options["host"], options["port"]) == ("hidden", "127.0.0.1", 8000)
    assert (other["texts"], others["token"], others["host"]) == (3, "shown", "0.0.0.0")


def test_mistakes_are_one_line(regard: Regard, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REGARD_TOKEN", raising=False)
    free = ("--port", 0)
    assert "missing argument" in regard("serve").line()
    assert regard("serve", "nowhere", *free).line().startswith("nowhere")
    assert regard("serve", run, run, *free).line().endswith("is given twice; expected each run once")
    assert (
        regard("serve", run, "--host", "0.0.0.0", *free).line().startswith("--host 0.0.0.0 is open to other machines")
    )
    assert regard("serve", run, "--port", 70000).line() == "--port: got 70000; expected a whole number from 0 to 65,535"
    assert (
        regard("serve", run, "--batch", 0, *free).line()
        == "--batch: got 0; expected a whole number from 1 to 1,000,000"
    )
    assert regard("serve", run, "--texts", 300, *free).line().startswith("--texts 300 with --queue 256")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert regard("serve", run, "--port", port).line().startswith(f"port {port} is in use")
    broken = tmp_path / "broken"
    broken.mkdir()
    for name in ("config.toml", "tokenizer.json", "model.safetensors"):
        (broken / name).write_bytes((run / name).read_bytes())
    (broken / "model.safetensors").write_bytes(b"not weights")
    assert "broken" in regard("serve", broken, *free).line()
