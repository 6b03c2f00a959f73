"""Cascades beside the rule that may ask anybody next: where they are learned, and where they are not."""

import numpy as np
import pytest

from askwho import Columns, Target, fit, load, read_log, save
from askwho.evaluation import evaluate

MODELS = 9


def models(n, seed):
    """Nine models of rising skill and fee, and questions of any hardness, of which a feature tells a little."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(0, 1.2, n)
    skill, fees = np.linspace(-1, 1.5, MODELS), np.geomspace(0.02, 1.0, MODELS)
    truth = rng.integers(0, 8, n)
    right = rng.random((n, MODELS)) < 1 / (1 + np.exp(-1.6 * (skill - hard[:, None])))
    wrong = (truth[:, None] + rng.integers(1, 8, (n, MODELS))) % 8
    said = np.where(right, truth[:, None], wrong)
    table = {"x": hard + rng.normal(0, 1.5, n), "truth": truth} | {f"answer_m{j}": said[:, j] for j in range(MODELS)}
    columns = Columns(
        truth="truth", answers="answer_*", features="x", fees={f"m{j}": float(fees[j]) for j in range(MODELS)}
    )
    return read_log(table, columns)


def learned(log):
    return fit(log, learner="linear", base="none", committee="posterior", cv=3)


@pytest.fixture(scope="module")
def policy():
    return learned(models(300, 0))


def test_a_small_log_of_many_models_has_cascades(policy):
    cascade = policy.turns.asking.cascade
    assert cascade is not None
    assert cascade.used.any()


def test_they_are_saved_and_followed(policy, tmp_path):
    save(policy, tmp_path / "policy")
    back, log = load(tmp_path / "policy"), models(200, 1)
    asking = policy.turns.asking
    price = float(asking.cascade.prices[asking.cascade.used][0])
    steps, same = (each.next(log.known, target=Target(fee_weight=price)) for each in (policy, back))
    assert [one.ask for one in steps] == [one.ask for one in same]
    # At such a price everybody begins alike.
    assert len({tuple(one.ask) for one in steps}) == 1


def test_without_cascades_a_small_log_costs_more(policy, monkeypatch):
    monkeypatch.setattr("askwho.fitting._asking._CASCADE_ROWS", 0)
    plain, fresh = learned(models(300, 0)), models(1500, 2)
    assert plain.turns.asking.cascade is None

    prices = [row["fee_weight"] for row in evaluate(plain, fresh, draws=2)["sequential"]]

    def cost(one):
        rows = evaluate(one, fresh, draws=2)["sequential"]
        np.testing.assert_allclose([row["fee_weight"] for row in rows], prices)
        return np.mean([row["error"] + row["fee_weight"] * row["mean_fee"] for row in rows])

    assert cost(policy) < cost(plain)


def test_a_log_of_more_rows_is_asked_as_before(monkeypatch):
    monkeypatch.setattr("askwho.fitting._asking._CASCADE_ROWS", 299)
    assert learned(models(300, 0)).turns.asking.cascade is None
