"""The section of queries where the committee changed the outcome: one card each, with the explanation."""

import numpy as np

from askwho._unit import COST, Unit
from askwho.policy import POSTERIOR
from askwho.report._changes import Changed, Changes
from askwho.report._findings import Decided
from askwho.report._html import Html, element, joined, plain, quoted, table
from askwho.report._sections import absent, section
from askwho.report._words import error_of, number

# Columns of a query without a text that are shown: one line of a card.
_MOST_FEATURES = 6
# Why a verdict may be nobody's answer: said where beliefs decide, and a reader would take it for a mistake.
_WEIGHED = (
    "A decision weighs what was said, and what came back with it, with what was known beforehand and how often each "
    "was right in the past: it may differ from the answer of the only one who was asked."
)


def changed(changes: Changes | None, decided: Decided) -> Html:
    """Return the queries where the committee changed the outcome, with the explanation."""
    title, unit = "Where the committee changed the outcome", decided.policy.unit
    if changes is None:
        return section(
            "changed",
            title,
            absent("The log holds grades, not answers: nothing is combined, and the first is believed."),
        )
    many, known = changes.several
    if not known:
        return section(
            "changed",
            title,
            absent("At this setting nobody is asked second, or the log does not hold what the second said."),
        )
    closer, further = "closer to the truth", "further from it"
    if unit.share:
        closer, further = "right where the first alone was wrong", "wrong where the first alone was right"
    elif unit.name == COST:
        closer, further = "less costly than the first alone", "more costly"
    whose = "" if many == known else f"; of {known:,} of these the log holds what all of them said"
    words = (
        f"More than one is asked about {many:,} queries{whose}. The committee was {closer} in {changes.better:,} "
        f"of them, and {further} in {changes.worse:,}."
    )
    chosen = "" if not changes.shown else f" Below are {len(changes.shown)}, both kinds in proportion."
    return section(
        "changed",
        title,
        element("p", words + chosen),
        element("p", _WEIGHED, class_="muted") if decided.held.combiner.rule == POSTERIOR else None,
        *(_card(one, decided) for one in changes.shown),
    )


def _card(one: Changed, decided: Decided) -> Html:
    unit, why = decided.policy.unit, one.why
    mark = element(
        "span", "for the better" if one.better else "for the worse", class_="better" if one.better else "worse"
    )
    first = why.reasons[0].name
    verdict = joined(
        [
            "The truth is ",
            element("strong", quoted(_value(one.truth), 60)),
            ". With ",
            quoted(first, 40),
            " alone it would have decided ",
            element("strong", quoted(_value(one.first), 60)),
            f" ({_judged(one.errors[0], unit)}); the committee of {len(why.chosen)} decided ",
            element("strong", quoted(_value(one.decided), 60)),
            f" ({_judged(one.errors[1], unit)}).",
        ]
    )
    rows = [
        [
            quoted(reason.name, 40),
            quoted(_value(one.said.get(reason.name)), 40),
            error_of(reason.expected_error, unit),
            "–" if reason.nearby_error is None else f"{error_of(reason.nearby_error, unit)} over {reason.nearby}",
            number(reason.fee),
            error_of(reason.committee_error, unit),
        ]
        for reason in why.chosen
    ]
    head = ["asked", "said", "expected", "on queries like it", "fee", "committee expects"]
    return element(
        "article",
        element("h3", f"Row {one.row:,}", mark),
        element("blockquote", *_query(decided, one.row)),
        element("p", verdict),
        table(head, rows, label=f"Who was asked about row {one.row}", words=2),
        _one_more(one),
    )


def _one_more(one: Changed) -> Html | None:
    why = one.why
    if why.one_more is None or why.gain_of_one_more is None:
        return None
    change = "lower" if why.gain_of_one_more >= 0 else "raise"
    return element(
        "p",
        "One more (",
        quoted(why.one_more.name, 40),
        f", fee {number(why.one_more.fee)}) would {change} the expected {why.word} by "
        f"{number(abs(why.gain_of_one_more))}.",
        class_="muted",
    )


def _query(decided: Decided, row: int) -> list[Html]:
    """What was known of a query: its text, or its first columns."""
    known, text = decided.held.log.known, decided.held.log.columns.text
    if text is not None:
        return [quoted(known[text][row], 280)]
    parts = [joined([element("small", plain(n, 30)), " ", quoted(_value(v[row]), 40)]) for n, v in known.items()]
    rest = len(parts) - _MOST_FEATURES
    shown = parts[:_MOST_FEATURES] + ([element("small", f"and {rest} more")] if rest > 0 else [])
    return [joined(shown, " · ")]


def _judged(error: float, unit: Unit) -> str:
    if unit.share:
        return "wrong" if error > 0 else "right"
    if unit.name == COST:
        return f"at a cost of {number(error)}"
    return f"off by {number(unit.shown(error))}"


def _value(value: object) -> str:
    if value is None:
        return "no answer"
    return number(float(value)) if isinstance(value, float | np.floating) else str(value)
