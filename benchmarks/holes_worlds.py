"""Claim: what `evaluate` tells of rows with holes is centred on the truth, and its 95% intervals hold it.

A population whose truth is known; a policy that was fitted on other, complete rows of it. Each draw is a log of new
rows in which not everybody was asked: at random, by a feature, each by a feature of his own, by another's answer, three
of all, one of all, or by a policy that explores and writes down with what probability; or everybody was. In a second
world a confidence comes back with each answer, which knows more of how hard a query is than its features do. For a few
settings of the policy, at once and in turn, what these pay in turn, for each entity, and for the headline: how often
the interval of a draw holds the population's figure, with the exact binomial test of 95% (one side: held less often;
Holm over all cells), and how far `evaluate` and `calibrate` are off in the mean.

Each figure has its commit: where some ways alone are drawn, the others stay in the file as they were.

    python benchmarks/holes_worlds.py [--draws 200] [--rows 1000] [--ways NAMES] [--workers 2] [--out FILE]
"""

import argparse
import json
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from measure import provenance, write_down
from scipy.stats import binomtest

from askwho import Target
from askwho.data import Columns, Log, read_log
from askwho.evaluation import evaluate
from askwho.fitting import calibrate, fit
from askwho.policy import Policy

# Experts, classes and features: few enough that three of all is many rows, and that one of all is few.
EXPERTS, CLASSES, FEATURES = 5, 3, 4
FEES = dict(zip("abcde", (1.0, 2.0, 3.0, 4.0, 6.0), strict=True))
# Where each errs is told by a feature of his own.
OWN = np.arange(EXPERTS) % FEATURES
LEARNED_FROM = 1_500
# What names end in of what a setting pays.
FEE = ", fee"
# What the headline says of the policy, and of nobody else.
HEADLINE = ("fee_to_match_best_single", "error_at_best_single_fee", "error_saved", "best_error")
# The truth is a mean over so many rows, so many times: with one time it was off by as much as what is looked for.
POPULATION, TIMES = 60_000, 8
# Of the policy's prices every so many: neighbours are one test made twice.
EVERY = 6
# Every so many draws are calibrated on, too: whether it is centred is told by fewer, and it takes longest.
CALIBRATED = 4
# What the ways of the world in which confidences come back end in.
SURE = " with confidences"
WAYS = (
    "complete",
    "random 30%",
    "random 60%",
    "by a feature",
    "each by his own",
    "by an answer",
    "three a row",
    "one a row",
    "explored",
    "random 60%" + SURE,
    "by a feature" + SURE,
    "three a row" + SURE,
)


def main() -> None:
    """Draw logs with holes, and count how often intervals hold the truth."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--ways", help="some of the ways, separated by commas")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    ways = given.ways.split(",") if given.ways else WAYS
    before = [] if given.out is None or not given.out.exists() else _before(given.out)
    commit = provenance(seed=0)["commit"]
    cells: list[dict[str, Any]] = []
    with ProcessPoolExecutor(given.workers) as pool:
        worlds = {sure: truths(pool, sure=sure) for sure in sorted({way.endswith(SURE) for way in ways})}
        for way in ways:
            true = worlds[way.endswith(SURE)]
            drawn = list(pool.map(one, [(way, given.rows, seed) for seed in range(given.draws)], chunksize=5))
            for name, (error, _) in true.items():
                known = [each[name] for each in drawn if each.get(name, (None,))[0] is not None]
                if error is None or len(known) < given.draws / 2:
                    cells.append({"way": way, "of": name, "told": len(known), "draws": given.draws})
                    continue
                # An end that is missing is beyond every number: some resamples never match the best single.
                ends = [(low, np.inf if high is None else high) for _, (low, high) in known]
                held = sum(low <= error <= high for low, high in ends)
                off = np.array([got for got, _ in known]) - error
                cells.append(
                    {
                        "way": way,
                        "of": name,
                        "told": len(known),
                        "draws": given.draws,
                        "true": error,
                        "held": held,
                        "p": float(binomtest(held, len(known), 0.95, alternative="less").pvalue),
                        "off": float(off.mean()),
                        "off_error": float(off.std() / np.sqrt(len(off))),
                        "width": float(np.median([high - low for low, high in ends])),
                    }
                )
                print(cells[-1], flush=True)
            cells.append({"way": way, "of": "calibrate", **calibrated(drawn, true)})
            print(cells[-1], flush=True)
    cells = [cell | {"commit": commit} for cell in cells] + [cell for cell in before if cell["way"] not in ways]
    cells.sort(key=lambda cell: WAYS.index(cell["way"]))
    tested = sorted((cell for cell in cells if "p" in cell), key=lambda cell: cell["p"])
    least = min((cell["p"] * (len(tested) - i) for i, cell in enumerate(tested)), default=1.0)
    shares = [cell["held"] / cell["told"] for cell in tested]
    summary = {
        "cells": len(tested),
        "least_holm_p": float(min(1.0, least)),
        "held": float(np.mean(shares)),
        "least_held": float(min(shares)),
        "mean_off": float(np.mean([cell["off"] for cell in tested if of_errors(cell)])),
        "largest_off": float(max(abs(cell["off"]) for cell in tested if of_errors(cell))),
    }
    write_down({"summary": summary, "cells": cells, "provenance": provenance(seed=0)}, given.out)


def of_headline(cell: dict[str, Any]) -> bool:
    """Whether a cell is of the headline, whose figures are not all errors."""
    return cell["of"].startswith("headline")


def of_errors(cell: dict[str, Any]) -> bool:
    """Whether a cell is of a setting's error, or of somebody's alone."""
    return not of_headline(cell) and not cell["of"].endswith(FEE)


def _before(file: Path) -> list[dict[str, Any]]:
    """The cells of a file, each with its commit."""
    found = json.loads(file.read_text())
    return [{"commit": found["provenance"]["commit"]} | cell for cell in found["cells"]]


def truths(pool: ProcessPoolExecutor, *, sure: bool) -> dict[str, tuple[float | None, list[float]]]:
    """Return the population's errors and fees, of the world in which confidences come back, or of the other."""
    parts = list(pool.map(_population, [(time, sure) for time in range(TIMES)]))
    return {name: (float(np.mean([part[name][0] or 0.0 for part in parts])), []) for name in parts[0]}


def _population(given: tuple[int, bool]) -> dict[str, tuple[float | None, list[float]]]:
    time, sure = given
    return told(evaluate(policy_of(sure=sure), whole(POPULATION, 99 + time, sure=sure), draws=2))


def one(given: tuple[str, int, int]) -> dict[str, Any]:
    """Return what one draw tells, by setting."""
    way, rows, seed = given
    sure = way.endswith(SURE)
    log = thinned(whole(rows, 1_000 + seed, sure=sure), way.removesuffix(SURE), np.random.default_rng([seed, 5]))
    policy = policy_of(sure=sure)
    found: dict[str, Any] = told(evaluate(policy, log, draws=200, random_state=seed))
    if seed % CALIBRATED:
        return found
    fresh = calibrate(policy, log)
    found["calibrate"] = (
        {
            f"{kind} {place}": float(errors[place].mean())
            for kind, errors in (("at once", fresh.tried.errors), ("in turn", fresh.turns.tried.errors))
            for place in range(0, len(errors), EVERY)
        }
        if fresh.turns is not None
        else {}
    )
    return found


def calibrated(drawn: list[dict[str, Any]], true: dict[str, Any]) -> dict[str, float]:
    """Return how far the errors that `calibrate` finds are off, over settings and draws, and its standard error."""
    made = [each["calibrate"] for each in drawn if "calibrate" in each]
    off = np.array([np.mean([each[name] - true[name][0] for name in each]) for each in made])
    return {"draws": len(off), "off": float(off.mean()), "off_error": float(off.std() / np.sqrt(len(off)))}


def told(found: dict[str, Any]) -> dict[str, tuple[float | None, list[float]]]:
    """Return error and interval of a few settings and of everybody alone, and what the headline says."""
    rows = {f"at once {i}": found["adaptive"][i] for i in range(0, len(found["adaptive"]), EVERY)}
    rows |= {f"in turn {i}": found["sequential"][i] for i in range(0, len(found["sequential"]), EVERY)}
    rows |= {f"{entry['name']} alone": entry for entry in found["entities"]}
    fees = {f"{name}{FEE}": (row["mean_fee"], row["mean_fee_interval"]) for name, row in rows.items() if "turn" in name}
    # What is the same of every query has no interval, and needs none.
    fees = {
        name: (None if fee is None or low == high else fee, [low, high]) for name, (fee, (low, high)) in fees.items()
    }
    head = {f"headline {name}": (found["headline"][name], found["headline"][f"{name}_interval"]) for name in HEADLINE}
    return {name: (row["error"], row["error_interval"]) for name, row in rows.items()} | fees | head


def policy_of(*, sure: bool = False, kept: dict[bool, Policy] | None = None) -> Policy:
    """Return a world's policy, fitted once in each process."""
    kept = _KEPT if kept is None else kept
    if sure not in kept:
        kept[sure] = fit(whole(LEARNED_FROM, 0, sure=sure), learner="linear", base="none", cv=3)
    return kept[sure]


_KEPT: dict[bool, Policy] = {}


def whole(n: int, seed: int, *, sure: bool = False) -> Log:
    """Return n rows of the population, everybody asked; with confidences, or without."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, FEATURES))
    truth = np.argmax(X[:, :CLASSES] + rng.gumbel(size=(n, CLASSES)), axis=1)
    # Everybody has a feature that tells where he errs, and all err more where the last one is large.
    # With confidences also where a query is hard for a reason that no feature tells.
    unseen = np.random.default_rng([seed, 1]).normal(size=(n, 1)) if sure else 0.0
    errs = 1 / (1 + np.exp(-(-1.6 + 0.9 * X[:, OWN] + 0.8 * X[:, -1:] + np.linspace(0.5, -0.5, EXPERTS) + unseen)))
    wrong = rng.random((n, EXPERTS)) < errs
    said = np.where(wrong, (truth[:, None] + rng.integers(1, CLASSES, (n, EXPERTS))) % CLASSES, truth[:, None])
    table: dict[str, np.ndarray] = {"truth": truth} | {f"x_{i}": X[:, i] for i in range(FEATURES)}
    table |= {f"answer_{name}": said[:, j].astype(object) for j, name in enumerate(FEES)}
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees=FEES, task="classification")
    if sure:
        odds = 1.2 - 0.5 * np.log(errs / (1 - errs)) - wrong + 0.7 * rng.normal(size=errs.shape)
        for name, column in zip(FEES, (1 / (1 + np.exp(-odds))).T, strict=True):
            table[f"confidence_{name}"] = column.astype(object)
        columns = replace(columns, info="confidence_*")
    return read_log(table, columns)


def thinned(log: Log, way: str, rng: np.random.Generator) -> Log:
    """Return the log with some of its answers never asked for."""
    n, chance = len(log), None
    ways: dict[str, Callable[[], np.ndarray]] = {
        "by a feature": lambda: rng.random((n, EXPERTS)) < np.where(log.known["x_0"] > 0, 0.75, 0.35)[:, None],
        # As people are asked: seldom about what they are bad at.
        "each by his own": lambda: rng.random((n, EXPERTS)) < np.where(_own(log) > 0, 0.25, 0.75),
        "by an answer": lambda: _by_answer(log, rng),
        "three a row": lambda: rng.random((n, EXPERTS)).argsort(axis=1).argsort(axis=1) < 3,
        "one a row": lambda: rng.random((n, EXPERTS)).argsort(axis=1).argsort(axis=1) < 1,
    }
    if way == "complete":
        return log
    if way.startswith("random"):
        keep = rng.random((n, EXPERTS)) >= float(way.split()[1][:-1]) / 100
    elif way == "explored":
        made = policy_of().decide(log.known, Target(k=2), explore=0.5, random_state=rng)
        keep, chance = made.members, made.propensity
    else:
        keep = ways[way]()
    names = list(FEES)
    assert log.answers is not None and log.truth is not None  # noqa: S101, PT018 - it is a log of answers
    table: dict[str, np.ndarray] = dict(log.known) | {"truth": log.truth}
    for j, name in enumerate(names):
        said = log.answers.values[:, j].astype(object)
        said[~keep[:, j]] = None
        table[f"answer_{name}"] = said
        if log.columns.info is not None:
            table[f"confidence_{name}"] = np.where(keep[:, j], log.info[:, j], np.nan)
    columns = log.columns if chance is None else replace(log.columns, propensity="p")
    return read_log(table if chance is None else table | {"p": chance}, columns)


def _own(log: Log) -> np.ndarray:
    """The feature that tells where each errs, shape (n, experts)."""
    return np.column_stack([log.known[f"x_{place}"] for place in OWN])


def _by_answer(log: Log, rng: np.random.Generator) -> np.ndarray:
    """The first is always asked, and the others the more often the one answer comes."""
    assert log.answers is not None  # noqa: S101 - it is a log of answers
    often = log.answers.values[:, 0] == 0
    keep = rng.random((len(log), EXPERTS)) < np.where(often, 0.3, 0.7)[:, None]
    keep[:, 0] = True
    return keep


if __name__ == "__main__":
    main()
