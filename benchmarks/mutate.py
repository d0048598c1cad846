"""Mutants: copies of a source file with one small mistake each, to see whether the tests notice.

    for one in mutants("attend/heads.py", source): one.line, one.before, one.after, one.applied(source)

What is changed: an operator, a comparison, `and` for `or`, a constant by one, True for False, a `not`, `-` or `~` left
out, a condition negated (which swaps its branches), two arguments swapped, a statement or a returned value left out.

What is left alone, because no test could or should notice: docstrings and messages, type hints, decorators,
assertions, `__all__`, what only the type checker reads, and the bodies of Triton kernels (in the interpreter they
are slow, and `benchmarks/check_kernels.py` and `check_feature.py` compare them with the readable path on a GPU).
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

__all__ = ["Mutant", "mutants"]

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}


@dataclass(frozen=True)
class Mutant:
    """One mistake: the bytes `start` to `end` of a file, `before`, become `after`."""

    path: str
    line: int
    function: str  # its qualified name, as code objects have it; "" at the top of the file
    kind: str
    before: str
    after: str
    start: int
    end: int
    same: int = 0  # how many like it stand before it in the function

    def applied(self, source: str) -> str:
        raw = source.encode()
        return (raw[: self.start] + self.after.encode() + raw[self.end :]).decode()

    @property
    def name(self) -> str:
        """The same in every copy of the file: place and change, without line numbers."""
        which = f" ({self.same + 1})" if self.same else ""
        return f"{self.path} {self.function or 'top'}: {_short(self.before)} → {_short(self.after)}{which}"


def _short(code: str) -> str:
    return " ".join(code.split())


def mutants(path: str, source: str) -> list[Mutant]:
    """All mutants of a file, in the order of the file."""
    tree, lines = ast.parse(source), source.encode().splitlines(keepends=True)
    starts = [0]
    for one in lines:
        starts.append(starts[-1] + len(one))
    raw, found = source.encode(), []
    for node, function, kind, after in _walk(tree, ""):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        before = raw[start:end].decode()
        if _short(before) != _short(after):
            found.append(Mutant(path, node.lineno, function, kind, before, after, start, end))
    found.sort(key=lambda one: (one.start, one.end, one.kind, one.after))
    met: Counter[str] = Counter()
    for number, one in enumerate(found):
        found[number] = replace(one, same=met[one.name])
        met[one.name] += 1
    return found


Change = tuple[ast.expr | ast.stmt, str, str, str]


def _walk(node: ast.AST, function: str) -> Iterator[Change]:
    """Every change inside a node: what is replaced, the function it stands in, the kind, the new code."""
    for child in _children(node):
        if _left_alone(child):
            continue
        inside = function
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            around = f"{function}." if function and isinstance(node, ast.ClassDef) else ""
            if function and not around:
                around = f"{function}.<locals>."
            inside = around + child.name
        yield from ((child, function, kind, after) for kind, after in _changes(child))
        if isinstance(child, ast.If):
            yield child.test, function, "branch", f"(not ({ast.unparse(child.test)}))"
        if not isinstance(child, ast.Raise):  # whose arguments are a message
            yield from _walk(child, inside)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Those that are no type hints and no decorators."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases", "op", "ops", "ctx"):
            continue
        yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, ast.AST))


def _left_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert | ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Global | ast.Nonlocal):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):  # a docstring
        return True
    if isinstance(node, ast.Assign):
        return any(isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets)
    if isinstance(node, ast.If):
        return ast.unparse(node.test).endswith("TYPE_CHECKING")
    if isinstance(node, ast.FunctionDef):
        return any("jit" in ast.unparse(one) or "overload" in ast.unparse(one) for one in node.decorator_list)
    return False


def _changes(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Kind and new code of every change to this node itself."""
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield "operator", _with(node, op=OPERATORS[type(node.op)]())
    elif isinstance(node, ast.AugAssign):
        if type(node.op) in OPERATORS:
            yield "operator", ast.unparse(_changed(node, op=OPERATORS[type(node.op)]()))
        yield "statement", "pass"
    elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.UAdd):
        yield "sign", f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from (("comparison", _with(node, ops=[one()])) for one in COMPARISONS[type(node.ops[0])])
    elif isinstance(node, ast.BoolOp):
        yield "and or", _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield "constant", str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "constant", repr(node.value + 1)
        yield "constant", f"({node.value - 1!r})"
    elif isinstance(node, ast.IfExp):
        yield "branch", _with(node, test=ast.UnaryOp(ast.Not(), node.test))
    elif isinstance(node, ast.Call) and len(node.args) > 1 and not isinstance(node.args[0], ast.Starred):
        first, second, *rest = node.args
        if not isinstance(second, ast.Starred):
            yield "arguments", ast.unparse(_changed(node, args=[second, first, *rest]))
    elif isinstance(node, ast.Return) and node.value is not None:
        yield "returned", "return None"
    elif (
        isinstance(node, ast.Raise | ast.Continue | ast.Break | ast.Delete)
        or (isinstance(node, ast.Expr) and not isinstance(node.value, ast.Yield | ast.YieldFrom | ast.Await))
        or (isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Name | ast.Tuple))
    ):
        yield "statement", "pass"


def _changed(node: ast.AST, **fields: object) -> ast.AST:
    other = copy.copy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _with(node: ast.AST, **fields: object) -> str:
    """The changed expression, in parentheses: it may stand inside another."""
    return f"({ast.unparse(_changed(node, **fields))})"
