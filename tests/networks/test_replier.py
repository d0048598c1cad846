"""The replier: its three losses, what is told to the decoder, and messages that teach the trigger alone."""

import math

import pytest
import torch

from regard.fields.suggestion import ReplyRow, Suggestion
from regard.find import find
from regard.networks.replier import Replier
from regard.types import Batch, Example

EXAMPLES = [
    Example(("can you come to us?",), "sure"),
    Example(("is it you that I can see?",), "no, sorry"),
    Example(("the shop is open",), ""),
]


@pytest.fixture(scope="module")
def parts() -> tuple[Replier, Batch]:
    torch.manual_seed(1)
    small = {"embed": {"dim": 4, "dropout": 0.0}}
    task = find("tasks", "reply")(
        message=small,
        encoder={"name": "bigru", "hidden": 4, "layers": 1, "dropout": 0.0},
        decoder={"name": "prefix", "embed": 4, "hidden": 4, "dropout": 0.0},
        match={"size": 4, "pairs": 11},
        match_weight=0.5,
        trigger_weight=2.0,
    )
    task.learn(EXAMPLES)
    return task.network().double().eval(), task.collate(task.items(EXAMPLES))


def test_the_loss_is_that_of_the_tokens_the_matching_and_the_trigger(parts: tuple[Replier, Batch]) -> None:
    network, batch = parts
    found = network(batch)
    memory = network.encode(batch.source)
    chances = torch.sigmoid(network.triggered(memory))
    nats = -sum(
        math.log(p if wanted else 1 - p) for p, wanted in zip(chances.tolist(), [True, True, False], strict=True)
    )
    _, logits = network.decoder.unroll(memory, torch.cat([torch.full((3, 1), 2), batch.target.values[:, :-1]], 1))  # type: ignore[union-attr]
    tokens = logits.log_softmax(-1).gather(-1, batch.target.values[..., None]).squeeze(-1)  # type: ignore[union-attr]
    written = -float(tokens[batch.target.mask].sum().detach())  # type: ignore[union-attr]
    matched = float(network.match.loss(network.match.message(batch.source).vector, batch.target.said).detach())  # type: ignore[union-attr]
    assert float(found.total.detach()) == pytest.approx(written + 0.5 * matched + 2 * nats)
    assert float(found.notes["match"]) == pytest.approx(matched / 3)
    assert found.count == 2 + 4 + 3  # tokens with their ends, and a decision for each message
    assert float(found.notes["trigger"]) == pytest.approx(nats / 3)


def test_messages_without_replies_teach_the_trigger_alone(parts: tuple[Replier, Batch]) -> None:
    network, batch = parts
    silent = Suggestion().collate([ReplyRow((), False)] * 3)
    found = network(Batch(batch.inputs, silent))
    assert found.count == 3
    assert float(found.notes["match"]) == 0
    gradients = torch.autograd.grad(found.total, list(network.decoder.out.parameters()), allow_unused=True)
    assert all(one is None or not one.any() for one in gradients)
    assert float(found.total.detach()) > 0


def test_what_is_matched_is_told_to_the_decoder_and_the_trigger(parts: tuple[Replier, Batch]) -> None:
    network, batch = parts
    memory = network.encode(batch.source)
    vector = network.match.message(batch.source).vector
    assert memory.summary is not None
    torch.testing.assert_close(memory.summary[:, -4:], 2 * vector)  # √4, as large as other numbers
    network.zero_grad()
    output, _ = network.written(memory, batch.target, 1.0)  # type: ignore[arg-type]
    (output.total + network.triggered(memory).sum()).backward()
    assert all(one.grad is None for one in network.match.parameters())  # which only their own loss changes
