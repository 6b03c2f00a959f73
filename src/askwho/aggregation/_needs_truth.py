"""Two measures of a committee that nobody can deploy: they look at the truth."""

import numpy as np
from jaxtyping import Float

from askwho.aggregation._committee import Committee
from askwho.core import Cell


def best_of_k(errors: Float[np.ndarray, "n K"]) -> Float[np.ndarray, "n K"]:
    """Return the smallest error among the first k members, for every k (paper, Appendix A.13, d_min).

    Needs the truth: no deployed committee knows which of its members is best.

    Args:
        errors: shape (n, K), the members' errors in rank order; NaN where not asked, and then from there on.
    """
    return np.minimum.accumulate(errors, axis=1)


def inclusion(committee: Committee, truth: np.ndarray) -> Float[np.ndarray, "n K"]:
    """Return 1 where none of the first k members is right, else 0 (paper, Appendix A.13, d_top-k).

    Needs the truth: no deployed committee knows which of its members is right.

    Args:
        committee: members in rank order.
        truth: shape (n,).

    Returns:
        Shape (n, K); NaN from the first member on that was not asked.
    """
    wrong = committee.voices((committee.answers != truth[:, None]).astype(np.float64), silent=1.0)
    if not committee.scorable.all():
        wrong = np.where(committee.states == Cell.NOT_ASKED, np.nan, wrong)
    return best_of_k(wrong)
