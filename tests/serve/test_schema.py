"""What a body may say; what is wrong with it is told in one line."""

import json

import pytest

from regard.serve.limits import RefusedError
from regard.serve.schema import PredictRequest, read_request


def test_what_is_left_out_has_its_usual_value() -> None:
    assert read_request(b'{"inputs": [["a", "b"]]}') == PredictRequest(
        inputs=[["a", "b"]], look=True, trace=False, beam=None
    )
    whole = read_request(b'{"inputs":[["a"]],"look":false,"trace":true,"beam":3,"drop_tokens":[[[0,2]]]}')
    assert (whole.look, whole.trace, whole.beam, whole.drop_tokens) == (False, True, 3, [[[0, 2]]])
    assert (whole.layers, whole.features) == (None, None)
    for layers, features in ((2, 5), ("all", [3, 17])):
        body = json.dumps({"inputs": [["a"]], "layers": layers, "features": features})
        assert (read_request(body.encode()).layers, read_request(body.encode()).features) == (layers, features)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "body: Invalid JSON"),
        (b"[1", "body: Invalid JSON"),
        (b"[" * 100_000, "body: Invalid JSON"),
        (b"\xff", "body: Invalid JSON"),
        (b"[]", "body: Input should be an object"),
        (b"{}", "inputs: Field required"),
        (b'{"inputs": "a"}', "inputs: Input should be a valid array"),
        (b'{"inputs": [["a", 1]]}', "inputs.0.1: Input should be a valid string"),
        (b'{"inputs": [["\\ud800"]]}', "body: Invalid JSON"),
        (b'{"inputs": [], "look": 1}', "look: Input should be a valid boolean"),
        (b'{"inputs": [], "beam": 0}', "beam: Input should be greater"),
        (b'{"inputs": [], "beam": 1e3}', "beam: Input should be a valid integer"),
        (b'{"inputs": [], "drop_tokens": [[[-1]]]}', "drop_tokens.0.0.0: Input should be greater"),
        (b'{"inputs": [], "constraints": {"allow": []}}', "constraints.allow: Extra inputs"),
        (b'{"inputs": [], "constraints": {"banned": "cat"}}', "constraints.banned: Input should be a valid array"),
        (b'{"inputs": [], "constraints": {"min_length": -1}}', "constraints.min_length: Input should be greater"),
        (b'{"inputs": [], "groups": 0}', "groups: Input should be greater"),
        (b'{"inputs": [], "layers": 0}', "layers.*: Input should be greater"),
        (b'{"inputs": [], "layers": "%s"}' % (b"x" * 21), "layers.*"),
        (b'{"inputs": [], "features": 0}', "features.*: Input should be greater"),
        (b'{"inputs": [], "features": [3, 0]}', "features.*"),
        (b'{"inputs": [], "features": "3,17"}', "features.*"),
        (b'{"inputs": [], "Beam": 2}', "Beam: Extra inputs are not permitted"),
        (b'{"inputs": [], "%s": 2}' % (b"x" * 5000), "x{100}: Extra"),
    ],
)
def test_what_cannot_be_read(body: bytes, said: str) -> None:
    with pytest.raises(RefusedError, match=said) as refused:
        read_request(body)
    assert refused.value.status == 422
    assert len(refused.value.detail) < 300
    assert "\n" not in refused.value.detail


def test_the_schema_refers_to_nothing_outside_itself() -> None:
    """It stands inside /openapi.json, where a reference of its own would point to nothing."""
    schema = PredictRequest.model_json_schema()
    assert "$ref" not in json.dumps(schema)
    assert set(schema["properties"]["constraints"]["properties"]) == {
        *("allowed", "prefix", "banned", "min_length", "no_repeat_ngram")
    }
