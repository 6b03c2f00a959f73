"""Claim: k(x) learned once for every price is no worse than the paper's network for each price, and far cheaper.

On California (six localised experts, the paper's fees and its 17 λ, mean and weighted mean) and on digits (ten models,
majority and weighted vote): one policy by the paper's Algorithm 1, its scores out of fold by five folds, then two ways
to k(x). The paper's per-λ surrogate is tuned over learning rates and widths on held-out rows, with the early stop that
its checkpoints give; the curve is not tuned. What is compared is the area under the frontier on test rows (mean error
over ten stated budgets), taken blind: mixtures of prices are chosen on one half of the rows and judged on the other,
both ways round. The paired bootstrap over test rows, seeds pooled, chooses anew in every draw. Seconds are given with
the tuning and without it.

    ASKWHO_DATA=... python benchmarks/cardinality.py --out benchmarks/results/cardinality.json
"""

import argparse
import importlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from digits_pool import mixed_pool
from measure import provenance, write_down

from askwho.aggregation import Committee
from askwho.core import Answers, Cell, Entity, Panel, Selection, folds, in_order, rank
from askwho.engine import Training
from askwho.fitting import SurrogateCardinality
from askwho.learners import CompSum
from askwho.metrics import Frontier, area, prefix_errors, stated_budgets
from askwho.policy import Calibration, Cardinality, Curve
from askwho.replay import price_grid
from askwho_studies.paper._california import LAMBDAS, PAPER_TRAINING, california

# On a narrower grid the best was at its corner.
RATES = (5e-4, 2e-3, 8e-3, 3.2e-2)
HIDDEN = ((64, 64), (128, 128), (256, 256))
RESAMPLES = 1000


@dataclass(frozen=True, eq=False)
class Task:
    """A log: features, errors and answers, rows to learn from and rows to be judged on."""

    X: np.ndarray
    truth: np.ndarray
    answers: Answers
    errors: np.ndarray
    panel: Panel
    train: np.ndarray
    test: np.ndarray
    prices: np.ndarray
    metrics: tuple[str, ...]
    error: str


def main() -> None:
    """Compare on both data sets, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKWHO_DATA"))
    parser.add_argument("--seeds", type=int, default=4, help="of California")
    parser.add_argument("--digits-seeds", type=int, default=100, help="of digits, which is small")
    parser.add_argument("--workers", type=int, default=1, help="seeds at a time, each in a process of its own")
    arguments = parser.parse_args()
    with ProcessPoolExecutor(arguments.workers, mp_context=get_context("spawn")) as workers:
        seeds: dict[str, Iterable[Seed]] = {}
        if arguments.data is not None:
            of_seed = partial(california_task, Path(arguments.data))
            seeds["california"] = workers.map(partial(one_seed, of_seed), range(arguments.seeds))
        seeds["digits"] = workers.map(partial(one_seed, digits_task), range(arguments.digits_seeds))
        results: dict[str, Any] = {name: study(each) for name, each in seeds.items()}
    importlib.import_module("torch")  # so that the provenance names the GPU that the seeds' processes used
    results["provenance"] = provenance(seed=0, libraries=("numpy", "torch", "scikit-learn"))
    write_down(results, arguments.out)


def california_task(data: Path, seed: int) -> Task:
    """The paper's tabular experiment."""
    c = california(data, seed)
    metrics = ("mean", "weighted-mean")
    return Task(c.X, c.truth, c.answers, c.errors, c.panel, c.train, c.test, np.array(LAMBDAS), metrics, "squared")


def digits_task(seed: int) -> Task:
    """Ten models on the half of digits that they have not seen."""
    pool, X, y = mixed_pool(seed)
    said = np.column_stack([member.predict(X) for member in pool])
    panel = Panel(tuple(Entity(f"m{j}", fee=0.01 * (j + 1)) for j in range(len(pool))))
    errors = (said != y[:, None]).astype(np.float64)
    answers = Answers(said, np.full(said.shape, Cell.ANSWERED, dtype=np.int8))
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[: int(0.6 * len(X))], order[int(0.6 * len(X)) :]
    prices = price_grid(panel.fees, errors, len(LAMBDAS))
    metrics = ("majority", "weighted-vote")
    return Task(X.astype(np.float32), y, answers, errors, panel, train, test, prices, metrics, "zero-one")


@dataclass(frozen=True, eq=False)
class Seed:
    """One seed: by metric, what both sides got and paid on test rows and the setting tuned; and the seconds of each."""

    fees: np.ndarray
    sides: dict[str, tuple[np.ndarray, ...]]
    chosen: dict[str, str]
    seconds: dict[str, float]


def one_seed(of_seed: Callable[[int], Task], seed: int) -> Seed:
    """Return what one seed gives."""
    task = of_seed(seed)
    start = time.perf_counter()
    held_scores, scores = policies(task, seed)
    seconds = {"policy_with_cross_fitting": time.perf_counter() - start}
    calibration = Calibration.fit(-held_scores, task.errors[task.train], in_errors=False)
    found = {m: both(task, m, held_scores, scores, calibration, seed) for m in task.metrics}
    for name in ("curve", "surrogate", "surrogate_tuning"):
        seconds[name] = sum(took[name] for _, took, _ in found.values())
    return Seed(
        task.panel.fees,
        {m: sides for m, (sides, _, _) in found.items()},
        {m: setting for m, (_, _, setting) in found.items()},
        seconds,
    )


def study(seeds: Iterable[Seed]) -> dict[str, Any]:
    """Return both sides' areas with the interval of their difference, by metric, and their seconds."""
    done = list(seeds)
    out: dict[str, Any] = {}
    for metric in done[0].sides:
        out[metric] = compare(done[0].fees, [seed.sides[metric] for seed in done])
        out[metric]["surrogate_chosen"] = [seed.chosen[metric] for seed in done]
    seconds = {name: sum(seed.seconds[name] for seed in done) for name in done[0].seconds}
    total = {side: seconds["policy_with_cross_fitting"] + seconds[side] for side in ("curve", "surrogate")}
    total["surrogate, tuned"] = total["surrogate"] + seconds["surrogate_tuning"]
    out["seconds"] = {name: round(spent, 2) for name, spent in seconds.items()}
    out["seconds_in_all"] = {name: round(spent, 2) for name, spent in total.items()}
    out["seeds"] = len(done)
    return out


def policies(task: Task, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores of the training rows, each from a policy that never saw it, and of the test rows."""
    settings = CompSum(training=PAPER_TRAINING)
    X, errors = task.X[task.train], task.errors[task.train]
    fold = folds(np.arange(len(X)), 5, random_state=seed)
    out = np.empty(errors.shape)
    for each in range(5):
        seen, held = fold != each, fold == each
        policy = settings.fit(X[seen], errors[seen], panel=task.panel, random_state=seed)
        out[held] = policy.scores(X[held])[0]
    policy = settings.fit(X, errors, panel=task.panel, random_state=seed)
    return out, policy.scores(task.X[task.test])[0]


def both(
    task: Task, metric: str, held_scores: np.ndarray, scores: np.ndarray, calibration: Calibration, seed: int
) -> tuple[tuple[np.ndarray, ...], dict[str, float], str]:
    """Errors and fees of the test rows at every price by curve and by surrogate, each (p, n); what each took."""
    X, order = task.X[task.train], rank(held_scores)
    errors, fees = prefixes(task, task.train, held_scores, order, metric)
    times: dict[str, float] = {}
    start = time.perf_counter()
    curve = Curve.fit(X, calibration.apply(-held_scores), [order], [errors], random_state=seed)
    times["curve"] = time.perf_counter() - start

    def fit(rows: np.ndarray, rates: tuple[float, ...], hidden: tuple[int, ...]) -> np.ndarray:
        """The network of every rate and price, all trained side by side: their k on all training and test rows."""
        plan = Training(epochs=100, batch=256, rate=tuple(np.repeat(rates, len(task.prices)).tolist()))
        count = len(rates) * len(task.prices)
        network = SurrogateCardinality(hidden=hidden, training=plan).fit(
            X[rows],
            [errors[rows]] * count,
            [fees[rows]] * count,
            fee_weights=np.tile(task.prices, len(rates)),
            random_state=seed,
        )
        said = network.networks.scores(np.concatenate([X, task.X[task.test]])).argmax(axis=2) + 1
        return said.reshape(len(rates), len(task.prices), -1)

    start = time.perf_counter()
    tuning = folds(np.arange(len(X)), 5, random_state=seed + 1)
    seen, held = np.flatnonzero(tuning != 0), np.flatnonzero(tuning == 0)
    budgets = stated_budgets(task.panel.fees, float(task.panel.fees.max()))
    trials: dict[tuple[float, tuple[int, ...]], float] = {}
    for hidden in HIDDEN:
        for rate, sizes in zip(RATES, fit(seen, RATES, hidden)[:, :, held], strict=True):
            got, paid = ([in_order(t[held], k[:, None] - 1)[:, 0].mean() for k in sizes] for t in (errors, fees))
            trials[rate, hidden] = area(Frontier.of(paid, got), budgets)
    rate, hidden = min(trials, key=lambda pair: trials[pair])
    times["surrogate_tuning"] = time.perf_counter() - start
    start = time.perf_counter()
    theirs = fit(np.arange(len(X)), (rate,), hidden)[0, :, len(X) :]
    times["surrogate"] = time.perf_counter() - start

    asked = task.X[task.test]
    ranked = rank(scores)
    test_errors, test_fees = prefixes(task, task.test, scores, ranked, metric)
    expected = calibration.apply(-scores)
    all_fees = np.broadcast_to(task.panel.fees, scores.shape)
    prices, once = task.prices.tolist(), Cardinality(ranked.shape[1], curve)
    sides: list[np.ndarray] = []
    for sizes in (once.sizes_at(asked, expected, [ranked] * len(prices), all_fees, prices), theirs):
        sides += [np.stack([in_order(t, k[:, None] - 1)[:, 0] for k in sizes]) for t in (test_errors, test_fees)]
    return tuple(sides), times, f"rate {rate:g}, hidden {hidden}"


def prefixes(
    task: Task, rows: np.ndarray, scores: np.ndarray, order: np.ndarray, metric: str
) -> tuple[np.ndarray, np.ndarray]:
    """Errors and fees of the committees of every size, each (n, K)."""
    fees = np.array(np.broadcast_to(task.panel.fees, scores.shape))
    chosen = Selection(task.panel, order, np.ones(len(order), dtype=np.intp), np.array(scores), fees)
    said = Answers(task.answers.values[rows], task.answers.states[rows])
    errors = prefix_errors(Committee.of(chosen, said), task.truth[rows], combine=metric, error=task.error)
    return errors, np.cumsum(in_order(fees, order), axis=1)


def compare(fees: np.ndarray, pooled: Sequence[tuple[np.ndarray, ...]]) -> dict[str, Any]:
    """Blind areas of both sides, the mean over seeds, and the bootstrap interval of their difference."""
    budgets = stated_budgets(fees, float(fees.max()))

    def areas(side: int, rows: Sequence[Sequence[np.ndarray]]) -> tuple[float, float]:
        each = [
            blind(_means(s, side, here), _means(s, side, there), budgets)
            for s, halves in zip(pooled, rows, strict=True)
            for here, there in (halves, halves[::-1])
        ]
        got, paid = np.mean(each, axis=0).tolist()
        return got, paid

    rng = np.random.default_rng(0)
    whole = [np.array_split(rng.permutation(s[0].shape[1]), 2) for s in pooled]
    gaps: list[float] = []
    for _ in range(RESAMPLES):
        rows = [[rng.choice(half, len(half)) for half in halves] for halves in whole]
        gaps.append(areas(0, rows)[0] - areas(1, rows)[0])
    low, high = np.quantile(gaps, [0.025, 0.975])
    (curve, paid), (surrogate, their) = areas(0, whole), areas(1, whole)
    return {
        "curve_area": round(curve, 6),
        "surrogate_area": round(surrogate, 6),
        "difference": round(curve - surrogate, 6),
        "interval_95": [round(float(low), 6), round(float(high), 6)],
        "paid_of_budgets": [round(paid, 4), round(their, 4)],
    }


def _means(sides: tuple[np.ndarray, ...], side: int, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Fee and error of one side at every price over some rows, each of shape (p,)."""
    return sides[2 * side + 1][:, rows].mean(axis=1), sides[2 * side][:, rows].mean(axis=1)


def blind(
    chosen_by: tuple[np.ndarray, np.ndarray], judged_by: tuple[np.ndarray, np.ndarray], budgets: np.ndarray
) -> tuple[float, float]:
    """The error, and the fee in parts of the budget, in the mean over budgets on other rows than were chosen by.

    Args:
        chosen_by: fees and errors at every price, each of shape (p,), on the rows to choose by.
        judged_by: the same on those to judge by.
        budgets: shape (b,).
    """
    hull = Frontier.of(*chosen_by)
    got: list[tuple[float, float]] = []
    for budget in np.maximum(budgets, hull.fees[0]):
        after = min(int(np.searchsorted(hull.fees, budget, side="right")), len(hull.fees) - 1)
        before = max(after - 1, 0)
        gap = hull.fees[after] - hull.fees[before]
        share = min(1.0, (budget - hull.fees[before]) / gap) if gap > 0 else 1.0
        fee, error = (
            (1 - share) * table[hull.settings[before]] + share * table[hull.settings[after]] for table in judged_by
        )
        got.append((float(error), float(fee / budget)))
    error, fee = np.mean(got, axis=0).tolist()
    return error, fee


if __name__ == "__main__":
    main()
