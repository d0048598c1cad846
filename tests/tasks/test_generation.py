"""Text in, text out: the loss by hand, counts against a plain loop, and looks that fit their tokens."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from generation_tasks import sides
from regard.data.batch import in_order
from regard.encode.recurrent import Recurrent
from regard.errors import RegardError
from regard.networks.encoder_decoder import EncoderDecoder
from regard.predict.generate import Decoder
from regard.search.beam import Beam
from regard.search.greedy import Greedy
from regard.search.sample import Sample
from regard.tasks._generation import Generation
from regard.tasks.translate import Translate
from regard.text import Tokenizer
from regard.train.task import Ask
from regard.types import Batch, Example, Link, Look, Memory, Sequences

pytestmark = pytest.mark.usefixtures("one_thread")

examples = [
    Example(("ab ba",), "xy", "a.tsv:1"),
    Example(("a",), "y", "a.tsv:2"),
    Example(("",), "", "a.tsv:3"),
    Example(("abba abab baba",), "xxyyxy", "a.tsv:4"),
    Example(("b b",), "yx", "a.tsv:5"),
]


def sizes(**options: Any) -> dict[str, Any]:
    return {
        **sides(dropout=0.3),
        "encoder": {"name": "recurrent", "hidden": 5},
        "decoder": {"name": "recurrent", "embed": 6, "hidden": 7, "dropout": 0.3},
        "attention": {"score": {"name": "additive", "hidden": 4}},
        **options,
    }


def small(**options: Any) -> Translate:
    task = Translate(**sizes(**options))
    task.learn(examples)
    return task


def both(**options: Any) -> tuple[Translate, EncoderDecoder]:
    torch.manual_seed(3)
    task = small(**options)
    model = task.network().eval()
    with torch.no_grad():  # sharper than at the start of training, so that answers differ
        for parameter in model.parameters():
            parameter *= 3
    return task, model


def batch_of(task: Generation, some: list[Example]) -> Batch:
    return task.collate(task.items(some))


# --- the loss ------------------------------------------------------------------------------------------------


class Fixed(Decoder):
    """Whatever it is told, it gives each step's logits as they are written here."""

    def __init__(self, probabilities: Tensor) -> None:
        super().__init__()
        self.probabilities = probabilities
        self.told: list[list[int]] = []

    def unroll(self, memory: Memory, tokens: Tensor) -> tuple[Look, Tensor]:
        self.told = tokens.tolist()
        logits = self.probabilities.log().expand(*tokens.shape, -1)
        return Look(logits, compute_weights=lambda: logits), logits


def fixed(task: Generation, probabilities: list[float]) -> EncoderDecoder:
    encoder, decoder = Recurrent(inputs=6, hidden=2), Fixed(torch.tensor(probabilities))
    return EncoderDecoder(task.source.embedding(), encoder, decoder, label_smoothing=task.label_smoothing)


@pytest.mark.parametrize("label_smoothing", [0.0, 0.1, 0.3])
def test_the_loss_by_hand(label_smoothing: float) -> None:
    """Six tokens: <pad> <unk> <s> </s> and two letters; each step gives </s> 0.5 and the others 0.1.

    −log p is ln 2 for an end and ln 10 for a letter; smoothed, (1 − ε) of that and ε of the mean over all
    six, (ln 2 + 5 ln 10) / 6. Targets: xy</s> and </s>; the padding beside the short one is not counted.
    """
    task = small(label_smoothing=label_smoothing)
    assert len(task.target.text) == 6
    model = fixed(task, [0.1, 0.1, 0.1, 0.5, 0.1, 0.1])
    loss = model(batch_of(task, [examples[0], examples[2]]))
    mean = (math.log(2) + 5 * math.log(10)) / 6
    end, letter = ((1 - label_smoothing) * math.log(n) + label_smoothing * mean for n in (2, 10))
    assert loss.count == 4
    assert loss.total.item() == pytest.approx(2 * end + 2 * letter, rel=1e-6)


def test_each_token_is_told_the_true_ones_before_it() -> None:
    task = small()
    model = fixed(task, [1 / 6] * 6)
    model(batch_of(task, [examples[0], examples[1]]))
    x, y, end = task.target.text.encode("xy")
    decoder = model.decoder
    assert isinstance(decoder, Fixed)
    assert decoder.told[0] == [Tokenizer.start, x, y]
    assert decoder.told[1][:2] == [Tokenizer.start, y]
    assert task.items(examples)[0].target == [x, y, end]


def wider(sequences: Sequences, by: int) -> Sequences:
    """The same with more padding."""
    more = torch.zeros(len(sequences.values), by, dtype=torch.long)
    return Sequences(
        torch.cat([sequences.values, more], 1), torch.cat([sequences.mask, more.bool()], 1), sequences.lengths
    )


@pytest.mark.parametrize("label_smoothing", [0.0, 0.2])
@pytest.mark.parametrize("place", ["before", "after"])
def test_padding_does_not_change_the_loss(label_smoothing: float, place: str) -> None:
    decoder = {"name": "recurrent", "embed": 6, "hidden": 7, "dropout": 0.0, "place": place}
    task, model = both(label_smoothing=label_smoothing, decoder=decoder, **sides())
    alone = [model(batch_of(task, [one])) for one in examples]
    batch = batch_of(task, examples)
    together = model(batch)
    assert together.count == sum(one.count for one in alone) == sum(len(e.target) + 1 for e in examples)
    total = sum(one.total.item() for one in alone)
    assert together.total.item() == pytest.approx(total, rel=1e-5)
    assert isinstance(batch.target, Sequences)
    padded = model(Batch((wider(batch.source, 3),), wider(batch.target, 2)))
    assert padded.count == together.count
    assert padded.total.item() == pytest.approx(total, rel=1e-5)


def test_padding_gives_no_gradient() -> None:
    task, model = both()
    model(batch_of(task, examples)).total.backward()
    gradient = model.embed.learned.grad
    assert gradient is not None
    assert (gradient[Tokenizer.pad] == 0).all()
    assert (gradient[Tokenizer.end] != 0).any()


def test_dropout_is_for_training_only() -> None:
    task, model = both()
    batch = batch_of(task, examples)
    assert model(batch).total.item() == model(batch).total.item()
    model.train()
    assert model(batch).total.item() != model(batch).total.item()


# --- counts --------------------------------------------------------------------------------------------------


def test_results_are_those_of_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("regard.tasks._generation.in_order", lambda lengths, tokens: in_order(lengths, rows=2))
    task, model = both(label_smoothing=0.2)
    nats, tokens, right = 0.0, 0, 0
    for example in examples:
        target = task.target.text.encode(example.target)
        memory = model.encode(Sequences.pad([task.source.text.encode(example.source)]))
        state, token = model.decoder.start(memory), Tokenizer.start
        for true in target:
            state, _, logits = model.decoder.step(state, torch.tensor([[token]]))
            log_p = log_softmax(logits[0, 0], -1)
            nats -= log_p[true].item()  # smoothing is for training: here the true token's alone
            right += int(log_p.argmax() == true)
            tokens += 1
            token = true
    results = task.results(model, examples)
    assert (results.tokens, results.right) == (tokens, right)
    assert results.nats == pytest.approx(nats, rel=1e-5)
    assert 0 < right < tokens
    assert [prediction.source for prediction in results.predictions] == [example.source for example in examples]
    assert results.examples == examples


def test_quick_results_take_the_cheapest_search(monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = both(search={"name": "beam", "beam_size": 3, "n_best": 2})
    quick, slow = task.results(model, examples, quick=True), task.results(model, examples)
    greedy = task.predict(model, [example.inputs for example in examples], Ask(search=Greedy()))
    assert [one.text for one in quick.predictions] == [one.text for one in greedy]
    assert all(one.others == () for one in quick.predictions)
    assert all(len(one.others) == 1 for one in slow.predictions)
    assert (quick.nats, quick.tokens, quick.right) == (slow.nats, slow.tokens, slow.right)


def test_looks_are_kept_only_where_their_truth_is_known() -> None:
    task, model = both()
    assert all(one.look is None for one in task.results(model, examples, quick=True).predictions)
    linked = [*examples, Example(("ab",), "x", links=(Link(0, 1, 0, 1),))]
    assert all(one.look is not None for one in task.results(model, linked, quick=True).predictions)


def test_every_measure_is_taken_and_the_best_one_has_a_direction() -> None:
    task, model = both(metrics=("exact_match", "perplexity", "token_accuracy"), best_metric="perplexity")
    figures = task.measure(task.results(model, examples, quick=True))
    assert figures.keys() == {"exact_match", "perplexity", "token_accuracy"}
    assert task.metrics.better(1.0, 2.0)
    assert not task.metrics.better(2.0, 1.0)
    assert not task.metrics.better(1.0, 1.0)
    task = small(metrics=("exact_match", "perplexity"), best_metric="exact_match")
    assert task.metrics.better(2.0, 1.0)
    assert not task.metrics.better(1.0, 1.0)


@pytest.mark.parametrize("best", ["exact", "bleu", ""])
def test_the_best_is_one_that_is_measured(best: str) -> None:
    with pytest.raises(RegardError, match="is not one of metrics"):
        small(metrics=("exact_match", {"name": "perplexity"}), best_metric=best)


# --- answers -------------------------------------------------------------------------------------------------

odd = ["ab", "", "   ", "ünknown ☃", "a\tb", "<s> </s>", "\ud800", "👩‍👩‍👧", "ABBA", "abba " * 9]


@pytest.mark.parametrize(
    "kind", ["character", "word", {"name": "bpe", "vocab_size": 20}, {"name": "character", "lower": True}]
)
@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=3, n_best=3), Sample(count=2)])
def test_a_look_has_a_row_a_piece_and_a_column_a_token(kind: Any, search: Any) -> None:
    task, model = both(**sides(kind))
    for text, prediction in zip(odd, task.predict(model, [(text,) for text in odd], Ask(search=search)), strict=True):
        assert prediction.source == text
        for one in (prediction, *prediction.others):
            attention_map = one.look
            assert [token.text for token in attention_map.columns][-1] == "</s>"
            assert len(attention_map.columns) == len(task.source.text.encode(text))
            assert attention_map.weights.shape == (len(attention_map.rows), len(attention_map.columns))
            assert np.allclose(attention_map.weights.sum(-1), 1, atol=1e-5)
            shown = [token.text for token in attention_map.rows if token.text != "</s>"]
            assert "".join("".join(shown).split()) == "".join(one.text.split())
            assert 1 <= len(attention_map.rows) <= task.room(len(attention_map.columns))
            assert math.isfinite(one.log_prob)


def test_heads_look_each_for_itself() -> None:
    task, model = both(attention={"heads": 2})
    [prediction] = task.predict(model, [("ab a",)], Ask())
    assert prediction.look.weights.shape == (2, len(prediction.look.rows), 5)
    assert np.allclose(prediction.look.weights.sum(-1), 1, atol=1e-5)


def test_without_looks_the_answers_are_the_same() -> None:
    task, model = both()
    texts = [(text,) for text in odd]
    seen, unseen = task.predict(model, texts, Ask()), task.predict(model, texts, Ask(look=False))
    assert [(one.text, one.log_prob) for one in seen] == [(one.text, one.log_prob) for one in unseen]
    assert all(one.look is None for one in unseen)


def test_the_size_of_a_batch_does_not_matter() -> None:
    task, model = both(search={"name": "beam", "beam_size": 3, "n_best": 3})
    texts = [(text,) for text in odd]
    together, alone = task.predict(model, texts, Ask()), task.predict(model, texts, Ask(batch_tokens=1))
    for one, other in zip(together, alone, strict=True):
        assert (one.text, one.source) == (other.text, other.source)
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-5)
        assert [more.text for more in one.others] == [more.text for more in other.others]
        assert [one.log_prob_per_token, *(more.log_prob_per_token for more in one.others)] == sorted(
            [one.log_prob_per_token, *(more.log_prob_per_token for more in one.others)], reverse=True
        )
    assert task.predict(model, [], Ask()) == []


def test_what_is_no_text_is_never_answered() -> None:
    """However likely the model finds <pad>, <unk> and <s>."""
    task, model = both()
    bias = model.decoder.tied_bias
    assert isinstance(bias, Tensor)
    with torch.no_grad():
        bias[[Tokenizer.pad, Tokenizer.unknown, Tokenizer.start]] = 50.0
    for prediction in task.predict(model, [(text,) for text in odd], Ask()):
        assert not {"<pad>", "<unk>", "<s>"} & {token.text for token in prediction.look.rows}


def test_an_answer_has_an_end() -> None:
    """A model that never stops is stopped: at 2 n + 20 tokens, or at `max_length`."""
    task, model = both(**sides(max_length=30))
    assert [task.room(n) for n in (1, 4, 5, 6, 30)] == [22, 28, 30, 30, 30]
    bias = model.decoder.tied_bias
    assert isinstance(bias, Tensor)
    with torch.no_grad():
        bias[Tokenizer.end] = -50.0
    found = task.predict(model, [("",), ("a" * 9,)], Ask(search=Greedy()))
    assert [len(one.look.rows) for one in found] == [22, 30]
    assert [len(one.text) for one in found] == [22, 30]


def test_too_long_a_text_is_refused_with_its_place() -> None:
    task, model = both()
    task.source.max_length = 10
    texts = [("a" * 9,), ("a" * 10,)]  # ten tokens with the end, and eleven
    task.predict(model, texts[:1], Ask())
    with pytest.raises(
        RegardError,
        match=r"^input 2: 11 tokens in the source; expected at most 10; shorten it, or",
    ):
        task.predict(model, texts, Ask())
    places = [Example(text, "", f"b.tsv:{row}") for row, text in enumerate(texts, 1)]
    with pytest.raises(RegardError, match=r"^b.tsv:2: 11 tokens"):
        task.predict(model, texts, Ask(), [place.where for place in places])
    with pytest.raises(RegardError, match=r"^b.tsv:2: 11 tokens"):
        task.results(model, places)


def test_what_was_learned_is_kept() -> None:
    task, model = both()
    other = Translate(**sizes())
    other.restore(task.keep())
    assert [(item.inputs, item.target) for item in other.items(examples)] == [
        (item.inputs, item.target) for item in task.items(examples)
    ]
    twin = other.network().eval()
    twin.load_state_dict(model.state_dict())
    one, same = other.predict(twin, [("ab",)], Ask()), task.predict(model, [("ab",)], Ask())
    assert [found.text for found in one] == [found.text for found in same]


@pytest.mark.parametrize(
    ("name", "option"),
    [
        *(("label_smoothing", {"label_smoothing": value}) for value in (1.5, -0.5)),
        *(("dropout", sides(dropout=value)) for value in (1.0, -0.1)),
    ],
)
def test_chances_are_chances(name: str, option: dict[str, Any]) -> None:
    with pytest.raises(RegardError, match=f"{name}: got .*; expected a number from 0 to below 1"):
        small(**option).network()


@pytest.mark.parametrize("name", ["recurrent", "plain", "lstmn", "transformer"])
@pytest.mark.parametrize("dropout", [1.5, -0.1])
def test_dropout_of_a_decoder_is_a_chance(name: str, dropout: float) -> None:
    with pytest.raises(RegardError, match=r"dropout: got .*; expected a number from 0 to below 1"):
        small(decoder={"name": name, "dropout": dropout}).network()
