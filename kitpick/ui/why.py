"""Why an API is found, in one sentence for people, and how a request was read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kitpick_engines.contract import Candidate
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import plain, split_identifier
from kitpick_rescorers.features import stems
from kitpick_rescorers.reading.languages import language_of, passed_over
from kitpick_rescorers.reading.rules import STAGE
from kitpick_rescorers.state import QueryKindEstimate

_WORD = re.compile(r"[^\W_]+")
_MOST_WORDS = 5
_MOST_READ = 4_000
_MOST_DESCRIBED = 400
"""Characters."""


def asked_words(request: str) -> dict[str, str]:
    """The words of a request by their stems, in its order, without function words of its language."""
    said = request[:_MOST_READ]
    language = language_of(said)
    common = frozenset() if language == "en" else passed_over(language)
    words: dict[str, str] = {}
    for word in _WORD.findall(said):
        for stem in stems(word) if word.lower() not in common else ():
            words.setdefault(stem, word)
    return words


def why_found(
    words: Mapping[str, str], document: ApiDocument, candidate: Candidate, reasons: Sequence[str]
) -> str:
    """One sentence: what the rules say of an API, which words it and the request share, who points to it."""
    said = "; ".join([*_of_rules(reasons), *_shared(words, document), _pointing(candidate)])
    return f"{said[0].upper()}{said[1:]}."


def _of_rules(reasons: Sequence[str]) -> Iterator[str]:
    """What the request's own words, or samples, say of it: this is in plain words already."""
    start = f"{STAGE}: "
    return (reason.removeprefix(start) for reason in reasons if reason.startswith(start))


def _shared(words: Mapping[str, str], document: ApiDocument) -> Iterator[str]:
    name = stems(f"{split_identifier(document.api)} {split_identifier(document.tool)}")
    description = stems(plain(document.description, _MOST_DESCRIBED))
    held = [stem for stem in words if stem in name or stem in description][:_MOST_WORDS]
    if not held:
        return
    places = [place for place, own in (("name", name), ("description", description)) if own & {*held}]
    verb, noun = ("has", "have")[len(places) - 1], ("word", "words")[len(held) > 1]
    yield f"its {' and '.join(places)} {verb} the request's {noun} {_listed([words[stem] for stem in held])}"


def _listed(words: Sequence[str]) -> str:
    *others, last = (f"“{word}”" for word in words)
    return f"{', '.join(others)} and {last}" if others else last


def _pointing(candidate: Candidate) -> str:
    by = {"words": candidate.lexical, "meaning": candidate.dense}
    found = [name for name, place in by.items() if place is not None]
    first = [name for name, place in by.items() if place is not None and place.rank == 1]
    ahead = f", which is first by {' and by '.join(first)}" if first else ""
    if len(found) == len(by):
        return f"both the words and the meaning of the request point to it{ahead}"
    if found:
        return f"the {found[0]} of the request {'point' if candidate.lexical else 'points'} to it{ahead}"
    if candidate.sentence is not None:
        return "a sentence of the request points to it"
    return "samples of requests point to it" if candidate.intent else "it goes with other APIs found here"


def reads_as(request: str, kind: QueryKindEstimate | None, candidates: Sequence[Candidate]) -> str:
    """How many tasks a request is taken for; empty where nobody asked.

    The classifier reads English: of what stands in another language it often misses the second task.
    """
    if kind is None:
        return ""
    if kind.kind == "multi":
        return "several tasks"
    if any(each.sentence is not None for each in candidates):
        return "several sentences, each of which is asked by itself as well"
    if language_of(request[:_MOST_READ]) == "en":
        return "one task"
    return "one task, though a second one is easily missed in this language: if there are two, ask for each"
