"""The tables of the README and the docs, made from `results/*.json`: no figure is typed by hand.

A page holds a table between two comments, each on a line of its own:

    <!-- table: NAME -->
    <!-- end -->

`python benchmarks/tables.py` rewrites what stands between them; `--check` changes nothing and exits 1
where a page is out of date. `tables` below says how each NAME is made: any function from all results
(by name, as `record.py` wrote them) to markdown, most simply a `Table`.
"""

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))  # also where this file is loaded from elsewhere, as its tests do

import caption_tables
import faithful_tables
import reading_tables
import recommend_tables
import reply_tables
import speech_tables
from attention_tables import attention
from generation_tables import generation
from sentence_tables import sentences

from regard.files import write_whole

root = Path(__file__).resolve().parent.parent
Results = Mapping[str, Mapping[str, Any]]
marker = re.compile(r"^<!-- table: (\S+) -->$(.*?)(^<!-- end -->$|\Z)", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Column:
    """A title, the dotted path of a figure, and how it is written (`{:.2f}`).

    The path begins in the figures (`bleu.test`); with a leading dot in the record (`.hardware.gpu`,
    `.date`); under `each` it is tried in the row first.
    """

    title: str
    path: str
    form: str = "{}"


@dataclass(frozen=True)
class Table:
    """One row a results file whose name matches the glob, or one row an item of the list at `each` in it."""

    results: str
    columns: tuple[Column, ...]
    each: str = ""

    def __call__(self, results: Results) -> str:
        records = [results[name] for name in sorted(results) if fnmatch(name, self.results)]
        rows = [
            [self._cell(column, row, record) for column in self.columns]
            for record in records
            for row in (_at(record["figures"], self.each) or [] if self.each else [record["figures"]])
        ]
        for i, column in enumerate(self.columns):
            if not any(row[i] for row in rows):  # one figure may be missing; one missing everywhere is a slip
                raise SystemExit(f"{len(records)} results match {self.results!r}, none has {column.path!r}")
        head = [[column.title for column in self.columns], ["---"] * len(self.columns)]
        body = [[cell or "–" for cell in row] for row in rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in head + body)

    @staticmethod
    def _cell(column: Column, row: Mapping[str, Any], record: Mapping[str, Any]) -> str | None:
        places = [record] if column.path.startswith(".") else [row, record["figures"]]
        value = next((v for v in (_at(place, column.path.strip(".")) for place in places) if v is not None), None)
        return None if value is None else column.form.format(value).replace("|", r"\|")


# What was to be reached, and where the figure is: results file, dot, path of the figure.
REACHED = (
    ("`regard --help`", "< 0.4 s", "first.help_seconds", "{:.2f} s"),
    ("`regard train translate`, 2 CPU cores, the whole command", "≤ 180 s", "first.train_seconds", "{:.0f} s"),
    ("its exact match on 2,000 unseen dates, 62 locales", "≥ 98 %", "first.exact_match", "{:.1%}"),
    ("its alignment accuracy", "", "first.alignment", "{:.1%}"),
    (
        "5,000 raw Multi30k pairs, `--time 5m` and nothing else, 2 CPU cores, test_2016_flickr, BLEU",
        "≥ 22",
        "own_data.cases.translate_5k.defaults.1.bleu",
        "{:.1f}",
    ),
    ("the whole command", "≤ 315 s", "own_data.cases.translate_5k.defaults.1.seconds", "{:.0f} s"),
    (
        "JoeyNMT's small configuration, same data, machine and time, BLEU",
        "",
        "own_data.cases.translate_5k.joeynmt.1.bleu",
        "{:.1f}",
    ),
    ("Multi30k de→en, GRU + additive attention, test_2016_flickr, BLEU", "≥ 37", "multi30k_gru.bleu", "{:.1f}"),
    ("its training on one H200", "≤ 420 s", "multi30k_gru.seconds", "{:.0f} s"),
    ("JoeyNMT's sizes and batch, H200, target tokens/s", "≥ 31,250", "multi30k_speed.tokens_per_second", "{:,}"),
    ("1,000 sentences at beam 5, H200", "≤ 1.3 s", "multi30k_decode.seconds_plain", "{:.2f} s"),
    ("the same with alignments", "", "multi30k_decode.seconds_with_alignments", "{:.2f} s"),
    ("Multi30k de→en, Transformer, BLEU", "≥ 40.5", "multi30k_transformer.bleu", "{:.1f}"),
    ("its training on one H200", "≤ 300 s", "multi30k_transformer.seconds", "{:.0f} s"),
    ("1,000 sentences at beam 5 with it", "≤ 1.3 s", "multi30k_transformer_lists.seconds_1_best", "{:.2f} s"),
    (
        "its 5-best lists with alignments, to those without",
        "≤ 1.3×",
        "multi30k_transformer_lists.ratio_5_best",
        "{:.2f}×",
    ),
    ("the same of the GRU with additive attention", "≤ 1.3×", "generation_lists.ratio_5_best", "{:.2f}×"),
    ("Penn Treebank, LSTM, test perplexity", "≤ 80", "language.rows.weight_drop.test", "{:.1f}"),
    ("SNLI, 100,000 pairs, ReSAN, test accuracy", "≥ 80 %", "sentences_snli_resan.rows.resan.test_mean", "{:.1%}"),
    (
        "additive attention, forward and backward, H200, torch.compile's time to ours",
        "≥ 5×",
        "attention_targets_gpu.rows.1.to_compile",
        "{:.1f}×",
    ),
    ("feature-wise attention, the same", "", "attention_targets_gpu.rows.6.to_compile", "{:.1f}×"),
    (
        "MNIST, six glimpses of 8 × 8, error in %, the worst of three seeds",
        "≤ 1.29",
        "glimpse_mnist.6.error.2",
        "{:.2f}",
    ),
    ("Flickr8k, soft attention, BLEU-4", "≥ 19.5", "caption_flickr8k.soft.bleu4", "{:.1f}"),
    ("its METEOR 1.5", "≥ 18.9", "caption_flickr8k_coco.soft.meteor", "{:.1f}"),
    ("its BLEU-1", "≥ 67.0", "caption_flickr8k_coco.soft.bleu1", "{:.1f}"),
    ("hard attention, BLEU-4", "≥ 21.3", "caption_flickr8k.hard.bleu4", "{:.1f}"),
    (
        "captions, training images per second, beside a plain PyTorch loop, H200",
        "≥ 3×",
        "caption_speed.times",
        "{:.1f}×",
    ),
    ("training on 2 CPU cores beside JoeyNMT, same sizes, same run", "≥ 1.5×", "joeynmt_cpu.ratio", "{:.2f}×"),
    ("interrupted trainings that end with exactly the weights of an uninterrupted one", "5 of 5", "resume.equal", "{}"),
)


def measured(results: Results) -> str:
    """The README's table: a row a figure, with its goal and its record."""
    lines = ["| what | to reach | measured | record |", "|---|---|---|---|"]
    for what, reach, place, form in REACHED:
        name, _, path = place.partition(".")
        value = _at(results.get(name, {}).get("figures"), path)
        found = "–" if value is None else f"**{form.format(value)}**"
        lines.append(f"| {what} | {reach} | {found} | [{name}](benchmarks/results/{name}.json) |")
    return "\n".join(lines)


def reliability(results: Results) -> str:
    """What was promised, what was tried, how often, and how often it held."""
    parts = _at(results.get("reliability", {}), "figures.parts") or {}
    lines = ["| promise | tried | times | held |", "|---|---|---|---|"]
    for part in parts.values():
        for row in part["rows"]:
            held = f"{row['held']:,}" if row["held"] == row["count"] else f"**{row['held']:,}**"
            lines.append(f"| {_cell(row['promise'])} | {_cell(row['tried'])} | {row['count']:,} | {held} |")
    return "\n".join(lines)


def fields(results: Results) -> str:
    """Every built-in set that is not text."""
    figures = results.get("fields", {}).get("figures", {})
    lines = ["| data | field | accuracy | whole command |", "|---|---|---|---|"]
    for name, one in figures.items():
        if isinstance(one, Mapping):
            lines.append(f"| {name} | {one['field']} | {one['accuracy']:.1%} | {one['seconds']:.0f} s |")
    return "\n".join(lines)


def own_data(results: Results) -> str:
    """Every case of own data: minutes, and the first measure of the defaults beside the others'."""
    figures = results.get("own_data", {}).get("figures", {})
    others = ("hand", "joeynmt", "joeynmt_sized", "plain")
    lines = [
        "| data | time | measure | defaults | by hand | JoeyNMT | JoeyNMT, our sizes | plain Bi-LSTM |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for case, who in figures.get("cases", {}).items():
        one = next(iter(who.get("defaults", {}).values()), {})
        first = next((name for name in one if name not in ("seconds", "cores", "failed")), "")
        cells = [_mean(who.get(name, {}), first) for name in ("defaults", *others)]
        cores = one.get("cores", 2)
        time = f"{figures['times'][case] / 60:g} min, {cores} core{'s' * (cores != 1)}"
        lines.append(f"| {case} | {time} | {first} | **{cells[0]}** | {' | '.join(cells[1:])} |")
    return "\n".join(lines)


def commands(results: Results) -> str:
    """Every record with the command that made it."""
    lines = ["| record | command | on |", "|---|---|---|"]
    for name, record in results.items():
        hardware = record["hardware"]
        machine = (hardware["gpu"] or f"{hardware['cores']} CPU cores").removeprefix("NVIDIA ")
        command = f"`{_cell(record['command'])}`"
        lines.append(f"| [{name}](../benchmarks/results/{name}.json) | {command} | {machine}, {record['date']} |")
    return "\n".join(lines)


def _mean(seeds: Mapping[str, Mapping[str, Any]], measure: str) -> str:
    values = [figures[measure] for figures in seeds.values() if measure in figures]
    if not values:
        return "–"
    mean = sum(values) / len(values)
    spread = f" ± {(max(values) - min(values)) / 2:.2g}" if len(values) > 1 else ""
    return f"{mean:.4g}{spread}"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")


tables: dict[str, Callable[[Results], str]] = {
    "measured": measured,
    "commands": commands,
    "fields": fields,
    "own_data": own_data,
    "reliability": reliability,
    **attention,
    **sentences,
    **generation,
    **faithful_tables.tables,
    **reading_tables.tables,
    **recommend_tables.tables,
    **reply_tables.tables,
    **speech_tables.tables,
    **caption_tables.tables,
}


def _at(tree: Any, path: str) -> Any:
    """Keys with dots between; of rows the one of that name, or of that number."""
    for key in path.split("."):
        if isinstance(tree, list):
            tree = {**dict(enumerate(tree)), **{row.get("name"): row for row in tree if isinstance(row, Mapping)}}
            key = int(key) if key.isdigit() else key
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


def load(folder: Path) -> dict[str, Any]:
    """All results by name."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))}


def fill(text: str, results: Results, where: str = "page") -> str:
    """The page with each of its tables made anew."""

    def make(found: re.Match[str]) -> str:
        name, body, end = found.groups()
        if not end or "<!-- table:" in body:
            raise SystemExit(f"{where}: table {name!r} lacks its closing line <!-- end -->")
        if name not in tables:
            raise SystemExit(f"{where}: no table is named {name!r}; known: {', '.join(sorted(tables)) or 'none'}")
        return f"<!-- table: {name} -->\n{tables[name](results).strip()}\n{end}"

    return marker.sub(make, text)


def pages(at: Path) -> list[Path]:
    return [at / "README.md", *sorted((at / "docs").rglob("*.md"))]


def main(arguments: list[str] | None = None, at: Path = root) -> int:
    parser = argparse.ArgumentParser(description="Make the tables of README.md and docs from benchmarks/results.")
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 where a page is out of date")
    check = parser.parse_args(arguments).check
    results = load(at / "benchmarks" / "results")
    stale = {p: new for p in pages(at) if (new := fill(p.read_text("utf-8"), results, p.name)) != p.read_text("utf-8")}
    for page, new in stale.items():
        print(f"{page.relative_to(at)}: {'out of date; run python benchmarks/tables.py' if check else 'made anew'}")
        if not check:
            write_whole(page, new)
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
