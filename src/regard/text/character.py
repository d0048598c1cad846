"""Characters: one token per Unicode code point, spaces included.

Decoding restores the text exactly. Characters that occur fewer than `min_frequency` times in training become `<unk>`,
so that the model learns to handle it.

    Character().train(["Mar 3"]).encode("Mar")
"""

from collections.abc import Iterable
from typing import Annotated

from tokenizers import Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as BackendTokenizer

from regard.ranges import Number, ranged
from regard.text import Tokenizer, learn, small_letters

__all__ = ["Character"]


class Character:
    """One token per character (Unicode code point), spaces included."""

    @ranged
    def __init__(
        self,
        lower: Annotated[bool, "lower-case the text first"] = False,
        min_frequency: Annotated[Number, "occurrences a character needs to enter the vocabulary"] = 1,
    ) -> None:
        self.lower = lower
        self.min_frequency = min_frequency

    def train(self, texts: Iterable[str]) -> Tokenizer:
        tokenizer = BackendTokenizer(models.WordLevel())
        tokenizer.normalizer = small_letters(self.lower)
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        tokenizer.decoder = decoders.Fuse()
        # There are fewer than 0x110000 characters: no limit.
        trainer = trainers.WordLevelTrainer(
            vocab_size=0x110000, min_frequency=self.min_frequency, show_progress=False, special_tokens=[]
        )
        return learn(tokenizer, trainer, texts)
