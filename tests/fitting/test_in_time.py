"""From past to future: what is chosen and promised is of policies that knew nothing but what came before."""

import dataclasses

import numpy as np
import pytest

from askwho import InvalidInputError, Target, calibrate, evaluate, fit, load, save
from askwho.core import each_fold
from askwho.data import Columns, Sampling, read_log
from askwho.fitting._fit import _kept_apart
from askwho.fitting._in_time import judged_by_the_future, later_folds
from askwho.learners import LEARNERS, cross_fit
from tests import synthetic
from tests.drifting import COLUMNS, TIMELESS, drifting, rows

CHEAP = {"learner": "linear", "base": "none", "committee": "log-odds-vote", "cv": 3}


def timeless(log):
    return dataclasses.replace(log, sampling=Sampling(log.groups))


def figures(points):
    """Without intervals: rows are resampled by their number in the log."""
    return [(point["error"], point["mean_fee"]) for point in points]


@pytest.fixture(scope="module")
def table():
    return drifting(240, seed=5, later=160)


@pytest.fixture(scope="module")
def policy(table):
    return fit(read_log(rows(table, slice(240)), COLUMNS), **CHEAP)


@pytest.mark.parametrize("seed", range(2))
def test_folds_in_time_come_closer_to_what_the_future_brings(seed):
    table = drifting(240, seed, later=500)
    past, future = rows(table, slice(240)), rows(table, slice(240, None))

    def broken(columns):
        """By how much the errors to come exceed those that were expected, over the prices."""
        ours = fit(read_log(past, columns), **CHEAP, random_state=seed)
        expected = [point["error"] for point in ours.tried.validated(ours.unit)]
        came = [row["error"] for row in evaluate(ours, read_log(future, columns), draws=2)["adaptive"]]
        return float(np.mean(np.array(came) - np.array(expected)))

    at_random, in_time = broken(TIMELESS), broken(COLUMNS)
    assert at_random > 0.05
    assert abs(in_time) < 0.8 * at_random


def test_what_is_done_about_a_fold_does_not_depend_on_what_came_later(policy, table):
    log = read_log(rows(table, slice(240)), COLUMNS)
    fold = later_folds(log, 3, least=8, random_state=0)
    whole = fit(timeless(log), **CHEAP)

    def outcomes(log):
        return judged_by_the_future(whole, log, fold, lambda past: fit(timeless(past), **CHEAP)).tried

    before = outcomes(log)
    # What `fit` itself has found.
    np.testing.assert_array_equal(before.errors, policy.tried.errors)
    np.testing.assert_array_equal(before.fees, policy.tried.fees)
    assert not before.fresh
    spoiled = {name: values.copy() for name, values in rows(table, slice(240)).items()}
    late = fold == fold.max()
    for name in ("truth", "answer_turns", "answer_steady", "answer_dear", "x_0", "x_1"):
        spoiled[name][late] = spoiled[name][late][::-1] if name != "x_0" else 1e6
    after = outcomes(read_log(spoiled, COLUMNS))
    early = np.concatenate([np.full(len(now), fold[now[0]] < fold.max()) for _, now in each_fold(fold)])
    assert not np.array_equal(before.errors[:, ~early], after.errors[:, ~early])
    for name in ("errors", "fees", "sizes"):
        np.testing.assert_array_equal(getattr(before, name)[:, early], getattr(after, name)[:, early])


@pytest.mark.parametrize("seed", range(2))
def test_a_budget_is_what_this_policy_pays_and_not_what_those_before_it_did(seed):
    # The earliest of them know too little to believe anybody's answers, and ask others at the same price.
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 600)
    table = {"x_0": rng.normal(size=600), "truth": truth, "when": np.arange(600)}
    for j, err in enumerate((0.4, 0.1, 0.2)):
        table[f"answer_{j}"] = np.where(rng.random(600) < err, (truth + 1) % 3, truth)
    fees = {"0": 0.15, "1": 0.45, "2": 0.75}
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees=fees, time="when", task="classification")
    policy = fit(read_log({name: values[:220] for name, values in table.items()}, columns), learner="linear", cv=3)
    new = {name: values[220:] for name, values in table.items()}
    for budget in (0.3, 0.5, 0.8):
        assert policy.decide(new, Target(budget=budget)).fee.mean() <= 1.1 * budget


def test_learners_are_compared_by_what_came_later(monkeypatch, table):
    monkeypatch.setattr("askwho.fitting._judge.candidates", lambda _: ["linear", "neighbours"])
    past = rows(table, slice(240))
    given = CHEAP | {"learner": "auto"}
    at_random, in_time = (fit(read_log(past, columns), **given).facts.learners for columns in (TIMELESS, COLUMNS))
    assert all(in_time[name] > at_random[name] + 0.01 for name in ("linear", "neighbours"))


def test_predictions_of_a_fold_do_not_depend_on_what_came_later():
    rng = np.random.default_rng(0)
    X, errors, fold = rng.normal(size=(90, 3)), rng.random((90, 2)), np.repeat([-1, 0, 1], 30)
    before = cross_fit(LEARNERS["linear"], X, errors, fold)
    errors[60:], X[60:] = 7.0, -5.0
    after = cross_fit(LEARNERS["linear"], X, errors, fold)
    np.testing.assert_array_equal(before[30:60], after[30:60])
    assert not np.array_equal(before[60:], after[60:])


def test_rows_that_came_last_are_kept_for_promises(table):
    past = rows(table, slice(240))
    order = np.random.default_rng(0).permutation(240)
    log = read_log(rows(past, order), COLUMNS)
    learned, kept = _kept_apart(log, 0.25, 0)
    assert sorted(kept.sampling.time) == list(range(180, 240))
    assert learned.sampling.time.max() < kept.sampling.time.min()
    # A group is kept with its last row.
    groups = dataclasses.replace(log, sampling=dataclasses.replace(log.sampling, groups=log.sampling.time // 4))
    _, kept = _kept_apart(groups, 0.25, 0)
    assert sorted(kept.sampling.time) == list(range(180, 240))
    ours = fit(log, **CHEAP, promise=0.4)
    assert ours.tried.kept.fees.shape[1] == 96
    assert ours.facts.until == 239.0
    assert ours.setting(Target(budget=1.1, confidence=0.9)) is not None


def test_a_policy_is_evaluated_by_later_rows_alone(policy, table, tmp_path):
    save(policy, tmp_path / "policy")
    ours = load(tmp_path / "policy")
    assert (ours.facts.until, ours.facts.dated) == (239.0, False)
    whole = evaluate(ours, read_log(table, COLUMNS), draws=2)
    future = evaluate(ours, read_log(rows(table, slice(240, None)), COLUMNS), draws=2)
    assert (whole["n"], whole["left_out"]) == (160, 240)
    assert (future["n"], future["left_out"]) == (160, 0)
    assert figures(whole["adaptive"]) == figures(future["adaptive"])
    scores = np.random.default_rng(0).random((400, 3))
    ranked = [
        evaluate(ours, read_log(rows(table, each), COLUMNS), scores=scores[each], draws=2)["fixed_k"]
        for each in (slice(400), slice(240, None))
    ]
    assert figures(ranked[0]) == figures(ranked[1])
    # In batches, one of which has no later row.
    batches = [read_log(rows(table, slice(start, start + 100)), COLUMNS) for start in range(0, 400, 100)]
    assert evaluate(ours, iter(batches), draws=2)["left_out"] == 240
    with pytest.raises(
        InvalidInputError, match=r"`log` must hold rows after 239, .* got 100 rows and none of them later"
    ):
        evaluate(ours, batches[0])


def test_the_end_of_time_may_be_zero(table):
    ours = fit(read_log(rows(table, slice(40)) | {"when": -np.arange(40.0)}, COLUMNS), **CHEAP)
    assert ours.facts.last == "0"


def test_a_policy_is_calibrated_by_later_rows_alone(policy, table):
    ours = calibrate(policy, read_log(rows(table, slice(200, 320)), COLUMNS))
    assert ours.tried.fees.shape[1] == 80
    # What it was calibrated by cannot judge it either.
    assert ours.facts.until == 319.0
    assert evaluate(ours, read_log(table, COLUMNS), draws=2)["n"] == 80
    with pytest.raises(InvalidInputError, match="got 240 rows and none of them later"):
        calibrate(policy, read_log(rows(table, slice(240)), COLUMNS))


def test_dates_are_not_compared_with_numbers(policy, table):
    dated = table | {"when": np.datetime64("2026-01-01") + table["when"].astype("timedelta64[D]")}
    with pytest.raises(InvalidInputError, match="`time` must hold numbers, as the policy's own log did, got dates"):
        evaluate(policy, read_log(dated, COLUMNS))


def test_any_way_to_write_a_moment_will_do(table):
    past = rows(table, slice(0, 240, 8))
    days = np.datetime64("2026-01-01") + past["when"].astype("timedelta64[D]")
    ways = {
        "dates": days,
        "texts": np.array([f"{day}T00:00" for day in days], dtype=object),
        "zones": np.array([f"{day}T02:00:00+02:00" for day in days], dtype=object),
        "numbers": past["when"],
    }
    logs = {how: read_log(past | {"when": way}, COLUMNS) for how, way in ways.items()}
    assert len({log.sampling.time.tobytes() for how, log in logs.items() if how != "numbers"}) == 1
    assert fit(logs["zones"], **CHEAP | {"cv": 2}).facts.last == "2026-08-21"
    np.testing.assert_array_equal(np.argsort(logs["zones"].sampling.time), np.argsort(logs["numbers"].sampling.time))


LATER = {
    "ten rows": (lambda _: synthetic.classification(10), synthetic.COLUMNS, 2),
    "eight rows": (lambda _: synthetic.classification(8), synthetic.COLUMNS, 8),
    "numbers": (synthetic.regression, synthetic.COLUMNS, 27),
    "grades": (synthetic.grades, synthetic.GRADED, 27),
    "own base": (synthetic.known, synthetic.COLUMNS, 27),
}


@pytest.mark.parametrize("kind", LATER)
def test_every_kind_of_log_is_learned_in_time(kind):
    make, columns, judged = LATER[kind]
    table = make(40)
    table["when"] = np.arange(len(table["x_0"]))
    ours = fit(read_log(table, dataclasses.replace(columns, time="when")), learner="linear", cv=2)
    assert ours.tried.fees.shape[1] == judged
    assert np.isfinite(ours.tried.fees).all()


def test_somebody_who_came_at_half_time_is_learned_of_and_so_are_holes(table):
    past = rows(table, slice(0, 240, 4))
    said, others = past["answer_turns"].astype(object), past["answer_steady"].astype(object)
    said[:30] = others[np.random.default_rng(0).random(60) < 0.3] = None
    ours = fit(read_log(past | {"answer_turns": said, "answer_steady": others}, COLUMNS), **CHEAP | {"cv": 2})
    assert ours.tried.fees.shape[1] == 40
    assert ours.tried.estimated == ("errors",)
    assert np.isfinite(ours.facts.entity_errors).all()


def test_asking_in_turn_is_judged_by_the_future_where_a_past_is_long_enough():
    table = drifting(300)
    ours = fit(read_log(table, COLUMNS), learner="linear", base="none", cv=2)
    # Two hundred rows are before the last hundred, and fewer before the others.
    assert ours.tried.fees.shape[1] == 200
    assert ours.turns.tried.fees.shape[1] == 100


def test_a_time_that_stands_still_is_refused(table):
    same = rows(table, slice(60)) | {"when": np.ones(60)}
    with pytest.raises(InvalidInputError, match="got the same in every row"):
        fit(read_log(same, COLUMNS), **CHEAP)


def test_a_past_of_one_group_is_not_learned_from():
    table = drifting(60) | {"who": np.repeat([0, 1], 30)}
    columns = dataclasses.replace(COLUMNS, groups="who")
    log = read_log(table, columns)
    assert later_folds(log, 2, least=8, random_state=0) is None
    assert fit(log, **CHEAP).tried.fees.shape[1] == 60
