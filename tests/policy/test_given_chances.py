"""Probabilities that the log tells: weighed means are right over many draws of known designs."""

import numpy as np
import pytest

from askwho.policy import GivenChances, LearnedChances, effective
from askwho.policy._explore import explore_at_once

N, SIZE, DRAWS = 400, 5, 240
NOBODY = np.zeros(SIZE, dtype=bool)


def members(*who, n=N):
    inside = np.zeros((n, SIZE), dtype=bool)
    inside[:, who] = True
    return inside


def weighed(errors, weights):
    return float(np.average(errors, weights=weights))


def mean_and_doubt(found):
    return np.mean(found), np.std(found) / np.sqrt(len(found))


def by_policy(rng, x, share=0.3, open_=None):
    """As `explore` asks: two whom the query's feature says, now and then any two."""
    ranking = np.argsort(-np.cos(x[:, None] * 3 + np.arange(SIZE)), axis=1)
    open_ = np.ones((len(x), SIZE), dtype=bool) if open_ is None else np.broadcast_to(open_, (len(x), SIZE))
    found = explore_at_once(ranking, np.full(len(x), 2), open_=open_, share=share, rng=rng)
    asked = np.zeros((len(x), SIZE), dtype=bool)
    np.put_along_axis(asked, found.order[:, :2], values=True, axis=1)
    return asked, found.propensity


@pytest.mark.parametrize("who", [(0,), (3,), (0, 1), (3, 4)], ids=str)
def test_what_a_policy_explored_is_weighed_right(who):
    """Errors go by what asking goes by: rows with the answers are not like the others."""
    told, plain, truth = [], [], []
    for draw in range(DRAWS):
        rng = np.random.default_rng([1, draw])
        x = rng.uniform(-1, 1, N)
        asked, propensity = by_policy(rng, x)
        errors = (0.5 + 0.45 * np.cos(x * 3 + who[0])) * rng.uniform(0.5, 1.5, N)
        weights = GivenChances.of(asked, propensity, own=NOBODY).weights(members(*who))
        assert ((weights > 0) == asked[:, who].all(axis=1)).all()
        told.append(np.mean(weights * errors))
        plain.append(weighed(errors, (weights > 0).astype(float)))
        truth.append(errors.mean())
    off, doubt = mean_and_doubt(np.subtract(told, truth))
    assert abs(off) < 3.5 * doubt
    assert doubt < 0.02
    assert abs(np.mean(np.subtract(plain, truth))) > 0.1


def test_reasons_that_no_feature_tells_are_weighed_away_where_the_log_tells_them():
    """A person who sees that a query is hard asks two more often, and writes down how often."""
    told, learned, truth = [], [], []
    pair = members(1, 2)
    for draw in range(DRAWS):
        rng = np.random.default_rng([2, draw])
        hard = rng.random(N) < 0.5
        chance = np.where(hard, 0.8, 0.1)
        together = rng.random(N) < chance
        first = rng.integers(0, SIZE, N)
        second = (first + rng.integers(1, SIZE, N)) % SIZE
        asked = np.zeros((N, SIZE), dtype=bool)
        asked[np.arange(N), first] = True
        asked[together, second[together]] = True
        propensity = np.where(together, chance * 2 / (SIZE * (SIZE - 1)), (1 - chance) / SIZE)
        errors = np.where(hard, 0.6, 0.1) + rng.normal(0, 0.05, N)
        told.append(np.mean(errors * GivenChances.of(asked, propensity, own=NOBODY).weights(pair)))
        truth.append(errors.mean())
        if draw < 4:
            chances = LearnedChances.learn(rng.normal(size=(N, 2)).astype(np.float32), asked, np.arange(N))
            learned.append(weighed(errors, chances.weights(pair)))
    off, doubt = mean_and_doubt(np.subtract(told, truth))
    assert abs(off) < 3.5 * doubt
    assert doubt < 0.02
    assert np.mean(learned) - np.mean(truth) > 0.1


def test_a_whole_panel_that_was_looked_at_by_chance_weighs_one_by_it():
    rng = np.random.default_rng(0)
    hard = rng.random(20000) < 0.3
    chance = np.where(hard, 0.8, 0.1)
    kept = np.flatnonzero(rng.random(20000) < chance)
    asked = np.ones((len(kept), SIZE), dtype=bool)
    chances = GivenChances.of(asked, chance[kept], own=NOBODY)
    for who in ((), (0,), (1, 2, 3)):
        np.testing.assert_allclose(chances.weights(members(*who, n=len(kept))), 1 / chance[kept])
    assert weighed(hard[kept], chances.cells[:, 0]) == pytest.approx(0.3, abs=0.02)


def test_probabilities_that_do_not_go_by_the_query_are_those_of_the_sets():
    """Any three of five: a pair is asked with probability 3/10, one alone with 3/5."""
    rng = np.random.default_rng(0)
    asked = rng.random((4000, SIZE)).argsort(axis=1).argsort(axis=1) < 3
    chances = GivenChances.of(asked, np.full(4000, 0.1), own=NOBODY)
    for who, chance in (((0,), 0.6), ((0, 1), 0.3), ((0, 1, 2), 0.1)):
        weights = chances.weights(members(*who, n=4000))
        np.testing.assert_allclose(weights[weights > 0], 1 / chance, rtol=0.15)
        assert weights.mean() == pytest.approx(1.0, abs=0.1)
    np.testing.assert_allclose(chances.cells[:, 2], chances.weights(members(2, n=4000)))


def test_what_was_certain_weighs_one_and_does_not_say_how_sets_are_drawn():
    rng = np.random.default_rng(0)
    asked, propensity = by_policy(rng, rng.uniform(-1, 1, N))
    everybody = np.ones((50, SIZE), dtype=bool)
    both = GivenChances.of(np.vstack([everybody, asked]), np.append(np.ones(50), propensity), own=NOBODY)
    weights = both.weights(members(0, 3, n=N + 50))
    np.testing.assert_array_equal(weights[:50], 1.0)
    np.testing.assert_allclose(
        weights[50:], GivenChances.of(asked, propensity, own=NOBODY).weights(members(0, 3)), rtol=1e-12
    )
    certain = GivenChances.of(asked, np.ones(N), own=NOBODY)
    np.testing.assert_array_equal(certain.weights(members(0, 1)), asked[:, :2].all(axis=1))
    np.testing.assert_array_equal(certain.cells, asked)


def test_a_log_of_everybody_for_certain_needs_no_chances():
    everybody = np.ones((N, SIZE), dtype=bool)
    assert GivenChances.of(everybody, np.ones(N), own=NOBODY) is None
    assert GivenChances.of(everybody, np.full(N, 0.5), own=NOBODY) is not None


def test_who_answers_without_being_asked_is_heard_whatever_was_drawn():
    rng = np.random.default_rng(0)
    own = np.array([True, False, False, False, False])
    asked, propensity = by_policy(rng, rng.uniform(-1, 1, N), open_=~own)
    asked[:, 0] = True
    chances = GivenChances.of(asked, propensity, own=own)
    np.testing.assert_array_equal(chances.weights(members(0)), 1.0)
    np.testing.assert_array_equal(chances.weights(members()), 1.0)
    np.testing.assert_array_equal(chances.weights(members(0, 2)), chances.weights(members(2)))
    # Where the truth has a probability, too, it is not: the mean weight still is one.
    looked = rng.random(N) < 0.5
    asked[~looked] = False
    weights = GivenChances.of(asked, np.where(looked, propensity / 2, np.nan), own=own, looked_up=True).weights(
        members(0)
    )
    assert ((weights > 0) == looked).all()
    assert weights.mean() == pytest.approx(1.0, abs=0.2)


def test_who_is_asked_about_everything_is_no_part_of_what_is_drawn():
    rng = np.random.default_rng(0)
    asked = np.hstack([np.ones((N, 1), dtype=bool), rng.random((N, 4)).argsort(axis=1).argsort(axis=1) < 1])
    chances = GivenChances.of(asked, np.full(N, 0.25), own=NOBODY)
    np.testing.assert_array_equal(chances.weights(members(0)), 1.0)
    np.testing.assert_allclose(chances.weights(members(0, 1)), np.where(asked[:, 1], 4.0, 0.0))


def test_those_always_asked_together_are_drawn_as_one():
    rng = np.random.default_rng(0)
    block = rng.random((N, 1)) < 0.5
    asked = np.hstack([block, block, ~block, ~block, ~block])
    weights = GivenChances.of(asked, np.full(N, 0.5), own=NOBODY).weights(members(0))
    np.testing.assert_allclose(weights, np.where(block[:, 0], 2.0, 0.0))


def test_no_more_are_asked_than_were_and_nobody_else_where_that_was_certain():
    rng = np.random.default_rng(0)
    asked, propensity = by_policy(rng, rng.uniform(-1, 1, N))
    certain = np.arange(N) % 2 == 0
    chances = GivenChances.of(asked, np.where(certain, 1.0, propensity), own=NOBODY)
    assert chances.full(members(0, 1)).all()
    np.testing.assert_array_equal(chances.full(members(0)), certain)


def test_a_tiny_probability_stays_a_number():
    asked = np.eye(SIZE, dtype=bool)[np.arange(N) % SIZE]
    weights = GivenChances.of(asked, np.where(np.arange(N) == 0, 1e-300, 0.2), own=NOBODY).weights(members(0))
    assert np.isfinite(np.square(weights)).all()
    assert effective(weights) == pytest.approx(1.0, abs=0.01)


def test_some_rows_weigh_what_they_do_among_all():
    rng = np.random.default_rng(0)
    chances = GivenChances.of(*by_policy(rng, rng.uniform(-1, 1, N)), own=NOBODY)
    some = np.arange(0, N, 7)
    np.testing.assert_array_equal(chances.rows(some).weights(members(0, 2)[some]), chances.weights(members(0, 2))[some])
    order = rng.random((N, SIZE)).argsort(axis=1)[:, :3]
    inside = np.zeros((N, SIZE), dtype=bool)
    np.put_along_axis(inside, order, values=True, axis=1)
    np.testing.assert_array_equal(chances.prefixes(order)[:, 2], chances.weights(inside))
