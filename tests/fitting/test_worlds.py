"""Worlds in which the best way of asking in turn is known."""

import numpy as np
import pytest

from askwho import Target
from askwho.data import Columns, read_log
from askwho.evaluation import evaluate
from askwho.fitting import fit
from askwho.metrics import Frontier
from tests import policies, synthetic
from tests.policies import said, taking_turns


def fitted(table, columns=synthetic.COLUMNS, **given):
    return fit(read_log(table, columns), learner="linear", cv=3, **{"base": "none", **given})


def entity(step):
    """Whom each query asks next; −1 where it is time to decide."""
    return np.where(step.k > 0, step.order[:, 0], -1)


def test_two_answers_a_row_are_enough_to_learn_from():
    table = synthetic.classification(900)
    keep = np.random.default_rng(0).random((900, 4)).argsort(axis=1).argsort(axis=1) < 2
    for j, name in enumerate(synthetic.FEES):
        table[f"answer_{name}"] = np.where(keep[:, j], table[f"answer_{name}"], None)
    policy = fitted(table)
    assert len(policy.turns.asking.bases) == 2
    new = synthetic.classification(300, seed=1)
    heard, _ = taking_turns(policy, new, Target(fee_weight=0.3))
    answers, beliefs = said(policy, new, heard), policy.combiner.beliefs
    case = policy.combiner.case(answers, policy.see(new), None)
    believed = beliefs.pool.probabilities(case, beliefs.pool.hear_all(case, heard))
    error = (beliefs.decide(case, believed, answers, heard)[0] != new["truth"]).mean()
    # The best that asks everybody the same is "left" or "right" alone, at 0.27, and "both" alone costs more.
    assert error + 0.3 * (heard @ policy.panel.fees).mean() < 0.15
    for row in evaluate(policy, read_log(table, synthetic.COLUMNS), draws=2)["sequential"]:
        assert row["mean_k"] >= 1 - 1e-9
        assert row["mean_fee"] >= min(synthetic.FEES.values()) - 1e-9


def flagged(n, seed):
    """A cheap expert that flags where it is unsure, and a dear one who is always right; x tells nothing."""
    rng = np.random.default_rng(seed)
    truth, unsure = rng.choice(["cat", "dog", "owl"], n), rng.random(n) < 0.3
    wrong = rng.choice(["cat", "dog", "owl"], n)
    cheap = np.where(rng.random(n) < np.where(unsure, 0.1, 0.97), truth, wrong)
    return {
        "x_0": rng.normal(size=n),
        "truth": truth,
        "answer_cheap": cheap,
        "answer_dear": truth.copy(),
        "info_cheap": np.where(unsure, 0.2, 0.9),
    }


CASCADE = Columns(truth="truth", answers="answer_*", features="x_*", info="info_*", fees={"cheap": 0.1, "dear": 1.0})


@pytest.fixture(scope="module")
def cascade():
    return fitted(flagged(900, 0), CASCADE)


def test_a_cascade_is_learned_where_one_pays(cascade):
    table, target = flagged(500, 1), Target(fee_weight=0.2)
    info = np.column_stack([table["info_cheap"], np.full(500, np.nan)])
    seen = cascade.see(table)
    first = entity(cascade.next(seen, said(cascade, table, np.zeros((500, 2), dtype=bool)), target))
    assert (first == 0).all()
    cheap = said(cascade, table, np.tile([True, False], (500, 1)))
    then = entity(cascade.next(seen, cheap, target, info=info))
    unsure = table["info_cheap"] < 0.5
    assert (then == 1)[unsure].mean() >= 0.95
    assert (then == -1)[~unsure].mean() >= 0.95
    # And the same from a table, in which what came back stands beside the answers.
    told = {name: table[name] for name in ("x_0", "answer_cheap", "info_cheap")}
    np.testing.assert_array_equal(entity(cascade.next(told, target=target)), then)


def hull(points):
    return Frontier.of([p["mean_fee"] for p in points], [p["error"] for p in points])


def test_a_cascade_beats_every_fixed_k_and_every_k_of_x_at_the_same_fee(cascade):
    result = evaluate(cascade, read_log(flagged(800, 2), CASCADE), draws=2)
    rivals = hull([*result["fixed_k"], *result["adaptive"]])
    ours = [p for p in result["sequential"] if 0.2 < p["mean_fee"] < 0.6]
    assert ours
    for point in ours:
        assert point["error"] < rivals.error_at(point["mean_fee"]) - 0.05


def test_where_x_alone_tells_how_hard_it_is_turns_are_no_worse_than_k_of_x():
    def table(n, seed):
        rng = np.random.default_rng(seed)
        x, truth = rng.uniform(-1, 1, n), rng.integers(0, 3, n)
        hard = x > 0
        chances = {"a": np.where(hard, 0.45, 0.99), "b": np.where(hard, 0.45, 0.99), "c": np.where(hard, 0.95, 0.99)}
        given = {"x_0": x, "x_1": hard.astype(float), "truth": truth}
        for name, chance in chances.items():
            given[f"answer_{name}"] = np.where(rng.random(n) < chance, truth, rng.integers(0, 3, n))
        return given

    columns = Columns(
        truth="truth", answers="answer_*", features="x_*", task="classification", fees={"a": 0.1, "b": 0.1, "c": 1.0}
    )
    policy = fitted(table(900, 0), columns)
    result = evaluate(policy, read_log(table(1000, 1), columns), draws=2)
    for weight in (0.01, 0.05, 0.1, 0.2, 0.5):
        turns, at_once = (
            min(p["error"] + weight * p["mean_fee"] for p in result[name]) for name in ("sequential", "adaptive")
        )
        assert turns <= at_once + 0.01


def leaning(n, seed):
    """A base can be had from x_0; two experts know better, at a price."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    truth = (x[:, 0] + 0.8 * rng.normal(size=n) > 0).astype(int)
    table = {"x_0": x[:, 0], "x_1": x[:, 1], "truth": truth}
    for name, chance in (("poor", 0.75), ("good", 0.95)):
        table[f"answer_{name}"] = np.where(rng.random(n) < chance, truth, 1 - truth)
    return table


def test_with_a_base_of_our_own_nobody_need_be_asked():
    columns = Columns(
        truth="truth",
        answers="answer_*",
        features="x_*",
        task="classification",
        fees={"good": 1.0, "poor": 0.2},
    )
    policy = fitted(leaning(700, 0), columns, base="auto")
    table = leaning(300, 1)
    assert policy.base is not None
    seen = policy.see(table)

    def step(weight):
        return policy.next(seen, None, Target(fee_weight=weight))

    assert (step(100.0).k == 0).all()
    sure = np.abs(table["x_0"]) > 1.5
    asks = entity(step(0.15)) > 0
    assert asks[~sure].mean() > asks[sure].mean() + 0.5
    assert (entity(step(0.0)) > 0).mean() > 0.8
    np.testing.assert_allclose(step(0.15).expected_error, 1 - seen.shares.max(axis=1), atol=0.02)
    points = evaluate(policy, read_log(table, columns), draws=2)["sequential"]
    assert points[-1]["mean_fee"] == points[-1]["mean_asked"] == 0


def test_every_answer_may_be_new():
    policy, new = policies.fitted("free answers"), synthetic.free(300, 1)
    assert len(policy.combiner.beliefs.classes) == 0
    result = evaluate(policy, read_log(new, synthetic.FREE), draws=2)["sequential"]
    assert result[0]["error"] < 0.15
    assert result[-1]["error"] > 0.3
    # No setting can be right more often than one of those it asked.
    right = np.stack([new[f"answer_{name}"] == new["truth"] for name in policy.panel.names], axis=1)
    for point in result[::4]:
        heard, _ = taking_turns(policy, new, Target(fee_weight=point["fee_weight"]))
        assert point["error"] >= 1 - (heard & right).any(axis=1).mean() - 1e-9


def herd(n, seed):
    """Three good experts who err alone, and nine weak ones who mostly say what the others of them say."""
    rng = np.random.default_rng(seed)
    classes = np.array(["cat", "dog", "eel", "owl"])
    truth, common = rng.choice(classes, n), rng.choice(classes, n)
    table = {"x_0": rng.normal(size=n), "truth": truth}
    for j in range(12):
        right = rng.random(n) < (0.7 if j < 3 else 0.4)
        said = np.where(right, truth, rng.choice(classes, n))
        table[f"answer_{j:02d}"] = said if j < 3 else np.where(rng.random(n) < 0.7, common, said)
    return table


def test_those_worth_asking_of_a_large_panel_are_believed_for_what_they_are():
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees={f"{j:02d}": 1.0 for j in range(12)})
    policy, table, n = fitted(herd(1200, 0), columns), herd(1200, 1), 1200
    asking, beliefs = policy.turns.asking, policy.combiner.beliefs
    assert {0, 1, 2} <= set(asking.entities.tolist())
    assert len(asking.entities) < 12
    case = policy.combiner.case(said(policy, table), policy.see(table), None)
    good, few = np.tile(np.arange(12) < 3, (n, 1)), case.only(asking.entities)
    own = asking.pool.probabilities(few, asking.pool.hear_all(few, good[:, asking.entities]))
    whole = beliefs.pool.probabilities(case, beliefs.pool.hear_all(case, good))
    truth = np.searchsorted(beliefs.classes, table["truth"])
    # Weights of the whole panel are about the herd, whose agreement says little; that of the three says much.
    surprise = [-np.log(believed[np.arange(n), truth]).mean() for believed in (own, whole)]
    assert surprise[0] < surprise[1] - 0.005
    astray = [abs(b.max(axis=1).mean() - (b.argmax(axis=1) == truth).mean()) for b in (own, whole)]
    assert astray[0] < 0.015 < astray[1]
