"""The door: names, tokens, quick refusals, headers on every answer, every request counted."""

import base64

import pytest
from small_services import Echo, ask, client, started

from regard.serve.limits import Limits
from regard.serve.service import Service

here = ("localhost", "127.0.0.1", "[::1]")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LOCALHOST:8000", 200),
        ("127.0.0.1:1", 200),
        ("[::1]:8000", 200),
        ("[::1]", 200),
        ("evil.example", 403),
        ("localhost.evil.example:80", 403),
        ("[::2]:80", 403),
        ("", 403),
    ],
)
def test_only_this_machine_by_its_name(host: str, status: int) -> None:
    assert client(started(), hosts=here).get("/health", headers={"Host": host}).status_code == status


def test_any_name_where_other_machines_are_let_in() -> None:
    assert client(started(), token="s").get("/health", headers={"Host": "model.example"}).status_code == 200


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
def test_a_token(given: str, status: int) -> None:
    web = client(started(), token="pass:word")
    headers = {"Authorization": given.encode("latin-1")} if given else {}
    for path in ("/api/runs", "/metrics", "/docs", "/openapi.json"):
        found = web.get(path, headers=headers)
        assert found.status_code == status, path
    assert web.post(**ask([["a"]]), headers=headers).status_code == status
    assert [web.get(path).status_code for path in ("/health", "/ready", "/favicon.ico")] == [200, 200, 204]
    if status == 401:
        assert found.json() == {"detail": "no token, or a wrong one; send Authorization: Bearer TOKEN"}
        assert "Bearer" in found.headers["www-authenticate"]


@pytest.mark.parametrize(("given", "named"), [("", False), ("Bearer wrong", False), ("Bearer s", True)])
def test_the_page_is_opened_without_a_token_and_then_says_nothing_of_the_runs(given: str, named: bool) -> None:
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
    service = started(Limits(queue=2, texts=2), echo=Echo(wait=0.0))
    batcher = service.runs["echo"].batcher
    batcher.queue = 0  # no room at all
    batcher.pace, service.runs["echo"].rows = 0.0, None  # type: ignore[assignment, method-assign]
    found = client(service).post("/api/runs/echo/predict", content=b"not even JSON")
    assert (found.status_code, found.headers["retry-after"]) == (429, "1")
    assert found.json() == {"detail": "the queue is full; try again"}


def test_503_before_and_after() -> None:
    service = Service({"echo": Echo()}, Limits(grace=2.5))
    web = client(service)
    for said in ("starting", "shutting down"):
        for found in (web.post(**ask([["a"]])), web.get("/ready")):
            assert (found.status_code, found.json()["detail"]) == (503, said)
            assert found.headers["retry-after"] == "3"
        assert web.get("/health").status_code == 200
        service.start() if said == "starting" else None
        assert said == "shutting down" or web.get("/ready").status_code == 200
        service.refuse()


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
