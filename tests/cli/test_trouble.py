"""Every kind of trouble is one line and an exit code."""

import errno

import pytest
import torch

from regard.cli.trouble import told
from regard.errors import RegardError


def full() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device", "runs/a")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (RegardError("3 fields", expected="2"), 2, "3 fields; expected 2"),
        (
            FileNotFoundError(errno.ENOENT, "No such file or directory", "a.tsv"),
            2,
            "a.tsv: no such file or directory; check the path",
        ),
        (full(), 2, "runs/a: no space left on device; free some space, then repeat the command to resume"),
        (OSError("odd"), 2, "odd; check the file and its folder"),
        (
            PermissionError(errno.EACCES, "Permission denied", "/x"),
            2,
            "/x: permission denied; check the permissions, or use another path",
        ),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 141, ""),
        (MemoryError(), 2, "ran out of memory; lower train.batch_tokens, or use a smaller model"),
        (
            torch.cuda.OutOfMemoryError("CUDA out of memory"),
            2,
            "ran out of memory; lower train.batch_tokens, or use a smaller model",
        ),
        (
            RuntimeError("[enforce] DefaultCPUAllocator: can't allocate memory: you tried"),
            2,
            "ran out of memory; lower train.batch_tokens, or use a smaller model",
        ),
        (
            ZeroDivisionError("by\nzero"),
            1,
            "internal error in regard (ZeroDivisionError: by zero); use --debug to see the traceback",
        ),
    ],
)
def test_trouble(error: BaseException, code: int, line: str) -> None:
    assert told(error) == (code, line)


def test_a_full_disk_as_safetensors_tells_of_it() -> None:
    from safetensors import SafetensorError

    code, line = told(SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"))
    assert code == 2
    assert "No space left on device" in line
