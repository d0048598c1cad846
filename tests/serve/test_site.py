"""Host and Origin: exactly one, spelled right, and ours."""

import pytest
from small_services import client, started

from regard.errors import RegardError
from regard.serve.limits import RefusedError
from regard.serve.site import Site

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
        ("localhost.", 403),
        ("", 400),
        ("127.0.0.1:80@evil.example", 400),
        ("localhost:80:80", 400),
        ("localhost:x", 400),
        ("localhost:99999", 400),
        ("http://localhost", 400),
        ("localhost, evil.example", 400),
        ("evil.example#@localhost", 400),
        ("[::1]evil.example", 400),
        ("[::1", 400),
        ("user@localhost", 400),
        ("127.0.0.1/", 400),
    ],
)
def test_only_this_machine_by_its_name(host: str, status: int) -> None:
    assert client(started(), hosts=here).get("/health", headers={"Host": host}).status_code == status


def test_any_name_where_other_machines_are_let_in() -> None:
    assert client(started(), token="s").get("/health", headers={"Host": "model.example"}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([("Origin", "http://localhost")], 200),
        ([("Origin", "HTTPS://LocalHost")], 200),  # a proxy that speaks TLS
        ([("Origin", "https://model.example")], 200),
        ([("Origin", "https://model.example"), ("Host", "model.example")], 200),
        ([("Host", "model.example")], 200),
        ([("Origin", "http://model.example")], 403),
        ([("Origin", "https://evil.example")], 403),
        ([("Origin", "http://localhost:3000")], 403),
        ([("Origin", "http://localhost.evil.example")], 403),
        ([("Origin", "null")], 403),
        ([("Origin", "")], 403),
        ([("Origin", "http://localhost"), ("Origin", "https://evil.example")], 400),
        ([("Host", "localhost"), ("Host", "evil.example")], 400),
        ([("Host", "evil.example"), ("Host", "localhost")], 400),
        ([("Authorization", "Bearer a"), ("Authorization", "Bearer b")], 400),
    ],
)
def test_a_page_of_another_site_is_refused(headers: list[tuple[str, str]], status: int) -> None:
    web = client(started(), hosts=here, origins=["https://model.example"])
    for found in (
        web.get("/health", headers=headers),
        web.post("/api/runs/echo/predict", json={"inputs": [["a"]]}, headers=headers),
    ):
        assert found.status_code == status
        assert found.is_success or list(found.json()) == ["detail"]


@pytest.mark.parametrize("origin", ["model.example", "ftp://a", "https://", "https://a/b", "https://a@b", "null", ""])
def test_an_origin_that_is_none(origin: str) -> None:
    with pytest.raises(RegardError, match=r"--allow-origin.*; expected a site such as https://model\.example"):
        Site(None, [origin])


def test_no_host_where_http_has_none() -> None:
    for hosts, version, status in ((None, "1.0", None), (None, "1.1", 400), (("localhost",), "1.0", 403)):
        if status is None:
            assert Site(hosts).check([], version) == {}
            continue
        with pytest.raises(RefusedError) as refused:
            Site(hosts).check([], version)
        assert refused.value.status == status
