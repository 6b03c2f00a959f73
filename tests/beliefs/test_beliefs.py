import numpy as np
import pytest

from askwho import Panel
from askwho.aggregation import Committee, aggregation
from askwho.core import select_top_k
from tests.beliefs import worlds

RIGHT = (0.9, 0.7, 0.65, 0.6)


@pytest.fixture(scope="module")
def habits():
    return worlds.habits(RIGHT, 3)


@pytest.fixture(scope="module")
def beliefs(habits):
    return worlds.taught(*worlds.independent(1200, habits)[::-1])[0]


def masked(said, seed=0):
    """Everybody's answers, but some were not asked, and some of those asked did not answer."""
    rng = np.random.default_rng(seed)
    states = rng.choice([worlds.ANSWERED, worlds.NOT_ASKED, worlds.NO_ANSWER], said.shape, p=[0.6, 0.3, 0.1])
    states[np.arange(len(said)), rng.integers(0, said.shape[1], len(said))] = worlds.ANSWERED
    return states


def committee_of(said, states):
    panel = Panel.two_stage([f"e{j}" for j in range(1, said.shape[1])])
    errors = np.tile(1 - np.array(RIGHT), (len(said), 1))
    selection = select_top_k(-errors, said.shape[1], panel=panel)
    heard = worlds.answers(said, np.where(states == worlds.NOT_ASKED, worlds.NO_ANSWER, states))
    return Committee.of(selection, heard, expected_errors=errors, n_classes=3)


def test_whoever_has_answered_it_is_no_worse_than_a_vote(beliefs, habits):
    truth, said = worlds.independent(1500, habits, seed=1)
    states = masked(said)
    case = worlds.told(beliefs, said, 1 - np.array(RIGHT), states=states)
    found = worlds.after(beliefs, case, states != worlds.NOT_ASKED)
    decided, sure = beliefs.decide(case, found, worlds.answers(said, states), states != worlds.NOT_ASKED)
    ours = (decided != truth).mean()
    for name in ("majority", "log-odds-vote"):
        vote = aggregation(name)(committee_of(said, states))
        assert ours <= (vote.values[:, -1] != truth).mean()
    assert abs(sure.mean() - (1 - ours)) < 0.04


def test_committees_of_every_size_are_those_of_their_members(beliefs, habits):
    _, said = worlds.independent(60, habits, seed=2)
    states = masked(said)
    members = committee_of(said, states)
    case = worlds.told(beliefs, said, 1 - np.array(RIGHT), states=states)
    verdicts, sure = beliefs.verdicts(members, case)
    np.testing.assert_array_equal(verdicts.decided, members.decided)
    for k in range(1, 5):
        heard = np.zeros(said.shape, dtype=bool)
        np.put_along_axis(heard, members.order[:, :k], np.bool_(1), axis=1)
        found = worlds.after(beliefs, case, heard)
        np.testing.assert_array_equal(verdicts.values[:, k - 1], found.argmax(axis=1))
        np.testing.assert_allclose(sure[:, k - 1], found.max(axis=1), atol=1e-5)


def test_a_mask_hides_an_answer_as_if_it_had_not_been_given(beliefs, habits):
    _, said = worlds.independent(80, habits, seed=3)
    states = masked(said)
    other = np.where(states == worlds.ANSWERED, said, (said + 1) % 3)
    errors = 1 - np.array(RIGHT)
    one, two = (worlds.told(beliefs, values, errors, states=states) for values in (said, other))
    np.testing.assert_array_equal(one.evidence, two.evidence)
    np.testing.assert_array_equal(one.codes, two.codes)


def test_the_same_seed_teaches_the_same(habits):
    truth, said = worlds.independent(150, habits)
    once, twice = (worlds.taught(said, truth, random_state=3)[0].pool for _ in range(2))
    np.testing.assert_array_equal(once.members, twice.members)
    np.testing.assert_array_equal(once.sources, twice.sources)


def test_text_and_numbers_are_believed_alike(habits):
    truth, said = worlds.independent(200, habits)
    words = np.array(["ant", "bee", "cat"])
    states = masked(said)
    found = []
    for names in (np.arange(3), words):
        beliefs, _ = worlds.taught(names[said], names[truth])
        case = worlds.told(beliefs, names[said], 1 - np.array(RIGHT), states=states)
        answers = worlds.answers(names[said], states)
        found.append(beliefs.decide(case, worlds.after(beliefs, case, states == 0), answers, states == 0))
    np.testing.assert_array_equal(words[found[0][0]], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-6)


def test_what_training_never_saw_can_win_and_says_so_in_its_own_words(beliefs):
    said = np.array([[7, 7, 7, 7], [9, 9, 1, 9], [8, 7, 7, 7], [0, 1, 2, 7], [1, 1, 1, 1]])
    case = worlds.told(beliefs, said, np.full(4, 0.05))
    everyone = np.ones(said.shape, dtype=bool)
    decided, sure = beliefs.decide(case, worlds.after(beliefs, case, everyone), worlds.answers(said), everyone)
    assert decided[0] == 7
    assert decided[1] == 9
    assert decided[4] == 1
    assert (sure > 0).all()
    np.testing.assert_allclose(worlds.after(beliefs, case, everyone).sum(axis=1), 1.0, atol=1e-5)


def test_what_is_said_of_other_queries_does_not_matter(beliefs):
    rng = np.random.default_rng(0)
    said = rng.integers(0, 3, (300, 4))
    said[:, 0] = np.arange(100, 400)
    everyone = np.ones(said.shape, dtype=bool)
    errors = 1 - np.array(RIGHT)
    together = worlds.told(beliefs, said, errors)
    # One place for the one strange answer of each row: what is believed does not grow with the batch.
    assert together.prior.shape == (300, 4)
    decided, sure = beliefs.decide(together, worlds.after(beliefs, together, everyone), worlds.answers(said), everyone)
    for i in range(0, 300, 29):
        rows = slice(i, i + 1)
        case = worlds.told(beliefs, said[rows], errors)
        found = beliefs.decide(
            case, worlds.after(beliefs, case, everyone[rows]), worlds.answers(said[rows]), everyone[rows]
        )
        assert found[0][0] == decided[i]
        assert found[1][0] == pytest.approx(sure[i], abs=1e-6)


def open_answers(n, seed, first):
    """Every query has an answer of its own; wrong ones differ too, unless they are the popular mistake."""
    rng = np.random.default_rng(seed)
    truth = first + 10 * np.arange(n)
    wrong = truth[:, None] + np.where(rng.random((n, 4)) < 0.3, 9, rng.integers(1, 9, (n, 4)))
    return truth, np.where(rng.random((n, 4)) < RIGHT, truth[:, None], wrong)


@pytest.fixture(scope="module")
def unnamed():
    truth, said = open_answers(1200, 0, first=0)
    return worlds.taught(said, truth)[0]


def test_where_every_answer_is_new_agreement_is_believed(unnamed):
    assert len(unnamed.classes) == 0
    truth, said = open_answers(1000, 1, first=10**6)
    case, everyone = worlds.told(unnamed, said, 1 - np.array(RIGHT)), np.ones(said.shape, dtype=bool)
    found = worlds.after(unnamed, case, everyone)
    decided, sure = unnamed.decide(case, found, worlds.answers(said), everyone)
    best = (said[:, 0] != truth).mean()
    assert (decided != truth).mean() < best
    assert (decided == said.T).any(axis=0).all()
    assert abs(sure.mean() - (decided == truth).mean()) < 0.05


def test_only_what_was_said_by_those_asked_can_be_answered(unnamed):
    # An expert who is nearly always wrong: each answer nobody gave yet is likelier than its own.
    _, said = open_answers(200, 2, first=10**6)
    case = worlds.told(unnamed, said, np.full(4, 0.999))
    for entity in range(4):
        heard = np.zeros(said.shape, dtype=bool)
        heard[:, entity] = True
        decided, sure = unnamed.decide(case, worlds.after(unnamed, case, heard), worlds.answers(said), heard)
        np.testing.assert_array_equal(decided, said[:, entity])
        assert (sure > 0).all()
    nobody = np.zeros(said.shape, dtype=bool)
    _, sure = unnamed.decide(case, worlds.after(unnamed, case, nobody), worlds.answers(said), nobody)
    assert (sure == 0).all()


def test_the_base_is_the_prior_and_says_nothing_more():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 900)
    leaning = np.where(rng.random(900) < 0.8, truth, 1 - truth)
    share = np.where(leaning == 1, 0.8, 0.2)
    shares = np.column_stack([1 - share, share])
    other = np.where(rng.random(900) < 0.7, truth, 1 - truth)
    said = np.column_stack([leaning, other])
    beliefs, case = worlds.taught(said, truth, base=0, shares=shares)
    assert beliefs.evidence.silent.tolist() == [True, False]
    assert (case.codes[:, 0] == -1).all()
    assert not case.evidence[:, 0].any()
    nobody = beliefs.pool.probabilities(case, beliefs.pool.nothing(case, np.arange(900)))
    np.testing.assert_allclose(nobody, shares, atol=0.01)
    heard = np.ones(said.shape, dtype=bool)
    agree = leaning == other
    sure = worlds.after(beliefs, case, heard).max(axis=1)
    assert sure[agree].mean() > 0.85
    assert abs(sure[agree].mean() - (leaning == truth)[agree].mean()) < 0.05


def test_what_comes_with_answers_is_used():
    rng = np.random.default_rng(0)
    truth, said = worlds.independent(1500, worlds.habits((0.6, 0.6, 0.6), 3))
    info = np.where(said == truth[:, None], 1.0, 0.0) + rng.normal(0, 0.5, said.shape)
    new_truth, new = worlds.independent(1000, worlds.habits((0.6, 0.6, 0.6), 3), seed=1)
    new_info = np.where(new == new_truth[:, None], 1.0, 0.0) + rng.normal(0, 0.5, new.shape)
    errors, everyone = np.full(3, 0.4), np.ones(new.shape, dtype=bool)
    lost = []
    for given, then in ((None, None), (info, new_info)):
        beliefs, _ = worlds.taught(said, truth, info=given)
        found = worlds.after(beliefs, worlds.told(beliefs, new, errors, info=then), everyone)
        lost.append((found.argmax(axis=1) != new_truth).mean())
    assert lost[1] < 0.6 * lost[0]
