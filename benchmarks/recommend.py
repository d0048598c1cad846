"""Recommendation on MovieLens 100k, leave-one-out, on one CPU thread: scores, speed and memory.

    python benchmarks/recommend.py DATA --models sasrec --name recommend_sasrec
    python benchmarks/recommend.py DATA --models nais --epochs 30 --name recommend_nais
    python benchmarks/recommend.py DATA --part speed --name recommend_speed
    python benchmarks/recommend.py DATA --part memory --name recommend_memory

DATA is the folder with `u.data`. Every rating counts as having had the item. The last item of each user is the test,
the one before it validation. HR@10 and NDCG@10 among all items that the user has not had, and as published among 99 of
them drawn at random: the mean over all draws, and one draw. Seconds are of the processor, so that a busy machine
changes little. What a results file has of the scores already is not measured again.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from plain_recommender import PlainSasrec, batch_of, rank_all
from record import record, results

import regard
from regard import api
from regard.data.batch import batches
from regard.fields.embed.words import Words
from regard.fields.history import FIRST
from regard.find import build
from regard.measure import Rank, Results
from regard.measure.hit_rate import HitRate
from regard.measure.mrr import Mrr
from regard.measure.ndcg import Ndcg
from regard.measure.sampled_hit_rate import SampledHitRate
from regard.networks.ranking import ranked
from regard.networks.recommend import Recommender
from regard.train.step import step
from regard.types import Example

# The published sizes where there are such: NAIS 16 numbers an item and 16 units, four negatives.
MODELS: dict[str, dict[str, Any]] = {
    "sasrec": {
        "history": {"embed": {"dim": 64}},
        "network": {"name": "sasrec", "layers": 2, "heads": 1, "dropout": 0.3, "max_length": 200},
        "train": {"lr": 1e-3, "batch_size": 32},
    },
    "nais": {
        "history": {"embed": {"dim": 16}},
        "network": {"name": "nais", "hidden": 16, "beta": 0.5, "negatives": 4},
        "train": {"lr": 5e-3, "batch_size": 16},
    },
}
TRAIN = {"batch_tokens": 0, "warmup": 50, "ema": 0.99, "patience": 1000, "validate_every": 300, "device": "cpu"}
TRAIN |= {"threads": 1, "weight_decay": 0.01}
NEIGHBOURS = 100
USERS, ITEMS, LENGTH = 10_000, 100_000, 50  # of the memory part
SOME = 2_000  # candidates of them that NAIS scores


def measured(ranks: Sequence[Rank], seed: int) -> dict[str, float]:
    """Every measure, and one draw of 99 negatives."""
    found = Results([Example(("",), "")] * len(ranks), (), ranks=ranks)
    figures: dict[str, Any] = {}
    for measure in (HitRate(), Ndcg(), Mrr(), SampledHitRate()):
        figures |= measure(found)
    chance = np.random.default_rng(seed)
    above, others = (np.array([getattr(one, name) for one in ranks]) for name in ("above", "others"))
    drawn = chance.hypergeometric(above, others - above, np.minimum(99, others))
    hits = (drawn < 10) & ~np.array([one.missing for one in ranks])
    figures |= {"drawn_hit_rate": float(hits.mean()), "drawn_ndcg": float((hits / np.log2(drawn + 2.0)).mean())}
    return {name: round(float(value), 5) for name, value in figures.items()}


def own_ranks(table: np.ndarray, rows: Sequence[Sequence[int]], targets: Sequence[int]) -> list[Rank]:
    """Ranks by a table of scores, a row for each user."""
    found = []
    for scores, row, target in zip(table.astype(np.float64), rows, targets, strict=True):
        scores[[number - FIRST for number in row if number >= FIRST]] = -np.inf
        candidates = np.isfinite(scores)
        if target < FIRST:
            found.append(Rank(int(candidates.sum()), 0, int(candidates.sum()), missing=True))
            continue
        goal = scores[target - FIRST]
        found.append(Rank(int((scores > goal).sum()), int((scores == goal).sum()) - 1, int(candidates.sum()) - 1))
    return found


def baselines(task: Any, splits: Any) -> dict[str, list[Rank]]:
    """Popularity, and item-kNN: the cosine of the users that two items share, of each item's nearest neighbours."""
    items = task.items(splits.test)
    rows, targets = [item.inputs[0] for item in items], [item.target for item in items]
    had = np.zeros((len(rows), len(task.history.numbers)))
    for user, row in enumerate(rows):
        had[user, [number - FIRST for number in row if number >= FIRST]] = 1
    counts = had.sum(0)
    norms = np.sqrt(np.maximum(counts, 1))
    cosine = (had.T @ had) / norms[:, None] / norms
    np.fill_diagonal(cosine, 0)
    least = np.sort(cosine, 0)[-NEIGHBOURS]
    cosine[cosine < least] = 0  # of each column the nearest
    return {
        "popularity": own_ranks(np.tile(counts, (len(rows), 1)), rows, targets),
        "item_knn": own_ranks(had @ cosine.T, rows, targets),
    }


def data_of(folder: str, kind: str = "sasrec", **network: Any) -> tuple[Any, Any, dict[str, Any]]:
    options = {**MODELS[kind], "data": {"train": folder}}
    options = api.merge(options, {"network": network}) if network else options
    ready = api.prepare("recommend", {**options, "train": {**TRAIN, **options["train"], "epochs": 1, "auto": False}})
    return ready.task, ready.splits, ready.config


def scores(folder: str, seeds: int, epochs: int, name: str, models: Sequence[str]) -> dict[str, Any]:
    path = results / f"{name}.json"
    figures: dict[str, Any] = json.loads(path.read_text())["figures"] if name and path.is_file() else {}
    task, splits, _ = data_of(folder)
    missing = sum(item.target < FIRST for item in task.items(splits.test))
    figures |= {"users": len(splits.test), "items": len(task.history.numbers), "epochs": epochs}
    figures |= {"unknown_targets": missing, "threads": 1}
    cases = figures.setdefault("cases", {})
    for kind, ranks in baselines(task, splits).items():
        cases[kind] = {"1": measured(ranks, 1)}
    for seed in range(1, seeds + 1):
        for kind in models:
            if str(seed) in cases.setdefault(kind, {}):
                continue
            with tempfile.TemporaryDirectory() as out:
                began = time.process_time()
                train = {**TRAIN, **MODELS[kind]["train"], "epochs": epochs, "seed": seed, "auto": False}
                trained = regard.train(
                    "recommend", data=folder, out=Path(out) / "run", quiet=True,
                    **{**MODELS[kind], "train": train},
                )  # fmt: skip
                if trained.outcome.stopped is not None:
                    raise SystemExit("stopped; what was finished is kept")
                seconds = time.process_time() - began
                ranks = trained.model.results(trained.splits.test).ranks
            cases[kind][str(seed)] = {**measured(ranks, seed), "cpu_seconds": round(seconds, 1)}
            print(kind, seed, cases[kind][str(seed)], flush=True)
            if name:
                record(name, figures)
    return figures


def speed(folder: str, steps: int) -> dict[str, Any]:
    """Items and users a processor second: ours and the plain loop, a few steps of one and then of the other."""
    torch.set_num_threads(1)
    size, layers, longest, rows = 64, 2, 200, 32
    task, splits, config = data_of(folder, "sasrec", loss="binary", negatives=1)
    network = task.network().train()
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3)
    items = task.items(splits.train)
    numbers = [[number - FIRST + 1 for number in (*item.inputs[0], item.target)] for item in items]
    plain = PlainSasrec(len(task.history.numbers), size, layers, 1, longest, config["network"]["dropout"])
    other = torch.optim.AdamW(plain.parameters(), lr=1e-3)
    order = batches([item.lengths for item in items], rows=rows, seed=1, epoch=0)[:steps]
    took = {"ours": 0.0, "plain": 0.0}
    done = {"ours": 0, "plain": 0}
    random.seed(1)
    for number, some in enumerate([order[0], *order]):
        began = time.process_time()
        found = step(network, task.collate([items[row] for row in some]), optimiser, 0.5, clip=1.0, precision="auto")
        middle = time.process_time()
        history, positive, negative = batch_of([numbers[row] for row in some], len(task.history.numbers), longest)
        plain.train()
        plain.loss(history, positive, negative).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        other.step()
        other.zero_grad()
        end = time.process_time()
        if number:  # the first is to warm up
            took["ours"] += middle - began
            took["plain"] += end - middle
            done["ours"] += found.count
            done["plain"] += int((positive > 0).sum())
    training = {name: round(done[name] / took[name]) for name in took}
    network.eval()
    tests = task.items(splits.test)[:: max(1, len(splits.test) // 200)]
    known = [test for test in tests if test.target >= FIRST]
    histories, targets = [test.inputs[0] for test in known], [test.target for test in known]
    began = time.process_time()
    ranked(network, [[n for n in row if n >= FIRST] for row in histories], histories, targets)
    middle = time.process_time()
    shifted = [[n - FIRST + 1 for n in row if n >= FIRST] for row in histories]
    rank_all(plain, shifted, [target - FIRST + 1 for target in targets])
    end = time.process_time()
    ranking = {"ours": round(len(known) / (middle - began)), "plain": round(len(known) / (end - middle))}
    return {
        "threads": 1, "batch_size": rows, "size": size, "layers": layers, "steps": len(order), "loss": "binary",
        "trained_items_per_second": {**training, "ratio": round(training["ours"] / training["plain"], 2)},
        "ranked_users_per_second": {**ranking, "ratio": round(ranking["ours"] / ranking["plain"], 2)},
    }  # fmt: skip


def ranking_of(kind: str) -> dict[str, Any]:
    """All users and items once, with weights as they begin; what one process needs for it."""
    torch.set_num_threads(1)
    size = 64 if kind == "sasrec" else 16
    network: Recommender = build("networks.recommend", kind, embed=Words(vocab=FIRST + ITEMS, found=0, dim=size)).eval()
    chance = np.random.default_rng(1)
    rows = (FIRST + chance.integers(0, ITEMS, (USERS, LENGTH))).tolist()
    targets = (FIRST + chance.integers(0, ITEMS, USERS)).tolist()
    before, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, time.process_time()
    scored = ITEMS
    if kind == "nais":
        from regard.types import Sequences

        with torch.no_grad():
            state = network.state(Sequences.pad(rows))
            for first in range(0, SOME, 500):
                network.scores(state, first, first + 500)
        scored = SOME
    else:
        ranked(network, rows, rows, targets, top=10)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "size": size, "users": USERS, "items": ITEMS, "items_scored": scored,
        "cpu_seconds": round(time.process_time() - began, 1), "before_mib": round(before), "peak_mib": round(after),
        "all_scores_mib": round(USERS * ITEMS * 4 / 2**20),
    }  # fmt: skip


def memory() -> dict[str, Any]:
    """Each in a process of its own, so that the peak is its own."""
    found = {}
    for kind in MODELS:
        asked = [sys.executable, __file__, "", "--part", "ranking", "--models", kind]
        found[kind] = json.loads(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="the folder with u.data")
    parser.add_argument("--part", choices=("scores", "speed", "memory", "ranking"), default="scores")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    asked = parser.parse_args()
    models = asked.models.split(",")
    if asked.part == "ranking":
        print(json.dumps(ranking_of(models[0])))
        return
    if asked.part == "scores":
        figures = scores(asked.data, asked.seeds, asked.epochs, asked.name, models)
    else:
        figures = speed(asked.data, asked.steps) if asked.part == "speed" else memory()
    print(json.dumps(figures, indent=2))
    if asked.name:
        print(record(asked.name, figures))


if __name__ == "__main__":
    main()
