"""What is drawn of the evaluation: error against mean fee, the policy beside the baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from askwho._unit import Unit
from askwho.evaluation import Frontier
from askwho.report._drawing import Drawing
from askwho.report._html import name_of
from askwho.report._palette import LIGHT
from askwho.report._words import error_of, number

EVERYBODY = {
    "majority_all": "everybody's vote",
    "mean_all": "everybody's mean",
    "weighted_all": "everybody, weighed",
}
"""What everybody together is called, by its name among the baselines: in few words, or a legend of two columns is wider
than a phone."""


@dataclass(frozen=True, eq=False)
class Series:
    """Settings by mean fee: fees, errors and the ends of their intervals, each (s,); NaN where there is none."""

    fees: Float[np.ndarray, " s"]
    errors: Float[np.ndarray, " s"]
    low: Float[np.ndarray, " s"]
    high: Float[np.ndarray, " s"]

    @classmethod
    def of(cls, rows: Sequence[Mapping[str, Any]], name: str = "error") -> "Series":
        """Return what rows of an evaluation say, those without an error left out."""
        known = [row for row in rows if row[name] is not None and row["mean_fee"] is not None]
        cells = [(row["mean_fee"], row[name], *row[f"{name}_interval"]) for row in known]
        columns = np.array(cells, dtype=np.float64).reshape(-1, 4).T
        return cls(*columns)

    def hull(self, unit: Unit) -> "Series":
        """Return the settings worth using; for squared errors mixtures mix squares."""
        if not len(self.fees):
            return self
        best = Frontier.of(self.fees, unit.losses(self.errors)).settings
        return Series(self.fees[best], self.errors[best], self.low[best], self.high[best])


def frontier(result: Mapping[str, Any]) -> Drawing:
    """Draw error against mean fee: the policy, with intervals, beside the baselines."""
    unit = Unit.from_json(result["unit"])
    base, best = result["baselines"], result["baselines"]["best_single"]
    ours = {
        "askwho, all at once": (Series.of(_taken(result["adaptive"])), LIGHT["accent"], "o"),
        "askwho, one at a time": (Series.of(_taken(result["sequential"])), LIGHT["warm"], "s"),
        "askwho, one k for all": (Series.of(result["fixed_k"]).hull(unit), LIGHT["accent"], "x"),
    }
    oracle = Series.of(base["oracle"], "needs_truth_error")
    chance = Series.of(base["random"])
    alone = Series.of([_priced(entity) for entity in result["entities"]])
    everyone = {name: Series.of([base[key]]) for key, name in EVERYBODY.items() if key in base}
    single = Series.of([best])

    def paint(figure: Any, *, phone: bool) -> None:  # noqa: ANN401
        axis = figure.subplots()
        seen = [series for series, *_ in ours.values()] + [oracle, single, *everyone.values()]
        place = _fee_axis(axis, [*seen, alone, chance])
        for name, (series, colour, mark) in ours.items():
            x, thin = place(series.fees), mark == "x"
            style = {"linewidth": 0.9, "linestyle": ":"} if thin else {"linewidth": 1.8}
            if len(x):
                axis.plot(x, series.errors, color=colour, marker=mark, markersize=3.6, label=name, zorder=5, **style)
            if not thin:
                axis.fill_between(x, series.low, series.high, color=colour, alpha=0.14, linewidth=0, zorder=2)
        axis.plot(
            place(alone.fees), alone.errors, "o", color=LIGHT["muted"], markersize=4, alpha=0.55, label="one alone"
        )
        axis.errorbar(
            place(single.fees),
            single.errors,
            yerr=_around(single),
            fmt="D",
            color=LIGHT["ink"],
            markersize=5.5,
            elinewidth=1,
            label="best single" if phone else f"best single: {name_of(best['name'], 20)}",
            zorder=6,
        )
        for mark, (name, series) in zip("^v", everyone.items(), strict=False):
            axis.plot(place(series.fees), series.errors, mark, color=LIGHT["muted"], markersize=6, label=name)
        if len(chance.fees) > 1:
            axis.plot(place(chance.fees), chance.errors, "--", color=LIGHT["muted"], linewidth=1, label="k at random")
        axis.plot(
            place(oracle.fees),
            oracle.errors,
            ":*",
            color=LIGHT["good"],
            markersize=7,
            linewidth=1,
            markerfacecolor="none",
            label="oracle (needs the truth)",
        )
        axis.set_ylim(*_view(seen, [single, *(series for series, *_ in ours.values())]))
        axis.set_ylabel(unit.name)
        axis.grid(axis="y", linewidth=0.6)
        figure.legend(loc="outside lower center", ncols=2 if phone else 4, columnspacing=1.2, handletextpad=0.5)

    first = ours["askwho, all at once"][0]
    says = (
        f"The {unit.name} against the mean fee. askwho, all at once, goes from "
        f"{error_of(_at(first.errors, 0), unit)} at {number(_at(first.fees, 0))} to "
        f"{error_of(_at(first.errors, -1), unit)} at {number(_at(first.fees, -1))}; the best single entity gets "
        f"{error_of(best['error'], unit)} at {number(best['mean_fee'])}."
    )
    return Drawing("frontier", says, paint, height=4.3, phone_height=4.9)


def _taken(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The settings that the policy would take, by rising fee: of all of them the best on these rows is partly luck."""
    taken = [row for row in rows if row["on_frontier"] and row["mean_fee"] is not None]
    return sorted(taken, key=lambda row: row["mean_fee"])


def _fee_axis(axis: Any, series: Sequence[Series]) -> Any:  # noqa: ANN401
    """Set the axis of fees, by ratios where they span much; return where a fee is drawn."""
    axis.set_xlabel("mean fee")
    fees = np.concatenate([s.fees for s in series])
    paid = fees[fees > 0]
    if not paid.size or paid.max() / paid.min() < 30:
        # Both ends: with one alone matplotlib would keep the other where it stands before anything is drawn, at 1.
        most = float(paid.max(initial=0.0)) or 1.0
        axis.set_xlim(-0.03 * most, 1.04 * most)
        return lambda values: values
    edge = max(paid.min() / 2, paid.max() / 2000)
    free = bool((fees < edge).any())
    axis.set_xscale("log")
    axis.set_xlim(edge * (0.85 if free else 1.5), paid.max() * 1.3)
    decades = [
        10.0**d for d in range(int(np.ceil(np.log10(edge * 1.6))), int(np.floor(np.log10(paid.max() * 1.3))) + 1)
    ]
    ticks = [*([edge] if free else []), *decades]
    axis.set_xticks(ticks, [*(["free"] if free else []), *(f"{tick:g}" for tick in decades)])
    axis.set_xticks([], minor=True)
    return lambda values: np.maximum(values, edge)


def _view(points: Sequence[Series], whole: Sequence[Series]) -> tuple[float, float]:
    """What of the errors is in the frame: chief baselines, `whole` with intervals; the weak would press it flat."""
    ends = [*(s.errors for s in points), *(s.high for s in whole), *(s.low for s in whole)]
    shown = np.concatenate(ends)
    shown = shown[~np.isnan(shown)]
    if not shown.size:
        # Too few rows to tell anything of anybody: an empty frame says so.
        return 0.0, 1.0
    low, high = float(shown.min()), float(shown.max())
    room = 0.06 * (high - low) or 0.05
    return max(low - room, -room), high + room


def _around(series: Series) -> Float[np.ndarray, "2 s"]:
    reach = np.stack([series.errors - series.low, series.high - series.errors])
    return np.nan_to_num(np.maximum(reach, 0.0))


def _at(values: np.ndarray, place: int) -> float | None:
    return float(values[place]) if len(values) else None


def _priced(entity: Mapping[str, Any]) -> dict[str, Any]:
    return {**entity, "mean_fee": entity["fee"]}
