"""Stopped and gone on: is a training that was stopped again and again the same, bit for bit, as one that was not?

    python benchmarks/resume.py --steps 60 --stops 5

Trains `translate` on made dates, with dropout, once in peace and once with stops at random steps: Ctrl-C,
SIGTERM, SIGKILL, and at least once SIGKILL while a save is half done (a half-written folder is left behind,
or else that stop does not count and is tried again). Every sitting is a process of its own that makes the
same call. Then the SHA-256 of weights, optimiser, averages, random state, place and validations are compared.
Figures go to results/resume.json, or to the file given with `--out`. Exit code 1 if anything differs.
"""

import argparse
import hashlib
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random
from typing import Any

from regard.files import write_whole

KINDS = ("SIGKILL in a save", "SIGINT", "SIGTERM", "SIGKILL")
CLOCK = ("spent", "seconds", "tokens_per_second")  # the only things that may differ


def sitting(folder: Path, steps: int, **more: Any) -> int:
    """What each process does: train to the end or to a signal, telling every step on stdout."""
    from regard.api import merge, train
    from regard.networks.encoder_decoder import EncoderDecoder
    from regard.tasks.translate import Translate

    real = EncoderDecoder.forward

    def forward(self: Any, *given: Any) -> Any:
        print("step", flush=True)
        return real(self, *given)

    EncoderDecoder.forward = forward  # type: ignore[method-assign]
    small = {
        "source": {"embed": {"dim": 32, "dropout": 0.2}},
        "encoder": {"hidden": 48},
        "decoder": {"embed": 32, "hidden": 64, "dropout": 0.2},
        "metrics": ["exact_match", "perplexity"],
        "best_metric": "perplexity",
        "data": {"train": str(folder.parent / "train.tsv"), "valid": str(folder.parent / "valid.tsv")},
        # Saved after every step, so that there is always a save to be killed in.
        "train": {"batch_size": 32, "steps": steps, "validate_every": 10, "save_every": 0, "time": "", "warmup": 5},
    }
    done = train("translate", out=folder, quiet=True, **more, **merge(Translate.preset, small))
    return 128 + done.outcome.stopped if done.outcome.stopped else 0


def write_data(folder: Path) -> None:
    from regard.data.builtin.dates import Dates

    splits = Dates(train=640, valid=40, test=0).splits()
    for name, part in (("train", splits.train), ("valid", splits.valid)):
        write_whole(folder / f"{name}.tsv", "".join(f"{e.source}\t{e.target}\n" for e in part))


def saved(run: Path) -> int:
    """The step of the newest complete moment."""
    return max((int(path.name[5:]) for path in (run / "state").glob("step-*")), default=0)


def half_done(run: Path) -> bool:
    return next((run / "state").glob(".step-*.tmp-*"), None) is not None


def sit(run: Path, steps: int, kind: str = "", more: int = 0, random: Random | None = None) -> int:
    """One sitting, stopped by `kind` once `more` steps have begun; its exit code."""
    command = [sys.executable, str(Path(__file__).resolve()), "--steps", str(steps), "--sitting", str(run)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(more):
        process.stdout.readline()
    if kind == "SIGKILL in a save":
        while process.poll() is None and not half_done(run):
            pass
        process.kill()
    elif kind:
        time.sleep(random.random() * 0.1 if random else 0.0)  # anywhere within a step
        process.send_signal(signal.Signals[kind])
    process.communicate()
    return process.returncode


def stop(run: Path, steps: int, kind: str, at: int, random: Random) -> dict[str, Any]:
    """Go on until about step `at`, and stop there by `kind`; a save that was missed is waited for again."""
    number, tries = signal.SIGKILL if "KILL" in kind else signal.Signals[kind], 0
    while True:
        tries += 1
        code = sit(run, steps, kind, max(1, at - saved(run)), random)
        wanted = -number if number == signal.SIGKILL else 128 + number
        if code != wanted:
            raise SystemExit(f"{kind} at step {at}: the process ended with {code}, not {wanted}")
        if kind != "SIGKILL in a save" or half_done(run):
            return {"by": kind, "at": at, "saved": saved(run), "tries": tries}


def digests(run: Path) -> dict[str, str]:
    """SHA-256 of all that a run came to; the clock is left out of place and log."""
    moment = run / "state" / f"step-{saved(run)}"
    place = json.loads((moment / "place.json").read_text())
    log = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    content = {
        "best weights": (run / "model.safetensors").read_bytes(),
        **{
            name: (moment / f"{name}.safetensors").read_bytes()
            for name in ("weights", "optimiser", "average", "random")
        },
        "place": repr({key: value for key, value in place.items() if key not in CLOCK}).encode(),
        "validations": repr([{k: v for k, v in event.items() if k not in CLOCK} for event in log]).encode(),
    }
    return {name: hashlib.sha256(data).hexdigest() for name, data in content.items()}


def compare(folder: Path, steps: int, stops: int, seed: int) -> dict[str, Any]:
    random = Random(seed)
    kinds = [KINDS[number % len(KINDS)] for number in range(stops)]
    random.shuffle(kinds)
    # Not at the very end: a stop that comes after the last step stops nothing.
    at = sorted(random.sample(range(2, steps - 4), stops))
    write_data(folder)
    began = time.monotonic()
    whole, stopped = folder / "whole", folder / "stopped"
    if sit(whole, steps):
        raise SystemExit("the training in peace failed")
    print(f"in peace: {saved(whole)} steps", flush=True)
    happened = []
    for kind, step in zip(kinds, at, strict=True):
        happened.append(stop(stopped, steps, kind, step, random))
        print(f"stopped by {kind} at about step {step}; saved: {happened[-1]['saved']}", flush=True)
    if sit(stopped, steps):
        raise SystemExit("the last sitting failed")
    one, other = digests(whole), digests(stopped)
    return {
        "steps": steps,
        "stops": happened,
        "same": one == other,
        "equal": f"{len(happened)} of {len(happened)}" if one == other else "not all",
        "compared": [{"what": name, "sha256": one[name], "stopped": other[name]} for name in one],
        "seconds": round(time.monotonic() - began, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--stops", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="write the figures here, not to benchmarks/results")
    parser.add_argument("--sitting", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.sitting:
        return sitting(arguments.sitting, arguments.steps)
    if not 1 <= arguments.stops <= arguments.steps - 6:
        parser.error("there must be a stop, and at least six steps more than stops")
    with tempfile.TemporaryDirectory(prefix="regard-resume-") as folder:
        figures = compare(Path(folder), arguments.steps, arguments.stops, arguments.seed)
    print(f"\n{'':14}{'in peace':18}{len(figures['stops'])} stops")
    for row in figures["compared"]:
        verdict = "same" if row["sha256"] == row["stopped"] else "DIFFERS"
        print(f"{row['what']:14}{row['sha256'][:14]:18}{row['stopped'][:14]:18}{verdict}")
    if arguments.out:
        print(write_whole(arguments.out, json.dumps(figures, indent=2) + "\n"))
    else:
        from record import record

        print(record("resume", figures))
    return 0 if figures["same"] else 1


if __name__ == "__main__":
    sys.exit(main())
