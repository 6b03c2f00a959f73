"""Claim: what routing and evaluating take, beside an earlier commit: rows a second of both, side by side in one run.

Each commit is checked out, fits a policy with a forest on the same 1,500 rows of `route_profile.py`'s log, and runs its
own commands on the same tables, one commit after the other, several rounds. Every command is run on two sizes: what the
larger takes beyond the smaller is of rows alone, and what the larger takes in all has start and layout in it, too.
Processor time is that of all threads, by the kernel's own account; wall time on a machine that others use says less.
The later commit runs twice: with numba, the extra `fast`, and with numba out of reach. With numba every command is
run once before any is counted, for numba compiles what it does not find compiled; what that took is written down, too.

numbers    `askwho route`, 5 entities, ten numbers known of a query
thirty     likewise with 30 entities
text       likewise with 5 entities and a text of about 200 characters
evaluate   `askwho evaluate`, 5 entities, ten numbers, 200 resamples
one        one decision in Python, from a dict to names and fee: microseconds, the median of many

    python benchmarks/kernel_speed.py 17e9688 HEAD --out benchmarks/results/kernel_speed.json
"""

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measure import ROOT, provenance, write_down

SEED = 0
LEARNED = 1_500
ROUNDS = 3
# Rows of the smaller and of the larger table: the former is past the batch from which trees are laid out. The later
# commit has a larger one still: of 100,000 rows it takes half a second, and what its start takes varies by as much.
SIZES = {
    "numbers": (20_000, 100_000, 400_000),
    "thirty": (20_000, 60_000, 200_000),
    "text": (20_000, 50_000, 80_000),
    "evaluate": (16_384, 65_536, 65_536),
}
# What the policies of these know: how many entities, and whether there is a text.
PANELS = {"numbers": (5, False), "thirty": (30, False), "text": (5, True), "evaluate": (5, False)}
ONE, WARM = 400, 50
FEE_WEIGHT = 0.5


def main() -> None:
    """Measure two commits, or do the part of one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commits", nargs="*", help="two commits, the earlier first")
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--only", help="some of the parts, separated by commas")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--scale", type=float, default=1.0, help="of the tables' sizes: does it run?")
    parser.add_argument("--fit", type=Path, help="fit with the askwho in reach, and save under this folder")
    parser.add_argument("--one", type=Path, help="time one decision of a saved policy with the askwho in reach")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else [*SIZES, "one"]
    if given.fit is not None:
        _fit(given.fit, names)
    elif given.one is not None:
        print(json.dumps(_one(given.one)))
    else:
        _compare(given, names)


def _compare(given: argparse.Namespace, names: list[str]) -> None:
    results: dict[str, Any] = {"compared": [_hash(commit) for commit in given.commits], "rounds": given.rounds}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        _tables(place, names, given.scale)
        trees = [place / f"tree-{i}" for i in range(len(given.commits))]
        blocked = place / "blocked"
        blocked.mkdir()
        (blocked / "numba.py").write_text('raise ImportError("out of reach")\n')
        for tree, commit in zip(trees, given.commits, strict=True):
            _git("worktree", "add", "--detach", "--force", str(tree), commit)
        sides = [*(_Side(tree) for tree in trees), _Side(trees[-1], blocked)]
        try:
            for side in sides[:-1]:
                fitting = ["--fit", str(side.tree / "policies"), "--only", ",".join(names)]
                _run(side, [sys.executable, str(Path(__file__).resolve()), *fitting])
            for name in names:
                results[name] = _measured(place, sides, name, given)
        finally:
            for tree in trees:
                _git("worktree", "remove", "--force", str(tree))
    libraries = ("numpy", "scikit-learn", "onnxruntime", "pyarrow", "numba", "askwho")
    results["provenance"] = provenance(seed=SEED, libraries=libraries)
    write_down(results, given.out)


@dataclass(frozen=True)
class _Side:
    """A commit that is checked out, and a folder that comes before everything installed."""

    tree: Path
    before: Path | None = None

    @property
    def environment(self) -> dict[str, str]:
        paths = [*([str(self.before)] if self.before else []), str(self.tree / "src")]
        return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}


def _measured(place: Path, sides: list[_Side], name: str, given: argparse.Namespace) -> dict[str, Any]:
    """What both commits take for one part, round after round; the later one without numba, too."""
    if name == "one":
        rounds = [[_decision(side) for side in sides] for _ in range(given.rounds)]
        took = [statistics.median(each) for each in zip(*rounds, strict=True)]
        print(name, took, file=sys.stderr, flush=True)
        return {"microseconds": took, "times": took[0] / took[1], "every": rounds}
    sizes = [_scaled(size, given.scale) for size in SIZES[name]]
    cold = _run(sides[1], _command(place, sides[1].tree, name, sizes[0]))
    taken = [sizes[:2], *([sizes[0], sizes[2]] for _ in sides[1:])]
    every: list[list[list[tuple[float, float]]]] = []
    for _ in range(given.rounds):
        every.append(
            [[_run(side, _command(place, side.tree, name, size)) for size in taken[i]] for i, side in enumerate(sides)]
        )
        print(name, every[-1], file=sys.stderr, flush=True)
    found: dict[str, Any] = {"rows": sizes}
    for kind, which in (("processor", 0), ("wall", 1)):
        small, large = (
            [statistics.median(rounds[side][size][which] for rounds in every) for side in range(len(sides))]
            for size in (0, 1)
        )
        beyond = [(b - a) / (both[1] - both[0]) for a, b, both in zip(small, large, taken, strict=True)]
        # A command of as many rows as the earlier commit had.
        whole = [a + each * (sizes[1] - sizes[0]) for a, each in zip(small, beyond, strict=True)]
        found[kind] = {
            "microseconds_a_row": [1e6 * each for each in beyond],
            "times_beyond_the_start": beyond[0] / beyond[1],
            "times_beyond_the_start_without_numba": beyond[0] / beyond[2],
            "seconds_of_the_larger": whole,
            "times_of_the_larger": whole[0] / whole[1],
            "times_of_the_larger_without_numba": whole[0] / whole[2],
        }
    return found | {"first": cold, "every": every}


def _command(place: Path, tree: Path, name: str, rows: int) -> list[str]:
    policy, table = str(tree / "policies" / _panel(name)), str(place / f"{name}-{rows}.parquet")
    start = [sys.executable, "-m", "askwho"]
    if name == "evaluate":
        return [*start, "evaluate", policy, table, "--json"]
    return [*start, "route", policy, table, "--fee-weight", str(FEE_WEIGHT), "--out", str(tree / "routes.parquet")]


def _run(side: _Side, command: list[str]) -> tuple[float, float]:
    """Processor seconds of a command and of its threads, and seconds by the clock."""
    start = time.perf_counter()
    process = subprocess.Popen(command, env=side.environment, cwd=side.tree, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return used.ru_utime + used.ru_stime, wall


def _decision(side: _Side) -> float:
    command = [sys.executable, str(Path(__file__).resolve()), "--one", str(side.tree / "policies" / _panel("numbers"))]
    done = subprocess.run(command, env=side.environment, cwd=side.tree, capture_output=True, check=True)
    return json.loads(done.stdout)


def _tables(place: Path, names: list[str], scale: float) -> None:
    from route_profile import log  # noqa: PLC0415 - not with the earlier commit in reach

    from askwho.data import write_table  # noqa: PLC0415 - likewise

    for panel, (entities, text) in _panels(names).items():
        write_table(place / f"learned-{panel}.parquet", log(LEARNED, 0, entities, text=text))
    for name in names:
        if name in SIZES:
            entities, text = PANELS[name]
            table = log(_scaled(SIZES[name][2], scale), 1, entities, text=text)
            for size in set(SIZES[name]):
                rows = _scaled(size, scale)
                write_table(place / f"{name}-{rows}.parquet", {key: values[:rows] for key, values in table.items()})


def _scaled(size: int, scale: float) -> int:
    return max(100, round(size * scale))


def _panel(name: str) -> str:
    entities, text = PANELS.get(name, PANELS["numbers"])
    return f"{entities}{'-text' if text else ''}"


def _panels(names: list[str]) -> dict[str, tuple[int, bool]]:
    return {_panel(name): PANELS.get(name, PANELS["numbers"]) for name in names}


def _hash(commit: str) -> str:
    done = subprocess.run(["git", "rev-parse", commit], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True)


def _fit(folder: Path, names: list[str]) -> None:
    """Fit a policy for each panel, with whichever askwho is in reach."""
    data, persistence = importlib.import_module("askwho.data"), importlib.import_module("askwho.persistence")
    before: Any = importlib.import_module("askwho.policy")
    fit = getattr(before, "fit_policy", None) or importlib.import_module("askwho.fitting").fit
    folder.mkdir()
    for panel, (entities, text) in _panels(names).items():
        columns = data.Columns(
            truth="truth",
            answers="answer_*",
            features="x_*",
            text="prompt" if text else None,
            fees={f"e{j}": 0.01 * (1 + j % 9) for j in range(entities)},
        )
        table = data.read_table(folder.parents[1] / f"learned-{panel}.parquet")
        persistence.save(fit(data.read_log(table, columns), learner="forest", cv=2), folder / panel)


def _one(folder: Path) -> float:
    """Microseconds of one decision, from what is known of a query to whom to ask, with whichever askwho is in reach."""
    policy: Any = importlib.import_module("askwho.persistence").load(folder)
    room: Any = importlib.import_module("askwho.policy")
    query = {f"x_{i}": 0.1 * i for i in range(10)}
    if hasattr(room, "Target"):
        target = room.Target(fee_weight=FEE_WEIGHT)

        def decide() -> object:
            return policy.decide(query, target)
    else:
        known = {name: np.array([value]) for name, value in query.items()}

        def decide() -> object:
            X = policy.features(known)
            # What the base says belongs to a decision, as it does today.
            base = None if policy.base is None else policy.base.predict(X, None)
            return policy.router.select(X, fee_weight=FEE_WEIGHT), base

    took: list[float] = []
    for _ in range(WARM + ONE):
        start = time.perf_counter()
        decide()
        took.append(time.perf_counter() - start)
    return 1e6 * statistics.median(took[WARM:])


if __name__ == "__main__":
    main()
