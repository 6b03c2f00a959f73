"""The settings that are compared: the policy at its prices and every k, and the plain baselines, as points."""

from dataclasses import replace

import numpy as np

from askwho.evaluation._points import Point
from askwho.policy import Policy
from askwho.replay import Ranked, Replay, at_size

# Draws of random committees: their mean is taken, and more of them move it by less than an interval tells.
_REPEATS = 10


def every_point(policy: Policy, held: Replay, *, random_state: int, in_turn: bool = True) -> dict[str, list[Point]]:
    """Return every setting to compare, by kind; each kind has the same settings whatever the rows."""
    ranked = Ranked.of(policy, held, policy.tried.prices.tolist())
    return {
        "single": [single_point(held, j) for j in range(len(held.log.panel))],
        **everyone_points(policy, held),
        "random": random_points(policy, held, random_state=random_state),
        "oracle": oracle_points(policy, held),
        "fixed_k": fixed_points(policy, held, ranked),
        "adaptive": adaptive_points(policy, held, ranked=ranked),
        "sequential": sequential_points(policy, held) if in_turn else [],
    }


def adaptive_points(
    policy: Policy, held: Replay, prices: np.ndarray | None = None, *, ranked: Ranked | None = None
) -> list[Point]:
    """The policy with k(x), at each of its stored prices, or of others; whose orders are `ranked`, where known."""
    rates: list[float] = (policy.tried.prices if prices is None else prices).tolist()
    ranked = Ranked.of(policy, held, rates) if ranked is None else ranked
    points: list[Point] = []
    for p, (price, sizes) in enumerate(zip(rates, ranked.sizes(rates), strict=True)):
        ends = (sizes - 1) * len(ranked.rows) + ranked.place[p]
        means = {"mean_k": sizes.astype(np.float64), "mean_asked": ranked.outside.take(ends)}
        point = Point(ranked.errors.take(ends), ranked.paid.take(ends), {"fee_weight": price}, means)
        points.append(replace(point, **{name: at_size(table, sizes) for name, table in ranked.robust(p).items()}))
    return points


def sequential_points(policy: Policy, held: Replay) -> list[Point]:
    """The policy asking in turn, at each of its stored prices; none where it cannot."""
    if policy.turns is None or held.case is None:
        return []
    prices, points = policy.turns.tried.prices, []
    # Where the next answer is missing, what asking at once at the same price would get is expected.
    beside = [None] * len(prices) if held.chances is None else adaptive_points(policy, held, prices)
    walked = held.walked(policy.turns.asking, prices)
    means = {"mean_k": np.maximum(walked.sizes, 1.0), "mean_asked": walked.outside}
    told = {name: np.where(np.isnan(walked.fees), np.nan, values) for name, values in means.items()}
    for p, (price, like) in enumerate(zip(prices, beside, strict=True)):
        errors, fees = walked.errors[p], walked.fees[p]
        point = Point(errors, fees, {"fee_weight": float(price)}, {name: values[p] for name, values in told.items()})
        if like is not None:
            # Nothing is imagined of grades, and of rows without a truth: there what is paid at once is expected.
            foreseen = like.fees if np.isnan(fees).any() else None
            point = replace(
                point,
                weights=walked.weights[p],
                expected=like.expected,
                foreseen=foreseen,
                doubt=like.doubt,
                seen=walked.seen[p],
                variance=walked.variance[p],
                spread=walked.spread[p],
            )
        points.append(point)
    return points


def fixed_points(policy: Policy, held: Replay, ranked: Ranked | None = None) -> list[Point]:
    """The policy with every fixed k, at a third of its stored prices; whose orders are `ranked`, where known."""
    points: list[Point] = []
    every: list[float] = policy.tried.prices.tolist()
    ranked = Ranked.of(policy, held, every) if ranked is None else ranked
    # Where a price is baked into the ranking there is no other to rank at.
    chosen = range(0, len(every), 3) if held.seen.judged.scores is None else range(1)
    for p in chosen:
        ends, robust = ranked.place[p], ranked.robust(p)
        for k, errors in enumerate(ranked.errors):
            means = {
                "mean_k": np.full(len(ends), k + 1.0),
                "mean_asked": ranked.outside[k].take(ends),
                "needs_truth_best_of_k": ranked.best[k].take(ends),
            }
            labels = {"k": k + 1, "fee_weight": every[p] if held.seen.judged.scores is None else 0.0}
            point = Point(errors.take(ends), ranked.paid[k].take(ends), labels, means)
            points.append(replace(point, **{name: table[:, k] for name, table in robust.items()}))
    return points


def single_point(held: Replay, entity: int) -> Point:
    """Always one entity."""
    point = Point(held.log.errors[:, entity], held.log.charged.in_means[:, entity], {"k": 1})
    if held.chances is None:
        return point
    members = np.zeros(held.asked.shape, dtype=bool)
    members[:, entity] = True
    expected = held.seen.expected[:, entity]
    doubt = held.others.beyond(expected, members) if _endless(held) else None
    return replace(point, weights=held.chances.weights(members), expected=expected, doubt=doubt)


def everyone_points(policy: Policy, held: Replay) -> dict[str, list[Point]]:
    """Everybody who is not our own: the plain vote, or mean, and the one weighed by errors in training; by name."""
    log, classes = held.log, held.log.task == "classification"
    names = {
        "majority_all" if classes else "mean_all": "majority" if classes else "mean",
        "weighted_all": "log-odds-vote" if classes else "inverse-error-mean",
    }
    if log.answers is None or log.truth is None:
        return {name: [] for name in names}
    mean_errors = np.array(policy.facts.entity_errors)
    outside = np.flatnonzero([not entity.own for entity in log.panel.entities])
    by_error = outside[np.argsort(mean_errors[outside], kind="stable")]
    order = np.tile(by_error, (len(log), 1))
    everyone = held.as_in_training(np.clip(mean_errors, 1e-6, log.unit.most))
    fees = log.charged.in_means[:, by_error].sum(axis=1)
    labels = {"k": len(by_error)}
    return {
        name: [_of_everybody(Point(everyone.errors(order, rule)[:, -1], fees, labels), held)]
        for name, rule in names.items()
    }


def random_points(policy: Policy, held: Replay, *, random_state: int = 0) -> list[Point]:
    """Committees of k drawn at random, the mean over repeats, by k."""
    rng = np.random.default_rng(random_state)
    width = policy.cardinality.width
    errors, weights = [], []
    # Of so many drawn at random each charges what all do in the mean.
    paid = held.log.charged.in_means.mean(axis=1, keepdims=True) * np.arange(1, width + 1)
    for _ in range(_REPEATS):
        order = held.at_random(rng, width)
        errors.append(held.errors(order, "majority" if held.log.task == "classification" else "mean"))
        if held.chances is not None:
            weights.append(held.chances.prefixes(order))
    came = np.stack(errors)
    if held.chances is None and not np.isnan(came).any():
        mean = came.mean(axis=0)
        return [Point(mean[:, k], paid[:, k], {"k": k + 1}) for k in range(mean.shape[1])]
    weights = weights or [np.ones(came.shape[1:])] * _REPEATS
    # A query of which no draw can be scored stays unscored; any other counts by the draws that can.
    share = np.where(np.isnan(came), 0.0, np.stack(weights)[:, :, : came.shape[2]])
    total = (share * np.where(np.isnan(came), 0.0, came)).sum(axis=0)
    mean = np.divide(total, share.sum(axis=0), out=np.full(total.shape, np.nan), where=share.any(axis=0))
    weight = share.mean(axis=0)
    return [Point(mean[:, k], paid[:, k], {"k": k + 1}, weights=weight[:, k]) for k in range(mean.shape[1])]


def oracle_points(policy: Policy, held: Replay) -> list[Point]:
    """The best of the k truly best entities, cheapest first among equals, by k: needs the truth."""
    errors = held.log.errors
    key = np.where(np.isnan(errors), np.inf, errors)
    order = np.lexsort((np.broadcast_to(held.log.fees, key.shape), key), axis=1)[:, : policy.cardinality.width]
    best, paid = held.best_of(order), held.paid(order)
    points = [_of_everybody(Point(best[:, k], paid[:, k], {"k": k + 1}), held) for k in range(best.shape[1])]
    if held.chances is None:
        return points
    # Whom it would ask goes by what everybody answered, and so does what it would pay.
    nothing = np.zeros(len(held.log))
    return [
        replace(point, fees=np.where(np.isnan(point.errors), np.nan, point.fees), foreseen=nothing) for point in points
    ]


def _of_everybody(point: Point, held: Replay) -> Point:
    """The same over the rows about which everybody was asked, their truth known, weighed by how likely that was.

    What those would decide who happened to be asked is no figure of everybody.
    """
    if held.chances is None:
        return point
    everybody = np.broadcast_to(~held.log.panel.own, held.asked.shape)
    there = (held.asked | ~everybody).all(axis=1)
    return replace(
        point,
        errors=np.where(there, point.errors, np.nan),
        weights=held.chances.weights(everybody),
    )


def point_of(
    policy: Policy, held: Replay, order: np.ndarray, size: np.ndarray, labels: dict[str, float] | None = None
) -> Point:
    """Committees of the first so many of an order."""
    errors, fees = held.outcome(order, held.errors(order), size)
    asked = at_size(held.outside(order), size)
    means = {"mean_k": size.astype(np.float64), "mean_asked": asked.astype(np.float64)}
    plain = Point(errors, fees, labels or {}, means)
    every = np.arange(len(order))
    robust = Ranked(policy, held, every, order, every[None]).robust(0)
    return replace(plain, **{name: at_size(table, size) for name, table in robust.items()})


def _endless(held: Replay) -> bool:
    """Whether nothing says how large an error can be: then a few queries may decide the mean."""
    return not held.log.unit.most < np.inf
