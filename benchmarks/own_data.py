"""What people get with their own data on two CPU cores: the defaults, beside a model tuned by hand and other tools.

    python benchmarks/own_data.py DATA --jobs 1 --name own_data
    python benchmarks/own_data.py DATA --only translate_5k,entail --python OTHER/bin/python

Each case is one file of raw text and a time limit. `defaults` is `regard train TASK --data FILE --time LIMIT` and
nothing else; `hand` sets the options below, found by trying on validation data (docs/LOG.md); `joeynmt` is JoeyNMT
2.3.0 with the sizes and rates of its `configs/rnn_small.yaml`, and `joeynmt_sized` with the sizes of `hand` (OTHER is
a Python that has JoeyNMT; both are stopped when the time is up and tested with the best weights until then); `plain`
is a Bi-LSTM with max pooling in plain PyTorch. Every model is tested on text that none of them saw. With `--jobs N
--cores C` N runs go side by side, on C cores of their own each.

DATA holds multi30k, e2e, snli, sick, sentiment, aeslc and ptb.
"""

import argparse
import gzip
import json
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from record import record, results

HERE = Path(__file__).resolve().parent
SEEDS = (1, 2, 3)


def recurrent(width: int, vocab: tuple[int, int], batch: int, lr: float, drop: float, *more: str) -> list[str]:
    """The options of an encoder and a decoder, all set by hand."""
    return [
        *(f"{role}.tokenizer.vocab_size={size}" for role, size in zip(("source", "target"), vocab, strict=True)),
        *(
            f"{key}={width}"
            for key in ("source.embed.dim", "encoder.hidden", "decoder.embed", "attention.score.hidden")
        ),
        *(f"{key}={drop}" for key in ("source.embed.dropout", "encoder.dropout", "decoder.dropout")),
        *(f"decoder.hidden={2 * width}", "encoder.layers=1", f"train.batch_tokens={batch}", f"train.lr={lr}"),
        *("train.ema=0.99", "train.epochs=1000", "train.patience=1000", *more),
    ]


def reader(
    width: int, lr: float, epochs: int, rows: int, drop: float, embedding_dropout: float, *more: str
) -> list[str]:
    """The options of a sentence encoder, all set by hand."""
    return [
        *(
            f"input.embed.dim={width}",
            f"input.embed.dropout={embedding_dropout}",
            f"encoder.hidden={width}",
            "encoder.layers=1",
        ),
        *(
            "input.tokenizer.min_frequency=2",
            f"dropout={drop}",
            "train.batch_tokens=0",
            f"train.batch_size={rows}",
            f"train.lr={lr}",
        ),
        *(f"train.epochs={epochs}", "train.ema=0.99", "train.patience=1000", *more),
    ]


# task, minutes, files (train, test), measures, options both sides need (how the file is to be read), options by hand
CASES: dict[str, dict[str, Any]] = {
    "translate_5k": {
        "task": "translate",
        "time": 300,
        "measures": ("bleu", "chrf"),
        "hand": recurrent(128, (2000, 2000), 1024, 8e-3, 0.4),
        "rivals": ("joeynmt", "joeynmt_sized"),
    },
    "translate_29k": {
        "task": "translate",
        "time": 600,
        "measures": ("bleu", "chrf"),
        "hand": recurrent(192, (4000, 4000), 2048, 6e-3, 0.3),
        "rivals": ("joeynmt", "joeynmt_sized"),
    },
    "describe": {
        "task": "describe",
        "time": 240,
        "measures": ("slots", "slots_all", "bleu"),
        "hand": recurrent(128, (1000, 1000), 1024, 8e-3, 0.2),
    },
    "entail": {
        "task": "entail",
        "time": 240,
        "measures": ("accuracy",),
        "hand": reader(
            *(300, 2e-3, 5, 64, 0.0, 0.0, "input.embed.init_std=0.3", "pool=max", "match=distance", "head.hidden=300")
        ),
        "rivals": ("plain",),
        "seeds": SEEDS,
    },
    "classify_sst": {
        "task": "classify",
        "time": 180,
        "measures": ("accuracy",),
        "read": ("data.form=labelled",),
        "hand": reader(300, 2e-3, 5, 64, 0.5, 0.5, "input.embed.init_std=0.2", "head.hidden=300"),
        "rivals": ("plain",),
        "seeds": SEEDS,
    },
    "classify_trec": {
        "task": "classify",
        "time": 180,
        "measures": ("accuracy",),
        "read": ("data.form=labelled",),
        "hand": reader(300, 3e-3, 8, 64, 0.0, 0.0, "input.embed.init_std=0.3", "head.hidden=300"),
    },
    "relate": {
        "task": "relate",
        "time": 180,
        "measures": ("pearson", "spearman", "mse"),
        "hand": reader(200, 2e-3, 10, 32, 0.0, 0.0, "input.embed.init_std=0.3", "pool=max", "head.hidden=200"),
    },
    "tag": {
        "task": "tag",
        "time": 180,
        "measures": ("span_f1", "tag_accuracy"),
        "hand": reader(300, 2e-3, 8, 32, 0.0, 0.0, "input.embed.init_std=0.3"),
    },
    "summarise": {
        "task": "summarise",
        "time": 300,
        "measures": ("rougeL", "rouge1"),
        "read": ("data.source=body", "data.target=subject"),
        "hand": recurrent(96, (4000, 2000), 2048, 8e-3, 0.2, "source.truncate=300"),
    },
    "language": {
        "task": "language",
        "time": 240,
        "measures": ("word_perplexity",),
        "hand": [
            *(
                "text.tokenizer.vocab_size=4000",
                "network.hidden=200",
                "network.layers=1",
                "network.input_dropout=0.1",
                "network.output_dropout=0.1",
            ),
            *("train.batch_tokens=2048", "train.lr=5e-3", "train.epochs=100", "train.ema=0.99"),
        ],
    },
    "agree": {
        "task": "agree",
        "time": 300,
        "measures": ("bleu", "chrf"),
        "hand": recurrent(128, (2000, 2000), 1024, 8e-3, 0.3),
    },
}


def lines(path: Path) -> list[str]:
    raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    try:
        return raw.decode().split("\n")[:-1]
    except UnicodeDecodeError:  # TREC
        return raw.decode("latin-1").split("\n")[:-1]


def table(path: Path, *columns: list[str]) -> None:
    """Columns with tabs between; a tab in the text itself becomes a space."""
    rows = zip(*columns, strict=True)
    path.write_text("".join("\t".join(" ".join(cell.split("\t")) for cell in row) + "\n" for row in rows))


def slots(path: Path, rows: list[str], some: int) -> None:
    """Restaurant descriptions whose words are labelled with the field they tell, by the values that occur in them."""
    import csv

    said = []
    for record_, text in list(csv.reader(rows))[1 : some + 1]:
        tokens, fields = re.findall(r"\w+|[^\w\s]", text), re.findall(r"([\w ]+)\[([^\]]*)\]", record_)
        labels = ["O"] * len(tokens)
        for name, value in fields:
            wanted = re.findall(r"\w+|[^\w\s]", value)
            for place in range(len(tokens) - len(wanted) + 1):
                if wanted and [t.lower() for t in tokens[place : place + len(wanted)]] == [w.lower() for w in wanted]:
                    field = name.strip().replace(" ", "_")
                    labels[place : place + len(wanted)] = [f"B-{field}", *[f"I-{field}"] * (len(wanted) - 1)]
        if tokens:
            said.append("".join(f"{token} {label}\n" for token, label in zip(tokens, labels, strict=True)))
    path.write_text("\n".join(said))


def prepare(data: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """The files a person would have, by case: what to train on, and what to test on."""
    de, en = lines(data / "multi30k/train.de.gz"), lines(data / "multi30k/train.en.gz")
    table(folder / "pairs_5k.tsv", de[:5000], en[:5000])
    table(folder / "pairs_29k.tsv", de, en)
    unseen = [lines(data / f"multi30k/test_2016_flickr.{side}.gz") for side in ("de", "en")]
    table(folder / "pairs_test.tsv", *unseen)
    for part in ("train", "test"):
        shutil.copy(data / f"e2e/{part}.csv.gz", folder / f"e2e_{part}.csv.gz")
        rows = [row.split("\t") for row in lines(data / f"snli/{part}.tsv.gz")][: 10_000 if part == "train" else None]
        table(folder / f"snli_{part}.tsv", *([row[place] for row in rows] for place in (1, 2, 0)))
        for name, source in (("sst", f"stsa.binary.{part}"), ("trec", f"TREC.{part}.all")):
            (folder / f"{name}_{part}.txt").write_text("\n".join(lines(data / "sentiment" / source)) + "\n")
        shutil.copy(data / f"aeslc/{part}.jsonl.gz", folder / f"mail_{part}.jsonl.gz")
        slots(folder / f"slots_{part}.conll", lines(data / f"e2e/{part}.csv.gz"), 5000 if part == "train" else 2000)
        (folder / f"text_{part}.txt").write_text("\n".join(lines(data / f"ptb/ptb.{part}.txt.gz")) + "\n")
    shutil.copy(data / "sick/SICK_train.txt", folder / "sick_train.txt")
    shutil.copy(data / "sick/SICK_test_annotated.txt", folder / "sick_test.txt")
    names = {
        "translate_5k": ("pairs_5k.tsv", "pairs_test.tsv"),
        "translate_29k": ("pairs_29k.tsv", "pairs_test.tsv"),
        "agree": ("pairs_5k.tsv", "pairs_test.tsv"),
        "describe": ("e2e_train.csv.gz", "e2e_test.csv.gz"),
        "entail": ("snli_train.tsv", "snli_test.tsv"),
        "classify_sst": ("sst_train.txt", "sst_test.txt"),
        "classify_trec": ("trec_train.txt", "trec_test.txt"),
        "relate": ("sick_train.txt", "sick_test.txt"),
        "tag": ("slots_train.conll", "slots_test.conll"),
        "summarise": ("mail_train.jsonl.gz", "mail_test.jsonl.gz"),
        "language": ("text_train.txt", "text_test.txt"),
    }
    return {case: (str(folder / train), str(folder / test)) for case, (train, test) in names.items()}


Cores = list[int]


def started(command: list[str], cores: Cores, limit: float | None = None) -> tuple[str, float]:
    """Run on these cores; what it printed, and how long it took. What is over the limit is asked to stop, as Ctrl-C."""
    threads = {"OMP_NUM_THREADS": str(len(cores)), "CUDA_VISIBLE_DEVICES": ""}
    began = time.monotonic()
    process = subprocess.Popen(
        ["taskset", "-c", ",".join(map(str, cores)), *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **threads},
    )
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.terminate()
        output, _ = process.communicate()
    took = time.monotonic() - began
    if process.returncode and limit is None:
        raise RuntimeError(f"{' '.join(command)}\n{output[-2000:]}")
    return output, took


def ours(
    case: str, options: list[str], files: tuple[str, str], seed: int, cores: Cores, folder: Path
) -> dict[str, Any]:
    given = CASES[case]
    run = folder / "run"
    regard = [sys.executable, "-m", "regard"]
    command = ["train", given["task"], "--data", files[0], *given.get("read", ()), "--out", str(run)]
    command += ["--time", f"{given['time']}s", *options, *([f"train.seed={seed}"] if seed != 1 else [])]
    _, took = started([*regard, *command], cores)
    answering = run / "there" if given["task"] == "agree" else run
    measured, _ = started([*regard, "evaluate", str(answering), "--data", files[1], "--json"], cores)
    figures = json.loads(measured[measured.index("{") :])
    found = {name: round(figures[name], 4) for name in given["measures"]} | {"seconds": round(took, 1)}
    if given["task"] == "translate":
        inputs = [line.split("\t")[0] for line in lines(Path(files[1]))][:500]
        (folder / "inputs.txt").write_text("\n".join(inputs) + "\n")
        answers, _ = started([*regard, "predict", str(run), str(folder / "inputs.txt")], cores)
        found["different_answers_to_500"] = len(set(answers.splitlines()[-500:]))
    return found


def defaults(case: str, files: tuple[str, str], seed: int, cores: Cores, folder: Path) -> dict[str, Any]:
    return ours(case, [], files, seed, cores, folder)


def by_hand(case: str, files: tuple[str, str], seed: int, cores: Cores, folder: Path) -> dict[str, Any]:
    return ours(case, CASES[case]["hand"], files, seed, cores, folder)


SMALL = {"hidden": 30, "embed": 16, "layers": (3, 2), "lr": 0.005, "batch": 10, "kind": "sentence", "drop": 0.2}
JOEYNMT = """
name: "{name}"
joeynmt_version: "2.3.0"
model_dir: "{folder}/model"
use_cuda: False
fp16: False
random_seed: 42
data:
    train: "{folder}/train"
    dev: "{folder}/dev"
    test: "{folder}/test"
    dataset_type: "plain"
    src: {{lang: "de", level: "bpe", voc_limit: 8000, voc_min_freq: 1, max_length: 100, tokenizer_type: "subword-nmt",
           tokenizer_cfg: {{codes: "{folder}/codes.de", num_merges: 2000, pretokenizer: "none"}}}}
    trg: {{lang: "en", level: "bpe", voc_limit: 8000, voc_min_freq: 1, max_length: 100, tokenizer_type: "subword-nmt",
           tokenizer_cfg: {{codes: "{folder}/codes.en", num_merges: 2000, pretokenizer: "none"}}}}
testing: {{beam_size: 5, n_best: 1, beam_alpha: 1.0, batch_size: 64, batch_type: "sentence", eval_metrics: ["bleu"]}}
training:
    optimizer: "adam"
    scheduling: "plateau"
    patience: 5
    decrease_factor: 0.5
    learning_rate: {lr}
    learning_rate_min: 0.0001
    clip_grad_val: 1.0
    batch_size: {batch}
    batch_type: "{kind}"
    normalization: "batch"
    epochs: 1000
    validation_freq: {every}
    logging_freq: 100
    early_stopping_metric: "loss"
    keep_best_ckpts: 1
    overwrite: True
model:
    initializer: "xavier_uniform"
    embed_initializer: "normal"
    embed_init_weight: 0.1
    bias_initializer: "zeros"
    encoder:
        type: "recurrent"
        rnn_type: "gru"
        embeddings: {{embedding_dim: {embed}}}
        hidden_size: {hidden}
        bidirectional: True
        dropout: {drop}
        num_layers: {layers[0]}
    decoder:
        type: "recurrent"
        rnn_type: "gru"
        embeddings: {{embedding_dim: {embed}}}
        hidden_size: {decoder}
        dropout: {drop}
        hidden_dropout: {drop}
        num_layers: {layers[1]}
        input_feeding: True
        init_hidden: "bridge"
        attention: "bahdanau"
"""


# JoeyNMT 2.3.0 passes on an argument that PyTorch has dropped since.
JOEYNMT_MAIN = """
import runpy, torch.optim.lr_scheduler as schedulers
class Plateau(schedulers.ReduceLROnPlateau):
    def __init__(self, *given, verbose=None, **options):
        super().__init__(*given, **options)
schedulers.ReduceLROnPlateau = Plateau
runpy.run_module("joeynmt", run_name="__main__", alter_sys=True)
"""


def joeynmt(case: str, sized: bool, files: tuple[str, str], cores: Cores, folder: Path, python: str) -> dict[str, Any]:
    """JoeyNMT's small configuration, or our hand-tuned sizes and learning rate in it."""
    import sacrebleu

    width = 192 if case == "translate_29k" else 128
    ours = {"hidden": width, "embed": width, "layers": (1, 1), "lr": 0.004, "drop": 0.3, "batch": 64}
    sizes = {**SMALL, **(ours if sized else {})}
    pairs = [line.split("\t") for line in Path(files[0]).read_text().split("\n")[:-1]]
    random.Random(0).shuffle(pairs)
    parts = {"dev": pairs[:250], "train": pairs[250:], "test": [line.split("\t") for line in lines(Path(files[1]))]}
    for part, rows in parts.items():
        for side, place in (("de", 0), ("en", 1)):
            (folder / f"{part}.{side}").write_text("".join(row[place] + "\n" for row in rows))
    for side in ("de", "en"):
        learn = ["-m", "subword_nmt.learn_bpe", "-s", "2000", "-i", str(folder / f"train.{side}")]
        started([python, *learn, "-o", str(folder / f"codes.{side}")], cores)
    config = folder / "config.yaml"
    every = max(100, len(parts["train"]) // sizes["batch"] // 100 * 100)  # a multiple of logging_freq
    named = {"name": case, "folder": folder, "every": every, "decoder": sizes["hidden"] * (2 if sized else 1)}
    config.write_text(JOEYNMT.format(**{**sizes, **named}))
    main = [python, "-c", JOEYNMT_MAIN]
    output, took = started([*main, "train", str(config), "--skip-test"], cores, CASES[case]["time"])
    if not (folder / "model" / "best.ckpt").exists():
        raise RuntimeError(f"JoeyNMT kept no weights:\n{output[-3000:]}")
    command = [*main, "test", str(config), "-o", str(folder / "answers")]
    told, _ = started(command, cores)
    answers = (folder / "answers.test").read_text().split("\n")[:1000]
    if len(answers) != 1000:
        raise RuntimeError(f"{len(answers)} answers:\n{told[-2000:]}")
    bleu = sacrebleu.corpus_bleu(answers, [[row[1] for row in parts["test"]]]).score
    return {"bleu": round(bleu, 4), "seconds": round(took, 1), "different_answers_to_500": len(set(answers[:500]))}


def plain(case: str, files: tuple[str, str], seed: int, cores: Cores, folder: Path) -> dict[str, Any]:
    """A Bi-LSTM as anybody would write it, in a process of its own; the best of the epochs that fit into the time."""
    command = [sys.executable, str(HERE / "plain_bilstm.py"), *files, str(CASES[case]["time"]), str(seed)]
    output, took = started(command, cores)
    return {**json.loads(output[output.rindex("{") :]), "seconds": round(took, 1)}


def tasks(
    only: set[str], python: str, without: set[str], most: int
) -> list[tuple[str, str, int, Callable[..., dict[str, Any]]]]:
    """Every run: its case, who, its seed, and how; the longest first, so that no pair of cores waits at the end."""
    work: list[tuple[str, str, int, Callable[..., dict[str, Any]]]] = []
    for case, given in sorted(CASES.items(), key=lambda item: -item[1]["time"]):
        if only and case not in only:
            continue
        seeds = given.get("seeds", (1,))[:most]
        work += [(case, "defaults", seed, defaults) for seed in seeds]
        work += [(case, "hand", 1, by_hand)]
        for rival in given.get("rivals", ()):
            if rival == "plain":
                work += [(case, rival, seed, plain) for seed in seeds]
            elif python:
                sized = rival.endswith("sized")
                work.append((case, rival, 1, lambda c, f, s, k, d, sized=sized: joeynmt(c, sized, f, k, d, python)))
    return [job for job in work if job[1] not in without]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", default="", help="cases, with commas between")
    parser.add_argument("--jobs", type=int, default=1, help="runs side by side, on cores of their own")
    parser.add_argument("--cores", type=int, default=2, help="cores for each run")
    parser.add_argument("--python", default="", help="a Python that has JoeyNMT; without it JoeyNMT is left out")
    parser.add_argument("--scale", type=float, default=1.0, help="a share of the time, to try the script")
    parser.add_argument(
        "--without", default="", help="leave out: hand, joeynmt, joeynmt_sized, plain, with commas between"
    )
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="at most so many seeds")
    parser.add_argument("--name", default="", help="the record in benchmarks/results; earlier cases in it are kept")
    given = parser.parse_args()
    for case in CASES.values():
        case["time"] = max(1, round(case["time"] * given.scale))
    cores = sorted(os.sched_getaffinity(0))
    free: queue.Queue[Cores] = queue.Queue()
    for number in range(given.jobs):
        free.put(cores[given.cores * number : given.cores * (number + 1)])
    found: dict[str, dict[str, Any]] = {}
    if given.name and (results / f"{given.name}.json").exists():
        found = json.loads((results / f"{given.name}.json").read_text())["figures"]["cases"]
    lock = threading.Lock()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        files = prepare(given.data, folder)

        def work(case: str, who: str, seed: int, how: Callable[..., dict[str, Any]]) -> None:
            pair = free.get()
            own = folder / f"{case}-{who}-{seed}"
            own.mkdir()
            try:
                figures = how(case, files[case], seed, pair, own) | {"cores": len(pair)}
            except Exception as error:  # the others go on
                figures = {"failed": f"{type(error).__name__}: {error}"}
            finally:
                free.put(pair)
            with lock:
                found.setdefault(case, {}).setdefault(who, {})[str(seed)] = figures
                print(case, who, seed, json.dumps(figures), flush=True)
                if given.name:
                    record(given.name, {"cases": found, "times": {c: CASES[c]["time"] for c in found}})

        threads = []
        for job in tasks(
            {one for one in given.only.split(",") if one}, given.python, set(given.without.split(",")), given.seeds
        ):
            threads.append(threading.Thread(target=work, args=job))
            threads[-1].start()
            time.sleep(0.2)  # in this order
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
