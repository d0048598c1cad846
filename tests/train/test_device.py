"""Where and how precisely: known places, clear words about others."""

import pytest
import torch

from regard.errors import RegardError
from regard.train.device import device_of, precise, widest


def test_auto_is_the_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert device_of("auto") == torch.device("cpu")
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert device_of("auto") == torch.device("mps")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert device_of("auto") == torch.device("cuda")
    assert device_of("cpu") == torch.device("cpu")


def test_mps_has_no_float64() -> None:
    assert widest(torch.device("mps")) == torch.float32
    assert widest(torch.device("cpu")) == widest(torch.device("cuda")) == torch.float64


@pytest.mark.parametrize("name", ["gpu", "cuda:9999", "", "hip!", "cpu:x"])
def test_another_place_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(RegardError, match="expected auto, cpu, cuda or mps") as caught:
        device_of(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("precision", "dtype"), [("auto", torch.float32), ("float32", torch.float32), ("bf16", torch.bfloat16)]
)
def test_precision_on_a_cpu(precision: str, dtype: torch.dtype) -> None:
    with precise(torch.device("cpu"), precision):
        assert torch.nn.functional.linear(torch.ones(2, 3), torch.ones(4, 3)).dtype == dtype
    assert not torch.is_autocast_enabled("cpu")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("precision", ["auto", "float32"])
def test_precision_on_a_gpu(precision: str) -> None:
    wanted = torch.bfloat16 if precision == "auto" and torch.cuda.is_bf16_supported() else torch.float32
    with precise(torch.device("cuda"), precision):
        x = torch.ones(2, 3, device="cuda")
        assert torch.nn.functional.linear(x, x).dtype == wanted
