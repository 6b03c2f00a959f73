"""What moved over time: errors and fees by blocks of it, and the features that are not what they were."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from askwho.data import Moved, OverTime, moment
from askwho.evaluation import Resamples, interval
from askwho.report._drawing import Drawing
from askwho.report._figures import most_asked
from askwho.report._findings import Decided, bins_of
from askwho.report._html import Html, element, joined, name_of, plain, quoted, table
from askwho.report._palette import LIGHT
from askwho.report._sections import Figure, absent, section
from askwho.report._words import Bounds, error_of, number, with_bounds

# Blocks that a table and a figure can hold and still be read.
_MOST_BLOCKS = 8
# Groups of a block: a few more than the thirty effective rows that an error is told of.
_LEAST_IN_A_BLOCK = 40
# Entities that are drawn beside the policy: each has a colour of its own.
_COLOURS = ("ink", "warm", "good", "bad", "muted")

Told = tuple[float | None, Bounds]


@dataclass(frozen=True, eq=False)
class Blocks:
    """Queries by when they were: what was got and paid in each block of time.

    Args:
        starts: when each block begins, as it is shown.
        sizes: how many queries it has.
        errors: what the policy gets, with intervals; nothing where too few tell.
        fees: what it pays, likewise.
        entities: what each entity gets alone, by its place in the panel, block by block.
        features: those that moved, most first.
        drifted: the entities whose errors moved, most first.
    """

    starts: tuple[str, ...]
    sizes: tuple[int, ...]
    errors: tuple[Told, ...]
    fees: tuple[Told, ...]
    entities: tuple[tuple[Told, ...], ...]
    features: tuple[Moved, ...]
    drifted: tuple[Moved, ...]

    @classmethod
    def of(cls, decided: Decided, resamples: Resamples) -> "Blocks | None":
        """Return the blocks of a log; None where it does not say when its rows were, or is too short for two."""
        log = decided.held.log
        time = log.sampling.time
        count = min(_MOST_BLOCKS, len(np.unique(log.groups)) // _LEAST_IN_A_BLOCK)
        if time is None or count < 2:
            return None
        codes = bins_of(time, count)
        blocks = [codes == b for b in range(int(codes.max()) + 1)]
        if len(blocks) < 2:
            return None
        members = decided.decisions.members
        alone = np.eye(members.shape[1], dtype=bool)
        moving = OverTime()
        moving.add(log)
        features, drifted = moving.found()
        return cls(
            _starts([float(time[inside].min()) for inside in blocks], dated=log.sampling.dated),
            tuple(int(inside.sum()) for inside in blocks),
            tuple(decided.got(decided.errors, members, inside, resamples) for inside in blocks),
            tuple(_mean(decided.fees, inside, resamples) for inside in blocks),
            tuple(
                tuple(
                    decided.got(log.errors[:, j], np.broadcast_to(alone[j], members.shape), inside, resamples)
                    for inside in blocks
                )
                for j in range(len(alone))
            ),
            tuple(features),
            tuple(drifted),
        )


def over_time(blocks: Blocks, decided: Decided, best: str) -> Drawing:
    """Draw errors by block of time, the policy beside a few entities, and what it pays below."""
    unit, names = decided.policy.unit, decided.decisions.panel.names
    shown = _drawn(blocks, decided, best)
    places = np.arange(len(blocks.starts))
    paid = any(fee for fee, _ in blocks.fees)

    def paint(figure: Any, *, phone: bool) -> None:  # noqa: ANN401
        if paid:
            axis, below = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
        else:
            axis = below = figure.subplots()
        for colour, mark, j in zip(_COLOURS, "D^vxo", shown, strict=False):
            errors, _, _ = _series(blocks.entities[j])
            style = {"color": LIGHT[colour], "marker": mark, "markersize": 3.6, "linewidth": 1}
            axis.plot(places, errors, "--", label=name_of(names[j], 15 if phone else 24), **style)
        errors, low, high = _series(blocks.errors)
        axis.plot(places, errors, "o-", color=LIGHT["accent"], markersize=4, linewidth=1.8, label="askwho", zorder=5)
        axis.fill_between(places, low, high, color=LIGHT["accent"], alpha=0.14, linewidth=0, zorder=2)
        axis.set_ylabel(unit.name)
        axis.set_ylim(bottom=0)
        axis.grid(axis="y", linewidth=0.6)
        if paid:
            fees, low, high = _series(blocks.fees)
            below.plot(places, fees, "o-", color=LIGHT["accent"], markersize=4, linewidth=1.8)
            below.fill_between(places, low, high, color=LIGHT["accent"], alpha=0.14, linewidth=0)
            below.set_ylabel("mean fee")
            below.set_ylim(bottom=0)
            below.grid(axis="y", linewidth=0.6)
        below.set_xticks(places, blocks.starts, rotation=30, ha="right", rotation_mode="anchor")
        below.set_xlabel("block of time, by when it begins")
        figure.legend(loc="outside lower center", ncols=2 if phone else 4, columnspacing=1.2, handletextpad=0.5)

    first, last = blocks.errors[0][0], blocks.errors[-1][0]
    says = (
        f"The {unit.name} by block of time: askwho's goes from {error_of(first, unit)} in the first to "
        f"{error_of(last, unit)} in the last."
    )
    return Drawing("over-time", says, paint, height=4.6, phone_height=5.0)


def over_time_section(blocks: Blocks, decided: Decided, best: str, figure: Figure) -> Html:
    """Return what moved over time, in words, a figure and tables."""
    unit, names = decided.policy.unit, decided.decisions.panel.names

    def spell(value: float | None) -> str:
        return error_of(value, unit)

    single = blocks.entities[names.index(best)]
    rows = [
        [
            start,
            f"{size:,}",
            with_bounds(*got, spell),
            with_bounds(*paid, number),
            with_bounds(*alone, spell),
        ]
        for start, size, got, paid, alone in zip(
            blocks.starts, blocks.sizes, blocks.errors, blocks.fees, single, strict=True
        )
    ]
    word = unit.word.capitalize()
    head = ["from", "queries", f"askwho's {unit.name}", "its mean fee", "best single's"]
    everybody = [
        [quoted(names[j], 60), *(with_bounds(*told, spell) for told in each)] for j, each in enumerate(blocks.entities)
    ]
    return section(
        "over-time",
        "Over time",
        element("p", "The same setting, by when queries were. Brackets and the band are 95% intervals."),
        _moved(f"{word}s that moved", blocks.drifted, f"No entity's {word.lower()}s moved beyond chance."),
        _moved("Features that moved", blocks.features, "No feature moved beyond chance."),
        figure("over-time"),
        table(head, rows, label="Over time"),
        element(
            "details",
            element("summary", "Every entity alone, by block of time"),
            table(["entity", *blocks.starts], everybody, label="Entities over time"),
        ),
    )


def _moved(title: str, found: Sequence[Moved], otherwise: str) -> Html:
    if not found:
        return absent(otherwise)
    said = [
        joined([quoted(each.name, 60), ": ", quoted(each.before, 80), ", later ", quoted(each.after, 80)])
        for each in found
    ]
    return joined([element("p", f"{title}, from the earlier half to the later:"), element("ul", *_items(said))])


def _items(said: Sequence[Html]) -> list[Html]:
    return [element("li", one) for one in said]


def _drawn(blocks: Blocks, decided: Decided, best: str) -> list[int]:
    """Whom to draw: the best single, those whose errors moved, then those who are asked most."""
    names = list(decided.decisions.panel.names)
    wanted = [names.index(best), *(names.index(each.name) for each in blocks.drifted), *most_asked(decided).tolist()]
    return list(dict.fromkeys(wanted))[: len(_COLOURS)]


def _series(told: Sequence[Told]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Figures and the ends of their intervals, NaN where nothing is told."""
    cells = [(value, low, high) for value, (low, high) in told]
    columns = np.array(cells, dtype=np.float64).reshape(-1, 3).T
    return columns[0], columns[1], columns[2]


def _mean(values: Float[np.ndarray, " n"], inside: Bool[np.ndarray, " n"], resamples: Resamples) -> Told:
    """The mean of what is known of some rows, and its interval."""
    known = inside & ~np.isnan(values)
    if not known.any():
        return None, [None, None]
    drawn = resamples.weights[:, known]
    total = drawn.sum(axis=1)
    means = np.divide(drawn @ values[known], total, out=np.full(len(total), np.nan), where=total > 0)
    low, high = interval(means[1:])
    return float(means[0]), [None, None] if np.isnan(low) else [low, high]


def _starts(times: Sequence[float], *, dated: bool) -> tuple[str, ...]:
    """When blocks begin, in so few letters that they still differ."""
    whole = [moment(time, dated=dated) for time in times]
    ways: list[Callable[[str], str]] = [lambda text: text[:10], lambda text: text[:16]]
    for short in ways if dated else []:
        cut = [short(text) for text in whole]
        if len(set(cut)) == len(set(whole)):
            return tuple(plain(text, 30) for text in cut)
    return tuple(whole)
