"""Exploring: what is written to be the probability of asking somebody is how often that is done."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from askwho import Target
from askwho.policy._explore import explore_at_once, explore_in_turn
from tests import policies, synthetic

DRAWS = 5_000
# A fixed seed fails by chance as seldom as this.
CHANCE = 1e-4


def repeated(table, i, times=DRAWS):
    """One query, so many times."""
    return {name: np.repeat(values[i : i + 1], times) for name, values in table.items()}


def sets(decisions):
    """Whom each query asks, as a set of entities."""
    return [frozenset(np.flatnonzero(members)) for members in decisions.members & ~decisions.panel.own]


def agree(asked, propensity):
    """Whether each set is asked as often as is written beside it, and what is written adds up to one."""
    counts, written = Counter(asked), dict(zip(asked, propensity.tolist(), strict=True))
    for one, chance in zip(asked, propensity.tolist(), strict=True):
        assert written[one] == chance
    assert sum(written.values()) == pytest.approx(1.0)
    expected = [len(asked) * written[one] for one in counts]
    if len(counts) > 1:
        assert chisquare(list(counts.values()), expected).pvalue > CHANCE


@pytest.mark.parametrize(
    ("kind", "target", "given"),
    [
        ("classes", Target(k=1, fee_weight=0.3), {}),
        ("classes", Target(k=2), {}),
        ("classes", Target(k=3), {}),
        ("classes", Target(k=4), {}),
        ("classes", Target(fee_weight=0.05), {}),
        ("classes", Target(k=2), {"available": ["left", "right", "noise"]}),
        ("own base", Target(k=1), {}),
        ("own base", Target(k=2), {}),
        ("own base", Target(k=5), {}),
        ("own base", Target(fee_weight=100.0), {}),
        ("own base", Target(k=2), {"available": ["left", "noise"]}),
        ("fees by query", Target(fee_weight=0.01), {}),
    ],
)
def test_every_set_is_asked_as_often_as_is_written(kind, target, given):
    policy, table = policies.fitted(kind), policies.queries(kind)
    decisions = policy.decide(repeated(table, 3), target, explore=0.4, random_state=7, **given)
    asked = sets(decisions)
    agree(asked, decisions.propensity)
    # Who asks everybody has nobody else to ask.
    everybody = max(map(len, asked)) == (~policy.panel.own).sum()
    assert (len(set(asked)) == 1) == everybody
    if "available" in given:
        there = {policy.panel.index(name) for name in given["available"]}
        assert all(one <= there for one in asked)


@pytest.mark.parametrize("kind", ["classes", "own base"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_everybody_is_asked_as_often_as_is_written(kind, k):
    policy, table = policies.fitted(kind), policies.queries(kind)
    decisions = policy.decide(repeated(table, 5), Target(k=k), explore=0.3, random_state=1)
    chance = np.zeros((DRAWS, len(policy.panel)))
    np.put_along_axis(chance, decisions.order, decisions.propensities, axis=1)
    # Everybody is in the order here, and has the same probability in each of the draws.
    assert decisions.order.shape[1] == len(policy.panel)
    np.testing.assert_allclose(chance, chance[:1].repeat(DRAWS, axis=0))
    error = np.sqrt(chance[0] * (1 - chance[0]) / DRAWS)
    assert (np.abs(decisions.members.mean(axis=0) - chance[0]) <= 4 * error + 1e-12).all()
    # Together they are how many are asked in the mean.
    assert chance[0].sum() == pytest.approx(decisions.k.mean(), abs=0.02)


def test_marginals_are_sums_over_the_sets(policy, new):
    decisions = policy.decide(repeated(new, 0), Target(k=2), explore=0.5, random_state=0)
    of_set = dict(zip(sets(decisions), decisions.propensity.tolist(), strict=True))
    assert len(of_set) == 6
    chance = dict(zip(decisions.order[0].tolist(), decisions.propensities[0].tolist(), strict=True))
    for j in range(4):
        assert chance[j] == pytest.approx(sum(share for one, share in of_set.items() if j in one))


def test_without_exploring_everything_is_certain(policy, new):
    for options in ({}, {"explore": 0.0}, {"explore": 0}):
        decisions = policy.decide(new, Target(fee_weight=0.05), **options)
        assert (decisions.propensity == 1).all()
        np.testing.assert_array_equal(decisions.propensities, decisions.within.astype(float))
        step = policy.next(policy.see(new), None, Target(fee_weight=0.05), **options)
        assert (step.propensity == 1).all()


def test_the_same_seed_explores_the_same(policy, new):
    def explored(seed):
        return policy.decide(new, Target(k=2), explore=0.5, random_state=seed)

    np.testing.assert_array_equal(explored(3).order, explored(3).order)
    np.testing.assert_array_equal(explored(3).order, explored(np.random.default_rng(3)).order)
    assert (explored(3).members != explored(4).members).any()
    # Without a seed chance is chance.
    assert (explored(None).members != explored(None).members).any()


def test_who_is_drawn_is_expected_what_is_expected_of_them(policy, new):
    plain = policy.decide(new, Target(k=1))
    explored = policy.decide(new, Target(k=1), explore=0.5, random_state=0)
    same = (plain.members == explored.members).all(axis=1)
    assert 0.3 < same.mean() < 0.8
    np.testing.assert_allclose(explored.expected_error[same], plain.expected_error[same], atol=1e-6)
    # Drawn at random they are expected to err more than those that were chosen.
    assert explored.expected_error[~same].mean() > plain.expected_error[~same].mean() + 0.05
    np.testing.assert_allclose(explored.fee, np.where(explored.members, policy.panel.fees, 0.0).sum(axis=1))
    assert (explored.k == 1).all()
    assert policy.why(explored, 0).chosen[-1].committee_error == pytest.approx(explored.expected_error[0], abs=1e-6)


def test_probabilities_travel_with_the_decisions(policy, new):
    explored = policy.decide(new, Target(k=2), explore=0.5, random_state=0)
    read = policy.read(explored.to_columns())
    np.testing.assert_array_equal(read.propensity, explored.propensity)
    np.testing.assert_array_equal(read.propensities, explored.propensities)
    decided = policy.combine(explored, policies.said(policy, new))
    assert decided.outcome_columns()["propensity"] == explored.propensity.tolist()
    assert [one.propensity for one in decided] == explored.propensity.tolist()


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_what_was_explored_tells_means_without_bias(policy, share):
    table = synthetic.classification(4000, seed=9)
    decisions = policy.decide(table, Target(k=2), explore=share, random_state=5)
    chance = np.ones((4000, 4))
    np.put_along_axis(chance, decisions.order, decisions.propensities, axis=1)
    assert (chance > 0).all()
    wrong = (policies.said(policy, table).values != table["truth"][:, None]).astype(float)
    weighed = np.where(decisions.members, wrong / chance, 0.0)
    for j in range(4):
        error = weighed[:, j].std() / np.sqrt(4000)
        assert abs(weighed[:, j].mean() - wrong[:, j].mean()) <= 4 * error
    # Without weights it would be far off, where a few are drawn: noise is asked where it is known to be right.
    if share < 1:
        left = policy.panel.index("left")
        asked = decisions.members[:, left]
        assert abs(wrong[asked, left].mean() - wrong[:, left].mean()) > 0.1


def test_of_a_whole_committee_the_propensity_tells_its_mean_without_bias(policy):
    table = synthetic.classification(4000, seed=11)
    said = policies.said(policy, table)
    target, wanted = policy.decide(table, Target(k=2)), (0, 3)
    explored = policy.decide(table, Target(k=2), explore=0.5, random_state=2)
    assert target.members[:, wanted].all(axis=1).mean() < 0.5
    is_wanted = explored.members[:, wanted].all(axis=1)
    # What that committee would get on all queries, told from those that were drawn to ask it.
    fixed = policy.decide(table, Target(k=2), available=[policy.panel.names[j] for j in wanted])
    truth = (policy.combine(fixed, said).outcome.values != table["truth"]).astype(float)
    weighed = np.where(is_wanted, truth / explored.propensity, 0.0)
    assert abs(weighed.mean() - truth.mean()) <= 4 * weighed.std() / np.sqrt(4000)


# A base of our own.


def test_a_base_of_our_own_is_never_dropped_while_there_is_room():
    policy, table = policies.fitted("own base"), policies.queries("own base", 2000)
    for k in (1, 2, 3, 4):
        target = Target(k=k, fee_weight=0.3)
        plain, explored = policy.decide(table, target), policy.decide(table, target, explore=1.0, random_state=0)
        own = plain.members[:, 0]
        assert own.any()
        np.testing.assert_array_equal(explored.members[:, 0], own)
        # As many experts as were chosen, one at the least.
        experts = np.maximum(plain.members[:, 1:].sum(axis=1), 1)
        np.testing.assert_array_equal(explored.members[:, 1:].sum(axis=1), experts)


def test_where_there_is_no_room_it_makes_room():
    # One may be asked, and that was the base: who is drawn is asked in its place.
    order, k = np.zeros((1000, 1), dtype=np.intp), np.ones(1000, dtype=np.intp)
    open_ = np.tile([False, True, True], (1000, 1))
    found = explore_at_once(order, k, open_=open_, share=0.5, rng=np.random.default_rng(0))
    assert set(found.order[found.changed, 0]) == {1, 2}
    assert (found.order[~found.changed, 0] == 0).all()
    assert (found.k == 1).all()
    np.testing.assert_allclose(found.propensity, np.where(found.changed, 0.25, 0.5))
    np.testing.assert_allclose(found.propensities[:, 0], np.where(found.changed, 0.25, 0.5))


# Laws.


@st.composite
def committees(draw):
    size, n = draw(st.integers(1, 5)), 40
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    width = draw(st.integers(1, size))
    order = np.stack([rng.permutation(size)[:width] for _ in range(n)])
    k = rng.integers(1, width + 1, n)
    return order, k, np.broadcast_to(rng.random(size) < 0.7, (n, size)).copy(), draw(st.floats(0, 1)), rng


@given(committees())
def test_an_explored_committee_is_a_committee(case):
    order, k, open_, share, rng = case
    found = explore_at_once(order, k, open_=open_, share=share, rng=rng)
    assert all(len(set(row)) == order.shape[1] for row in found.order.tolist())
    assert ((found.k >= 1) & (found.k <= order.shape[1])).all()
    assert (found.propensity > 0).all()
    assert (found.propensity <= 1 + 1e-12).all()
    assert ((found.propensities >= 0) & (found.propensities <= 1 + 1e-12)).all()
    within = np.arange(order.shape[1]) < found.k[:, None]
    # Nobody is asked with a smaller probability than that of the set they are in.
    assert (found.propensities[within] >= np.repeat(found.propensity, found.k) - 1e-12).all()
    np.testing.assert_array_equal(found.order[~found.changed], order[~found.changed])
    np.testing.assert_array_equal(found.k[~found.changed], k[~found.changed])
    if not open_.any():
        assert not found.changed.any()
        assert (found.propensity == 1).all()


# In turn.


@pytest.mark.parametrize("fee_weight", [0.0, 0.05, 1000.0])
@pytest.mark.parametrize("kind", ["classes", "own base"])
def test_in_turn_every_step_is_taken_as_often_as_is_written(kind, fee_weight):
    policy, table = policies.fitted(kind), policies.queries(kind)
    outside = int((~policy.panel.own).sum())
    for heard in ([], [0], [1, 2], list(range(outside))):
        mask = np.tile(np.isin(np.arange(outside), heard), (DRAWS, 1))
        many = repeated(table, 3)
        step = policy.next(
            many, policies.said(policy, many, mask), Target(fee_weight=fee_weight), explore=0.4, random_state=3
        )
        asked = np.where(step.k > 0, step.order[:, 0], -1)
        agree(asked.tolist(), step.propensity)
        # Nobody is asked twice, nor who answers unasked.
        known = {j for i, j in enumerate(np.flatnonzero(~policy.panel.own)) if i in heard}
        assert not known & set(asked.tolist())
        assert not set(np.flatnonzero(policy.panel.own)) & set(asked.tolist())
        np.testing.assert_array_equal(step.propensities[:, 0], np.where(step.k > 0, step.propensity, 0.0))
        if len(heard) == outside:
            assert (asked == -1).all()
            assert (step.propensity == 1).all()


def test_in_turn_who_is_away_is_not_drawn(policy, new):
    seen = policy.see(new)
    step = policy.next(seen, None, Target(fee_weight=0.05), available=["left", "right"], explore=1.0, random_state=0)
    assert {name for i in range(400) for name in step.ask(i)} == {"left", "right"}
    np.testing.assert_allclose(step.propensity, 0.5)


def test_in_turn_the_rule_and_chance_may_agree():
    entity = np.array([2, 2, -1, 0] * 1000)
    open_ = np.tile([True, False, True], (4000, 1))
    found, chance = explore_in_turn(entity, open_=open_, share=0.5, rng=np.random.default_rng(0))
    expected = np.where(found == entity, 0.5, 0.0) + np.where(found >= 0, 0.25, 0.0)
    np.testing.assert_allclose(chance, expected)
    assert not (found == 1).any()
