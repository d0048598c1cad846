"""The schema of requests and answers, as in /openapi.json.

A body is read strictly, straight from its bytes: unknown fields, wrong types, NaN and halves of characters are errors,
told in one line with the place.

    read_request(b'{"inputs": [["5 May 2024"]]}').look  →  True
"""

from collections.abc import Sequence
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, WithJsonSchema

from regard.ranges import FewOrNone, Hypotheses, LengthOrNone, NonNegative
from regard.serve.limits import RefusedError

__all__ = ["Constrained", "ErrorMessage", "PredictRequest", "PredictResponse", "RunList", "read_request", "told"]

# The ranges that the searches themselves take.
hypotheses, lengths, few, penalties = (get_args(kind)[1] for kind in (Hypotheses, LengthOrNone, FewOrNone, NonNegative))
TokenIndex = Annotated[int, Field(ge=0, le=1 << 31)]
Number = Annotated[int, Field(ge=1, le=1 << 31)]
example: dict[str, Any] = {"inputs": [["Dienstag, 5. März 2024"]], "look": True}


class Constrained(BaseModel):
    """What every prediction must keep to, in plain text."""

    model_config = ConfigDict(extra="forbid", strict=True)

    allowed: list[str] | None = Field(None, description="The only predictions that may come out.")
    prefix: str | None = Field(None, description="What every prediction begins with.")
    banned: list[str] | None = Field(None, description="Words that no prediction contains. Case counts.")
    min_length: Annotated[int, Field(ge=lengths.low, le=lengths.high)] | None = Field(
        None, description="Fewest tokens of a prediction."
    )
    no_repeat_ngram: Annotated[int, Field(ge=few.low, le=few.high)] | None = Field(
        None, description="No n-gram of this many tokens comes twice in a prediction."
    )


class PredictRequest(BaseModel):
    """Texts to predict from, and options."""

    model_config = ConfigDict(extra="forbid", strict=True, json_schema_extra={"example": example})

    inputs: list[list[str]] = Field(description="One list per prediction, with one text for each role of the run.")
    look: bool = Field(True, description="Return the attention weights.")
    trace: bool = Field(False, description="Return every step of the search, for runs that search.")
    beam: Annotated[int, Field(ge=hypotheses.low, le=hypotheses.high)] | None = Field(
        None, description="Beam size, and number of predictions to return (default: the run's own search)."
    )
    groups: Annotated[int, Field(ge=hypotheses.low, le=hypotheses.high)] | None = Field(
        None, description="Split the beam into this many groups whose predictions differ."
    )
    diversity: Annotated[float, Field(ge=penalties.low, le=penalties.high)] | None = Field(
        None, description="With groups: how much a token costs for each earlier group that chose it (default: 0.5)."
    )
    # Its schema in place, where a reference would point to nothing inside /openapi.json.
    constraints: Annotated[Constrained | None, WithJsonSchema(Constrained.model_json_schema())] = Field(
        None,
        description="What every prediction must keep to: allowed (a list of texts), prefix (a text), banned (a list of "
        "words), min_length, no_repeat_ngram.",
    )
    drop_tokens: list[list[list[TokenIndex]]] | None = Field(
        None, description="For each prediction and each of its texts, the indices of tokens to drop, from 0."
    )
    layers: Number | Annotated[str, Field(min_length=1, max_length=20)] | None = Field(
        None, description="Layer of a Transformer decoder to show: a number from 1, or last, mean or all."
    )
    features: Number | list[Number] | None = Field(
        None,
        description="Also show single features of feature-wise attention: a count (those that vary most) or a list of "
        "feature numbers from 1.",
    )


class PredictResponse(BaseModel):
    """One item for each list of inputs, in order."""

    items: list[dict[str, Any]] = Field(
        description="Each has answer, log_prob (of the whole answer: the sum over its tokens), log_prob_per_token ("
        "their mean; null if the answer is one label), others, and the attention maps."
    )


class RunList(BaseModel):
    """The served runs."""

    runs: list[dict[str, Any]]


class ErrorMessage(BaseModel):
    """Why a request failed, in one line."""

    detail: str


def read_request(body: bytes) -> PredictRequest:
    """What the body says; 422 where it cannot be read."""
    try:
        return PredictRequest.model_validate_json(body)
    except ValidationError as error:
        raise RefusedError(
            422, told(error.errors(include_url=False, include_context=False, include_input=False))
        ) from None


def told(errors: Sequence[Any]) -> str:
    """The first of pydantic's errors in one line, without what was sent: NaN, for one, could not be sent back."""
    where = ".".join(str(part) for part in errors[0]["loc"])
    return f"{where[:100] or 'body'}: {' '.join(str(errors[0]['msg']).split())}"
