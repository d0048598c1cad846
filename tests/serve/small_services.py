"""A model that answers at once, or when it is let: what the service does is seen without the cost of a real one."""

import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from fastapi.testclient import TestClient
from torch import nn

from regard.api import Model
from regard.errors import RegardError
from regard.fields.text import Text
from regard.serve.guard import Guard
from regard.serve.limits import ServiceLimits
from regard.serve.service import Service, ServiceApp
from regard.serve.site import Site
from regard.types import Network, Prediction

__all__ = ["Echo", "ask", "client", "small_run"]

json_type = {"Content-Type": "application/json"}


class OneNumber(Network):
    """A network with a parameter, whose device can be asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.number = nn.Parameter(torch.zeros(1))


class Echo(Model):
    """Says its inputs in capitals; keeps what it was asked. A text with "long" in it has too many tokens."""

    def __init__(self, inputs: int = 1, searches: bool = True, wait: float = 0.0) -> None:
        roles = ("premise", "hypothesis") if inputs == 2 else ("source",)
        fields = {role: Text(end=False, tokenizer="word") for role in roles}
        can = {"searches", "drops_tokens"} if searches else {"drops_tokens"}
        task = SimpleNamespace(
            name="echo", does="Repeats {input}.", inputs=fields, can=lambda capability: capability in can
        )
        self.run = SimpleNamespace(folder=Path("nowhere"))  # type: ignore[assignment]
        self.task, self.network, self.config = task, OneNumber(), {"task": "echo"}
        self.wait, self.asked = wait, list[tuple[int, dict[str, Any]]]()

    def predict(self, texts: Any, look: bool = True, where: Sequence[str] = (), **options: Any) -> list[Prediction]:
        for text, place in zip(texts, where, strict=True):
            if "long" in text[0]:
                raise RegardError(f"{place}: 2,000 tokens", expected="at most 1,024")
            if "broken" in text[0]:
                raise KeyError("a fault")
        time.sleep(self.wait)
        self.asked.append((len(texts), {"look": look, **options}))
        return [Prediction(" ".join(text).upper(), -0.5) for text in texts]


def client(
    service: Service, token: str | None = None, hosts: Sequence[str] | None = None, origins: Sequence[str] = ()
) -> TestClient:
    app = Guard(ServiceApp(service), service.room, service.metrics, token, Site(hosts, origins))
    return TestClient(app, base_url="http://localhost", raise_server_exceptions=False)  # type: ignore[arg-type]


def ask(inputs: Any, name: str = "echo", **more: Any) -> dict[str, Any]:
    return {"url": f"/api/runs/{name}/predict", "json": {"inputs": inputs, **more}}


def started(limits: ServiceLimits | None = None, **models: Model) -> Service:
    service = Service(models or {"echo": Echo()}, limits)
    service.start()
    return service


def small_run(factory: pytest.TempPathFactory) -> Path:
    """A run that has learned next to nothing, but is one; made once for all tests."""
    from regard.api import train

    folder = factory.getbasetemp() / "served"
    if folder.exists():
        return folder / "small"
    folder.mkdir()
    letters = "abcdefgh"
    words = ["".join(letters[(i * j) % 8] for j in range(1, 2 + i % 4)) + letters[i % 8] for i in range(40)]
    (folder / "pairs.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in dict.fromkeys(words)))
    characters = {"tokenizer": "character", "max_length": 64}
    small: dict[str, Any] = {"source": {**characters, "embed": {"dim": 8}}, "target": characters}
    small |= {"encoder": {"hidden": 8, "layers": 1}, "decoder": {"hidden": 8, "embed": 8, "layers": 1}}
    options = {
        **small,
        "attention": {"score": {"hidden": 8}},
        "train": {"steps": 2, "validate_every": 1, "device": "cpu"},
    }
    train("translate", str(folder / "pairs.tsv"), folder / "small", quiet=True, **options)
    return folder / "small"
