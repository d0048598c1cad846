"""The HTTP service: runs, their queues, the API and the page.

GET  /                            the page, where one types and sees where the model looked
GET  /api/runs                    the runs that are served
POST /api/runs/NAME/predict       {"inputs": [["text"]], "look": true}  →  {"items": [...]}
GET  /health /ready /metrics      for whoever keeps it running
GET  /docs /openapi.json          for whoever writes against it

service = Service({"translate": load("runs/translate")});  service.start()
app = ServiceApp(service)
"""

import asyncio
import logging
import math
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from html import unescape
from threading import Lock
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse

from regard.api import Model
from regard.errors import RegardError
from regard.look.page import page
from regard.look.scene import scene
from regard.serve.batcher import FullError, StoppedError
from regard.serve.guard import (
    Receive,
    Scope,
    Send,
    alive,
    health_route,
    knows,
    predict_route,
    predicts,
    respond,
)
from regard.serve.hosted import Hosted
from regard.serve.limits import RefusedError, ServiceLimits, read_body
from regard.serve.metrics import Metrics
from regard.serve.reference import described, reference
from regard.serve.schema import ErrorMessage, PredictRequest, PredictResponse, RunList, read_request
from regard.serve.to_json import to_json

__all__ = ["Service", "ServiceApp", "documented"]

log = logging.getLogger("regard.serve")
starting, ready, stopping = "starting", "ready", "shutting down"


class Service:
    """Several runs under one roof. Those on one device take turns."""

    def __init__(self, models: Mapping[str, Model], limits: ServiceLimits | None = None) -> None:
        self.limits, self.metrics, self.state = (limits or ServiceLimits()).check(), Metrics(), starting
        turns: dict[str, AbstractContextManager[Any]] = {}
        self.runs = {
            name: Hosted(place, name, model, self.limits, self.metrics, turns.setdefault(_device(model), Lock()))
            for place, (name, model) in enumerate(models.items())
        }

    def start(self) -> None:
        for run in self.runs.values():
            run.batcher.start()
        self._become(ready)

    async def drain(self, force: Any = lambda: False) -> None:
        """Take nothing more; finish what waits, as far as the grace goes; then stop."""
        self._become(stopping)
        loop = asyncio.get_running_loop()
        until = loop.time() + self.limits.grace
        while loop.time() < until and not force() and not all(run.batcher.idle for run in self.runs.values()):
            await asyncio.sleep(0.02)
        self.stop()

    def stop(self) -> None:
        self._become(stopping)
        for run in self.runs.values():
            run.batcher.stop()

    def refuse(self) -> None:
        """From now on; `drain` does the rest."""
        self._become(stopping)

    def _become(self, state: str) -> None:
        self.state = state
        self.metrics.ready.set(state == ready)

    def room(self, name: str) -> None:
        """Raises what a request for this run can be told before it is read; a wrong name is told later."""
        if self.state != ready:
            raise RefusedError(503, self.state, retry=max(1, math.ceil(self.limits.grace)))
        if name in self.runs and self.runs[name].batcher.full:
            raise _full(self.runs[name].batcher.seconds)

    async def predict(self, name: str, request: Request) -> bytes:
        """The answers to one request, as the bytes of JSON."""
        if name not in self.runs:
            raise RefusedError(404, f"no run named {name[:100]!r}; see /api/runs")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RefusedError(415, "the body must be JSON; send Content-Type: application/json")
        run = self.runs[name]
        ask = read_request(await read_body(request.headers, request.receive, run.limits))
        try:
            items = await self._wait(run, ask, request)
        except RegardError as error:
            raise RefusedError(422, str(error)) from None
        except FullError as full:
            raise _full(full.seconds) from None
        except StoppedError:
            raise RefusedError(503, stopping, retry=max(1, math.ceil(self.limits.grace))) from None
        return b'{"items":[' + b",".join(items) + b"]}"

    async def _wait(self, run: Hosted, ask: PredictRequest, request: Request) -> list[bytes]:
        """What is queued for somebody who goes away is taken out of the queue."""
        # Thousands of allowed answers take a while to compile: not in the thread that listens.
        rows = run.rows(ask) if ask.constraints is None else await asyncio.to_thread(run.rows, ask)
        answers = run.batcher.submit(*rows)
        gone = asyncio.ensure_future(request.receive())
        gone.add_done_callback(lambda _: answers.cancel())
        try:
            return await answers
        except asyncio.CancelledError:
            if gone.done() and not gone.cancelled():
                raise RefusedError(499, "the client closed the connection") from None
            raise
        finally:
            gone.cancel()


def _full(seconds: float) -> RefusedError:
    return RefusedError(429, "the queue is full; try again later", retry=min(60, max(1, math.ceil(seconds))))


def _device(model: Model) -> str:
    return str(next(model.network.parameters()).device)


class ServiceApp:
    """The API and the page; `Guard` goes around it.

    Predictions are taken from FastAPI's hands: its routing and checks took as long as all else that the loop does for a
    request. `documented` has the same route, from which the reference is made.
    """

    def __init__(self, service: Service) -> None:
        self.service, self.documented = service, documented(service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = predicts(scope) if scope["type"] == "http" else None
        if name is None:
            await self.documented(scope, receive, send)
            return
        try:
            body = await predicted(self.service, name, Request(scope, receive))
        except RefusedError as refused:
            await respond(send, refused)
            return
        own = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": own})
        await send({"type": "http.response.body", "body": body})


async def predicted(service: Service, name: str, request: Request) -> bytes:
    """The answers; what goes wrong in us is told in one line, and in the log."""
    try:
        return await service.predict(name, request)
    except RefusedError:
        raise
    except Exception:
        log.exception("a request to %r failed", name)
        raise RefusedError(500, "internal error; see the log of the service") from None


def documented(service: Service) -> FastAPI:
    """All routes, as FastAPI has them."""
    # The documentation page of FastAPI loads scripts from elsewhere; ours is in reference.py.
    silent: dict[str, Any] = {"telemetry": dict.fromkeys(("auto_configure", "tracing", "metrics", "logs"), False)}
    app = FastAPI(title="regard", docs_url=None, redoc_url=None, redirect_slashes=False, **silent)
    problem: dict[int | str, dict[str, Any]] = {
        code: {"model": ErrorMessage, "description": text} for code, text in described.items()
    }

    @app.exception_handler(RefusedError)
    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, RefusedError)
        retry = {} if error.retry is None else {"Retry-After": str(error.retry)}
        return JSONResponse({"detail": error.detail}, error.status, retry)

    @app.post(
        predict_route,
        response_model=PredictResponse,
        responses=problem,
        openapi_extra=_takes(PredictRequest),
        tags=["predictions"],
    )
    async def predict(name: str, request: Request) -> Response:
        """Predict from texts, and return the attention weights."""
        return Response(await predicted(service, name, request), media_type="application/json")

    runs = to_json({"runs": [run.about for run in service.runs.values()]})

    @app.get("/api/runs", response_model=RunList, responses={401: problem[401]}, tags=["predictions"])
    async def run_list() -> Response:
        """List the served runs: name, task, and the roles of their inputs."""
        return Response(runs, media_type="application/json")

    @app.get(health_route, tags=["monitoring"])
    async def health() -> dict[str, str]:
        """200 while the process is alive."""
        return alive

    @app.get("/ready", responses={503: problem[503]}, tags=["monitoring"])
    async def is_ready() -> dict[str, str]:
        """200 when ready for requests; 503 while starting and shutting down."""
        if service.state != ready:
            raise RefusedError(503, service.state, retry=max(1, math.ceil(service.limits.grace)))
        return {"status": ready}

    @app.get("/metrics", response_class=Response, responses={401: problem[401]}, tags=["monitoring"])
    async def metrics() -> Response:
        """Metrics in the text format of Prometheus."""
        return Response(service.metrics.text(), headers={"Content-Type": service.metrics.kind})

    about = [run.about for run in service.runs.values()]
    # Who comes without the token may open the page, which then asks for it; of the runs it says nothing.
    whole, bare = (page(scene([], runs, title="regard", live="api")) for runs in (about, []))
    _static(app, "/", whole, bare)
    _static(app, "/docs", reference(app.openapi()))
    app.add_api_route("/favicon.ico", lambda: Response(status_code=204), include_in_schema=False)
    return app


def _takes(model: type[PredictRequest]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": model.model_json_schema()}}}}


def _static(app: FastAPI, path: str, text: str, unknown: str | None = None) -> None:
    """A page that is always the same, or another one for those whom `Guard` does not know; what its own policy allows
    is said in the header too."""
    known, others = _answer(text), _answer(text if unknown is None else unknown)

    async def shown(request: Request) -> Response:
        body, policy = known if request.scope.get(knows, True) else others
        return Response(body, media_type="text/html", headers={"Content-Security-Policy": policy})

    app.add_api_route(path, shown, include_in_schema=False)


def _answer(text: str) -> tuple[bytes, str]:
    """The bytes of a page and its policy."""
    found = re.search(r'http-equiv="Content-Security-Policy"\s+content="([^"]*)"', text)
    policy = f"{unescape(found[1])}; frame-ancestors 'none'" if found else "default-src 'none'; frame-ancestors 'none'"
    return text.encode(), policy
