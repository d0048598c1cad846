"""The API on one plain page, generated from its own schema: no script, nothing from elsewhere.

reference(app.openapi())  →  "<!doctype html>…"
"""

import base64
import hashlib
import json
from html import escape
from typing import Any

__all__ = ["described", "reference"]

described = {
    400: "Not a valid HTTP request, or not exactly one Host header.",
    401: "Missing or wrong token.",
    403: "The Host or Origin header does not match this service.",
    404: "No run with this name.",
    408: "The request took too long to arrive.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    422: "Something in the body is not valid.",
    429: "Full queue, too many connections or too many wrong tokens; Retry-After says when to try again.",
    431: "The headers are too large.",
    503: "Starting or shutting down; Retry-After says when to try again.",
}
style = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem}"
    "pre{background:#8881;padding:.7rem;overflow:auto}dt{font-family:monospace}:root{color-scheme:light dark}"
)


def reference(schema: dict[str, Any]) -> str:
    """Every route with what it takes and what it may answer."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    routes = [
        _route(method, path, operation) for path, one in schema["paths"].items() for method, operation in one.items()
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>regard: API</title>'
        '<meta name="viewport" content="width=device-width">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\">"
        f"<style>{style}</style></head><body><h1>regard: API</h1>"
        '<p>OpenAPI schema: <a href="openapi.json">openapi.json</a>. Web page: <a href="./">/</a>.</p>'
        f"{''.join(routes)}</body></html>\n"
    )


def _route(method: str, path: str, operation: dict[str, Any]) -> str:
    parts = [f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation.get('description', ''))}</p>"]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body:
        fields = "".join(
            f"<dt>{escape(name)}</dt><dd>{escape(field.get('description', ''))}</dd>"
            for name, field in body["properties"].items()
        )
        sample = json.dumps(body.get("example", {}), ensure_ascii=False, indent=2)
        parts.append(f"<pre>{escape(sample)}</pre><dl>{fields}</dl>")
    answers = "".join(
        f"<dt>{code}</dt><dd>{escape(answer.get('description', ''))}</dd>"
        for code, answer in operation.get("responses", {}).items()
    )
    return "".join([*parts, f"<dl>{answers}</dl>"])
