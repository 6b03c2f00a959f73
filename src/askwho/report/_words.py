"""Numbers as they are read, and the headline in words."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from askwho._unit import COST, Unit

Bounds = Sequence[float | None]


def number(value: float | None) -> str:
    """Return a number with three figures.

    >>> number(1234.5), number(0.12345), number(3.0), number(None)
    ('1,234', '0.123', '3', '–')
    """
    if value is None or not np.isfinite(value):
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def share(value: float | None) -> str:
    """Return a share in per cent.

    >>> share(0.1234), share(0.003), share(1e-5), share(0.0)
    ('12%', '0.3%', '<0.1%', '0%')
    """
    if value is None or not np.isfinite(value):
        return "–"
    if 0 < value < 0.001:
        return "<0.1%"
    return f"{value:.1%}" if 0 < value < 0.0095 else f"{value:.0%}"


def error_of(value: float | None, unit: Unit) -> str:
    """Return an error: a share of wrong answers with three digits, any other with three figures."""
    if value is None or not np.isfinite(value):
        return "–"
    return f"{value:.3f}" if unit.share else number(value)


def with_bounds(value: float | None, interval: Bounds, spell: Callable[[float | None], str]) -> str:
    """Return a figure and its interval in brackets.

    >>> with_bounds(0.5, [0.25, 0.75], number)
    '0.5 [0.25, 0.75]'
    """
    low, high = interval
    return (
        spell(value)
        if value is None or low is None or high is None
        else f"{spell(value)} [{spell(low)}, {spell(high)}]"
    )


@dataclass(frozen=True)
class Headline:
    """What the report says first.

    Args:
        says: one sentence, without a name: `{best}` stands for the best single entity.
        intervals: what the figures in it may be instead, in words.
        match: the fee that reaches the best single's error, as a share of its fee; None where nothing does.
    """

    says: str
    intervals: str
    match: float | None


def headline_of(result: Mapping[str, Any], *, graded: bool) -> Headline:
    """Return the headline of an evaluation.

    Args:
        result: what `evaluate` returned.
        graded: whether the log holds grades instead of a truth.
    """
    head, unit = result["headline"], Unit.from_json(result["unit"])
    match, match_words, match_bounds = _matching(head, unit)
    less, more = ("less error", "more error") if unit.share else ("lower", "higher")
    if unit.name == COST:
        less, more = "less cost", "more cost"
    elif unit.share and not graded:
        less, more = "fewer errors", "more errors"
    of_numbers = "" if unit.share or unit.name == COST else f"{unit.with_article} "
    saved, around = head["error_saved"], head["error_saved_interval"]
    parts, beside = [match_words], [match_bounds] if match_bounds else []
    if saved is not None:
        by = share(abs(saved))
        parts.append(
            f"at its fee the same {unit.name}"
            if by == "0%" or abs(saved) < 0.0005
            else f"at its fee {of_numbers}{by} {less if saved > 0 else more}"
        )
        if around[0] is not None:
            low, high = (-around[1], -around[0]) if saved < 0 else around
            sure = "" if low > 0 else ", so that it may be chance"
            span = f"{_signed(low)} to {_signed(high)}"
            beside.append(f"{of_numbers}{span} {less if saved >= 0 else more} at its fee{sure}")
    says = "; ".join(parts) + "."
    return Headline(says, "95% intervals: " + "; ".join(beside) + "." if beside else "", match)


def _matching(head: Mapping[str, Any], unit: Unit) -> tuple[float | None, str, str]:
    """The fee that matches the best single's error: as a share of its fee, in words, and its interval."""
    if head["best_single_error"] is None:
        return None, f"Too few rows to tell the {unit.name} of the best single ({{best}}), or of any setting", ""
    low, high = head["fee_saved_interval"]
    around = ""
    if high is not None:
        ends = number(_round(1 - high))
        # Some resamples never match it, at no fee.
        ends = f"{ends} or more" if low is None else f"{ends} to {number(_round(1 - low))}"
        around = f"{ends} of the fee for the same {unit.name}"
    if "fee_to_match_best_single" in head["untold"]:
        return None, f"Too few rows to tell what matches the {unit.name} of the best single ({{best}})", ""
    if head["fee_to_match_best_single"] is None:
        return None, f"Does not reach the {unit.name} of the best single ({{best}})", around
    if head["fee_saved"] is None:
        return None, "Matches the best single ({best}), which is free", ""
    match = 1 - head["fee_saved"]
    if match < 0.0005:
        # Free in every resample is no interval worth a word.
        return 0.0, "Matches the best single ({best}) for nothing", "" if low is not None and low >= 0.9995 else around
    if match < 0.005:
        times = "less than a hundredth of its fee"
    elif match > 0.9995:
        times = "its fee" if match < 1.005 else f"{number(match)} times its fee"
    else:
        times = f"{number(match)} of its fee"
    return match, f"Matches the best single ({{best}}) for {times}", around


def _round(value: float) -> float:
    return max(0.0, round(value, 4))


def _signed(value: float) -> str:
    return share(value) if value >= 0 else f"−{share(-value)}"
