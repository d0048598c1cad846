"""A program that compiles kernels for a GPU on a machine without one, with the types their callers hand over."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # not for the program, but for whatever is imported after it
pytest.importorskip("triton")

# Built twice on purpose: loads of whole rows are wide where their lengths divide by 16.
WIDER = {"softmax_kernel keys", "softmax_backward_kernel keys", "softmax_backward_kernel count"}

PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
import torch, triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from regard import additive_attention, feature_attention
from regard.kernels import additive_triton
from regard.kernels.additive import additive_weights
from regard.kernels.launch_triton import Launch
from regard.kernels.product_triton import product, taken_apart
from regard.kernels.selected_feature_triton import selected_feature

NAMES = {torch.float32: "*fp32", torch.bfloat16: "*bf16", torch.float16: "*fp16", torch.int64: "*i64",
         torch.int32: "*i32", torch.uint8: "*u8", torch.bool: "*i1"}
known = {}  # and as what Triton takes the numbers of each: 1, dividing by 16, neither

def compiled(launch, *tensors):
    kernel, sizes, constants, divisible, special = launch.kernel, {}, {}, {}, {}
    fixed = {each.name for each in kernel.params if each.is_constexpr}
    plain = {each.name for each in kernel.params if each.do_not_specialize}
    for place, (name, one) in enumerate(zip(kernel.arg_names, (*launch.apart(*tensors), *launch.rest), strict=True)):
        if name in fixed or one is None:
            sizes[name], constants[(place,)] = "constexpr", one
        elif isinstance(one, torch.Tensor):
            sizes[name], divisible[(place,)] = NAMES[one.dtype], [["tt.divisibility", 16]]
        else:
            sizes[name] = "fp32" if isinstance(one, float) else "i32"
            if sizes[name] == "i32" and name not in plain:
                special[name] = (one == 1, one % 16 == 0)
    kind = kernel.__name__, tuple(sizes.values()), tuple(constants.values())
    for name in special:
        if known.get(kind, special)[name] != special[name]:
            print("again", kernel.__name__, name, flush=True)
    if kind not in known:
        known[kind] = special
        source = ASTSource(kernel, sizes, constants, divisible)
        triton.compile(source, target=GPUTarget("cuda", 90, 32), options=launch.options())
        print(kernel.__name__, flush=True)

Launch.__call__ = compiled
half, single = torch.bfloat16, torch.float32

def inputs(time, *kinds):
    return [torch.randn(2, time, 16, dtype=kind).requires_grad_() for kind in kinds]

def pulled(answer):
    answer.backward(answer.detach())

for time in (40, 48, 33):  # a kernel that was compiled for one length serves the others
    lengths, mask = torch.tensor([time, 7]), torch.ones(2, time, time, dtype=torch.bool)
    bias = torch.randn(2, time, time, requires_grad=True)
    if sys.argv[1] == "additive":
        w = torch.randn(16, requires_grad=True)
        calls = [
            (inputs(time, single, single, single), {}),
            (inputs(time, half, half, half), {"lengths": lengths, "query_lengths": lengths, "pattern": "causal"}),
            (inputs(time, half, single, half), {"bias": bias, "dropout": 0.1, "mask": mask}),
        ]
        for small, (given, options) in zip((2**28, 2**28, 0), calls):  # as for small work, and as for large
            additive_triton.TILES = additive_triton.Tiles(together=small)
            pulled(additive_attention(*given, w, backend="triton", **options))
        additive_weights(*inputs(time, half, single), w, top=3, backend="triton")
        v = torch.randn(2, time, 16)
        product(torch.randn(2, time, 128), v, taken_apart(v))
    else:
        calls = [
            (inputs(time, single, single, single), {"mask": mask}),
            (inputs(time, half, half, half), {"lengths": lengths, "pattern": "forward"}),
            (inputs(time, half, single, half), {"dropout": 0.1, "bias": bias}),
        ]
        for given, options in calls:
            pulled(feature_attention(*given, backend="triton", **options))
        chosen = torch.ones(2, time, dtype=torch.bool)
        pulled(selected_feature(*inputs(time, half, half, half), chosen, chosen, 5.0, "forward", -1, 0.0, None, 20))
"""


def compiled(kind: str, where: Path) -> set[str]:
    """The kernels of the additive or the feature-wise kind that were compiled."""
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, kind],
        env=environment | {"TRITON_CACHE_DIR": str(where), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    again = {line.removeprefix("again ") for line in done.stdout.splitlines() if line.startswith("again")}
    assert again <= WIDER, "a new length would compile this anew"
    return set(done.stdout.split())
