"""Every broken log or table ends a command with exit code 2 and one clear line, and leaves no file behind."""

import datetime as dt
import decimal
import errno
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from askwho.data import lists, read_table
from tests import synthetic
from tests.hardening.commands import (
    COLUMNS,
    FEES,
    QUICK,
    WITHOUT_FEES,
    changed,
    csv,
    fees_file,
    log,
    parquet,
    raw,
    run,
    the_line,
)

NAN, INF = float("nan"), float("inf")
BASES = ("base", "own-base", "askwho-base", "askwho-own-base")
ANSWERS = [f"answer_{name}" for name in synthetic.FEES]


def every(table, names, value):
    for name in names:
        table[name][:] = value


def numbers(table):
    """Make a log of numbers of it: a regression."""
    table.update({name: np.array(values, dtype=object) for name, values in synthetic.regression(60).items()})
    del table["kind"]


def number_truth(value):
    def change(table):
        numbers(table)
        table["truth"][3] = value

    return changed(change)


def whole(folder, **options):
    path = folder / "whole.parquet"
    pa.parquet.write_table(pa.table({name: list(values) for name, values in log().items()}), path, **options)
    data = path.read_bytes()
    path.unlink()
    return data


def cut(share):
    def make(folder):
        data = whole(folder)
        return raw(data[: int(len(data) * share)], "log.parquet")(folder)

    return make


def overwritten(folder):
    data = bytearray(whole(folder, compression="gzip"))
    data[4:400] = b"\xff" * 396
    return raw(bytes(data), "log.parquet")(folder)


def twice_in_parquet(folder):
    table = log()
    columns = [pa.array(list(values)) for values in table.values()]
    pa.parquet.write_table(
        pa.Table.from_arrays([*columns, columns[0]], names=[*table, next(iter(table))]), folder / "log.parquet"
    )
    return folder / "log.parquet"


def below_a_file(folder):
    (folder / "file").write_text("I am no folder")
    return folder / "file" / "log.parquet"


def link_to_itself(folder):
    (folder / "log.parquet").symlink_to(folder / "log.parquet")
    return folder / "log.parquet"


def link_to_what_cannot_be_read(folder):
    (folder / "log.csv").symlink_to("/proc/self/mem")
    return folder / "log.csv"


LOGS = {
    # What a command is pointed at.
    "no such file": (lambda folder: folder / "nowhere.parquet", "it is not there"),
    "a folder of nothing": (lambda folder: folder, "there is none"),
    "a folder with the name of a table": (lambda folder: (folder / "log.csv").mkdir() or folder / "log.csv", "there"),
    "a file for a parent": (below_a_file, "it is not there"),
    "a link to itself": (link_to_itself, "it is not there"),
    "a file that cannot be read": (link_to_what_cannot_be_read, "must be a CSV file"),
    "a name too long": (lambda folder: folder / f"{'x' * 300}.parquet", "too long"),
    # What is no table.
    "empty Parquet": (raw(b"", "log.parquet"), "must be a Parquet file"),
    "empty CSV": (raw(b""), "Empty CSV file"),
    "a CSV of one line feed": (raw(b"\n"), "`log`"),
    "random bytes": (raw(np.random.default_rng(0).bytes(4096), "log.parquet"), "must be a Parquet file"),
    "random bytes as CSV": (raw(np.random.default_rng(0).bytes(4096)), "`log`"),
    "Parquet cut in half": (cut(0.5), "must be a Parquet file"),
    "Parquet without its last byte": (cut(0.9999), "must be a Parquet file"),
    "Parquet with a page overwritten": (overwritten, "must be a Parquet file"),
    "only the magic of Parquet": (raw(b"PAR1PAR1", "log.parquet"), "must be a Parquet file"),
    "CSV named Parquet": (raw(csv(), "log.parquet"), "must be a Parquet file"),
    "a truncated gzip": (raw(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c", "log.csv"), "`log`"),
    "a truncated gzip by its name": (raw(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b", "log.csv.gz"), "must be"),
    "not UTF-8": (raw(csv(change=lambda t: every(t, ["truth"], "caf\xe9")).encode("latin-1")), "UTF-8"),
    "not UTF-8 everywhere": (
        raw(csv().replace("cat", "ch\xe2t").replace("dog", "d\xf4g").encode("latin-1")),
        "UTF-8",
    ),
    "UTF-16": (raw(csv().encode("utf-16")), "`log`"),
    # Rows.
    "header only": (raw(csv(0)), "must not be empty"),
    "no rows in Parquet": (changed(lambda t: None, rows=0), "must not be empty"),
    "one row": (changed(lambda t: None, rows=1), "class"),
    "rows with a cell too few": (raw(csv() + "1,2\n"), "columns"),
    "rows with a cell too many": (raw(csv() + ",".join("1" * 40) + "\n"), "columns"),
    # Columns.
    "no truth": (changed(lambda t: t.pop("truth")), "`truth` must be a column of the log, got 'truth'"),
    "no answers": (changed(lambda t: [t.pop(n) for n in ANSWERS]), "`answers` must match a column"),
    "no features": (changed(lambda t: [t.pop(f"x_{i}") for i in range(3)]), "`features` must match a column"),
    "an entity lost": (changed(lambda t: t.pop("answer_both")), "there is no column of 'both'"),
    "an entity too many": (changed(lambda t: t.update(answer_new=t["truth"])), "`fees` must name every entity"),
    "a column twice in CSV": (raw(csv(head=",".join(["x_0", *list(log())[1:-1], "x_0"]))), "more than once"),
    "a column twice in Parquet": (twice_in_parquet, "more than once"),
    "an entity without a name": (changed(lambda t: t.update(answer_=t.pop("answer_both"))), "must name every entity"),
    # The truth.
    "only null truths": (changed(lambda t: every(t, ["truth"], None)), "nothing tells right from wrong"),
    "infinite truth": (number_truth(INF), "finite"),
    "enormous truth": (number_truth(1e300), "finite"),
    "one class": (changed(lambda t: every(t, ["truth"], "cat")), "class"),
    "truth of lists": (changed(lambda t: t.update(truth=[["cat"]] * 60)), "list"),
    "truth of structures": (changed(lambda t: t.update(truth=[{"a": 1}] * 60)), "structure"),
    "truth of bytes": (changed(lambda t: t.update(truth=[v.encode() for v in t["truth"]])), "UTF-8"),
    "numbers for a truth of words": (changed(lambda t: t.update(truth=list(range(60)))), "type"),
    # Answers.
    "all answers missing": (changed(lambda t: every(t, ANSWERS, None)), "never answered"),
    "one entity never answered": (changed(lambda t: every(t, ["answer_left"], None)), "left never answered"),
    "answers of two types": (changed(lambda t: t.update(answer_left=list(range(60)))), "one type"),
    "answers of lists": (changed(lambda t: t.update(answer_left=[["cat", "dog"]] * 60)), "list"),
    "answers of times": (changed(lambda t: t.update(answer_left=[dt.time(1)] * 60)), "type"),
    "an infinite answer": (changed(lambda t: numbers(t) or t["answer_left"].__setitem__(2, INF)), "finite"),
    # Features.
    "an infinite feature": (changed(lambda t: t["x_0"].__setitem__(2, INF)), "infinite"),
    "a feature of minus infinity": (changed(lambda t: t["x_0"].__setitem__(2, -INF)), "infinite"),
    "a feature beyond 32 bits": (changed(lambda t: t["x_0"].__setitem__(2, 1e300)), "x_0"),
    "an empty feature": (changed(lambda t: every(t, ["x_1"], None)), "every cell is empty"),
    "a feature of NaN only": (changed(lambda t: every(t, ["x_1"], NAN)), "every cell is empty"),
    "features of lists of words": (changed(lambda t: t.update(x_1=[["a", "b"]] * 60)), "lists of something else"),
    "features of lists of several lengths": (
        changed(lambda t: t.update(x_1=[[1.0] * (i % 3) for i in range(60)])),
        "lists of 0 and of 2",
    ),
    "features of structures": (changed(lambda t: t.update(x_1=[{"a": 1.0}] * 60)), "structure"),
    "ten million letters in a feature": (changed(lambda t: t.update(x_0=["x" * 10**7, *"y" * 59])), "10000000 letters"),
    "ten million letters in an answer": (changed(lambda t: t["answer_left"].__setitem__(0, "x" * 10**7)), "letters"),
    "ten million letters in a truth": (changed(lambda t: t["truth"].__setitem__(0, "x" * 10**7)), "10000000 letters"),
    "features of bytes": (changed(lambda t: t.update(x_1=[b"\xff\x00"] * 60)), "UTF-8"),
}


@pytest.mark.parametrize("command", ["check", "fit"])
@pytest.mark.parametrize("name", LOGS)
def test_a_broken_log(name, command, tmp_path, refuse, capsys):
    make, says = LOGS[name]
    path = make(tmp_path)
    words = [*COLUMNS, *QUICK, "--out", tmp_path / "policy"] if command == "fit" else COLUMNS
    said = refuse(command, path, *words)
    if command == "fit":
        assert "`" in said or "askwho: File name too long" in said
    else:
        capsys.readouterr()
        run(command, path, *words, "--json")
        said += capsys.readouterr().out
        assert says in said


# Logs that can be described, and not be fitted.

UNFIT = {
    "two rows": (changed(lambda t: t["truth"].__setitem__(slice(None), ["cat", "dog"]), rows=2), [], "at least 8 rows"),
    "seven truths": (
        changed(lambda t: t["truth"].__setitem__(slice(7, None), None)),
        [],
        "`truth` must have at least 8",
    ),
    "truths of one class": (changed(lambda t: t["truth"].__setitem__(t["truth"] != "cat", None)), [], "two classes"),
    "a quote that never ends": (raw(csv().replace("cat", '"cat', 1)), [], "`log` must"),
    "one group for all rows": (changed(lambda t: t.update(g=["same"] * 60)), ["--groups", "g"], "group"),
    "groups with gaps": (changed(lambda t: t.update(g=["a", "b", None] * 20)), ["--groups", "g"], "never empty"),
    "groups of lists": (changed(lambda t: t.update(g=[["a"]] * 60)), ["--groups", "g"], "list"),
    "no such groups": (changed(lambda t: None), ["--groups", "g"], "`groups` must be a column"),
    "no such text": (changed(lambda t: None), ["--text", "t"], "`text` must be a column"),
    "text of numbers": (changed(lambda t: None), ["--text", "x_0"], "text"),
    "text of lists": (changed(lambda t: t.update(t=[["a"]] * 60)), ["--text", "t"], "list"),
    "truth for a text": (changed(lambda t: None), ["--text", "truth"], "known before asking"),
    "truth for a feature": (changed(lambda t: None), ["--features", "x_*,truth"], "known before asking"),
    "an answer for a feature": (changed(lambda t: None), ["--features", "x_*,answer_left"], "known before asking"),
    "everything for a feature": (changed(lambda t: None), ["--features", "*"], "known before asking"),
    "info of words": (changed(lambda t: t.update(c_left=["high"] * 60)), ["--info", "c_*"], "must hold numbers"),
    "infinite info": (changed(lambda t: t.update(c_left=[INF] * 60)), ["--info", "c_*"], "finite"),
    "an entity from two columns": (
        changed(lambda t: t.update(said_left=t["truth"])),
        ["--answers", "answer_*,said_*"],
        "`answers` must name each entity once",
    ),
    "a pattern of nothing": (changed(lambda t: None), ["--answers", ""], "`answers`"),
    "answers and grades": (changed(lambda t: None), ["--grades", "x_*"], "and not both"),
    "no folds": (changed(lambda t: None), ["--cv", 0], "`cv`"),
    "one fold": (changed(lambda t: None), ["--cv", 1], "`cv`"),
    "folds below zero": (changed(lambda t: None), ["--cv", -3], "`cv`"),
    "a seed below zero": (changed(lambda t: None), ["--seed", -1], "`random_state`"),
    "an enormous seed": (changed(lambda t: None), ["--seed", 10**30], "`random_state`"),
    "regression of words": (changed(lambda t: None), ["--task", "regression"], "numbers"),
    "an unknown meaning of nulls": (changed(lambda t: None), ["--null", "nobody"], "`nulls` must be one of"),
    "nulls of a stranger": (changed(lambda t: None), ["--null", "stranger=no-answer"], "`nulls` must name entities"),
    "a price of NaN": (changed(lambda t: None), ["--learner", "top-k", "--fee-weight", NAN], "`fee_weight`"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_log_that_cannot_be_fitted(name, tmp_path, refuse):
    make, options, says = UNFIT[name]
    assert says in refuse("fit", make(tmp_path), *COLUMNS, *QUICK, *options, "--out", tmp_path / "policy")


GRADES = {
    "above one": 1.5,
    "below zero": -0.1,
    "infinite": INF,
    "in per cent": 97.0,
}


@pytest.mark.parametrize("name", GRADES)
@pytest.mark.parametrize("command", ["check", "fit"])
def test_grades_that_are_none(name, command, tmp_path, refuse):
    table = {n: np.array(v, dtype=object) for n, v in synthetic.grades(60).items()}
    table["grade_cheap"][3] = GRADES[name]
    path = parquet(tmp_path / "log.parquet", table)
    out = [*QUICK, "--out", tmp_path / "policy"] if command == "fit" else []
    said = refuse(command, path, "--grades", "grade_*", "--features", "x_*", *out)
    assert "grades" in said or command == "check"


@pytest.mark.parametrize("kind", [["good"] * 60, [[1.0]] * 60, [None] * 60], ids=["words", "lists", "nothing"])
@pytest.mark.parametrize("command", ["check", "fit"])
def test_grades_of_another_type(kind, command, tmp_path, refuse):
    path = parquet(tmp_path / "log.parquet", synthetic.grades(60) | {"grade_cheap": kind})
    out = [*QUICK, "--out", tmp_path / "policy"] if command == "fit" else []
    refuse(command, path, "--grades", "grade_*", "--features", "x_*", *out)


def test_grades_and_a_truth_are_one_too_many(tmp_path, refuse):
    path = parquet(tmp_path / "log.parquet", synthetic.grades(60) | {"truth": ["a", "b"] * 30})
    for command, out in (("check", []), ("fit", [*QUICK, "--out", tmp_path / "policy"])):
        said = refuse(command, path, "--grades", "grade_*", "--truth", "truth", "--features", "x_*", *out)
        assert "`truth` must be given with `answers`" in said


GOOD = dict(synthetic.FEES)
FEE_OPTIONS = {
    "below zero": ("left=-1,right=1,both=1,noise=1", "fee of left"),
    "NaN": ("left=nan,right=1,both=1,noise=1", "fee of left"),
    "infinite": ("left=inf,right=1,both=1,noise=1", "fee of left"),
    "enormous": ("left=1e308,right=1e308,both=1e308,noise=1e308", "fee"),
    "a word": ("left=free,right=1,both=1,noise=1", "`fees` must be numbers"),
    "of a stranger": (FEES + ",stranger=1", "`fees` must name every entity"),
    "missing": ("left=1,right=1,both=1", "`fees` must name every entity"),
    "twice": (FEES + ",left=3", "left"),
    "without a number": ("left=,right=1,both=1,noise=1", "`fees` must be numbers"),
    "without a sign": ("left=1,right", "`fees` must be name=value"),
    "no such column": ("fee_*", "`fees` must match a column"),
    "no such file": ("nowhere.json", "cannot be read"),
    "a file that is a folder": (lambda f: (f / "fees.json").mkdir() or f / "fees.json", "cannot be read"),
    "a file below a file": (lambda f: below_a_file(f).with_name("fees.json"), "cannot be read"),
    "empty JSON": (fees_file(""), "cannot be read"),
    "cut JSON": (fees_file(json.dumps(GOOD)[:-3]), "cannot be read"),
    "JSON that is not UTF-8": (fees_file(b'{"caf\xe9": 1}'), "cannot be read"),
    "JSON of a thousand brackets": (fees_file("[" * 100_000), "cannot be read"),
    "a list": (fees_file([1, 2, 3, 4]), "must be a JSON object"),
    "a number": (fees_file(3), "must be a JSON object"),
    "null": (fees_file("null"), "must be a JSON object"),
    "an empty object": (fees_file({}), "`fees` must name every entity"),
    "nested": (fees_file(GOOD | {"left": {"fee": 1}}), "`fees` must be numbers"),
    "nested deeper": (fees_file({"fees": {"fees": GOOD}}), "`fees` must be numbers"),
    "in lists": (fees_file({name: [fee] for name, fee in GOOD.items()}), "`fees` must be numbers"),
    "true": (fees_file(GOOD | {"left": True}), "`fees` must be numbers"),
    "nothing": (fees_file(GOOD | {"left": None}), "`fees` must be numbers"),
    "words": (fees_file(GOOD | {"left": "cheap"}), "`fees` must be numbers"),
    "below zero in JSON": (fees_file(GOOD | {"left": -1}), "fee of left"),
    "NaN in JSON": (fees_file(GOOD | {"left": NAN}), "fee of left"),
    "a number of a thousand digits": (fees_file(json.dumps(GOOD).replace("1.0", "1" * 5000)), "fee"),
    "a stranger in JSON": (fees_file(GOOD | {"stranger": 1}), "`fees` must name every entity"),
    "one missing in JSON": (fees_file({"left": 1}), "`fees` must name every entity"),
    "twice in JSON": (fees_file('{"left": 1, "left": 2, "right": 1, "both": 1, "noise": 1}'), "left"),
}


@pytest.mark.parametrize("name", FEE_OPTIONS)
@pytest.mark.parametrize("command", ["check", "fit"])
def test_fees_that_are_none(name, command, place, tmp_path, refuse):
    given, says = FEE_OPTIONS[name]
    fees = given(tmp_path) if callable(given) else given
    out = [*QUICK, "--out", tmp_path / "policy"] if command == "fit" else []
    said = refuse(command, place.log, *WITHOUT_FEES, "--fees", fees, *out)
    if command == "fit":
        assert says in said


FEE_COLUMNS = {
    "below zero": [-1.0] + [1.0] * 59,
    "infinite": [INF] + [1.0] * 59,
    "all NaN": [NAN] * 60,
    "all empty": [None] * 60,
    "words": ["free"] * 60,
    "lists": [[1.0]] * 60,
    "dates": [dt.date(2020, 1, 1)] * 60,
}


@pytest.mark.parametrize("name", FEE_COLUMNS)
@pytest.mark.parametrize("command", ["check", "fit"])
def test_columns_of_fees_that_are_none(name, command, tmp_path, refuse):
    fees = {f"fee_{n}": [1.0] * 60 for n in synthetic.FEES} | {"fee_left": FEE_COLUMNS[name]}
    path = parquet(tmp_path / "log.parquet", log() | fees)
    out = [*QUICK, "--out", tmp_path / "policy"] if command == "fit" else []
    refuse(command, path, *WITHOUT_FEES, "--fees", "fee_*", *out)


def test_a_column_of_fees_for_somebody_too_few(tmp_path, refuse):
    path = parquet(tmp_path / "log.parquet", log() | {"fee_left": [1.0] * 60})
    for command, out in (("check", []), ("fit", [*QUICK, "--out", tmp_path / "policy"])):
        refuse(command, path, *WITHOUT_FEES, "--fees", "fee_*", *out)


# Odd, and fine.


def as_decimals(table):
    for name in ("x_0", "x_1"):
        table[name] = pa.array([decimal.Decimal(f"{v:.4f}") for v in table[name]])


def as_dictionaries(table):
    for name in ("truth", *ANSWERS):
        table[name] = pa.array(list(table[name])).dictionary_encode()


def as_booleans(table):
    for name in ("truth", *ANSWERS):
        table[name] = [v == "cat" for v in table[name]]


def as_booleans_with_gaps(table):
    as_booleans(table)
    table["answer_left"][::3] = [None] * len(table["answer_left"][::3])


def as_dates(table):
    days = {"cat": dt.date(2020, 1, 1), "dog": dt.date(2021, 1, 1), "owl": dt.date(2022, 1, 1)}
    for name in ("truth", *ANSWERS):
        table[name] = [days[v] for v in table[name]]


def as_large_numbers(table):
    codes = {"cat": 2**60, "dog": 2**60 + 1, "owl": -(2**62)}
    for name in ("truth", *ANSWERS):
        table[name] = [codes[v] for v in table[name]]


def as_moments(table):
    table["x_0"] = [dt.datetime(2020, 1, 1, tzinfo=dt.UTC) + dt.timedelta(hours=i) for i in range(60)]


def gaps_everywhere(table):
    rng = np.random.default_rng(0)
    for name in ("x_0", "x_1", *ANSWERS):
        table[name][rng.random(60) < 0.3] = None


def cast(kind, *names):
    def change(table):
        for name in names:
            table[name] = pa.array(list(table[name])).cast(kind)

    return change


ODD = {
    "decimals": changed(as_decimals),
    "dictionaries": changed(as_dictionaries),
    "booleans": changed(as_booleans),
    "booleans with gaps": changed(as_booleans_with_gaps),
    "dates": changed(as_dates),
    "moments for features": changed(as_moments),
    "numbers beyond 2^53": changed(as_large_numbers),
    "gaps everywhere": changed(gaps_everywhere),
    "a truth that is missing": changed(lambda t: t["truth"].__setitem__(4, None)),
    "most truths missing": changed(lambda t: t["truth"].__setitem__(slice(12, None), None)),
    "truths missing in CSV": raw(csv(change=lambda t: t["truth"].__setitem__(slice(0, 30), None))),
    "all features constant": changed(lambda t: every(t, ["x_0", "x_1", "x_2"], 1.0)),
    "large strings": changed(cast(pa.large_string(), "truth", *ANSWERS)),
    "views of strings": changed(cast(pa.string_view(), "truth", "kind", *ANSWERS)),
    "half precision": changed(cast(pa.float16(), "x_0")),
    "nanoseconds since 1970": changed(lambda t: t.update(x_0=[i * 10**17 for i in range(60)])),
    "tiny numbers": changed(lambda t: t.update(x_0=[i * 1e-300 for i in range(60)])),
    "a thousand columns": changed(lambda t: t.update({f"x_{i}": np.arange(60) % (i % 7 + 2) for i in range(3, 1000)})),
    "a column of lists that nobody named": changed(lambda t: t.update(other=[[1]] * 60)),
    "a column of nulls that nobody named": changed(lambda t: t.update(other=pa.nulls(60))),
    "CSV with a BOM": raw(b"\xef\xbb\xbf" + csv().encode()),
    "CSV with carriage returns": raw(csv().replace("\n", "\r\n")),
    "CSV with empty lines at the end": raw(csv() + "\n\n"),
    "NUL in a cell": changed(lambda t: t["kind"].__setitem__(0, "a\0b")),
    "NUL in an answer": changed(lambda t: t["answer_left"].__setitem__(0, "ca\0t")),
    "NUL in a cell of CSV": raw(csv(change=lambda t: t["kind"].__setitem__(0, "a\0b"))),
    "a lone surrogate's bytes": changed(lambda t: t["answer_left"].__setitem__(0, "\ue000\ufffe\U0010ffff")),
    "ten million letters of text": changed(lambda t: t.update(text=["x" * 10**7, *["y"] * 59])),
    "a hundred thousand words of text": changed(lambda t: t.update(text=["a b " * 10**5, *["y"] * 59])),
    "texts that are all the same": changed(lambda t: t.update(text=["the same"] * 60)),
    "texts that are all empty": changed(lambda t: t.update(text=[""] * 60)),
    "texts that are all missing": changed(lambda t: t.update(text=pa.nulls(60, pa.string()))),
    "entities with the names of bases": changed(
        lambda t: t.update({f"answer_{n}": t.pop(f"answer_{o}") for o, n in zip(synthetic.FEES, BASES, strict=True)})
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_log_is_fitted_and_decides(name, tmp_path, capsys):
    path, policy = ODD[name](tmp_path), tmp_path / "policy"
    columns = [*WITHOUT_FEES, "--features", "x_*,kind", "--task", "classification"]
    if "texts" in name or "of text" in name:
        columns += ["--text", "text"]
    # Nobody needs a base of its own to be odd, but names of bases do.
    base = "auto" if "bases" in name else "none"
    assert run("check", path, *columns) == 0
    assert run("fit", path, *columns, *QUICK, "--base", base, "--out", policy) == 0
    assert run("evaluate", policy, path, "--json") == 0
    assert run("route", policy, path, "--k", 2, "--out", tmp_path / "routes.csv") == 0
    assert run("combine", policy, tmp_path / "routes.csv", path, "--out", tmp_path / "decisions.parquet") == 0
    assert run("explain", policy, path, "--k", 1) == 0
    assert len(read_table(tmp_path / "decisions.parquet")["fee"]) == 60
    assert len(capsys.readouterr().out) < 50_000


def test_check_warns_of_a_feature_that_is_the_truth(tmp_path, capsys):
    path = parquet(tmp_path / "log.parquet", log() | {"x_leak": log()["truth"]})
    assert run("check", path, *COLUMNS, "--json") == 0
    problems = json.loads(capsys.readouterr().out)["problems"]
    assert [p["column"] for p in problems if "is it known before asking" in p["message"]] == ["x_leak"]


@pytest.mark.parametrize(("column", "options"), [({}, ["--cv", 10**6]), ({"g": ["a", "b"] * 7}, ["--groups", "g"])])
def test_more_folds_than_rows_or_groups_are_fewer(column, options, tmp_path):
    path = parquet(tmp_path / "log.parquet", log(14) | column)
    words = ["fit", path, *WITHOUT_FEES, "--learner", "linear", "--base", "none", *options]
    assert run(*words, "--out", tmp_path / "policy") == 0


def test_more_entities_than_rows(tmp_path):
    table = log(30) | {f"answer_{i}": log(30, seed=i)["answer_both"] for i in range(50)}
    path = parquet(tmp_path / "log.parquet", table)
    assert run("check", path, *WITHOUT_FEES) == 0
    assert run("fit", path, *WITHOUT_FEES, *QUICK, "--base", "none", "--out", tmp_path / "policy") == 0
    assert run("evaluate", tmp_path / "policy", path) == 0


def test_a_thousand_entities_are_not_listed(tmp_path, refuse):
    table = log(30) | {f"answer_{i}": ["cat"] * 30 for i in range(1000)}
    path = parquet(tmp_path / "log.parquet", table)
    assert refuse("fit", path, *COLUMNS, *QUICK, "--out", tmp_path / "policy").endswith("…")


# Strings that somebody else would obey.

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "formula": "=cmd()|'/C calc'!A0",
    "markup": "[bold red]x[/bold red]",
    "closing markup": "[/]",
    "escape codes": "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "newlines": "one\ntwo\r\nthree",
    "right to left": "abc\u202edcba",
    "quotes": "a\"b'c`d",
    "a comma": "a,b",
    "braces": "{0} {name} %s %(x)d",
    "a path": "../../etc/passwd",
    "nothing but spaces": "   ",
    "NUL": "a\0b",
    "globs": "[a-z]*?",
}


@pytest.fixture(scope="module", params=HOSTILE)
def hostile(request, tmp_path_factory):
    """A log whose names, answers, truth, categories and texts are hostile, and the policy that it taught."""
    word, folder = HOSTILE[request.param], tmp_path_factory.mktemp("hostile")
    table = log(60)
    table = {name.replace("left", word): values for name, values in table.items()}
    for name in ("truth", "kind", *(n for n in table if n.startswith("answer_"))):
        table[name] = [word if value in ("cat", "a") else value for value in table[name]]
    table["text"] = [f"{word} {value}" for value in table["truth"]]
    table["id"] = [f"{word} {i}" for i in range(60)]
    table[f"x_{word}"] = table.pop("x_0")
    table[f"by {word}"] = table["kind"]
    parquet(folder / "log.parquet", table)
    (folder / "fees.json").write_text(
        json.dumps({word if n == "left" else n: fee for n, fee in synthetic.FEES.items()})
    )
    columns = [*WITHOUT_FEES, "--features", "x_*,kind", "--text", "text", "--fees", folder / "fees.json"]
    status = run("fit", folder / "log.parquet", *columns, *QUICK, "--base", "none", "--out", folder / "policy")
    assert status == 0
    return word, folder, columns


def harmless(text):
    """Nothing that a terminal obeys, but for the line feeds between lines."""
    return all(c.isprintable() or c in "\n" for c in text)


def test_hostile_strings_on_a_terminal(hostile, tmp_path, capsys):
    word, folder, columns = hostile
    capsys.readouterr()
    path, policy = folder / "log.parquet", folder / "policy"
    assert run("check", path, *columns) == 0
    assert run("evaluate", policy, path) == 0
    assert run("explain", policy, path, "--k", 2) == 0
    assert run("route", policy, path, "--k", 2, "--out", tmp_path / "routes.csv") == 0
    said = capsys.readouterr()
    assert harmless(said.out + said.err)
    if word.startswith("[bold"):
        assert word in said.out


def test_hostile_strings_in_a_refusal(hostile, tmp_path, refuse):
    word, folder, columns = hostile
    refuse("check", folder / "log.parquet", *columns, "--truth", f"no {word}")
    refuse("evaluate", folder / "policy", parquet(tmp_path / "log.parquet", log(30)))
    refuse("report", folder / "policy", folder / "log.parquet", "--by", f"no {word}", "--out", tmp_path / "r.html")
    refuse("fit", folder / "log.parquet", *columns, "--base", f"no {word}", "--out", tmp_path / "policy")


def test_hostile_strings_travel(hostile, tmp_path, capsys):
    word, folder, columns = hostile
    path, policy = folder / "log.parquet", folder / "policy"
    for suffix in ("csv", "parquet"):
        routes, decisions = tmp_path / f"routes.{suffix}", tmp_path / f"decisions.{suffix}"
        assert run("route", policy, path, "--k", 4, "--out", routes) == 0
        assert all(word in names for names in lists(read_table(routes)["order"], "order"))
        assert run("combine", policy, routes, path, "--out", decisions) == 0
        made = read_table(decisions, texts=["id"])
        assert word in made["prediction"].tolist()
        assert made["id"].tolist() == [f"{word} {i}" for i in range(60)]
    capsys.readouterr()
    assert run("check", path, *columns, "--json") == 0
    assert word in [entity["name"] for entity in json.loads(capsys.readouterr().out)["entities"]]


# Drawing takes long; tests/report has the others.
@pytest.mark.parametrize("hostile", ["script", "escape codes", "newlines"], indirect=True)
def test_hostile_strings_in_a_report(hostile, tmp_path):
    word, folder, _ = hostile
    out = tmp_path / "report.html"
    assert run("report", folder / "policy", folder / "log.parquet", "--by", f"by {word}", "--out", out) == 0
    page = out.read_text()
    assert "<script" not in page
    assert harmless(page)


# What is written.


@pytest.fixture
def outs(place):
    """Every command that writes a file, less its --out."""
    return {
        "fit": ["fit", place.log, *COLUMNS, *QUICK, "--base", "none"],
        "route": ["route", place.policy, place.new, "--k", 1],
        "steps": ["route", place.policy, place.new, "--mode", "sequential", "--fee-weight", 0.1],
        "combine": ["combine", place.policy, place.routes, place.new],
        "report": ["report", place.policy, place.new],
    }


WRITES = {"fit": "policy", "route": "out.parquet", "steps": "out.csv", "combine": "out.jsonl", "report": "out.html"}


@pytest.fixture(params=WRITES)
def writes(request, outs):
    return outs[request.param], WRITES[request.param]


def test_out_below_a_file(writes, tmp_path, refuse):
    words, name = writes
    (tmp_path / "file").write_text("mine")
    refuse(*words, "--out", tmp_path / "file" / name)


def test_out_is_something_else(writes, tmp_path, refuse):
    """A file where a folder is meant, or a folder where a file is."""
    words, name = writes
    if "." in name:
        (tmp_path / name / "inner").mkdir(parents=True)
    else:
        (tmp_path / name).write_text("mine")
    refuse(*words, "--out", tmp_path / name)


def test_out_with_a_name_too_long(writes, tmp_path, refuse):
    words, name = writes
    refuse(*words, "--out", tmp_path / ("x" * 300 + name))


def test_out_where_nothing_may_be_written(writes, refuse, unprivileged):
    words, name = writes
    folder = unprivileged(0o555) / "inner"
    refuse(*words, "--out", folder / name, folder=folder)


def test_out_on_a_full_disk(writes, tmp_path, refuse, full_disk):
    words, name = writes
    with full_disk:
        refuse(*words, "--out", tmp_path / name)


def test_out_on_a_full_disk_leaves_the_old(writes, tmp_path, refuse, full_disk):
    words, name = writes
    assert run(*words, "--out", tmp_path / name) == 0
    with full_disk:
        refuse(*words, "--out", tmp_path / name)


def test_out_fails_at_the_last_moment(writes, tmp_path, refuse, monkeypatch):
    words, name = writes

    def full(_descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def no_replace(_self, _target):
        full(0)

    monkeypatch.setattr(os, "fsync", full)
    monkeypatch.setattr(Path, "replace", no_replace)
    said = refuse(*words, "--out", tmp_path / name)
    assert "No space left on device" in said


def test_a_table_that_may_not_be_read(refuse, unprivileged):
    folder = unprivileged(0o755)
    for name in ("log.parquet", "log.csv"):
        assert "Permission denied" in refuse("check", folder / name, *COLUMNS, folder=folder / "inner")


@pytest.mark.parametrize("unbuffered", [False, True])
@pytest.mark.parametrize(("command", "kind"), [("check", "full"), ("evaluate", "closed")])
def test_nowhere_to_print(command, kind, unbuffered, place):
    """A full disk behind stdout is told in one line; a reader that has gone, as of `| head`, is no news."""
    words = ["check", place.log, *COLUMNS, "--json"] if command == "check" else ["evaluate", place.policy, place.new]
    shell = "exec 3>&2; {} > /dev/full" if kind == "full" else "set -o pipefail; {} | true"
    line = shlex.join([sys.executable, "-m", "askwho", *map(str, words)])
    root = Path(__file__).parents[2]
    # Python keeps back what it prints, unless told otherwise: both must end the same way.
    given = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    given |= {"PYTHONUNBUFFERED": "1"} if unbuffered else {}
    bash = ["/bin/bash", "-c", shell.format(line)]
    ran = subprocess.run(bash, capture_output=True, text=True, check=False, cwd=root, env=given)
    if kind == "full":
        assert ran.returncode == 2
        assert "No space left on device" in the_line(ran.stderr)
    else:
        assert ran.returncode == 1
        assert not ran.stderr


# Queries, logs and routes that are not the policy's.


def queries(change):
    def make(folder):
        table = log(40, seed=1)
        change(table)
        return parquet(folder / "queries.parquet", table)

    return make


def emptied(table):
    for name in list(table):
        table[name] = table[name][:0]


QUERIES = {
    "no such file": (lambda folder: folder / "nowhere.csv", "it is not there"),
    "a folder of nothing": (lambda folder: folder, "there is none"),
    "random bytes": (raw(np.random.default_rng(1).bytes(999), "queries.parquet"), "must be a Parquet file"),
    "header only": (raw("x_0,x_1,x_2\n", "queries.csv"), "must not be empty"),
    "no rows": (queries(emptied), "must not be empty"),
    "a feature lost": (queries(lambda t: t.pop("x_1")), "missing: ['x_1']"),
    "all features lost": (queries(lambda t: [t.pop(f"x_{i}") for i in range(3)]), "missing: ['x_0', 'x_1', 'x_2']"),
    "words for numbers": (queries(lambda t: t.update(x_1=["high"] * 40)), "`x_1` must hold numbers"),
    "dates for numbers": (queries(lambda t: t.update(x_1=[dt.date(2020, 1, 1)] * 40)), "`x_1` must hold numbers"),
    "lists for numbers": (queries(lambda t: t.update(x_1=[[1.0]] * 40)), "`x_1` must have shape"),
    "infinite": (queries(lambda t: t["x_1"].__setitem__(0, INF)), "must be finite"),
    "enormous": (queries(lambda t: t["x_1"].__setitem__(0, -1e300)), "x_1"),
    "a column twice": (raw("x_0,x_1,x_1,x_2\n1,2,3,4\n", "queries.csv"), "more than once"),
    "a bad cell after a million good ones": (
        raw("x_0,x_1,x_2\n" + "0.5,0.5,0.5\n" * 200_000 + "0.5,bad,0.5\n", "queries.csv"),
        "`",
    ),
}


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("command", ["route", "explain", "steps"])
def test_broken_queries(name, command, place, tmp_path, refuse):
    make, says = QUERIES[name]
    path = make(tmp_path)
    words = {
        "route": ["route", place.policy, path, "--k", 1, "--out", tmp_path / "routes.parquet"],
        "steps": ["route", place.policy, path, "--mode", "sequential", "--fee-weight", 1, "--out", tmp_path / "s.csv"],
        "explain": ["explain", place.policy, path, "--k", 1],
    }
    assert says in refuse(*words[command])


TARGETS = {
    "k of zero": ["--k", 0],
    "k below zero": ["--k", -1],
    "an enormous k": ["--k", 10**30],
    "k of a word": ["--k", "many"],
    "a budget of NaN": ["--budget", NAN],
    "a budget below zero": ["--budget", -1],
    "an error of NaN": ["--max-error", NAN],
    "an infinite price": ["--fee-weight", INF],
    "a price of NaN": ["--fee-weight", NAN],
    "a price below zero": ["--fee-weight", -1],
    "a confidence of one": ["--budget", 1, "--confidence", 1],
    "a confidence of zero": ["--budget", 1, "--confidence", 0],
    "a confidence of NaN": ["--budget", 1, "--confidence", NAN],
    "a promise by rows that taught": ["--budget", 1, "--confidence", 0.9],
    "a cap of NaN": ["--budget", 1, "--confidence", 0.9, "--max-fee", NAN],
    "a cap below zero": ["--max-error", 1, "--confidence", 0.9, "--max-loss", -1],
    "a cap without a promise": ["--max-error", 1, "--max-loss", 1],
    "a cap alone": ["--max-fee", 1],
    "a group of nobody": ["--budget", 1, "--confidence", 0.9, "--max-group", 0],
    "a group and a half": ["--budget", 1, "--confidence", 0.9, "--max-group", 1.5],
    "two targets": ["--budget", 1, "--k", 1],
    "no target": [],
}


# A report shows a target of its own where none is given.
AIMED = [(command, name) for command in ("route", "explain", "report") for name in TARGETS]
AIMED.remove(("report", "no target"))


@pytest.mark.parametrize(("command", "name"), AIMED)
def test_targets_that_are_none(name, command, place, tmp_path, refuse):
    out = [] if command == "explain" else ["--out", tmp_path / ("r.csv" if command == "route" else "r.html")]
    refuse(command, place.policy, place.new, *TARGETS[name], *out)


@pytest.mark.parametrize("row", [-1, 40, 10**30, "first"])
def test_a_row_that_is_not_there(row, place, refuse):
    refuse("explain", place.policy, place.new, "--k", 1, "--row", row)


@pytest.mark.parametrize("seed", [-1, 10**30, "x"])
def test_a_seed_that_is_none(seed, place, tmp_path, refuse):
    refuse("evaluate", place.policy, place.new, "--seed", seed)
    refuse("report", place.policy, place.new, "--seed", seed, "--out", tmp_path / "r.html")


NEW_LOGS = {
    "no truth": lambda t: t.pop("truth"),
    "an entity lost": lambda t: t.pop("answer_left"),
    "an entity too many": lambda t: t.update(answer_more=t["truth"]),
    "a feature lost": lambda t: t.pop("x_1"),
    "numbers for words": lambda t: t.update({n: list(range(60)) for n in ("truth", *ANSWERS)}),
    "words for numbers": lambda t: t.update(x_1=["high"] * 60),
    "an infinite feature": lambda t: t["x_1"].__setitem__(0, INF),
    "an entity that never answered": lambda t: every(t, ["answer_left"], None),
    "no answer at all": lambda t: every(t, ANSWERS, None),
    "lists for answers": lambda t: t.update(answer_left=[["cat"]] * 60),
    "one class": lambda t: every(t, ["truth"], "cat"),
    "only null truths": lambda t: every(t, ["truth"], None),
}


@pytest.mark.parametrize("name", NEW_LOGS)
@pytest.mark.parametrize("command", ["evaluate", "report"])
@pytest.mark.parametrize("policy", ["policy", "based"])
def test_a_log_of_other_columns(name, command, policy, place, tmp_path, refuse):
    path = changed(NEW_LOGS[name])(tmp_path)
    out = ["--out", tmp_path / "report.html"] if command == "report" else []
    refuse(command, getattr(place, policy), path, *out)


def edited(change):
    """Routes edited by hand, in Parquet."""

    def make(place, folder):
        table = pa.parquet.read_table(place.routes).to_pydict()
        change(table)
        return parquet(folder / "routes.parquet", {n: pa.array(v) for n, v in table.items()}), place.new

    return make


def first(name, value):
    return edited(lambda t: t[name].__setitem__(0, value))


def many_answers(place, folder):
    return place.routes, parquet(folder / "came.parquet", log(41, seed=1))


def answers_like(change):
    return lambda place, folder: (place.routes, queries(change)(folder))


ROUTES = {
    "no such routes": (lambda place, folder: (folder / "nowhere.csv", place.new), "it is not there"),
    "no such answers": (lambda place, folder: (place.routes, folder / "nowhere.csv"), "it is not there"),
    "a log for routes": (lambda place, _: (place.new, place.new), "must be what `askwho route` wrote"),
    "routes for answers": (lambda place, _: (place.routes, place.routes), "must have columns of answers"),
    "routes of another policy": (lambda place, _: (place.based_routes, place.new), "entities of this policy"),
    "more answers than routes": (many_answers, "`id` must be one that was routed"),
    "answers without ids": (answers_like(lambda t: t.pop("id")), "must have the column 'id'"),
    "answers of other ids": (answers_like(lambda t: t["id"].__setitem__(3, "stranger")), "must be one that was routed"),
    "answers of nobody's ids": (answers_like(lambda t: t.update(id=list(range(40)))), "must be one that was routed"),
    "an answer twice": (answers_like(lambda t: t["id"].__setitem__(3, "query 4")), "`id` must name each query once"),
    "an answer to nothing": (answers_like(lambda t: t["id"].__setitem__(3, None)), "`id` must"),
    "a route twice": (first("id", "query 4"), "`id` must name each query once"),
    "a route without a name": (first("id", None), "`id` must not be empty"),
    "routes without ids": (edited(lambda t: t.pop("id")), "route"),
    "fees below zero": (first("fees", [-1.0] * 4), "`fees` must not be below zero"),
    "propensities of words": (edited(lambda t: t.update(propensities=[["a"] * 4] * 40)), "`propensities`"),
    "a propensity of a word": (edited(lambda t: t.update(propensity=["sure"] * 40)), "`propensity`"),
    "nobody is there": (edited(lambda t: t.update(there=[0] * 40)), "`there` must be between 1 and 4, got 0"),
    "half of somebody is there": (edited(lambda t: t.update(there=[0.5] * 40)), "`there` must hold whole numbers"),
    "an unknown entity": (first("order", ["left", "right", "both", "stranger"]), "entities of this policy"),
    "an entity twice": (first("order", ["left", "left", "both", "noise"]), "`routes`"),
    "nobody in the order": (first("order", []), "`routes`"),
    "an order of nulls": (first("order", None), "`order`"),
    "a null in the order": (first("order", ["left", None, "both", "noise"]), "entities of this policy"),
    "an order of lists": (edited(lambda t: t.update(order=[[["left"]]] * 40)), "`routes`"),
    "an order of numbers": (edited(lambda t: t.update(order=[3] * 40)), "`order` must be a column of lists"),
    "an order of words": (edited(lambda t: t.update(order=["left"] * 40)), "`order` must be a column of lists"),
    "k of zero": (first("k", 0), "`k` must be between 1 and 4, got 0"),
    "k below zero": (first("k", -1), "`k` must be between 1 and 4"),
    "k too large": (first("k", 9), "`k` must be between 1 and 4, got 9"),
    "an enormous k": (first("k", 2**62), "`k` must be between"),
    "half a k": (edited(lambda t: t.update(k=[1.5] * 40)), "`k` must hold whole numbers"),
    "k of NaN": (edited(lambda t: t.update(k=[NAN] * 40)), "`k` must hold whole numbers"),
    "k of nothing": (first("k", None), "`k` must hold whole numbers"),
    "k of words": (edited(lambda t: t.update(k=["two"] * 40)), "`k` must hold whole numbers"),
    "k of lists": (edited(lambda t: t.update(k=[[2]] * 40)), "`k` must hold whole numbers"),
    "errors of words": (edited(lambda t: t.update(expected_errors=[["a"] * 4] * 40)), "`expected_errors`"),
    "errors of NaN": (first("expected_errors", [NAN] * 4), "`expected_errors`"),
    "errors of infinity": (first("expected_errors", [INF] * 4), "`expected_errors`"),
    "an error too few": (first("expected_errors", [0.1] * 3), "`expected_errors`"),
    "errors for nobody": (edited(lambda t: t.update(expected_errors=[[]] * 40)), "`expected_errors`"),
    "errors that are no lists": (edited(lambda t: t.update(expected_errors=[0.5] * 40)), "`expected_errors`"),
    "no order": (edited(lambda t: t.pop("order")), "missing: ['order']"),
    "cut JSON": (edited(lambda t: t.update(order=['["left", "right"'] * 40)), "`order`"),
    "JSON of an object": (edited(lambda t: t.update(order=['{"left": 1}'] * 40)), "`routes`|`order`"),
    "JSON of a number": (edited(lambda t: t.update(order=["3"] * 40)), "`routes`|`order`"),
    "JSON of brackets": (edited(lambda t: t.update(order=["[" * 100_000] * 40)), "`order`"),
    "answers of another type": (answers_like(lambda t: t.update({n: list(range(40)) for n in ANSWERS})), "`answers`"),
    "answers of two types": (answers_like(lambda t: t.update(answer_left=list(range(40)))), "one type"),
    "answers of lists": (answers_like(lambda t: t.update(answer_left=[["cat"]] * 40)), "`answer"),
    "no column of answers": (answers_like(lambda t: [t.pop(n) for n in ANSWERS]), "must have columns of answers"),
}


@pytest.mark.parametrize("name", ROUTES)
def test_broken_routes(name, place, tmp_path, refuse):
    make, says = ROUTES[name]
    routes, came = make(place, tmp_path)
    said = refuse("combine", place.policy, routes, came, "--out", tmp_path / "decisions.csv")
    assert any(each in said for each in says.split("|")), said


@pytest.mark.parametrize("rows", [39, 41])
def test_answers_by_position_of_other_rows(rows, place, tmp_path, refuse):
    came = parquet(tmp_path / "came.parquet", {n: v for n, v in log(rows, seed=1).items() if n != "id"})
    said = refuse("combine", place.policy, place.routes, came, "--by-position", "--out", tmp_path / "decisions.csv")
    assert f"must have a row for each route, got {rows} for 40" in said


BASED = {
    "no answers of the base": lambda t: t.pop("base_answer"),
    "numbers of the base": lambda t: t.update(base_answer=list(range(40))),
    "an answer missing of the base": lambda t: t["base_answer"].__setitem__(3, None),
    "an answer of the base that it does not know": lambda t: t["base_answer"].__setitem__(3, "cow"),
    "lists of the base": lambda t: t.update(base_answer=[["cat"]] * 40),
    "no shares": lambda t: t.pop("base_shares"),
    "a share too few": lambda t: t["base_shares"].__setitem__(0, [1.0]),
    "shares of NaN": lambda t: t["base_shares"].__setitem__(0, [NAN] * 3),
    "shares below zero": lambda t: t["base_shares"].__setitem__(0, [-1.0, 1.0, 1.0]),
    "shares of nothing": lambda t: t["base_shares"].__setitem__(0, [0.0] * 3),
    "shares of words": lambda t: t.update(base_shares=[["a", "b", "c"]] * 40),
}


@pytest.mark.parametrize("name", BASED)
def test_broken_routes_of_a_base(name, place, tmp_path, refuse):
    table = pa.parquet.read_table(place.based_routes).to_pydict()
    BASED[name](table)
    routes = parquet(tmp_path / "routes.parquet", {n: pa.array(v) for n, v in table.items()})
    refuse("combine", place.based, routes, place.new, "--out", tmp_path / "decisions.csv")
