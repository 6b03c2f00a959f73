"""Claim: a row of NumPy becomes a decision in at most 3 bare ONNX Runtime calls.

Fits a policy on the answers of ten models to digits, saves and loads it, then times one row, in turn with the same
graphs called bare: `Policy.decide`, the base's own answer included, from a row of encoded numbers and from a dict of
columns; then `Policy.next` after two answers, from what was seen of the query when it was first decided.
With ASKWHO_DESLIB_PYTHON set to a Python that has DESlib 0.3.7, its KNORA-E is timed on one row of the same pool too,
and the decision as that is timed: one call after the other, five rounds of each in turn, both warm.

    python benchmarks/decide.py --out benchmarks/results/decide.json
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from digits_pool import mixed_pool
from measure import in_turn, provenance, write_down

from askwho.core import Answers, Cell
from askwho.data import Columns, read_log
from askwho.fitting import fit
from askwho.persistence import load, save
from askwho.policy import Target

SEED = 0
ROUNDS = 5
# Calls before the timed ones: a processor that has idled, as while DESlib runs, is slow for a tenth of a second.
WARM = 1000


def main() -> None:
    """Time one row, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        results: dict[str, Any] = {"one_row": one_row(Path(folder))}
    results["provenance"] = provenance(seed=SEED, libraries=("numpy", "scikit-learn", "onnxruntime", "askwho"))
    write_down(results, arguments.out)


def one_row(place: Path) -> dict[str, Any]:
    """Microseconds of a decision with the base's answer, of the bare graphs, and of KNORA-E, on digits and ten models.

    KNORA-E asks every member of its pool before it decides; the pool's own share is timed beside it.
    """
    pool, X, y = mixed_pool(SEED)
    table: dict[str, np.ndarray] = {f"x_{i}": X[:, i] for i in range(X.shape[1])} | {"truth": y}
    table |= {f"answer_m{j}": member.predict(X) for j, member in enumerate(pool)}
    columns = Columns(
        truth="truth", answers="answer_*", features="x_*", fees={f"m{j}": 0.01 * (j + 1) for j in range(len(pool))}
    )
    save(fit(read_log(table, columns), learner="forest"), place / "digits")
    policy = load(place / "digits")
    base, target = policy.base, Target(fee_weight=0.5)
    query = {name: values[:1] for name, values in table.items() if name.startswith("x_")}
    row = policy.encoder.transform(query)
    learner: Any = policy.judge.learner
    curve: Any = policy.cardinality.curve.forest
    sessions = [(forest.session, row) for _, forest in learner.forests_]
    sessions.append((curve.session, np.zeros((1, curve.session.get_inputs()[0].shape[1]), dtype=np.float32)))
    if base is not None and hasattr(base.model, "model"):
        sessions.append((base.model.model.session, row))

    def decide() -> None:
        policy.decide(policy.see_encoded(row), target)

    def decide_columns() -> None:
        policy.decide(query, target)

    def bare() -> None:
        for session, feed in sessions:
            session.run(None, {"X": feed})

    seen = policy.see_encoded(row)
    states = np.full((1, len(pool)), Cell.NOT_ASKED, dtype=np.int8)
    states[0, [2, 4]] = Cell.ANSWERED
    answers = Answers(np.zeros(states.shape, dtype=np.int64), states)

    def next_one() -> None:
        policy.next(seen, answers, target)

    # In pairs: beside a third the graphs' memory would be colder than beside the decision alone.
    ours, graphs = in_turn(400, decide, bare, warm=WARM)
    whole, graphs_then = in_turn(400, decide_columns, bare, warm=WARM)
    turn, graphs_too = in_turn(400, next_one, bare, warm=WARM)
    found: dict[str, Any] = {
        "decision_microseconds": round(ours * 1e6, 1),
        "decision_from_columns_microseconds": round(whole * 1e6, 1),
        "bare_graphs_microseconds": round(graphs * 1e6, 1),
        "ratio": round(ours / graphs, 2),
        "ratio_from_columns": round(whole / graphs_then, 2),
        "graphs": len(sessions),
        "next_microseconds": round(turn * 1e6, 1),
        "next_ratio": round(turn / graphs_too, 2),
        "base": None if base is None else base.name,
    }
    python = os.environ.get("ASKWHO_DESLIB_PYTHON")
    if python is None:
        found["knora_e"] = "skipped: ASKWHO_DESLIB_PYTHON is not set"
        return found
    script = Path(__file__).parent / "deslib" / "one_row.py"
    # Two processes cannot take turns call by call: they do so round by round, each one call after the other.
    alone, theirs, pools = [], [], []
    for _ in range(ROUNDS):
        alone += in_turn(200, decide, warm=WARM)
        out = subprocess.run([python, str(script), str(SEED)], capture_output=True, text=True, check=True)
        seconds: dict[str, float] = json.loads(out.stdout.strip().splitlines()[-1])
        theirs.append(seconds["knora_e"])
        pools.append(seconds["pool"])
    return found | {
        "decision_alone_microseconds": [round(each * 1e6, 1) for each in alone],
        "knora_e_microseconds": [round(each * 1e6, 1) for each in theirs],
        "knora_e_pool_alone_microseconds": [round(each * 1e6, 1) for each in pools],
        # Like for like: whom to ask is all that either decides. Its pool must have answered before it can.
        "knora_e_ratio": round((statistics.median(theirs) - statistics.median(pools)) / statistics.median(alone), 1),
        "knora_e_ratio_with_its_pool": round(statistics.median(theirs) / statistics.median(alone), 1),
    }


if __name__ == "__main__":
    main()
