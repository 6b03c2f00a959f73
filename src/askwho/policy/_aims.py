"""What a target comes to at a policy: which price meets it, who can be asked for nothing, how many; or why not."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from askwho.exceptions import InvalidInputError
from askwho.policy._combiner import POSTERIOR, SPREAD
from askwho.policy._outcomes import Setting
from askwho.policy._promises import find_setting
from askwho.policy._seen import Seen
from askwho.policy._target import Target, checked_target

if TYPE_CHECKING:
    from askwho.policy._policy import Policy

FEWEST_ROWS = 200
"""With fewer rows than this nobody's habits can be told from chance."""
# Said in two places, where a step and where a setting is asked for.
_NO_TURNS = (
    "This policy cannot ask in turn: it was fitted without answers that are classes or numbers, on fewer than "
    f"{FEWEST_ROWS} rows, or with another committee than {POSTERIOR!r} or {SPREAD!r}."
)
# The same of grades.
_NO_TURNS_OF_GRADES = (
    "This policy cannot ask in turn: it was fitted on grades without `info`, which tells after an answer whether to "
    f"ask on, or on fewer than {FEWEST_ROWS} rows."
)


def why_no_turns(policy: "Policy") -> str:
    """Return why nothing is asked in turn."""
    return _NO_TURNS if policy.columns.answers is not None else _NO_TURNS_OF_GRADES


def setting_of(policy: "Policy", target: Target, *, in_turn: bool) -> Setting:
    """Return the setting at which held-out rows meet a budget, an error, or both; or say what can be had."""
    if not checked_target(target).searched:
        raise InvalidInputError("`budget` or `max_error` must be given: there is nothing to aim at.")
    if in_turn and policy.turns is None:
        raise InvalidInputError(why_no_turns(policy))
    tried, width = policy.tried, policy.cardinality.width
    if in_turn and policy.turns is not None:
        tried, width = policy.turns.tried, policy.turns.asking.most
    fees = policy.judge.fees
    by_query = fees.model is not None or isinstance(policy.columns.fees, str)
    if target.max_error is None and free_of(policy, target) is not None and not (by_query and target.confidence):
        # Kept whatever the rows say; and among those who charge nothing every price decides the same.
        return tried.setting(tried.places - 1)
    # Nobody is asked twice: no fee is above that of the largest committee of the dearest, if fees do not differ.
    most = float(np.sort(fees.usual)[-width:].sum()) if width else 0.0
    in_groups = policy.columns.groups is not None
    return find_setting(tried, target, unit=policy.unit, most_fee=None if by_query else most, in_groups=in_groups)


def rates_of(seen: Seen, target: Target, found: Setting | None) -> Float[np.ndarray, " n"]:
    """Return the price at which each query is decided, shape (n,)."""
    if found is None:
        return np.full(len(seen), 0.0 if target.fee_weight is None else target.fee_weight)
    if not found.share:
        return np.full(len(seen), found.fee_weight)
    return np.where(seen.coins < found.share, found.other, found.fee_weight)


def free_of(policy: "Policy", target: Target) -> Bool[np.ndarray, " a"] | None:
    """Return who alone can be asked where nothing may be spent: no price keeps a query from whom it needs most."""
    free = policy.judge.fees.free
    return free if target.budget == 0 and free.any() else None


def exactly(policy: "Policy", k: int, most: int) -> int:
    """Return that many to ask, or say why so many cannot be."""
    if k <= most:
        return k
    if policy.columns.answers is None:
        raise InvalidInputError(
            f"`k` must be 1, got {k}: a log of grades tells nothing of several, the first alone is believed."
        )
    why = f"the panel has {most} entities"
    if most < len(policy.panel):
        why = "no more are available" if most < policy.cardinality.width else "no more were learned of together"
    raise InvalidInputError(f"`k` must be between 1 and {most}, got {k}: {why}.")
