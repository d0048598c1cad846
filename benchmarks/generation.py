"""What each part of a translator does, on Multi30k de→en with one budget for all: decoders, scores, biases, teaching.

    python benchmarks/generation.py DATA --jobs 8 --time 4m                      # the whole table
    python benchmarks/generation.py DATA --only additive,no_attention_start     # some of it

DATA as for benchmarks/translate.py. Every model is trained once for each seed through `regard.compare`, and BLEU on the
test set stands beside perplexity; figures go to results/NAME.json.
"""

import argparse
import statistics
import sys
import tempfile
from typing import Any

from record import record
from translate import RECIPE

from regard.api import merge
from regard.compare import contest, markdown

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
    "scaled_dot_8_heads": scored("scaled_dot", heads=8),
    "cosine": scored("cosine"),
    "additive_entmax": scored("additive", weigh="entmax"),
    "bias_position": scored("additive", bias=["position"]),
    "bias_markov": scored("additive", bias=["markov"]),
    "bias_fertility": scored("additive", bias=["fertility"]),
    "bias_all_three": scored("additive", bias=["position", "markov", "fertility"]),
    "bias_window": scored("additive", bias=["window"]),
    "attention_before": {"decoder": {**AFTER, "place": "before"}},
    "input_feeding": {"decoder": {**AFTER, "feed": True}},
    "lstmn_shallow": {"decoder": {"name": "lstmn", "hidden": 512, "fusion": "shallow", "dropout": 0.4}},
    "lstmn_deep": {"decoder": {"name": "lstmn", "hidden": 512, "fusion": "deep", "dropout": 0.4}},
    "transformer": {
        "encoder": {"name": "transformer", "positions": "rotary", "dropout": 0.2},
        "decoder": {"name": "transformer", "positions": "rotary", "dropout": 0.2},
        **scored("scaled_dot"),
        "drop": 0.0,
    },
    "teach_linear": {"teach": {"sampling": "linear", "least": 0.7}},
    "teach_exponential": {"teach": {"sampling": "exponential", "least": 0.7}},
    "teach_inverse": {"teach": {"sampling": "inverse", "least": 0.7}},
    "teach_blank": {"teach": {"blank": 0.1}},
    "teach_disturbed": {"teach": {"drop": 0.1, "swap": 0.1}},
    "no_smoothing": {"smoothing": 0.0},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--time", default="4m", help="at most this for each training")
    parser.add_argument("--only", default="", help="these, with commas between")
    parser.add_argument("--out", default="", help="keep the runs here")
    parser.add_argument("--name", default="generation")
    given = parser.parse_args()
    shared = merge(
        RECIPE, {"data": {"train": given.data, "source": "de", "target": "en"}, "train": {"time": given.time}}
    )
    wanted = given.only.split(",") if given.only else list(VARIANTS)
    kinds = {name: merge(shared, VARIANTS[name]) for name in wanted}
    with tempfile.TemporaryDirectory() as scratch:
        out = given.out or scratch
        rows = contest("translate", kinds, out, given.seeds, given.jobs, lambda line: print(line, flush=True))
    print(markdown(rows))
    told = [
        {
            **vars(row),
            "bleu": statistics.mean(row.test),
            "perplexity": statistics.mean(float(one["perplexity"]) for one in row.measures),
        }
        for row in rows
    ]
    print(record(given.name, {"rows": told, "seeds": given.seeds, "jobs": given.jobs, "time": given.time}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
