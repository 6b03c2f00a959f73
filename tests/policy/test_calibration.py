import numpy as np

from askwho.policy import Calibration


def test_calibration_of_one_row_is_that_of_many():
    rng = np.random.default_rng(0)
    raw = rng.random((500, 3))
    calibration = Calibration.fit(raw, (rng.random((500, 3)) < raw**2).astype(float))
    queries = np.concatenate([rng.uniform(-0.5, 1.5, (60, 3)), raw[:3], calibration.raw.T[:3], [[-3e6, 3e6, 0.5]]])
    one = np.concatenate([calibration.apply(queries[i : i + 1]) for i in range(len(queries))])
    np.testing.assert_allclose(one, calibration.apply(queries), rtol=1e-12, atol=1e-12)


def test_calibration_moves_towards_the_truth_and_keeps_order():
    rng = np.random.default_rng(0)
    true = rng.uniform(0.1, 0.9, (4000, 1))
    errors = (rng.random(true.shape) < true).astype(float)
    squeezed = 0.5 + 0.3 * (true - 0.5)
    calibrated = Calibration.fit(squeezed, errors).apply(squeezed)
    assert np.abs(calibrated - true).mean() < 0.7 * np.abs(squeezed - true).mean()
    order = np.argsort(squeezed[:, 0])
    assert (np.diff(calibrated[order, 0]) >= -1e-9).all()
