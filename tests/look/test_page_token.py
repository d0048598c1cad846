"""The page of a real service that wants a token: it opens for anybody, knows no run, asks for it, and goes on."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from browser import Visit, launched, location

from regard.api import train

secret = "s3cret:1"
colours, things = ("red", "blue"), ("dog", "car", "house", "boat", "sky")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as found:
        yield found


@pytest.fixture(scope="module")
def address(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a run named `payroll` is served, in a process of its own."""
    pytest.importorskip("uvicorn", reason="the service is not installed")
    folder = tmp_path_factory.mktemp("token")
    lines = [f"{colour} {thing}\t{colour}ness\n" for thing in things for colour in colours]
    (folder / "data.tsv").write_text("".join(lines * 2))
    parts: dict[str, Any] = {"encoder": {"name": "bigru", "hidden": 4}, "pool": "attention"}
    parts["input"] = {"name": "text", "tokenizer": "word", "embed": {"dim": 4}}
    options = {**parts, "train": {"steps": 2, "validate_every": 1, "device": "cpu"}}
    train("classify", str(folder / "data.tsv"), folder / "payroll", quiet=True, **options)
    command = [sys.executable, "-m", "regard", "serve", str(folder / "payroll"), "--port", "0", "--device", "cpu"]
    environ = {**os.environ, "OMP_NUM_THREADS": "1", "REGARD_TOKEN": secret}
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environ)
    try:
        assert running.stdout is not None
        lines = iter(running.stdout.readline, "")
        said = next((line for line in lines if "http://" in line), "")
        yield next(word for word in said.split() if word.startswith("http://"))
    finally:
        running.terminate()
        running.communicate(timeout=120)


def test_the_token_is_asked_for_by_the_page(browser: Any, address: str) -> None:
    one = Visit(browser)
    tab = one.page
    assert tab.goto(address).status == 200
    tab.locator(".trouble", has_text="This service needs a token.").wait_for()
    assert "payroll" not in tab.content()
    assert "classify" not in tab.content()
    assert tab.locator("textarea").count() == 0
    tab.get_by_label("Token").fill("wrong")
    with tab.expect_response("**/api/runs") as answer:
        tab.get_by_label("Token").press("Enter")
    assert answer.value.status == 401
    tab.locator(".trouble", has_text="This service needs a token.").wait_for()
    tab.get_by_label("Token").fill(secret)
    tab.get_by_label("Token").press("Enter")
    tab.locator("textarea").fill("red dog")
    tab.get_by_role("button", name="Look", exact=True).click()
    tab.locator("figure").wait_for()
    assert tab.locator("strong").first.text_content() in ("redness", "blueness")
    assert secret not in location(tab)
    tab.reload()  # the tab remembers, and the link asks again
    tab.locator("figure").wait_for()
    assert tab.locator(".secret:visible").count() == 0
    one.troubles = [said for said in one.troubles if "401" not in said]  # which the browser itself notes
    one.close((address,))


def test_who_gave_the_password_to_the_browser_is_known_to_the_page(browser: Any, address: str) -> None:
    one = Visit(browser, http_credentials={"username": "anyone", "password": secret})
    assert one.page.goto(f"{address}docs").status == 200  # a browser asks a person for it there
    one.page.goto(address)
    one.page.locator("textarea").wait_for()
    assert "payroll" in one.page.content()
    one.close((address,))
