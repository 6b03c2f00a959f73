"""Γ_u, the calibration function of the comp-sum family, and its inverse."""

import math

from scipy.optimize import brentq

from askwho import _validation as check
from askwho._comp_sum import check_u
from askwho.exceptions import InvalidInputError


def calibration(t: float, *, u: float, n_entities: int) -> float:
    r"""Return Γ_u(t), the least surrogate excess at which the zero-one excess can be t, for t in [0, 1].

    With a = 1/(2 − u) and B = [((1+t)^a + (1−t)^a)/2]^{2−u}:

        u in [0, 1):  2^{1−u}/(1−u) · (1 − B)
        u = 1:        (1+t)/2 · log(1+t) + (1−t)/2 · log(1−t)
        u in (1, 2):  (B − 1)/((u−1) n^{u−1})
        u ≥ 2:        t/((u−1) n^{u−1})

    The paper's Theorem 4.7 prints the values at 0, 1 and 2; its formula between them (Appendix A.11) is garbled. This
    is that of Mao, Mohri and Zhong (2023), which meets those values.

    Args:
        t: an excess of the zero-one loss, between 0 and 1.
        u: the member of the comp-sum family.
        n_entities: |A|, at least 2; it matters for u > 1 only.
    """
    check_u(u)
    check.finite_number(n_entities, "n_entities", minimum=2)
    if not 0 <= t <= 1:
        raise InvalidInputError(f"`t` must be between 0 and 1, got {t}: it is an excess of the zero-one loss.")
    if u >= 2:
        return t / ((u - 1) * n_entities ** (u - 1))
    if u == 1:
        return _logistic(t)
    log_of_b = (
        (u - 1) * math.log(2) if t == 1 else 0.5 * math.log1p(-t * t) + (2 - u) * _log_cosh(math.atanh(t) / (2 - u))
    )
    excess = math.expm1(log_of_b) / (u - 1)
    return max(0.0, excess * 2 ** (1 - u) if u < 1 else excess / n_entities ** (u - 1))


def inverse_calibration(value: float, *, u: float, n_entities: int) -> float:
    """Return Γ_u^{-1}(value), the largest zero-one excess that a surrogate excess of `value` allows.

    Non-decreasing and concave; 1 from Γ_u(1) on, since no zero-one excess is larger.
    """
    check.finite_number(value, "value", minimum=0.0)
    if value >= calibration(1.0, u=u, n_entities=n_entities):
        return 1.0
    if value == 0:
        return 0.0
    if u >= 2:
        return value * (u - 1) * n_entities ** (u - 1)

    def short_of(t: float) -> float:
        return calibration(t, u=u, n_entities=n_entities) - value

    return float(brentq(short_of, 0.0, 1.0, xtol=1e-15))  # pyright: ignore[reportArgumentType]


def _logistic(t: float) -> float:
    """Γ_1(t); with atanh nothing cancels for small t but t² against t²/2."""
    return math.log(2) if t == 1 else 0.5 * math.log1p(-t * t) + t * math.atanh(t)


def _log_cosh(x: float) -> float:
    """Log cosh(x): (1+t)^a + (1−t)^a = 2 (1 − t²)^{a/2} cosh(a atanh t) keeps the digits that a sum of powers loses."""
    if x < 1:
        return math.log1p(2 * math.sinh(x / 2) ** 2)
    return x + math.log1p(math.exp(-2 * x)) - math.log(2)
