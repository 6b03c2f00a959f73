"""What a report says where asking may have gone by something that is not in the log."""

from collections.abc import Sequence

import numpy as np

from askwho.evaluation import Bound, Resamples, sensitivity, single_point
from askwho.policy import GivenChances
from askwho.report._findings import Decided
from askwho.report._html import Html, element, quoted, table
from askwho.report._sections import section
from askwho.report._words import error_of, number

# Odds that are off by so much: a quarter more is what a forgotten reason may do, and threefold a strong one.
_SHOWN = (1.0, 1.25, 1.5, 2.0, 3.0)
# Where the saving may vanish is looked for in these steps, as far as a weak reason for anything reaches.
_TRIED = tuple(np.round(np.arange(1.0, 5.01, 0.1), 2).tolist())


def hidden_reasons(decided: Decided, best: str, resamples: Resamples) -> Html | None:
    """Return how far errors may be off by reasons that nobody wrote down; nothing where all were asked, or it is known.

    Args:
        decided: the setting that is shown.
        best: the best single.
        resamples: of the queries.
    """
    held, policy = decided.held, decided.policy
    if held.chances is None or isinstance(held.chances, GivenChances):
        return None
    single = single_point(held, policy.panel.names.index(best))
    if any(not tally.told for tally in resamples.tally([decided.point, single])):
        return None
    unit = resamples.unit
    ours, theirs = (sensitivity(point, resamples, _SHOWN) for point in (decided.point, single))

    def cell(bound: Bound) -> str:
        low, high, least, most = (error_of(value, unit) for value in (bound.low, bound.high, *bound.interval))
        return f"{low if low == high else f'{low} to {high}'} [{least}, {most}]"

    rows = [[number(our.gamma), cell(our), cell(their)] for our, their in zip(ours, theirs, strict=True)]
    tried = [sensitivity(point, resamples, _TRIED) for point in (decided.point, single)]
    return section(
        "hidden",
        "If asking went by something that is not in the log",
        element(
            "p",
            "Who was asked is taken to depend on what the log holds: the features, and the answers before. Where "
            "somebody also went by something else, the odds of having been asked are off. The table says what the "
            f"{unit.word}s can then be, at the worst and at the best, if these odds are off by a factor Γ; in brackets "
            "with the chance of the sample (95%).",
        ),
        element("p", _verdict(*tried)),
        table(["Γ", f"{unit.name} as above", quoted(f"{best} alone", 60)], rows, label="If odds are off by Γ"),
    )


def _verdict(ours: Sequence[Bound], theirs: Sequence[Bound]) -> str:
    """Up to which Γ the setting is better than the single whatever the reasons."""
    better = [our.gamma for our, their in zip(ours, theirs, strict=True) if our.high < their.low]
    if not better or ours[0].gamma not in better:
        return "On these rows the setting is not better than the best single even if nothing is hidden."
    last = max(gamma for gamma in better if all(each in better for each in _TRIED if each <= gamma))
    up_to = f"The setting errs less than the best single up to Γ = {number(last)}"
    if last == _TRIED[-1]:
        return f"{up_to} at least, whatever the reasons."
    return f"{up_to}, whatever the reasons; beyond that it may not."
