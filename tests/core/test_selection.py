import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from askwho import Panel
from askwho.core import distinct_orders, in_order, rank, select_adaptive, select_top_k, summed

# Small whole numbers make ties common; the others make them rare.
tied = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=9), elements=st.integers(-2, 2))
distinct = st.integers(2, 8).flatmap(lambda a: st.permutations(list(range(a))))


def panel_of(size):
    return Panel.two_stage({f"e{j}": 0.25 * j for j in range(1, size)})


def by_hand(row):
    return sorted(range(len(row)), key=lambda j: (-row[j], j))


@given(tied)
def test_rank_goes_down_the_scores_and_breaks_ties_to_the_smaller_index(scores):
    assert rank(scores).tolist() == [by_hand(row) for row in scores]


@given(tied, st.data())
def test_the_top_k_are_the_first_k_of_the_rank(scores, data):
    k = data.draw(st.integers(1, scores.shape[1]))
    selection = select_top_k(scores, k, panel=panel_of(scores.shape[1]))
    assert selection.order.tolist() == rank(scores)[:, :k].tolist()


@given(tied, st.data())
def test_adaptive_selections_ask_the_first_k_of_each_row(scores, data):
    n, size = scores.shape
    k = data.draw(arrays(np.int64, n, elements=st.integers(1, size)))
    selection = select_adaptive(scores, k, panel=panel_of(size))
    for i in range(n):
        assert list(np.flatnonzero(selection.members[i])) == sorted(by_hand(scores[i])[: k[i]])
        assert selection.fee[i] == pytest.approx(sum(selection.fees[i, j] for j in by_hand(scores[i])[: k[i]]))


@given(distinct, st.data())
def test_renaming_the_entities_renames_the_selection(row, data):
    scores = np.array([row], dtype=float)
    shuffle = np.array(data.draw(st.permutations(range(len(row)))))
    assert (shuffle[rank(scores[:, shuffle])] == rank(scores)).all()


@given(tied, st.integers(-5, 5))
def test_a_constant_added_to_a_row_changes_nothing(scores, constant):
    assert (rank(scores + constant) == rank(scores)).all()


def test_blocks_do_not_show(monkeypatch):
    scores = np.random.default_rng(0).integers(0, 4, (101, 7)).astype(float)
    whole = select_top_k(scores, 3, panel=panel_of(7)).order
    monkeypatch.setattr("askwho.core._selection._BLOCK_CELLS", 21)
    assert (select_top_k(scores, 3, panel=panel_of(7)).order == whole).all()
    assert (select_top_k(scores, 7, panel=panel_of(7)).order == rank(scores)).all()


def test_a_selection_is_frozen_and_leaves_its_input_alone():
    scores = np.array([[0.2, 0.1]])
    selection = select_top_k(scores, 1, panel=panel_of(2))
    for array in (selection.order, selection.k, selection.scores, selection.fees):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    scores[0, 0] = 9.0
    assert selection.scores[0, 0] == 0.2


def test_fees_may_differ_by_query():
    fees = [[0.0, 1.0, 2.0], [0.0, 3.0, 4.0]]
    selection = select_top_k([[0, 1, 2], [0, 1, 2]], 2, panel=panel_of(3), fees=fees)
    assert selection.fee.tolist() == [3.0, 7.0]


def test_a_selection_names_whom_to_ask_best_first():
    panel = Panel.two_stage({"a": 0.5, "b": 2.0})
    selection = select_top_k([[0.0, 0.0, 0.0], [0.1, 0.9, 0.3]], 2, panel=panel)
    assert selection.names(1) == selection.names(-1) == ("a", "b")
    assert selection.names(0) == ("base", "a")
    assert selection.fee[1] == 2.5


def test_frames_have_one_row_for_each_entity_asked():
    pd = pytest.importorskip("pandas")
    panel = Panel.two_stage({"a": 0.5, "b": 2.0})
    frame = select_adaptive([[0.1, 0.9, 0.3], [0.9, 0.1, 0.3]], [2, 1], panel=panel).to_frame()
    expected = pd.DataFrame(
        {
            "query": [0, 0, 1],
            "rank": [1, 2, 1],
            "entity": ["a", "b", "base"],
            "kind": ["expert", "expert", "base"],
            "score": [0.9, 0.3, 0.9],
            "fee": [0.5, 2.0, 0.0],
        }
    )
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False)


SELECT = {
    "top k": lambda scores, fees: select_top_k(scores, 1, panel=panel_of(2), fees=fees),
    "adaptive": lambda scores, fees: select_adaptive(scores, [1], panel=panel_of(2), fees=fees),
}


@pytest.mark.parametrize("fees", [np.array([0.0, 1.0]), np.array([[0.0, 1.0]])], ids=["by entity", "by query"])
@pytest.mark.parametrize("name", SELECT)
def test_the_fees_of_the_caller_stay_writable(name, fees):
    SELECT[name](np.array([[0.2, 0.1]]), fees)
    assert fees.flags.writeable


@pytest.mark.parametrize("name", SELECT)
def test_the_scores_of_the_caller_stay_writable(name):
    scores = np.array([[0.2, 0.1]])
    SELECT[name](scores, None)
    assert scores.flags.writeable


@pytest.mark.parametrize("name", SELECT)
def test_changing_the_callers_fees_leaves_the_selection_alone(name):
    fees = np.array([[0.0, 1.0]])
    selection = SELECT[name](np.array([[0.2, 0.1]]), fees)
    fees[0, 1] = 9.0
    assert selection.fees.tolist() == [[0.0, 1.0]]


def test_changing_the_callers_k_leaves_the_selection_alone():
    k = np.array([1])
    selection = select_adaptive([[0.2, 0.1]], k, panel=panel_of(2))
    k[0] = 2
    assert selection.k.tolist() == [1]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_scores_and_fees_may_be_data_frames(library):
    frame = pytest.importorskip(library).DataFrame({"base": [0.5, 0.0], "e1": [0.25, 2.0]})
    selection = select_top_k(frame, 1, panel=panel_of(2), fees=frame)
    assert (selection.order.tolist(), selection.fee.tolist()) == ([[0], [1]], [0.5, 2.0])


def test_fees_given_once_for_all_queries_are_copied():
    fees = np.array([0.0, 1.0])
    selection = select_top_k([[0.0, 1.0]], 1, panel=panel_of(2), fees=fees)
    fees[1] = 99.0
    assert selection.fee.tolist() == [1.0]


def test_orders_of_several_prices_are_there_once_for_as_long_as_they_stay():
    rng = np.random.default_rng(0)
    errors, fees = rng.random((50, 4)), rng.random((50, 4))
    orders = [rank(-(errors + price * fees))[:, :3] for price in (0.0, 0.1, 0.1, 1.0, 0.0)]
    rows, order, place = distinct_orders(orders)
    assert 50 < len(rows) < 5 * 50
    for each, where in zip(orders, place, strict=True):
        np.testing.assert_array_equal(rows[where], np.arange(50))
        np.testing.assert_array_equal(order[where], each)
    np.testing.assert_array_equal(place[1], place[2])
    np.testing.assert_array_equal(in_order(errors, order, rows), np.take_along_axis(errors[rows], order, axis=1))


@pytest.mark.parametrize("size", [0, 1, 2, 7, 8, 9, 30])
def test_sums_of_rows_have_the_bits_of_numpys(size):
    rng = np.random.default_rng(size)
    table = rng.normal(size=(2000, size)) * 10.0 ** rng.integers(-8, 9, (2000, size))
    np.testing.assert_array_equal(summed(table), table.sum(axis=1))
