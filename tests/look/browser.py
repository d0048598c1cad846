"""A browser for tests of pages, where one is installed: what a page said, asked for and did is kept."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


def role(name: str, kind: str = "text") -> dict[str, str]:
    """An input of a run, as a scene has it."""
    return {"name": name, "kind": kind}


def location(tab: Any) -> str:
    """The page's address as the page itself has it; `tab.url` learns of a change a little later."""
    return str(tab.evaluate("location.href"))


@contextmanager
def launched() -> Iterator[Any]:
    """A headless browser; the tests that want one are skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if chromium is None:
        pytest.skip("no chromium on this machine")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """One page in a context of its own, watched: no error, no dialog, nothing asked for but the page itself."""

    def __init__(self, browser: Any, **options: Any) -> None:
        self.context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
        self.context.set_default_timeout(8_000)
        self.page = self.context.new_page()
        self.troubles: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self._note(message.type in ("error", "warning"), message.text))
        self.page.on("pageerror", lambda error: self._note(True, str(error)))
        self.page.on("dialog", self._dialog)
        self.page.on("request", lambda request: self.asked.append(request.url))

    def _note(self, bad: bool, text: str) -> None:
        if bad:
            self.troubles.append(text)

    def _dialog(self, dialog: Any) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def open(self, path: Path, hash: str = "") -> Any:
        self.page.goto(path.as_uri() + (f"#{hash}" if hash else ""))
        return self.page

    def saved(self, kind: str) -> bytes:
        return self.saved_in(self.page, kind)

    def saved_in(self, frame: Any, kind: str) -> bytes:
        with self.page.expect_download() as waiting:
            frame.get_by_role("button", name=kind, exact=True).click()
        return Path(waiting.value.path()).read_bytes()

    def close(self, outside: tuple[str, ...] = ()) -> None:
        self.context.close()
        assert self.troubles == []
        assert [url for url in self.asked if not url.startswith(("file://", "blob:", "about:", *outside))] == []


@contextmanager
def visit(browser: Any, path: Path, hash: str = "", **options: Any) -> Iterator[Visit]:
    one = Visit(browser, **options)
    one.open(path, hash)
    yield one
    one.close()
