"""Keys and values made harmless in one launch: as `hidden.poisoned` has it, in every type and width."""

import os

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

from regard.kernels.additive_triton import _clean
from regard.kernels.hidden import poisoned
from regard.kernels.mask import MaskSpec

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the interpreter's numpy speaks of what is no number
place = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize(("width", "values"), [(3, 5), (130, 260)])
def test_it_is_what_is_written(dtype: torch.dtype, width: int, values: int) -> None:
    k, v = torch.randn(2, 3, width, dtype=dtype, device=place), torch.randn(2, 3, values, dtype=dtype, device=place)
    v[0, 1, values - 1], v[1, 0, 0], v[1, 2, 2] = float("nan"), float("inf"), float("-inf")
    found = _clean(k, v, MaskSpec(pattern="causal"), None)
    for one, other in zip(found, poisoned(k, v), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)
    assert found[0].isnan().all(-1).tolist() == [[False, True, False], [True, False, True]]


def test_nothing_is_done_where_nothing_is_hidden() -> None:
    k, v = torch.ones(1, 2, 3), torch.ones(1, 2, 4)
    assert _clean(k, v, MaskSpec(), None) == (k, v)
    assert _clean(k, v, MaskSpec(), torch.zeros(1, 2, 2))[0] is not k  # a bias may hide, too
