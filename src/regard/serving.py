"""Serves trained runs over HTTP: connects the command line with the service.

`cli` and `serve` do not import each other; this module connects them. The service needs FastAPI, uvicorn and
prometheus_client (the extra `serve`).

    serve(["runs/translate"], {"batch": 32}, port=8000)
"""

from collections.abc import Sequence
from typing import Any

from regard.errors import RegardError

__all__ = ["serve"]


def serve(folders: Sequence[str], limits: dict[str, Any], **options: Any) -> None:
    """Serve runs until Ctrl-C or SIGTERM; `limits` are those of serve/limits.py, `options` those of serve/server.py."""
    try:
        from regard.serve.limits import ServiceLimits
        from regard.serve.server import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] == "regard":
            raise
        missing = f"{error.name} is not installed, which the service needs"
        raise RegardError(missing, do="pip install 'regard[serve]'") from None
    run(folders, limits=ServiceLimits(**limits), **options)
