"""Moves text that many APIs of a tool share to the end of what models read: the own purpose comes first.

Warnings, guardrails, notes on authentication and tables of errors stand before the purpose in some servers'
descriptions, and models read the beginning. Such sentences are recognised by repetition alone. A text that
begins with its own purpose stays as it is: its "Args:" and "Returns:" part it for whoever reads it.
Descriptions and definitions stay as they are: the other order is a field of its own, where it differs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeGuard

import msgspec

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import plain
from kitpick_ingest.entries import Converted

MAX_GROUP = 2_000
"""Documents that are held and looked at together,"""
MAX_HELD = 400_000
"""and characters of their texts and definitions."""
MAX_PURPOSE = 800
"""Characters, twice as many as models read of a description."""
_MAX_READ = 6_000
_LEAST = 3
"""APIs that say a sentence alike, at the least,"""
_SHARE = 0.2
"""and of those of the tool."""
_UNIT = re.compile(r"[^\n]+?(?:[.!?](?=\s+(?![a-z]))|(?=\n)|$)")
_NUMBERED = re.compile(r"\s*(?:\d+|[-*•])[.)]?\s*$")
_NUMBERS = re.compile(r"\d+")


def with_purposes(items: Iterable[Converted]) -> Iterator[Converted]:
    """The items in their order; documents of one tool, which come one after the other, are compared.

    What comes before a failure is passed on before it.
    """
    for group in _by_tool(items):
        yield from _arranged(group)


def _by_tool(items: Iterable[Converted]) -> Iterator[list[Converted]]:
    """What is looked at together: the documents of one tool, no more than are held, and what is between."""
    group: list[Converted] = []
    tool: tuple[str, str] | None = None
    held = 0
    try:
        for item in items:
            if isinstance(item, ApiDocument):
                if tool is not None and tool != (item.category, item.tool):
                    yield group
                    group, held = [], 0
                tool = (item.category, item.tool)
                held += sum(map(_length, (item.definition, item.inputs, item.description)))
            group.append(item)
            if len(group) >= MAX_GROUP or held >= MAX_HELD:
                yield group
                group, held = [], 0
    except Exception:
        yield group
        raise
    yield group


def _arranged(group: list[Converted]) -> list[Converted]:
    """The items of one tool, with their purposes where sentences repeat."""
    units = [_units(item.description) if _has_text(item) else [] for item in group]
    said = Counter(key for each in units for key in {_key(unit) for unit in each})
    count = sum(isinstance(item, ApiDocument) for item in group)
    least = max(_LEAST, _SHARE * count)
    shared = {key for key, times in said.items() if times >= least}
    if not shared:
        return group
    return [
        msgspec.structs.replace(item, purpose=purpose)
        if isinstance(item, ApiDocument) and (purpose := _purpose(each, shared))
        else item
        for item, each in zip(group, units, strict=True)
    ]


def _has_text(item: Converted) -> TypeGuard[ApiDocument]:
    """Whether it is a document whose description is text, as a source in Python may have it otherwise."""
    return isinstance(item, ApiDocument) and isinstance(item.description, str)


def _length(text: object) -> int:
    return len(text) if isinstance(text, str) else 0


def _units(description: str) -> list[str]:
    """Sentences, headings and lines; a number or a bullet that stands alone belongs to what follows."""
    units: list[str] = []
    lead = ""
    for found in _UNIT.findall(description[:_MAX_READ]):
        unit = lead + found.strip()
        lead = ""
        if _NUMBERED.fullmatch(unit):
            lead = unit + " "
        elif unit:
            units.append(unit)
    return [*units, lead.strip()] if lead else units


def _key(unit: str) -> str:
    return " ".join(_NUMBERS.sub("0", unit.lower()).split())


def _purpose(units: list[str], shared: set[str]) -> str:
    """What is its own, then what it shares; empty where it does not begin with what it shares."""
    is_shared = [_key(unit) in shared for unit in units]
    if not is_shared or not is_shared[0] or all(is_shared):
        return ""
    own = [unit for unit, other in zip(units, is_shared, strict=True) if not other]
    rest = [unit for unit, other in zip(units, is_shared, strict=True) if other]
    purpose = " ".join((*own, *rest))[:MAX_PURPOSE].rstrip()
    return "" if _begins(purpose) == _begins(" ".join(units)) else purpose


def _begins(text: str) -> str:
    return plain(text, MAX_PURPOSE // 2)
