"""Decoders, answers and a memory small enough to score every answer by itself."""

from functools import partial
from typing import Any

import torch

from regard import find
from regard.attend.attention import make
from regard.predict.generate import Decoder
from regard.types import Memory

START, END, VOCAB, WIDTH = 2, 3, 11, 8
ANSWERS = [[5, 6, END], [5, END], [7, 6, 6, END], [5, 6, 8, END], [END], [7, 10, END]]
small = {"hidden": 8, "embed": 8, "size": 8, "layers": 2, "dropout": 0.0}


def decoder(name: str, **options: Any) -> Decoder:
    known = find.settable(find.find("predict.generate", name))
    spec = {"name": name, **{key: value for key, value in small.items() if key in known}}
    part = find.build(
        "predict.generate", spec, vocab=VOCAB, memory=WIDTH, summary=WIDTH, attention=partial(make, **options)
    )
    assert isinstance(part, Decoder)
    return part.double().eval()


def memory() -> Memory:
    torch.manual_seed(2)
    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    return Memory(
        torch.randn(2, 4, WIDTH).double(), torch.randn(2, 4, WIDTH).double(), mask, torch.randn(2, WIDTH).double()
    )


def alone(part: Decoder, source: Memory, answer: list[int]) -> torch.Tensor:
    before = torch.tensor([[START, *answer[:-1]]] * len(source.keys))
    log_probs = part.unroll(source, before)[1].log_softmax(-1)
    return log_probs[:, range(len(answer)), answer].sum(1)
