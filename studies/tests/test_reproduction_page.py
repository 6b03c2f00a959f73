"""What the page of the reproduction says of Algorithm 2 and of the methods is what the results say."""

import json
from pathlib import Path

import pytest

from askwho_studies.paper._frontiers import ADAPTIVE, FIXED
from askwho_studies.paper.methods import _study

# Where the page and the results lie.
ROOT = Path(__file__).parents[2]
PAPER = ROOT / "benchmarks" / "results" / "paper"  # full runs
# Ties to the smallest label are in the files alone, and so is top-k, which needs the truth, but for CIFAR-10.
VOTES = ("majority", "weighted vote")
# Which arm of which result the page has tables of, and by which metrics.
TABLES = {
    "cifar10": ("shift max", ("top-k", *VOTES)),
    "cifar10-all-images": ("shift max, k(x) from all images", ("top-k", *VOTES)),
    "svhn-one-stage": ("shift max", VOTES),
    "svhn": ("shift max", VOTES),
    "cifar100": ("shift max", VOTES),
    "cifar10-people": ("one stage", VOTES),
    "cifar10-people-two-stage": ("two stages", VOTES),
}
# What the page calls them.
WORDS = {
    FIXED: "fixed k",
    **dict(zip(ADAPTIVE, ("as printed", "at its best", "learned once"), strict=True)),
}


def cells(values, form):
    return " | ".join("-" if value is None else format(value, form).replace("-", "−") for value in values)


def rows(arm, metrics):
    yield f"| mean fee of at most | {' | '.join(f'{budget:g}' for budget in arm['budgets'])} |"
    for metric in metrics:
        figures = arm["metrics"][metric]
        yield f"| {metric}: {WORDS[FIXED]} | {cells(figures['at_budgets'][FIXED]['mean'], '.2f')} |"
        for name in ADAPTIVE:
            yield f"| {metric}: {WORDS[name]} | {cells(figures['gains'][name]['at_budgets']['mean'], '+.2f')} |"


@pytest.mark.skipif(not PAPER.is_dir(), reason="a checkout without its results")
@pytest.mark.parametrize("name", TABLES)
def test_the_page_has_the_figures_of_algorithm_2(name):
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8").splitlines()
    arms = json.loads((PAPER / f"{name}.json").read_text(encoding="utf-8"))["arms"]
    arm, metrics = TABLES[name]
    missing = [row for row in rows(arms[arm], metrics) if row not in page]
    assert not missing, "\n".join(["The page lacks:", *missing])


@pytest.mark.skipif(not PAPER.is_dir(), reason="a checkout without its results")
def test_the_page_has_the_tables_of_methods():
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8").splitlines()
    found = json.loads((PAPER / "methods.json").read_text(encoding="utf-8"))
    missing = [row for figure in _study.TABLES for row in _study.table(found, figure) if row not in page]
    assert not missing, "\n".join(["The page lacks:", *missing])
