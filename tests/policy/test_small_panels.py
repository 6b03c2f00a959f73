"""Small panels, asked by a rule for every set: the same steps in any company, saved and replayed; when it is kept."""

from dataclasses import replace

import numpy as np
import pytest

from askwho import Target, load, save
from askwho.core import Answers
from askwho.data import read_log
from askwho.evaluation import evaluate
from askwho.fitting import fit
from askwho.fitting._small_panels import clearly_better
from askwho.policy import Outcomes
from tests import policies, synthetic
from tests.policies import said, taking_turns


@pytest.fixture(scope="module")
def policy():
    """Features tell the class and there is no base: the pool cannot know, and a model for every set does."""
    policy = fit(read_log(synthetic.known(700), synthetic.COLUMNS), learner="linear", base="none", cv=3)
    assert policy.turns.asking.by_sets
    return policy


@pytest.fixture(scope="module")
def new():
    return synthetic.known(150, seed=1)


def heard(seed=0, n=150):
    rng = np.random.default_rng(seed)
    return rng.random((n, 4)) < rng.random((n, 1))


def few(answers, rows):
    return Answers(answers.values[rows], answers.states[rows])


@pytest.mark.parametrize("fee_weight", [0.0, 0.03, 0.3])
def test_the_same_answers_give_the_same_step_alone_and_in_company(policy, new, fee_weight):
    answers, target = said(policy, new, heard()), Target(fee_weight=fee_weight)
    step = policy.next(new, answers, target)
    for i in range(0, 150, 10):
        alone = policy.next(policies.row(new, i), few(answers, slice(i, i + 1)), target)
        assert alone.k[0] == step.k[i]
        assert alone.ask(0) == step.ask(i)
        assert alone.expected_error[0] == pytest.approx(step.expected_error[i], abs=1e-5)


def test_asking_step_by_step_is_what_the_evaluation_did(policy, new):
    prices = policy.turns.tried.prices
    found = evaluate(policy, read_log(new, synthetic.COLUMNS), draws=2)["sequential"]
    for p in (0, 6, 12):
        target = Target(fee_weight=float(prices[p]))
        asked, _ = taking_turns(policy, new, target)
        assert (asked @ policy.panel.fees).mean() == pytest.approx(found[p]["mean_fee"])
        step = policy.next(new, said(policy, new, asked), target)
        assert (step.outcome.values != new["truth"]).mean() == pytest.approx(found[p]["error"])


def test_a_loaded_policy_takes_the_same_steps(policy, new, tmp_path):
    save(policy, tmp_path / "policy")
    again = load(tmp_path / "policy")
    assert again.turns.asking.by_sets
    answers = said(policy, new, heard(3))
    for target in (Target(fee_weight=0.0), Target(fee_weight=0.07), Target(budget=0.3)):
        mine, other = (each.next(new, answers, target) for each in (policy, again))
        np.testing.assert_array_equal(mine.k, other.k)
        np.testing.assert_array_equal(mine.order, other.order)
        np.testing.assert_array_equal(mine.outcome.probability, other.outcome.probability)


def test_who_is_away_is_never_asked_and_others_are(policy, new):
    there, target = np.array([name != "both" for name in policy.panel.names]), Target(fee_weight=0.0)
    away, _ = taking_turns(policy, new, target, available=there)
    assert not away[:, ~there].any()
    assert away.any(axis=1).all()


def test_who_left_leaves_the_steps_of_others_as_they_were(policy, new):
    left = policy.without("both")
    assert left.turns.asking.by_sets
    kept = np.array([name != "both" for name in policy.panel.names])
    answers = said(policy, new, heard(5) & kept)
    fewer = Answers(answers.values[:, kept], answers.states[:, kept])
    target = Target(fee_weight=0.05)
    mine, other = policy.next(new, answers, target, available=kept), left.next(new, fewer, target)
    assert [mine.ask(i) for i in range(150)] == [other.ask(i) for i in range(150)]
    np.testing.assert_allclose(mine.outcome.probability, other.outcome.probability, atol=1e-5)


def test_committees_that_are_the_same_for_all_are_judged_by_models_that_did_not_see_them(policy, new):
    fixed, whole = policy.turns.tried.fixed, policy.turns.tried
    everybody = np.flatnonzero((fixed.members >= 0).all(axis=1))
    errors = fixed.errors.mean(axis=1)
    asked = np.ones((150, 4), dtype=bool)
    came = (policy.next(new, said(policy, new, asked), Target(fee_weight=0.0)).outcome.values != new["truth"]).mean()
    assert len(everybody) <= 1
    assert errors.min() == pytest.approx(min(came, whole.errors.mean(axis=1).min()), abs=0.04)


# When it is kept.


def outcomes(errors, fees, groups=None):
    return Outcomes(np.array([0.0, 1.0]), errors, fees, np.ones(errors.shape, dtype=np.intp), groups)


def test_one_is_clearly_better_by_more_than_a_standard_error_of_groups():
    rng = np.random.default_rng(0)
    errors, fees = (rng.random((2, 400)) < 0.3).astype(float), np.full((2, 400), 0.5)
    luck = np.where(rng.random(400) < 0.5, 0.1, -0.08)
    one, other = outcomes(errors, fees), outcomes(errors + luck, fees)
    assert clearly_better(one, other)
    assert not clearly_better(other, one)
    assert not clearly_better(one, one)
    # The same rows, of which a few groups hold all the luck, tell less.
    together = np.argsort(np.argsort(luck)) // 100
    assert not clearly_better(replace(one, groups=together), replace(other, groups=together))
    # What is paid counts at its price.
    assert clearly_better(one, outcomes(errors, fees + 0.01))


def test_where_the_pool_knows_all_that_there_is_to_know_it_stays():
    assert not policies.fitted("classes").turns.asking.by_sets


@pytest.mark.parametrize("kind", ["holes", "numbers", "free answers"])
def test_what_the_rule_cannot_do_is_left_to_the_plainer_one(kind):
    if kind == "holes":
        table = synthetic.known(500)
        table["answer_both"] = np.where(np.arange(500) % 5 == 0, None, table["answer_both"])
        asking = fit(read_log(table, synthetic.COLUMNS), learner="linear", base="none", cv=3).turns.asking
    else:
        asking = policies.fitted(kind).turns.asking
    assert not asking.by_sets
