"""Human evaluation, blind and side by side: connects the command line with the page and the report.

`cli` and `serve` do not import each other; this module connects them. The page needs FastAPI and uvicorn (the extra
`serve`); the report does not.

    judge(["a.txt", "b.txt"], "source.txt", out=Path("judgements.sqlite"), judge="ana")
    results(Path("judgements.sqlite"))
"""

import sqlite3
from pathlib import Path
from typing import Any

from regard.errors import RegardError

__all__ = ["judge", "results"]


def judge(outputs: list[str], source: str, reference: str | None, out: Path, judge: str, **options: Any) -> Any:
    """Serves the page until Ctrl-C and returns the judge's progress. `options` are those of `serve`."""
    name = " ".join(judge.split())
    if not name or not name.isprintable() or len(name) > 100:
        raise RegardError(f"judge name {judge!r}", expected="up to 100 printable characters")
    from regard.serve.judge_sheet import read_sheet

    sheet = read_sheet(outputs, source, reference)
    try:
        from regard.serve.judge_server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "regard":
            raise
        missing = f"{error.name} is not installed, which the page for judges needs"
        raise RegardError(missing, do="pip install 'regard[serve]'") from None
    return serve(sheet, out, name, **options)


def results(path: Path) -> dict[str, Any]:
    """The results of the judgements; see judge_report.py."""
    from regard.serve.judge_report import report

    try:
        return report(path)
    except RegardError:
        raise
    except (sqlite3.Error, LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        damaged = f"{path}: judgements that do not fit together ({type(error).__name__}: {error})"
        raise RegardError(damaged, do="the file is damaged; use a copy of it") from None
