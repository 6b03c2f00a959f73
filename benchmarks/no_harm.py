"""Claim: at the best single's fee and above, askwho does no worse than always asking that single.

Every shared log, split anew for each seed: the single is chosen on the training rows, askwho's settings by its own
budgets, and both are judged on the test rows, paired. The limit is simultaneous over logs, budgets and ways of asking:
rows are drawn anew by group, the same for all of a log, and the largest standardised deviation of all is bounded.
Differences of numbers are of root mean squares, in parts of the single's. Noise: a log whose features tell
nothing, so that whatever is learned of them can only cost.

    python benchmarks/no_harm.py [--logs face_emotion_apis,...] [--rows 3000] [--seeds 3] [--noise 100] [--out FILE]
"""

import argparse
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from holes import carried_out
from measure import provenance

from askwho import Target
from askwho.core import folds
from askwho.data import Columns, Log, read_log
from askwho.exceptions import InvalidInputError
from askwho.fitting import fit
from askwho.policy import Policy
from askwho.replay import Replay
from askwho_studies.logs import load_log, log_names

# Budgets in fees of the single, and as parts of what everybody together charges where the single is for nothing.
TIMES, PARTS = (1.0, 1.5, 2.0, 4.0), (0.0, 0.05, 0.1, 0.2)
DRAWS = 2_000
# The noise log: so many rows to learn from and queries to be routed, and how often each of four errs, everywhere alike.
NOISE_ROWS, NOISE_TEST, RATES = 900, 5_000, (0.2, 0.25, 0.3, 0.3)
# What may be lost there, of a hundred draws in ninety-five.
NOISE_REGRET = 0.002


def main() -> None:
    """Fit on every log, and compare with the single."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKWHO_DATA"), help="where logs/ lies")
    parser.add_argument("--logs", help="some of the logs, separated by commas; name:10 for ten seeds of it")
    parser.add_argument("--rows", type=int, default=3_000, help="training rows at the most; all the others are judged")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--noise", type=int, default=100, help="draws of the noise log")
    parser.add_argument("--learner", default="auto")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    cells: list[dict[str, Any]] = []
    losses: dict[str, list[np.ndarray]] = {}
    names = given.logs.split(",") if given.logs else log_names(given.data)
    for each in [] if given.logs == "none" else names:
        name, _, seeds = each.partition(":")
        log = load_log(given.data, name)
        for seed in range(int(seeds or given.seeds)):
            fold = folds(log.groups, 2, random_state=seed)
            train = np.random.default_rng(seed).permutation(np.flatnonzero(fold == 0))[: given.rows]
            policy = fit(log.alone(np.sort(train)), learner=given.learner, random_state=seed)
            test = np.flatnonzero(fold == 1)
            for cell, pair in compared(policy, log.rows(test)):
                cells.append({"log": name, "seed": seed, **cell})
                losses.setdefault(name, []).append(np.column_stack([test, *pair]))
                print({key: round(v, 4) if isinstance(v, float) else v for key, v in cells[-1].items()}, flush=True)
    found: dict[str, Any] = {}
    if cells:
        found["limits"] = limits(cells, losses, {name: load_log(given.data, name).groups for name in losses})
        for each in sorted(found["limits"], key=lambda each: each["limit"]):
            print(*each.values())
    if given.noise:
        regret = [noise(seed, given.learner) for seed in range(given.noise)]
        found["noise"] = {
            "regret": regret,
            "at_most_.002": int(np.sum(np.array(regret) <= 0.002)),
            "draws": len(regret),
        }
        print(found["noise"]["at_most_.002"], "of", len(regret), "draws within .002; worst", max(regret))
    if given.out is not None:
        found["provenance"] = provenance(seed=0)
        given.out.write_text(json.dumps(found), encoding="utf-8")


def compared(policy: Policy, test: Log) -> list[tuple[dict[str, Any], tuple[np.ndarray, np.ndarray]]]:
    """Return each budget's figures, with the errors of askwho and of the single, row by row."""
    outside = np.flatnonzero(~policy.panel.own)
    single = int(outside[np.argmin(np.array(policy.facts.entity_errors)[outside])])
    fee, total = float(policy.panel.fees[single]), float(policy.panel.fees.sum())
    held = Replay.of(policy, test)
    alone = held.log.errors[:, single]
    found: list[tuple[dict[str, Any], tuple[np.ndarray, np.ndarray]]] = []
    for turns in (False, True) if policy.turns is not None else (False,):
        for budget in [fee * times for times in TIMES] if fee else [total * part for part in PARTS]:
            try:
                setting = policy.setting(Target(budget=budget), in_turn=turns)
            except InvalidInputError:
                continue
            errors, paid = carried_out(policy, held, setting, turns=turns)
            whole = ~np.isnan(errors) & ~np.isnan(alone)
            pair = np.where(whole, errors, 0.0), np.where(whole, alone, 0.0)
            cell = {
                "single": policy.panel.names[single],
                "turns": turns,
                "budget": budget / fee if fee else budget / total,
                "fee": float(np.nanmean(paid)) / (fee or total),
                "error": _mean(errors[whole], test.task),
                "of_single": _mean(alone[whole], test.task),
                "root": test.task == "regression",
            }
            found.append((cell, pair))
    return found


def limits(
    cells: list[dict[str, Any]], losses: dict[str, list[np.ndarray]], groups: dict[str, np.ndarray]
) -> list[dict[str, Any]]:
    """Return each log's and budget's difference over splits, with its simultaneous upper limit."""
    rng = np.random.default_rng(0)
    keys, points, drawn = [], [], []
    for name, pairs in losses.items():
        mine = [cell for cell in cells if cell["log"] == name]
        group = np.unique(groups[name], return_inverse=True)[1].reshape(-1)
        weights = rng.multinomial(group.max() + 1, np.full(group.max() + 1, 1 / (group.max() + 1)), size=DRAWS)
        for way in dict.fromkeys((cell["turns"], cell["budget"]) for cell in mine):
            one, many = [], []
            for cell, pair in zip(mine, pairs, strict=True):
                if (cell["turns"], cell["budget"]) == way:
                    rows = pair[:, 0].astype(int)
                    by_group = [
                        np.bincount(group[rows], values, len(weights[0])) for values in (*pair.T[1:], 1.0 + 0 * rows)
                    ]
                    sums = weights @ np.column_stack(by_group)
                    one.append(_apart(np.sum(by_group, axis=1), root=cell["root"]))
                    many.append(_apart(sums.T, root=cell["root"]))
            keys.append((name, *way))
            points.append(np.mean(one))
            drawn.append(np.mean(many, axis=0))
    away = np.array(drawn) - np.array(points)[:, None]
    scale = away.std(axis=1, keepdims=True) + 1e-12
    # One side alone: how far below its true value any of them may lie.
    reach = np.quantile((-away / scale).max(axis=0), 0.95)
    return [
        {
            "log": key[0],
            "turns": key[1],
            "budget": key[2],
            "difference": float(point),
            "limit": float(point + reach * s),
        }
        for key, point, s in zip(keys, points, scale[:, 0], strict=True)
    ]


def _apart(sums: np.ndarray, *, root: bool) -> np.ndarray:
    ours, single, count = sums
    return np.sqrt(ours / single) - 1.0 if root else (ours - single) / count


def noise(seed: int, learner: str) -> float:
    """Return how much worse than the best single those are who are asked where there is nothing to learn but a mean."""
    rng = np.random.default_rng([seed, 17])
    n = NOISE_ROWS
    truth = rng.integers(0, 2, n)
    table: dict[str, np.ndarray] = {"truth": truth} | {f"x_{i}": rng.normal(size=n) for i in range(8)}
    table |= {f"answer_{j}": np.where(rng.random(n) < rate, 1 - truth, truth) for j, rate in enumerate(RATES)}
    fees = {str(j): 1.0 for j in range(len(RATES))}
    log = read_log(table, Columns(truth="truth", answers="answer_*", features="x_*", fees=fees, task="classification"))
    policy = fit(log, learner=learner, base="none", random_state=seed)
    first = policy.decide({f"x_{i}": rng.normal(size=NOISE_TEST) for i in range(8)}, Target(k=1)).order[:, 0]
    return float(np.array(RATES)[first].mean() - min(RATES))


def _mean(errors: np.ndarray, task: str) -> float:
    return float(np.sqrt(errors.mean()) if task == "regression" else errors.mean())


if __name__ == "__main__":
    main()
