"""Run the notebooks and keep what they show: NAME.py → NAME.ipynb, with its outputs and pictures.

    pip install -c constraints.txt -e '.[notebooks]'
    python notebooks/build.py                      # all of them, some minutes
    python notebooks/build.py a_translator         # one
    REGARD_NOTEBOOK_TIME=1 python notebooks/build.py --out /tmp/rendered     # a quick check

Each runs in a kernel of its own, in an empty folder. An attention map is kept as a picture: Jupyter shows the page that
regard makes of it, but GitHub runs no page inside a notebook. Of the machine that ran them nothing is kept.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

import jupytext
import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from regard.files import write_whole

here = Path(__file__).resolve().parent
names = sorted(path.stem for path in here.glob("*.py") if path.stem not in ("build", "exercises"))

# Runs before the first cell, and is not kept.
setup = """
from regard import AttentionMap
from regard.look.heatmap import render
png = get_ipython().display_formatter.formatters["image/png"]
png.for_type(AttentionMap, lambda shown: render(shown, "png"))
"""


def rendered(path: Path, folder: Path) -> NotebookNode:
    """The notebook with the outputs of a run in this folder."""
    notebook = jupytext.read(path)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(setup))
    client = NotebookClient(notebook, timeout=3600, record_timing=False, resources={"metadata": {"path": str(folder)}})
    client.execute()
    del notebook.cells[0]
    return tidy(notebook)


def tidy(notebook: NotebookNode) -> NotebookNode:
    """The same without anything of the machine or the moment, and with pictures in place of pages."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = NotebookNode(kernelspec=kernel, language_info={"name": "python"})
    counter = 0
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata = NotebookNode()
        if cell.cell_type == "code":
            counter += 1
            cell.execution_count = counter
            cell.outputs = joined(cell.outputs)
            for output in cell.outputs:
                if output.output_type == "error":  # of something that cannot show itself: the kernel goes on
                    raise SystemExit("\n".join(output.traceback))
                if output.output_type == "execute_result":
                    output.execution_count = counter
                data = output.get("data", {})
                if "image/png" in data:
                    data.pop("text/html", None)
                if len(data) > 1:  # of what can be shown, the name and the address in memory
                    data.pop("text/plain", None)
    nbformat.validate(notebook)
    return notebook


def joined(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Text that was printed in several pieces, as one: how it was cut depends on the moment."""
    found: list[NotebookNode] = []
    for output in outputs:
        if found and output.output_type == "stream" and found[-1].get("name") == output.name:
            found[-1].text += output.text
        else:
            found.append(output)
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which notebooks: {', '.join(names)} (default: all)")
    parser.add_argument("--out", type=Path, default=here, help="the folder of the .ipynb files (default: notebooks/)")
    given = parser.parse_args(arguments)
    if unknown := sorted({*given.names} - {*names}):
        parser.error(f"unknown notebook {unknown[0]!r}; expected {', '.join(names)}")
    # The kernel inherits these: it runs in an empty folder, where neither is found otherwise.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(here), *filter(None, [os.environ.get("PYTHONPATH")])])
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads of small models wait for each other on a busy machine
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names or names:
        with tempfile.TemporaryDirectory() as folder:
            text = nbformat.writes(rendered(here / f"{name}.py", Path(folder)))
        path = write_whole(given.out / f"{name}.ipynb", text + "\n")
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
