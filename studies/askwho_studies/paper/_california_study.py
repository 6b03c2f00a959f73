"""The paper's tabular experiment: six localised experts, two shifts, two kinds of k(x), four seeds."""

import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from askwho.core import Answers, Panel, folds
from askwho.engine import require_torch
from askwho.fitting import SurrogateCardinality
from askwho.learners import CompSum
from askwho_studies.data import require
from askwho_studies.paper._california import (
    FEES,
    LAMBDAS,
    PAPER_TRAINING,
    REGION,
    California,
    california,
)
from askwho_studies.paper._california_claims import claims
from askwho_studies.paper._frontiers import REPETITIONS, Progress
from askwho_studies.paper._panels import study, write
from askwho_studies.paper._scored import Part, Rival, Scored
from askwho_studies.paper._summary import Measured, measure, summary

TOP_1 = {
    "Narasimhan et al. 2022": "post-hoc",
    "Mao et al. 2024": "mao-two-stage-regression",
}
"""The paper's Top-1 baselines, and their surrogates; both ask the one entity that scores highest."""
TOP_1_FEE_WEIGHTS = (0.0, 0.05, 0.25, 1.0)
"""What one unit of fee weighs in their costs; 1 is the paper's."""

ENOUGH = 1.0
"""The arm of the paper's shift has all its λ; ours has those up to here and the last: between, all ask one entity."""


@dataclass(frozen=True)
class Plan:
    """How much of the experiment to run.

    Args:
        seeds: each draws its own split, experts, policies and k(x).
        epochs: of every policy and every k(x); the experts keep their 30.
        folds: how many policies score the rows that k(x) learns from.
        prices: λ of the paper's k(x).
        rival_weights: fee weights of the Top-1 baselines.
        repetitions: draws of the random policy.
        rows: so many training rows, drawn at random, for policies and k(x); all unless said.
    """

    seeds: tuple[int, ...]
    epochs: int = PAPER_TRAINING.epochs
    folds: int = 5
    prices: tuple[float, ...] = LAMBDAS
    rival_weights: tuple[float, ...] = TOP_1_FEE_WEIGHTS
    repetitions: int = REPETITIONS
    rows: int | None = None


QUICK = Plan(seeds=(0,), epochs=20, folds=2, prices=LAMBDAS[:5], rival_weights=(0.05, 1.0), repetitions=5, rows=6000)
"""One seed, part of the rows, few epochs and prices: that everything runs, not what comes out."""


def run_california(
    data: Path,
    *,
    out: Path | None = None,
    seeds: int | None = None,
    quick: bool = False,
    workers: int = 2,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return the experiment's results, and write them where `out` says: `california.json`, `.md` and `.png`.

    Args:
        data: the folder of data.
        out: a folder; nothing is written unless said.
        seeds: how many; four, or one for a quick run, unless said.
        quick: one seed of few rows, epochs and prices.
        workers: how many seeds at a time, each in a process of its own.
        progress: called with a line of text as the experiment goes on.
    """
    start = time.perf_counter()
    require(data, ["california"])
    say = progress or (lambda _: None)
    plan = QUICK if quick else Plan(seeds=(0, 1, 2, 3))
    plan = plan if seeds is None else replace(plan, seeds=tuple(range(seeds)))
    arms: dict[str, list[Measured]] = {}
    for seed, found in zip(plan.seeds, _each_seed(data, plan, workers), strict=True):
        for arm, measured in found.items():
            arms.setdefault(arm, []).append(measured)
        say(f"seed {seed} after {time.perf_counter() - start:.0f} s")
    results = study(
        "california",
        task="regression",
        seeds=plan.seeds,
        quick=quick,
        seconds=time.perf_counter() - start,
        settings=_settings(plan),
        arms={arm: summary(each) for arm, each in arms.items()},
        claims=claims(arms),
    )
    if out is not None:
        say(f"{', '.join(write(results, out))} in {out}")
    return results


def one_seed(data: Path, plan: Plan, seed: int) -> dict[str, Measured]:
    """Return what one seed gives, by arm."""
    # Side by side the threads of small matrix products only wait for each other. Only what is loaded can be told so.
    require_torch("The paper's policy")
    with threadpool_limits(1):
        surrogate = SurrogateCardinality(training=replace(PAPER_TRAINING, epochs=plan.epochs))
        raw = california(data, seed)
        bounded = raw.bounded()
        rivals = _rivals(bounded, plan, seed)
        ours = scored(bounded, "max", plan, seed, rivals)
        few = _few(plan.prices)
        each = {
            "shift max": (ours, surrogate, few),
            "shift sum": (scored(bounded, "sum", plan, seed, rivals), surrogate, plan.prices),
            "shift max, answers unbounded": (_as_they_come(ours, raw, plan, seed), None, few),
        }
        return {
            arm: measure(
                problem,
                surrogate=network,
                prices=prices,
                repetitions=plan.repetitions,
                random_state=seed,
            )
            for arm, (problem, network, prices) in each.items()
        }


def scored(
    experiment: California, shift: Literal["max", "sum"], plan: Plan, seed: int, rivals: Mapping[str, Rival]
) -> Scored:
    """Return the experiment after Algorithm 1: rows to learn k(x) from scored out of fold, all others by one policy."""
    fit, choose = _fit_and_choose(experiment, plan, seed)
    settings = CompSum(shift=shift, training=replace(PAPER_TRAINING, epochs=plan.epochs))
    X, errors = experiment.X[fit], experiment.errors[fit]
    policy = settings.fit(X, errors, panel=experiment.panel, random_state=seed)
    return Scored(
        experiment.panel,
        "regression",
        learn=_part(experiment, fit, _out_of_fold(settings, X, errors, experiment.panel, plan.folds, seed)),
        choose=_part(experiment, choose, policy.scores(experiment.X[choose])[0]),
        test=_part(experiment, experiment.test, policy.scores(experiment.X[experiment.test])[0]),
        rivals=rivals,
    )


def _as_they_come(problem: Scored, raw: California, plan: Plan, seed: int) -> Scored:
    """The same policy with unbounded answers: what differs, the answers alone have done."""
    fit, choose = _fit_and_choose(raw, plan, seed)
    return replace(
        problem,
        learn=_part(raw, fit, problem.learn.scores),
        choose=_part(raw, choose, problem.choose.scores),
        test=_part(raw, raw.test, problem.test.scores),
        rivals={},
    )


def _out_of_fold(
    settings: CompSum, X: np.ndarray, errors: np.ndarray, panel: Panel, count: int, seed: int
) -> Float[np.ndarray, "n a"]:
    """Scores of each row by a policy that never saw its fold; the policies train side by side."""
    fold = folds(np.arange(len(X)), count, random_state=seed)
    seen = [np.flatnonzero(fold != each) for each in range(count)]
    # Folds may differ by a row; side by side all learn from equally many.
    fewest = min(map(len, seen))
    held = folds(np.arange(fewest), 10, random_state=seed) == 0
    policies = settings.fit_tables(
        X,
        settings.table(errors, panel=panel, fees=None)[None],
        panel=panel,
        rows=np.stack([rows[:fewest][~held] for rows in seen]),
        held=np.stack([rows[:fewest][held] for rows in seen]),
        seeds=[seed] * count,
    )
    return policies.scores(X)[fold, np.arange(len(X))]


def _each_seed(data: Path, plan: Plan, workers: int) -> Iterator[dict[str, Measured]]:
    work = partial(one_seed, data, plan)
    if workers == 1 or len(plan.seeds) == 1:
        yield from map(work, plan.seeds)
        return
    with ProcessPoolExecutor(min(workers, len(plan.seeds)), mp_context=get_context("spawn")) as pool:
        yield from pool.map(work, plan.seeds)


def _fit_and_choose(experiment: California, plan: Plan, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Training rows to learn from, and a tenth of them to choose k and λ by."""
    train = np.random.default_rng(seed).permutation(experiment.train)[: plan.rows]
    fold = folds(np.arange(len(train)), 10, random_state=seed)
    return train[fold != 0], train[fold == 0]


def _rivals(experiment: California, plan: Plan, seed: int) -> dict[str, Rival]:
    """The Top-1 baselines, the fee weights of each trained side by side."""
    fit, choose = _fit_and_choose(experiment, plan, seed)
    fold = folds(np.arange(len(fit)), 10, random_state=seed)
    found: dict[str, Rival] = {}
    for name, surrogate in TOP_1.items():
        settings = CompSum(surrogate, training=replace(PAPER_TRAINING, epochs=plan.epochs))
        tables = np.stack(
            [
                replace(settings, fee_weight=weight).table(experiment.errors[fit], panel=experiment.panel, fees=None)
                for weight in plan.rival_weights
            ]
        )
        policies = settings.fit_tables(
            experiment.X[fit],
            tables,
            panel=experiment.panel,
            rows=np.flatnonzero(fold != 0),
            held=np.flatnonzero(fold == 0),
            seeds=[seed] * len(plan.rival_weights),
        )
        scores = [policies.scores(experiment.X[rows]) for rows in (choose, experiment.test)]
        found[name] = Rival(plan.rival_weights, *scores)
    return found


def _part(experiment: California, rows: np.ndarray, scores: np.ndarray) -> Part:
    said = Answers(experiment.answers.values[rows], experiment.answers.states[rows])
    return Part(experiment.X[rows], scores, said, experiment.truth[rows], experiment.errors[rows])


def _few(prices: Sequence[float]) -> list[float]:
    return [price for price in prices if price <= ENOUGH or price == max(prices)]


def _settings(plan: Plan) -> dict[str, Any]:
    training = PAPER_TRAINING
    return {
        "fees": list(FEES),
        "prices": list(plan.prices),
        "prices_of_shift_max": _few(plan.prices),
        "region": REGION,
        "epochs": plan.epochs,
        "batch": training.batch,
        "rate": training.rate,
        "schedule": training.schedule,
        "hidden": [64, 64],
        "fee_weight": 1.0,
        "folds": plan.folds,
        "rows": plan.rows,
        "random_repetitions": plan.repetitions,
    }
