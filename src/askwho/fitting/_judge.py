"""What is thought of everybody, learned: expected errors by the best of several learners, or the paper's scores."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from askwho._parts import at_work
from askwho._types import Task
from askwho.core import each_fold, in_time
from askwho.data import Log
from askwho.learners import Scorer, candidates, cross_fit, fitted, learner_name, suited, surrogate_settings
from askwho.policy import Calibration, Chances, Combiner, Coverage, Fees, Judge, Judgement, Seen, Shrinkage
from askwho.replay import Replay

Say = Callable[[str], None]

# Expected errors stay as they are where that is better by more than this on held-out rows, and by so many standard
# errors: shrunk they do no harm.
_WORTH_IT, _ERRORS = 0.99, 2.0
# The committee that learners are compared by: the one that uses what they say most.
TO_COMPARE = {"classification": "log-odds-vote", "regression": "inverse-error-mean"}


def learn_judge(
    log: Log,
    X: Float[np.ndarray, "n d"],
    fold: Int[np.ndarray, " n"],
    *,
    learner: Any,  # noqa: ANN401 - a name, settings of a surrogate, or the user's own
    width: int,
    n_classes: int,
    chances: Chances | None,
    random_state: int,
    say: Say,
) -> tuple[Judge, Seen, dict[str, float], int]:
    """Return the judge, the log's queries as judges see them that never saw their folds, trials, and the width left.

    Args:
        log: of the whole panel.
        X: shape (n, d).
        fold: shape (n,).
        learner: as in `fit`.
        width: the largest committee.
        n_classes: how many different answers occur.
        chances: with what probability those were asked who were.
        random_state: the seed.
        say: called with a line of text.
    """
    fees, foreseen = Fees.fit(X, log.fees, fold)
    coverage, covered = Coverage.fit(X, ~np.isnan(log.errors), fold)
    weights = log.panel.error_weights
    combiner = Combiner(log.task, TO_COMPARE[log.task] if log.answers is not None else None, n_classes)

    def seen(judged: Judgement) -> Seen:
        return Seen(X, judged, foreseen)

    def replay(judged: Judgement) -> Replay:
        return Replay(log, seen(judged), combiner, chances=chances).judged(fold)

    def area(judged: Judgement, width: int) -> float:
        return replay(judged).area(width)

    surrogate = surrogate_settings(learner)
    if surrogate is not None:
        if surrogate.ranks_only_the_first:
            width = 1

        def policy(rows: np.ndarray) -> Scorer:
            return surrogate.fit(
                X[rows],
                log.errors[rows],
                panel=log.panel,
                fees=log.fees[rows],
                groups=log.groups[rows],
                random_state=random_state,
            )

        scores = np.empty(log.errors.shape)
        for number, (rows, held) in enumerate(each_fold(fold)):
            scores[held] = policy(rows).scores(X[held])[0]
            say(f"policy {surrogate.name}: fold {number + 1} of {len(np.unique(fold))}")
        calibration = Calibration.fit(-scores, log.errors, in_errors=False)
        expected = calibration.apply(-scores)
        if in_time(fold):
            for rows, held in each_fold(fold):
                past = Calibration.fit(-scores[rows], log.errors[rows], in_errors=False)
                expected[held] = past.apply(-scores[held])
        judged = Judgement(expected, weights, scores)
        trials = {surrogate.name: area(judged, width)}
        judge = Judge(surrogate.name, at_work(policy(np.arange(len(X)))), calibration, weights, fees)
        return judge, seen(judged), trials, width

    best: tuple[float, str, Judgement, Calibration, Shrinkage | None, Any] | None = None
    weights_asked = None if chances is None else chances.cells
    trials: dict[str, float] = {}
    for candidate in candidates(learner):
        name = learner_name(candidate)
        make = suited(candidate, X, log.errors, fold, random_state=random_state)
        raw = cross_fit(make, X, log.errors, fold, random_state=random_state)
        calibration, shrinkage, calibrated, shrunk = _borne_out(raw, log.errors, weights_asked, log.task)
        if in_time(fold):
            # What the future bore out is not known before it.
            for rows, held in each_fold(fold):
                asked = None if weights_asked is None else weights_asked[rows]
                first, second, _, _ = _borne_out(raw[rows], log.errors[rows], asked, log.task)
                calibrated[held] = first.apply(raw[held])
                shrunk[held] = second.apply(calibrated[held])
        judged, whole = Judgement(shrunk, weights), Judgement(calibrated, weights)
        trials[name], unshrunk = area(judged, width), area(whole, width)
        if unshrunk < _WORTH_IT * trials[name] and _clearly_better(replay(whole), replay(judged), width):
            shrinkage, judged, trials[name] = None, whole, unshrunk
        say(f"learner {name}: area {trials[name]:.4f}")
        if best is None or trials[name] < best[0]:
            best = (trials[name], name, judged, calibration, shrinkage, make)
    assert best is not None  # noqa: S101 - there is always a candidate
    _, name, judged, calibration, shrinkage, make = best
    learned = at_work(fitted(make, X, log.errors, random_state=random_state))
    judge = Judge(name, learned, calibration, weights, fees, coverage, shrinkage=shrinkage)
    return judge, seen(replace(judged, covered=covered)), trials, width


def _borne_out(
    raw: Float[np.ndarray, "n a"], errors: Float[np.ndarray, "n a"], asked: Float[np.ndarray, "n a"] | None, task: Task
) -> tuple[Calibration, Shrinkage, Float[np.ndarray, "n a"], Float[np.ndarray, "n a"]]:
    """Return what errors bear out of raw expectations, as two maps, and the expectations after each.

    Args:
        raw: shape (n, |A|), out of fold.
        errors: shape (n, |A|), NaN where an entity was not asked.
        asked: shape (n, |A|), what each cell weighs; alike, unless said.
        task: what the truth is.
    """
    calibration = Calibration.fit(raw, errors)
    calibrated = calibration.apply(raw)
    shrinkage = Shrinkage.fit(calibrated, errors, asked, squared=task == "regression")
    return calibration, shrinkage, calibrated, shrinkage.apply(calibrated)


def _clearly_better(one: Replay, other: Replay, width: int) -> bool:
    """Whether the committees of one ranking err less than those of another, row by row, beyond chance."""
    change = one.errors(one.order(0.0, width)) - other.errors(other.order(0.0, width))
    known = ~np.isnan(change)
    rows = known.any(axis=1)
    means = np.where(known, change, 0.0).sum(axis=1)[rows] / known.sum(axis=1)[rows]
    return len(means) > 1 and bool(means.mean() < -_ERRORS * means.std() / np.sqrt(len(means)))
