"""`regard judge`: the page's address, what is said at the end, the report; mistakes are one line and lose nothing."""

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

from regard.serve import judge_server
from regard.serve.judge import Rating, Session

words = ["judge", "a.txt", "b.txt", "--source", "s.txt", "--no-open", "--port", "0"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, lines in {"s": "eins\nzwei\ndrei\n", "a": "one\ntwo\nthree\n", "b": "one\nto\ntree\n"}.items():
        Path(f"{name}.txt").write_text(lines)
    return tmp_path


def diligent(session: Session, listener: object) -> None:
    """A judge who likes all that a wrote, and is done at once."""
    best = session.sheet.names.index("a")
    for line in session.lines:
        for output, group in enumerate(session.show(line)):
            value = 5 if best in group else 2
            for question, given in (("adequacy", value), ("fluency", value), ("place", 1 if best in group else 2)):
                if question != "place" or len(session.show(line)) > 1:
                    of: dict[str, Any] = {"output": output, "question": question, "value": given}
                    session.keep(line, Rating(sheet=session.name, **of))


def test_judged_and_reported(regard: Regard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_server, "_run", diligent)
    said = regard(*words, "--judge", "ana b")
    assert (said.code, said.err) == (0, "")
    first, blank, kept, again, report, end = said.out.split("\n")
    assert first.startswith("http://127.0.0.1:")
    assert first.endswith("/  (0 of 3 lines done; Ctrl-C to stop)")
    assert (blank, end) == ("", "")
    assert kept == "16 marks saved to judgements.sqlite; 3 of 3 lines done"
    assert again == "resume:  regard judge a.txt b.txt --source s.txt --no-open --port 0 --judge 'ana b'"
    assert report == "report:  regard judge --report judgements.sqlite"
    assert "(3 of 3 lines done" in regard(*words, "--judge", "ana b").out
    assert "(0 of 3 lines done" in regard(*words, "--judge", "ben").out

    assert regard("judge", "--report", "judgements.sqlite").out.split("\n") == [
        "2 judges, 3 of 3 lines, 32 marks",
        "",
        "  system  adequacy           fluency            mean rank",
        "  a       5.00 [5.00, 5.00]  5.00 [5.00, 5.00]  1.17",
        "  b       3.00 [2.00, 5.00]  3.00 [2.00, 5.00]  1.83",
        "",
        "           wins  ties  losses",
        "  a vs. b  67 %  33 %  0 %     of 6 comparisons",
        "",
        "  agreement                     adequacy  fluency  which is better",
        "  all judges, Krippendorff's α  1.00      1.00     1.00",
        "  ana b and ben, Cohen's κ      1.00      1.00     1.00",
        "",
    ]
    found = json.loads(regard("judge", "--report", "judgements.sqlite", "--json").out)
    assert found["pairs"] == [{"systems": ["a", "b"], "wins": 2 / 3, "ties": 1 / 3, "losses": 0.0, "judged": 6}]


def test_a_few_lines_and_then_more(regard: Regard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_server, "_run", diligent)
    assert "(0 of 2 lines done" in regard(*words, "--count", 2, "--seed", 3, "-o", "few.sqlite").out
    assert "(2 of 3 lines done" in regard(*words, "--count", 3, "-o", "few.sqlite").out
    assert "started with seed 3, not 4" in regard(*words, "--seed", 4, "-o", "few.sqlite").line()


def test_an_empty_report(regard: Regard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_server, "_run", lambda session, listener: None)
    assert "0 marks saved" in regard(*words).out
    said = regard("judge", "--report", "judgements.sqlite")
    assert said.code == 0
    assert "  a       -         -        -" in said.out


def test_ctrl_c(here: Path) -> None:
    """As a user does it: start, answer, Ctrl-C."""
    started = "import sys; from regard.cli.main import main; sys.argv[0] = 'regard'; main()"
    server = subprocess.Popen([sys.executable, "-c", started, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        assert server.stdout is not None
        address = server.stdout.readline().decode().split()[0]
        with urlopen(f"{address}api/sheet", timeout=120) as answer:
            mark = {"sheet": json.load(answer)["sheet"], "output": 0, "question": "fluency", "value": 5}
        request = Request(f"{address}api/lines/2", json.dumps(mark).encode(), {"Content-Type": "application/json"})
        urlopen(request, timeout=120).close()
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=120)
    finally:
        server.kill()
        server.communicate()
    assert (server.returncode, err) == (0, b"")
    assert out.decode().startswith(
        "\n1 mark saved to judgements.sqlite; 0 of 3 lines done\nresume:  regard judge a.txt"
    )
    assert [path.name for path in here.glob("judgements*")] == ["judgements.sqlite"]


def test_mistakes_are_one_line(regard: Regard, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, data in {"short": b"one\n", "empty": b"", "latin": b"f\xfcr\nb\nc\n"}.items():
        Path(f"{name}.txt").write_bytes(data)
    assert regard("judge").line().startswith("no outputs to judge; expected regard judge A.txt B.txt --source")
    assert regard("judge", "a.txt", "b.txt").line().startswith("no --source; expected")
    assert regard("judge", "a.txt", "--source", "s.txt").line() == "1 output file; expected 2 to 9"
    assert regard(*words, "short.txt").line().startswith("short.txt: 1 line; expected 3, as in s.txt")
    assert regard(*words, "empty.txt").line().startswith("empty.txt: the file is empty")
    assert regard(*words, "latin.txt").line().startswith("latin.txt:1: byte 2 of the line is 0xfc; expected UTF-8")
    assert regard(*words, "--reference", "r.txt").line().startswith("r.txt: no such file")
    assert regard(*words, "--count", 0).line() == "--count: got 0; expected a whole number from 1 to 1,000,000,000"
    assert regard(*words, "--port", 70000).line() == "--port: got 70000; expected a whole number from 0 to 65,535"
    assert regard(*words, "--judge", " ").line().startswith("judge name ' '")
    assert regard(*words, "--json").line().startswith("--json without --report")
    assert regard("judge", "a.txt", "--report", "x.sqlite").line().startswith("--report and files to judge")
    assert regard("judge", "--report", "x.sqlite").line().startswith("x.sqlite: no such file")
    assert regard("judge", "--report", "a.txt").line().startswith("a.txt: not a file of judgements")
    assert regard(*words, "-o", "no/where.sqlite").line().startswith("no/where.sqlite: unable to open database file")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert regard(*words, "--port", port).line().startswith(f"port {port} is in use")
    assert not list(here.glob("*.sqlite*"))
    monkeypatch.setattr(judge_server, "_run", diligent)
    assert regard(*words).code == 0
    before = Path("judgements.sqlite").read_bytes()
    os.replace("b.txt", "c.txt")
    Path("b.txt").write_text("x\ny\nz\n")
    assert regard(*words).line().startswith("judgements.sqlite: contains judgements of other files (outputs")
    assert Path("judgements.sqlite").read_bytes() == before
