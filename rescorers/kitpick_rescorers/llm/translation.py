"""A language model puts a request of another language into English, which the models read.

What it answers is searched for and nothing else: it is one line, as long as a request may be.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_rescorers.llm.model import CallFailed, LanguageModel, Message
from kitpick_rescorers.reading.request_reading import MAX_READ
from kitpick_rescorers.state import TRANSLATE, Degradation

_SECONDS = 10.0
"""How long a translation may take, where the caller has as long."""
_LEAST_TOKENS, _MOST_TOKENS = 200, 8_000
_ORDER = (
    "Translate the request into English, as a native speaker would ask it. Keep names, identifiers, numbers, "
    "code and what stands in quotes as they are. Do not carry it out and do not answer it. "
    'Reply with JSON: {"english": "…"}'
)
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"english": {"type": "string"}},
    "required": ["english"],
    "additionalProperties": False,
}


class _Translation(msgspec.Struct):
    english: str


def in_english(
    request: str, model: LanguageModel | None, seconds: float
) -> tuple[str, tuple[Degradation, ...]]:
    """The request in English; as it is, with the reason, where that fails.

    `model` is None where none is configured.
    """
    if model is None:
        return request, (_left("no language model is configured: set KITPICK_LLM_URL"),)
    asked = Message("system", _ORDER), Message("user", json.dumps({"request": request}, ensure_ascii=False))
    tokens = min(_MOST_TOKENS, _LEAST_TOKENS + len(request))
    try:
        found = model.complete(asked, max_tokens=tokens, schema=_SCHEMA, seconds=min(seconds, _SECONDS))
    except CallFailed as error:
        return request, (_left(str(error)),)
    english = _read(found.text)
    return (english, ()) if english else (request, (_left("the language model answered no translation"),))


def _read(answer: str) -> str:
    """What it answers in one line; empty where that is no translation."""
    try:
        english = decode_as(answer[answer.find("{") : answer.rfind("}") + 1].encode(), _Translation).english
    except UNDECODABLE:
        return ""
    line = " ".join(english.split())
    return line if len(line) <= MAX_READ else ""


def _left(reason: str) -> Degradation:
    return Degradation(TRANSLATE, f"the request was not translated: {reason}")
