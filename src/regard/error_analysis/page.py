"""An error report as one self-contained HTML page: no script, no other file, user text escaped.

page(report, {"by_length": png}, task.inputs)
"""

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from regard.fields import Input
from regard.look.attention_map import visible

__all__ = ["page"]

STYLE = """
:root { color-scheme: light dark; --paper: #f3f5f8; --card: #fff; --ink: #0d131b; --soft: #56616f; --line: #dde3ea;
  --good: #0b57a4; --bad: #b34700; }
@media (prefers-color-scheme: dark) { :root { --paper: #0f1318; --card: #181e26; --ink: #f4f7fa; --soft: #a3afbd;
  --line: #2d3642; --good: #5cadff; --bad: #ff9a4d; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 62rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.5 system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; } p { margin: .4rem 0; }
.soft, dt, th, figcaption { color: var(--soft); font-weight: 400; }
.card, .scroll { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: .75rem; }
.card { margin: 0 0 .75rem; } .scroll { overflow-x: auto; margin: .5rem 0; }
table { border-collapse: collapse; font-size: .9rem; } th, td { padding: .15rem .9rem .15rem 0; text-align: left; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
dl { display: grid; grid-template-columns: minmax(4.5rem, max-content) 1fr; gap: .15rem .75rem; margin: .4rem 0 0; }
dd { margin: 0; white-space: pre-wrap; } dd.target { color: var(--good); } dd.answer { color: var(--bad); }
td:first-child { min-width: 6rem; } .scroll { overflow-wrap: normal; }
img { max-width: 100%; height: auto; background: #fff; border-radius: 8px; }
figure { margin: .5rem 0; overflow-x: auto; } figure.wide img { min-width: 34rem; }
dd img { max-height: 8rem; image-rendering: pixelated; display: block; }
@media (max-width: 30rem) { body { padding: .6rem; } dl { grid-template-columns: 1fr; } dd { margin-bottom: .3rem; } }
"""
# What a page without script needs; anything else in it would be somebody else's.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
SEVERAL = 6  # labels of a confusion matrix that can be read on a phone
LONGEST = 5_000  # characters of a text
TITLES = {
    "confusion": "Confusion matrix: rows are the true labels, colours are shares of a row",
    "by_label": "F1 by label",
    "by_length": "Score by input length",
    "by_references": "Score by number of references",
    "residuals": "Residuals",
    "missed": "Words that are in the target and not in the answer",
}


def page(report: Mapping[str, Any], pictures: Mapping[str, bytes], inputs: Mapping[str, Input]) -> str:
    """The whole page; `inputs` are the fields of the task, by role, which show values that are not text."""
    body = "\n".join([*_head(report), *_sections(report, pictures), *_worst(report, inputs)])
    title = f"Errors of {escape(visible(report['run']))}"
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
    )


def _head(report: Mapping[str, Any]) -> Iterable[str]:
    data = f" of {escape(visible(report['data']))}" if report.get("data") else ""
    yield f'<p class="soft">{escape(report["task"])}, {report["examples"]:,} examples{data}</p>'
    yield _table(("metric", "value"), [(name, _number(value)) for name, value in report["measures"].items()])


def _sections(report: Mapping[str, Any], pictures: Mapping[str, bytes]) -> Iterable[str]:
    if "by_label" in report:
        yield "<h2>Labels</h2>"
        yield from _pictures(pictures, "confusion", "by_label", many=len(report["by_label"]) > SEVERAL)
        names = ("label", "examples", "precision", "recall", "f1", "most often taken for")
        yield _table(names, [
            (row["label"], *(_number(row[name]) for name in names[1:5]), row["taken_for"] or "–")
            for row in report["by_label"]
        ])  # fmt: skip
    if "residuals" in report:
        yield "<h2>Residuals</h2>"
        yield from _pictures(pictures, "residuals")
    groups = [("by_length", "Input length", report["by_length"])]
    groups += [("by_references", "Number of references", report.get("by_references", []))]
    for name, rows in report.get("by_group", {}).items():
        groups.append((f"by_{name.replace(' ', '_')}", name.capitalize(), rows))
    for part, title, rows in groups:
        if part in pictures:
            yield f"<h2>{escape(title)}</h2>"
            yield from _pictures(pictures, part)
            yield _table((title.lower(), "examples", *report["scores"]), [
                (_bounds(row), _number(row["examples"]),
                 *(_number(row["scores"].get(name, {}).get("mean")) for name in report["scores"]))
                for row in rows
            ])  # fmt: skip
    if report.get("missed") or report.get("added"):
        yield "<h2>Words</h2>"
        yield from _pictures(pictures, "missed")
        words = [(row["word"], _number(row["missed"]), _number(row["of"])) for row in report["missed"]]
        yield _table(("missed word", "times", "of so many in targets"), words)
        words = [(row["word"], _number(row["added"]), _number(row["of"])) for row in report["added"]]
        yield _table(("added word", "times", "of so many in answers"), words)


def _worst(report: Mapping[str, Any], inputs: Mapping[str, Input]) -> Iterable[str]:
    by = ", then by ".join(f"{name} ({'highest' if one['better'] == 'lower' else 'lowest'} first)"
                           for name, one in report["scores"].items())  # fmt: skip
    yield f'<h2>Worst examples</h2>\n<p class="soft">by {escape(by)}</p>' if by else "<h2>Examples</h2>"
    for number, row in enumerate(report["worst"], 1):
        scores = ", ".join(f"{escape(name)} {_number(value)}" for name, value in row["scores"].items())
        yield f'<div class="card"><span class="soft">{number}. {escape(visible(row["where"]))}: {scores}</span><dl>'
        for (role, field), value in zip(inputs.items(), row["inputs"], strict=True):
            yield _entry(role, value, shown=field.source(value), title=field.title(value))
        if row["target"]:
            yield _entry("target", row["target"], "target")
            for other in row["alternatives"]:
                yield _entry("or", other, "target")
            yield _entry("answer", row["answer"], "answer" if row["answer"] != row["target"] else "target")
        yield "</dl></div>"


def _entry(name: str, value: str, kind: str = "", shown: str = "", title: str = "") -> str:
    """A term and its value: text, or a picture under its name."""
    content = escape(value if len(value) <= LONGEST else f"{value[:LONGEST]}…")
    if shown.startswith("data:image/"):
        content = f'{escape(title)}<img src="{escape(shown)}" alt="{escape(title)}">'
    return f'<dt>{escape(name)}</dt><dd dir="auto"{f" class={kind}" if kind else ""}>{content}</dd>'


def _title(name: str) -> str:
    return TITLES.get(name) or f"Score {name.replace('_', ' ')}"


def _pictures(pictures: Mapping[str, bytes], *names: str, many: bool = False) -> Iterable[str]:
    for name in names:
        if name in pictures:
            data = base64.b64encode(pictures[name]).decode()
            wide = ' class="wide"' if name == "confusion" and many else ""  # small letters: it scrolls if narrow
            yield f'<figure{wide}><img src="data:image/png;base64,{data}" alt="{_title(name)}"></figure>'


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The first column is text, and so is what has no digit at its start."""

    def cell(kind: str, number: int, text: str) -> str:
        of = ' class="n"' if number and (kind == "th" or text[:1].isdigit() or text[:1] in ("-", "–")) else ""
        return f"<{kind}{of}>{escape(visible(text))}</{kind}>"

    def line(kind: str, row: Sequence[str]) -> str:
        return f"<tr>{''.join(cell(kind, number, text) for number, text in enumerate(row))}</tr>"

    body = "".join(line("td", row) for row in rows)
    return f'<div class="scroll"><table>{line("th", head)}{body}</table></div>'


def _bounds(row: Mapping[str, Any]) -> str:
    return str(row["from"]) if row["from"] == row["to"] else f"{row['from']}–{row['to']}"


def _number(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
