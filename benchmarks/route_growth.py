"""Claim: what `askwho route` takes grows in proportion to the rows, and its memory hardly; by the number of entities.

The log of `route_profile.py`: numbers alone, 5, 10, 30 and 100 experts. A policy with a forest is fitted on 1,500 rows;
then `askwho route --shard-rows 65536` is run on one processor over 10^4 to 10^7 other rows (fewer where there are more
experts), each in a process of its own: seconds of processor time from its first to its last instruction, and the most
memory that it ever held. Two sizes tell the start and the time of a row, and so foretell the next size; three tell the
exponent, the power with which the time beyond the start grows. Of 10^4 rows the trees are not laid out for many, which
begins at 16,384. Numba is out of reach, as it is where the extra `fast` was not installed; the fewest and the most
experts are routed with it, too, after a first run that compiled what was kept.

Floors, in the same run, on one thread and the same trees (those that tell expected errors) and rows: LightGBM's own
predictor, which walks every tree to its leaf as ours must, and tells the leaf alone; and ONNX Runtime bare on the graph
as it is saved, which adds up what the leaves say, too; beside both ours, with numba and without. All in microseconds of
processor time a row.

    python benchmarks/route_growth.py --out benchmarks/results/route_growth.json
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import lightgbm
import numpy as np
import onnx
import onnxruntime
import pyarrow.parquet as pa_parquet
from measure import provenance, write_down
from route_profile import LEARNED, SEED, log

from askwho._threads import use_processors
from askwho.data import Columns, Table, read_log, write_batches
from askwho.fitting import fit
from askwho.learners._tree_layout import TreeLayout
from askwho.learners._tree_walk import lay_out
from askwho.persistence import load, save
from askwho.policy import Policy

# Entities and rows, the longest last. Of 10,000 rows the trees are not laid out for many, so that they tell the start
# alone; large panels grow as small ones do, and fewer rows tell it.
SMALL, MANY = (10_000, 30_000, 100_000), (300_000, 1_000_000, 10_000_000)
STEPS = [
    *(("5", rows) for rows in (*SMALL, MANY[1])),
    *(("5, with numba", rows) for rows in (*SMALL, MANY[1])),
    *(("100", rows) for rows in (*SMALL, MANY[0])),
    *(("100, with numba", rows) for rows in (*SMALL, MANY[0])),
    *(("30", rows) for rows in (*SMALL, MANY[0])),
    *(("10", rows) for rows in (*SMALL, MANY[1])),
    ("5, with numba", MANY[2]),
    ("5", MANY[2]),
]
# Numba is loaded for the second size at the latest: before it one run compiles.
FIRST_COMPILED = 2
# Fewer sizes say nothing of growth.
FEWEST = 4
PART = 1 << 16
BARE = 1 << 14
# The command, and then what its process took: what the system says of a child begins with the memory of its parent.
_TOLD = """import sys, time
from askwho.cli import status_of
status = status_of(sys.argv[1:])
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(time.process_time(), peak)
sys.exit(status)
"""


def main() -> None:
    """Route every size, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--quick", action="store_true", help="five entities and a few thousand rows: does it run?")
    arguments = parser.parse_args()
    # One processor: what others on the machine do then moves it least.
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    use_processors(1)
    with tempfile.TemporaryDirectory() as folder:
        measured(
            Path(folder),
            [("5, with numba", rows) for rows in (1_000, 2_000, 4_000, 8_000)] if arguments.quick else STEPS,
            arguments.out,
        )


def measured(top: Path, steps: list[tuple[str, int]], out: Path | None) -> None:
    """Route each size, and write down what is known after it: the last takes as long as all others."""
    libraries = ("numpy", "scikit-learn", "onnxruntime", "pyarrow", "numba", "lightgbm", "askwho")
    runs: dict[str, list[dict[str, float]]] = {}
    beside: dict[int, dict[str, float]] = {}
    blocked = top / "blocked"
    blocked.mkdir()
    (blocked / "numba.py").write_text('raise ImportError("out of reach")\n')
    for name, rows in steps:
        entities, numba = int(name.partition(",")[0]), "," in name
        place, without = top / str(entities), None if numba else blocked
        if entities not in beside:
            fitted(place, entities)
            beside[entities] = floors(load(place / "policy"))
        write_batches(place / "queries.parquet", queries(rows))
        runs.setdefault(name, [])
        if numba and len(runs[name]) < FIRST_COMPILED:
            routed(place, without)
        runs[name].append({"rows": rows, **routed(place, without)})
        (place / "queries.parquet").unlink()
        print(name, runs[name][-1], file=sys.stderr, flush=True)
        known = [each for each in sorted(runs, key=_size) if len(runs[each]) >= FEWEST]
        if known:
            panels = {each: {**constants(runs[each]), "floors": beside[_size(each)[0]]} for each in known}
            write_down({"panels": panels, "provenance": provenance(seed=SEED, libraries=libraries)}, out)


def _size(name: str) -> tuple[int, str]:
    """How many experts, first, and then whether with numba."""
    entities, _, rest = name.partition(",")
    return int(entities), rest


def fitted(place: Path, entities: int) -> None:
    """Save a policy of so many experts."""
    place.mkdir()
    fees = {f"e{j}": 0.01 * (1 + j % 9) for j in range(entities)}
    columns = Columns(truth="truth", answers="answer_*", features="x_*", fees=fees, id="id")
    save(fit(read_log(log(LEARNED, 0, entities, text=False), columns), learner="forest", cv=2), place / "policy")


def constants(runs: list[dict[str, float]]) -> dict[str, Any]:
    """What the two largest sizes say of the start and of a row, how times grow, and what the smaller ones foretell."""
    told: list[dict[str, float]] = [{name: run[name] for name in ("rows", "seconds", "peak_mib")} for run in runs]
    # From the second size on trees are laid out. Of three sizes, the power with which the time beyond a start grows
    # that nobody needs to know.
    for one, two, three in zip(told[1:], told[2:], told[3:], strict=False):
        longer = (three["seconds"] - two["seconds"]) / (two["seconds"] - one["seconds"])
        larger = (three["rows"] - two["rows"]) / (two["rows"] - one["rows"])
        three["exponent"] = round(math.log(longer) / math.log(larger), 3)
    start, row = _line(runs[-2:])
    before, each = _line(runs[-3:-1])
    return {
        "runs": told,
        "start_seconds": round(start, 2),
        "microseconds_a_row": round(1e6 * row, 2),
        "foretold_seconds": round(before + each * runs[-1]["rows"], 1),
        **{name: runs[-1][name] for name in ("bytes_read_a_row", "bytes_written_a_row")},
    }


def _line(runs: list[dict[str, float]]) -> tuple[float, float]:
    """The start and the seconds of a row by which two sizes are told."""
    first, second = runs
    row = (second["seconds"] - first["seconds"]) / (second["rows"] - first["rows"])
    return first["seconds"] - row * first["rows"], row


def queries(rows: int) -> Iterator[Table]:
    """New queries, part by part: what is known of them, and their names."""
    for number, start in enumerate(range(0, rows, PART)):
        table = log(min(PART, rows - start), number + 1, 0, text=False)
        yield {name: values for name, values in table.items() if name != "truth"}


def routed(place: Path, before: Path | None) -> dict[str, float]:
    """Processor time and memory of the command in a process of its own; `before` all that is installed is a folder."""
    out = place / "parts"
    words = ["route", place / "policy", place / "queries.parquet", "--fee-weight", 0.5, "--shard-rows", PART]
    command = [sys.executable, "-c", _TOLD, *map(str, words), "--out", str(out)]
    paths = [*([str(before)] if before else []), *filter(None, [os.environ.get("PYTHONPATH")])]
    there = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=there)
    seconds, peak = done.stdout.splitlines()[-1].split()
    parts = list(out.glob("part-*"))
    written = sum(path.stat().st_size for path in parts)
    rows = pa_parquet.read_metadata(place / "queries.parquet").num_rows
    for path in out.iterdir():
        path.unlink()
    return {
        "seconds": round(float(seconds), 2),
        "peak_mib": round(int(peak) / 1024),
        "bytes_read_a_row": round((place / "queries.parquet").stat().st_size / rows, 1),
        "bytes_written_a_row": round(written / rows, 1),
    }


def floors(policy: Policy) -> dict[str, float]:
    """Microseconds a row of the trees that tell expected errors, alone, by us and by others; on one thread."""
    learner: Any = policy.judge.learner
    graph: bytes = next(iter(learner.to_state().graphs.values()))
    table = log(BARE, 0, 0, text=False)
    X = np.column_stack([table[name] for name in table if name.startswith("x_")]).astype(np.float32)
    ours, walked, bare = TreeLayout(graph), lay_out(graph), onnxruntime.InferenceSession(graph, _one_thread())
    walker = lightgbm.Booster(model_str=lightgbm_text(graph))

    def walk() -> np.ndarray:
        return np.asarray(walker.predict(X, pred_leaf=True, num_threads=1))

    def runtime() -> np.ndarray:
        # As many rows at a time as keep what it holds of all trees in bounds.
        found = [cast("Any", bare.run(None, {"X": X[i : i + 1024]})[0]) for i in range(0, len(X), 1024)]
        return np.concatenate(found)

    constants = {each.name: onnx.numpy_helper.to_array(each) for each in onnx.load_from_string(graph).graph.initializer}
    leaves = walk() + constants["starts"]
    said = np.mean([constants["table"][leaves[:, k]] for k in range(leaves.shape[1])], axis=0)
    if not all(np.allclose(each, runtime(), atol=1e-5) for each in (ours.predict(X), walked.predict(X), said)):
        raise RuntimeError("the trees do not say the same")
    return {
        "trees": walker.num_trees(),
        "ours": _taken(lambda: ours.predict(X)),
        "ours_with_numba": _taken(lambda: walked.predict(X)),
        "lightgbm_leaves_alone": _taken(walk),
        "onnxruntime_bare": _taken(runtime),
    }


def _one_thread() -> onnxruntime.SessionOptions:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return options


def _taken(work: Callable[[], object]) -> float:
    """The least of three times, after one that is not counted: others on the machine only ever add to it."""
    work()
    found: list[float] = []
    for _ in range(3):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return round(min(found) / BARE * 1e6, 2)


def lightgbm_text(graph: bytes) -> str:
    """The same trees as LightGBM writes its own, each leaf worth its number."""
    node = onnx.ModelProto.FromString(graph).graph.node[0]
    found: dict[str, Any] = {each.name: each for each in node.attribute}
    tree, feature, true, false = (
        np.array(found[f"nodes_{name}"].ints) for name in ("treeids", "featureids", "truenodeids", "falsenodeids")
    )
    cut = np.array(found["nodes_values"].floats, dtype=np.float32).astype(np.float64)
    leaf = np.array([mode == b"LEAF" for mode in found["nodes_modes"].strings])
    width = int(feature.max()) + 1
    head = ["tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0", "objective=regression"]
    head += [f"max_feature_idx={width - 1}", "feature_names=" + " ".join(f"x_{i}" for i in range(width))]
    head += ["feature_infos=" + " ".join(["[-1e300:1e300]"] * width), ""]
    for number in range(int(tree.max()) + 1):
        mine = np.flatnonzero(tree == number)
        last, inner = leaf[mine], mine[~leaf[mine]]
        # Forks are counted from 0 on, leaves from -1 downwards.
        place = np.where(last, -np.cumsum(last), np.cumsum(~last) - 1)
        count = int(last.sum())
        lines: dict[str, Any] = {
            "Tree": number,
            "num_leaves": count,
            "num_cat": 0,
            "split_feature": feature[inner],
            "split_gain": np.zeros(len(inner), dtype=int),
            "threshold": cut[inner],
            # Numbers, the smaller or equal ones to the left, and nothing is missing.
            "decision_type": np.full(len(inner), 2),
            "left_child": place[true[inner]],
            "right_child": place[false[inner]],
            "leaf_value": np.arange(count),
            "shrinkage": 1,
        }
        told = ((name, value if isinstance(value, int) else value.tolist()) for name, value in lines.items())
        head += [f"{name}={value if isinstance(value, int) else ' '.join(map(repr, value))}" for name, value in told]
        head += ["", ""]
    return "\n".join([*head, "end of trees", ""])


if __name__ == "__main__":
    main()
