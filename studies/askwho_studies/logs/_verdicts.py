"""One verdict for each log and rival, by blind area, corrected for how many there are; and rivals over all logs."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from askwho_studies.logs._compare import Apart, holm

LEVEL = 0.05
"""A corrected p-value below this is a win or a loss."""
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "singles": ("best single", "cheapest single", "random"),
    "votes": ("vote", "weighted vote", "median"),
    "features alone": ("features (linear)", "features (forest)", "features (words)"),
    "stacking": ("stacking (linear)", "stacking (boosted)", "stacking+ (linear)", "stacking+ (LightGBM)"),
    "routers": ("neighbour router", "forest router", "threshold (linear)", "threshold (forest)", "embedding router"),
    "cascades": ("agreement cascade", "confidence cascade", "cascade routing", "FrugalML"),
    "dynamic selection": ("KNORA-U", "KNORA-E", "META-DES", "conformal sets"),
    "the paper": ("the paper's top-k",),
}
"""Which rivals are of a kind."""


def verdicts(logs: Mapping[str, Any], ours: str = "askwho") -> list[dict[str, Any]]:
    """Return every pair of a log and a rival with its difference, its corrected p-value and what it comes to."""
    rows = [
        {"log": name, "rival": rival, **row["area"]}
        for name, log in logs.items()
        for rival, row in log["against"].get(ours, {}).items()
        if row["area"] is not None and "askwho" not in rival
    ]
    return _decided(rows)


def pooled(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return every rival over the logs that allow it: the mean difference, corrected for the number of rivals."""
    found: list[dict[str, Any]] = []
    for rival in dict.fromkeys(row["rival"] for row in rows):
        mine = [row for row in rows if row["rival"] == rival]
        errors = np.array([row["error"] for row in mine])
        both = Apart(
            float(np.mean([row["difference"] for row in mine])), float(np.sqrt(np.square(errors).sum())) / len(mine), 0
        )
        found.append({"rival": rival, "logs": len(mine), "difference": both.mean, "error": both.error, "p": both.p})
    return _decided(found)


def append(study: Mapping[str, Any], path: Path) -> None:
    """Add a final run to those before it, a line each: its verdicts and where they came from; none is overwritten."""
    rows = verdicts(study["logs"])
    line = {"provenance": study["provenance"], "seeds": study["seeds"], "pooled": pooled(rows), "verdicts": rows}
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, allow_nan=False) + "\n")


def _decided(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for row, p in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["corrected"] = p
        row["verdict"] = "tie" if p >= LEVEL else "win" if row["difference"] < 0 else "loss"
    return rows


def lines_of(logs: Mapping[str, Any]) -> list[str]:
    """Return the tables of a page: rivals over all logs, by log, and counts by family."""
    rows = verdicts(logs)
    if not rows:
        return []
    lines = [
        "## The verdicts: blind area, corrected",
        "",
        (
            "askwho's error less the rival's, in the mean over the budgets that both reach, settings chosen on the "
            "other half of the rows; below 0 askwho is ahead. In brackets a standard error. Bold: a win or a loss by "
            "Holm's correction over all pairs. Numbers in parts of the best single's squared error."
        ),
        "",
        f"| rival | all logs | {' | '.join(logs)} |",
        "|---" * (len(logs) + 2) + "|",
    ]
    for total in pooled(rows):
        cells = [
            next((_cell(row) for row in rows if (row["log"], row["rival"]) == (name, total["rival"])), "-")
            for name in logs
        ]
        lines.append(f"| {total['rival']} | {_cell(total)} | {' | '.join(cells)} |")
    lines += ["", "| family | pairs | wins | ties | losses | by budget, blind W/T/L |", "|---" * 6 + "|"]
    for family, members in FAMILIES.items():
        mine = [row for row in rows if row["rival"] in members]
        if mine:
            counts = [sum(row["verdict"] == each for row in mine) for each in ("win", "tie", "loss")]
            lines.append(f"| {family} | {len(mine)} | {' | '.join(map(str, counts))} | {_by_budget(logs, members)} |")
    return [*lines, ""]


def _by_budget(logs: Mapping[str, Any], members: tuple[str, ...]) -> str:
    rows = [row for log in logs.values() for rival, row in log["against"].get("askwho", {}).items() if rival in members]
    return "/".join(str(sum(row["blind"][key] for row in rows)) for key in ("wins", "ties", "losses"))


def _cell(row: Mapping[str, Any]) -> str:
    told = f"{row['difference']:+.4f} ({row['error']:.4f})"
    return told if row["verdict"] == "tie" else f"**{told}**"
