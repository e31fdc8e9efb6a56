"""Grades as a reader wrote them down, and whether they fit their batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kitpick_evaluation.errors import InvalidDataset
from kitpick_foundation.decoding import UNDECODABLE, decode_as
from kitpick_training.data.records import MissingData
from kitpick_training.graded.batch import BatchList, GradingBatch, read_batch

Grades = tuple[int, ...]
"""One grade, 0, 1 or 2, for each candidate of a list."""
_MOST_DENIED = 0.3
"""Share of labelled APIs with grade 0 above which grades are taken to stand beside the wrong lists."""
_FEW = 10
"""Labelled APIs below which that share says nothing."""


class InvalidGrades(InvalidDataset):
    """Grades that do not fit their batch."""

    def __init__(self, path: Path, line: int, reason: str) -> None:
        super().__init__(f"{path.name}, line {line}: {reason}")


class BatchReading(NamedTuple):
    """A batch with its grades."""

    batch: GradingBatch
    grades: tuple[Grades, ...]
    """One for each list, in their order."""

    @property
    def denied(self) -> list[tuple[int, int]]:
        """Labelled APIs that got 0, as list and number in the text, from 1: look at these again."""
        return [
            (place, number)
            for place, (each, grades) in enumerate(zip(self.batch.lists, self.grades, strict=True), start=1)
            for number, (candidate, grade) in enumerate(zip(each.candidates, grades, strict=True), start=1)
            if candidate in each.asked.relevant and grade == 0
        ]

    @property
    def labelled(self) -> int:
        """How many labelled APIs the batch has."""
        return sum(len(each.asked.relevant) for each in self.batch.lists)


def read_grades(path: Path) -> BatchReading:
    """The grades of a file `NNN.grades`, with the batch beside it.

    Raises:
        MissingData: the file, or `NNN.json`, is absent.
        InvalidGrades: a line does not fit its list, lines are missing, or so many labelled APIs got 0 that
            grades must have slipped from list to list.
        InvalidDataset: the batch is broken.
    """
    if not path.is_file():
        raise MissingData(path)
    batch = read_batch(path.with_suffix(".json"))
    lines = [line for line in path.read_bytes().splitlines() if line.strip()]
    if len(lines) != len(batch.lists):
        raise InvalidGrades(path, len(lines), f"{len(batch.lists)} lists have {len(lines)} lines: one each")
    pairs = zip(lines, batch.lists, strict=True)
    grades = tuple(_grades(path, place, line, each) for place, (line, each) in enumerate(pairs, start=1))
    reading = BatchReading(batch, grades)
    if reading.labelled >= _FEW and len(reading.denied) > _MOST_DENIED * reading.labelled:
        what = f"{len(reading.denied)} of {reading.labelled} labelled APIs got 0"
        raise InvalidGrades(path, reading.denied[0][0], f"{what}: have grades slipped to other lists?")
    return reading


def _grades(path: Path, place: int, line: bytes, each: BatchList) -> Grades:
    count = len(each.candidates)
    try:
        found = decode_as(line, list[int] | dict[str, int | list[int]])
    except UNDECODABLE as error:
        raise InvalidGrades(path, place, f"neither grades nor numbers by grade ({error})") from error
    if isinstance(found, list):
        return _whole(path, place, found, count)
    return _sparse(path, place, found, count)


def _whole(path: Path, place: int, found: Sequence[int], count: int) -> Grades:
    if len(found) != count or not set(found) <= {0, 1, 2}:
        raise InvalidGrades(
            path, place, f"{len(found)} grades for {count} candidates, or others than 0, 1, 2"
        )
    return tuple(found)


def _sparse(path: Path, place: int, found: Mapping[str, int | list[int]], count: int) -> Grades:
    if found.get("list") != place or not set(found) <= {"list", "1", "2"}:
        raise InvalidGrades(path, place, f'it should be {{"list": {place}, "2": [numbers], "1": [numbers]}}')
    grades = [0] * count
    for grade in (1, 2):
        numbers = found.get(str(grade), [])
        for number in numbers if isinstance(numbers, list) else [numbers]:
            if not 1 <= number <= count or grades[number - 1]:
                raise InvalidGrades(
                    path, place, f"number {number} is none of {count} candidates, or named twice"
                )
            grades[number - 1] = grade
    return tuple(grades)
