"""People judge outputs, blind and side by side: the way from the command line to the page and to the report.

`cli` and `serve` do not know each other; this stands between them. The page needs FastAPI and uvicorn (the extra
`serve`), the report does not.

    judge(["a.txt", "b.txt"], "source.txt", out=Path("judgements.sqlite"), judge="ana")
    results(Path("judgements.sqlite"))
"""

import sqlite3
from pathlib import Path
from typing import Any

from regard.errors import RegardError

__all__ = ["judge", "results"]


def judge(outputs: list[str], source: str, reference: str | None, out: Path, judge: str, **options: Any) -> Any:
    """Serve the page until Ctrl-C; how far the judge has come. `options` are those of `serve`."""
    name = " ".join(judge.split())
    if not name or not name.isprintable() or len(name) > 100:
        raise RegardError(f"a judge named {judge!r}", expected="a name of up to 100 letters that can be shown")
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
    """What the judgements came to; see judge_report.py."""
    from regard.serve.judge_report import report

    try:
        return report(path)
    except RegardError:
        raise
    except (sqlite3.Error, LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        damaged = f"{path}: judgements that do not fit together ({type(error).__name__}: {error})"
        raise RegardError(damaged, do="the file is damaged; use a copy of it") from None
