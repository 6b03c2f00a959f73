"""What the paper says of California, row by row beside our figures."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from askwho_studies.paper._claims import Claim, mean_of, spread_of
from askwho_studies.paper._frontiers import EVERYBODY, FIXED, ONCE, ORACLE, PER_PRICE, RANDOM
from askwho_studies.paper._summary import Measured, shown

# The paper's "closely": within a twentieth of the error that it is held against.
_NEAR = 1.05
# The paper's k(x) pays 0.156 of 0.20: about four fifths of what all of them cost.
_SHARE = 0.8
# Tenths of the full fee, by hand: between two of them k(x) and top-k are mixtures of their neighbours.
_BUDGETS = 10
# Figures have two decimals: a loss that rounds to nothing is none.
_NOTHING = -0.005
# The paper's three, by our names: the least error of a committee, its average and its weighted average.
_METRICS = ("best-of-k", "mean", "weighted mean")
# The two ways to have k(x): the paper's, and ours.
_KINDS = (PER_PRICE, ONCE)


def claims(arms: Mapping[str, Sequence[Measured]]) -> list[Claim]:
    """Return the comparison, the paper's shift first; nothing in it was chosen on test rows."""
    return [replace(claim, arm=arm) for arm in ("shift sum", "shift max") for claim in _of_arm(arms[arm])]


def _of_arm(seeds: Sequence[Measured]) -> list[Claim]:
    return [
        _entities(seeds),
        _everybody(seeds),
        *(_near_the_best(seeds, name) for name in _KINDS),
        *(_lowest(seeds, "mean", "8.53 at 0.095, Top-k 10.08", name) for name in _KINDS),
        *(_lowest(seeds, "weighted mean", "k(x) again best, at 0.095", name) for name in _KINDS),
        *(_every_budget(seeds, metric, name) for metric in _METRICS for name in _KINDS),
        _weights_help(seeds),
        _beats_random(seeds),
        _near_the_oracle(seeds),
        *(_beats_top_1(seeds, name) for name in seeds[0].top_1),
        *(_beats_top_1_for_its_money(seeds, name) for name in seeds[0].top_1),
    ]


def _entities(seeds: Sequence[Measured]) -> Claim:
    alone = np.array([_rmse(seed.entities.errors) for seed in seeds])
    low, high = alone.min(axis=1), alone.max(axis=1)
    return Claim(
        "entities alone: RMSE × 100 from 15.72 to 40.26",
        f"{mean_of(low)} to {mean_of(high)}",
        spread_of(low, high),
        bool((alone >= 14).all() and (alone <= 41).all()),
    )


def _everybody(seeds: Sequence[Measured]) -> Claim:
    got = [float(_rmse(seed.metrics["best-of-k"][EVERYBODY].errors)[0]) for seed in seeds]
    near = abs(float(np.mean(got)) - 6.21) < 0.5
    return Claim("best-of-k of all six: 6.21 at 0.20", f"{mean_of(got)} at 0.200", spread_of(got), near)


def _near_the_best(seeds: Sequence[Measured], name: str) -> Claim:
    """What four fifths of the full budget buy, beside what all of it does."""
    rows: list[tuple[float, ...]] = []
    for seed in seeds:
        ours, everybody = seed.metrics["best-of-k"][name], seed.metrics["best-of-k"][EVERYBODY]
        budget = [_SHARE * float(everybody.fees[0])]
        (loss,), (fee,) = ours.at_budgets(budget)
        errors = _rmse(np.array([loss, everybody.errors[0]])).tolist()
        rows.append((*errors, float(fee), float(ours.sizes_at(budget)[0])))
    got, whole, paid, size = (list(column) for column in zip(*rows, strict=True))
    ratio = [g / w for g, w in zip(got, whole, strict=True)]
    return Claim(
        "best-of-k by k(x): 6.23 at 0.156 with 4.77 entities, against 6.21 at 0.20 for all",
        f"{name}: {mean_of(got)} at {mean_of(paid, '.3f')} with {mean_of(size)} entities, "
        f"{mean_of(ratio, '.3f')} times the error of all",
        f"{spread_of(got)}; fee {spread_of(paid, form='.3f')}; ratio {spread_of(ratio, form='.3f')}",
        float(np.mean(ratio)) <= _NEAR,
    )


def _lowest(seeds: Sequence[Measured], metric: str, paper: str, name: str) -> Claim:
    """The best λ against the best fixed k, both on the rows to choose by."""
    got, paid = _best(seeds, metric, name)
    fixed, spent = _best(seeds, metric, FIXED)
    gain = [f - g for f, g in zip(fixed, got, strict=True)]
    return Claim(
        f"{metric}, lowest error: {paper}",
        f"{name}: {mean_of(got)} at {mean_of(paid, '.3f')}, top-k {mean_of(fixed)} at {mean_of(spent, '.3f')}",
        f"{spread_of(got, fixed)}; gain {mean_of(gain)} {spread_of(gain)}",
        min(gain) > 0,
        _worse(gain),
    )


def _every_budget(seeds: Sequence[Measured], metric: str, name: str) -> Claim:
    """The smallest mean gain over ten budgets and over what each fixed k pays."""
    gains: list[np.ndarray] = []
    for seed in seeds:
        ours, fixed = seed.metrics[metric][name], seed.metrics[metric][FIXED]
        stated = _stated(seed)
        at_budgets = _rmse(fixed.at_budgets(stated)[0]) - _rmse(ours.at_budgets(stated)[0])
        at_each_k = _rmse(fixed.errors) - _rmse(ours.at_budgets(fixed.chosen_fees)[0])
        gains.append(np.concatenate([at_budgets, at_each_k]))
    table = np.stack(gains)
    cells = [f"a budget of {budget:g}" for budget in _stated(seeds[0])]
    cells += [f"the fee of k = {k + 1}" for k in range(table.shape[1] - len(cells))]
    # A budget below the cheapest setting of either side compares nothing.
    means = np.where(np.isnan(table).any(axis=0), np.inf, table.mean(axis=0))
    worst = int(means.argmin())
    known = table[:, np.isfinite(means)]
    return Claim(
        f"{metric}: k(x) on or below top-k at every budget",
        f"{name}: smallest mean gain {means[worst]:+.2f}, at {cells[worst]}; "
        f"{int((known < _NOTHING).sum())} of {known.size} cells below zero",
        spread_of(table[:, worst]),
        bool(means[worst] >= _NOTHING),
    )


def _weights_help(seeds: Sequence[Measured]) -> Claim:
    plain, weighted = (_best(seeds, metric, PER_PRICE)[0] for metric in ("mean", "weighted mean"))
    gain = [p - w for p, w in zip(plain, weighted, strict=True)]
    everybody = [
        float(_rmse(s.metrics["mean"][EVERYBODY].errors)[0] - _rmse(s.metrics["weighted mean"][EVERYBODY].errors)[0])
        for s in seeds
    ]
    return Claim(
        "the policy's weights lead to more effective aggregation",
        f"k(x): gain {mean_of(gain)}; asking all: gain {mean_of(everybody)}",
        spread_of(gain, everybody),
        float(np.mean(gain)) > 0 and float(np.mean(everybody)) > 0,
    )


def _beats_random(seeds: Sequence[Measured]) -> Claim:
    """The smallest gap over the budgets below the full one, where both ask all."""
    smallest: list[float] = []
    for seed in seeds:
        got, drawn = (_rmse(seed.metrics["best-of-k"][m].at_budgets(_stated(seed)[:-1])[0]) for m in (FIXED, RANDOM))
        smallest.append(float(np.nanmin(drawn - got)))
    return Claim(
        "best-of-k: top-k outperforms the random policy",
        f"smallest gap over nine budgets: {mean_of(smallest)}",
        spread_of(smallest),
        min(smallest) > 0,
    )


def _near_the_oracle(seeds: Sequence[Measured]) -> Claim:
    best = [seed.metrics["best-of-k"] for seed in seeds]
    ratio = np.array([_rmse(methods[FIXED].errors) / _rmse(methods[ORACLE].errors) for methods in best])
    return Claim(
        "best-of-k: top-k closely approaches the oracle",
        "times the oracle's error, k = 1 to 6: " + ", ".join(f"{r:.2f}" for r in ratio.mean(axis=0)),
        spread_of(*ratio.T),
        bool(ratio.mean(axis=0)[:-1].min() <= _NEAR),
        "the oracle knows which entity is right for each block, top-k only for its region",
    )


def _beats_top_1(seeds: Sequence[Measured], rival: str) -> Claim:
    """A rival as the paper has it, its fees weighing 1, beside the lowest error of k(x)."""
    theirs = [float(_rmse(seed.top_1[rival].errors)[-1]) for seed in seeds]
    got, _ = _best(seeds, "mean", PER_PRICE)
    gain = [t - g for t, g in zip(theirs, got, strict=True)]
    return Claim(
        f"k(x) outperforms Top-1 L2D: {rival}",
        f"mean, {PER_PRICE}: {mean_of(got)}, Top-1 {mean_of(theirs)}",
        f"{spread_of(got, theirs)}; gain {mean_of(gain)} {spread_of(gain)}",
        min(gain) > 0,
        _worse(gain),
    )


def _beats_top_1_for_its_money(seeds: Sequence[Measured], rival: str) -> Claim:
    """A rival at the fee weight that is best on the rows to choose by, beside k(x) for the same money."""
    rows: list[tuple[float, float, float]] = []
    for seed in seeds:
        points, ours = seed.top_1[rival], seed.metrics["mean"][ONCE]
        (loss,), _ = ours.at_budgets([points.chosen_fees[points.best]])
        got, theirs = _rmse(np.array([loss, points.errors[points.best]])).tolist()
        rows.append((got, theirs, float(points.fees[points.best])))
    got, theirs, paid = (list(column) for column in zip(*rows, strict=True))
    gain = [t - g for t, g in zip(theirs, got, strict=True)]
    return Claim(
        f"beyond the paper: {rival} at its best fee weight, k(x) for the same money",
        f"mean, {ONCE}: {mean_of(got)}, Top-1 {mean_of(theirs)}, both at {mean_of(paid, '.3f')}",
        f"{spread_of(got, theirs)}; gain {mean_of(gain)} {spread_of(gain)}",
        # No k(x) is that cheap: nothing to compare.
        None if np.isnan(gain).any() else min(gain) > 0,
        _worse(gain),
    )


def _best(seeds: Sequence[Measured], metric: str, name: str) -> tuple[list[float], list[float]]:
    """RMSE × 100 and fee of a method's best setting, chosen on other rows, seed by seed."""
    found = [seed.metrics[metric][name] for seed in seeds]
    return [float(_rmse(p.errors)[p.best]) for p in found], [float(p.fees[p.best]) for p in found]


def _stated(seed: Measured) -> list[float]:
    full = float(seed.metrics["mean"][EVERYBODY].fees[0])
    return [full * i / _BUDGETS for i in range(1, _BUDGETS + 1)]


def _worse(gain: Sequence[float]) -> str:
    worse = sum(g <= 0 for g in gain)
    return f"worse in {worse} of {len(gain)} seeds" if worse else ""


def _rmse(loss: np.ndarray) -> np.ndarray:
    return shown(loss, "regression")
