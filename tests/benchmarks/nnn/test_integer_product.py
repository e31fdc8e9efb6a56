"""Products of small integers are exact, whatever the processor, and whatever the size."""

from __future__ import annotations

import numpy as np
import pytest
from nnn import integer_product
from nnn.integer_product import IntegerProduct

pytestmark = pytest.mark.needs("onnxruntime")


@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (1000, 384), (77, 1025)])
@pytest.mark.parametrize("batch", [1, 5])
def test_it_is_what_numpy_computes_in_wide_integers(shape: tuple[int, int], batch: int) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(-127, 128, size=shape).astype(np.int8)
    vectors = rng.integers(-127, 128, size=(batch, shape[1])).astype(np.int16)
    expected = vectors.astype(np.int64) @ codes.T.astype(np.int64)
    np.testing.assert_array_equal(IntegerProduct(codes)(vectors), expected)


@pytest.mark.parametrize("sign", [-127, 127])
def test_the_largest_sums_do_not_saturate(sign: int) -> None:
    codes = np.full((4, 2_000), 127, dtype=np.int8)
    assert (IntegerProduct(codes)(np.full((1, 2_000), sign, dtype=np.int16)) == 2_000 * 127 * sign).all()


def test_many_rows_are_taken_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integer_product, "_BLOCK", 10)
    codes = np.arange(-50, 55, dtype=np.int8).reshape(35, 3)
    vectors = np.array([[1, 2, 3], [-3, 0, 100]], dtype=np.int16)
    np.testing.assert_array_equal(IntegerProduct(codes)(vectors), vectors @ codes.T.astype(np.int16))
