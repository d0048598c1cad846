"""Pre-training: masked language modelling; then any task starts from the encoder (`--start RUN`).

Without `--data` it reads built-in stories. Your own text needs no labels: one text file or several, each may be `.gz`,
or a data set of the Hugging Face hub. It is read in a stream and kept on disk as tokens, so it may be larger than the
memory (data/corpus.py, data/shards.py).

    regard train pretrain --data a.txt,b.txt.gz encoder=transformer --out runs/pretrained
    regard predict runs/pretrained "the [MASK] sat on the mat" --json
    regard train classify --data reviews.tsv --start runs/pretrained

Lines run on, so that a window of `window` tokens holds several of them; `running=false` reads each line alone, which
suits sentences that have nothing to do with each other. Masks are drawn anew in every epoch (data/masking.py). The
measure is the perplexity of masked tokens.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn

from regard.data.batch import Lengths, in_order
from regard.data.corpus import Corpus
from regard.data.masking import WordBounds, keys, mask
from regard.data.shards import Shards, shards
from regard.encode import Encoder
from regard.errors import RegardError
from regard.fields.text import Text
from regard.find import In, Of, Spec, build, call, table
from regard.measure import Results
from regard.networks.hard_attention import must_learn
from regard.networks.masked import Masked
from regard.networks.reader import Read
from regard.ranges import Length, Probability, Range, ranged
from regard.regions import Token
from regard.search import Search
from regard.tasks._options import BestMetric, Metrics
from regard.tasks._seen import Seen
from regard.tasks._token_results import token_results
from regard.text import MASK, Tokenizer
from regard.train.metrics import MetricSet
from regard.train.start import Starts
from regard.train.suggest import Recipe, masking
from regard.train.task import Ask, Capability, Encoded, Task
from regard.train.task import places as named
from regard.types import Batch, Example, Prediction, Sequences

__all__ = ["Pretrain", "windows"]

TEXT: Spec = {"embed": {"dim": 256}}
SAMPLE = 500_000  # lines from which a vocabulary is learned, evenly spaced over a longer text
TOGETHER = 4_096  # lines that are split into tokens together
TRIED = 12  # words of an example that is shown
WORD = re.compile(r"\w+")
WRITTEN, WORDLIKE = re.compile(re.escape(MASK)), "ℳ"  # a letter that hardly any vocabulary has


def windows(lines: Iterable[Sequence[int]], window: int, running: bool) -> Iterator[list[int]]:
    """Token ids of lines, each with its end, cut into windows. Where lines stand alone their ends are left out, and so
    are empty ones."""
    rest: list[int] = []
    for line in lines:
        some = [*rest, *line] if running else list(line[:-1])
        cut = len(some) // window * window
        yield from (some[first : first + window] for first in range(0, cut, window))
        rest = some[cut:]
        if not running and rest:
            yield rest
    if running and rest:
        yield rest


@dataclass(frozen=True)
class MaskedText:
    """A text with masks: its token ids, what each position stands for, and where the masks are."""

    ids: list[int]
    regions: tuple[Token, ...]
    masks: list[int]


class Pretrain(Task):
    """Pre-training by masked language modelling: text in, its masked tokens out (Devlin et al. 2019)."""

    name: ClassVar[str] = "pretrain"
    does: str = "Fills in each [MASK] of {input}."
    counts: ClassVar[str] = "tokens"
    corpus: ClassVar[bool] = True
    capabilities: ClassVar[frozenset[Capability]] = frozenset({"features"})
    known: ClassVar[tuple[tuple[str, ...], ...]] = (("text",),)
    columns: ClassVar[tuple[tuple[str, ...], ...]] = (("text",),)
    default_data: ClassVar[str] = "builtin:stories"
    recipe: ClassVar[Recipe] = staticmethod(masking)
    starts: ClassVar[Starts | None] = Starts("text")
    preset: ClassVar[dict[str, Any]] = {
        "text": {"tokenizer": {"name": "word", "split": "punctuation"}, "embed": {"dim": 64}},
        "encoder": {"name": "transformer", "size": 64, "layers": 2, "heads": 4, "ffn": 128},
        "running": False,
        "train": {"epochs": 30, "time": "120s", "batch_tokens": 4096, "lr": 3e-3, "warmup": 50, "ema": 0.99},
    }

    @ranged
    def __init__(
        self,
        text: Annotated[Spec, Of("fields.text.Text"), "the text: its tokenizer and word vectors"] = TEXT,
        encoder: Annotated[Spec, In("encode"), "how the text is read"] = "transformer",
        window: Annotated[Length, "longest training example, in tokens"] = 128,
        running: Annotated[bool, "read all lines as one running text; false reads each line alone"] = True,
        share: Annotated[Probability, "share of the tokens to predict; at least one of each example"] = 0.15,
        whole_words: Annotated[bool, "mask all subwords of a word together"] = False,
        tied: Annotated[bool, "use the word vectors as the weights of the output layer too"] = True,
        alternatives: Annotated[
            int, Range(0, 1000), "further words to list for each [MASK], after the most likely one"
        ] = 4,
        metrics: Metrics = ("perplexity", "token_accuracy"),
        best_metric: BestMetric = "perplexity",
    ) -> None:
        self.field: Text = call(Text, table(text), end=True)
        self.inputs, self.target, self.metrics = {"text": self.field}, None, MetricSet(metrics, best_metric)
        self.encoder, self.tied = encoder, tied
        self.window, self.running, self.share, self.whole_words = window, running, share, whole_words
        self.alternatives = alternatives
        self._pieces: WordBounds | None = None

    @property
    def text(self) -> Tokenizer:
        return self.field.text

    def tried(self, example: Example) -> list[str]:
        """The beginning of a text as people would ask it: with one of its words masked."""
        words = [match.span() for match in WORD.finditer(example.source)][:TRIED]
        if not words:
            return [example.source]
        start, end = words[len(words) // 2]
        return [f"{example.source[:start]}{MASK}{example.source[end : words[-1][1]]}"]

    # --- data --------------------------------------------------------------------------------------------

    def learn(self, examples: Sequence[Example]) -> None:
        if self._begun is None:
            some = examples if isinstance(examples, list) else examples[:: 1 + len(examples) // SAMPLE]
            self.field.fit([example.source for example in some])
        self._masked()
        if isinstance(examples, list):
            self._learned = examples, self.encode(examples)

    def restore(self, kept: dict[str, Any]) -> None:
        super().restore(kept)
        self._masked()

    def _masked(self) -> None:
        """Masks are tokens of the vocabulary; words are told from their pieces."""
        self.field.text = self.text.with_mask()
        self._pieces = WordBounds(self.text.seen, self.text.words) if self.whole_words else None

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        lines = self.text.encode_all([example.source for example in examples])
        cut = windows(lines, self.window, self.running)
        return [Encoded((row,), (0, 0, number), (len(row),)) for number, row in enumerate(cut)]

    def stored(self, examples: Sequence[Example], folder: Path) -> Sequence[Encoded]:
        if not isinstance(examples, Corpus):
            return self.items(examples)
        tokenizer = json.dumps(self.text.to_dict(), sort_keys=True)
        made_of = f"{examples.digest} {self.window} {self.running} {tokenizer}"
        key = blake2b(made_of.encode(), digest_size=16).hexdigest()

        def rows() -> Iterator[list[int]]:
            return windows(self._ids(examples), self.window, self.running)

        return Stored(shards(folder / "tokens", key, len(self.text), rows))

    def _ids(self, examples: Iterable[Example]) -> Iterator[list[int]]:
        """The ids of many lines, some of them at a time."""
        texts = (example.source for example in examples)
        while some := list(islice(texts, TOGETHER)):
            yield from self.text.encode_all(some)

    def parts(self, items: Sequence[Encoded]) -> list[tuple[int, Callable[[], Lengths]]]:
        return items.rows.parts() if isinstance(items, Stored) else super().parts(items)  # type: ignore[return-value]

    def of_epoch(self, items: Sequence[Encoded], epoch: int, seed: int) -> Sequence[Encoded]:
        return Drawn(items, epoch, seed)

    def said(self, item: Encoded) -> Sequence[int]:
        return item.inputs[0]  # type: ignore[no-any-return]

    def collate(self, items: Sequence[Encoded]) -> Batch:
        tokens = Sequences.pad([item.inputs[0] for item in items])
        numbers = tokens.values.numpy()
        assert self.text.mask is not None
        read, chosen = mask(
            numbers, tokens.lengths.numpy(), keys([item.target for item in items]),
            share=self.share, mask_id=self.text.mask, vocab=len(self.text), pieces=self._pieces,
        )  # fmt: skip
        masked = Sequences(tokens.values, torch.from_numpy(chosen), torch.from_numpy(chosen.sum(1)))
        return Batch((replace(tokens, values=torch.from_numpy(read)),), masked)

    # --- the network -------------------------------------------------------------------------------------

    def network(self) -> Masked:
        embed = self.field.embedding()
        encoder: Encoder = build("encode", self.encoder, inputs=embed.size)
        must_learn(encoder, "encoder.normalizer")
        if encoder.selects:
            raise RegardError(
                f"encoder={type(encoder).__name__.lower()} selects tokens, which this task cannot train",
                expected="an encoder that reads all tokens, such as disan",
            )
        return Masked(embed, encoder, self.tied)

    # --- answers -----------------------------------------------------------------------------------------

    def results(
        self, network: nn.Module, examples: Sequence[Example], quick: bool = False, search: Search | None = None
    ) -> Results:
        """How likely the masked tokens are; the same tokens are masked every time."""
        assert isinstance(network, Masked)
        return token_results(network, network.predicted, examples, self.items(examples), self.collate)

    @torch.no_grad()
    def predict(
        self, network: nn.Module, texts: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        """Each text with its masks filled in, and what else may stand there. A text without masks stays as it is."""
        assert isinstance(network, Masked)
        asked = self._asked([text[0] for text in texts], named(texts, where))
        device, found = next(network.parameters()).device, list[Prediction | None]([None] * len(texts))
        tokens = max(1, ask.batch_tokens // 8) if ask.look else ask.batch_tokens
        for rows in in_order([len(one.ids) for one in asked], tokens=tokens):
            read = self.field.collate([asked[row].ids for row in rows]).to(device)
            memory = network.encode(read)
            seen = Seen.of(Read(memory.values, memory, None, read), network.encoder.head_names, ask.features)
            for place, row in enumerate(rows):
                one, text = asked[row], texts[row][0]
                answer = self._answer(text, one, network.logits(memory.values[place, one.masks]))
                if ask.look:
                    maps = seen.attention_maps([place], [one.regions], [text], "", answer.text, ["text"], "text")
                    answer = replace(answer, look=maps[0] if maps else None, looks=maps[1:])
                found[row] = answer
        return [one for one in found if one is not None]

    def _asked(self, texts: Sequence[str], where: Sequence[str]) -> list[MaskedText]:
        """The tokens of each text, with one for each [MASK]. It is split as if an unknown word of the same length stood
        there; with subwords the space before that would be a piece, too, while in training a piece has its space."""
        asked = []
        split = self.text.read_all([WRITTEN.sub(WORDLIKE * len(MASK), text) for text in texts])
        for text, ids, regions, at in zip(texts, *split, where, strict=True):
            self.field.check(ids, at, "text")
            spans = [match.span() for match in WRITTEN.finditer(text)]
            kept: list[int] = []
            shown: list[Token] = []
            masks: dict[tuple[int, int], int] = {}
            for number, region in zip(ids[:-1], regions[:-1], strict=True):
                span = next((one for one in spans if region.start < one[1] and one[0] < region.end), None)
                if span is None:
                    kept.append(number)
                    shown.append(region)
                elif span not in masks:
                    assert self.text.mask is not None
                    if self.text.first_marked and kept and not self.text.seen[kept[-1]].strip(" "):
                        del kept[-1], shown[-1]
                    masks[span] = len(kept)
                    kept.append(self.text.mask)
                    shown.append(Token(MASK, *span))
            if not kept:
                raise RegardError(f"{at}: an empty text", expected="at least one word")
            asked.append(MaskedText(kept, tuple(shown), list(masks.values())))
        return asked

    def _answer(self, text: str, asked: MaskedText, logits: Tensor) -> Prediction:
        """The text with the likeliest word in place of every mask, each predicted by itself."""
        if not asked.masks:
            return Prediction(text, None, source=text)
        log_p = torch.log_softmax(logits.float(), -1)
        assert self.text.mask is not None
        log_p[:, [Tokenizer.pad, Tokenizer.unknown, Tokenizer.start, self.text.mask]] = -torch.inf
        best = log_p.topk(min(self.alternatives + 1, log_p.shape[-1] - 4), -1)
        fills = tuple(
            tuple((self.text.seen[number].strip(" "), chance) for number, chance in zip(*row, strict=True))
            for row in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        )
        parts, end = list[str](), 0
        for place, row in zip(asked.masks, fills, strict=True):
            span = asked.regions[place]
            parts += [text[end : span.start], row[0][0]]
            end = span.end
        total = sum(row[0][1] for row in fills)
        filled = "".join([*parts, text[end:]])
        return Prediction(filled, total, source=text, log_prob_per_token=total / len(fills), fills=fills)


class Stored(Sequence[Encoded]):
    """The items of a text that is kept on disk."""

    def __init__(self, rows: Shards) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, row: int) -> Encoded:  # type: ignore[override]
        ids = self.rows[row]
        return Encoded((ids,), (0, 0, row), (len(ids),))


class Drawn(Sequence[Encoded]):
    """The items of one epoch, whose masks are those of this epoch."""

    def __init__(self, items: Sequence[Encoded], epoch: int, seed: int) -> None:
        self.items, self.epoch, self.seed = items, epoch, seed

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, row: int) -> Encoded:  # type: ignore[override]
        return replace(self.items[row], target=(self.seed, self.epoch + 1, row))
