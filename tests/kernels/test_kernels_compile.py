"""The kernels of additive attention as a GPU would have them: compiled for one, on a machine without, for types that
their callers hand over.

Triton's interpreter runs what no compiler takes (a name that changes its type, say), so it alone does not tell.
"""

from pathlib import Path

import pytest
from compile_cases import compiled


@pytest.mark.sweep
def test_they_compile_for_a_gpu(tmp_path: Path) -> None:
    assert compiled("additive", tmp_path) >= {
        "exponents_kernel", "scores_kernel", "softmax_kernel", "softmax_backward_kernel", "powers_kernel",
        "gradient_kernel", "parts_kernel", "product_kernel", "clean_kernel",
    }  # fmt: skip
