"""Asking in turn where the log had nobody left to hear: how it would have gone on is imagined."""

from functools import cache

import numpy as np
import pytest

from askwho.data import Columns, read_log
from askwho.evaluation import Point, Resamples, evaluate
from askwho.evaluation._points import _IMAGINED_OFF, error_interval
from askwho.fitting import fit
from askwho.replay import Replay

FEES = dict(zip("abcd", (1.0, 1.1, 1.2, 1.3), strict=True))
COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES)
N = 4_000


def table(n, seed):
    """Four who err alike, three times in ten: a second answer that differs makes a third worth its fee."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(["cat", "dog", "owl"], n)
    found = {"truth": truth, "x_0": rng.normal(size=n)}
    for name in FEES:
        found[f"answer_{name}"] = np.where(rng.random(n) < 0.6, truth, rng.choice(["cat", "dog", "owl"], n))
    return found


def thinned(found, most, seed=0):
    """The same, so many asked a row."""
    rng = np.random.default_rng(seed)
    keep = rng.random((len(found["truth"]), len(FEES))).argsort(axis=1).argsort(axis=1) < most
    there = {f"answer_{name}": np.where(keep[:, j], found[f"answer_{name}"], None) for j, name in enumerate(FEES)}
    return found | there


@cache
def policy():
    return fit(read_log(table(1_500, 0), COLUMNS), learner="linear", base="none", cv=3)


@pytest.fixture(scope="module", params=[2, 3], ids="{} a row".format)
def judged(request):
    """What asking comes to at some prices, on complete rows and on the same thinned."""
    rows, turns = table(N, 1), policy().turns
    logs = (read_log(each, COLUMNS) for each in (rows, thinned(rows, request.param)))
    whole, some = (Replay.of(policy(), log).walked(turns.asking, turns.tried.prices[::4]) for log in logs)
    return whole, some


def test_what_is_imagined_stands_for_what_cannot_be_seen(judged):
    whole, some = judged
    known = ~np.isnan(some.errors)
    imagined = known & ~some.seen
    # Every row has some that stand for it: without what is imagined those that are asked most about had none.
    assert np.where(known, some.weights, 0.0).mean(axis=1) == pytest.approx(1.0, abs=0.1)
    assert np.where(some.seen, some.weights, 0.0).mean(axis=1)[:3].max() < 0.8
    count = imagined.sum(axis=1)[:3]
    for name in ("errors", "fees", "sizes", "outside"):
        true, got = (np.where(imagined, getattr(each, name), 0.0).sum(axis=1)[:3] / count for each in (whole, some))
        # Three standard errors of a share of so many rows; what is paid is nearly known.
        assert got == pytest.approx(true, abs=3 * np.sqrt(0.25 / count.min()) if name == "errors" else 0.1), name


def test_those_that_are_asked_most_about_are_not_like_others():
    rows, turns = table(N, 1), policy().turns
    logs = (read_log(each, COLUMNS) for each in (rows, thinned(rows, 3)))
    whole, some = (Replay.of(policy(), log).walked(turns.asking, turns.tried.prices[:1]) for log in logs)

    def weighed(keep):
        return np.average(np.where(keep, some.errors, 0.0), weights=np.where(keep, some.weights, 0.0))

    true = whole.errors.mean()
    assert weighed(some.seen) < true / 2
    assert weighed(~np.isnan(some.errors)) == pytest.approx(true, rel=0.2)


def test_what_is_seen_is_as_it_is_with_everybody(judged):
    whole, some = judged
    for name in ("errors", "fees", "sizes", "outside"):
        np.testing.assert_array_equal(getattr(some, name)[some.seen], getattr(whole, name)[some.seen])
    assert whole.seen.all()
    assert not whole.variance.any()
    assert not some.variance[some.seen].any()
    assert some.variance.any()


def test_rows_that_are_imagined_are_not_counted_as_rows_that_were_seen():
    rows = thinned(table(600, 2), 2)
    found = evaluate(policy(), read_log(rows, COLUMNS), draws=20)["sequential"]
    turns = policy().turns
    walked = Replay.of(policy(), read_log(rows, COLUMNS)).walked(turns.asking, turns.tried.prices)
    share = np.where(walked.seen, walked.weights, 0.0)
    kish = np.square(share.sum(axis=1)) / np.maximum(np.square(share).sum(axis=1), 1e-9)
    assert kish[0] == 0
    assert found[0]["error"] is None
    np.testing.assert_allclose([row["effective_rows"] for row in found], kish)


def test_an_interval_is_wider_by_what_imagined_ends_may_be_off():
    n, errors = 4_000, np.tile([0.0, 0.5, 1.0, 0.5], 1_000)
    resamples = Resamples.of(np.arange(n), policy().unit, draws=400)
    widths = []
    for variance in (0.0, 1.0):
        point = Point(errors, np.zeros(n), weights=np.ones(n), variance=np.where(errors == 0.5, variance, 0.0))
        low, high = error_interval(*resamples.tally([point]))
        widths.append(high - low)
    # A row varies by .125, and is taken to vary by no less than a share of as many, .25; half of the rows by 1 beyond,
    # and all of those alike by .15 of that.
    alike = n * (_IMAGINED_OFF * 0.5) ** 2
    assert widths[1] / widths[0] == pytest.approx(np.sqrt((0.125 + 0.5 + alike) / 0.25), rel=0.05)
