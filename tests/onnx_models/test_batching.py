"""Batches cover every row once, and a row's padded length is its own affair."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kitpick_models.batching import batches, pad

LENGTHS = st.lists(st.integers(1, 512), max_size=80)
BUDGET = st.integers(1, 4_096)
BUCKET = st.integers(1, 64)


@given(LENGTHS, BUDGET, BUCKET)
def test_every_row_is_in_exactly_one_batch(lengths, budget, bucket):
    rows = [row for _, members in batches(lengths, budget, bucket) for row in members]
    assert sorted(rows) == list(range(len(lengths)))


@given(LENGTHS, BUDGET, BUCKET)
def test_the_padded_length_depends_on_the_row_alone(lengths, budget, bucket):
    for padded, members in batches(lengths, budget, bucket):
        for row in members:
            assert [padded] == [alone for alone, _ in batches([lengths[row]], budget, bucket)]
            assert lengths[row] <= padded < lengths[row] + bucket


@given(LENGTHS, BUDGET, BUCKET)
def test_a_batch_keeps_to_the_budget_unless_one_row_alone_exceeds_it(lengths, budget, bucket):
    for padded, members in batches(lengths, budget, bucket):
        assert len(members) == 1 or padded * len(members) <= budget


@given(st.lists(st.lists(st.integers(1, 30_000), min_size=1, max_size=20), min_size=1, max_size=8))
def test_padding_keeps_the_ids_and_masks_the_rest(sequences):
    ids, mask = pad([np.array(sequence, np.int64) for sequence in sequences], 24)
    for row, sequence in enumerate(sequences):
        assert ids[row, : len(sequence)].tolist() == sequence
        assert mask[row].tolist() == [1] * len(sequence) + [0] * (24 - len(sequence))
        assert not ids[row, len(sequence) :].any()
