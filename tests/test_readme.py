import re
from pathlib import Path

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_every_python_example_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert examples
    for example in examples:
        exec(compile(example, "README.md", "exec"), {})  # noqa: S102
    assert capsys.readouterr().out.startswith("query 0: ask ")
