"""Policies of answers that are spelled in many ways: decided by keys, told in somebody's spelling, saved and loaded."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from askwho import Columns, InvalidInputError, Target, evaluate, fit, load, read_log, save
from askwho._parts import read_part, state_of
from askwho.core import Answers, Panel
from askwho.data import keys_of
from askwho.fitting import with_expert
from tests import messy

NUMERIC = Columns(truth="truth", answers="answer_*", features="x_*", id="id", fees=messy.FEES, same="numeric")
CASEFOLD = replace(NUMERIC, same="casefold")
OWN = "tests.own_same:last_word"
AIM = Target(fee_weight=0.2)


def learned(columns, *, free, base="none"):
    return fit(read_log(messy.table(300, 0, free=free), columns), learner="linear", base=base, cv=3)


@pytest.fixture(scope="module")
def free():
    return learned(NUMERIC, free=True)


@pytest.fixture(scope="module")
def cities():
    return learned(CASEFOLD, free=False, base="auto")


@pytest.fixture(scope="module")
def new():
    return messy.table(120, 1)


def verdicts(policy, table, answers=None):
    return policy.combine(policy.decide(table, AIM), table if answers is None else answers).outcome


def test_a_verdict_is_what_somebody_wrote_and_mostly_right(free, new):
    assert len(free.combiner.beliefs.classes) == 0
    outcome = verdicts(free, new)
    given = np.stack([new[f"answer_{name}"] for name in messy.FEES])
    assert (given == outcome.values).any(axis=0).all()
    right = keys_of(outcome.values, "numeric") == keys_of(new["truth"], "numeric")
    assert right.mean() > 0.9
    assert (outcome.values == new["truth"]).mean() < 0.5


def test_the_spelling_is_of_whom_is_expected_to_err_least(free, new):
    aim = Target(k=3)
    outcome = free.combine(free.decide(new, aim), new).outcome
    names = free.panel.names
    keys = np.stack([keys_of(new[f"answer_{name}"], "numeric") for name in names], axis=1)
    expected = free.see(new).expected
    for row, text in enumerate(outcome.values.tolist()):
        said = np.flatnonzero(keys[row] == keys_of(np.array([text]), "numeric")[0])
        author = names[said[expected[row, said].argmin()]]
        assert text == new[f"answer_{author}"][row]


def test_answers_in_any_form_are_compared_alike(free, new):
    given = Answers.from_table({name: new[f"answer_{name}"] for name in messy.FEES}, Panel(free.panel.entities))
    ours, theirs = verdicts(free, new, given), verdicts(free, new)
    assert ours.values.tolist() == theirs.values.tolist()
    np.testing.assert_array_equal(ours.probability, theirs.probability)
    log = read_log(new, NUMERIC)
    assert verdicts(free, new, log.answers).values.tolist() == theirs.values.tolist()


def test_one_query_is_spelled_as_it_is_among_others(free, new):
    whole = verdicts(free, new).values
    for i in range(5):
        one = {name: values[i : i + 1] for name, values in new.items()}
        assert verdicts(free, one).values.tolist() == [whole[i]]


def test_in_turn_equal_answers_end_the_questions(free, new):
    unheard = {name: values for name, values in new.items() if not name.startswith("answer_")}
    first = free.next(unheard, target=AIM)
    assert first.k.all()
    step = free.next(new, target=AIM)
    assert not step.k.any()
    assert (keys_of(step.outcome.values, "numeric") == keys_of(new["truth"], "numeric")).mean() > 0.9
    twice = {"x_0": np.array([0.0]), "x_1": np.array([0.0]), "x_2": np.array([0.0])}
    alike = free.next(twice, {"left": ["1/2"], "right": [r"\frac{1}{2}"]}, AIM)
    apart = free.next(twice, {"left": ["1/2"], "right": [r"\frac{1}{3}"]}, AIM)
    assert alike.outcome.probability[0] > 0.9 > apart.outcome.probability[0]
    assert alike.outcome.values[0] in ("1/2", r"\frac{1}{2}")


def test_an_answer_without_a_key_is_unusable(free, new):
    blank = new | {"answer_both": np.full(120, "  ", dtype=object)}
    outcome = free.combine(free.decide(blank, Target(k=3)), blank).outcome
    assert not outcome.heard[:, free.panel.index("both")].any()
    assert outcome.heard[:, free.panel.index("left")].all()
    assert (outcome.paid > 1).all()


def test_a_class_has_one_spelling(cities):
    assert cities.base is not None
    assert dict(cities.combiner.spellings) == {name.lower(): name for name in messy.CITIES}
    table = messy.table(120, 1, free=False)
    alone = cities.combine(cities.decide(table, Target(budget=0)))
    assert set(alone.outcome.values.tolist()) <= set(messy.CITIES)
    outcome = verdicts(cities, table)
    assert set(outcome.values.tolist()) == set(messy.CITIES)
    assert (keys_of(outcome.values, "casefold") == keys_of(table["truth"], "casefold")).mean() > 0.85
    assert set(cities.next(table, target=AIM).outcome.values.tolist()) == set(messy.CITIES)


@pytest.mark.parametrize("kind", ["free", "cities"])
def test_saved_and_loaded_it_decides_the_same(kind, request, tmp_path):
    policy = request.getfixturevalue(kind)
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    assert loaded.columns == policy.columns
    table = messy.table(60, 2, free=kind == "free")
    assert verdicts(loaded, table).values.tolist() == verdicts(policy, table).values.tolist()
    assert (
        loaded.next(table, target=AIM).outcome.values.tolist() == policy.next(table, target=AIM).outcome.values.tolist()
    )


def test_a_damaged_rule_is_refused(free):
    state = state_of(free, "policy")
    state.plain["columns"]["same"] = "fuzzy"
    with pytest.raises(InvalidInputError, match="`same` must be exact, casefold, numeric or your own"):
        read_part(state)
    for spellings in (["a"], {"a": 1}):
        state = state_of(free, "policy")
        state.parts["combiner"].plain["spellings"] = spellings
        with pytest.raises(InvalidInputError, match="`spellings` must be texts by key"):
            read_part(state)


def test_an_artefact_alone_imports_no_rule(free):
    state = state_of(free, "policy")
    state.plain["columns"]["same"] = "this:s"
    with pytest.raises(InvalidInputError, match="names a part of your own, 'this:s', and an artefact alone never runs"):
        read_part(state)
    assert "this" not in sys.modules


def test_a_rule_of_ones_own_is_loaded_where_it_is_allowed(tmp_path):
    columns = replace(NUMERIC, same=OWN)
    policy = learned(columns, free=False)
    assert set(policy.combiner.spellings) == {"york", "angeles", "rome"}
    save(policy, tmp_path / "policy")
    with pytest.raises(InvalidInputError, match="an artefact alone never runs code"):
        load(tmp_path / "policy")
    loaded = load(tmp_path / "policy", allow=[OWN])
    table = messy.table(60, 2, free=False)
    assert set(verdicts(loaded, table).values.tolist()) <= set(messy.CITIES)


def test_a_log_that_was_read_by_another_rule(free, new):
    with pytest.raises(InvalidInputError, match="`log` must be read with same='numeric', as the policy's own was"):
        evaluate(free, read_log(new, replace(NUMERIC, same="casefold")))


def test_somebody_new_is_compared_by_the_rule(free, new):
    late = {name: values for name, values in new.items() if not name.startswith("answer_")}
    late["answer_late"] = np.array([rf"\boxed{{{text.strip('.')}}}" for text in new["truth"]], dtype=object)
    late["answer_late"][::4] = "0.1"
    done = with_expert(free, "late", late, fee=0.1)
    assert done.facts.entity_errors[done.panel.index("late")] < 0.4
