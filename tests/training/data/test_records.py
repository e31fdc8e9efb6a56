from __future__ import annotations

import gzip

import pytest

from kitpick_training.data.records import (
    BrokenRecord,
    LabelledCatalog,
    LabelledRequest,
    MissingData,
    UnknownDocument,
    read_records,
)


def test_plain_and_compressed_lines_are_read_alike(tmp_path):
    plain, packed = tmp_path / "a.jsonl", tmp_path / "a.jsonl.gz"
    plain.write_text('{"a": 1}\n\n{"a": 2}\n')
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert list(read_records(plain)) == list(read_records(packed)) == [{"a": 1}, {"a": 2}]


@pytest.mark.parametrize("line", ["{", "[1]", "nonsense"])
def test_a_broken_line_is_named(tmp_path, line):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"a": 1}}\n{line}\n')
    with pytest.raises(BrokenRecord, match=r"a\.jsonl, line 2"):
        list(read_records(path))


def test_absent_data_says_what_to_pass(tmp_path):
    with pytest.raises(MissingData, match="pass the folder"):
        list(read_records(tmp_path / "nothing.jsonl"))


def test_a_label_that_points_nowhere_is_refused():
    with pytest.raises(UnknownDocument, match="ghost"):
        LabelledCatalog("house", "CC0-1.0", {}, {}, {}, (LabelledRequest("boo", ("ghost",)),))
