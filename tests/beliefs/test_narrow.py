import numpy as np
import pytest

from askwho.beliefs import _narrow


@pytest.mark.parametrize("columns", [1, 2, 4, 7, 8, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_have_the_bits_that_numpy_gives_them(columns, dtype):
    table = np.random.default_rng(columns).normal(size=(5000, columns)).astype(dtype)
    for found, wanted in ((_narrow.largest(table), table.max(axis=1)), (_narrow.total(table), table.sum(axis=1))):
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, wanted[:, None])
