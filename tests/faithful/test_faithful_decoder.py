"""Probe of a decoder: own weights give the own answer under every decoder that looks."""

from dataclasses import replace
from typing import Any

import pytest
import torch

from regard.attend.normalizer import Normalized
from regard.attend.normalizer.softmax import Softmax
from regard.errors import RegardError
from regard.faithful.decoder import GivenWeights, Held, attention_of, normalized_by, probe_decoder
from regard.faithful.measures import total_variation
from regard.faithful.probe import Probe, frozen
from regard.tasks.caption import Caption
from regard.tasks.translate import Translate
from regard.text import Tokenizer
from regard.train.task import Ask
from regard.types import Example, Sequences
from small_pictures import captions, small_image

examples = [
    Example(("ein Mann schläft gern",), "a man sleeps"),
    Example(("ein Hund",), "a dog"),
    Example(("der Hund schläft",), "the dog sleeps"),
]
recurrent: dict[str, Any] = {"name": "recurrent", "embed": 8, "hidden": 8, "dropout": 0.3}
transformer: dict[str, Any] = {"name": "transformer", "size": 8, "layers": 2, "heads": 2, "ffn": 8}
decoders: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "before": (recurrent, {"score": "additive"}),
    "after": (recurrent | {"place": "after", "feed": False}, {"score": "bilinear"}),
    "feeding": (recurrent | {"place": "after", "cell": "lstm", "layers": 2}, {"score": "additive"}),
    "features": (recurrent, {"score": "feature_wise"}),
    "heads": (recurrent, {"score": "scaled_dot", "heads": 2}),
    "sparse": (recurrent, {"score": "additive", "normalizer": "sparsemax"}),
    "chosen": (recurrent, {"score": "additive", "normalizer": "sample"}),
    "markov": (recurrent, {"score": "additive", "bias": ("markov", "fertility")}),
    "lstmn": ({"name": "lstmn", "embed": 8, "hidden": 8}, {"score": "additive"}),
    "deep": ({"name": "lstmn", "embed": 8, "hidden": 8, "fusion": "deep"}, {"score": "additive"}),
    "transformer": (transformer, {"score": "scaled_dot"}),
    "mean": (transformer | {"look": "mean"}, {"score": "scaled_dot"}),
}


def made(name: str = "before", **options: Any) -> tuple[Translate, Any]:
    torch.manual_seed(1)
    decoder, attention = decoders[name]
    task = Translate(
        source={"name": "text", "tokenizer": "word", "embed": {"dim": 8, "dropout": 0.3}},
        target={"tokenizer": "word", "max_length": 6},
        encoder={"name": "recurrent", "hidden": 4},
        decoder=decoder,
        attention=attention,
        **options,
    )
    task.learn(examples)
    model = task.network().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 1.2 if decoder["name"] == "transformer" else 2.5  # sharper than at the start of training
    return task, model


@pytest.mark.parametrize("name", decoders)
def test_own_weights_give_the_own_answer(name: str) -> None:
    task, model = made(name)
    attention = attention_of(model.decoder)
    own = attention.normalizer
    answers = {one.source: one for one in task.predict(model, [e.inputs for e in examples], Ask())}
    count = 0
    for one in probe_decoder(task, frozen(model), examples):
        again = one.answer(one.weights.unsqueeze(1))
        torch.testing.assert_close(again.squeeze(1), one.p, atol=1e-6, rtol=0)
        twice = one.answer(one.weights.unsqueeze(1).expand(-1, 3, -1, -1))
        torch.testing.assert_close(twice[:, 2], one.p, atol=1e-6, rtol=0)
        assert attention.normalizer is own
        count += len(one.examples)
        for case, row in enumerate(one.examples):
            attention_map = answers[examples[row].source].look
            length = int(one.mask[case].sum())
            if name != "mean":  # which shows more than the last layer
                shown = torch.from_numpy(attention_map.heads.copy()).float()[:, one.word, :].mean(0)
                torch.testing.assert_close(one.weights[case].mean(0)[:length], shown, atol=1e-5, rtol=1e-4)
            assert one.said[case] == attention_map.rows[one.word].text
    assert count == sum(len(answer.look.rows) for answer in answers.values())


def probed(name: str = "before", some: Any = examples, **options: Any) -> tuple[Any, Any, list[Probe]]:
    task, model = made(name)
    return task, model, list(probe_decoder(task, frozen(model), some, **options))


def test_other_weights_change_one_step_only() -> None:
    """By hand for Luong's decoder, whose look comes after its step: logits of tanh(W [Σ a_i h_i; s])."""
    _, model, found = probed("after")
    one = found[1]
    even = (one.mask / one.mask.sum(1, keepdim=True)).unsqueeze(1)
    state, decoder = one.answer.state, model.decoder  # type: ignore[attr-defined]
    with torch.no_grad():
        token = one.answer.token  # type: ignore[attr-defined]
        _, _, s = decoder._advance(state, decoder._embed(token), decoder._maps())
        c = even @ state.memory.values
        r = torch.tanh(decoder.readout(torch.cat([c, s], -1)))
        expected = torch.softmax(decoder._logits(r), -1)
        torch.testing.assert_close(one.answer(even.unsqueeze(1)), expected, atol=1e-6, rtol=0)
    assert float(total_variation(expected.squeeze(1), one.p).max()) > 1e-4


def outputs_of(found: list[Probe], task: Any) -> dict[int, list[int]]:
    words: dict[int, list[int]] = {}
    for one in found:
        for case, row in enumerate(one.examples):
            words.setdefault(row, []).append(task.target.text.seen.index(one.said[case]))
    return words


def test_leaving_one_out_reads_the_same_output_again() -> None:
    task, model, found = probed()
    words = outputs_of(found, task)
    sources = [item.inputs[0] for item in task.items(examples)]
    for one in found:
        for case, row in enumerate(one.examples):
            for place in range(len(sources[row])):
                short = [token for at, token in enumerate(sources[row]) if at != place]
                before = torch.tensor([[Tokenizer.start, *words[row][:-1]]])
                with torch.no_grad():
                    _, logits = model.decoder.unroll(model.encode(Sequences.pad([short])), before)
                q = torch.softmax(logits[0, one.word], -1)
                assert float(one.leave_one_out[case, place]) == pytest.approx(
                    float(total_variation(one.p[case], q)), abs=1e-5
                )


@pytest.mark.parametrize("name", ["before", "after", "transformer"])
def test_gradients_are_slopes_with_the_weights_held(name: str) -> None:
    """By central differences, the final attention replaying the weights of each of its steps."""
    task, model, found = probed(name, examples[:1])
    words, [source] = outputs_of(found, task)[0], [item.inputs[0] for item in task.items(examples[:1])]
    before, read = torch.tensor([[Tokenizer.start, *words[:-1]]]), model.embed(Sequences.pad([source]))

    class Replayed(Softmax):
        """The weights that were recorded, look by look; none of them comes from these scores."""

        kernel = None

        def __init__(self) -> None:
            super().__init__()
            self.recorded: list[Normalized] = []
            self.turn, self.recording = 0, True

        def forward(self, scores: Any, mask: Any = None) -> Normalized:
            if self.recording:
                self.recorded.append(super().forward(scores, mask))
            self.turn += 1
            return self.recorded[(self.turn - 1) % len(self.recorded)]

    replay = Replayed()
    decoder = normalized_by(model.decoder, attention_of(model.decoder), replay)

    def p(scale: torch.Tensor) -> torch.Tensor:
        memory = model.encoder(replace(read, values=read.values * scale[None, :, None]))
        logits = decoder.unroll(memory, before)[1]
        return torch.softmax(logits, -1)[0, torch.arange(len(words)), words]

    with torch.no_grad():
        p(torch.ones(len(source)))
        replay.recording = False
        for place in range(len(source)):
            step = torch.zeros(len(source))
            step[place] = 2e-3
            slope = (p(1 + step) - p(1 - step)) / 4e-3
            ours = torch.stack([one.gradient[0, place] for one in found])
            torch.testing.assert_close(ours, slope.abs(), atol=1e-3, rtol=2e-2)


def test_alone_as_in_a_batch() -> None:
    _, _, found = probed()
    _, _, alone = probed(some=[examples[1]])
    short = [(one, one.examples.index(1)) for one in found if 1 in one.examples]
    assert len(short) == len(alone)
    for (one, case), other in zip(short, alone, strict=True):
        for name in ("weights", "gradient", "leave_one_out"):
            ours = getattr(one, name)[case]
            length = other.mask.shape[1]
            torch.testing.assert_close(ours[..., :length], getattr(other, name)[0], atol=1e-5, rtol=1e-4)
            assert float(ours[..., length:].abs().sum()) == 0


def test_some_words_are_drawn_by_the_seed() -> None:
    def places(found: list[Probe]) -> list[tuple[int, int | None]]:
        return sorted((row, one.word) for one in found for row in one.examples)

    every, some, again, other = (places(probed(words=w, seed=s)[2]) for w, s in ((0, 0), (2, 0), (2, 0), (2, 5)))
    assert set(some) < set(every)
    assert all(sum(row == n for row, _ in some) <= 2 for n in range(3))
    assert some == again
    assert some != other
    assert sum(one.worth for one in probed(words=2)[2]) == pytest.approx(3)


def test_a_decoder_that_looks_at_nothing_is_refused() -> None:
    decoders["plain"] = ({"name": "plain", "embed": 8, "hidden": 8}, {})
    try:
        task, model = made("plain")
    finally:
        del decoders["plain"]
    with pytest.raises(RegardError, match=r"decoder=plain has no attention.*decoder=recurrent"):
        next(probe_decoder(task, frozen(model), examples))


def test_given_and_held_by_hand() -> None:
    scores = torch.tensor([[0.0, 1.0]], requires_grad=True)
    given = GivenWeights(torch.tensor([[0.25, 0.75]]))(scores)
    assert given.weights(torch.float32).tolist() == [[0.25, 0.75]]
    held = Held(Softmax())
    weights = held(scores).weights(torch.float32)
    torch.testing.assert_close(weights, torch.softmax(scores.detach(), -1))
    assert not weights.requires_grad
    assert held.last is weights


def test_a_caption_of_a_picture() -> None:
    """A part that is left out is blank in the picture that is read again, under the same words."""
    torch.manual_seed(1)
    task = Caption(
        image={**small_image, "embed": {"dim": 8, "blocks": 2}},
        decoder=recurrent | {"cell": "lstm", "gate": True, "output": "deep", "init_cell": True},
    )
    task.learn(captions)
    model = frozen(task.network().eval())
    with torch.no_grad():
        for parameter in model.decoder.parameters():
            parameter *= 2.5
    some, field = captions[:2], task.inputs["image"]
    found = list(probe_decoder(task, model, some))
    assert all(one.weights.shape[-1] == 4 for one in found)
    first = found[0]
    torch.testing.assert_close(first.answer(first.weights.unsqueeze(1)).squeeze(1), first.p, atol=1e-6, rtol=0)
    start = torch.tensor([[Tokenizer.start]])
    for case, row in enumerate(first.examples):
        [whole] = field.encode([some[row].source], ["here"])
        for place in range(4):
            blank = field.collate([field.drop(whole, [place])])
            q = torch.softmax(model.decoder.unroll(model.encode(blank), start)[1][0, 0], -1)
            expected = float(total_variation(first.p[case], q))
            assert float(first.leave_one_out[case, place]) == pytest.approx(expected, abs=1e-6)
    assert float(first.leave_one_out.max()) > 0
