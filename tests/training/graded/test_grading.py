"""Requests to grade, batches of them, the grades of readers, and the lists that come of it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kitpick_evaluation.errors import InvalidDataset
from kitpick_foundation.decoding import convert_to
from kitpick_training.data.records import write_records
from kitpick_training.data.split import split_of
from kitpick_training.data.written import WrittenApi, read_apis
from kitpick_training.graded.batch import BatchList, GradingBatch, read_batches, with_repeats
from kitpick_training.graded.lists import agreement, counted, merged, read_graded, twice_graded
from kitpick_training.graded.making import BatchJob, make_batches
from kitpick_training.graded.readings import BatchReading, InvalidGrades, read_grades
from kitpick_training.graded.requests import AskedRequest, draw, messages_of, read_asked, split_of_asked

DEEDS = ("Create", "List", "Delete", "Update")
THINGS = ("invoice", "playlist", "parcel", "forecast", "recipe")


def groups(split: str, count: int) -> list[str]:
    found = (f"shop{number}.com" for number in range(1_000))
    return [name for name in found if split_of(name) == split][:count]


PROVIDERS = (*groups("train", 3), *groups("validation", 1), *groups("test", 1))


def api(number: int) -> dict[str, Any]:
    provider, thing = number // len(DEEDS), THINGS[number // len(DEEDS)]
    deed = DEEDS[number % len(DEEDS)]
    return {
        "id": number,
        "source": "openapi",
        "category": "office",
        "provider": PROVIDERS[provider],
        "service": "",
        "tool": f"{thing.title()}s",
        "api": f"{deed.lower()}_{thing}",
        "method": "POST",
        "path": f"/{number}",
        "description": f"{deed} one {thing} of the shop.",
        "parameters": ["page"],
    }


@pytest.fixture
def datasets(tmp_path: Path) -> Path:
    folder = tmp_path / "datasets"
    requests = [
        {"request": f"{deed} my {thing}", "style": "EDFAB"[provider], "relevant": [number], "also": []}
        for provider, thing in enumerate(THINGS)
        for number, deed in enumerate(DEEDS, start=provider * len(DEEDS))
    ]
    requests.append({"request": "bill it, then send it", "style": "C", "relevant": [0, 8], "also": [1, 0]})
    files = {"written/apis.jsonl.gz": [api(n) for n in range(20)], "written/requests.jsonl.gz": requests}
    said = [
        {"role": "user", "content": "list my parcels"},
        {"role": "tool", "tool": 9, "content": "[7]"},
        {"role": "user", "content": "drop it"},
    ]
    files["conversations.jsonl"] = [
        {"id": f"c{n}", "messages": said, "relevant": [10], "also": [], "kind": "pronoun"} for n in range(8)
    ]
    files["graded/near-misses.jsonl"] = [{"request": "print my playlist", "near": [5]}]
    for name, rows in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = "".join(json.dumps(row) + "\n" for row in rows).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder


def test_requests_come_of_all_sorts_and_of_the_providers_asked_least(datasets):
    apis = {each.id: each for each in read_apis(datasets / "written")}
    pool = read_asked(datasets, apis)
    drawn = draw(pool, 9, apis)
    assert {each.sort for each in drawn} >= {"parts", "agent", "indirect", "conversation", "near-miss"}
    assert {split_of_asked(each, apis) for each in draw(pool, 1_000, apis)} == {"train", "validation"}
    assert [each.id for each in draw(pool, 9, apis)] == [each.id for each in drawn]
    again = draw(pool, 1_000, apis, left_out={each.id for each in drawn})
    assert not {each.id for each in again} & {each.id for each in drawn}


def test_half_of_the_conversations_are_left_to_benchmarks(datasets):
    apis = {each.id: each for each in read_apis(datasets / "written")}
    talks = [each for each in read_asked(datasets, apis) if each.style == "conversation"]
    assert 0 < len(talks) < 8
    assert talks[0].request == "drop it"
    assert [message["role"] for message in messages_of(talks[0])] == ["user", "assistant", "tool", "user"]


def test_a_request_that_names_an_unknown_operation_is_refused(datasets):
    (datasets / "graded" / "near-misses.jsonl").write_text('{"request": "fly", "near": [99]}\n')
    apis = {each.id: each for each in read_apis(datasets / "written")}
    with pytest.raises(InvalidDataset, match="n-0"):
        read_asked(datasets, apis)


@pytest.mark.needs("onnxruntime")
@pytest.mark.needs("weights")
def test_batches_hold_what_is_found_and_labelled_and_repeat_lists_of_earlier_ones(
    datasets, tmp_path, monkeypatch
):
    monkeypatch.setenv("KITPICK_EMBEDDING_CACHE", str(tmp_path / "embeddings.db"))
    folder, lines = tmp_path / "batches", []
    job = BatchJob(
        datasets=datasets,
        folder=folder,
        batches=2,
        size=4,
        readers=2,
        first={"bm25": 8, "dense": 8},
        catalog=f"sqlite:{tmp_path / 'written.db'}",
    )
    make_batches(job, {"w-0"}, lines.append)
    first, second = read_batches(folder)
    assert (first.reader, second.reader, len(lines)) == (1, 0, 2)
    assert [each.again for each in second.lists].count(True) == 1
    for each in (*first.lists, *second.lists):
        assert len(set(each.candidates)) == len(each.candidates) >= 8
        assert set(each.asked.named) <= set(each.candidates)
        assert each.asked.id != "w-0"
    text = (folder / "002.txt").read_text("utf-8")
    assert text.count("### ") == 4
    assert " :: Delete one " in text
    make_batches(replace(job, batches=50), {"w-0"}, lines.append)
    assert lines[-1].startswith("no request is left")
    assert all(any(not each.again for each in found.lists) for found in read_batches(folder))


def api_of(number: int) -> WrittenApi:
    return convert_to(api(number), WrittenApi)


def asked(number: int, relevant: tuple[int, ...] = (7,)) -> AskedRequest:
    return AskedRequest(f"w-{number}", f"do {number}", "E", relevant)


def batch(number: int, lists: list[BatchList]) -> GradingBatch:
    return GradingBatch(number, number % 2, tuple(lists))


@pytest.fixture
def graded(tmp_path: Path):
    """Writes a batch of two lists and what a reader says of it, and reads that."""

    def read(*lines: str) -> BatchReading:
        batch(1, [BatchList(asked(n), "train", (3, 7, 9)) for n in (1, 2)]).write(
            tmp_path, {n: api_of(n) for n in (3, 7, 9)}
        )
        path = tmp_path / "001.grades"
        path.write_text("\n".join(lines) + "\n")
        return read_grades(path)

    return read


def test_a_reader_names_numbers_by_grade_or_writes_all_grades(graded):
    reading = graded('{"list": 1, "2": [2], "1": 3}', "[1, 0, 0]")
    assert reading.grades == ((0, 2, 1), (1, 0, 0))
    assert reading.denied == [(2, 2)]


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (['{"list": 1}'], "2 lists have 1 lines"),
        (['{"list": 2}', "[0, 0, 2]"], '"list": 1'),
        (['{"list": 1, "2": [4]}', "[0, 0, 2]"], "number 4"),
        (['{"list": 1, "2": [1], "1": [1]}', "[0, 0, 2]"], "named twice"),
        (['{"list": 1}', "[0, 2]"], "2 grades for 3"),
        (['{"list": 1}', "[0, 0, 3]"], "others than 0, 1, 2"),
        (['{"list": 1}', "two"], "neither grades"),
    ],
)
def test_grades_that_do_not_fit_are_refused_with_their_line(graded, lines, reason):
    with pytest.raises(InvalidGrades, match=reason):
        graded(*lines)


def test_grades_in_another_encoding_are_refused_with_their_line(graded, tmp_path):
    graded('{"list": 1}', "[0, 0, 2]")
    (tmp_path / "001.grades").write_bytes(b'{"list": 1}\n{"list": 2, "2": [\xa01]}\n')
    with pytest.raises(InvalidGrades, match="line 2: neither grades"):
        read_grades(tmp_path / "001.grades")


def test_grades_that_slipped_to_the_next_list_are_noticed(tmp_path):
    lists = [BatchList(asked(n), "train", (3, 7)) for n in range(12)]
    batch(1, lists).write(tmp_path, {n: api_of(n) for n in (3, 7)})
    path = tmp_path / "001.grades"
    path.write_text("[2, 0]\n" * 12)
    with pytest.raises(InvalidGrades, match="12 of 12 labelled"):
        read_grades(path)


def test_a_second_reading_stands_beside_the_first_by_candidate(tmp_path):
    first = BatchList(asked(1), "train", (3, 7, 9))
    again = BatchList(asked(1), "train", (9, 3, 7), again=True)
    readings = [
        BatchReading(batch(2, [again]), ((1, 0, 2),)),
        BatchReading(batch(1, [first]), ((0, 2, 0),)),
    ]
    lists = merged([], readings)
    assert (lists[0].grades, lists[0].again) == ((0, 2, 0), (0, 2, 1))
    assert (lists[0].reader, lists[0].again_reader) == (1, 0)
    path = tmp_path / "graded" / "lists.jsonl.gz"
    write_records(path, lists)
    assert read_graded(path) == lists == merged(read_graded(path), readings)
    assert twice_graded(lists, same_reader=True) is None
    between = twice_graded(lists, same_reader=False)
    assert between is not None
    assert between.candidates == 3


def test_a_batch_of_nothing_but_repeats_gives_none():
    first = BatchList(asked(1), "train", (3, 7, 9))
    again = BatchList(asked(1), "train", (9, 3, 7), again=True)
    fresh = BatchList(asked(2), "train", (7,))
    lists = with_repeats([fresh], [batch(1, [first]), batch(2, [again])], 3)
    assert sorted(each.asked.id for each in lists if each.again) == ["w-1"]
    assert [each.asked.id for each in lists if not each.again] == ["w-2"]


def test_training_sees_nothing_of_providers_that_are_held_out():
    held_out = 4 * PROVIDERS.index(groups("validation", 1)[0])
    lists = merged(
        [],
        [
            BatchReading(
                batch(1, [BatchList(asked(1), "train", (7, held_out)), BatchList(asked(2), "test", (7,))]),
                ((2, 1), (2,)),
            )
        ],
    )
    apis = {n: api_of(n) for n in range(20)}
    kept = lists[0].trainable(apis)
    assert kept is not None
    assert (kept.candidates, kept.grades) == ((7,), (2,))
    assert lists[1].trainable(apis) is None


def test_counts_tell_labelled_from_unlabelled():
    reading = BatchReading(batch(1, [BatchList(asked(1), "train", (3, 7, 9))]), ((2, 2, 1),))
    found = counted(merged([], [reading]))
    assert (found.lists, found.with_more) == (1, 1)
    assert (found.labelled[2], found.others[2], found.others[1]) == (1, 1, 1)


def test_kappa_is_one_for_equal_grades_and_nought_for_those_of_chance():
    assert agreement([0, 1, 2, 2], [0, 1, 2, 2])[1:] == (1.0, 1.0, 1.0)
    assert agreement([0, 0, 2, 2], [0, 2, 0, 2]).kappa == pytest.approx(0.0)
    assert agreement([0, 0], [0, 0]).kappa == 1.0
    near, far = agreement([0, 1, 2, 2], [0, 1, 2, 1]), agreement([0, 1, 2, 2], [0, 1, 2, 0])
    assert near.weighted > far.weighted
