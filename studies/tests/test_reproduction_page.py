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
    "cifar10-drawn-classes": ("shift max", VOTES),
    "svhn-several-kinds": ("shift max", VOTES),
    "cifar100-deeper-base": ("shift max", VOTES),
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
@pytest.mark.parametrize("name", ["cifar10", "cifar10-all-images", "cifar100", "svhn", "cifar10-people-two-stage"])
def test_why_it_is_below_fixed_k_at_the_full_budget_is_what_the_frontiers_say(name):
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8").partition("**Why it is below fixed k")[2]
    figures = json.loads((PAPER / f"{name}.json").read_text(encoding="utf-8"))["arms"][TABLES[name][0]]
    figures = figures["metrics"]["weighted vote"]
    best, fixed = ([max(seed) for seed in figures["methods"][each]["error"]["seeds"]] for each in (ADAPTIVE[1], FIXED))
    seen = sum(a - b for a, b in zip(best, fixed, strict=True)) / len(best)
    chosen = figures["gains"][ADAPTIVE[1]]["at_budgets"]["mean"][-1]
    assert f"{seen:.2f} ({chosen:.2f}".replace("-", "−") in " ".join(page.split())


def claimed(found):
    """The paper's figures beside ours, a column an arm: accuracy, fee and spread."""
    names = [f"`{arm.removeprefix('shift ')}`" for arm in found["arms"]]
    yield f"| the paper | method | {' | '.join(names)} |"
    ours = {}
    for claim in found["claims"]:
        text = claim["claim"].partition(": ")[2]
        if " with " in text:
            method, _, got = claim["ours"].rpartition(": ")
            ours.setdefault((text, WORDS[method]), []).append(f"{got} ± {claim['spread']}")
    for (text, method), cell in ours.items():
        yield f"| {text} | {method} | {' | '.join(cell)} |"


def unreached(found):
    """The readings of "ResNet-4", sixes of SVHN's networks, and the regions of California."""
    readings = {(each["depth"], each["moved"]): each["accuracy"] for each in found["base"]["readings"]}
    depths = sorted({depth for depth, _ in readings})
    yield f"| depth | {' | '.join(map(str, depths))} |"
    for moved, name in ((False, "images as they are"), (True, "mirrored and moved")):
        yield f"| {name} | {cells([readings[depth, moved] for depth in depths], '.1f')} |"
    for kind, each in found["votes"]["committees"].items():
        if each["sixes"]:
            majority = cells([each["majority"]["mean"], each["majority"]["best"]], ".1f")
            yield f"| {kind} | {each['correlation']['mean']:.2f} | {majority} | {100 * each['reach_the_paper']:.0f}% |"
    for each in found["regions"]["regions"]:
        if each["share"] in (0.3, 1.0):
            single = f"{each['entities'][0]:.1f} to {each['entities'][-1]:.1f}"
            rest = cells([each[key] for key in ("best of six", "mean, fixed k", "mean, k(x)")], ".2f")
            yield f"| {each['kind']} | {100 * each['share']:.0f}% | {single} | {rest} |"


@pytest.mark.skipif(not PAPER.is_dir(), reason="a checkout without its results")
def test_the_page_has_what_other_readings_give():
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8").splitlines()
    lines = list(unreached(json.loads((PAPER.parent / "unreached.json").read_text(encoding="utf-8"))))
    for name in ("cifar10-drawn-classes", "svhn-all-images", "svhn-several-kinds"):
        lines += claimed(json.loads((PAPER / f"{name}.json").read_text(encoding="utf-8")))
    missing = [line for line in lines if line not in page]
    assert not missing, "\n".join(["The page lacks:", *missing])


def rated(arms):
    """SVHN in one stage: `max` at the printed and at its best rate, and `sum`, whose best is the printed one."""
    assert arms["shift sum"]["metrics"] == arms["shift sum, best rate"]["metrics"]
    chosen = [arms[name] for name in ("shift max", "shift max, best rate", "shift sum")]
    model = [arm["entities"]["error"] for arm in chosen]
    first = [arm["metrics"]["majority"]["methods"][FIXED]["error"] for arm in chosen]
    for name, found in (("the model alone", model), ("top-1 accuracy", first)):
        spread = [f"{each['mean'][0]:.1f} ± {each['std'][0]:.1f}" for each in found]
        yield f"| {name} | {' | '.join(spread)} |"
    for method, name in WORDS.items():
        means = [arm["metrics"]["majority"]["at_budgets"][method]["mean"] for arm in chosen]
        best = cells([max(each for each in mean if each is not None) for mean in means], ".1f")
        yield f"| the best majority: {name} | {best} |"


@pytest.mark.skipif(not PAPER.is_dir(), reason="a checkout without its results")
def test_the_page_has_both_shifts_at_their_best_rates():
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8").splitlines()
    arms = json.loads((PAPER / "svhn-one-stage.json").read_text(encoding="utf-8"))["arms"]
    missing = [row for row in rated(arms) if row not in page]
    assert not missing, "\n".join(["The page lacks:", *missing])


@pytest.mark.skipif(not PAPER.is_dir(), reason="a checkout without its results")
@pytest.mark.parametrize(
    ("name", "claim", "method"),
    [
        ("cifar10", "shift max: majority 95.53 at 0.192 with k(x)", "learned once"),
        ("cifar10-drawn-classes", "shift max: majority 95.53 at 0.192 with k(x)", "learned once"),
        ("cifar10-drawn-classes", "shift sum: majority 95.53 at 0.192 with k(x)", "learned once"),
        ("svhn", "shift max: majority 71.56 at its best with k(x)", "at its best"),
        ("svhn", "ResNet-10, shift max: weighted vote 71.59 at its best with k(x)", "at its best"),
        ("svhn-several-kinds", "shift max: majority 71.56 at its best with k(x)", "at its best"),
    ],
)
def test_the_readme_says_what_the_results_say(name, claim, method):
    paragraph = (ROOT / "README.md").read_text(encoding="utf-8").partition("**The paper, reproduced**")[2]
    claims = json.loads((PAPER / f"{name}.json").read_text(encoding="utf-8"))["claims"]
    ours = [each["ours"].rpartition(": ") for each in claims if each["claim"] == claim]
    (got,) = [text.split(" at ")[0] for words, _, text in ours if WORDS[words] == method]
    assert f"{float(got):.1f}%" in paragraph


@pytest.mark.skipif(not PAPER.is_dir(), reason="a checkout without its results")
def test_the_page_has_the_tables_of_methods():
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8").splitlines()
    found = json.loads((PAPER / "methods.json").read_text(encoding="utf-8"))
    missing = [row for figure in _study.TABLES for row in _study.table(found, figure) if row not in page]
    assert not missing, "\n".join(["The page lacks:", *missing])
