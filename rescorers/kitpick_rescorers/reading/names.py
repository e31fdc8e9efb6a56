"""Names of APIs in a request: the whole request, or what stands in it in quotes or as code.

A name is compared by its letters and digits alone: `ListObjects`, `list_objects` and "list objects" are one.
Nothing less than the whole name counts, so `PutObject` is not found for `PutObjectAcl`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache

from kitpick_engines.contract import Candidate

MAX_NAMES = 8
"""Names that are read of one request: the first ones."""
_MAX_NAME = 300
"""Characters of a name."""
_MAX_READ = 4_000
"""Characters of a request in which names are looked for."""
_LEAST = 2
"""Letters and digits of a name."""

_LETTERS = re.compile(r"[^\W_]+")
QUOTED = re.compile(
    r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”|«([^»\n]+)»|「([^」\n]+)」|(?<!\w)'([^'\n]+)'(?!\w)"
)
"""What stands in quotes or as code."""
_DATA = re.compile(
    r"(?:\b(?:called|named|titled|entitled|labell?ed|tagged|saying|says|containing|reading|text|title|name"
    r"|word|words|query|to|as|with|for|by|from|in|on|at)|[=:])\s*$",
    re.IGNORECASE,
)
"""What stands before a quoted value rather than before a name."""
_CODE = re.compile(
    r"(?<![\w/@.])(?:"
    r"(?:(?:GET|PUT|POST|PATCH|DELETE|HEAD|OPTIONS)\s+)?/[\w{}<>:$.~-]+(?:/[\w{}<>:$.~-]+)*/?"  # a path
    r"|[A-Za-z]\w*(?:\.[A-Za-z]\w*)+"  # tool.api
    r"|[A-Za-z][a-z0-9]*(?:_[A-Za-z0-9]+)+"  # snake_case
    r"|[a-z][a-z0-9]*[A-Z][A-Za-z0-9]*"  # camelCase
    r"|[A-Z](?=[A-Za-z0-9]*[a-z0-9][A-Z])[A-Za-z0-9]*"  # PascalCase
    r")(?:\(\))?(?![\w@])"
)
_KEBAB = re.compile(r"(?<![\w/@.-])[a-z]+(?:-[a-z0-9]+)+(?![\w@-])")
_OPTION = re.compile(r"\s--[a-z]")
_LONG = 2
"""Hyphens of a word that people write as a name only."""
_CALLING = re.compile(
    r"^\W*(?:please\s+)?(?:(?:can|could) you\s+)?(?:call|run|use|invoke|execute)?\s*(?:the\s+)?"
    r"(?:tool|function|api|endpoint|operation|method|call)?\s*(?P<name>.+?)\s*"
    r"(?:\s(?:tool|function|api|endpoint|operation|method|call))?\W*$",
    re.IGNORECASE | re.DOTALL,
)


def name_key(name: str) -> str:
    """The letters and digits of a name, in one case: `ListObjectsV2` → `listobjectsv2`."""
    folded = name if name.isascii() else unicodedata.normalize("NFKC", name)
    return "".join(_LETTERS.findall(folded[:_MAX_NAME])).casefold()


def names_in(text: str) -> tuple[str, ...]:
    """What stands in a request in quotes or as code, in its order, each once, at most `MAX_NAMES`.

    A quoted word behind "called", "with" and the like is a value, unless it is written as code. Words with
    hyphens are names in a command with options ("aws ec2 describe-instances --region x"), or with two of
    them.
    """
    read = text[:_MAX_READ]
    found = [(match.start(), match.group()) for match in _CODE.finditer(read)]
    is_command = _OPTION.search(read) is not None
    kebab = _KEBAB.finditer(read) if "-" in read else ()
    found += [
        (match.start(), match.group()) for match in kebab if is_command or match.group().count("-") >= _LONG
    ]
    for match in QUOTED.finditer(read):
        quoted = next(part for part in match.groups() if part is not None)
        plain = not match.group().startswith("`") and not _CODE.fullmatch(quoted.strip())
        if not (plain and _DATA.search(read[max(0, match.start() - 40) : match.start()])):
            found.append((match.start(), quoted))
    names = dict.fromkeys(name.strip() for _, name in sorted(found) if _says_enough(name))
    return tuple(names)[:MAX_NAMES]


def whole_name(text: str) -> tuple[str, ...]:
    """The request itself where it may be a name, as it is and without "call the tool …"; else nothing."""
    stripped = text.strip()
    if len(stripped) > _MAX_NAME or not _says_enough(stripped):
        return ()
    inner = _CALLING.match(" ".join(stripped.split()))  # long gaps would be tried at every place
    reduced = inner["name"].strip() if inner else ""
    return tuple(dict.fromkeys(each for each in (stripped, reduced) if _says_enough(each)))


def _says_enough(name: str) -> bool:
    key = name_key(name)
    return len(key) >= _LEAST and not key.isdecimal()


_PARTS = re.compile(r"[./:]+|__")


_REMEMBERED = 16_384
"""APIs whose keys are remembered: the same few hundred are candidates again and again."""


def keys_of(candidate: Candidate) -> tuple[str, ...]:
    """Keys by which an API is named, the most particular first: id, `tool.api`, name, its last part."""
    return _keys(candidate.id, candidate.tool, candidate.api)


@lru_cache(_REMEMBERED)
def _keys(id_: str, tool: str, api: str) -> tuple[str, ...]:
    last = _PARTS.split(api.rstrip("./:_ "))[-1] if " " not in api.strip() else ""
    call = api.rpartition(" (")[0] if api.endswith(")") else ""
    names = (id_, f"{tool}.{api}", api, call, last)
    return tuple(dict.fromkeys(key for key in map(name_key, names) if len(key) >= _LEAST))


def named(candidates: Iterable[Candidate], names: Sequence[str]) -> dict[str, str]:
    """The candidates that one of the names means, by id, with that name: the plainest match first.

    What is written exactly as the API is comes before another case, and a whole name before its last part.
    """
    wanted: dict[str, str] = {}
    for name in names:
        wanted.setdefault(name_key(name), name)
    found: list[tuple[tuple[int, bool, int], str, str]] = []
    for place, candidate in enumerate(candidates):
        keys = keys_of(candidate)
        if not wanted.keys().isdisjoint(keys):
            depth, name = next((depth, wanted[key]) for depth, key in enumerate(keys) if key in wanted)
            exact = name in (candidate.api, f"{candidate.tool}.{candidate.api}", candidate.id)
            last = depth == len(keys) - 1 and name_key(candidate.api) != keys[depth]
            found.append(((names.index(name), not exact, int(last) * 10_000 + place), candidate.id, name))
    return {key: name for _, key, name in sorted(found)}
