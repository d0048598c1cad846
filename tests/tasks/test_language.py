"""Language: windows that count every token once, losses by hand, and beginnings that are gone on from."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from regard.api import configure, make_task
from regard.data.load import load_part
from regard.data.read import Reading
from regard.errors import RegardError
from regard.predict.language import LanguageModel
from regard.search.beam import Beam
from regard.search.greedy import Greedy
from regard.search.sample import Sample
from regard.tasks.language import Language, windows
from regard.text import Tokenizer
from regard.train.task import Ask, Encoded
from regard.types import Example

pytestmark = pytest.mark.usefixtures("one_thread")

lines = ["the cat sat", "a dog ran", "", "the dog sat on the cat"]
examples = [Example((line,), "", f"a.txt:{row}") for row, line in enumerate(lines, 1)]
looking: dict[str, Any] = {"score": {"name": "additive", "hidden": 4}}


def both(**options: Any) -> tuple[Language, LanguageModel]:
    torch.manual_seed(5)
    task = Language(
        **{
            "text": {"tokenizer": "word", "max_length": 12},
            "network": {"name": "recurrent", "hidden": 6},
            "search": "greedy",
            **options,
        }
    )
    task.learn(examples)
    model = task.network().double().eval()
    with torch.no_grad():  # sharper than at the start of training, so that answers differ
        for parameter in model.parameters():
            parameter *= 3
    return task, model


# --- windows -------------------------------------------------------------------------------------------------


def test_windows_by_hand() -> None:
    stream = [3, 10, 11, 12, 3, 13, 3]
    assert list(windows(stream, 2, 1)) == [
        ([3, 10], [10, 11]),
        ([10, 11, 12], [12, 3]),
        ([12, 3, 13], [13, 3]),
    ]
    assert list(windows(stream, 4, 100)) == [([3, 10, 11, 12], [10, 11, 12, 3]), (stream[:-1], [13, 3])]
    assert list(windows([3], 4, 1)) == []


@pytest.mark.parametrize("window", [1, 2, 3, 7, 50])
@pytest.mark.parametrize("context", [0, 1, 5, 100])
def test_every_token_is_said_once_after_those_before_it(window: int, context: int) -> None:
    stream = list(range(23))
    said = []
    for read, wanted in windows(stream, window, context):
        assert read[-1] + 1 == wanted[-1]
        assert read == stream[read[0] : read[-1] + 1]
        assert len(read) - len(wanted) == min(context, wanted[0] - 1)
        said += wanted
    assert said == stream[1:]


def test_lines_run_on_or_stand_alone() -> None:
    task, _ = both(window=100, context=7)
    rows = task.text.encode_all(lines)
    [item] = task.items(examples)
    assert item.target == [token for row in rows for token in row]
    assert item.inputs[0] == [Tokenizer.end, *item.target[:-1]]
    alone, _ = both(window=100, context=7, running=False)
    items = alone.items(examples)
    assert [list(item.target) for item in items] == rows
    assert [item.inputs[0] for item in items] == [[Tokenizer.end, *row[:-1]] for row in rows]


# --- loss and measures ---------------------------------------------------------------------------------------


def told(task: Language, chances: dict[str, float]) -> LanguageModel:
    """Whatever was read, these chances."""
    model = task.network().eval()
    with torch.no_grad():
        model.embedding.weight.zero_()
        model.bias.fill_(-100.0)
        for word, chance in chances.items():
            model.bias[task.text.encode(word)[0]] = math.log(chance)
        model.bias[Tokenizer.end] = math.log(1 - sum(chances.values()))
    return model


@pytest.mark.parametrize(("window", "context"), [(100, 0), (2, 0), (2, 3), (3, 100)])
def test_the_loss_by_hand(window: int, context: int) -> None:
    """the: 1/2, cat and sat: 1/8, the end: 1/4. "the cat sat" and "" cost ln 2 + 2 ln 8 + 2 ln 4, however cut."""
    task, _ = both(window=window, context=context)
    model = told(task, {"the": 1 / 2, "cat": 1 / 8, "sat": 1 / 8})
    some = [examples[0], examples[2]]
    loss = model(task.collate(task.items(some)))
    nats = math.log(2) + 2 * math.log(8) + 2 * math.log(4)
    assert loss.count == 5
    assert loss.total.item() == pytest.approx(nats, rel=1e-5)
    results = task.results(model, some)
    assert (results.tokens, results.right) == (5, 1)
    figures = task.measure(results)
    assert figures["perplexity"] == pytest.approx(math.exp(nats / 5), rel=1e-5)
    assert figures["word_perplexity"] == figures["perplexity"]


@pytest.mark.parametrize("attention", [None, looking])
def test_the_cut_does_not_matter_where_the_context_is_whole(attention: Any) -> None:
    """With all that came before as context, windows of any size cost what one window of everything does."""
    sizes = [(100, 0), (1, 100), (3, 100)]
    found = []
    for window, context in sizes:
        task, model = both(window=window, context=context, attention=attention)
        loss = model(task.collate(task.items(examples)))
        found.append(loss.total.item())
        assert task.results(model, examples).nats == pytest.approx(found[0])
    assert found == pytest.approx([found[0]] * 3)
    task, model = both(window=2, context=0, attention=attention)
    assert model(task.collate(task.items(examples))).total.item() != pytest.approx(found[0])


def test_what_is_context_only_has_no_loss_but_is_learned_through() -> None:
    task, model = both(window=2, context=3)
    first, last = (task.items(examples)[row] for row in (0, -1))
    assert len(last.inputs[0]) == len(last.target) + 3
    loss = model(task.collate([last]))
    loss.total.backward()
    gradient = model.embedding.weight.grad
    assert gradient is not None
    assert loss.count == len(last.target)
    alone = model(task.collate([first])).total.item() + loss.total.item()
    assert model(task.collate([first, last])).total.item() == pytest.approx(alone)


def test_states_are_carried_farther_in_measuring_than_looks() -> None:
    task, model = both(window=1, context=2)
    looks, looking_model = both(window=1, context=2, attention=looking)
    nats = sum(model(task.collate([item])).total.item() for item in task._windows(examples, 4))
    assert task.results(model, examples).nats == pytest.approx(nats)
    near = looking_model(looks.collate(looks.items(examples))).total.item()
    assert looks.results(looking_model, examples).nats == pytest.approx(near)


@pytest.mark.parametrize(
    "options", [{"window": 0}, {"context": -1}, {"text": {"max_length": 0}}, {"best_metric": "bleu"}]
)
def test_what_makes_no_task(options: dict[str, Any]) -> None:
    with pytest.raises(RegardError):
        Language(**options)


# --- answers -------------------------------------------------------------------------------------------------

odd = ["the", "the cat", "", "   ", "a snowman ☃ sat", "the  dog ", "\ud800", "</s> <s>"]
kinds = ["character", "word", {"name": "bpe", "vocab_size": 30}, {"name": "word", "split": "punctuation"}]


@pytest.mark.thin
@pytest.mark.parametrize("kind", kinds)
@pytest.mark.parametrize("attention", [None, looking, {"score": "scaled_dot", "heads": 2}])
@pytest.mark.parametrize("search", [Greedy(), Beam(beam_size=3, n_best=3), Sample(count=2, seed=1)])
def test_an_answer_begins_as_it_was_begun(kind: Any, attention: Any, search: Any) -> None:
    task, model = both(text={"tokenizer": kind, "max_length": 12}, attention=attention)
    for text, prediction in zip(odd, task.predict(model, [(text,) for text in odd], Ask(search=search)), strict=True):
        assert prediction.source == text
        for one in (prediction, *prediction.others):
            assert one.text.startswith(text.rstrip(" "))
            assert math.isfinite(one.log_prob)
            assert (one.look is None) == (attention is None)
            if one.look is not None:
                begun = len(task.text.encode(text))  # an end before the beginning, none after it
                assert len(one.look.columns) == begun + len(one.look.rows) - 1
                assert np.allclose(one.look.weights.sum(-1), 1, atol=1e-5)
                for row in range(len(one.look.rows)):  # nothing that was said later
                    assert not one.look.weights[..., row, begun + row :].any()
                assert one.look.columns[0].text == "</s>"
                assert one.look.columns[begun:] == one.look.rows[:-1]


def test_the_reader_s_own_words_and_spaces_stay() -> None:
    task, model = both(text={"tokenizer": {"name": "word", "split": "punctuation"}, "max_length": 2})
    with torch.no_grad():
        model.embedding.weight.zero_()
        model.bias.fill_(-50.0)
        model.bias[task.text.encode("cat")[0]] = 0.0
    found = task.predict(model, [("Snowmen sat ",), ("Snowmen, sat",), ("",)], Ask(look=False))
    assert [one.text for one in found] == ["Snowmen sat cat cat", "Snowmen, sat cat cat", "cat cat"]
    assert found[0].log_prob == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("attention", [None, looking])
def test_the_score_is_what_the_loss_says(attention: Any) -> None:
    task, model = both(running=False, attention=attention)
    [prediction] = task.predict(model, [("the cat",)], Ask(search=Sample(count=20, seed=1)))
    ended = [one for one in (prediction, *prediction.others) if len(one.text.split()) < 2 + task.field.max_length]
    assert len({one.text for one in ended}) > 3
    for one in ended:
        [whole] = task.items([Example((one.text,), "")])
        begun = Encoded((whole.inputs[0][:2],), whole.target[:2], (2, 2))
        nats = [model(task.collate([item])).total.item() for item in (begun, whole)]
        assert one.log_prob == pytest.approx(nats[0] - nats[1], abs=1e-5)


@pytest.mark.parametrize("attention", [None, looking])
def test_the_size_of_a_batch_does_not_matter(attention: Any) -> None:
    task, model = both(search={"name": "beam", "beam_size": 3, "n_best": 3}, attention=attention)
    texts = [(text,) for text in odd]
    together, alone = task.predict(model, texts, Ask()), task.predict(model, texts, Ask(batch_tokens=1))
    unseen = task.predict(model, texts, Ask(look=False))
    for one, other, blind in zip(together, alone, unseen, strict=True):
        assert one.text == other.text == blind.text
        assert one.log_prob == pytest.approx(other.log_prob)
        assert [more.text for more in one.others] == [more.text for more in other.others]
        assert blind.look is None
    assert task.predict(model, [], Ask()) == []


def test_what_is_no_text_is_never_said() -> None:
    task, model = both()
    with torch.no_grad():
        model.bias[[Tokenizer.pad, Tokenizer.unknown, Tokenizer.start]] = 50.0
    for prediction in task.predict(model, [("the",), ("a dog",)], Ask()):
        assert not {"<pad>", "<unk>", "<s>"} & set(prediction.text.split())


# --- the whole way -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"data": {"train": "book.txt"}}])
def test_presets_and_defaults_make_a_model(options: dict[str, Any]) -> None:
    task = make_task(configure("language", {**options, "network": {"hidden": 16}}))
    task.learn(examples)
    loss = task.network()(task.collate(task.items(examples)))
    assert torch.isfinite(loss.total)
    assert task.metrics.best == "word_perplexity"


def test_it_reads_text_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one two\n three\n")
    (tmp_path / "a.jsonl").write_text('{"n": 1, "text": "one two"}\n{"n": 2, "text": " three"}\n')
    for name in ("a.txt", "a.jsonl"):
        path = str(tmp_path / name)
        wanted = [Example(("one two",), "", f"{path}:1"), Example((" three",), "", f"{path}:2")]
        assert load_part(path, tuple(Language().fields.values()), Reading(known=Language.known)) == wanted


def test_it_learns_a_text_by_heart(tmp_path: Path) -> None:
    """Twelve words in a ring: after some steps the next is nearly certain, and a beginning is gone on from."""
    from regard.api import train

    ring = "one two three four\nfive six seven eight\nnine ten eleven twelve\n"
    (tmp_path / "ring.txt").write_text(ring * 8)
    done = train(
        "language",
        data={"train": str(tmp_path / "ring.txt"), "valid": str(tmp_path / "ring.txt")},
        out=tmp_path / "run",
        quiet=True,
        text={"tokenizer": "word"},
        network={"hidden": 24, "layers": 1, "input_dropout": 0.0, "output_dropout": 0.0},
        window=12,
        context=4,
        search="greedy",
        train={
            "steps": 60,
            "validate_every": 30,
            "batch_size": 8,
            "lr": 0.03,
            "warmup": 4,
            "ema": 0.0,
            "device": "cpu",
        },
    )
    assert done.outcome.best < 1.2
    model = done.model
    assert model.task.predict(model.network, [("five six",), ("nine",)], Ask())[0].text == "five six seven eight"


def test_a_transformer_serves_too() -> None:
    """Its looks are of all layers where asked for, and what it says is as likely as its loss has it."""
    network = {"name": "transformer", "size": 8, "heads": 2, "layers": 2, "ffn": 8}
    task, model = both(network=network, running=False, window=100)
    (answer,) = task.predict(model.showing("all"), [("the dog",)], Ask())
    assert answer.look is not None
    assert answer.look.names == ("layer 1 head 1", "layer 1 head 2", "layer 2 head 1", "layer 2 head 2")
    rows = len(answer.look.rows)
    assert answer.look.weights.shape == (4, rows, len(answer.look.columns))
    np.testing.assert_allclose(answer.look.weights.sum(-1), 1.0, atol=1e-6)
    words = task.text.encode(answer.text)[:-1]
    with torch.no_grad():
        log_p = torch.log_softmax(model.logits(model.states(torch.tensor([[Tokenizer.end, *words]]))[1])[0], -1)
    found = words[2:] + [Tokenizer.end] * (answer.look.rows[-1].text == task.text.seen[Tokenizer.end])
    assert len(found) == rows
    assert answer.log_prob == pytest.approx(
        sum(log_p[at + 2, token].item() for at, token in enumerate(found)), rel=1e-6
    )
    assert not model.carries


@pytest.mark.parametrize("attention", [None, looking], ids=["plain", "looking"])
def test_texts_that_are_given(attention: Any) -> None:
    """Each by itself, as `results` has them together where lines do not run on; a token each, the end too."""
    task, model = both(attention=attention, running=False, window=100)
    texts = ["the dog sat on the cat", "a dog ran", "the cat"]
    found = task.score(model, [(text,) for text in texts], Ask())
    for text, one in zip(texts, found, strict=True):
        alone = task.results(model, [Example((text,), "", "")])
        assert one.log_prob == pytest.approx(-alone.nats, rel=1e-6)
        assert [piece.text for piece, _ in one.tokens] == [*text.split(), task.text.seen[Tokenizer.end]]
        assert sum(value for _, value in one.tokens) == pytest.approx(one.log_prob)
        assert (one.look is None) == (attention is None)
        if one.look is not None:
            count = len(one.tokens)
            assert one.look.weights.shape == (count, count)
            assert not np.triu(one.look.weights, 1).any()
    assert task.score(model, [("a dog ran",)], Ask(look=False))[0].look is None
