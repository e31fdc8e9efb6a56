"""Real REST operations as self-supervision: the summary asks, the operation without its summary answers."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from toolrank_engines.document import ApiDocument, Parameter, document_id
from toolrank_evaluation.training_sets.clauses import clause, first_sentence, without_clause
from toolrank_evaluation.training_sets.records import LabelledCatalog, LabelledRequest, read_records

LICENCE = "CC0-1.0 (APIs.guru directory), package MIT"


def read_openapi(path: Path) -> LabelledCatalog:
    """Operations of the APIs.guru directory; the provider is what is held out as a whole.

    Most operations ask with their summary and answer with their description. One in five with both asks
    with the first sentence of its description and answers with its summary.

    Raises:
        MissingData, BrokenRecord: the file cannot be read.
    """
    documents: dict[str, ApiDocument] = {}
    groups: dict[str, str] = {}
    titles: dict[str, str] = {}
    requests: list[LabelledRequest] = []
    for record in read_records(path):
        identity = _identity(record)
        question, answer = _question_and_answer(identity, record)
        documents[identity] = _document(identity, record, answer)
        groups[identity] = record["provider"]
        titles[identity] = record["summary"] or first_sentence(record["description"])
        if question:
            requests.append(LabelledRequest(question, (identity,), form="clause"))
    return LabelledCatalog("openapi", LICENCE, documents, groups, titles, tuple(requests))


def _identity(record: dict[str, Any]) -> str:
    place = f"{record['method']} {record['path']}"
    return document_id("openapi", record["provider"], record["service"], record["tool"], record["api"], place)


def _question_and_answer(identity: str, record: dict[str, Any]) -> tuple[str | None, str]:
    summary, description = record["summary"].strip(), record["description"].strip()
    if not summary:
        return None, description
    answer = without_clause(description, summary)
    reversed_ask = hashlib.blake2b(identity.encode(), digest_size=1).digest()[0] < 51
    if reversed_ask and len(answer.split()) > 4:
        question = clause(answer)
        rest = answer[len(first_sentence(answer)) :].lstrip(" .")
        return question, f"{summary.rstrip('.')}. {rest}".strip()
    return clause(summary), answer


def _document(identity: str, record: dict[str, Any], description: str) -> ApiDocument:
    return ApiDocument(
        id=identity,
        source="openapi",
        category=record["category"],
        tool=record["tool"],
        api=record["api"],
        description=description,
        parameters=tuple(
            Parameter(name=p["name"], required=bool(p["required"]), description=p["description"] or "")
            for p in record["parameters"]
        ),
        tags=tuple(record["tags"]),
        deprecated=bool(record["deprecated"]),
    )
