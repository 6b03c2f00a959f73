"""Seeds put together: means and standard deviations, in the paper's units, as plain JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askwho.fitting import SurrogateCardinality
from askwho_studies.paper._frontiers import (
    ADAPTIVE,
    EVERYBODY,
    FIXED,
    REPETITIONS,
    Points,
    Progress,
    entity_points,
    frontiers,
    top_1,
)
from askwho_studies.paper._scored import LAMBDAS, Scored, Task


@dataclass(frozen=True, eq=False)
class Measured:
    """One seed of one arm, measured.

    Args:
        task: classification or regression.
        metrics: from metric to method to its settings.
        top_1: from rival to its settings.
        names: who sits on the panel.
        entities: what each gets alone.
    """

    task: Task
    metrics: dict[str, dict[str, Points]]
    top_1: dict[str, Points]
    names: list[str]
    entities: Points


def measure(
    scored: Scored,
    *,
    surrogate: SurrogateCardinality | None,
    at_best: SurrogateCardinality | None = None,
    prices: Sequence[float] = LAMBDAS,
    repetitions: int = REPETITIONS,
    random_state: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
) -> Measured:
    """Return every method under every metric, the rivals, and the entities alone; arguments as in `frontiers`."""
    metrics = {
        metric.name: frontiers(
            scored,
            metric,
            surrogate=surrogate,
            at_best=at_best,
            prices=prices,
            repetitions=repetitions,
            random_state=random_state,
            device=device,
            progress=progress,
        )
        for metric in scored.metrics
    }
    return Measured(scored.task, metrics, top_1(scored), *entity_points(scored))


def summary(seeds: Sequence[Measured], *, budgets: int = 10) -> dict[str, Any]:
    """Return the figures of one arm over its seeds, RMSE × 100 or accuracy in percent.

    Budgets are equal parts of what everybody charges together; what a method gets there has its settings chosen on
    rows that are not test rows. `gains` are paired by seed: how much better k(x) is than fixed k, at each budget and
    at what each fixed k pays.
    """
    task = seeds[0].task
    full = float(next(iter(seeds[0].metrics.values()))[EVERYBODY].fees[0])
    stated = full * np.arange(1, budgets + 1) / budgets
    out: dict[str, Any] = {
        "entities": {"names": seeds[0].names, **described([seed.entities for seed in seeds], task)},
        "top_1": {name: described([seed.top_1[name] for seed in seeds], task) for name in seeds[0].top_1},
        "budgets": rounded(stated),
        "metrics": {},
    }
    for metric, methods in seeds[0].metrics.items():
        each = {name: [seed.metrics[metric][name] for seed in seeds] for name in methods}
        at = {name: [points.at_budgets(stated) for points in found] for name, found in each.items()}
        out["metrics"][metric] = {
            "methods": {name: described(found, task) for name, found in each.items()},
            "at_budgets": {name: _table([shown(got, task) for got, _ in pairs]) for name, pairs in at.items()},
            "fees_at_budgets": {
                name: rounded(np.mean([paid for _, paid in pairs], axis=0)) for name, pairs in at.items()
            },
            "gains": {
                name: {
                    "at_budgets": _table(
                        [_gain(ours[0], theirs[0], task) for ours, theirs in zip(at[name], at[FIXED], strict=True)]
                    ),
                    "at_each_k": _table(
                        [
                            _gain_at_each_k(ours, theirs, task)
                            for ours, theirs in zip(each[name], each[FIXED], strict=True)
                        ]
                    ),
                }
                for name in ADAPTIVE
                if name in each
            },
        }
    return out


def described(seeds: Sequence[Points], task: Task) -> dict[str, Any]:
    """Return settings, and over seeds the mean and the standard deviation of errors, of fees and of sizes."""
    parts = {"error": [shown(points.errors, task) for points in seeds]}
    parts |= {"fee": [points.fees for points in seeds], "size": [points.sizes for points in seeds]}
    tables = {name: _table(part) for name, part in parts.items()}
    # With these two anybody can choose other settings, and draw every seed's frontier again.
    chosen = {
        "chosen_error": [rounded(shown(points.chosen_errors, task)) for points in seeds],
        "chosen_fee": [rounded(points.chosen_fees) for points in seeds],
    }
    return {"settings": rounded(seeds[0].settings), **tables, **chosen}


def shown(loss: Any, task: str) -> Any:  # noqa: ANN401 - a number or an array
    """Return a mean loss as the paper shows it: RMSE × 100, or accuracy in percent."""
    return 100 * np.sqrt(loss) if task == "regression" else 100 * (1 - np.asarray(loss))


def better(task: str) -> int:
    """Return 1 where more is better, as accuracy is, and −1 where less is."""
    return -1 if task == "regression" else 1


def rounded(values: Any) -> list[float | None]:  # noqa: ANN401 - an array of numbers
    """Return numbers with five digits, None for NaN."""
    return [None if np.isnan(value) else float(f"{value:.5g}") for value in np.atleast_1d(values)]


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Return mean and standard deviation over seeds; of one seed there is no deviation: NaN."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def _table(seeds: Sequence[np.ndarray]) -> dict[str, Any]:
    stacked = np.stack(seeds)
    std = np.std(stacked, axis=0, ddof=1) if len(seeds) > 1 else np.full(stacked.shape[1], np.nan)
    return {"mean": rounded(stacked.mean(axis=0)), "std": rounded(std), "seeds": [rounded(row) for row in stacked]}


def _gain(ours: np.ndarray, theirs: np.ndarray, task: Task) -> np.ndarray:
    return better(task) * (shown(ours, task) - shown(theirs, task))


def _gain_at_each_k(ours: Points, fixed: Points, task: Task) -> np.ndarray:
    """How much better k(x) is with no more money than each fixed k spends, money as on the rows to choose by."""
    return _gain(ours.at_budgets(fixed.chosen_fees)[0], fixed.errors, task)
