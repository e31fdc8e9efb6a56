"""Cohere's rerank, versions 2 and 1; the latter's path is Jina's too, so its answers satisfy both."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from toolrank_rescorers.service.core import Service
from toolrank_rescorers.service.dialect import Endpoint
from toolrank_rescorers.service.documents import Given, RerankDocument
from toolrank_rescorers.service.errors import Failure
from toolrank_rescorers.service.numbers import PlainNumber, plain_number
from toolrank_rescorers.service.reranking import PLAIN, rank_documents, read_documents
from toolrank_rescorers.service.ticket import Ticket

Count = Annotated[int, msgspec.Meta(ge=1)]


class CohereError(msgspec.Struct, frozen=True):
    """Cohere's errors."""

    id: str
    message: str


class CohereDialect:
    """`{"message"}`; invalid fields are 400 there."""

    name = "cohere"
    error_type: Any = CohereError

    def status(self, failure: Failure) -> int:
        """What Cohere calls it."""
        return 400 if failure.status == 422 else failure.status

    def error(self, failure: Failure, request_id: str) -> object:
        """The failure in words."""
        return CohereError(request_id, failure.message)


class SharedError(msgspec.Struct, frozen=True):
    """An error that Cohere's and Jina's clients understand alike."""

    message: str
    detail: str


class SharedDialect:
    """`message` is where Cohere's clients look, `detail` where Jina's do."""

    name = "jina"
    error_type: Any = SharedError

    def status(self, failure: Failure) -> int:
        """Jina's invalid fields are 422, which Cohere's clients raise as an error as well."""
        return failure.status

    def error(self, failure: Failure, request_id: str) -> object:
        """The failure in words, twice."""
        return SharedError(failure.message, failure.message)


class V2Call(msgspec.Struct, frozen=True, kw_only=True):
    """Body of `POST /v2/rerank`. Unknown fields are ignored, as there."""

    query: str
    documents: list[Given]
    """Texts; objects and YAML may say `tool` and `category`."""
    model: str = PLAIN
    top_n: Count | None = None
    max_tokens_per_doc: Count | None = None


class SharedCall(V2Call, frozen=True, kw_only=True):
    """Body of `POST /v1/rerank`."""

    rank_fields: list[str] = []
    return_documents: bool = False
    max_chunks_per_doc: Count | None = None


class Tokens(msgspec.Struct, frozen=True):
    """Tokens that the models read for this answer; what was known from before costs none."""

    input_tokens: int


class BilledUnits(msgspec.Struct, frozen=True):
    """Nothing is billed; clients want the field."""

    search_units: int = 1


class ApiVersion(msgspec.Struct, frozen=True):
    """Which of Cohere's versions this is."""

    version: Literal["1", "2"]


class Meta(msgspec.Struct, frozen=True):
    """What Cohere tells of an answer."""

    api_version: ApiVersion
    billed_units: BilledUnits
    tokens: Tokens


class V2Result(msgspec.Struct, frozen=True):
    """One document; `relevance_score` is calibrated, in [0, 1]."""

    index: int
    relevance_score: PlainNumber


class V2Answer(msgspec.Struct, frozen=True):
    """Answer of `POST /v2/rerank`."""

    id: str
    results: list[V2Result]
    meta: Meta


class Text(msgspec.Struct, frozen=True):
    """A document as it was read."""

    text: str


class SharedResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """One document, with its text where that was asked for."""

    index: int
    relevance_score: PlainNumber
    document: Text | None = None


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


def answer_v2(service: Service, call: V2Call, ticket: Ticket) -> V2Answer:
    """Ranks the documents of a call; raises like `rank_documents`."""
    documents = _documents(service, call)
    ranked = rank_documents(service, ticket, call.model, call.query, documents)[: call.top_n]
    results = [V2Result(item.index, plain_number(item.score)) for item in ranked]
    return V2Answer(ticket.request_id, results, _meta("2", ticket))


def answer_shared(service: Service, call: SharedCall, ticket: Ticket) -> SharedAnswer:
    """Ranks the documents of a call; raises like `rank_documents`."""
    documents = _documents(service, call, call.rank_fields)
    ranked = rank_documents(service, ticket, call.model, call.query, documents)[: call.top_n]
    results = [
        SharedResult(
            item.index,
            plain_number(item.score),
            Text(documents[item.index].text) if call.return_documents else None,
        )
        for item in ranked
    ]
    usage = Usage(ticket.tokens, ticket.tokens)
    return SharedAnswer(ticket.request_id, call.model, results, usage, _meta("1", ticket))


def _documents(service: Service, call: V2Call, fields: list[str] | None = None) -> list[RerankDocument]:
    return read_documents(service, call.documents, fields or ())


def _meta(version: Literal["1", "2"], ticket: Ticket) -> Meta:
    return Meta(ApiVersion(version), BilledUnits(), Tokens(ticket.tokens))


ENDPOINTS = (
    Endpoint(
        path="/v2/rerank",
        summary="Cohere v2: ranks texts",
        dialect=CohereDialect(),
        request=V2Call,
        reply=V2Answer,
        answer=answer_v2,
    ),
    Endpoint(
        path="/v1/rerank",
        summary="Cohere v1 and Jina: ranks texts or objects",
        dialect=SharedDialect(),
        request=SharedCall,
        reply=SharedAnswer,
        answer=answer_shared,
    ),
)
