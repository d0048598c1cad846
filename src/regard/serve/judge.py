"""A local page where one judge scores outputs without knowing which system wrote them.

Only 127.0.0.1 is listened on, and a page of another site that finds the port can neither read nor write (guard.py).
The page is told texts in a drawn order, never names; it asks nothing of the network, and a Content-Security-Policy
forbids it to.

    GET  /api/sheet            the judge, the lines, which of them are done
    GET  /api/lines/7          source, reference, outputs with the marks given so far
    POST /api/lines/7          {"sheet": …, "output": 0, "question": "fluency", "value": 4}

    judge_app(Session(sheet, store, "ana"))
"""

import sqlite3
from collections.abc import Callable
from hashlib import blake2b
from importlib.resources import files
from typing import Any, NamedTuple

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict

from regard.serve.guard import Guard
from regard.serve.judge_sheet import Sheet, order, sample
from regard.serve.judge_store import Question, Store
from regard.serve.limits import ServiceLimits
from regard.serve.schema import told
from regard.serve.site import Site

__all__ = ["Session", "Stand", "judge_app", "limits"]

limits = ServiceLimits(body=64 << 10)  # a mark has 150 bytes
policy = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
assets = {
    "/": ("judge_page.html", "text/html"),
    "/judge_page.css": ("judge_page.css", "text/css"),
    "/judge_page.js": ("judge_page.js", "text/javascript"),
}


class Rating(BaseModel):
    """One answer: to which question, about which of the outputs as they are shown."""

    model_config = ConfigDict(extra="forbid", strict=True)

    sheet: str
    output: int
    question: Question
    value: int


class Stand(NamedTuple):
    """How far a judge has come."""

    marks: int  # of all judges
    done: int
    lines: int


class Session:
    """One judge, one sheet, one file of judgements."""

    def __init__(self, sheet: Sheet, store: Store, judge: str) -> None:
        self.sheet, self.store, self.judge = sheet, store, judge
        facts = store.facts()
        self.seed = int(facts["seed"])
        self.lines = sample(len(sheet.source), self.seed, int(facts["count"]))
        # A page left open must not answer for another judge, or other files, that came to its port later.
        known = repr((sorted(sheet.digests.items()), self.seed, judge))
        self.name = blake2b(known.encode(), digest_size=16).hexdigest()

    def show(self, line: int) -> list[list[int]]:
        return self.store.show(self.judge, line, order(self.sheet.groups(line), self.seed, self.judge, line))

    def asked(self, line: int) -> int:
        """How many marks a line wants; where all outputs are the same there is nothing to rank."""
        return len(self.sheet.names) * (3 if len(self.sheet.groups(line)) > 1 else 2)

    def done(self) -> list[int]:
        """The lines of which nothing is left to say."""
        given = self.store.given(self.judge)
        return [line for line in self.lines if line in given and given[line] >= self.asked(line)]

    def stand(self) -> Stand:
        return Stand(self.store.total(), len(self.done()), len(self.lines))

    def line(self, line: int) -> dict[str, Any]:
        marks, sheet = self.store.marks(self.judge, line), self.sheet
        return {
            "line": line,
            "source": sheet.source[line - 1],
            "reference": None if sheet.reference is None else sheet.reference[line - 1],
            "outputs": [
                {
                    "text": sheet.outputs[group[0]][line - 1],
                    "marks": {question: value for (system, question), value in marks.items() if system == group[0]},
                }
                for group in self.show(line)
            ],
        }

    def keep(self, line: int, mark: Rating) -> None:
        groups = self.show(line)
        most = len(groups) if mark.question == "place" else 5
        if not 0 <= mark.output < len(groups) or not 1 <= mark.value <= most:
            raise HTTPException(422, f"output {mark.output}, {mark.question} {mark.value}: out of range")
        self.store.keep(self.judge, line, groups[mark.output], mark.question, mark.value)


def judge_app(session: Session) -> Guard:
    """The page and what it asks for."""
    # Nothing is told to anyone: no schema, no documentation page (it would come from elsewhere), no telemetry.
    silent: dict[str, Any] = {"telemetry": dict.fromkeys(("auto_configure", "tracing", "metrics", "logs"), False)}
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None, **silent)

    @app.exception_handler(sqlite3.Error)
    async def not_kept(request: Request, error: Exception) -> Response:
        return JSONResponse({"detail": f"cannot use the file of judgements: {error}"}, 503)

    @app.exception_handler(RequestValidationError)
    async def not_read(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return JSONResponse({"detail": told(error.errors())}, 422)

    def known(line: int) -> int:
        if line not in session.lines:
            raise HTTPException(404, f"line {line} is not part of this session")
        return line

    @app.get("/api/sheet")
    def about() -> dict[str, Any]:
        return {"sheet": session.name, "judge": session.judge, "lines": session.lines, "done": session.done()}

    @app.get("/api/lines/{line}")
    def one(line: int) -> dict[str, Any]:
        return session.line(known(line))

    @app.post("/api/lines/{line}")
    def mark(line: int, mark: Rating) -> dict[str, Any]:
        if mark.sheet != session.name:
            raise HTTPException(409, "this page belongs to another session; reload it")
        session.keep(known(line), mark)
        return {"done": len(session.store.marks(session.judge, line)) >= session.asked(line)}

    for path, (name, kind) in assets.items():
        app.add_api_route(path, _asset(name, kind))
    app.add_api_route("/favicon.ico", lambda: Response(status_code=204))  # browsers ask for one
    return Guard(app, site=Site(("127.0.0.1", "localhost")), limits=limits)


def _asset(name: str, kind: str) -> Callable[[], Response]:
    content = files("regard.serve").joinpath(name).read_bytes()
    return lambda: Response(content, media_type=kind, headers={"Content-Security-Policy": policy})
