"""Kernels of feature-wise attention as a GPU would have them: compiled for one, on a machine without, for types that
their callers hand over.

Triton's interpreter runs what no compiler takes (a name that changes its type, say), so it alone does not tell.
A file of its own, so that both kinds may be compiled at once.
"""

from pathlib import Path

import pytest
from compile_cases import compiled


@pytest.mark.sweep
def test_they_compile_for_a_gpu(tmp_path: Path) -> None:
    assert compiled("feature", tmp_path) >= {
        "prepare_kernel", "walk_queries_kernel", "walk_keys_kernel", "pull_kernel", "list_kernel",
    }  # fmt: skip
