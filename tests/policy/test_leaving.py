"""A policy without somebody: nobody else moves, his columns are not read, and asking in turn goes on as learned."""

from dataclasses import replace

import numpy as np
import pytest

from askwho import Target, calibrate, evaluate, load, read_log, save
from askwho.data import Columns, with_entity, without_entity
from askwho.exceptions import InvalidInputError
from askwho.fitting import with_expert
from tests.persistence.alike import same_decisions, same_state, same_verdicts
from tests.policies import PRICED, fitted, promising, queries, row, taking_turns

KINDS = ["classes", "votes", "own base", "numbers", "fees by query", "free answers", "many classes"]


def leaver(policy):
    return next(entity.name for entity in policy.panel.entities if not entity.own)


@pytest.mark.parametrize("kind", KINDS)
def test_he_is_gone_and_the_rest_is_as_it_was(kind, tmp_path):
    old = fitted(kind)
    name = leaver(old)
    new, table = old.without(name), queries(kind, 40)
    kept = [j for j, each in enumerate(old.panel.names) if each != name]
    assert new.panel.names == tuple(old.panel.names[j] for j in kept)
    np.testing.assert_array_equal(new.see(table).expected, old.see(table).expected[:, kept])
    # Whoever is away is asked as little as whoever left.
    there = [each for each in old.panel.names if each != name]
    away, decided = old.decide(table, Target(k=1), available=there), new.decide(table, Target(k=1))
    np.testing.assert_array_equal(np.array(kept)[decided.order[:, 0]], away.order[:, 0])
    for i in range(3):
        assert new.decide(row(table, i), Target(fee_weight=0.1)).order[0].tolist() == (
            new.decide(table, Target(fee_weight=0.1)).order[i].tolist()
        )
    # A log that still has his column is read without it.
    log = read_log(table, new.columns)
    assert name not in log.panel.names
    evaluate(new, log, draws=20)
    save(new, tmp_path / "policy")
    again = load(tmp_path / "policy")
    same_state(new, again)
    same_decisions(new, again, table, (Target(fee_weight=0.0), Target(fee_weight=0.3), Target(k=1)))
    same_verdicts(new, again, table)
    gone = {column: values for column, values in table.items() if not column.endswith(f"_{name}")}
    assert read_log(gone, new.columns).panel == log.panel


def test_of_a_panel_down_to_one():
    policy = fitted("votes")
    for name in ("left", "right", "noise"):
        policy = policy.without(name)
    decided = policy.decide(queries("votes"), Target(fee_weight=0.0))
    assert policy.panel.names == ("both",)
    assert (decided.k == 1).all()
    with pytest.raises(InvalidInputError, match="must leave somebody to ask, got 'both'"):
        policy.without("both")


def test_asking_in_turn_is_as_if_he_were_never_there():
    """The same people are asked in the same order as where he cannot be asked: his terms are constants of the rule."""
    old = fitted("classes")
    assert old.turns is not None
    new, table, target = old.without("left"), queries("classes"), Target(fee_weight=0.05)
    # What is expected of him is what it was in the mean: so it is put where he is only away.
    seen = old.see(table)
    expected = seen.expected.copy()
    basis = old.turns.asking.bases[0]
    expected[:, 0] = basis.centre[7 + 4]
    known = replace(seen, judged=replace(seen.judged, expected=expected))
    away = old.next(known, None, target, available=["right", "both", "noise"])
    step = new.next({name: values for name, values in table.items() if name.startswith("x_")}, None, target)
    np.testing.assert_array_equal(step.k, away.k)
    np.testing.assert_array_equal(step.order[step.k > 0] + 1, away.order[away.k > 0])
    heard, rounds = taking_turns(new, table, target)
    assert heard.shape == (len(seen), 3)
    assert rounds >= 1


def test_committees_that_had_him_are_not_bought_and_nothing_is_promised():
    policy = promising("classes")
    new, target = policy.without("both"), Target(budget=1.2, confidence=0.9)
    assert policy.setting(target)
    with pytest.raises(InvalidInputError, match="confidence"):
        new.setting(target)
    assert new.tried.fixed is None or new.tried.fixed.members.max() < 3
    assert calibrate(new, read_log(queries("classes", 400, seed=5), new.columns)).setting(target)


def test_who_left_can_come_back():
    policy, table = fitted("classes").without("left"), queries("classes", 50, seed=4)
    back = with_expert(policy, "left", table, fee=0.1)
    assert set(back.panel.names) == set(fitted("classes").panel.names)
    assert back.columns.answers == "answer_*"
    assert read_log(table, back.columns).panel.names == fitted("classes").panel.names
    evaluate(back, read_log(table, back.columns), draws=20)


def test_the_papers_policy_goes_on_too():
    pytest.importorskip("torch")
    policy = fitted(PRICED).without("left")
    table = queries(PRICED, 30)
    np.testing.assert_array_equal(policy.see(table).judged.scores, fitted(PRICED).see(table).judged.scores[:, 1:])
    assert (policy.decide(table, Target(k=2)).order < 3).all()
    with pytest.raises(InvalidInputError, match="must be of expected errors, got"):
        with_expert(policy, "novice", table, fee=0.1)


@pytest.mark.parametrize(("name", "says"), [("base", "answers for itself"), ("nobody", "must be one of")])
def test_messages(name, says):
    with pytest.raises(InvalidInputError, match=says):
        fitted("own base").without(name)


@pytest.mark.parametrize(
    ("pattern", "after"),
    [("answer_*", "answer_*,!answer_b"), ("a,b,c", "a,c"), ("answer_*,b", "answer_*"), ("?", "?,!b")],
)
def test_patterns_leave_him_out(pattern, after):
    columns = Columns(truth="t", answers=pattern, features="x", fees={"a": 1.0, "b": 2.0}, nulls={"b": "no-answer"})
    gone = without_entity(columns, "b")
    assert (gone.answers, gone.fees, gone.nulls) == (after, {"a": 1.0}, {})
    back = with_entity(gone, "b", {"a": 1.0, "b": 3.0})
    assert back.fees == {"a": 1.0, "b": 3.0}
    assert "!" not in str(back.answers)
