"""Where translators look, against where words come from: known places, links of a statistical aligner, links by people.

    python benchmarks/alignment.py links DATA --source de --target en --out FILE    # eflomal's, for the test pairs
    python benchmarks/alignment.py dates - --jobs 8 --time 2m                       # the built-in dates: all is known
    python benchmarks/alignment.py gold DATA --jobs 24 --time 20m --links FILE      # es→en Europarl, links by people

In `links` DATA is a folder as for benchmarks/translate.py, or the folder of es-en; the aligner counts in all its text.
In `gold` DATA holds train.es, train.en (also .gz), dev.es, dev.en and dev.key. The pairs of dev are not trained on; the
targets are given and the model looks while it reads them (forced decoding). What every model is given is `RECIPE`:
as many steps for all, where --time allows them. Multi30k against the aligner's links is in benchmarks/generation.py.
Figures go to results/NAME.json as they come.
"""

import argparse
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from record import record
from together import spread, together

import regard
from regard.api import Model, merge
from regard.cli.align import forced, statistical
from regard.cli.options import parse_pairs
from regard.data.lines import lines
from regard.data.load import load
from regard.fields.text import Text
from regard.fields.tokens import Tokens
from regard.look.align import (
    Gold,
    Links,
    attended,
    choose,
    from_pharaoh,
    join,
    off_by_one,
    read_gold,
    scores,
    swapped,
    to_pharaoh,
    words,
)
from regard.types import Example

THREE = ["position", "markov", "fertility"]  # Cohn et al. 2016, section 3.1 to 3.3

# By name, which task it is and what differs from RECIPE. `apart` is both directions without a word of agreement, for
# what `agreement` adds shows only beside it. Agreement beside all three biases must wait until something is learned.
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain": ("translate", {}),
    **{name: ("translate", {"attention": {"bias": [name]}}) for name in THREE},
    "all_three": ("translate", {"attention": {"bias": THREE}}),
    "global_fertility": ("translate", {"fertility": 0.1}),
    "apart": ("agree", {"gamma": 0.0}),
    "agreement": ("agree", {"gamma": 1.0}),
    "apart_all_three": ("agree", {"gamma": 0.0, "attention": {"bias": THREE}}),
    "agreement_all_three": ("agree", {"gamma": 1.0, "attention": {"bias": THREE}}),
    "agreement_later_all_three": ("agree", {"gamma": 1.0, "after": 0.5, "attention": {"bias": THREE}}),
}

# What lets attention form on 5,000 long pairs: many small steps (some eight pairs each) at a high rate, the frequent
# words alone, and an encoder whose states stay with their words: a convolution over three of them, and a residual
# (after 1,000 steps AER 0.80; recurrent 0.96). Attention after the step: its query has read the word before.
RECIPE: dict[str, Any] = {
    "source": {"tokenizer": {"name": "word", "vocab_size": 2500}, "embed": {"dim": 128, "dropout": 0.2}},
    "target": {"tokenizer": {"name": "word", "vocab_size": 2000}},
    "encoder": {"name": "hierarchical", "hidden": 128, "layers": 1, "kernel": 3},
    "decoder": {"name": "recurrent", "embed": 128, "hidden": 128, "place": "after", "feed": False, "dropout": 0.2},
    "attention": {"score": {"name": "additive", "hidden": 256}},
    "label_smoothing": 0.0,
    "best_metric": "perplexity",
    "metrics": ["perplexity", {"name": "bleu", "tokenize": "none"}],
    "train": {
        "steps": 4000,
        "batch_tokens": 256,
        "lr": 8e-3,
        "ema": 0.98,
        "validate_every": 500,
        "patience": 8,
        "max_validation": 200,
        "auto": False,
    },
}


# --- figures of a model ----------------------------------------------------------------------------------------


def compared(weights: Sequence[Any], links: Sequence[Links], gold: Sequence[Gold]) -> dict[str, float]:
    """All that is told of links and of the weights they came from, beside gold links."""
    possible = [one.possible for one in gold]
    return {**scores(links, gold), **off_by_one(links, possible), **attended(weights, possible)}


def of_run(model: Model, examples: Sequence[Example], gold: Sequence[Gold]) -> dict[str, float]:
    """Of each target word the source word most looked at, while the target is read."""
    weights = forced(model, examples)
    return compared(weights, [choose(rows) for rows in weights], gold)


def as_gold(path: str | Path) -> list[Gold]:
    """An aligner's links, all of them sure."""
    found = [from_pharaoh(line, f"{path}:{number}") for number, line in enumerate(lines(str(path)), 1)]
    return [Gold(links, links) for links in found]


def both_ways(folder: Path, examples: Sequence[Example], gold: Sequence[Gold]) -> dict[str, float]:
    """A run of `agree`: its two directions by themselves, and joined."""
    there, back = (regard.load(folder / way) for way in ("there", "back"))
    turned_round = [Example((one.target,), one.source, one.where) for one in examples]
    seen, seen_back = forced(there, examples), forced(back, turned_round)
    links, links_back = [choose(rows) for rows in seen], [swapped(choose(rows)) for rows in seen_back]
    found = compared(seen, links, gold) | {"back_aer": scores(links_back, gold)["aer"]}
    for how in ("intersection", "grow"):
        joined = [join(*one, how) for one in zip(links, links_back, strict=True)]
        found |= {f"{how}_{name}": value for name, value in scores(joined, gold).items()}
    return found


# --- what is measured ------------------------------------------------------------------------------------------


def parallel(folder: Path, part: str, source: str, target: str) -> list[Path]:
    """Two files, as they are or packed."""
    ends = ((f"{part}.{side}", f"{part}.{side}.gz") for side in (source, target))
    return [next((folder / name for name in some if (folder / name).exists()), folder / some[0]) for some in ends]


def pairs(folder: Path, part: str, source: str, target: str) -> list[Example]:
    both = zip(*(lines(str(path)) for path in parallel(folder, part, source, target)), strict=True)
    return [Example((one,), other, f"{part}:{number}") for number, (one, other) in enumerate(both, 1)]


def gold_of(folder: Path) -> tuple[list[Example], list[Gold]]:
    """The pairs of dev and their links; in dev.key the English word stands first, and all links are sure."""
    examples = pairs(folder, "dev", "es", "en")
    sizes = [(len(words(one.source)), len(words(one.target))) for one in examples]
    return examples, read_gold(lines(str(folder / "dev.key")), "dev.key", sizes, turn=True)


def by_people(kind: str, seed: int, data: str, out: str, over: dict[str, Any]) -> dict[str, Any]:
    """One training on es→en, and its links beside those of people."""
    task, options = KINDS[kind]
    folder = Path(data)
    train, held = (",".join(str(path) for path in parallel(folder, part, "es", "en")) for part in ("train", "dev"))
    given = {"data": {"train": train, "test": held}}
    asked = merge(merge(merge(RECIPE, options), given), merge(over, {"train": {"seed": seed}}))
    done = regard.train(task, out=out, quiet=True, **asked)
    examples, gold = gold_of(folder)
    found = both_ways(Path(out), examples, gold) if task == "agree" else of_run(done.model, examples, gold)
    test = {name: value for name, value in done.test.items() if isinstance(value, float)}
    return {**found, **test, "steps": done.outcome.step, "seconds": round(done.outcome.seconds, 1)}


def on_dates(kind: str, seed: int, out: str, over: dict[str, Any]) -> dict[str, Any]:
    """One training on the built-in dates, and how often it looks at the characters that a character came from."""
    task, options = KINDS[kind]
    if "attention" in options:  # the score stays that of the built-in recipe
        options = merge({"attention": {"score": {"name": "additive", "hidden": 64}}}, options)
    done = regard.train(task, out=out, quiet=True, **merge(merge(options, over), {"train": {"seed": seed}}))
    test = {name: value for name, value in done.test.items() if isinstance(value, float)}
    return {**test, "steps": done.outcome.step, "seconds": round(done.outcome.seconds, 1)}


def measured(what: str, given: argparse.Namespace, more: Mapping[str, Any]) -> None:
    """Every kind with every seed; the file of results is written anew after each."""
    kinds = given.only.split(",") if given.only else list(KINDS)
    over = merge({"train": {"time": given.time}}, parse_pairs(given.options))
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(given.out or scratch)
        work: dict[str, tuple[Any, ...]] = {}
        for seed in range(1, given.seeds + 1):
            for kind in kinds:
                place = str(out / f"{what}-{kind}-{seed}")
                call = (by_people, kind, seed, given.data, place) if what == "gold" else (on_dates, kind, seed, place)
                work[f"{kind} {seed}"] = (*call, over)
        found: dict[str, dict[int, dict[str, Any]]] = {kind: {} for kind in kinds}
        for key, figures in together(work, given.jobs):
            kind, _, seed_ = key.partition(" ")
            found[kind][int(seed_)] = figures
            rows = [{"name": name, **spread(some)} for name, some in found.items() if some]
            settings = {"seeds": given.seeds, "jobs": given.jobs, "time": given.time, "options": given.options}
            record(given.name or f"alignment_{what}", {"rows": rows, **settings, **more})


def write_links(given: argparse.Namespace) -> None:
    """The aligner's links of the test pairs, its directions joined; it counts in all the text there is."""
    folder = Path(given.data)
    if (folder / "dev.key").exists():
        rest, test = (pairs(folder, part, given.source, given.target) for part in ("train", "dev"))
    else:
        splits = load(
            "", fields=(Text(end=True), Tokens()), known=(), train=str(folder), source=given.source, target=given.target
        )
        rest, test = [*splits.train, *splits.valid], splits.test
    found = statistical([*rest, *test], "grow")[-len(test) :]
    Path(given.out).write_text("".join(f"{to_pharaoh(one)}\n" for one in found))
    print(f"{sum(map(len, found)):,} links of {len(found):,} pairs: {given.out}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("links", "dates", "gold"))
    parser.add_argument("data", help="a folder; - for dates")
    parser.add_argument("options", nargs="*", help="options of regard as key=value")
    parser.add_argument("--source", default="de")
    parser.add_argument("--target", default="en")
    parser.add_argument(
        "--links", default="", help="gold: a statistical aligner's links of dev, for a row of their own"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--time", default="4m", help="at most this for each training")
    parser.add_argument("--only", default="", help="these kinds, with commas between")
    parser.add_argument("--out", default="", help="links: the file to write; else, keep the runs here")
    parser.add_argument("--name", default="", help="how the file of results is called; else alignment_WHAT")
    given = parser.parse_intermixed_args()
    if given.what == "links":
        write_links(given)
        return 0
    more: dict[str, Any] = {}
    if given.links:
        examples, gold = gold_of(Path(given.data))
        theirs = [one.sure for one in as_gold(given.links)]
        more["statistical"] = scores(theirs, gold) | off_by_one(theirs, [one.possible for one in gold])
        print(f"statistical aligner: aer {more['statistical']['aer']:.4f} on {len(examples)} pairs", flush=True)
    measured(given.what, given, more)
    return 0


if __name__ == "__main__":
    sys.exit(main())
