"""A hundred texts that want to be more than text, through everything that shows text: none gets further.

    python benchmarks/reliability_payloads.py --scale 0.1

A part of reliability.py. The texts are those of tests/look/test_page_hostile.py: markup, scripts, templates, formulas,
control characters, halves of characters. Each goes through the page as a file, the page of a service that is running,
the page for judges (all three in a browser, where one is installed), the API, and the Markdown that is written.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reliability_service import Row, Server, Trials, request, send, small_run

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "look"))

from browser import Visit, chromium
from test_page_hostile import hostile, scenery

blank = " \t\n\r\v\f\u00a0\u3000\u2028\u2029\ufeff"  # what a browser trims
odd = "script, style, link, meta, title, base, noscript, img, iframe, object, embed, math, template, a, animate"
acted = f"""() => {{
  const main = document.querySelector("main"), found = [];
  for (const one of main.querySelectorAll("{odd}")) found.push("an element: " + one.tagName);
  for (const one of main.querySelectorAll("*"))
    for (const name of one.getAttributeNames()) if (name.startsWith("on")) found.push("a handler: " + name);
  if (getComputedStyle(document.body).display !== "block") found.push("a style");
  return found;
}}"""


def shown(text: str) -> str:
    return ascii(text[:40])


@contextmanager
def browser() -> Iterator[Any]:
    """None where there is none."""
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        yield None
        return
    if chromium is None:
        yield None
        return
    with sync_playwright() as started:
        found = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()


def watched(visit: Visit, trials: Trials, texts: list[str], show: Callable[[int, str], None], at: str) -> None:
    """Show each text, and see whether it did anything."""
    troubles, asked = 0, len(visit.asked)
    for number, text in enumerate(texts):
        try:
            show(number, text)
            found = visit.page.evaluate(acted)
        except Exception as error:
            found = [str(error).splitlines()[0]]
        found += ["a script"] if visit.page.title() == "got" else []  # which is what the scripts among them would do
        # What the browser itself notes of a refusal (422) is not the text's doing.
        found += [one for one in visit.troubles[troubles:] if "status of 4" not in one]
        found += [url for url in visit.asked[asked:] if not url.startswith((at, "blob:", "about:"))]
        troubles, asked = len(visit.troubles), len(visit.asked)
        trials.add(not found, f"{shown(text)}: {', '.join(found)}")


def in_a_file(window: Any, texts: list[str], folder: Path) -> Row:
    from regard.look.page import page

    trials = Trials("The page shows whatever it is given as text", "as a file: inputs, answers, tokens, names, badges")
    path = folder / "page.html"
    path.write_text(page(scenery()), encoding="utf-8")
    visit = Visit(window)
    tab = visit.open(path)

    def show(number: int, text: str) -> None:
        at = hostile.index(text)
        tab.evaluate(f"location.hash = 'item={at}&with={(at + 1) % len(hostile)}&view=steps'")
        tab.locator(".changes").wait_for()

    watched(visit, trials, texts, show, "file://")
    visit.context.close()
    return trials.row()


def in_a_service(window: Any, texts: list[str], server: Server) -> Row:
    trials = Trials("The page of a running service shows whatever is typed as text", "typed in, sent, answered, shown")
    visit = Visit(window)
    at = f"http://127.0.0.1:{server.port}/"
    visit.page.goto(at)

    def show(number: int, text: str) -> None:
        visit.page.locator("textarea").first.fill(text)
        with visit.page.expect_response("**/predict") if text.strip(blank) else suppressed():
            visit.page.get_by_role("button", name="Look", exact=True).click()

    watched(visit, trials, texts, show, at)
    visit.context.close()
    return trials.row()


@contextmanager
def suppressed() -> Iterator[None]:
    yield


def for_judges(window: Any, texts: list[str], server: Server) -> Row:
    trials = Trials("The page for judges shows whatever systems wrote as text", "in sources, references and outputs")
    visit = Visit(window)
    at = f"http://127.0.0.1:{server.port}/"
    visit.page.goto(at)
    visit.page.locator("#outputs *").first.wait_for()

    def show(number: int, text: str) -> None:
        visit.page.evaluate(f"location.hash = '{number + 1}'")
        visit.page.locator("#heading", has_text=f"{number + 1}").first.wait_for()

    watched(visit, trials, texts, show, at)
    visit.context.close()
    return trials.row()


def through_the_api(texts: list[str], server: Server) -> Row:
    """As an answer, and as the name of a run that is not there."""
    from urllib.parse import quote

    trials = Trials(
        "The API gives texts back as JSON that no browser takes for a page", "as inputs and as names of runs"
    )

    async def whole() -> None:
        for text in texts:
            body = json.dumps({"inputs": [[text]], "look": True}).encode()
            path = f"/api/runs/{quote(text[:200], safe='', errors='surrogatepass')}/predict"
            for one in (request("POST", "/api/runs/small/predict", body), request("POST", path, body)):
                said = await send(server.port, one)
                head = said.data.partition(b"\r\n\r\n")[0].lower()
                good = said.statuses and said.statuses[0] in (200, 404, 405, 422) and b"nosniff" in head
                good = good and b"content-type: application/json" in head and b"default-src 'none'" in head
                trials.add(bool(good), f"{shown(text)}: {said.statuses} {said.end}")

    asyncio.run(whole())
    return trials.row()


def in_markdown(texts: list[str], folder: Path) -> Row:
    """Read by a parser that knows tables and takes HTML for HTML, as most that show Markdown do."""
    from markdown_it import MarkdownIt

    from regard import compare
    from regard.faithful import measures, report

    trials = Trials(
        "Names and labels in Markdown stay text: no HTML, links or pictures of theirs",
        "names of models, runs, tasks and data files, and values of measures; in card.md, table.md and faithful.md",
    )
    reader = MarkdownIt("commonmark", {"html": True}).enable("table")
    case = measures.Case(0, "x:1", "text", None, "yes", 3, 0.4, 0.25, 0.01, 0.5, 0.2, 0.4, 0.3, 0.0)
    summary = measures.summary([case], 1, 0.01, 100)

    def kinds(text: str) -> list[str]:
        tokens = [inner for token in reader.parse(text) for inner in (token, *(token.children or ()))]
        ours = ("faithful.png", "curve.png")
        wanted = ("html_block", "html_inline", "link_open", "image")
        return [one.type for one in tokens if one.type in wanted and one.attrGet("src") not in ours]

    more = ["[x](javascript:alert(1))", "![x](https://evil.example/x.png)", "<https://evil.example>"]
    for text in [*texts, *more, "# heading", "a\n\n# b", "`", "a\n<b>"]:
        name = text[:200]
        ways: dict[str, Callable[[], str]] = {
            "table.md": lambda name=name: compare.markdown([compare.Row(name, name, 1, [0.5], [0.5], [0.5], [], [])]),
            "faithful.md": lambda name=name: report.markdown({"summary": summary, "task": name, "seed": 0}, name),
            "card.md": lambda name=name: card_of(name, folder),
        }
        for what, write in ways.items():
            try:
                found = kinds(write())
            except Exception as error:
                found = [f"{type(error).__name__}: {error}"]
            trials.add(not found, f"{what} of {shown(text)}: {', '.join(dict.fromkeys(found))}")
    return trials.row()


def card_of(name: str, folder: Path) -> str:
    """The card of a run whose task, data and measures all have this name; its folder too, where the system allows."""
    from types import SimpleNamespace

    from torch import nn

    from regard.train.card import card

    safe = name.replace("/", "").replace("\0", "").encode("utf-8", "replace").decode()
    at = folder / (safe.encode()[:100].decode("utf-8", "ignore").strip(". ") or "run")
    at.mkdir(exist_ok=True)
    run: Any = SimpleNamespace(folder=at, config={"task": name, "data": {"train": name}})
    outcome = SimpleNamespace(step=1, seconds=1.0, best=0.5, counts="tokens", per_second=1.0)
    example = SimpleNamespace(inputs=("a",))
    splits: Any = SimpleNamespace(train=[example], valid=[example], test=[example])
    path = card(run, outcome, splits, nn.Linear(1, 1), {name: 0.5, "commonest": name})
    return path.read_text(encoding="utf-8", errors="surrogateescape")


def rows(scale: float = 1.0) -> list[Row]:
    """The promises, how often each was tried, and how often it held."""
    texts = list(hostile)[:: max(1, round(1 / scale))] if scale < 1 else list(hostile)
    lines = [" ".join(text.split()).replace("\0", "").encode("utf-8", "replace").decode()[:2_000] for text in texts]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = small_run(folder)
        for number, file in enumerate(("source", "reference", "one", "two")):
            moved = lines[number:] + lines[:number]
            (folder / f"{file}.txt").write_text("".join(f"{line or '-'}\n" for line in moved), encoding="utf-8")
        words = ("one.txt", "two.txt", "--source", "source.txt", "--reference", "reference.txt", "--no-open")
        service, judge = Server(folder, "serve", str(run)), Server(folder, "judge", *words)
        try:
            found = [through_the_api(texts, service), in_markdown(texts, folder)]
            with browser() as window:
                if window is None:
                    print("no browser: the pages were not tried", file=sys.stderr)
                    return found
                return [
                    in_a_file(window, texts, folder),
                    in_a_service(window, texts, service),
                    for_judges(window, texts, judge),
                    *found,
                ]
        finally:
            for one in (service, judge):
                one.process.terminate()
                one.process.wait(30)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="1 is the published count")
    found = rows(parser.parse_args().scale)
    print(json.dumps(found, indent=2, ensure_ascii=False))
    return 0 if all(row["held"] == row["count"] for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
