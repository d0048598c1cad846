"""Sufficiency and comprehensiveness: worked by hand where one word decides, and against a plain loop."""

import pytest
import torch

from regard.attend.estimator import Gates
from regard.faithful.probe import frozen
from regard.faithful.rationale import rationales
from regard.types import Example
from sentence_tasks import both, examples


def p_of(task: object, model: object, texts: list[str]) -> torch.Tensor:
    rows = [(tuple(text.split("|")), "yes") for text in texts]
    items = task.items([Example(inputs, label) for inputs, label in rows])  # type: ignore[attr-defined]
    with torch.no_grad():
        return torch.softmax(model.read(task.collate(items).inputs).logits, -1)  # type: ignore[attr-defined, no-any-return]


def test_against_a_plain_loop() -> None:
    """The second word of both inputs is chosen: with it alone, and without it."""
    task, model = both("entail", encoder={"name": "resan", "hidden": 4}, pool="source2token")

    def second(logits: torch.Tensor, mask: torch.Tensor) -> Gates:
        chosen = (torch.arange(mask.shape[1]) == 1).expand_as(logits) & mask
        nothing = torch.zeros(logits.shape[:2])
        return Gates(chosen, nothing, nothing, nothing)

    model.estimator.decide = second  # type: ignore[method-assign, union-attr]
    some = [Example(("a dog runs", "an animal runs"), "yes"), Example(("the dog", "no dog"), "no")]
    found = rationales(task, model, some)
    whole = p_of(task, model, ["a dog runs|an animal runs", "the dog|no dog"])
    without = p_of(task, model, ["a runs|an runs", "the|no"])
    alone = p_of(task, model, ["dog|animal", "dog|dog"])
    best = whole.argmax(-1, keepdim=True)
    chosen = found["chosen"]
    assert chosen["comprehensiveness"] == pytest.approx((whole - without).gather(-1, best).mean().item(), abs=1e-6)
    assert chosen["sufficiency"] == pytest.approx((whole - alone).gather(-1, best).mean().item(), abs=1e-6)
    assert chosen["share"] == pytest.approx((2 / 6 + 2 / 4) / 2)
    assert set(found) == {"chosen", "weights", "random"}
    assert found["weights"]["share"] == found["random"]["share"] == chosen["share"]


def test_the_heaviest_tokens_by_hand() -> None:
    """A share of a third of three words, of two words and of five: one, one and two, the heaviest of each."""
    task, model = both("classify", pool="attention")
    some = [Example(("a dog runs",), "yes"), Example(("the dog",), "no"), Example(("a cat sleeps on mat",), "no")]
    found = rationales(task, frozen(model), some, share=1 / 3)
    assert set(found) == {"weights", "random"}
    assert found["weights"]["share"] == pytest.approx((1 / 3 + 1 / 2 + 2 / 5) / 3)
    texts, kept = [one.source.split() for one in some], []
    for words in texts:
        items = task.items([Example((" ".join(words),), "yes")])
        weights = model.read(task.collate(items).inputs).pooled.look.weights[0, 0]  # type: ignore[union-attr]
        kept.append(set(weights.topk(-(-len(words) // 3)).indices.tolist()))
    alone = [" ".join(w for i, w in enumerate(words) if i in own) for words, own in zip(texts, kept, strict=True)]
    whole = p_of(task, model, [one.source for one in some])
    best = whole.argmax(-1, keepdim=True)
    wanted = (whole - p_of(task, model, alone)).gather(-1, best).mean().item()
    assert found["weights"]["sufficiency"] == pytest.approx(wanted, abs=1e-6)


def test_all_tokens_are_sufficient() -> None:
    """And without them one stays, for there is no input of nothing."""
    task, model = both("classify", pool="max")
    found = rationales(task, model, examples["classify"], share=1.0)
    for kind in found.values():
        assert kind["sufficiency"] == pytest.approx(0, abs=1e-6)
        assert kind["share"] == 1


def test_the_same_seed_gives_the_same() -> None:
    task, model = both("classify", pool="mean")
    first, again = (rationales(task, model, examples["classify"], share=0.5, seed=3) for _ in range(2))
    assert first == again
    assert set(first) == {"random"}
