"""Documents: stable ids, hashes that see every field, and what no engine can hold."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_engines.document import (
    MAX_DOCUMENT_BYTES,
    MAX_NESTING,
    ApiDocument,
    Effect,
    Parameter,
    decode_document,
    document_id,
    encode_document,
    tool_key,
    validate_document,
)
from kitpick_engines.errors import InvalidDocument

DOCUMENT = ApiDocument(id="s/t/a", source="s", category="c", tool="t", api="a", definition='{"x": 1.0}')

texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), min_size=1).filter(
    str.strip
)


@given(st.lists(st.lists(st.text(), min_size=3, max_size=3), min_size=2, max_size=2, unique_by=tuple))
def test_different_paths_have_different_ids(paths: list[list[str]]) -> None:
    assert document_id(*paths[0]) != document_id(*paths[1])


def test_the_same_tool_name_in_two_categories_is_two_tools() -> None:
    assert tool_key("Data", "Convert/er") == "Data/Convert%2Fer"
    assert tool_key("Data", "Converter") != tool_key("Finance", "Converter")


@pytest.mark.parametrize(
    "change",
    [
        {"description": "d"},
        {"parameters": (Parameter("p"),)},
        {"deprecated": True},
        {"effect": Effect.READ},
        {"allowed": ("alice",)},
        {"tenant": "x"},
        {"definition": '{"x": 1}'},
        {"successor": "b"},
        {"needs": ("a.id~9",)},
        {"gives": ("a.id~9",)},
        {"about": "x"},
        {"inputs": "{}"},
        {"purpose": "x"},
    ],
)
def test_the_content_hash_sees_every_change(change: dict[str, object]) -> None:
    assert msgspec.structs.replace(DOCUMENT, **change).content_hash != DOCUMENT.content_hash


@given(texts, st.text(st.characters(exclude_categories=("Cs",))))
def test_a_document_survives_encoding_byte_for_byte(name: str, definition: str) -> None:
    document = ApiDocument("s/t/a", "s", "c", "t", name, definition=definition)
    assert decode_document(encode_document(document)) == document


@pytest.mark.parametrize("field", ["id", "source", "tool", "api"])
def test_an_identity_must_not_be_empty(field: str) -> None:
    with pytest.raises(InvalidDocument, match=field):
        validate_document(msgspec.structs.replace(DOCUMENT, **{field: "  "}))


@pytest.mark.parametrize(
    "change",
    [
        {"description": "a\0b"},
        {"tags": ("a\0",)},
        {"parameters": (Parameter("p\0"),)},
        {"description": "\ud800"},
        {"description": "x" * (MAX_DOCUMENT_BYTES + 1)},
        {"definition": "[" * (MAX_NESTING + 1) + "]" * (MAX_NESTING + 1)},
        {"inputs": '{"a":' * 5_000 + "0" + "}" * 5_000},
        {"definition": "[" * 1_000_000},
    ],
)
def test_what_no_engine_can_hold_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(InvalidDocument):
        validate_document(msgspec.structs.replace(DOCUMENT, **change))


@pytest.mark.parametrize(
    "definition",
    [
        "[" * MAX_NESTING + "]" * MAX_NESTING,
        "[" + "[]," * 500 + "0]",
        '["' + "[" * 500 + '"]',
        '["\\\\", "' + '\\"[' * 500 + '"]',
        '"' + "[" * 500,
    ],
)
def test_brackets_in_texts_and_beside_one_another_are_no_nesting(definition: str) -> None:
    document = msgspec.structs.replace(DOCUMENT, definition=definition)
    assert validate_document(document) is document


def test_a_backslash_that_only_looks_like_a_nul_is_fine() -> None:
    document = msgspec.structs.replace(DOCUMENT, description=r"matches \u0000 in text")
    assert validate_document(document) is document
