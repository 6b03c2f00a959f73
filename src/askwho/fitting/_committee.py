"""How answers are combined, learned: beliefs where there are classes, and the rule that validation chooses."""

from dataclasses import replace

import numpy as np
from jaxtyping import Int

from askwho.beliefs import Beliefs
from askwho.exceptions import InvalidInputError
from askwho.policy import FEWEST_ROWS, POSTERIOR, SHARES, Combine, overlaps
from askwho.replay import Replay

COMMITTEES = {
    "classification": ("majority", "log-odds-vote"),
    "regression": ("mean", "median", "inverse-error-mean"),
}
"""The committees that are compared, beside the posterior."""
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
    return replace(
        replay,
        combiner=replace(replay.combiner, beliefs=beliefs),
        case=replace(case, there=replay.seen.judged.covered),
    )


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
    names += () if replay.case is None else (POSTERIOR,)
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
