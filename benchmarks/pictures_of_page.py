"""The pictures of docs/looking.md: every view of the page, taken in a browser from runs of the built-in data.

    python benchmarks/pictures_of_page.py runs/pictures

Runs that are not yet in that folder are trained first, each for a minute or two. The pictures go to docs/look.
"""

import argparse
import io
import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from playwright.sync_api import sync_playwright

import regard
from regard.files import write_whole
from regard.look.attention_map import AttentionMap
from regard.look.page import page
from regard.look.scene import describe_run, item, scene, table
from regard.types import Example, Prediction, Sequences

docs = Path(__file__).resolve().parent.parent / "docs" / "look"
most = 150_000  # bytes of a picture
recipes: dict[str, tuple[str, str, dict[str, Any]]] = {
    "translate": ("translate", "120s", {}),
    "entail": ("entail", "100s", {}),
    "structured": ("classify", "40s", {"pool": "structured"}),
    "multi_head": ("entail", "80s", {"encoder": {"name": "multi_head", "size": 128}}),
    "disan": ("entail", "80s", {"encoder": {"name": "disan", "hidden": 24, "c": 2.0}}),
    "resan": ("entail", "90s", {"encoder": {"name": "resan", "hidden": 32, "soft": 0.3}, "sparsity": 0.15}),
}
date = "Dienstag, 5. März 2024"
pair = ("Not every boy is towing an instrument in the hall", "All boys are towing an instrument in the hall")


class Studio:
    """Runs, and a browser to see them in."""

    def __init__(self, folder: Path, browser: Any) -> None:
        self.folder, self.browser = folder, browser

    def model(self, name: str) -> Any:
        task, time, options = recipes[name]
        if not (self.folder / name / "card.md").exists():
            print(f"training {name} for {time}", flush=True)
            regard.train(task, out=self.folder / name, time=time, quiet=True, **options)
        return regard.load(str(self.folder / name), "cpu")

    def scene(self, name: str, *rows: tuple[str, ...], **more: Any) -> dict[str, Any]:
        model = self.model(name)
        found = model.predict(list(rows), **more)
        items = [item(0, row, one) for row, one in zip(rows, found, strict=True)]
        return scene(items, [describe_run(model, name)], name)

    @contextmanager
    def tab(self, wide: int = 980, dark: bool = False, high: int = 1000) -> Iterator[Any]:
        context = self.browser.new_context(
            viewport={"width": wide, "height": high},
            device_scale_factor=2 if wide < 500 else 1.5,
            color_scheme="dark" if dark else "light",
        )
        yield context.new_page()
        context.close()

    def take(self, name: str, shown: dict[str, Any], hash: str, wide: int = 980, dark: bool = False) -> None:
        with tempfile.TemporaryDirectory() as folder, self.tab(wide, dark) as tab:
            path = Path(folder) / "page.html"
            path.write_text(page(shown), encoding="utf-8")
            tab.goto(f"{path.as_uri()}#{hash}")
            shoot(tab, name)


def shoot(tab: Any, name: str) -> None:
    """What the tab shows, from the top to the end of the figure, in few colours."""
    tab.evaluate("document.querySelectorAll('footer, .saving').forEach(e => e.remove())")
    tab.wait_for_timeout(100)
    high = tab.evaluate("Math.ceil(document.querySelector('main').getBoundingClientRect().bottom) + 8")
    clip = {"x": 0, "y": 0, "width": tab.viewport_size["width"], "height": high}
    picture = Image.open(io.BytesIO(tab.screenshot(full_page=True, clip=clip))).convert("RGB")
    out = io.BytesIO()
    picture.quantize(256, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    if len(out.getvalue()) > most:
        raise SystemExit(f"{name}.png has {len(out.getvalue()):,} bytes, more than {most:,}")
    docs.mkdir(parents=True, exist_ok=True)
    write_whole(docs / f"{name}.png", out.getvalue())
    print(f"{name}.png {picture.size[0]} × {picture.size[1]}, {len(out.getvalue()):,} bytes", flush=True)


def linked(prediction: Prediction, example: Example) -> Prediction:
    """The prediction with the true links of its example outlined."""
    attention_map = prediction.look
    links = [
        (i, j)
        for i, row in enumerate(attention_map.rows)
        for j, column in enumerate(attention_map.columns)
        for link in example.links
        if link.target_start <= row.start < row.end <= link.target_end
        and link.source_start <= column.start < column.end <= link.source_end
    ]
    return replace(prediction, look=replace(attention_map, links=tuple(links)))


def features(model: Any, texts: Sequence[str], count: int = 11) -> AttentionMap:
    """The features of a feature-wise attention whose weights differ most from their mean, of the first text."""
    task, network = model.task, model.network
    numbers = [Sequences.pad(task.rows([text], (), side)) for side, text in enumerate(texts)]
    with torch.inference_mode():
        looks = [look for _, look in network(numbers).memory.looks]
    tokens = task.text.tokens(texts[0])[:-1]
    weights = looks[0].weights[0, 0, : len(tokens), : len(tokens)].permute(2, 0, 1)  # the forward half
    order = (weights - weights.mean(0)).abs().sum((1, 2)).argsort(descending=True)[:count].sort().values
    names = tuple(f"feature {int(one) + 1}" for one in order)
    return AttentionMap(
        weights[order].numpy(), tokens, tokens, "features of the forward half: " + texts[0], head_names=names
    )


def live(studio: Studio) -> None:
    """The page of a service, with a word left out: the model answers here, in the service's stead."""
    model = studio.model("entail")

    def answer(route: Any) -> None:
        if "/api/" not in route.request.url:
            shown = scene([], [describe_run(model, "entail")], "regard", live="api")
            route.fulfill(body=page(shown), content_type="text/html; charset=utf-8")
            return
        asked = route.request.post_data_json
        without = [tuple(map(tuple, one)) for one in asked["without"] or ()]
        rows = [tuple(row) for row in asked["inputs"]]
        found = model.predict(rows, without=without)
        gone = without[0] if without else ()
        route.fulfill(body=json.dumps({"items": [item(0, rows[0], found[0], gone)]}), content_type="application/json")

    with studio.tab() as tab:
        tab.route("http://regard.test/**", answer)
        tab.goto("http://regard.test/#view=text")
        for number, text in enumerate(pair):
            tab.locator("textarea").nth(number).fill(text)
        tab.get_by_role("button", name="Look", exact=True).click()
        tab.locator('[data-key="columns-0"]').click()
        tab.get_by_role("button", name="Leave out").click()
        tab.locator(".changes").wait_for()
        tab.mouse.move(1, 1)
        shoot(tab, "live")


def pictures(studio: Studio) -> None:
    model = studio.model("translate")
    example = next(e for e in model.data().test if e.inputs[0].isascii() and "-0" in e.target)
    (found,) = model.predict([example.inputs])
    with_links = [item(0, example.inputs, linked(found, example))]
    studio.take("matrix", scene(with_links, [describe_run(model, "translate")], "translate"), "view=matrix&pin=r5")
    dates = studio.scene("translate", (date,), (date.replace(" 5", " 15"),), ("٥ مارس ٢٠٢٤",), trace=True, width=5)
    studio.take("arcs", dates, "view=arcs&hide=1")
    studio.take("pinned", dates, "view=arcs&pin=r6&hide=1")
    studio.take("steps", dates, "view=steps&step=6")
    studio.take("compare", dates, "view=text&pin=r9&with=1&hide=1")
    studio.take("arabic", dates, "item=2&view=text&pin=r9", dark=True)
    studio.take("phone", dates, "view=matrix&hide=1&pin=r3", wide=390)
    studio.take("text", studio.scene("entail", pair), "")
    studio.take("rows", studio.scene("structured", ("Sonntag, 4. August 2002",)), "view=panels")
    studio.take("heads", studio.scene("multi_head", pair), "gaze=1&view=panels")
    studio.take("chosen", studio.scene("resan", pair), "gaze=1&view=matrix&scale=row")
    shown = studio.scene("disan", pair)
    shown["items"][0]["gazes"].append(table(features(studio.model("disan"), pair)))
    studio.take("features", shown, f"gaze={len(shown['items'][0]['gazes']) - 1}&view=panels&scale=row")
    live(studio)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", type=Path, help="the folder of the runs")
    asked = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        pictures(Studio(asked.runs, browser))
        browser.close()


if __name__ == "__main__":
    main()
