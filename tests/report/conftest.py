import pytest

from askwho import write_report
from askwho.report import _drawing
from tests import cases


@pytest.fixture(scope="session")
def written(tmp_path_factory):
    """From a kind of log to its policy, its log and its report with figures, each made once."""
    pytest.importorskip("matplotlib")
    made = {}

    def of(kind):
        if kind not in made:
            policy, log = cases.case(kind)
            out = tmp_path_factory.mktemp(kind) / "report.html"
            made[kind] = policy, log, write_report(policy, log, out, title=f"{kind}.parquet", draws=30)
        return made[kind]

    return of


@pytest.fixture
def undrawn(monkeypatch):
    """No figures, as without matplotlib: they take most of the time, and many a test is not about them."""
    monkeypatch.setattr(_drawing, "plotting", lambda: None)
