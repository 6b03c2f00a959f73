"""Claim: of what a row takes in `route`, the trees take the most; where the rest goes is told part by part.

A synthetic log of 4 classes in 32 clusters, told by ten numbers, with 5, 30 and 100 experts who know half of them each;
once more with a text of about 200 characters. A policy with a forest is fitted on 1,500 rows, saved and loaded;
then its steps are taken one by one on other rows, each after one that is not timed, so that trees are laid out and
memory is warm. Microseconds of processor time a row, of all threads together: a busy machine moves it least.

read       columns of a Parquet file, as the commands read it
encode     columns to numbers
base       what the policy's own base answers
judge      expected errors and fees of everybody
decide     whom to ask, and how many; `curve` is the share of it that the trees of k(x) take
columns    decisions as Arrow's arrays
write      those to a Parquet file
combine    answers of everybody in the committees to verdicts; `read back` before it, `combined columns` after it
next       one question after two answers, from what was seen
evaluate   `replay`: rows seen and scored; `settings`: every setting on them; `resamples`: 200 of each

    python benchmarks/route_profile.py --out benchmarks/results/route_profile.json
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from measure import provenance, write_down

from askwho.core import Answers, Cell, Panel
from askwho.data import Columns, Table, read_batches, read_log, write_batches, write_table
from askwho.evaluation import Resamples, adaptive_points, fixed_points, sequential_points, single_point
from askwho.fitting import fit
from askwho.persistence import load, save
from askwho.policy import Policy, Seen, Target
from askwho.replay import Replay

SEED = 0
CLASSES, CLUSTERS, FEATURES = 4, 32, 10
ENTITIES = (5, 30, 100)
LEARNED, ROWS, SCORED = 1_500, 40_000, 2_000
# Words of a text: with the spaces between them about 200 characters.
WORDS, VOCABULARY = 30, 2_000
TARGET = Target(fee_weight=0.5)

Made = TypeVar("Made")


def main() -> None:
    """Profile every panel, with and without text, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--quick", action="store_true", help="five entities and a few hundred rows: does it run?")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"numbers_are": "microseconds of processor time a row"}
    for entities in ENTITIES[:1] if arguments.quick else ENTITIES:
        for text in (False, True):
            name = f"{entities} entities{', text' if text else ''}"
            rows, scored = (500, 300) if arguments.quick else (ROWS, SCORED)
            with tempfile.TemporaryDirectory() as folder:
                results[name] = profiled(Path(folder), entities, rows, scored, text=text)
    libraries = ("numpy", "scikit-learn", "onnxruntime", "pyarrow", "askwho")
    results["provenance"] = provenance(seed=SEED, libraries=libraries)
    write_down(results, arguments.out)


def log(n: int, seed: int, entities: int, *, text: bool) -> Table:
    """Columns of a log in which each expert knows some classes, told by the features and the words."""
    rng, stated = np.random.default_rng([SEED, seed]), np.random.default_rng(SEED)
    cluster = rng.integers(0, CLUSTERS, n)
    truth = cluster % CLASSES
    X = stated.normal(size=(CLUSTERS, FEATURES))[cluster] + rng.normal(scale=0.7, size=(n, FEATURES))
    table: Table = {"id": np.array([f"q{seed}-{i}" for i in range(n)], dtype=object)}
    table |= {f"x_{i}": X[:, i] for i in range(FEATURES)} | {"truth": truth}
    if text:
        words = np.array(["".join(stated.choice(list("abcdefghijklmnop"), 6)) for _ in range(VOCABULARY)])
        drawn = words[rng.integers(0, VOCABULARY, (n, WORDS))]
        table["prompt"] = np.array([" ".join(row) for row in drawn.tolist()], dtype=object)
    for j in range(entities):
        right = rng.random(n) < np.where((truth + j) % CLASSES < CLASSES // 2, 0.95, 0.2)
        table[f"answer_e{j}"] = np.where(right, truth, rng.integers(0, CLASSES, n))
    return table


def profiled(place: Path, entities: int, rows: int, scored: int, *, text: bool) -> dict[str, Any]:
    """Microseconds a row of every part."""
    fees = {f"e{j}": 0.01 * (1 + j % 9) for j in range(entities)}
    columns = Columns(
        truth="truth", answers="answer_*", features="x_*", text="prompt" if text else None, fees=fees, id="id"
    )
    save(fit(read_log(log(LEARNED, 0, entities, text=text), columns), learner="forest", cv=2), place / "policy")
    policy = load(place / "policy")
    table = log(rows, 1, entities, text=text)
    write_table(place / "queries.parquet", table)
    found: dict[str, float] = {}

    def part(name: str, work: Callable[[], Made], count: int = rows) -> Made:
        work()
        start = time.process_time()
        made = work()
        found[name] = round((time.process_time() - start) / count * 1e6, 2)
        return made

    part("read", lambda: list(read_batches(place / "queries.parquet", texts=policy.texts)))
    X = part("encode", lambda: policy.encoder.transform(table))
    texts = table["prompt"].tolist() if text else None
    base = policy.base
    said, shares = (None, None) if base is None else part("base", lambda: base.say(X, texts))
    judged = part("judge", lambda: (policy.judge.judge(X), policy.judge.fees.of(X)))
    seen = Seen(X, *judged, said, shares)
    decided = part("decide", lambda: policy.decide(seen, TARGET, ids=table["id"]))
    part("curve", lambda: policy.cardinality.curve.predict(X, seen.expected, decided.order))
    routes = part("columns", lambda: decided.to_columns(arrow=True))
    part("write", lambda: write_batches(place / "routes.parquet", [routes]))
    found["route"] = round(sum(value for name, value in found.items() if name != "curve"), 2)
    part("read back", lambda: policy.read(place / "routes.parquet"))
    answers = everybody(policy, table)
    combined = part("combine", lambda: policy.combine(decided, answers))
    part("combined columns", lambda: combined.outcome_columns(arrow=True))
    if policy.turns is not None:
        two = np.where(np.arange(answers.states.shape[1]) < 2, answers.states, np.int8(Cell.NOT_ASKED)).astype(np.int8)
        part("next", lambda: policy.next(seen, Answers(answers.values, two), TARGET))
    test = read_log({name: values[:scored] for name, values in table.items()}, columns)
    held = part("replay", lambda: Replay.of(policy, test), scored)
    points = part("settings", lambda: settings(policy, held), scored)
    resamples = Resamples.of(test.groups, policy.unit, draws=200, random_state=SEED)
    part("resamples", lambda: resamples.tally(points), scored)
    return {"own_base": None if base is None else base.name, "rows": rows, "rows_scored": scored, **found}


def settings(policy: Policy, held: Replay) -> list[Any]:
    """Every setting of the policy, and everybody alone."""
    singles = [single_point(held, j) for j in range(len(held.log.panel))]
    ways = (fixed_points(policy, held), adaptive_points(policy, held), sequential_points(policy, held))
    return singles + [point for way in ways for point in way]


def everybody(policy: Policy, table: Table) -> Answers:
    """What all experts of a table say."""
    outside = tuple(entity for entity in policy.panel.entities if not entity.own)
    return Answers.from_table({entity.name: table[f"answer_{entity.name}"] for entity in outside}, Panel(outside))


if __name__ == "__main__":
    main()
