"""Answers in free words, more than can be known by name: fitted, saved, loaded, and everything a policy can do."""

import numpy as np
import pytest

from askwho import Target, calibrate, evaluate, load, save, write_report
from askwho.core import Cell
from askwho.data import read_log
from tests import policies, synthetic

KINDS = ["free answers", "many classes"]


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def policy(kind):
    return policies.fitted(kind)


@pytest.fixture(scope="module")
def loaded(policy, tmp_path_factory):
    folder = tmp_path_factory.mktemp("policy") / "policy"
    save(policy, folder)
    return load(folder)


@pytest.fixture(scope="module")
def table(kind):
    return policies.queries(kind, 150)


def test_there_are_more_than_can_be_known_by_name(policy, kind, table):
    assert len(policy.combiner.beliefs.classes) == 0
    assert policy.combiner.n_classes > 64
    assert policy.combiner.family == "text"
    assert kind == "many classes" or policy.combiner.name == "posterior"
    assert len(np.unique(table["truth"])) > 64
    assert (policy.base is not None) == (kind == "many classes")


def test_what_was_loaded_decides_and_combines_the_same(policy, loaded, table):
    said = policies.said(policy, table)
    for target in (Target(k=1), Target(k=3), Target(fee_weight=0.2), Target(max_error=0.4)):
        one, other = (each.combine(each.decide(table, target), said) for each in (policy, loaded))
        np.testing.assert_array_equal(one.order, other.order)
        np.testing.assert_array_equal(one.k, other.k)
        np.testing.assert_array_equal(one.outcome.values, other.outcome.values)
        np.testing.assert_allclose(one.outcome.probability, other.outcome.probability, atol=1e-6)
    # All together know better than one alone.
    together = loaded.combine(loaded.decide(table, Target(k=3)), said).outcome.values
    assert (together != table["truth"]).mean() < (said.values[:, 0] != table["truth"]).mean() - 0.2


def test_a_verdict_is_somebodys_own_words(loaded, table):
    said = policies.said(loaded, table)
    decided = loaded.combine(loaded.decide(table, Target(k=2)), said)
    seen = loaded.see(table)
    for i, one in enumerate(decided):
        assert type(one.verdict) is str
        own = [] if seen.said is None else [seen.said[i]]
        assert one.verdict in {*said.values[i], *own}
        assert 0 < one.probability <= 1


def test_answers_that_nobody_ever_gave_are_combined(loaded, kind, table):
    strange = {name: np.array([f"unheard of {name} {i}" for i in range(150)]) for name in ("a", "b", "c")}
    strange["b"] = strange["a"]
    decisions = loaded.decide(table, Target(k=len(loaded.panel)))
    outcome = loaded.combine(decisions, {"id": decisions.ids} | strange).outcome
    assert outcome.decided.all()
    assert all(value.startswith("unheard of") for value in outcome.values) or kind == "many classes"


def test_what_was_loaded_takes_the_same_turns(policy, loaded, table):
    target = Target(fee_weight=float(policy.turns.tried.prices[6]))
    (heard, rounds), (again, others) = (policies.taking_turns(each, table, target) for each in (policy, loaded))
    np.testing.assert_array_equal(heard, again)
    assert rounds == others
    outside = heard[:, ~policy.panel.own]
    one, other = (each.next(table, policies.said(each, table, outside), target) for each in (policy, loaded))
    np.testing.assert_array_equal(one.outcome.values, other.outcome.values)
    np.testing.assert_allclose(one.expected_error, other.expected_error, atol=1e-6)
    # Before anybody was heard there are no words to decide for, unless a base has some.
    first = loaded.next(loaded.see(table), None, target)
    assert (first.outcome.decided == bool(loaded.panel.own.any())).all()
    assert (first.k == 1).any()
    assert [word is not None for word in first.next_columns()["prediction"]] == first.outcome.decided.tolist()


def test_nobody_answers(loaded, table):
    said = policies.said(loaded, table)
    silent = type(said)(said.values, np.full(said.states.shape, Cell.NO_ANSWER, dtype=np.int8))
    decided = loaded.combine(loaded.decide(table, Target(k=2), available=["a", "b", "c"]), silent)
    own = decided.members & loaded.panel.own
    np.testing.assert_array_equal(decided.outcome.decided, own.any(axis=1))


def test_what_was_loaded_is_evaluated_the_same(policy, loaded, table):
    log = read_log(table, policy.columns)
    one, other = (evaluate(each, log, draws=2) for each in (policy, loaded))
    for name in ("fixed_k", "adaptive", "sequential"):
        assert [point["error"] for point in one[name]] == pytest.approx([point["error"] for point in other[name]])
        assert [point["mean_fee"] for point in one[name]] == pytest.approx([p["mean_fee"] for p in other[name]])
    assert other["sequential"][0]["error"] < 0.25


def test_what_was_loaded_is_calibrated_and_saved_again(loaded, table, tmp_path):
    log = read_log(table, loaded.columns)
    ours = calibrate(loaded, log)
    save(ours, tmp_path / "again")
    again = load(tmp_path / "again")
    np.testing.assert_array_equal(again.tried.errors, ours.tried.errors)
    said, target = policies.said(loaded, table), Target(k=2)
    one, other = (each.combine(each.decide(table, target), said).outcome for each in (ours, again))
    np.testing.assert_array_equal(one.values, other.values)


def test_what_was_loaded_is_reported(loaded, table, tmp_path):
    log = read_log(table, loaded.columns)
    out = tmp_path / "report.html"
    write_report(loaded, log, out, target=Target(budget=float(loaded.tried.fees.mean())))
    page = out.read_text(encoding="utf-8")
    assert all(name in page for name in synthetic.FREE.fees)
