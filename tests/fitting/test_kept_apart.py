"""Rows that are kept for promises: nothing of a policy is learned from them, to the last bit of what is written."""

import dataclasses
import json

import numpy as np
import pytest
from safetensors.numpy import load as load_arrays

from askwho import InvalidInputError, Panel, Target, calibrate
from askwho.data import Columns, Sampling, read_log
from askwho.fitting import fit
from askwho.fitting._fit import _kept_apart
from askwho.persistence import load, save
from tests import synthetic
from tests.logs import log_of_arrays
from tests.persistence.alike import same_state

SHARE = 0.3
WORDS = ["fever", "cough", "rash", "ache", "chill", "sore"]


def told(n, seed=0):
    """A log of classes with everything that a log can have: texts, categories, fees by query, info, groups."""
    rng = np.random.default_rng(seed)
    table = synthetic.charged(n, seed)
    table["fee_left"] = 0.1 + 0.05 * rng.random(n)
    table["text"] = np.array([" ".join(rng.choice(WORDS, 4)) for _ in range(n)], dtype=object)
    table["who"] = rng.integers(0, n // 3, n)
    return table | {f"info_{name}": rng.random(n) for name in synthetic.FEES}


def untold(n, seed=0):
    """The same with holes, where nobody tells what those would have charged who were not asked."""
    rng = np.random.default_rng(seed)
    table = told(n, seed)
    for name in synthetic.FEES:
        gone = rng.random(n) < 0.3
        table[f"answer_{name}"] = np.where(gone, None, table[f"answer_{name}"])
        table[f"fee_{name}"] = np.where(gone, np.nan, table[f"fee_{name}"])
        table[f"info_{name}"] = np.where(gone, np.nan, table[f"info_{name}"])
    return table


EVERYTHING = Columns(
    truth="truth", answers="answer_*", features="x_*,kind", text="text", fees="fee_*", info="info_*", groups="who"
)
LOGS = {
    "everything": (told, EVERYTHING, {"learner": "linear"}),
    "holes": (untold, EVERYTHING, {"learner": "linear"}),
    "forest": (synthetic.charged, synthetic.CHARGED, {"learner": "forest"}),
    "own base": (synthetic.known, synthetic.COLUMNS, {"learner": "linear", "base": "auto"}),
    "numbers": (synthetic.regression, synthetic.COLUMNS, {"learner": "linear", "committee": "auto"}),
    "grades": (synthetic.grades, synthetic.GRADED, {"learner": "linear"}),
}


def poisoned(table, kept):
    """The table with nothing of its kept rows left as it was, but for their number and their groups."""
    rng = np.random.default_rng(99)
    there = np.flatnonzero(kept)

    def spoil(name, cells):
        mixed = rng.permutation(cells[there])
        strange = np.array([f"something that nobody has ever said {i % 5}" for i in there], dtype=object)
        words = np.where(rng.random(len(there)) < 0.5, mixed, strange) if name == "truth" else strange
        ways = {
            "who": lambda: cells[there],
            "x": lambda: 3.0 - 40 * mixed,
            "fee": lambda: np.where(np.isnan(mixed), 7.0, 5 + 30 * mixed),
            "info": lambda: np.where(np.isnan(mixed), 7.0, 5 + 30 * mixed),
            "grade": lambda: 1 - mixed,
        }
        return ways.get(name.split("_")[0], lambda: 1000 * mixed if cells.dtype.kind == "f" else words)()

    spoiled = {}
    for name, cells in table.items():
        new = spoil(name, cells)
        out = cells.astype(object) if new.dtype.kind in "OU" else cells.copy()
        out[there] = new
        spoiled[name] = out
    return spoiled


def written(policy, folder):
    """Everything that a saved policy consists of, by name, but for the outcomes of kept rows and checksums of files."""
    save(policy, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    found = {}
    for name, entry in manifest.pop("files").items():
        data = (folder / entry["file"]).read_bytes()
        arrays = {name: data} if name.endswith(".onnx") else load_arrays(data)
        found |= {
            key: cells if isinstance(cells, bytes) else (cells.dtype, cells.shape, cells.tobytes())
            for key, cells in arrays.items()
        }

    def rest(state):
        parts = {name: rest(part) for name, part in state.get("parts", {}).items() if name != "kept"}
        return state | {"parts": parts}

    del manifest["checksum"]
    manifest["policy"] = rest(manifest["policy"])
    return {key: cells for key, cells in found.items() if ".kept/" not in key} | {"manifest": manifest}, found


def rows_tried(policy):
    """What a policy was tried on, at once and, where it can, in turn."""
    return [policy.tried] if policy.turns is None else [policy.tried, policy.turns.tried]


def which(log, share=SHARE, seed=0):
    """Which rows are kept."""
    return np.isin(log.groups, _kept_apart(log, share, seed)[1].groups)


@pytest.mark.parametrize("kind", LOGS)
def test_nothing_but_their_outcomes_is_made_of_kept_rows(kind, tmp_path):
    make, columns, options = LOGS[kind]
    table = make(420)
    logs = [read_log(table, columns)]
    kept = which(logs[0])
    assert 0.2 < kept.mean() < 0.4
    logs.append(read_log(poisoned(table, kept), columns))
    assert not (logs[0].known.keys() - logs[1].known.keys())
    ours, theirs = (fit(log, **{"base": "none", "cv": 3} | options, promise=SHARE) for log in logs)
    (one, all_one), (other, all_other) = written(ours, tmp_path / "one"), written(theirs, tmp_path / "other")
    assert one.keys() == other.keys()
    for name, cells in one.items():
        assert cells == other[name], name
    # Where tests begin is not theirs to say.
    for mine, other in zip(rows_tried(ours), rows_tried(theirs), strict=True):
        assert mine.kept.easiest == other.kept.easiest == mine.least()
    # Else the kept rows were not even looked at, or nothing was altered.
    apart = {name for name in all_one if ".kept/" in name}
    assert {"tried.kept/errors", "tried.kept/fees", "tried.kept/coins"} <= apart
    assert all_one["tried.kept/coins"] != all_other["tried.kept/coins"]
    assert all_one["tried.kept/errors"] != all_other["tried.kept/errors"]


def test_a_share_of_nothing_learns_from_everything(log, policy):
    same_state(fit(log, learner="linear", base="none", cv=3, promise=0.0), policy)
    assert policy.tried.kept is None
    assert not policy.tried.fresh


def test_what_is_learned_is_what_the_other_rows_teach(log):
    kept = which(log)
    apart = fit(log, learner="linear", base="none", cv=3, promise=SHARE)
    alone = fit(log.rows(np.flatnonzero(~kept)), learner="linear", base="none", cv=3)
    none = dataclasses.replace(apart.tried, kept=None), dataclasses.replace(apart.turns.tried, kept=None)
    same_state(dataclasses.replace(apart, tried=none[0], turns=dataclasses.replace(apart.turns, tried=none[1])), alone)
    # And what is kept is what that policy does on the rows that it never saw.
    fresh = calibrate(alone, log.rows(np.flatnonzero(kept)))
    for mine, other in ((apart.tried.kept, fresh.tried), (apart.turns.tried.kept, fresh.turns.tried)):
        for name in ("prices", "errors", "fees", "sizes", "coins", "fresh", "estimated"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(other, name), err_msg=name)
    for target in (Target(budget=0.4, confidence=0.9), Target(max_error=0.3, confidence=0.9)):
        for in_turn in (False, True):
            assert apart.setting(target, in_turn=in_turn) == fresh.setting(target, in_turn=in_turn)


def test_groups_stay_whole():
    log = read_log(told(300), EVERYTHING)
    for seed in range(5):
        taught, kept = _kept_apart(log, 0.4, seed)
        assert len(taught) + len(kept) == 300
        assert not set(taught.groups) & set(kept.groups)
        assert len(set(kept.groups)) == round(0.4 * len(set(log.groups)))
    kept = [tuple(sorted(set(_kept_apart(log, 0.4, seed)[1].groups))) for seed in range(5)]
    assert len(set(kept)) == 5


def test_calibrating_takes_the_place_of_kept_rows(promising, tmp_path):
    assert promising.tried.kept.fees.shape[1] == promising.turns.tried.kept.fees.shape[1] == 600
    ours = calibrate(promising, read_log(synthetic.classification(250, seed=7), synthetic.COLUMNS))
    save(ours, tmp_path / "policy")
    for each in (ours, load(tmp_path / "policy")):
        for rows in (each.tried, each.turns.tried):
            assert (rows.fresh, rows.kept, rows.fees.shape[1]) == (True, None, 250)
        with pytest.raises(InvalidInputError, match="250 rows cannot promise less"):
            each.setting(Target(max_error=0.001, confidence=0.9))
    # The same rows a second time do not say where their own tests begin.
    again = calibrate(ours, read_log(synthetic.classification(250, seed=7), synthetic.COLUMNS))
    for one, two, taught in zip(rows_tried(ours), rows_tried(again), rows_tried(promising), strict=True):
        assert one.easiest == two.easiest == taught.least()


@pytest.mark.parametrize(
    ("promise", "message"),
    [
        (1, "`promise` must be below 1, got 1: it is the share of groups to keep apart."),
        (2.5, "`promise` must be below 1, got 2.5: it is the share of groups to keep apart."),
        (-0.1, "`promise` must be a finite number of at least 0, got -0.1."),
        (np.nan, "`promise` must be a finite number of at least 0, got nan."),
        (0.001, "`promise` must keep a group and leave two to learn from, got 0.001 of 100 groups."),
        (0.99, "`promise` must keep a group and leave two to learn from, got 0.99 of 100 groups."),
        (0.93, "`log` must have at least 8 rows, got n_samples=7: who is good at what is learned on held-out rows."),
    ],
)
def test_shares_that_cannot_be_kept(log, promise, message):
    with pytest.raises(InvalidInputError) as error:
        fit(log.rows(np.arange(100)), learner="linear", base="none", cv=3, promise=promise)
    assert str(error.value) == message


def test_of_two_groups_none_can_be_kept(log):
    few = dataclasses.replace(log.rows(np.arange(100)), sampling=Sampling(np.arange(100) // 50))
    with pytest.raises(InvalidInputError) as error:
        fit(few, learner="linear", base="none", cv=3, promise=0.5)
    assert str(error.value) == "`promise` must keep a group and leave two to learn from, got 0.5 of 2 groups."
    fit(
        dataclasses.replace(few, sampling=Sampling(np.arange(100) // 34)),
        learner="linear",
        base="none",
        cv=3,
        promise=0.3,
    )


def without(table, columns, what):
    """The log without something in the rows that are left to learn from."""
    left = ~which(read_log(table, columns))
    changed = dict(table)
    for name, value in what.items():
        cells = table[name].astype(object)
        cells[left] = value
        changed[name] = cells
    return read_log(changed, columns)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"truth": "cat"}, "`truth` must hold at least two classes, got"),
        ({"answer_left": None}, "`answers` must hold something of everybody, got none of 'left'."),
        ({"fee_left": None}, "`fees` must hold a fee of every entity at least once, got an empty column."),
    ],
    ids=["one class", "never asked", "no fee"],
)
def test_what_only_kept_rows_show_cannot_be_learned(what, message):
    log = without(synthetic.charged(100), synthetic.CHARGED, what)
    with pytest.raises(InvalidInputError) as error:
        fit(log, learner="linear", base="none", cv=3, promise=SHARE)
    assert str(error.value).startswith(message)


def test_kept_rows_do_not_say_what_the_truth_is():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 5, 300).astype(float)
    table = {"x_0": rng.normal(size=300), "truth": truth, "answer_a": truth, "answer_b": rng.permutation(truth)}
    columns = Columns(truth="truth", answers="answer_*", features="x_*")
    kept = which(read_log(table, columns))
    changed = read_log(table | {"truth": np.where(kept, truth + 0.5, truth)}, columns)
    assert changed.task == "regression"
    with pytest.raises(InvalidInputError) as error:
        fit(changed, learner="linear", base="none", promise=SHARE)
    assert str(error.value) == (
        "`task` must be said where rows are kept apart, got 'auto': all rows tell of regression, those that are left "
        "of classification."
    )


def test_fees_of_arrays_are_those_of_the_rows_that_teach():
    rng = np.random.default_rng(0)
    X, errors = rng.normal(size=(200, 2)), (rng.random((200, 2)) < [0.3, 0.1]).astype(float)
    fees = np.column_stack([np.zeros(200), rng.uniform(1, 2, 200)])
    panel = Panel.two_stage({"a": 1.5})
    log = log_of_arrays(X, errors=errors, panel=panel, fees=fees)
    taught = _kept_apart(log, SHARE, 0)[0]
    np.testing.assert_array_equal(taught.panel.fees, taught.fees.mean(axis=0))
