"""Routes that explored become a log that names its probabilities, and later logs that lack them."""

import numpy as np

from askwho.data import read_table, write_table
from askwho.persistence import load
from tests.cli.conftest import queries
from tests.cli.running import COLUMNS, printed, refused, run


def test_what_was_routed_is_a_log_that_tells_its_probabilities(place, tmp_path, capsys):
    words = ["route", place / "policy", place / "new.parquet", "--k", 2, "--explore", 0.4, "--seed", 0]
    assert run(*words, "--out", tmp_path / "routes.parquet") == 0
    routes, log = read_table(tmp_path / "routes.parquet"), queries()
    for name in [column for column in log if column.startswith("answer_")]:
        asked = np.array([name.removeprefix("answer_") in row for row in routes["ask"]])
        log[name] = np.where(asked, log[name], None)
    write_table(tmp_path / "plain.parquet", log)
    write_table(tmp_path / "log.parquet", log | {"propensity": routes["propensity"]})
    told = [*COLUMNS, "--propensity", "propensity"]
    assert printed(capsys, "check", tmp_path / "log.parquet", *told)["usable"]
    fit = [*told, "--learner", "linear", "--base", "none", "--cv", 2, "--out"]
    assert "`propensity` must be a column" in refused(capsys, "fit", tmp_path / "plain.parquet", *fit, tmp_path / "no")
    capsys.readouterr()
    assert run("fit", tmp_path / "log.parquet", *fit, tmp_path / "policy") == 0
    said = capsys.readouterr().out
    # Of committees that hardly a row has no error is told, for nothing says on how many rows it stands.
    assert "errors are estimates, and not told here" in " ".join(said.split())
    assert "mean fee" in said
    assert "error  " not in said
    assert load(tmp_path / "policy").columns.propensity == "propensity"
    # A later log may tell, or not.
    for name in ("plain", "log"):
        found = printed(capsys, "evaluate", tmp_path / "policy", tmp_path / f"{name}.parquet")
        assert found["n"] == 120
    again = ["calibrate", tmp_path / "policy", tmp_path / "plain.parquet", "--out", tmp_path / "again"]
    assert printed(capsys, *again)["rows"] == 120
    log["propensity"] = np.where(np.arange(120) == 7, np.nan, routes["propensity"])
    write_table(tmp_path / "gap.parquet", log)
    said = refused(capsys, "evaluate", tmp_path / "policy", tmp_path / "gap.parquet")
    assert "got 1 empty cells in 'propensity', the first in row 7" in said
