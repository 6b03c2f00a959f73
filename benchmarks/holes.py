"""Claim: on a log with holes a budget is kept, the error expected is the error that comes, and the gain mostly stays.

Shared logs in which everybody answered: cells of the training rows are emptied, at random, by a feature, by another
entity's answer, or down to three a row; the test rows are complete. `whole` is the log as it is. With `--judge` it is
the test rows that are thinned: what `evaluate` tells of them, beside what it tells of the same rows complete.

    python benchmarks/holes.py [--logs face_emotion_apis,...] [--rows 1500] [--seeds 3] [--kept FILE] [--out FILE]
"""

import argparse
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from measure import provenance, write_down

from askwho import Target
from askwho.core import Answers, Cell, folds
from askwho.data import Log
from askwho.evaluation import evaluate
from askwho.exceptions import InvalidInputError
from askwho.fitting import fit
from askwho.policy import Policy, Setting
from askwho.replay import Replay, alike, at_size
from askwho_studies.logs import load_log, log_names

MODES = ("whole", "random 30%", "random 60%", "by a feature", "by an answer", "three a row")
# Budgets as parts of what everybody together charges: where committees of one to several lie.
PARTS = (0.05, 0.1, 0.2, 0.4)


def main() -> None:
    """Fit on thinned rows of every log, and judge on complete ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKWHO_DATA"), help="where logs/ lies")
    parser.add_argument("--logs", help="some of the logs, separated by commas")
    parser.add_argument("--modes", help="some of the modes, separated by commas")
    parser.add_argument("--rows", type=int, default=1500, help="training rows at the most, and as many test rows again")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the first seed, for a run in pieces")
    parser.add_argument("--learner", default="auto")
    parser.add_argument("--judge", action="store_true", help="thin the test rows instead")
    parser.add_argument("--kept", type=Path, help="a file of rows as they come: what is in it is not made again")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    names = given.logs.split(",") if given.logs else log_names(given.data)
    modes = given.modes.split(",") if given.modes else MODES
    found: list[dict[str, Any]] = [] if given.kept is None or not given.kept.is_file() else _read(given.kept)
    source = provenance(seed=0)
    here = {name: source[name] for name in ("commit", "versions", "hardware")}
    done = {(row["log"], row["seed"], row["mode"]) for row in found}
    for name in names:
        log = load_log(given.data, name)
        log = log.rows(np.flatnonzero(log.asked.all(axis=1)))
        for seed in range(given.first, given.first + given.seeds):
            fold = folds(log.groups, 2, random_state=seed)
            rng = np.random.default_rng(seed)
            train, test = (rng.permutation(np.flatnonzero(fold == part))[: given.rows] for part in (0, 1))
            if given.judge:
                if all((name, seed, mode) in done for mode in modes[1:]):
                    continue
                policy = fit(log.rows(np.sort(train)), learner=given.learner, random_state=seed)
                for mode in modes[1:]:
                    row = {"log": name, "seed": seed, "mode": mode, "where": here}
                    found.append(row | judged(policy, log.rows(np.sort(test)), mode, seed))
                    _keep(given.kept, found[-1:])
                    print(found[-1], flush=True)
                continue
            for mode in [mode for mode in modes if (name, seed, mode) not in done]:
                start = time.perf_counter()
                thinned = thin(log.rows(np.sort(train)), mode, seed)
                policy = fit(thinned, learner=given.learner, random_state=seed)
                rows = [
                    {"log": name, "seed": seed, "mode": mode, "where": here, **row}
                    for row in judge(policy, log.rows(np.sort(test)))
                ]
                took = time.perf_counter() - start
                found += rows
                _keep(given.kept, rows)
                print(f"{name} {seed} {mode}: {took:.1f} s", flush=True)
    summary = summarise_judged(found) if given.judge else summarise(found)
    if given.out is not None:
        # The rows are in the file of those kept, and many.
        write_down({"summary": summary, "provenance": source | {"measured_on": _machines(found)}}, given.out)


def _machines(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The commits and machines that rows are of, with how many pieces each has."""
    pieces: dict[str, set[tuple[Any, ...]]] = {}
    for row in found:
        pieces.setdefault(json.dumps(row["where"]), set()).add((row["log"], row["seed"], row["mode"]))
    return [json.loads(where) | {"pieces": len(some)} for where, some in pieces.items()]


def _read(kept: Path) -> list[dict[str, Any]]:
    """The rows that an earlier run has written, a line each."""
    return [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]


def _keep(kept: Path | None, rows: list[dict[str, Any]]) -> None:
    """Add rows to the file of those kept, where there is one."""
    if kept is not None:
        with kept.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)


def thin(log: Log, mode: str, seed: int) -> Log:
    """Return the log with some of its cells emptied."""
    rng = np.random.default_rng(seed + 1000)
    n, size = log.errors.shape
    if mode == "whole":
        return log
    if mode.startswith("random"):
        keep = rng.random((n, size)) >= float(mode.split()[1][:-1]) / 100
    elif mode == "by a feature":
        first = next(iter(log.known.values()))
        first = first[:, 0] if first.ndim > 1 else first
        rank = (
            np.array([len(str(each)) for each in first]) if first.dtype.kind in "OU" else np.nan_to_num(first)
        ).argsort().argsort() / n
        keep = rng.random((n, size)) < np.where(rank < 0.5, 0.2, 0.6)[:, None]
    elif mode == "by an answer":
        said = log.errors[:, 0] if log.answers is None else log.answers.values[:, 0]
        kinds, counts = np.unique(said, return_counts=True)
        few = len(kinds) < n // 2 or said.dtype.kind in "OU"
        often = said == kinds[counts.argmax()] if few else said > np.median(said)
        keep = rng.random((n, size)) < np.where(often, 0.25, 0.75)[:, None]
        keep[:, 0] = True
    else:
        keep = rng.random((n, size)).argsort(axis=1).argsort(axis=1) < 3
    # Somebody answered every query that is in a log.
    keep[np.arange(n), rng.integers(0, size, n)] |= ~keep.any(axis=1)
    errors = np.where(keep, log.errors, np.nan)
    info = np.where(keep, log.info, np.nan)
    if log.answers is None:
        return replace(log, errors=errors, info=info)
    states = np.where(keep, log.answers.states, Cell.NOT_ASKED).astype(np.int8)
    return replace(log, errors=errors, info=info, answers=Answers(log.answers.values, states))


def judge(policy: Policy, test: Log) -> list[dict[str, Any]]:
    """Return fee and error, expected and real, at each budget, at once and in turn."""
    held = Replay.of(policy, test)
    root = test.task == "regression"
    total, rows = float(policy.panel.fees.sum()), []
    singles = np.sqrt(test.errors.mean(axis=0)) if root else test.errors.mean(axis=0)
    outside = ~policy.panel.own
    best = int(np.argmin(np.array(policy.facts.entity_errors)[outside]))
    fee = float(policy.panel.fees[outside][best])
    for turns in (False, True) if policy.turns is not None else (False,):
        tried = policy.turns.tried if turns and policy.turns is not None else policy.tried
        for part in (*PARTS, None):
            budget = fee if part is None else part * total
            try:
                setting = policy.setting(Target(budget=budget), in_turn=turns)
            except InvalidInputError:
                continue
            errors, paid = carried_out(policy, held, setting, turns=turns)
            mean = float(np.sqrt(errors.mean()) if root else errors.mean())
            rows.append(
                {
                    "turns": turns,
                    "budget": budget,
                    "part": part,
                    "fee": float(paid.mean()),
                    "fee_error": float(paid.std() / np.sqrt(len(paid))),
                    "error": mean,
                    "expected": tried.foreseen(setting, test.unit)[1],
                    "best_single": float(singles[best]),
                    "unit": float(singles[best]) if root else 1.0,
                    "gain_error": _noise(errors, test.errors[:, best], root=root),
                }
            )
    return rows


def carried_out(policy: Policy, held: Replay, setting: Setting, *, turns: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's error and fee under a setting."""
    if setting.fixed:
        judges = [(np.arange(len(held.log)), policy.turns.asking)] if turns and policy.turns is not None else ()
        done = alike(held, np.array([setting.fixed]), held.anew(0), judges)
        return done.errors[0], done.fees[0]
    rates = np.where(held.seen.coins < setting.share, setting.other, setting.fee_weight)
    errors, paid = np.empty(len(rates)), np.empty(len(rates))
    for rate in np.unique(rates):
        some = np.flatnonzero(rates == rate)
        if turns and policy.turns is not None:
            taken = held.rows(some).in_turn(policy.turns.asking, float(rate))
            errors[some], paid[some] = taken.errors, taken.fees
        else:
            made = policy.decide(held.seen.rows(some), Target(fee_weight=float(rate)))
            per_k = held.rows(some).errors(made.order)
            errors[some] = at_size(per_k, np.minimum(made.k, per_k.shape[1]))
            paid[some] = at_size(held.rows(some).paid(made.order), made.k)
    return errors, paid


def _noise(errors: np.ndarray, single: np.ndarray, *, root: bool) -> float:
    """The standard error of a gain over the single, in parts of the single's root for numbers."""
    spread = float((errors - single).std() / np.sqrt(len(errors)))
    return spread / (2 * float(single.mean())) if root else spread


def judged(policy: Policy, test: Log, mode: str, seed: int) -> dict[str, Any]:
    """Return how far figures of thinned rows are from those of the same rows, complete, and how often they cover."""
    whole = evaluate(policy, test, draws=200)
    thinned = evaluate(policy, thin(test, mode, seed), draws=200)
    found: dict[str, Any] = {}
    for kind in ("adaptive", "sequential"):
        off, inside, untold = [], [], 0
        for row, true in zip(thinned[kind], whole[kind], strict=True):
            if row["error"] is None:
                untold += 1
                continue
            low, high = row["error_interval"]
            off.append(row["error"] - true["error"])
            inside.append(low <= true["error"] <= high)
        found[kind] = {
            "off": float(np.mean(off)) if off else None,
            "covered": float(np.mean(inside)) if inside else None,
            "told": len(off),
            "untold": untold,
        }
    return found


def summarise_judged(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Print, by log and mode, how far off and how often covered, over seeds."""
    summary: list[dict[str, Any]] = []
    for name, mode in dict.fromkeys((row["log"], row["mode"]) for row in found):
        for kind in ("adaptive", "sequential"):
            rows = [row[kind] for row in found if (row["log"], row["mode"]) == (name, mode) and row[kind]["told"]]
            if rows:
                line = {
                    "log": name,
                    "mode": mode,
                    "kind": kind,
                    "off": [row["off"] for row in rows],
                    "covered": sum(row["covered"] * row["told"] for row in rows) / sum(row["told"] for row in rows),
                    "told": sum(row["told"] for row in rows),
                    "untold": sum(row[kind]["untold"] for row in found if (row["log"], row["mode"]) == (name, mode)),
                }
                summary.append(line)
                print(line)
    return summary


def summarise(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Print, by mode: fees beyond budgets, expected less real error, and how much of the whole log's gain is kept.

    A fee is compared with 1.02 times its budget and two standard errors of its mean over splits; rows and splits both
    make it uncertain, and the larger of the two counts. The gain is over the best single at its own fee, pooled over
    logs on which that of the whole log is more than three standard errors.
    """
    summary: list[dict[str, Any]] = []
    for turns in (False, True):
        gains = {(mode, log): _gain(found, mode, log, turns=turns) for mode, log in _pairs(found, turns=turns)}
        worth = [log for (mode, log), (gain, noise) in gains.items() if mode == "whole" and gain > 3 * noise]
        for mode in dict.fromkeys(mode for mode, _ in gains):
            cells = _cells(found, mode, turns=turns)
            over = {key: _over(rows) for key, rows in cells.items()}
            off = {key: float(np.mean([row["expected"] - row["error"] for row in rows])) for key, rows in cells.items()}
            worst, far = max(over, key=lambda key: over[key]), max(off, key=lambda key: abs(off[key]))
            kept = {log: (gains[mode, log][0], gains["whole", log][0]) for log in worth if (mode, log) in gains}
            summary.append(
                {
                    "mode": mode,
                    "turns": turns,
                    "cells": len(cells),
                    "over": sum(value > 0 for value in over.values()),
                    "worst_over": (*worst, over[worst]),
                    "off": float(np.mean(list(off.values()))),
                    "off_worst": (*far, off[far]),
                    "gain": sum(mine for mine, _ in kept.values()),
                    "gain_kept": sum(mine for mine, _ in kept.values()) / sum(all_ for _, all_ in kept.values())
                    if kept
                    else None,
                    "by_log": kept,
                }
            )
            print(summary[-1])
    return summary


def _pairs(found: list[dict[str, Any]], *, turns: bool) -> list[tuple[str, str]]:
    return list(dict.fromkeys((row["mode"], row["log"]) for row in found if row["turns"] == turns))


def _cells(found: list[dict[str, Any]], mode: str, *, turns: bool) -> dict[tuple[str, float], list[dict[str, Any]]]:
    """The rows of each log and budget, one for each split."""
    cells: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for row in found:
        if row["mode"] == mode and row["turns"] == turns and row["part"] is not None:
            cells.setdefault((row["log"], row["part"]), []).append(row)
    return cells


def _over(rows: list[dict[str, Any]]) -> float:
    """How far the mean fee is beyond 1.02 times the budget and two standard errors, in parts of the budget."""
    spent = np.array([row["fee"] / row["budget"] for row in rows])
    of_rows = np.sqrt(np.mean([(row["fee_error"] / row["budget"]) ** 2 for row in rows]) / len(rows))
    of_splits = spent.std(ddof=1) / np.sqrt(len(spent)) if len(spent) > 1 else 0.0
    return float(spent.mean() - 1.02 - 2 * max(of_rows, of_splits))


def _gain(found: list[dict[str, Any]], mode: str, log: str, *, turns: bool) -> tuple[float, float]:
    """How much less than the best single at its fee, in the mean over splits, and the standard error of one split."""
    rows = [r for r in found if (r["mode"], r["log"], r["turns"], r["part"]) == (mode, log, turns, None)]
    gain = [(row["best_single"] - row["error"]) / row["unit"] for row in rows]
    return float(np.mean(gain)), float(np.mean([row["gain_error"] for row in rows]))


if __name__ == "__main__":
    main()
