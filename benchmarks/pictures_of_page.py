"""The pictures of docs/looking.md: every view of the page, taken in a browser from runs of the built-in data.

    python benchmarks/pictures_of_page.py runs/pictures
    python benchmarks/pictures_of_page.py runs/pictures --only matrix,phone
    python benchmarks/pictures_of_page.py runs/pictures --only widths

Runs that are not yet in that folder are trained first, each for a minute or two. The pictures go to docs/look, and to
docs/look/widths sheets of every view at three widths, light and dark.
"""

import argparse
import io
import json
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from fastapi.testclient import TestClient
from PIL import Image
from playwright.sync_api import sync_playwright

import regard
from regard.error_analysis import analyse, write
from regard.files import write_whole
from regard.look.attention_map import AttentionMap
from regard.look.page import page
from regard.look.scene import describe_run, item, scene, table
from regard.serve.judge import Session, judge_app
from regard.serve.judge_sheet import read_sheet
from regard.serve.judge_store import begin
from regard.train.task import Ask
from regard.types import Example, Prediction

docs = Path(__file__).resolve().parent.parent / "docs" / "look"
most = 150_000  # bytes of a picture
recipes: dict[str, tuple[str, str, dict[str, Any]]] = {
    "translate": ("translate", "120s", {}),
    "entail": ("entail", "100s", {}),
    "structured": ("classify", "40s", {"pool": "structured"}),
    "multi_head": ("entail", "80s", {"encoder": {"name": "multi_head", "size": 128}}),
    "disan": ("entail", "80s", {"encoder": {"name": "disan", "hidden": 24, "c": 2.0}}),
    "digits": ("classify", "60s", {"data": "builtin:digits"}),
    "items": ("classify", "40s", {"data": "builtin:visits"}),
    "tag": ("tag", "60s", {}),
    "relate": ("relate", "60s", {}),
    "language": ("language", "60s", {}),
    "resan": ("entail", "90s", {"encoder": {"name": "resan", "hidden": 32, "soft": 0.3}, "sparsity": 0.15}),
}
beam: dict[str, Any] = {"name": "beam", "beam_size": 5, "n_best": 5}
date, other_date = "Sonntag, 7. Juli 2013", "Sonntag, 14. Juli 2013"
sheets = {
    "source": "Der Hund läuft über die Straße und bellt.\nSchöne Grüße aus München!",
    "one": "The dog runs across the street and barks.\nGreetings from Munich!",
    "two": "The dog is walking over the street.\nBeautiful greetings out of Munich!",
    "reference": "The dog runs across the street, barking.\nBest wishes from Munich!",
}
pair = ("Not every boy is towing an instrument in the hall", "All boys are towing an instrument in the hall")


class Studio:
    """Runs, and a browser to see them in."""

    def __init__(self, folder: Path, browser: Any, only: Sequence[str] = ()) -> None:
        self.folder, self.browser, self.only = folder, browser, only
        self.models: dict[str, Any] = {}

    def model(self, name: str) -> Any:
        task, time, options = recipes[name]
        if not (self.folder / name / "card.md").exists():
            print(f"training {name} for {time}", flush=True)
            regard.train(task, out=self.folder / name, time=time, quiet=True, **options)
        if name not in self.models:
            self.models[name] = regard.load(str(self.folder / name), "cpu")
        return self.models[name]

    def scene(self, of: str, *rows: tuple[str, ...], **more: Any) -> dict[str, Any]:
        model = self.model(of)
        found = model.predict(list(rows), **more)
        items = [item(0, row, one) for row, one in zip(rows, found, strict=True)]
        return scene(items, [describe_run(model, of, model.roles, model.features)], of)

    @contextmanager
    def tab(self, wide: int = 980, dark: bool = False, high: int = 1000, scale: float = 0) -> Iterator[Any]:
        context = self.browser.new_context(
            viewport={"width": wide, "height": high},
            device_scale_factor=scale or (2 if wide < 500 else 1.5),
            color_scheme="dark" if dark else "light",
        )
        yield context.new_page()
        context.close()

    def take(self, name: str, shown: dict[str, Any], hash: str, wide: int = 980, dark: bool = False) -> None:
        if self.only and name not in self.only:
            return
        with self.opened(shown, hash, wide, dark) as tab:
            shoot(tab, name)

    @contextmanager
    def opened(self, shown: dict[str, Any], hash: str, wide: int, dark: bool, scale: float = 0) -> Iterator[Any]:
        with tempfile.TemporaryDirectory() as folder, self.tab(wide, dark, scale=scale) as tab:
            path = Path(folder) / "page.html"
            path.write_text(page(shown), encoding="utf-8")
            tab.goto(f"{path.as_uri()}#{hash}")
            yield tab


def shoot(tab: Any, name: str) -> None:
    """What the tab shows, from the top to the end of the figure, in few colours."""
    tab.evaluate("document.querySelectorAll('footer, .saving').forEach(e => e.remove())")
    keep(name, snapped(tab))


def snapped(tab: Any) -> Image.Image:
    """The page from its top to its end."""
    tab.wait_for_timeout(100)
    high = tab.evaluate(
        "Math.ceil((document.querySelector('main') ?? document.body).getBoundingClientRect().bottom) + 8"
    )
    clip = {"x": 0, "y": 0, "width": tab.viewport_size["width"], "height": high}
    return Image.open(io.BytesIO(tab.screenshot(full_page=True, clip=clip))).convert("RGB")


def keep(name: str, picture: Image.Image, colours: int = 256, most: int = most) -> None:
    for few in (colours, colours // 2):
        out = io.BytesIO()
        # the colours of small parts are kept, too
        picture.quantize(few, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(
            out, "PNG", optimize=True
        )
        if len(out.getvalue()) <= most:
            break
    if len(out.getvalue()) > most:
        raise SystemExit(f"{name}.png has {len(out.getvalue()):,} bytes, more than {most:,}")
    path = docs / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, out.getvalue())
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
    inputs = task.batched(task.rows([texts], Ask(), [""]))
    with torch.inference_mode():
        looks = [look for _, look in network.read(inputs).memory.looks]
    [tokens] = next(iter(task.inputs.values())).regions([texts[0]])
    weights = looks[0].weights[0, 0, : len(tokens), : len(tokens)].permute(2, 0, 1)  # the forward half
    order = (weights - weights.mean(0)).abs().sum((1, 2)).argsort(descending=True)[:count].sort().values
    names = tuple(f"feature {int(one) + 1}" for one in order)
    shown = torch.cat([weights.mean(0, keepdim=True), weights[order]]).numpy()
    title = "features of the forward half: " + texts[0]
    return AttentionMap(shown, tokens, tokens, title, head_names=("mean", *names), panels="features")


def service(model: Any, name: str) -> Any:
    """Answers a page's requests as the service would: the model answers here, in the service's stead."""

    def answer(route: Any) -> None:
        if "/api/" not in route.request.url:
            shown = scene([], [describe_run(model, name, model.roles, model.features)], "regard", live="api")
            route.fulfill(body=page(shown), content_type="text/html; charset=utf-8")
            return
        asked = route.request.post_data_json
        drop_tokens = [tuple(map(tuple, one)) for one in asked["drop_tokens"] or ()]
        rows = [tuple(row) for row in asked["inputs"]]
        found = model.predict(rows, drop_tokens=drop_tokens, **({"trace": True} if asked["trace"] else {}))
        gone = drop_tokens[0] if drop_tokens else ()
        route.fulfill(body=json.dumps({"items": [item(0, rows[0], found[0], gone)]}), content_type="application/json")

    return answer


def live(studio: Studio) -> None:
    """The page of a service: its greeting, and a word left out."""
    for name, wide in (("greeting", 980), ("live", 980)):
        if studio.only and name not in studio.only:
            continue
        with studio.tab(wide) as tab:
            tab.route("http://regard.test/**", service(studio.model("entail"), "entail"))
            tab.goto("http://regard.test/#view=text")
            if name == "live":
                for number, text in enumerate(pair):
                    tab.locator("textarea").nth(number).fill(text)
                tab.get_by_role("button", name="Look", exact=True).click()
                tab.locator('[data-key="columns-0"]').click()
                tab.get_by_role("button", name="Leave out").click()
                tab.locator(".changes").wait_for()
                tab.mouse.move(1, 1)
            shoot(tab, name)


def served(tab: Any, studio: Studio, name: str, about: str = "") -> None:
    """The page of a service, as it greets."""
    tab.route("http://regard.test/**", service(studio.model(name), name))
    tab.goto(f"http://regard.test/{about}")


def judging(tab: Any, folder: Path) -> None:
    """The page for judges, with two systems and a reference."""
    for name, text in sheets.items():
        (folder / f"{name}.txt").write_text(text + "\n", encoding="utf-8")
    outputs = [str(folder / f"{name}.txt") for name in ("one", "two")]
    sheet = read_sheet(outputs, str(folder / "source.txt"), str(folder / "reference.txt"))
    base = "http://127.0.0.1:8765"
    client = TestClient(judge_app(Session(sheet, begin(folder / "marks.sqlite", sheet), "ana")), base_url=base)

    def answer(route: Any) -> None:
        asked = route.request
        said = client.request(
            asked.method, asked.url, content=asked.post_data, headers={"Content-Type": "application/json"}
        )
        route.fulfill(status=said.status_code, headers=dict(said.headers), body=said.content)

    tab.route(f"{base}/**", answer)
    tab.goto(base)
    tab.locator("#form").wait_for()


def views(studio: Studio) -> dict[str, Callable[[Any, Path], None]]:
    """Every view of every page by name: what opens it in a tab, given a folder to write to."""
    dates = studio.scene("translate", (date,), (other_date,), trace=True, **beam)

    def file(shown: dict[str, Any], hash: str = "") -> Callable[[Any, Path], None]:
        def open_it(tab: Any, folder: Path) -> None:
            (folder / "page.html").write_text(page(shown), encoding="utf-8")
            tab.goto(f"{(folder / 'page.html').as_uri()}#{hash}")

        return open_it

    def tried(name: str) -> Callable[[Any, Path], None]:
        about = describe_run(model := studio.model(name), name, model.roles, model.features)["about"]
        return file(studio.scene(name, tuple(about["inputs"][0])))

    def errors(name: str) -> Callable[[Any, Path], None]:
        examples = (model := studio.model(name)).data().test[:300]
        report = analyse(model, examples, model.results(examples)) | {"data": "test", "run": f"runs/{name}"}

        def open_it(tab: Any, folder: Path) -> None:
            write(report, model, folder)
            tab.goto((folder / "index.html").as_uri())

        return open_it

    return {
        "welcome": lambda tab, _: served(tab, studio, "entail"),
        "matrix": file(dates, "view=matrix&pin=r3"),
        "arcs": file(dates, "view=arcs"),
        "pinned": file(dates, "view=arcs&pin=r6&hide=1"),
        "text": file(dates, "view=text"),
        "steps": file(dates, "view=steps&step=4"),
        "compare": file(dates, "view=text&pin=r9&with=1"),
        "pair": file(studio.scene("entail", pair)),
        "heads": file(studio.scene("multi_head", pair), "map=1&view=panels"),
        "features": file(studio.scene("disan", pair, features=5), "map=1&view=panels&scale=row"),
        "rows": file(studio.scene("structured", ("Sonntag, 4. August 2002",)), "view=panels"),
        "selected": file(studio.scene("resan", pair), "map=1&view=matrix&scale=row"),
        **{name: tried(name) for name in ("relate", "tag", "items", "digits", "language")},
        "errors": errors("entail"),
        "judge": judging,
    }


def widths(studio: Studio) -> None:
    """Every view in sheets, for each width and theme."""
    if studio.only and "widths" not in studio.only:
        return
    found = views(studio)
    for wide, across, size in ((360, 7, 220), (800, 5, 320), (1440, 4, 400)):
        for dark in (False, True):
            taken = []
            for open_it in found.values():
                with tempfile.TemporaryDirectory() as folder, studio.tab(wide, dark, scale=1) as tab:
                    open_it(tab, Path(folder))
                    taken.append(snapped(tab))
            keep(f"widths/{wide}-{'dark' if dark else 'light'}", sheet(taken, across, size), 128, 2 * most)


def sheet(pictures: Sequence[Image.Image], across: int, wide: int) -> Image.Image:
    """Small copies side by side; of a very long page the top."""
    gap, small = 8, []
    for one in pictures:
        top = one.crop((0, 0, one.width, min(one.height, int(2.2 * one.width))))
        small.append(top.resize((wide, round(top.height * wide / top.width)), Image.Resampling.LANCZOS))
    rows = [small[first : first + across] for first in range(0, len(small), across)]
    high = sum(max(one.height for one in row) + gap for row in rows) + gap
    whole = Image.new("RGB", (across * (wide + gap) + gap, high), "#808890")
    y = gap
    for row in rows:
        for number, one in enumerate(row):
            whole.paste(one, (gap + number * (wide + gap), y))
        y += max(one.height for one in row) + gap
    return whole


def pictures(studio: Studio) -> None:
    model = studio.model("translate")
    some = [e for e in model.data().test[:2_000] if e.inputs[0].isascii() and "-0" in e.target][:50]
    both = zip(model.predict([e.inputs for e in some]), some, strict=True)
    found, example = next(one for one in both if one[0].text == one[1].target and len(one[1].inputs[0]) > 12)
    with_links = [item(0, example.inputs, linked(found, example))]
    run = describe_run(model, "translate", model.roles, model.features)
    studio.take("matrix", scene(with_links, [run], "translate"), "view=matrix&pin=r5")
    dates = studio.scene("translate", (date,), (other_date,), ("٥ مارس ٢٠٢٤",), trace=True, **beam)
    studio.take("arcs", dates, "view=arcs&hide=1")
    studio.take("pinned", dates, "view=arcs&pin=r6&hide=1")
    studio.take("steps", dates, "view=steps&step=6")
    studio.take("compare", dates, "view=text&pin=r9&with=1&hide=1")
    studio.take("arabic", dates, "item=2&view=text&pin=r9", dark=True)
    studio.take("phone", dates, "view=text&hide=1&pin=r3", wide=360)
    studio.take("text", studio.scene("entail", pair), "")
    studio.take("rows", studio.scene("structured", ("Sonntag, 4. August 2002",)), "view=panels")
    studio.take("heads", studio.scene("multi_head", pair), "map=1&view=panels")
    studio.take("chosen", studio.scene("resan", pair), "map=1&view=matrix&scale=row")
    shown = studio.scene("disan", pair)
    shown["items"][0]["maps"].append(table(features(studio.model("disan"), pair)))
    studio.take("features", shown, f"map={len(shown['items'][0]['maps']) - 1}&view=panels&scale=row")
    live(studio)
    widths(studio)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", type=Path, help="the folder of the runs")
    parser.add_argument("--only", default="", help="names of pictures, with commas between; widths: the sheets")
    asked = parser.parse_args()
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        pictures(Studio(asked.runs, browser, [one for one in asked.only.split(",") if one]))
        browser.close()


if __name__ == "__main__":
    main()
