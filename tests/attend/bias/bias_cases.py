"""What the tests of every bias share: small attentions that use it, and a small translator."""

from typing import Any

import torch
from torch import Tensor
from torch.autograd import gradcheck
from torch.testing import assert_close

from generation_tasks import sides
from regard.attend.attention import Attention, make
from regard.find import Spec
from regard.search import Hypothesis
from regard.search.beam import Beam
from regard.search.sample import Sample
from regard.tasks.translate import Translate
from regard.text import Tokenizer
from regard.train.task import Ask
from regard.types import Example, Look, Memory, Sequences

SIZE, VALUE, KEYS = 4, 6, 6
LENGTHS = (6, 4, 1)
every_score = ["additive", "bilinear", "cosine", "dot", "feature_wise", "scaled_dot"]


def attention_of(
    *bias: Spec, score: str = "additive", heads: int | None = None, normalizer: str = "softmax"
) -> Attention:
    """In float64, the parameters of the biases moved from where they start, which may be nothing at all."""
    attention = make(SIZE, SIZE, VALUE, score=score, normalizer=normalizer, bias=bias, heads=heads).double().eval()
    return stirred(attention)


def stirred(attention: Attention) -> Attention:
    with torch.no_grad():
        for p in attention.bias.parameters():
            p.add_(0.5 * torch.randn_like(p))
    return attention


def memory_of(attention: Attention, *, grad: bool = False) -> tuple[Memory, list[Tensor]]:
    """Three sentences of six, four keys and one; and the keys and values they are made from."""
    keys = torch.randn(len(LENGTHS), KEYS, SIZE, dtype=torch.float64, requires_grad=grad)
    values = torch.randn(len(LENGTHS), KEYS, VALUE, dtype=torch.float64, requires_grad=grad)
    mask = torch.arange(KEYS) < torch.tensor(LENGTHS)[:, None]
    return attention.prepare(keys, values, mask), [keys, values]


def queries_of(steps: int = 5, grad: bool = False) -> Tensor:
    return torch.randn(len(LENGTHS), steps, SIZE, dtype=torch.float64, requires_grad=grad)


def one_by_one(attention: Attention, queries: Tensor, memory: Memory, sizes: tuple[int, ...] = ()) -> list[Any]:
    """A look a step, or a look for each of these many steps."""
    state, looks = attention.start(memory), []
    for some in queries.split(list(sizes) or [1] * queries.shape[1], dim=1):
        looks.append(attention(some, memory, state))
        state = looks[-1].state
    return looks


def all_at_once_is_one_by_one(attention: Attention) -> None:
    """Five steps in one look, in looks of two, two and one, and in five: answers, weights, gradients."""
    queries, (memory, leaves) = queries_of(grad=True), memory_of(attention, grad=True)
    leaves = [queries, *leaves, *attention.parameters()]
    found = []
    for sizes in ((5,), (2, 2, 1), ()):
        looks = one_by_one(attention, queries, memory, sizes)
        look = Look.join(looks)
        answer, weights = look.context, look.weights
        slopes = torch.autograd.grad(answer.square().sum(), leaves, retain_graph=True, allow_unused=True)
        found.append([answer, weights, *slopes])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert (one is None) == (two is None)
            if one is not None:
                assert_close(one, two)


def it_speaks(*bias: Spec, score: str, heads: int | None, normalizer: str = "softmax") -> None:
    """Three steps of two hypotheses under a score: hidden keys have no weight, a sentence alone gets the same answers,
    and they are others than without the bias."""
    attention = attention_of(*bias, score=score, heads=heads, normalizer=normalizer)
    plain = Attention(attention.score, attention.normalizer, heads=attention.heads)
    memory, (keys, values) = memory_of(attention)
    queries = torch.randn(3, len(LENGTHS), 2, SIZE, dtype=torch.float64)

    def looked(among: Memory, rows: slice) -> list[Any]:
        state, looks = None, []
        for query in queries[:, rows]:
            looks.append(attention(query, among, state))
            state = looks[-1].state
        return looks

    found = looked(memory, slice(None))
    for look in found:
        assert_close(look.by_key.sum(-1), torch.ones_like(look.by_key[..., 0]))
        for row, length in enumerate(LENGTHS):
            assert not look.by_key[row, ..., length:].any()
    for row, length in enumerate(LENGTHS):
        one = slice(row, row + 1)
        for masked in (True, False):
            seen = torch.ones(1, length, dtype=torch.bool) if masked else None
            alone = looked(attention.prepare(keys[one, :length], values[one, :length], seen), one)
            for mine, other in zip(alone, found, strict=True):
                assert_close(mine.context, other.context[one])
    assert (plain(queries[-1], memory).context - found[-1].context).abs().max() > 1e-4


def it_runs_in_short_numbers(*bias: Spec, score: str, heads: int | None) -> None:
    """As bfloat16 and under autocast, near what float64 says; and where everything is hidden nothing breaks."""
    exact = attention_of(*bias, score=score, heads=heads)
    queries, keys, values = (torch.randn(2, 3, size) for size in (SIZE, SIZE, VALUE))
    mask = torch.tensor([[True, True, True], [False, False, False]])

    def looked(attention: Attention, dtype: torch.dtype) -> Tensor:
        x = [one.to(dtype).requires_grad_() for one in (queries, keys, values)]
        memory, state, answers = attention.prepare(x[1], x[2], mask), None, []
        terms = attention._terms(memory, x[0], 3, attention.start(memory, 3))
        added = [one for one in (terms.query, terms.keys, terms.pairs, terms.scores) if one is not None]
        assert all(one.dtype == memory.keys.dtype for one in added)  # a fused kernel takes one kind of number
        for _ in range(2):
            look = attention(x[0], memory, state)
            state = look.state
            answers.append(look.context)
        answer = torch.cat(answers, 1)
        answer.float().square().sum().backward()
        slopes = [one.grad for one in (*x, *attention.parameters())]
        assert all(slope is None or slope.isfinite().all() for slope in slopes)
        assert not any(slope[1].any() for slope in slopes[:3])
        return answer.detach().double()

    right = looked(exact, torch.float64)
    for short, autocast in ((torch.bfloat16, False), (torch.float32, False), (torch.float32, True)):
        copy = make(SIZE, SIZE, VALUE, score=score, bias=bias, heads=heads).eval()
        copy.load_state_dict(exact.state_dict())
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            found = looked(copy.to(short), short)
        near = 1e-5 if short == torch.float32 and not autocast else 0.15
        assert_close(found, right, atol=near, rtol=near)


def gradients_are_right(attention: Attention) -> None:
    """Through three steps of two hypotheses, of every parameter and input; nothing is there in the last sentence."""
    queries, (_, leaves) = queries_of(2, grad=True), memory_of(attention, grad=True)
    mask = torch.arange(KEYS) < torch.tensor([KEYS, 4, 0])[:, None]

    def answer(*_: Tensor) -> Tensor:
        memory, state, answers = attention.prepare(*leaves, mask), None, []
        for _step in range(3):
            look = attention(queries, memory, state)
            answers.append(look.context)
            state = look.state
        return torch.cat(answers, 1)

    assert gradcheck(answer, (queries, *leaves, *attention.parameters()), fast_mode=True, check_undefined_grad=False)
    for slope in torch.autograd.grad(answer().square().sum(), list(attention.bias.parameters())):
        assert slope.abs().max() > 0


def small(*bias: Spec, place: str = "before", **attention: Any) -> Translate:
    return Translate(
        **sides(dim=8),
        encoder={"name": "recurrent", "hidden": 8, "layers": 1, "dropout": 0.0},
        attention={"score": {"name": "additive", "hidden": 8}, "bias": list(bias), **attention},
        decoder={"name": "recurrent", "embed": 8, "hidden": 16, "place": place, "feed": False, "dropout": 0.0},
        metrics=("exact_match",),
        best_metric="exact_match",
        label_smoothing=0.0,
    )


PAIRS = {"eins": "one", "zwei": "two", "einundacht": "eighty", "a": "a"}


def translated(*bias: Spec, place: str = "before", **attention: Any) -> None:
    """A small model trains a few steps with the bias; what it then finds is what it says of it when read back."""
    task, examples = small(*bias, place=place, **attention), [Example((a,), b) for a, b in PAIRS.items()]
    task.learn(examples)
    model = task.network().double()
    own = list(model.decoder.attention.bias.parameters())
    before = [p.detach().clone() for p in own]
    batch = task.collate(task.items(examples))
    optimiser, losses = torch.optim.Adam(model.parameters(), lr=0.03), []
    for _ in range(8):
        total, count = model(batch).total, int(batch.target.lengths.sum())
        optimiser.zero_grad()
        (total / count).backward()
        optimiser.step()
        losses.append(total.item() / count)
    assert losses[-1] < 0.8 * losses[0]
    for p, first in zip(own, before, strict=True):
        assert p.isfinite().all()
        assert (p != first).any()  # it learns too

    model.eval()
    source, longest = batch.source, torch.full((len(PAIRS),), 6)
    for search in (Beam(beam_size=3, n_best=2), Sample(count=2, seed=1)):
        memory = model.encode(source)
        found = search(
            model.decoder,
            memory,
            start=Tokenizer.start,
            end=Tokenizer.end,
            max_length=longest,
            weights=True,
        )
        for row, hypotheses in enumerate(found):
            for one in hypotheses:
                _read_back(model, source.select(torch.tensor([row])), one)
    [answer] = task.predict(model, [("eins",)], Ask())
    assert answer.look is not None


@torch.no_grad()
def _read_back(model: Any, source: Sequences, found: Hypothesis) -> None:
    """Alone and without padding, its tokens known: the log-probability and the weights that the search gave."""
    length = int(source.lengths)
    memory = model.encode(Sequences(source.values[:, :length], source.mask[:, :length], source.lengths))
    before = torch.tensor([[Tokenizer.start, *found.tokens[:-1]]])
    look, logits = model.decoder.unroll(memory, before)
    chosen = logits.log_softmax(-1)[0].gather(-1, torch.tensor(found.tokens)[:, None])
    assert abs(float(chosen.sum()) - found.log_prob) < 1e-6
    assert found.weights is not None
    assert_close(found.weights[..., :length].double(), look.weights[0], atol=1e-6, rtol=1e-5)
    assert not found.weights[..., length:].any()
