"""Claim: no step of askwho grows faster than linearly in rows, entities or features; its peers' seconds stand beside.

Peers: stacking, the neighbour and the forest router and the agreement cascade as in `askwho reproduce logs`, and with
ASKWHO_DESLIB_PYTHON set to a Python that has DESlib 0.3.7, KNORA-U, KNORA-E and META-DES, timed inside their own
process. All learn from the same rows and decide the same others: a stated synthetic log and, with ASKWHO_DATA set,
imagenet16h_humans, each split 60/40. Everybody takes its steps in turn, over and over in one run; medians are kept.

fit        learn from the training rows. askwho as it comes tries a base of its own, four learners in five folds, its
           committee, k(x) at 31 prices, and asking in turn; `plain` is a forest in five folds, calibrated, with a
           log-odds vote and k(x), but no base and no asking in turn: what a forest router lacks is then the folds and
           k(x).
route      whom to ask about every test row, at one price, before anybody is asked.
combine    what the asked say becomes a decision. Stacking is given everybody's answers.
decide     both. DESlib asks everybody and does both in one.
in turn    one question after another until nobody is worth asking, then a decision: here whole rounds of `Policy.next`,
           which remembers nothing but what it has seen of the queries.
evaluate   every setting on the test rows, scored; `a setting` is the share of one of them; `with intervals` adds
           baselines and 200 bootstrap resamples.

Growth: seconds against rows, entities and features, the others held; as many rows are decided as learned from. The
exponent is the slope of a least-squares line through the logarithms, with its standard error. Of the fit the seconds of
all processors together are kept too, which a busy machine moves less; how busy it was is written down.

    python benchmarks/speed.py --out benchmarks/results/speed.json --figure benchmarks/results/speed.png
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from measure import in_turn, provenance, write_down
from speed_peers import DESLIB, RIVALS, Contender, Deslib, DeslibProcess, differences

from askwho.core import Answers, Cell
from askwho.data import Columns, Log, read_log
from askwho.evaluation import adaptive_points, evaluate, fixed_points, sequential_points
from askwho.fitting import fit
from askwho.policy import Policy, Target
from askwho.replay import Replay
from askwho_studies.logs import Split, load_log

SEED = 0
CLASSES, ENTITIES, FEATURES = 10, 10, 16
ROWS = 2_000
SHARED = "imagenet16h_humans"
GROWTH: Mapping[str, Sequence[int]] = {
    "rows": (500, 1_000, 2_000, 4_000, 8_000, 16_000),
    "entities": (5, 10, 20, 40),
    "features": (8, 16, 32, 64, 128),
}
QUICK: Mapping[str, Sequence[int]] = {"rows": (240, 480), "entities": (3, 6), "features": (4, 8)}
LARGEST = 8_000
HELD = {"rows": 1_000, "entities": ENTITIES, "features": FEATURES}
PLAIN = {"base": "none", "learner": "forest", "committee": "log-odds-vote"}
OURS: Mapping[str, dict[str, Any]] = {"askwho": {}, "askwho (plain)": PLAIN}
STEPS = ("fit", "route", "combine", "decide", "in turn", "evaluate", "a setting")


class Ours(Contender):
    """Askwho on a split.

    Args:
        split: the rows.
        options: as in `fit`.
    """

    policy: Policy

    def __init__(self, split: Split, options: Mapping[str, Any]) -> None:
        super().__init__(split)
        self.options = dict(options)
        self.does = f"fit({', '.join(f'{k}={v!r}' for k, v in options.items())}); features are encoded each time"

    def steps(self) -> Mapping[str, Callable[[], object]]:
        """All of them; asking in turn where the policy can."""
        steps = {"fit": self.fit, "route": self.route, "combine": self.combine}
        if "committee" not in self.options:
            steps["in turn"] = self.take_turns
        return steps | {"evaluate": self.evaluate, "with intervals": lambda: evaluate(self.policy, self.split.test)}

    def fit(self) -> None:
        """Fit the policy."""
        self.policy = fit(self.split.train, random_state=self.split.seed, **self.options)

    def route(self) -> None:
        """Decide at the middle one of the policy's prices."""
        prices = self.policy.tried.prices
        target = Target(fee_weight=float(prices[len(prices) // 2]))
        self.chosen = self.policy.decide(self.split.test.known, target)

    def combine(self) -> None:
        """Combine what the chosen said."""
        log = self.split.test
        self.policy.combine(self.chosen, _answers(log), info=log.info)

    def take_turns(self) -> None:
        """Ask one after the other at the middle one of the prices, and decide."""
        turns_taken(self.policy, self.split.test)

    def evaluate(self) -> None:
        """Score every setting, without intervals."""
        policy, held = self.policy, Replay.of(self.policy, self.split.test)
        points = (fixed_points(policy, held), adaptive_points(policy, held), sequential_points(policy, held))
        self.settings = sum(map(len, points))


def main() -> None:
    """Time everybody, then growth, and write both down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="where to write the JSON; printed alone if left out")
    parser.add_argument("--figure", type=Path, help="where to draw the growth")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--largest", type=int, default=LARGEST, help="the most rows that growth goes to")
    parser.add_argument("--quick", action="store_true", help="a few hundred rows, once: does it run?")
    arguments = parser.parse_args()
    start, busy = time.perf_counter(), os.getloadavg()[0]
    small = Split.of(log(500), SEED)
    wrong = {name: count for name, count in differences(small).items() if count}
    if wrong:
        raise SystemExit(f"These are not the rivals of the logs' study: {wrong} rows differ.")
    results: dict[str, Any] = {"seconds_are": "medians; ratios are a peer's seconds over ours: below 1 it is faster"}
    repeats = 1 if arguments.quick else arguments.repeats
    results["synthetic"] = compared(small if arguments.quick else Split.of(log(ROWS), SEED), repeats)
    data = os.environ.get("ASKWHO_DATA")
    if data is None:
        results[SHARED] = "skipped: ASKWHO_DATA is not set"
    else:
        shared = load_log(Path(data), SHARED, rows=500 if arguments.quick else None)
        results[SHARED] = compared(Split.of(shared, SEED), repeats)
    sweeps = QUICK if arguments.quick else GROWTH
    held = HELD | ({"rows": QUICK["rows"][0]} if arguments.quick else {})
    results["growth"] = {
        axis: grown(axis, [size for size in sizes if axis != "rows" or size <= arguments.largest], held)
        for axis, sizes in sweeps.items()
    }
    results["whole_run_seconds"] = round(time.perf_counter() - start)
    # About the two that its own forests take, where nothing else runs.
    results["load_average"] = {"before": round(busy, 1), "after": round(os.getloadavg()[0], 1)}
    libraries = ("numpy", "scipy", "scikit-learn", "lightgbm", "askwho")
    results["provenance"] = provenance(seed=SEED, libraries=libraries)
    write_down(results, arguments.out)
    if arguments.figure is not None:
        draw(results["growth"], arguments.figure)


def log(n: int, *, entities: int = ENTITIES, features: int = FEATURES) -> Log:
    """A log in which each expert knows half of ten classes; the features tell classes apart alike, however many."""
    rng, stated = np.random.default_rng(SEED), np.random.default_rng(SEED + 1)
    centres = stated.normal(size=(CLASSES, features)) * np.sqrt(FEATURES / features)
    truth = rng.integers(0, CLASSES, n)
    X = centres[truth] + rng.normal(scale=1.2, size=(n, features))
    table: dict[str, np.ndarray] = {f"x_{i}": X[:, i] for i in range(features)} | {"truth": truth}
    for j in range(entities):
        right = rng.random(n) < np.where((truth + j) % CLASSES < 5, 0.95, 0.2)
        table[f"answer_e{j}"] = np.where(right, truth, rng.integers(0, CLASSES, n))
    fees = {f"e{j}": 0.01 * (1 + j % 10) for j in range(entities)}
    return read_log(table, Columns(truth="truth", answers="answer_*", features="x_*", fees=fees))


def compared(split: Split, repeats: int) -> dict[str, Any]:
    """Median seconds of everybody's steps on a split, and the peers' over ours."""
    everybody: dict[str, Contender] = {name: Ours(split, options) for name, options in OURS.items()}
    everybody |= {name: make(split) for name, make in RIVALS.items()}
    python, process, skipped = os.environ.get("ASKWHO_DESLIB_PYTHON"), None, {}
    if python is None:
        why = "ASKWHO_DESLIB_PYTHON is not set (see askwho_studies/logs/deslib/requirements.txt)"
        skipped = dict.fromkeys(DESLIB, why)
    else:
        process = DeslibProcess(python, split)
        everybody |= {name: Deslib(split, method, process) for name, method in DESLIB.items()}
        for each in everybody.values():
            if isinstance(each, Deslib):
                each.timed()  # its process has not warmed up yet; ours has
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in everybody}
    for _ in range(repeats):
        for name, each in everybody.items():
            runs[name].append(each.timed())
            print(name, {step: round(seconds, 3) for step, seconds in runs[name][-1].items()}, flush=True)
    if process is not None:
        process.close()
    seconds = {name: _medians(each) for name, each in runs.items()}
    for name, each in everybody.items():
        if each.settings is not None:
            seconds[name]["a setting"] = seconds[name]["evaluate"] / each.settings
    return {
        "rows": {"learned_from": len(split.train), "decided": len(split.test)},
        "entities": len(split.price),
        "features": int(split.X_train.shape[1]),
        "repeats": repeats,
        "contenders": {
            name: {
                "does": each.does,
                "seconds": {step: float(f"{value:.3g}") for step, value in seconds[name].items()},
                **({} if each.settings is None else {"settings": each.settings}),
            }
            for name, each in everybody.items()
        },
        "chosen_by_askwho": _chosen(everybody["askwho"]),
        "peer_over_ours": {ours: _ratios(seconds, ours) for ours in OURS},
        "skipped": skipped,
    }


def grown(axis: str, sizes: Sequence[int], held: Mapping[str, int]) -> dict[str, Any]:
    """Seconds at every size along an axis, and the exponent of each step.

    The fit, as it comes, is timed once a size. What decides is fitted apart, in two folds, with the forest for its
    learner: as it comes, another may be chosen at another size.
    """
    seconds: dict[str, list[float]] = {}
    for size in sizes:
        at = {**held, axis: size}
        split = _halves(log(2 * at["rows"], entities=at["entities"], features=at["features"]))
        start, used = time.perf_counter(), time.process_time()
        fit(split.train, random_state=SEED)
        seconds.setdefault("fit", []).append(time.perf_counter() - start)
        seconds.setdefault("fit, all processors", []).append(time.process_time() - used)
        ours = Ours(split, {"learner": "forest", "cv": 2})
        ours.fit()
        steps = {"route": ours.route, "combine": ours.combine, "in turn": ours.take_turns, "evaluate": ours.evaluate}
        for step, took in zip(steps, in_turn(3, *steps.values()), strict=True):
            seconds.setdefault(step, []).append(took)
        print(axis, size, {step: round(values[-1], 3) for step, values in seconds.items()}, flush=True)
    return {
        "sizes": list(sizes),
        "held": {name: value for name, value in held.items() if name != axis},
        "seconds": {step: [float(f"{value:.3g}") for value in values] for step, values in seconds.items()},
        "exponent": {step: exponent(sizes, values) for step, values in seconds.items()},
    }


def exponent(sizes: Sequence[int], seconds: Sequence[float]) -> dict[str, float | None]:
    """The slope of log seconds on log size, its standard error, and the slope between the last two sizes."""
    x, y = np.log(np.asarray(sizes, dtype=np.float64)), np.log(np.asarray(seconds))
    away = x - x.mean()
    slope = float(away @ y / (away @ away))
    left = y - y.mean() - slope * away
    error = float(np.sqrt(left @ left / (len(x) - 2) / (away @ away))) if len(x) > 2 else None
    last = float((y[-1] - y[-2]) / (x[-1] - x[-2]))
    return {
        "slope": round(slope, 3),
        "standard_error": None if error is None else round(error, 3),
        "last_two": round(last, 3),
    }


def turns_taken(policy: Policy, queries: Log) -> np.ndarray:
    """Return what is decided of each query after asking one after the other, as a caller with all answers would."""
    assert policy.turns is not None  # noqa: S101 - only those that can ask in turn are timed so
    prices = policy.turns.tried.prices
    target = Target(fee_weight=float(prices[len(prices) // 2]))
    seen = policy.see(queries.known)
    whole = seen.answers(policy.panel, _answers(queries))
    states = np.where(policy.panel.own, whole.states, np.int8(Cell.NOT_ASKED)).astype(np.int8)
    decided, rows = np.zeros(len(queries), dtype=whole.values.dtype), np.arange(len(queries))
    while rows.size:
        so_far = Answers(whole.values[rows], states[rows])
        step = policy.next(seen.rows(rows), so_far, target, info=queries.info[rows])
        assert step.outcome is not None  # noqa: S101 - a step always has one
        on = step.k > 0
        decided[rows[~on]] = step.outcome.values[~on]
        rows, who = rows[on], step.order[on, 0]
        said = whole.states[rows, who]
        states[rows, who] = np.where(said == Cell.NOT_ASKED, np.int8(Cell.NO_ANSWER), said)
    return decided


def draw(growth: Mapping[str, Any], path: Path) -> None:
    """Draw seconds against each size, a panel an axis, with the exponents."""
    figure, panels = plt.subplots(1, len(growth), figsize=(11, 3.6), layout="constrained", sharey=True)
    for axes, (axis, found) in zip(panels, growth.items(), strict=True):
        for step, seconds in found["seconds"].items():
            slope = found["exponent"][step]["slope"]
            axes.plot(found["sizes"], seconds, marker="o", markersize=3, linewidth=1.2, label=f"{step}: {slope:.2f}")
        held = ", ".join(f"{value:,} {name}" for name, value in found["held"].items())
        axes.set(xscale="log", yscale="log", xlabel=axis, title=held)
        axes.set_xticks(found["sizes"], [f"{size:,}" for size in found["sizes"]], minor=False)
        axes.minorticks_off()
        axes.title.set_fontsize(9)
        axes.legend(fontsize=7, title="exponent", title_fontsize=7, ncols=2, loc="lower center", frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(visible=True, linewidth=0.3)
    panels[0].set_ylabel("seconds")
    # Room for the legends under the curves.
    panels[0].set_ylim(bottom=panels[0].get_ylim()[0] / 8)
    figure.savefig(path, dpi=120)


def _halves(both: Log) -> Split:
    half = len(both) // 2
    train, test = both.rows(np.arange(half)), both.rows(np.arange(half, 2 * half))
    return Split(train, test, np.zeros((half, 1)), np.zeros((half, 1)), SEED)


def _medians(runs: Sequence[dict[str, float]]) -> dict[str, float]:
    """Medians by step; deciding is routing, if there is any, and combining."""
    seconds = {step: statistics.median(run[step] for run in runs) for step in runs[0]}
    if "combine" in seconds:
        seconds["decide"] = statistics.median(run.get("route", 0.0) + run["combine"] for run in runs)
    return seconds


def _ratios(seconds: Mapping[str, Mapping[str, float]], ours: str) -> dict[str, dict[str, float]]:
    mine = seconds[ours]
    return {
        step: {
            name: float(f"{took[step] / mine[step]:.3g}")
            for name, took in seconds.items()
            if name not in OURS and step in took
        }
        for step in STEPS
        if step in mine
    }


def _chosen(ours: Contender) -> dict[str, str | None]:
    assert isinstance(ours, Ours)  # noqa: S101 - it is the one of that name
    policy = ours.policy
    base = None if policy.base is None else policy.base.name
    return {"learner": policy.judge.name, "committee": policy.combiner.name, "base": base}


def _answers(log: Log) -> Answers:
    assert log.answers is not None  # noqa: S101 - logs of answers alone are timed
    return log.answers


if __name__ == "__main__":
    main()
