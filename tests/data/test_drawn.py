"""A stratified sample of a long log: every stratum's share, whole groups, and the same rows however it is read."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askwho.data import read_log, write_table
from askwho.data._drawn import rows_drawn
from tests import synthetic
from tests.refusals import refuses

COLUMNS = synthetic.COLUMNS


@given(st.lists(st.integers(0, 5), min_size=1, max_size=200), st.integers(0, 250))
def test_each_stratum_has_its_share_to_within_one_row(strata, most):
    strata = np.array(strata)
    rows = rows_drawn(strata, None, most)
    n, few = len(strata), min(len(strata), most or len(strata))
    assert len(rows) == few
    assert (np.diff(rows) > 0).all()
    for one in range(6):
        assert abs((strata[rows] == one).sum() - (strata == one).sum() * few / n) < 1


def test_numbers_are_drawn_from_every_stretch_of_them():
    numbers = np.random.default_rng(0).standard_cauchy(20_000)
    drawn = np.sort(numbers[rows_drawn(numbers, None, 100)])
    # One row of each hundredth, the middle of it.
    np.testing.assert_array_equal(np.searchsorted(np.sort(numbers), drawn) // 200, np.arange(100))


def test_every_row_is_as_likely_as_any_other():
    rows = rows_drawn(np.zeros(100_000), None, 10_000)
    tenths = np.bincount(rows // 10_000, minlength=10)
    assert (np.abs(tenths - 1000) < 5 * 30).all()
    assert not np.array_equal(rows, np.arange(5, 100_000, 10))


def test_groups_are_drawn_whole():
    groups = np.repeat(np.arange(1000), np.random.default_rng(0).integers(1, 20, 1000))
    rows = rows_drawn(np.zeros(len(groups)), groups, 2000)
    kept = np.isin(groups, np.unique(groups[rows]))
    np.testing.assert_array_equal(np.flatnonzero(kept), rows)
    assert 1980 < len(rows) <= 2000


def test_a_few_large_groups_are_thinned_alike():
    groups = np.repeat(["a", "b", "c"], [6000, 3000, 1000])
    rows = rows_drawn(np.zeros(10_000), groups, 1000)
    assert [int((groups[rows] == name).sum()) for name in "abc"] == [600, 300, 100]


def written(place, table):
    """The same log in every format."""
    plain = {name: values.tolist() for name, values in table.items()}
    for ending in ("parquet", "csv", "jsonl"):
        write_table(place / f"log.{ending}", plain)
    (place / "packed.csv.gz").write_bytes(gzip.compress((place / "log.csv").read_bytes()))
    pa.feather.write_feather(pa.table(plain), place / "log.arrow")
    return ["log.parquet", "log.csv", "log.jsonl", "packed.csv.gz", "log.arrow"]


@pytest.mark.parametrize("extra", [{}, {"groups": "who"}, {"id": "id"}])
def test_every_source_gives_the_same_rows_and_the_log_in_memory_too(tmp_path, extra, monkeypatch):
    monkeypatch.setattr("askwho.data._tables.BATCH", 70)
    table = synthetic.classification(400, 0)
    table |= {"who": np.arange(400) // 2, "id": np.array([f"q{i}" for i in range(400)]), "unused": np.ones(400)}
    columns = replace(COLUMNS, **extra)
    whole = read_log(table, columns)
    drawn = whole.drawn(150)
    assert (len(drawn), drawn.sampling.drawn_from, whole.sampling.drawn_from) == (150, 400, None)
    for source in [table, *(tmp_path / name for name in written(tmp_path, table))]:
        for kind in (lambda path: path, str):
            log = read_log(kind(source) if source is not table else table, columns, max_rows=150)
            assert log.sampling.drawn_from == 400
            np.testing.assert_array_equal(log.errors, drawn.errors)
            np.testing.assert_array_equal(log.truth, drawn.truth)
            for name, values in drawn.known.items():
                np.testing.assert_allclose(log.known[name], values, rtol=1e-12)


@pytest.mark.parametrize("most", [0, 400, 1000])
def test_a_log_that_is_no_longer_is_read_as_ever(tmp_path, most):
    table = synthetic.classification(400, 0)
    for source in [table, *(tmp_path / name for name in written(tmp_path, table))]:
        log, ever = read_log(source, COLUMNS, max_rows=most), read_log(source, COLUMNS)
        assert log.sampling.drawn_from is None
        np.testing.assert_array_equal(log.errors, ever.errors)
        assert log.drawn(most) is log


def test_a_key_that_only_late_rows_of_json_have_is_empty_before(tmp_path, monkeypatch):
    monkeypatch.setattr("askwho.data._tables.BATCH", 50)
    table = synthetic.classification(200, 0)
    rows = [{name: values.tolist()[i] for name, values in table.items()} for i in range(200)]
    for row in rows[150:]:
        row["x_late"] = "seen"
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    log = read_log(tmp_path / "log.jsonl", COLUMNS, max_rows=100)
    late = log.known["x_late"]
    assert len(late) == 100
    assert set(late.tolist()) == {None, "seen"}


def test_messages(tmp_path):
    table = synthetic.classification(60, 0)
    write_table(tmp_path / "log.parquet", {name: values.tolist() for name, values in table.items()})
    refuses(lambda: read_log(table, COLUMNS, max_rows=-1), "`max_rows` must be")
    refuses(
        lambda: read_log(tmp_path / "log.parquet", replace(COLUMNS, truth="right"), max_rows=10),
        "`truth` must be a column of the log, got 'right'",
    )
    refuses(lambda: read_log(tmp_path / "none.parquet", COLUMNS, max_rows=10), "`log` must be a file")
