"""Searches for the APIs that a request names, in quotes or code, or by the path of a call.

A name is searched for by its words alone, with the caller's filter, so that what is named is among the
candidates however the rest of the request reads. Only a whole name counts then.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kitpick_engines.contract import Candidate, Filter, SearchRequest, Sentence
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import split_identifier
from kitpick_rescorers.contracts import SearchedIndex
from kitpick_rescorers.reading.names import MAX_NAMES, name_key, named
from kitpick_rescorers.reading.request_reading import Reading
from kitpick_rescorers.request import placeless

_SIZE = 200
"""Candidates of the first name that are looked at: many servers have a `search`."""
_SHORT = 3
"""Words of a request that may be a name by its length alone."""
_READ = 40
"""Documents that are read to compare the path of a call: descriptions hold it, candidates do not."""


class NamedApis(NamedTuple):
    """What a request names."""

    candidates: list[Candidate]
    """Without places: they are of another search."""
    by_path: dict[str, str]
    """Ids of those whose path is named, and why they come first."""


def names_to_find(reading: Reading, found: Sequence[Candidate], size: int) -> tuple[str, ...]:
    """What of a request is searched as a name: what stands in it in quotes or as code, or all of it.

    All of it, where something found is called so, because more may be than a first stage proposes, also in
    the words of what is found ("healthcheck" is "health check"); and where it is as short as a name, and more
    than the `size` that the lexical ranking proposes hold a word of it: "get data".
    """
    whole = reading.whole[:1]
    short = bool(whole) and len(split_identifier(whole[0]).split()) <= _SHORT
    held = sum(item.lexical is not None for item in found)
    meant = named(found, whole) if whole else {}
    spelt = (split_identifier(item.api).lower() for item in found if item.id in meant)
    own = (*whole, *spelt) if meant or (short and held >= size) else ()
    return tuple(dict.fromkeys((*own, *reading.names)))[:MAX_NAMES]


def find_named(index: SearchedIndex, names: Sequence[str], permitted: Filter) -> NamedApis:
    """The APIs that names mean, of those that the caller may see.

    Raises:
        EngineError: the index cannot be searched.
    """
    first, *others = ("_".join(name.split()) for name in names)
    sentences = tuple(Sentence(each, None) for each in others)
    found = index.search(SearchRequest(first, None, _SIZE, permitted, sentences, named=True))
    meant = named(found, names)
    paths = {_path_key(name): name for name in names if "/" in name}
    by_path: dict[str, str] = {}
    if paths and not _is_whole(names[0], meant, found):
        by_path = _by_path(index, paths, found, permitted)
    wanted = {*meant, *by_path}
    return NamedApis([placeless(item) for item in found if item.id in wanted], by_path)


def _is_whole(name: str, meant: Mapping[str, str], found: Iterable[Candidate]) -> bool:
    """Whether something is called exactly as the request says, as `tool.api`: then no path of it counts."""
    return any(name == f"{item.tool}.{item.api}" for item in found if item.id in meant)


def _path_key(call: str) -> tuple[str, str]:
    """Method, if it says one, and the letters of the path; those of the root are none: `GET /` → GET, /."""
    method, _, path = call.strip().rpartition(" ")
    return method, name_key(path) or path


def _by_path(
    index: SearchedIndex, paths: dict[tuple[str, str], str], found: Sequence[Candidate], permitted: Filter
) -> dict[str, str]:
    """Ids of the candidates whose call has one of the paths, by the last line of what they say."""
    documents = index.fetch([item.id for item in found[:_READ]], permitted)
    named_by = {document.id: name for document in documents if (name := _path_named(document, paths))}
    return {key: f"its path is asked for: {name[:80]!r}" for key, name in named_by.items()}


def _path_named(document: ApiDocument, paths: dict[tuple[str, str], str]) -> str | None:
    """The path that a document's call has, where it is one of these."""
    call = document.description.rstrip().rpartition("\n")[2]
    for said in (call, document.api):
        method, _, path = said.partition(" ")
        for text in (said, path):
            if path.startswith("/") and method.isupper() and _path_key(text) in paths:
                return paths[_path_key(text)]
    return None
