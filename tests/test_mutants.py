"""The mistakes that `benchmarks/mutate.py` makes: each kind by hand, and what is left alone."""

import ast
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "benchmarks"))

from mutate import mutants


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
