"""Counting the values of JSON without decoding it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_service import body as request_body
from kitpick_service.body import count_values

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.sampled_from(['"', "\\", '\\"', ",[{", '\\\\"']),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=50,
)


def counted(given: Any) -> int:
    """Values below the outermost one, and every list and object."""
    if isinstance(given, dict):
        given = list(given.values())
    return 1 + max(0, len(given) - 1) + sum(map(counted, given)) if isinstance(given, list) else 0


@given(JSON)
def test_it_counts_what_a_decoder_makes(given: Any) -> None:
    assert count_values(json.dumps(given).encode()) >= counted(given)


@given(JSON)
def test_what_stands_in_strings_does_not_count_where_it_matters(given: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(request_body, "_FEW", -1)
        assert count_values(json.dumps(given, ensure_ascii=False).encode()) == counted(given)


@given(st.binary())
def test_anything_can_be_counted(body: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(request_body, "_FEW", -1)
        assert count_values(body) >= 0
