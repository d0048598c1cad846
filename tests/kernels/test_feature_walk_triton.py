# ruff: noqa: E402
"""Every pattern, with tiles and chunks so small that each kind of edge is met."""

import os

import pytest
import torch

from tiers import sweep_but

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
triton = pytest.importorskip("triton")

from feature_cases import PATTERNS, Case, close

from regard.kernels import feature_keys_triton, feature_queries_triton, feature_triton, feature_walk_triton

pytestmark = [
    pytest.mark.skipif(torch.cuda.is_available(), reason="benchmarks/check_feature.py does this on a GPU"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]


@pytest.mark.parametrize("band", [-1, 3])
@pytest.mark.parametrize("pattern", sweep_but(PATTERNS, "causal"))
def test_every_edge_of_a_chunk(pattern, band, monkeypatch):
    """Chunks that all may see take a quicker way: the smallest ones, so that each kind of edge meets a tile."""
    for name in ("answer", "query_gradient", "key_gradient"):
        monkeypatch.setitem(feature_triton.TILES, name, (2, 4, 4))
    for part in (feature_keys_triton, feature_queries_triton, feature_walk_triton):
        monkeypatch.setattr(part, "CHUNK", triton.language.constexpr(4))
    case = Case(*(torch.randn(1, 11, 3) for _ in range(3)), {"pattern": pattern, "band": band})
    assert close(case.run("triton", torch.float32), case.run("reference", torch.float64))


def test_given_positions_need_no_order(monkeypatch):
    monkeypatch.setitem(feature_triton.TILES, "answer", (2, 4, 4))
    places = (torch.randperm(9)[None], torch.randperm(7)[None])
    case = Case(
        torch.randn(1, 9, 3), torch.randn(1, 7, 3), torch.randn(1, 7, 3), {"pattern": "forward", "positions": places}
    )
    assert close(case.run("triton", torch.float32), case.run("reference", torch.float64))
