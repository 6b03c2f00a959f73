from pathlib import Path

from tests.examples import blocks, run_page

README = Path(__file__).parents[1] / "README.md"


def test_every_python_example_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert blocks(README)
    run_page(README)
    assert capsys.readouterr().out.startswith("query 0: ask ")
