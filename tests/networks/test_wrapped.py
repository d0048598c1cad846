"""Every network is a module like any other: DistributedDataParallel, torch.compile and torch.export wrap it,
two threads use it at once."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from jaxtyping import config
from PIL import Image
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils._pytree import tree_leaves, tree_map

from generation_tasks import batch_of_all, data, made, pairs
from regard.fields.image import to_data_url
from regard.find import find, names
from regard.networks.answering import Answering
from regard.networks.encoder_decoder import EncoderDecoder
from regard.networks.glimpses import Glimpses
from regard.networks.masked import Masked
from regard.networks.reader import Reader
from regard.networks.recommend import Recommender
from regard.types import Batch, Example, Network, Output
from small_encoders import encoder_folder
from small_sounds import recordings, small_audio
from tiers import sweep_but

pytestmark = pytest.mark.usefixtures("one_thread")


# Every task with its usual field; those that read other fields, have other networks, or a pre-trained encoder.
READ = ["classify image", "classify items", "classify audio", "tag items", "translate items"]
PRETRAINED = [f"{task} pretrained" for task in ("classify", "entail", "tag", "answer")]
EVERY = [*names("tasks"), "answer choice", "recommend nais", *READ, *PRETRAINED]
OTHER: dict[str, dict[str, Any]] = {"choice": {"answer": "choice"}, "nais": {"network": "nais"}}
PICTURES = [Example((to_data_url(Image.new("L", (8, 8), grey)),), label) for grey, label in ((0, "a"), (200, "b"))]


def with_batch(given: str, **options: Any) -> tuple[nn.Module, Batch]:
    """The small network of a task, and a batch; "classify image" is the task with that field."""
    torch.manual_seed(1)
    task, _, what = given.partition(" ")
    if what == "pretrained":
        read = {"name": "text", "tokenizer": OTHER[what]["encoder"]}
        one = made(task, **OTHER[what], **find("tasks", task).implied(OTHER[what]) | {"input": read})
        return one.network().train(), batch_of_all(one)
    if not what or what in OTHER:
        one = made(task, **OTHER.get(what, {}) | options)
        return one.network().train(), batch_of_all(one)
    role = "source" if task == "translate" else "input"
    field = {**small_audio} if what == "audio" else {"name": what, "embed": {"dim": 4}}
    if what == "image":
        field["size"] = 8
    examples = {"image": PICTURES, "audio": recordings}.get(what) or data.get(task, pairs)
    one = made(task, examples=examples, **options, **{role: field})
    return one.network().train(), one.collate(one.items(examples))


@pytest.fixture(scope="module", autouse=True)
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The folder of a small pre-trained encoder."""
    folder = encoder_folder(tmp_path_factory.mktemp("encoders") / "bert")
    OTHER["pretrained"] = {"encoder": {"name": "pretrained", "from": str(folder)}}


def outcome(network: nn.Module, batch: Batch) -> tuple[Output, list[torch.Tensor]]:
    torch.manual_seed(2)  # the same dropout
    network.zero_grad()
    found: Output = network(batch, 0.5)
    found.total.backward()  # type: ignore[no-untyped-call]
    return found, [one.grad.clone() for one in network.parameters() if one.grad is not None]


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A group of one process."""
    path: Path = tmp_path_factory.mktemp("group") / "store"
    torch.distributed.init_process_group("gloo", init_method=f"file://{path}", rank=0, world_size=1)
    yield
    torch.distributed.destroy_process_group()


@pytest.mark.parametrize("task", EVERY)
@pytest.mark.usefixtures("group")
def test_distributed(task: str) -> None:
    network, batch = with_batch(task)
    assert isinstance(network, Network)
    plain, expected = outcome(network, batch)
    found, grads = outcome(DistributedDataParallel(network, find_unused_parameters=True), batch)
    assert (found.count, found.total.item()) == (plain.count, plain.total.item())
    assert all(map(torch.equal, grads, expected))


@pytest.fixture
def unchecked() -> Iterator[None]:
    """Without the checks of shapes, which only tests have: the compiler cannot follow them."""
    config.update("jaxtyping_disable", True)
    yield
    config.update("jaxtyping_disable", False)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.filterwarnings("ignore:The .grad attribute", "ignore:.*should not be instantiated")
@pytest.mark.parametrize("task", sweep_but(EVERY, "classify"))
def test_compiled(task: str) -> None:
    network, batch = with_batch(task)
    plain, expected = outcome(network, batch)
    found, grads = outcome(torch.compile(network, backend="eager"), batch)  # type: ignore[arg-type]
    assert found.total.item() == pytest.approx(plain.total.item())
    for one, other in zip(grads, expected, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("task", EVERY)
def test_what_travels_is_a_pytree(task: str) -> None:
    network, batch = with_batch(task)
    again = tree_map(lambda one: one, batch)
    assert isinstance(again, Batch)
    found = network(again, 0.5)
    assert any(one is found.total for one in tree_leaves(found))


@pytest.mark.parametrize("task", EVERY)
def test_two_threads_at_once(task: str) -> None:
    network, batch = with_batch(task)
    network.eval()
    alone: dict[float, Any] = {progress: network(batch, progress).total.item() for progress in (0.0, 1.0)}
    found: dict[float, set[float]] = {progress: set() for progress in alone}

    def work(progress: float) -> None:
        for _ in range(5):
            with torch.no_grad():
                found[progress].add(network(batch, progress).total.item())

    threads = [threading.Thread(target=work, args=(progress,)) for progress in alone]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for progress, totals in found.items():
        assert sorted(totals) == pytest.approx([alone[progress]] * len(totals), rel=1e-5)
        assert totals


class Reading(nn.Module):
    """What a network makes of its inputs before a target has a part in it: tensors in, tensors out."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, batch: Batch) -> torch.Tensor:
        if isinstance(self.network, Reader):
            return self.network.read(batch.inputs).logits
        if isinstance(self.network, EncoderDecoder):
            return self.network.encode(batch.source).values
        if isinstance(self.network, Answering):
            found = self.network.read(batch.inputs)
            return found.chances if found.pointed is None else torch.cat([found.pointed.start, found.pointed.end])
        if isinstance(self.network, Glimpses):
            return self.network.read(batch.source).logits
        if isinstance(self.network, Masked):
            return self.network.encode(batch.source).values
        if isinstance(self.network, Recommender):
            return self.network.direct(batch.source, batch.target.unsqueeze(-1))  # type: ignore[union-attr]
        return self.network.states(batch.source.values)[1]  # type: ignore[no-any-return]


@pytest.mark.parametrize("task", sweep_but(EVERY, "classify", "translate", "tag", "recommend"))
def test_exported(task: str) -> None:
    """`forward` where a loss is counted over examples. Where it is counted over tokens, `Output.count` is a number that
    depends on the lengths in the batch, which no exported graph can give: there, what reads the inputs is exported. All
    of it with attention in place of recurrence: packed sequences cannot be exported."""
    block = {"name": "transformer", "size": 4, "heads": 1, "layers": 1, "ffn": 4}
    own = task.startswith(("glimpse", "recommend"))  # with networks of their own, without recurrence
    network, batch = with_batch(task, encoder=block, **({} if own else {"network": block, "again": block}))
    network.eval()
    if find("tasks", task.partition(" ")[0]).counts == "examples":
        exported = torch.export.export(network, (batch,)).module()
        torch.testing.assert_close(exported(batch).total, network(batch).total)
    part = Reading(network)
    torch.testing.assert_close(torch.export.export(part, (batch,)).module()(batch), part(batch))
