"""The headline: no setting is chosen on the rows that judge it, and its intervals hold the truth."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from askwho import evaluate
from askwho._unit import Unit
from askwho.evaluation import Point, Resamples, headline
from askwho.policy import Outcomes
from tests import cases

# Settings that err and charge alike: whoever looks for the best of them finds the luckiest.
PRICES, TRUE, ROWS = 25, 0.3, 60


@dataclass
class Tried:
    """What a policy did on held-out rows, at as many prices."""

    tried: Outcomes
    turns: None = None


def tried(errors, fees):
    """Outcomes of which each price has one error and one fee; the first price is the lowest."""
    n = len(errors)
    return Tried(Outcomes(np.arange(n) + 1.0, errors[:, None], fees[:, None], np.ones((n, 1), dtype=int)))


def judged(errors, fees, seed=0, draws=100):
    n = errors.shape[1]
    resamples = Resamples.of(np.arange(n), Unit(), draws=draws, random_state=seed)
    return resamples.tally([Point(row, np.full(n, fee)) for row, fee in zip(errors, fees, strict=True)])


def test_the_luckiest_of_many_settings_is_not_taken():
    rng = np.random.default_rng(0)
    fees = np.linspace(2.0, 1.0, PRICES)
    policy = tried(np.linspace(TRUE, 0.5, PRICES), fees)
    off, held, lowest = [], {"best_error": 0, "error_at_best_single_fee": 0, "error_saved": 0}, []
    for draw in range(60):
        errors = (rng.random((PRICES, ROWS)) < TRUE).astype(float)
        single = judged((rng.random((1, ROWS)) < TRUE).astype(float), [3.0], draw)[0]
        tallies = judged(errors, fees, draw)
        head = headline(policy, {"adaptive": tallies, "sequential": []}, single)
        off.append(head["best_error"] - TRUE)
        lowest.append(errors.mean(axis=1).min())
        for name, true in (("best_error", TRUE), ("error_at_best_single_fee", TRUE), ("error_saved", 0.0)):
            low, high = head[f"{name}_interval"]
            held[name] += low <= true <= high
    assert np.mean(lowest) < TRUE - 0.08
    assert abs(np.mean(off)) < 3 * np.std(off) / np.sqrt(len(off))
    assert min(held.values()) >= 52, held


def test_figures_lie_between_the_settings_that_the_policy_would_take():
    rows = np.arange(100)
    errors = np.array([(rows < wrong).astype(float) for wrong in (10, 20, 40)])
    policy = tried(np.array([0.1, 0.2, 0.4]), np.array([4.0, 2.0, 1.0]))
    found = {"adaptive": judged(errors, [4.0, 2.0, 1.0]), "sequential": []}
    single = judged((rows < 30).astype(float)[None], [3.0])[0]
    head = headline(policy, found, single)
    wanted = {
        "best_single_error": 0.3,
        "fee_to_match_best_single": 1.5,
        "fee_saved": 0.5,
        "error_at_best_single_fee": 0.15,
        "error_saved": 0.5,
        "best_error": 0.1,
        "best_error_fee": 4.0,
    }
    assert {name: head[name] for name in wanted} == pytest.approx(wanted)
    for name in wanted:
        low, high = head[f"{name}_interval"]
        assert low <= head[name] <= high, name


def test_a_match_that_some_resamples_never_see_has_no_upper_end():
    rng = np.random.default_rng(1)
    errors = (rng.random((3, 200)) < np.array([[0.3], [0.35], [0.5]])).astype(float)
    policy = tried(np.array([0.3, 0.35, 0.5]), np.array([4.0, 2.0, 1.0]))
    found = {"adaptive": judged(errors, [4.0, 2.0, 1.0]), "sequential": []}
    single = judged((rng.random((1, 200)) < 0.3).astype(float), [3.0])[0]
    head = headline(policy, found, single)
    low, high = head["fee_to_match_best_single_interval"]
    assert low is not None
    assert high is None
    assert head["fee_saved_interval"][0] is None


MATCH = {"fee_to_match_best_single", "fee_saved"}
AT_FEE, BEST = {"error_at_best_single_fee", "error_saved"}, {"best_error", "best_error_fee"}


@pytest.mark.parametrize(
    ("untold", "single_fee", "missing"),
    [
        ((), 3.0, set()),
        # The dearest setting: what the second gets is not the best error.
        ((0,), 3.0, AT_FEE | BEST),
        ((0,), 1.5, BEST),
        ((1,), 3.0, MATCH | AT_FEE),
        ((1,), 4.5, MATCH),
        ((2,), 3.0, MATCH),
        ((2,), 0.5, MATCH | AT_FEE),
        ((0, 1, 2), 3.0, {"best_single_error", "best_single_fee"} | MATCH | AT_FEE | BEST),
    ],
)
def test_a_figure_that_hangs_on_what_is_not_told_is_not_told(untold, single_fee, missing):
    rows = np.arange(200)
    errors = np.array([(rows < wrong).astype(float) for wrong in (20, 40, 80)])
    errors[list(untold), 25:] = np.nan
    policy = tried(np.array([0.1, 0.2, 0.4]), np.array([4.0, 2.0, 1.0]))
    found = {"adaptive": judged(errors, [4.0, 2.0, 1.0]), "sequential": []}
    head = headline(policy, found, judged((rows < 50).astype(float)[None], [single_fee])[0])
    assert set(head["untold"]) == missing
    for name in head:
        if not name.endswith("_interval") and name != "untold":
            assert (head[name] is None) == (name in missing), name
            assert (head[f"{name}_interval"] == [None, None]) == (name in missing), name


def test_where_nothing_is_told_of_a_price_the_others_stand():
    rows = np.arange(100)
    errors = np.array([np.where(rows < 80, np.nan, 0.0), (rows < 20).astype(float)])
    policy = tried(np.array([0.0, 0.2]), np.array([2.0, 1.0]))
    resamples = Resamples.of(rows, Unit(), draws=100)
    tallies = resamples.tally(
        [
            Point(errors[0], np.full(100, 2.0), expected=np.full(100, 0.1)),
            Point(errors[1], np.full(100, 1.0)),
        ]
    )
    assert [tally.told for tally in tallies] == [False, True]
    single = judged((rows < 30).astype(float)[None], [3.0])[0]
    head = headline(policy, {"adaptive": tallies, "sequential": []}, single)
    assert head["fee_to_match_best_single"] == 1.0
    assert head["best_error"] is None
    assert (
        headline(tried(np.array([0.0]), np.array([2.0])), {"adaptive": tallies[:1], "sequential": []}, single)[
            "untold"
        ][0]
        == "best_single_error"
    )


def test_evaluate_marks_what_held_out_rows_found_worth_its_fee():
    policy, log = cases.case("classes")
    result = evaluate(policy, log, draws=20)
    for kind, held_out in (("adaptive", policy.tried), ("sequential", policy.turns.tried)):
        taken = [row for row in result[kind] if row["on_frontier"]]
        assert 1 <= len(taken) < len(result[kind])
        fees, losses = held_out.trade()
        order = np.argsort(held_out.prices)
        assert (np.diff(losses[order]) >= 0).all()
        known = dict(zip(held_out.prices.tolist(), zip(fees, losses, strict=True), strict=True))
        mine = sorted(known[row["fee_weight"]] for row in taken)
        assert (np.diff([loss for _, loss in mine]) < 0).all()
    # Other rows judge the same settings.
    again = evaluate(policy, log.rows(np.arange(100)), draws=20)
    assert [row["on_frontier"] for row in again["adaptive"]] == [row["on_frontier"] for row in result["adaptive"]]


def test_rows_of_which_an_error_or_a_fee_is_not_known_are_left_out_of_the_trade():
    known = tried(np.array([0.1, 0.4]), np.array([2.0, 1.0])).tried
    wide = replace(
        known,
        errors=np.array([[0.0, 1.0, np.nan], [1.0, np.nan, np.nan]]),
        fees=np.array([[2.0, 4.0, 9.0], [np.nan, 1.0, 1.0]]),
        sizes=np.ones((2, 3), dtype=int),
    )
    fees, losses = wide.trade()
    assert losses.tolist() == [0.5, 1.0]
    assert fees[0] == 3.0
    assert np.isnan(fees[1])
