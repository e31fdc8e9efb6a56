"""Where files and servers are: for the operator alone. Other callers are told no folder and no host."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class HiddenPlaces:
    """Paths and addresses that stand in messages, and what callers of a service read in their place."""

    def __init__(self, files: Iterable[str | Path | None], addresses: Iterable[str] = ()) -> None:
        """Takes files that are in use, and addresses of search servers."""
        self._words: dict[str, str] = dict.fromkeys(addresses, "the search server")
        for file in (Path(each) for each in files if each):
            self._words[str(file)] = file.name
            for folder in {file.parent, file.absolute().parent}:
                if folder.name:
                    self._words |= {f"{folder}/": "", str(folder): "its folder"}

    def hidden(self, text: str) -> str:
        """The text without them: files are called by their names alone."""
        for place in sorted(self._words, key=len, reverse=True):
            text = text.replace(place, self._words[place])
        return text
