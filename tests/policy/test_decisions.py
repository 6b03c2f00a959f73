"""Decisions: what they are called, what they cost, how answers find them again, and that they survive a file."""

import dataclasses
import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest

from askwho import Answers, InvalidInputError, Target
from askwho.core import Cell
from askwho.data import read_log
from askwho.fitting import fit
from tests import policies, synthetic

try:
    import torch  # noqa: F401
except ImportError:
    EVERY = policies.ANSWERED
else:
    EVERY = [*policies.ANSWERED, policies.PRICED]


def answered(policy, table, ids):
    """What came back to some decisions: the experts' answers in the log's columns, beside the ids."""
    outside = [entity.name for entity in policy.panel.entities if not entity.own]
    return {"id": ids} | {f"answer_{name}": table[f"answer_{name}"] for name in outside}


def same(one, other):
    """Whether two outcomes are one."""
    for name in ("decided", "heard"):
        np.testing.assert_array_equal(getattr(one.outcome, name), getattr(other.outcome, name))
    if one.unit.root:
        np.testing.assert_allclose(one.outcome.values, other.outcome.values, rtol=1e-9)
    else:
        np.testing.assert_array_equal(one.outcome.values, other.outcome.values)
    np.testing.assert_allclose(one.outcome.paid, other.outcome.paid, rtol=1e-12)
    # Six digits of what a base thinks are written.
    np.testing.assert_allclose(one.outcome.probability, other.outcome.probability, atol=1e-5)


# What queries are called.


def test_ids_are_given_or_found_in_a_column_or_made_up(policy, new):
    few = {name: values[:3] for name, values in new.items()}
    target = Target(k=1)
    assert policy.decide(few, target, ids=["a", "b", "c"]).ids.tolist() == ["a", "b", "c"]
    assert policy.decide(few | {"id": np.array([7, 8, 9])}, target).ids.tolist() == ["7", "8", "9"]
    # What is given is meant, whatever the table says.
    assert policy.decide(few | {"id": np.array([7, 8, 9])}, target, ids=[1, 2, 3]).ids.tolist() == ["1", "2", "3"]
    made = [policy.decide(few, target).ids.tolist() for _ in range(2)]
    assert len({*made[0], *made[1]}) == 6
    assert policy.next(few | {"id": list("xyz")}, None, Target(fee_weight=0.1)).ids.tolist() == ["x", "y", "z"]
    assert policy.decide(policy.see(few), target, ids=["a", "b", "c"])[1].id == "b"


def test_ids_are_found_in_the_logs_own_column():
    table = synthetic.classification(60) | {"who": np.arange(60) + 100, "id": np.zeros(60)}
    policy = fit(read_log(table, dataclasses.replace(synthetic.COLUMNS, id="who")), learner="linear", base="none", cv=2)
    decisions = policy.decide(table, Target(k=1))
    assert decisions.ids.tolist()[:2] == ["100", "101"]
    came = answered(policy, table, np.arange(60)) | {"who": np.arange(60)[::-1] + 100}
    values = policy.combine(decisions, came).outcome.values
    first = policies.said(policy, table).values[::-1][np.arange(60), decisions.order[:, 0]]
    np.testing.assert_array_equal(values, first)


@pytest.mark.parametrize("ids", [[7, 8, 9], np.array([7, 8, 9]), [7.0, 8.0, 9.0], np.array([7.0, 8.0, 9.0]), "789"])
def test_a_whole_number_is_the_same_id_in_every_file(policy, new, ids):
    few = {name: values[:3] for name, values in new.items()}
    decisions = policy.decide(few, Target(k=1), ids=list(ids) if isinstance(ids, str) else ids)
    backwards = {name: values[::-1] for name, values in answered(policy, few, np.array([7, 8, 9])).items()}
    same(policy.combine(decisions, backwards), policy.combine(decisions, few, by_position=True))


def test_days_are_ids_too(policy, new):
    few = {name: values[:2] for name, values in new.items()}
    days = np.array(["2024-01-01", "2024-01-02"], dtype="M8[ns]")
    decisions = policy.decide(few | {"id": days}, Target(k=1))
    assert decisions.ids[0].startswith("2024-01-01")
    assert policy.combine(decisions, answered(policy, few, days)).outcome.decided.all()


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", "b"], "`id` must be one for each of the 3 queries, got 2."),
        (["a", "b", "a"], "`id` must name each query once, got one of them twice."),
        ([1, 2, 1.0], "`id` must name each query once, got one of them twice."),
        (["a", None, "b"], "`id` must not be empty: something must name each query."),
        (["a", "", "b"], "`id` must not be empty: something must name each query."),
        ([1.0, np.nan, 2.0], "`id` must not be empty: something must name each query."),
        ("abc", "`id` must be a column of single values, got shape ()."),
    ],
)
def test_ids_that_name_nothing_are_refused(policy, new, ids, message):
    few = {name: values[:3] for name, values in new.items()}
    with pytest.raises(InvalidInputError) as error:
        policy.decide(few, Target(k=1), ids=ids)
    assert str(error.value) == message


# One by one, and all together.


def test_a_decision_is_a_row_of_the_decisions(policy, new):
    decisions = policy.decide(new, Target(fee_weight=0.05), ids=np.arange(400))
    assert len(decisions) == 400
    for i, one in enumerate(decisions):
        assert one == decisions[i - 400]
        k = int(decisions.k[i])
        assert one.id == str(i)
        assert one.ask == decisions.ask(i) == tuple(policy.panel.names[j] for j in decisions.order[i, :k])
        assert one.fee == pytest.approx(sum(synthetic.FEES[name] for name in one.ask))
        assert one.expected_error == decisions.expected_error[i]
        assert one.propensity == 1.0
        assert (one.verdict, one.probability, one.paid, one.heard, one.ask_next) == (None, None, None, (), ())
    for i in (400, -401):
        with pytest.raises(IndexError, match=f"`i` must be a query between 0 and 399, got {i}"):
            decisions[i]


def test_members_ranks_and_the_papers_selection_are_one(policy, new):
    decisions = policy.decide(new, Target(fee_weight=0.05))
    selection = decisions.selection
    np.testing.assert_array_equal(decisions.within.sum(axis=1), decisions.k)
    np.testing.assert_array_equal(decisions.members, selection.members)
    np.testing.assert_allclose(decisions.fee, selection.fee)
    assert [decisions.ask(i) for i in range(20)] == [selection.names(i) for i in range(20)]
    np.testing.assert_array_equal(selection.scores, -decisions.seen.expected)
    steps = policy.next(new, policies.said(policy, new), Target(fee_weight=1000.0))
    with pytest.raises(InvalidInputError, match="these are steps of asking in turn"):
        _ = steps.selection


def test_what_came_of_a_decision_is_a_row_of_what_came(policy, new):
    decided = policy.combine(policy.decide(new, Target(k=2)), policies.said(policy, new))
    columns = decided.outcome_columns()
    for i, one in enumerate(decided):
        assert one.verdict == columns["prediction"][i] == decided.outcome.values[i]
        assert one.probability == columns["probability"][i]
        assert 0 < one.probability <= 1
        assert one.paid == columns["fee"][i] == pytest.approx(one.fee)
        assert list(one.heard) == columns["heard"][i] == list(one.ask)
        assert columns["ask_next"][i] == []
    before = policy.decide(new, Target(k=2))
    with pytest.raises(InvalidInputError, match="`decisions` must hold what came of them"):
        before.outcome_columns()
    assert before.ask_next(0) == ()


@pytest.mark.parametrize("explore", [0.0, 0.5])
@pytest.mark.parametrize("each", [False, True])
def test_who_is_away_is_not_asked_in_anybodys_place(policy, new, each, explore):
    there = np.array([name in ("left", "both") for name in policy.panel.names])
    available = np.where((np.arange(400) % 2 == 0)[:, None], there, True) if each else there
    decisions = policy.decide(new, Target(k=1), available=available, explore=explore, random_state=0)
    said = policies.said(policy, new)
    silent = Answers(said.values, np.full(said.states.shape, Cell.NO_ANSWER, dtype=np.int8))
    available = np.broadcast_to(available, said.states.shape)
    columns = json.loads(decisions.to_json())
    for decided in (policy.combine(decisions, silent), policy.combine(policy.read(columns), silent)):
        nexts = decided.outcome_columns()["ask_next"]
        for i, one in enumerate(decided):
            (name,) = one.ask_next
            assert nexts[i] == [name]
            assert available[i, policy.panel.index(name)]
    # With nobody left there is nobody to name.
    alone = policy.combine(policy.decide(new, Target(k=1), available=["left"]), silent)
    assert {one.ask_next for one in alone} == {()}
    assert not any(alone.outcome_columns()["ask_next"])


def test_who_gave_no_answer_is_named_with_who_comes_next(policy, new):
    decisions = policy.decide(new, Target(k=2))
    said = policies.said(policy, new)
    states = said.states.copy()
    first = decisions.order[:, 0]
    states[np.arange(400), first] = np.where(np.arange(400) % 2 == 0, Cell.NO_ANSWER, Cell.NOT_ASKED)
    both = np.arange(400) % 5 == 0
    states[both] = Cell.NO_ANSWER
    decided = policy.combine(decisions, Answers(said.values, states))
    names = np.array(policy.panel.names)
    for i, one in enumerate(decided):
        missing = 2 if both[i] else 1
        assert one.heard == (() if both[i] else (names[decisions.order[i, 1]],))
        assert one.ask_next == tuple(names[decisions.order[i, 2 : 2 + missing]])
        charged = decisions.order[i, :2] if both[i] or i % 2 == 0 else decisions.order[i, 1:2]
        # Whoever was asked is paid, whatever came back; who was not, is not.
        assert one.paid == pytest.approx(sum(synthetic.FEES[name] for name in names[charged]))
        if both[i]:
            assert (one.verdict, one.probability) == (None, None)
        else:
            assert one.verdict == said.values[i, decisions.order[i, 1]]
    columns = decided.outcome_columns()
    assert columns["prediction"][0] is None
    assert columns["probability"][0] is None


def test_a_base_of_our_own_is_heard_and_never_asked():
    policy, table = policies.fitted("own base"), policies.queries("own base")
    decisions = policy.decide(table, Target(k=3))
    decided = policy.combine(decisions, policies.said(policy, table))
    own = decisions.members[:, 0]
    assert own.any()
    for i, one in enumerate(decided):
        assert "base" not in one.ask
        assert len(one.ask) == 3 - own[i]
        assert ("base" in one.heard) == own[i]
    np.testing.assert_array_equal(decided.outcome.heard, decisions.members)


# What is charged.


def charged():
    """A policy whose dearest charges 26 or 4 by query, and one query of each kind, both of which ask it alone."""
    policy = policies.fitted("fees by query")
    table = policies.queries("fees by query", 40)
    pair = [int(np.argmax(table["x_1"] > 0)), int(np.argmax(table["x_1"] == 0))]
    queries = {name: values[pair] for name, values in table.items() if not name.startswith("fee_")}
    return policy, queries | {"id": np.array(["long", "short"], dtype=object)}


def test_a_query_is_charged_what_it_was_expected_to_and_never_the_mean():
    policy, queries = charged()
    decisions = policy.decide(queries, Target(k=1), available=["both"])
    assert [decisions.ask(i) for i in (0, 1)] == [("both",), ("both",)]
    np.testing.assert_allclose(decisions.fee, [26.0, 4.0], atol=0.2)
    assert 10 < policy.judge.fees.usual[policy.panel.index("both")] < 20
    columns = decisions.to_columns()
    np.testing.assert_allclose(columns["expected_fee"], [26.0, 4.0], atol=0.2)
    for each in (decisions, policy.read(columns), policy.read(json.loads(decisions.to_json()))):
        decided = policy.combine(each, queries)
        np.testing.assert_allclose(decided.outcome.paid, [26.0, 4.0], atol=0.2)
        np.testing.assert_allclose(decided.outcome.paid, decisions.fee)
    # So when it is asked in turn: what was charged before is what was expected of each query.
    heard = {name: queries[name] for name in ("x_0", "x_1", "x_2", "id", "answer_both")}
    np.testing.assert_allclose(policy.next(heard, target=Target(fee_weight=0.1)).outcome.paid, [26.0, 4.0], atol=0.2)


def test_what_the_answers_say_was_charged_is_what_was_charged():
    policy, queries = charged()
    decisions = policy.decide(queries, Target(k=1), available=["both"])
    for each in (decisions, policy.read(decisions.to_columns())):
        told = policy.combine(each, queries | {"fee_both": np.array([31.5, 2.0])})
        assert told.outcome.paid.tolist() == [31.5, 2.0]
        assert told.outcome_columns()["fee"] == [31.5, 2.0]
        # An empty cell says nothing: what was expected stands.
        half = policy.combine(each, queries | {"fee_both": np.array([np.nan, 2.0])})
        np.testing.assert_allclose(half.outcome.paid, [decisions.fee[0], 2.0])
        # Fees of those who were not asked are nobody's business.
        others = policy.combine(each, queries | {"fee_left": np.array([9.0, 9.0])})
        np.testing.assert_allclose(others.outcome.paid, decisions.fee)
    with pytest.raises(InvalidInputError, match="`fees` must not be below zero"):
        policy.combine(decisions, queries | {"fee_both": np.array([-1.0, 2.0])})


def test_fees_of_today_are_charged(policy, new):
    fees = np.random.default_rng(0).random((400, 4))
    decisions = policy.decide(new, Target(k=2), fees=fees)
    paid = policy.combine(decisions, policies.said(policy, new)).outcome.paid
    np.testing.assert_allclose(paid, np.where(decisions.members, fees, 0.0).sum(axis=1))
    np.testing.assert_allclose(paid, decisions.fee)


# Answers find their decisions.


@pytest.mark.parametrize("kind", policies.ANSWERED)
def test_answers_in_any_order_are_found_by_their_ids(kind):
    policy, table = policies.fitted(kind), policies.queries(kind)
    ids = np.array([f"q{i}" for i in range(len(table["truth"]))], dtype=object)
    decisions = policy.decide(table, Target(k=2), ids=ids)
    came = answered(policy, table, ids)
    expected = policy.combine(decisions, policies.said(policy, table))
    shuffled = np.random.default_rng(0).permutation(len(ids))
    for given in (came, {name: values[shuffled] for name, values in came.items()}):
        same(policy.combine(decisions, given), expected)
    rows = [{name: values[i] for name, values in came.items()} for i in shuffled]
    same(policy.combine(decisions, rows), expected)
    by_name = {name.removeprefix("answer_"): values[shuffled] for name, values in came.items()}
    same(policy.combine(decisions, by_name), expected)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_answers_may_be_frames(policy, new, library):
    frames = pytest.importorskip(library)
    decisions = policy.decide(new, Target(k=2), ids=np.arange(400))
    backwards = {name: values[::-1] for name, values in answered(policy, new, np.arange(400)).items()}
    frame = frames.table(backwards) if library == "pyarrow" else frames.DataFrame(backwards)
    same(policy.combine(decisions, frame), policy.combine(decisions, policies.said(policy, new)))


def test_a_query_nobody_answered_yet_has_no_verdict(policy, new):
    decisions = policy.decide(new, Target(k=2), ids=np.arange(400))
    some = np.arange(0, 400, 3)
    came = {name: values[some] for name, values in answered(policy, new, np.arange(400)).items()}
    outcome = policy.combine(decisions, came).outcome
    np.testing.assert_array_equal(outcome.decided, np.isin(np.arange(400), some))
    np.testing.assert_array_equal(outcome.paid > 0, outcome.decided)
    whole = policy.combine(decisions, policies.said(policy, new)).outcome
    np.testing.assert_array_equal(outcome.values[some], whole.values[some])


def test_rows_are_matched_by_position_only_where_that_is_said(policy, new):
    decisions = policy.decide(new, Target(k=2))
    nameless = answered(policy, new, np.arange(400))
    del nameless["id"]
    same(policy.combine(decisions, nameless, by_position=True), policy.combine(decisions, policies.said(policy, new)))
    with pytest.raises(InvalidInputError) as error:
        policy.combine(decisions, nameless)
    assert str(error.value) == (
        "`answers` must have the column 'id' that names the queries, got ['answer_left', 'answer_right', "
        "'answer_both', 'answer_noise']: add it, or say that rows are matched by position."
    )
    with pytest.raises(InvalidInputError, match="`answers` must have a row for each route, got 7 for 400"):
        policy.combine(decisions, {name: values[:7] for name, values in nameless.items()}, by_position=True)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a", "b", "d"], "`id` must be one that was routed, got 'd', which was not."),
        (["a", "b", "b"], "`id` must name each query once, got one of them twice."),
        (["a", "b", None], "`id` must not be empty: something must name each query."),
    ],
)
def test_answers_to_nobody_knows_what_are_refused(policy, new, ids, message):
    few = {name: values[:3] for name, values in new.items()}
    decisions = policy.decide(few, Target(k=1), ids=["a", "b", "c"])
    with pytest.raises(InvalidInputError) as error:
        policy.combine(decisions, answered(policy, few, np.array(ids, dtype=object)))
    assert str(error.value) == message


def test_what_cannot_be_combined_is_refused(policy, new):
    decisions = policy.decide(new, Target(k=1))
    other = policies.fitted("own base")
    with pytest.raises(InvalidInputError, match=r"`decisions` must be of the panel .*: another policy made them"):
        other.combine(decisions, policies.said(policy, new))
    with pytest.raises(InvalidInputError, match="`answers` must have columns of answers, 'answer_\\*', got"):
        policy.combine(decisions, {"id": decisions.ids})
    with pytest.raises(InvalidInputError, match="`answers` must be text, as in the policy's log, got numbers"):
        policy.combine(decisions, Answers(np.zeros((400, 4)), np.zeros((400, 4), dtype=np.int8)))
    with pytest.raises(InvalidInputError, match=r"`answers` must have shape \(400, 4\), got \(3, 4\)"):
        policy.combine(decisions, Answers(np.full((3, 4), "cat"), np.zeros((3, 4), dtype=np.int8)))
    grades, table = policies.fitted("grades"), policies.queries("grades")
    with pytest.raises(InvalidInputError, match="it was fitted on grades, and believes the first"):
        grades.combine(grades.decide(table, Target(k=1)), {"id": [1]})


# Through a file, and back.


def arrow(columns):
    return pa.table(columns)


def texts(columns):
    """As CSV holds it: lists are JSON in a cell."""
    return {
        name: np.array([json.dumps(v) if isinstance(v, list) else v for v in values], dtype=object)
        for name, values in columns.items()
    }


DETOURS = {
    "columns": lambda columns: columns,
    "JSON": lambda columns: json.loads(json.dumps(columns)),
    "rows": lambda columns: [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    "Arrow": arrow,
    "CSV": texts,
}


@pytest.mark.parametrize("detour", DETOURS)
@pytest.mark.parametrize("kind", EVERY)
def test_decisions_that_were_written_and_read_come_to_the_same(kind, detour):
    policy, table = policies.fitted(kind), policies.queries(kind)
    ids = np.array([f"q{i}" for i in range(len(table["truth"]))], dtype=object)
    fees = 0.5 * float(policy.tried.fees.mean(axis=1).max()) + 0.5 * float(policy.tried.fees.mean(axis=1).min())
    for target in (Target(k=2), Target(budget=fees)):
        decisions = policy.decide(table, target, ids=ids)
        read = policy.read(DETOURS[detour](decisions.to_columns()))
        for name in ("ids", "order", "k", "propensity", "propensities", "members"):
            np.testing.assert_array_equal(getattr(read, name), getattr(decisions, name))
        np.testing.assert_allclose(read.fee, decisions.fee, rtol=1e-12)
        np.testing.assert_allclose(read.expected_error, decisions.expected_error, rtol=1e-12)
        assert [read.ask(i) for i in range(len(ids))] == [decisions.ask(i) for i in range(len(ids))]
        came = answered(policy, table, ids)
        came = {name: values[::-1] for name, values in came.items()}
        same(policy.combine(read, came), policy.combine(decisions, came))


@pytest.mark.parametrize("unit", ["D", "us", "ns"])
def test_classes_that_are_dates_are_written_and_read(unit):
    dates = np.array(["2020-01-01", "2021-03-04", "2022-05-06"], dtype=f"M8[{unit}]")
    days = dict(zip(["cat", "dog", "owl"], dates, strict=True))

    def dated(n, seed):
        table = synthetic.known(n, seed)
        return {
            name: np.array([days[value] for value in values]) if name == "truth" or "answer" in name else values
            for name, values in table.items()
        }

    policy, table = fit(read_log(dated(250, 0), synthetic.COLUMNS), learner="linear", cv=2), dated(60, 1)
    assert policy.base is not None
    decisions = policy.decide(table, Target(k=3), ids=np.arange(60))
    decided = policy.combine(decisions, answered(policy, table, np.arange(60)))
    assert {str(one.verdict)[:10] for one in decided} == {"2020-01-01", "2021-03-04", "2022-05-06"}
    assert decided.outcome_columns()["prediction"] == [one.verdict for one in decided]
    for columns in (decisions.to_columns(), json.loads(decisions.to_json())):
        same(policy.combine(policy.read(columns), answered(policy, table, np.arange(60))), decided)
    with pytest.raises(InvalidInputError, match="`base_answer` must hold dates, got something else: route again"):
        policy.read(columns | {"base_answer": ["yesterday"] * 60})


def test_one_decision_alone_is_written_and_read(policy, new):
    alone = policies.row(new, 0)
    decisions = policy.decide(alone, Target(k=2), ids=["a"])
    for detour in DETOURS.values():
        read = policy.read(detour(decisions.to_columns()))
        same(
            policy.combine(read, policies.said(policy, alone)), policy.combine(decisions, policies.said(policy, alone))
        )


def test_as_json_and_with_what_came_of_them(policy, new):
    decided = policy.combine(policy.decide(new, Target(k=2)), policies.said(policy, new))
    columns = json.loads(decided.to_json())
    assert columns["prediction"] == decided.outcome.values.tolist()
    assert columns["ask"][3] == list(decided.ask(3))
    # What came of them is not read back: answers may come anew.
    read = policy.read(columns)
    assert read.outcome is None
    same(policy.combine(read, policies.said(policy, new)), decided)


def routes(policy, table, **changed):
    return policy.decide(table, Target(k=2)).to_columns() | changed


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"order": [["left", "elsewhere"]] * 3}, "`routes` must name entities of this policy, the same number"),
        ({"order": [["left", "right"], ["left"], ["left"]]}, "`routes` must name entities of this policy, the same"),
        ({"order": [["left", "left", "both", "noise"]] * 3}, "`routes` must name each entity once in a row"),
        ({"order": [3, 4, 5]}, "`order` must be a column of lists, as `askwho route` writes it."),
        ({"k": [1, 2, 5]}, "`k` must be between 1 and 4"),
        ({"k": [0, 1, 1]}, "`k` must be between 1 and 4"),
        ({"fees": [[1.0]] * 3}, "`fees` must have shape (3, 4), got (3, 1): one for each entity in the order."),
        ({"fees": [[-1.0] * 4] * 3}, "`fees` must not be below zero"),
        ({"id": ["a", "a", "b"]}, "`id` must name each query once, got one of them twice."),
    ],
)
def test_routes_that_are_damaged_are_refused(policy, new, changed, message):
    few = {name: values[:3] for name, values in new.items()}
    with pytest.raises(InvalidInputError) as error:
        policy.read(routes(policy, few, **changed))
    assert message in str(error.value)


def test_routes_that_lost_a_column_are_refused(policy, new):
    columns = routes(policy, new)
    del columns["fees"], columns["k"]
    with pytest.raises(InvalidInputError) as error:
        policy.read(columns)
    assert str(error.value) == "`routes` must be what `askwho route` wrote, missing: ['k', 'fees']."


def test_routes_that_lost_what_the_base_thought_are_refused():
    policy, table = policies.fitted("own base"), policies.queries("own base")
    whole = routes(policy, table)
    shares = whole.pop("base_shares")
    with pytest.raises(InvalidInputError) as error:
        policy.read(whole)
    assert str(error.value) == "`routes` must be what `askwho route` wrote, missing: ['base_shares']."
    for changed, message in (
        ([row[:2] for row in shares], "`base_shares` must have shape (120, 3), got (120, 2): one for each class."),
        ([[0.0] * 3] * 120, "`base_shares` must be above zero for some class of each row: route again."),
    ):
        with pytest.raises(InvalidInputError) as error:
            policy.read(whole | {"base_shares": changed})
        assert str(error.value) == message
    with pytest.raises(InvalidInputError) as error:
        policy.read(whole | {"base_shares": shares, "base_answer": [None] * 120})
    assert str(error.value) == "`base_answer` must hold an answer of each row, got an empty one: route again."


# Many threads.


@pytest.mark.parametrize("kind", ["classes", "own base", "fees by query"])
def test_eight_threads_decide_as_one(kind):
    policy, table = policies.fitted(kind), policies.queries(kind)
    targets = [Target(budget=float(b)) for b in np.linspace(*np.sort(policy.tried.fees.mean(axis=1))[[5, -1]], 6)]
    targets += [Target(k=2), Target(fee_weight=0.2)]
    fresh = dataclasses.replace(policy, tried=dataclasses.replace(policy.tried))
    said = policies.said(policy, table)

    def work(i):
        each = targets[i % 8]
        decided = fresh.combine(fresh.decide(table, each), said)
        step = None if each.k else fresh.next(table, said, each)
        one = fresh.decide(policies.row(table, i), each)
        return decided, step, one

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(work, range(48)))
    for i, (decided, step, one) in enumerate(done):
        expected = policy.combine(policy.decide(table, targets[i % 8]), said)
        for name in ("order", "k", "expected_error"):
            np.testing.assert_array_equal(getattr(decided, name), getattr(expected, name))
        np.testing.assert_array_equal(decided.outcome.values, expected.outcome.values)
        assert (one.k[0], one.order[0].tolist()) == (expected.k[i], expected.order[i].tolist())
        if step is not None:
            np.testing.assert_array_equal(step.k, policy.next(table, said, targets[i % 8]).k)


# One query at a time is decided in plain numbers.


@pytest.mark.parametrize("kind", ["classes", "numbers, own base", "numbers", "fees by query", "free answers", "grades"])
def test_one_query_alone_is_decided_as_any_among_many(kind):
    policy, rng = policies.fitted(kind), np.random.default_rng(0)
    assert policy._plain
    X = rng.normal(size=(150, policy.encoder.blank().shape[1])).astype(np.float32) * np.float32(2.0)
    X[:3] = np.array([[0.0], [1e6], [-1e6]])
    seen = policy.see_encoded(X)
    paid = np.sort(policy.tried.fees.mean(axis=1))
    targets = [Target(fee_weight=0.0), Target(fee_weight=0.3), Target(fee_weight=50.0), Target(budget=float(paid[15]))]
    for target in targets:
        many = policy.decide(seen, target)
        for i in range(150):
            one = policy.decide(policy.see_encoded(X[i : i + 1]), target)
            assert one.order[0].tolist() == many.order[i].tolist()
            assert one.k[0] == many.k[i]
            assert one.fee[0] == pytest.approx(many.fee[i], rel=1e-9)
            # Trees are averaged in single precision.
            assert one.expected_error[0] == pytest.approx(many.expected_error[i], rel=1e-4, abs=1e-6)
            assert one.propensities[0].tolist() == many.propensities[i].tolist()
