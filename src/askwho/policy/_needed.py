"""Which columns of a table a policy looks at: whoever reads many rows reads no others."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from askwho.data import named
from askwho.policy._decision import ROUTES

if TYPE_CHECKING:
    from askwho.policy._policy import Policy


def query_columns(policy: "Policy", present: Sequence[str]) -> list[str]:
    """Return the columns of queries that tell what is known of them, and their names."""
    return _those({*policy.encoder.columns, policy.id_column}, present)


def answer_columns(policy: "Policy", present: Sequence[str]) -> list[str]:
    """Return the columns that tell what came back, and to which query."""
    patterns = (policy.columns.answers, policy.columns.info, policy.columns.fees)
    wanted = {policy.id_column, *policy.panel.names}
    for pattern in patterns:
        if isinstance(pattern, str):
            wanted |= set(named(pattern, present, "answers", optional=True).values())
    return _those(wanted, present)


def step_columns(policy: "Policy", present: Sequence[str]) -> list[str]:
    """Return the columns of queries that are asked in turn: what is known of them, and what came back so far."""
    return _those({*query_columns(policy, present), *answer_columns(policy, present)}, present)


def route_columns(present: Sequence[str]) -> list[str]:
    """Return the columns of routes that combining takes."""
    return _those(set(ROUTES), present)


def _those(wanted: set[str], present: Sequence[str]) -> list[str]:
    """The wanted columns in their order; all, where none is there, so that a message can say what is."""
    return [name for name in present if name in wanted] or list(present)
