"""Cohere's rerank, versions 2 and 1. Version 1 has Jina's path, so its answers satisfy both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec.structs import replace

from kitpick_foundation.visible import is_blank
from kitpick_service.core import Service
from kitpick_service.dialect import Dialect, Endpoint, PlainNumber, plain_number
from kitpick_service.documents import (
    DocumentFormat,
    Given,
    ReadDocuments,
    read_documents,
    these_documents,
)
from kitpick_service.errors import Empty, Failure
from kitpick_service.reranking import PLAIN, rank_documents, require_count
from kitpick_service.ticket import Ticket

_DOCUMENTS_A_UNIT = 100
Count = Annotated[int, msgspec.Meta(ge=1)]


class CohereError(msgspec.Struct, frozen=True):
    """Cohere's errors."""

    id: str
    message: str


class SharedError(msgspec.Struct, frozen=True):
    """An error that Cohere's and Jina's clients understand alike."""

    message: str
    """Where Cohere's clients look."""
    detail: str
    """Where Jina's do."""


def _error(failure: Failure, request_id: str) -> CohereError:
    return CohereError(request_id, failure.message)


def _shared_error(failure: Failure, request_id: str) -> SharedError:
    return SharedError(failure.message, failure.message)


# Jina's invalid fields are 422, which Cohere's clients raise as an error as well.
DIALECT = Dialect("cohere", CohereError, _error, {"invalid": 400})
_SHARED = Dialect("jina", SharedError, _shared_error)


class V2Call(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /v2/rerank`. Unknown fields are ignored, as there."""

    query: str
    documents: list[Given]
    """Texts, or objects, which may say `tool` and `category`."""
    model: str = PLAIN
    top_n: Count | None = None
    max_tokens_per_doc: Count | None = None
    """The most tokens of a document that are read; never more than the model reads."""
    document_format: DocumentFormat = "text"
    """Not Cohere's: with `yaml`, strings are read as YAML objects, for clients that can send strings only."""


class SharedCall(V2Call, frozen=True, kw_only=True):
    """Body of `POST /v1/rerank`."""

    rank_fields: list[str] = []
    return_documents: bool = True
    """By default as with Jina; Cohere's clients take a document that they did not ask for."""
    max_chunks_per_doc: Count | None = None
    """A document is one chunk here, so that there are never more."""


class Tokens(msgspec.Struct, frozen=True):
    """Tokens that the models read for this answer; what was known from before costs none."""

    input_tokens: int


class BilledUnits(msgspec.Struct, frozen=True):
    """Nothing is billed; clients want the field."""

    search_units: int
    """As Cohere counts: one for each hundred documents that were begun."""


class ApiVersion(msgspec.Struct, frozen=True):
    """Which of Cohere's versions this is."""

    version: Literal["1", "2"]


class Meta(msgspec.Struct, frozen=True, omit_defaults=True):
    """What Cohere tells of an answer."""

    api_version: ApiVersion
    billed_units: BilledUnits
    tokens: Tokens
    warnings: tuple[str, ...] = ()
    """Documents that were not read as they were meant or not to their end, or were placed last."""


class V2Result(msgspec.Struct, frozen=True):
    """One document; `relevance_score` is calibrated, in [0, 1]."""

    index: int
    relevance_score: PlainNumber


class V2Answer(msgspec.Struct, frozen=True):
    """Answer of `POST /v2/rerank`."""

    id: str
    results: list[V2Result]
    meta: Meta


class SharedResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """One document, with what was sent unless that is not wanted."""

    index: int
    relevance_score: PlainNumber
    document: dict[str, Any] | None = None
    """As it was sent; a string as `text`."""


class Usage(msgspec.Struct, frozen=True):
    """As Jina counts."""

    total_tokens: int
    prompt_tokens: int


class SharedAnswer(msgspec.Struct, frozen=True):
    """Answer of `POST /v1/rerank`: all that Cohere's version 1 and Jina have in theirs."""

    id: str
    model: str
    results: list[SharedResult]
    usage: Usage
    meta: Meta
    object: Literal["list"] = "list"
    """Jina's."""


def answer_v2(service: Service, call: V2Call, ticket: Ticket) -> V2Answer:
    """Ranks the documents of a call; raises like `rank_documents`, and `Empty` where something is missing."""
    documents = _documents(service, call, ticket)
    ranked = rank_documents(service, ticket, call.model, call.query, documents.items)[: call.top_n]
    results = [V2Result(item.index, plain_number(item.score)) for item in ranked]
    return V2Answer(ticket.request_id, results, _meta("2", service, call.query, ticket, documents))


def answer_shared(service: Service, call: SharedCall, ticket: Ticket) -> SharedAnswer:
    """Ranks the documents of a call; raises like `rank_documents`, and `Empty` where something is missing."""
    documents = _documents(service, call, ticket, call.rank_fields)
    ranked = rank_documents(service, ticket, call.model, call.query, documents.items)[: call.top_n]
    results = [
        SharedResult(
            item.index,
            plain_number(item.score),
            _returned(call.documents[item.index]) if call.return_documents else None,
        )
        for item in ranked
    ]
    usage = Usage(ticket.tokens, ticket.tokens)
    meta = _meta("1", service, call.query, ticket, documents)
    return SharedAnswer(ticket.request_id, call.model, results, usage, meta)


def _documents(service: Service, call: V2Call, ticket: Ticket, fields: Sequence[str] = ()) -> ReadDocuments:
    if not call.documents:
        raise Empty("invalid request: list of documents must not be empty")
    if is_blank(call.query):
        raise Empty("invalid request: query must not be empty")
    require_count(service, len(call.documents), "documents")
    read = read_documents(call.documents, ticket, fields, call.document_format)
    return read if call.max_tokens_per_doc is None else _cut(service, read, ticket, call.max_tokens_per_doc)


def _cut(service: Service, read: ReadDocuments, ticket: Ticket, most: int) -> ReadDocuments:
    """The documents, each cut to this number of tokens."""
    tokens, items = service.models.cross_encoder.tokens, []
    most = min(most, service.models.cross_encoder.manifest.max_tokens)
    for item in read.items:
        ticket.check()
        items.append(replace(item, text=tokens.cut(item.text, most)))
    return replace(read, items=tuple(items))


def _returned(given: Given) -> dict[str, Any]:
    return {"text": given} if isinstance(given, str) else given


def _meta(
    version: Literal["1", "2"], service: Service, query: str, ticket: Ticket, documents: ReadDocuments
) -> Meta:
    units = BilledUnits(max(1, math.ceil(len(documents.items) / _DOCUMENTS_A_UNIT)))
    warnings = (*_read_in_part(service, query, documents), *documents.warnings)
    return Meta(ApiVersion(version), units, Tokens(ticket.tokens), warnings)


def _read_in_part(service: Service, query: str, documents: ReadDocuments) -> list[str]:
    """At most one warning, for all documents together."""
    model = service.models.cross_encoder
    cut = model.cut_texts(query, [item.text for item in documents.items])
    most = model.manifest.max_tokens
    return (
        [f"{these_documents(cut)} were read up to {most} tokens, those of the query among them"]
        if cut
        else []
    )


_SUMMARY = "Cohere v1 and Jina: ranks texts or objects"
ENDPOINTS = (
    Endpoint("/v2/rerank", "Cohere v2: ranks texts", DIALECT, V2Call, V2Answer, answer_v2),
    Endpoint("/v1/rerank", _SUMMARY, _SHARED, SharedCall, SharedAnswer, answer_shared),
)
