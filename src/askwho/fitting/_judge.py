"""What is thought of everybody, learned: expected errors by the best of several learners, or the paper's scores."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from askwho._parts import at_work
from askwho.core import each_fold
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
    later: Int[np.ndarray, " n"] | None = None,
    learner: Any,  # noqa: ANN401 - a name, settings of a surrogate, or the user's own
    width: int,
    n_classes: int,
    mistake: float | None = None,
    chances: Chances | None,
    random_state: int,
    say: Say,
) -> tuple[Judge, Seen, dict[str, float], int]:
    """Return the judge, the log's queries as judges see them that never saw their folds, trials, and the width left.

    Args:
        log: of the whole panel.
        X: shape (n, d).
        fold: shape (n,).
        later: shape (n,), folds in time, −1 where nothing was before: learners are compared by the others, each
            predicted from what was before it; None to compare them by `fold`.
        learner: as in `fit`.
        width: the largest committee.
        n_classes: how many different answers occur.
        mistake: what one cost in the mean, as a `Combiner` has it.
        chances: with what probability those were asked who were.
        random_state: the seed.
        say: called with a line of text.
    """
    fees, foreseen = Fees.fit(X, log.charged, fold)
    coverage, covered = Coverage.fit(X, ~np.isnan(log.errors), fold)
    weights = log.panel.error_weights
    combiner = Combiner(log.task, TO_COMPARE[log.task] if log.answers is not None else None, n_classes, mistake=mistake)

    def seen(judged: Judgement) -> Seen:
        return Seen(X, judged, foreseen)

    def replay(judged: Judgement) -> Replay:
        return Replay(log, seen(judged), combiner, chances=chances)

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
        judged = Judgement(calibration.apply(-scores), weights, scores)
        trials = {surrogate.name: area(judged, width)}
        judge = Judge(surrogate.name, at_work(policy(np.arange(len(X)))), calibration, weights, fees)
        return judge, seen(judged), trials, width

    best: tuple[float, str, Judgement, Calibration, Shrinkage | None, Any] | None = None
    of_all, beside = (None, None) if chances is None else (chances.cells, chances.stabilised)
    trials: dict[str, float] = {}
    every = candidates(learner)
    for candidate in every:
        name = learner_name(candidate)
        make = suited(candidate, X, log.errors, fold, random_state=random_state)
        raw = cross_fit(make, X, log.errors, fold, random_state=random_state)
        calibration = Calibration.fit(raw, log.errors)
        # A rising map follows the very rows that it is learned from: what is borne out shows on others.
        calibrated = np.empty_like(raw)
        for rows, held in each_fold(fold):
            calibrated[held] = Calibration.fit(raw[rows], log.errors[rows]).apply(raw[held])
        squared = log.task == "regression"
        shrinkage = Shrinkage.fit(calibrated, log.errors, of_all, beside=beside, squared=squared)
        judged, whole = Judgement(shrinkage.apply(calibrated), weights), Judgement(calibrated, weights)
        trials[name], unshrunk = area(judged, width), area(whole, width)
        if unshrunk < _WORTH_IT * trials[name] and _clearly_better(replay(whole), replay(judged), width):
            shrinkage, judged, trials[name] = None, whole, unshrunk
        if later is not None and len(every) > 1:
            by = np.flatnonzero(later >= 0)
            ahead = calibration.apply(cross_fit(make, X, log.errors, later, random_state=random_state)[by])
            ahead = Judgement(ahead if shrinkage is None else shrinkage.apply(ahead), weights)
            rows = replay(judged).rows(by)
            trials[name] = replace(rows, seen=replace(rows.seen, judged=ahead)).area(width)
        say(f"learner {name}: area {trials[name]:.4f}")
        if best is None or trials[name] < best[0]:
            best = (trials[name], name, judged, calibration, shrinkage, make)
    assert best is not None  # noqa: S101 - there is always a candidate
    _, name, judged, calibration, shrinkage, make = best
    learned = at_work(fitted(make, X, log.errors, random_state=random_state))
    judge = Judge(name, learned, calibration, weights, fees, coverage, shrinkage=shrinkage)
    return judge, seen(replace(judged, covered=covered)), trials, width


def _clearly_better(one: Replay, other: Replay, width: int) -> bool:
    """Whether the committees of one ranking err less than those of another, row by row, beyond chance."""
    change = one.errors(one.order(0.0, width)) - other.errors(other.order(0.0, width))
    known = ~np.isnan(change)
    rows = known.any(axis=1)
    means = np.where(known, change, 0.0).sum(axis=1)[rows] / known.sum(axis=1)[rows]
    return len(means) > 1 and bool(means.mean() < -_ERRORS * means.std() / np.sqrt(len(means)))
