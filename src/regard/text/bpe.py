"""Byte-pair encoding: characters are merged to frequent pairs, step by step.

Sennrich, Haddow and Birch 2016, "Neural Machine Translation of Rare Words with Subword Units" (§3.2), with the space
before a word kept as `▁` (Kudo and Richardson 2018, "SentencePiece"), so that decoding gives back every space. A `▁` in
the text itself is read as a space. Words and signs never merge, so "end" and "end." share a piece.

Merging goes on until the vocabulary holds `vocab_size` pieces or no pair was seen `min_frequency` times. Characters
seen fewer than `min_frequency` times, or for which `vocab_size` has no room, become `<unk>`.

    Bpe(size=4000).train(texts).tokens("unbelievable")
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Annotated

from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as BackendTokenizer

from regard.ranges import Number, Range, ranged
from regard.text import Tokenizer, clean, learn, mark, small_letters, special

__all__ = ["Bpe"]

# What merging stays inside of: a word, or signs, with the space before; or a space before another space.
inside = rf"{mark}?\w+|{mark}?[^\w{mark}]+|{mark}"
# Characters of a word that are trained on together. The time of training grows with the square of a word's length: for
# a line of 350,000 digits it was more than 20 s.
most = 1_000
endless = re.compile(rf"[^ {mark}]{{{most}}}")


class Bpe:
    """Byte-pair encoding: words are split into frequent subwords, down to single characters."""

    @ranged
    def __init__(
        self,
        vocab_size: Annotated[
            int, Range(6, 10**7), "largest vocabulary, in subwords, including the four special tokens"
        ] = 8_000,
        lower: Annotated[bool, "lower-case the text first"] = False,
        min_frequency: Annotated[Number, "occurrences a character or a merge needs to enter the vocabulary"] = 2,
    ) -> None:
        self.vocab_size = vocab_size
        self.lower = lower
        self.min_frequency = min_frequency

    def train(self, texts: Iterable[str]) -> Tokenizer:
        texts = [*map(clean, texts)]
        room = self.vocab_size - len(special)
        tokenizer = BackendTokenizer(models.BPE())
        # One mark more stands before the first word: "cat" is one piece wherever it stands, and every space,
        # doubled or leading, comes back.
        tokenizer.normalizer = normalizers.Sequence(
            [small_letters(self.lower), normalizers.Prepend(mark), normalizers.Replace(" ", mark)]
        )
        words = pre_tokenizers.Split(Regex(inside), "isolated")
        tokenizer.pre_tokenizer = words
        parts = [words]
        rare = self._rare(texts, room)
        if rare:  # they split words in training, as an unknown character does later
            letters = "".join(f"\\x{{{ord(character):x}}}" for character in rare)
            parts.append(pre_tokenizers.Split(Regex(f"[{letters}]"), "removed"))
        if any(len(text) > most and endless.search(text) for text in texts):
            parts.append(pre_tokenizers.Split(Regex(f"(?m:.{{{most}}})"), "isolated"))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(parts)
        tokenizer.decoder = decoders.Metaspace(mark, prepend_scheme="always")
        trainer = trainers.BpeTrainer(
            vocab_size=room,
            min_frequency=self.min_frequency,
            show_progress=False,
            special_tokens=[],
            initial_alphabet=[mark],
        )
        text = learn(tokenizer, trainer, texts)
        text.tokenizer.pre_tokenizer = words
        return text

    def _rare(self, texts: list[str], room: int) -> list[str]:
        """Characters that get no number. (The trainer's own limit breaks ties by chance.)"""
        counts: Counter[str] = Counter()
        small = small_letters(self.lower)
        for text in texts:
            counts.update(small.normalize_str(text) if self.lower else text)
        del counts[" "], counts[mark]
        ranked = sorted(counts, key=lambda character: (-counts[character], character))
        kept = [character for character in ranked if counts[character] >= self.min_frequency][: room - 1]
        return sorted(set(ranked) - set(kept))
