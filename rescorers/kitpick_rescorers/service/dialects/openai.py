"""OpenAI's embeddings, as numbers or as base64."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from kitpick_rescorers.service.core import Service
from kitpick_rescorers.service.dialect import Endpoint
from kitpick_rescorers.service.embedding import (
    BASE64_BYTES,
    TEXT_BYTES,
    Input,
    as_numbers,
    embed,
    require_dimensions,
)
from kitpick_rescorers.service.errors import Empty, Failure, NotFound
from kitpick_rescorers.service.exchange import packed
from kitpick_rescorers.service.reranking import MODELS, UNNAMED
from kitpick_rescorers.service.ticket import Ticket

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
