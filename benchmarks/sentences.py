"""The sentence tables: every encoder on SNLI, SICK, SST-2 and TREC, three seeds, through `regard.compare`.

    python benchmarks/sentences.py snli DATA --vectors A.gz,B.gz --jobs 10      # DATA: the folder of the set
    python benchmarks/sentences.py snli DATA --vectors A.gz,B.gz --costs        # time and memory, nothing beside it
    python benchmarks/sentences.py sick DATA --vectors A.gz,B.gz
    python benchmarks/sentences.py sst DATA --vectors …      and  trec DATA --vectors …
    python benchmarks/sentences.py price DATA --vectors …    # share of tokens chosen against accuracy, SNLI

Published figures stand beside ours (Shen et al., IJCAI 2018, table 1 and 2; all of SNLI, where we train on 100,000
pairs). What each recipe was chosen by is in docs/LOG.md. With --out a table that was stopped goes on where it stood.
"""

import argparse
import gc
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import torch
from record import record

from regard.api import configure, make_task, merge, prepare
from regard.compare import folder_of, scored
from regard.compare.costs import measured
from regard.train.device import device_of

# Parameters without word vectors, test score (accuracy, or Pearson), as published.
PUBLISHED: dict[str, dict[str, tuple[float | None, float | None]]] = {
    "snli": {
        "bilstm": (2.9e6, 0.850), "bigru": (2.5e6, 0.849), "multi_window": (1.4e6, 0.832),
        "hierarchical": (3.4e6, 0.839), "multi_head": (2.0e6, 0.842), "disan": (2.4e6, 0.856), "resan": (3.1e6, 0.863),
    },
    "sick": {
        "bigru": (None, 0.8572), "multi_window": (None, 0.8374), "hierarchical": (None, 0.8436),
        "disan": (None, 0.8695), "resan": (None, 0.8720),
    },
    "sst": {}, "trec": {}, "price": {},
}  # fmt: skip
INNER = {"multi_head", "disan", "resan", "hierarchical", "multi_window", "lstmn"}  # those with dropout of their own
POOLED = {"intra", "structured"}  # whose pooling is what they are
ALL = ("lstm", "bilstm", "bigru", "intra", "structured", "multi_window", "hierarchical", "multi_head", "lstmn", "disan",
       "resan")  # fmt: skip
PRICES = {"mean": (0.0, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1), "none": (0.03, 0.1)}  # by what an unchosen head takes

# What may be varied in a table, by name; `inner` is the dropout inside an encoder, where it has one. Every encoder
# tries all of a table's recipes, one seed each, and takes what is best on the validation set (docs/LOG.md has what else
# was tried).
FIXED: dict[str, Any] = {"inner": 0.0, "dropout": 0.0, "input": {"embed": {"mode": "fixed"}}}
STILL = {**FIXED, "train": {"weight_decay": 1.0}}
GRIDS: dict[str, dict[str, dict[str, Any]]] = {
    "snli": {
        "rate 0.001": {"inner": 0.2, "dropout": 0.2},
        "rate 0.002, decay 0.1": {"inner": 0.2, "dropout": 0.2, "train": {"lr": 2e-3, "weight_decay": 0.1}},
        "rate 0.002, decay 0.1, drop 0.3": {"inner": 0.0, "dropout": 0.3, "train": {"lr": 2e-3, "weight_decay": 0.1}},
    },
    "sick": {
        "fixed": FIXED,
        "fixed, decay 1, max": {**STILL, "pool": "max"},
        "fixed, decay 1, max, head 200": {**STILL, "pool": "max", "head": {"hidden": 200}},
    },
    "words": {
        "tuned, drop 0.4": {"inner": 0.3, "dropout": 0.4, "input": {"embed": {"mode": "tuned"}}},
        "missing, drop 0.2": {"inner": 0.1, "dropout": 0.2, "input": {"embed": {"mode": "missing"}}},
    },
}


def recipe(kind: str, folder: Path, vectors: str, seconds: str) -> dict[str, Any]:
    """What all encoders of a table share."""
    own: dict[str, Any]
    if kind in ("snli", "price"):
        own = {
            "data": {**files(folder, "train.tsv.gz", "dev.tsv.gz", "test.tsv.gz"), "source": "2,3", "target": "1"},
            "input": {"tokenizer": {"name": "word", "split": "space", "lower": True}, "embed": {"mode": "tuned"}},
            "match": "distance",
            "train": {"batch_size": 256, "epochs": 10, "max_validation": 9842, "warmup": 300},
        }
    elif kind == "sick":
        own = {
            "data": files(folder, "SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"),
            "train": {"batch_size": 32, "epochs": 12, "warmup": 100, "validate_every": 141, "patience": 4},
            "head": {"hidden": 50, "act": "tanh"},
        }
    else:
        parts = ("stsa.binary.train", "stsa.binary.dev", "stsa.binary.test")
        parts = parts if kind == "sst" else ("TREC.train.all", "", "TREC.test.all")
        own = {
            "data": {**files(folder, *parts), "form": "labelled"},
            "input": {"tokenizer": {"name": "word", "split": "space", "lower": True}},
            "train": {"batch_size": 64, "epochs": 12, "warmup": 100},
        }
    return merge(
        own, {"input": {"embed": {"vectors": vectors}}, "train": {"batch_tokens": 0, "time": seconds, "auto": False}}
    )


def files(folder: Path, *names: str) -> dict[str, str]:
    return {part: str(folder / name) for part, name in zip(("train", "valid", "test"), names, strict=True) if name}


# The published sizes are of 300 features a word; with 400 this one would have a fifth more parameters.
SIZES: dict[str, dict[str, Any]] = {"multi_window": {"filters": 185}}
# SICK is learned by heart in four epochs, SNLI at a high rate in five of ten: what comes after them must be the last
# phase already.
PHASES: dict[str, dict[str, Any]] = {"resan": {"soft": 0.3}}


def with_encoder(shared: Mapping[str, Any], name: str, varied: Mapping[str, Any]) -> dict[str, Any]:
    inner = {"dropout": varied["inner"]} if name in INNER else {}
    inner |= SIZES.get(name, {}) | PHASES.get(name, {})
    others = {key: value for key, value in varied.items() if key != "inner"}
    return merge(merge(shared, others), {"encoder": {"name": name, **inner}})


def kinds(kind: str, shared: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    """Every model of a table by name, and for each the recipes it may choose from."""
    if kind == "price":
        first = next(iter(GRIDS["snli"].values()))
        resan = with_encoder(shared, "resan", first)
        return {
            f"price {price}{said}": {"": merge(resan, {"sparsity": price, "encoder": {"unchosen": unchosen}})}
            for unchosen, said in (("mean", ""), ("none", ", unchosen none"))
            for price in PRICES[unchosen]
        }
    names = ALL if kind in ("snli", "sick") else ("structured", "disan", "resan")
    grid = GRIDS.get(kind, GRIDS["words"])
    found: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in names}
    for name in names:
        for label, varied in grid.items():
            if name in POOLED and "pool" in varied:
                label, varied = label.replace(", max", ""), {k: v for k, v in varied.items() if k != "pool"}
            found[name][label] = with_encoder(shared, name, varied)
    return found


Models = Mapping[str, Mapping[str, dict[str, Any]]]
Scores = dict[tuple[str, str, int], dict[str, Any]]


def runs(task: str, wanted: Sequence[tuple[str, str, int, dict[str, Any]]], out: Path, jobs: int) -> Scores:
    """Scores by model, recipe and seed; a run that is there already is not trained again."""
    work = {
        f"{name}, {label}, seed {seed}": (options, seed, out / folder_of(f"{name} {label}", seed))
        for name, label, seed, options in wanted
    }
    keys = dict(zip(work, ((name, label, seed) for name, label, seed, _ in wanted), strict=True))
    found: Scores = {}
    with closing(scored(task, work, jobs)) as results:
        for key, scores in results:
            found[keys[key]] = scores
            told = f"valid {scores['valid']:.4f}, test {scores['test']:.4f}"
            print(f"{len(found)}/{len(work)}  {key}: {told}", flush=True)
    return found


def table(task: str, models: Models, out: Path, seeds: int, jobs: int) -> list[dict[str, Any]]:
    """Every recipe with one seed; of each model the one that is best on the validation set, with all seeds."""
    every = [
        (name, label, seed, options)
        for seed in range(1, seeds + 1)
        for name, grid in models.items()
        for label, options in grid.items()
    ]
    # With room for all of them at once none need wait for the choice.
    found = runs(task, every if jobs >= len(every) else [one for one in every if one[2] == 1], out, jobs)
    best = {name: max(grid, key=lambda label: found[name, label, 1]["valid"]) for name, grid in models.items()}
    found |= runs(task, [one for one in every if one[1] == best[one[0]] and one[:3] not in found], out, jobs)
    rows = []
    for name in models:
        mine = [found[name, best[name], seed] for seed in range(1, seeds + 1)]
        row = {"name": name, "best": mine[0]["best"], "recipe": best[name], "parameters": mine[0]["parameters"]}
        row |= {part: [one[part] for one in mine] for part in ("train", "valid", "test", "measures")}
        row["chosen"] = [one["chosen"] for one in mine if one["chosen"] is not None]
        row["tuning"] = {label: found[name, label, 1]["valid"] for label in models[name]}
        rows.append(row)
    return sorted(rows, key=lambda row: statistics.mean(row["test"]), reverse=True)


def costs(task: str, models: Models, name: str) -> None:
    """What each model costs with its first recipe, one after the other, on data read once; kept as they come.

    None is trained before: the steps on the clock are of a fresh model, taken through all phases of a training. One
    that chooses tokens (ReSAN) chooses as its policies do in the beginning. Memory is told of a GPU alone: a process
    does not give back what a model before took on a CPU.
    """
    firsts = {model: configure(task, next(iter(grid.values()))) for model, grid in models.items()}
    one = next(iter(firsts.values()))
    for model, config in firsts.items():
        if any(config[part] != one[part] for part in ("data", "input")):
            raise ValueError(f"{model} has data or words of its own")
    ready = prepare(task, one)
    rows: list[dict[str, Any]] = []
    for model, config in firsts.items():
        made: Any = make_task(config)
        made.restore(ready.task.keep())
        for role, field in made.inputs.items():  # the file of vectors is read once
            field.vectors = ready.task.inputs[role].vectors
        device = device_of(config["train"]["device"])
        torch.manual_seed(config["train"]["seed"])
        row = {"name": model, **measured(made, made.network().to(device), ready.splits, config["train"])}
        if device.type == "cuda":
            gc.collect()  # nothing of this model may lie there when the next is measured
            torch.cuda.empty_cache()
        else:
            row["memory_mib"] = None
        rows.append(row)
        base = next((row["epoch_seconds"] for row in rows if row["name"] == "multi_head"), None)
        for each in rows:
            each["epoch_ratio"] = None if base is None else round(each["epoch_seconds"] / base, 2)
        record(name, {"rows": rows})
        told = f"{row['epoch_seconds']:.1f} s an epoch, {row['test_seconds']:.2f} s for the test"
        told += "" if row["memory_mib"] is None else f", {row['memory_mib']:,.0f} MiB"
        print(f"{len(rows)}/{len(firsts)}  {model}: {told}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=tuple(PUBLISHED))
    parser.add_argument("data", type=Path)
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--time", default="10m", help="at most this for each training")
    parser.add_argument("--match", default="", help="how pairs of SNLI are matched; else by distance")
    parser.add_argument("--only", default="", help="these encoders, with commas between")
    parser.add_argument("--costs", action="store_true", help="no table: what each encoder costs, alone on the machine")
    parser.add_argument("--out", default="", help="keep the runs here")
    parser.add_argument("--name", default="", help="how the file of results is called; else sentences_KIND")
    given = parser.parse_args()
    shared = recipe(given.kind, given.data, given.vectors, given.time)
    models = kinds(given.kind, merge(shared, {"match": given.match} if given.match else {}))
    if given.only:
        if unknown := set(given.only.split(",")) - models.keys():
            parser.error(f"--only {', '.join(sorted(unknown))}: expected some of {', '.join(models)}")
        models = {name: grid for name, grid in models.items() if name in given.only.split(",")}
    task = {"snli": "entail", "price": "entail", "sick": "relate"}.get(given.kind, "classify")
    if given.costs:
        costs(task, models, given.name or f"sentences_{given.kind}_costs")
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        rows = table(task, models, Path(given.out or scratch), given.seeds, given.jobs)
    for row in rows:
        size, score = PUBLISHED[given.kind].get(row["name"], (None, None))
        row |= {
            "test_mean": statistics.mean(row["test"]),
            "test_spread": statistics.stdev(row["test"]) if len(row["test"]) > 1 else None,
            "train_mean": statistics.mean(row["train"]),
            "published_parameters": size,
            "published": score,
        }
        print(row["name"], row["recipe"], f"{row['test_mean']:.4f}", row["chosen"], sep=" | ")
    print(record(given.name or f"sentences_{given.kind}", {"rows": rows, "seeds": given.seeds, "jobs": given.jobs}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
