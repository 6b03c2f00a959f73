"""Routes and the answers to them are matched by name: in any order, in any batches, in any format."""

import numpy as np
import pytest

from askwho.cli import _route
from askwho.data import _tables, lists, read_table, write_table
from tests import synthetic
from tests.cli.conftest import queries
from tests.cli.running import COLUMNS, printed, refused, run


def rows_of(table, rows):
    return {name: values[rows] for name, values in table.items()}


def without(table, *names):
    return {name: values for name, values in table.items() if name not in names}


@pytest.fixture(scope="module")
def routed(place):
    """Routes to two each, in several formats."""
    for suffix in ("parquet", "csv", "jsonl"):
        words = ["route", place / "policy", place / "new.parquet", "--k", 2]
        assert run(*words, "--out", place / f"routes.{suffix}") == 0
    return place


@pytest.fixture
def combine(routed, tmp_path):
    """Combine some answers; return the decisions file as it is."""

    def combined(table, *more, routes="routes.parquet", suffix="parquet", out="d.csv"):
        write_table(tmp_path / f"came.{suffix}", table)
        words = ["combine", routed / "policy", routed / routes, tmp_path / f"came.{suffix}", *more]
        assert run(*words, "--out", tmp_path / out) == 0
        return (tmp_path / out).read_text(encoding="utf-8")

    return combined


@pytest.mark.parametrize("batch", [1000, 50, 7])
def test_batches_write_what_the_whole_file_does(combine, batch, monkeypatch):
    whole = combine(queries())
    monkeypatch.setattr(_tables, "BATCH", batch)
    assert combine(queries()) == whole


@pytest.mark.parametrize("together", [1000, 50, 7])
def test_routes_are_the_same_however_many_rows_are_routed_at_a_time(routed, together, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(_route, "installed", lambda: True)
    for more in ((), ("--explore", 0.5, "--seed", 3)):
        words, made = ["route", routed / "policy", routed / "new.parquet", "--k", 2, *more], []
        for rows in (1 << 14, together):
            monkeypatch.setattr(_route, "_TOGETHER", rows)
            assert run(*words, "--out", tmp_path / "routes.csv") == 0
            made.append((tmp_path / "routes.csv").read_text(encoding="utf-8"))
        assert made[0] == made[1]
        # Of rows that explore only what they draw by says how many go together.
        batches = 1 if more else -(-120 // together)
        assert capsys.readouterr().err.count("queries\n") == 1 + batches


@pytest.mark.parametrize("batch", [1000, 50, 7])
@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_shuffled_answers_make_the_same_decisions(combine, batch, suffix, monkeypatch):
    whole = combine(queries())
    monkeypatch.setattr(_tables, "BATCH", batch)
    rows = np.random.default_rng(0).permutation(120)
    assert combine(rows_of(queries(), rows), suffix=suffix) == whole
    # In one order for a while, and then in another.
    assert combine(rows_of(queries(), np.r_[0:60, rows[rows >= 60]]), suffix=suffix) == whole


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_routes_of_every_format_make_the_same_decisions(combine, suffix):
    shuffled = rows_of(queries(), np.random.default_rng(1).permutation(120))
    assert combine(shuffled, routes=f"routes.{suffix}") == combine(queries())


def test_answers_without_ids_are_refused_unless_they_go_by_position(combine, routed, tmp_path, capsys):
    nameless = without(queries(), "id")
    write_table(tmp_path / "nameless.parquet", nameless)
    words = ["combine", routed / "policy", routed / "routes.parquet", tmp_path / "nameless.parquet"]
    said = refused(capsys, *words, "--out", tmp_path / "never.csv")
    assert "`answers` must have the column 'id'" in said
    assert said.endswith("add it, or pass --by-position to match row by row.")
    assert not (tmp_path / "never.csv").exists()
    assert combine(nameless, "--by-position") == combine(queries())


@pytest.mark.parametrize("batch", [1000, 50])
@pytest.mark.parametrize("rows", [119, 121, 50])
def test_answers_of_other_rows_are_refused_whatever_the_batches(routed, rows, batch, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(_tables, "BATCH", batch)
    write_table(tmp_path / "other.parquet", without(queries(rows), "id"))
    words = ["combine", routed / "policy", routed / "routes.parquet", tmp_path / "other.parquet", "--by-position"]
    assert "must have a row for each route" in refused(capsys, *words, "--out", tmp_path / "never.csv")
    assert not (tmp_path / "never.csv").exists()


def changed(change):
    table = queries()
    change(table)
    return table


STRANGE = {
    "an unknown id": (
        changed(lambda t: t["id"].__setitem__(3, "stranger")),
        "got 1 in the answers that were not, such as 'stranger'",
    ),
    "a row too many": (queries(121), "must be one that was routed, got 1 in the answers that were not, such as 'q120'"),
    "unknown ids alone": (changed(lambda t: t.update(id=np.arange(120))), "must be one that was routed, got 120"),
    "an id twice": (changed(lambda t: t["id"].__setitem__(3, "q004")), "`id` must name each query once"),
    "an id twice, far apart": (changed(lambda t: t["id"].__setitem__(3, "q117")), "`id` must name each query once"),
    "an empty id": (changed(lambda t: t["id"].__setitem__(3, None)), "`id` must"),
}


@pytest.mark.parametrize("batch", [1000, 50])
@pytest.mark.parametrize("name", STRANGE)
def test_ids_that_are_unknown_or_there_twice_are_refused(name, batch, routed, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(_tables, "BATCH", batch)
    table, message = STRANGE[name]
    write_table(tmp_path / "came.parquet", table)
    words = ["combine", routed / "policy", routed / "routes.parquet", tmp_path / "came.parquet"]
    assert message in refused(capsys, *words, "--out", tmp_path / "never.csv")
    assert not (tmp_path / "never.csv").exists()


def test_routes_with_an_id_twice_are_refused_whatever_the_batches(routed, monkeypatch, tmp_path, capsys):
    routes = read_table(routed / "routes.parquet")
    routes["id"][119] = "q000"
    write_table(tmp_path / "routes.parquet", routes)
    write_table(tmp_path / "came.parquet", rows_of(queries(), np.arange(118, -1, -1)))
    words = ["combine", routed / "policy", tmp_path / "routes.parquet", tmp_path / "came.parquet"]
    for batch in (1000, 50):
        monkeypatch.setattr(_tables, "BATCH", batch)
        assert "`id` must name each query once" in refused(capsys, *words, "--out", tmp_path / "never.csv")


@pytest.mark.parametrize("batch", [1000, 50, 7])
@pytest.mark.parametrize(
    "rows", [np.arange(0, 120, 2), np.arange(10), np.arange(110, 120)], ids=["half", "first", "last"]
)
def test_whose_answers_did_not_come_yet_waits(rows, batch, routed, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(_tables, "BATCH", batch)
    write_table(tmp_path / "came.parquet", rows_of(queries(), np.random.default_rng(0).permutation(rows)))
    words = ["combine", routed / "policy", routed / "routes.parquet", tmp_path / "came.parquet"]
    said = printed(capsys, *words, "--out", tmp_path / "d.parquet")
    assert (said["queries"], said["decided"], said["wait_for_more"]) == (120, len(rows), 120 - len(rows))
    made = read_table(tmp_path / "d.parquet")
    answered = np.isin(np.arange(120), rows)
    assert [value is not None for value in made["prediction"].tolist()] == answered.tolist()
    assert [bool(names) for names in lists(made["heard"], "heard")] == answered.tolist()
    assert [len(names) for names in lists(made["ask_next"], "ask_next")] == np.where(answered, 0, 2).tolist()
    assert (made["fee"][~answered] == 0).all()


@pytest.fixture(scope="module")
def numbered(tmp_path_factory):
    """A policy whose log names its queries by numbers with zeros in front, and knows classes that look like numbers."""
    folder = tmp_path_factory.mktemp("numbered")
    digits = {"cat": "01", "dog": "02", "owl": "10"}
    for name, rows, seed in (("log", 200, 0), ("new", 60, 1)):
        table = synthetic.classification(rows, seed)
        place = np.searchsorted(["cat", "dog", "owl"], table["truth"])
        told = {
            n: np.array([digits[str(v)] for v in table[n]], dtype=object)
            for n in table
            if n.startswith(("answer", "truth"))
        }
        ids = np.array([f"{i:04}" for i in range(rows)], dtype=object)
        hint = place + 0.3 * np.random.default_rng(seed).normal(size=rows)
        write_table(folder / f"{name}.parquet", table | told | {"ticket": ids, "x_1": hint})
    words = ["fit", folder / "log.parquet", *COLUMNS, "--id", "ticket", "--learner", "linear", "--cv", 2]
    assert run(*words, "--out", folder / "policy") == 0
    return folder


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
@pytest.mark.parametrize("back", ["parquet", "csv", "jsonl"])
def test_names_and_classes_that_look_like_numbers_stay_what_they_are(numbered, suffix, back, tmp_path, capsys):
    new, routes = read_table(numbered / "new.parquet"), tmp_path / f"routes.{suffix}"
    assert run("route", numbered / "policy", numbered / "new.parquet", "--k", 3, "--out", routes) == 0
    made = read_table(routes, texts=["id", "base_answer"])
    assert made["id"].tolist() == new["ticket"].tolist()
    assert {"01", "02", "10"} == set(made["base_answer"].tolist())
    write_table(tmp_path / f"came.{back}", rows_of(new, np.random.default_rng(0).permutation(60)))
    words = ["combine", numbered / "policy", routes, tmp_path / f"came.{back}", "--out", tmp_path / "d.parquet"]
    if back == "csv":
        # Of answers nobody can tell what they are: that is said, and never guessed.
        assert "`answers` must be text, as in the policy's log, got numbers" in refused(capsys, *words)
        return
    assert printed(capsys, *words)["decided"] == 60
    decided = read_table(tmp_path / "d.parquet")
    assert decided["id"].tolist() == new["ticket"].tolist()
    assert (decided["prediction"] == new["truth"]).mean() > 0.8


def test_whole_numbers_are_the_same_names_with_and_without_a_point(place, tmp_path, capsys):
    new = without(queries(), "id")
    write_table(tmp_path / "new.parquet", new | {"id": np.arange(120)})
    write_table(tmp_path / "came.parquet", new | {"id": np.arange(120.0)})
    assert run("route", place / "policy", tmp_path / "new.parquet", "--k", 1, "--out", tmp_path / "r.csv") == 0
    words = ["combine", place / "policy", tmp_path / "r.csv", tmp_path / "came.parquet", "--out", tmp_path / "d.csv"]
    assert printed(capsys, *words)["decided"] == 120
