"""The mistakes that `benchmarks/mutate.py` makes: each kind by hand, what is left alone, and which are tried."""

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

from mutate import mutants
from reliability_mutants import _own, sample


def made(source: str) -> list[str]:
    return [one.applied(source) for one in mutants("a.py", source)]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("x = a + b", ["x = (a - b)"]),
        ("x = a * b", ["x = (a / b)"]),
        ("x = a < b", ["x = (a <= b)", "x = (a >= b)"]),
        ("x = a is not b", ["x = (a is b)"]),
        ("x = a and b", ["x = (a or b)"]),
        ("x = not a", ["x = (a)"]),
        ("x = -a", ["x = (a)"]),
        ("x = True", ["x = False"]),
        ("x = 1", ["x = (0)", "x = 2"]),
        ("x = 0.5", ["x = (-0.5)", "x = 1.5"]),
        ("x = f(a, b, c)", ["x = f(b, a, c)"]),
        ("x = f(a, *b)", []),
        ("x = a if b else c", ["x = (a if not b else c)"]),
        ("if a:\n    b\nelse:\n    c", ["if (not (a)):\n    b\nelse:\n    c", "if a:\n    pass\nelse:\n    c",
                                       "if a:\n    b\nelse:\n    pass"]),
        ("def f():\n    return a", ["def f():\n    return None"]),
        ("def f():\n    return None", []),
        ("def f():\n    raise E(f'{a + 1}', 1 + 2)", ["def f():\n    pass"]),
        ("x += a", ["x -= a", "pass"]),
        ("x.y = a", ["pass"]),
        ("π = a + b  # in bytes", ["π = (a - b)  # in bytes"]),
    ],
)  # fmt: skip
def test_by_hand(source: str, wanted: list[str]) -> None:
    found = made(source)
    assert found == wanted
    for one in found:
        ast.parse(one)


def test_what_is_left_alone() -> None:
    source = '''"""A docstring."""
__all__ = ["a" + "b"]
import b
x: list[1 + 1] | None
assert a + b
said = f"{a + b}"
if TYPE_CHECKING:
    c()
@cache(maxsize=2)
def f(a: int | None) -> int | str:
    """Says 1 + 1."""
@triton.jit
def g():
    return a + b
'''
    assert made(source) == []


def test_where_they_are() -> None:
    inner = "            x = [a + b for a in c]\n            y = 1\n            y = 1\n"
    source = f"class A:\n    def f(self):\n        def g():\n{inner}"
    first, *rest = mutants("p/a.py", source)
    assert (first.line, first.function, first.kind) == (4, "A.f.<locals>.g", "operator")
    assert first.name == "p/a.py A.f.<locals>.g: a + b → (a - b)"
    names = [one.name for one in rest]
    assert len(set(names)) == len(names) == 4
    assert names[-1].endswith("1 → 2 (2)")


def test_which_are_sampled_does_not_depend_on_the_others() -> None:
    found = sample(40, 16, "measure/")
    assert len({(one.path, one.line) for one in found}) == len({one.name for one in found}) == 40
    assert sample(20, 16, "measure/") == found[:20]
    assert sample(40, 17, "measure/") != found
    of_one_file = sample(1000, 16, "measure/bleu")
    assert [one for one in found if one.path == "measure/bleu.py"] == [one for one in of_one_file if one in found]


def test_the_tests_of_a_module_are_those_of_its_name_and_of_its_folder() -> None:
    assert _own("find.py") == ["tests/test_find.py"]
    assert _own("cli/align.py") == ["tests/cli/test_cli_align.py"]
    digits, shared = "tests/data/builtin/test_digits.py", "tests/data/builtin/test_builtin.py"
    assert _own("data/builtin/digits.py") == [digits, shared]
