"""What the page of the reproduction says of Algorithm 2 is what the result says."""

import json
from pathlib import Path

import pytest

from askwho_studies.paper._frontiers import ADAPTIVE, FIXED

# Where the page and the results lie.
ROOT = Path(__file__).parents[2]
PAPER = ROOT / "benchmarks" / "results" / "paper"  # full runs
# Which arm of which result the page has tables of.
TABLES = {"cifar10": "shift max", "cifar10-all-images": "shift max, k(x) from all images"}
METRICS = ("top-k", "majority", "weighted vote")  # ties to the smallest label are in the files alone
# What the page calls them.
WORDS = {
    FIXED: "fixed k",
    **dict(zip(ADAPTIVE, ("as printed", "at its best", "learned once"), strict=True)),
}


def cells(values, form):
    return " | ".join("-" if value is None else format(value, form).replace("-", "−") for value in values)


def rows(arm):
    for metric in METRICS:
        figures = arm["metrics"][metric]
        yield f"| {metric}: {WORDS[FIXED]} | {cells(figures['at_budgets'][FIXED]['mean'], '.2f')} |"
        for name in ADAPTIVE:
            yield f"| {metric}: {WORDS[name]} | {cells(figures['gains'][name]['at_budgets']['mean'], '+.2f')} |"


@pytest.mark.skipif(not PAPER.is_dir(), reason="a checkout without its results")
@pytest.mark.parametrize("name", TABLES)
def test_the_page_has_the_figures_of_algorithm_2(name):
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8").splitlines()
    arms = json.loads((PAPER / f"{name}.json").read_text(encoding="utf-8"))["arms"]
    missing = [row for row in rows(arms[TABLES[name]]) if row not in page]
    assert not missing, "\n".join(["The page lacks:", *missing])
