"""Queries in every form that a user has them in: one dict, columns, rows, frames, Arrow, embeddings."""

import numpy as np
import pyarrow as pa
import pytest

from askwho import InvalidInputError, Target
from askwho.data import Columns, read_log
from askwho.fitting import fit
from tests import policies, synthetic

TARGET = Target(fee_weight=0.05)
N = 30


def embedded(n, seed=0):
    """A small log of texts, categories with gaps, numbers, and an embedding, which tells the region."""
    rng = np.random.default_rng(seed)
    table = synthetic.classification(n, seed)
    kinds = rng.choice(np.array(["new", "old", None], dtype=object), n)
    return {
        "embedding": np.column_stack([table["x_0"], rng.normal(size=(n, 3))]),
        "kind": kinds,
        "size": rng.integers(0, 5, n),
        "prompt": np.array([f"what is number {i % 7}?" for i in range(n)], dtype=object),
        "truth": table["truth"],
    } | {name: values for name, values in table.items() if name.startswith("answer")}


COLUMNS = Columns(truth="truth", answers="answer_*", features="embedding,kind,size", text="prompt", fees=synthetic.FEES)


@pytest.fixture(scope="module")
def policy():
    return fit(read_log(embedded(400), COLUMNS), learner="linear", base="none", cv=2)


@pytest.fixture(scope="module")
def columns():
    return {name: values for name, values in embedded(N, 1).items() if name in ("embedding", "kind", "size", "prompt")}


@pytest.fixture(scope="module")
def expected(policy, columns):
    return policy.decide(columns, TARGET)


def lists(columns):
    return {name: values.tolist() for name, values in columns.items()}


def rows(columns):
    plain = lists(columns)
    return [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]


def arrow(columns):
    return pa.table(lists(columns))


def frame(library, columns):
    return pytest.importorskip(library).DataFrame(lists(columns))


FORMS = {
    "lists": lists,
    "tuples": lambda columns: {name: tuple(values) for name, values in lists(columns).items()},
    "rows": rows,
    "rows in a tuple": lambda columns: tuple(rows(columns)),
    "pandas": lambda columns: frame("pandas", columns),
    "pandas, another index": lambda columns: frame("pandas", columns).set_index(np.arange(N)[::-1] + 5),
    "polars": lambda columns: frame("polars", columns),
    "polars, lazy": lambda columns: frame("polars", columns).lazy(),
    "Arrow": arrow,
    "record batch": lambda columns: arrow(columns).combine_chunks().to_batches()[0],
    "record batch reader": lambda columns: arrow(columns).to_reader(max_chunksize=7),
    "chunks": lambda columns: pa.concat_tables([arrow(columns).slice(0, 11), arrow(columns).slice(11)]),
    "columns in another order": lambda columns: dict(reversed(columns.items())),
    "columns of no concern": lambda columns: columns | {"day": np.arange(N), "note": [None] * N},
    "embeddings of single precision": lambda columns: columns | {"embedding": columns["embedding"].astype("f4")},
}


@pytest.mark.parametrize("form", FORMS)
def test_queries_in_any_form_are_decided_alike(policy, columns, expected, form):
    decisions = policy.decide(FORMS[form](columns), TARGET)
    np.testing.assert_array_equal(decisions.order, expected.order)
    np.testing.assert_array_equal(decisions.k, expected.k)
    np.testing.assert_allclose(decisions.expected_error, expected.expected_error, atol=1e-6)
    step = policy.next(FORMS[form](columns), None, TARGET)
    np.testing.assert_array_equal(step.k, policy.next(columns, None, TARGET).k)


@pytest.mark.parametrize("form", ["lists", "pandas", "polars, lazy", "Arrow", "record batch reader"])
def test_ids_are_read_from_any_form(policy, columns, form):
    named = columns | {"id": np.array([f"q{i}" for i in range(N)], dtype=object)}
    assert policy.decide(FORMS[form](named), TARGET).ids.tolist() == named["id"].tolist()


def test_one_query_is_a_dict_of_single_values(log, new):
    policy = policies.fitted("classes")
    many = policy.decide(new, TARGET)
    for i in range(0, 400, 41):
        for single in (
            {name: new[name][i] for name in ("x_0", "x_1", "x_2")},
            {name: float(new[name][i]) for name in ("x_0", "x_1", "x_2")},
            {name: new[name][i].item() for name in ("x_0", "x_1", "x_2")} | {"id": f"q{i}", "note": None},
        ):
            one = policy.decide(single, TARGET)
            assert len(one) == 1
            assert one[0].ask == many.ask(i)
            assert one.ids[0] == single.get("id", one.ids[0])
        assert policy.next(single, None, TARGET).k.shape == (1,)
    assert log.panel == policy.panel


def test_one_query_with_an_embedding_is_a_list_of_one_dict(policy, columns, expected):
    one = policy.decide(rows(columns)[:1], TARGET)
    assert one[0].ask == expected[0].ask
    # In a dict a list is a column.
    with pytest.raises(InvalidInputError, match="put one query with lists in it into a list"):
        policy.decide(rows(columns)[0], TARGET)


def test_an_embedding_is_two_axes_of_numbers(policy, columns):
    assert policy.see(columns).X.shape[0] == N
    narrow = columns | {"embedding": columns["embedding"][:, :3]}
    with pytest.raises(InvalidInputError, match="`embedding`"):
        policy.decide(narrow, TARGET)
    gap = columns["embedding"].copy()
    gap[3] = np.nan
    with pytest.raises(InvalidInputError, match="`embedding` must be finite, got nan in row 3"):
        policy.decide(columns | {"embedding": gap}, TARGET)


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([], "`queries` must not be empty: there is no row in it."),
        ({}, "`queries` must not be empty: there is no column in it."),
        ({"x_0": [], "x_1": [], "x_2": []}, "`queries` must not be empty: there is no row in it."),
        (
            {"x_0": np.zeros(0), "x_1": np.zeros(0), "x_2": np.zeros(0)},
            "`queries` must not be empty: there is no row in it.",
        ),
        (pa.table({"x_0": pa.array([], pa.float64())}), "`queries` must not be empty: there is no row in it."),
        ({"x_0": [1.0], "x_1": [1.0, 2.0], "x_2": [1.0]}, "`queries` must have columns of one length, got [1, 2, 1]."),
        ([{"x_0": 1.0}, 7], "`queries` must hold a dict for each query, got int at 1."),
        (
            np.zeros((3, 3)),
            (
                "`queries` must be a file, a data frame, a dict, or a list of dicts, got ndarray: name the columns, "
                "such as {'x': ...}."
            ),
        ),
        (7, "`queries` must be a file, a data frame, a dict, or a list of dicts, got int: name the columns, such as"),
        (
            {"x_0": [1.0], "x_1": 2.0, "x_2": 3.0},
            "`queries` must hold columns, or single values of one query, got a column in 'x_0' and a single value",
        ),
    ],
    ids=["no rows", "nothing", "empty lists", "empty arrays", "empty Arrow", "lengths", "row", "matrix", "7", "mixed"],
)
def test_what_holds_no_queries_is_refused(queries, message):
    policy = policies.fitted("classes")
    for ask in (policy.see, lambda given: policy.decide(given, TARGET), lambda given: policy.next(given, None, TARGET)):
        with pytest.raises(InvalidInputError) as error:
            ask(queries)
        assert message in str(error.value)


def test_queries_without_what_must_be_known_are_refused():
    policy = policies.fitted("classes")
    with pytest.raises(InvalidInputError, match="x_2"):
        policy.decide({"x_0": 1.0, "x_1": 2.0}, TARGET)
