"""What is written is read again, and what is no message is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_models.graph_file import encode_field, number, part, read_fields, text

names = st.integers(1, 2**20)
fields = st.lists(st.tuples(names, st.integers(0, 2**63) | st.binary(max_size=300)))


def encoded(items: list[tuple[int, int | bytes]]) -> bytes:
    return b"".join(
        number(name, value) if isinstance(value, int) else part(name, value) for name, value in items
    )


@given(fields)
def test_fields_come_back_in_order_and_are_written_as_they_were(items: list[tuple[int, int | bytes]]) -> None:
    data = encoded(items)
    found = list(read_fields(data))
    assert [(name, value if isinstance(value, int) else bytes(value)) for name, value in found] == items
    assert b"".join(map(encode_field, found)) == data


def test_it_is_the_encoding_of_the_specification():
    assert number(1, 150) == bytes([0x08, 0x96, 0x01])
    assert text(2, "testing") == b"\x12\x07testing"


@given(fields.filter(bool), st.data())
def test_a_message_that_was_cut_never_reads_as_the_whole(
    items: list[tuple[int, int | bytes]], data: st.DataObject
) -> None:
    whole = encoded(items)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    try:
        found = list(read_fields(cut))
    except ValueError:
        return
    assert len(found) < len(items)


@pytest.mark.parametrize("data", [b"\x0d\x00\x00\x00\x00", b"\x80" * 11, b"\x0a\x05abc", b"\x08"])
def test_what_is_no_message_of_numbers_and_parts_is_refused(data: bytes):
    with pytest.raises(ValueError, match=r"field|number"):
        list(read_fields(data))
