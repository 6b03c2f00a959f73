"""Exploring: somebody else is asked now and then, at random, and with what probability is written down.

Without it a log that a policy's own routing made can never teach it again: nobody knows what those would have said whom
it never asks. The probabilities are those that inverse-propensity weighing needs (Horvitz and Thompson 1952).
"""

from dataclasses import dataclass
from math import comb

import numpy as np
from jaxtyping import Bool, Float, Int

from askwho import _validation as check
from askwho._types import Order
from askwho.exceptions import InvalidInputError


@dataclass(frozen=True, eq=False)
class Explored:
    """Whom to ask, now and then somebody else.

    Args:
        order: shape (n, K), best first.
        k: shape (n,).
        propensity: shape (n,), the probability of the set that is asked.
        propensities: shape (n, K), of each in the order to be asked.
        changed: shape (n,), which queries ask others than were chosen.
    """

    order: Order
    k: Int[np.ndarray, " n"]
    propensity: Float[np.ndarray, " n"]
    propensities: Float[np.ndarray, "n K"]
    changed: Bool[np.ndarray, " n"]


def checked_share(explore: float) -> float:
    """Return how often to explore, or say that it is no share."""
    share = check.finite_number(explore, "explore", minimum=0.0)
    if share > 1.0:
        raise InvalidInputError(f"`explore` must be between 0 and 1, got {share:g}: it is the share of queries.")
    return share


def explore_at_once(
    order: Order,
    k: Int[np.ndarray, " n"],
    *,
    open_: Bool[np.ndarray, "n a"],
    share: float,
    rng: np.random.Generator,
) -> Explored:
    """Return committees of which a share is drawn anew: as many experts as were chosen, one at the least, any alike.

    Args:
        order: shape (n, K), best first.
        k: shape (n,), how many of them were chosen.
        open_: shape (n, |A|), who may be asked; who answers without being asked is not among them, and stays.
        share: how many of the queries explore.
        rng: where chance comes from.
    """
    n, width = order.shape
    ranks = np.full(open_.shape, width, dtype=np.float64)
    np.put_along_axis(ranks, order, np.arange(width, dtype=np.float64)[None], axis=1)
    chosen = ranks < k[:, None]
    experts = chosen & open_
    there = open_.sum(axis=1)
    drawn = np.minimum(np.maximum(experts.sum(axis=1), 1), np.maximum(there, 1))
    changed = (rng.random(n) < share) & (there > 0)
    keys = np.where(open_, rng.random(open_.shape), np.inf)
    place = keys.argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    lucky = open_ & (place < drawn[:, None])
    # Who answers for itself stays in front where there is room for it beside those drawn.
    staying = chosen & ~open_ & (drawn < width)[:, None]
    picked = np.where(changed[:, None], lucky | staying, chosen)
    found = np.where(picked, ranks, ranks + 2 * width + 1).argsort(axis=1, kind="stable")[:, :width]
    size = np.minimum(picked.sum(axis=1), width)
    again = (picked & open_ == experts).all(axis=1)
    ways = np.array([1.0 / comb(int(m), int(s)) if m else 1.0 for m, s in zip(there, drawn, strict=True)])
    uniform = np.where((picked & open_).sum(axis=1) == drawn, ways, 0.0)
    effective = np.where(there > 0, share, 0.0)
    propensity = (1 - effective) * again + effective * uniform
    each = (1 - effective)[:, None] * chosen + effective[:, None] * np.where(
        open_, (drawn / np.maximum(there, 1))[:, None], staying
    )
    others = (picked != chosen).any(axis=1)
    return Explored(found, size, propensity, np.take_along_axis(each, found, axis=1), others)


def explore_in_turn(
    entity: Int[np.ndarray, " n"], *, open_: Bool[np.ndarray, "n a"], share: float, rng: np.random.Generator
) -> tuple[Int[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Return the next question of each query, now and then a random one, and its probability, each of shape (n,).

    Args:
        entity: shape (n,), whom the rule asks next; −1 where it decides.
        open_: shape (n, |A|), who may still be asked.
        share: how often to ask somebody at random instead.
        rng: where chance comes from.
    """
    n = len(entity)
    there = open_.sum(axis=1)
    changed = (rng.random(n) < share) & (there > 0)
    random = np.where(open_, rng.random(open_.shape), -1.0).argmax(axis=1)
    found = np.where(changed, random, entity)
    effective = np.where(there > 0, share, 0.0)
    asks = (found >= 0) & open_[np.arange(n), np.maximum(found, 0)]
    return found, (1 - effective) * (found == entity) + effective * np.where(asks, 1.0 / np.maximum(there, 1), 0.0)
