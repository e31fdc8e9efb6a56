"""Hides folders and hosts in messages: only the operator may know where files and servers are."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_BEGINS, _ENDS = r"(?<![\w.-])(?<![\w.-]/)", r"(?![\w/-])"
"""What stands in the middle of another path, of an id or of a word is left as it is."""


class HiddenPlaces:
    """Paths and addresses that stand in messages, and what callers of a service read in their place."""

    def __init__(self, files: Iterable[str | Path | None], addresses: Iterable[str] = ()) -> None:
        """Takes files that are in use, and addresses of search servers."""
        self._words = dict.fromkeys(addresses, "the search server")
        for file in (Path(each) for each in files if each):
            folder = file.absolute().parent
            self._words |= {str(file): file.name, str(folder / file.name): file.name}
            if folder.name:
                self._words |= {f"{folder}/": "", str(folder): "its folder"}
        places = sorted(self._words, key=len, reverse=True)
        parts = (re.escape(each) + ("" if each.endswith("/") else _ENDS) for each in places)
        self._found = re.compile(f"{_BEGINS}(?:{'|'.join(parts)})") if places else None

    def hidden(self, text: str) -> str:
        """The text without them: files are called by their names alone."""
        return text if self._found is None else self._found.sub(lambda place: self._words[place[0]], text)


NOWHERE = HiddenPlaces(())
"""Hides nothing: for callers who are told where everything is."""
