"""Long logs are learned from by a sample: as if the log had been those rows, and the policy says so."""

import json

import pytest

from askwho.data import MAX_ROWS, read_log, write_table
from askwho.fitting import fit
from askwho.persistence import load, save
from askwho.policy import Facts
from tests import synthetic
from tests.cli.running import COLUMNS, printed
from tests.persistence.alike import same_state

ROWS, MOST = 240, 120


@pytest.fixture(scope="module")
def log():
    return read_log(synthetic.classification(ROWS), synthetic.COLUMNS)


def taught(log, **settings):
    return fit(log, learner="linear", base="none", cv=2, **settings)


def test_a_sample_teaches_what_those_rows_alone_would(log):
    lines = []
    policy = taught(log, max_rows=MOST, progress=lines.append)
    assert policy.facts.drawn == (MOST, ROWS)
    assert "learning from 120 of 240 rows, a stratified sample" in lines
    alone = taught(log.drawn(MOST), max_rows=MOST)
    same_state(policy, alone)
    assert taught(log).facts.drawn is None
    assert MAX_ROWS > ROWS


def test_rows_for_promises_are_of_the_sample(log):
    policy = taught(log, max_rows=MOST, promise=0.25)
    assert policy.tried.kept.fees.shape[1] == MOST // 4


def test_the_artefact_says_it_and_an_older_one_need_not(log, tmp_path):
    policy = taught(log, max_rows=MOST)
    save(policy, tmp_path / "policy")
    assert load(tmp_path / "policy").facts.sample == "120 of 240 rows, a stratified sample"
    state = policy.facts.to_state()
    del state.plain["drawn"]
    assert Facts.from_state(state).drawn is None


def test_the_command_reads_a_sample_and_tells_of_it(tmp_path, capsys):
    table = {name: values.tolist() for name, values in synthetic.classification(ROWS).items()}
    write_table(tmp_path / "log.parquet", table)
    words = ["fit", tmp_path / "log.parquet", *COLUMNS, "--learner", "linear", "--base", "none", "--cv", "2"]
    told = printed(capsys, *words, "--max-rows", MOST, "--out", tmp_path / "few")
    assert (told["rows"], told["drawn_from"]) == (MOST, ROWS)
    assert load(tmp_path / "few").facts.drawn == (MOST, ROWS)
    told = printed(capsys, *words, "--out", tmp_path / "all")
    assert (told["rows"], told["drawn_from"]) == (ROWS, ROWS)
    manifest = json.loads((tmp_path / "all" / "manifest.json").read_text())
    assert "stratified" not in json.dumps(manifest)
