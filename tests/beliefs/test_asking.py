import itertools
from dataclasses import replace

import numpy as np
import pytest

from askwho.beliefs import NEVER, Asking, Beliefs, Pool, in_turn, worth_asking
from askwho.beliefs._asking import _between_prices
from tests.beliefs import worlds

PRICES = np.array([0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3, 1.0, 10.0])


def learned(beliefs, case, *, fees=None, entities=None, asked=None, free_start=False, random_state=0):
    n, size = case.codes.shape
    entities = np.arange(size) if entities is None else entities
    return Asking.fit(
        beliefs.pool.only(entities),
        case,
        asked=np.ones((n, size), dtype=bool) if asked is None else asked,
        fees=np.tile(np.ones(size) if fees is None else fees, (n, 1)),
        prices=PRICES,
        entities=entities,
        free_start=free_start,
        random_state=random_state,
    )


def turns(asking, case, fee_weight, *, fees=None, asked=None):
    n, size = case.codes.shape
    return in_turn(
        asking,
        case,
        fees=np.tile(np.ones(size) if fees is None else fees, (n, 1)),
        fee_weights=[fee_weight],
        asked=np.ones((n, size), dtype=bool) if asked is None else asked,
    ).at(0)


def one_by_one(asking, case, fee_weight, fees, asked):
    """Whom one price asks about each query, by the rule itself and nothing that prices share, and what is known."""
    small, n = case.only(asking.entities), len(case)
    order, known = np.full((n, asking.depth), -1), np.ones(n, dtype=bool)
    for row in range(n):
        state = asking.pool.nothing(small, np.array([row]))
        for level in range(asking.depth):
            change, _ = asking.changes(small, state, fees[[row]][:, asking.entities], fee_weight)
            best = int(change[0].argmin())
            if change[0, best] >= (0 if level or asking.free_start else NEVER):
                break
            known[row] = asked[row, asking.entities[best]]
            if not known[row]:
                break
            order[row, level] = asking.entities[best]
            state = asking.pool.hear(small, state, best)
    return order, known


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("free_start", [False, True])
def test_prices_that_go_together_ask_as_each_does_alone(jury, once, free_start):
    beliefs, case, _ = jury
    some = case.rows(np.arange(200))
    asking = learned(beliefs, case, free_start=free_start)
    # One price of which only the first is asked, among others of which not.
    asking = replace(asking, once=np.arange(len(PRICES)) == 1 if once else None)
    rng = np.random.default_rng(0)
    fees, asked = rng.uniform(0.1, 1.0, (200, 3)), rng.random((200, 3)) < 0.8
    prices = [0.0, *PRICES[1:3], 0.03, 0.2]
    found = in_turn(asking, some, fees=fees, fee_weights=prices, asked=asked)
    assert len(found.rows) < 200 * len(prices)
    assert (np.unique(np.column_stack([found.rows, found.order, found.known]), axis=0).shape[0]) == len(found.rows)
    for p, price in enumerate(prices):
        order, known = one_by_one(asking, some, price, fees, asked)
        ends = found.place[p]
        np.testing.assert_array_equal(found.rows[ends], np.arange(200))
        np.testing.assert_array_equal(found.order[ends], order)
        np.testing.assert_array_equal(found.known[ends], known)
        alone = in_turn(asking, some, fees=fees, fee_weights=[price], asked=asked).at(0)
        np.testing.assert_array_equal(alone.believed, found.at(p).believed)
        np.testing.assert_array_equal(alone.paid(fees), found.paid(fees)[ends])
    assert not found.known.all()


@pytest.fixture(scope="module")
def jury():
    """One who is right in 85 of 100, and two in 75: one of these can never overrule the first, both together do."""
    truth, said = worlds.independent(1500, worlds.habits((0.85, 0.75, 0.75), 2))
    beliefs, case = worlds.taught(said, truth)
    return beliefs, case, truth


def test_it_asks_on_where_only_two_more_answers_could_change_anything(jury):
    beliefs, case, _ = jury
    both, alone = learned(beliefs, case), learned(beliefs, case, entities=np.array([0, 1]))
    fees = np.array([0.1, 1.0, 1.0])
    ahead, blind = (turns(rule, case, 0.012, fees=fees) for rule in (both, alone))
    assert (ahead.order[:, 0] == 0).mean() > 0.95
    # With nobody to come after it, one more answer is worth nothing; with one to come, it is.
    assert (blind.asked > 1).mean() < 0.1
    assert (ahead.asked > 1).mean() > 0.95
    disagree = (ahead.asked > 1) & (case.codes[:, 0] != case.codes[np.arange(1500), ahead.order[:, 1]])
    assert (ahead.asked == 3)[disagree].mean() > 0.9
    assert (ahead.asked == 3)[~disagree].mean() < 0.5


def test_looking_ahead_pays(jury):
    beliefs, case, truth = jury
    weight, fees = 0.012, np.array([0.1, 1.0, 1.0])
    costs = []
    for entities in (None, np.array([0, 1])):
        done = turns(learned(beliefs, case, entities=entities), case, weight, fees=fees)
        paid = done.paid(np.tile(fees, (1500, 1)))
        costs.append((done.believed.argmax(axis=1) != truth).mean() + weight * paid.mean())
    assert costs[0] < costs[1] - 0.01


@pytest.fixture(scope="module")
def panel():
    truth, said = worlds.independent(700, worlds.habits((0.6, 0.7, 0.8, 0.55), 3))
    beliefs, case = worlds.taught(said, truth)
    fees = np.array([0.2, 0.4, 1.0, 0.1])
    return beliefs, case, truth, fees, learned(beliefs, case, fees=fees)


def test_dearer_money_asks_less(panel):
    _, case, truth, fees, rule = panel
    paid, lost = [], []
    for weight in PRICES:
        done = turns(rule, case, weight, fees=fees)
        paid.append(done.paid(np.tile(fees, (700, 1))).mean())
        lost.append((done.believed.argmax(axis=1) != truth).mean())
    assert all(b <= a + 0.02 for a, b in itertools.pairwise(paid))
    assert all(b >= a - 0.02 for a, b in itertools.pairwise(lost))
    assert paid[0] > 1.4
    assert lost[0] < lost[-1] - 0.15


def test_where_money_alone_decides_the_cheapest_is_asked_and_nobody_else(panel):
    _, case, _, fees, rule = panel
    done = turns(rule, case, 1000.0, fees=fees)
    assert (done.order[:, 0] == 3).all()
    assert (done.asked == 1).all()


def test_where_money_alone_decides_and_something_is_known_nobody_is_asked(panel):
    beliefs, case, _, fees, _ = panel
    free = learned(beliefs, case, fees=fees, free_start=True)
    assert (turns(free, case, 1000.0, fees=fees).asked == 0).all()
    assert (turns(free, case, 0.0, fees=fees).asked > 1).mean() > 0.9


def test_nobody_is_asked_twice(panel):
    _, case, _, fees, rule = panel
    order = turns(rule, case, 0.0, fees=fees).order
    for row in order[:200]:
        asked = row[row >= 0]
        assert len(set(asked.tolist())) == len(asked)
    assert ((np.diff((order >= 0).astype(int), axis=1)) <= 0).all()


def test_members_and_fees_are_those_of_the_order(panel):
    beliefs, case, _, fees, rule = panel
    done = turns(rule, case, 0.02, fees=fees)
    members = done.members(4)
    np.testing.assert_array_equal(members.sum(axis=1), done.asked)
    np.testing.assert_allclose(done.paid(np.tile(fees, (700, 1))), members @ fees)
    for row, asked in zip(done.order, members, strict=True):
        assert set(np.flatnonzero(asked)) == set(row[row >= 0].tolist())
    np.testing.assert_allclose(done.believed, worlds.after(beliefs, case, members), atol=1e-4)


def test_an_answer_the_log_does_not_have_ends_the_row_unscored(panel):
    _, case, _, fees, rule = panel
    there = np.ones((700, 4), dtype=bool)
    first = turns(rule, case, 0.02, fees=fees).order[:, 0]
    there[:300][np.arange(300), first[:300]] = False
    done = turns(rule, case, 0.02, fees=fees, asked=there)
    assert not done.known[:300].any()
    assert done.known[300:].all()


def test_the_same_seed_learns_the_same(panel):
    beliefs, case, *_ = panel
    few = case.rows(np.arange(200))
    first, again, other = (learned(beliefs, few, random_state=seed) for seed in (0, 0, 1))
    for one, two in zip(first.gains, again.gains, strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first.gains[0], other.gains[0])


def test_between_two_prices_the_rule_is_between_them_and_beyond_the_last_it_is_the_last(panel):
    beliefs, case, _, _, rule = panel
    state = beliefs.pool.nothing(case, np.arange(50))
    free = np.zeros((50, 4))

    def change(weight):
        return rule.changes(case, state, free, weight)[0]

    np.testing.assert_allclose(change(0.03), (2 * change(0.02) + change(0.05)) / 3, atol=1e-5)
    np.testing.assert_allclose(change(50.0), change(10.0), atol=1e-6)


def test_weights_at_several_prices_have_the_bits_of_each_alone(panel):
    asking = panel[-1]
    prices = [0.0, 0.003, 0.01, 0.07, 0.9, 50.0]
    around = [np.array(each) for each in zip(*map(asking._between, prices), strict=True)]
    for stage, gains in enumerate(asking.gains):
        together = _between_prices(gains, *around)
        for p, price in enumerate(prices):
            np.testing.assert_array_equal(together[:, p], asking._gains(stage, price).T)


def test_few_answers_a_row_still_teach_the_first_questions():
    truth, said = worlds.independent(900, worlds.habits((0.6, 0.7, 0.9, 0.55, 0.5), 3))
    asked = np.random.default_rng(0).random(said.shape).argsort(axis=1).argsort(axis=1) < 2
    states = np.where(asked, worlds.ANSWERED, worlds.NOT_ASKED)
    beliefs, case = worlds.taught(said, truth, states=states)
    rule = learned(beliefs, case, asked=asked)
    assert len(rule.bases) == 2
    whole = worlds.told(beliefs, said, (said != truth[:, None]).mean(axis=0))
    done = turns(rule, whole, 0.1)
    assert (done.order[:, 0] == 2).mean() > 0.95
    assert (done.believed.argmax(axis=1) != truth).mean() < 0.15


def test_nobody_to_ask_is_no_rule():
    truth, said = worlds.independent(300, worlds.habits((0.6, 0.7), 3))
    beliefs, case = worlds.taught(said, truth)
    rule = learned(beliefs, case, entities=np.array([], dtype=np.intp), free_start=True)
    assert not rule.bases
    assert (turns(rule, case, 0.0).asked == 0).all()


def of_eight(copies):
    """Eight experts, the last of whom repeats the first where `copies`."""
    truth, said = worlds.independent(600, worlds.habits((0.8, 0.7, 0.7, 0.65, 0.65, 0.6, 0.6, 0.8), 3))
    if copies:
        said[:, 7] = said[:, 0]
    beliefs, case = worlds.taught(said, truth)
    return worth_asking(
        beliefs.pool, case, truth, asked=np.ones(said.shape, dtype=bool), fees=np.full(8, 0.1), prices=PRICES
    )


def test_who_repeats_another_is_not_worth_asking():
    assert {0, 7} <= set(of_eight(copies=False).tolist())
    found = set(of_eight(copies=True).tolist())
    assert len(found & {0, 7}) == 1
    assert len(found) > 2


def test_who_knows_what_the_best_was_not_asked_about_is_worth_asking():
    truth, said = worlds.independent(900, worlds.habits((0.9, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.34), 3))
    unseen = np.arange(900) < 180
    said[unseen, 7] = truth[unseen]
    asked = np.ones(said.shape, dtype=bool)
    asked[unseen, 0] = False
    # The last guesses, but for queries of a kind that the first was never asked about; and that is known beforehand.
    expected = np.tile([0.1, *[0.4] * 6, 0.66], (900, 1))
    expected[unseen, 7] = 0.02
    states = np.where(asked, worlds.ANSWERED, worlds.NOT_ASKED)
    beliefs, case = Beliefs.fit(worlds.answers(said, states), truth, expected=expected, fold=np.arange(900) % 3)
    found = worth_asking(beliefs.pool, case, truth, asked=asked, fees=np.full(8, 0.1), prices=PRICES)
    assert {0, 7} <= set(found.tolist())


def test_small_panels_are_asked_whole_but_for_who_never_spoke(panel):
    beliefs, case, truth, fees, _ = panel
    asked = np.ones((700, 4), dtype=bool)
    found = worth_asking(beliefs.pool, case, truth, asked=asked, fees=fees, prices=PRICES)
    assert found.tolist() == [0, 1, 2, 3]
    mute = replace(case, codes=np.where(np.arange(4) == 1, -1, case.codes))
    found = worth_asking(beliefs.pool, mute, truth, asked=asked, fees=fees, prices=PRICES)
    assert found.tolist() == [0, 2, 3]


def test_those_worth_asking_are_believed_by_their_own_weights_until_somebody_else_answers(jury):
    beliefs, case, _ = jury
    few = np.array([0, 2])
    own = Pool(np.array([3.0, -0.5]), beliefs.pool.sources)
    rule = Asking(few, PRICES, [], [], free_start=False, pool=own)
    both, everybody = (np.isin(np.arange(3), who) & np.ones((len(case), 3), dtype=bool) for who in (few, range(3)))
    small = case.only(few)
    theirs = own.probabilities(small, own.hear_all(small, both[:, few]))
    np.testing.assert_array_equal(rule.believe(beliefs.pool, case, both), theirs)
    shared = beliefs.pool.probabilities(case, beliefs.pool.hear_all(case, everybody))
    np.testing.assert_array_equal(rule.believe(beliefs.pool, case, everybody), shared)
    mixed = np.where((np.arange(len(case)) % 2 == 0)[:, None], both, everybody)
    expected = np.where((np.arange(len(case)) % 2 == 0)[:, None], theirs, shared)
    np.testing.assert_allclose(rule.believe(beliefs.pool, case, mixed), expected, rtol=1e-6)
    # Who was asked and said nothing changes nothing.
    quiet = replace(case, codes=np.where(np.arange(3) == 1, -1, case.codes))
    np.testing.assert_array_equal(rule.believe(beliefs.pool, quiet, everybody), theirs)
