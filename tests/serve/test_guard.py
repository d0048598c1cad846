"""The door: tokens, quick refusals, headers on every answer, every request counted."""

import asyncio
import base64
from typing import Any

import pytest
from small_services import Echo, ask, client, started

from regard.serve import guard
from regard.serve.guard import Guard
from regard.serve.limits import ServiceLimits
from regard.serve.service import Service, ServiceApp
from regard.serve.site import Site

here = ("localhost", "127.0.0.1", "[::1]")


def test_head_is_answered_as_get_is() -> None:
    web = client(started())
    for path in ("/", "/docs", "/health", "/ready", "/metrics", "/api/runs", "/openapi.json", "/favicon.ico"):
        get, head = web.get(path), web.head(path)
        assert (head.status_code, head.content) == (get.status_code, b""), path
        assert path == "/metrics" or head.headers.get("content-length") == get.headers.get("content-length"), path
    assert web.head("/api/runs/echo/predict").status_code == 405
    assert web.head("/nowhere").status_code == 404


def test_guessing_a_token_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """And is not made quicker by asking many times at once, or by going away before the answer."""
    monkeypatch.setattr(guard, "HELD", 0.2)
    door = Guard(ServiceApp(started()), token="right")
    said = list[tuple[str, int]]()

    async def try_out(token: str, path: str = "/api/runs") -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                said.append((token or path, message["status"]))

        headers = [(b"host", b"localhost"), *([(b"authorization", f"Bearer {token}".encode())] if token else [])]
        scope = {"type": "http", "method": "GET", "path": path, "headers": headers, "client": ("192.0.2.1", 1)}
        await door({**scope, "query_string": b"", "http_version": "1.1"}, receive, send)

    async def whole() -> None:
        guesses = [asyncio.create_task(try_out(f"wrong{n}", "/" if n % 2 else "/api/runs")) for n in range(12)]
        await asyncio.sleep(0.05)
        assert [status for _, status in said] == [429] * 4  # of twelve, eight are looked at
        await asyncio.gather(try_out("right"), try_out("", "/health"), try_out("", "/"), try_out(""))
        assert said[4:] == [("right", 429), ("/health", 200), ("/", 200), ("/api/runs", 401)]
        await asyncio.gather(*guesses)
        assert sorted(status for _, status in said[8:]) == [200] * 4 + [401] * 4
        await try_out("right")
        assert said[-1] == ("right", 200)
        assert not door.wrong

    asyncio.run(whole())


def basic(user: bytes) -> str:
    return "Basic " + base64.b64encode(user).decode()


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ("Bearer pass:word", 200),
        ("bearer  pass:word", 200),
        (basic(b"anyone:pass:word"), 200),
        ("", 401),
        ("Bearer", 401),
        ("Bearer pass", 401),
        ("Bearer pass:word2", 401),
        ("pass:word", 401),
        (basic(b"pass:word"), 401),
        ("Basic ???", 401),
        ("Digest pass:word", 401),
        ("Bearer p\xe4ss", 401),
    ],
)
def test_a_token(given: str, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "HELD", 0.0)
    web = client(started(), token="pass:word")
    headers = {"Authorization": given.encode("latin-1")} if given else {}
    for path in ("/api/runs", "/metrics", "/docs", "/openapi.json"):
        found = web.get(path, headers=headers)
        assert found.status_code == status, path
    assert web.post(**ask([["a"]]), headers=headers).status_code == status
    assert [web.get(path).status_code for path in ("/health", "/ready", "/favicon.ico")] == [200, 200, 204]
    if status == 401:
        assert found.json() == {"detail": "missing or wrong token; send Authorization: Bearer TOKEN"}
        assert "Bearer" in found.headers["www-authenticate"]


@pytest.mark.parametrize(("given", "named"), [("", False), ("Bearer wrong", False), ("Bearer s", True)])
def test_the_page_is_opened_without_a_token_and_then_says_nothing_of_the_runs(
    given: str, named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "HELD", 0.0)
    web = client(started(salary=Echo()), token="s")
    found = web.get("/", headers={"Authorization": given} if given else {})
    assert found.status_code == 200
    assert ("salary" in found.text, "echo" in found.text) == (named, named)
    assert ('"runs":[]' in found.text.replace(" ", "")) is not named
    assert "connect-src 'self'" in found.headers["content-security-policy"]
    assert "salary" in client(started(salary=Echo())).get("/").text


@pytest.mark.parametrize(
    ("accept", "prompts"), [("application/json", False), ("text/html,*/*;q=0.8", True), ("*/*", True)]
)
def test_the_browser_is_not_told_to_ask_where_the_page_does(accept: str, prompts: bool) -> None:
    found = client(started(), token="s").get("/api/runs", headers={"Accept": accept})
    assert found.status_code == 401
    assert ("Basic" in found.headers["www-authenticate"]) is prompts
    assert "Bearer" in found.headers["www-authenticate"]


def test_every_answer_carries_its_headers() -> None:
    web = client(started(), hosts=here)
    for found in (
        web.get("/"),
        web.get("/api/runs"),
        web.post(**ask([["a"]])),
        web.post(**ask([])),
        web.get("/nowhere"),
        web.get("/", headers={"Host": "evil.example"}),
    ):
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["cache-control"] == "no-store"
        assert found.headers["content-security-policy"].startswith("default-src 'none'")
        assert "frame-ancestors 'none'" in found.headers["content-security-policy"]
        assert not [name for name in found.headers if name.startswith("access-control")]


def test_a_full_queue_is_told_before_anything_is_read() -> None:
    service = started(ServiceLimits(queue=2, texts=2), echo=Echo(wait=0.0))
    batcher = service.runs["echo"].batcher
    batcher.queue = 0  # no room at all
    batcher.pace, service.runs["echo"].rows = 0.0, None  # type: ignore[assignment, method-assign]
    found = client(service).post("/api/runs/echo/predict", content=b"not even JSON")
    assert (found.status_code, found.headers["retry-after"]) == (429, "1")
    assert found.json() == {"detail": "the queue is full; try again later"}


def test_503_before_and_after() -> None:
    service = Service({"echo": Echo()}, ServiceLimits(grace=2.5))
    web = client(service)
    for said in ("starting", "shutting down"):
        for found in (web.post(**ask([["a"]])), web.get("/ready")):
            assert (found.status_code, found.json()["detail"]) == (503, said)
            assert found.headers["retry-after"] == "3"
        assert web.get("/health").status_code == 200
        service.start() if said == "starting" else None
        assert said == "shutting down" or web.get("/ready").status_code == 200
        service.refuse()


def scope_of(method: str, path: str, **headers: str) -> dict[str, Any]:
    given = {"host": "localhost", **headers}
    said = [(name.encode(), value.encode()) for name, value in given.items()]
    return {"method": method, "path": path, "headers": said, "http_version": "1.1"}


def test_what_waits_for_nothing_is_answered_as_by_the_application() -> None:
    service = started(ServiceLimits(queue=2, texts=2))
    door = Guard(ServiceApp(service), service.room, service.metrics, "s", Site(here))
    web = client(service, "s", here)
    shown = {"authorization": "Bearer s"}
    predict = "/api/runs/echo/predict"
    for path in ("/", "/ready", "/api/runs", "/health/x", "/docs"):
        assert door.at_once(scope_of("GET", path)) is None
    assert door.at_once(scope_of("POST", predict, **shown)) is None  # there is room
    assert door.at_once(scope_of("POST", "/health")) is None
    service.runs["echo"].batcher.queue = 0
    assert door.at_once(scope_of("POST", predict)) is None  # a missing or wrong token is told by the long way
    assert door.at_once(scope_of("POST", predict, authorization="Bearer t")) is None
    door.wrong["192.0.2.1"] = 1
    assert door.at_once(scope_of("POST", predict, **shown)) is None  # somebody is guessing tokens
    door.wrong.clear()
    for method, path, more in [
        ("GET", "/health", {}),
        ("GET", "/health", {"host": "evil.example"}),
        ("GET", "/health", {"origin": "http://evil.example"}),
        ("POST", predict, shown),
        ("POST", predict, {**shown, "host": "evil.example"}),
    ]:
        found = door.at_once(scope_of(method, path, **more))
        assert found is not None
        status, headers, body = found
        answer = web.request(method, path, headers=more)
        assert (status, body) == (answer.status_code, answer.content)
        own = {name.decode(): value.decode() for name, value in headers}
        assert own == {name: value for name, value in answer.headers.items() if name != "content-length"}
    text = service.metrics.text().decode()
    assert 'regard_requests_total{route="/health",status="200"} 2.0' in text
    assert f'regard_requests_total{{route="{guard.predict_route}",status="429"}} 2.0' in text


def test_requests_are_counted_by_route() -> None:
    service = started()
    web = client(service, token="s")
    web.get("/health")
    web.get("/health/anything")
    for name in ("echo", "other"):
        web.post(**ask([["a"]], name), headers={"Authorization": "Bearer s"})
    text = service.metrics.text().decode()
    for line in (
        'regard_requests_total{route="/health",status="200"} 1.0',
        'regard_requests_total{route="refused",status="401"} 1.0',
        'regard_requests_total{route="/api/runs/{name}/predict",status="200"} 1.0',
        'regard_requests_total{route="/api/runs/{name}/predict",status="404"} 1.0',
    ):
        assert line in text
