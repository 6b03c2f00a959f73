"""Whatever bytes or cells come, only the package's own errors come out."""

import contextlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from askwho import AskwhoError, Target
from askwho.cli._options import parse_fees
from askwho.data import Columns, describe, read_batches, read_log, read_table
from askwho.persistence import load
from tests.hardening.commands import log

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.fixture(scope="module")
def policy(place):
    return load(place.policy)


def only_ours(call, *arguments, **options):
    """Call; our own errors are an answer too."""
    with contextlib.suppress(AskwhoError):
        return call(*arguments, **options)


def read_all(path):
    only_ours(read_table, path)
    only_ours(lambda: list(read_batches(path)))
    only_ours(describe, path, COLUMNS)
    only_ours(read_log, path, COLUMNS)


TEXTISH = st.text(
    st.one_of(st.sampled_from(',"\n\r\t\0;\ufeff=-0123456789.eE'), st.characters(codec="utf-8")), max_size=200
)


@given(data=st.one_of(st.binary(max_size=300), TEXTISH.map(str.encode)))
@settings(max_examples=150)
@example(data=b"\xef\xbb\xbf")
@example(data=b'"')
@example(data=b"truth,answer_a,x_0\n1,1,1e999\n")
@example(data=b"truth,answer_a,x_0\n" + b"9" * 400 + b",1,1\n")
def test_bytes_as_csv(data, folder):
    path = folder / "any.csv"
    path.write_bytes(data)
    read_all(path)


CELLS = st.sampled_from(
    ["", "cat", "dog", "1", "0", "-1", "1.5", "nan", "inf", "1e400", "true", "2020-01-01", "\0", "é"]
)


@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS, CELLS), max_size=12), latin=st.booleans())
@settings(max_examples=150)
def test_cells_as_csv(rows, latin, folder):
    text = "\n".join(["truth,answer_a,answer_b,x_0", *map(",".join, rows)])
    (folder / "cells.csv").write_bytes(text.encode("latin-1" if latin else "utf-8"))
    read_all(folder / "cells.csv")


@given(data=st.one_of(st.binary(max_size=300), st.binary(max_size=100).map(lambda b: b"PAR1" + b + b"PAR1")))
@settings(max_examples=100)
def test_bytes_as_parquet(data, folder):
    (folder / "any.parquet").write_bytes(data)
    read_all(folder / "any.parquet")


def write_stream(table, path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table)


WHOLE = {
    "parquet": pa.parquet.write_table,
    "feather": lambda table, path: pa.feather.write_feather(table, path, compression="uncompressed"),
    "arrow": write_stream,
}


@given(
    places=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), min_size=1, max_size=8),
    kind=st.sampled_from(list(WHOLE)),
)
@settings(max_examples=180)
def test_files_with_bytes_changed(places, kind, folder):
    whole = folder / f"whole.{kind}"
    if not whole.exists():
        columns = {name: list(values) for name, values in log(12).items() if name != "kind"}
        WHOLE[kind](pa.table(columns | {"x_0": [[1.0, 2.0]] * 12}), whole)
    data = bytearray(whole.read_bytes())
    for place, change in places:
        data[int(place * (len(data) - 1))] ^= change
    (folder / f"changed.{kind}").write_bytes(bytes(data))
    read_all(folder / f"changed.{kind}")


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=8,
)


@given(
    data=st.one_of(
        st.binary(max_size=100),
        st.lists(st.one_of(JSON, st.dictionaries(st.sampled_from(["truth", "answer_a", "x_0"]), JSON)), max_size=4).map(
            lambda rows: "\n".join(map(json.dumps, rows)).encode()
        ),
    )
)
@settings(max_examples=200)
@example(data=b'{"truth": 1e999, "answer_a": 1, "x_0": [1, 2]}')
def test_bytes_as_lines_of_json(data, folder):
    path = folder / "any.jsonl"
    path.write_bytes(data)
    read_all(path)


@given(data=st.one_of(st.binary(max_size=100), TEXTISH.map(str.encode), JSON.map(lambda v: json.dumps(v).encode())))
@settings(max_examples=200)
@example(data=b'{"fees": {"a": 1}}')
@example(data=b'{"a": 1e999}')
def test_bytes_as_fees(data, folder):
    path = folder / "any.json"
    path.write_bytes(data)
    fees = only_ours(parse_fees, str(path))
    assert fees is None or all(isinstance(fee, float) for fee in fees.values())


@given(given_fees=st.text(max_size=40))
@settings(max_examples=100)
def test_text_as_fees(given_fees):
    assume("\0" not in given_fees)
    only_ours(parse_fees, given_fees)


@given(data=st.one_of(st.binary(max_size=100), JSON.map(lambda v: json.dumps(v).encode())))
@settings(max_examples=150)
def test_bytes_as_a_manifest(data, folder):
    place = folder / "artefact"
    place.mkdir(exist_ok=True)
    (place / "manifest.json").write_bytes(data)
    with pytest.raises(AskwhoError):
        load(place)


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.sampled_from(["", "cat", "dog", "\0", "[bold]", "=1+1", "NaN"]),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.lists(st.integers(0, 3), max_size=2),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.decimals(allow_nan=True),
    st.complex_numbers(max_magnitude=9),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)
ALIKE = st.sampled_from(
    [st.integers(), st.floats(), st.text(max_size=3), st.booleans(), st.dates(), st.sampled_from("ab")]
)


def column_of(size):
    odd = st.lists(ODD, min_size=size, max_size=size)
    alike = ALIKE.flatmap(lambda kind: st.lists(st.one_of(st.none(), kind), min_size=size, max_size=size))
    return st.one_of(odd, alike)


@st.composite
def tables(draw, names=("truth", "answer_a", "answer_b", "x_0", "x_1")):
    size = draw(st.integers(0, 6))
    return {name: draw(column_of(size)) for name in names}


@given(table=tables(), task=st.sampled_from(["auto", "classification", "regression"]), arrays=st.booleans())
@settings(max_examples=400)
def test_odd_tables_as_logs(table, task, arrays):
    columns = Columns(truth="truth", answers="answer_*", features="x_*", task=task)
    if arrays:
        table = {name: np.array([*values, None], dtype=object)[:-1] for name, values in table.items()}
    found = only_ours(describe, table, columns)
    if only_ours(read_log, table, columns) is not None:
        assert found is None or found.rows == len(table["truth"])


@given(table=tables(("grade_a", "grade_b", "x_0", "fee_a", "fee_b", "g", "t")))
@settings(max_examples=200)
def test_odd_tables_of_grades_and_fees(table):
    columns = Columns(grades="grade_*", features="x_*", fees="fee_*", groups="g", text="t")
    only_ours(describe, table, columns)
    only_ours(read_log, table, columns)


@given(table=tables(("x_0", "x_1", "x_2", "id")), k=st.integers(-1, 5), named=st.booleans())
@settings(max_examples=200)
def test_odd_tables_as_queries(table, k, named, policy):
    if not named:
        del table["id"]
    made = only_ours(lambda: policy.decide(table, Target(k=k)).to_columns())
    assert made is None or len(made["k"]) == len(table["x_0"])


@given(table=tables(("x_0", "x_1", "x_2", "answer_left", "answer_both")), price=st.sampled_from([0.0, 0.1, 10.0]))
@settings(max_examples=200)
def test_odd_tables_as_queries_with_answers_so_far(table, price, policy):
    made = only_ours(lambda: policy.next(table, target=Target(fee_weight=price)).next_columns())
    assert made is None or len(made["ask"]) == len(table["x_0"])


@pytest.fixture(scope="module")
def decided(policy, place):
    return policy.read(read_table(place.routes))


@given(table=tables(("id", "answer_left", "answer_both", "left")), by_position=st.booleans())
@settings(max_examples=200)
def test_odd_tables_as_answers(table, by_position, policy, decided):
    if by_position:
        del table["id"]
    made = only_ours(lambda: policy.combine(decided, table, by_position=by_position).outcome_columns())
    assert made is None or len(made["fee"]) == 40


WRITTEN = ("id", "order", "k", "fees", "expected_error", "expected_errors", "propensity", "propensities", "base_answer")


@pytest.fixture(scope="module")
def tables_of_routes(place):
    return read_table(place.routes), read_table(place.new)


@given(changes=st.dictionaries(st.sampled_from(WRITTEN), ODD, max_size=2))
@settings(max_examples=150)
def test_odd_cells_in_routes(changes, policy, tables_of_routes):
    routes, came = dict(tables_of_routes[0]), tables_of_routes[1]
    for name, value in changes.items():
        cells = np.empty(len(routes[name]), dtype=object)
        cells[:] = routes[name].tolist()
        cells[0] = value
        routes[name] = cells
    only_ours(lambda: policy.combine(policy.read(routes), came).outcome_columns())
