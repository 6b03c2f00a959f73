"""From a log to a policy: what is chosen, that seeds repeat it, and logs that are short, sparse, grouped or graded."""

from dataclasses import replace

import numpy as np
import pytest

from askwho import Answers, Entity, InvalidInputError, Panel, Target
from askwho._unit import Unit
from askwho.core import folds
from askwho.data import read_log
from askwho.fitting import fit, fold_count
from askwho.fitting._asking import FEWEST_WHOLE, learn_turns
from askwho.fitting._fit import _width
from askwho.replay import Replay
from tests import policies, synthetic
from tests.logs import log_of_arrays


def first(policy, queries, target):
    return np.array(policy.panel.names)[policy.decide(queries, target).order[:, 0]]


def test_it_says_what_it_chose_and_by_how_much(log):
    policy = fit(log.rows(np.arange(300)), base="none", cv=3)
    assert policy.judge.name == min(policy.facts.learners, key=policy.facts.learners.get)
    assert len(policy.facts.learners) > 1
    assert policy.combiner.name in policy.facts.committees
    assert policy.facts.base is None
    assert len(policy.facts.entity_errors) == 4


def test_it_says_how_it_goes_on(log):
    lines = []
    fit(log.rows(np.arange(100)), learner="linear", cv=2, progress=lines.append)
    assert [line.split(":")[0] for line in lines] == ["base", "learner linear"]
    assert lines[0] == "base: none is worth having"


def test_a_base_of_our_own_is_named_in_front():
    policy = policies.fitted("own base")
    assert policy.base is not None
    assert policy.facts.base == policy.base.name
    assert policy.panel.names == ("base", "left", "right", "both", "noise")
    assert (policy.panel.entities[0].kind, policy.panel.entities[0].own) == ("base", True)
    assert not any(entity.own for entity in policy.panel.entities[1:])
    # Under a name that nobody has.
    table = synthetic.known(300)
    table["answer_base"] = table.pop("answer_noise")
    fees = {"base" if name == "noise" else name: fee for name, fee in synthetic.FEES.items()}
    other = fit(read_log(table, replace(synthetic.COLUMNS, fees=fees)), learner="linear", cv=2)
    assert other.panel.names[0] == "own-base"
    assert "base" in other.panel.names[1:]


def test_the_same_seed_gives_the_same_policy(log, new):
    few = log.rows(np.arange(300))
    once, twice = (
        fit(few, learner="forest", cv=3, random_state=5).decide(new, Target(fee_weight=0.2)) for _ in range(2)
    )
    np.testing.assert_array_equal(once.order, twice.order)
    np.testing.assert_array_equal(once.k, twice.k)
    np.testing.assert_array_equal(once.expected_error, twice.expected_error)


def test_a_log_with_few_answers_a_row_still_finds_the_experts(new):
    log = read_log(synthetic.classification(1500, missing=0.6), synthetic.COLUMNS)
    policy = fit(log, learner="linear", base="none", cv=3)
    asked = first(policy, new, Target(fee_weight=0.3, k=1))
    assert (asked == np.where(new["x_0"] < 0, "left", "right")).mean() > 0.75


def test_one_answer_a_row_never_asks_for_a_committee_nobody_could_score():
    table = synthetic.classification(300)
    keep = np.random.default_rng(0).integers(0, 4, 300)
    for j, name in enumerate(synthetic.FEES):
        table[f"answer_{name}"] = np.where(keep == j, table[f"answer_{name}"], None)
    policy = fit(read_log(table, synthetic.COLUMNS), learner="linear", base="none", cv=3)
    assert (policy.decide(synthetic.classification(50, seed=1), Target(fee_weight=0.1)).k == 1).all()


def test_grades_alone_teach_whom_to_believe():
    policy, table = policies.fitted("grades"), policies.queries("grades", 400)
    asked = policy.decide(table, Target(fee_weight=0.2)).order[:, 0]
    assert (asked == np.where(table["x_0"] < 0, 0, 1)).mean() > 0.85


def test_regression_weighs_experts_by_region():
    table = policies.queries("numbers", 400)
    asked = first(policies.fitted("numbers"), table, Target(fee_weight=2.0, k=1))
    assert (asked == np.where(table["x_0"] < 0, "left", "right")).mean() > 0.8


def test_rows_of_a_group_never_teach_themselves():
    # Each group has its own random answer key: whoever sees a twin of a row in training would look far too good.
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(150), 4)
    X = rng.normal(size=(150, 3))[groups]
    errors = (rng.random((150, 2)) < 0.5).astype(float)[groups]
    fold = folds(groups, 3)
    assert all(len(set(fold[groups == g])) == 1 for g in range(150))
    log = log_of_arrays(X, errors=errors, panel=Panel.two_stage({"a": 1.0}), groups=groups)
    policy = fit(log, learner="neighbours", cv=3)
    assert min(p["error"] for p in policy.tried.validated(policy.unit)) > 0.4


@pytest.mark.parametrize(("area", "chosen"), [(0.1, "majority"), (0.0001, "posterior")])
def test_a_committee_that_knows_its_members_is_given_up_only_for_more_than_chance(monkeypatch, log, area, chosen):
    monkeypatch.setattr(Replay, "area", lambda self, width, rule=None: area * (rule == "posterior"))
    assert fit(log.rows(np.arange(300)), learner="linear", base="none", cv=2).combiner.name == chosen


def test_what_is_validated_was_never_seen():
    # Answers by a coin: whoever was validated on rows it had seen would beat it.
    rng = np.random.default_rng(0)
    errors = (rng.random((400, 3)) < 0.5).astype(float)
    chance = log_of_arrays(rng.normal(size=(400, 4)), errors=errors, panel=Panel.two_stage(["a", "b"]))
    policy = fit(chance, learner="neighbours", cv=4)
    assert min(p["error"] for p in policy.tried.validated(Unit())) > 0.42


# Folds.


def test_folds_are_fewer_where_rows_are_few():
    def count(cv, n, groups=None):
        return fold_count(cv, n, np.arange(n) if groups is None else np.array(groups))

    assert [count(5, n) for n in (8, 11, 12, 19, 20, 900)] == [2, 2, 3, 4, 5, 5]
    assert count(5, 900, np.arange(900) % 3) == 3
    assert count(2, 900) == 2


def test_eight_rows_teach_something():
    table = synthetic.classification(8)
    policy = fit(read_log(table, synthetic.COLUMNS), learner="linear", base="none")
    assert policy.turns is None
    assert policy.tried.errors.shape[1] == 8
    decided = policy.combine(policy.decide(table, Target(k=1)), policies.said(policy, table))
    assert decided.outcome.decided.all()


@pytest.mark.parametrize(
    ("n", "groups", "cv", "message"),
    [
        (
            7,
            None,
            5,
            "`log` must have at least 8 rows, got n_samples=7: who is good at what is learned on held-out rows.",
        ),
        (20, np.zeros(20), 5, "`groups` must hold at least two groups, got 1: none could be held out."),
        (20, None, 1, "`cv` must be a whole number of at least 2, got 1."),
    ],
    ids=["rows", "groups", "cv"],
)
def test_what_cannot_be_held_out_is_refused(n, groups, cv, message):
    rng = np.random.default_rng(0)
    log = log_of_arrays(rng.normal(size=(n, 2)), errors=rng.random((n, 2)), panel=Panel.two_stage(["a"]), groups=groups)
    with pytest.raises(InvalidInputError) as error:
        fit(log, learner="linear", cv=cv)
    assert str(error.value) == message


# A committee that knows its members.


def one_class(n=240):
    answers = Answers(np.ones((n, 1), dtype=int), np.zeros((n, 1), dtype=np.int8))
    known = np.random.default_rng(0).normal(size=(n, 2))
    return log_of_arrays(known, panel=Panel((Entity("a"),)), answers=answers, truth=np.ones(n, dtype=int))


def graded(n=240):
    return read_log(synthetic.grades(n), synthetic.GRADED)


def short(n=60):
    return read_log(synthetic.classification(n), synthetic.COLUMNS)


@pytest.mark.parametrize("make", [one_class, graded, short])
def test_a_committee_that_cannot_be_learned(make):
    with pytest.raises(InvalidInputError) as error:
        fit(make(), learner="linear", cv=3, committee="posterior", base="none")
    assert str(error.value) == (
        "`committee` 'posterior' must learn from answers that are classes, two at the least, of 200 rows or more, with "
        "no label or reject in the panel: use 'auto' or another."
    )


def test_one_class_needs_no_beliefs():
    policy = fit(one_class(), learner="linear", cv=3)
    assert policy.combiner.beliefs is None
    assert policy.turns is None


def test_the_rule_of_turns_is_tried_on_rows_that_it_was_not_learned_from(log, monkeypatch):
    given = {}

    def watched(replay, real, fold, **more):
        given.update(replay=replay, real=real, fold=fold, more=more)
        return learn_turns(replay, real, fold, **more)

    monkeypatch.setattr("askwho.fitting._fit.learn_turns", watched)
    # Which of two rules is followed at a price is settled by what both did on rows of either half.
    monkeypatch.setattr("askwho.fitting._asking._cheaper", lambda asking, tables, *_: (asking, tables))
    policy = fit(log.rows(np.arange(500)), learner="linear", base="none", committee="posterior", cv=3)
    replay, fold = given["replay"], given["fold"]
    before = policy.turns.tried
    half = fold % 2 == 0
    # To the rule everybody is dear in one half: rows of that half never hear of it, for they teach the other alone.
    fees = np.where(half[:, None], 30 * replay.seen.fees, replay.seen.fees)
    dear = replace(replay, seen=replace(replay.seen, fees=fees))
    learned, _ = learn_turns(dear, given["real"], fold, **given["more"])
    after = learned.tried
    for name in ("errors", "fees", "sizes"):
        np.testing.assert_array_equal(getattr(after, name)[:, half], getattr(before, name)[:, half], err_msg=name)
    assert (after.sizes[:, ~half] != before.sizes[:, ~half]).any()


@pytest.mark.parametrize("base", ["auto", "none"])
def test_bytes_are_refused_before_anything_is_learned(base):
    table = synthetic.classification(60)
    table |= {name: values.astype("S") for name, values in table.items() if name.startswith(("truth", "answer_"))}
    with pytest.raises(
        InvalidInputError, match="must hold text, numbers or dates to be learned from, got bytes: decode"
    ):
        fit(read_log(table, synthetic.COLUMNS), base=base)


@pytest.mark.parametrize(("whole", "width"), [(FEWEST_WHOLE, 3), (FEWEST_WHOLE - 1, 2)])
def test_the_largest_committee_is_one_that_enough_rows_can_score(whole, width):
    table, row = synthetic.classification(300), np.arange(300)
    # So many rows have three answers, all others two.
    for name, there in (("both", row < whole), ("noise", row == 299), ("left", row < 299)):
        table[f"answer_{name}"] = np.where(there, table[f"answer_{name}"], None)
    assert _width(read_log(table, synthetic.COLUMNS), 12) == width
    assert _width(read_log(synthetic.classification(300), synthetic.COLUMNS), 1) == 1


def test_one_answer_a_row_tells_of_nobody_but_the_first():
    table = synthetic.classification(300)
    for place, name in enumerate(("left", "right", "both", "noise")):
        table[f"answer_{name}"] = np.where(np.arange(300) % 4 == place, table[f"answer_{name}"], None)
    assert _width(read_log(table, synthetic.COLUMNS), 12) == 1


def test_a_base_of_our_own_is_believed_by_its_doubts_where_hours_are_limited():
    assert policies.fitted("own base").cardinality.by_doubts is not None
    assert policies.fitted("classes").cardinality.by_doubts is None
