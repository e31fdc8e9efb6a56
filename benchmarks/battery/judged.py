"""Grades of what profiles find: whether a first hit that carries no label would do as well.

Labels name one API where ten may do what is asked. So the first five of every profile are pooled, and
somebody who reads them grades each: 2 an agent with it can do what is asked, or one whole part; 1 a helpful
step; 0 no help. Who grades sees neither labels nor which profile found what.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from shared_data import DATASETS

from battery.figures import SetResult
from battery.sets import BatterySet, draw, kind_of
from kitpick_engines.document import ApiDocument
from kitpick_evaluation.errors import InvalidDataset
from kitpick_foundation.decoding import UNDECODABLE, convert_to, decode_as
from kitpick_training.data.records import MissingData, read_records, write_records
from kitpick_training.data.written import WrittenApi
from kitpick_training.graded.batch import BatchList, GradingBatch
from kitpick_training.graded.readings import read_grades
from kitpick_training.graded.requests import AskedRequest

POOLS = DATASETS / "graded" / "pools.jsonl.gz"
SITTING = 75
"""Requests of one sitting."""
_NUMBERS = "documents.json"


class JudgedRequest(msgspec.Struct, frozen=True):
    """A request with the grades of what was found: a line of `datasets/graded/pools.jsonl.gz`."""

    id: str
    """`SET/SPLIT/REQUEST`, as some sets count each split from 1; `SET/REQUEST` where a set is of no split."""
    grades: Mapping[str, int]
    """Id of an API → 0, 1 or 2."""


Pools = Mapping[str, Mapping[str, int]]
"""Request, as in `JudgedRequest.id` → id of an API → grade."""


def _key(set_name: str, split: str | None, request: str) -> str:
    return "/".join(filter(None, (set_name, split, request)))


def read_pools(path: Path = POOLS) -> Pools:
    """All grades; none where there is no such file.

    Raises:
        InvalidDataset: a line is broken.
    """
    if not path.is_file():
        return {}
    try:
        found = (convert_to(record, JudgedRequest) for record in read_records(path))
        return {each.id: each.grades for each in found}
    except (OSError, EOFError, *UNDECODABLE) as error:
        raise InvalidDataset(f"{path}: no file of pools ({error})") from error


def write_pools(pools: Pools, path: Path = POOLS) -> None:
    """Writes all grades: the same grades give the same bytes."""
    known = ((id_, dict(sorted(grades.items()))) for id_, grades in sorted(pools.items()) if grades)
    write_records(path, (JudgedRequest(*each) for each in known))


def with_grades(battery_set: BatterySet, pools: Pools) -> BatterySet:
    """The set, each request with what is known of it."""
    requests = tuple(
        msgspec.structs.replace(
            each, grades=pools.get(_key(battery_set.name, battery_set.split, each.id), {})
        )
        for each in battery_set.requests
    )
    return msgspec.structs.replace(battery_set, requests=requests)


def write_batches(
    folder: Path, sets: Sequence[BatterySet], results: Iterable[SetResult], profiles: Iterable[str]
) -> int:
    """Writes batches for readers of what profiles found and nobody has graded; how many requests.

    `NNN.txt` is for the reader, `NNN.json` for `read_batches_of`. Only natural requests are read.
    """
    names = list(profiles)
    documents = {(each.name, document.id): document for each in sets for document in each.documents}
    natural = [result for result in results if kind_of(result.name) == "natural"]
    unknown = [(each.name, *pair) for each in natural for pair in _unknown(each, names)]
    unknown.sort(key=lambda each: draw(0, each[1].id))
    found = dict.fromkeys((name, id_) for name, _, ids in unknown for id_ in ids)
    numbers = {key: number for number, key in enumerate(found)}
    apis = {number: _as_read(number, documents[key]) for key, number in numbers.items()}
    lists = [
        BatchList(asked, "test", tuple(numbers[name, id_] for id_ in ids)) for name, asked, ids in unknown
    ]
    folder.mkdir(parents=True, exist_ok=True)
    for place in range(0, len(lists), SITTING):
        GradingBatch(place // SITTING, 0, tuple(lists[place : place + SITTING])).write(folder, apis)
    (folder / _NUMBERS).write_bytes(msgspec.json.encode([id_ for _, id_ in numbers]))
    return len(lists)


def _unknown(result: SetResult, profiles: Sequence[str]) -> Iterator[tuple[AskedRequest, list[str]]]:
    """Each request with the ids that no one has graded, drawn into an order that says nothing."""
    for row in zip(*(result.outcomes[name] for name in profiles), strict=True):
        request = row[0].request
        pool = request.relevant.union(*(outcome.ids for outcome in row)) - request.grades.keys()
        if pool:
            id_ = _key(result.name, result.split, request.id)
            yield (
                AskedRequest(id_, request.text, request.style, ()),
                sorted(pool, key=lambda one: draw(0, id_ + one)),
            )


def _as_read(number: int, document: ApiDocument) -> WrittenApi:
    """What a reader sees of a document."""
    names = tuple(parameter.name for parameter in document.parameters)
    shown = (document.tool, document.api, "", "", document.description, names)
    return WrittenApi(number, "", document.category, "", "", *shown)


def read_batches_of(folder: Path) -> Pools:
    """The grades of all `NNN.grades` of a folder.

    Raises:
        MissingData, InvalidDataset: a file is absent, or does not fit its batch.
    """
    place = folder / _NUMBERS
    if not place.is_file():
        raise MissingData(place)
    ids = decode_as(place.read_bytes(), list[str])
    found: dict[str, dict[str, int]] = {}
    for file in sorted(folder.glob("[0-9][0-9][0-9].grades")):
        reading = read_grades(file)
        for each, grades in zip(reading.batch.lists, reading.grades, strict=True):
            named = {ids[number]: grade for number, grade in zip(each.candidates, grades, strict=True)}
            found.setdefault(each.asked.id, {}).update(named)
    return found


def joined(known: Pools, found: Pools) -> Pools:
    """Both; what was graded again has its last grade."""
    return {id_: {**known.get(id_, {}), **found.get(id_, {})} for id_ in known.keys() | found.keys()}
