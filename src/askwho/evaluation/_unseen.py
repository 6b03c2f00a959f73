"""Logs that a policy has not seen, read as its own was."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from askwho.data import Columns, Log, Table, log_of, read_log, read_logs
from askwho.policy import Policy

# What the log of a policy may have and later ones may lack: it is learned there.
_OPTIONAL = ("propensity",)


def unseen(policy: Policy, source: Any) -> Log:  # noqa: ANN401 - whatever `read_log` takes
    """Return a log, read as the policy's own was."""
    return read_log(source, policy.columns, base=_base_of(policy), optional=_OPTIONAL)


def unseen_batches(policy: Policy, path: Path) -> Iterator[Log]:
    """Yield the log in a file a batch at a time, read as the policy's own was."""
    return read_logs(path, _columns(policy), usual=_usual(policy), base=_base_of(policy), optional=_OPTIONAL)


def unseen_batch(policy: Policy, table: Table, *, first: int) -> Log:
    """Return one batch of a log, whose first row is that of so many before it, read as the policy's own was."""
    return log_of(table, _columns(policy), base=_base_of(policy), first=first, usual=_usual(policy), optional=_OPTIONAL)


def _columns(policy: Policy) -> Columns:
    """Which column is what: a few rows cannot tell the task."""
    return replace(policy.columns, task=policy.task)


def _usual(policy: Policy) -> dict[str, float]:
    return dict(zip(policy.panel.names, policy.judge.fees.usual.tolist(), strict=True))


def _base_of(policy: Policy) -> str | None:
    """The entity of the log that is the base, where one is."""
    return next((entity.name for entity in policy.panel.entities if entity.kind == "base" and not entity.own), None)
