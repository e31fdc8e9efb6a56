"""Prompt injection in descriptions: finds sentences that address the ranker, and removes them.

The patterns are a heuristic. There are two other defences: data is sent as JSON strings, and a language model
never moves a candidate with such a description up.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

import msgspec

_INVISIBLE = {"Cf", "Cc", "Co", "Cs"}
_THIS = r"(?:this|me|my|it|the following|our|us)\b"
_HEAD = r"(?:first|top|highest|number one|no\.? ?1|#1|position 1|rank 1)\b"
_AHEAD = rf"(?:{_HEAD}|(?:above|ahead of|before)\b)"
_SHARE = r"(?:rank|choose|pick|select|prefer|call|use|recommend|return)\b"
_MODEL = r"(?:language model|llm|ranker|reranker|ai assistant|ai model|chatgpt|gpt-?\d)s?\b"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,40}\b(?:instruction|prompt|rule|message|request|"
        r"above|previous|prior|query|criteria|other (?:tool|passage|api|result)s?)",
        rf"\b(?:rank|place|put|list|position|order|sort|score|rate|move|give)\b.{{0,40}}\b{_THIS}"
        rf".{{0,60}}\b{_AHEAD}",
        rf"\b{_THIS}.{{0,60}}\b(?:must|should|has to|needs to|ought to|deserves?)\b.{{0,40}}"
        rf"\b(?:{_HEAD}|rank|chosen|selected|preferred)",
        rf"\balways\b.{{0,30}}\b{_SHARE}.{{0,30}}\b(?:this|me|first)\b",
        r"\b(?:most|more) relevant (?:tool|passage|api|result|answer|document|option)\b",
        r"\b(?:best|only|correct|right) (?:tool|api|passage|answer|choice|option) "
        r"(?:for (?:any|every|all|each)\b|is\b)",
        rf"\b{_MODEL}.{{0,60}}\b(?:must|should|put|place|output|answer|respond|{_SHARE})",
        r"\b(?:respond|answer|reply|output|return|print|write)\b.{0,20}\b(?:only|exactly|with)\b.{0,20}"
        r"(?:\[\s*\d+\s*\]|ranking|\"?\[\s*\d)",
        r"\bnew (?:system )?(?:instruction|prompt|rule)s?\b|\bsystem (?:prompt|override)\b",
        r"^\W*(?:system|assistant|user|developer|human)\s*:",
        r"<\|[^|<>]{1,40}\|>|\[/?INST\]|<</?SYS>>|</?s>|###\s*(?:instruction|system|response)",
        r"\[\s*\d+\s*\]\s*>\s*\[\s*\d+\s*\]",
        r"\"ranking\"\s*:",
    )
)
_SENTENCE = re.compile(r"(?<=[.!?。\n])\s+|\n+")


class SanitisedText(msgspec.Struct, frozen=True):
    """The part of a description that is shown to a model."""

    text: str
    planted: bool
    """Something in it spoke to the ranker, and was left out."""


def sanitise(description: str, limit: int) -> SanitisedText:
    """The description in one line without invisible characters and without sentences that give orders.

    It has at most so many characters, at least 1.
    """
    folded = unicodedata.normalize("NFKC", description[: 8 * limit])
    visible = "".join(
        letter for letter in folded if letter in "\n\t" or unicodedata.category(letter) not in _INVISIBLE
    )
    sentences = _SENTENCE.split(visible)
    kept = [sentence for sentence in sentences if not _gives_orders(sentence)]
    text = _in_one_line(kept)
    planted = len(kept) < len(sentences)
    if _gives_orders(text):
        # Orders spread over several sentences: only the first, which says what an API is, is shown.
        text, planted = _in_one_line(kept[:1]), True
    return SanitisedText(text[:limit], planted)


def hold_back(before: Sequence[str], after: Sequence[str], planted: frozenset[str]) -> list[str]:
    """The new order of ids, in which no planted one has passed one that was ahead of it."""
    came = {key: place for place, key in enumerate(before)}
    result = [key for key in after if key not in planted]
    for key in sorted(planted.intersection(after), key=came.__getitem__):
        ahead = [place for place, other in enumerate(result) if came[other] < came[key]]
        result.insert(max(ahead, default=-1) + 1, key)
    return result


def _in_one_line(sentences: Sequence[str]) -> str:
    return " ".join(" ".join(sentences).split())


def _gives_orders(text: str) -> bool:
    return any(pattern.search(text) for pattern in _PATTERNS)
