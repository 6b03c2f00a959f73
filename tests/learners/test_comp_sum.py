"""The paper's policy: what it minimises, that it ranks as Bayes does, and what its settings mean."""

import math
import subprocess
import sys
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from hypothesis.extra import numpy as hnp  # noqa: E402
from torch import nn  # noqa: E402

from askwho import InvalidInputError, Panel  # noqa: E402
from askwho.core import multi_task_errors  # noqa: E402
from askwho.engine import Training  # noqa: E402
from askwho.learners import (  # noqa: E402
    SURROGATE_NAMES,
    CompSum,
    Perceptrons,
    Scorer,
    Shares,
    _perceptrons,
    check_learner,
    fit_regressors,
    log_shares,
)
from askwho.learners._objective import objective, weighted_objective  # noqa: E402
from askwho.losses import SURROGATES, Surrogate, asymmetric_softmax_shares, deferral_surrogate  # noqa: E402
from tests import finite  # noqa: E402
from tests.learners.own import squared  # noqa: E402

US = [0.0, 0.5, 1.0, 1.5, 2.0]
SHIFTS = ["max", "sum", 3.5]
TWO_STAGE = Panel.two_stage(["a", "b", "c"])
ONE_STAGE = Panel.one_stage(["cat", "dog", "owl"], ["a", "b"])
# Whole batches and no hidden layer: on queries that are one-hot the minimiser itself is found.
TO_THE_END = Training(epochs=120, batch=100_000, rate=0.1)
QUICK = Training(epochs=3, batch=32, rate=1e-2)
EXACTLY = Training(epochs=60, batch=32, rate=0.1)


def exact(**options):
    return CompSum(hidden=(), training=TO_THE_END, **options)


# What is minimised.


def test_the_names_are_those_of_the_losses():
    assert list(SURROGATES) == list(SURROGATE_NAMES)
    assert all(entry.name == name for name, entry in SURROGATES.items())


def test_the_facts_are_known_without_torch():
    code = """
from tests.blocked import block
block("torch")
from askwho import MissingDependencyError
from askwho._surrogates import SURROGATES
from askwho.learners import CompSum, SURROGATE_NAMES, check_learner
assert list(SURROGATE_NAMES) == list(SURROGATES)
for name in SURROGATES:
    assert not CompSum(surrogate=name).ranks_only_the_first
    # To learn by one is another matter, and is said at once.
    try:
        check_learner(name)
    except MissingDependencyError as error:
        assert "pip install" in str(error)
    else:
        raise AssertionError(name)
"""
    root = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=root)
    assert ran.returncode == 0, ran.stderr


@st.composite
def tables(draw, sparse):
    shape = draw(st.tuples(st.integers(2, 9), st.integers(2, 4)))
    costs = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, 20))) / 20
    scores = draw(hnp.arrays(np.float32, shape, elements=st.floats(-4, 4, width=32)))
    mask = np.ones(shape, dtype=bool)
    if sparse:
        mask = draw(hnp.arrays(np.bool_, shape))
        # Somebody was asked about every query, and somebody was not.
        mask[np.arange(shape[0]), draw(hnp.arrays(np.int64, shape[0], elements=st.integers(0, shape[1] - 1)))] = True
        mask[0] = np.arange(shape[1]) == 0
    return costs, scores, mask


def one_factor(found, expected):
    """Whether two losses, as NumPy arrays, are the same up to one positive factor for all rows."""
    factor = found.sum() / expected.sum() if expected.sum() > 1e-9 else 1.0
    np.testing.assert_allclose(found, factor * expected, rtol=2e-4, atol=2e-5 * max(1.0, factor))
    return factor > 0


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("u", US)
@given(table=tables(sparse=False))
@settings(max_examples=10)
def test_the_objective_is_the_deferral_surrogate(u, shift, table):
    costs, scores, _ = table
    targets, loss = objective(CompSum(u=u, shift=shift), costs[None], TWO_STAGE)
    found = loss(torch.tensor(scores[None]), *map(torch.tensor, targets))[0].numpy()
    expected = deferral_surrogate(torch.tensor(scores).double(), torch.tensor(costs), u=u, shift=shift).numpy()
    assert one_factor(found, expected)


@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("u", US)
@given(table=tables(sparse=True))
@settings(max_examples=10)
def test_where_answers_are_missing_it_is_the_surrogate_of_those_asked_and_of_one_bound(u, shift, table):
    costs, scores, mask = table
    seen = np.where(mask, costs, np.nan)
    targets, loss = objective(CompSum(u=u, shift=shift), seen[None], TWO_STAGE)
    found = loss(torch.tensor(scores[None]), *map(torch.tensor, targets))[0].numpy()
    # The bound holds for the log as a whole: that of a row would depend on who was asked.
    bound = shift if isinstance(shift, float) else float(np.nanmax(seen))
    expected = deferral_surrogate(
        torch.tensor(scores).double(), torch.tensor(costs), u=u, shift=bound, mask=torch.tensor(mask)
    )
    assert one_factor(found, expected.numpy())


def test_rows_without_any_answer_are_in_nobodys_way():
    costs = np.array([[0.2, 0.9], [np.nan, np.nan], [0.5, np.nan]])
    targets, loss = objective(CompSum(), costs[None], TWO_STAGE)
    scores = torch.tensor([[[0.3, -0.2], [0.1, 0.0], [0.0, 1.0]]])
    assert torch.isfinite(loss(scores, *map(torch.tensor, targets))).all()
    with_them = targets[0][0, [0, 2]]
    without = objective(CompSum(), costs[None, [0, 2]], TWO_STAGE)[0][0][0]
    np.testing.assert_allclose(with_them / with_them[0, 0], without / without[0, 0], rtol=1e-6)


@pytest.mark.parametrize("missing", [False, True])
def test_each_member_weighs_by_its_own_table_alone(missing):
    rng = np.random.default_rng(0)
    costs = rng.random((3, 20, 4)) * np.array([1.0, 50.0, 1e-3])[:, None, None]
    if missing:
        costs[:, rng.random((20, 4)) < 0.3] = np.nan
        costs[:, :, 0] = rng.random((3, 20)) * np.array([1.0, 50.0, 1e-3])[:, None]
    together, _ = weighted_objective(costs, u=1.0)
    for member in range(3):
        alone, _ = weighted_objective(costs[member : member + 1], u=1.0)
        np.testing.assert_allclose(together[0][member], alone[0][0], rtol=1e-5)


def test_odd_units_do_not_reach_the_optimiser():
    costs = np.random.default_rng(0).random((1, 30, 3))
    plain, cents = (weighted_objective(scale * costs)[0][0] for scale in (1.0, 1e6))
    np.testing.assert_allclose(plain, cents, rtol=1e-5)
    assert plain.mean() == pytest.approx(1.0, rel=1e-5)


@pytest.mark.parametrize("name", [name for name in SURROGATES if name != "top-k"])
def test_the_published_objectives_are_what_was_published(name):
    entry, rng = SURROGATES[name], np.random.default_rng(0)
    one_stage = entry.regime == "one-stage"
    panel = ONE_STAGE if one_stage else TWO_STAGE
    table = finite.one_stage(rng)[0] if one_stage else finite.two_stage(rng)[0]
    scores = torch.tensor(rng.normal(size=(1, *table.shape)), dtype=torch.float32)
    targets, loss = objective(CompSum(surrogate=name, u=1.5), table[None], panel)
    options = ({"u": 1.5} if "u" in entry.options else {}) | ({"n_labels": 3} if "n_labels" in entry.options else {})
    expected = entry.function(scores[0], torch.tensor(table, dtype=torch.float32), **options)
    torch.testing.assert_close(loss(scores, *map(torch.tensor, targets))[0], expected)


# What is found.


def discrete(make, *, queries=3, n=200, seed=0):
    """One-hot queries, each outcome of each as often as its probability says: X, tables, expected tables."""
    rng = np.random.default_rng(seed)
    X, rows, expected = [], [], []
    for query in range(queries):
        table, probabilities = make(rng)
        counts = np.floor(n * probabilities).astype(int)
        counts[np.argsort(counts - n * probabilities)[: n - counts.sum()]] += 1
        rows.append(np.repeat(table, counts, axis=0))
        X.append(np.eye(queries)[np.full(n, query)])
        expected.append(rows[-1].mean(axis=0))
    return np.concatenate(X), np.concatenate(rows), np.array(expected)


def selective(rng):
    """Errors of labels and reject, whose price is in the panel."""
    costs, probabilities = finite.selective(rng)
    return np.concatenate([costs[:, :-1], np.ones((len(costs), 1))], axis=1), probabilities


REGIMES = {
    "one-stage": (finite.one_stage, ONE_STAGE),
    "two-stage": (finite.two_stage, TWO_STAGE),
    "selective": (selective, Panel.selective(["a", "b", "c", "d"], penalty=0.55)),
}


def minimiser(settings_, X, errors, panel):
    """The policy that is best on all rows, none held out."""
    rows = np.arange(len(X))
    table = settings_.table(errors, panel=panel, fees=None)[None]
    return settings_.fit_tables(X, table, panel=panel, rows=rows, held=rows, seeds=(0,))


def assert_ranks_as_bayes(scorer, expected, gap=0.02):
    scores = scorer.scores(np.eye(len(expected)))[0]
    for found, costs in zip(scores, expected, strict=True):
        assert finite.orders_alike(found, costs, gap=gap), (found, costs)
    # The check can fail: the queries do not all want the same order.
    assert len({tuple(np.argsort(costs)) for costs in expected}) > 1


@pytest.mark.parametrize("shift", ["max", "sum"])
@pytest.mark.parametrize("u", [0.0, 1.0, 1.5])
@pytest.mark.parametrize("regime", REGIMES)
def test_it_ranks_as_bayes_does(regime, u, shift):
    make, panel = REGIMES[regime]
    X, errors, expected = discrete(make)
    scorer = minimiser(exact(u=u, shift=shift), X, errors, panel)
    assert_ranks_as_bayes(scorer, expected * panel.error_weights)


@pytest.mark.parametrize("u", [0.0, 1.0, 1.5])
@pytest.mark.parametrize("regime", ["one-stage", "two-stage"])
def test_it_ranks_as_bayes_does_with_half_of_the_answers(regime, u):
    make, panel = REGIMES[regime]
    X, errors, expected = discrete(make, n=1500)
    seen = np.random.default_rng(1).random(errors.shape) < 0.5
    scorer = minimiser(exact(u=u), X, np.where(seen, errors, np.nan), panel)
    assert_ranks_as_bayes(scorer, expected, gap=0.1)


def test_who_was_rarely_asked_is_not_pushed_down():
    # The best expert, asked on a fifth of the rows: left in the softmax elsewhere it would end last.
    rng = np.random.default_rng(0)
    errors = (rng.random((2000, 4)) < [0.5, 0.1, 0.4, 0.6]).astype(float)
    errors[rng.random(2000) < 0.8, 1] = np.nan
    scores = exact().fit(np.ones((2000, 1)), errors, panel=TWO_STAGE).scores(np.ones((1, 1)))[0, 0]
    assert np.argsort(-scores).tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize("name", [name for name in SURROGATES if name != "top-k"])
def test_every_published_surrogate_ranks_as_bayes_does(name):
    regime = SURROGATES[name].regime
    make, panel = REGIMES[regime]
    X, errors, expected = discrete(make, seed=3)
    assert_ranks_as_bayes(minimiser(exact(surrogate=name), X, errors, panel), expected)


def test_beyond_the_first_the_asymmetric_softmax_is_ranked_by_its_shares():
    X, errors, expected = discrete(finite.one_stage, seed=1)
    scorer = minimiser(exact(surrogate="asymmetric-softmax"), X, errors, ONE_STAGE)
    assert isinstance(scorer, Shares)
    raw = scorer.scorer.scores(np.eye(3))[0]
    shares = asymmetric_softmax_shares(torch.tensor(raw), n_labels=3).numpy()
    np.testing.assert_allclose(scorer.scores(np.eye(3))[0], log_shares(np.log(shares)), atol=1e-9)
    np.testing.assert_allclose(shares, 1 - expected, atol=0.06)


# What the settings mean.


def first(scorer, X):
    return scorer.scores(X)[0].argmax(axis=1)


def order(scorer):
    return np.argsort(-scorer.scores(np.ones((1, 1)))[0, 0]).tolist()


def test_the_price_of_money_changes_the_ranking():
    panel = Panel.two_stage({"good": 0.55, "cheap": 0.05})
    errors = np.tile([[0.6, 0.1, 0.3]], (100, 1))
    for weight, expected in ((0.0, [1, 2, 0]), (0.2, [1, 2, 0]), (1.0, [2, 0, 1]), (10.0, [0, 2, 1])):
        scorer = exact(fee_weight=weight).fit(np.ones((100, 1)), errors, panel=panel)
        assert order(scorer) == expected, weight


def test_fees_of_each_query_take_the_place_of_the_panels():
    panel = Panel.two_stage({"a": 0.5, "b": 0.0})
    X, errors = np.eye(2)[np.arange(200) % 2], np.tile([[0.9, 0.3, 0.4]], (200, 1))
    fees = np.where(X[:, :1] == 1, [[0.0, 0.0, 0.0]], [[0.0, 0.5, 0.0]])
    assert first(exact().fit(X, errors, panel=panel, fees=fees), np.eye(2)).tolist() == [1, 2]
    assert first(exact().fit(X, errors, panel=panel), np.eye(2)).tolist() == [2, 2]


def test_answers_of_several_parts_are_ranked_by_the_sum_of_their_errors():
    kind, place = np.tile([[0.5, 0.1, 0.4]], (100, 1)), np.tile([[0.5, 0.6, 0.1]], (100, 1))
    panel = Panel.two_stage(["a", "b"])
    for weights, best in (({"kind": 1.0, "place": 0.1}, 1), ({"kind": 0.1, "place": 1.0}, 2)):
        errors = multi_task_errors({"kind": kind, "place": place}, weights=weights)
        assert order(exact().fit(np.ones((100, 1)), errors, panel=panel))[0] == best


def test_a_bound_on_errors_tames_outliers():
    rng = np.random.default_rng(0)
    errors = np.column_stack([np.full(400, 0.9), np.where(rng.random(400) < 0.05, 1000.0, 0.2), np.full(400, 0.5)])
    panel, X = Panel.two_stage(["wild", "tame"]), np.ones((400, 1))
    assert order(exact().fit(X, errors, panel=panel)) == [2, 0, 1]
    assert order(exact(error_bound=1.0).fit(X, errors, panel=panel)) == [1, 2, 0]
    table = CompSum(error_bound=1.0).table(np.array([[5.0, np.nan, 0.3]]), panel=panel, fees=None)
    np.testing.assert_array_equal(table, [[1.0, np.nan, 0.3]])


def test_published_for_errors_leaves_fees_out_and_for_costs_puts_them_in():
    panel = Panel.one_stage(["x", "y"], {"e": 0.25})
    errors = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.0]])
    for name, entry in SURROGATES.items():
        if entry.regime != "two-stage":
            fees = [[0, 0, 0.5]] if entry.takes == "costs" else [[0, 0, 0]]
            table = CompSum(surrogate=name, fee_weight=2.0).table(errors, panel=panel, fees=None)
            np.testing.assert_array_equal(table, errors + fees)


@pytest.mark.parametrize(("u", "words"), [(1.6, "u = 1.6: past 1.5"), (2.0, "at 2 only the first entity is ranked")])
def test_past_the_bound_it_warns(u, words):
    X, errors, _ = discrete(finite.two_stage, n=40)
    with pytest.warns(UserWarning, match=words):
        CompSum(u=u, training=QUICK).fit(X, errors, panel=TWO_STAGE)
    assert CompSum(u=u).ranks_only_the_first == (u >= 2)


def test_within_the_bound_and_where_there_is_no_u_it_does_not_warn():
    X, errors, _ = discrete(finite.two_stage, n=40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CompSum(u=1.5, training=QUICK).fit(X, errors, panel=TWO_STAGE)
        CompSum(surrogate="post-hoc", u=2.0, training=QUICK).fit(X, errors, panel=TWO_STAGE)
    assert not CompSum(u=1.99).ranks_only_the_first
    for name, entry in SURROGATES.items():
        assert CompSum(surrogate=name, u=2.0).ranks_only_the_first == ("u" in entry.options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"surrogate": "hinge"}, "`surrogate` must be one of 'top-k', 'mozannar-sontag'"),
        ({"surrogate": "hinge"}, "'post-hoc', or a function of scores and costs, got 'hinge'."),
        ({"surrogate": nn.MSELoss}, "or a function of scores and costs, got <class"),
        ({"u": -0.5}, "`u` must be a finite number of at least 0, got -0.5"),
        ({"u": math.nan}, "`u` must be a finite number of at least 0, got nan"),
        ({"shift": -1.0}, "`shift` must be a finite number of at least 0, got -1.0."),
        ({"shift": math.nan}, "`shift` must be a finite number of at least 0, got nan."),
        ({"fee_weight": -1.0}, "`fee_weight` must be a finite number of at least 0, got -1.0."),
        ({"error_bound": 0.0}, "`error_bound` must be above 0, got 0: every answer would be as good as any other."),
        ({"error_bound": -2.0}, "`error_bound` must be a finite number of at least 0, got -2.0."),
    ],
)
def test_settings_that_cannot_be_used_are_refused(options, message):
    with pytest.raises(InvalidInputError) as error:
        CompSum(**options)
    assert message in str(error.value)


@pytest.mark.parametrize("name", [name for name, entry in SURROGATES.items() if entry.regime != "any"])
def test_a_surrogate_refuses_the_panel_of_the_other_regime(name):
    one_stage = SURROGATES[name].regime == "one-stage"
    X, errors, _ = discrete(finite.two_stage if one_stage else finite.one_stage, n=40)
    message = (
        f"`surrogate` must be for base and experts, got {name!r}, which is for labels and experts."
        if one_stage
        else f"`panel` must have a base in front for the surrogate {name!r}, got 'cat'."
    )
    with pytest.raises(InvalidInputError) as error:
        CompSum(surrogate=name).fit(X, errors, panel=TWO_STAGE if one_stage else ONE_STAGE)
    assert str(error.value) == message


@pytest.mark.parametrize("name", [name for name, entry in SURROGATES.items() if entry.regime == "one-stage"])
def test_what_takes_errors_alone_cannot_price_abstaining(name):
    make, panel = REGIMES["selective"]
    X, errors, _ = discrete(make, n=40)
    if SURROGATES[name].takes == "costs":
        assert CompSum(surrogate=name, training=QUICK).fit(X, errors, panel=panel).scores(X).shape == (1, 120, 5)
        return
    with pytest.raises(InvalidInputError) as error:
        CompSum(surrogate=name, training=QUICK).fit(X, errors, panel=panel)
    assert str(error.value) == (
        f"`panel` must have no reject for the surrogate {name!r}, which takes errors: the price of abstaining is not "
        "among them. Use 'top-k' or 'mao-one-stage'."
    )


def test_costs_beyond_one_are_refused_where_one_is_the_most():
    panel, errors = Panel.two_stage({"a": 0.5, "b": 1.0}), np.array([[0.0, 1.0, 1.0], [1.0, np.nan, 0.0]])
    with pytest.raises(InvalidInputError) as error:
        CompSum(surrogate="mao-two-stage").table(errors, panel=panel, fees=None)
    assert str(error.value) == (
        "`costs` must be between 0 and 1 for the surrogate 'mao-two-stage', got 2: lower `fee_weight`, bound the "
        "errors, or use 'top-k'."
    )
    for settings_ in (
        CompSum(surrogate="mao-two-stage", fee_weight=0.0),
        CompSum(surrogate="mao-two-stage-regression"),
        CompSum(),
    ):
        assert settings_.table(errors, panel=panel, fees=None).shape == (2, 3)


@pytest.mark.parametrize("name", [name for name in SURROGATES if name != "top-k"])
def test_a_published_surrogate_refuses_missing_answers(name):
    make, panel = REGIMES[SURROGATES[name].regime]
    X, errors, _ = discrete(make, n=40)
    errors[5, -1] = np.nan
    with pytest.raises(InvalidInputError, match=f"`surrogate` must be 'top-k' where answers are missing, got '{name}'"):
        CompSum(surrogate=name, training=QUICK).fit(X, errors, panel=panel)


# A surrogate of one's own.


def test_a_surrogate_of_ones_own_takes_augmented_costs_and_ranks_as_bayes_does():
    seen = []

    def own(scores, costs):
        seen.append(costs)
        return squared(scores, costs)

    make, _ = REGIMES["two-stage"]
    X, errors, expected = discrete(make, seed=3)
    panel = Panel.two_stage({"a": 0.3, "b": 0.0, "c": 0.1})
    settings_ = exact(surrogate=own, fee_weight=0.5)
    assert (settings_.name, settings_.facts.takes, settings_.ranks_only_the_first) == ("own", "costs", False)
    assert_ranks_as_bayes(minimiser(settings_, X, errors, panel), expected + 0.5 * np.array([0.0, 0.3, 0.0, 0.1]))
    assert seen[0].shape[0] == 1
    assert float(max(costs.max() for costs in seen)) == pytest.approx(float(errors.max(axis=0)[1]) + 0.15)


def test_one_that_is_put_into_the_registry_is_found_by_its_name(monkeypatch):
    monkeypatch.setitem(
        SURROGATES, "squared", Surrogate("squared", squared, "Somebody 2026", "two-stage", "costs", bounded=True)
    )
    assert "squared" in SURROGATE_NAMES
    check_learner("squared")
    settings_ = exact(surrogate="squared")
    X, errors, expected = discrete(finite.two_stage, seed=3)
    assert_ranks_as_bayes(minimiser(settings_, X, errors, TWO_STAGE), expected)
    # Its facts count, not its name.
    with pytest.raises(InvalidInputError, match="`panel` must have a base in front for the surrogate 'squared'"):
        settings_.fit(X, np.ones((len(X), 5)), panel=ONE_STAGE)
    with pytest.raises(InvalidInputError, match="`costs` must be between 0 and 1 for the surrogate 'squared', got 3"):
        settings_.table(3 * np.ones((2, 4)), panel=TWO_STAGE, fees=None)
    best = Surrogate("best", squared, "Somebody 2026", "any", "costs", ranks="best")
    monkeypatch.setitem(SURROGATES, "best", best)
    assert CompSum(surrogate="best").ranks_only_the_first


@pytest.mark.parametrize(
    ("surrogate", "name"),
    [(squared, "squared"), (lambda scores, costs: scores, "<lambda>"), (partial(squared), "partial")],
)
def test_a_surrogate_of_ones_own_is_called_as_its_function_is(surrogate, name):
    assert CompSum(surrogate=surrogate).name == name


@pytest.mark.parametrize(
    "reduced", [lambda s, c: squared(s, c).mean(), lambda s, c: (s + c).square(), lambda s, c: 1.0]
)
def test_losses_that_are_not_one_a_row_are_refused(reduced):
    X, errors, _ = discrete(finite.two_stage, n=40)
    with pytest.raises(InvalidInputError, match=r"`surrogate` must give one loss a row, shape \(1, 32\), got \("):
        CompSum(surrogate=reduced, training=QUICK).fit(X, errors, panel=TWO_STAGE)


def test_a_surrogate_of_ones_own_refuses_missing_answers():
    X, errors, _ = discrete(finite.two_stage, n=40)
    errors[5, -1] = np.nan
    with pytest.raises(InvalidInputError) as error:
        CompSum(surrogate=squared, training=QUICK).fit(X, errors, panel=TWO_STAGE)
    assert str(error.value) == (
        "`surrogate` must be 'top-k' where answers are missing, got 'squared': it takes complete ones."
    )


def test_a_number_below_a_cost_is_no_shift():
    X, errors, _ = discrete(finite.two_stage, n=40)
    with pytest.raises(InvalidInputError, match=r"`shift` must be at least every cost, got 0.1"):
        CompSum(shift=0.1, training=QUICK).fit(X, errors, panel=TWO_STAGE)


# Which rows it learns from.


@pytest.fixture
def seen(monkeypatch):
    """What `fit` hands on to the training of its tables."""
    found, real = {}, CompSum.fit_tables

    def fit_tables(self, X, tables, **options):
        found.update(options, tables=tables)
        return real(self, X, tables, **options)

    monkeypatch.setattr(CompSum, "fit_tables", fit_tables)
    return found


def test_a_tenth_is_held_out_and_groups_stay_whole(seen):
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(50), 4))
    CompSum(training=QUICK).fit(np.ones((200, 1)), rng.random((200, 4)), panel=TWO_STAGE, groups=groups)
    rows, held = seen["rows"], seen["held"]
    assert len(held) == 20
    assert sorted([*rows, *held]) == list(range(200))
    assert not set(groups[rows]) & set(groups[held])


def test_rows_that_nobody_answered_are_not_drawn(seen):
    rng = np.random.default_rng(0)
    X, errors = rng.normal(size=(200, 3)), rng.random((200, 4))
    silent = rng.random(200) < 0.4
    errors[silent] = np.nan
    errors[3, :2] = np.nan
    once = CompSum(training=QUICK).fit(X, errors, panel=TWO_STAGE)
    drawn = np.concatenate([seen["rows"], seen["held"]])
    assert sorted(drawn) == np.flatnonzero(~silent).tolist()
    # Their features trade places, which moves neither mean nor deviation: nothing else may change.
    X[np.flatnonzero(silent)] = X[np.flatnonzero(silent)[::-1]]
    twice = CompSum(training=QUICK).fit(X, errors, panel=TWO_STAGE)
    np.testing.assert_allclose(once.scores(X), twice.scores(X), atol=1e-5)


@pytest.mark.parametrize("answered", [0, 1])
def test_a_log_without_answers_on_both_sides_is_refused(answered):
    errors = np.full((60, 4), np.nan)
    errors[:answered] = 0.5
    with pytest.raises(InvalidInputError) as error:
        CompSum().fit(np.ones((60, 1)), errors, panel=TWO_STAGE)
    assert str(error.value) == (
        f"`errors` must hold answers on both sides of the held-out tenth, got {answered} rows with any."
    )


# Networks.

REGIONS = np.random.default_rng(5).uniform(-1, 1, (300, 4))
REGION_ERRORS = np.column_stack([np.full(300, 0.5), REGIONS[:, 0] > 0, REGIONS[:, 0] <= 0, np.ones(300)]).astype(float)


def finds_the_regions(scorer):
    return (first(scorer, REGIONS) == np.where(REGIONS[:, 0] > 0, 2, 1)).mean() > 0.9


def test_scores_are_the_logarithms_of_shares():
    scorer = CompSum(hidden=(8,), training=QUICK).fit(REGIONS, REGION_ERRORS, panel=TWO_STAGE)
    assert isinstance(scorer, Perceptrons)
    assert isinstance(scorer, Scorer)
    scores = scorer.scores(REGIONS)
    assert scores.shape == (1, 300, 4)
    np.testing.assert_allclose(np.exp(scores).sum(axis=2), 1.0, atol=1e-9)


def test_scores_in_blocks_are_scores_as_a_whole(monkeypatch):
    scorer = CompSum(hidden=(8,), training=QUICK).fit(REGIONS, REGION_ERRORS, panel=TWO_STAGE)
    whole = scorer.scores(REGIONS)
    monkeypatch.setattr(_perceptrons, "_BLOCK_CELLS", 7 * 8)
    np.testing.assert_allclose(scorer.scores(REGIONS), whole, atol=1e-6)


def test_features_of_any_scale_and_constant_ones_are_taken():
    scorer = CompSum(hidden=(16,), training=Training(epochs=30, batch=32, rate=1e-2)).fit(
        np.column_stack([1e4 * REGIONS[:, :1] + 1e6, np.full(300, 3.0)]).astype(np.float32),
        REGION_ERRORS,
        panel=TWO_STAGE,
    )
    scores = scorer.scores(np.array([[1e6 - 5e3, 3.0], [1e6 + 5e3, 3.0]], dtype=np.float32))
    assert scores[0].argmax(axis=1).tolist() == [1, 2]


def test_regressors_are_trained_side_by_side_by_squared_error():
    truth = 3 * REGIONS[:, 0] - REGIONS[:, 1] + 5
    rows, held = np.arange(250), np.arange(250, 300)
    found = fit_regressors(REGIONS, truth, hidden=(), training=EXACTLY, rows=rows, held=held, seeds=(0, 1))
    said = found.outputs(REGIONS)
    assert said.shape == (2, 300, 1)
    np.testing.assert_allclose(said[..., 0], [truth, truth], atol=0.05)
    np.testing.assert_allclose(found.held, np.square(said[:, held, 0] - truth[held]).mean(axis=1), atol=1e-4)


def test_the_same_seed_gives_the_same_policy_and_another_another():
    def scores(seed):
        fitted = CompSum(hidden=(8,), training=QUICK).fit(REGIONS, REGION_ERRORS, panel=TWO_STAGE, random_state=seed)
        return fitted.scores(REGIONS)

    np.testing.assert_array_equal(scores(3), scores(3))
    assert np.abs(scores(3) - scores(4)).max() > 1e-3


def make_network(inputs, outputs, seed):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(inputs, 16), nn.Tanh(), nn.Linear(16, outputs))


def make_encoder():
    with torch.random.fork_rng():
        torch.manual_seed(9)
        return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Dropout(0.5))


LONGER = Training(epochs=40, batch=32, rate=3e-2)


def test_a_network_of_ones_own_is_made_from_sizes_and_seed_and_trained():
    asked = []

    def network(inputs, outputs, seed):
        asked.append((inputs, outputs, seed))
        return make_network(inputs, outputs, seed)

    settings_ = CompSum(network=network, training=LONGER)
    scorer = settings_.fit(REGIONS, REGION_ERRORS, panel=TWO_STAGE, random_state=6)
    assert asked == [(4, 4, 6)]
    assert finds_the_regions(scorer)
    np.testing.assert_allclose(np.exp(scorer.scores(REGIONS)).sum(axis=2), 1.0, atol=1e-9)
    again = settings_.fit(REGIONS, REGION_ERRORS, panel=TWO_STAGE, random_state=6)
    np.testing.assert_array_equal(scorer.scores(REGIONS), again.scores(REGIONS))


@pytest.mark.parametrize("network", [None, make_network])
def test_an_encoder_is_in_front_and_stays_as_it_is(network):
    encoder = make_encoder()
    before = {name: value.clone() for name, value in encoder.state_dict().items()}
    settings_ = CompSum(encoder=encoder, network=network, hidden=(16,), training=LONGER)
    scorer = settings_.fit(REGIONS, REGION_ERRORS, panel=TWO_STAGE)
    for name, value in encoder.state_dict().items():
        assert torch.equal(value, before[name]), name
    assert finds_the_regions(scorer)
    again = settings_.fit(REGIONS, REGION_ERRORS, panel=TWO_STAGE)
    np.testing.assert_array_equal(scorer.scores(REGIONS), again.scores(REGIONS))
    # It is really in front: blind to the region, nothing can be learned.
    blind = nn.Linear(4, 6)
    blind.weight.data[:, 0] = 0.0
    seeing_nothing = CompSum(encoder=blind, network=network, hidden=(16,), training=LONGER)
    assert not finds_the_regions(seeing_nothing.fit(REGIONS, REGION_ERRORS, panel=TWO_STAGE))


def test_a_network_of_ones_own_is_one():
    with pytest.raises(InvalidInputError, match="`seeds` must be one for a network of your own, got 2"):
        CompSum(network=make_network, training=QUICK).fit_tables(
            REGIONS,
            REGION_ERRORS[None],
            panel=TWO_STAGE,
            rows=np.arange(200),
            held=np.arange(200, 300),
            seeds=(0, 1),
        )


def test_several_policies_are_trained_side_by_side():
    rows, held = np.arange(250), np.arange(250, 300)
    together = CompSum(hidden=(8,), training=QUICK).fit_tables(
        REGIONS, REGION_ERRORS[None], panel=TWO_STAGE, rows=rows, held=held, seeds=(4, 7)
    )
    alone = CompSum(hidden=(8,), training=QUICK).fit_tables(
        REGIONS, REGION_ERRORS[None], panel=TWO_STAGE, rows=rows, held=held, seeds=(4,)
    )
    found = together.scores(REGIONS)
    assert found.shape == (2, 300, 4)
    np.testing.assert_allclose(found[0], alone.scores(REGIONS)[0], atol=1e-5)
    assert np.abs(found[0] - found[1]).max() > 1e-3
    assert len(together) == 2


def test_several_policies_can_have_a_table_each():
    tables = np.stack([REGION_ERRORS, REGION_ERRORS[:, [0, 2, 1, 3]]])
    rows = np.stack([np.arange(250), np.arange(50, 300)])
    found = CompSum(hidden=(16,), training=LONGER).fit_tables(
        REGIONS, tables, panel=TWO_STAGE, rows=rows, held=rows[:, :50], seeds=(0, 1)
    )
    best = found.scores(REGIONS).argmax(axis=2)
    right = REGIONS[:, 0] > 0
    assert (best[0] == np.where(right, 2, 1)).mean() > 0.9
    assert (best[1] == np.where(right, 1, 2)).mean() > 0.9


# Interruptions.


def dies_after(epoch):
    def progress(line):
        if line.startswith(f"epoch {epoch}/"):
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize("network", [None, make_network])
def test_a_fit_goes_on_from_its_checkpoint(network, tmp_path):
    settings_ = CompSum(hidden=(8,), network=network, training=Training(epochs=14, batch=64))
    expected = settings_.fit(REGIONS, REGION_ERRORS, panel=TWO_STAGE).scores(REGIONS)
    path = tmp_path / "policy"
    with pytest.raises(KeyboardInterrupt):
        settings_.fit(REGIONS, REGION_ERRORS, panel=TWO_STAGE, checkpoint=path, progress=dies_after(12))
    assert path.exists()
    lines = []
    found = settings_.fit(REGIONS, REGION_ERRORS, panel=TWO_STAGE, checkpoint=path, progress=lines.append)
    np.testing.assert_array_equal(found.scores(REGIONS), expected)
    assert lines[0].startswith("epoch 11/14")
    assert not path.exists()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"u": 1.0}, {"u": 0.5}),
        ({"surrogate": "mozannar-sontag"}, {"surrogate": "one-vs-all"}),
        ({"surrogate": squared}, {"surrogate": partial(squared)}),
        ({"fee_weight": 1.0}, {"fee_weight": 2.0}),
        ({"shift": "max"}, {"shift": "sum"}),
        ({"hidden": (8,)}, {"hidden": (4,)}),
        ({"network": make_network}, {"network": lambda d, m, seed: nn.Linear(d, m)}),
    ],
    ids=lambda options: next(iter(options)),
)
def test_a_policy_of_other_settings_does_not_go_on_from_it(one, other, tmp_path):
    X, errors, _ = discrete(finite.one_stage, n=60)
    panel = Panel.one_stage(["cat", "dog", "owl"], {"a": 0.1, "b": 0.2})
    plan, path = Training(epochs=14, batch=64), tmp_path / "policy"
    with pytest.raises(KeyboardInterrupt):
        CompSum(**one, training=plan).fit(X, errors, panel=panel, checkpoint=path, progress=dies_after(12))
    with pytest.raises(InvalidInputError, match="`checkpoint` must be of this training"):
        CompSum(**other, training=plan).fit(X, errors, panel=panel, checkpoint=path)
