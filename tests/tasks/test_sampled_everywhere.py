"""Wherever a task lets the user choose a normalizer, its scores are taught, or it is refused in one line.

Nothing here names a part: a new option that holds a normalizer is held to this the day it arrives.
"""

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from generation_tasks import batch_of_all, made
from regard.attend.attention import Attention
from regard.attend.normalizer import Normalizer
from regard.attend.normalizer.argmax import Argmax
from regard.errors import RegardError
from regard.find import In, Of, find, mark, names, settable
from regard.networks.hard_attention import must_learn

HERE = object()  # stands where the name of a normalizer goes
small = {"hidden": 4, "size": 4, "ffn": 4, "embed": 4, "layers": 2, "heads": 1}


def shrunk(thing: Callable[..., Any]) -> dict[str, Any]:
    return {key: value for key, value in small.items() if key in settable(thing)}


def places(thing: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """Every way to name a normalizer in the options of a callable, as these options."""
    for key, parameter in settable(thing).items():
        found = mark(parameter)
        if found == In("attend.normalizer"):
            yield {key: HERE}
        elif isinstance(found, In):
            for name in names(found.folder):
                part = find(found.folder, name)
                yield from ({key: {"name": name, **shrunk(part), **one}} for one in places(part))
        elif isinstance(found, Of):
            module, _, attribute = found.place.rpartition(".")
            yield from ({key: one} for one in places(getattr(importlib.import_module(f"regard.{module}"), attribute)))


def cases() -> Iterator[Any]:
    """Each of these, under every part that may make use of it."""
    for task in names("tasks"):
        kind = find("tasks", task)
        users = {"decoder": "predict.generate", "network": "predict.language"}
        for place in places(kind):
            [option] = place
            user = next((one for one in users if one in settable(kind) and option == "attention"), None)
            for name in names(users[user]) if user else [None]:
                around = {} if name is None else {user: {"name": name, **shrunk(find(users[user], name))}}
                for normalizer in names("attend.normalizer"):
                    label = "-".join(filter(None, (task, option, name, normalizer)))
                    yield pytest.param(task, {**around, **place}, normalizer, id=label)


def some_of(cases: list[Any], every: int) -> list[Any]:
    """Every so many of the cases; the others are sweeps."""
    return [
        case if n % every == 0 else pytest.param(*case.values, id=case.id, marks=pytest.mark.sweep)
        for n, case in enumerate(cases)
    ]


def put(options: Any, normalizer: str) -> Any:
    if isinstance(options, dict):
        return {key: put(value, normalizer) for key, value in options.items()}
    return normalizer if options is HERE else options


@pytest.mark.parametrize(("task", "options", "normalizer"), some_of(list(cases()), 9))  # no multiple of the normalizers
def test_taught_or_refused(task: str, options: dict[str, Any], normalizer: str) -> None:
    torch.manual_seed(1)
    one = made(task, **{"gamma": 0.0, **put(options, normalizer)})
    refused = ""
    try:
        model = one.network().train()
    except RegardError as error:
        refused = str(error)
    if refused:
        assert "\n" not in refused
        assert f"normalizer={normalizer} is not differentiable" in refused
        assert refused.startswith(tuple(options))  # the option as the user wrote it
        return
    seen: list[Tensor] = []

    def keep(_: nn.Module, args: tuple[Any, ...]) -> None:
        # A look that is worked out again beside the loss has no part in it, and a single key leaves nothing to choose.
        if args[0].requires_grad and args[0].shape[-1] > 1:
            args[0].retain_grad()
            seen.append(args[0])

    hard = [m.normalizer for m in model.modules() if isinstance(m, Attention) and not m.normalizer.kernel]
    for attention in hard:
        attention.register_forward_pre_hook(keep)
    if not hard:
        assert normalizer == "softmax" or "plain" in str(options)  # a decoder that does not look has no normalizer
        return
    model(batch_of_all(one)).total.backward()
    grads = [scores.grad for scores in seen if scores.grad is not None]
    assert grads
    assert all(bool((grad != 0).any()) for grad in grads)


def test_each_kind_of_place_was_found() -> None:
    found = {str(case.id) for case in cases()}
    for one in (
        "classify-encoder-sample", "tag-encoder-sample", "relate-pool-sample", "translate-attention-lstmn-sample",
        "agree-decoder-argmax", "language-attention-transformer-sample", "describe-encoder-argmax",
    ):  # fmt: skip
        assert one in found


def test_the_option_is_named() -> None:
    """Of a Transformer's decoder the self-attention's is another one than that of its attention to the source."""

    class Own(Normalizer):
        passes = False

    from regard.attend.block import Block
    from regard.attend.score.dot import Dot

    plain = nn.ModuleDict({"attending": nn.Identity(), "asking": Attention(Dot(2, 2), Argmax())})
    with pytest.raises(RegardError, match=r"^attention\.normalizer=argmax is not differentiable"):
        must_learn(plain, "attention.normalizer", inner="decoder.normalizer")
    with pytest.raises(RegardError, match=r"^decoder\.normalizer=argmax is not differentiable"):
        must_learn(Block(4, 1, 4, 0.0, normalizer="argmax"), "attention.normalizer", inner="decoder.normalizer")
    with pytest.raises(RegardError, match=r"^encoder\.normalizer=argmax is not differentiable"):
        must_learn(Block(4, 1, 4, 0.0, normalizer="argmax"), "encoder.normalizer")
    with pytest.raises(RegardError, match="is not differentiable"):  # only samples are taught by reinforcement
        must_learn(Attention(Dot(2, 2), Own()), "attention.normalizer", reinforced=True)
    must_learn(Block(4, 1, 4, 0.0, normalizer="sample"), "attention.normalizer", reinforced=True)
