"""Columns of decisions: lists for any library and Arrow's arrays say the same, row by row as one decision does."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from askwho import Answers, Target
from askwho.core import Cell
from askwho.data import decoded, write_batches, write_table
from askwho.policy._columns import Known, Names, written
from tests import policies

ROWS = 60
MOMENT = dt.datetime(2024, 1, 1, 1)  # noqa: DTZ001 - as NumPy has them


def in_both(columns, kept):
    """Assert that Arrow's arrays hold the lists, in the types that Arrow finds in them; return the lists."""
    assert list(columns) == list(kept)
    for name, values in columns.items():
        assert kept[name].to_pylist() == values, name
        found = pa.array(values).type
        # Of columns without a value, or of empty lists alone, Arrow finds none.
        assert kept[name].type == found or "null" in str(found), name
    return columns


@pytest.fixture(scope="module", params=policies.ANSWERED)
def decided(request):
    """A policy's decisions about a few queries, and what came of them where some answers did not come."""
    policy = policies.fitted(request.param)
    table = {name: values[:ROWS] for name, values in policies.queries(request.param, ROWS).items()}
    # Where everybody is worth asking at once nobody is left to ask next.
    target = Target(k=1) if request.param == "many classes" else Target(fee_weight=0.01)
    decisions = policy.decide(table, target, ids=np.arange(ROWS))
    said = policies.said(policy, table)
    silent = np.random.default_rng(0).random(said.states.shape) < 0.4
    came = Answers(said.values, np.where(silent, np.int8(Cell.NO_ANSWER), said.states).astype(np.int8))
    return policy, table, policy.combine(decisions, came)


def test_lists_and_arrows_arrays_say_the_same(decided):
    _, _, decisions = decided
    in_both(decisions.to_columns(), decisions.to_columns(arrow=True))
    coded = decisions.to_columns(arrow=True, coded=True)
    assert pa.types.is_dictionary(coded["order"].type.value_type)
    in_both(decisions.to_columns(), {name: decoded(column) for name, column in coded.items()})
    in_both(decisions.outcome_columns(), decisions.outcome_columns(arrow=True))


def test_a_row_of_the_columns_is_the_decision(decided):
    _, _, decisions = decided
    columns = decisions.to_columns()
    assert any(columns["ask_next"])
    for i, decision in enumerate(decisions):
        assert columns["id"][i] == decision.id
        assert tuple(columns["ask"][i]) == decision.ask
        assert tuple(columns["ask_next"][i]) == decision.ask_next
        assert tuple(columns["heard"][i]) == decision.heard
        assert columns["prediction"][i] == decision.verdict
        assert columns["probability"][i] == decision.probability
        assert columns["order"][i] == [decisions.panel.names[j] for j in decisions.order[i]]


def test_steps_say_the_same_in_both(decided):
    policy, table, _ = decided
    if policy.turns is None:
        pytest.skip("this policy cannot ask in turn")
    known = {name: values for name, values in table.items() if not name.startswith("answer_")}
    steps = policy.next(known, None, Target(fee_weight=0.01))
    columns = in_both(steps.next_columns(), steps.next_columns(arrow=True))
    names = np.array(policy.panel.names, dtype=object)[steps.order[:, 0]]
    assert columns["ask"] == np.where(steps.k > 0, names, None).tolist()


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_both_are_written_alike(decided, ending, tmp_path):
    _, _, decisions = decided
    write_table(tmp_path / f"lists.{ending}", decisions.to_columns())
    for name, coded in (("arrays", False), ("codes", True)):
        made = decisions.to_columns(arrow=True, coded=coded)
        write_batches(tmp_path / f"{name}.{ending}", [made], types={"ask": list}, facts={"rows": "some"})
        if ending == "parquet":
            one, other = (pq.read_table(tmp_path / f"{each}.parquet") for each in ("lists", name))
            assert one.equals(other)
            assert one.schema.types == other.schema.types
            assert other.schema.metadata == {b"rows": b"some"}
        else:
            assert (tmp_path / f"lists.{ending}").read_bytes() == (tmp_path / f"{name}.{ending}").read_bytes()


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        (np.array([1, 2, 3], dtype=np.int32), [1, None, 3]),
        (np.array([1, 2, 3], dtype=np.uint64), [1, None, 3]),
        (np.array([0.5, np.nan, 1.5]), [0.5, None, 1.5]),
        (np.array([True, False, True]), [True, None, True]),
        (np.array(["a", "b", "c"]), ["a", None, "c"]),
        (np.array(["2024-01-01"] * 3, dtype="M8[D]"), [dt.date(2024, 1, 1), None, dt.date(2024, 1, 1)]),
        (np.array(["2024-01-01T01"] * 3, dtype="M8[ns]"), [MOMENT, None, MOMENT]),
    ],
)
def test_values_of_every_type_with_gaps(values, listed):
    column = Known(values, np.array([True, False, True]))
    assert column.to_list() == listed
    assert column.to_arrow().to_pylist() == column.to_list()
    assert column.to_arrow().type == pa.array(column.to_list()).type


def test_values_that_no_row_has_are_of_no_type():
    assert Known(np.zeros(2), np.zeros(2, dtype=bool)).to_arrow().type == pa.null()


def test_names_may_be_none_in_a_row_or_in_all():
    order = np.array([[2, 0, 1], [1, 0, 2], [0, 1, 2]])
    within = np.array([[True, False, True], [False, False, False], [True, True, True]])
    names = Names(("a", "b", "c"), order, within)
    assert names.to_list() == [["c", "b"], [], ["a", "b", "c"]] == names.to_arrow().to_pylist()
    assert names.to_arrow(coded=True).to_pylist() == names.to_list()
    nobody = Names(("a", "b", "c"), order, np.zeros((3, 3), dtype=bool))
    assert nobody.to_list() == [[], [], []] == nobody.to_arrow().to_pylist()
    assert nobody.to_arrow().type == pa.list_(pa.string())


def test_numbers_by_row_are_lists():
    table = np.arange(6, dtype=np.float32).reshape(3, 2)
    (column,) = written({"x": table}, arrow=True).values()
    assert column.to_pylist() == table.tolist() == written({"x": table}, arrow=False)["x"]
    assert column.type == pa.list_(pa.float64())
