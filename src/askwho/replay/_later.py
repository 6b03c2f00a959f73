"""Which rows of a log came after those that a policy comes from: it is judged by no others."""

import numpy as np
from jaxtyping import Int

from askwho.data import Log
from askwho.exceptions import InvalidInputError
from askwho.policy import Policy


def later(policy: Policy, log: Log) -> Int[np.ndarray, " m"]:
    """Return the rows after the last that anything of the policy comes from, shape (m,).

    All of them, where the policy or the log does not say when its rows were.
    """
    until, time = policy.facts.until, log.sampling.time
    if until is None or time is None:
        return np.arange(len(log))
    if policy.facts.dated != log.sampling.dated:
        kinds = ("dates", "numbers") if policy.facts.dated else ("numbers", "dates")
        raise InvalidInputError(f"`time` must hold {kinds[0]}, as the policy's own log did, got {kinds[1]}.")
    return np.flatnonzero(time > until)


def none_later(policy: Policy, rows: int) -> InvalidInputError:
    """Return the refusal of a log of so many rows, none of which came after what the policy comes from."""
    return InvalidInputError(
        f"`log` must hold rows after {policy.facts.last}, the last moment that the policy comes from, got {rows} rows "
        "and none of them later: what it learned from cannot judge it."
    )
