"""Claim: ten answers of a newcomer are worth more than their mean, and fifty most of what a log tells of him.

Shared logs, split anew for each seed. Each entity is left out of a policy and given back with a few of its answers on
training rows drawn at random: by `with_expert`; by the same with the mean of the few in place of what the panel tells;
and by a refit on a log that holds these answers and no others of his. What each gets is the mean of error and fees at a
handful of prices on the test rows, paired with the policy that never knew him (nothing gained) and the one fitted on
all his answers (everything). Entities whose gain is within two standard errors of nothing say nothing, and are left out
of the pool. What a difference may be off by counts the test rows and, beside them, which answers were drawn.

    python benchmarks/newcomers.py [--logs face_emotion_apis:3,...] [--rows 1000] [--seeds 1] [--out FILE]
"""

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from measure import provenance, write_down

from askwho import Target
from askwho.core import Answers, Cell, folds
from askwho.data import Log
from askwho.fitting import fit, with_expert
from askwho.policy import Policy
from askwho.replay import Replay, at_size
from askwho_studies.logs import load_log, log_names

# How many answers the newcomer has given.
COUNTS = (10, 20, 50)
# Every so many of the prices a policy was tried at: neighbours decide much the same.
EVERY = 4
FIRST = 100
"""The first seed: what is thought of a newcomer was settled on smaller ones of two of these logs."""
# Draws of the few answers: with ten of them the draw is most of the noise.
DRAWS = 3


def main() -> None:
    """Leave every entity of every log out, and give it back."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKWHO_DATA"), help="where logs/ lies")
    parser.add_argument("--logs", help="some of the logs, separated by commas; name:3 for three seeds of it")
    parser.add_argument("--rows", type=int, default=1_000, help="training rows at the most")
    parser.add_argument("--judged", type=int, default=3_000, help="test rows at the most")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--learner", default="auto")
    parser.add_argument("--base", default="auto")
    parser.add_argument("--no-refit", action="store_true", help="leave the refits out: they take longest")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    done: dict[str, int] = {}
    for each in given.logs.split(",") if given.logs else log_names(given.data):
        name, _, seeds = each.partition(":")
        log = load_log(given.data, name)
        for seed in range(FIRST, FIRST + int(seeds or given.seeds)):
            fold = folds(log.groups, 2, random_state=seed)
            rng = np.random.default_rng(seed)
            train = np.sort(rng.permutation(np.flatnonzero(fold == 0))[: given.rows])
            test = np.sort(rng.permutation(np.flatnonzero(fold == 1))[: given.judged])
            fits = {"learner": given.learner, "base": given.base, "random_state": seed}
            for row in given_back(log.rows(train), log.rows(test), fits, given, seed):
                rows.append({"log": name, "seed": seed, **row})
                print({k: round(v, 4) if isinstance(v, float) else v for k, v in rows[-1].items()}, flush=True)
            done[name] = done.get(name, 0) + 1
            # After each split: what was measured is not lost with what was not.
            write_down(told(rows, done, given), given.out)


def told(rows: list[dict[str, Any]], done: dict[str, int], given: argparse.Namespace) -> dict[str, Any]:
    """Return what is written down: the curve of all, each log's own, and what each entity is worth."""
    worth = [
        {key: row[key] for key in ("log", "seed", "entity", "gain", "error")}
        for row in rows
        if row["way"] == "whole log"
    ]
    by_log = {name: pooled([row for row in rows if row["log"] == name]) for name in done}
    sizes = {"seeds": done, "rows": given.rows, "judged": given.judged, "draws": DRAWS}
    return sizes | {"curve": pooled(rows), "logs": by_log, "worth": worth, "provenance": provenance(seed=FIRST)}


def given_back(
    train: Log, test: Log, fits: dict[str, Any], given: argparse.Namespace, seed: int
) -> list[dict[str, Any]]:
    """Return what each entity that is worth something is worth, and how much of it a few answers recover."""
    whole = fit(train, **fits)
    prices = whole.tried.prices[::EVERY]
    full, rng = losses(whole, test, prices), np.random.default_rng([seed, 7])
    found: list[dict[str, Any]] = []
    for j, name in enumerate(train.panel.names):
        alone = fit(without(train, j), **fits)
        if name in alone.panel.names:
            # The policy's own base, trained in his absence, goes by the same name.
            continue
        nothing = losses(alone, without(test, j), prices)
        gain, error = paired(nothing - full)
        found.append({"entity": name, "way": "whole log", "answers": len(train), "gain": gain, "error": error})
        if gain <= 2 * error:
            continue
        scale = float(np.nanmean(nothing))
        asked = np.flatnonzero(train.asked[:, j])
        order = (*(each for each in alone.panel.names if not alone.panel.entities[alone.panel.index(each)].own), name)
        for count in COUNTS:
            ways: dict[str, list[np.ndarray]] = {}
            for _ in range(DRAWS):
                few = np.sort(rng.choice(asked, count, replace=False))
                grown = with_expert(alone, name, train.rows(few), fee=float(train.panel.fees[j]))
                mean = float(train.errors[few, j].mean())
                ways.setdefault("askwho", []).append(losses(grown, test.seated(order), prices))
                ways.setdefault("mean", []).append(losses(at_mean(grown, mean), test.seated(order), prices))
                if not given.no_refit:
                    refitted = fit(thinned(train, j, few), **fits)
                    ways.setdefault("refit", []).append(losses(refitted, test, prices))
            for way, each in ways.items():
                got = np.mean(each, axis=0)
                kept, noise = paired(nothing - got)
                row = {"entity": name, "way": way, "answers": count, "gain": kept, "error": noise}
                behind, over_rows = paired(got - np.mean(ways["askwho"], axis=0))
                pairs = zip(each, ways["askwho"], strict=True)
                by_draw = [paired(one - other)[0] for one, other in pairs]
                over_draws = float(np.std(by_draw, ddof=1) / np.sqrt(DRAWS))
                beside = {"behind": behind, "over_rows": over_rows, "over_draws": over_draws}
                found.append(row | {"of": gain, "scale": scale} | beside)
    return found


def losses(policy: Policy, test: Log, prices: np.ndarray) -> np.ndarray:
    """Return each row's error and fees, in terms of error, in the mean of some prices."""
    held = Replay.of(policy, test)
    total = np.zeros(len(test))
    for price in prices.tolist():
        made = policy.decide(held.seen, Target(fee_weight=price))
        per_k = held.errors(made.order)
        total += at_size(per_k, np.minimum(made.k, per_k.shape[1])) + price * at_size(held.paid(made.order), made.k)
    return total / len(prices)


def without(log: Log, j: int) -> Log:
    """Return the log without entity j."""
    names = [name for i, name in enumerate(log.panel.names) if i != j]
    return replace(log.seated(names), columns=replace(log.columns, fees=None))


def thinned(log: Log, j: int, rows: np.ndarray) -> Log:
    """Return the log in which entity j has answered some of the rows alone."""
    keep = np.ones(log.errors.shape, dtype=bool)
    keep[:, j] = np.isin(np.arange(len(log)), rows)
    answers = log.answers
    if answers is not None:
        answers = Answers(answers.values, np.where(keep, answers.states, Cell.NOT_ASKED).astype(np.int8))
    return replace(
        log, answers=answers, errors=np.where(keep, log.errors, np.nan), info=np.where(keep, log.info, np.nan)
    )


def at_mean(policy: Policy, mean: float) -> Policy:
    """Return the policy of a newcomer with the mean of his few answers expected of him, whatever the query."""
    newcomers = policy.judge.newcomers
    assert newcomers is not None  # noqa: S101 - he is one
    j, size = len(policy.panel) - 1, newcomers.learned
    level = np.append(mean, np.zeros(size))
    return replace(
        policy, judge=replace(policy.judge, newcomers=newcomers.put(j, level, np.zeros((1 + size, 1 + size)), 0.0))
    )


def paired(change: np.ndarray) -> tuple[float, float]:
    """Return the mean of a change over rows that could be scored, and its standard error."""
    known = change[~np.isnan(change)]
    return float(known.mean()), float(known.std() / np.sqrt(max(1, len(known))))


def pooled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the part of the whole log's gain that each way recovers, and how far it is behind, by how many answers."""
    points: list[dict[str, Any]] = []
    for count in COUNTS:
        for way in ("askwho", "mean", "refit"):
            some = [row for row in rows if row["answers"] == count and row["way"] == way]
            if not some:
                continue
            weight = np.array([1.0 / row["scale"] for row in some])
            gains, of, behind = (np.array([row[key] for row in some]) for key in ("gain", "of", "behind"))
            over_rows, over_draws = (weight * [row[key] for row in some] for key in ("over_rows", "over_draws"))
            points.append(
                {
                    "answers": count,
                    "way": way,
                    "entities": len(some),
                    "recovered": float((weight * gains).sum() / (weight * of).sum()),
                    "behind": float((weight * behind).mean()),
                    # Entities of one log share its test rows, whose noise is taken to go together; draws do not.
                    "behind_error": float(np.hypot(over_rows.mean(), np.sqrt(np.square(over_draws).sum()) / len(some))),
                }
            )
    return points


if __name__ == "__main__":
    main()
