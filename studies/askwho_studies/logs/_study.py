"""The benchmark on real logs: every method on every log, at the same money, with intervals."""

import json
import multiprocessing
import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from queue import Empty
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from askwho.core import folds
from askwho.evaluation import Point, table_of
from askwho.metrics import area, stated_budgets
from askwho_studies._kept import fingerprint, kept
from askwho_studies._provenance import provenance
from askwho_studies.logs._committees import SkippedError, best_single
from askwho_studies.logs._compare import Apart, Bootstrap, Priced, Tally, apart, at_budgets, at_budgets_blind, compare
from askwho_studies.logs._report import write
from askwho_studies.logs._rivals import METHODS, NEEDS_TRUTH, Method
from askwho_studies.logs._split import Split, load_log, log_names

Progress = Callable[[str], None]
# What measures nothing: it compares, and writes down.
_WRITERS = ("__init__", "_compare", "_figure", "_report", "_study", "_verdicts")
# What every other method is compared with: as it comes, and with nobody to ask but those in the log.
OURS = ("askwho", "askwho (no base)")


@dataclass
class Measured:
    """One method on one log, over the seeds: its settings, or why there are none, and on which machines."""

    points: list[list[Point]] = field(default_factory=list[list[Point]])
    seconds: float = 0.0
    skipped: str | None = None
    where: set[str] = field(default_factory=set[str])


@dataclass(frozen=True)
class _Piece:
    """Every method on one split of a log.

    Args:
        data: the folder of the data.
        name: of the log.
        seed: of the split.
        rows: how many of the log's rows; None takes all.
        methods: by name.
        kept: a folder; what a method got is written into it.
        mark: of what is written; a file with another one is made anew.
    """

    data: Path
    name: str
    seed: int
    rows: int | None
    methods: Mapping[str, Method]
    kept: Path
    mark: str

    def file(self, method: str) -> Path:
        # No two methods may share a file: they differ by more than signs.
        named = re.sub("[^a-z0-9]+", "-", method.lower().replace("+", " plus"))
        return self.kept / self.name / str(self.seed) / f"{named}.npz"


def run_logs(
    data: Path,
    *,
    names: Sequence[str] | None = None,
    seeds: Sequence[int] = (0, 1, 2),
    out: Path | None = None,
    rows: int | None = None,
    methods: Mapping[str, Method] | None = None,
    workers: int = 1,
    keep: Path | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return what every method gets and pays on every log, and how askwho stands against each.

    Args:
        data: the folder that holds `logs/<name>.parquet` and `logs/<name>.json`.
        names: which logs; all, unless said.
        seeds: one 60/40 split by group each.
        out: where to write `logs.json`, `logs.md` and `logs.png`, after every log; nothing is written unless said.
        rows: so many rows of each log, drawn at random, for a quick run.
        methods: by name; all of `METHODS`, unless said.
        workers: how many splits are studied at a time, each in a process of its own; the largest begin.
        keep: a folder for what each method got, split by split: a run of the same code goes on from there, on another
            machine too; the result says which commits and machines it is of.
        progress: called with a line of text as the study goes on.
    """
    say = progress or _unheard
    chosen = list(names or log_names(data))
    study: dict[str, Any] = {"seeds": list(seeds), "rows": rows, "provenance": provenance(), "logs": {}}
    with tempfile.TemporaryDirectory() as folder:
        place, mark = keep or Path(folder), _mark(study)
        wanted = dict(METHODS if methods is None else methods)
        # Seeds in turn, so that a run that is cut short has whole splits of every log.
        pieces = [_Piece(data, name, seed, rows, wanted, place, mark) for seed in seeds for name in reversed(chosen)]
        if workers > 1:
            _side_by_side(pieces, workers, say)
        for name in chosen:
            mine = [each for each in pieces if each.name == name]
            study["logs"][name] = log = study_log(mine, say if workers == 1 else _unheard)
            machines = study["provenance"].setdefault("measured_on", [])
            machines.extend(each for each in log.pop("measured_on") if each not in machines)
            say(f"{name}: {log['seconds']} s in all")
            if out is not None:
                write(study, out)
    return study


def _unheard(_: str) -> None:
    """Where nobody wants to know."""


def _mark(study: Mapping[str, Any]) -> str:
    """What was made under the same mark need not be made again; of a changed tree everything is.

    It holds what tells the code apart that measures: how results are written down may change meanwhile.
    """
    source = study["provenance"]
    fresh = os.urandom(8).hex() if source["commit"] is None or "+" in source["commit"] else ""
    package = Path(__file__).parent
    methods = [f"{__package__}.{path.stem}" for path in sorted(package.glob("_*.py")) if path.stem not in _WRITERS]
    return f"{fingerprint('askwho', *methods)}{fresh}, rows {study['rows']}"


def _side_by_side(pieces: Sequence[_Piece], workers: int, say: Progress) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(workers, mp_context=context) as pool:
        lines = manager.Queue()
        running = {pool.submit(_alone, piece, lines.put) for piece in pieces}
        while running:
            done, running = wait(running, timeout=1, return_when="FIRST_COMPLETED")
            try:
                while True:
                    say(lines.get_nowait())
            except Empty:
                pass
            for each in done:
                each.result()


def _alone(piece: _Piece, say: Progress) -> None:
    # Beside another process the threads of small matrix products only wait for each other.
    with threadpool_limits(1, "blas"):
        _measure(piece, say)


def _measure(piece: _Piece, say: Progress) -> dict[str, dict[str, np.ndarray]]:
    """Return what each method got on a split: from its file, or measured and written there."""

    @lru_cache(maxsize=1)
    def split() -> Split:
        return Split.of(load_log(piece.data, piece.name, rows=piece.rows), piece.seed)

    found: dict[str, dict[str, np.ndarray]] = {}
    for name, method in piece.methods.items():
        found[name] = one = kept(piece.file(name), piece.mark, lambda: _tried(method, split()))  # noqa: B023 - used at once
        told = str(one["skipped"]) or f"{float(one['seconds']):.1f} s"
        say(f"{piece.name}: seed {piece.seed}: {name}: {told}")
    return found


def _tried(method: Method, split: Split) -> dict[str, np.ndarray]:
    """What a method got on a split: errors and fees of its settings, or why there are none, and how long it took."""
    start = time.perf_counter()
    tables, skipped = (np.empty((0, 0)), np.empty((0, 0))), ""
    try:
        tables = table_of(method(split))
    except SkippedError as reason:
        skipped = f"skipped: {reason}"
    seconds = np.array(time.perf_counter() - start)
    source = provenance()
    where = json.dumps({name: source[name] for name in ("commit", "versions", "hardware")})
    found = {"errors": tables[0], "fees": tables[1], "seconds": seconds}
    return found | {"skipped": np.array(skipped), "where": np.array(where)}


def study_log(pieces: Sequence[_Piece], say: Progress) -> dict[str, Any]:
    """Return one log's part of the study, out of its splits."""
    log = load_log(pieces[0].data, pieces[0].name, rows=pieces[0].rows)
    measured = {name: Measured() for name in pieces[0].methods}
    splits = [Split.of(log, piece.seed) for piece in pieces]
    for piece in pieces:
        for name, one in _measure(piece, say).items():
            mine, settings = measured[name], zip(one["errors"].T, one["fees"].T, strict=True)
            mine.points.append([Point(errors, fees) for errors, fees in settings])
            mine.seconds += float(one["seconds"])
            mine.skipped = mine.skipped or str(one["skipped"]) or None
            mine.where.add(str(one["where"]))
    known = {name: each for name, each in measured.items() if each.skipped is None}
    fees = [_fee(split) for split in splits]
    budgets = [stated_budgets(split.price, float(split.price[split.best])) for split in splits]
    bootstrap = Bootstrap.of([split.test.groups for split in splits])
    fallback = [best_single(split)[0] for split in splits]
    priced = {
        name: [Priced.of(points, fallback=single) for points, single in zip(each.points, fallback, strict=True)]
        for name, each in known.items()
    }
    seen = {name: [at_budgets(*pair) for pair in zip(priced[name], budgets, strict=True)] for name in known}
    halves = [folds(split.test.groups, 2, random_state=split.seed) == 0 for split in splits]
    blind = {
        name: [at_budgets_blind(*four) for four in zip(each.points, fallback, budgets, halves, strict=True)]
        for name, each in known.items()
    }
    # What to beat at the best single entity's fee is that entity, in the same unit as everything else.
    singles = [float(Priced.of([point]).means[1][0]) for point in fallback]
    # Squared errors have no unit of their own: they are told in parts of the best single's.
    unit = float(np.mean(singles)) if log.task == "regression" else 1.0
    pairs = [(ours, rival) for ours in OURS if ours in known for rival in known if rival not in (ours, *NEEDS_TRUTH)]
    return {
        "task": log.task,
        "n": len(log),
        "entities": len(log.panel),
        "best_single": {
            "name": [log.panel.names[split.best] for split in splits],
            "fee": _round(np.mean(fees)),
            "error": _round(np.mean([_shown(single, log.task) for single in singles])),
        },
        "budgets": [_round(b) for b in np.mean([b / fee for b, fee in zip(budgets, fees, strict=True)], axis=0)],
        "methods": {
            name: _summary(priced[name], fees, singles, budgets, log.task)
            | {"seconds": round(known[name].seconds, 1), "needs_truth": name in NEEDS_TRUTH}
            for name in known
        },
        "skipped": {name: each.skipped for name, each in measured.items() if each.skipped is not None},
        "seconds": round(sum(each.seconds for each in measured.values()), 1),
        "measured_on": [json.loads(each) for each in sorted(set().union(*(one.where for one in measured.values())))],
        "against": {
            ours: {
                rival: _plain(compare(seen[ours], seen[rival], bootstrap))
                | {"blind": _counts(compare(blind[ours], blind[rival], bootstrap))}
                | {"area": _area(apart(blind[ours], blind[rival], bootstrap), unit)}
                for first, rival in pairs
                if first == ours
            }
            for ours in OURS
            if ours in known
        },
    }


def _summary(
    priced: Sequence[Priced], fees: Sequence[float], singles: Sequence[float], budgets: Sequence[np.ndarray], task: str
) -> dict[str, Any]:
    """The figures of one method, means over seeds; None where a seed does not reach what is asked."""
    match = [each.frontier.fee_for(single) / fee for each, fee, single in zip(priced, fees, singles, strict=True)]
    at_fee = [_shown(each.frontier.error_at(fee * (1 + 1e-9)), task) for each, fee in zip(priced, fees, strict=True)]
    last = [_shown(float(each.frontier.errors[-1]), task) for each in priced]
    areas = [_shown(area(each.frontier, budget), task) for each, budget in zip(priced, budgets, strict=True)]
    settings = [np.column_stack(each.means) for each in priced]
    return {
        "fee_to_match": _round(np.mean(match)),
        "error_at_best_single_fee": _round(np.mean(at_fee)),
        "best_error": _round(np.mean(last)),
        "best_error_fee": _round(
            np.mean([each.frontier.fees[-1] / fee for each, fee in zip(priced, fees, strict=True)])
        ),
        "area": _round(np.mean(areas)),
        "scored_share": _round(np.mean([np.mean(~np.isnan(each.errors)) for each in priced])),
        "settings": int(np.mean([each.errors.shape[1] for each in priced])),
        "hulls": [
            [
                [_round(x / fee), _round(_shown(y, task))]
                for x, y in zip(each.frontier.fees, each.frontier.errors, strict=True)
            ]
            for each, fee in zip(priced, fees, strict=True)
        ],
        "points_of_first_seed": [[_round(x / fees[0]), _round(_shown(y, task))] for x, y in settings[0]],
    }


def _plain(tally: Tally) -> dict[str, Any]:
    rows = [None if row is None else [_round(value, 5) for value in row] for row in tally.rows]
    return _counts(tally) | {"differences": rows}


def _area(found: Apart | None, unit: float) -> dict[str, Any] | None:
    """The blind area between two methods, as it is written."""
    if found is None:
        return None
    return {
        "difference": _round(found.mean / unit, 5),
        "error": _round(found.error / unit, 5),
        "p": found.p,
        "budgets": found.budgets,
    }


def _counts(tally: Tally) -> dict[str, int]:
    return {
        "wins": int(tally.wins),
        "ties": int(tally.ties),
        "losses": int(tally.losses),
        "not_reached": tally.not_reached,
        "missed": tally.missed,
    }


def _fee(split: Split) -> float:
    """The best single entity's mean fee on the test rows, the unit of money; 1 where it is free."""
    return float(split.test.fees[:, split.best].mean()) or 1.0


def _shown(error: float, task: str) -> float:
    return float(np.sqrt(error)) if task == "regression" else error


def _round(value: Any, digits: int = 4) -> float | None:  # noqa: ANN401 - any NumPy number
    return None if np.isnan(value) else float(f"{float(value):.{digits}g}")
