"""The hulls of every method, one panel a log."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

# Ours in strong colours and thick lines, above the rest.
_STRONG = {"askwho": "#c1121f", "askwho (no base)": "#f4978e"}
# The rivals, one after the other: twenty colours are as many as can be told apart.
_PALETTE = (
    *("#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf", "#aec7e8", "#98df8a"),
    *("#c5b0d5", "#c49c94", "#dbdb8d", "#9edae5", "#393b79", "#637939", "#8c6d31", "#3182bd", "#e6550d", "#31a354"),
)


def draw(study: Mapping[str, Any], path: Path) -> str | None:
    """Draw the study's figure; return a hint instead where matplotlib is missing."""
    try:
        figure_module: Any = importlib.import_module("matplotlib.figure")
    except ImportError:
        return "The figure needs matplotlib: pip install 'askwho[plot]'"
    logs = study["logs"]
    columns = min(3, len(logs))
    lines = -(-(len(logs) + 1) // columns) if columns > 1 else len(logs) + 1
    figure = figure_module.Figure(figsize=(5.4 * columns, 4.2 * lines), layout="constrained")
    axes: list[Any] = list(np.ravel(figure.subplots(lines, columns)))
    names = list(dict.fromkeys(method for log in logs.values() for method in log["methods"]))
    styles = _styles(names)
    for axis, (name, log) in zip(axes, logs.items(), strict=False):
        _panel(axis, name, log, styles)
    for axis in axes[len(logs) :]:
        axis.axis("off")
    handles: dict[str, Any] = {}
    for axis in axes[: len(logs)]:
        handles |= dict(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    axes[len(logs)].legend(
        [handles[name] for name in names if name in handles],
        [name for name in names if name in handles],
        loc="upper left",
        ncols=2,
        fontsize=8,
        frameon=False,
    )
    figure.suptitle(f"Hulls of fee and error on test rows, seed {study['seeds'][0]}; dotted: the best single entity")
    figure.savefig(path, dpi=110)
    return None


def _panel(axis: Any, name: str, log: Mapping[str, Any], styles: Mapping[str, Any]) -> None:  # noqa: ANN401
    """One log: the hull of each method in its first seed, free settings at the left edge."""
    edge = min(log["budgets"][0], 1.0) / 2
    for method, row in log["methods"].items():
        if row["needs_truth"]:
            continue
        hull = np.array(row["hulls"][0], dtype=float)
        axis.plot(np.maximum(hull[:, 0], edge), hull[:, 1], label=method, **styles[method])
    axis.axhline(log["best_single"]["error"], color="black", linewidth=0.6, linestyle=":")
    shown = [row["hulls"][0] for row in log["methods"].values() if not row["needs_truth"]]
    lowest = min(point[1] for hull in shown for point in hull)
    # Weak methods would press the interesting part flat: the axis ends a little above the best single entity.
    top = log["best_single"]["error"] + 0.6 * (log["best_single"]["error"] - lowest)
    axis.set_ylim(lowest - 0.05 * (top - lowest), top if top > lowest else None)
    axis.set_xscale("log")
    axis.set_title(f"{name} ({log['n']} rows, {log['entities']} entities)", fontsize=10)
    axis.set_xlabel("mean fee / best single's fee (left edge: free)", fontsize=8)
    axis.set_ylabel("RMSE" if log["task"] == "regression" else "error", fontsize=8)
    axis.tick_params(labelsize=7)


def _styles(names: list[str]) -> dict[str, dict[str, Any]]:
    marks = "osv^<>DPX*hpd"
    styles: dict[str, dict[str, Any]] = {}
    for i, name in enumerate(names):
        strong = name in _STRONG
        styles[name] = {
            "color": _STRONG.get(name, _PALETTE[i % len(_PALETTE)]),
            "linewidth": 2.4 if strong else 1.0,
            "marker": "." if strong else marks[i % len(marks)],
            "markersize": 4 if strong else 4.5,
            "zorder": 5 if strong else 3,
        }
    return styles
