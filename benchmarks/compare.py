"""Claim: two commits decide the same: whom to ask, in which order, at what fee, and what comes of the answers.

Each commit is checked out beside the other and fits policies on the same samples of every log, saves and loads them,
and decides the same queries at every target, at once and in turn. No data and no decision is stored: what differs is
counted and listed. A row differs where its committee or its verdict does; it counts as a tie where both commits expect
the same cost of their choices to within 1e-6.

    python benchmarks/compare.py OLD NEW --data DATA [--logs face_emotion_apis,...] [--rows 900]
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

# Rows of each log that a policy learns from, and as many again that it decides.
ROWS = 900
# `Cell.NOT_ASKED`, which lives in different rooms of the two commits.
NOT_ASKED = 1
# A tie: choices whose expected costs are nearer than this.
TIE = 1e-6


def main() -> None:
    """Compare two commits, or decide for one of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="*", help="two commits")
    parser.add_argument("--data", type=Path, default=os.environ.get("ASKWHO_DATA"), help="where logs/ lies")
    parser.add_argument("--logs", help="some of the logs, separated by commas")
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--one", type=Path, help="decide with the askwho in reach, and write it there")
    given = parser.parse_args()
    names = given.logs.split(",") if given.logs else sorted(path.stem for path in (given.data / "logs").glob("*.json"))
    if given.one is not None:
        for name in names:
            made: dict[str, Any] = decide(given.data, name, given.rows)
            np.savez_compressed(given.one / f"{name}.npz", **made)
            print(name, flush=True)
        return
    with tempfile.TemporaryDirectory() as place:
        found = [_one_commit(commit, Path(place), given, names) for commit in given.commits]
        worst = 0
        for name in names:
            worst = max(worst, _compare(name, *(np.load(each / f"{name}.npz", allow_pickle=False) for each in found)))
    sys.exit(1 if worst else 0)


def _one_commit(commit: str, place: Path, given: Any, names: list[str]) -> Path:  # noqa: ANN401
    """Check a commit out and let it decide; return where its decisions lie for as long as this runs."""
    tree, out = place / commit, place / f"{commit}-decided"
    out.mkdir()
    subprocess.run(
        ["git", "worktree", "add", "--detach", "--force", str(tree), commit], check=True, capture_output=True
    )
    try:
        command = [sys.executable, str(Path(__file__).resolve()), "--one", str(out), "--data", str(given.data)]
        command += ["--rows", str(given.rows), "--logs", ",".join(names)]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": str(tree / "src")}, cwd=tree)
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", str(tree)], check=True, capture_output=True)
    return out


def _compare(name: str, old: Any, new: Any) -> int:  # noqa: ANN401 - archives of arrays
    """Print what differs in a log; return how many settings differ in more than a thousandth of their rows."""
    worse = 0
    for setting in sorted({key.split("|")[0] for key in old.files} & {key.split("|")[0] for key in new.files}):
        cells = {part: (old[f"{setting}|{part}"], new[f"{setting}|{part}"]) for part in ("asked", "said", "cost")}
        differ = (cells["asked"][0] != cells["asked"][1]) | (cells["said"][0] != cells["said"][1])
        far = differ & ~(np.abs(cells["cost"][0] - cells["cost"][1]) <= TIE)
        if differ.any():
            print(f"{name} {setting}: {int(differ.sum())} of {len(differ)} rows differ, {int(far.sum())} not by a tie")
        worse += int(far.mean() > 0.001)
    absent = {key.split("|")[0] for key in old.files} ^ {key.split("|")[0] for key in new.files}
    print(f"{name}: compared{f', only in one: {sorted(absent)}' if absent else ''}")
    return worse


def decide(data: Path, name: str, rows: int) -> dict[str, np.ndarray]:
    """Return whom a policy asks, what comes of it, and the cost it expects, by setting, with the askwho in reach."""
    described = json.loads((data / "logs" / f"{name}.json").read_text())
    data_room: Any = importlib.import_module("askwho.data")
    persistence: Any = importlib.import_module("askwho.persistence")

    table = data_room.read_table(data / "logs" / f"{name}.parquet")
    grouped = described.get("split_by")
    features = [each for each in (described["features"], "group" if "group" in table and not grouped else None) if each]
    columns = data_room.Columns(
        truth=described["truth"] if described["answers"] else None,
        answers=described["answers"],
        grades=described["grades"],
        features=",".join(features) or None,
        text=described["text"],
        info=described.get("info"),
        groups=grouped,
        fees="fee_*" if any(each.startswith("fee_") for each in table) else described["fees"],
        task=described["task"],
        nulls="not-asked" if described["nulls"] in ("none",) or " " in described["nulls"] else described["nulls"],
    )
    chosen = np.random.default_rng(0).permutation(len(next(iter(table.values()))))
    train, test = (
        data_room.read_log({key: values[each] for key, values in table.items()}, columns)
        for each in (np.sort(chosen[:rows]), np.sort(chosen[rows : 2 * rows]))
    )
    with tempfile.TemporaryDirectory() as folder:
        side = _New() if hasattr(importlib.import_module("askwho.policy"), "Target") else _Old()
        persistence.save(side.fit(train), Path(folder) / "policy")
        return side.everything(persistence.load(Path(folder) / "policy"), test)


def _targets(validated: list[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Targets of every kind, taken from what held-out rows show."""
    known = [point for point in validated if np.isfinite(point["error"])]
    fees, errors = sorted(p["mean_fee"] for p in known), sorted(p["error"] for p in known)
    middle = {"budget": float(np.median(fees)), "max_error": float(np.median(errors))}
    found: dict[str, dict[str, float]] = {"k=1": {"k": 1}}
    found |= {f"fee_weight {i}": {"fee_weight": known[i]["fee_weight"]} for i in range(0, len(known), 6)}
    found |= {name: {name: value} for name, value in middle.items()}
    found["both"] = {"budget": fees[-1], "max_error": middle["max_error"] * 1.2}
    found["promised budget"] = {"budget": fees[-1] * 1.05 + 1e-9, "confidence": 0.9}
    return found


class _New:
    """The floor of `Policy.decide`, `combine` and `next`."""

    def fit(self, log: Any) -> Any:  # noqa: ANN401
        return importlib.import_module("askwho").fit(log)

    def everything(self, policy: Any, log: Any) -> dict[str, np.ndarray]:  # noqa: ANN401
        whole_room: Any = importlib.import_module("askwho")
        InvalidInputError, Target, Answers = whole_room.InvalidInputError, whole_room.Target, whole_room.Answers

        seen, found = policy.see(log.known), {}
        for name, target in _targets(policy.tried.validated(policy.unit)).items():
            aim = Target(**target)
            try:
                decisions = policy.decide(seen, aim)
            except InvalidInputError:
                found |= _cells(f"at once {name}", np.array(["refused"]), np.array([""]), np.zeros(1))
                continue
            asked = _names(policy.panel.names, decisions.order, decisions.k)
            said = np.array([""] * len(log))
            if log.answers is not None:
                outcome = policy.combine(decisions, log.answers, info=_wide(policy, log)).outcome
                said = np.where(outcome.decided, outcome.values.astype(str), "")
            found |= _cells(f"at once {name}", asked, said, decisions.expected_error + decisions.fee)
        if policy.turns is None:
            return found
        whole = seen.answers(policy.panel, log.answers)
        for price in policy.turns.tried.prices[::5]:
            states = np.where(policy.panel.own, whole.states, np.int8(NOT_ASKED)).astype(np.int8)
            step: Any = None
            for _ in range(len(policy.panel)):
                step = policy.next(
                    seen, Answers(whole.values, states), Target(fee_weight=float(price)), info=_wide(policy, log)
                )
                states = np.where(step.members, np.where(whole.states == 1, 2, whole.states), states).astype(np.int8)
                if not step.k.any():
                    break
            said = np.where(step.outcome.decided, step.outcome.values.astype(str), "")
            asked = np.array([",".join(np.array(policy.panel.names)[row]) for row in (states != 1) & ~policy.panel.own])
            found |= _cells(f"in turn {price:.6g}", asked, said, step.expected_error + step.outcome.paid)
        return found


class _Old:
    """The floor of `Router`: select, combine, next_step."""

    def fit(self, log: Any) -> Any:  # noqa: ANN401
        before: Any = importlib.import_module("askwho.policy")
        return before.fit_policy(log)

    def everything(self, policy: Any, log: Any) -> dict[str, np.ndarray]:  # noqa: ANN401
        whole_room: Any = importlib.import_module("askwho")
        InvalidInputError, Answers = whole_room.InvalidInputError, whole_room.Answers

        router, X, found = policy.router, policy.features(log.known), {}
        # A log of free answers could not be used once saved: the check is left out, to compare the rest.
        object.__setattr__(policy, "check_type", lambda _: None) if policy.router.beliefs_ is not None else None
        shares, info = policy.shares(log.known), policy.told(log.info)
        for name, target in _targets(router.validated_).items():
            aim = {"accuracy" if key == "max_error" else key: value for key, value in target.items()}
            try:
                selection = router.select(X, **aim)
            except InvalidInputError:
                found |= _cells(f"at once {name}", np.array(["refused"]), np.array([""]), np.zeros(1))
                continue
            asked = _names(policy.panel.names, selection.order, selection.k)
            said = np.array([""] * len(log))
            if log.answers is not None:
                values, decided = policy.combine(selection, log.answers, log.known, info=log.info).at(selection.k)
                said = np.where(decided, values.astype(str), "")
            curve = router.curve_.predict(X, router.judge(X).expected, selection.order)
            error = np.take_along_axis(curve, selection.k[:, None] - 1, axis=1)[:, 0]
            error = np.sqrt(np.maximum(error, 0)) if router.task_ == "regression" else error
            found |= _cells(f"at once {name}", asked, said, error + selection.fee)
        if router.turns_ is None:
            return found
        whole = policy.complete(log.answers, log.known)
        own = np.zeros(len(policy.panel), dtype=bool)
        own[0] = policy.base is not None
        for price in router.turns_.prices[::5]:
            states = np.where(own, whole.states, np.int8(NOT_ASKED)).astype(np.int8)
            step: Any = None
            for _ in range(len(policy.panel)):
                answers = Answers(whole.values, states)
                step = router.next_step(X, answers, fee_weight=float(price), info=info, shares=shares)
                members = step.entity[:, None] == np.arange(len(policy.panel))
                states = np.where(members, np.where(whole.states == 1, 2, whole.states), states).astype(np.int8)
                if not members.any():
                    break
            decided, sure = router.believe(X, Answers(whole.values, states), info=info, shares=shares)
            said = np.where(sure > 0, decided.astype(str), "")
            asked = np.array([",".join(np.array(policy.panel.names)[row]) for row in (states != 1) & ~own])
            paid = np.where(states != 1, router.expected_fees(X), 0.0).sum(axis=1)
            found |= _cells(f"in turn {price:.6g}", asked, said, step.expected_error + paid)
        return found


def _wide(policy: Any, log: Any) -> np.ndarray:  # noqa: ANN401
    """What came back with the answers, for the whole panel."""
    more = len(policy.panel) - log.info.shape[1]
    return np.hstack([np.full((len(log), more), np.nan), log.info])


def _names(names: tuple[str, ...], order: np.ndarray, k: np.ndarray) -> np.ndarray:
    return np.array([",".join(names[j] for j in row[:size]) for row, size in zip(order, k, strict=True)])


def _cells(setting: str, asked: np.ndarray, said: np.ndarray, cost: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{setting}|asked": asked, f"{setting}|said": said, f"{setting}|cost": cost.astype(np.float64)}


if __name__ == "__main__":
    main()
