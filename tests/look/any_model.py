"""A model and a tokenizer as Hugging Face's behave, without Transformers: their weights are known."""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor


class Encoded(dict[str, Any]):
    """What a tokenizer gives."""

    def __init__(self, ids: list[int], offsets: list[tuple[int, int]], words: list[int | None]) -> None:
        super().__init__(input_ids=torch.tensor([ids]), offset_mapping=torch.tensor([offsets]))
        self.words = words

    def sequence_ids(self, row: int) -> list[int | None]:
        return [None if word is None else 0 for word in self.words]

    def word_ids(self, row: int) -> list[int | None]:
        return self.words


class Pieces:
    """Words between spaces, in pieces of four letters, between [CLS] and [SEP]."""

    is_fast = True
    all_special_ids = (1, 2)

    def __init__(self) -> None:
        self.names = ["", "[CLS]", "[SEP]"]

    def __call__(self, text: str, **_: Any) -> Encoded:
        ids, offsets, words = [1], [(0, 0)], list[int | None]([None])
        at = 0
        for number, word in enumerate(text.split(" ")):
            for begin in range(0, len(word), 4):
                piece = word[begin : begin + 4]
                self.names.append(piece)
                ids.append(len(self.names) - 1)
                offsets.append((at + begin, at + begin + len(piece)))
                words.append(number)
            at += len(word) + 1
        return Encoded([*ids, 2], [*offsets, (0, 0)], [*words, None])

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str]:
        return [self.names[one] for one in ids]


class Model:
    """Layers × heads of random weights; head 1 of layer 1 looks at the previous token alone."""

    device = torch.device("cpu")
    training = True

    def __init__(self, layers: int = 2, heads: int = 3, causal: bool = False, gives: bool = True) -> None:
        self.layers, self.heads, self.causal, self.gives = layers, heads, causal, gives
        self.config = SimpleNamespace(_attn_implementation="sdpa", is_encoder_decoder=False, name_or_path="")
        self.calls: list[str] = []

    def set_attn_implementation(self, name: str) -> None:
        self.config._attn_implementation = name
        self.calls.append(name)

    def eval(self) -> None:
        self.training = False

    def train(self, mode: bool) -> None:
        self.training = mode

    def __call__(self, input_ids: Tensor, output_attentions: bool) -> Any:
        assert self.config._attn_implementation == "eager"
        assert not self.training
        assert output_attentions
        time = input_ids.shape[1]
        scores = torch.randn(self.layers, 1, self.heads, time, time, generator=torch.Generator().manual_seed(1)) * 2
        if self.causal:
            scores = scores.masked_fill(torch.ones(time, time).triu(1).bool(), -torch.inf)
        weights = scores.softmax(-1)
        before = torch.eye(time).roll(1, 0)
        before[0] = 0
        before[0, 0] = 1
        weights[0, 0, 0] = before
        return SimpleNamespace(attentions=tuple(weights) if self.gives else None)
