"""Where two entities repeat each other the second is worth less: rankings by what each adds to those before it."""

import numpy as np
from jaxtyping import Float

from askwho._types import Order

# A correlation over fewer common rows has a standard error above 0.14: two are then taken not to repeat each other.
_FEWEST_ROWS = 50
SHARES = (0.0, 0.5, 1.0)
"""How much of the overlap may count; validation chooses, and 0 is the plain ranking."""


def overlaps(errors: Float[np.ndarray, "n a"], expected: Float[np.ndarray, "n a"]) -> Float[np.ndarray, "a a"]:
    """Return how much entities repeat each other, shape (|A|, |A|): 0 by chance alone, 1 for a copy.

    It is the correlation of errors beyond what was expected of each, on queries that both were asked about: of
    residuals, since two who are both good at the same queries need not repeat each other.

    Args:
        errors: shape (n, |A|), NaN where not asked.
        expected: shape (n, |A|), out of fold.
    """
    known = ~np.isnan(errors)
    beyond = np.where(known, errors - expected, 0.0)
    both = known.astype(np.float64).T @ known
    shared = beyond.T @ beyond
    spread = np.square(beyond).T @ known
    found = np.divide(shared, np.sqrt(spread * spread.T), out=np.zeros_like(shared), where=spread * spread.T > 0)
    found = np.where(both >= _FEWEST_ROWS, np.clip(found, 0.0, 1.0), 0.0)
    np.fill_diagonal(found, 0.0)
    return found


def by_marginal_gain(
    costs: Float[np.ndarray, "n a"],
    worth: Float[np.ndarray, "n a"],
    overlap: Float[np.ndarray, "a a"],
    width: int,
) -> Order:
    """Return the entities in the order of what each still adds, best first, shape (n, width).

    Greedy, as maximal marginal relevance is (Carbonell and Goldstein 1998): what an entity is worth, less the most that
    it repeats of anybody before it.

    Args:
        costs: shape (n, |A|), what each costs by itself, lower first.
        worth: shape (n, |A|), what its answer is worth by itself: lost in the measure that another gave it already.
        overlap: shape (|A|, |A|).
        width: how many.
    """
    n = len(costs)
    order = np.empty((n, width), dtype=np.intp)
    repeated = np.zeros(costs.shape)
    left = costs.copy()
    for place in range(width):
        order[:, place] = (left + repeated * worth).argmin(axis=1)
        left[np.arange(n), order[:, place]] = np.inf
        np.maximum(repeated, overlap[order[:, place]], out=repeated)
    return order
