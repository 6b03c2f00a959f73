"""How answers are combined, learned: beliefs where there are classes, and the rule that validation chooses."""

from dataclasses import replace

import numpy as np
from jaxtyping import Int

from askwho.beliefs import Beliefs, Case, Grades, Numbers
from askwho.data import Log
from askwho.exceptions import InvalidInputError
from askwho.policy import FEWEST_ROWS, POSTERIOR, SHARES, SPREAD, Combine, overlaps
from askwho.replay import Replay

COMMITTEES = {
    "classification": ("majority", "log-odds-vote"),
    "regression": ("mean", "median", "inverse-error-mean"),
}
"""The committees that are compared, beside the posterior."""
NOT_SQUARED = ("weighted-median", SPREAD)
"""Those that are compared beside them where numbers are scored otherwise than by squares: no mean errs least then."""
# The paper's own, weighed by the softmax of scores, which only a policy trained by its surrogate has.
_OF_SCORES = {"classification": "weighted-vote", "regression": "weighted-mean"}
# A ranking that minds overlap takes longer than the plain one: it must take a hundredth of the area away.
_WORTH_IT = 0.99


def learn_beliefs(
    replay: Replay, fold: Int[np.ndarray, " n"], *, committee: str | Combine, random_state: int
) -> Replay:
    """Return the rows with the committee that knows its members, where there are classes and rows enough."""
    log = replay.log
    # Labels say the same of every query: their answers are no evidence.
    labels = bool(log.panel.is_kind("label", "reject").any())
    few = len(log) < FEWEST_ROWS
    if log.task == "regression":
        return (
            _learn_numbers(replay, committee, random_state) if not (labels or few) else _no_numbers(replay, committee)
        )
    if log.answers is None and not few and committee != POSTERIOR and _told(log):
        graded, case = Grades.fit(
            log.errors,
            expected=np.clip(replay.seen.expected, 0.0, 1.0),
            info=log.info,
            fold=fold,
            random_state=random_state,
        )
        return _with(replay, graded, case)
    usable = log.answers is not None and log.truth is not None and log.task == "classification"
    if not usable or labels or few or log.truth is None or log.answers is None or len(np.unique(log.truth)) < 2:
        if committee == POSTERIOR:
            raise InvalidInputError(
                f"`committee` {POSTERIOR!r} must learn from answers that are classes, two at the least, of "
                f"{FEWEST_ROWS} rows or more, with no label or reject in the panel: use 'auto' or another."
            )
        return replay
    if committee not in ("auto", POSTERIOR):
        return replay
    base, shares = np.flatnonzero(log.panel.is_kind("base")), replay.seen.shares
    beliefs, case = Beliefs.fit(
        log.answers,
        log.truth,
        expected=replay.combiner.shares(replay.seen.expected),
        fold=fold,
        base=int(base[0]) if base.size and shares is not None else None,
        shares=shares,
        info=log.info,
        error=log.scored_by if log.weighed else None,
        random_state=random_state,
    )
    return _with(replay, beliefs, case)


def _with(replay: Replay, beliefs: Beliefs | Grades, case: Case) -> Replay:
    """The rows with what is believed of them."""
    return replace(
        replay,
        combiner=replace(replay.combiner, beliefs=beliefs),
        case=replace(case, there=replay.seen.judged.covered, known=replay.seen.X, info=replay.log.info),
    )


def _no_numbers(replay: Replay, committee: str | Combine) -> Replay:
    """The rows as they are, or why there cannot be the committee that was asked for."""
    if committee == SPREAD:
        raise InvalidInputError(
            f"`committee` {SPREAD!r} must learn from answers that are numbers, of {FEWEST_ROWS} rows or more, scored "
            "by an error that has a name and is one of numbers: use 'auto' or another."
        )
    return replay


def _learn_numbers(replay: Replay, committee: str | Combine, random_state: int) -> Replay:
    """The rows with what is believed about numbers; whoever names another committee cannot ask in turn."""
    log, error = replay.log, replay.log.scored_by
    if log.answers is None or log.truth is None or not isinstance(error, str) or log.unit.share:
        return _no_numbers(replay, committee)
    numbers, case = Numbers.fit(
        log.answers, log.truth, expected=replay.seen.expected, error=error, random_state=random_state
    )
    return replace(
        replay,
        combiner=replace(replay.combiner, beliefs=numbers),
        case=replace(case, there=replay.seen.judged.covered),
    )


def _told(log: Log) -> bool:
    """Whether something came back with answers, and there is somebody else to be asked by it."""
    return len(log.panel) > 1 and bool((log.asked & ~np.isnan(log.info)).any())


def choose_committee(replay: Replay, *, committee: str | Combine, width: int) -> tuple[Replay, dict[str, float]]:
    """Return the rows with the rule that has the least area, and the area of each that was tried.

    The posterior is kept unless another is better by more than one standard error (Breiman et al. 1984): it knows its
    members, and where they tie that is worth more than a rule that does not.
    """
    log = replay.log
    if log.answers is None:
        return replace(replay, combiner=replace(replay.combiner, rule=None)), {}
    if callable(committee):
        chosen = replace(replay, combiner=replace(replay.combiner, rule=committee))
        return chosen, {str(chosen.combiner.name): chosen.area(width)}
    names = COMMITTEES[log.task] + (() if replay.seen.judged.scores is None else (_OF_SCORES[log.task],))
    if log.task == "classification":
        names += () if replay.case is None else (POSTERIOR,)
    elif not log.unit.root:
        names += NOT_SQUARED if replay.case is not None else NOT_SQUARED[:1]
    if committee != "auto":
        names = (committee,)
    trials = {name: replay.area(width, name) for name in names}
    best = min(trials, key=lambda name: trials[name])
    if POSTERIOR in names and best != POSTERIOR:
        order = replay.order(0.0, width)
        change = replay.errors(order, POSTERIOR) - replay.errors(order, best)
        scored = ~np.isnan(change)
        rows = scored.any(axis=1)
        if rows.any():
            means = np.where(scored, change, 0.0).sum(axis=1)[rows] / scored.sum(axis=1)[rows]
            if trials[POSTERIOR] - trials[best] <= means.std() / np.sqrt(len(means)):
                best = POSTERIOR
    return replace(replay, combiner=replace(replay.combiner, rule=best)), trials


def choose_overlap(replay: Replay, *, width: int) -> Replay:
    """Let those who repeat each other stand further apart in the ranking, where validation is the better for it."""
    judged = replay.seen.judged
    if judged.scores is not None or replay.combiner.rule is None or width < 3:
        return replay
    found = overlaps(replay.log.errors, judged.expected)
    tried = {
        share: replace(
            replay, seen=replace(replay.seen, judged=replace(judged, overlap=share * found if share else None))
        )
        for share in SHARES
    }
    areas = {share: each.area(width) for share, each in tried.items()}
    best = min(SHARES, key=lambda share: areas[share])
    return tried[best if areas[best] <= _WORTH_IT * areas[0.0] else 0.0]
