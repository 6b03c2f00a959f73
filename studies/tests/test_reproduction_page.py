"""What the page of the reproduction says of Algorithm 2 is what the result says."""

import json
from pathlib import Path

import pytest

from askwho_studies.paper._frontiers import ADAPTIVE, FIXED

ROOT = Path(__file__).parents[2]
RESULT = ROOT / "benchmarks" / "results" / "paper" / "cifar10-all-images.json"
# What the page calls them.
WORDS = {
    FIXED: "fixed k",
    **dict(zip(ADAPTIVE, ("as printed", "at its best", "learned once"), strict=True)),
}


def cells(values, form):
    return " | ".join("-" if value is None else format(value, form).replace("-", "−") for value in values)


def rows(arm):
    for metric, figures in arm["metrics"].items():
        yield f"| {metric}: {WORDS[FIXED]} | {cells(figures['at_budgets'][FIXED]['mean'], '.2f')} |"
        for name in ADAPTIVE:
            yield f"| {metric}: {WORDS[name]} | {cells(figures['gains'][name]['at_budgets']['mean'], '+.2f')} |"


@pytest.mark.skipif(not RESULT.is_file(), reason="a checkout without its results")
def test_the_page_has_the_figures_of_algorithm_2():
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8").splitlines()
    wanted = [row for arm in json.loads(RESULT.read_text(encoding="utf-8"))["arms"].values() for row in rows(arm)]
    missing = [row for row in wanted if row not in page]
    assert not missing, "\n".join(["The page lacks:", *missing])
