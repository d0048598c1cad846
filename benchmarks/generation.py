"""What each part of a translator does, on Multi30k de→en with one budget for all: decoders, scores, biases, teaching.

    python benchmarks/generation.py table DATA --jobs 13 --time 3m --links FILE      # the whole table
    python benchmarks/generation.py table DATA --only additive,no_attention_start    # some of it
    python benchmarks/generation.py lists DATA RUN                                   # n-best lists, with alignments

DATA as for benchmarks/translate.py. Every model is trained once for each seed, as long as the others. Beside BLEU on
the test set (all of it, and by length of the source) and perplexity stands where the model looks while it reads the
true translation, against a statistical aligner's links (FILE, see benchmarks/alignment.py). Figures go to
results/NAME.json as they come; with --out the translations lie there too. Options of regard may follow as key=value.

`lists` times n-best lists of the test sentences, with and without alignments, on a run of such a model.
"""

import argparse
import gc
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from alignment import as_gold, of_run
from record import record
from together import spread, together
from translate import RECIPE, trained, wait

import regard
from regard.api import merge
from regard.cli.options import parse_pairs
from regard.compare.costs import parameters
from regard.data.load import load
from regard.fields.text import Text
from regard.fields.tokens import Tokens
from regard.measure import Results
from regard.measure.bleu import Bleu
from regard.types import Example, Prediction

AFTER = {"name": "recurrent", "hidden": 512, "place": "after", "dropout": 0.4}


def scored(name: str, **more: Any) -> dict[str, Any]:
    return {"attention": {"score": name, **more}}


VARIANTS: dict[str, dict[str, Any]] = {
    **{
        f"no_attention_{way}": {"decoder": {"name": "plain", "hidden": 512, "context": way, "dropout": 0.4}}
        for way in ("start", "transform", "every", "first")
    },
    "additive": {},
    "dot": scored("dot"),
    "bilinear": scored("bilinear"),
    "scaled_dot": scored("scaled_dot"),
    "scaled_dot_8_heads": scored("scaled_dot", heads=8),
    "cosine": scored("cosine"),
    "feature_wise": scored("feature_wise"),
    "additive_entmax": scored("additive", normalizer="entmax"),
    "additive_hard": scored("additive", normalizer="sample"),
    "bias_position": scored("additive", bias=["position"]),
    "bias_markov": scored("additive", bias=["markov"]),
    "bias_fertility": scored("additive", bias=["fertility"]),
    "bias_all_three": scored("additive", bias=["position", "markov", "fertility"]),
    "bias_distance": scored("additive", bias=["relative_position"]),
    "bias_window": scored("additive", bias=["window"]),
    "global_fertility": {"fertility": 0.1},
    "attention_before": {"decoder": {**AFTER, "place": "before"}},
    "input_feeding": {"decoder": {**AFTER, "feed": True}},
    "lstmn_shallow": {"decoder": {"name": "lstmn", "hidden": 512, "fusion": "shallow", "dropout": 0.4}},
    "lstmn_deep": {"decoder": {"name": "lstmn", "hidden": 512, "fusion": "deep", "dropout": 0.4}},
    "transformer": {
        "encoder": {"name": "transformer", "positions": "rotary", "dropout": 0.2},
        "decoder": {"name": "transformer", "positions": "rotary", "dropout": 0.2},
        **scored("scaled_dot"),
        "source": {"embed": {"dropout": 0.0}},
    },
    "teach_linear": {"teach": {"scheduled_sampling": "linear", "min_truth": 0.7}},
    "teach_exponential": {"teach": {"scheduled_sampling": "exponential", "min_truth": 0.7}},
    "teach_inverse": {"teach": {"scheduled_sampling": "inverse", "min_truth": 0.7}},
    "teach_blank": {"teach": {"word_dropout": 0.1}},
    "teach_drop": {"teach": {"source_dropout": 0.1}},
    "teach_swap": {"teach": {"source_swap": 0.1}},
    "teach_replace": {"teach": {"source_replace": 0.1}},
    "no_smoothing": {"label_smoothing": 0.0},
}


BINS = ((1, 7), (8, 9), (10, 11), (12, 13), (14, 16), (17, 20), (21, 999))  # words of a source


def by_length(examples: Sequence[Example], predictions: Sequence[Prediction]) -> list[dict[str, float]]:
    """BLEU of the sentences of each length, over all sentences of a bin together."""
    rows = []
    for low, high in BINS:
        pairs = [(e, p) for e, p in zip(examples, predictions, strict=True) if low <= len(e.source.split()) <= high]
        if pairs:
            some, theirs = zip(*pairs, strict=True)
            bleu = Bleu(tokenize="none")(Results(some, theirs, 0.0, 0, 0))["bleu"]
            mean = statistics.mean(len(e.source.split()) for e in some)
            rows.append({"low": low, "high": high, "mean": mean, "sentences": len(some), "bleu": float(bleu)})
    return rows


def variant(options: dict[str, Any], seed: int, folder: str, links: str) -> dict[str, Any]:
    """One training, and all that is told of it."""
    asked = merge(options, {"train": {"seed": seed}})
    done = regard.train("translate", out=folder, quiet=True, **asked)
    model, test = done.model, done.splits.test
    answers = model.predict([example.source for example in test], look=False)
    Path(folder, "test.txt").write_text("".join(f"{answer.text}\n" for answer in answers), encoding="utf-8")
    found: dict[str, Any] = {
        **trained(done),
        "parameters": parameters(model.network),
        "by_length": by_length(test, answers),
    }
    decoder: Any = getattr(model.network, "decoder", None)
    if links and model.config["decoder"]["name"] != "plain":
        found |= of_run(model, test, as_gold(links))
    if links and model.config["decoder"]["name"] == "transformer":
        found["aer_by_layer"] = []
        for layer in range(len(decoder.blocks)):  # which layer aligns is not known beforehand
            decoder.look = layer
            found["aer_by_layer"].append(of_run(model, test, as_gold(links))["aer"])
    return found


def table(given: argparse.Namespace) -> None:
    shared = merge(
        RECIPE, {"data": {"train": given.data, "source": "de", "target": "en"}, "train": {"time": given.time}}
    )
    over = parse_pairs(given.rest)
    wanted = given.only.split(",") if given.only else list(VARIANTS)
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(given.out or scratch)
        out.mkdir(parents=True, exist_ok=True)
        work = {
            f"{name} {seed}": (
                variant,
                merge(merge(shared, VARIANTS[name]), over),
                seed,
                str(out / f"{name}-{seed}"),
                given.links,
            )
            for seed in range(1, given.seeds + 1)
            for name in wanted
        }
        found: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in wanted}
        for key, figures in together(work, given.jobs):
            name, _, seed = key.partition(" ")
            found[name][int(seed)] = figures
            rows = [{"name": name, **spread(some)} for name, some in found.items() if some]
            settings = {"seeds": given.seeds, "jobs": given.jobs, "time": given.time, "options": given.rest}
            record(given.name or "generation", {"rows": rows, **settings})


def lists(given: argparse.Namespace) -> None:
    """Seconds for the test sentences: the best alone and the five best, with and without alignments, by turns."""
    model = regard.load(given.rest[0])
    test = load("", (Text(end=True), Tokens()), (), train=given.data, source="de", target="en").test
    sources = [example.source for example in test]
    device = next(model.network.parameters()).device
    gc.collect()
    gc.freeze()  # as the service does: what was loaded need not be looked through again and again
    times: dict[tuple[int, bool], list[float]] = {}
    for _ in range(given.repeats + 1):  # the first round warms up
        for kind in ((1, False), (1, True), (5, False), (5, True)):
            began = wait(device)
            found = model.predict(sources, look=kind[1], beam_size=5, n_best=kind[0])
            times.setdefault(kind, []).append(wait(device) - began)
            assert len(found[0].others) < kind[0]
            del found
    middle = {kind: statistics.median(some[1:]) for kind, some in times.items()}
    figures: dict[str, Any] = {"sentences": len(sources), "beam": 5, "repeats": given.repeats}
    for nbest in (1, 5):
        plain, aligned = middle[nbest, False], middle[nbest, True]
        figures |= {
            f"seconds_{nbest}_best": round(plain, 4),
            f"seconds_{nbest}_best_with_alignments": round(aligned, 4),
        }
        figures[f"ratio_{nbest}_best"] = round(aligned / plain, 3)
    for name, value in figures.items():
        print(f"{name}: {value}", flush=True)
    print(record(given.name or "generation_lists", figures))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("table", "lists"))
    parser.add_argument("data")
    parser.add_argument("rest", nargs="*", help="lists: the run; table: options of regard as key=value")
    parser.add_argument("--links", default="", help="a statistical aligner's links of the test pairs")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--time", default="4m", help="at most this for each training")
    parser.add_argument("--only", default="", help="these, with commas between")
    parser.add_argument("--out", default="", help="keep the runs here")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--name", default="", help="how the file of results is called; else generation, generation_lists"
    )
    given = parser.parse_intermixed_args()
    {"table": table, "lists": lists}[given.what](given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
