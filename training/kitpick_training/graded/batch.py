"""Batches: text for a reader who grades, and beside it a file that says what the numbers in the text mean."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from kitpick_evaluation.errors import InvalidDataset
from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_training.data.records import MissingData
from kitpick_training.data.split import Split
from kitpick_training.data.written import WrittenApi
from kitpick_training.graded.requests import AskedRequest

DESCRIPTION = 330
"""Characters of a description that a reader sees."""
_INPUTS = 160
_CONTENT = 400
"""Characters of inputs, and of a message, that a reader sees."""
HOW = """\
Grade every candidate by reading. 2: an agent that has it can do what is asked, or one whole part of it.
1: a helpful step, or right only under an unlikely reading. 0: no help, the opposite, another kind of thing.
Where the request names no product, equal APIs of several products all get 2. One line of JSON for each list,
in order: {"list": 1, "2": [numbers], "1": [numbers]}; what is not named is 0. Or all grades: [0, 2, 0, ...].
"""


class BatchList(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request with its candidates."""

    asked: AskedRequest
    split: Split
    candidates: tuple[int, ...]
    again: bool = False
    """Whether it was in an earlier batch, so that its grades tell how far readers agree."""


class GradingBatch(msgspec.Struct, frozen=True):
    """What is graded in one sitting."""

    number: int
    reader: int
    """Who reads it, from 0."""
    lists: tuple[BatchList, ...]

    def write(self, folder: Path, apis: Mapping[int, WrittenApi]) -> None:
        """Writes `NNN.txt` for the reader, then `NNN.json`."""
        folder.mkdir(parents=True, exist_ok=True)
        parts = [_text(place, each, apis) for place, each in enumerate(self.lists, start=1)]
        text = f"# Batch {self.number:03}, {len(parts)} lists\n{HOW}\n" + "\n".join(parts)
        (folder / f"{self.number:03}.txt").write_text(text, "utf-8")
        (folder / f"{self.number:03}.json").write_bytes(msgspec.json.encode(self))


def read_batch(path: Path) -> GradingBatch:
    """The batch of a `.json` file.

    Raises:
        MissingData: no such file.
        InvalidDataset: it is no batch.
    """
    if not path.is_file():
        raise MissingData(path)
    try:
        return decode_as(path.read_bytes(), GradingBatch)
    except UNDECODABLE as error:
        raise InvalidDataset(f"{path}: no batch of lists to grade ({error}): make it again") from error


def read_batches(folder: Path) -> list[GradingBatch]:
    """All batches of a folder by number.

    Raises:
        InvalidDataset: a file is no batch.
    """
    return sorted(map(read_batch, folder.glob("[0-9][0-9][0-9].json")), key=lambda each: each.number)


def with_repeats(fresh: Sequence[BatchList], earlier: Sequence[GradingBatch], number: int) -> list[BatchList]:
    """The lists of a batch, with one of each of the two batches before it, their candidates in another order.

    A batch before it that holds nothing but repeats is passed over. Where two readers take turns, one of
    these was read by the other and one by the same reader.
    """
    chance = random.Random(number)
    lists = list(fresh)
    read_first = [[each for each in batch.lists if not each.again] for batch in earlier]
    for known in list(filter(None, read_first))[-2:]:
        each = chance.choice(known)
        shuffled = tuple(chance.sample(each.candidates, len(each.candidates)))
        lists.insert(chance.randrange(len(lists) + 1), replace(each, candidates=shuffled, again=True))
    return lists


def _text(place: int, each: BatchList, apis: Mapping[int, WrittenApi]) -> str:
    lines = [f"### {place}. {_line(each.asked.request, 2 * _CONTENT)}"]
    lines += [f"    before, {_said(message)}" for message in each.asked.context]
    for number, candidate in enumerate(each.candidates, start=1):
        api = apis[candidate]
        inputs = f" | {_line(', '.join(api.parameters), _INPUTS)}" if api.parameters else ""
        lines.append(f"{number} {api.tool} / {api.api} :: {_line(api.description, DESCRIPTION)}{inputs}")
    return "\n".join(lines) + "\n"


def _said(message: Mapping[str, Any]) -> str:
    return f"{message.get('name', message['role'])}: {_line(str(message['content']), _CONTENT)}"


def _line(text: str, most: int) -> str:
    return " ".join(text.split())[:most]


def ids_of(batches: Iterable[GradingBatch]) -> frozenset[str]:
    """Ids of the requests of batches."""
    return frozenset(each.asked.id for batch in batches for each in batch.lists)
