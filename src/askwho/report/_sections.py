"""The sections of a report: what each figure says, in words and tables."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from askwho._unit import Unit
from askwho.evaluation import Resamples
from askwho.replay import members_of
from askwho.report import _findings as findings
from askwho.report._figures import most_asked
from askwho.report._findings import Bin, Decided, Grouping
from askwho.report._frontier import EVERYBODY
from askwho.report._html import Html, element, joined, plain, quoted, table
from askwho.report._words import error_of, number, share, with_bounds

Figure = Callable[[str], Html]
"""From the name of a figure to the figure with its files."""


def section(ident: str, title: str, *inside: str | None) -> Html:
    """Return a section with its heading."""
    return element(
        "section", element("h2", title, id=f"{ident}-title"), *inside, id=ident, aria_labelledby=f"{ident}-title"
    )


def frontier(result: Mapping[str, Any], figure: Figure) -> Html:
    """Return errors against fees: the frontier, and a table of all settings."""
    unit = Unit.from_json(result["unit"])
    base, rows = result["baselines"], []

    def row(what: str, entry: Mapping[str, Any], name: str = "error", size: str = "mean_k") -> list[str]:
        got = with_bounds(entry[name], entry[f"{name}_interval"], lambda value: error_of(value, unit))
        paid = with_bounds(entry["mean_fee"], entry["mean_fee_interval"], number)
        return [what, number(entry.get(size)), got, paid]

    rows += [row("all at once", entry) for entry in result["adaptive"]]
    rows += [row("one at a time", entry) for entry in result["sequential"]]
    rows += [row(joined(["best single: ", quoted(base["best_single"]["name"], 40)]), base["best_single"], size="k")]
    rows += [row(joined(["cheapest: ", quoted(base["cheapest"]["name"], 40)]), base["cheapest"], size="k")]
    rows += [row(name, base[key], size="k") for key, name in EVERYBODY.items() if key in base]
    rows += [row("at random", entry, size="k") for entry in base["random"]]
    rows += [row("oracle (needs the truth)", entry, "needs_truth_error", "k") for entry in base["oracle"]]
    shown = list(dict.fromkeys(tuple(cells) for cells in rows))
    untold = sum(entry["error"] is None for entry in (*result["adaptive"], *result["sequential"]))
    unknown = sum(entry["effective_rows"] == 0 for entry in (*result["adaptive"], *result["sequential"]))
    holes = result["effective_rows"]["adaptive"] < 0.9995 * result["n"]
    return section(
        "frontier",
        f"{unit.at_the_start} against mean fee",
        element(
            "p",
            "Each point of the lines is a setting of the same policy: a fee weight, from saving money on the "
            "left to asking more on the right. Bands and brackets are 95% intervals by resampling the log.",
        ),
        element(
            "p",
            "The log does not have everybody's answers. Rows that have a whole committee's are weighed by how likely "
            "that was, as the log itself tells it, and what was expected stands in for the others; where asking went "
            "by something that is not in the log, this is off.",
        )
        if holes
        else None,
        element("p", f"{untold} settings are not told: fewer than 30 effective rows stand behind them.")
        if untold
        else None,
        element(
            "p",
            f"Of {unknown} of these the log cannot tell: how likely their committees were asked contradicts how often "
            "they were, or there are kinds of query about which they never were. Ask some at random (--explore), and "
            "name the probabilities (--propensity).",
        )
        if unknown
        else None,
        figure("frontier"),
        element(
            "p",
            "The oracle knows the truth and asks whoever is right: nobody can deploy it. Entities far above the frame "
            "are in the table only.",
            class_="muted",
        ),
        _more("Every entity alone", _entities(result)),
        _more(
            "Every setting, with intervals",
            table(["setting", "mean k", unit.name, "mean fee"], shown, label="Every setting", words=1),
        ),
    )


def _entities(result: Mapping[str, Any]) -> Html:
    unit = Unit.from_json(result["unit"])
    rows = [
        [
            quoted(entry["name"], 60),
            with_bounds(entry["error"], entry["error_interval"], lambda value: error_of(value, unit)),
            number(entry["fee"]),
        ]
        for entry in sorted(result["entities"], key=lambda entry: (entry["error"] is None, entry["error"]))
    ]
    return table(["entity", unit.name, "fee"], rows, label="Every entity alone")


def asked(
    decided: Decided, grouping: Grouping | None, best: str, setting: str, resamples: Resamples, figure: Figure
) -> Html:
    """Return who is asked: by rank, by k, and by group."""
    names, k = decided.decisions.panel.names, decided.decisions.k
    by_rank, total = decided.by_rank, decided.decisions.members.mean(axis=0)
    ever = np.argsort(-total, kind="stable")[: max(1, int((total > 0).sum()))]
    sizes = [size for size in range(1, int(k.max()) + 1) if (k == size).any()]
    ranks = [[quoted(names[j], 60), share(float(total[j])), *_cells(by_rank[j, : k.max()])] for j in ever]
    per_k = [decided.asked(k == size) for size in sizes]
    by_k = [[quoted(names[j], 60), *_cells([float(part[j]) for part in per_k])] for j in ever]
    heads = [f"k = {size} ({share(float((k == size).mean()))})" for size in sizes]
    never = len(names) - len(ever)
    more = len(ever) - len(most_asked(decided))
    notes = [f"{more} more are in the table." if more else "", f"{never} are never asked." if never else ""]
    return section(
        "asked",
        "Who is asked",
        element("p", f"This section and those below show one setting: {setting}."),
        figure("asked"),
        element("p", " ".join(filter(None, notes)), class_="muted") if any(notes) else None,
        _more(
            "Share of queries by rank",
            table(["entity", "asked", *(f"as {r + 1}." for r in range(int(k.max())))], ranks, label="By rank"),
        ),
        _more(
            "Share of queries by how many are asked",
            element("p", "In brackets, how many of all queries are asked of so many.", class_="muted"),
            table(["entity", *heads], by_k, label="By k"),
        ),
        *_by_group(decided, grouping, best, resamples, figure),
    )


def _by_group(
    decided: Decided, grouping: Grouping | None, best: str, resamples: Resamples, figure: Figure
) -> list[Html]:
    if grouping is None:
        reason = (
            f"The log tells no groups apart: it has no column of 2 to {findings.MOST_GROUPS} words among its groups "
            "and features. --by COLUMN names one."
        )
        return [element("h3", "By group"), element("p", reason, class_="muted")]
    unit, rows = resamples.unit, []
    place = decided.decisions.panel.names.index(best)
    single = np.zeros(decided.held.asked.shape, dtype=bool)
    single[:, place] = True
    for g, name in enumerate(grouping.names):
        inside = grouping.codes == g
        got, span = decided.got(decided.errors, decided.decisions.members, inside, resamples)
        alone, _ = decided.got(decided.held.log.errors[:, place], single, inside, resamples)
        rows.append(
            [
                quoted(name, 60),
                f"{int(inside.sum()):,}",
                number(float(decided.decisions.k[inside].mean())),
                number(float(decided.fees[inside].mean())),
                with_bounds(got, span, lambda value: error_of(value, unit)),
                error_of(alone, unit),
            ]
        )
    head = [plain(grouping.column, 40), "queries", "mean k", "mean fee", unit.name, "best single's"]
    return [
        element("h3", joined(["By ", quoted(grouping.column, 40)])),
        figure("groups"),
        table(head, rows, label="By group"),
    ]


def difficulty(decided: Decided, codes: np.ndarray, resamples: Resamples, figure: Figure) -> Html:
    """Return how many are asked, by how hard the queries look."""
    title, k, unit = "How k grows with difficulty", decided.decisions.k, resamples.unit
    if decided.held.log.answers is None:
        return section(
            "difficulty", title, absent("Without answers nothing can be combined: it is always one who is asked.")
        )
    if (k == k[0]).all():
        return section("difficulty", title, absent(f"At this setting the committee is always of {int(k[0])}."))
    rows = []
    first = members_of(decided.decisions.order, np.ones_like(k), len(decided.decisions.panel))
    for b in range(int(codes.max()) + 1):
        inside = codes == b
        figures = [
            decided.got(errors, members, inside, resamples)[0]
            for errors, members in ((decided.first, first), (decided.errors, decided.decisions.members))
        ]
        looks = float(resamples.shown(decided.difficulty[inside].mean(keepdims=True))[0])
        paid, size = float(decided.fees[inside].mean()), float(k[inside].mean())
        shown = [error_of(figure, unit) for figure in (looks, *figures)]
        rows.append([str(b + 1), shown[0], number(size), number(paid), *shown[1:]])
    head = ["part", "looks like", "mean k", "mean fee", "first alone", "committee"]
    return section(
        "difficulty",
        title,
        element("p", f"How hard a query looks beforehand: the least {unit.name} that is expected of anybody."),
        figure("difficulty"),
        _more("The same as a table, with what came of it", table(head, rows, label="By difficulty")),
    )


def calibration(chosen: Sequence[Bin], whose: str, entities: Sequence[Bin], unit: Unit, figure: Figure) -> Html:
    """Return how far expected errors can be trusted, of what was chosen (`whose`, in words) and of everybody alone."""
    title = "Can its expectations be trusted?"
    if not entities:
        return section("calibration", title, absent("Fewer than 30 effective rows tell what came."))

    def spell(value: float | None) -> str:
        return error_of(value, unit)

    said = [f"Before anybody is asked the policy expects {unit.with_article} of each entity, and of what it chooses."]
    if chosen:
        said.append(
            f"In the mean over the bins below, that of {whose} is {spell(findings.gap(list(chosen)))} away from what "
            f"came, and that of an entity alone {spell(findings.gap(list(entities)))}."
        )
    rows = [
        [who, f"{b.n:,}", spell(b.expected), with_bounds(b.error, b.error_interval, spell)]
        for who, bins in ((whose, chosen), ("each entity alone", entities))
        for b in bins
    ]
    return section(
        "calibration",
        title,
        element("p", " ".join(said)),
        figure("calibration"),
        _more("The same as a table", table(["whose", "answers", "expected", "observed"], rows, label="Calibration")),
    )


def _cells(shares: Sequence[float] | np.ndarray) -> list[str]:
    return [share(float(value)) if value > 0 else "" for value in shares]


def absent(reason: str) -> Html:
    """Return why there is nothing to show."""
    return element("p", reason, class_="muted")


def _more(title: str, *inside: Html) -> Html:
    return element("details", element("summary", title), *inside)
