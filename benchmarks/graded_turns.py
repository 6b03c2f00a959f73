"""Claim: with grades, asking in turn by what comes back with an answer errs less for the same fee than asking at once.

At some budgets it does, and at none it errs more by more than noise; what comes back without telling anything takes
nothing away. The grades are recorded, what comes back is made of the logs, and the constructions are these:

- mmlu_pro_llms, graded: 1 where an answer is right. Four models are the panel. What comes back with a model's answer is
  the share of the other models of the log that say the same: it stands for a confidence, as of a model that is asked
  several times. The grade is not in it. The fees of this panel are steps of two to three.
- the same with another panel, one of whom charges a fourteenth of the dearest and errs little more: what he does not
  know the dearest seldom knows either, and there is next to nothing to gain.
- routellm_llms, which holds grades alone: what comes back is .25 times the grade plus noise of deviation .25, drawn
  once by a fixed seed: a confidence that ranks a right answer above a wrong one in three cases of four.
- the same with noise alone, which tells nothing.

Budgets are met by rows that were learned from; what they come to is told on others. Beside each point in turn stands
asking at once for the same fee: the mixture of its two nearest points that costs as much, paired query by query.

How far answers move what is believed of each other, that one is asked alone where turns saved nothing, at which prices
that is tried, and the first panel here were chosen after a look at rows of mmlu_pro_llms: there the figures are no test
of those choices. By routellm_llms nothing was chosen.

    python benchmarks/graded_turns.py [--splits 3] [--rows 4000] [--out benchmarks/results/graded_turns.json]
"""

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np
from measure import provenance, write_down

from askwho import Columns, Log, Policy, Target, fit, read_log
from askwho.core import Answers, Cell, folds
from askwho_studies.logs import load_log

SEED = 0
STEPS = ("Phi-3-mini-4k-instruct", "Meta-Llama-3_1-8B-Instruct", "Meta-Llama-3_1-70B-Instruct", "gemini-1.5-pro-002")
BARGAIN = ("Phi-3-mini-4k-instruct", "gemini-1.5-flash-002", "Meta-Llama-3_1-70B-Instruct", "gemini-1.5-pro-002")
# How far apart the confidences of right and wrong answers are, and how much each strays.
APART, STRAY = 0.25, 0.25
# Budgets in turn, and of asking at once, whose nearest stand beside them: from the cheapest fee to the dearest.
BUDGETS, BESIDE = 7, 25
DRAWS = 2_000


def main() -> None:
    """Fit on half of each log, ask the other half at once and in turn, and write down what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKWHO_DATA"), help="where logs/ lies")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=4_000, help="rows of each log, half of them to learn from")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    logs = {
        "mmlu_pro_llms, fees in steps": agreement(given.data, given.rows, STEPS),
        "mmlu_pro_llms, with a bargain": agreement(given.data, given.rows, BARGAIN),
        "routellm_llms, noisy confidence": confident(given.data, given.rows, APART),
        "routellm_llms, nothing told": confident(given.data, given.rows, 0.0),
    }
    found: dict[str, Any] = {name: told(log, given.splits) for name, log in logs.items()}
    found["provenance"] = provenance(seed=SEED)
    write_down(found, given.out)


def agreement(data: Path, rows: int, panel: tuple[str, ...]) -> Log:
    """Return grades of four models, and with each answer which share of those in neither panel say the same."""
    log = load_log(data, "mmlu_pro_llms", rows=rows)
    assert log.answers is not None  # noqa: S101 - this log has them
    said = np.where(log.answers.states == Cell.ANSWERED, log.answers.values, "")
    others = [j for j, name in enumerate(log.panel.names) if name not in STEPS + BARGAIN]
    beside = said[:, others]
    table: dict[str, Any] = dict(log.known) | {"together": log.groups}
    for name in panel:
        j = log.panel.index(name)
        table[f"grade_{name}"] = 1.0 - np.where(log.asked[:, j], log.errors[:, j], 1.0)
        table[f"info_{name}"] = ((said[:, [j]] == beside) & (beside != "")).mean(axis=1)
    features = [name for name in log.known if name != log.columns.text]
    fees = {name: float(log.panel.fees[log.panel.index(name)]) for name in panel}
    return read_log(table, columns(fees, log.columns.text, features))


def confident(data: Path, rows: int, apart: float) -> Log:
    """Return recorded grades of two models, with a made confidence beside each."""
    log = load_log(data, "routellm_llms", rows=rows)
    rng = np.random.default_rng(SEED)
    table: dict[str, Any] = dict(log.known) | {"together": log.groups}
    for j, name in enumerate(log.panel.names):
        table[f"grade_{name}"] = 1.0 - log.errors[:, j]
        table[f"info_{name}"] = apart * (1.0 - log.errors[:, j]) + rng.normal(0.0, STRAY, len(log))
    features = [name for name in log.known if name != log.columns.text]
    fees = dict(zip(log.panel.names, log.panel.fees.tolist(), strict=True))
    return read_log(table, columns(fees, log.columns.text, features))


def columns(fees: dict[str, float], text: str | None, features: list[str]) -> Columns:
    """Return what the columns of both are."""
    known = ",".join(features) or None
    return Columns(grades="grade_*", info="info_*", fees=fees, text=text, features=known, groups="together")


def told(log: Log, splits: int) -> dict[str, Any]:
    """Return what each budget comes to at once and in turn, over all splits, and how they differ for the same fee."""
    fees = log.panel.fees
    budgets = np.geomspace(fees.min() * 1.25, fees.max(), BUDGETS)
    beside = np.geomspace(fees.min(), fees.max() * 1.0001, BESIDE)
    points: list[list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]] = [[] for _ in budgets]
    for split in range(splits):
        half = folds(log.groups, 2, random_state=SEED + split)
        learn, test = log.alone(np.flatnonzero(half == 0)), log.rows(np.flatnonzero(half == 1))
        policy = fit(learn, learner="linear", base="none", cv=3, random_state=SEED + split)
        once = sorted((at_once(policy, test, budget) for budget in beside), key=lambda each: float(each[1].mean()))
        for place, budget in enumerate(budgets):
            errors, paid = in_turn(policy, test, float(budget))
            points[place].append((errors, paid, mixed(once, float(paid.mean())), test.groups))
    return {
        "rows": len(log),
        "budgets": [{"budget": float(budget), **judged(each)} for budget, each in zip(budgets, points, strict=True)],
    }


def at_once(policy: Policy, log: Log, budget: float) -> tuple[np.ndarray, np.ndarray]:
    """Return what each query erred and was charged, asked of one model."""
    asked = policy.decide(log.known, Target(budget=float(budget))).order[:, 0]
    rows = np.arange(len(log))
    return log.errors[rows, asked], log.fees[rows, asked]


def in_turn(policy: Policy, log: Log, budget: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the same, asked one after another as a user would: the kept answer's error, and all fees."""
    heard, seen = np.zeros(log.errors.shape, dtype=bool), policy.see(log.known)
    while True:
        states = np.where(heard, Cell.ANSWERED, Cell.NOT_ASKED).astype(np.int8)
        info = np.where(heard, log.info, np.nan)
        step = policy.next(seen, Answers(np.zeros(heard.shape), states), Target(budget=budget), info=info)
        rows = np.flatnonzero(step.k)
        if not rows.size:
            break
        heard[rows, step.order[rows, 0]] = True
    assert step.outcome is not None  # noqa: S101 - every step has one
    kept = np.array([policy.panel.index(name) for name in step.outcome.values])
    return log.errors[np.arange(len(kept)), kept], np.where(heard, log.fees, 0.0).sum(axis=1)


def mixed(once: list[tuple[np.ndarray, np.ndarray]], fee: float) -> np.ndarray:
    """Return what each query errs asked at once for the same mean fee: of the two points around it, in mixture."""
    paid = np.array([float(each[1].mean()) for each in once])
    high = int(np.clip(np.searchsorted(paid, fee), 1, len(paid) - 1))
    gap = paid[high] - paid[high - 1]
    share = float(np.clip((fee - paid[high - 1]) / gap, 0.0, 1.0)) if gap > 0 else 1.0
    return (1.0 - share) * once[high - 1][0] + share * once[high][0]


def judged(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]) -> dict[str, Any]:
    """Return means over all splits, and the paired difference with its interval of 95%, by drawing groups anew."""
    errors, paid, beside, groups = (np.concatenate([each[i] for each in parts]) for i in range(4))
    # One group may be in the test rows of several splits: it is drawn with all of them.
    _, group = np.unique(groups, return_inverse=True)
    sums, counts = np.bincount(group.reshape(-1), errors - beside), np.bincount(group.reshape(-1))
    rng = np.random.default_rng(SEED)
    drawn = np.array([rng.integers(0, len(sums), len(sums)) for _ in range(DRAWS)])
    low, high = np.quantile(sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1), (0.025, 0.975))
    return {
        "fee": float(paid.mean()),
        "in_turn": float(errors.mean()),
        "at_once_for_the_same": float(beside.mean()),
        "in_turn_less_at_once": {"mean": float((errors - beside).mean()), "low": float(low), "high": float(high)},
        "by_split": [round(float((each[0] - each[2]).mean()), 4) for each in parts],
    }


if __name__ == "__main__":
    main()
