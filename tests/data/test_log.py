import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from askwho import InvalidInputError
from askwho.data import (
    Columns,
    FeatureEncoder,
    TextEncoder,
    _tables,
    describe,
    lists,
    read_batches,
    read_log,
    read_logs,
    read_table,
    write_batches,
    write_table,
)
from tests import synthetic

COLUMNS = Columns(truth="truth", answers="answer_*", features="x_*,kind", fees=synthetic.FEES)


@pytest.fixture
def table():
    return synthetic.classification(200)


def test_a_log_is_the_same_from_every_source(table, tmp_path):
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    arrow = pa.table({name: list(values) for name, values in table.items()})
    pa.parquet.write_table(arrow, tmp_path / "log.parquet")
    pa.csv.write_csv(arrow, tmp_path / "log.csv")
    plain = {name: list(values) for name, values in table.items()}
    rows = [{name: values[i] for name, values in plain.items()} for i in range(200)]
    frames = [pd.DataFrame(plain), pl.DataFrame(plain), pl.DataFrame(plain).lazy(), arrow, arrow.to_reader()]
    sources = [table, tmp_path / "log.parquet", str(tmp_path / "log.csv"), rows, *frames]
    logs = [read_log(source, COLUMNS) for source in sources]
    for log in logs[1:]:
        assert log.panel == logs[0].panel
        np.testing.assert_array_equal(log.errors, logs[0].errors)
        np.testing.assert_array_equal(log.truth, logs[0].truth)
        assert list(log.known) == list(logs[0].known)


def test_globs_name_the_entities(table):
    log = read_log(table, COLUMNS)
    assert log.panel.names == ("left", "right", "both", "noise")
    assert log.panel.fees.tolist() == [0.1, 0.1, 1.0, 0.01]
    assert log.task == "classification"


def test_a_named_base_is_of_that_kind(table):
    assert read_log(table, COLUMNS, base="noise").panel.entities[3].kind == "base"


def test_grades_need_no_truth():
    log = read_log(synthetic.grades(50), Columns(grades="grade_*", features="x_*"))
    assert log.truth is None
    assert set(np.unique(log.errors)) <= {0.0, 1.0}


def test_fees_by_query_are_filled_where_nobody_was_asked(table):
    fees = {f"fee_{name}": np.full(200, 2.0) for name in synthetic.FEES}
    fees["fee_both"] = np.where(np.arange(200) < 100, 4.0, np.nan)
    log = read_log(table | fees, Columns(truth="truth", answers="answer_*", features="x_*", fees="fee_*"))
    assert log.fees[150].tolist() == [2.0, 2.0, 4.0, 2.0]


def test_nulls_mean_what_is_said_by_entity():
    table = synthetic.classification(200, missing=0.3)
    columns = Columns(truth="truth", answers="answer_*", features="x_*", nulls={"left": "no-answer"})
    log = read_log(table, columns)
    assert not np.isnan(log.errors[:, 0]).any()
    assert np.isnan(log.errors[:, 1]).any()


@pytest.mark.parametrize(
    ("truth", "task"),
    [(["a", "b"] * 50, "classification"), ([0, 1] * 50, "classification"), (np.linspace(0, 1, 100), "regression")],
)
def test_the_task_is_told_from_the_truth(truth, task):
    table = {"x_0": np.arange(100.0), "truth": np.array(truth), "answer_a": np.array(truth)}
    assert read_log(table, Columns(truth="truth", answers="answer_*", features="x_*")).task == task


def test_columns_survive_json():
    columns = Columns(truth="t", answers="a_*", features="x", fees={"b": 1.0}, nulls={"b": "no-answer"})
    assert Columns.from_json(columns.to_json()) == columns


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"truth": None}, "`truth` must be given with `answers`"),
        ({"answers": None}, "`answers` or `grades` must be given"),
        ({"grades": "g_*"}, "`answers` or `grades` must be given"),
        ({"features": None}, "`features` or `text` must be given"),
        ({"truth": "nowhere"}, "`truth` must be a column of the log, got 'nowhere'"),
        ({"answers": "say_*"}, "`answers` must match a column, got 'say_*'"),
        ({"features": "x_*,truth"}, "`features` must be known before asking, got 'truth'"),
        ({"features": "x_*,answer_left"}, "`features` must be known before asking, got 'answer_left'"),
        ({"fees": {"left": 1.0}}, "`fees` must name every entity"),
        ({"fees": {**synthetic.FEES, "left": -1.0}}, "fee of left"),
        ({"groups": "nowhere"}, "`groups` must be a column of the log"),
        ({"text": "x_0", "features": None}, "`text` must be a column of text"),
    ],
)
def test_what_the_columns_must_be(table, change, message):
    words = {"truth": "truth", "answers": "answer_*", "features": "x_*", **change}
    with pytest.raises(InvalidInputError) as error:
        read_log(table, Columns(**words))
    assert message in str(error.value)


def test_features_become_numbers_with_flags_for_what_is_missing_or_a_category():
    known = {"a": np.array([1.0, np.nan, 3.0]), "b": np.array(["u", None, "v"], dtype=object)}
    encoder = FeatureEncoder.fit(known)
    assert encoder.transform(known).tolist() == [[1, 0, 1, 0], [2, 1, 0, 0], [3, 0, 0, 1]]
    unseen = {"a": np.array([9.0]), "b": np.array(["w"], dtype=object)}
    assert encoder.transform(unseen).tolist() == [[9, 0, 0, 0]]
    again = FeatureEncoder.from_state(encoder.to_state())
    assert again.transform(known).tolist() == encoder.transform(known).tolist()


def test_texts_alike_are_near_in_any_script():
    texts = (
        ["the cat sat on the mat"] * 20 + ["price of oil and gas"] * 20 + ["猫が好きです"] * 20 + ["石油の価格"] * 20
    )
    encoder = TextEncoder.fit(texts, dimensions=4)
    rows = encoder.transform(["the cat sat", "oil price", "猫が好き", "石油価格"])[:, :4]
    assert np.isfinite(rows).all()
    nearest = [np.argmax(encoder.transform(texts[::20])[:, :4] @ row) for row in rows]
    assert nearest == [0, 1, 2, 3]


def test_texts_of_other_shapes_are_told_apart_whatever_they_are_about():
    texts = ["Solve 2x = 4", "solve two x equals four", "Solve\n2x = 4", "SOLVE 2X = 4", "Solve 2x = 4?", ""]
    shapes = TextEncoder.fit(texts, dimensions=2).transform(texts)[:, 2:]
    assert shapes.shape == (6, 14)
    assert np.isfinite(shapes).all()
    assert len(np.unique(shapes, axis=0)) == 6
    assert shapes[2, 7] == 0, "no digit in the first line"
    assert shapes[2, 8] == np.float32(2 / 7), "two in the rest"
    assert shapes[3, 9] == np.float32(6 / 12), "six capitals"
    assert np.flatnonzero(shapes[5]).tolist() == [3], "nothing is one empty line"


def test_a_look_finds_every_problem_at_once(table):
    table["x_0"][3] = np.inf
    table["x_1"][:] = 1.0
    table["truth"] = table["truth"].astype(object)
    table["truth"][7] = None
    table["answer_noise"][:] = None
    found = describe(table, COLUMNS)
    said = {(p.severity, p.column): p for p in found.problems}
    assert said["error", "x_0"].rows == (3,)
    assert said["warning", "truth"].rows == (7,)
    assert "never answered" in said["error", "answer_noise"].message
    assert ("warning", "x_1") in said
    assert not found.usable


def test_a_look_at_a_reader_reads_it_once(table):
    found = describe(pa.table({name: list(values) for name, values in table.items()}).to_reader(50), COLUMNS)
    assert (found.rows, found.problems) == (200, [])
    assert len(found.entities) == 4


@pytest.mark.parametrize("rows", [60, 1000])
def test_a_look_at_lists_of_numbers(rows, table, tmp_path, monkeypatch):
    monkeypatch.setattr(_tables, "BATCH", rows)
    vectors = {name: np.random.default_rng(0).random((200, 3)) for name in ("good", "infinite", "enormous", "gaps")}
    vectors["infinite"][[7, 150], 1] = np.inf
    vectors["enormous"][8, 2] = -1e300
    vectors["gaps"][::2] = np.nan
    vectors |= {"same": np.ones((200, 3)), "empty": np.full((200, 3), np.nan)}
    write_table(tmp_path / "log.parquet", table | {f"x_{name}": list(cells) for name, cells in vectors.items()})
    found = describe(tmp_path / "log.parquet", COLUMNS)
    assert {(p.severity, p.column, p.message, p.rows) for p in found.problems} == {
        ("error", "x_infinite", "2 infinite values", (7, 150)),
        ("error", "x_enormous", "1 values beyond 1e+30: take another unit", (8,)),
        ("warning", "x_same", "the same value in every row: it tells nothing", ()),
        ("error", "x_empty", "every cell is empty", ()),
    }


def test_a_look_tells_of_lists_whose_length_changes_between_batches(table, tmp_path, monkeypatch):
    monkeypatch.setattr(_tables, "BATCH", 100)
    table["x_0"] = [[1.0, i] if i < 100 else [1.0, i, 3.0] for i in range(200)]
    write_table(tmp_path / "log.parquet", table)
    (problem,) = describe(tmp_path / "log.parquet", COLUMNS).problems
    assert problem.message == "holds lists of 2 numbers and lists of 3 numbers: make it one type"


def test_a_sound_log_has_no_problem(table):
    found = describe(table, COLUMNS)
    assert found.usable
    assert not found.problems
    assert {entity["name"] for entity in found.entities} == set(synthetic.FEES)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_tables_travel_with_their_lists(tmp_path, suffix):
    path = tmp_path / f"routes.{suffix}"
    write_table(path, {"ask": [["a", "b"], []], "k": [2, 1], "said": ["x", None]})
    back = read_table(path)
    assert lists(back["ask"], "ask") == [["a", "b"], []]
    assert back["k"].tolist() == [2, 1]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.fixture(params=["parquet", "csv", "jsonl"])
def written(request, table, tmp_path):
    path = tmp_path / f"log.{request.param}"
    write_table(path, table)
    return path


@pytest.mark.parametrize("rows", [1, 7, 200, 1000])
def test_batches_are_the_file_in_its_order(table, written, rows):
    batches = list(read_batches(written, rows=rows))
    assert [len(batch["truth"]) for batch in batches[:-1]] == [rows] * (len(batches) - 1)
    for name, values in table.items():
        np.testing.assert_array_equal(np.concatenate([batch[name] for batch in batches]), np.asarray(values))


def test_batches_cross_row_groups(table, tmp_path):
    arrow = pa.table({name: list(values) for name, values in table.items()})
    pa.parquet.write_table(arrow, tmp_path / "log.parquet", row_group_size=30)
    assert [len(batch["truth"]) for batch in read_batches(tmp_path / "log.parquet", rows=80)] == [80, 80, 40]


def test_a_log_in_batches_is_the_log(written):
    whole = read_log(written, COLUMNS)
    columns = Columns(
        truth="truth", answers="answer_*", features="x_*,kind", fees=synthetic.FEES, task="classification"
    )
    batches = list(read_logs(written, columns, usual={}, rows=60))
    assert [len(batch) for batch in batches] == [60, 60, 60, 20]
    np.testing.assert_array_equal(np.concatenate([batch.errors for batch in batches]), whole.errors)
    np.testing.assert_array_equal(np.concatenate([batch.groups for batch in batches]), whole.groups)


def test_what_only_the_whole_log_shows_is_refused_at_its_end(tmp_path):
    table = synthetic.classification(90)
    table["truth"] = np.full(90, table["truth"][0])
    write_table(tmp_path / "log.csv", table)
    columns = Columns(truth="truth", answers="answer_*", features="x_*", task="classification")
    with pytest.raises(InvalidInputError, match="at least two classes"):
        list(read_logs(tmp_path / "log.csv", columns, usual={}, rows=40))
    table = synthetic.classification(90)
    table["answer_left"] = np.full(90, None, dtype=object)
    write_table(tmp_path / "log.parquet", table)
    with pytest.raises(InvalidInputError, match="none of 'left'"):
        list(read_logs(tmp_path / "log.parquet", columns, usual={}, rows=40))


def test_a_fee_that_a_batch_does_not_tell_is_the_usual_one(tmp_path):
    table = synthetic.classification(60)
    fees = {f"fee_{name}": np.where(np.arange(60) < 30, 2.0, np.nan) for name in synthetic.FEES}
    write_table(tmp_path / "log.parquet", table | fees)
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees="fee_*", task="classification")
    last = list(read_logs(tmp_path / "log.parquet", columns, usual=dict.fromkeys(synthetic.FEES, 7.0), rows=30))[-1]
    assert (last.fees == 7.0).all()


def test_a_batch_cannot_tell_the_task(written):
    with pytest.raises(InvalidInputError, match="`task` must be said"):
        read_logs(written, COLUMNS, usual={})


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("make", [synthetic.classification, synthetic.regression])
def test_a_description_does_not_depend_on_the_batches(make, kind, tmp_path, monkeypatch):
    table = make(250)
    table["x_constant"] = np.full(250, 3.0)
    table["note"] = np.array([f"text {i % 90}" for i in range(250)], dtype=object)
    table["note"][[5, 180, 181]] = ""
    columns = Columns(truth="truth", answers="answer_*", features="x_*", text="note", fees=synthetic.FEES)
    path = tmp_path / f"log.{kind}"
    write_table(path, table)
    whole = describe(read_table(path), columns)
    monkeypatch.setattr(_tables, "BATCH", 60)
    batched = describe(path, columns)
    assert batched.problems == whole.problems
    assert len(whole.problems) == 3
    assert (batched.rows, batched.summary) == (whole.rows, whole.summary)
    for one, other in zip(batched.entities, whole.entities, strict=True):
        assert one["name"] == other["name"]
        assert (one["fee"], one["asked"]) == (other["fee"], other["asked"])
        assert one["error"] == pytest.approx(other["error"])


def test_problems_are_counted_over_all_batches_and_the_first_are_named(tmp_path, monkeypatch):
    table = synthetic.classification(250)
    table["x_0"][[3, 100, 101, 150, 200, 240]] = np.inf
    write_table(tmp_path / "log.parquet", table)
    monkeypatch.setattr(_tables, "BATCH", 60)
    (problem,) = describe(tmp_path / "log.parquet", COLUMNS).problems
    assert "6 infinite" in problem.message
    assert problem.rows == (3, 100, 101, 150, 200)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_column_that_is_empty_at_first_gets_the_type_of_its_first_value(kind, tmp_path):
    path = tmp_path / f"out.{kind}"
    write_batches(path, [{"a": [None], "b": [[]]}, {"a": ["x"], "b": [["y"]]}, {"a": [None], "b": [[]]}])
    assert read_table(path)["a"].tolist() == [None, "x", None]
    write_batches(path, ({"a": [None], "b": [1]} for _ in range(20)))
    assert len(read_table(path)["b"]) == 20
