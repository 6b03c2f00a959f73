"""What moves over time is told in one line each, with the remedy; and nothing is of a log in which nothing does."""

import dataclasses

import numpy as np
import pytest

from askwho.data import describe, read_log, write_table
from askwho.data._drift import OverTime
from tests import synthetic
from tests.clean_logs import SHAPES, clean
from tests.drifting import COLUMNS, drifting


def told(table, columns=COLUMNS):
    return [(each.severity, each.column, each.message) for each in describe(table, columns).problems]


def still(n=600, seed=0):
    """A log in which nothing moves."""
    return synthetic.classification(n, seed) | {"when": np.arange(n)}


STILL = dataclasses.replace(synthetic.COLUMNS, features="x_*,kind", time="when")


def test_a_feature_and_an_entity_that_move_are_told():
    feature, entity = told(drifting(600))
    assert feature[:2] == ("warning", "x_1")
    assert feature[2].startswith("'x_1' moves over time (median -0.0")
    assert feature[2].endswith("Fit on the latest rows, and again as new ones come")
    assert entity[:2] == ("warning", None)
    assert entity[2].startswith("the errors of turns move over time (0.0")
    assert "Give that a name of its own, or fit on the latest rows" in entity[2]
    # Without a column of time nothing is told of it.
    assert not told(drifting(600), dataclasses.replace(COLUMNS, time=None))


def test_rows_may_be_in_any_order():
    table, order = drifting(600), np.random.default_rng(0).permutation(600)
    assert told({name: values[order] for name, values in table.items()}) == told(table)


def test_a_file_tells_the_same_and_so_do_batches(tmp_path):
    table = drifting(600) | {"when": np.datetime64("2026-01-01") + np.arange(600).astype("timedelta64[s]")}
    write_table(tmp_path / "log.parquet", table)
    assert told(tmp_path / "log.parquet") == told(table)
    log = read_log(table, COLUMNS)
    whole, parts = OverTime(), OverTime()
    whole.add(log)
    for start in range(0, 600, 100):
        parts.add(log.rows(np.arange(start, start + 100)))
    assert whole.found() == parts.found()


def test_categories_that_move_are_told_and_named():
    table = still()
    late = np.arange(600) >= 300
    table["kind"] = np.where(np.random.default_rng(0).random(600) < np.where(late, 0.6, 0.3), "new", "old")
    ((_, column, message),) = told(table, STILL)
    assert column == "kind"
    assert "'kind' moves over time (is 'old' in 75% of rows in the earlier half, in 40% in the later)" in message


def test_of_several_the_one_that_moves_most_is_shown():
    table = drifting(600)
    table["x_0"] = table["x_0"] + 0.5 * (np.arange(600) >= 300)
    (_, column, message), _ = told(table)
    assert column is None
    assert message.startswith("'x_1' and 'x_0' move over time (most 'x_1': median")


def test_empty_cells_that_become_more_are_told():
    table = still()
    table["x_1"] = np.where((np.arange(600) >= 300) & (np.arange(600) % 3 > 0), np.nan, table["x_1"])
    ((_, column, message),) = told(table, STILL)
    assert (column, "(empty in 0% of rows in the earlier half, in 67% in the later)" in message) == ("x_1", True)


def test_numbers_that_get_worse_are_told():
    table = synthetic.regression(600) | {"when": np.arange(600)}
    off = table["answer_both"] - table["truth"]
    table["answer_both"] = table["truth"] + off * np.where(np.arange(600) < 300, 1, 5)
    ((_, _, message),) = told(table, dataclasses.replace(synthetic.COLUMNS, time="when"))
    assert message.startswith("the errors of both move over time")


def test_a_trifle_is_not_told_however_many_rows_show_it():
    n = 40_000
    table = still(n)
    table["x_0"] = table["x_0"] + 0.1 * (np.arange(n) >= n // 2)
    assert not told(table, STILL)


def test_a_group_speaks_once():
    # Twenty patients with forty rows each, alike in all that is known of them: no evidence that anything moves.
    table = still(800)
    patient = np.arange(800) // 40
    table |= {"x_0": np.random.default_rng(3).permutation(20)[patient] + 0.0, "who": patient}
    assert told(table, STILL)
    assert not told(table, dataclasses.replace(STILL, groups="who"))


def test_a_time_that_stands_still_is_an_error():
    severity, column, message = told(still() | {"when": np.ones(600)}, STILL)[0]
    assert (severity, column) == ("error", "when")
    assert message == "the same moment in every row: nothing is before anything else. Leave it out"


@pytest.mark.parametrize("shape", SHAPES)
def test_nothing_is_told_of_a_clean_log(shape):
    for seed in range(6):
        table, columns = clean(seed, shape, 600)
        n = len(table["x_0"])
        time = [np.arange(n), np.random.default_rng(seed).permutation(n), np.arange(n) // 50][seed % 3]
        log = read_log(table | {"when": time}, dataclasses.replace(columns, time="when"))
        moving = OverTime()
        moving.add(log)
        assert moving.found() == ([], [])
        assert not list(moving.problems())
