"""Claim: where those who are asked most are short, `assign` costs less than by rank with spill-over or at random.

Where people alone are short, and networks nearly as good are not, it is level with asking by rank.
What is believed of committees, and the step of prices, were once chosen on rows of the split of seed 0. The figures are
of other splits, on which nothing was chosen; those of recorded pictures and films divide the same rows anew, so that
intervals come from drawing pictures, or patients, and not rows.

Four desks, judged by what really came back, paired query by query: recorded people and networks who name what is on a
picture (imagenet16h_humans), where people have few hours; three people who name small pictures (CIFAR-10N) beside a
weak base; readers of chest films (chest_opacity_readers), of whom only those three can be given a film who read it; and
a made fraud desk, whose analysts see some kinds of fraud and not others, and have hours by day. Beside it: how far the
same queries, one at a time, cost more than the whole batch at once; and the seconds that ten thousand queries take with
thirty analysts.

    python benchmarks/hours.py [--seeds 5 6 7 8 9 10] [--batches 6] [--rows 400] [--large 10000]
        [--out benchmarks/results/hours.json]
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
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

# What one unit of money is worth in error: a person of the pictures charges .3, an analyst 1.
PICTURES, SMALL, FILMS, FRAUD = "imagenet16h_humans", "CIFAR-10N", "chest_opacity_readers", "fraud desk"
# A film's reader charges 1 as an analyst does.
RATES = {PICTURES: 0.05, SMALL: 0.05, FILMS: 0.02, FRAUD: 0.02}
# Small pictures that people named, of which every split draws its own.
SMALL_ONES = 50_000
# Those that a policy is learned from, and the directions of pixels that it knows them by.
TAUGHT_BY, DIRECTIONS = 1_500, 24
# The share of a batch that each who names small pictures has time for, and of what he read that each reader has.
FEW, HALF = 0.15, 0.5
# Of a batch, the share that each person can be given, and each network that charges anything.
HOURS, QUOTA = 0.04, 0.2
# Days of the fraud desk, on each of which each analyst has hours of its own.
DAYS = ("monday", "tuesday")
ANALYSTS = 8
# What `assign` is compared with.
RIVALS = ("online", "by rank", "at random")
DRAWS = 4_000


@dataclass(frozen=True, eq=False)
class Desk:
    """A policy, and batches of queries that taught it nothing, to give out under limits.

    Args:
        policy: whose beliefs count.
        log: what really came.
        parts: the rows of each batch.
        groups: shape (n,), which rows of the log are of one picture or patient, on whatever split.
        rate: what one unit of money is worth in error.
        hours: as `assign` takes them.
    """

    policy: Policy
    log: Log
    parts: list[np.ndarray]
    groups: np.ndarray
    rate: float
    hours: dict[str, Any]


def main() -> None:
    """Give out batches on every desk and split, and write down what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKWHO_DATA"), help="where logs/ lies")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(5, 11)), help="one for each split")
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--rows", type=int, default=400, help="queries of a batch")
    parser.add_argument("--large", type=int, default=10_000, help="queries of the timed batch; 0 for none")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    came: dict[str, list[Came]] = {}
    for seed in given.seeds:
        for name, at in desks(given.data, given.batches, given.rows, seed):
            came.setdefault(name, []).append(given_out(at, seed))
            less = came[name][-1]
            print(seed, name, (less.costs["assign"] - less.costs["by rank"]).mean(), file=sys.stderr, flush=True)
    found: dict[str, Any] = {"desks": {name: compared(splits) for name, splits in came.items()}}
    if given.large:
        found["large"] = large(given.large)
    found["provenance"] = provenance(seed=given.seeds[0])
    write_down(found, given.out)


def desks(data: Path, batches: int, rows: int, seed: int) -> Iterator[tuple[str, Desk]]:
    """Yield every desk of one split, by name."""
    yield from pictures(data, batches, rows, seed)
    yield SMALL, small_pictures(data, batches, rows, seed)
    yield FILMS, films(data, seed)
    yield FRAUD, fraud(batches, rows, seed)


def pictures(data: Path, batches: int, rows: int, seed: int) -> Iterator[tuple[str, Desk]]:
    """Yield recorded people with few hours, beside networks with as many as one likes, or with quotas of their own."""
    log = load_log(data, PICTURES)
    fold = folds(log.groups, 2, random_state=seed)
    policy = fit(log.alone(np.flatnonzero(fold == 0)), learner="linear", base="none", cv=3, random_state=seed)
    rng = np.random.default_rng(seed)
    test = rng.permutation(np.flatnonzero(fold == 1))
    usual = dict(zip(policy.panel.names, policy.judge.fees.usual.tolist(), strict=True))
    people = {name: max(1, int(HOURS * rows)) for name in usual if name.startswith("human")}
    networks = {name: max(1, int(QUOTA * rows)) for name, fee in usual.items() if fee > 0 and name not in people}
    parts = [part for i in range(batches) if len(part := test[i * rows : (i + 1) * rows]) == rows]
    for who, hours in (("people", people), ("all", people | networks)):
        yield f"{PICTURES}, {who} short", Desk(policy, log, parts, log.groups, RATES[PICTURES], hours)


def small_pictures(data: Path, batches: int, rows: int, seed: int) -> Desk:
    """Return three people with time for some of the pictures, beside a base of our own that knows them by colours."""
    n = TAUGHT_BY + batches * rows
    images, said = read_images(data, "cifar10", most=(SMALL_ONES, 1)), annotators(data)[:SMALL_ONES]
    some = np.random.default_rng(seed).permutation(SMALL_ONES)[:n]
    flat = images.rows[some] / 255.0
    centred = flat - flat[:TAUGHT_BY].mean(axis=0)
    known = centred @ np.linalg.svd(centred[:TAUGHT_BY], full_matrices=False)[2][:DIRECTIONS].T
    table = {f"x_{i}": known[:, i] for i in range(DIRECTIONS)} | {"truth": images.labels[some]}
    table |= {f"answer_person{j}": said[some, j] for j in range(said.shape[1])}
    fees = {f"person{j}": 1.0 for j in range(said.shape[1])}
    what = Columns(truth="truth", answers="answer_*", features="x_*", fees=fees, task="classification")
    log = read_log(table, what)
    policy = fit(log.alone(np.arange(TAUGHT_BY)), learner="linear", cv=3, random_state=seed)
    parts = [TAUGHT_BY + np.arange(i * rows, (i + 1) * rows) for i in range(batches)]
    return Desk(policy, log, parts, some, RATES[SMALL], dict.fromkeys(fees, int(FEW * rows)))


def films(data: Path, seed: int) -> Desk:
    """Return readers with time for half of what they read; a film can be given to those alone who did read it."""
    log = load_log(data, FILMS)
    fold = folds(log.groups, 2, random_state=seed)
    policy = fit(log.alone(np.flatnonzero(fold == 0)), learner="linear", cv=3, random_state=seed)
    # The log's rows are of one hospital after another: they come in any order.
    test = np.random.default_rng(seed).permutation(np.flatnonzero(fold == 1))
    read = dict(zip(log.panel.names, log.asked[test].sum(axis=0).tolist(), strict=True))
    hours = {name: max(1, int(HALF * n)) for name, n in read.items()}
    return Desk(policy, log, [test], log.groups, RATES[FILMS], hours)


def fraud(batches: int, rows: int, seed: int) -> Desk:
    """Return analysts who each know some kinds of fraud, see too much or too little of it, and have hours by day."""
    log = read_log(desk(1_500 + batches * rows, ANALYSTS, seed), columns(ANALYSTS))
    policy = fit(log.alone(np.arange(1_500)), learner="linear", cv=3, random_state=seed)
    rng = np.random.default_rng(seed)
    hours = {f"a{j}": {day: int(rng.integers(rows // 60, rows // 12)) for day in DAYS} for j in range(ANALYSTS)}
    parts = [1_500 + np.arange(i * rows, (i + 1) * rows) for i in range(batches)]
    # Every seed draws queries of its own.
    return Desk(policy, log, parts, len(log) * seed + np.arange(len(log)), RATES[FRAUD], hours)


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


@dataclass(frozen=True, eq=False)
class Came:
    """What came of one split.

    Args:
        costs: what each query really cost, shape (n,), by way of giving out.
        groups: shape (n,), which picture or patient it is of.
        expected: what `assign` expected in the mean.
        online: the same of one query at a time.
        gap: the largest of a batch.
    """

    costs: dict[str, np.ndarray]
    groups: np.ndarray
    expected: float
    online: float
    gap: float


def given_out(at: Desk, seed: int) -> Came:
    """Return what every way of giving out the batches of a desk really cost."""
    policy, log, rate, hours = at.policy, at.log, at.rate, at.hours
    target, costs = Target(fee_weight=rate), {way: [] for way in ("assign", *RIVALS)}
    by_day = any(isinstance(each, dict) for each in hours.values())
    expected, online, gaps = 0.0, 0.0, []
    for b, part in enumerate(at.parts):
        rng = np.random.default_rng([seed, b])
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
    count, rows = len(at.parts), np.concatenate(at.parts)
    whole = {way: np.concatenate(each) for way, each in costs.items()}
    return Came(whole, at.groups[rows], expected / count, online / count, max(gaps))


def compared(splits: list[Came]) -> dict[str, Any]:
    """Return what each way cost over all splits, and how much less than the others `assign` did, with intervals."""
    costs = {way: np.concatenate([each.costs[way] for each in splits]) for way in splits[0].costs}
    groups = np.concatenate([each.groups for each in splits])
    found: dict[str, Any] = {
        "queries": len(groups),
        "splits": len(splits),
        "expected": float(np.mean([each.expected for each in splits])),
        "largest_gap": max(each.gap for each in splits),
        "online_above_offline": sum(each.online for each in splits) / sum(each.expected for each in splits) - 1.0,
        "realised": {way: float(each.mean()) for way, each in costs.items()},
    }
    for way in RIVALS:
        name = f"assign_less_{way.replace(' ', '_')}"
        found[name] = paired(costs["assign"] - costs[way], groups)
        found[f"{name}_by_split"] = [float((each.costs["assign"] - each.costs[way]).mean()) for each in splits]
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


def paired(differences: np.ndarray, groups: np.ndarray) -> dict[str, float]:
    """Return the mean difference with its interval of 95%, by drawing groups anew, each with all its queries."""
    rng = np.random.default_rng(0)
    _, group = np.unique(groups, return_inverse=True)
    total, count = np.bincount(group, differences), np.bincount(group)
    picks = (rng.integers(0, len(count), len(count)) for _ in range(DRAWS))
    low, high = np.quantile([total[pick].sum() / count[pick].sum() for pick in picks], (0.025, 0.975))
    return {"mean": float(differences.mean()), "low": float(low), "high": float(high)}


def large(n: int) -> dict[str, Any]:
    """Return the seconds that a large batch takes with thirty analysts, the fit not counted."""
    log = read_log(desk(1_500, 30, 0), columns(30))
    policy = fit(log, learner="linear", cv=3, random_state=0)
    table = {column: values for column, values in desk(n, 30, 1).items() if column.startswith("x_")}
    hours = {f"a{j}": n // 40 + j * n // 1_000 for j in range(30)}
    found: dict[str, Any] = {"queries": n, "entities": len(policy.panel), "load": os.getloadavg()[0]}
    for way, target in (("committees", Target(fee_weight=0.0)), ("one each", Target(k=1, fee_weight=0.0))):
        start, worked = time.perf_counter(), time.process_time()
        done = assign(policy, table, target, capacity=hours)
        seconds, worked = time.perf_counter() - start, time.process_time() - worked
        found[way] = {
            "seconds": round(seconds, 2),
            # On a busy machine the clock tells what others do as well.
            "processor_seconds": round(worked, 2),
            "gap": done.gap,
            "mean_k": float(done.decisions.k.mean()),
        }
    return found


if __name__ == "__main__":
    main()
