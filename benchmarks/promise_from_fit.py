"""Promises of `fit(log, promise=0.3)`, draw by draw, on populations whose truth is known: part of `promise.py`.

Three experts; a population of 4,000 queries, from which a log of n rows is drawn with replacement, whole groups where
there are any. A policy is fitted on it, three tenths of it kept apart, targets are asked for, and what the policy then
does is judged on the whole population. Targets are set beforehand, on a policy of another log.

Six populations: classes; numbers, of light tails and of heavy ones (Student's t of 2.5, cut at the cap); classes in
groups of one row to thirty, whose rows fare alike, those of large groups worse; and fees that differ by query, up to
three times as much as usual, or with heavy tails (Pareto's law of 1.3, cut at the cap). The learner is linear, so that
there can be many draws; of classes once more whatever `auto` takes. Where fees are constant, logs of 1,000 rows are
fitted once more with four tenths kept apart: what a larger part buys.

    python benchmarks/promise_from_fit.py [--draws 500] [--auto 100] [--workers 2] [--kept FILE] [--out FILE]
"""

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from measure import provenance, write_down
from scipy.stats import binomtest

from askwho.data import Columns, Log, Sampling, read_log
from askwho.exceptions import InvalidInputError
from askwho.fitting import fit
from askwho.policy import Outcomes, Policy, Setting, Target
from askwho.policy._promises import Promises, shown_within
from askwho.replay import Replay

SEED = 0
FEES = {"cheap": 0.02, "middle": 0.06, "dear": 0.2}
POPULATION = 4_000
CLASSES = 3
CONFIDENCE, KEPT = 0.95, 0.3
# The larger part, and the logs for which it is tried: there a budget leaves a tenth unspent with the usual one.
MORE_KEPT, MORE_ROWS = 0.4, 1_000
KINDS = ("classes", "groups", "fees", "numbers", "heavy fees", "heavy numbers")
ROWS = (250, 400, 1_000, 4_000)
AUTO_ROWS = 400
"""Rows of the logs for which the learner is chosen too."""
# A log of 4,000 rows takes as long as five of 400: of these a quarter of the draws are made. Of 250 rows few tight
# errors can be promised at all, of 1,000 rows of numbers few errors: four times the draws tell what part of them is.
DRAWS = {(kind, 4_000): 0.25 for kind in KINDS} | {(kind, 250): 4.0 for kind in KINDS} | {("numbers", 1_000): 4.0}
# No answer is further off than this, nor any mean of answers; and no query is charged more: light tails, heavy ones.
MAX_LOSS, MAX_FEE = {"numbers": 4.0, "heavy numbers": 12.0}, {"fees": 3 * sum(FEES.values()), "heavy fees": 20.0}
# Pareto's law has no variance below 2, and Student's no fourth moment below 4.
PARETO, STUDENT = 1.3, 2.5
MAX_GROUP = 30
"""No group has more rows."""
# Every so many prices are tried where the best of all is looked for.
_EVERY = 5


@dataclass(frozen=True, eq=False)
class World:
    """A population.

    Args:
        kind: which of the six.
        log: all of it.
        committee: how answers are combined; only classes that are believed in can be asked in turn.
        learner: of the policies.
        kept: the part of a log that is kept for promises.
    """

    kind: str
    log: Log
    committee: str
    learner: str = "linear"
    kept: float = KEPT

    @property
    def name(self) -> str:
        """What the cells of this population are called."""
        learned = "" if self.learner == "linear" else f", {self.learner}"
        return f"{self.kind}{learned}" + ("" if self.kept == KEPT else f", {self.kept:g} kept")

    @classmethod
    def of(cls, kind: str, seed: int) -> "World":
        """Return the population of a kind."""
        rng = np.random.default_rng(seed)
        # Sizes of groups have a long tail; of the last group only what is left.
        sizes = np.minimum(1 + rng.geometric(0.3, POPULATION) // 2 + 25 * (rng.random(POPULATION) < 0.02), MAX_GROUP)
        group = np.repeat(np.arange(POPULATION), sizes if kind == "groups" else 1)[:POPULATION]
        shared = rng.normal(size=(POPULATION, 2))[group]
        X = shared if kind != "groups" else 0.8 * shared + 0.6 * rng.normal(size=(POPULATION, 2))
        # Each expert is good in a half-space of its own, the dear one in more of it.
        ways = np.array([[2.0, -1.0, 0.5], [0.0, 2.0, 0.5]])
        good = 1 / (1 + np.exp(-(X @ ways + np.array([-0.5, 0.5, 2.0]))))
        luck = rng.random((POPULATION, 3))[group]
        table: dict[str, np.ndarray] = {f"x_{i}": X[:, i] for i in range(2)} | {"group": group}
        if kind in MAX_LOSS:
            table["truth"] = rng.normal(size=POPULATION)
            heavy = kind.startswith("heavy")
            noise = rng.standard_t(STUDENT, (POPULATION, 3)) if heavy else rng.normal(size=(POPULATION, 3))
            noise = np.clip(noise, -MAX_LOSS[kind] + 1, MAX_LOSS[kind] - 1) * (0.1 + 0.9 * (1 - good))
            said = table["truth"][:, None] + noise
        else:
            table["truth"] = rng.integers(0, CLASSES, POPULATION)
            wrong = (table["truth"][:, None] + rng.integers(1, CLASSES, (POPULATION, 3))) % CLASSES
            # Large groups are few, have a fifth of the rows, and are harder than the others: the worst for a sample.
            harder = 0.3 * (np.bincount(group)[group] > 20)[:, None]
            said = np.where(luck < 0.3 + 0.68 * good - harder, table["truth"][:, None], wrong)
        factor = 0.5 + 2.5 * (0.5 * rng.random(POPULATION) + 0.5 / (1 + np.exp(-X[:, 0]))) ** 3
        if kind == "heavy fees":
            most = MAX_FEE[kind] / sum(FEES.values())
            factor = np.minimum(0.3 * (1.0 + rng.pareto(PARETO, POPULATION)), most)
        for j, (name, fee) in enumerate(FEES.items()):
            table |= {f"answer_{name}": said[:, j], f"fee_{name}": fee * factor}
        columns = Columns(
            truth="truth",
            answers="answer_*",
            features="x_*",
            fees="fee_*" if kind in MAX_FEE else FEES,
            groups="group" if kind == "groups" else None,
            task="regression" if kind in MAX_LOSS else "classification",
        )
        rule = "auto" if kind == "classes" else "mean" if kind in MAX_LOSS else "majority"
        return cls(kind, read_log(table, columns), rule)

    @cached_property
    def members(self) -> list[np.ndarray]:
        """The rows of each group."""
        order = np.argsort(self.log.groups, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(self.log.groups[order])) + 1)

    def drawn(self, n: int, rng: np.random.Generator) -> Log:
        """Return a log of about n rows, each group of it a draw of its own."""
        chosen = rng.integers(0, len(self.members), round(n * len(self.members) / len(self.log)))
        rows = [self.members[each] for each in chosen]
        log = self.log.rows(np.concatenate(rows))
        return replace(log, sampling=Sampling(np.repeat(np.arange(len(rows)), [len(each) for each in rows])))

    def fitted(self, n: int, seed: int) -> Policy:
        """Return the policy of a log of n rows."""
        return fit(
            self.drawn(n, np.random.default_rng(seed)),
            learner=self.learner,
            base="none",
            committee=self.committee,
            cv=2,
            promise=self.kept,
            random_state=seed,
        )

    def target(self, budget: float | None = None, max_error: float | None = None) -> Target:
        """Return a promise, with the caps that this population needs."""
        return Target(
            budget=budget,
            max_error=max_error,
            confidence=CONFIDENCE,
            max_fee=MAX_FEE.get(self.kind) if budget is not None else None,
            max_loss=MAX_LOSS.get(self.kind) if max_error is not None else None,
            max_group=MAX_GROUP if self.kind == "groups" else None,
        )

    @cached_property
    def targets(self) -> dict[str, Target]:
        """What is asked for: targets in the midst of what can be had, and close to its end, where many are refused."""
        judged = Judged(self, replace(self, kept=KEPT).fitted(1_000, 2**31))
        fees, errors = np.array([judged.of(Setting(p, p, 0.0), in_turn=False) for p in judged.prices]).T
        budget, near = (float(fees.min() * (fees.max() / fees.min()) ** part) for part in (0.4, 0.1))
        error, close = (float(errors.min() + part * (errors[fees.argmin()] - errors.min())) for part in (0.5, 0.15))
        enough = 1.15 * float(fees[errors <= error].min())
        return {
            "budget": self.target(budget=budget),
            "tight budget": self.target(budget=near),
            "max_error": self.target(max_error=error),
            "tight max_error": self.target(max_error=close),
            "both": self.target(budget=enough, max_error=error),
        }


class Judged:
    """What one policy really does on the whole population."""

    def __init__(self, world: World, policy: Policy) -> None:
        self.world, self.policy = world, policy
        self.replay = Replay.of(policy, world.log)
        self.prices: list[float] = policy.tried.prices[::_EVERY].tolist()
        self._known: dict[tuple[float, bool], tuple[np.ndarray, np.ndarray]] = {}

    def at(self, price: float, *, in_turn: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the fee and the error of every query at a price, each of shape (n,)."""
        key = price, in_turn
        if key not in self._known:
            some, turns = np.array([price]), self.policy.turns
            if in_turn and turns is not None:
                errors, fees, _ = self.replay.taken(turns.asking, some)
            else:
                done = self.replay.at_once(self.policy.cardinality, some)
                errors, fees = done.errors, done.fees
            self._known[key] = fees[0], errors[0]
        return self._known[key]

    def of(self, setting: Setting, *, in_turn: bool) -> tuple[float, float]:
        """Return the true mean fee and the true error at a setting."""
        here, there = (self.at(price, in_turn=in_turn) for price in (setting.fee_weight, setting.other))
        aside = self.replay.seen.coins < setting.share
        fee, error = (float(np.where(aside, b, a).mean()) for a, b in zip(here, there, strict=True))
        return fee, float(np.sqrt(error)) if self.world.kind in MAX_LOSS else error

    def could(self, target: Target, *, in_turn: bool) -> bool:
        """Return whether one test could promise it, if an oracle named the setting that truly is the best for it."""
        rows = kept_rows(self.policy, in_turn=in_turn)
        prices = rows.prices[::_EVERY].tolist()
        means = [self.of(Setting(p, p, 0.0), in_turn=in_turn) for p in prices]
        by_error = target.budget is None
        best = int(np.argmin([each[by_error] for each in means])) * _EVERY
        squared = self.world.kind in MAX_LOSS
        if by_error:
            table, wanted, most = rows.errors, target.max_error or 0.0, MAX_LOSS.get(self.world.kind, 1.0)
            wanted, most = (wanted**2, most**2) if squared else (wanted, most)
        else:
            most = MAX_FEE.get(self.world.kind, sum(FEES.values()))
            table, wanted = rows.fees, target.budget or 0.0
        shown = shown_within(
            table[best][:, None],
            np.array([wanted]),
            np.array([most]),
            level=1 - CONFIDENCE,
            groups=rows.groups,
            most_rows=MAX_GROUP if self.world.kind == "groups" else 1,
        )
        return bool(shown[0])


def kept_rows(policy: Policy, *, in_turn: bool) -> Outcomes:
    """Return what was done on the rows that were kept apart."""
    tried = policy.turns.tried if in_turn and policy.turns is not None else policy.tried
    assert tried.kept is not None  # noqa: S101 - they were asked for
    return tried.kept


def from_fit(
    draws: int,
    *,
    auto: int = 0,
    workers: int = 1,
    kinds: Sequence[str] = KINDS,
    kept: Path | None = None,
) -> list[dict[str, Any]]:
    """Return what became of every target on every population for every number of rows, with tests of all of it.

    Args:
        draws: of each population and number of rows.
        auto: draws of classes in which the learner is chosen too.
        workers: how many processes draw.
        kinds: which populations.
        kept: a file of cells as they come, each with its commit: what is in it is not made again.
    """
    cells: list[dict[str, Any]] = []
    if kept is not None and kept.is_file():
        cells = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    done = {(cell["population"], cell["rows"]) for cell in cells}
    plan = [(_world(kind), n, max(1, round(draws * DRAWS.get((kind, n), 1.0)))) for kind in kinds for n in ROWS]
    plan += [(_world(kind, kept=MORE_KEPT), MORE_ROWS, draws) for kind in kinds if kind not in (*MAX_FEE, "groups")]
    plan += [(_world("classes", "auto"), AUTO_ROWS, auto)] if auto else []
    plan = [each for each in plan if (each[0].name, each[1]) not in done]
    commit = provenance(seed=SEED)["commit"]
    with ProcessPoolExecutor(workers) as pool:
        for world, n, count in plan:
            found: dict[str, list[tuple[bool, bool, float, float, bool]]] = {}
            todo = [(world.kind, world.learner, world.kept, n, SEED + 1 + draw) for draw in range(count)]
            for drawn in pool.map(_one, todo, chunksize=5):
                for name, each in drawn:
                    found.setdefault(name, []).append(each)
            fresh = [_cell(world, n, name, each) | {"commit": commit} for name, each in found.items()]
            if kept is not None:
                with kept.open("a", encoding="utf-8") as file:
                    file.writelines(json.dumps(cell) + "\n" for cell in fresh)
            cells += fresh
    order = sorted(range(len(cells)), key=lambda i: cells[i]["p"])
    level = 0.0
    for place, i in enumerate(order):
        # Holm: the least of h is multiplied by h, the next by h − 1, and none gets below the one before.
        level = max(level, min(1.0, (len(order) - place) * cells[i]["p"]))
        cells[i]["p_holm"] = round(level, 4)
    return cells


@lru_cache
def _world(kind: str, learner: str = "linear", kept: float = KEPT) -> World:
    """The population, made once in each process."""
    return replace(World.of(kind, SEED), learner=learner, kept=kept)


def _one(given: tuple[str, str, float, int, int]) -> list[tuple[str, tuple[bool, bool, float, float, bool]]]:
    kind, learner, kept, n, draw = given
    # What could have been promised instead is looked for where a promise is refused: nobody reads it here.
    for name in ("_least_fee", "_least_error"):
        setattr(Promises, name, lambda *_: np.inf)
    return list(_draw(_world(kind, learner, kept), n, draw))


def _draw(world: World, n: int, seed: int) -> Iterator[tuple[str, tuple[bool, bool, float, float, bool]]]:
    """Whether each target was promised, and broken, the true fee and error, and whether an oracle's test could."""
    policy = world.fitted(n, seed)
    judged = Judged(world, policy)
    for in_turn in (False, True) if policy.turns is not None else (False,):
        for name, target in world.targets.items():
            label = f"{name}, in turn" if in_turn else name
            could = name != "both" and judged.could(target, in_turn=in_turn)
            try:
                setting = policy.setting(target, in_turn=in_turn)
            except InvalidInputError:
                yield label, (False, False, np.nan, np.nan, could)
                continue
            fee, error = judged.of(setting, in_turn=in_turn)
            most_fee, most_error = (np.inf if each is None else each for each in (target.budget, target.max_error))
            yield label, (True, fee > most_fee or error > most_error, fee, error, could)


def _cell(world: World, n: int, name: str, rows: list[tuple[bool, bool, float, float, bool]]) -> dict[str, Any]:
    promised, broken, fees, errors, could = (np.array(each) for each in zip(*rows, strict=True))
    target = world.targets[name.removesuffix(", in turn")]
    out: dict[str, Any] = {
        "population": world.name,
        "rows": n,
        "target": name,
        "draws": len(rows),
    }
    out |= {"asked": str(target), "promised": int(promised.sum()), "broken": int(broken.sum())}
    if not name.startswith("both"):
        out["one_test_could"] = int(could.sum())
    if promised.any() and target.budget is not None:
        out["part_of_budget_spent"] = round(float(fees[promised].mean()) / target.budget, 4)
    if promised.any() and target.max_error is not None:
        out["part_of_error_used"] = round(float(errors[promised].mean()) / target.max_error, 4)
    out["p"] = float(binomtest(int(broken.sum()), len(rows), 1 - CONFIDENCE, alternative="greater").pvalue)
    print(out, flush=True)
    return out


def main() -> None:
    """Draw, ask, judge, and write down how often a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--auto", type=int, default=100)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--kinds", help="some of the populations, separated by commas")
    parser.add_argument("--kept", type=Path, help="a file of cells as they come: what is in it is not made again")
    given = parser.parse_args()
    kinds = given.kinds.split(",") if given.kinds else KINDS
    cells = from_fit(given.draws, auto=given.auto, workers=given.workers, kinds=kinds, kept=given.kept)
    write_down({"confidence": CONFIDENCE, "from_fit": cells, "provenance": provenance(seed=SEED)}, given.out)


if __name__ == "__main__":
    main()
