"""Graded lists as they are kept, how batches are merged into them, and what they hold in figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from kitpick_foundation.decoding import convert_to
from kitpick_training.data.records import BrokenRecord, read_records
from kitpick_training.data.split import Split, split_of
from kitpick_training.data.written import WrittenApi
from kitpick_training.graded.batch import BatchList
from kitpick_training.graded.readings import BatchReading, Grades

GRADES = 3


class Agreement(NamedTuple):
    """Of two readings of the same candidates."""

    candidates: int
    same: float
    """Share of candidates with the same grade, in [0, 1]."""
    kappa: float
    """Cohen's, in [−1, 1]: 1 where all grades are the same, 0 where they agree as chance would."""
    weighted: float
    """The same where a difference counts by its square: 0 for 2 is four times as far as 1 for 2."""


def agreement(first: Sequence[int], second: Sequence[int]) -> Agreement:
    """The agreement of grades 0, 1, 2 of the same candidates in the same order; at least one.

    Where one of the readings knows but one grade and the other agrees, kappa is 1.
    """
    counts = np.zeros((GRADES, GRADES))
    np.add.at(counts, (np.asarray(first, int), np.asarray(second, int)), 1.0)
    observed = counts / counts.sum()
    expected = np.outer(observed.sum(1), observed.sum(0))
    apart = np.abs(np.subtract.outer(np.arange(GRADES), np.arange(GRADES))).astype(float)
    differ, far = np.minimum(apart, 1.0), apart**2
    return Agreement(
        len(first),
        float(np.trace(observed)),
        _kappa(observed, expected, differ),
        _kappa(observed, expected, far),
    )


def _kappa(observed: np.ndarray, expected: np.ndarray, cost: np.ndarray) -> float:
    chance = float((expected * cost).sum())
    return 1.0 - float((observed * cost).sum()) / chance if chance else 1.0


class GradedList(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A request with candidates and their grades: a line of `datasets/graded/lists.jsonl.gz`."""

    id: str
    """That of `AskedRequest`."""
    request: str
    context: tuple[dict[str, Any], ...] = ()
    """Messages before the request."""
    style: str
    catalog: str
    """The folder whose `apis.jsonl.gz` has the candidates."""
    split: Split
    """`train`, or that of a provider held out: then nothing is to be trained on it."""
    relevant: tuple[int, ...]
    """Labelled when the request was written; empty for a near miss."""
    also: tuple[int, ...] = ()
    candidates: tuple[int, ...]
    grades: Grades
    reader: int
    again: Grades = ()
    """Grades of a second reading; empty where there was none."""
    again_reader: int = -1

    def trainable(self, apis: Mapping[int, WrittenApi]) -> GradedList | None:
        """The list without candidates of providers that are held out; None where its own provider is."""
        if self.split != "train":
            return None
        kept = [
            n for n, each in enumerate(self.candidates) if split_of(apis[each].operation.group) == "train"
        ]
        return replace(
            self,
            candidates=tuple(self.candidates[n] for n in kept),
            grades=tuple(self.grades[n] for n in kept),
            again=tuple(self.again[n] for n in kept) if self.again else (),
        )


def read_graded(path: Path) -> list[GradedList]:
    """The lists of a file, in its order.

    Raises:
        MissingData: no such file.
        BrokenRecord: a line is no list, or has another number of grades than of candidates.
    """
    found = []
    for number, record in enumerate(read_records(path), start=1):
        try:
            each = convert_to(record, GradedList)
        except msgspec.ValidationError as error:
            raise BrokenRecord(path, number, str(error)) from error
        if not len(each.candidates) == len(each.grades) == len(each.again or each.grades):
            raise BrokenRecord(path, number, "as many grades as candidates are wanted")
        found.append(each)
    return found


def merged(known: Iterable[GradedList], readings: Sequence[BatchReading]) -> list[GradedList]:
    """Known lists and those of readings, which replace known ones of the same request.

    The first reading of a list counts; a later one stands beside it. A second reading of what is not known is
    left for the time when the first one is there.
    """
    lists = {each.id: each for each in known}
    for reading in readings:
        for each, grades in zip(reading.batch.lists, reading.grades, strict=True):
            if not each.again:
                lists[each.asked.id] = _graded(each, grades, reading.batch.reader)
    for reading in readings:
        for each, grades in zip(reading.batch.lists, reading.grades, strict=True):
            if each.again and each.asked.id in lists:
                given = dict(zip(each.candidates, grades, strict=True))
                first = lists[each.asked.id]
                again = tuple(given[candidate] for candidate in first.candidates)
                lists[each.asked.id] = replace(first, again=again, again_reader=reading.batch.reader)
    return sorted(lists.values(), key=lambda each: (each.id[0], len(each.id), each.id))


class GradeCounts(NamedTuple):
    """How often each grade was given, of one kind of lists."""

    lists: int
    labelled: Counter[int]
    """Grade → labelled APIs that got it."""
    others: Counter[int]
    """Grade → candidates without a label that got it."""
    with_more: int
    """Lists with an API that is right and has no label."""


def counted(lists: Sequence[GradedList]) -> GradeCounts:
    """Counts of the grades of lists; what is labelled as answering as fairly counts as labelled."""
    labelled, others = Counter[int](), Counter[int]()
    more = 0
    for each in lists:
        known = {*each.relevant, *each.also}
        found = [
            (candidate in known, grade) for candidate, grade in zip(each.candidates, each.grades, strict=True)
        ]
        labelled.update(grade for is_known, grade in found if is_known)
        others.update(grade for is_known, grade in found if not is_known)
        more += (False, 2) in found
    return GradeCounts(len(lists), labelled, others, more)


def twice_graded(lists: Iterable[GradedList], *, same_reader: bool) -> Agreement | None:
    """How far two readings agree, by one reader or by two; None where there are none."""
    pairs = [each for each in lists if each.again and (each.again_reader == each.reader) == same_reader]
    if not pairs:
        return None
    first = [grade for each in pairs for grade in each.grades]
    return agreement(first, [grade for each in pairs for grade in each.again])


def _graded(each: BatchList, grades: Grades, reader: int) -> GradedList:
    asked = each.asked
    return GradedList(
        id=asked.id,
        request=asked.request,
        context=asked.context,
        style=asked.style,
        catalog="written",
        split=each.split,
        relevant=asked.relevant,
        also=asked.also,
        candidates=each.candidates,
        grades=grades,
        reader=reader,
    )
