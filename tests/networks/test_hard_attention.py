"""Hard attention in a decoder: its estimate against the exact gradient by enumeration, and that it learns."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from generation_tasks import sides
from regard import api
from regard.attend.attention import Attention
from regard.attend.bias import Bias
from regard.attend.normalizer import Normalized, Normalizer
from regard.attend.normalizer.sample import Sample
from regard.attend.reinforce import Reinforce
from regard.encode import Encoder
from regard.errors import RegardError
from regard.networks.encoder_decoder import EncoderDecoder, shifted
from regard.networks.hard_attention import drawing, rewards, samples
from regard.tasks.agree import Agree
from regard.tasks.caption import Caption
from regard.tasks.describe import Describe
from regard.tasks.language import Language
from regard.tasks.summarise import Summarise
from regard.tasks.translate import Translate
from regard.train.log import read
from regard.train.step import step
from regard.types import Batch, Example, Look, Memory, Sequences
from small_pictures import captions, small_image

examples = [Example(("ab",), "x"), Example(("a",), "yx"), Example(("",), ""), Example(("babb",), "xyy")]
recurrent: dict[str, Any] = {"name": "recurrent", "embed": 3, "hidden": 3, "dropout": 0.0}
lstmn: dict[str, Any] = {"name": "lstmn", "embed": 3, "hidden": 3, "dropout": 0.0}
transformer: dict[str, Any] = {"name": "transformer", "size": 4, "heads": 1, "ffn": 4, "dropout": 0.0}
hard: dict[str, Any] = {"score": {"name": "additive", "hidden": 3}, "normalizer": "sample"}
# The decoder, its attention, and whether a look has a part in later steps.
kinds: dict[str, tuple[dict[str, Any], dict[str, Any], bool]] = {
    "before": (recurrent, hard, True),
    "after": (recurrent | {"place": "after", "feed": False}, hard, False),
    "feeding": (recurrent | {"place": "after"}, hard, True),
    "markov": (recurrent | {"place": "after", "feed": False}, {**hard, "bias": ("markov",)}, True),
    "heads": (recurrent, {"score": "scaled_dot", "normalizer": "sample", "heads": 2, "size": 4}, True),
    "shallow": (lstmn, hard, False),
    "deep": (lstmn | {"fusion": "deep"}, hard, True),
    "transformer": (transformer | {"layers": 2}, {"score": "scaled_dot", "normalizer": "sample"}, True),
    "one layer": (transformer | {"layers": 1}, {"score": "scaled_dot", "normalizer": "sample"}, False),
    "self": (transformer | {"layers": 2, "normalizer": "sample"}, {"score": "scaled_dot"}, True),
}
every = pytest.mark.parametrize("name", kinds)


def made(name: str = "before", sharper: float = 3.0, **options: Any) -> tuple[Translate, EncoderDecoder]:
    torch.manual_seed(2)
    decoder, attention, _ = kinds[name]
    given: dict[str, Any] = {
        "decoder": decoder,
        "attention": attention,
        "label_smoothing": 0.0,
        **options,
    }
    task = Translate(**sides(dim=3), encoder={"name": "recurrent", "hidden": 2}, **given)
    task.learn(examples)
    model = task.network().double()
    with torch.no_grad():
        for parameter in model.parameters():  # else all keys are nearly alike
            parameter *= sharper if decoder["name"] != "transformer" else sharper / 2
        for one in model.modules():
            if isinstance(one, Bias):  # which may begin as nothing
                for parameter in one.parameters():
                    parameter.normal_()
    return task, model


def batch_of(task: Any, some: list[Example]) -> Batch:
    return task.collate(task.items(some))


def before_of(batch: Batch) -> tuple[Sequences, Tensor]:
    """A batch's target, and the tokens before each of its own."""
    assert isinstance(batch.target, Sequences)
    return batch.target, shifted(batch.target)


def hard_ones(model: nn.Module) -> list[Attention]:
    return [one for one in model.modules() if isinstance(one, Attention) and isinstance(one.normalizer, Sample)]


def scoring(model: EncoderDecoder) -> list[nn.Parameter]:
    """Parameters that speak through scores alone."""
    found = []
    for one in hard_ones(model):
        found += list(one.score.parameters())
        if one.heads is not None and hasattr(one.heads, "W_q"):
            found += [one.heads.W_q.weight, one.heads.W_k.weight]
    blocks: Any = getattr(model.decoder, "blocks", ())
    if any(isinstance(block.attending.attention.normalizer, Sample) for block in blocks):
        found += [block.attending.W_qkv.weight for block in blocks]
    return found


def close(one: Tensor, other: Tensor) -> None:
    """As near as a loss in float32 lets them be."""
    torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


# --- the estimate --------------------------------------------------------------------------------------------


class Told(Normalizer):
    """Takes the keys it is told, `[row, (head,) step]`, step after step, and says how likely they were."""

    def __init__(self, choices: Tensor) -> None:
        super().__init__()
        self.choices, self.at = choices, 0

    def forward(self, scores: Tensor, mask: Tensor | None = None) -> Normalized:
        low = scores if mask is None else scores.masked_fill(~mask, -1e30)
        log_p = low.log_softmax(-1)
        choice = self.choices[..., self.at : self.at + scores.shape[-2]].expand(scores.shape[:-1])
        self.at += scores.shape[-2]
        log_prob = log_p.gather(-1, choice.unsqueeze(-1)).squeeze(-1)
        return Normalized(choice=choice, keys=scores.shape[-1], log_prob=log_prob, entropy=torch.zeros_like(log_prob))


def all_choices(model: EncoderDecoder, keys: int, steps: int) -> tuple[list[Attention], list[Tensor]]:
    """Every attention that draws, and for each the keys it is told, all combinations one below the other."""
    attentions = hard_ones(model)
    heads = [1 if one.heads is None else one.heads.heads for one in attentions]
    table = torch.tensor(list(itertools.product(range(keys), repeat=sum(heads) * steps)))
    parts = table.reshape(len(table), sum(heads), steps).split(heads, dim=1)
    return attentions, [
        part if one.heads is not None else part.squeeze(1) for one, part in zip(attentions, parts, strict=True)
    ]


def exact(task: Any, model: EncoderDecoder, example: Example, keys: int) -> list[Tensor]:
    """∂ Σ_s p(s) nats(s), all s at once."""
    steps = len(task.items([example])[0].target)
    attentions, told = all_choices(model, keys, steps)
    batch = batch_of(task, [example] * len(told[0]))
    for one, choices in zip(attentions, told, strict=True):
        one.normalizer = Told(choices)
    target, before = before_of(batch)
    look, logits = model.decoder.unroll(model.encode(batch.source), before)
    for one in attentions:
        one.normalizer = Sample()
    nats = cross_entropy(logits.transpose(1, 2), target.values, reduction="none").sum(1)
    assert look.log_prob is not None
    p = look.log_prob.flatten(1).sum(1).exp()
    torch.testing.assert_close(p.sum(), torch.ones_like(p[0]))
    return list(torch.autograd.grad((p * nats).sum(), list(model.parameters()), allow_unused=True))


@pytest.mark.thin
@pytest.mark.parametrize("baseline", ["none", "moving"])
@every
def test_the_mean_of_the_estimate_is_the_exact_gradient(name: str, baseline: str) -> None:
    """Each way to choose by itself, with its own probability: no bias at all, whatever part of the reward is left out
    and whatever b is. "a" and its end are two keys; "x" and its end two steps."""
    task, model = made(name, reinforce={"baseline": baseline})
    model.eval()  # the baseline stays as it is
    assert model.reinforce is not None
    model.reinforce.average.fill_(-1.7)
    model.reinforce.started.fill_(True)
    example = Example(("a",), "x")
    parameters = list(model.parameters())
    wanted = exact(task, model, example, keys=2)
    attentions, told = all_choices(model, 2, 2)
    batch = batch_of(task, [example])
    found = [torch.zeros_like(parameter) for parameter in parameters]
    for row in range(len(told[0])):
        for one, choices in zip(attentions, told, strict=True):
            one.normalizer = Told(choices[row : row + 1])
        loss, look = model.looked(batch)
        assert look.log_prob is not None
        p = look.log_prob.detach().sum().exp()
        for total, part in zip(found, torch.autograd.grad(loss.total, parameters, allow_unused=True), strict=True):
            total += 0.0 if part is None else p * part
    for one, other in zip(found, wanted, strict=True):
        close(one, torch.zeros_like(one) if other is None else other)
    assert any(bool(one.any()) for one in wanted if one is not None)


@pytest.mark.parametrize(("name", "expected"), [("before", 0.0), ("after", 0.0), ("before", 0.5)])
def test_what_is_drawn_gives_the_exact_gradient(name: str, expected: float) -> None:
    """Three keys, two steps, 30 batches of 200 draws: within three standard errors, the baseline moving as they go.
    With a chance of ½ the other half is the gradient under the expected value."""
    task, model = made(name, reinforce={"expected": expected})
    example, weights = Example(("ab",), "x"), scoring(model)
    numbers = [i for i, one in enumerate(model.parameters()) if any(one is other for other in weights)]
    wanted = [(1 - expected) * one for one in (exact(task, model, example, 3)[i] for i in numbers)]
    if expected:
        _, soft = made(name, attention={**hard, "normalizer": "softmax"})
        loss = soft(batch_of(task, [example])).total
        of_soft = torch.autograd.grad(loss, list(soft.parameters()))
        wanted = [one + expected * of_soft[i] for one, i in zip(wanted, numbers, strict=True)]
    directions = [torch.randn(4, *one.shape, dtype=one.dtype) for one in weights]  # few numbers, not every weight's

    def along(gradients: Any) -> Tensor:
        return torch.stack([(d * g).flatten(1).sum(1) for d, g in zip(directions, gradients, strict=True)]).sum(0)

    model.train()
    batch = batch_of(task, [example] * 200)
    model(batch)  # there is an average before the first that counts
    drawn = torch.stack([along(torch.autograd.grad(model(batch).total / 200, weights)) for _ in range(30)])
    error = drawn.std(0) / len(drawn) ** 0.5
    assert ((drawn.mean(0) - along(wanted)).abs() <= 3 * error).all()
    assert (error < 0.2 * along(wanted).abs()).any()  # three errors are not a barn door


def test_captions_of_a_map_of_two_by_two_give_the_exact_gradient() -> None:
    """Two words and an end over four parts of a picture: 64 ways to look, all enumerated, against 12 batches of 200
    draws with a moving average and every second caption under its expected value. Within three standard errors."""
    torch.manual_seed(2)
    decoder = {**recurrent, "cell": "lstm", "gate": True, "output": "deep", "init_cell": True}
    sizes: dict[str, Any] = {"image": {**small_image, "embed": {"dim": 4, "blocks": 2}}, "decoder": decoder}
    task, soft = Caption(**sizes, attention=hard), Caption(**sizes, attention={**hard, "normalizer": "softmax"})
    for one in (task, soft):
        one.learn(captions)
    # As in use, not in training: there a batch of one picture many times has no variance to be normalised by.
    model, softly = task.network().double().eval(), soft.network().double().eval()
    with torch.no_grad():
        for parameter in (*model.decoder.parameters(), model.embed.row, model.embed.column):
            parameter.normal_()  # else all parts of the picture are nearly alike
    softly.load_state_dict({k: v for k, v in model.state_dict().items() if not k.startswith("reinforce")})
    softly.doubly_stochastic = 0.0
    example, weights = Example(captions[0].inputs, "red dot"), scoring(model)
    numbers = [i for i, one in enumerate(model.parameters()) if any(one is other for other in weights)]

    sampled = exact(task, model, example, keys=4)
    expected = torch.autograd.grad(softly(batch_of(task, [example])).total, list(softly.parameters()))
    wanted = [0.5 * (sampled[i] + expected[i]) for i in numbers]
    directions = [torch.randn(4, *one.shape, dtype=one.dtype) for one in weights]

    def along(gradients: Any) -> Tensor:
        return torch.stack([(d * g).flatten(1).sum(1) for d, g in zip(directions, gradients, strict=True)]).sum(0)

    assert model.reinforce is not None
    model.reinforce.train()
    hard_ones(model)[0].normalizer.train()
    batch = batch_of(task, [example] * 200)
    model(batch)  # there is an average before the first that counts
    drawn = torch.stack([along(torch.autograd.grad(model(batch).total / 200, weights)) for _ in range(12)])
    error = drawn.std(0) / len(drawn) ** 0.5
    assert ((drawn.mean(0) - along(wanted)).abs() <= 3 * error).all()
    assert (error < 0.2 * along(wanted).abs()).any()  # three errors are not a barn door


@every
def test_carries_says_what_a_look_has_a_part_in(name: str) -> None:
    """A key taken at one step changes nothing before it, and later steps where the decoder says so."""
    carries = kinds[name][2]
    task, model = made(name)
    model.eval()
    assert model.decoder.carries == carries
    attentions = hard_ones(model)
    batch = batch_of(task, [examples[3]])  # five keys, four steps
    _, before = before_of(batch)
    memory = model.encode(batch.source)

    def said(second: int) -> Tensor:
        """The logits of every step, and how likely its own key was: a bias may be all that remembers."""
        keys = torch.tensor([[0, second, 1, 1]])
        for one in attentions:
            one.normalizer = Told(keys if one.heads is None else keys.unsqueeze(1))
        with torch.no_grad():
            look, logits = model.decoder.unroll(memory, before)
        assert look.log_prob is not None
        drawn = look.log_prob if look.log_prob.dim() == 2 else look.log_prob.sum(1)
        return torch.cat([logits[0], drawn[0, :, None]], 1)

    one, other = said(0), said(1)
    same = [torch.allclose(one[j], other[j], rtol=0, atol=1e-12) for j in range(4)]
    assert same[:2] == [True, False]
    assert all(same[2:]) is not carries


def test_rewards_by_hand() -> None:
    log_p = torch.tensor([[-1.0, -2.0, -4.0], [-3.0, -5.0, -7.0]], requires_grad=True)
    there = torch.tensor([[True, True, True], [True, False, False]])
    R, n = rewards(log_p, there, carries=True)
    assert R[0].tolist() == pytest.approx([-7 / 3, -3, -4])
    assert R[1].tolist() == [-3, 0, 0]
    assert n.tolist() == [[3, 2, 1], [1, 0, 0]]
    alone, one = rewards(log_p, there, carries=False)
    assert alone.tolist() == [[-1, -2, -4], [-3, 0, 0]]
    assert one.tolist() == there.float().tolist()
    assert not R.requires_grad


def test_the_loss_by_hand() -> None:
    """One sentence, two steps, no baseline: the nats, −½ (R_1 log p(s_1) + R_2 log p(s_2)), −¼ of the entropies."""
    task, model = made(reinforce={"baseline": "none", "scale": 0.5, "bonus": 0.25})
    model.eval()
    loss, look = model.looked(batch_of(task, [examples[0]]))
    assert look.log_prob is not None
    assert look.entropy is not None
    target, before = before_of(batch_of(task, [examples[0]]))
    _, logits = model.decoder.unroll(model.encode(batch_of(task, [examples[0]]).source), before)
    first, second = logits.log_softmax(-1)[0].gather(-1, target.values[0, :, None])[:, 0].tolist()
    s, H = look.log_prob[0].tolist(), look.entropy[0].sum().item()
    policy = -0.5 * ((first + second) * s[0] + second * s[1]) - 0.25 * H
    assert loss.total.item() == pytest.approx(-first - second + policy)
    assert loss.shown is not None
    assert loss.shown.item() == pytest.approx(-first - second)
    assert loss.notes["reward"].item() == pytest.approx((first + second) / 2)
    assert loss.notes["entropy"].item() == pytest.approx(H / 2)


# --- what is there and what is not ---------------------------------------------------------------------------


@every
def test_padding_has_no_part(name: str) -> None:
    """Outside training the likeliest keys are taken: alone and in a batch, the same loss and the same gradients."""
    task, model = made(name, label_smoothing=0.1, reinforce={"baseline": "none", "bonus": 0.1})
    model.eval()
    together = model(batch_of(task, examples))
    alone = [model(batch_of(task, [one])) for one in examples]
    close(together.total, torch.stack([one.total for one in alone]).sum())
    parts = [torch.autograd.grad(total, scoring(model)) for total in (together.total, sum(one.total for one in alone))]
    for one, other in zip(*parts, strict=True):
        assert one.isfinite().all()
        close(one, other)


@every
def test_a_step_of_training_moves_what_scores(name: str) -> None:
    task, model = made(name, reinforce={"bonus": 0.0})
    model.train()
    before = [one.detach().clone() for one in scoring(model)]
    optimiser = torch.optim.SGD(model.parameters(), 0.5)
    step(model, batch_of(task, examples), optimiser, 1.0, clip=1.0, precision="float32")
    assert before
    assert not any(torch.equal(one, other) for one, other in zip(before, scoring(model), strict=True))


@pytest.mark.parametrize("name", ["before", "after", "transformer"])
def test_nothing_changes_where_nothing_samples(name: str) -> None:
    """The loss is the cross entropy to the last bit, and no random number, parameter or note is new."""
    soft = {**kinds[name][1], "normalizer": "softmax"}
    task, model = made(name, attention=soft, label_smoothing=0.1)
    _, other = made(name, attention=soft, label_smoothing=0.1, reinforce={"baseline": "learned", "expected": 0.5})
    assert model.reinforce is None
    assert model.state_dict().keys() == other.state_dict().keys()
    assert not any("reinforce" in key for key in model.state_dict())
    batch = batch_of(task, examples)
    target, before = before_of(batch)
    for one in (model.train(), other.train()):
        torch.manual_seed(5)
        loss = one(batch)
        after = torch.rand(1)
        torch.manual_seed(5)
        _, logits = one.decoder.unroll(one.encode(batch.source), before)
        assert torch.equal(torch.rand(1), after)
        nats = cross_entropy(
            logits.flatten(0, 1),
            target.values.flatten(),
            ignore_index=0,
            reduction="sum",
            label_smoothing=0.1,
        )
        assert torch.equal(loss.total, nats)
        assert loss.shown is None
        assert loss.notes.keys() == {"label_smoothing"}


def test_the_likeliest_key_unless_asked() -> None:
    batch = batch_of(made()[0], examples)
    for always in (False, True):
        normalizer = {"name": "sample", "always": always}
        _, model = made(sharper=1.0, attention={**hard, "normalizer": normalizer})
        model.eval()
        torch.manual_seed(1)
        found = [model.decoder.unroll(model.encode(batch.source), before_of(batch)[1])[1] for _ in range(3)]
        assert all(torch.equal(one, found[0]) for one in found) is not always


# --- the expected value --------------------------------------------------------------------------------------


@every
def test_of_some_sentences_the_expected_value_is_read(name: str) -> None:
    """At all steps, in all heads and layers, or at none (Xu et al. 2015, section 4.1)."""
    options = {"normalizer": "softmax"}
    decoder, attention, _ = kinds[name]
    task, model = made(name, reinforce={"expected": 0.5})
    _, soft = made(name, attention={**attention, **options}, decoder={**decoder, **(options if name == "self" else {})})
    batch = batch_of(task, examples * 3)
    target, before = before_of(batch)
    _, expected = soft.decoder.unroll(soft.encode(batch.source), before)
    model.train()
    memory = model.encode(batch.source)
    torch.manual_seed(1)
    with drawing(model.reinforce, memory) as kept:
        _, logits = model.decoder.unroll(memory, before)
    assert kept is not None
    assert 0 < int(kept.sum()) < 12
    torch.testing.assert_close(logits[~kept], expected[~kept])
    several = kept & (batch.source.lengths > 1) & (target.lengths > 1)
    assert not torch.allclose(logits[several], expected[several])

    assert model.reinforce is not None
    model.reinforce.expected, model.reinforce.baseline = 1.0, "none"
    loss, of_soft = model(batch), soft(batch)
    close(loss.total, of_soft.total.double())
    for one, other in zip(
        torch.autograd.grad(loss.total, list(model.parameters()), allow_unused=True),
        torch.autograd.grad(of_soft.total, list(soft.parameters()), allow_unused=True),
        strict=True,
    ):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            close(one, other)
    assert loss.notes["reward"] == 0  # nobody drew anything
    assert not model.reinforce.started
    with drawing(model.eval().reinforce, memory) as kept:
        assert kept is None


def test_draws_of_a_sentence_keep_their_samples_together() -> None:
    """Each is measured by the others, and all are there to measure it by; at the beginning nobody draws."""
    task, model = made(reinforce={"baseline": "others", "samples": 3, "expected": 0.5, "anneal": 0.5})
    memory = model.train().encode(batch_of(task, examples * 9).source)
    with drawing(model.reinforce, memory, progress=1.0, copies=3) as kept:
        assert kept is not None
        assert 0 < int(kept.sum()) < 36
        assert (kept.view(3, -1) == kept.view(3, -1)[0]).all()
    with drawing(model.reinforce, memory, progress=0.0, copies=3) as kept:
        assert kept is not None
        assert not kept.any()


def test_samples_come_back_whatever_happens() -> None:
    """After an error, too, every sentence is sampled: each weight is 0 or 1."""
    task, model = made(reinforce={"expected": 1.0})
    batch = batch_of(task, examples)
    memory = model.train().encode(batch.source)

    def drawn() -> bool:
        look, _ = model.decoder.unroll(memory, before_of(batch)[1])
        return bool(((look.weights == 0) | (look.weights == 1)).all())

    assert drawn()
    with drawing(model.reinforce, memory):
        assert not drawn()
    with pytest.raises(KeyError), drawing(model.reinforce, memory):
        raise KeyError
    assert drawn()


def test_a_learned_baseline_reads_what_is_known_before() -> None:
    """Its value is learned from the mean of the memory, which gets no gradient from it."""
    task, model = made(reinforce={"baseline": "learned", "scale": 0.0})
    model.train()
    assert model.reinforce is not None
    assert model.reinforce.value is not None
    given: list[Tensor] = []
    model.reinforce.value.register_forward_pre_hook(lambda _, inputs: given.append(inputs[0]))
    batch = batch_of(task, examples)
    loss = model(batch)
    memory = model.encode(batch.source)
    means = [values[there].mean(0) for values, there in zip(memory.values, batch.source.mask, strict=True)]
    target = batch.target
    assert isinstance(target, Sequences)
    rows = [mean for mean in means for _ in range(target.mask.shape[1])]  # of every step, be it there or not
    torch.testing.assert_close(given[0], torch.stack(rows))
    loss.total.backward()
    assert model.reinforce.value.weight.grad is not None
    assert model.reinforce.value.weight.grad.any()


def test_several_draws_of_a_sentence_are_measured_by_each_other() -> None:
    """Two draws of every sentence, b of a step being the reward of the other one's; the loss is the mean of both."""
    task, model = made(reinforce={"baseline": "others", "samples": 2}, attention={**hard, "normalizer": "sample"})
    model.train()
    batch, encoded = batch_of(task, examples[:2]), []
    model.encoder.register_forward_hook(lambda _, __, memory: encoded.append(len(memory.keys)))
    torch.manual_seed(1)
    loss, look = model.looked(batch)
    assert encoded == [2]
    target, before = before_of(batch)
    assert loss.count == int(target.lengths.sum())
    rows = torch.tensor([0, 1, 0, 1])
    torch.manual_seed(1)
    _, logits = model.decoder.unroll(model.encode(batch.source).select(rows), before[rows])
    nats = cross_entropy(logits.transpose(1, 2), target.values[rows], ignore_index=0, reduction="none")
    assert loss.shown is not None
    close(loss.shown, nats.sum() / 2)
    R, n = rewards(-nats, target.mask[rows], carries=True)
    others = R[torch.tensor([2, 3, 0, 1])]
    assert look.log_prob is not None
    close(loss.total, (nats.sum() - ((R - others) * n * look.log_prob).sum()).double() / 2)


def test_own_words_that_are_shown_carry_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Under scheduled sampling a choice may answer for later steps even where the decoder carries nothing."""
    from regard.networks import encoder_decoder

    asked: list[bool] = []
    honest: Callable[..., Any] = encoder_decoder.taught

    def heard(reinforce: Reinforce, look: Look, nats: Tensor, there: Tensor, carries: bool, *rest: Any) -> Any:
        asked.append(carries)
        return honest(reinforce, look, nats, there, carries, *rest)

    monkeypatch.setattr(encoder_decoder, "taught", heard)
    for teach in ({}, {"scheduled_sampling": "linear", "min_truth": 0.5}):
        task, model = made("shallow", teach=teach)
        model.train()(batch_of(task, examples))
        model.eval()(batch_of(task, examples))
    assert asked == [False, False, True, False]


# --- where it cannot work ------------------------------------------------------------------------------------


def test_losses_of_weights_do_not_go_with_drawn_ones() -> None:
    with pytest.raises(RegardError, match=r"^fertility=0\.5 and a normalizer that samples; expected a differentiable"):
        made(fertility=0.5)
    sizes = sides(dim=3)
    agree = Agree(**sizes, encoder={"name": "recurrent", "hidden": 2}, decoder=recurrent, attention=hard)
    agree.learn(examples)
    with pytest.raises(RegardError, match=r"^gamma=1\.0 and a normalizer that samples"):
        agree.network()
    encoder = {"name": "transformer", "size": 4, "heads": 1, "layers": 1, "normalizer": "sample"}
    task = Translate(**sizes, encoder=encoder, decoder=recurrent)
    task.learn(examples)
    with pytest.raises(RegardError, match=r"^encoder\.normalizer=sample is not differentiable"):
        task.network()


def test_what_nothing_would_teach_is_refused() -> None:
    """A choice whose policy has no gradient of its own would stay as it began, and nobody would know."""
    task = Translate(**sides(dim=3), encoder={"name": "resan", "hidden": 2}, decoder=recurrent)
    task.learn(examples)
    with pytest.raises(RegardError, match=r"^encoder=resan selects tokens, which this task cannot train;"):
        task.network()
    language = Language(attention={"score": "dot", "normalizer": "sample"})
    language.learn([Example(("a b a b",), "")])
    with pytest.raises(RegardError, match=r"^attention\.normalizer=sample is not differentiable"):
        language.network()


def test_both_directions_are_taught() -> None:
    torch.manual_seed(1)
    agree = Agree(
        **sides(dim=3), encoder={"name": "recurrent", "hidden": 2}, attention=hard, decoder=recurrent, gamma=0.0,
        label_smoothing=0.0, reinforce={"bonus": 0.1},
    )  # fmt: skip
    agree.learn(examples)
    model = agree.network().train()
    loss = model(agree.collate(agree.items(examples)))
    assert loss.notes.keys() == {"reward", "entropy", "back_reward", "back_entropy"}
    assert loss.shown is not None
    assert loss.shown != loss.total
    loss.total.backward()
    for one in (model.there, model.back):
        assert one.reinforce is not None
        assert one.reinforce.started
        assert one.decoder.attention.score.w.grad.any()


@pytest.mark.parametrize("kind", [Translate, Summarise, Describe])
def test_every_task_has_the_options(kind: Any) -> None:
    task = kind(
        **sides(dim=3, name="record" if kind is Describe else "text"), encoder={"name": "recurrent", "hidden": 2},
        attention=hard,
        decoder=recurrent, reinforce={"bonus": 0.3, "baseline": "learned"},
    )  # fmt: skip
    task.learn([Example(("a[b]",), "b")])
    model = task.network()
    assert samples(model.decoder)
    assert model.reinforce.bonus == 0.3
    assert model.reinforce.value.in_features == 4


class Apart(Encoder):
    """Every word by itself, and no summary of them."""

    size = summary = 16

    def forward(self, inputs: Sequences) -> Memory:
        h = torch.cat([inputs.values, inputs.values], -1)
        return Memory(h, h, inputs.mask, torch.zeros_like(h[:, 0]))


# --- learning ------------------------------------------------------------------------------------------------


def copied(scale: float) -> float:
    """The loss a token, at the likeliest keys, of a decoder that must say the one letter of three that is marked. The
    summary is hidden from it and words are read one by one, so that only its attention can find that letter. What is
    drawn is taught with this scale; with 0 nothing that scores is ever moved, as if it were frozen."""
    torch.manual_seed(4)
    words = ["".join(three) for three in itertools.permutations("abcd", 3)]
    rows = [(word.replace(letter, letter.upper()), letter) for word in words for letter in word]
    task = Translate(
        **sides(dim=8), encoder={"name": "recurrent", "hidden": 8, "dropout": 0.0},
        attention={"score": {"name": "additive", "hidden": 8}, "normalizer": "sample"},
        decoder={"name": "recurrent", "embed": 8, "hidden": 8, "place": "after", "feed": False, "dropout": 0.0},
        label_smoothing=0.0, reinforce={"scale": scale},
    )  # fmt: skip
    some = [Example((source,), target) for source, target in rows]
    task.learn(some)
    model = task.network().train()
    model.encoder = Apart()
    optimiser = torch.optim.Adam(model.parameters(), 0.02)
    batch = task.collate(task.items(some))
    for _ in range(120):
        step(model, batch, optimiser, 1.0, clip=1.0, precision="float32")
    with torch.no_grad():
        loss = model.eval()(batch)
    assert loss.shown is not None
    return float(loss.shown) / loss.count


@pytest.mark.sweep
def test_it_learns_where_to_look() -> None:
    assert copied(scale=1.0) < 0.1 * copied(scale=0.0)


@pytest.mark.sweep
def test_the_log_tells_the_reward(tmp_path: Any) -> None:
    data = tmp_path / "pairs.tsv"
    data.write_text("".join(f"{'ab' * n}\t{'x' * n}\n" for n in range(1, 9)))
    options: dict[str, Any] = {
        **sides(dim=4),
        "encoder": {"name": "recurrent", "hidden": 3},
        "decoder": {"name": "recurrent", "embed": 4, "hidden": 4},
        "attention": {"normalizer": "sample"},
        "reinforce": {"expected": 0.5, "bonus": 0.1},
        "train": {"steps": 4, "validate_every": 2, "device": "cpu"},
        "data": {"train": str(data), "valid": str(data)},
    }
    trained = api.train("translate", out=tmp_path / "run", quiet=True, **options)
    events = read(tmp_path / "run" / "log.jsonl")
    assert all(event["notes"].keys() >= {"reward", "entropy"} for event in events)
    assert all(event["notes"]["entropy"] > 0 > event["notes"]["reward"] for event in events)
    model = api.load(tmp_path / "run")
    assert [one.text for one in model.predict(["abab"])] == [one.text for one in trained.model.predict(["abab"])]
