"""Text is read in whatever Unicode encoding it was written."""

from __future__ import annotations

import codecs
import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_foundation.text_files import as_utf8, open_utf8, read_text, read_utf8
from kitpick_ingest.errors import SourceError
from kitpick_ingest.opening import open_source
from kitpick_ingest.source import DeadLetter

ENCODINGS = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
MARKS = dict(
    zip(
        ENCODINGS,
        (
            codecs.BOM_UTF8,
            codecs.BOM_UTF16_LE,
            codecs.BOM_UTF16_BE,
            codecs.BOM_UTF32_LE,
            codecs.BOM_UTF32_BE,
        ),
        strict=True,
    )
)
TEXTS = (
    '{"name": "store_crate", "description": "Stores a crate"}',
    "openapi: 3.0.3\ninfo: {title: 倉庫の箱を管理する, version: '1'}\npaths: {}\n",
    '{"\u0100name": "箱を倉庫に入れる、そして出す", "more": ["أهلا وسهلا", "\U0001f4e6"]}',
    "x",
    "",
)


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_the_same_in_every_encoding(tmp_path: Path, text: str, encoding: str, marked: bool) -> None:
    data = (MARKS[encoding] if marked else b"") + text.encode(encoding)
    file = tmp_path / "text"
    file.write_bytes(data)
    assert as_utf8(data) == text.encode()
    assert read_text(file) == text
    with open_utf8(file) as opened:
        assert opened.read() == text.encode()


@given(text=st.text(min_size=1), encoding=st.sampled_from(ENCODINGS))
def test_a_marked_text_is_read_whatever_it_holds(text: str, encoding: str) -> None:
    assert as_utf8(MARKS[encoding] + text.encode(encoding)) == text.encode()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_lines_come_out_one_by_one_over_the_borders_of_chunks(tmp_path: Path, encoding: str) -> None:
    lines = [f"{number} \U0001f4e6{'é' * (number % 97)}\n" for number in range(5_000)]
    file = tmp_path / "lines"
    file.write_bytes(MARKS[encoding] + "".join(lines).encode(encoding))
    with open_utf8(file) as opened:
        assert [line.decode() for line in opened] == lines


def test_a_single_nul_does_not_make_a_text_utf_16() -> None:
    damaged = b'{"name": "a\0b"}\n{"name": "c"}\n'
    assert as_utf8(damaged) == damaged


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32-be"])
def test_a_damaged_text_says_so(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "cut"
    file.write_bytes(MARKS[encoding] + "cut".encode(encoding)[:-1])
    with pytest.raises(UnicodeDecodeError, match=encoding[:6]):
        read_utf8(file)


def test_the_bound_counts_before_and_after_the_conversion(tmp_path: Path) -> None:
    file = tmp_path / "wide"
    file.write_bytes(MARKS["utf-16-le"] + ("箱" * 10).encode("utf-16-le"))
    assert len(read_utf8(file, 30)) == 30
    for limit in (29, 21):
        with pytest.raises(OSError, match=f"larger than {limit} bytes"):
            read_utf8(file, limit)


SOURCES = {
    "spec.yaml": "openapi: 3.0.3\ninfo: {title: D, version: '1'}\npaths: {/a: {get: {summary: A}}}\n",
    "spec.json": '{"openapi":"3.0.3","info":{"title":"D"},"paths":{"/a":{"get":{"summary":"A"}}}}',
    "tools.json": '{"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}',
    "tools.jsonl": '{"name": "a", "parameters": {}}\n{"name": "b", "parameters": {}}\n',
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("file", SOURCES)
def test_the_kind_of_a_file_is_told_and_it_is_read(tmp_path: Path, file: str, encoding: str) -> None:
    path = tmp_path / file
    path.write_bytes(SOURCES[file].encode(encoding))
    found = list(open_source(str(path)).read())
    assert len(found) == (2 if file.endswith("jsonl") else 1)
    assert not any(isinstance(each, DeadLetter) for each in found)


@pytest.mark.parametrize("spec", ["functions:{}", "openapi:{}", "{}"])
def test_a_compressed_file_is_called_so(tmp_path: Path, spec: str) -> None:
    path = tmp_path / "tools.json"
    path.write_bytes(gzip.compress(b'{"name": "store_crate"}'))
    with pytest.raises(SourceError) as refused:
        list(open_source(spec.format(path)).read())
    assert str(refused.value) == f"{path}: cannot be read: it is compressed (gzip): unpack it first"
