"""`regard` itself: help at once, versions, wrong verbs, `--debug`, what happens when nobody reads."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import Regard

from regard import __version__
from regard.cli.main import commands

started = "import sys; from regard.cli.main import main; sys.argv[0] = 'regard'; main()"


def test_help_comes_at_once_and_without_torch() -> None:
    best = 9.0
    for _ in range(3):
        begin = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run([sys.executable, "-c", started, "--help"], capture_output=True, text=True, timeout=300)
        best = min(best, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - begin)
        assert done.returncode == 0
        assert all(f"\n  {verb} " in done.stdout for verb in commands)
    print(f"regard --help took {best:.2f} s of a processor")
    assert best < 0.8  # meant to be under 0.4, of a processor: others may be using it too
    code = "import sys; from regard.cli.main import answer; answer(['train', '--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert not {"torch", "numpy", "matplotlib", "regard.api"} & set(done.stdout.split())


def test_nobody_reads(tmp_path: Path) -> None:
    """`regard … | head`, of which head has gone: no complaint."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-c", started, "--help"], stdout=writer, stderr=subprocess.PIPE, timeout=300)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_no_space_for_the_output() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", started, "--help"], stdout=full, stderr=subprocess.PIPE, timeout=300
        )
    assert done.returncode == 2
    assert done.stderr.decode().startswith("regard: no space left on device")
    assert done.stderr.count(b"\n") == 1


def test_version_and_bare_call(regard: Regard) -> None:
    assert regard("--version").out == f"regard {__version__}\n"
    assert regard().out.startswith("Usage: regard")
    assert regard().code == 0


@pytest.mark.parametrize("verb", commands)
def test_every_verb_explains_itself(regard: Regard, verb: str) -> None:
    said = regard(verb, "--help")
    assert said.code == 0
    assert f"Usage: regard {verb}" in said.out
    assert f"Example: regard {verb}" in said.out


def test_a_wrong_verb_names_the_nearest(regard: Regard) -> None:
    assert regard("trian", "translate").line() == "no command named 'trian'; did you mean 'train'?"


def test_wrong_options_are_one_line(regard: Regard) -> None:
    assert "--no-such" in regard("info", "--no-such").line()
    assert (
        regard("train", "translate", "--encoder.hidden", "5")
        .line()
        .endswith("write encoder.hidden=value without dashes")
    )
    assert regard("evaluate").line() == "missing argument 'RUN'; see regard evaluate --help"


@pytest.mark.parametrize("words", [("--debug", "list", "skore"), ("list", "skore", "--debug")])
def test_debug_shows_the_traceback_wherever_it_stands(regard: Regard, words: tuple[str, ...]) -> None:
    said = regard(*words)
    assert said.code == 2
    assert "Traceback" in said.err
    assert "unknown part 'skore'; did you mean 'score'?" in said.err


def test_debug_after_two_dashes_is_text(regard: Regard) -> None:
    assert "unknown part '--debug'" in regard("list", "--", "--debug").line()


def test_what_a_screen_would_obey_is_escaped(regard: Regard) -> None:
    assert "\\x1b[31m[bold]" in regard("list", "\x1b[31m[bold]").line()
