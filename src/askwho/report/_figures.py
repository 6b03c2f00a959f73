"""What is drawn of the decisions: who is asked, how many, and how far expectations hold."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from askwho._unit import Unit
from askwho.report._drawing import Drawing
from askwho.report._findings import Bin, Decided, Grouping
from askwho.report._html import name_of, plain
from askwho.report._palette import LIGHT
from askwho.report._words import number, share

MOST_ENTITIES = 12
"""Bars that a figure can hold and still be read; everybody is in the table below it."""
# Of one colour, from the first rank, or the largest k, on: each is told from the next in print too.
_SHADES = (1.0, 0.62, 0.4, 0.25, 0.15)


def asked(decided: Decided) -> Drawing:
    """Draw the share of queries about which each entity is asked, by rank."""
    by_rank, names = decided.by_rank, decided.decisions.panel.names
    order = most_asked(decided)
    ranks = _folded(by_rank[order], 4)

    def paint(figure: Any, *, phone: bool) -> None:  # noqa: ANN401
        axis = figure.subplots()
        places, left = np.arange(len(order))[::-1], np.zeros(len(order))
        for r, part in enumerate(ranks.T):
            word = ("first", "second", "third", "fourth or later")[r]
            axis.barh(places, part, left=left, height=0.68, color=LIGHT["accent"], alpha=_SHADES[r], label=word)
            left += part
        for place, total in zip(places, left, strict=True):
            axis.text(total + 0.008, place, share(float(total)), va="center", fontsize=8.5, color=LIGHT["muted"])
        axis.set_yticks(places, [name_of(names[j], 17 if phone else 32) for j in order])
        axis.tick_params(axis="y", length=0, labelcolor=LIGHT["ink"])
        axis.set_xlim(0, min(1.0, float(left.max())) * 1.14 + 1e-9)
        axis.xaxis.set_major_formatter(lambda value, _: share(value))
        axis.set_xlabel("share of queries")
        axis.spines["left"].set_visible(False)
        if ranks.shape[1] > 1:
            figure.legend(loc="outside lower center", ncols=2 if phone else 4, columnspacing=1.2, handletextpad=0.5)

    lead = order[0]
    says = f"{plain(names[lead], 40)} is asked most often, about {share(float(by_rank[lead].sum()))} of the queries."
    height = 0.27 * len(order) + 1.0
    return Drawing("asked", says, paint, height=height, phone_height=height + 0.2)


def groups(decided: Decided, grouping: Grouping) -> Drawing:
    """Draw the share of each group's queries about which each entity is asked."""
    names, order = decided.decisions.panel.names, most_asked(decided)[:8]
    shown = range(min(len(grouping.names), 14))
    cells = np.stack([decided.asked(grouping.codes == g)[order] for g in shown])

    def paint(figure: Any, *, phone: bool) -> None:  # noqa: ANN401
        axis = figure.subplots()
        for g, row in enumerate(cells):
            for e, value in enumerate(row):
                # Two digits of opacity are as many as can be seen, and keep the sheet of styles short.
                shade = round(0.04 + 0.5 * float(value), 2)
                axis.bar(e, 0.88, 0.94, bottom=g - 0.44, color=LIGHT["accent"], alpha=shade)
                text = f"{value:.0%}".rstrip("%") if phone else f"{value:.0%}"
                axis.text(e, g, text, ha="center", va="center", fontsize=8.5)
        axis.set_xlim(-0.5, len(order) - 0.5)
        axis.set_ylim(len(cells) - 0.5, -0.5)
        axis.set_yticks(range(len(cells)), [name_of(grouping.names[g], 15 if phone else 26) for g in shown])
        long = phone or max(len(names[j]) for j in order) > 70 // len(order)
        axis.set_xticks(
            range(len(order)),
            [name_of(names[j], 15 if phone else 20) for j in order],
            rotation=40 if long else 0,
            ha="right" if long else "center",
            rotation_mode="anchor" if long else "default",
        )
        axis.tick_params(length=0, labelcolor=LIGHT["ink"])
        for spine in axis.spines.values():
            spine.set_visible(False)

    says = f"The share of queries about which each entity is asked, by {plain(grouping.column, 40)}."
    height = 0.28 * len(cells) + 1.1
    return Drawing("groups", says, paint, height=height, phone_height=height + 0.2)


def difficulty(decided: Decided, codes: Int[np.ndarray, " n"]) -> Drawing:
    """Draw how many are asked, by how hard the queries look."""
    k, count = decided.decisions.k, int(codes.max()) + 1
    most = int(k.max())
    shares = _folded(
        np.stack([np.bincount(k[codes == b] - 1, minlength=most) / (codes == b).sum() for b in range(count)]), 5
    )
    means = [float(k[codes == b].mean()) for b in range(count)]

    def paint(figure: Any, *, phone: bool) -> None:  # noqa: ANN401
        axis = figure.subplots()
        bottom = np.zeros(count)
        shades = _SHADES[: shares.shape[1]][::-1]
        for s, part in enumerate(shares.T):
            last = s == shares.shape[1] - 1 and most > s + 1
            word = f"k = {s + 1}" + (" or more" if last else "")
            axis.bar(range(count), part, bottom=bottom, width=0.82, color=LIGHT["accent"], alpha=shades[s], label=word)
            bottom += part
        for b, mean in enumerate(means):
            axis.text(b, 1.02, f"{mean:.1f}", ha="center", va="bottom", fontsize=8.5)
        axis.set_xticks(range(count), [str(b + 1) for b in range(count)])
        axis.set_ylim(0, 1.1)
        axis.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
        axis.tick_params(axis="x", length=0)
        axis.set_xlabel("from easy to hard; above: mean k" if phone else "queries from easy to hard; above: mean k")
        axis.set_ylabel("share of queries")
        figure.legend(loc="outside lower center", ncols=3 if phone else 5, columnspacing=1.2, handletextpad=0.5)

    says = f"From easy to hard queries the mean k goes from {number(means[0])} to {number(means[-1])}."
    return Drawing("difficulty", says, paint)


def calibration(chosen: Sequence[Bin], whose: str, entities: Sequence[Bin], unit: Unit) -> Drawing:
    """Draw expected against observed errors: of what was chosen, `whose` in words, and of everybody alone."""

    def paint(figure: Any, *, phone: bool) -> None:  # noqa: ANN401
        axis = figure.subplots()
        top = max(max(b.expected, b.error, b.error_interval[1] or 0.0) for b in [*chosen, *entities])
        axis.plot([0, top * 1.05], [0, top * 1.05], "--", color=LIGHT["muted"], linewidth=1, label="as expected")
        for bins, colour, mark, name in (
            (entities, LIGHT["muted"], "o", "each entity alone"),
            (chosen, LIGHT["accent"], "s", whose),
        ):
            if bins:
                around = np.array([[b.error_interval[0], b.error_interval[1]] for b in bins], dtype=np.float64)
                errors = np.array([b.error for b in bins], dtype=np.float64)
                reach = np.maximum(0.0, np.stack([errors - around[:, 0], around[:, 1] - errors]))
                axis.errorbar(
                    [b.expected for b in bins],
                    errors,
                    yerr=np.nan_to_num(reach),
                    fmt=mark,
                    color=colour,
                    markersize=4.5,
                    elinewidth=1.1,
                    label=name,
                )
        axis.set_xlim(0, top * 1.05 or 1.0)
        axis.set_ylim(0, top * 1.05 or 1.0)
        axis.set_xlabel(f"expected {unit.name}")
        axis.set_ylabel(f"observed {unit.name}")
        axis.grid(linewidth=0.6)
        figure.legend(loc="outside lower center", ncols=2 if phone else 3, columnspacing=1.2, handletextpad=0.5)

    alt = f"Observed against expected {unit.word}, in bins; the nearer to the line the better."
    return Drawing("calibration", alt, paint)


def most_asked(decided: Decided) -> Int[np.ndarray, " m"]:
    """Return the entities that are ever asked, the most asked first, at most so many as can be shown, shape (m,)."""
    total = decided.by_rank.sum(axis=1)
    order = np.argsort(-total, kind="stable")
    return order[: max(1, min(MOST_ENTITIES, int((total > 0).sum())))]


def _folded(shares: Float[np.ndarray, "r c"], most: int) -> Float[np.ndarray, "r m"]:
    """The first columns, the last of them with all that follow; columns that nobody has at the end left out."""
    used = max(1, int(np.flatnonzero(shares.any(axis=0)).max(initial=0)) + 1)
    if used <= most:
        return shares[:, :used]
    return np.column_stack([shares[:, : most - 1], shares[:, most - 1 :].sum(axis=1)])
