"""Voyage's and Infinity's rerank: documents are strings, and come back as strings."""

from __future__ import annotations

import time
from typing import Any, Literal

import msgspec

from kitpick_rescorers.service.core import Service
from kitpick_rescorers.service.dialect import Endpoint, PlainNumber, plain_number
from kitpick_rescorers.service.dialects.cohere import Count, SharedDialect, Usage, require_something
from kitpick_rescorers.service.documents import read_documents
from kitpick_rescorers.service.errors import Failure, Invalid
from kitpick_rescorers.service.reranking import PLAIN, Scored, rank_documents
from kitpick_rescorers.service.ticket import Ticket


class VoyageCall(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /voyage/v1/rerank`."""

    query: str
    documents: list[str]
    model: str = PLAIN
    top_k: Count | None = None
    return_documents: bool = False
    truncation: bool = True


class VoyageResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """One document, with its text where that was asked for."""

    index: int
    relevance_score: PlainNumber
    document: str | None = None


class VoyageUsage(msgspec.Struct, frozen=True):
    """Tokens that models read."""

    total_tokens: int


class VoyageAnswer(msgspec.Struct, frozen=True):
    """Answer of `POST /voyage/v1/rerank`."""

    data: list[VoyageResult]
    model: str
    usage: VoyageUsage
    object: Literal["list"] = "list"


class VoyageError(msgspec.Struct, frozen=True):
    """Voyage's errors."""

    detail: str


class VoyageDialect:
    """`{"detail"}`; invalid fields are 400 there."""

    name = "voyage"
    error_type: Any = VoyageError

    def status(self, failure: Failure) -> int:
        """The HTTP status that Voyage uses."""
        return 400 if failure.status == 422 else failure.status

    def error(self, failure: Failure, request_id: str) -> object:
        """The failure in words."""
        return VoyageError(failure.message)


def answer_voyage(service: Service, call: VoyageCall, ticket: Ticket) -> VoyageAnswer:
    """Ranks the documents; raises like `cohere.answer_v2`, and `Invalid` where cutting is forbidden."""
    if not call.truncation:
        model = service.models.cross_encoder
        for text in call.documents:
            ticket.check()
            if not model.fits(call.query, text):
                raise Invalid("a document has more tokens than the model reads, and `truncation` is false")
    data = [
        VoyageResult(item.index, plain_number(item.score), _returned(call, item.index))
        for item in _ranked(service, call, ticket)[: call.top_k]
    ]
    return VoyageAnswer(data, call.model, VoyageUsage(ticket.tokens))


class InfinityCall(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /infinity/rerank`."""

    query: str
    documents: list[str]
    model: str = PLAIN
    top_n: Count | None = None
    return_documents: bool = False
    raw_scores: bool = False


class InfinityResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """One document, with its text where that was asked for; the logit where raw scores were."""

    relevance_score: PlainNumber
    index: int
    document: str | None = None


class InfinityAnswer(msgspec.Struct, frozen=True):
    """Answer of `POST /infinity/rerank`."""

    results: list[InfinityResult]
    model: str
    usage: Usage
    id: str
    created: int
    object: Literal["rerank"] = "rerank"


def answer_infinity(service: Service, call: InfinityCall, ticket: Ticket) -> InfinityAnswer:
    """Ranks the documents of a call; raises like `cohere.answer_v2`."""
    results = [
        InfinityResult(
            plain_number(item.logit if call.raw_scores else item.score),
            item.index,
            _returned(call, item.index),
        )
        for item in _ranked(service, call, ticket)[: call.top_n]
    ]
    usage = Usage(ticket.tokens, ticket.tokens)
    return InfinityAnswer(results, call.model, usage, ticket.request_id, int(time.time()))


def _ranked(service: Service, call: VoyageCall | InfinityCall, ticket: Ticket) -> list[Scored]:
    require_something(service, call.query, call.documents)
    documents = read_documents(call.documents, ticket).items
    return rank_documents(service, ticket, call.model, call.query, documents)


def _returned(call: VoyageCall | InfinityCall, index: int) -> str | None:
    return call.documents[index] if call.return_documents else None


ENDPOINTS = (
    Endpoint(
        path="/voyage/v1/rerank",
        summary="Voyage: ranks texts",
        dialect=VoyageDialect(),
        request=VoyageCall,
        reply=VoyageAnswer,
        answer=answer_voyage,
    ),
    Endpoint(
        path="/infinity/rerank",
        summary="Infinity: ranks texts",
        dialect=SharedDialect(),
        request=InfinityCall,
        reply=InfinityAnswer,
        answer=answer_infinity,
    ),
)
