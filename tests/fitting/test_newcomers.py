"""Somebody new by a few answers: moved as far as the variances say, asked, heard, explained, saved; and who changed."""

from dataclasses import replace

import numpy as np
import pytest

from askwho import Target, calibrate, evaluate, load, read_log, save, teaching_questions, with_expert
from askwho.core import Cell
from askwho.exceptions import InvalidInputError
from askwho.fitting._skill import Skill, _noise
from tests import synthetic
from tests.persistence.alike import same_decisions, same_state, same_verdicts
from tests.policies import fitted, promising, queries

KINDS = ["classes", "votes", "own base", "numbers", "fees by query", "free answers", "many classes", "grades"]
FREE = ("free answers", "many classes")


def column(policy, name):
    return f"{'grade' if policy.columns.answers is None else 'answer'}_{name}"


def expert(kind, n, seed, *, chance=0.9, name="novice"):
    """Rows with what is known, the truth, and somebody who is right with some chance; nobody else's answers."""
    table, rng = queries(kind, n, seed=seed), np.random.default_rng(seed)
    right = rng.random(n) < chance
    known = {each: values for each, values in table.items() if each.startswith("x_") or each == "truth"}
    if kind == "grades":
        return known | {f"grade_{name}": right.astype(float)}
    if kind == "numbers":
        return known | {f"answer_{name}": table["truth"] + np.where(right, 0.05, 2.0) * rng.normal(size=n)}
    return known | {f"answer_{name}": np.where(right, table["truth"], rng.permutation(table["truth"])).astype(object)}


def grown(kind, n=30, **given):
    return with_expert(fitted(kind), "novice", expert(kind, n, 3, **given), fee=0.1)


def whole(kind, n=60):
    """New rows of the whole panel, the novice's column in front of all others."""
    return expert(kind, n, 9) | queries(kind, n, seed=9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_newcomer_is_asked_heard_explained_and_judged(kind):
    policy = grown(kind)
    assert policy.panel.names == (*fitted(kind).panel.names, "novice")
    table = whole(kind)
    if kind == "fees by query":
        table["fee_novice"] = np.full(60, 0.1)
    # Of numbers one in the panel is all but never off, of grades one is as good as he: beside them nobody new is asked.
    better = {"numbers": "both", "grades": "dear"}.get(kind)
    there = [name for name in policy.panel.names if name != better] if better else None
    decided = policy.decide(table, Target(fee_weight=0.0), available=there)
    assert decided.members[:, -1].any()
    assert np.isfinite(decided.expected_error).all()
    # One query is decided as it is in company.
    for i in range(5):
        one = {name: values[i : i + 1] for name, values in table.items()}
        alone = policy.decide(one, Target(fee_weight=0.0), available=there)
        np.testing.assert_array_equal(alone.order[0], decided.order[i])
        assert alone.k[0] == decided.k[i]
        np.testing.assert_allclose(alone.expected_error[0], decided.expected_error[i], rtol=1e-6)
    reason = next(each for each in policy.why(decided).reasons if each.name == "novice")
    assert reason.uncertainty is not None
    assert reason.uncertainty > 0
    assert "\u00b1" in str(policy.why(decided))
    if kind != "grades":
        done = policy.combine(decided, table, by_position=True)
        assert done.outcome is not None
        assert done.outcome.decided.all()
    found = evaluate(policy, read_log(table, policy.columns), draws=20)
    assert [each["name"] for each in found["entities"]][-1] == "novice"


@pytest.mark.parametrize("kind", ["classes", "numbers", "grades", "fees by query"])
def test_saved_and_loaded_it_decides_the_same(kind, tmp_path):
    policy = grown(kind)
    save(policy, tmp_path / "policy")
    again = load(tmp_path / "policy")
    same_state(policy, again)
    same_decisions(policy, again, whole(kind), (Target(fee_weight=0.0), Target(fee_weight=0.3), Target(k=1)))
    if kind != "grades":
        same_verdicts(policy, again, whole(kind))


def test_nobody_else_moves():
    old, new = fitted("classes"), grown("classes")
    table = queries("classes")
    np.testing.assert_array_equal(new.see(table).expected[:, :-1], old.see(table).expected)
    # Where he is not among the first, neither does what a committee is expected to get.
    far = new.decide(table, Target(fee_weight=0.05), available=list(old.panel.names))
    before = old.decide(table, Target(fee_weight=0.05))
    np.testing.assert_array_equal(far.order[:, : far.k.max()], before.order[:, : far.k.max()])
    np.testing.assert_array_equal(far.k, before.k)


def test_he_begins_as_the_average_and_moves_towards_what_he_answers():
    policy = fitted("classes")
    skill = Skill.of_a_stranger(policy)
    learned = policy.judge.learned(policy.past.queries)
    design = np.hstack([np.ones((len(learned), 1)), learned])
    # Half-way from what the others err on each query to what they err on all of them.
    np.testing.assert_allclose(design @ skill.mean, (learned.mean(axis=1) + learned.mean()) / 2)
    levels = []
    for n in (1, 10, 100):
        told = skill.told(learned[:n], np.zeros(n))
        levels.append(float((design @ told.mean).mean()))
    assert learned.mean() > levels[0] > levels[1] > levels[2]
    # The panel's own members are as far from the average as is thought of a stranger.
    spread = np.einsum("nf,fg,ng->n", design, skill.covariance, design)
    assert np.var(learned, axis=1, ddof=1).mean() <= spread.mean() <= 2 * np.var(learned, axis=1, ddof=1).mean()


def test_who_is_better_than_all_errs_less_everywhere_nearly_in_proportion():
    """Errors are never below 0: all right answers leave no query on which he is thought to err less than not at all."""
    policy = fitted("classes")
    learned = policy.judge.learned(policy.past.queries)
    alike = np.tile(learned.mean(axis=1, keepdims=True), (1, learned.shape[1]))
    told = Skill.of_a_stranger(policy).told(alike[:100], np.zeros(100))
    share = (np.hstack([np.ones((len(alike), 1)), alike]) @ told.mean) / alike[:, 0]
    assert 0 < share.min() < 0.5
    np.testing.assert_allclose(share, share.mean(), rtol=0.15)


def test_somebody_whom_no_query_is_hard_for_is_found_out():
    """He errs as often on what the others find easy as on what they find hard."""
    policy = fitted("classes")
    alike = np.tile(np.linspace(0.05, 0.75, 600)[:, None], (1, len(policy.panel)))
    begins = Skill.of_a_stranger(policy)
    rng = np.random.default_rng(0)
    same, as_they = (
        begins.told(alike, (rng.random(len(alike)) < chance).astype(float)).mean
        for chance in (np.full(len(alike), alike.mean()), alike[:, 0])
    )
    slopes = [float(mean[1:].sum()) for mean in (same, begins.mean, as_they)]
    assert slopes[0] < slopes[1] < slopes[2]


def test_a_stranger_weighs_what_the_pool_draws_everybody_to():
    """His own weight is nothing beyond the common one, whatever those of a few colleagues happen to be."""
    assert fitted("classes").combiner.beliefs.pool.members.any()
    assert grown("classes").combiner.beliefs.pool.members[-1] == 0.0


def test_answers_at_once_and_in_two_parts_tell_the_same():
    policy = fitted("classes")
    skill, rng = Skill.of_a_stranger(policy), np.random.default_rng(0)
    learned = policy.judge.learned(policy.past.queries)[:80]
    errors = (rng.random(80) < 0.9).astype(float)
    at_once, first = skill.told(learned, errors), skill.told(learned[:40], errors[:40])
    design = np.hstack([np.ones((80, 1)), learned])
    apart = np.abs(design @ (at_once.mean - first.told(learned[40:], errors[40:]).mean)).max()
    assert apart < 0.1 < np.abs(design @ (skill.mean - at_once.mean)).max()


def test_who_errs_like_somebody_is_expected_to_err_where_he_does():
    """Forty answers of one who is good on the left alone: he is known to be, although no feature was learned anew."""
    table = synthetic.classification(40, seed=4)
    policy = with_expert(fitted("classes"), "novice", table | {"answer_novice": table["answer_left"]}, fee=0.1)
    new = synthetic.classification(300, seed=5)
    expected, left = policy.see(new).expected[:, -1], new["x_0"] < 0
    assert expected[left].mean() < expected[~left].mean() - 0.2


def ten_right(policy, seed, chance):
    """Ten answers, right with some chance, and the share of the best expert's queries that the novice then takes."""
    table, rng = synthetic.classification(10, seed=seed), np.random.default_rng(seed)
    other = np.where(table["truth"] == "cat", "dog", "cat")
    said = np.where(rng.random(10) < chance, table["truth"], other)
    new = with_expert(policy, "novice", table | {"answer_novice": said}, fee=float(policy.panel.fees[2]))
    seen = new.see_encoded(policy.past.queries)
    first = new.decide(seen, Target(k=1, fee_weight=0.0)).order[:, 0]
    return float((first == len(policy.panel)).mean())


def test_ten_lucky_answers_do_not_take_a_proven_experts_queries():
    """He is as good as the panel in the mean, and as dear as the best: that he asks a tenth of his queries is luck."""
    policy = fitted("votes")
    mean = 1.0 - float(np.mean(policy.facts.entity_errors))
    shares = [ten_right(policy, seed, mean) for seed in range(60)]
    assert np.mean(shares) < 0.1
    assert np.mean([ten_right(policy, seed, 1.0) for seed in range(20)]) < 0.1


def test_uncertainty_falls_with_answers_and_is_said_of_nobody_else():
    few, many = grown("classes", 10), grown("classes", 200)
    table = queries("classes")
    one, other = (policy.judge.deviations(policy.see(table).X) for policy in (few, many))
    assert other[:, -1].mean() < one[:, -1].mean()
    assert np.isnan(one[:, :-1]).all()


def test_more_answers_of_a_newcomer_move_him_on():
    first = grown("classes", 20, chance=0.9)
    again = with_expert(first, "novice", expert("classes", 60, 11, chance=0.2))
    assert again.panel == first.panel
    assert again.facts.entity_errors[-1] > first.facts.entity_errors[-1] + 0.2
    assert np.nanmean(again.judge.deviations(again.past.queries)) < np.nanmean(
        first.judge.deviations(first.past.queries)
    )


def test_somebody_who_was_upgraded_is_moved_and_who_was_not_stays():
    policy = fitted("classes")
    better = with_expert(policy, "noise", expert("classes", 50, 3, chance=0.97, name="noise"))
    place = policy.panel.index("noise")
    assert better.panel == policy.panel
    assert better.facts.entity_errors[place] < 0.2 < policy.facts.entity_errors[place]
    assert better.decide(queries("classes"), Target(fee_weight=0.05)).members[:, place].mean() > 0.5
    table = synthetic.classification(50, seed=6)
    same = with_expert(policy, "noise", {name: table[name] for name in ("x_0", "x_1", "x_2", "truth", "answer_noise")})
    assert abs(same.facts.entity_errors[place] - policy.facts.entity_errors[place]) < 0.05


def test_everybody_may_change():
    policy = fitted("grades")
    for name in ("cheap", "dear"):
        policy = with_expert(policy, name, queries("grades", 40, seed=8))
    assert np.isfinite(policy.decide(queries("grades"), Target(fee_weight=0.1)).expected_error).all()


def test_names_of_any_letters_and_empty_cells():
    table = expert("classes", 30, 3, name="新来的")
    table["answer_新来的"][:15] = None
    table["truth"] = table["truth"].astype(object)
    table["truth"][29] = None
    policy = with_expert(fitted("classes"), "新来的", table, fee=0.2)
    assert policy.panel.names[-1] == "新来的"
    assert policy.columns.fees["新来的"] == 0.2
    told = {name: values[15:29] for name, values in table.items()}
    alone = with_expert(fitted("classes"), "新来的", told, fee=0.2)
    np.testing.assert_array_equal(policy.judge.newcomers.coefficients, alone.judge.newcomers.coefficients)


def test_beliefs_are_of_any_who_answered():
    """Whoever is silent says nothing: the same answers without a newcomer are believed as before."""
    old, new, table = fitted("classes"), grown("classes"), whole("classes")
    decided = new.decide(table, Target(k=4))
    assert new.combiner.rule == old.combiner.rule == "posterior"
    seen = new.see(table)
    heard = seen.answers(new.panel)
    values = np.column_stack([table[f"answer_{name}"] for name in new.panel.names])
    states = np.where(np.arange(5) < 4, Cell.ANSWERED, Cell.NOT_ASKED) * np.ones((60, 1))
    said = replace(heard, values=values, states=states.astype(np.int8))
    before = replace(said, values=values[:, :4], states=said.states[:, :4])
    classes = np.array(["cat", "dog", "owl"])
    ours = new.combiner.distribution(new.panel, seen, said, classes)
    theirs = old.combiner.distribution(old.panel, old.see(table), before, classes)
    np.testing.assert_allclose(ours, theirs, atol=1e-6)
    done = new.combine(decided, table, by_position=True)
    assert np.mean(done.outcome.values == table["truth"]) > 0.8


def test_a_newcomers_answers_count():
    new, table = grown("classes", 50), whole("classes", 300)
    with_him, without_him = (
        new.combine(new.decide(table, Target(fee_weight=0.0), available=names), table, by_position=True)
        for names in (["noise", "novice"], ["noise"])
    )
    right = [np.mean(done.outcome.values == table["truth"]) for done in (with_him, without_him)]
    assert right[0] > right[1] + 0.3


def test_nothing_is_promised_until_fresh_rows_calibrate():
    policy = with_expert(promising("classes"), "novice", expert("classes", 30, 3), fee=0.1)
    target = Target(budget=1.2, confidence=0.9)
    assert promising("classes").setting(target)
    with pytest.raises(InvalidInputError, match="confidence"):
        policy.setting(target)
    assert policy.setting(Target(budget=1.2))
    table = expert("classes", 500, 21) | queries("classes", 500, seed=21)
    assert calibrate(policy, read_log(table, policy.columns)).setting(target)


def test_asked_in_turn_nobody_new_is_asked_but_heard():
    policy = grown("classes")
    table = whole("classes")
    nothing = {name: values for name, values in table.items() if name.startswith("x_")}
    step = policy.next(nothing, target=Target(fee_weight=0.0))
    assert (step.order[step.k > 0, 0] < 4).all()
    told = policy.next(nothing | {"answer_novice": table["answer_novice"]}, target=Target(fee_weight=1e6))
    assert np.mean(told.outcome.values == table["truth"]) > 0.6


def test_the_questions_that_teach_most_leave_least_uncertain():
    policy, table = fitted("classes"), synthetic.classification(300, seed=12)
    chosen = teaching_questions(policy, table, count=8)
    assert len(set(chosen.tolist())) == 8
    learned, skill = policy.judge.learned(policy.see(table).X), Skill.of_a_stranger(policy)
    design = np.hstack([np.ones((300, 1)), learned])

    def left(rows):
        told = skill.told(learned[rows], np.zeros(len(rows)))
        return float(np.einsum("nf,fg,ng->n", design, told.covariance, design).mean())

    rng = np.random.default_rng(0)
    at_random = [left(rng.choice(300, 8, replace=False)) for _ in range(30)]
    assert left(chosen) < min(at_random)
    # Of somebody of whom something is known other questions are open.
    assert teaching_questions(grown("classes"), table, "novice", count=3).shape == (3,)
    assert teaching_questions(policy, table, "left", count=3).shape == (3,)


@pytest.mark.parametrize(
    ("change", "given", "says"),
    [
        ({}, {}, "`fee` must be said of 'novice', got none"),
        ({}, {"fee": -1.0}, "`fee` must be"),
        ({"answer_novice": None}, {"fee": 1.0}, "`log` must have the column 'answer_novice' of 'novice'"),
        ({"answer_novice": np.full(20, None)}, {"fee": 1.0}, "`log` must hold something of 'novice'"),
        ({"answer_novice": np.arange(20.0)}, {"fee": 1.0}, "`truth` must be of the answers' type"),
        ({"x_0": None}, {"fee": 1.0}, "x_0"),
    ],
)
def test_messages(change, given, says):
    table = expert("classes", 20, 3) | change
    table = {name: values for name, values in table.items() if values is not None}
    with pytest.raises(InvalidInputError, match=says):
        with_expert(fitted("classes"), "novice", table, **given)


def test_who_answers_for_itself_and_who_ranks_by_scores_are_refused():
    with pytest.raises(InvalidInputError, match="must be somebody who is asked, got 'base'"):
        with_expert(fitted("own base"), "base", expert("own base", 20, 3, name="base"))
    with pytest.raises(InvalidInputError, match="`count` must be"):
        teaching_questions(fitted("classes"), queries("classes"), count=0)


def test_what_was_not_answered_is_no_part_of_how_errors_vary():
    errors = np.random.default_rng(0).uniform(0.0, 0.6, (400, 3))
    holes = np.concatenate([errors, np.full((400, 3), np.nan)])
    # The variance of a uniform number, as a part of m (1 − m).
    assert _noise(errors, most=1.0) == pytest.approx(0.03 / 0.21, abs=0.02)
    assert _noise(holes, most=1.0) == pytest.approx(_noise(errors, most=1.0))


@pytest.mark.parametrize("kind", ["classes", "own base", "many classes", "free answers", "votes"])
def test_a_truth_that_the_panel_never_had_is_one_that_he_did_not_say(kind):
    table = expert(kind, 30, 3)
    table["truth"] = table["truth"].astype(object)
    table["truth"][-1] = "what nobody ever said"
    grown_by_it = with_expert(fitted(kind), "novice", table, fee=0.1)
    without = with_expert(fitted(kind), "novice", {name: values[:-1] for name, values in table.items()}, fee=0.1)
    expected = [policy.see(whole(kind)).expected[:, -1].mean() for policy in (grown_by_it, without)]
    assert np.isfinite(expected).all()
    assert expected[0] > expected[1]
