"""Claim: where those who are asked most are short, `assign` costs less than by rank with spill-over or at random.

Where people alone are short, and networks nearly as good are not, or where readers are alike, it is told from asking by
rank by no more than noise.
What is believed of committees, and the step of prices, were chosen on rows of these desks: the figures are no test of
those choices.

Four desks, judged by what really came back, paired query by query: recorded people and networks who name what is on a
picture (imagenet16h_humans), where people have few hours; three people who name small pictures (CIFAR-10N) beside a
weak base; readers of chest films (chest_opacity_readers), of whom only those three can be given a film who read it; and
a made fraud desk, whose analysts see some kinds of fraud and not others, and have hours by day. Beside it: how far the
same queries, one at a time, cost more than the whole batch at once; and the seconds that ten thousand queries take with
thirty analysts.

    python benchmarks/hours.py [--batches 6] [--rows 400] [--large 10000] [--out benchmarks/results/hours.json]
"""

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from measure import provenance, write_down

from askwho import Columns, InvalidInputError, Log, Online, Policy, Target, assign, fit, read_log
from askwho.core import Answers, folds
from askwho.policy import Decisions, Seen
from askwho_studies.logs import load_log
from askwho_studies.paper._images import read_images
from askwho_studies.paper._pools import annotators

SEED = 0
# What one unit of money is worth in error: a person of the pictures charges .3, an analyst 1.
PICTURES, SMALL, FILMS, FRAUD = "imagenet16h_humans", "CIFAR-10N", "chest_opacity_readers", "fraud desk"
# A film's reader charges 1 as an analyst does.
RATES = {PICTURES: 0.05, SMALL: 0.05, FILMS: 0.02, FRAUD: 0.02}
# Small pictures that a policy is learned from, and the directions of pixels that it knows them by.
TAUGHT_BY, DIRECTIONS = 1_500, 24
# The share of a batch that each who names small pictures has time for, and of what he read that each reader has.
FEW, HALF = 0.15, 0.5
# Of a batch, the share that each person can be given, and each network that charges anything.
HOURS, QUOTA = 0.04, 0.2
# Days of the fraud desk, on each of which each analyst has hours of its own.
DAYS = ("monday", "tuesday")
ANALYSTS = 8
DRAWS = 4_000


def main() -> None:
    """Give out batches on both desks, and write down what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKWHO_DATA"), help="where logs/ lies")
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--rows", type=int, default=400, help="queries of a batch")
    parser.add_argument("--large", type=int, default=10_000, help="queries of the timed batch; 0 for none")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    desks: dict[str, Any] = {}
    desks |= pictures(given.data, given.batches, given.rows)
    desks[SMALL] = small_pictures(given.data, given.batches, given.rows)
    desks[FILMS] = films(given.data)
    desks[FRAUD] = fraud(given.batches, given.rows)
    found: dict[str, Any] = {"desks": desks}
    if given.large:
        found["large"] = large(given.large)
    found["provenance"] = provenance(seed=SEED)
    write_down(found, given.out)


def pictures(data: Path, batches: int, rows: int) -> dict[str, dict[str, Any]]:
    """Recorded people with few hours, beside networks with as many as one likes, or with quotas of their own."""
    log = load_log(data, PICTURES)
    fold = folds(log.groups, 2, random_state=SEED)
    policy = fit(log.alone(np.flatnonzero(fold == 0)), learner="linear", base="none", cv=3, random_state=SEED)
    rng = np.random.default_rng(SEED)
    test = rng.permutation(np.flatnonzero(fold == 1))
    usual = dict(zip(policy.panel.names, policy.judge.fees.usual.tolist(), strict=True))
    people = {name: max(1, int(HOURS * rows)) for name in usual if name.startswith("human")}
    networks = {name: max(1, int(QUOTA * rows)) for name, fee in usual.items() if fee > 0 and name not in people}
    parts = [part for i in range(batches) if len(part := test[i * rows : (i + 1) * rows]) == rows]
    return {
        f"{PICTURES}, people short": compared(policy, log, parts, RATES[PICTURES], people),
        f"{PICTURES}, all short": compared(policy, log, parts, RATES[PICTURES], people | networks),
    }


def small_pictures(data: Path, batches: int, rows: int) -> dict[str, Any]:
    """Three people with time for some of the pictures, beside a base of our own that knows them by their colours."""
    n = TAUGHT_BY + batches * rows
    images = read_images(data, "cifar10", most=(n, 1))
    flat = images.rows[:n] / 255.0
    centred = flat - flat[:TAUGHT_BY].mean(axis=0)
    known = centred @ np.linalg.svd(centred[:TAUGHT_BY], full_matrices=False)[2][:DIRECTIONS].T
    said = annotators(data)[:n]
    table = {f"x_{i}": known[:, i] for i in range(DIRECTIONS)} | {"truth": images.labels[:n]}
    table |= {f"answer_person{j}": said[:, j] for j in range(said.shape[1])}
    fees = {f"person{j}": 1.0 for j in range(said.shape[1])}
    what = Columns(truth="truth", answers="answer_*", features="x_*", fees=fees, task="classification")
    log = read_log(table, what)
    policy = fit(log.alone(np.arange(TAUGHT_BY)), learner="linear", cv=3, random_state=SEED)
    parts = [TAUGHT_BY + np.arange(i * rows, (i + 1) * rows) for i in range(batches)]
    return compared(policy, log, parts, RATES[SMALL], dict.fromkeys(fees, int(FEW * rows)))


def films(data: Path) -> dict[str, Any]:
    """Readers with time for half of what they read; a film can be given to those alone whose reading is recorded."""
    log = load_log(data, FILMS)
    fold = folds(log.groups, 2, random_state=SEED)
    policy = fit(log.alone(np.flatnonzero(fold == 0)), learner="linear", cv=3, random_state=SEED)
    # The log's rows are of one hospital after another: they come in any order.
    test = np.random.default_rng(SEED).permutation(np.flatnonzero(fold == 1))
    read = dict(zip(log.panel.names, log.asked[test].sum(axis=0).tolist(), strict=True))
    return compared(policy, log, [test], RATES[FILMS], {name: max(1, int(HALF * n)) for name, n in read.items()})


def fraud(batches: int, rows: int) -> dict[str, Any]:
    """Analysts who each know some kinds of fraud, see too much or too little of it, and have hours by day."""
    log = read_log(desk(1_500 + batches * rows, ANALYSTS, SEED), columns(ANALYSTS))
    policy = fit(log.alone(np.arange(1_500)), learner="linear", cv=3, random_state=SEED)
    rng = np.random.default_rng(SEED)
    hours = {f"a{j}": {day: int(rng.integers(rows // 60, rows // 12)) for day in DAYS} for j in range(ANALYSTS)}
    parts = [1_500 + np.arange(i * rows, (i + 1) * rows) for i in range(batches)]
    return compared(policy, log, parts, RATES[FRAUD], hours)


def desk(n: int, analysts: int, seed: int) -> dict[str, np.ndarray]:
    """Return columns of a made fraud desk: transactions of five kinds, and what each analyst says of each."""
    rng = np.random.default_rng(seed)
    # The analysts are the same whoever draws the queries.
    people = np.random.default_rng(analysts)
    kind, amount, odd = rng.integers(0, 5, n), rng.normal(size=n), rng.normal(size=n)
    chance = 1.0 / (1.0 + np.exp(-(-1.0 + 0.8 * amount + 0.6 * odd + 0.3 * (kind == 2))))
    truth = (rng.random(n) < chance).astype(int)
    table: dict[str, np.ndarray] = {"fraud": truth, "x_amount": amount, "x_odd": odd}
    table |= {f"x_kind{c}": (kind == c).astype(float) for c in range(5)}
    for j in range(analysts):
        knows, bias = people.choice([0.06, 0.12, 0.4], 5, p=[0.25, 0.35, 0.4]), people.uniform(0.4, 1.6)
        wrong = np.clip(knows[kind] * np.where(truth == 1, bias, 2.0 - bias), 0.0, 0.6)
        table[f"answer_a{j}"] = np.where(rng.random(n) < wrong, 1 - truth, truth)
    return table


def columns(analysts: int) -> Columns:
    """Return what the columns of that desk are."""
    fees = {f"a{j}": 1.0 for j in range(analysts)}
    return Columns(truth="fraud", answers="answer_*", features="x_*", fees=fees, task="classification")


def compared(policy: Policy, log: Log, parts: list[np.ndarray], rate: float, hours: dict[str, Any]) -> dict[str, Any]:
    """Return what each way of giving out costs, and how much less than the others `assign` does, with intervals."""
    target, costs = Target(fee_weight=rate), {way: [] for way in ("assign", "online", "by rank", "at random")}
    by_day = any(isinstance(each, dict) for each in hours.values())
    expected, online, gaps = 0.0, 0.0, []
    for b, part in enumerate(parts):
        rng = np.random.default_rng([SEED, b])
        seen = policy.see({column: values[part] for column, values in log.known.items()})
        days = np.resize(np.array(DAYS, dtype=object), len(part)) if by_day else None
        there = reachable(policy, log, part)
        done = assign(policy, seen, target, capacity=hours, by=days, available=there)
        gaps.append(done.gap)
        turned = one_by_one(policy, seen, target, hours, days, there)
        expected += done.cost
        online += float((turned.expected_error + rate * turned.fee).mean())
        ways = {
            "assign": done.decisions,
            "online": turned,
            "by rank": spilled(policy, seen, target, hours, days, there, None),
            "at random": spilled(policy, seen, target, hours, days, there, rng),
        }
        for way, decisions in ways.items():
            check_kept(decisions, hours, days)
            costs[way].append(realised(policy, log, part, decisions, rate))
    ours = np.concatenate(costs["assign"])
    found: dict[str, Any] = {
        "queries": len(ours),
        "expected": expected / len(parts),
        "largest_gap": max(gaps),
        "online_above_offline": online / expected - 1.0,
        "realised": {way: float(np.concatenate(each).mean()) for way, each in costs.items()},
    }
    for way in ("online", "by rank", "at random"):
        found[f"assign_less_{way.replace(' ', '_')}"] = paired(ours - np.concatenate(costs[way]))
    return found


def reachable(policy: Policy, log: Log, part: np.ndarray) -> np.ndarray:
    """Return who can be given each query, shape (n, |A|): whoever answered it, and whoever answers for itself."""
    there = np.ones((len(part), len(policy.panel)), dtype=bool)
    there[:, ~policy.panel.own] = log.asked[part]
    return there


def one_by_one(
    policy: Policy, seen: Seen, target: Target, hours: dict[str, Any], days: np.ndarray | None, there: np.ndarray
) -> Decisions:
    """Give out the same queries in the order in which they come, without a look at those to come."""
    horizon: Any = len(seen) if days is None else {day: int((days == day).sum()) for day in DAYS}
    desk_ = Online(policy, target, horizon=horizon, capacity=hours)
    steps = [
        desk_.next(seen.rows(np.array([i])), group=None if days is None else days[i], available=there[i])
        for i in range(len(seen))
    ]
    width = policy.cardinality.width
    k, error = (np.concatenate([getattr(step, name) for step in steps]) for name in ("k", "expected_error"))
    order, n = np.concatenate([step.order for step in steps]), len(seen)
    within = (np.arange(width) < k[:, None]).astype(float)
    return Decisions(policy.panel, np.arange(n).astype(str), policy.unit, seen, order, k, error, np.ones(n), within)


def spilled(
    policy: Policy,
    seen: Seen,
    target: Target,
    hours: dict[str, Any],
    days: np.ndarray | None,
    reach: np.ndarray,
    rng: np.random.Generator | None,
) -> Decisions:
    """Give out queries one after another, each as if it were alone, to whoever has hours left; or one at random."""
    panel, n = policy.panel, len(seen)
    left: dict[str, Any] = {name: dict(given) if isinstance(given, dict) else given for name, given in hours.items()}
    steps: list[Decisions] = []
    for i in range(n):
        day = None if days is None else days[i]

        def room(name: str, day: str | None = day) -> int:
            given = left.get(name, n)
            return given[day] if isinstance(given, dict) else given

        there = np.array([room(name) > 0 for name in panel.names]) & reach[i]
        if rng is not None:
            one = rng.choice(np.flatnonzero(there))
            there = np.arange(len(panel)) == one
        step = policy.decide(seen.rows(np.array([i])), target, available=there)
        for j in step.order[0, : step.k[0]]:
            name = panel.names[j]
            if name in left and isinstance(left[name], dict):
                left[name][day] -= 1
            elif name in left:
                left[name] -= 1
        steps.append(step)
    order, k = (np.concatenate([getattr(step, name) for step in steps]) for name in ("order", "k"))
    within = (np.arange(order.shape[1]) < k[:, None]).astype(float)
    error = np.concatenate([step.expected_error for step in steps])
    return Decisions(panel, np.arange(n).astype(str), policy.unit, seen, order, k, error, np.ones(n), within)


def check_kept(decisions: Decisions, hours: dict[str, Any], days: np.ndarray | None) -> None:
    """Raise where anybody was given more than there are hours."""
    for name, given in hours.items():
        mine = decisions.members[:, decisions.panel.index(name)]
        for day, most in given.items() if isinstance(given, dict) else [(None, given)]:
            count = int(mine.sum() if day is None or days is None else mine[days == day].sum())
            if count > most:
                raise InvalidInputError(f"`hours` must be kept, got {count} for {name!r} of {most}.")


def realised(policy: Policy, log: Log, part: np.ndarray, decisions: Decisions, rate: float) -> np.ndarray:
    """Return what each query really cost: whether the verdict was wrong, and the fees."""
    assert log.answers is not None and log.truth is not None  # noqa: S101, PT018 - both desks have them
    came = policy.combine(decisions, Answers(log.answers.values[part], log.answers.states[part])).outcome
    assert came is not None  # noqa: S101 - it was just combined
    return (came.values != log.truth[part]) + rate * came.paid


def paired(differences: np.ndarray) -> dict[str, float]:
    """Return the mean difference with its interval of 95%, by drawing queries anew."""
    rng = np.random.default_rng(SEED)
    drawn = [float(rng.choice(differences, len(differences)).mean()) for _ in range(DRAWS)]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return {"mean": float(differences.mean()), "low": float(low), "high": float(high)}


def large(n: int) -> dict[str, Any]:
    """Return the seconds that a large batch takes with thirty analysts, the fit not counted."""
    log = read_log(desk(1_500, 30, SEED), columns(30))
    policy = fit(log, learner="linear", cv=3, random_state=SEED)
    table = {column: values for column, values in desk(n, 30, SEED + 1).items() if column.startswith("x_")}
    hours = {f"a{j}": n // 40 + j * n // 1_000 for j in range(30)}
    found: dict[str, Any] = {"queries": n, "entities": len(policy.panel), "load": os.getloadavg()[0]}
    for way, target in (("committees", Target(fee_weight=0.0)), ("one each", Target(k=1, fee_weight=0.0))):
        start = time.perf_counter()
        done = assign(policy, table, target, capacity=hours)
        seconds = time.perf_counter() - start
        found[way] = {"seconds": round(seconds, 2), "gap": done.gap, "mean_k": float(done.decisions.k.mean())}
    return found


if __name__ == "__main__":
    main()
