"""What the commands print: lines, tables, and JSON."""

import json
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from askwho.cli._terminal import visible

out = Console()
"""Where results go."""
err = Console(stderr=True)
"""Where progress goes."""


def print_line(line: str) -> None:
    """Print one line, whole: in a pipe nobody has said how wide the page is."""
    out.print(visible(line), markup=False, soft_wrap=True)


def print_frontier(title: str, points: list[dict[str, Any]], figure: str = "error") -> None:
    """Print every third of some settings by fee weight, error (or what `figure` calls it), mean fee and mean k."""
    print_table(
        [title + ": fee weight", figure, "mean fee", "mean k"],
        [
            [f"{p['fee_weight']:.4g}", f"{p['error']:.4f}", f"{p['mean_fee']:.4g}", f"{p['mean_k']:.2f}"]
            for p in points[::3]
            if p["error"] is not None
        ],
    )


def print_validated(title: str, points: list[dict[str, Any]], figure: str = "error") -> None:
    """Print every third of the settings that targets are met by, without errors where these are estimates."""
    if any(point["error"] is not None for point in points):
        print_frontier(title, points, figure)
        return
    print_table(
        [title + ": fee weight", "mean fee", "mean k"],
        [[f"{p['fee_weight']:.4g}", f"{p['mean_fee']:.4g}", f"{p['mean_k']:.2f}"] for p in points[::3]],
    )
    print_line(
        "errors are estimates, and not told here: not everybody was asked about every query, or not every truth is "
        "known. `askwho evaluate` tells them of other rows, with the effective rows behind each."
    )


def print_summary(summary: dict[str, Any], *, as_json: bool, figure: str = "error") -> None:
    """Print a line for each entry, or one JSON object; errors are called what `figure` says, in lines alone."""
    if as_json:
        print_json(summary)
        return
    for key, value in summary.items():
        shown = f"{value:.4g}" if isinstance(value, float) else value
        print_line(f"{key.replace('_', ' ').replace('error', figure)}: {shown}")


def print_table(head: list[str], rows: list[list[str]]) -> None:
    """Print a table, the first column to the left, the others to the right."""
    table = RichTable(box=None, pad_edge=False)
    for i, name in enumerate(head):
        table.add_column(escape(name), justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*(escape(visible(cell)) for cell in row))
    out.print(table)


def hush() -> None:
    """Print no results and no progress from here on: of processes that train together the first does. Errors stay."""
    out.quiet = err.quiet = True


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    if out.quiet:
        return
    typer.echo(json.dumps(value, ensure_ascii=False, allow_nan=False, default=str))
