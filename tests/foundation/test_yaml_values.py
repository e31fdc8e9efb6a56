"""YAML read into the values that JSON has."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from packages import PACKAGES

from kitpick_foundation.yaml_values import MAX_DEPTH, InvalidYaml, parse_yaml

LIMIT = 1_000_000
TEXT = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=4) | st.dictionaries(TEXT, v, max_size=4))

NUMBER_OF_JSON = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?[eE][-+]?[0-9]+")
"""With an exponent: to YAML 1.1, and so to PyYAML, most of these are text that needs no quotes."""


def without_quotes(value: object) -> Any:
    """The value with `1e5` as a number, also where it is text: writers of YAML 1.1 leave its quotes off."""
    if isinstance(value, dict):
        return {key: without_quotes(each) for key, each in value.items()}
    if isinstance(value, list):
        return [without_quotes(each) for each in value]
    if isinstance(value, str) and NUMBER_OF_JSON.fullmatch(value) and math.isfinite(float(value)):
        return float(value)
    return value


def parse(text: str, limit: int = LIMIT) -> Any:
    return parse_yaml(text.encode(), limit)


@given(VALUES)
def test_json_is_read_as_what_it_says(value: object) -> None:
    assert parse(msgspec.json.encode(value).decode()) == value


@given(VALUES)
@example(["0E0", {"1e5": "-2.5e+07"}, "08", "+.5", "1.e5", "-.0", "00", "1e999"])
def test_what_a_dumper_wrote_comes_back(value: object) -> None:
    """But for text that reads as a number of JSON: no reader of both can tell them apart."""
    written = yaml.safe_dump(value, allow_unicode=True)
    assert without_quotes(parse(written)) == without_quotes(value)


@pytest.mark.parametrize("length", range(1, 5))
def test_all_text_that_looks_like_a_number_comes_back(length: int) -> None:
    texts = ["".join(letters) for letters in itertools.product("08+-.eE_", repeat=length)]
    kept = [text for text in texts if not NUMBER_OF_JSON.fullmatch(text)]
    assert parse(yaml.safe_dump(kept), 10 * LIMIT) == kept


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2020-01-01", "2020-01-01"),
        ("2020-01-01T10:00:00Z", "2020-01-01T10:00:00Z"),
        ("NO", "NO"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("1e999", "1e999"),
        ("true", True),
        ("08", "08"),
        ("010", 10),
        ("+.5", "+.5"),
        ("1.5e5", 150_000.0),
        ("0E0", 0.0),
        ("~", None),
        ("-7", -7),
        ("2.50", 2.5),
        ("'2.50'", "2.50"),
        ("!!str 5", "5"),
        ("!!int '5'", 5),
        ("!own five", "five"),
        ("!!python/object/apply:os.getcwd []", []),
        ("", None),
    ],
)
def test_a_scalar_is_what_yaml_1_2_makes_of_it_or_text(text: str, value: object) -> None:
    read = parse(text)
    assert (read, type(read)) == (value, type(value))


def test_broken_yaml_is_named_by_line_and_column() -> None:
    with pytest.raises(InvalidYaml, match=r"flow sequence at line 2, column 4 .* at line 4, column 1$"):
        parse("a: 1\nb: [\n c: d\n")


def test_keys_are_text_as_it_is_written() -> None:
    read = parse("{200: a, true: b, on: c, 1.10: d, ~: e}")
    assert list(read) == ["200", "true", "on", "1.10", "~"]


def test_the_last_of_two_equal_keys_counts() -> None:
    assert parse("a: 1\na: 2") == {"a": 2}


def test_an_alias_stands_for_its_anchor() -> None:
    assert parse("a: &x [1, {b: 2}]\nc: *x") == {"a": [1, {"b": 2}], "c": [1, {"b": 2}]}


def test_a_merge_adds_what_is_not_there_and_the_first_of_several_wins() -> None:
    text = "one: &one {a: 1, b: 1}\ntwo: &two {b: 2, c: 2}\nboth: {a: 0, <<: [*one, *two]}"
    assert parse(text)["both"] == {"a": 0, "b": 1, "c": 2}


def test_utf_16_with_a_byte_order_mark_is_read() -> None:
    assert parse_yaml("a: é".encode("utf-16"), LIMIT) == {"a": "é"}


@pytest.mark.parametrize("opening", ["[", "- ", "? ", "{a: ", "&a [", "!!map {a: "])
def test_deep_nesting_is_refused_and_does_not_end_the_process(opening: str) -> None:
    with pytest.raises(InvalidYaml, match=f"nested deeper than {MAX_DEPTH}"):
        parse(opening * 200_000)


@pytest.mark.parametrize("collection", ["[{0}, {0}, {0}, {0}, {0}]", "{{<<: [{0}, {0}, {0}, {0}, {0}]}}"])
def test_aliases_that_multiply_are_refused(collection: str) -> None:
    levels = ["l0: &l0 {lol: lol}"]
    levels += [f"l{n}: &l{n} {collection.format(f'*l{n - 1}')}" for n in range(1, 40)]
    with pytest.raises(InvalidYaml, match="1,000,000 characters with its aliases written out"):
        parse("\n".join(levels))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: &x [*x]", "within its anchor"),
        ("a: *x", "undefined|before"),
        ("a: 1\n---\nb: 2", "several documents"),
        ("? [a]\n: 1", "key that is not text"),
        ("<<: 1", "merge"),
        ("a: [1", "expected ',' or ']'"),
        ('"\\uD800"', "Unicode"),
        ("a:\n\t- b", "cannot start any token"),
    ],
)
def test_what_is_refused_is_said(text: str, reason: str) -> None:
    with pytest.raises(InvalidYaml, match=reason):
        parse(text)


@given(st.binary(max_size=60) | st.text("-?:,[]{}#&*!|>'\"%@` \nab0", max_size=60).map(str.encode))
def test_any_bytes_give_a_value_of_json_or_an_error(data: bytes) -> None:
    try:
        value = parse_yaml(data, LIMIT)
    except InvalidYaml:
        return
    assert msgspec.json.decode(msgspec.json.encode(value)) == value


@pytest.mark.parametrize("text", ["010", "no", "~", "1.10", "true", "!!int 5", "2020-01-01", ""])
def test_verbatim_scalars_stay_text(text: str) -> None:
    assert parse_yaml(f"a: {text}".encode(), LIMIT, verbatim=True) == {"a": text.removeprefix("!!int ")}


@pytest.mark.parametrize("text", ["a: &a {k: v}\nb: {<<: *a}", "a: 1\na: 2", "x: {b: 1, b: 2}"])
def test_verbatim_refuses_what_would_lose_words(text: str) -> None:
    parse(text)
    with pytest.raises(InvalidYaml):
        parse_yaml(text.encode(), LIMIT, verbatim=True)


def test_no_other_module_reads_yaml() -> None:
    """One bounded reader for all: a loader of the library recurses in C, and ends the process."""
    root = Path(__file__).resolve().parents[2]
    sources = [path for package in PACKAGES for path in (root / package).rglob("*.py")]
    assert len(sources) > 200
    users = [
        path.name for path in sources if re.search(r"^\s*(import|from) yaml\b", path.read_text("utf-8"), re.M)
    ]
    assert users == ["yaml_values.py"]
