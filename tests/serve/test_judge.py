"""The page and what it asks for: blind, guarded, and each answer kept as given."""

import json
import re
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sheets import texts

from regard.serve.judge import Session, assets, judge_app
from regard.serve.judge_sheet import Sheet, read_sheet
from regard.serve.judge_store import Store, begin

base = "http://127.0.0.1:8765"


@pytest.fixture
def store(sheet: Sheet, tmp_path: Path) -> Iterator[Store]:
    with begin(tmp_path / "j.sqlite", sheet) as store:
        yield store


@pytest.fixture
def page(sheet: Sheet, store: Store) -> Iterator[TestClient]:
    with TestClient(judge_app(Session(sheet, store, "ana")), base_url=base) as client:
        yield client


def mark(page: TestClient, line: int, output: int, question: str, value: int) -> dict[str, Any]:
    body = {"sheet": page.get("/api/sheet").json()["sheet"], "output": output, "question": question, "value": value}
    answer = page.post(f"/api/lines/{line}", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_no_system_is_ever_named(page: TestClient, sheet: Sheet) -> None:
    mark(page, 1, 0, "fluency", 4)
    paths = [*assets, "/api/sheet", *(f"/api/lines/{line}" for line in range(1, 5)), "/api/lines/9", "/nothing"]
    for path in paths:
        answer = page.get(path)
        said = answer.text + str(answer.headers)
        assert not any(re.search(rf"\b{name}\b", said) for name in sheet.names), path


def test_a_line_and_its_marks(page: TestClient, sheet: Sheet) -> None:
    line = page.get("/api/lines/2").json()
    assert (line["line"], line["source"], line["reference"]) == (2, texts["source"][1], None)
    assert sorted(one["text"] for one in line["outputs"]) == sorted(texts[name][1] for name in sheet.names)
    assert all(one["marks"] == {} for one in line["outputs"])
    for question, value in (("adequacy", 5), ("fluency", 1), ("place", 3), ("adequacy", 2)):
        mark(page, 2, 1, question, value)
    again = page.get("/api/lines/2").json()["outputs"]
    assert [one["text"] for one in again] == [one["text"] for one in line["outputs"]]
    assert [one["marks"] for one in again] == [{}, {"adequacy": 2, "fluency": 1, "place": 3}, {}]


def test_marks_reach_the_system_that_wrote_it(page: TestClient, sheet: Sheet, store: Store) -> None:
    for line in (2, 3):
        for output, one in enumerate(page.get(f"/api/lines/{line}").json()["outputs"]):
            mark(page, line, output, "adequacy", 1 + [texts[name][line - 1] for name in texts].index(one["text"]))
    for latest in store.latest():
        assert latest.value == 1 + list(texts).index(sheet.names[latest.system])


def test_the_reference_is_shown(folder: Path, tmp_path: Path) -> None:
    outputs = [str(folder / f"{name}.txt") for name in ("alpha", "beta")]
    sheet = read_sheet(outputs, str(folder / "source.txt"), str(folder / "reference.txt"))
    with begin(tmp_path / "r.sqlite", sheet) as store:
        client = TestClient(judge_app(Session(sheet, store, "ana")), base_url=base)
        assert client.get("/api/lines/1").json()["reference"] == "Hello."


def test_done_when_nothing_is_left_to_say(page: TestClient) -> None:
    """Outputs that are the same are shown once, and not ranked where there is but one."""
    assert page.get("/api/sheet").json()["done"] == []
    assert len(page.get("/api/lines/1").json()["outputs"]) == 2
    said = [mark(page, 1, output, question, 2) for output in (0, 1) for question in ("adequacy", "fluency", "place")]
    assert [one["done"] for one in said] == [False] * 5 + [True]
    assert len(page.get("/api/lines/4").json()["outputs"]) == 1
    assert [mark(page, 4, 0, question, 5)["done"] for question in ("fluency", "adequacy")] == [False, True]
    about = page.get("/api/sheet").json()
    assert (about["judge"], about["lines"], about["done"]) == ("ana", [1, 2, 3, 4], [1, 4])


def test_taken_up_again(page: TestClient, sheet: Sheet, store: Store) -> None:
    mark(page, 2, 0, "fluency", 4)
    before = page.get("/api/lines/2").json()
    again = TestClient(judge_app(Session(sheet, store, "ana")), base_url=base)
    assert again.get("/api/lines/2").json() == before
    other = TestClient(judge_app(Session(sheet, store, "ben")), base_url=base)
    assert all(one["marks"] == {} for one in other.get("/api/lines/2").json()["outputs"])


def test_only_the_lines_drawn(sheet: Sheet, tmp_path: Path) -> None:
    with begin(tmp_path / "few.sqlite", sheet, seed=1, count=2) as store:
        session = Session(sheet, store, "ana")
        client = TestClient(judge_app(session), base_url=base)
        assert len(session.lines) == 2
        assert [client.get(f"/api/lines/{n}").status_code == 200 for n in range(6)] == [
            n in session.lines for n in range(6)
        ]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({}, 200),
        ({"sheet": "another"}, 409),
        ({"output": 3}, 422),
        ({"output": -1}, 422),
        ({"value": 0}, 422),
        ({"value": 6}, 422),
        ({"value": 4.5}, 422),
        ({"value": "4"}, 422),
        ({"value": True}, 422),
        ({"value": None}, 422),
        ({"question": "place", "value": 4}, 422),
        ({"question": "beauty"}, 422),
        ({"more": 1}, 422),
        ({"value": 2**80}, 422),
    ],
)
def test_only_whole_answers_are_kept(page: TestClient, store: Store, change: dict[str, Any], status: int) -> None:
    body = {"sheet": page.get("/api/sheet").json()["sheet"], "output": 2, "question": "fluency", "value": 4}
    assert page.post("/api/lines/2", json={**body, **change}).status_code == status
    assert page.post("/api/lines/5", json={**body, **change}).status_code in (404, 409, 422)
    assert store.total() == (status == 200)


@pytest.mark.parametrize(
    "body", ["NaN", '{"value": NaN}', '{"value": -Infinity}', '{"value": "\\ud800"}', "[" * 60_000, ""]
)
def test_what_is_no_answer_is_told_in_one_line(page: TestClient, store: Store, body: str) -> None:
    answer = page.post("/api/lines/2", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert "\n" not in answer.json()["detail"]
    assert store.total() == 0


def test_a_page_left_open_answers_for_nobody_else(sheet: Sheet, store: Store) -> None:
    ana, ben = Session(sheet, store, "ana"), Session(sheet, store, "ben")
    assert ana.name != ben.name
    assert ana.name == Session(sheet, store, "ana").name


def test_answers_at_once(page: TestClient, store: Store) -> None:
    """Two tabs and double clicks: whole values, none lost."""
    name = page.get("/api/sheet").json()["sheet"]

    def send(n: int) -> int:
        body = {"sheet": name, "output": n % 3, "question": ("adequacy", "fluency")[n % 2], "value": 1 + n % 5}
        return int(page.post("/api/lines/2", json=body).status_code)

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(send, [n for n in range(30) for _ in range(2)])) == {200}
    marks = store.marks("ana", 2)
    assert len(marks) == 6
    rows = store.read("SELECT system, question, value FROM mark ORDER BY number")
    assert marks == {(system, question): value for system, question, value in rows}


def test_nobody_else_may_ask(page: TestClient, store: Store) -> None:
    body = {"sheet": page.get("/api/sheet").json()["sheet"], "output": 0, "question": "fluency", "value": 4}
    for headers in (
        {"Host": "evil.example:8765"},  # a name that was made to mean this machine
        {"Host": "127.0.0.1.evil.example"},
        {"Origin": "https://evil.example"},
        {"Origin": "http://127.0.0.1:3000"},  # another page of this machine
        {"Origin": "null"},
        {"Host": "127.0.0.1:80@evil.example"},
    ):
        assert page.get("/api/lines/1", headers=headers).status_code in (400, 403), headers
        assert page.post("/api/lines/1", json=body, headers=headers).status_code in (400, 403), headers
    plain = page.post("/api/lines/1", content=json.dumps(body), headers={"Content-Type": "text/plain"})
    assert plain.status_code == 422  # what a form of another site could send
    assert store.total() == 0
    # Through a tunnel the page has another port.
    assert page.post(
        "/api/lines/1", json=body, headers={"Host": "localhost:9", "Origin": "http://localhost:9"}
    ).is_success


def test_a_body_no_mark_has(page: TestClient, store: Store) -> None:
    for body in (b" " * (1 << 20), (b" " * 1000 for _ in range(1000))):
        answer = page.post("/api/lines/1", content=body, headers={"Content-Type": "application/json"})
        assert (answer.status_code, list(answer.json())) == (413, ["detail"])
    assert page.head("/").status_code == 200
    assert store.total() == 0


def test_every_answer_is_guarded(page: TestClient) -> None:
    for path in (*assets, "/api/sheet", "/api/lines/1", "/api/lines/77", "/favicon.ico", "/docs", "/openapi.json"):
        policy = page.get(path).headers["content-security-policy"]
        scripts = "; script-src 'self'; style-src 'self'; connect-src 'self'" if path in assets else ""
        assert policy.startswith(f"default-src 'none'{scripts}")
        assert "unsafe" not in policy
        assert page.get(path).headers["x-content-type-options"] == "nosniff"
        assert page.get(path).headers["cache-control"] == "no-store"
    assert page.get("/docs").status_code == page.get("/openapi.json").status_code == 404


def test_the_page_asks_nothing_of_others_and_holds_no_markup() -> None:
    part = {name: files("regard.serve").joinpath(name).read_text(encoding="utf-8") for name, _ in assets.values()}
    assert not re.search(r"https?:|//\w", "".join(part.values()).replace("\n// ", "\n").replace(" // ", " "))
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|\.style\b", part["judge_page.js"])
    html = part["judge_page.html"]
    assert not re.search(r"<style|\son\w+=|\sstyle=|<script(?! src=)", html)
    assert set(re.findall(r'byId\("(\w+)"\)', part["judge_page.js"])) <= set(re.findall(r'id="(\w+)"', html))


def test_a_file_that_cannot_be_written(page: TestClient, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told, and to be tried again; nothing half kept."""

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    body = {"sheet": page.get("/api/sheet").json()["sheet"], "output": 0, "question": "fluency", "value": 4}
    with monkeypatch.context() as patch:
        patch.setattr(Store, "keep", full)
        answer = page.post("/api/lines/1", json=body)
        assert answer.status_code == 503
        assert answer.json() == {"detail": "cannot use the file of judgements: database or disk is full"}
    assert store.total() == 0
    assert page.post("/api/lines/1", json=body).status_code == 200
