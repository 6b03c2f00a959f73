"""What a policy would have got and paid on a log it has not seen, beside the plain baselines."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from askwho.data import DecisionLog
from askwho.evaluation import _settings as settings
from askwho.evaluation._points import Point, Resamples, hulls, interval, table_of
from askwho.exceptions import InvalidInputError
from askwho.frontier import Frontier
from askwho.policy import Policy


def evaluate(policy: Policy, log: DecisionLog, *, draws: int = 200, random_state: int = 0) -> dict[str, Any]:
    """Return everything known of the policy on a log, as plain numbers, each figure with a bootstrap interval.

    Args:
        policy: fitted on other rows.
        log: rows that the policy has not seen.
        draws: how many bootstrap resamples, by group.
        random_state: their seed.

    Returns:
        `task`, `n`, `entities`, `baselines`, `fixed_k`, `adaptive`, `sequential`, `headline`, `scored_share`. `error`
        is what a deployed committee gets (RMSE for regression); what needs the truth is named `needs_truth_*`.
    """
    outside = [entity.name for entity in policy.panel.entities][1 if policy.base is not None else 0 :]
    if list(log.panel.names) != outside:
        raise InvalidInputError(f"`log` must have the entities of the policy, {outside}, got {list(log.panel.names)}.")
    held = settings.Held(policy, log)
    resamples = Resamples.of(log.groups, log.task, draws=draws, random_state=random_state)
    fixed, adaptive = settings.fixed_points(held), settings.adaptive_points(held)
    sequential = settings.sequential_points(held)
    router, names = policy.router, policy.panel.names
    own = 0 if policy.base is None else 1
    best = own + int(router.entity_errors_[own:].argmin())
    cheapest = own + int(np.lexsort((router.entity_errors_[own:], router.fees_[own:]))[0])
    singles = [settings.single_point(held, j) for j in range(len(names))]
    return {
        "task": log.task,
        "n": len(log),
        "entities": [
            {"name": name, "fee": float(router.fees_[j]), **_figure("error", singles[j].errors, resamples)}
            for j, name in enumerate(names)
        ],
        "baselines": {
            "best_single": {"name": names[best], **figures_of(singles[best], resamples)},
            "cheapest": {"name": names[cheapest], **figures_of(singles[cheapest], resamples)},
            **{name: figures_of(point, resamples) for name, point in settings.everyone_points(held).items()},
            "random": [figures_of(point, resamples) for point in settings.random_points(held)],
            "oracle": [_needs_truth(figures_of(point, resamples)) for point in settings.oracle_points(held)],
        },
        "fixed_k": [figures_of(point, resamples) for point in fixed],
        "adaptive": [figures_of(point, resamples) for point in adaptive],
        "sequential": [figures_of(point, resamples) for point in sequential],
        "headline": headline([*fixed, *adaptive, *sequential], singles[best], resamples),
        "scored_share": {
            "fixed_k": float(np.mean([~np.isnan(p.errors) for p in fixed])),
            "adaptive": float(np.mean([~np.isnan(p.errors) for p in adaptive])),
            "sequential": float(np.mean([~np.isnan(p.errors) for p in sequential])) if sequential else None,
        },
    }


def headline(points: Sequence[Point], single: Point, resamples: Resamples) -> dict[str, Any]:
    """Return what the frontier of `points` saves against one entity, each figure with its interval."""
    frontiers = hulls(points, resamples)
    errors, fees = table_of([single])
    loss, fee = resamples.loss(errors)[:, 0], resamples.mean(fees)[:, 0]
    match = _each(frontiers, lambda f, b: f.fee_for(loss[b]))
    at_fee = _each(frontiers, lambda f, b: f.error_at(max(fee[b], f.fees[0])))
    return {
        **_both("best_single_error", resamples.shown(loss)),
        **_both("best_single_fee", fee),
        **_both("fee_to_match_best_single", match),
        **_both("fee_saved", 1 - _ratio(match, fee)),
        **_both("error_at_best_single_fee", resamples.shown(at_fee)),
        **_both("error_saved", 1 - _ratio(resamples.shown(at_fee), resamples.shown(loss))),
        **_both("best_error", resamples.shown(_each(frontiers, lambda f, _: float(f.errors[-1])))),
        **_both("best_error_fee", _each(frontiers, lambda f, _: float(f.fees[-1]))),
    }


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    return np.divide(above, below, out=np.full(below.shape, np.nan), where=below > 0)


def _each(frontiers: Sequence[Frontier], figure: Callable[[Frontier, int], float]) -> np.ndarray:
    return np.array([figure(frontier, b) for b, frontier in enumerate(frontiers)])


def figures_of(point: Point, resamples: Resamples) -> dict[str, Any]:
    """Return what a setting gets and pays in the mean, with intervals, after its labels."""
    # As on the frontier a fee counts on the rows that can be scored.
    paid = np.where(np.isnan(point.errors), np.nan, point.fees)
    return {
        **point.labels,
        **_figure("error", point.errors, resamples),
        **_both("mean_fee", resamples.loss(paid[:, None])[:, 0]),
    }


def _figure(name: str, errors: np.ndarray, resamples: Resamples) -> dict[str, Any]:
    return _both(name, resamples.error(errors[:, None])[:, 0])


def _both(name: str, values: np.ndarray) -> dict[str, Any]:
    """The sample's figure, and the interval of the resamples."""
    figure = float(values[0])
    return {name: None if np.isnan(figure) else figure, f"{name}_interval": _plain(interval(values[1:]))}


def _plain(bounds: list[float]) -> list[float | None]:
    return [None if np.isnan(bound) else bound for bound in bounds]


def _needs_truth(row: dict[str, Any]) -> dict[str, Any]:
    return {(f"needs_truth_{key}" if key.startswith("error") else key): value for key, value in row.items()}
