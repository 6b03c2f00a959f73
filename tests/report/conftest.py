import pytest

from tests.report import cases


@pytest.fixture(scope="session")
def fitted():
    """From a kind of log to its policy and a log that this has not seen, each made once."""
    made = {}

    def of(kind):
        if kind not in made:
            made[kind] = cases.case(kind)
        return made[kind]

    return of


@pytest.fixture(scope="session")
def written(tmp_path_factory, fitted):
    """From a kind of log to its policy, its log and its report, each made once."""
    pytest.importorskip("matplotlib")
    from askwho.report import write_report  # noqa: PLC0415

    made = {}

    def of(kind):
        if kind not in made:
            policy, log = fitted(kind)
            out = tmp_path_factory.mktemp(kind) / "report.html"
            made[kind] = policy, log, write_report(policy, log, out, title=f"{kind}.parquet", draws=30)
        return made[kind]

    return of
