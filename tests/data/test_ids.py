"""What queries are called."""

import datetime as dt
import re

import numpy as np
import pytest

from askwho import InvalidInputError
from askwho.data import Columns, Problem, _tables, describe, read_log, read_logs, write_table
from tests import synthetic

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*", fees=synthetic.FEES, id="q", task="classification")


def log(ids):
    return synthetic.classification(len(ids)) | {"q": ids}


@pytest.mark.parametrize(
    ("ids", "texts"),
    [
        (range(60), [str(i) for i in range(60)]),
        (np.arange(60.0), [str(i) for i in range(60)]),
        (np.arange(60) / 2, [str(i / 2) for i in range(60)]),
        ([f"q {i}" for i in range(60)], [f"q {i}" for i in range(60)]),
        (np.array([f"q{i}" for i in range(60)]), [f"q{i}" for i in range(60)]),
        ([" a", *range(59)], [" a", *map(str, range(59))]),
        ([2**60 + i for i in range(60)], [str(2**60 + i) for i in range(60)]),
        (
            [dt.date(2020, 1, 1) + dt.timedelta(i) for i in range(60)],
            [str(dt.date(2020, 1, 1) + dt.timedelta(i)) for i in range(60)],
        ),
    ],
    ids=["numbers", "whole floats", "halves", "texts", "an array of texts", "mixed", "large numbers", "dates"],
)
def test_ids_are_texts(ids, texts):
    found = read_log(log(ids), COLUMNS)
    assert found.ids.tolist() == texts
    assert found.rows(np.array([4, 2])).ids.tolist() == [texts[4], texts[2]]


def test_a_log_without_ids_has_none():
    found = read_log(synthetic.classification(60), Columns(truth="truth", answers="answer_*", features="x_*"))
    assert found.ids is None
    assert found.rows(np.array([1])).ids is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({3: None}, "`id` must name every query, got 1 without a name, the first in row 3."),
        ({3: "", 7: " \n"}, "`id` must name every query, got 2 without a name, the first in row 3."),
        ({9: "q4"}, "`id` must name each query once, got 'q4' in rows 4 and 9: keep one of them."),
    ],
)
def test_an_id_is_never_empty_and_never_twice(change, message):
    ids = [change.get(i, f"q{i}") for i in range(60)]
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        read_log(log(ids), COLUMNS)


@pytest.mark.parametrize(("first", "second"), [(4, 9), (4, 50), (50, 51)])
def test_an_id_in_two_batches_is_found(first, second, tmp_path):
    write_table(tmp_path / "log.parquet", log([first if i == second else i for i in range(60)]))
    with pytest.raises(InvalidInputError, match=f"`id` must name each query once, got .*{second}"):
        list(read_logs(tmp_path / "log.parquet", COLUMNS, usual={}, rows=20))


def test_ids_in_batches_are_those_of_the_log(tmp_path):
    write_table(tmp_path / "log.csv", log([f"q{i}" for i in range(60)]))
    batches = read_logs(tmp_path / "log.csv", COLUMNS, usual={}, rows=25)
    assert [name for batch in batches for name in batch.ids.tolist()] == [f"q{i}" for i in range(60)]


@pytest.mark.parametrize("batch", [13, 1000])
def test_a_look_tells_of_ids_that_are_empty_or_occur_before(batch, tmp_path, monkeypatch):
    monkeypatch.setattr(_tables, "BATCH", batch)
    ids = [f"q{i % 50}" for i in range(60)]
    ids[2] = ids[30] = None
    write_table(tmp_path / "log.parquet", log(ids))
    found = describe(tmp_path / "log.parquet", COLUMNS)
    assert not found.usable
    # The second of a pair is told; those whose first has no name have none before them.
    assert found.problems == [
        Problem("error", "2 queries without an id", "q", (2, 30)),
        Problem("error", "9 ids occur before: each must name one query", "q", (50, 51, 53, 54, 55)),
    ]


def test_a_look_at_good_ids_finds_nothing():
    assert not describe(log(range(60)), COLUMNS).problems
