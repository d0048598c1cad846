"""The notebooks run to their end, show pictures where they promise them, and are notebooks for those who want them so.

Each runs in a process of its own, in an empty folder, with trainings of a second or two: what is asserted in them of
any run is held here, what is asserted of a well-trained model is left to the people who run them in full.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

folder = Path(__file__).resolve().parent.parent / "notebooks"
notebooks = sorted(folder.glob("*.py"))

# Stands in for Jupyter: what a cell displays is asked for its picture, as Jupyter would.
runner = """
import builtins, json, runpy, sys
shown = []
def display(thing):
    made = {form: getattr(thing, f"_repr_{form}_")() for form in ("html", "png") if hasattr(thing, f"_repr_{form}_")}
    shown.append([type(thing).__name__, {form: len(one) for form, one in made.items() if one}])
builtins.display = display
runpy.run_path(sys.argv[1], run_name="__main__")
print("\\n" + json.dumps(shown))
"""


def run(*command: str, where: Path, **more: str) -> str:
    environment = {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8", **more}
    done = subprocess.run([sys.executable, *command], cwd=where, env=environment, capture_output=True, timeout=200)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return done.stdout.decode()


def test_all_are_here() -> None:
    assert [path.stem for path in notebooks] == ["a_translator", "attention_from_scratch", "comparing_mechanisms"]
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert all(f"({path.name})" in page for path in notebooks)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        pytest.param("attention_from_scratch", ["AttentionMap"] * 2, marks=pytest.mark.sweep),
        pytest.param("a_translator", ["AttentionMap"] * 2, marks=pytest.mark.sweep),
        pytest.param("comparing_mechanisms", ["Shown", "Shown", "AttentionMap"], marks=pytest.mark.sweep),
    ],
)
def test_it_runs_to_its_end(name: str, kinds: list[str], tmp_path: Path) -> None:
    said = run("-c", runner, str(folder / f"{name}.py"), where=tmp_path, REGARD_NOTEBOOK_TIME="1")
    shown = json.loads(said.splitlines()[-1])
    assert [kind for kind, _ in shown] == kinds
    for kind, sizes in shown:
        assert sizes, f"{kind} has nothing to show"
        assert kind != "AttentionMap" or sizes["html"] > 500


@pytest.mark.parametrize("path", notebooks, ids=lambda path: path.stem)
def test_it_is_a_notebook(path: Path) -> None:
    jupytext, nbformat = pytest.importorskip("jupytext"), pytest.importorskip("nbformat")
    made = nbformat.reads(jupytext.writes(jupytext.read(path), fmt="ipynb"), as_version=4)
    nbformat.validate(made)
    kinds = [cell.cell_type for cell in made.cells]
    assert kinds[0] == "markdown"
    assert made.cells[0].source.startswith("# ")
    assert min(kinds.count("code"), kinds.count("markdown")) >= 6
    assert made.metadata.kernelspec.name == "python3"
    for cell in made.cells:
        if cell.cell_type == "code":
            compile(cell.source, path.name, "exec")
        # Jupytext takes a comment without "%%" for code: every sentence must have come out as text.
        assert not re.search(r"^# %%", cell.source, re.MULTILINE)
    again = jupytext.reads(jupytext.writes(made, fmt="py:percent"), fmt="py:percent")
    assert [cell.source for cell in again.cells] == [cell.source for cell in made.cells]
