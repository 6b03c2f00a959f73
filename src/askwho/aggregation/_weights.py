"""How much each member of a committee weighs."""

import numpy as np
from jaxtyping import Float

from askwho import _validation as check
from askwho.aggregation._committee import Committee
from askwho.exceptions import InvalidInputError

# exp(-700) is the smallest share that float64 can still divide by: a weight is tiny there, never zero.
_WIDEST_GAP = 700.0


def softmax_weights(committee: Committee) -> Float[np.ndarray, "n K"]:
    """Return w_j ∝ exp(π(x, j)) (paper, Appendix A.13), shape (n, K); 1 for the best member that answered.

    Sums over members are left to the aggregation, which renormalises over those that answered.
    """
    best = committee.voices(committee.scores, silent=-np.inf).max(axis=1, keepdims=True)
    gap = np.clip(committee.scores - np.where(np.isfinite(best), best, 0.0), -_WIDEST_GAP, 0.0)
    return committee.voices(np.exp(gap), silent=0.0)


def log_odds_weights(committee: Committee, *, n_classes: int = 2, margin: float = 1e-6) -> Float[np.ndarray, "n K"]:
    """Return log((1 − e)(C − 1)/e) for expected errors e, shape (n, K): naive Bayes with even confusions.

    The best weights of independent voters (Nitzan and Paroush 1982). A member that is wrong more often than chance
    weighs below zero.

    Args:
        committee: with expected errors in [0, 1].
        n_classes: C, among how many answers a wrong one is spread.
        margin: expected errors are kept this far from 0 and from 1, so that nobody is infinitely sure.
    """
    expected = committee.known_errors()
    if (expected > 1).any():
        raise InvalidInputError(
            f"`expected_errors` must be between 0 and 1 for log-odds, got {expected.max():g}: they are probabilities."
        )
    errors = np.clip(expected, margin, 1.0 - margin)
    check.finite_number(n_classes, "n_classes", minimum=2)
    return committee.voices(np.log((1.0 - errors) / errors) + np.log(n_classes - 1.0), silent=0.0)


def inverse_error_weights(committee: Committee, *, margin: float = 1e-6) -> Float[np.ndarray, "n K"]:
    """Return 1/e for expected squared errors e, shape (n, K): the best weights if members err independently.

    Inverse-variance weighing, of forecasts (Bates and Granger 1969).

    Args:
        committee: with expected squared errors.
        margin: an expected error below this share of its query's largest counts as that much: no weight is infinite.
    """
    errors = committee.known_errors()
    floor = margin * errors.max(axis=1, keepdims=True)
    return committee.voices(1.0 / np.where(floor > 0, np.maximum(errors, floor), 1.0), silent=0.0)
