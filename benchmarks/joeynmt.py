"""Training speed beside JoeyNMT 2.3.0, same sizes, same batches of 64 sentences, same machine, turn and turn about.

    python benchmarks/joeynmt.py DATA --python OTHER/bin/python --name joeynmt_cpu

OTHER is a Python that has JoeyNMT (`pip install joeynmt importlib_metadata torch==2.13.0`); it is run as its
users run it (`python -m joeynmt train`), and its own log says how many target tokens a second it read.
"""

import argparse
import gzip
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from record import record

CONFIG = """
name: "rnn"
joeynmt_version: "2.3.0"
model_dir: "{folder}/model"
use_cuda: {cuda}
fp16: False
random_seed: 42
data:
    train: "{folder}/train"
    dev: "{folder}/val"
    dataset_type: "plain"
    src: {{lang: "de", max_length: 100, level: "word", voc_limit: 8000, voc_min_freq: 1, tokenizer_type: "none"}}
    trg: {{lang: "en", max_length: 100, level: "word", voc_limit: 8000, voc_min_freq: 1, tokenizer_type: "none"}}
testing: {{beam_size: 5, n_best: 1}}
training:
    optimizer: "adam"
    scheduling: "exponential"
    decrease_factor: 0.999
    learning_rate: 0.001
    batch_size: 64
    batch_type: "sentence"
    epochs: 10
    updates: {steps}
    validation_freq: 1000000
    logging_freq: 10
    overwrite: True
    normalization: "tokens"
    clip_grad_norm: 1.0
    early_stopping_metric: "loss"
model:
    initializer: "xavier_uniform"
    encoder:
        type: "recurrent"
        rnn_type: "gru"
        embeddings: {{embedding_dim: 256, scale: False}}
        hidden_size: 512
        bidirectional: True
        dropout: 0.2
        num_layers: 1
    decoder:
        type: "recurrent"
        rnn_type: "gru"
        embeddings: {{embedding_dim: 256, scale: False}}
        hidden_size: 512
        dropout: 0.2
        hidden_dropout: 0.2
        num_layers: 1
        input_feeding: True
        attention: "bahdanau"
        init_hidden: "bridge"
"""


def theirs(python: str, config: Path, steps: int) -> float:
    done = subprocess.run(
        [python, "-m", "joeynmt", "train", str(config), "--skip-test"], capture_output=True, text=True
    )
    speeds = [float(number) for number in re.findall(r"Tokens per Sec:\s*([\d.]+)", done.stdout + done.stderr)]
    if done.returncode or len(speeds) < steps // 10:
        raise SystemExit(f"JoeyNMT did not train:\n{(done.stdout + done.stderr)[-2000:]}")
    return statistics.mean(speeds[1:])  # the first ten steps warm up, as ours do


def ours(data: str, steps: int) -> float:
    words = [
        f"{side}{part}" for side in ("source", "target") for part in (".tokenizer=word", ".tokenizer.vocab_size=8000")
    ]
    command = [
        sys.executable,
        str(Path(__file__).with_name("translate.py")),
        "speed",
        data,
        "--steps",
        str(steps),
        *words,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(re.search(r"tokens_per_second: (\d+)", done.stdout)[1])  # type: ignore[index]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--python", required=True)
    parser.add_argument("--name", default="")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cuda", action="store_true")
    arguments = parser.parse_args()
    rounds: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for part in ("train", "val"):
            for side in ("de", "en"):
                content = gzip.decompress((Path(arguments.data) / f"{part}.{side}.gz").read_bytes())
                (Path(folder) / f"{part}.{side}").write_bytes(content)
        config = Path(folder) / "config.yaml"
        config.write_text(CONFIG.format(folder=folder, steps=arguments.steps, cuda=arguments.cuda))
        for _ in range(arguments.rounds):
            one = {
                "joeynmt": theirs(arguments.python, config, arguments.steps),
                "regard": ours(arguments.data, arguments.steps),
            }
            rounds.append({name: round(speed) for name, speed in one.items()})
            print(rounds[-1], flush=True)
    figures = {
        "joeynmt_tokens_per_second": statistics.median(r["joeynmt"] for r in rounds),
        "regard_tokens_per_second": statistics.median(r["regard"] for r in rounds),
        "ratio": round(statistics.median(r["regard"] / r["joeynmt"] for r in rounds), 2),
        "rounds": rounds,
    }
    print(json.dumps(figures, indent=2))
    if arguments.name:
        print(record(arguments.name, figures))


if __name__ == "__main__":
    main()
