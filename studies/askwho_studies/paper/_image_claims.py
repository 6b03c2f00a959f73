"""The paper's claims about images, beside what came out."""

from collections.abc import Mapping, Sequence

import numpy as np

from askwho_studies.paper._claims import Claim
from askwho_studies.paper._frontiers import ADAPTIVE, FIXED, Points
from askwho_studies.paper._image_scores import PAPER_SVHN
from askwho_studies.paper._summary import Measured, shown, spread

# The sum of the paper's five fees; what it quotes is from 0.191 to 0.199.
_BUDGET = 0.20
# The accuracies that the paper prints for its entities, in percent.
_TABLES = {
    "cifar10": (52.08, 52.68, 52.11, 52.03, 52.16, 52.41),
    "svhn-one-stage": (45.16, 35.56, 28.64, 25.68, 23.64, 18.08),
    "svhn": PAPER_SVHN,
    "cifar100": (59.74, 51.96, 52.58, 52.21, 52.32, 52.25),
}
# What the paper's text reads off its figures: who, by which metric, accuracy in percent, and where.
_FIGURES: Mapping[str, Sequence[tuple[str, str, float, str]]] = {
    "cifar10": (
        ("fixed k", "majority", 94.7, "at 0.199"),
        ("k(x)", "majority", 95.53, "at 0.192"),
        ("k(x)", "weighted vote", 95.53, "at 0.191"),
    ),
    "svhn": (
        ("k(x)", "majority", 71.56, "at its best"),
        ("k(x)", "weighted vote", 71.59, "at its best"),
    ),
}
# Another reading of an experiment is held against the same figures.
_READINGS = {
    "cifar10-drawn-classes": "cifar10",
    "svhn-all-images": "svhn",
    "svhn-several-kinds": "svhn",
    "cifar100-deeper-base": "cifar100",
}
# Points of accuracy, by hand: about two standard errors of CIFAR-10's 10,000 test images at 97 percent.
_CLOSE = 0.3


def image_claims(name: str, arms: Mapping[str, Sequence[Measured]]) -> list[Claim]:
    """Return the comparison with the paper, arm by arm."""
    found: list[Claim] = []
    name = _READINGS.get(name, name)
    for arm, seeds in arms.items():
        if name in _TABLES and arm == next(iter(arms)):
            found.append(_table(_TABLES[name], seeds))
        for who, metric, figure, where in _FIGURES.get(name, ()):
            for method in (FIXED,) if who == "fixed k" else ADAPTIVE:
                got = [best_within(seed.metrics[metric][method], _BUDGET) for seed in seeds]
                found.append(_claim(f"{arm}: {metric} {figure} {where} with {who}", method, got, figure))
        for metric in list(seeds[0].metrics)[:3]:
            found += [_gain(f"{arm}: {metric}", method, seeds, metric) for method in ADAPTIVE]
    return found


def best_within(points: Points, budget: float) -> tuple[float, float]:
    """Return accuracy in percent and mean fee of the best setting within a budget, chosen on rows that do not test."""
    within = np.flatnonzero(points.chosen_fees <= budget * (1 + 1e-9))
    best = within[points.chosen_errors[within].argmin()]
    return float(shown(points.errors[best], "classification")), float(points.fees[best])


def _table(paper: Sequence[float], seeds: Sequence[Measured]) -> Claim:
    # In one stage the model sits first, and is no row of the paper's table.
    each = np.stack([shown(seed.entities.errors, "classification") for seed in seeds])[:, -len(paper) :]
    mean, deviation = each.mean(axis=0), each.std(axis=0, ddof=1) if len(seeds) > 1 else np.full(len(paper), np.nan)
    return Claim(
        f"entities' accuracies {', '.join(f'{value:.2f}' for value in paper)}",
        ", ".join(f"{value:.2f}" for value in mean),
        ", ".join(f"{value:.2f}" for value in deviation),
        bool((np.abs(mean - paper) <= 2).all()),
    )


def _claim(text: str, method: str, got: Sequence[tuple[float, float]], figure: float) -> Claim:
    mean, deviation = spread([accuracy for accuracy, _ in got])
    fee = float(np.mean([paid for _, paid in got]))
    return Claim(text, f"{method}: {mean:.2f} at {fee:.3f}", f"{deviation:.2f}", mean >= figure - _CLOSE)


def _gain(text: str, method: str, seeds: Sequence[Measured], metric: str) -> Claim:
    """How much better k(x) is than fixed k at ten budgets, settings of both chosen alike."""
    full = float(seeds[0].metrics[metric][FIXED].fees[-1])
    budgets = (full * np.arange(1, 11) / 10).tolist()
    gains = np.stack(
        [
            100
            * (seed.metrics[metric][FIXED].at_budgets(budgets)[0] - seed.metrics[metric][method].at_budgets(budgets)[0])
            for seed in seeds
        ]
    )
    mean, error = gains.mean(axis=0), gains.std(axis=0, ddof=1) / np.sqrt(len(seeds)) if len(seeds) > 1 else None
    known = ~np.isnan(mean)
    if not known.any():
        return Claim(f"{text}: k(x) above fixed k at every budget", f"{method}: no budget in common", "-", None)
    spreads = "-" if error is None else f"standard errors up to {float(np.nanmax(error)):.2f}"
    shown_gains = ", ".join("-" if np.isnan(value) else f"{value:+.2f}" for value in mean)
    agrees = bool((np.round(mean[known], 2) >= 0).all() and (mean[known] > 0).any())
    return Claim(f"{text}: k(x) above fixed k at every budget", f"{method}: {shown_gains} points", spreads, agrees)
