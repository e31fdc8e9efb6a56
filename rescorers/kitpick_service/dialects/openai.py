"""OpenAI's embeddings, as numbers or as base64."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from kitpick_service.core import Service
from kitpick_service.dialect import Endpoint
from kitpick_service.errors import Empty, Failure, Invalid, NotFound
from kitpick_service.exchange import packed
from kitpick_service.models import Vectors
from kitpick_service.reranking import MODELS, UNNAMED, require_count
from kitpick_service.ticket import Ticket

TokenId = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
TEXT_BYTES, BASE64_BYTES = 24, 8
"""Bytes of one number of a vector in an answer, as text and as base64."""
Input = str | list[str | TokenId | list[TokenId]]
"""One text, several, the token ids of one (in this model's vocabulary), or of several."""


def embed(service: Service, given: Input, ticket: Ticket, number_bytes: int = 0) -> Vectors:
    """Unit vectors, float32 (n, dimensions).

    Args:
        service: has the encoder.
        given: what to encode.
        ticket: of the request.
        number_bytes: that the answer needs for each number of them, reserved before any work.

    Raises:
        TooLarge, Overloaded, DeadlinePassed, Cancelled: as `ServiceModels.encode`.
        Invalid: texts and token ids in one list, or an id that the vocabulary does not have.
    """
    inputs = _inputs(given)
    require_count(service, len(inputs), "inputs")
    numbers = len(inputs) * service.models.encoder.dimensions
    ticket.reserve(number_bytes * numbers, f"{len(inputs):,} vectors: send fewer")
    return service.models.encode(inputs, ticket)


def as_numbers(vectors: Vectors) -> list[msgspec.Raw]:
    """Each vector as a JSON list: all of them as Python's numbers would take twice the room."""
    return [msgspec.Raw(msgspec.json.encode(row.tolist())) for row in vectors]


def require_dimensions(service: Service, wanted: int | None) -> None:
    """Refuses other dimensions than the model's: cut vectors would be of no use.

    Raises:
        Invalid: another one was asked for.
    """
    own = service.models.encoder.dimensions
    if wanted not in {None, own}:
        raise Invalid(f"dimensions: this model has {own}, and its vectors cannot be cut")


def _inputs(given: Input) -> list[str | list[int]]:
    if isinstance(given, str):
        return [given]
    numbers = [item for item in given if isinstance(item, int)]
    if not numbers:
        return [item for item in given if not isinstance(item, int)]
    if len(numbers) < len(given):
        raise Invalid("token ids and texts in one list")
    return [numbers]


_TYPES = {
    "unauthorized": "authentication_error",
    "overloaded": "rate_limit_error",
    "internal": "server_error",
    "model_failed": "server_error",
    "unavailable": "server_error",
    "deadline": "server_error",
}
_CODES = {
    "unauthorized": "invalid_api_key",
    "overloaded": "rate_limit_exceeded",
    "not_found": "model_not_found",
}


class OpenAiProblem(msgspec.Struct, frozen=True):
    """Inside of an OpenAI error."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAiError(msgspec.Struct, frozen=True):
    """OpenAI's errors."""

    error: OpenAiProblem


class OpenAiDialect:
    """`{"error": {message, type, param, code}}`; invalid fields are 400 there."""

    name = "openai"
    error_type: Any = OpenAiError

    def status(self, failure: Failure) -> int:
        """The HTTP status that OpenAI uses."""
        return 400 if failure.status == 422 else failure.status

    def error(self, failure: Failure, request_id: str) -> object:
        """The failure in words and as type and code."""
        kind = _TYPES.get(failure.code, "invalid_request_error")
        return OpenAiError(OpenAiProblem(failure.message, kind, None, _CODES.get(failure.code)))


class EmbeddingsCall(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /v1/embeddings`. Unknown fields are ignored, as there."""

    input: Input
    model: str = UNNAMED
    """OpenAI's clients name one always, those of TEI and Infinity need not."""
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[int, msgspec.Meta(ge=1)] | None = None
    user: str = ""


class Embedding(msgspec.Struct, frozen=True):
    """One vector: numbers, or float32 little-endian as base64."""

    index: int
    embedding: list[float] | str
    object: Literal["embedding"] = "embedding"


class EmbeddingsUsage(msgspec.Struct, frozen=True):
    """Tokens that were read."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingsAnswer(msgspec.Struct, frozen=True):
    """Answer of `POST /v1/embeddings`."""

    data: list[Embedding]
    model: str
    usage: EmbeddingsUsage
    object: Literal["list"] = "list"


class ModelEntry(msgspec.Struct, frozen=True):
    """One model that can be named in a request."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "kitpick"


class ModelList(msgspec.Struct, frozen=True):
    """Answer of `GET /v1/models`."""

    data: list[ModelEntry]
    object: Literal["list"] = "list"


def answer_embeddings(service: Service, call: EmbeddingsCall, ticket: Ticket) -> EmbeddingsAnswer:
    """Unit vectors of the inputs.

    Raises:
        NotFound: another model than the encoder.
        Empty: no input.
        Invalid: vectors of another length were asked for.
    """
    name = service.models.encoder.manifest.name
    if call.model not in {name, service.models.encoder.identity, UNNAMED}:
        raise NotFound(f"no model {call.model[:100]!r} for embeddings; known is {name}")
    if not call.input:
        raise Empty("`input` cannot be empty")
    require_dimensions(service, call.dimensions)
    short = call.encoding_format == "base64"
    vectors = embed(service, call.input, ticket, BASE64_BYTES if short else TEXT_BYTES)
    coded: list[Any] = (
        [base64.b64encode(packed(row)).decode("ascii") for row in vectors] if short else as_numbers(vectors)
    )
    data = [Embedding(index, item) for index, item in enumerate(coded)]
    used = name if call.model == UNNAMED else call.model
    return EmbeddingsAnswer(data, used, EmbeddingsUsage(ticket.tokens, ticket.tokens))


def answer_models(service: Service, call: None, ticket: Ticket) -> ModelList:
    """The names that requests may use."""
    return ModelList([ModelEntry(name) for name in (*MODELS, service.models.encoder.manifest.name)])


def answer_model(service: Service, call: Mapping[str, str], ticket: Ticket) -> ModelEntry:
    """One of these names.

    Raises:
        NotFound: it is none.
    """
    found = {entry.id: entry for entry in answer_models(service, None, ticket).data}
    if call["model"] not in found:
        raise NotFound(f"no model {call['model'][:100]!r}; known are {', '.join(found)}")
    return found[call["model"]]


DIALECT = OpenAiDialect()
ENDPOINTS = (
    Endpoint(
        path="/v1/embeddings",
        summary="OpenAI: vectors of texts",
        dialect=DIALECT,
        request=EmbeddingsCall,
        reply=EmbeddingsAnswer,
        answer=answer_embeddings,
    ),
    Endpoint(
        path="/v1/models",
        summary="OpenAI: names of models",
        dialect=DIALECT,
        request=None,
        reply=ModelList,
        answer=answer_models,
    ),
    Endpoint(
        path="/v1/models/{model}",
        summary="OpenAI: one model",
        dialect=DIALECT,
        request=None,
        reply=ModelEntry,
        answer=answer_model,
    ),
)
