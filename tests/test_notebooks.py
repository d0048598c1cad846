"""The notebooks run to their end, show pictures where they promise them, and are notebooks for those who want them so.

Each runs in a process of its own, in an empty folder, with trainings of a second or two: what is asserted in them of
any run is held here, what is asserted of a well-trained model is left to the people who run them in full. It runs with
the solutions in place of the exercises, and each check must then also refuse the wrong answers below.
"""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

folder = Path(__file__).resolve().parent.parent / "notebooks"
names = ["a_translator", "attention_from_scratch", "comparing_mechanisms"]
notebooks = [folder / f"{name}.py" for name in names]

# Stands in for Jupyter: what a cell displays is asked for its picture, as Jupyter would. Then each wrong answer is
# defined in place of the right one, and its check asked again.
runner = """
import builtins, json, runpy, sys
shown = []
def display(thing):
    made = {form: getattr(thing, f"_repr_{form}_")() for form in ("html", "png") if hasattr(thing, f"_repr_{form}_")}
    shown.append([type(thing).__name__, {form: len(one) for form, one in made.items() if one}])
builtins.display = display
namespace = runpy.run_path(sys.argv[1], run_name="__main__")
from exercises import checks
said = []
for number, answer in json.loads(sys.argv[2]):
    there = checks[number].__globals__
    there.update(namespace)
    exec(answer, there)
    try:
        checks[number]()
        said.append("accepted")
    except AssertionError as error:
        said.append(f"{error}")
print("\\n" + json.dumps({"shown": shown, "said": said, "checks": list(checks)}))
"""

# Mistakes that a student may make: the number of the exercise, a piece of what is said to it, and the answer.
WRONG: dict[str, list[tuple[int, str, str]]] = {
    "attention_from_scratch": [
        (1, "two entropies", "entropy = lambda w: -(w * np.log2(np.where(w > 0, w, 1))).sum()"),
        (1, "NaN", "entropy = lambda w: -(w * np.log2(w)).sum(-1)"),
        (1, "base 2", "entropy = lambda w: -(w * np.log(np.where(w > 0, w, 1))).sum(-1)"),
        (2, "at 0.01", "soften = lambda s, t: np.exp(s * t) / np.exp(s * t).sum()"),
        (
            2,
            "highest score",
            "def soften(s, t):\n    e = np.exp((s - s.max() * (t < 1)) / t)\n    return e / e.sum()",
        ),
        (3, "mask before", "masked_softmax = lambda s, a: np.where(a, soften(s, 1.0), 0)"),
        (3, "copy", "def masked_softmax(s, a):\n    s[~a] = -1e9\n    return soften(s, 1.0)"),
        (3, "nothing is allowed", "masked_softmax = lambda s, a: soften(np.where(a, s, -1e9), 1.0)"),
        (4, "second key", "bilinear = lambda q, k, W: k @ (W.T @ q) * 2"),
        (4, "four scores", "bilinear = lambda q, k, W: W.T @ q"),
        (5, "autograd", "query_gradient = lambda q, k, g: soften(k @ q, 1.0) @ k"),
        (5, "autograd", "query_gradient = lambda q, k, g: (soften(k @ q, 1.0) * (k @ g)) @ k"),
        (6, "not additive", "class Bahdanau(Soft): pass"),
        (
            6,
            "know its place",
            "class Bahdanau(Hard):\n    def __init__(self):\n        super().__init__()\n"
            "        score = Additive(query=SIZE, key=SIZE, hidden=SIZE)\n"
            "        self.attention = Attention(score, Softmax())",
        ),
    ],
    "a_translator": [
        (1, "'2024-03-15'", "wrong_fields = lambda p, r: set()"),
        (
            1,
            "'2024-03'",
            "names = ('year', 'month', 'day')\n"
            "wrong_fields = lambda p, r: {n for n, a, b in zip(names, p.split('-'), r.split('-')) if a != b}",
        ),
        (2, "not", "error_rate = lambda a, g: 1 - len(a & g) / max(len(g), 1)"),
        (2, "no error", "error_rate = lambda a, g: 1 - 2 * len(a & g) / max(len(a) + len(g), 1)"),
        (
            3,
            "sum over rows",
            "unread = lambda look, least=0.1: ''.join("
            "c.text for c, w in zip(look.columns, look.weights.max(0)) if w < least and c.text != '</s>')",
        ),
        (
            3,
            "no part of the text",
            "unread = lambda look, least=0.1: ''.join("
            "c.text for c, w in zip(look.columns, look.weights.sum(0)) if w < least)",
        ),
        (
            4,
            "a beam of 2",
            "def beam_search(n, size, longest=10):\n    prefix = ()\n    while '</s>' not in prefix:\n"
            "        prefix += (max(n(prefix), key=n(prefix).get),)\n    return prefix",
        ),
        (5, "falls by", "right = importance\nimportance = lambda *given: right(*given) + 1"),
        (5, "12 characters", "importance = lambda *given: np.zeros(3)"),
        (6, "characters deleted", "shortest = lambda model, text: text + ' '"),
        (6, "not all of them", "shortest = lambda model, text: ''"),
    ],
    "comparing_mechanisms": [
        (1, "training set", "majority = lambda train, test: test.count(statistics.mode(test)) / len(test)"),
        (2, "number of tokens", "pool_mean = lambda h, there: h.mean(1)"),
        (
            2,
            "0 · NaN",
            "pool_mean = lambda h, there: (h * there[..., None]).sum(1) / there.sum(1, keepdim=True).clamp(min=1)",
        ),
        (
            3,
            "minus infinity",
            "def pool_attention(h, there, W, w):\n    a = (torch.tanh(h @ W.T) @ w).softmax(-1)\n"
            "    return (a[..., None] * h).sum(1), a",
        ),
        (4, "'middle'", "worth_it = lambda rows: [row['name'] for row in rows]"),
        (4, "neither is better", "worth_it = lambda rows: ['small', 'large']"),
        (5, "0.69", "paired_bootstrap = lambda one, other, draws=1000, seed=0: float(sum(one) > sum(other))"),
        (
            5,
            "never strictly better",
            "def paired_bootstrap(one, other, draws=1000, seed=0):\n    random = np.random.default_rng(seed)\n"
            "    a, b = (random.choice(x, (draws, len(x))).sum(1) for x in (one, other))\n    return (a > b).mean()",
        ),
        (
            6,
            "comes first",
            "right = confusions\nconfusions = lambda *g: type(right(*g))(('xx', b) for a, b in right(*g).elements())",
        ),
        (6, "you counted 0", "import collections\nconfusions = lambda m, e: collections.Counter()"),
    ],
}


def run(*command: str, where: Path, **more: str) -> str:
    environment = {**os.environ, "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8", **more}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run([sys.executable, *command], cwd=where, env=environment, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return done.stdout.decode()


def cells(path: Path) -> list[Any]:
    return list(pytest.importorskip("jupytext").read(path).cells)


def code(path: Path) -> list[str]:
    return [cell.source for cell in cells(path) if cell.cell_type == "code"]


def defined(source: str) -> str:
    """The function or class that a cell defines, if it does nothing else."""
    body = ast.parse(source).body
    return body[0].name if len(body) == 1 and isinstance(body[0], (ast.FunctionDef, ast.ClassDef)) else ""


def stubs(path: Path) -> list[str]:
    """What is left to the student."""
    return [defined(source) for source in code(path) if "raise NotImplementedError" in source]


def solved(path: Path) -> str:
    """The notebook with the solution in the place of each exercise."""
    answers = {defined(source): source for source in code(folder / "solutions" / path.name)}
    sources = [answers[defined(s)] if "raise NotImplementedError" in s else s for s in code(path)]
    return "\n\n".join(sources)


def test_all_are_here() -> None:
    assert sorted(path.stem for path in folder.glob("*.py")) == sorted([*names, "build", "exercises"])
    assert sorted(path.stem for path in folder.glob("*.ipynb")) == names
    page = (folder / "README.md").read_text(encoding="utf-8")
    assert all(f"({path.stem}.ipynb)" in page and f"({path.name})" in page for path in notebooks)


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("attention_from_scratch", ["AttentionMap"] * 2),
        ("a_translator", ["AttentionMap"] * 2),
        ("comparing_mechanisms", ["Shown", "Shown", "AttentionMap"]),
    ],
)
def test_it_runs_to_its_end_and_its_checks_tell_right_from_wrong(name: str, kinds: list[str], tmp_path: Path) -> None:
    (tmp_path / f"{name}.py").write_text(solved(folder / f"{name}.py"), encoding="utf-8")
    wrong = [(number, answer) for number, _, answer in WRONG[name]]
    printed = run("-c", runner, f"{name}.py", json.dumps(wrong), where=tmp_path, REGARD_NOTEBOOK_TIME="1")
    found = json.loads(printed.splitlines()[-1])
    assert [kind for kind, _ in found["shown"]] == kinds
    for kind, sizes in found["shown"]:
        assert sizes, f"{kind} has nothing to show"
        assert kind != "AttentionMap" or sizes["html"] > 500
    assert re.findall(r"^Exercise (\d): (.*)$", printed, re.MULTILINE) == [(str(n), "solved") for n in range(1, 7)]
    for (number, piece, answer), said in zip(WRONG[name], found["said"], strict=True):
        assert said not in ("accepted", ""), f"exercise {number} takes {answer}"
        assert piece in said


@pytest.mark.parametrize("path", notebooks, ids=lambda path: path.stem)
def test_each_exercise_has_a_check_a_solution_and_wrong_answers(path: Path) -> None:
    numbers = [int(one) for one in re.findall(r"^@exercise\((\d)\)$", path.read_text(encoding="utf-8"), re.MULTILINE)]
    assert numbers == [1, 2, 3, 4, 5, 6]
    assert [defined(source) for source in code(folder / "solutions" / path.name)] == stubs(path)
    assert len(stubs(path)) == len(numbers)
    assert {number for number, _, _ in WRONG[path.stem]} == {*numbers}
    assert f"`solutions/{path.name}`" in path.read_text(encoding="utf-8")


def test_an_exercise_says_how_it_stands(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    from exercises import checks, exercise

    def no() -> None:
        raise NotImplementedError

    def wrong() -> None:
        raise AssertionError("two and two are four")

    exercise(1)(no)
    exercise(2)(lambda: None)
    assert capsys.readouterr().out == "Exercise 1: not solved yet\nExercise 2: solved\n"
    with pytest.raises(AssertionError, match="two and two"):
        exercise(3)(wrong)
    assert checks[3] is wrong


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


@pytest.mark.parametrize("path", notebooks, ids=lambda path: path.stem)
def test_what_is_rendered_is_this_notebook(path: Path) -> None:
    """Else run notebooks/build.py. Outputs of a run differ; the cells do not."""
    nbformat = pytest.importorskip("nbformat")
    place = path.with_suffix(".ipynb")
    text = place.read_text(encoding="utf-8")
    made = nbformat.reads(text, as_version=4)
    nbformat.validate(made)
    assert [(c.cell_type, c.source) for c in made.cells] == [(c.cell_type, c.source) for c in cells(path)]
    assert place.stat().st_size < 1_000_000
    outputs = [output for cell in made.cells if cell.cell_type == "code" for output in cell.outputs]
    assert sum("image/png" in output.get("data", {}) for output in outputs) >= 2
    assert not [one for one in outputs if one.output_type == "error" or one.get("name") == "stderr"]
    assert sum("not solved yet" in output.get("text", "") for output in outputs) == 6


@pytest.mark.parametrize("path", notebooks, ids=lambda path: path.stem)
def test_what_is_rendered_tells_nothing_of_the_machine(path: Path) -> None:
    made = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))
    assert set(made["metadata"]) == {"kernelspec", "language_info"}
    assert made["metadata"]["language_info"] == {"name": "python"}
    assert all(cell["metadata"] == {} for cell in made["cells"])
    shown = [output for cell in made["cells"] for output in cell.get("outputs", ())]
    told = "".join(json.dumps({**one, "data": {**one.get("data", {}), "image/png": ""}}) for one in shown)
    assert not re.search(r"(?<![\w.<])/(?:home|root|Users|tmp|work|usr|opt|mnt|private)\b", told)


@pytest.mark.sweep
def test_they_are_built_with_pictures_and_without_the_machine(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    build = str(folder / "build.py")
    run(build, "attention_from_scratch", "--out", str(tmp_path), where=tmp_path, REGARD_NOTEBOOK_TIME="0.2")
    made = nbformat.read(tmp_path / "attention_from_scratch.ipynb", as_version=4)
    shipped = nbformat.read(folder / "attention_from_scratch.ipynb", as_version=4)
    assert made.metadata == shipped.metadata
    for one, other in zip(made.cells, shipped.cells, strict=True):
        assert {**one, "outputs": 0} == {**other, "outputs": 0}
        kinds, expected = ([output.output_type for output in cell.get("outputs", ())] for cell in (one, other))
        assert kinds == expected
    data = [output.data for cell in made.cells for output in cell.get("outputs", ()) if "data" in output]
    assert [list(one) for one in data] == [["image/png"]] * 2
