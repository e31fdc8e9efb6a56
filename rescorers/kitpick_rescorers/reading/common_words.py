"""Function words of several languages, from `common.txt`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import resources


@lru_cache(maxsize=1)
def common_words() -> Mapping[str, frozenset[str]]:
    """Code of a language → its words, in small letters."""
    text = (resources.files(__package__) / "common.txt").read_text("utf-8")
    rows = (line.partition(":") for line in text.splitlines() if line and not line.startswith("#"))
    return {language: frozenset(words.split()) for language, _, words in rows}
