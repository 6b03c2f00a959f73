"""Fees by query that are told only of who was asked: of dear queries more are told, or fewer, and means hold."""

import numpy as np
import pytest

from askwho import Columns, Target, calibrate, evaluate, fit, read_log
from askwho.data import Charged

FEES = np.array([1.0, 2.0, 6.0])
COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees="fee_*", task="classification")
# How likely each is asked about short queries, and about long ones, which are dear.
WAYS = {"any": (0.6, 0.6), "long": (0.35, 0.8), "short": (0.8, 0.35)}


def table(n, seed, way=None):
    """Long queries (x_0) are dear and hard; who was not asked told no fee."""
    rng = np.random.default_rng(seed)
    x, truth = rng.normal(size=(n, 3)), rng.integers(0, 3, n)
    wrong = rng.random((n, 3)) < 1 / (1 + np.exp(-(np.array([-0.8, -1.2, -2.0]) + 0.9 * x)))
    said = np.where(wrong, (truth[:, None] + rng.integers(1, 3, (n, 3))) % 3, truth[:, None]).astype(object)
    fee = (FEES * np.exp(0.5 * x[:, :1] + 0.1 * rng.normal(size=(n, 3)))).astype(object)
    if way is not None:
        keep = rng.random((n, 3)) < np.where(x[:, :1] > 0, *WAYS[way][::-1])
        said[~keep], fee[~keep] = None, None
    cells = {f"answer_{name}": said[:, j] for j, name in enumerate("abc")}
    cells |= {f"fee_{name}": fee[:, j] for j, name in enumerate("abc")}
    return {f"x_{i}": x[:, i] for i in range(3)} | {"truth": truth.astype(object)} | cells


def log_of(*given):
    return read_log(table(*given), COLUMNS)


@pytest.fixture(scope="module")
def whole():
    return log_of(8_000, 99)


@pytest.mark.parametrize("way", list(WAYS))
def test_mean_fees_are_of_all_queries_whichever_tell_theirs(way, whole):
    policy = fit(log_of(900, 0), learner="linear", base="none", cv=3)
    true = evaluate(policy, whole, draws=2)
    off = {kind: [] for kind in ("fixed_k", "adaptive", "sequential")}
    for seed in range(4):
        told = evaluate(policy, log_of(900, 10 + seed, way), draws=60)
        for kind, each in off.items():
            each.append([a["mean_fee"] / b["mean_fee"] - 1 for a, b in zip(told[kind], true[kind], strict=True)])
            for one, real in zip(told[kind][::5], true[kind][::5], strict=True):
                low, high = one["mean_fee_interval"]
                # Sixty resamples tell the ends of an interval only so well.
                assert 0.97 * low <= real["mean_fee"] <= 1.03 * high
    # Of 900 queries each the mean varies by a fiftieth; the mean of the fees that are told was off by a fifth.
    assert max(abs(np.mean(each)) for each in off.values()) < 0.04


@pytest.mark.parametrize("way", ["long", "short"])
def test_a_budget_is_kept_whichever_tell_their_fees(way, whole):
    paid, again = [], []
    for seed in range(4):
        policy = fit(log_of(700, 20 + seed, way), learner="linear", base="none", cv=3)
        np.testing.assert_allclose(policy.panel.fees, whole.panel.fees, rtol=0.12)
        for each, found in ((policy, paid), (calibrate(policy, log_of(700, 30 + seed, way)), again)):
            decisions = each.decide(whole.known, Target(budget=3.0))
            found.append(np.where(decisions.members, whole.fees, 0.0).sum(axis=1).mean() / 3.0)
    assert np.mean(paid) == pytest.approx(1.0, abs=0.06)
    assert np.mean(again) == pytest.approx(1.0, abs=0.06)


def test_everybody_charges_what_everybody_charges_even_if_nobody_asked_all():
    policy = fit(log_of(400, 0), learner="linear", base="none", cv=3)
    cells = table(400, 1)
    for name in "abc":
        cells[f"answer_{name}"][np.arange(400) % 3 == "abc".index(name)] = None
    found = evaluate(policy, read_log(cells, COLUMNS), draws=20)["baselines"]
    each = np.array([cells[f"fee_{name}"].astype(float).mean() for name in "abc"])
    for name in ("majority_all", "weighted_all"):
        assert found[name]["mean_fee"] == pytest.approx(each.sum())
        assert found[name]["error"] is None
    # Whom the oracle asks goes by what everybody would have said.
    assert [row["mean_fee"] for row in found["oracle"]] == [None] * len(found["oracle"])


def test_in_a_mean_what_was_foretold_is_right_if_the_weights_are():
    rng = np.random.default_rng(0)
    fees = 1.0 + rng.exponential(size=(20_000, 2))
    chance = np.where(fees[:, :1] > 2.0, 0.8, 0.3)
    told = rng.random(fees.shape) < chance
    charged = Charged.of(np.where(told, fees, np.nan))
    assert charged.usual[0] > 1.1 * fees[:, 0].mean()
    found = charged.foretold(np.full(fees.shape, 1.7), np.where(told, 1.0 / chance, 0.0))
    np.testing.assert_allclose(found.usual, fees.mean(axis=0), rtol=0.02)
    # What stands in where nobody told comes to the same, and what was told stays.
    np.testing.assert_allclose(found.fees.mean(axis=0), found.usual)
    np.testing.assert_array_equal(found.fees[told], fees[told])
    np.testing.assert_array_equal(found.told, charged.told)
    some = found.rows(np.arange(5)).behind(1)
    np.testing.assert_array_equal(some.robust[:, 1:], found.robust[:5])
    assert (some.in_means[:, 0] == 0).all()


def test_fees_that_all_were_told_are_as_they_are():
    charged = Charged.of(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert charged.foretold(np.ones((2, 2)), np.ones((2, 2))) is charged
    assert charged.in_means is charged.fees
