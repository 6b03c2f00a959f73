"""The commands on recorded logs, each described in one line; only where the shared data is."""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.cli.running import printed, run

LOGS = Path(os.environ.get("ASKWHO_DATA", "/nowhere")) / "logs"
ONE_LINERS = {
    "face_emotion_apis": "--truth truth --answers answer_* --features x_* --info confidence_*",
    "imagenet16h_humans": "--truth truth --answers answer_* --features x_*,group --groups split_group",
    "imdb_apis": "--truth truth --answers answer_* --features x_* --text text",
    "m3_forecasts": "--truth truth --answers answer_* --features x_*,group --task regression",
    "mmlu_pro_llms": "--truth truth --answers answer_* --text text --groups split_group --null no-answer",
    "routellm_llms": "--grades grade_* --features group --text text",
    "spoken_digit_apis": "--truth truth --answers answer_* --features x_*,group",
}


@pytest.mark.skipif(not LOGS.is_dir(), reason="the shared logs are not there: set ASKWHO_DATA")
@pytest.mark.parametrize("name", ONE_LINERS)
def test_the_one_liners_work_on_every_shared_log(name, tmp_path, capsys):
    table = pa.parquet.read_table(LOGS / f"{name}.parquet")
    rows = np.random.default_rng(0).permutation(table.num_rows)[:450]
    pa.parquet.write_table(table.take(rows[:300]), tmp_path / "log.parquet")
    pa.parquet.write_table(table.take(rows[300:]), tmp_path / "new.parquet")
    options = [*ONE_LINERS[name].split(), "--fees", LOGS / f"{name}.json"]
    policy, new = tmp_path / "p", tmp_path / "new.parquet"
    assert run("check", tmp_path / "log.parquet", *options) == 0
    assert run("fit", tmp_path / "log.parquet", *options, "--learner", "linear", "--cv", 2, "--out", policy) == 0
    assert printed(capsys, "evaluate", policy, new)["n"] == 150
    assert run("route", policy, new, "--fee-weight", 0.01, "--out", tmp_path / "r.csv") == 0
    if "grades" not in ONE_LINERS[name]:
        # Some of the logs name their queries, and some do not.
        how = [] if "id" in table.column_names else ["--by-position"]
        words = ["combine", policy, tmp_path / "r.csv", new, *how, "--out", tmp_path / "d.csv"]
        assert printed(capsys, *words)["queries"] == 150
