"""Trainings that are stopped in every way there is: does each end with the very weights of one that was not?

    python benchmarks/reliability_stops.py --scale 0.1

The training of resume.py, small and saved after every step, is stopped again and again: 50 times by SIGKILL at random
moments; 20 times by SIGTERM, Ctrl-C, a full disk, a folder that cannot be written to or was moved, a second training in
the same folder, a damaged checkpoint. Then it is left in peace, and all that it came to is compared bit for bit.
"""

import argparse
import contextlib
import errno
import io
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", TOKENIZERS_PARALLELISM="false")  # threads do not survive a fork

import torch
from resume import digests, half_done, saved, sitting, write_data

KILLS, OTHERS, STEPS = 50, 20, 40
Before = Callable[[], None]


class Sitting:
    """A child that trains; what it says of steps comes through a pipe, what it says of trouble through a file."""

    def __init__(self, run: Path, before: Before = lambda: None, **options: Any) -> None:
        self.trouble = Path(tempfile.mkstemp(dir=run.parent, prefix="said-")[1])
        self.trouble.chmod(0o666)  # for `stranger`
        reader, writer = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            code = 1
            try:
                from regard.cli.trouble import told

                os.close(reader)
                os.dup2(writer, 1)
                sys.stdout = os.fdopen(1, "w")
                try:
                    before()
                    code = sitting(run, STEPS, **options)
                except BaseException as error:
                    code, line = told(error)
                    self.trouble.write_text(line)
            finally:
                os._exit(code)
        os.close(writer)
        self.steps = os.fdopen(reader, "rb")

    def wait(self, steps: int) -> None:
        """Until so many steps have begun, or it is over."""
        for _ in range(steps):
            self.steps.readline()

    def end(self, number: int = 0) -> tuple[int, str]:
        """Its exit code (negative: the signal that ended it) and its line, after a signal if one is given."""
        if number:
            os.kill(self.pid, number)
        while self.steps.read(1 << 16):
            pass
        self.steps.close()
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        said = self.trouble.read_text()
        self.trouble.unlink()
        return code, said


def stranger() -> None:
    """Rights of somebody whose folder this is not; root may write anywhere."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)


# --- ways to stop; each leaves a run to go on with, and says what was not as promised ------------------------------


def killed(run: Path, random: Random, whole: float) -> tuple[Path, str]:
    one = Sitting(run)
    time.sleep(random.random() * whole / 3)
    one.end(signal.SIGKILL)
    return run, ""


def by_signal(number: int) -> Callable[..., tuple[Path, str]]:
    def stop(run: Path, random: Random, whole: float) -> tuple[Path, str]:
        one = Sitting(run)
        one.wait(random.randint(1, 6))
        code, said = one.end(number)
        return run, "" if code in (128 + number, 0) else f"exit code {code} {said}"

    return stop


def full_disk(run: Path, random: Random, whole: float) -> tuple[Path, str]:
    """Some call that puts something on the disk finds no room, for once."""
    from regard.train import checkpoint

    calls = [(os, "fsync"), (os, "rename"), (os, "replace"), (Path, "write_text"), (checkpoint, "save_file")]
    where, name = random.choice(calls)
    number = random.randint(1, 12)

    def before() -> None:
        real, count = getattr(where, name), iter(range(1, 10**9))

        def call(*given: Any, **named: Any) -> Any:
            if next(count) == number:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*given, **named)

        setattr(where, name, call)

    code, said = Sitting(run, before).end()
    return run, "" if code == 0 or (code == 2 and "no space left" in said) else f"exit code {code} {said}"


def file_limit(run: Path, random: Random, whole: float) -> tuple[Path, str]:
    """A file ends where the system allows no more of it: half of it is written."""

    def before() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        most = random.choice([100, 5_000, 50_000])
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    code, said = Sitting(run, before).end()
    return run, "" if code == 2 and said else f"exit code {code} {said}"


def read_only(run: Path, random: Random, whole: float) -> tuple[Path, str]:
    if not (run / "config.toml").exists():
        killed(run, random, whole)
    if not (run / "config.toml").exists():
        return run, ""
    for path in (run, *run.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    code, said = Sitting(run, stranger).end()

    def answers() -> None:
        from regard.api import load

        stranger()
        load(run)("1 May 2024")
        os._exit(7)  # so far and no further

    read, why = Sitting(run, answers).end()
    for path in (run, *run.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    if code != 2 or str(run) not in said:
        return run, f"exit code {code} {said}"
    return run, "" if read == 7 else f"it could not be loaded ({why})"


def moved(run: Path, random: Random, whole: float) -> tuple[Path, str]:
    killed(run, random, whole)
    if not run.exists():
        return run, ""
    to = run.with_name(f"{run.name}-moved")
    return Path(shutil.move(run, to)), ""


def two_at_once(run: Path, random: Random, whole: float) -> tuple[Path, str]:
    """The second, with or without --fresh, is refused; the first goes on."""
    one = Sitting(run)
    one.wait(2)
    wrong = ""
    for fresh in (False, True):
        code, said = Sitting(run, fresh=fresh).end()
        if code != 2 or f"process {one.pid} " not in said:
            wrong = f"fresh={fresh}: exit code {code} {said}"
    code, said = one.end(signal.SIGTERM)
    return run, wrong or ("" if code in (128 + signal.SIGTERM, 0) else f"the first: exit code {code} {said}")


def damaged(run: Path, random: Random, whole: float) -> tuple[Path, str]:
    """A bit of the newest checkpoint turns; the one before it is used."""
    by_signal(signal.SIGTERM)(run, random, whole)
    step = saved(run)
    files = sorted((run / "state" / f"step-{step}").glob("*.safetensors"))
    if len(list((run / "state").glob("step-*"))) < 2:
        return run, ""
    file = random.choice(files)
    content = bytearray(file.read_bytes())
    content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    file.write_bytes(content)
    return run, ""


others: dict[str, tuple[Callable[..., tuple[Path, str]], int]] = {
    "SIGTERM": (by_signal(signal.SIGTERM), 3),
    "Ctrl-C": (by_signal(signal.SIGINT), 3),
    "full disk": (full_disk, 3),
    "file size limit": (file_limit, 2),
    "read-only folder": (read_only, 2),
    "moved folder": (moved, 2),
    "two at once": (two_at_once, 3),
    "damaged checkpoint": (damaged, 2),
}


# --- the table -----------------------------------------------------------------------------------------------


def stopped(folder: Path, stops: list[tuple[str, Any]], seed: int, whole: float, wanted: dict[str, str]) -> list[str]:
    """The stops one after the other, a few to a run, each run then left in peace; a line for each that fell short."""
    random, short, queue, number = Random(seed), list[str](), list(stops), 0
    while queue:
        number += 1
        some, queue = queue[:5], queue[5:]
        run, wrong, done = folder / f"{seed}-{number}", list[str](), list[str]()
        for name, stop in some:
            run, why = stop(run, random, whole)
            done.append(name)
            if why:
                wrong.append(f"{name}: {why}")
        code, said = Sitting(run).end()
        if code:
            short += [f"{name}, run {number}: not resumed, exit code {code} {said}" for name in done]
        elif (found := digests(run)) != wanted:
            which = ", ".join(key for key in wanted if found.get(key) != wanted[key])
            short += [f"{name}, run {number}: not the same afterwards ({which})" for name in done]
        elif half_done(run) or (run / ".lock").exists():
            short += [f"{name}, run {number}: something half-made was left" for name in done]
        else:
            short += [f"run {number}: {why}" for why in wrong]
        print(f"{', '.join(done)}: {'same' if not short else short[-1]}", file=sys.stderr, flush=True)
        shutil.rmtree(run, ignore_errors=True)
    return short


def warm_up(run: Path) -> None:
    """Train and answer once here: children then have all their modules, which `stranger` could not read."""
    from regard.api import load
    from regard.networks.encoder_decoder import EncoderDecoder

    real = EncoderDecoder.forward
    with contextlib.redirect_stdout(io.StringIO()):
        sitting(run, STEPS)
    EncoderDecoder.forward = real  # type: ignore[method-assign]
    load(run)("1 May 2024")


def rows(scale: float = 1.0) -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    from regard.train import loop

    loop.draw = lambda folder: None  # type: ignore[assignment]  # pictures would take most of the time
    kills = [("SIGKILL", killed)] * max(2, round(KILLS * scale))
    rest = [(name, stop) for name, (stop, count) in others.items() for _ in range(max(1, round(count * scale)))]
    Random(1).shuffle(rest)
    with tempfile.TemporaryDirectory(prefix="regard-stops-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # for `stranger`
        write_data(folder)
        warm_up(folder / "warm")
        began = time.monotonic()
        if Sitting(folder / "whole").end()[0]:
            raise SystemExit("the training in peace failed")
        whole, wanted = time.monotonic() - began, digests(folder / "whole")
        lists = (kills, rest)
        short = [stopped(folder, stops, seed, whole, wanted) for seed, stops in enumerate(lists, 1)]
    tried = ", ".join(f"{one} ×{sum(name == one for name, _ in rest)}" for one in others)
    promises = [
        ("A training killed at any moment goes on to the very same weights.", "SIGKILL at random moments"),
        ("So does one that is stopped in another way.", tried),
    ]
    return [
        {
            "promise": promise,
            "tried": how,
            "count": len(stops),
            "held": max(0, len(stops) - len(fell)),
            "fell_short": fell[:20],
        }
        for (promise, how), stops, fell in zip(promises, lists, short, strict=True)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0)
    table = rows(parser.parse_args().scale)
    print(json.dumps(table, indent=1, ensure_ascii=False))
    return 0 if all(row["held"] == row["count"] for row in table) else 1


if __name__ == "__main__":
    sys.exit(main())
