"""Claim: a promise with confidence 0.95 is broken in 5% of the draws at the most, after `fit` and after `calibrate`.

After `calibrate`: two populations of 100,000 queries, of classes and of numbers: six experts, each good in its own
region, the dear ones in more of it. A policy is fitted on other rows. What it does on the whole population is known at
every setting, so that a promise is kept or broken without doubt. Then 500 times: 2,000 rows drawn from the population
are what the policy is calibrated on, a target is asked for, and the setting that `Policy.decide` would use is judged on
the population. Of every target: how often the promise was broken, how often it was refused, and what the true mean fee
and error came to. `decide` itself decides 5,000 queries of the first draw, beside the rows that stand for it.

After `fit(log, promise=0.3)`: see `promise_from_fit.py`. Of every target: how often a promise was broken over all
draws, with the exact binomial test against 5%, by Holm over all of them; how often it was made, beside how often the
test of one setting could, if an oracle named it; and how much of a budget was spent.

    python benchmarks/promise.py --out benchmarks/results/promise.json
    python benchmarks/promise.py --draws 20 --population 20000
"""

import argparse
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from measure import provenance, write_down
from promise_from_fit import from_fit
from scipy.stats import binomtest

from askwho.data import Columns, Log, read_log
from askwho.exceptions import InvalidInputError
from askwho.fitting import calibrate, fit
from askwho.policy import Outcomes, Policy, Setting, Target

SEED = 0
FEES = {"e0": 0.02, "e1": 0.03, "e2": 0.05, "e3": 0.08, "e4": 0.12, "e5": 0.2}
CLASSES, FEATURES = 5, 3
TAUGHT, POPULATION, ROWS, DRAWS = 3_000, 100_000, 2_000, 500
CONFIDENCE = 0.95
# Where between the least and the largest mean fee, in equal ratios, budgets lie; and errors likewise.
PARTS = (0.3, 0.5, 0.7)
# No answer is off by more than three deviations, the largest of which is 1; nor is any mean of answers.
MAX_LOSS = 3.0


@dataclass(frozen=True, eq=False)
class Truth:
    """What the policy does on the whole population, at every price."""

    rows: Outcomes
    squared: bool

    def mean(self, table: np.ndarray, setting: Setting) -> float:
        """The mean of fees or of errors at a setting."""
        here, there = (int(np.flatnonzero(self.rows.prices == p)[0]) for p in (setting.fee_weight, setting.other))
        aside = np.zeros(table.shape[1]) if self.rows.coins is None else self.rows.coins
        return float(np.where(aside < setting.share, table[there], table[here]).mean())

    def of(self, setting: Setting) -> tuple[float, float]:
        """The true mean fee, and the true error."""
        error = self.mean(self.rows.errors, setting)
        return self.mean(self.rows.fees, setting), float(np.sqrt(error)) if self.squared else error


def main() -> None:
    """Draw, ask, judge, and write down how often a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument("--population", type=int, default=POPULATION)
    arguments = parser.parse_args()
    results: dict[str, Any] = {"confidence": CONFIDENCE, "rows": ROWS, "draws": arguments.draws}
    for task in ("classification", "regression"):
        results[task] = study(task, arguments.population, arguments.draws)
    results["from_fit"] = from_fit(arguments.draws, auto=arguments.draws // 5)
    results["provenance"] = provenance(seed=SEED, libraries=("numpy", "scipy", "scikit-learn", "askwho"))
    write_down(results, arguments.out)


def study(task: str, population: int, draws: int) -> dict[str, Any]:
    """Return what became of every target."""
    queries = log(task, population, SEED + 1)
    policy = calibrate(fit(log(task, TAUGHT, SEED), learner="linear", base="none", random_state=SEED), queries)
    truth = Truth(policy.tried, task == "regression")
    fees, errors = np.array([truth.of(Setting(float(p), float(p), 0.0)) for p in truth.rows.prices]).T
    budgets = [between(fees.min(), fees.max(), part) for part in PARTS]
    wanted = [between(errors.min(), errors[fees.argmin()], part) for part in PARTS]
    # An error, and a tenth more money than the cheapest price takes that reaches it.
    enough = 1.1 * float(fees[errors <= wanted[1]].min())
    targets = [Target(budget=budget, confidence=CONFIDENCE) for budget in budgets]
    most = MAX_LOSS if task == "regression" else None
    targets += [Target(max_error=error, confidence=CONFIDENCE, max_loss=most) for error in wanted]
    targets.append(Target(budget=enough, max_error=wanted[1], confidence=CONFIDENCE, max_loss=most))
    return {
        "entity_fees": FEES,
        "true_mean_fees": [round(float(fees.min()), 5), round(float(fees.max()), 5)],
        "true_errors": [round(float(errors.min()), 5), round(float(errors[fees.argmin()]), 5)],
        "targets": [one_target(policy, truth, target, draws) for target in targets],
        "decide_is_off_by": agreement(policy, truth, queries, targets[1]),
    }


def one_target(policy: Policy, truth: Truth, target: Target, draws: int) -> dict[str, Any]:
    """How often a promise is broken and refused, and how near the target it comes, in the mean over draws."""
    rng = np.random.default_rng(SEED + 2)
    kept: list[tuple[float, float]] = []
    for _ in range(draws):
        drawn = replace(policy, tried=truth.rows.take(rng.integers(0, truth.rows.fees.shape[1], ROWS)))
        try:
            kept.append(truth.of(drawn.setting(target)))
        except InvalidInputError:
            continue
    fees, errors = np.array(kept).reshape(-1, 2).T
    money, wanted = (np.inf if each is None else each for each in (target.budget, target.max_error))
    aimed = {name: value for name, value in asdict(target).items() if value is not None and name != "confidence"}
    out: dict[str, Any] = {name: round(value, 5) for name, value in aimed.items()}
    out["broken"] = int(((fees > money) | (errors > wanted)).sum())
    out["refused"] = draws - len(kept)
    out["p"] = float(binomtest(out["broken"], draws, 1 - CONFIDENCE, alternative="greater").pvalue)
    if not kept:
        print(out, flush=True)
        return out
    out["true_mean_fee"], out["true_error"] = round(float(fees.mean()), 5), round(float(errors.mean()), 5)
    if target.budget is not None:
        out["part_of_budget_spent"] = round(float(fees.mean()) / money, 4)
    if target.max_error is not None:
        out["part_of_error_used"] = round(float(errors.mean()) / wanted, 4)
    print(out, flush=True)
    return out


def agreement(policy: Policy, truth: Truth, queries: Log, target: Target) -> float:
    """The difference between what `decide` charges for 5,000 queries in the mean and what their rows say."""
    some = np.arange(min(5_000, len(queries)))
    taken = truth.rows.take(np.random.default_rng(SEED + 2).integers(0, len(queries), ROWS))
    drawn = replace(policy, tried=taken)
    decisions = drawn.decide(queries.rows(some).known, target)
    few = Truth(truth.rows.take(some), truth.squared)
    return round(abs(float(decisions.fee.mean()) - few.of(drawn.setting(target))[0]), 9)


def between(low: float, high: float, part: float) -> float:
    """A number between two, in equal ratios."""
    return float(low * (high / low) ** part)


def log(task: str, n: int, seed: int) -> Log:
    """A log in which each expert is good in a half-space of its own, the wider the dearer it is."""
    rng, skill = np.random.default_rng(seed), np.random.default_rng(99)
    X = rng.normal(size=(n, FEATURES))
    ways = skill.normal(size=(FEATURES, len(FEES)))
    good = 1 / (1 + np.exp(-(2.0 * X @ ways + np.linspace(-0.5, 2.5, len(FEES)))))
    table: dict[str, np.ndarray] = {f"x_{i}": X[:, i] for i in range(FEATURES)}
    truth = rng.integers(0, CLASSES, n) if task == "classification" else rng.normal(size=n)
    for j, name in enumerate(FEES):
        if task == "classification":
            right = rng.random(n) < 0.2 + 0.78 * good[:, j]
            table[f"answer_{name}"] = np.where(right, truth, (truth + rng.integers(1, CLASSES, n)) % CLASSES)
        else:
            table[f"answer_{name}"] = truth + (0.1 + 0.9 * (1 - good[:, j])) * np.clip(rng.normal(size=n), -3, 3)
    return read_log(
        table | {"truth": truth},
        Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES, task="auto"),
    )


if __name__ == "__main__":
    main()
