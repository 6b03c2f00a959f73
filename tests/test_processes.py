"""Of processes that `torchrun` started the first writes and prints."""

import pytest

from askwho._processes import is_first
from askwho.cli import main
from askwho.cli._printing import err, out
from askwho.data import read_log, write_table
from askwho.fitting import fit
from askwho.persistence import room_for, save
from tests import synthetic


@pytest.fixture
def second(monkeypatch):
    """The second of two processes, which has printed nothing yet."""
    monkeypatch.setattr(out, "quiet", False)
    monkeypatch.setattr(err, "quiet", False)
    for name, value in {"TORCHELASTIC_RUN_ID": "here", "WORLD_SIZE": "2", "RANK": "1"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("second")
def test_another_process_than_the_first_writes_nothing(tmp_path):
    assert not is_first()
    policy = fit(read_log(synthetic.classification(60), synthetic.COLUMNS), learner="linear", base="none", cv=2)
    save(policy, tmp_path / "policy")
    assert not (tmp_path / "policy").exists()
    # What the first has written is not in its way.
    (tmp_path / "taken").write_text("")
    assert room_for(tmp_path) == tmp_path


@pytest.mark.usefixtures("second")
def test_another_process_than_the_first_prints_errors_alone(capsys, tmp_path):
    write_table(tmp_path / "log.parquet", synthetic.grades(30))
    with pytest.raises(SystemExit) as left:
        main(["check", str(tmp_path / "log.parquet"), "--grades", "grade_*", "--features", "x_*", "--json"])
    assert (left.value.code, capsys.readouterr().out) == (0, "")
    with pytest.raises(SystemExit) as left:
        main(["check", str(tmp_path / "none.parquet"), "--grades", "grade_*", "--features", "x"])
    assert left.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    # What went wrong is said by all.
    assert "askwho: " in said.err
    assert out.quiet
    assert err.quiet
