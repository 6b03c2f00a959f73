"""Small panels, asked by a rule for every set: the same steps in any company, saved and replayed; when it is kept."""

from dataclasses import replace

import numpy as np
import pytest

from askwho import Target, load, save
from askwho.beliefs import Sets
from askwho.core import Answers, elementwise_error
from askwho.data import Columns, read_log
from askwho.evaluation import evaluate
from askwho.fitting import _small_panels, fit
from askwho.fitting._small_panels import _fits, clearly_better
from askwho.policy import Outcomes
from askwho.replay import Replay
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


# At once.


TRIAGE = {"urgent": {"soon": 5.0, "home": 20.0}, "soon": {"home": 6.0}}
NURSES = Columns(
    truth="truth", answers="answer_*", features="x_*", fees={"form": 0.0, "nurse": 0.1, "doctor": 0.3}, error=TRIAGE
)


def triage(n, seed=0):
    """Columns of a log of who needs what, seen by three through one haze: what they share is no news."""
    rng = np.random.default_rng(seed)
    x, haze = rng.normal(size=(n, 2)), rng.normal(size=n)
    need = x[:, 0] + rng.normal(size=n)
    names = np.array(["home", "soon", "urgent"])
    table = {"x_0": x[:, 0], "x_1": x[:, 1], "truth": names[np.digitize(need, (1.0, 2.3))]}
    for name, own in (("form", 1.0), ("nurse", 0.6), ("doctor", 0.4)):
        table[f"answer_{name}"] = names[np.digitize(need + 0.8 * haze + own * rng.normal(size=n), (1.0, 2.3))]
    return table


@pytest.fixture(scope="module")
def nurses():
    """A policy that knows that whoever is sent home wrongly costs most, and new rows."""
    policy = fit(read_log(triage(900), NURSES), learner="linear", base="none", cv=3)
    assert policy.combiner.beliefs.sets is not None
    return policy, triage(2500, seed=1)


def costs(policy, table, target):
    decisions = policy.decide(table, target)
    said = policy.combine(decisions, {**table, "id": decisions.ids}).outcome.values
    return elementwise_error(said, table["truth"], read_log(table, NURSES).scored_by)


def test_at_once_models_of_sets_cost_no_more_than_the_pool(nurses):
    policy, table = nurses
    combiner = policy.combiner
    pooled = replace(policy, combiner=replace(combiner, beliefs=replace(combiner.beliefs, sets=None)))
    ours, theirs = (costs(each, table, Target(k=3)) for each in (policy, pooled))
    assert (ours != theirs).any()
    assert ours.mean() < theirs.mean()


def test_where_mistakes_are_alike_the_pool_decides_at_once():
    policy = fit(read_log(triage(400), replace(NURSES, error="auto")), learner="linear", base="none", cv=3)
    assert policy.combiner.beliefs.sets is None


def test_what_is_replayed_at_once_is_what_is_combined(nurses):
    policy, table = nurses
    held = Replay.of(policy, read_log(table, NURSES))
    for k in (1, 2, 3):
        decisions = policy.decide(held.seen, Target(k=k))
        np.testing.assert_array_equal(held.errors(decisions.order)[:, k - 1], costs(policy, table, Target(k=k)))


def test_decisions_that_were_read_back_are_combined_the_same(nurses):
    policy, table = nurses
    decisions = policy.decide(table, Target(fee_weight=0.05))
    again = policy.read(decisions.to_columns())
    answers = {**table, "id": decisions.ids}
    mine, other = (policy.combine(each, answers).outcome for each in (decisions, again))
    np.testing.assert_array_equal(mine.values, other.values)
    np.testing.assert_allclose(mine.probability, other.probability, atol=1e-6)


def test_a_loaded_policy_decides_the_same_at_once(nurses, tmp_path):
    policy, table = nurses
    save(policy, tmp_path / "policy")
    again = load(tmp_path / "policy")
    np.testing.assert_array_equal(*(costs(each, table, Target(fee_weight=0.1)) for each in (policy, again)))


def test_the_pool_stays_where_models_of_sets_are_clearly_worse(monkeypatch):
    honest = Sets.fit

    def misled(*given, **more):
        sets, case = honest(*given, **more)
        return sets, replace(case, believed=np.roll(case.believed, 1, axis=2))

    monkeypatch.setattr(Sets, "fit", misled)
    policy = fit(read_log(triage(400), NURSES), learner="linear", base="none", cv=3)
    assert policy.combiner.rule == "posterior"
    assert policy.combiner.beliefs.sets is None


def test_a_model_for_every_set_is_learned_where_it_is_not_too_large(policy, monkeypatch):
    replay = Replay.of(policy, read_log(synthetic.known(50), policy.columns))
    case = replay.believed()[1]
    known, classes = 0 if case.known is None else case.known.shape[1], len(case.labels)
    weights = 2**4 * (known + classes * (1 + 3 * 4)) * classes
    for most, fits in ((weights, True), (weights - 1, False)):
        monkeypatch.setattr(_small_panels, "_MOST_WEIGHTS", most)
        assert _fits(replay, case, 4) == fits
    # One class is nothing to tell apart, however small the model.
    assert not _fits(replay, replace(case, labels=case.labels[:1]), 4)
