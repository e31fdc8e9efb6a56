"""A file of judgements holds what was marked last, and an evaluation can read it at any time."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_evaluation import judgements
from kitpick_evaluation.datasets.queries_file import queries_file
from kitpick_evaluation.errors import InvalidDataset
from kitpick_evaluation.judgements import Judgements, JudgementsRefused, file_of_caller

MARKS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "äsk \u2028 more"]),
        st.sampled_from("abc"),
        st.sampled_from(["right", "wrong", "none"]),
    ),
    max_size=12,
)


@given(MARKS)
def test_the_last_mark_counts(marks: list[tuple[str, str, judgements.Mark]]) -> None:
    with TemporaryDirectory() as folder:
        file = Judgements(Path(folder) / "queries.jsonl")
        expected: dict[str, dict[str, str]] = {}
        for query, api, verdict in marks:
            file.mark(query, api, verdict)
            expected.setdefault(query, {}).pop(api, None)
            if verdict != "none":
                expected[query][api] = verdict
        for query, wanted in expected.items():
            assert file.of(query) == wanted
        right = {
            query: {api for api, verdict in wanted.items() if verdict == "right"}
            for query, wanted in expected.items()
        }
        if marks:
            assert {query.text: query.relevant for query in queries_file(file.path)} == {
                query: apis for query, apis in right.items() if apis
            }


def test_lines_that_were_there_keep_their_names_and_subsets(tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text('{"id": "log-7", "query": "ask", "relevant": ["a"], "subset": "single"}\n')
    assert Judgements(file).mark("ask", "b", "right") == 1
    assert "irrelevant" not in file.read_text()
    (query,) = queries_file(file)
    assert (query.id, query.subset, query.relevant) == ("log-7", "single", {"a", "b"})


@pytest.mark.parametrize("verdict", ["wrong", "none"])
def test_that_nothing_does_it_stays_said_whatever_is_found_wrong(
    tmp_path: Path, verdict: judgements.Mark
) -> None:
    file = tmp_path / "queries.jsonl"
    line = '{"query":"play music","relevant":[],"subset":"none"}\n'
    file.write_text(line)
    assert Judgements(file).mark("play music", "a", verdict) == 1
    assert file.read_text() == line
    Judgements(file).mark("play music", "a", "right")
    (query,) = queries_file(file)
    assert (query.relevant, query.subset) == ({"a"}, "none")


def test_of_two_lines_that_ask_the_same_none_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    twice = '{"query": "ask", "relevant": ["a"]}\n{"query": "ask", "relevant": ["b"]}\n'
    file.write_text(twice)
    with pytest.raises(InvalidDataset, match="keep one of them"):
        Judgements(file).mark("ask", "c", "right")
    assert file.read_text() == twice


def test_fields_and_groups_of_their_authors_stay(tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    other = '{"query":"other","relevant":[],"owner":{"team":["é",1.5,null]}}'
    file.write_text('{"query": "ask", "relevant": [["a", "b"], "c"], "why": "log 7"}\n' + other + "\n")
    marks = Judgements(file)
    marks.mark("ask", "b", "wrong")
    marks.mark("ask", "d", "right")
    marks.mark("ask", "a", "right")
    first, second = file.read_text("utf-8").splitlines()
    assert second == other
    assert json.loads(first) == {
        "query": "ask",
        "relevant": [["a"], "c", "d"],
        "why": "log 7",
        "irrelevant": ["b"],
    }
    assert marks.of("ask") == {"a": "right", "c": "right", "d": "right", "b": "wrong"}


def test_marks_made_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    files = [Judgements(tmp_path / "queries.jsonl") for _ in range(4)]
    threads = [
        threading.Thread(
            target=lambda file=file, n=n: [file.mark(f"ask {n} {m}", "a", "right") for m in range(5)]
        )
        for n, file in enumerate(files)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(queries_file(tmp_path / "queries.jsonl")) == 20


def test_a_file_that_is_none_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "queries.jsonl"
    file.write_text("[]\n")
    with pytest.raises(InvalidDataset, match=r"queries\.jsonl:1"):
        Judgements(file).mark("ask", "a", "right")
    assert file.read_text() == "[]\n"


def test_a_file_grows_only_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judgements, "MAX_BYTES", 100)
    monkeypatch.setattr(judgements, "MAX_MARKS", 2)
    file = Judgements(tmp_path / "queries.jsonl")
    file.mark("one", "a", "right")
    file.mark("one", "b", "wrong")
    with pytest.raises(JudgementsRefused, match="no more than that"):
        file.mark("one", "c", "wrong")
    file.mark("two", "a", "right")
    with pytest.raises(JudgementsRefused, match="begin another file"):
        file.mark("three", "a", "right")
    file.mark("two", "a", "none")
    assert file.mark("three", "a", "right") == 2


def test_a_place_that_takes_no_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JudgementsRefused, match="cannot be written"):
        Judgements(tmp_path / "file" / "queries.jsonl").mark("ask", "a", "right")


def test_every_caller_has_a_file_of_their_own_in_the_same_folder(tmp_path: Path) -> None:
    named = tmp_path / "queries.jsonl"
    callers = [
        *[("acme", "ann"), ("Acme", "ann"), ("acme.ann", ""), ("", "acme.ann"), ("acme", "")],
        *[("../..", "/etc/passwd"), ("\0", "é"), ("a" * 500, "b" * 100), ("a" * 499, "b" * 100)],
    ]
    files = [file_of_caller(named, *caller) for caller in callers]
    assert file_of_caller(named, "", "") == named
    assert len({str(file).lower() for file in [named, *files]}) == len(callers) + 1
    assert {file.parent for file in files} == {tmp_path}
    assert files[0].name.startswith("queries.acme.ann.")
    for file in files:
        assert Judgements(file).mark("ask", "a", "right") == 1
