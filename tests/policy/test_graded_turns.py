"""Grades in turn, by what came back with an answer: who is next, whose is kept, and where it saves nothing."""

from dataclasses import replace

import numpy as np
import pytest

from askwho import Answers, InvalidInputError, Target, load, save
from askwho.core import Cell
from askwho.data import Columns, read_log
from askwho.evaluation import evaluate
from askwho.fitting import calibrate, fit, with_expert
from askwho.policy import Policy
from askwho.replay import Replay
from tests import graded, policies, synthetic

NAMES = tuple(graded.FEES)
PRICE = Target(fee_weight=0.5)


@pytest.fixture(scope="module")
def fitted():
    """The policy of each kind of telling."""
    return {tells: taught(graded.table(tells=tells)) for tells in graded.TELLS}


@pytest.fixture(scope="module")
def policy(fitted):
    return fitted["some"]


@pytest.fixture(scope="module")
def new():
    return graded.table(200, seed=1)


def taught(table, columns=graded.COLUMNS):
    return fit(read_log(table, columns), learner="linear", base="none", cv=3)


def entity(step):
    return np.where(step.k > 0, step.order[:, 0], -1)


def some(seed, n=200):
    rng = np.random.default_rng(seed)
    return rng.random((n, 3)) < rng.random((n, 1))


def kept_error(step, table):
    grades = np.column_stack([table[f"grade_{name}"] for name in NAMES])
    kept = np.array([NAMES.index(name) for name in step.outcome.values])
    return 1.0 - grades[np.arange(len(kept)), kept]


@pytest.mark.parametrize("fee_weight", [0.0, 0.3, 1.0])
def test_the_same_told_gives_the_same_step_alone_in_company_and_after_it_was_saved(policy, new, fee_weight, tmp_path):
    target, table = Target(fee_weight=fee_weight), graded.told(new, some(0))
    step = policy.next(table, target=target)
    save(policy, tmp_path / "policy")
    again = load(tmp_path / "policy").next(table, target=target)
    np.testing.assert_array_equal(entity(again), entity(step))
    np.testing.assert_array_equal(again.outcome.values[step.outcome.decided], step.outcome.values[step.outcome.decided])
    np.testing.assert_allclose(again.expected_error, step.expected_error, atol=1e-6)
    order = np.random.default_rng(1).permutation(200)
    mixed = policy.next({name: values[order] for name, values in table.items()}, target=target)
    np.testing.assert_array_equal(entity(mixed), entity(step)[order])
    for i in range(0, 200, 23):
        alone = policy.next(policies.row(table, i), target=target)
        assert entity(alone)[0] == entity(step)[i]
        assert alone.expected_error[0] == pytest.approx(step.expected_error[i], abs=1e-5)


def test_asking_step_by_step_is_what_the_evaluation_did(policy, new):
    found = evaluate(policy, read_log(new, graded.COLUMNS), draws=2)["sequential"]
    for p in (0, 12, 15):
        target = Target(fee_weight=float(policy.turns.tried.prices[p]))
        heard, step = graded.taking_turns(policy, new, target)
        assert (heard @ policy.panel.fees).mean() == pytest.approx(found[p]["mean_fee"])
        assert kept_error(step, new).mean() == pytest.approx(found[p]["error"])
        assert heard.sum(axis=1).mean() == pytest.approx(found[p]["mean_asked"])


def test_a_step_says_whose_answer_is_kept_and_how_good_it_is_expected_to_be(policy, new):
    heard = some(3)
    step = policy.next(graded.told(new, heard), target=PRICE)
    spoken = heard.any(axis=1)
    np.testing.assert_array_equal(step.outcome.heard, heard)
    np.testing.assert_array_equal(step.outcome.decided, spoken)
    np.testing.assert_allclose(step.outcome.paid, heard @ policy.panel.fees)
    kept = np.array([NAMES.index(name) for name in step.outcome.values])
    assert heard[np.flatnonzero(spoken), kept[spoken]].all()
    np.testing.assert_allclose(step.expected_error[spoken], 1 - step.outcome.probability[spoken], atol=1e-6)
    columns = step.next_columns()
    assert [name is None for name in columns["prediction"]] == (~spoken).tolist()
    # What is expected of it comes: over rows, and where much is expected more than where little is.
    error = kept_error(step, new)[spoken]
    assert error.mean() == pytest.approx(step.expected_error[spoken].mean(), abs=0.08)
    sure = step.expected_error[spoken] < np.median(step.expected_error[spoken])
    assert error[sure].mean() < error[~sure].mean() - 0.15


def test_telling_all_stops_when_right_and_keeps_who_is(fitted):
    table = graded.table(400, seed=2, tells="all")
    heard, step = graded.taking_turns(fitted["all"], table, Target(fee_weight=0.3))
    right = np.column_stack([table[f"grade_{name}"] for name in NAMES]) == 1
    first = heard.all(axis=0).argmax()
    assert heard[:, first].all()
    assert (heard[right[:, first]].sum(axis=1) == 1).all()
    assert (heard[~right[:, first]].sum(axis=1) > 1).all()
    error = kept_error(step, table)
    np.testing.assert_array_equal(error == 0, (heard & right).any(axis=1))
    assert error.mean() < 0.08
    assert (heard @ fitted["all"].panel.fees).mean() < 0.3


def test_telling_nothing_gains_and_loses_nothing(fitted):
    policy, log = fitted["nothing"], read_log(graded.table(2000, seed=3, tells="nothing"), graded.COLUMNS)
    replay = Replay.of(policy, log)
    for price in policy.turns.tried.prices[::2]:
        taken = replay.in_turn(policy.turns.asking, float(price))
        order = replay.order(float(price), 1)
        alone, paid = replay.errors(order)[:, 0], replay.paid(order)[:, 0]
        change = (taken.errors + price * taken.fees) - (alone + price * paid)
        assert abs(change.mean()) <= 3 * change.std() / np.sqrt(len(change)) + 1e-9
    # In turn is tried at the prices of asking at once, too: nearly everywhere it is the same, and buys the same.
    assert set(policy.tried.prices) <= set(policy.turns.tried.prices)
    assert policy.turns.asking.once.mean() > 0.8
    table = graded.table(500, seed=4, tells="nothing")
    heard, _ = graded.taking_turns(policy, table, Target(budget=0.3))
    once = policy.decide(table, Target(budget=0.3))
    assert (heard @ policy.panel.fees).mean() == pytest.approx(once.fee.mean(), abs=0.05)


def test_telling_something_errs_less_for_less(policy):
    log = read_log(graded.table(2000, seed=3), graded.COLUMNS)
    found, once = (evaluate(policy, log, draws=2)[name] for name in ("sequential", "adaptive"))
    cheapest = min((row["mean_fee"], row["error"]) for row in once if row["error"] < 0.09)
    better = [row for row in found if row["error"] < cheapest[1] and row["mean_fee"] < 0.4 * cheapest[0]]
    assert better
    # And nowhere is it worse at the price that both were decided at.
    replay = Replay.of(policy, log)
    for price in policy.turns.tried.prices[::3]:
        taken, order = replay.in_turn(policy.turns.asking, float(price)), replay.order(float(price), 1)
        alone = replay.errors(order)[:, 0] + price * replay.paid(order)[:, 0]
        change = taken.errors + price * taken.fees - alone
        assert change.mean() <= 2 * change.std() / np.sqrt(len(change)) + 1e-9


def test_what_was_not_asked_for_is_not_read(policy, new):
    heard = some(4)
    states = np.where(heard, Cell.ANSWERED, Cell.NOT_ASKED).astype(np.int8)
    info = np.column_stack([new[f"info_{name}"] for name in NAMES])
    one, two = (
        policy.next(policy.see(new), Answers(np.zeros(heard.shape), states), PRICE, info=np.where(heard, info, other))
        for other in (np.nan, 9.0)
    )
    np.testing.assert_array_equal(entity(one), entity(two))
    np.testing.assert_array_equal(one.expected_error, two.expected_error)


def test_who_was_asked_may_be_said_by_what_came_back_by_an_answer_or_by_states(policy, new):
    heard = some(5)
    table = graded.told(new, heard)
    step = policy.next(table, target=PRICE)
    info = np.column_stack([table[f"info_{name}"] for name in NAMES])
    np.testing.assert_array_equal(entity(policy.next(policy.see(new), None, PRICE, info=info)), entity(step))
    # With answers but nothing beside them it is known who was asked, and nothing more.
    bare = {name: values for name, values in table.items() if name.startswith("x_")}
    answers = {name: np.where(heard[:, j], "some text", None) for j, name in enumerate(NAMES)}
    spoken = policy.next(bare | answers, target=PRICE)
    np.testing.assert_array_equal(spoken.outcome.heard, heard)
    states = np.where(heard, Cell.ANSWERED, Cell.NOT_ASKED).astype(np.int8)
    same = policy.next(bare, Answers(np.full(heard.shape, "some text"), states), PRICE)
    np.testing.assert_array_equal(entity(spoken), entity(same))
    assert set(same.outcome.values) <= set(NAMES)


def test_who_gave_no_answer_is_neither_kept_nor_asked_again(policy, new):
    states = np.full((200, 3), Cell.NOT_ASKED, dtype=np.int8)
    states[:, 0], states[:100, 1] = Cell.NO_ANSWER, Cell.ANSWERED
    step = policy.next(policy.see(new), Answers(np.zeros((200, 3)), states), PRICE)
    assert (entity(step) != 0).all()
    assert (step.outcome.values[:100] == "middle").all()
    np.testing.assert_array_equal(step.outcome.decided, np.arange(200) < 100)
    assert (entity(step)[100:] > 0).mean() > 0.5


def test_who_is_away_is_never_asked_and_fees_of_today_matter(policy, new):
    away, _ = graded.taking_turns(policy, new, PRICE, available=["middle", "large"])
    assert not away[:, 0].any()
    assert away.any(axis=1).all()
    dear, _ = graded.taking_turns(policy, new, PRICE, fees=[0.02, 0.1, 50.0])
    usual, _ = graded.taking_turns(policy, new, PRICE)
    assert dear[:, 2].mean() == 0 < usual[:, 2].mean()


def test_a_budget_of_turns_is_met_on_held_out_rows(policy):
    table = graded.table(1500, seed=6)
    target = Target(budget=0.2)
    found = policy.setting(target, in_turn=True)
    assert synthetic.tried(policy.turns.tried, found)[0] <= 0.2
    heard, step = graded.taking_turns(policy, table, target)
    assert (heard @ policy.panel.fees).mean() <= 0.25
    alone = policy.decide(table, target).order[:, 0]
    grades = np.column_stack([table[f"grade_{name}"] for name in NAMES])
    assert kept_error(step, table).mean() < 1 - grades[np.arange(1500), alone].mean() - 0.05


def test_combining_says_whose_answer_came(policy, new):
    made = policy.decide(new, PRICE)
    table = {"id": made.ids, **{name: values for name, values in new.items() if name.startswith("info_")}}
    done = policy.combine(made, table)
    assert done.outcome.decided.all()
    np.testing.assert_array_equal(done.outcome.values, np.array(NAMES)[made.order[:, 0]])
    right = kept_error(done, new) == 0
    assert done.outcome.probability[right].mean() > done.outcome.probability[~right].mean() + 0.2
    nobody = policy.combine(made, None)
    assert not nobody.outcome.decided.any()
    with pytest.raises(InvalidInputError) as error:
        policy.combine(made, {"id": made.ids, "other": np.zeros(200)})
    assert str(error.value) == (
        "`answers` must have columns of what came back, 'info_*', or of the entities' names, got ['id', 'other']."
    )


def holed(n, seed, share=0.5):
    table, rng = graded.table(n, seed=seed), np.random.default_rng(seed)
    for name in ("middle", "large"):
        known = rng.random(n) < share
        table[f"grade_{name}"] = np.where(known, table[f"grade_{name}"], np.nan)
        table[f"info_{name}"] = np.where(known, table[f"info_{name}"], np.nan)
    return table


def test_with_holes_the_rule_is_learned_from_what_is_there_and_told_of_all_rows():
    policy = taught(holed(600, 0))
    whole = read_log(graded.table(2000, seed=7), graded.COLUMNS)
    real = Replay.of(policy, whole)
    tried = policy.turns.tried
    assert tried.estimated == ("errors", "fees")
    for p in (0, 8, 15):
        taken = real.in_turn(policy.turns.asking, float(tried.prices[p]))
        assert tried.fees[p].mean() == pytest.approx(taken.fees.mean(), abs=0.12)
        assert tried.errors[p].mean() == pytest.approx(taken.errors.mean(), abs=0.1)
    # It asks on by what came back, though half of what it would hear is missing.
    heard, _ = graded.taking_turns(policy, graded.table(300, seed=8), Target(fee_weight=0.3))
    assert 1.2 < heard.sum(axis=1).mean() < 2.8
    fresh = calibrate(policy, read_log(holed(300, 9), graded.COLUMNS))
    assert np.isfinite(fresh.turns.tried.errors).all()
    assert fresh.turns.tried.fixed is not None
    found = evaluate(policy, read_log(holed(400, 9), graded.COLUMNS), draws=2)["sequential"]
    assert any(row["error"] is not None and row["error"] < 0.15 for row in found)


def test_without_what_comes_back_nothing_is_asked_in_turn_and_all_is_as_it_was(new):
    bare = replace(graded.COLUMNS, info=None)
    policy = taught(graded.table(300), bare)
    assert policy.turns is None
    assert policy.combiner.beliefs is None
    message = (
        "This policy cannot ask in turn: it was fitted on grades without `info`, which tells after an answer whether "
        "to ask on, or on fewer than 200 rows."
    )
    for ask in (
        lambda: policy.next(new, None, Target(fee_weight=1.0)),
        lambda: policy.setting(Target(budget=1.0), in_turn=True),
    ):
        with pytest.raises(InvalidInputError) as error:
            ask()
        assert str(error.value) == message
    told = taught(graded.table(300))
    one, two = (each.decide(new, PRICE) for each in (policy, told))
    np.testing.assert_array_equal(one.order, two.order)
    np.testing.assert_array_equal(one.expected_error, two.expected_error)
    np.testing.assert_array_equal(policy.tried.errors, told.tried.errors)


def test_who_left_is_not_asked_and_who_came_does_not_disturb(policy, new):
    left = policy.without("middle")
    table = {name: values for name, values in new.items() if name.startswith("x_")}
    step = left.next(table, target=PRICE)
    assert set(left.panel.names) == {"small", "large"}
    told = left.next(table | {"info_small": new["info_small"]}, target=PRICE)
    assert 0.1 < told.k.mean() < 0.9
    assert (np.array(left.panel.names)[told.order[told.k > 0, 0]] == "large").all()
    assert (step.k == 1).all()
    more = graded.table(30, seed=5)
    his = {"x_0": more["x_0"], "x_1": more["x_1"], "grade_new": more["grade_large"], "info_new": more["info_large"]}
    grown = with_expert(policy, "new", his, fee=0.5)
    heard = some(6)
    before, after = (each.next(graded.told(new, heard), target=PRICE) for each in (policy, grown))
    np.testing.assert_array_equal(entity(before), entity(after))
    np.testing.assert_allclose(before.expected_error, after.expected_error, atol=1e-6)


ARRAYS = {
    ("combiner", "beliefs", "evidence"): ("weights", "bias", "before", "centre", "scale", "knots"),
    ("combiner", "beliefs", "pool"): ("sources", "links"),
    ("turns", "asking", "pool"): ("sources", "links"),
    ("turns", "asking"): ("once",),
}


CHANGES = ("missing", "one row longer", "of NaN", "empty")
# Without it everything is asked in turn, as with classes.
FINE = ("once", "missing")


@pytest.mark.parametrize(
    ("path", "name", "change"),
    [(path, name, how) for path, names in ARRAYS.items() for name in names for how in CHANGES if (name, how) != FINE],
)
def test_arrays_that_do_not_fit_are_refused(policy, path, name, change):
    whole = policy.to_state()
    state = whole
    for part in path:
        state = state.parts[part]
    array = state.arrays[name]
    if change == "missing":
        del state.arrays[name]
    else:
        state.arrays[name] = {
            "one row longer": np.concatenate([array, array[-1:]]),
            "of NaN": np.full(array.shape, np.nan),
            "empty": np.zeros(0),
        }[change]
    with pytest.raises(InvalidInputError):
        Policy.from_state(whole)


def test_links_of_another_panel_are_refused(policy):
    state = policy.to_state()
    pool = state.parts["turns"].parts["asking"].parts["pool"]
    for size in (2, 5):
        pool.arrays["links"] = np.zeros((2, size, size))
        with pytest.raises(InvalidInputError, match="links"):
            Policy.from_state(state)


def test_grades_that_are_shares_and_cells_without_a_word_are_learned_from():
    table, rng = graded.table(400), np.random.default_rng(0)
    for name in NAMES:
        table[f"grade_{name}"] = 0.25 + 0.5 * table[f"grade_{name}"]
        table[f"info_{name}"] = np.where(rng.random(400) < 0.2, np.nan, table[f"info_{name}"])
    columns = Columns(grades="grade_*", features="x_*", info="info_*", fees=graded.FEES)
    policy = taught(table, columns)
    step = policy.next(graded.told(table, np.ones((400, 3), dtype=bool)), target=PRICE)
    known = step.outcome.decided
    assert step.outcome.probability[known].max() < 0.85
    assert kept_error(step, table)[known].mean() == pytest.approx(step.expected_error[known].mean(), abs=0.05)
