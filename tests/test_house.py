"""The house holds: imports point one way, parts are found by name, every module is documented and tested.

Nothing here lists modules: the tests read what is there, so a new file is held to the rules the day it arrives.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from regard import find

tests = Path(__file__).resolve().parent
source = tests.parent / "src" / "regard"
modules = sorted(source.rglob("*.py"))

ground = {
    "types",
    "regions",
    "errors",
    "find",
    "files",
    "ranges",
    "reading",
    "trust",
    "markdown",
    "format",
    "own_code",
    "contracts",
}
# Left to right; a room may use the rooms of every stage to its left, and itself. Rooms that share a
# stage do not know each other. The door (`regard/__init__.py` and other files at the top) may use anything,
# and only the last stage may come in by it.
stages = [
    {"ground"},
    {"pretrained"},
    {"text", "records", "messages"},
    {"fields"},
    {"kernels"},
    {"attend"},
    {"pool"},
    {"encode", "predict"},
    {"networks"},
    {"search", "measure", "look"},
    {"data"},
    {"train"},
    {"tasks"},
    {"faithful"},
    {"cli", "serve"},
]
folders = [
    "attend.score",
    "attend.normalizer",
    "attend.bias",
    "attend.interact",
    "text",
    "fields",
    "fields.embed",
    "encode",
    "pool",
    "predict.generate",
    "predict.language",
    "predict.match",
    "predict.point",
    "predict.reward",
    "networks.recommend",
    "search",
    "measure",
    "data.builtin",
    "tasks",
]
heavy = {"torch", "numpy", "matplotlib", "tokenizers", "sacrebleu", "entmax", "datasets", "fastapi"}
unsafe_modules = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
unsafe_calls = {"eval", "exec", "torch.load", "torch.hub.load", "numpy.load", "np.load", "pandas.read_pickle"}
# Calls of find.py whose first argument names a place in the house: a use by name is still a use.
by_name = {"In", "Of", "build", "find", "names", "import_module"}
by_name |= {f"find.{name}" for name in by_name} | {"importlib.import_module"}


@pytest.fixture(scope="module", autouse=True)
def _trees() -> Iterator[None]:
    """Trees of all modules are kept for these tests, and no longer: they take 200 MB."""
    yield
    parsed.cache_clear()


def room(dotted: str) -> str:
    """The room of a place inside regard: "attend.score.dot" → attend; files at the top are ground or door."""
    first = dotted.split(".")[0]
    if first in ground:
        return "ground"
    return first if any(first in stage for stage in stages) else "door"


def allowed(user: str, used: str) -> bool:
    if user == "door" or user == used:
        return True
    place = {name: i for i, stage in enumerate(stages) for name in stage}
    if used == "door":
        return place[user] == len(stages) - 1
    return place[used] < place[user]


def dotted(path: Path) -> str:
    """The place of a file inside regard, without the leading `regard.`."""
    return ".".join(path.relative_to(source).with_suffix("").parts).removesuffix("__init__").rstrip(".")


def name_of(node: ast.expr) -> str:
    """`a.b.c` as written, where it is only names and dots."""
    if isinstance(node, ast.Attribute):
        return f"{name_of(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def imported(tree: ast.AST, path: Path) -> Iterator[tuple[int, str]]:
    """Every module a file imports, at its head or later, with the line; relative ones made whole."""
    package = ["regard", *path.relative_to(source).parent.parts]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, [base, node.module]))
            # `from regard import types` names a module, `from regard.types import Look` a thing in one.
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def used(tree: ast.AST, path: Path) -> Iterator[tuple[int, str]]:
    """Every place of regard that a file uses, by import or by name, without the leading `regard.`."""
    for line, name in imported(tree, path):
        if name.split(".")[0] == "regard":
            yield line, name.removeprefix("regard").lstrip(".")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in by_name and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                place = first.value.removeprefix("regard.")
                if room(place) != "door":
                    yield first.lineno, place


def wrong_ways(tree: ast.AST, path: Path) -> list[str]:
    here = room(dotted(path))
    return [f"{dotted(path)}:{line} uses {name}" for line, name in used(tree, path) if not allowed(here, room(name))]


def unsafe(tree: ast.AST, path: Path) -> list[str]:
    found = []
    for line, name in imported(tree, path):
        if name.split(".")[0] in unsafe_modules or name in unsafe_calls:
            found.append(f"{dotted(path)}:{line} imports {name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func).removeprefix("builtins.") in unsafe_calls:
            if name_of(node.func) == "torch.load" and _tensors_only(node):
                continue
            found.append(f"{dotted(path)}:{node.lineno} calls {name_of(node.func)}")
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            found.append(f"{dotted(path)}:{node.value.lineno} says allow_pickle")
    return found


def _tensors_only(call: ast.Call) -> bool:
    """Whether it says `weights_only=True`: then torch reads tensors and nothing else."""
    given = {one.arg: one.value for one in call.keywords}
    only = given.get("weights_only")
    return isinstance(only, ast.Constant) and only.value is True


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def at_head(tree: ast.Module) -> ast.Module:
    """What runs when the module is imported: no bodies of functions, nothing only for the type checker."""

    class Drop(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
            return ast.Pass()

        def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
            return ast.Pass()

        def visit_If(self, node: ast.If) -> ast.AST:
            return ast.Pass() if name_of(node.test).split(".")[-1] == "TYPE_CHECKING" else self.generic_visit(node)

    changed = Drop().visit(tree)
    assert isinstance(changed, ast.Module)
    return changed


def none(complaints: list[str]) -> None:
    assert not complaints, "\n" + "\n".join(complaints)


def private(tree: ast.AST, path: Path) -> list[str]:
    """Uses of `a/b/_c.py` from outside `a/b`."""
    found = []
    for line, name in used(tree, path):
        parts = name.split(".")
        hidden = next((at for at, part in enumerate(parts) if part.startswith("_") and not part.startswith("__")), None)
        if hidden is not None and path.relative_to(source).parts[:hidden] != tuple(parts[:hidden]):
            found.append(f"{dotted(path)}:{line} uses {name}")
    return found


def test_private_modules_stay_in_their_folder() -> None:
    none([complaint for path in modules for complaint in private(parsed(path), path)])


@pytest.mark.parametrize(
    ("place", "code", "fine"),
    [
        ("fields/text.py", "from regard.fields._vectors import Vectors", True),
        ("fields/embed/words.py", "from regard.fields._vectors import Vectors", True),
        ("fields/__init__.py", "from regard.fields import _vectors", True),
        ("tasks/tag.py", "from regard.fields._vectors import Vectors", False),
        ("search/beam.py", "import regard.predict.generate._cached", False),
        ("encode/lstm.py", "x: Annotated[Spec, Of('fields._vectors.Vectors')]", False),
        ("tasks/tag.py", "from regard import __version__", True),
    ],
)
def test_the_private_is_seen(place: str, code: str, fine: bool) -> None:
    assert (private(ast.parse(code), source / place) == []) is fine


def test_imports_point_one_way() -> None:
    none([complaint for path in modules for complaint in wrong_ways(parsed(path), path)])


@pytest.mark.parametrize(
    ("place", "code", "fine"),
    [
        ("attend/heads.py", "from regard.types import Look", True),
        ("attend/heads.py", "from regard import types, errors", True),
        ("attend/heads.py", "from regard.attend.score import dot", True),
        ("attend/heads.py", "from .mask import causal", True),
        ("attend/score/dot.py", "from ...kernels import choose", True),
        ("attend/heads.py", "from regard.predict import classify", False),
        ("attend/heads.py", "def f():\n    import regard.train.loop", False),
        ("attend/score/dot.py", "from ...encode import rnn", False),
        ("encode/rnn.py", "from regard import predict", False),
        ("look/page.py", "import regard.measure.aer", False),
        ("tasks/copy.py", "from regard import Attention", False),
        ("tasks/copy.py", "import regard", False),
        ("cli/train.py", "from regard import train", True),
        ("cli/train.py", "import regard", True),
        ("cli/train.py", "import regard.serve", False),
        ("api.py", "import regard.serve, regard.cli.main", True),
        ("types.py", "from regard.text import words", False),
        ("find.py", "from regard.errors import RegardError", True),
        ("encode/rnn.py", "x: Annotated[Spec, In('attend.score')] = 'dot'", True),
        ("encode/rnn.py", "x: Annotated[Spec, In('tasks')] = 'copy'", False),
        ("encode/rnn.py", "importlib.import_module('regard.train.loop')", False),
        ("encode/rnn.py", "line.find('tasks')", True),
        ("encode/rnn.py", "find.build('tasks', spec)", False),
    ],
)
def test_the_direction_is_seen(place: str, code: str, fine: bool) -> None:
    assert (wrong_ways(ast.parse(code), source / place) == []) is fine


def test_the_command_line_and_the_front_door_are_light() -> None:
    """`regard --help` answers at once: neither `regard` nor any file of the command line brings in the heavy ones."""
    verbs = [path for path in modules if path.relative_to(source).parts[0] == "cli"]
    direct = [
        f"{dotted(path)}:{line} imports {name}"
        for path in verbs
        for line, name in imported(at_head(parsed.__wrapped__(path)), path)  # a tree of its own, which it changes
        if name.split(".")[0] in heavy
    ]
    none(direct)
    names = ["regard", *(f"regard.{dotted(path)}" for path in verbs)]
    code = f"import sys, {', '.join(names)}; print(*sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "", "imported through other modules of regard"


def test_only_what_runs_at_import_counts_as_the_head() -> None:
    code = "import os\nif TYPE_CHECKING:\n    import torch\nif os.name:\n    import numpy\ndef f():\n    import torch\n"
    assert [name for _, name in imported(at_head(ast.parse(code)), source / "cli/x.py")] == ["os", "numpy"]


def test_nothing_is_unpickled_or_evaluated() -> None:
    none([complaint for path in modules for complaint in unsafe(parsed(path), path)])


@pytest.mark.parametrize(
    ("code", "fine"),
    [
        ("model.eval()", True),
        ("re.compile('x')", True),
        ("safetensors.torch.load(data)", True),
        ("eval('1')", False),
        ("builtins.exec('1')", False),
        ("import pickle", False),
        ("from pickle import loads", False),
        ("torch.load('x')", False),
        ("torch.load('x', weights_only=False)", False),
        ("torch.load('x', weights_only=only)", False),
        ("torch.load('x', weights_only=True)", True),
        ("from torch import load", False),
        ("f(x, allow_pickle=True)", False),
    ],
)
def test_the_unsafe_is_seen(code: str, fine: bool) -> None:
    assert (unsafe(ast.parse(code), source / "train/x.py") == []) is fine


# What others made may be asked whether it has something; what is ours declares it.
not_ours = {"os", "error", "getattr(error, 'ctx', None)", "stream", "sys.stdin.buffer", "weights", "enter", "leave"}
not_ours |= {"rows.features[top]", "scope.get('route')", "tokenizer.model", "hf_output"}


def probing(tree: ast.AST, path: Path) -> list[str]:
    """Questions whether an object has a member, and of a callable's parameters, that a declared member would answer."""
    found = []
    # Data frames, data sets and networks of other packages; classes of a person's own, which may lack what is declared.
    if dotted(path) in ("data.given", "contracts", "fields._pretrained_networks", "faithful.models"):
        return []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = name_of(node.func)
        asks = name == "hasattr" or (name == "getattr" and len(node.args) > 2)
        if asks and ast.unparse(node.args[0]) not in not_ours:
            found.append(f"{dotted(path)}:{node.lineno} asks {ast.unparse(node)}")
        if name == "inspect.signature" and dotted(path) not in ("find", "ranges", "train"):
            found.append(f"{dotted(path)}:{node.lineno} reads a signature")
    return found


def test_nothing_is_probed() -> None:
    none([complaint for path in modules for complaint in probing(parsed(path), path)])


@pytest.mark.parametrize(
    ("code", "fine"),
    [
        ("hasattr(os, 'fork')", True),
        ("getattr(error, 'strerror', None)", True),
        ("getattr(splits, part)", True),
        ("hasattr(decoder, 'blocks')", False),
        ("getattr(network, 'decoder', network)", False),
        ("inspect.signature(task.predict)", False),
    ],
)
def test_the_probing_is_seen(code: str, fine: bool) -> None:
    assert (probing(ast.parse(code), source / "look/x.py") == []) is fine


value_kinds = {find.find("fields", name).kind for name in find.names("fields")}  # type: ignore[attr-defined]
field_classes = {find.find("fields", name).__name__ for name in find.names("fields")}  # type: ignore[attr-defined]


def asking_kinds(tree: ast.AST, path: Path) -> list[str]:
    """Questions outside `fields/` of what kind a value is, where the field would declare what follows from it."""
    found = []
    if path.relative_to(source).parts[0] == "fields":
        return []
    narrowed = {id(node.test) for node in ast.walk(tree) if isinstance(node, ast.Assert)}  # for the type checker
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and name_of(node.left).endswith(".kind"):
            constants = {one.value for one in ast.walk(node) if isinstance(one, ast.Constant)}
            asks = bool(constants & value_kinds)
        else:
            asks = (
                isinstance(node, ast.Call)
                and name_of(node.func) == "isinstance"
                and id(node) not in narrowed
                and bool({name_of(one) for one in _kinds(node.args[1])} & field_classes)
            )
        if asks:
            found.append(f"{dotted(path)}:{node.lineno} asks {ast.unparse(node)}")
    return found


def _kinds(given: ast.expr) -> list[ast.expr]:
    """The classes of `A`, `A | B` and `(A, B)`."""
    if isinstance(given, ast.BinOp):
        return [*_kinds(given.left), *_kinds(given.right)]
    return given.elts if isinstance(given, ast.Tuple) else [given]


def test_nothing_outside_fields_asks_what_kind_a_value_is() -> None:
    none([complaint for path in modules for complaint in asking_kinds(parsed(path), path)])


@pytest.mark.parametrize(
    ("place", "code", "fine"),
    [
        ("data/load.py", "field.kind == 'audio'", False),
        ("data/load.py", "fields[-1].kind in ('span', 'cloze')", False),
        ("data/load.py", "isinstance(field, History)", False),
        ("data/load.py", "isinstance(field, Text | Items)", False),
        ("data/load.py", "isinstance(field, Input)", True),
        ("data/load.py", "assert isinstance(field, Text)", True),
        ("data/load.py", "region.kind == 'box'", True),
        ("fields/text.py", "isinstance(field, Text)", True),
    ],
)
def test_a_question_of_a_kind_is_seen(place: str, code: str, fine: bool) -> None:
    tree = ast.parse(code)
    found = asking_kinds(tree, source / place)
    assert (found == []) is fine, found


# A mechanism that several stages of a model use has one name, as `encoder=transformer decoder=transformer`.
in_several_stages = {"Attention", "Intra", "Lstmn", "Pretrained", "Recurrent", "Sample", "Structured", "Transformer"}


def classes(trees: Mapping[str, ast.AST]) -> dict[str, list[str]]:
    """Where each class is defined, by its name."""
    found: dict[str, list[str]] = {}
    for place, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(place)
    return found


def test_one_class_name_means_one_thing() -> None:
    found = classes({dotted(path): parsed(path) for path in modules})
    twice = {name: places for name, places in found.items() if len(places) > 1}
    none([f"{name}: {', '.join(places)}" for name, places in twice.items() if name not in in_several_stages])
    assert set(twice) == in_several_stages  # no exception that nothing needs
    for name in in_several_stages - {
        "Attention"
    }:  # attention pooling is attention with one query, and a part of its own
        assert all(place.rpartition(".")[0] in folders for place in twice[name]), name


def test_a_class_name_used_twice_is_seen() -> None:
    trees = {"a.x": ast.parse("class State: ..."), "b.y": ast.parse("def f():\n    class State: ...\nclass Other: ...")}
    assert classes(trees) == {"State": ["a.x", "b.y"], "Other": ["b.y"]}


def test_every_module_says_what_it_is() -> None:
    none([f"{dotted(path) or 'regard'}: no docstring" for path in modules if not ast.get_docstring(parsed(path))])


@pytest.mark.parametrize("folder", folders)
def test_every_part_is_found_by_its_name(folder: str) -> None:
    wrong = []
    for name in find.names(folder):
        part = find.find(folder, name)
        camel = "".join(word.capitalize() for word in name.split("_"))
        if not isinstance(part, type) or part.__name__ != camel or part.__module__ != f"regard.{folder}.{name}":
            wrong.append(f"{folder}.{name}: found {part!r}, expected a class {camel} defined there")
        elif not (vars(part).get("__doc__") or "").strip():
            wrong.append(f"{folder}.{name}: {camel} has no docstring")
    none(wrong)


def test_every_module_has_its_test() -> None:
    """a/b.py ↔ tests/a/test_b.py, or test_a_b.py where that is taken; a part's may stand anywhere in its room."""
    missing = []
    for path in modules:
        place = path.relative_to(source)
        if place.name.startswith("__"):
            continue
        stem = path.stem.lstrip("_")
        is_part = ".".join(place.parent.parts) in folders
        where = tests / (place.parts[0] if is_part else place.parent)
        wanted = {f"test_{stem}.py", f"test_{'_'.join([*place.parent.parts[-1:], stem])}.py"}
        there = {found.name for found in (where.rglob("test_*.py") if is_part else where.glob("test_*.py"))}
        if not wanted & there:
            missing.append(f"{place.as_posix()}: no {(where / f'test_{stem}.py').relative_to(tests.parent).as_posix()}")
    none(missing)
