"""An LSTM under autocast, where the processor has one in bfloat16 and where it has none."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_sequence

from regard.kernels import cells
from regard.kernels.cells import CELLS, PortableLstm


@pytest.fixture
def no_bfloat16(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A processor whose oneDNN has no LSTM in bfloat16."""
    works = nn.LSTM.forward

    def forward(*args):  # type: ignore[no-untyped-def]
        if torch.is_autocast_enabled("cpu"):
            raise RuntimeError("could not create a primitive descriptor for the LSTM forward propagation primitive")
        return works(*args)

    monkeypatch.setattr(nn.LSTM, "forward", forward)
    cells._lstm_works_in.cache_clear()
    yield
    cells._lstm_works_in.cache_clear()


@pytest.mark.usefixtures("no_bfloat16")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_without_bfloat16_it_runs_in_float32(dtype: torch.dtype) -> None:
    part = PortableLstm(3, 4, num_layers=2, bidirectional=True)
    x, h, c = (torch.randn(sizes).to(dtype) for sizes in [(5, 2, 3), (4, 2, 4), (4, 2, 4)])
    packed = pack_sequence([x[:, 0], x[:3, 1]])
    with torch.autocast("cpu", torch.bfloat16):
        found = [part(x), part(x, (h, c)), part(packed), part(packed, (h, c))]
    wide, states = x.float(), (h.float(), c.float())
    packed = pack_sequence([wide[:, 0], wide[:3, 1]])
    torch.testing.assert_close(
        found, [part(wide), part(wide, states), part(packed), part(packed, states)], rtol=0, atol=0
    )
    found[1][0].sum().backward()
    assert all(weight.grad is not None for weight in part.parameters())


def test_outside_autocast_it_is_pytorchs() -> None:
    part, x = PortableLstm(3, 4), torch.randn(5, 2, 3)
    torch.testing.assert_close(part(x), nn.LSTM.forward(part, x), rtol=0, atol=0)


@pytest.mark.usefixtures("no_bfloat16")
def test_finding_out_draws_no_random_number() -> None:
    part, state = PortableLstm(3, 4), torch.get_rng_state()
    with torch.autocast("cpu", torch.bfloat16):
        part(torch.zeros(5, 2, 3))
    assert torch.equal(torch.get_rng_state(), state)


def test_the_answer_of_inference_holds_for_training() -> None:
    cells._lstm_works_in.cache_clear()
    with torch.inference_mode():
        found = cells._lstm_works_in(torch.bfloat16)
    cells._lstm_works_in.cache_clear()
    assert cells._lstm_works_in(torch.bfloat16) == found


def test_on_a_processor_with_avx2_alone() -> None:
    """As oneDNN sees one; it reads the setting when it is first used."""
    code = """if True:
        import torch
        from regard.kernels.cells import CELLS
        for name, make in CELLS.items():
            part = make(3, 4, batch_first=True)
            with torch.autocast("cpu", torch.bfloat16):
                part(torch.randn(2, 5, 3))[0].sum().backward()
            print(name, float(part.weight_hh_l0.grad.abs().sum()) > 0)
    """
    found = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"ONEDNN_MAX_CPU_ISA": "AVX2", "OMP_NUM_THREADS": "1"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert found.stdout.split() == [word for name in CELLS for word in (name, "True")], found.stderr
