"""One of several processes that train together, as torchrun starts them; run by test_distribute.py.

    RANK=0 WORLD_SIZE=2 MASTER_ADDR=… MASTER_PORT=… python team.py FOLDER STEPS DIES_AT ACCUMULATE

The process of rank 1 ends by SIGKILL before its forward pass number DIES_AT (0: never). With PLAIN in the environment
there is no dropout, and weights move along their gradients, which Adam would not show to rounding.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # where the set-ups that tests share are

from small_runs import fit_in

from regard.errors import RegardError
from regard.networks.encoder_decoder import EncoderDecoder
from regard.train import loop
from regard.train.distribute import joined
from regard.train.run import Run


def main(folder: Path, steps: int, dies_at: int, accumulate: int) -> None:
    torch.set_num_threads(1)
    loop.draw = lambda folder: None  # type: ignore[assignment]
    if "PLAIN" in os.environ:
        EncoderDecoder.train = lambda self, mode=True: torch.nn.Module.train(self, False)  # type: ignore[method-assign]
        torch.optim.AdamW = lambda groups, lr, **_: torch.optim.SGD(groups, lr=lr)  # type: ignore[assignment, misc]
    calls, forward = 0, EncoderDecoder.forward

    def deadly(*given: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == dies_at and os.environ.get("RANK") == "1":
            os.kill(os.getpid(), signal.SIGKILL)
        return forward(*given)

    EncoderDecoder.forward = deadly  # type: ignore[method-assign]
    if os.environ.get("RANK", "0") != "0":  # as api.train does: the first alone begins a run
        Run.is_in = staticmethod(lambda folder: False)  # type: ignore[method-assign]
        Run.create = staticmethod(lambda folder, config, kept, model: Run(folder, config, kept))  # type: ignore[method-assign]
    try:
        with joined():
            fit_in(folder, steps=steps, save_every=0, accumulate=accumulate)
    except RegardError as error:
        print(error)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
