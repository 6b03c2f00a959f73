"""Claim: with free answers, at what the best single model charges or less, askwho errs no more than agreement cascades.

Thirty language models answer problems of mathematics in words of their own (math_l5_llms), compared as numbers
(`same="numeric"`). Splits by group, 60 % to learn from and 40 % to be judged on. Both are given the mean fee that the
model with the least error in training charged there, or a share of it, and keep to it by training rows alone. The
cascade asks one after the other until so many answers are the same: as it is usually built (by price, until two are),
and the best in training of several hundred orders, lengths and numbers of answers. Differences are paired, query by
query; a query that several splits judged is one, and intervals are of queries drawn anew. One model is so much better
than the others that at its fee everybody asks it alone: there all are level.

    python benchmarks/free_answers.py [--seeds 3] [--learner auto] [--out benchmarks/results/free_answers.json]
"""

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from measure import provenance, write_down

from askwho import Log, Policy, Target, fit, read_log
from askwho.core import Answers, Cell
from askwho.data import keys_of
from askwho.policy import Decisions
from askwho_studies.logs import load_log
from askwho_studies.logs._cascade import cascade, orders
from askwho_studies.logs._split import Split

LOG, SAME = "math_l5_llms", "numeric"
SEED = 0
# Budgets, as shares of what the best single model charges: there it alone is hard to beat, and below it cannot be had.
SHARES = (1.0, 0.5, 0.2)
# Queries drawn anew: the ends of an interval then move by less than a tenth of its width.
DRAWS = 4_000
PLAIN, TUNED = "cascade by price until two agree", "cascade tuned in training"
AT_ONCE, IN_TURN, BEST = "askwho at once", "askwho in turn", "best single"
Made = tuple[np.ndarray, np.ndarray]
"""Errors and fees of each test row."""


def main() -> None:
    """Judge both on every split, and write down how they differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKWHO_DATA"), help="where logs/ lies")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--learner", default="auto")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    plain = load_log(given.data, LOG)
    log = read_log(Path(given.data) / "logs" / f"{LOG}.parquet", replace(plain.columns, same=SAME))
    log = replace(log, ids=np.arange(len(log)).astype(str))
    found: list[dict[float, dict[str, Made]]] = []
    rows: list[np.ndarray] = []
    for seed in range(given.seeds):
        split = Split.of(log, seed)
        found.append(judged(split, given.learner))
        rows.append(np.asarray(split.test.ids).astype(int))
        print(f"split {seed} done", file=sys.stderr, flush=True)
    results = {
        "log": LOG,
        "same": SAME,
        "rows": len(log),
        "more_right_than_exact": float(np.nanmean(plain.errors) - np.nanmean(log.errors)),
        "at_share_of_best_fee": {str(share): told([each[share] for each in found], rows) for share in SHARES},
        "provenance": provenance(seed=SEED, libraries=("numpy", "scikit-learn", "askwho")),
    }
    write_down(results, given.out)


def told(found: list[dict[str, Made]], rows: list[np.ndarray]) -> dict[str, Any]:
    """What each gets and pays over the splits, and how far askwho's errors are from the others'."""
    means = {
        name: {"error": mean([each[name][0] for each in found]), "fee": mean([each[name][1] for each in found])}
        for name in found[0]
    }
    less = {
        name: {
            rival: interval([each[name][0] - each[rival][0] for each in found], rows) for rival in (PLAIN, TUNED, BEST)
        }
        for name in (AT_ONCE, IN_TURN)
        if name in found[0]
    }
    return {"means": means, "error_less_theirs": less}


def judged(split: Split, learner: str) -> dict[float, dict[str, Made]]:
    """What each gets and pays on the test rows, at shares of the fee of the best single model."""
    policy = fit(split.train, learner=learner, random_state=split.seed)
    return {share: within(split, policy, share * float(split.price[split.best])) for share in SHARES}


def within(split: Split, policy: Policy, budget: float) -> dict[str, Made]:
    """What each gets and pays on the test rows within a mean fee; the best single model whatever it charges."""
    test, best = split.test, split.best
    made = {BEST: (test.errors[:, best], test.fees[:, best])}
    made |= {name: cascaded(split, budget, tuned=name == TUNED) for name in (PLAIN, TUNED)}
    target = Target(budget=budget)
    done = policy.combine(policy.decide(test.known, target), test.answers)
    made[AT_ONCE] = scored(done, test, done.members & ~policy.panel.own)
    if policy.turns is not None:
        made[IN_TURN] = in_turn(policy, test, target)
    return made


def in_turn(policy: Policy, test: Log, target: Target) -> Made:
    """Ask one question after another until the policy has heard enough."""
    seen = policy.see(test.known)
    whole = seen.answers(policy.panel, test.answers)
    states = np.where(policy.panel.own, whole.states, np.int8(Cell.NOT_ASKED)).astype(np.int8)
    while True:
        step = policy.next(seen, Answers(whole.values, states, whole.spelled), target)
        if not step.k.any():
            return scored(step, test, (states != Cell.NOT_ASKED) & ~policy.panel.own)
        states = np.where(step.members, whole.states, states).astype(np.int8)


def scored(done: Decisions, test: Log, asked: np.ndarray) -> Made:
    """The errors of verdicts, in whatever spelling, and what was charged; `asked` is of the whole panel."""
    outcome = done.outcome
    assert outcome is not None  # noqa: S101 - answers came
    right = (keys_of(outcome.values, SAME) == test.truth) & outcome.decided
    outside = asked[:, ~done.panel.own]
    return (~right).astype(np.float64), np.where(outside, test.fees, 0.0).sum(axis=1)


def cascaded(split: Split, budget: float, *, tuned: bool) -> Made:
    """The cascade with the least error in training within the budget there, on the test rows."""
    choices = list(orders(split)) if tuned else [np.lexsort((split.entity_errors, split.price))]
    best: tuple[float, np.ndarray, int, int] | None = None
    for order in choices:
        for m in (2, 3) if tuned else (2,):
            for length, (error, fee) in enumerate(walked(split, split.train, order, m), start=1):
                if fee.mean() <= budget and (best is None or error.mean() < best[0]):
                    best = float(error.mean()), order, m, length
    assert best is not None  # noqa: S101 - the cheapest alone is within any budget that is somebody's fee
    _, order, m, length = best
    return walked(split, split.test, order, m)[length - 1]


def walked(split: Split, log: Log, order: np.ndarray, m: int) -> list[Made]:
    """What a cascade of every length gets and pays; every answer counts, whether or not it was ever right."""
    votes, truths = split.votes(log)[:, order], split.truths(log)
    stops, said = cascade(votes, m, split.entity_errors[order])
    rows, fees = np.arange(len(log)), np.cumsum(log.fees[:, order], axis=1)
    made: list[Made] = []
    for length in range(1, len(order) + 1):
        last = np.minimum(stops, length) - 1
        made.append(((said[rows, last] != truths).astype(np.float64), fees[rows, last]))
    return made


def mean(each: list[np.ndarray]) -> float:
    """The mean over splits of means over rows."""
    return float(np.mean([values.mean() for values in each]))


def interval(differences: list[np.ndarray], rows: list[np.ndarray]) -> dict[str, Any]:
    """The mean difference and its 95 % interval, queries drawn anew with all their splits."""
    row, value = np.concatenate(rows), np.concatenate(differences)
    count = np.bincount(row)
    total = np.bincount(row, weights=value)[count > 0]
    count = count[count > 0]
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(len(count), size=(DRAWS, len(count)))
    means = total[drawn].sum(axis=1) / count[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return {"difference": float(value.mean()), "low": float(low), "high": float(high), "queries": len(count)}


if __name__ == "__main__":
    main()
