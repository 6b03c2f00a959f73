"""Claim: intervals of 90% around verdicts cover 90%, and absolute and pinball errors are below the best single's.

Two logs of numbers: forecasts of the M3 competition, whose 24 methods all charge the same, and California housing with
six perceptrons, each of a region of its own. Of each three fifths of the groups teach and two fifths are judged, three
times over. The single is the one that errs least on the rows that taught; for its fee, and for three times as much, the
policy is asked for all at once and in turn, and losses are paired query by query. Intervals are told at several
prices, where others are asked.

The parts of the scale were chosen on made logs. One split of each log here was looked at while five folds in the place
of three, and who counts as the single, were chosen: the seeds from 100 on are fresh splits of the same rows.

    python benchmarks/regression.py [--seeds 3] [--learner auto] [--out benchmarks/results/regression.json]
"""

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from measure import provenance, write_down

from askwho import Columns, Log, Policy, Target, fit, read_log
from askwho.core import folds
from askwho.replay import Replay
from askwho_studies.logs import load_log
from askwho_studies.paper._california import FEES, california

ERRORS = ("squared", "absolute", "pinball:0.9")
COVERAGE = 0.9
FIRST = 100
"""The first seed: smaller ones were looked at."""
# Prices at which intervals are told, as places among those that the policy was tried at: from nothing to the dearest.
PLACES = (0.0, 0.25, 0.5, 0.75)
DRAWS = 2_000
# Budgets, in fees of the single: what it charges, and what three charge.
TIMES = (1.0, 3.0)
WAYS = [f"{way}, {times:g} of its fee" for times in TIMES for way in ("at once", "in turn")]


def main() -> None:
    """Judge both logs by every error, and write down what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKWHO_DATA"), help="where logs/ lies")
    parser.add_argument("--logs", nargs="+", default=["m3_forecasts", "california"])
    parser.add_argument("--errors", nargs="+", default=list(ERRORS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--learner", default="auto")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found: dict[str, Any] = {}
    for name in given.logs:
        for error in given.errors:
            each = [judged(given.data, name, error, seed, given.learner) for seed in range(FIRST, FIRST + given.seeds)]
            found[f"{name}, {error}"] = together(each)
    found["provenance"] = provenance(seed=given.seeds)
    write_down(found, given.out)


def log_of(data: Path, name: str, error: str, seed: int) -> Log:
    """Return a log, scored by an error."""
    if name != "california":
        log = load_log(data, name)
        assert log.answers is not None and log.truth is not None  # noqa: S101, PT018 - numbers have both
        said = np.where(log.asked, log.answers.values.astype(np.float64), np.nan)
        table = {**log.known, "y": log.truth} | {f"answer_{e}": said[:, j] for j, e in enumerate(log.panel.names)}
        fees = dict(zip(log.panel.names, log.panel.fees.tolist(), strict=True))
        known = ",".join(log.known)
        return read_log(
            table, Columns(truth="y", answers="answer_*", features=known, fees=fees, task="regression", error=error)
        )
    whole = california(data, seed).bounded()
    # Entities learned from the other rows: only these tell what they are worth.
    rows = whole.test
    table = {f"x_{d}": whole.X[rows, d] for d in range(whole.X.shape[1])} | {"y": whole.truth[rows]}
    table |= {f"answer_{e}": whole.answers.values[rows, j] for j, e in enumerate(whole.panel.names)}
    fees = dict(zip(whole.panel.names, FEES, strict=True))
    return read_log(
        table, Columns(truth="y", answers="answer_*", features="x_*", fees=fees, task="regression", error=error)
    )


def judged(data: Path, name: str, error: str, seed: int, learner: str) -> dict[str, Any]:
    """Return losses beside the best single's, query by query, and what intervals cover, of one split."""
    log = log_of(data, name, error, seed)
    test = np.isin(folds(log.groups, 5, random_state=seed), (0, 1))
    taught, held = log.alone(np.flatnonzero(~test)), log.rows(np.flatnonzero(test))
    policy = fit(taught, learner=learner, cv=5, random_state=seed)
    # Who was asked about some of the queries only is no rival on all of them; and who is free has no fee to compare at.
    everywhere = ~np.isnan(taught.errors).any(axis=0) & (taught.panel.fees > 0)
    single = int(np.where(everywhere, np.nan_to_num(taught.errors, nan=np.inf).mean(axis=0), np.inf).argmin())
    fee = float(taught.panel.fees[single])
    replay = Replay.of(policy, held)
    losses, paid = [held.errors[:, single]], []
    for times in TIMES:
        for got, spent in asked(policy, replay, Target(budget=max(times * fee, 1e-9))):
            losses.append(got)
            paid.append(float(np.nanmean(spent)))
    return {
        "single": taught.panel.names[single],
        "fee": fee,
        "base": policy.facts.base,
        "committee": policy.combiner.name,
        "mean_fee": paid,
        "losses": np.column_stack(losses),
        # The same series is judged in several splits; of the other log each split has entities of its own.
        "rows": np.flatnonzero(test) + (seed * len(log) if name == "california" else 0),
        "root": policy.unit.root,
        "intervals": covered(policy, replay, held),
    }


def asked(policy: Policy, replay: Replay, budget: Target) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return what each query erred and was charged within a budget, at once and in turn."""
    done = policy.decide(replay.seen, budget)
    assert policy.turns is not None  # noqa: S101 - both logs have rows enough
    setting = policy.setting(budget, in_turn=True)
    steps = [replay.in_turn(policy.turns.asking, price) for price in (setting.fee_weight, setting.other)]
    second = replay.seen.coins < setting.share
    in_turn = tuple(np.where(second, getattr(steps[1], of), getattr(steps[0], of)) for of in ("errors", "fees"))
    return [replay.outcome(done.order, replay.errors(done.order), done.k), (in_turn[0], in_turn[1])]


def covered(policy: Policy, replay: Replay, held: Log) -> list[dict[str, float]]:
    """Return how often truths are within intervals, and how wide these are, at once and in turn, at some prices."""
    assert held.answers is not None and held.truth is not None  # noqa: S101, PT018 - numbers have both
    found: list[dict[str, float]] = []
    truth = held.truth.astype(np.float64)
    for place in PLACES:
        price = float(policy.tried.prices[int(place * (len(policy.tried.prices) - 1))])
        done = policy.combine(policy.decide(replay.seen, Target(fee_weight=price)), held.answers, coverage=COVERAGE)
        found.append(_inside(done.outcome, truth) | {"price": price, "in_turn": 0.0})
    return found


def _inside(outcome: Any, truth: np.ndarray) -> dict[str, float]:  # noqa: ANN401 - what came of decisions
    known = outcome.decided
    inside = (truth >= outcome.low) & (truth <= outcome.high)
    return {"covered": float(inside[known].mean()), "width": float(np.median((outcome.high - outcome.low)[known]))}


def together(each: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the figures over all splits, losses paired query by query, with intervals of 95%."""
    losses, rows = (np.concatenate([one[part] for one in each]) for part in ("losses", "rows"))
    known = ~np.isnan(losses).any(axis=1)
    losses, (_, rows) = losses[known], np.unique(rows[known], return_inverse=True)
    sums = np.column_stack([np.bincount(rows, column) for column in (*losses.T, np.ones(len(losses)))])
    rng, root = np.random.default_rng(0), each[0]["root"]
    found: dict[str, Any] = {
        "queries": len(losses),
        "single": [one["single"] for one in each],
        "single_fee": [one["fee"] for one in each],
        "base": [one["base"] for one in each],
        "committee": [one["committee"] for one in each],
        "mean_fee": {way: [one["mean_fee"][i] for one in each] for i, way in enumerate(WAYS)},
    }
    drawn = [sums[rng.integers(0, len(sums), len(sums))].sum(axis=0) for _ in range(DRAWS)]
    means = np.vstack([sums.sum(axis=0), *drawn])
    means = means[:, :-1] / means[:, -1:]
    means = np.sqrt(means) if root else means
    found["error"] = dict(zip(("single", *WAYS), means[0].tolist(), strict=True))
    found["less_single"] = {}
    for place, way in enumerate(WAYS, start=1):
        change = means[:, place] - means[:, 0]
        low, high = np.quantile(change[1:], (0.025, 0.975))
        found["less_single"][way] = {"mean": float(change[0]), "low": float(low), "high": float(high)}
    every = [row for one in each for row in one["intervals"]]
    found["covered"] = [round(row["covered"], 4) for row in every]
    found["mean_covered"] = float(np.mean([row["covered"] for row in every]))
    found["median_width"] = [round(row["width"], 4) for row in every]
    return found


if __name__ == "__main__":
    main()
