"""Claim: tests notice a change of the code. Small faults are planted one at a time; the tests that reach the line run.

A first run of a room's tests finds which of them reach which line, and how long each takes; what it found is kept under
the sources' hash. Then as many faults of every room, drawn by a seed, are planted in a copy of the sources. A fault is
killed where a test fails, or takes far longer than it did. What a fixture reaches that many tests share counts as
reached by the first of them alone: so the tests of the file's own name are asked as well. Rooms that are not named stay
in the result as they were.

With `--again` those alone are planted that survived in the result before: for tests that were written since, and those
of the file's own name. How many were killed at first stays beside.

    python benchmarks/mutants.py [--sample 60] [--seed 0] [--workers 2] [--kept FILE] [--out FILE] [--again]
"""

import argparse
import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent
# Where faults are planted, and the tests that are asked about them.
ROOMS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "costs and selection": (
        ("core/_costs.py", "core/_cost_matrix.py", "core/_selection.py", "core/_cardinality.py"),
        ("core", "test_unit.py"),
    ),
    "aggregation": (("aggregation/*.py",), ("aggregation", "core")),
    "metrics": (("metrics/*.py",), ("metrics", "evaluation")),
    "policy": (("policy/*.py",), ("policy", "evaluation", "persistence")),
    "fit": (("fitting/*.py", "replay/*.py"), ("fitting", "replay", "evaluation", "policy")),
}
# Seconds of tests that a fault is given, quickest first: what no test of a minute notices, hardly one of an hour would.
PATIENCE = 60.0
# A test that takes so much longer than it did hangs; and so long a run may take to begin.
SLOWER, START = 6.0, 60.0
# Tests that fail on a machine without any fault are not asked; where more than this share of them do, nothing is known.
BROKEN = 0.02

_SWAPPED: Mapping[type[ast.AST], Any] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
_OPPOSITES = (("min", "max"), ("argmin", "argmax"), ("minimum", "maximum"), ("any", "all"), ("floor", "ceil"))
_NAMES = {here: there for pair in _OPPOSITES for here, there in (pair, pair[::-1])} | {"cumsum": "cumprod"}


@dataclass(frozen=True)
class Mutant:
    """One fault.

    Args:
        file: below `src/askwho`.
        line: where it is.
        place: which of the file's places, in the order of a walk.
        told: what it changes.
    """

    file: str
    line: int
    place: int
    told: str

    def source(self) -> str:
        """Return the file with the fault in it."""
        tree = ast.parse((ROOT / "src/askwho" / self.file).read_text(encoding="utf-8"))
        node, _, change = list(places(tree))[self.place]
        change(node)
        return ast.unparse(tree)


Place = tuple[Any, str, Callable[[Any], None]]
"""A node, what a fault there would change, and the change."""


def places(tree: ast.Module) -> Iterator[Place]:
    """Yield every place for a fault: not in docstrings, annotations and messages, which no test of behaviour reads."""
    for node in _behaviour(tree):
        match node:
            case ast.Compare(ops=[op]) if type(op) in _SWAPPED:
                yield (
                    node,
                    f"{ast.unparse(node)}: {_name(op)}",
                    lambda n: n.ops.__setitem__(0, _SWAPPED[type(n.ops[0])]()),
                )
            case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in _SWAPPED:
                yield node, f"{ast.unparse(node)}: {_name(op)}", lambda n: setattr(n, "op", _SWAPPED[type(n.op)]())
            case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=operand) if not isinstance(operand, ast.Constant):
                yield node, f"{ast.unparse(node)}: left out", lambda n: setattr(n, "op", ast.UAdd())
            case ast.If(test=test) | ast.IfExp(test=test):
                yield (
                    node,
                    f"if {ast.unparse(test)}: negated",
                    lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test)),
                )
            case ast.Constant(value=bool(value)):
                yield node, f"{value}: flipped", lambda n: setattr(n, "value", not n.value)
            case ast.Constant(value=int(value)):
                yield node, f"{value}: one more", lambda n: setattr(n, "value", n.value + 1)
            case ast.Constant(value=float(value)):
                yield node, f"{value}: twice and 0.1 more", lambda n: setattr(n, "value", 2 * n.value + 0.1)
            case ast.Attribute(attr=attr) if attr in _NAMES:
                yield node, f"{attr}: {_NAMES[attr]}", lambda n: setattr(n, "attr", _NAMES[n.attr])
            case ast.Call(func=ast.Name(id=name)) if name in _NAMES:
                yield node, f"{name}: {_NAMES[name]}", lambda n: setattr(n.func, "id", _NAMES[n.func.id])
            case _:
                pass


def _behaviour(node: ast.AST) -> Iterator[ast.AST]:
    """Walk what is done: no annotations, decorators, messages of errors, or texts."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(value, str):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(
                child, ast.Raise | ast.JoinedStr | ast.Assert | ast.Import
            ):
                yield from _behaviour(child)


def _name(op: ast.AST) -> str:
    return f"{type(op).__name__} to {_SWAPPED[type(op)].__name__}"


def every_mutant(room: str) -> list[Mutant]:
    """Return all faults of a room."""
    found: list[Mutant] = []
    for pattern in ROOMS[room][0]:
        for path in sorted((ROOT / "src/askwho").glob(pattern)):
            if path.name == "__init__.py":
                continue
            tree, file = ast.parse(path.read_text(encoding="utf-8")), str(path.relative_to(ROOT / "src/askwho"))
            found += [Mutant(file, node.lineno, i, told) for i, (node, told, _) in enumerate(places(tree))]
    return found


def reached(room: str, folder: Path, workers: int) -> tuple[dict[str, dict[int, list[str]]], dict[str, float]]:
    """Return which tests reach which lines of which file, and how long each test takes; measured once."""
    tests = [f"tests/{each}" for each in ROOMS[room][1]]
    mark = hashlib.sha256()
    for path in sorted([*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]):
        mark.update(path.read_bytes())
    place = folder / f"reached-{room.replace(' ', '-')}-{mark.hexdigest()[:12]}.json"
    if not place.is_file():
        with tempfile.TemporaryDirectory() as temporary:
            environment = _environment(ROOT / "src") | {
                "COVERAGE_FILE": f"{temporary}/coverage",
                "ASKWHO_DURATIONS": f"{temporary}/durations.json",
            }
            options = [
                "--cov=askwho",
                "--cov-context=test",
                "--cov-report=",
                "-p",
                "mutants",
                *_QUIET,
                "-n",
                str(workers),
            ]
            subprocess.run([sys.executable, "-m", "pytest", *options, *tests], cwd=ROOT, env=environment, check=False)
            found = json.loads(Path(f"{temporary}/durations.json").read_text(encoding="utf-8"))
            if len(found["failed"]) > BROKEN * len(found["took"]):
                raise SystemExit(f"tests of {room} fail without any fault: {found['failed']}")
            place.write_text(json.dumps({"lines": _lines(f"{temporary}/coverage", room), **found}), "utf-8")
    found = json.loads(place.read_text(encoding="utf-8"))
    failed = set(found["failed"])
    lines = {
        file: {int(line): [name for name in names if name not in failed] for line, names in each.items()}
        for file, each in found["lines"].items()
    }
    if failed:
        print(f"{room}: not asked, since they fail without any fault: {sorted(failed)}", flush=True)
    return lines, found["took"]


def _lines(path: str, room: str) -> dict[str, dict[int, list[str]]]:
    """Tests by file and line, out of the file that coverage wrote."""
    from coverage import CoverageData  # noqa: PLC0415 - only whoever measures needs it

    data = CoverageData(path)
    data.read()
    files = {each.file for each in every_mutant(room)}
    found: dict[str, dict[int, list[str]]] = {}
    for each in data.measured_files():
        name = str(Path(each)).rpartition("src/askwho/")[2]
        if name in files:
            contexts = data.contexts_by_lineno(each)
            found[name] = {line: sorted({c.rpartition("|")[0] for c in names if c}) for line, names in contexts.items()}
    return found


_QUIET = ("-q", "-p", "no:cacheprovider", "--no-header")


def _environment(source: Path) -> dict[str, str]:
    """As the Makefile has it, with these sources in front of those that are installed."""
    one = {
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "PASSIVE",
        "ORT_DISABLE_TELEMETRY": "1",
    }
    return {
        **os.environ,
        **one,
        "PYTHONPATH": os.pathsep.join([str(source), str(ROOT), str(HERE)]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how long a test took, where that is wanted: this file is a plugin of the run that measures."""
    _TOOK[report.nodeid] = _TOOK.get(report.nodeid, 0.0) + report.duration
    if report.failed:
        _FAILED.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write it down, where all reports come together."""
    if "ASKWHO_DURATIONS" in os.environ and not hasattr(session.config, "workerinput"):
        found = {"took": _TOOK, "failed": sorted(_FAILED)}
        Path(os.environ["ASKWHO_DURATIONS"]).write_text(json.dumps(found), encoding="utf-8")


_TOOK: dict[str, float] = {}
_FAILED: set[str] = set()


def tried(mutant: Mutant, lines: Mapping[str, Mapping[int, list[str]]], took: Mapping[str, float]) -> dict[str, Any]:
    """Return whether a test that reaches a fault noticed it."""
    at = lines.get(mutant.file, {}).get(mutant.line, [])
    # What runs when a module is imported is reached by no test of its own: then by whoever reaches the file.
    names = at or sorted({name for each in lines.get(mutant.file, {}).values() for name in each})
    tests = _quickest(names, took)
    tests += _quickest([name for name in _own(mutant, took) if name not in tests], took)
    row: dict[str, Any] = {"file": mutant.file, "line": mutant.line, "place": mutant.place, "told": mutant.told}
    row |= {"tests": len(tests), "all_tests": len(names)}
    return row | planted(mutant, tests, took)


def planted(mutant: Mutant, tests: list[str], took: Mapping[str, float]) -> dict[str, Any]:
    """Plant a fault in a copy of the sources, and return whether one of some tests noticed, and how."""
    if not tests:
        return {"killed": False, "how": "no test reaches it"}
    limit = START + SLOWER * sum(took.get(name, 1.0) for name in tests)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "src"
        shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        (source / "askwho" / mutant.file).write_text(mutant.source(), encoding="utf-8")
        (Path(folder) / "tests.txt").write_text("\n".join(tests), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-p", "no:xdist", *_QUIET, f"@{folder}/tests.txt"]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=_environment(source), capture_output=True, timeout=limit, check=False
            )
        except subprocess.TimeoutExpired:
            return {"killed": True, "how": "hangs"}
    return {
        # A fault that keeps a test file from being read is noticed; that no test ran at all is not.
        "killed": done.returncode in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED),
        "how": {0: "survives", 1: "a test fails"}.get(done.returncode, "an error"),
    }


def _own(mutant: Mutant, tests: Iterable[str]) -> list[str]:
    """Those of some tests that stand in the file of the source's own name."""
    file = f"test_{Path(mutant.file).stem.strip('_')}.py::"
    return [name for name in tests if file in name]


def collected(room: str) -> list[str]:
    """Return the names of a room's tests."""
    command = [sys.executable, "-m", "pytest", "--collect-only", *_QUIET, *(f"tests/{each}" for each in ROOMS[room][1])]
    done = subprocess.run(command, cwd=ROOT, env=_environment(ROOT / "src"), capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


def again(folder: Path, out: Path, workers: int) -> None:
    """Plant once more what survived in a result, for the tests that are new since, and write down what still does."""
    from measure import provenance, write_down  # noqa: PLC0415 - as below

    before = json.loads(out.read_text(encoding="utf-8"))
    made = provenance(seed=before["provenance"]["seed"])
    every: dict[str, list[str]] = {}
    known: dict[str, dict[str, float]] = {}
    for room in dict.fromkeys(row["room"] for row in before["survivors"]):
        (newest,) = sorted(folder.glob(f"reached-{room.replace(' ', '-')}-*.json"), key=os.path.getmtime)[-1:]
        every[room], known[room] = collected(room), json.loads(newest.read_text(encoding="utf-8"))["took"]

    def once_more(row: dict[str, Any]) -> dict[str, Any]:
        mutant, room = Mutant(*(row[name] for name in ("file", "line", "place", "told"))), row["room"]
        if mutant not in every_mutant(room):
            raise SystemExit(f"{mutant.file} has changed since: plant all of {room}")
        new = [name for name in every[room] if name not in known[room]]
        tests = list(dict.fromkeys(new + _own(mutant, every[room])))
        if not tests:
            return row
        found = row | {"tests": len(tests)} | planted(mutant, tests, known[room])
        print(
            "killed  " if found["killed"] else "SURVIVES", *(row[name] for name in ("file", "line", "told")), flush=True
        )
        return found

    with ThreadPoolExecutor(workers) as pool:
        done = list(pool.map(once_more, before["survivors"]))
    survivors = [row for row in done if not row["killed"]]
    for room, each in before["rooms"].items():
        each.setdefault("killed_at_first", each["killed"])
        each["killed"] = each["drawn"] - sum(row["room"] == room for row in survivors)
    killed = sum(each["killed"] for each in before["rooms"].values())
    found = {"drawn": before["drawn"], "killed": killed / before["drawn"], "survivors": survivors, "provenance": made}
    write_down({"rooms": before["rooms"], **found}, out)


def _quickest(names: list[str], took: Mapping[str, float]) -> list[str]:
    """Those of some tests that there is patience for, the quickest first; one at least, where there are any."""
    ranked = sorted(names, key=lambda each: took.get(each, 1.0))
    until = np.cumsum([took.get(each, 1.0) for each in ranked])
    return ranked[: max(1, int((until <= PATIENCE).sum()))]


def main() -> None:
    """Plant a sample of all faults, and say how many were noticed, by room."""
    from measure import provenance, write_down  # noqa: PLC0415 - a plugin of pytest needs neither

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=60, help="how many of each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rooms", help="some of the rooms, separated by commas")
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "askwho-mutants", help="a folder")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--again", action="store_true", help="those that survived in `--out` alone")
    given = parser.parse_args()
    given.kept.mkdir(parents=True, exist_ok=True)
    if given.again:
        again(given.kept, given.out, given.workers)
        return
    rooms = given.rooms.split(",") if given.rooms else list(ROOMS)
    everything = {room: every_mutant(room) for room in rooms}
    rng = np.random.default_rng(given.seed)
    sample = [
        (room, mutants[i])
        for room, mutants in everything.items()
        for i in sorted(rng.permutation(len(mutants))[: given.sample])
    ]
    known = {room: reached(room, given.kept, given.workers) for room in dict.fromkeys(room for room, _ in sample)}
    done: list[dict[str, Any]] = []
    with ThreadPoolExecutor(given.workers) as pool:
        for (room, _), row in zip(sample, pool.map(lambda one: tried(one[1], *known[one[0]]), sample), strict=True):
            done.append({"room": room, **row})
            print(
                "killed  " if row["killed"] else "SURVIVES",
                room,
                row["file"],
                row["line"],
                row["told"],
                row["how"],
                flush=True,
            )
    made = provenance(seed=given.seed)
    table: dict[str, dict[str, Any]] = {
        room: {
            "commit": made["commit"],
            "faults": len(everything[room]),
            "drawn": sum(1 for row in done if row["room"] == room),
            "killed": sum(row["killed"] for row in done if row["room"] == room),
        }
        for room in rooms
    }
    survivors = [row for row in done if not row["killed"]]
    if given.out is not None and given.out.is_file():
        before = json.loads(given.out.read_text(encoding="utf-8"))
        table = {room: each for room, each in before["rooms"].items() if room not in table} | table
        survivors = [row for row in before["survivors"] if row["room"] not in rooms] + survivors
    drawn, killed = (sum(each[what] for each in table.values()) for what in ("drawn", "killed"))
    print(table, f"{100 * killed / max(1, drawn):.1f}% of {drawn} killed")
    if given.out is not None:
        write_down(
            {"rooms": table, "drawn": drawn, "killed": killed / drawn, "survivors": survivors, "provenance": made},
            given.out,
        )


if __name__ == "__main__":
    main()
