"""The service from outside: answers to the right caller, one's error is one's own, limits, the page, several runs."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from small_services import Echo, ask, client, json_type, small_run, started

from regard.api import load
from regard.serve.guard import Guard
from regard.serve.limits import ServiceLimits
from regard.serve.schema import PredictRequest
from regard.serve.service import ServiceApp


def role(name: str) -> dict[str, str]:
    return {"name": name, "kind": "text"}


def test_several_runs_each_with_its_own() -> None:
    pair = [role("premise"), role("hypothesis")]
    web = client(started(echo=Echo(), pair=Echo(2, searches=False)))
    plain = {"layers": 0, "features": False, "badge": None, "does": "Repeats a text.", "about": None}
    assert web.get("/api/runs").json() == {
        "runs": [
            {"name": "echo", "task": "echo", "roles": [role("source")], "searches": True, **plain},
            {"name": "pair", "task": "echo", "roles": pair, "searches": False, **plain},
        ]
    }
    found = web.post(**ask([["a", "b"], ["ç", "d"]], "pair", look=False))
    assert found.status_code == 200
    assert found.headers["content-type"] == "application/json"
    one, two = found.json()["items"]
    assert (one["run"], one["answer"], one["log_prob"], two["answer"]) == (1, "A B", -0.5, "Ç D")
    missing = web.post(**ask([["a"]], "nobody"))
    assert (missing.status_code, missing.json()["detail"]) == (404, "no run named 'nobody'; see /api/runs")


def test_a_name_of_any_letters() -> None:
    web = client(started(**{"mein Lauf/ü": Echo()}))
    assert web.post(**ask([["a"]], "mein%20Lauf%C3%BC")).status_code == 404


def test_many_at_once_are_answered_together_and_each_their_own() -> None:
    echo = Echo(wait=0.03)
    web = client(started(echo=echo))

    def one(n: int) -> bool:
        if n % 10 == 3:
            found = web.post(**ask([["fine"], [f"long {n}"]]))
            return (found.status_code, found.json()["detail"][:21]) == (422, "input 2: 2,000 tokens")
        found = web.post(**ask([[f"a{n}"], [f"b{n}"]], look=n % 2 == 0))
        return [item["answer"] for item in found.json()["items"]] == [f"A{n}", f"B{n}"]

    with ThreadPoolExecutor(16) as threads:
        assert all(threads.map(one, range(40)))
    assert max(size for size, _ in echo.asked) > 2
    assert len(echo.asked) < 40


def test_limits() -> None:
    web = client(started(ServiceLimits(body=300, texts=2, characters=20)))
    url = "/api/runs/echo/predict"
    for content, headers, status, said in (
        (b" " * 301, json_type, 413, "the body is larger than 300 bytes"),
        (b'{"inputs": [["a"]]}', {"Content-Type": "text/plain"}, 415, "the body must be JSON"),
        (b'{"inputs": [["a"]]}', {}, 415, "the body must be JSON"),
        (b"{", json_type, 422, "body: Invalid JSON"),
        (b'{"inputs": [["a"], ["b"], ["c"]]}', json_type, 422, "inputs: 3; expected 1 to 2"),
        (b'{"inputs": [["aaaaaaaaaaaaaaaaaaaaaaaa"]]}', json_type, 422, "input 1: 24 characters"),
        (b'{"inputs": [[""]]}', json_type, 422, "input 1: empty text"),
    ):
        found = web.post(url, content=content, headers=headers)
        assert (found.status_code, found.json()["detail"][: len(said)]) == (status, said)
    streamed = web.post(url, content=iter([b" " * 200] * 3), headers=json_type)
    assert streamed.status_code == 413
    assert web.post(url, content=b'{"inputs": [["a"]]}', headers={"Content-Type": "application/json; charset=utf-8"})


def test_a_fault_of_ours_is_500_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    web = client(started())
    found = web.post(**ask([["broken"]]))
    assert found.status_code == 500
    assert found.json() == {"detail": "internal error; see the log of the service"}
    assert "KeyError" in caplog.text
    assert web.post(**ask([["a"]])).status_code == 200


def test_the_page_may_ask_only_its_service() -> None:
    found = client(started()).get("/")
    assert found.headers["content-type"].startswith("text/html")
    policy = found.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "connect-src 'self'" in policy
    assert "unsafe" not in policy
    assert '"live":{"base":"api"}' in found.text.replace(" ", "")


def test_docs_and_schema_are_our_own() -> None:
    web = client(started())
    assert "sha256-" in web.get("/docs").headers["content-security-policy"]
    schema = web.get("/openapi.json").json()
    post = schema["paths"]["/api/runs/{name}/predict"]["post"]
    assert set(post["responses"]) >= {"200", "401", "404", "413", "415", "422", "429", "503"}
    assert set(post["requestBody"]["content"]["application/json"]["schema"]["properties"]) >= {"inputs", "look", "beam"}
    assert web.get("/redoc").status_code == 404
    assert web.get("/favicon.ico").status_code == 204


def test_who_goes_away_is_not_answered() -> None:
    echo = Echo(wait=0.2)
    service = started(ServiceLimits(batch=1), echo=echo)
    app = Guard(ServiceApp(service), service.room, service.metrics)

    async def one(stays: bool) -> int:
        body = b'{"inputs": [["a"], ["b"], ["c"]]}'
        messages = [{"type": "http.request", "body": body, "more_body": False}]
        said = list[Any]()

        async def receive() -> Any:
            if not messages:
                await asyncio.sleep(60 if stays else 0.05)
            return messages.pop() if messages else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            said.append(message)

        headers = [(b"host", b"localhost"), (b"content-type", b"application/json")]
        scope = {"type": "http", "method": "POST", "path": "/api/runs/echo/predict", "headers": headers}
        await app({**scope, "query_string": b"", "root_path": "", "http_version": "1.1"}, receive, send)
        return int(said[0]["status"])

    async def whole() -> list[int]:
        return [await one(False), await one(True)]

    assert asyncio.run(whole()) == [499, 200]
    assert sum(size for size, _ in echo.asked) == 1 + 3  # one was in work already


def test_draining_finishes_what_waits_and_no_more() -> None:
    async def whole(wait: float, grace: float) -> list[bool]:
        service = started(ServiceLimits(batch=1, grace=grace), echo=Echo(wait=wait))
        run = service.runs["echo"]
        rows, way = run.rows(PredictRequest(inputs=[["a"]]))
        waiting = [run.batcher.submit(rows, way) for _ in range(4)]
        await service.drain()
        found = await asyncio.gather(*waiting, return_exceptions=True)
        return [isinstance(one, list) for one in found]

    assert asyncio.run(whole(0.01, 10.0)) == [True] * 4
    assert asyncio.run(whole(0.2, 0.1)) == [True, False, False, False]


def test_a_real_run(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder: Path = small_run(tmp_path_factory)
    web = client(started(small=load(folder, "cpu")))
    found = web.post(**ask([["abc"], ["defg"]], "small", beam=2))
    items = found.json()["items"]
    assert [len(item["maps"]) for item in items] == [1, 1]
    traced = web.post(**ask([["abc"], ["defg"]], "small", trace=True, beam=2, drop_tokens=[[[]], [[0, 2]]])).json()[
        "items"
    ]
    assert all(item["steps"] and all(step for step in item["steps"]) for item in traced)
    assert [len(item["maps"][0]["columns"]) for item in traced] == [4, 3]  # with the end of the text
    assert [item["drop_tokens"] for item in traced] == [[[]], [[0, 2]]]
    wrong = web.post(**ask([["abc"], ["de"]], "small", drop_tokens=[[[]], [[9]]]))
    assert (wrong.status_code, wrong.json()["detail"][:36]) == (422, "input 2: source: no token 9 to drop;")
    assert (
        web.post(**ask([["a" * 70]], "small"))
        .json()["detail"]
        .startswith("input 1: 71 tokens in the source; expected at most 64")
    )
    assert "NaN" not in json.dumps(items)
