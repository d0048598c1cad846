"""Reply suggestions: a mail or a chat line in, up to three short replies out (Kannan et al. 2016, "Smart Reply").

Without `--data` it learns from built-in conversations. Your own data are pairs of messages and replies, conversations
(JSON lines, each a list of turns) or an mbox:

    regard train reply --data mails.mbox --time 10m
    regard predict runs/reply "Shall we meet on Friday?"
    regard serve runs/reply

A message is cleaned (fields/message.py), and nothing is suggested for one that is sensitive, in another language, full
of unknown words, or that the trigger holds no short reply for. Else every allowed reply is scored, exactly and all at
once, and three are chosen that differ in meaning (messages/choose.py):

    score(r) = a log p(r | m) + b match(m, r) + c log p(r)

p(r | m) is how likely the decoder is to write the reply (predict/prefix_tree.py), match(m, r) how well their words go
together (predict/ngram_match.py), and p(r) how frequent the reply is in the data. The weights a, b and c rank
the replies of the validation set best (predict/log_linear.py); the threshold of the trigger is chosen on that set too,
unless it is given. The run's folder then has `replies.tsv`, the allowed replies, `unsuitable.txt` and
`suggest.json`, the threshold and the weights; edit them, and the next prediction follows.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from regard.data.batch import in_order
from regard.data.splits import Splits
from regard.errors import RegardError, brief, counted
from regard.fields.message import Message
from regard.fields.suggestion import ReplyRow, Suggestion
from regard.files import read_whole, write_whole
from regard.find import PLAIN, In, Of, Spec, call, table
from regard.look.attention_map import AttentionMap
from regard.measure import Results, Suggested
from regard.messages.allowed import read_replies, write_replies
from regard.messages.choose import choose
from regard.messages.sensitive import TermList, sensitive
from regard.networks.replier import Replier
from regard.predict.log_linear import best_ranked
from regard.predict.ngram_match import NgramMatch
from regard.predict.prefix_tree import PrefixTree
from regard.ranges import Count, Few, NonNegative, Probability, ranged
from regard.regions import Token
from regard.search import Hypothesis, Search, forced
from regard.tasks._generation import Generation
from regard.tasks._maps import attention_map
from regard.tasks._options import BestMetric, LabelSmoothing, Metrics, Teaching
from regard.text import Tokenizer
from regard.train.suggest import Recipe, replies
from regard.train.task import Ask, Capability, Encoded, places
from regard.types import Example, Memory, Prediction, Sequences, wide

__all__ = ["Reply"]


ENCODER: Spec = {"name": "bigru", "hidden": 96, "layers": 1, "dropout": 0.3}
DECODER: Spec = {"name": "prefix", "embed": 64, "hidden": 128, "dropout": 0.3}
ATTENTION: Spec = {"score": "bilinear", "normalizer": "softmax"}
REPLIES, UNSUITABLE, CHOSEN = "replies.tsv", "unsuitable.txt", "suggest.json"  # in the run's folder
ABOUT_UNSUITABLE = (
    "# Replies with one of these words or phrases are not suggested, one per line, beside those that never are.\n"
    "# * stands for any letters at the end of a word, ... for up to four words between two.\n"
)
LIST = 2**20  # bytes of a list
SEEN, EXAMPLES = 2_000, 3  # messages of which cleaning is counted, and shown
MATCHED = Token("(matched)")  # the row of a map that is no token of the reply
TOGETHER = 1_000  # replies whose vectors are worked out at once
BEST = 200  # replies from which suggestions are chosen
HEARD = 4_000  # validation messages by which the threshold is chosen
RANKED = 600  # validation messages with an allowed reply by which the weights are chosen
PARTS = ("written", "matched", "frequent")  # the scores of a reply
# Shares of what is written and of what is matched, and so much of the frequency: the first is the mean of log p(r | m)
# by both, for matching leaves p(r) out; it is taken where nothing is known.
TRIED = tuple(
    (written, round(1 - written, 1), round(0.1 * frequent, 1))
    for written in (0.5, 0.0, 0.1, 0.2, 0.3, 0.7, 0.9, 1.0)
    for frequent in (5, *range(-4, 5), *range(6, 31))
)


@dataclass(frozen=True)
class Scored:
    """Of one message: the chance that a short reply will do, and the scores of each allowed reply, `PARTS`."""

    chance: float
    parts: Float[Tensor, "reply part"]


@dataclass(frozen=True)
class KnownReplies:
    """What scoring needs of the allowed replies, whatever the message."""

    tree: PrefixTree
    read: Any  # what the decoder makes of the tree
    vectors: Float[Tensor, "reply size"]  # to match with that of a message


class Reply(Generation):
    """Reply suggestions: a message in, up to three short replies out (Kannan 2016)."""

    name: ClassVar[str] = "reply"
    role: ClassVar[str] = "message"
    does: str = "Suggests replies to {input}."
    starts: ClassVar[None] = None
    capabilities: ClassVar[frozenset[Capability]] = frozenset({"scores", "drops_tokens", "suggests"})
    columns: ClassVar[tuple[tuple[str, ...], ...]] = (("message",), ("reply",))
    default_data: ClassVar[str] = "builtin:conversations"
    recipe: ClassVar[Recipe] = staticmethod(replies)
    preset: ClassVar[dict[str, Any]] = {
        "message": {"embed": {"dim": 48, "dropout": 0.1}},
        "encoder": {"name": "bigru", "hidden": 64, "layers": 1, "dropout": 0.1},
        "decoder": {"name": "prefix", "embed": 48, "hidden": 64, "dropout": 0.1},
        "match": {"size": 32, "pairs": 2_048, "dropout": 0.5},
        "train": {"epochs": 12, "time": "150s", "lr": 4e-3, "warmup": 50, "ema": 0.99, "batch_tokens": 2048},
    }
    target: Suggestion

    @ranged
    def __init__(
        self,
        message: Annotated[
            Spec, Of("fields.message.Message"), "the message: how it is cleaned and split, its word vectors"
        ] = PLAIN,
        reply: Annotated[
            Spec, Of("fields.suggestion.Suggestion"), "the replies: those that may be suggested, and their tokenizer"
        ] = PLAIN,
        encoder: Annotated[Spec, In("encode"), "the encoder that reads the message"] = ENCODER,
        attention: Annotated[Spec, Of("attend.attention.make"), "how the decoder attends to the message"] = ATTENTION,
        decoder: Annotated[
            Spec, In("predict.generate"), "the decoder that scores replies; prefix is by far the quickest"
        ] = DECODER,
        match: Annotated[
            Spec, Of("predict.ngram_match.NgramMatch"), "how the words of a reply are matched with those of a message"
        ] = PLAIN,
        match_weight: Annotated[NonNegative, "weight of the matching loss"] = 1.0,
        trigger_weight: Annotated[NonNegative, "weight of the trigger's loss"] = 1.0,
        negatives: Annotated[
            Count,
            "messages without an allowed reply to train on for each one with one, drawn once; 0 takes all there are",
        ] = 10,
        threshold: Annotated[
            Probability, "probability from which the trigger shows suggestions; 0 chooses it on the validation set"
        ] = 0.0,
        unknown: Annotated[
            Probability, "share of unknown words in a message from which on nothing is suggested; 1 never minds"
        ] = 0.3,
        suggestions: Annotated[Few, "largest number of suggestions"] = 3,
        metrics: Metrics = (
            *("reply_rank", "reply_coverage", "trigger", "distinct_intents", "click_share", "sensitive_answered"),
            "reply_loss",
        ),
        best_metric: BestMetric = "reply_loss",
        label_smoothing: LabelSmoothing = 0.0,
        teach: Teaching = PLAIN,
    ) -> None:
        field = call(Message, table(message), end=True)
        super().__init__(
            field, PLAIN, encoder, attention, decoder, "greedy", metrics, best_metric, label_smoothing, teach
        )
        self.message, self.target = field, call(Suggestion, table(reply))
        self.trigger_weight, self.negatives = trigger_weight, negatives
        self.suggestions, self.unknown = suggestions, unknown
        self.matching, self.match_weight = table(match), match_weight
        self.asked, self.threshold = threshold, threshold or 0.5
        self.weights: tuple[float, ...] = TRIED[0]  # of the scores of a reply
        self.never: list[int] = []  # replies that the run's own list calls unsuitable
        self._known: tuple[Any, Any, KnownReplies] | None = None

    # --- data --------------------------------------------------------------------------------------------

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        """Where nothing may be suggested for a message, its reply teaches the trigger to be silent and nothing else."""
        silent = ReplyRow((), False)
        return [
            replace(item, target=silent, lengths=(*item.lengths[:-1], 0)) if self.message.unread(one.source) else item
            for item, one in zip(super().encode(examples), examples, strict=True)
        ]

    def prepared_lines(self, examples: Sequence[Example]) -> list[str]:
        """How many messages each step of cleaning changed, and what it made of a few."""
        some = examples[:SEEN]
        self.message.settle([one.source for one in some])
        steps = [self.message.clean.steps(one.source) for one in some]
        changed = Counter(name for row in steps for (_, old), (name, new) in pairwise(row) if new != old)
        unread = Counter(filter(None, (self.message.unread(one.source) for one in some)))
        lines = [f"cleaning, of {counted(len(some), 'message')}:"]
        lines += [f"  {name}: changes {changed[name]:,}" for name, _ in (steps[0][1:-1] if steps else ())]
        lines += [f"  nothing would be suggested for {count:,}: {why}" for why, count in sorted(unread.items())]
        most = sorted(range(len(some)), key=lambda n: -len({text for _, text in steps[n]}))[:EXAMPLES]
        for n in most:
            lines += ["", f"  {some[n].where}"]
            before = None
            for name, text in steps[n]:
                if text != before:
                    lines.append(f"    {name}: {brief(text, 300)}")
                before = text
        return lines

    def said(self, item: Encoded) -> Sequence[int]:
        return item.target.tokens  # type: ignore[no-any-return]

    def stored(self, examples: Sequence[Example], folder: Path) -> Sequence[Encoded]:
        """What teaches only the trigger would take most of the time where few replies can be suggested: some of it."""
        items = self.items(examples)
        right = [n for n, item in enumerate(items) if item.target.suggest]
        wrong = [n for n, item in enumerate(items) if not item.target.suggest]
        most = self.negatives * len(right)
        if self.negatives and len(wrong) > most:
            wrong = Random(1).sample(wrong, most)
        return [items[n] for n in sorted([*right, *wrong])]

    def network(self) -> Replier:
        match = call(NgramMatch, self.matching, messages=len(self.message.text), replies=len(self.target.text))
        self.told = match.size
        parts = super().network()
        return Replier(parts, match, self.match_weight, self.trigger_weight)

    # --- scores ------------------------------------------------------------------------------------------

    def _replies(self, network: Replier) -> KnownReplies:
        """The allowed replies, read; kept until they or the network change."""
        allowed = self.target.allowed
        weights = [
            (one.data_ptr(), one._version) for part in (network.decoder, network.match) for one in part.parameters()
        ]
        if self._known is None or self._known[0] is not allowed or self._known[1] != weights:
            rows, device = self.target.tokens(), next(network.parameters()).device
            tree = PrefixTree.of(rows, Tokenizer.start, Tokenizer.end).to(device)
            vectors = [
                network.match.reply(self.target.matched(rows[n : n + TOGETHER]).to(device)).vector
                for n in range(0, len(rows), TOGETHER)
            ]
            self._known = allowed, weights, KnownReplies(tree, network.decoder.read_tree(tree), torch.cat(vectors))
        return self._known[2]

    def _batches(self, network: Replier, encoded: Sequence[Any]) -> Iterator[tuple[list[int], Memory, Tensor]]:
        """The numbers of messages of like length, what the encoder makes of them, and what is matched."""
        device = next(network.parameters()).device
        lengths = [self.message.length(row) for row in encoded]
        for rows in in_order([(length, length) for length in lengths], tokens=4_096):
            source = self.message.collate([encoded[row] for row in rows]).to(device)
            yield rows, *network.both(source)

    def scored(self, network: Replier, encoded: Sequence[Any]) -> Iterator[tuple[int, Scored]]:
        """Each message by its number, with the scores of all allowed replies."""
        known, frequent = self._replies(network), self.target.log_frequency
        for rows, memory, u in self._batches(network, encoded):
            edges = network.decoder.tree_log_probs(memory, known.tree, known.read)
            written = known.tree.totals(wide(edges)).cpu()
            matched = network.match.scores(u, known.vectors).cpu()
            parts = torch.stack([written, matched, frequent.expand_as(written)], -1)
            for row, chance, one in zip(rows, network.chance(memory), parts, strict=True):
                yield row, Scored(chance, one)

    def _order(self, parts: Float[Tensor, "reply part"]) -> Float[Tensor, " reply"]:
        """The score of each reply: its parts by their weights."""
        scores = parts @ torch.tensor(self.weights)
        return scores.index_fill(0, torch.tensor(self.never, dtype=torch.long), -torch.inf)

    def _chosen(self, scores: Tensor) -> list[int]:
        """The numbers of the replies to suggest, the likeliest first."""
        best = scores.topk(min(BEST, len(scores)))
        order = [n for n, score in zip(best.indices.tolist(), best.values.tolist(), strict=True) if score > -torch.inf]
        each = dict(zip(best.indices.tolist(), best.values.tolist(), strict=True))
        return choose(order, each, self.target.allowed, self.suggestions)

    def _reason(self, message: str, row: Sequence[int], chance: float | None = None) -> str:
        """Why nothing is suggested for a message; "" where something is."""
        if reason := self.message.unread(message):
            return str(reason)
        missing = sum(token == Tokenizer.unknown for token in row)
        if self.unknown < 1 and missing > self.unknown * (len(row) - 1):
            return f"too many unknown words ({missing} of {len(row) - 1})"
        if chance is not None and chance < self.threshold:
            return f"no short reply is likely to do (p = {chance:.2f})"
        return ""

    # --- predictions -------------------------------------------------------------------------------------

    @torch.no_grad()
    def predict(
        self, network: nn.Module, texts: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        """Up to three suggestions for each message, the likeliest first, or none and why."""
        assert isinstance(network, Replier)
        at = places(texts, where)
        rows = [row for (row,) in self.rows(texts, ask, at)]
        reasons = [self._reason(text, row) for (text,), row in zip(texts, rows, strict=True)]
        found = {n: _silent(texts[n][0], reason) for n, reason in enumerate(reasons) if reason}
        heard = [n for n in range(len(texts)) if n not in found]
        for place, one in self.scored(network, [rows[n] for n in heard]):
            n = heard[place]
            if reason := self._reason(texts[n][0], rows[n], one.chance):
                found[n] = _silent(texts[n][0], reason)
                continue
            scores = self._order(one.parts)
            among = scores.log_softmax(0)
            chosen = self._chosen(scores)
            found[n] = self._suggested(texts[n][0], chosen, among[chosen].tolist())
        if ask.look:
            for n in heard:
                if found[n].text:
                    found[n] = self._looked(
                        network, rows[n], found[n], ask.drop_tokens[n][0] if ask.drop_tokens else ()
                    )
        return [found[n] for n in range(len(texts))]

    def _suggested(self, message: str, chosen: Sequence[int], log_probs: Sequence[float]) -> Prediction:
        if not chosen:
            return _silent(message, "every reply is listed as unsuitable")
        replies = [self.target.allowed[n] for n in chosen]
        first, *others = (
            Prediction(one.text, log_prob, intent=one.intent) for one, log_prob in zip(replies, log_probs, strict=True)
        )
        return replace(first, source=message, others=tuple(others))

    def _looked(self, network: Replier, row: Any, found: Prediction, dropped: Sequence[int]) -> Prediction:
        """With where the decoder looks as it reads each suggestion."""
        every = (found, *found.others)
        source = self.message.collate([row]).to(next(network.parameters()).device)
        first, *others = self._maps(network, source, found.source, [one.text for one in every], dropped)
        if first is None:
            return found
        return replace(found, look=first, looks=tuple(one for one in others if one is not None))

    def _maps(
        self, network: Replier, source: Sequences, message: str, texts: Sequence[str], dropped: Sequence[int]
    ) -> list[AttentionMap | None]:
        """Where the decoder looks for each token of a reply; and, in a last row, what the words of the message count
        for in the matching."""
        memory, matched = network.encode(source), network.match.message(source).look
        assert matched is not None
        [columns] = self.message.regions([message])
        columns = self.message.remaining(columns, dropped)
        keys = [self.target.spoken(text) for text in texts]
        rows = self.target.text.encode_all(keys)
        some = memory.select(torch.zeros(len(texts), dtype=torch.long))
        read = forced(network.decoder, some, rows, start=Tokenizer.start)
        told = self.target.text.tokens_all(keys)
        names, axes = network.decoder.head_names, ("reply", "message")
        counts = matched.weights[0, 0].float().cpu().numpy()
        return [
            attention_map(
                _with_row(one, counts), (*regions, MATCHED), columns, self.message.title(message), "", names, axes
            )
            for one, regions in zip(read, told, strict=True)
        ]

    @torch.no_grad()
    def score(
        self, network: nn.Module, rows: Sequence[Sequence[str]], ask: Ask, where: Sequence[str] = ()
    ) -> list[Prediction]:
        """How likely given replies are, of all texts that could be written, and where the decoder looks for each."""
        assert isinstance(network, Replier)
        at, device = places(rows, where), next(network.parameters()).device
        messages = self.message.encode([row[0] for row in rows], at, "message")
        answers = []
        for message, (text, reply) in zip(messages, rows, strict=True):
            source = self.message.collate([message]).to(device)
            memory = network.encode(source)
            spoken = self.target.spoken(reply)
            [tokens], [said] = self.target.text.encode_all([spoken]), self.target.text.tokens_all([spoken])
            [one] = forced(network.decoder, memory, [tokens], start=Tokenizer.start)
            look = self._maps(network, source, text, [reply], ())[0] if ask.look else None
            each = tuple(zip(said, one.each, strict=True))
            answers.append(
                Prediction(reply, one.log_prob, look, text, tokens=each, log_prob_per_token=one.log_prob_per_token)
            )
        return answers

    @torch.no_grad()
    def results(
        self, network: nn.Module, examples: Sequence[Example], quick: bool = False, search: Search | None = None
    ) -> Results:
        """The likelihood of the true replies; and, unless `quick`, what is suggested for each message."""
        assert isinstance(network, Replier)
        nats, tokens, right = 0.0, 0, 0
        items, device = self.items(examples), next(network.parameters()).device
        written = [item for item in items if len(item.target)]
        for rows in in_order([item.lengths for item in written], tokens=16_384):
            batch = self.collate([written[row] for row in rows]).to(device)
            assert isinstance(batch.target, Sequences)
            before = torch.cat(
                [torch.full_like(batch.target.values[:, :1], Tokenizer.start), batch.target.values[:, :-1]], 1
            )
            _, logits = network.decoder.unroll(network.encode(batch.source), before)
            each = cross_entropy(
                wide(logits).transpose(1, 2), batch.target.values, ignore_index=Tokenizer.pad, reduction="sum"
            )
            nats += float(each)
            right += int(((logits.argmax(-1) == batch.target.values) & batch.target.mask).sum())
            tokens += int(batch.target.lengths.sum())
        if quick:
            return Results(examples, [Prediction("", None) for _ in examples], nats, tokens, right)
        found = [Prediction("", None, reason="") for _ in examples]
        told = [Suggested(bool(one.target.strip()), None, False, ()) for one in examples]
        for n, scored in self.scored(network, [item.inputs[0] for item in items]):
            found[n], told[n] = self._measured(examples[n], items[n].inputs[0], scored)
        return Results(examples, found, nats, tokens, right, suggested=told)

    def _measured(self, example: Example, row: Sequence[int], scored: Scored) -> tuple[Prediction, Suggested]:
        """What is suggested for a message, beside its true reply."""
        scores = self._order(scored.parts)
        number, reason = self.target.place(example.target), self._reason(example.source, row, scored.chance)
        chosen = [] if reason else self._chosen(scores)
        replies = [self.target.allowed[n] for n in chosen]
        true = None if number is None else self.target.allowed[number]
        told = Suggested(
            replied=bool(example.target.strip()),
            rank=None if number is None else int((scores > scores[number]).sum()),
            sensitive=bool(sensitive(self.message.title(example.source))),
            intents=tuple(one.intent for one in replies),
            exact=number in chosen,
            alike=true is not None and any(one.intent == true.intent for one in replies),
        )
        if reason:
            return _silent(example.source, reason), told
        return self._suggested(example.source, chosen, scores.log_softmax(0)[chosen].tolist()), told

    # --- the run's folder ----------------------------------------------------------------------------------

    @torch.no_grad()
    def finish(self, run: Any, network: nn.Module, splits: Splits) -> None:
        """Choose the threshold and the weights, and write what people may look at and edit; what they edited stays."""
        assert isinstance(network, Replier)
        chosen = self._calibrated(network, splits.valid)
        write_whole(run.folder / CHOSEN, json.dumps(chosen) + "\n")
        if not (run.folder / REPLIES).is_file():
            write_replies(run.folder / REPLIES, self.target.allowed)
        if not (run.folder / UNSUITABLE).is_file():
            write_whole(run.folder / UNSUITABLE, ABOUT_UNSUITABLE)
        self.opened(run.folder)

    def clear(self, folder: Path) -> None:
        for name in (REPLIES, UNSUITABLE, CHOSEN):
            (folder / name).unlink(missing_ok=True)

    def opened(self, folder: Path) -> None:
        """Take what the run's folder says now."""
        if (folder / REPLIES).is_file():
            given = read_replies(folder / REPLIES)
            if unknown := next(filter(self.target.strange, given), None):
                raise RegardError(
                    f"{folder / REPLIES}: {unknown.text!r} has a word that the model never read in a reply",
                    do="say it in other words, or remove the line",
                )
            self.target.allow(self.target.known(given))
        if (folder / UNSUITABLE).is_file():
            text = _text(folder / UNSUITABLE)
            terms = [line.strip().lower() for line in text.split("\n") if line.strip() and line.strip()[0] != "#"]
            there = TermList(terms) if terms else None
            self.never = [n for n, one in enumerate(self.target.allowed) if there is not None and there(one.text)]
        if (folder / CHOSEN).is_file():
            try:
                chosen = json.loads(_text(folder / CHOSEN))
                threshold, weights = float(chosen["threshold"]), [float(chosen["weights"][part]) for part in PARTS]
            except (ValueError, TypeError, KeyError, RecursionError):
                raise RegardError(
                    f"{folder / CHOSEN} is damaged", do="repeat 'regard train' to write it again"
                ) from None
            self.threshold, self.weights = self.asked or threshold, tuple(weights)

    def _calibrated(self, network: Replier, examples: Sequence[Example]) -> dict[str, Any]:
        """The threshold with the best F1 of the trigger, and the weights that rank true replies best."""
        heard = [one for one in examples if not self.message.unread(one.source)]
        numbers = [self.target.place(one.target) for one in heard]
        encoded = self.message.encode([one.source for one in heard], [one.where for one in heard])
        chances = [
            (chance, numbers[n] is not None)
            for rows, memory, _ in self._batches(network, encoded[:HEARD])
            for n, chance in zip(rows, network.chance(memory), strict=True)
        ]
        known = [(row, number) for row, number in zip(encoded, numbers, strict=True) if number is not None][:RANKED]
        scored = list(self.scored(network, [row for row, _ in known]))
        weights = best_ranked([one.parts for _, one in scored], [known[n][1] for n, _ in scored], TRIED)
        return {"threshold": best_threshold(chances), "weights": dict(zip(PARTS, weights, strict=True))}


def best_threshold(chances: Sequence[tuple[float, bool]]) -> float:
    """The probability from which to suggest: of the chances given, each with whether it was right to, halfway between
    the last shown and the first held back where the F1 of those shown is best. One half where nothing was right."""
    ordered = sorted(chances, reverse=True)
    wanted = sum(right for _, right in ordered)
    best, threshold, both = 0.0, 0.5, 0
    for shown, (chance, right) in enumerate(ordered, 1):
        both += right
        below = ordered[shown][0] if shown < len(ordered) else 0.0
        if below < chance and (f1 := 2 * both / (shown + wanted)) > best:
            best, threshold = f1, (chance + below) / 2
    return threshold


def _with_row(found: Hypothesis, counts: np.ndarray) -> Hypothesis:
    """With one more row of weights, for all heads alike."""
    weights = found.array
    if weights is None or not weights.shape[-1]:
        return found
    row = np.broadcast_to(counts[: weights.shape[-1]], (*weights.shape[:-2], 1, weights.shape[-1]))
    return replace(found, looked=np.concatenate([weights, row], -2))


def _silent(message: str, reason: str) -> Prediction:
    return Prediction("", None, source=message, reason=reason)


def _text(path: Path) -> str:
    try:
        return read_whole(path, LIST).decode("utf-8")
    except UnicodeDecodeError as error:
        raise RegardError(f"{path}: not UTF-8 (byte {error.start + 1})", do="save it as UTF-8") from None
