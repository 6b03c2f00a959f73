"""A log as a policy takes it: the whole panel in its order, and somebody else's scores."""

from numpy.typing import ArrayLike

from askwho import _validation as check
from askwho._types import FloatTable
from askwho.data import Log
from askwho.exceptions import InvalidInputError
from askwho.policy import Policy, Seen


def checked_scores(scores: ArrayLike, policy: Policy, rows: int | None = None) -> FloatTable:
    """Return somebody else's scores, shape (n, |A|), or say what is wrong with them; `rows` is None for any number."""
    table = check.table(scores, "scores", entities=policy.panel.names)
    if rows is not None:
        check.same_shape(table, "scores", (rows, len(policy.panel)), "one row for each query of the log")
    return table


def joined(policy: Policy, log: Log, seen: Seen) -> Log:
    """Return a log of the whole panel, in which whoever answers for itself has answered."""
    outside = tuple(entity.name for entity, own in zip(policy.panel.entities, policy.panel.own, strict=True) if not own)
    for names in (policy.panel.names, outside):
        # Whoever came later may have a column anywhere.
        if log.panel.names != names and sorted(log.panel.names) == sorted(names):
            log = log.seated(names)
    if log.panel.names == policy.panel.names:
        return log
    if log.panel.names != outside:
        raise InvalidInputError(
            f"`log` must have the entities of the policy, {list(outside)}, got {list(log.panel.names)}."
        )
    return log.behind(policy.panel, seen.answers(policy.panel, log.answers))
