"""How likely those were asked who were: known designs, found again from the rows alone."""

import numpy as np
import pytest

from askwho.core import Answers
from askwho.policy import LearnedChances, effective, learn_looked_up
from askwho.policy._learned_chances import _coupled, _joint

N, SIZE = 3000, 5


def world(seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=(N, 3)).astype(np.float32)


def members(*who):
    inside = np.zeros((N, SIZE), dtype=bool)
    inside[:, who] = True
    return inside


def at_random(rng, X):  # noqa: ARG001 - features have no say
    return rng.random((N, SIZE)) < 0.4, None


def by_a_feature(rng, X):
    return rng.random((N, SIZE)) < np.where(X[:, :1] > 0, 0.25, 0.75), None


def three_a_row(rng, X):  # noqa: ARG001 - likewise
    return rng.random((N, SIZE)).argsort(axis=1).argsort(axis=1) < 3, None


def three_who_spoke(rng, X):
    """Whoever is asked last follows from the others, whatever they say."""
    said = rng.integers(0, 3, (N, SIZE))
    asked = three_a_row(rng, X)[0]
    return asked, Answers(said, np.where(asked, 0, 1).astype(np.int8))


def one_by_odds(rng, X):
    keys = (
        rng.gumbel(size=(N, SIZE)) + np.array([0.0, 0.5, 1.0, 0.0, 0.0]) + 0.8 * X[:, :1] * np.array([1, 0, 0, 0, -1])
    )
    return keys.argsort(axis=1).argsort(axis=1) == SIZE - 1, None


def in_blocks(rng, X):  # noqa: ARG001 - likewise
    block = rng.random((N, 1)) < 0.5
    return np.hstack([block, block, rng.random((N, 3)) < 0.6]), None


def by_an_answer(rng, X):  # noqa: ARG001 - likewise
    said = rng.integers(0, 3, (N, SIZE))
    asked = rng.random((N, SIZE)) < np.where(said[:, :1] == 0, 0.25, 0.75)
    asked[:, 0] = True
    return asked, Answers(said, np.where(asked, 0, 1).astype(np.int8))


def where_two_disagree(rng, X):  # noqa: ARG001 - likewise
    said = rng.integers(0, 3, (N, SIZE))
    asked = rng.random((N, SIZE)) < np.where(said[:, :1] == said[:, 1:2], 0.3, 0.8)
    asked[:, :2] = True
    return asked, Answers(said, np.where(asked, 0, 1).astype(np.int8))


def where_those_disagree_who_were_heard(rng, X):  # noqa: ARG001 - likewise
    """Each is asked more often where those differ who were asked before."""
    said, asked = rng.integers(0, 3, (N, SIZE)), np.zeros((N, SIZE), dtype=bool)
    asked[:, 0] = True
    for j in range(1, SIZE):
        differ = (asked[:, :j] & (said[:, :j] != said[:, :1])).any(axis=1)
        asked[:, j] = rng.random(N) < np.where(differ, 0.8, 0.9 - 0.2 * j)
    return asked, Answers(said, np.where(asked, 0, 1).astype(np.int8))


DESIGNS = [
    at_random,
    by_a_feature,
    three_a_row,
    three_who_spoke,
    one_by_odds,
    in_blocks,
    by_an_answer,
    where_two_disagree,
    where_those_disagree_who_were_heard,
]


def by_a_confidence(rng):
    """The next is asked where the one before was unsure, as in a cascade."""
    info, asked = rng.random((N, SIZE)), np.ones((N, SIZE), dtype=bool)
    for j in range(1, SIZE):
        asked[:, j] = rng.random(N) < np.where(info[:, (j - 1) // 2] < 0.4, 0.9, 0.3)
    info = np.where(asked, info, np.nan)
    return asked, Answers(rng.integers(0, 3, (N, SIZE)), np.where(asked, 0, 1).astype(np.int8)), info, info[:, 0] < 0.4


def by_a_number(rng):
    """Others are asked where the first one's number is large."""
    said, asked = rng.normal(size=(N, SIZE)), np.ones((N, SIZE), dtype=bool)
    asked[:, 1:] = rng.random((N, SIZE - 1)) < np.where(said[:, :1] > 0.5, 0.9, 0.3)
    return asked, Answers(said, np.where(asked, 0, 1).astype(np.int8)), None, said[:, 0] > 0.5


def where_two_numbers_lie_apart(rng):
    """Others are asked where the first two are far from each other."""
    said, asked = rng.normal(size=(N, SIZE)), np.ones((N, SIZE), dtype=bool)
    far = np.abs(said[:, 0] - said[:, 1]) > 1.5
    asked[:, 2:] = rng.random((N, SIZE - 2)) < np.where(far[:, None], 0.9, 0.3)
    return asked, Answers(said, np.where(asked, 0, 1).astype(np.int8)), None, far


def where_two_free_answers_differ(rng):
    """Others are asked where the first two do not agree, in words that hardly ever come again."""
    said, asked = np.tile(np.arange(N)[:, None], (1, SIZE)), np.ones((N, SIZE), dtype=bool)
    said = np.where(rng.random((N, SIZE)) < 0.6, said, N + rng.integers(0, N, (N, SIZE)))
    differ = said[:, 0] != said[:, 1]
    asked[:, 2:] = rng.random((N, SIZE - 2)) < np.where(differ[:, None], 0.9, 0.3)
    return asked, Answers(said.astype(str), np.where(asked, 0, 1).astype(np.int8)), None, differ


def where_two_free_answers_differ_of_three(rng):
    """The same where the second is asked about some queries alone."""
    asked, answers, _, differ = where_two_free_answers_differ(rng)
    asked[:, 1] = rng.random(N) < 0.85
    asked[:, 2:] = rng.random((N, SIZE - 2)) < np.where((asked[:, 1] & differ)[:, None], 0.8, 0.4)
    return asked, Answers(answers.values, np.where(asked, 0, 1).astype(np.int8)), None, differ


BY_WHAT_WAS_HEARD = [
    by_a_confidence,
    by_a_number,
    where_two_numbers_lie_apart,
    where_two_free_answers_differ,
    where_two_free_answers_differ_of_three,
]


@pytest.mark.parametrize("design", BY_WHAT_WAS_HEARD, ids=lambda design: design.__name__)
@pytest.mark.parametrize("who", [(2,), (1, 2), (0, 1, 3)], ids=str)
def test_whoever_was_asked_by_what_was_heard_is_weighed_for_it(design, who):
    """Confidences come back with answers, which may be numbers or free words: asking goes by all of them."""
    rng, X = world()
    asked, answers, info, went_by = design(rng)
    chances = LearnedChances.learn(X, asked, np.arange(N), answers=answers, info=info)
    weights = chances.weights(members(*who))
    rows = effective(weights)
    assert weights.sum() / N == pytest.approx(1.0, abs=0.15)
    assert np.average(went_by, weights=weights) == pytest.approx(went_by.mean(), abs=4 * went_by.std() / np.sqrt(rows))


def test_truths_that_were_looked_up_where_somebody_was_unsure_are_weighed_for_it():
    rng, X = world()
    info = np.where(np.arange(SIZE) == 0, rng.random((N, SIZE)), np.nan)
    answers = Answers(rng.integers(0, 3, (N, SIZE)), np.zeros((N, SIZE), dtype=np.int8))
    audited = rng.random(N) < np.where(info[:, 0] < 0.4, 0.8, 0.2)
    found = learn_looked_up(X, audited, np.arange(N), answers=answers, info=info)
    assert np.average(info[:, 0] < 0.4, weights=audited / found) == pytest.approx(0.4, abs=0.05)


def test_truths_that_were_looked_up_where_those_differ_who_happened_to_be_asked_are_weighed_for_it():
    """What somebody said who was not asked about every query may be why one looked, too."""
    rng, X = world()
    said, asked = rng.integers(0, 3, (N, SIZE)), rng.random((N, SIZE)) < 0.6
    differ = np.array([len(set(row[there])) > 1 for row, there in zip(said, asked, strict=True)])
    answers = Answers(said, np.where(asked, 0, 1).astype(np.int8))
    audited = rng.random(N) < np.where(differ, 0.8, 0.25)
    found = learn_looked_up(X, audited, np.arange(N), answers=answers)
    assert np.average(differ, weights=audited / found) == pytest.approx(differ.mean(), abs=0.03)
    chances = LearnedChances.learn(X, asked, np.arange(N), answers=answers, looked_up=found).where(audited)
    weights = chances.weights(members(1, 2))
    assert ((weights > 0) == audited & asked[:, [1, 2]].all(axis=1)).all()
    # All of those who were asked beside those two had a say in it, and so they have it in the weights.
    same = said[:, 1] == said[:, 2]
    assert np.average(same, weights=weights) == pytest.approx(same.mean(), abs=0.05)
    in_front = chances.behind(1)
    np.testing.assert_array_equal(in_front.weights(np.hstack([members(1)[:, :1], members(1, 2)])), weights)


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.__name__)
@pytest.mark.parametrize("who", [(0,), (2,), (1, 2), (0, 1, 3)], ids=str)
def test_weighed_rows_stand_for_all_of_them(design, who):
    rng, X = world()
    asked, answers = design(rng, X)
    chances = LearnedChances.learn(X, asked, np.arange(N), answers=answers)
    weights = chances.weights(members(*who))
    rows = effective(weights)
    if design is one_by_odds and len(who) > 1:
        assert rows == 0
        return
    assert ((weights > 0) == asked[:, who].all(axis=1)).all()
    assert weights.sum() / N == pytest.approx(1.0, abs=0.15)
    # What asking went by has its own mean again, to within what so many effective rows can tell.
    came = [X[:, 0]] if answers is None else [answers.values[:, 0] == 0, answers.values[:, 0] != answers.values[:, 1]]
    for each in came:
        assert np.average(each, weights=weights) == pytest.approx(each.mean(), abs=4 * each.std() / np.sqrt(rows))


@pytest.mark.parametrize("rows", [300, N])
@pytest.mark.parametrize("smooth", [True, False])
def test_those_who_are_mostly_left_alone_with_what_they_are_bad_at_are_weighed_for_it(rows, smooth):
    """Each is asked by a feature of his own, as people are: where he hardly is, few rows stand for many."""
    shares = []
    for seed in range(4):
        rng, X = world(seed)
        own = X[:rows, np.arange(SIZE) % 3]
        chance = 1 / (1 + np.exp(1.4 * own)) if smooth else np.where(own > 0, 0.2, 0.8)
        asked = rng.random(own.shape) < chance
        cells = LearnedChances.learn(X[:rows], asked, np.arange(rows)).cells
        shares.append((cells * (own > 0)).sum(axis=0) / cells.sum(axis=0) - (own > 0).mean(axis=0))
    # Four draws of five people: of 300 rows thirty are of what one is seldom asked about, at five times the weight.
    assert np.mean(shares) == pytest.approx(0.0, abs=0.05)


def test_a_set_that_no_row_has_weighs_nothing():
    rng, X = world()
    chances = LearnedChances.learn(X, three_a_row(rng, X)[0], np.arange(N))
    assert not chances.weights(members(0, 1, 2, 3)).any()


def test_draws_of_a_given_number_are_not_independent():
    rng, X = world()
    chances = LearnedChances.learn(X, three_a_row(rng, X)[0], np.arange(N))
    pair = chances.weights(members(0, 1))
    assert 1 / pair[pair > 0].mean() == pytest.approx(3 / 5 * 2 / 4, abs=0.02)


def test_nobody_is_asked_beside_as_many_as_ever_are():
    rng, X = world()
    three = LearnedChances.learn(X, three_a_row(rng, X)[0], np.arange(N))
    assert three.full(members(0, 2, 4)).all()
    assert not three.full(members(0, 2)).any()
    # Where draws are independent anybody might have been.
    assert not LearnedChances.learn(X, at_random(rng, X)[0], np.arange(N)).full(members(0, 1, 2, 3)).any()


@pytest.mark.parametrize(("rows", "most", "seed"), [(500, 3, 0), (4_000, 1, 8)])
def test_whom_the_others_settle_is_not_asked_by_what_they_said(rows, most, seed):
    """Who is left out follows from the others: of few rows a line is far from saying so, and the longer one nearer.

    Of many rows both are nearly perfect, and the longer one may be better by a hair on all of them alike.
    """
    rng = np.random.default_rng(seed)
    asked = rng.random((rows, SIZE)).argsort(axis=1).argsort(axis=1) < most
    answers = Answers(rng.integers(0, 4, (rows, SIZE)), np.where(asked, 0, 1).astype(np.int8))
    chances = LearnedChances.learn(rng.normal(size=(rows, 2)), asked, np.arange(rows), answers=answers)
    assert chances.odds is not None


def test_a_log_of_everybody_needs_no_chances():
    _, X = world()
    assert LearnedChances.learn(X, np.ones((N, SIZE), dtype=bool), np.arange(N)) is None


def test_a_few_rows_in_one_group_have_chances_too():
    _, X = world()
    asked = np.tile([[True, False], [True, True]], (6, 1))
    chances = LearnedChances.learn(X[:12], asked, np.zeros(12))
    assert chances.weights(np.ones((12, 2), dtype=bool)).sum() == pytest.approx(12)


def test_some_rows_weigh_what_they_do_among_all():
    rng, X = world()
    chances = LearnedChances.learn(X, three_a_row(rng, X)[0], np.arange(N))
    some = np.arange(0, N, 7)
    np.testing.assert_array_equal(chances.rows(some).weights(members(0, 2)[some]), chances.weights(members(0, 2))[some])


def test_an_answer_weighs_what_its_asking_owes_to_those_before():
    rng, X = world()
    unsure, asked = rng.random((N, 3)), np.ones((N, 3), dtype=bool)
    asked[:, 1] = rng.random(N) < np.where(unsure[:, 0] < 0.5, 0.8, 0.3)
    asked[:, 2] = asked[:, 1] & (rng.random(N) < np.where(unsure[:, 1] < 0.5, 0.8, 0.3))
    answers = Answers(rng.integers(0, 3, (N, 3)), np.where(asked, 0, 1).astype(np.int8))
    info = np.where(asked, unsure, np.nan)
    learned = LearnedChances.learn(X, asked, np.arange(N), answers=answers, info=info)
    for weights in (learned.cells, learned.stabilised):
        np.testing.assert_array_equal(weights > 0, asked)
        # The last follows from the first, too, though only through the second.
        for j, before in ((1, 0), (2, 0), (2, 1)):
            seen = asked[:, j]
            assert abs(unsure[seen, before].mean() - 0.5) > 0.05
            assert np.average(unsure[seen, before], weights=weights[seen, j]) == pytest.approx(0.5, abs=0.035)
    # Beside the features an answer weighs as a row, more or less.
    assert learned.stabilised[asked].mean() == pytest.approx(1.0, abs=0.05)
    some = np.arange(0, N, 7)
    np.testing.assert_array_equal(learned.rows(some).stabilised, learned.stabilised[some])


def test_beside_the_features_no_row_weighs_more_where_nothing_else_had_a_say():
    rng, X = world()
    asked = by_a_feature(rng, X)[0]
    np.testing.assert_array_equal(LearnedChances.learn(X, asked, np.arange(N)).stabilised, asked.astype(float))


def test_prefixes_are_sets():
    rng, X = world()
    chances = LearnedChances.learn(X, by_a_feature(rng, X)[0], np.arange(N))
    order = rng.random((N, SIZE)).argsort(axis=1)[:, :3]
    each = chances.prefixes(order)
    for k in range(3):
        inside = np.zeros((N, SIZE), dtype=bool)
        np.put_along_axis(inside, order[:, : k + 1], values=True, axis=1)
        np.testing.assert_array_equal(each[:, k], chances.weights(inside))


def test_effective_rows_are_kishs():
    assert effective(np.ones(40)) == pytest.approx(40)
    assert effective(np.array([1.0, 1.0, 0.0])) == pytest.approx(2)
    assert effective(np.array([3.0, 1.0])) == pytest.approx(16 / 10)
    assert effective(np.ones(6), np.array([0, 0, 0, 1, 2, 3])) == pytest.approx(36 / 12)
    assert effective(np.zeros(3)) == 0


def test_numbers_a_row_that_never_came_have_no_chance():
    rng = np.random.default_rng(0)
    columns = rng.random((600, 4)).argsort(axis=1) < 2
    odds, sizes = _coupled(np.full((600, 4), 0.5), columns)
    assert (sizes > 0).tolist() == [False, False, True, False, False]
    np.testing.assert_allclose(_joint(odds, sizes, np.ones((600, 4), dtype=bool)), 0.0)
