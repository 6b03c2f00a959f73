"""The queries where asking more than one changed the outcome."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from askwho.policy import Why
from askwho.report._findings import Decided


@dataclass(frozen=True)
class Changed:
    """A query that the committee decided otherwise than its first member alone.

    Args:
        row: of the log.
        better: whether for the better.
        first: what the first alone would have decided.
        decided: what the committee decided.
        truth: what was right.
        errors: of the first alone, and of the committee.
        said: from each member to its answer; None where it gave none.
        why: why these were asked.
    """

    row: int
    better: bool
    first: Any
    decided: Any
    truth: Any
    errors: tuple[float, float]
    said: Mapping[str, Any]
    why: Why


@dataclass(frozen=True)
class Changes:
    """How often a committee changed the outcome, and some of the queries where it did.

    Args:
        several: about how many queries more than one is asked, and of how many of these the outcome is known.
        better: how often the committee got less error than its first member alone.
        worse: how often more.
        shown: some of both, in proportion, the largest changes first.
    """

    several: tuple[int, int]
    better: int
    worse: int
    shown: tuple[Changed, ...]


def changes_of(decided: Decided, most: int = 10) -> Changes | None:
    """Return what committees changed; None where there is no answer that could be combined."""
    held, decisions = decided.held, decided.decisions
    log, answers = held.log, held.log.answers
    if answers is None or log.truth is None:
        return None
    many = decisions.k > 1
    known = many & ~np.isnan(decided.errors) & ~np.isnan(decided.first)
    several = int(many.sum()), int(known.sum())
    change = np.where(known, decided.first - decided.errors, 0.0)
    better, worse = int((change > 0).sum()), int((change < 0).sum())
    rows = _chosen(change, better, worse, most)
    if not len(rows):
        return Changes(several, better, worse, ())
    part = held.rows(rows)
    order, k = decisions.order[rows], decisions.k[rows]
    first, last = part.said(order, np.ones(len(rows), dtype=np.intp)), part.said(order, k)
    names, shown = log.panel.names, []
    for i, row in enumerate(rows.tolist()):
        why = decided.policy.why(decisions, row)
        said = {names[j]: part.answer(i, j) for j in order[i, : k[i]].tolist()}
        pair = float(decided.first[row]), float(decided.errors[row])
        shown.append(Changed(row, bool(change[row] > 0), first[i], last[i], log.truth[row], pair, said, why))
    return Changes(several, better, worse, tuple(shown))


def _chosen(change: np.ndarray, better: int, worse: int, most: int) -> Int[np.ndarray, " m"]:
    """Rows of both kinds in the proportion in which they came, at least one of each, the largest changes first."""
    if better + worse <= most:
        take = better
    else:
        take = round(most * better / (better + worse))
        take = min(max(take, 1 if better else 0), most - (1 if worse else 0), better)
    order = np.argsort(-np.abs(change), kind="stable")
    good, bad = order[change[order] > 0][:take], order[change[order] < 0][: most - take]
    return np.concatenate([good, bad]).astype(np.intp)
