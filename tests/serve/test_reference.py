"""The page of the API: all of it there, nothing from elsewhere, no script."""

import re

from small_services import started

from regard.serve.reference import described, reference
from regard.serve.service import documented


def test_all_routes_and_nothing_else() -> None:
    text = reference(documented(started()).openapi())
    for said in ("POST /api/runs/{name}/predict", "GET /ready", "Dienstag, 5. März 2024", *map(str, described)):
        assert said in text
    assert "<script" not in text
    assert not re.search(r"(src|href)=\"(https?:)?//", text)


def test_what_a_schema_says_is_shown_as_text() -> None:
    text = reference({"paths": {"/<b>": {"get": {"description": "<script>", "responses": {"200": {}}}}}})
    assert "<script>" not in text
    assert "GET /&lt;b&gt;" in text
