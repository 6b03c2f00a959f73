"""An experiment as files: JSON with everything, the paper's four panels, and a page of tables."""

import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from askwho._processes import is_first
from askwho_studies._provenance import provenance
from askwho_studies.paper._claims import Claim, claims_table
from askwho_studies.paper._frontiers import (
    ADAPTIVE,
    AT_BEST,
    CASCADE,
    EVERYBODY,
    FIXED,
    ONCE,
    ORACLE,
    PER_PRICE,
    RANDOM,
)

# One look a method in all panels; markers tell them apart where colours cannot.
_STYLES: Mapping[str, Mapping[str, Any]] = {
    FIXED: {"color": "#1f77b4", "marker": "o", "linestyle": "-"},
    PER_PRICE: {"color": "#2ca02c", "marker": "s", "linestyle": "-"},
    AT_BEST: {"color": "#17becf", "marker": "p", "linestyle": "-"},
    ONCE: {"color": "#c1121f", "marker": ".", "linestyle": "-"},
    RANDOM: {"color": "#7f7f7f", "marker": "x", "linestyle": ":"},
    ORACLE: {"color": "black", "marker": "^", "linestyle": "--"},
    EVERYBODY: {"color": "#9467bd", "marker": "*", "markersize": 11, "linestyle": "none"},
    CASCADE: {"color": "#8c564b", "marker": "v", "linestyle": "-", "alpha": 0.6},
}
ENCODER, NO_ENCODER = "encoder of k(x)", "none: the policy's own scores"
"""The setting that says what an image experiment's k(x) reads, and what it says without an encoder."""
ENCODER_AT_HAND = "The recorded results have one: `pip install . './studies[encoder]'` in a checkout."
"""What is to be done where a result was made without."""
# As the paper prints its figures.
_UNITS = {"regression": "RMSE × 100", "classification": "accuracy (%)"}


def study(
    name: str,
    *,
    task: str,
    seeds: Sequence[int],
    quick: bool,
    seconds: float,
    settings: Mapping[str, Any],
    arms: Mapping[str, Any],
    claims: Sequence[Claim],
) -> dict[str, Any]:
    """Return an experiment as plain JSON, with where it came from; arms are what `summary` gives, by name."""
    source: dict[str, Any] = provenance("torch")
    return {
        "experiment": name,
        "quick": quick,
        "task": task,
        "seeds": list(seeds),
        "seconds": round(seconds, 1),
        "settings": dict(settings),
        "provenance": {**source, "hardware": {**source["hardware"], **gpu()}},
        "claims": [asdict(claim) for claim in claims],
        "arms": dict(arms),
    }


def write(found: Mapping[str, Any], out: Path) -> list[str]:
    """Write `<experiment>.json`, `.md` and, where matplotlib is installed, `.png`; return the names of the files."""
    if not is_first():
        # Of processes that train together the first writes.
        return []
    out.mkdir(parents=True, exist_ok=True)
    name = found["experiment"]
    (out / f"{name}.json").write_text(
        json.dumps(found, allow_nan=False, separators=(",", ":")) + "\n", encoding="utf-8"
    )
    hint = draw(found, out / f"{name}.png")
    page = markdown(found) + (f"\n{hint}\n" if hint else "")
    (out / f"{name}.md").write_text(page, encoding="utf-8")
    return [f"{name}.json", f"{name}.md", *([] if hint else [f"{name}.png"])]


def markdown(found: Mapping[str, Any]) -> str:
    """Return an experiment as a page of tables."""
    quick = "**A quick run: fewer seeds and epochs than the experiment. Its figures are no results.**"
    why = "A quick run has none." if found["quick"] else ENCODER_AT_HAND
    bare = f"**Without an image encoder: k(x) is learned from the policy's own scores. {why}**"
    lines = [f"# {found['experiment']}", "", *([quick, ""] if found["quick"] else [])]
    lines += [bare, ""] if found["settings"].get(ENCODER) == NO_ENCODER else []
    how = (
        f"{_UNITS[found['task']]}: mean ± standard deviation over seeds {found['seeds']}; {found['seconds']} s. "
        "Settings under a budget are chosen on rows that are not test rows; mixing two at random is allowed. Best-of-k "
        "and top-k need the truth: nobody can deploy them."
    )
    lines += [
        how,
        "",
        f"Settings: {json.dumps(found['settings'], ensure_ascii=False)}",
        "",
        f"Provenance: {json.dumps(found['provenance'], ensure_ascii=False)}",
        "",
        *(claims_table(found["claims"]) if found["claims"] else []),
        "",
    ]
    for arm, table in found["arms"].items():
        lines += [f"## {arm}", "", *_entities(table["entities"]), "", *_top_1(table["top_1"]), ""]
        for metric, figures in table["metrics"].items():
            lines += [f"### {metric}", "", *_at_budgets(table["budgets"], figures), "", *_every_k(figures), ""]
    return "\n".join(lines)


def draw(found: Mapping[str, Any], path: Path) -> str | None:
    """Draw the paper's four panels, a row for each arm that has both kinds of k(x).

    Where matplotlib is missing a hint comes back instead.
    """
    try:
        figure_module: Any = importlib.import_module("matplotlib.figure")
    except ImportError:
        return "The figure needs matplotlib: pip install 'askwho[plot]'"
    arms = {arm: table for arm, table in found["arms"].items() if _whole(table)} or found["arms"]
    figure = figure_module.Figure(figsize=(17, 4 * len(arms)), layout="constrained")
    axes = np.atleast_2d(figure.subplots(len(arms), 4))
    for row, (arm, table) in zip(axes, arms.items(), strict=True):
        metrics = list(table["metrics"])[:3]
        shown = [(metrics[0], (FIXED, RANDOM, ORACLE)), *((m, (FIXED, *ADAPTIVE)) for m in metrics)]
        for axis, (metric, names) in zip(row, shown, strict=True):
            extra = (EVERYBODY,) if metric == metrics[0] else (CASCADE, EVERYBODY)
            _panel(axis, table, metric, (*names, *extra), found["task"])
            axis.set_title(f"{arm}: {metric}" + (" (needs the truth)" if metric == metrics[0] else ""), fontsize=9)
    quick = ", quick run: no result" if found["quick"] else ""
    figure.suptitle(f"{found['experiment']}: seeds {found['seeds']}, bars of one standard deviation{quick}")
    figure.savefig(path, dpi=72)
    return None


def gpu() -> dict[str, str]:
    """The GPU's name, where torch was used and sees one."""
    torch: Any = sys.modules.get("torch")
    return {} if torch is None or not torch.cuda.is_available() else {"gpu": torch.cuda.get_device_name()}


def _whole(table: Mapping[str, Any]) -> bool:
    return all(PER_PRICE in figures["methods"] for figures in table["metrics"].values())


def _panel(axis: Any, table: Mapping[str, Any], metric: str, names: Sequence[str], task: str) -> None:  # noqa: ANN401
    methods = {name: points for name, points in table["metrics"][metric]["methods"].items() if name in names}
    for name, points in methods.items():
        _line(axis, points, name, _STYLES[name])
    for i, (name, points) in enumerate(table["top_1"].items()):
        _line(axis, points, name, {"color": f"C{i + 4}", "marker": "D", "markersize": 4, "linestyle": "none"})
    heights = [value for name, points in methods.items() if name != CASCADE for value in points["error"]["mean"]]
    best, worst = (min, max) if task == "regression" else (max, min)
    focus = best(heights), worst(methods[FIXED]["error"]["mean"])
    margin = 0.08 * (focus[1] - focus[0])
    axis.set_ylim(*sorted((focus[0] - margin, focus[1] + 2 * margin)))
    axis.set_xlabel("mean fee", fontsize=8)
    axis.set_ylabel(_UNITS[task], fontsize=8)
    axis.tick_params(labelsize=7)
    axis.legend(fontsize=6, frameon=False)


def _line(axis: Any, points: Mapping[str, Any], name: str, style: Mapping[str, Any]) -> None:  # noqa: ANN401
    x, y, dx, dy = (
        np.array([0.0 if value is None else value for value in points[part][kind]])
        for kind in ("mean", "std")
        for part in ("fee", "error")
    )
    order = np.argsort(x)
    errors = {"xerr": dx[order], "yerr": dy[order], "elinewidth": 0.6}
    axis.errorbar(x[order], y[order], label=name, linewidth=1.1, **{"markersize": 4, **errors, **style})


def _entities(table: Mapping[str, Any]) -> list[str]:
    lines = [f"| entity | {' | '.join(table['names'])} |", "|---" * (len(table["names"]) + 1) + "|"]
    lines.append(f"| alone | {' | '.join(_cells(table['error']))} |")
    return [*lines, f"| fee | {' | '.join(f'{fee:g}' for fee in table['fee']['mean'])} |"]


def _top_1(rivals: Mapping[str, Any]) -> list[str]:
    lines = ["| asks one | fee weight | error | fee |", "|---" * 4 + "|"] if rivals else []
    for name, table in rivals.items():
        cells = zip(table["settings"], _cells(table["error"]), _cells(table["fee"]), strict=True)
        lines += [f"| {name} | {setting:g} | {error} | {fee} |" for setting, error, fee in cells]
    return lines


def _at_budgets(budgets: Sequence[float], figures: Mapping[str, Any]) -> list[str]:
    lines = [f"| mean fee of at most | {' | '.join(f'{b:g}' for b in budgets)} |", "|---" * (len(budgets) + 1) + "|"]
    for name, table in figures["at_budgets"].items():
        lines.append(f"| {name} | {' | '.join(_cells(table))} |")
    for name, table in figures["gains"].items():
        lines.append(f"| gain of {name} over {FIXED} | {' | '.join(_cells(table['at_budgets']))} |")
    return lines


def _every_k(figures: Mapping[str, Any]) -> list[str]:
    fixed = figures["methods"][FIXED]
    lines = [f"| k | {' | '.join(f'{k:g}' for k in fixed['settings'])} |", "|---" * (len(fixed["settings"]) + 1) + "|"]
    lines += [
        f"| {FIXED} | {' | '.join(_cells(fixed['error']))} |",
        f"| its fee | {' | '.join(_cells(fixed['fee']))} |",
    ]
    for name, table in figures["gains"].items():
        lines.append(f"| gain of {name} at that fee | {' | '.join(_cells(table['at_each_k']))} |")
    return lines


def _cells(table: Mapping[str, Any]) -> list[str]:
    return [_cell(mean, std) for mean, std in zip(table["mean"], table["std"], strict=True)]


def _cell(mean: float | None, std: float | None) -> str:
    if mean is None:
        return "-"
    return f"{mean:.4g}" + ("" if std is None else f" ± {std:.2g}")
