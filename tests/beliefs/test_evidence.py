import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from askwho.beliefs import Evidence, Heard

# Evidence below e^-8 is taken for e^-8, and so adds this much at the most.
CUT = 4e-4


@st.composite
def worlds(draw):
    """Any evidence, and any answers it may meet: candidates behind the trained ones too."""
    n, size, trained = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(2, 5))
    classes = trained + draw(st.integers(0, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    wild = draw(st.sampled_from([0.1, 1.0, 5.0]))
    prior = wild * rng.normal(size=(n, classes))
    prior = np.maximum(prior - np.log(np.exp(prior).sum(axis=1, keepdims=True)), np.log(1e-9))
    prior -= np.log(np.exp(prior).sum(axis=1, keepdims=True))
    info = np.where(rng.random((n, size)) < 0.3, np.nan, rng.normal(size=(n, size)))
    heard = Heard(rng.integers(-1, classes, (n, size)), rng.random((n, size)), prior.astype(np.float32), info)
    evidence = Evidence(
        wild * rng.normal(size=(size, 10)),
        wild * rng.normal(size=size),
        wild * rng.normal(size=(size, trained)),
        rng.normal(size=size),
        rng.uniform(0.1, 2, size),
        np.sort(rng.normal(size=(size, 4)), axis=1),
        rng.normal(size=(size, trained, trained)).astype(np.float32),
        rng.random(size) < 0.2,
    )
    return evidence, heard


@given(worlds())
def test_the_prior_with_one_answer_is_a_distribution(world):
    evidence, heard = world
    found = np.exp(heard.prior[:, None, :] + evidence.of(heard))
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found.sum(axis=2), 1.0, atol=CUT + 1e-4)


@given(worlds())
def test_who_says_nothing_tells_nothing(world):
    evidence, heard = world
    found = evidence.of(heard)
    assert (found[heard.codes < 0] == 0).all()
    assert (found[:, evidence.silent] == 0).all()


@given(worlds())
def test_an_answer_is_believed_as_its_author_deserves(world):
    evidence, heard = world
    row, entity = np.nonzero((heard.codes >= 0) & ~evidence.silent)
    said = heard.codes[row, entity]
    found = np.exp(heard.prior[row, said] + evidence.of(heard)[row, entity, said])
    odds = evidence.log_odds(heard)[row, entity]
    np.testing.assert_allclose(found, 1 / (1 + np.exp(-odds)), atol=CUT)


@given(worlds(), st.randoms(use_true_random=False))
def test_queries_and_entities_may_come_in_any_order(world, random):
    evidence, heard = world
    n, size = heard.codes.shape
    rows, who = random.sample(range(n), n), random.sample(range(size), size)
    mixed = Heard(heard.codes[rows][:, who], heard.expected[rows][:, who], heard.prior[rows], heard.info[rows][:, who])
    parts = (evidence.weights, evidence.bias, evidence.by_class, evidence.centre, evidence.scale, evidence.knots)
    other = Evidence(*(part[who] for part in parts), evidence.confusion[who], evidence.silent[who])
    np.testing.assert_allclose(other.of(mixed), evidence.of(heard)[rows][:, who], atol=1e-5)


def past(n=1500, seed=0):
    """Three classes; one expert whose `info` tells how sure it is, and who mistakes class 2 for class 1."""
    rng = np.random.default_rng(seed)
    truth, info = rng.integers(0, 3, n), rng.random(n)
    wrong = np.where(truth == 2, 1, (truth + rng.integers(1, 3, n)) % 3)
    said = np.where(rng.random(n) < 0.35 + 0.6 * info, truth, wrong)
    prior = np.full((n, 3), np.log(1 / 3), dtype=np.float32)
    return Heard(said[:, None], np.full((n, 1), 0.35), prior, info[:, None]), truth


@pytest.fixture(scope="module")
def evidence():
    heard, truth = past()
    return Evidence.fit(heard, truth, silent=np.zeros(1, dtype=bool), named=True)


def one(said, info=np.nan, classes=3):
    prior = np.full((1, classes), np.log(1 / classes), dtype=np.float32)
    return Heard(np.array([[said]]), np.full((1, 1), 0.35), prior, np.full((1, 1), info))


def test_what_comes_with_an_answer_raises_belief_where_it_tells_something(evidence):
    chances = [1 / (1 + np.exp(-evidence.log_odds(one(0, info))[0, 0])) for info in (0.05, 0.5, 0.95)]
    assert np.diff(chances).min() > 0.1
    assert chances[-1] > 0.8
    silent = 1 / (1 + np.exp(-evidence.log_odds(one(0))[0, 0]))
    assert chances[0] < silent < chances[-1]


def test_the_chance_of_being_right_is_as_it_turns_out(evidence):
    heard, truth = past(seed=1)
    chance = 1 / (1 + np.exp(-evidence.log_odds(heard)[:, 0]))
    right = heard.codes[:, 0] == truth
    for low, high in ((0.0, 0.5), (0.5, 0.7), (0.7, 1.0)):
        inside = (chance >= low) & (chance < high)
        assert inside.sum() > 100
        assert abs(chance[inside].mean() - right[inside].mean()) < 0.07


def test_mistakes_that_were_seen_before_are_expected_again(evidence):
    found = np.exp(one(1).prior + evidence.of(one(1))[:, 0])[0]
    assert found[2] > 1.5 * found[0]


def test_an_answer_that_training_never_saw_is_a_candidate(evidence):
    strange = one(3, classes=4)
    found = np.exp(strange.prior + evidence.of(strange)[:, 0])[0]
    assert found.argmax() == 3
    assert found.sum() == pytest.approx(1.0, abs=CUT)


def test_places_in_a_row_have_no_habits():
    heard, truth = past()
    places = Evidence.fit(heard, truth, silent=np.zeros(1, dtype=bool), named=False)
    assert not places.confusion.any()
    assert not places.by_class.any()
    odds = [places.log_odds(one(said, 0.5))[0, 0] for said in range(3)]
    assert np.ptp(odds) < 1e-6


@pytest.mark.parametrize("info", [np.inf, -np.inf])
def test_what_is_not_finite_tells_nothing(evidence, info):
    assert evidence.log_odds(one(0, info)) == pytest.approx(evidence.log_odds(one(0)))
    heard, truth = past()
    heard.info[::7] = info
    again = Evidence.fit(heard, truth, silent=np.zeros(1, dtype=bool), named=True)
    assert np.isfinite(again.of(heard)).all()


@pytest.mark.parametrize("constant", [0.0, 0.1, 0.3, 0.95, 1e6])
def test_the_first_change_in_what_never_changed_moves_nothing_far(constant):
    heard, truth = past()
    heard.info[:] = constant
    evidence = Evidence.fit(heard, truth, silent=np.zeros(1, dtype=bool), named=True)
    before, now = (evidence.log_odds(one(0, info))[0, 0] for info in (constant, constant + 0.05))
    assert abs(now - before) < 0.1


@pytest.mark.parametrize("always", [True, False])
def test_who_was_always_right_or_always_wrong_is_not_taken_to_be_so_for_ever(always):
    heard, truth = past(50)
    heard.codes[:, 0] = truth if always else (truth + 1) % 3
    evidence = Evidence.fit(heard, truth, silent=np.zeros(1, dtype=bool), named=True)
    odds = evidence.log_odds(one(0))[0, 0]
    assert odds == pytest.approx(np.log(51) if always else -np.log(51))


def test_who_never_answered_is_even():
    heard, truth = past(50)
    heard.codes[:] = -1
    evidence = Evidence.fit(heard, truth, silent=np.zeros(1, dtype=bool), named=True)
    assert evidence.log_odds(one(0))[0, 0] == 0.0
    assert not evidence.of(heard).any()
