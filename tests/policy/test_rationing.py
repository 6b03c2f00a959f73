"""Under limits a base of our own is believed by its own doubts, and routing knows nothing of it."""

from dataclasses import replace

import numpy as np
import pytest

from askwho import InvalidInputError, Online, Target, assign, load, save
from askwho.core import Answers
from askwho.data import read_log
from askwho.fitting import with_expert
from askwho.policy._assign._online import _own_past
from tests import policies

HOURS = {"left": 40, "right": 40, "both": 30}
COST = Target(fee_weight=0.05)


@pytest.fixture(scope="module")
def policy():
    return policies.fitted("own base")


@pytest.fixture(scope="module")
def unaware(policy):
    """The same policy, as it would be if nothing had been learned of doubts."""
    return replace(policy, cardinality=replace(policy.cardinality, rationing=None))


@pytest.fixture(scope="module")
def log(policy):
    return read_log(policies.queries("own base", 400, seed=1), policy.columns)


def realised(policy, log, decisions):
    """What each query really cost, shape (n,)."""
    assert isinstance(log.answers, Answers)
    came = policy.combine(decisions, log.answers).outcome
    return (came.values != log.truth) + COST.fee_weight * came.paid


def test_doubts_send_those_with_few_hours_where_the_base_errs(policy, unaware, log):
    seen = policy.see(log.known)
    wrong = seen.said != log.truth
    believed = policy.cardinality.rationing.believed(seen).expected[:, 0]
    # The features tell nothing of it: the base has taken what they tell.
    assert np.corrcoef(believed, wrong)[0, 1] > 0.3 > 0.1 + np.abs(seen.expected[:, 0] - wrong.mean()).max()
    ours, before = (assign(each, seen, COST, capacity=HOURS) for each in (policy, unaware))
    change = realised(policy, log, ours.decisions) - realised(policy, log, before.decisions)
    assert change.mean() < -3.0 * change.std() / np.sqrt(len(change))
    assert all(given.count <= HOURS[given.limit.name] for given in ours.given)


def test_routing_is_the_same_to_the_last_bit(policy, unaware, log):
    for target in (COST, Target(budget=0.1), Target(k=2)):
        ours, before = (each.decide(log.known, target) for each in (policy, unaware))
        for name in ("order", "k", "expected_error", "fee"):
            assert np.array_equal(getattr(ours, name), getattr(before, name))
    ours, before = (each.next(log.known, target=COST) for each in (policy, unaware))
    assert np.array_equal(ours.order, before.order)
    assert np.array_equal(ours.expected_error, before.expected_error)


def test_what_is_believed_of_the_others_stays(policy, log):
    seen = policy.see(log.known)
    believed = policy.cardinality.rationing.believed(seen)
    assert np.array_equal(believed.expected[:, 1:], seen.expected[:, 1:])
    assert not np.array_equal(believed.expected[:, 0], seen.expected[:, 0])


def test_it_is_saved_and_loaded(policy, log, tmp_path):
    save(policy, tmp_path / "policy")
    loaded = load(tmp_path / "policy")
    ours, again = (assign(each, log.known, COST, capacity=HOURS) for each in (policy, loaded))
    assert np.array_equal(ours.decisions.members, again.decisions.members)
    assert ours.cost == again.cost
    desks = [Online(each, COST, horizon=400, capacity=HOURS) for each in (policy, loaded)]
    assert desks[0].given == desks[1].given


def test_first_prices_go_by_doubts_about_queries_that_the_base_had_not_seen(policy):
    rationing, past = policy.cardinality.rationing, _own_past(policy)
    expected = rationing.doubt.apply(rationing.past[:, None])[:, 0]
    assert np.array_equal(past.expected[:, 0], expected)
    # Out of fold: as often as it really erred on them.
    erred = policy.past.errors[:, 0]
    assert expected.mean() == pytest.approx(erred.mean(), abs=0.02)
    assert np.corrcoef(expected, erred)[0, 1] > 0.3


@pytest.mark.parametrize("kind", ["classes", "numbers, own base", "grades"])
def test_without_probabilities_of_a_base_of_our_own_hours_change_no_belief(kind):
    cardinality = policies.fitted(kind).cardinality
    assert cardinality.rationing.doubt is None
    assert cardinality.by_doubts is None


def test_a_panel_that_changed_is_given_out_by_doubts_too(policy, log):
    fewer = policy.without("noise")
    table = policies.queries("own base", 60, seed=5)
    more = with_expert(policy, "novice", table | {"answer_novice": table["answer_left"]}, fee=0.1)
    for changed in (fewer, more):
        rationing = changed.cardinality.rationing
        assert rationing.curve.seats is changed.cardinality.curve.seats is not None
        done = assign(changed, log.known, COST, capacity=HOURS)
        change = realised(changed, log_of(changed, log), done.decisions)
        assert change.mean() < 0.06


def log_of(policy, log):
    """The log with a column for each of a panel, whoever is new answering like the first."""
    names = [entity.name for entity in policy.panel.entities if not entity.own]
    places = [log.panel.index(name) if name in log.panel.names else 0 for name in names]
    return replace(log, answers=Answers(log.answers.values[:, places], log.answers.states[:, places]))


def test_a_doubt_for_each_past_query_or_the_artefact_is_refused(policy):
    state = policy.to_state()
    inside = state.parts["cardinality"].parts["rationing"]
    inside.arrays = {"past": inside.arrays["past"][:-1]}
    with pytest.raises(InvalidInputError, match="`rationing` must have a doubt of each past query"):
        type(policy).from_state(state)
