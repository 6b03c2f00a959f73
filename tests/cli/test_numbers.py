"""Numbers from the command line: an error by name, and intervals in what is written."""

import numpy as np

from askwho import load
from askwho.data import read_table, write_table
from tests import synthetic
from tests.cli.running import COLUMNS, printed, refused, run


def test_an_error_by_name_and_intervals_are_written(tmp_path, capsys):
    table = synthetic.regression(300)
    log, new, out, policy = (tmp_path / name for name in ("log.parquet", "new.parquet", "out.parquet", "policy"))
    write_table(log, table)
    fresh = synthetic.regression(200, 1) | {"id": np.arange(200).astype(str)}
    write_table(new, fresh)
    quick = ["--learner", "linear", "--base", "none", "--cv", 3]
    assert run("fit", log, *COLUMNS, "--error", "absolute", *quick, "--out", policy) == 0
    assert load(policy).unit.name == "mean absolute error"
    assert printed(capsys, "evaluate", policy, new)["unit"]["root"] is False
    routes = tmp_path / "routes.parquet"
    assert run("route", policy, new, "--fee-weight", 0.3, "--out", routes) == 0
    assert run("combine", policy, routes, new, "--coverage", 0.9, "--out", out) == 0
    made = read_table(out)
    assert ((made["low"] < made["prediction"]) & (made["prediction"] < made["high"])).all()
    assert ((made["low"] <= fresh["truth"]) & (fresh["truth"] <= made["high"])).mean() > 0.8
    step = ["route", policy, new, "--fee-weight", 0.3]
    assert run(*step, "--mode", "sequential", "--coverage", 0.9, "--out", out) == 0
    assert (read_table(out)["low"] < read_table(out)["high"]).all()
    assert "`--coverage` must go with" in refused(capsys, *step, "--coverage", 0.9, "--out", out)
    assert "pinball:0.9" in refused(capsys, "fit", log, *COLUMNS, "--error", "pinball:2", "--out", tmp_path / "no")
