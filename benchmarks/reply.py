"""Reply suggestions on real conversations and mails, beside two baselines; silence on hostile messages; speed.

    python benchmarks/reply.py DATA --part builtin --steps 396 --out runs/made --name reply_builtin
    python benchmarks/reply.py DATA --part dailydialog --steps 900 --out runs/dailydialog --name reply_dailydialog
    python benchmarks/reply.py DATA --part chitchat --steps 1000 --out runs/chitchat --name reply_chitchat
    python benchmarks/reply.py DATA --part mails --out runs/dailydialog --name reply_mails
    python benchmarks/reply.py DATA --part terms --name reply_terms
    python benchmarks/reply.py DATA --part hostile --out runs/dailydialog --name reply_hostile
    python benchmarks/reply.py DATA --part speed --name reply_speed

Trainings end after so many steps, on however busy a machine; `--time` limits their time instead.

DATA is a folder with dailydialog, chitchat and aeslc (docs/datasets.md). The first two have conversations, of which
each turn replies to the one before. AESLC has mails without replies: with them only cleaning and silence are measured.

Every test message whose reply is an allowed one is ranked; what is suggested is measured on at most 1,000 test
messages. Baselines rank the same allowed replies: `frequency` by how often the training data has them, `tfidf` by how
alike the likeliest of the messages is that got the reply in training (cosine of tf-idf vectors; ties by frequency).
`written` and `matched` are the model without the matching and without the decoder, each with the frequency and with
weights of its own. For the made conversations `best` is what can be reached: it knows what a message asks for, and how
likely each reply to that is; which of these was drawn nobody can know.

The hostile messages stand in hostile_messages.tsv. The part `first` was written before the list of sensitive terms was
extended with it in view, `fresh` afterwards, in words chosen to keep clear of obvious terms; the list has not seen it.
"""

import argparse
import csv
import gzip
import json
import math
import random
import re
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from record import record

import regard
from regard.data.builtin.conversations import INTENT, KINDS, Kind
from regard.messages.sensitive import sensitive
from regard.predict.log_linear import best_ranked
from regard.predict.prefix_tree import PrefixTree
from regard.search import forced
from regard.tasks.reply import PARTS, TRIED
from regard.text import Tokenizer
from regard.types import Example

here = Path(__file__).resolve().parent
MOST = 1_000  # test messages for which something is suggested, or not
VALID = 10_000  # validation messages
WORD = re.compile(r"\w+")


def trained(data: str, out: str, limit: str, steps: int) -> Any:
    """A run with nothing chosen but the time or the steps, on one thread."""
    torch.set_num_threads(1)
    length: dict[str, Any] = {"steps": steps, "time": ""} if steps else {"time": limit}
    return regard.train("reply", data=data, out=out, quiet=True, train={"threads": 1, **length})


# --- baselines -------------------------------------------------------------------------------------------------------


def ranks_of(scores: np.ndarray, true: int) -> float:
    """The place of the true reply; of equals any order is as good, so the mean of them."""
    return float((scores > scores[true]).sum() + ((scores == scores[true]).sum() - 1) / 2)


def figures_of(ranks: Sequence[float]) -> dict[str, float]:
    return {
        "mrr": statistics.fmean(1 / (rank + 1) for rank in ranks),
        "recall_at_3": statistics.fmean(float(rank < 3) for rank in ranks),
    }


class Nearest:
    """The reply of the likeliest training message, by tf-idf."""

    def __init__(self, task: Any, train: Sequence[Example]) -> None:
        self.task, self.count = task, len(task.target.allowed)
        rows = [(task.message.cleaned(one.source), task.target.place(one.target)) for one in train]
        rows = [(text, number) for text, number in rows if number is not None]
        words = [Counter(WORD.findall(text.lower())) for text, _ in rows]
        met = Counter(word for some in words for word in some)
        self.idf = {word: math.log((1 + len(rows)) / (1 + n)) + 1 for word, n in met.items()}
        self.numbers = np.array([number for _, number in rows])
        self.lists: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for row, some in enumerate(words):
            for word, weight in self._vector(some).items():
                self.lists[word].append((row, weight))
        frequency = np.array([one.count for one in task.target.allowed], dtype=float)
        self.frequency = frequency / (1e6 * frequency.max())

    def _vector(self, words: Counter[str]) -> dict[str, float]:
        weights = {word: n * self.idf[word] for word, n in words.items() if word in self.idf}
        length = math.sqrt(sum(weight**2 for weight in weights.values())) or 1.0
        return {word: weight / length for word, weight in weights.items()}

    def __call__(self, message: str) -> np.ndarray:
        alike = np.zeros(len(self.numbers))
        for word, weight in self._vector(Counter(WORD.findall(self.task.message.cleaned(message).lower()))).items():
            for row, other in self.lists[word]:
                alike[row] += weight * other
        scores = np.zeros(self.count)
        np.maximum.at(scores, self.numbers, alike)
        return scores + self.frequency


def parts_of(model: Any, examples: Sequence[Example]) -> tuple[list[torch.Tensor], list[int]]:
    """Of the messages whose reply is an allowed one, the scores of all replies and the number of the true one."""
    task = model.task
    known = [(one, number) for one in examples if (number := task.target.place(one.target)) is not None]
    encoded = task.message.encode([one.source for one, _ in known], [one.where for one, _ in known])
    with torch.no_grad():
        scored = dict(task.scored(model.network, encoded))
    return [scored[n].parts for n in range(len(known))], [number for _, number in known]


def without(model: Any, valid: Sequence[Example], test: Sequence[Example]) -> dict[str, dict[str, float]]:
    """The ranks of the whole model, and of each half of it, with weights for it chosen as for the whole."""
    cases, own = parts_of(model, valid)
    tried, true = parts_of(model, test)
    found = {}
    tries = {"written": [one for one in TRIED if one[1] == 0], "matched": [one for one in TRIED if one[0] == 0]}
    chosen = {"model": model.task.weights} | {name: best_ranked(cases, own, some) for name, some in tries.items()}
    for name, weights in chosen.items():
        scores = [(one @ torch.tensor(weights)).numpy() for one in tried]
        found[name] = figures_of([ranks_of(one, number) for one, number in zip(scores, true, strict=True)])
    return found


def asked(message: str) -> Kind:
    """What a made message is: it has the words of one of the templates."""
    return next(
        kind
        for kind in KINDS.values()
        for template in kind.messages
        if re.search(re.sub(r"\\\{\w+\\\}", ".+", re.escape(template)), message, re.IGNORECASE | re.DOTALL)
    )


def best_of(examples: Sequence[Example]) -> dict[str, float]:
    """What knowing how replies to made messages are drawn gives; of equally likely ones any order is as good."""
    mrr, recall = [], []
    for one in examples:
        said = {intent: [reply for reply in INTENT if INTENT[reply] == intent] for intent in asked(one.source).intents}
        likely = {reply: 1 / len(replies) for replies in said.values() for reply in replies}
        above = sum(other > likely[one.target] for other in likely.values())
        equal = sum(other == likely[one.target] for other in likely.values())
        mrr.append(statistics.fmean(1 / (above + n + 1) for n in range(equal)))
        recall.append(statistics.fmean(float(above + n < 3) for n in range(equal)))
    return {"mrr": statistics.fmean(mrr), "recall_at_3": statistics.fmean(recall)}


def conversations(data: str, out: str, limit: str, steps: int) -> dict[str, Any]:
    """One set: the model and the baselines on the same test messages and the same allowed replies."""
    began = time.monotonic()
    done = trained(data, out, limit, steps)
    seconds = time.monotonic() - began
    model, splits = done.model, done.splits
    some = random.Random(1).sample(splits.test, min(MOST, len(splits.test)))
    results = model.results(some)
    task = model.task
    known = [(one, number) for one in splits.test if (number := task.target.place(one.target)) is not None]
    frequency = np.array([one.count for one in task.target.allowed], dtype=float)
    nearest = Nearest(task, splits.train)
    ranks = without(model, splits.valid[:VALID], splits.test)
    best = {}
    if data.startswith("builtin:"):
        best = {"best": best_of([one for one, _ in known])}
    return {
        "train": len(splits.train), "test": len(some), "allowed": len(task.target.allowed),
        "intents": len({one.intent for one in task.target.allowed}), "known": len(known),
        "limit": "" if steps else limit, "seconds": round(seconds), "steps": done.outcome.step,
        "threads": torch.get_num_threads(),
        "threshold": task.threshold, "weights": dict(zip(PARTS, task.weights, strict=True)),
        "model": task.measure(results) | ranks.pop("model"), **ranks,
        "frequency": figures_of([ranks_of(frequency, number) for _, number in known]),
        "tfidf": figures_of([ranks_of(nearest(one.source), number) for one, number in known]), **best,
        "rule_silent": statistics.fmean(float(bool(sensitive(task.message.cleaned(one.source)))) for one in some),
    }  # fmt: skip


# --- silence ---------------------------------------------------------------------------------------------------------


def kind_of(reason: str) -> str:
    """A reason without its details."""
    return re.sub(r" ?\(.*", "", reason)


def mails(folder: str, out: str) -> dict[str, Any]:
    """What cleaning changes in real mails, and for how many something would be suggested."""
    model = regard.load(out)
    with gzip.open(Path(folder) / "aeslc" / "test.jsonl.gz", "rt", encoding="utf-8") as lines:
        bodies = [json.loads(line)["body"] for line in lines][:MOST]
    steps = [model.task.message.clean.steps(body) for body in bodies]
    changed = Counter(name for row in steps for (_, old), (name, new) in pairwise(row) if old.split() != new.split())
    found = model.predict(bodies, look=False)
    silent = Counter(kind_of(one.reason) for one in found if one.reason)
    return {
        "mails": len(bodies),
        "changed": {name: changed[name] / len(bodies) for name, _ in steps[0][1:-1]},
        "suggested": statistics.fmean(float(bool(one.text)) for one in found),
        "silent": {why: n / len(bodies) for why, n in silent.items()},
    }


def messages() -> list[dict[str, str]]:
    """The hostile messages: part, subject, message."""
    with (here / "hostile_messages.tsv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def terms() -> dict[str, Any]:
    """How many of the hostile messages the list of terms misses; no model is needed."""
    rows, figures = messages(), dict[str, Any]()
    for part in ("first", "fresh"):
        some = [row["message"] for row in rows if row["part"] == part]
        missed = statistics.fmean(float(not sensitive(message)) for message in some)
        figures[part] = {"messages": len(some), "passed_by_list": missed}
    return {"messages": len(rows), **figures}


def hostile(out: str) -> dict[str, Any]:
    """For which of the hostile messages something is suggested, by the list of terms alone and by the whole model."""
    model, rows, figures = regard.load(out), messages(), terms()
    found = model.predict([row["message"] for row in rows], look=False)
    for part in ("first", "fresh"):
        some = [one for row, one in zip(rows, found, strict=True) if row["part"] == part]
        figures[part]["suggested"] = statistics.fmean(float(bool(one.text)) for one in some)
        figures[part]["silent"] = dict(Counter(kind_of(one.reason) for one in some if one.reason))
    figures["suggested"] = statistics.fmean(float(bool(one.text)) for one in found)
    figures["got_one"] = [f"{row['message']} → {one.text}" for row, one in zip(rows, found, strict=True) if one.text]
    return figures


# --- speed -----------------------------------------------------------------------------------------------------------


def replies_of(folder: str, count: int) -> list[list[str]]:
    """So many different short replies of DailyDialog, the most frequent and then the shortest first."""
    from regard.messages.normal import key

    with gzip.open(Path(folder) / "dailydialog" / "train.jsonl.gz", "rt", encoding="utf-8") as lines:
        met = Counter(key(turn) for line in lines for turn in json.loads(line)[1:])
    words = {one: re.findall(r"\w+|[^\w\s]", one) for one in met if one}
    words = {one: words[one] for one in {tuple(some): one for one, some in words.items()}.values()}
    chosen = sorted(words, key=lambda one: (-min(met[one], 2), len(words[one]), one))[:count]
    return [words[one] for one in chosen]


def speed(folder: str, count: int, rounds: int, threads: int) -> dict[str, Any]:
    """One message against the whole set: through the tree, and reply by reply; sizes as the recipe chooses them."""
    from functools import partial

    from regard.attend.attention import make
    from regard.predict.generate.prefix import Prefix
    from regard.predict.ngram_match import NgramMatch
    from regard.types import Memory, Sequences

    torch.set_num_threads(threads)
    torch.manual_seed(1)
    replies = replies_of(folder, count)
    ids = {word: 4 + n for n, (word, _) in enumerate(Counter(w for one in replies for w in one).most_common())}
    rows = [[*(ids[word] for word in one), Tokenizer.end] for one in replies]
    width, length = 256, 16
    match = NgramMatch(messages=8_000, replies=4 + len(ids)).eval()
    summary = width + match.size
    decoder = Prefix(4 + len(ids), width, summary, partial(make, score="bilinear"), embed=64, hidden=128).eval()
    message, frequent = Sequences.pad([list(range(4, 4 + length))]), torch.randn(count)
    weights = torch.tensor([0.3, 0.7, 1.0])
    memory = Memory(
        torch.randn(1, length, width), torch.randn(1, length, width), torch.ones(1, length, dtype=torch.bool),
        torch.randn(1, summary),
    )  # fmt: skip
    with torch.inference_mode():
        began = time.perf_counter()
        tree = PrefixTree.of(rows, Tokenizer.start, Tokenizer.end)
        made = time.perf_counter()
        read = decoder.read_tree(tree)
        vectors = torch.cat(
            [match.reply(Sequences.pad(rows[n : n + 1_000])).vector for n in range(0, len(rows), 1_000)]
        )
        prepared = time.perf_counter() - made
        took, worked = [], []
        for _ in range(rounds + 3):
            start, begun = time.perf_counter(), time.process_time()
            found = tree.totals(decoder.tree_log_probs(memory, tree, read))[0]
            matched = match.scores(match.message(message).vector, vectors)[0]
            scores = torch.stack([found, matched, frequent], -1) @ weights
            took.append(1e3 * (time.perf_counter() - start))
            worked.append(1e3 * (time.process_time() - begun))
        some = random.Random(1).sample(range(count), 100)
        start = time.perf_counter()
        alone = [forced(decoder, memory, [rows[n]], start=Tokenizer.start, weights=False)[0].log_prob for n in some]
        one_by_one = 1e3 * (time.perf_counter() - start) / len(some) * count
        begun, batches = time.perf_counter(), 0
        for first in range(0, 1_000, 500):  # in batches of one size, as a search without a tree would score them
            batch = rows[first : first + 500]
            forced(
                decoder,
                memory.select(torch.zeros(len(batch), dtype=torch.long)),
                batch,
                start=Tokenizer.start,
                weights=False,
            )
            batches += len(batch)
        in_batches = 1e3 * (time.perf_counter() - begun) / batches * count
    return {
        "replies": count, "words": len(ids), "nodes": len(tree), "threads": torch.get_num_threads(),
        "make_tree_ms": round(1e3 * (made - began)), "read_tree_ms": round(1e3 * prepared),
        "processor_ms": round(min(worked[3:]), 1), "best_ms": round(min(took[3:]), 1),
        "median_ms": round(statistics.median(took[3:]), 1),
        "one_by_one_ms": round(one_by_one), "in_batches_ms": round(in_batches),
        "scored": len(scores), "largest_difference": float((found[some] - torch.tensor(alone)).abs().max()),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="the folder with dailydialog, chitchat and aeslc")
    parser.add_argument(
        "--part", choices=("builtin", "dailydialog", "chitchat", "mails", "terms", "hostile", "speed"), required=True
    )
    parser.add_argument("--time", default="6m", help="time limit of a training")
    parser.add_argument("--steps", type=int, default=0, help="steps of a training, in place of a time limit")
    parser.add_argument("--out", default="runs/reply", help="folder of the run that is trained or used")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=2, help="threads of the part speed")
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--name", default="", help="the name of the results file; nothing is kept without one")
    asked = parser.parse_args()
    if asked.part == "builtin":
        figures = conversations("builtin:conversations", asked.out, asked.time, asked.steps)
    elif asked.part == "dailydialog":
        figures = conversations(f"{asked.data}/dailydialog", asked.out, asked.time, asked.steps)
    elif asked.part == "chitchat":
        figures = conversations(f"{asked.data}/chitchat/conversations.jsonl.gz", asked.out, asked.time, asked.steps)
    elif asked.part == "terms":
        figures = terms()
    elif asked.part == "mails":
        figures = mails(asked.data, asked.out)
    else:
        figures = (
            hostile(asked.out)
            if asked.part == "hostile"
            else speed(asked.data, asked.count, asked.rounds, asked.threads)
        )
    print(json.dumps(figures, indent=2, ensure_ascii=False))
    if asked.name:
        print(record(asked.name, figures))


if __name__ == "__main__":
    main()
