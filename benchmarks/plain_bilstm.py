"""A Bi-LSTM classifier in plain PyTorch, as anybody would write it first, to hold regard's sentence tasks against.

    python benchmarks/plain_bilstm.py TRAIN TEST SECONDS SEED

300 features a word, 300 each way, max pooling, two sentences joined as [u; v; |u - v|; u * v], Adam at 1e-3, batches of
64, a hidden layer of 300. Twentieths of the training file are held out; the weights of the best epoch are tested. It
prints one JSON object.
"""

import copy
import json
import random
import re
import sys
import time
from collections import Counter
from pathlib import Path

import torch
from torch import nn


def read(path: str) -> list[tuple[list[list[str]], str]]:
    rows = []
    for line in Path(path).read_text().split("\n"):
        if not line.strip():
            continue
        if path.endswith(".txt"):  # the label first
            label, text = line.split(" ", 1)
            texts = [text]
        else:
            *texts, label = line.split("\t")
        rows.append(([re.findall(r"\w+|[^\w\s]", text.lower()) or ["?"] for text in texts], label))
    return rows


class Bilstm(nn.Module):
    def __init__(self, vocab: int, labels: int, sides: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocab, 300, padding_idx=0)
        self.lstm = nn.LSTM(300, 300, batch_first=True, bidirectional=True)
        self.head = nn.Sequential(nn.Linear(600 if sides == 1 else 2400, 300), nn.ReLU(), nn.Linear(300, labels))

    def sentence(self, rows: list[list[int]]) -> torch.Tensor:
        lengths = torch.tensor([len(row) for row in rows])
        padded = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
        packed = nn.utils.rnn.pack_padded_sequence(self.words(padded), lengths, batch_first=True, enforce_sorted=False)
        states = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True, padding_value=-1e9)[0]
        return states.amax(1)

    def forward(self, sides: list[list[list[int]]]) -> torch.Tensor:
        vectors = [self.sentence(rows) for rows in sides]
        if len(vectors) == 1:
            return self.head(vectors[0])  # type: ignore[no-any-return]
        u, v = vectors
        return self.head(torch.cat([u, v, (u - v).abs(), u * v], -1))  # type: ignore[no-any-return]


def main() -> None:
    train_file, test_file, seconds, seed = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    began = time.monotonic()
    torch.manual_seed(seed)
    rows, tests = read(train_file), read(test_file)
    random.Random(0).shuffle(rows)
    held, rows = rows[: len(rows) // 20], rows[len(rows) // 20 :]
    counts = Counter(word for texts, _ in rows for text in texts for word in text)
    number = {word: place for place, word in enumerate(counts, 2)}
    labels = {label: place for place, label in enumerate(sorted({label for _, label in rows}))}
    model = Bilstm(len(number) + 2, len(labels), len(rows[0][0]))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)

    def batch(some: list[tuple[list[list[str]], str]]) -> tuple[list[list[list[int]]], torch.Tensor]:
        sides = [
            [[number.get(word, 1) for word in texts[side]] for texts, _ in some] for side in range(len(some[0][0]))
        ]
        return sides, torch.tensor([labels.get(label, -1) for _, label in some])

    def accuracy(some: list[tuple[list[list[str]], str]]) -> float:
        model.eval()
        right = 0
        with torch.no_grad():
            for first in range(0, len(some), 256):
                sides, target = batch(some[first : first + 256])
                right += int((model(sides).argmax(-1) == target).sum())
        model.train()
        return right / len(some)

    best, kept, epochs, bad = -1.0, copy.deepcopy(model.state_dict()), 0, 0
    while time.monotonic() - began < seconds and bad < 3:
        random.Random(seed * 1000 + epochs).shuffle(rows)
        for first in range(0, len(rows), 64):
            if time.monotonic() - began >= seconds:
                break
            sides, target = batch(rows[first : first + 64])
            optimiser.zero_grad()
            nn.functional.cross_entropy(model(sides), target).backward()
            optimiser.step()
        epochs += 1
        score = accuracy(held)
        bad = 0 if score > best else bad + 1
        if score > best:
            best, kept = score, copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)
    print(json.dumps({"accuracy": round(accuracy(tests), 4), "epochs": epochs}))


if __name__ == "__main__":
    main()
