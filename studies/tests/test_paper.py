"""The paper's experiments: what every method gets and pays on small problems with known answers, and the files."""

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from askwho.cli import status_of
from askwho.core import Answers, Cell, Panel, task_errors
from askwho.engine import Training
from askwho.exceptions import InvalidInputError
from askwho.fitting import SurrogateCardinality
from askwho_studies.paper import EXPERIMENTS, _california_study
from askwho_studies.paper._baselines import agreement_stops, in_house_first, oracle_order
from askwho_studies.paper._california import housing
from askwho_studies.paper._claims import Claim, claims_table, mean_of, spread_of
from askwho_studies.paper._frontiers import (
    AT_BEST,
    CASCADE,
    EVERYBODY,
    FIXED,
    ONCE,
    ORACLE,
    ORACLE_SIZE,
    PER_PRICE,
    RANDOM,
    Points,
    entity_points,
    frontiers,
    top_1,
)
from askwho_studies.paper._panels import study, write
from askwho_studies.paper._scored import CLASSIFICATION, REGRESSION, Part, Rival, Scored
from askwho_studies.paper._summary import measure, rounded, shown, spread, summary

# Where the shared data lies; tests that need it skip without it.
DATA = os.environ.get("ASKWHO_DATA")
# Of each part of a made-up experiment: enough for a forest of committee errors.
ROWS = {"learn": 300, "choose": 120, "test": 150}
# All different, so that there is one order by fee.
EXPERTS = {"a": 0.05, "b": 0.04, "c": 0.03}
# Three, so that a vote of three can tie.
LABELS = (0, 1, 2)


def answers_of(values):
    return Answers(values, np.full(values.shape, Cell.ANSWERED, dtype=np.int8))


def regression(seed=0, **changes):
    """Four entities that answer the truth with errors of their own, and scores that know a little of it."""
    rng = np.random.default_rng(seed)
    panel = Panel.two_stage(EXPERTS)
    parts = {}
    for name, n in ROWS.items():
        X = rng.normal(size=(n, 3)).astype(np.float32)
        truth = rng.random(n)
        said = answers_of(truth[:, None] + rng.normal(size=(n, 4)) * (0.1 + np.abs(X[:, :1] + np.arange(4) - 1.5) / 5))
        errors = task_errors(said, truth, panel=panel, error="squared")
        parts[name] = Part(X, rng.normal(size=(n, 4)) - 3 * np.sqrt(errors), said, truth, errors)
    return Scored(panel, "regression", **parts, **changes)


def classification(seed=0, *, one_stage=False, **changes):
    """Three experts that know one label each, and labels or a base beside them."""
    rng = np.random.default_rng(seed)
    panel = Panel.one_stage(LABELS, EXPERTS) if one_stage else Panel.two_stage(EXPERTS)
    parts = {}
    for name, n in ROWS.items():
        X = rng.normal(size=(n, 3)).astype(np.float32)
        truth = rng.integers(3, size=n)
        said = np.where(truth[:, None] == np.arange(3), truth[:, None], rng.integers(3, size=(n, 3)))
        base = rng.integers(3, size=(n, 1))
        said = answers_of(np.column_stack([np.tile(LABELS, (n, 1)) if one_stage else base, said]))
        errors = task_errors(said, truth, panel=panel)
        parts[name] = Part(X, rng.normal(size=errors.shape) - errors, said, truth, errors)
    return Scored(panel, "classification", **parts, **changes)


@pytest.fixture(scope="module", params=["regression", "two-stage", "one-stage"])
def problem(request):
    return regression() if request.param == "regression" else classification(one_stage=request.param == "one-stage")


@pytest.fixture(scope="module")
def found(problem):
    return {m.name: frontiers(problem, m, surrogate=None, repetitions=3, random_state=1) for m in problem.metrics}


def points(errors, fees, chosen_errors=None, chosen_fees=None):
    arrays = [np.array(values, dtype=float) for values in (errors, fees, chosen_errors or errors, chosen_fees or fees)]
    steps = np.arange(1.0, len(errors) + 1)
    return Points(steps, arrays[0], arrays[1], steps, arrays[2], arrays[3])


def test_the_oracle_is_never_worse_than_the_policy_where_the_best_member_counts(found):
    best = next(iter(found.values()))
    assert (best[ORACLE].errors <= best[FIXED].errors + 1e-12).all()
    assert (best[ORACLE].errors <= best[RANDOM].errors + 1e-12).all()


def test_who_knows_the_best_size_has_the_least_error_plus_price(found):
    for methods in found.values():
        known, learned = methods[ORACLE_SIZE], methods[ONCE]
        assert (known.settings == learned.settings).all()
        price = known.settings
        assert (known.errors + price * known.fees <= learned.errors + price * learned.fees + 1e-12).all()


def test_the_largest_committee_is_everybody_in_any_order():
    problem = regression()
    for metric in REGRESSION:
        methods = frontiers(problem, metric, surrogate=None, repetitions=2)
        assert methods[FIXED].errors[-1] == pytest.approx(methods[EVERYBODY].errors[0])
        assert methods[FIXED].fees[-1] == pytest.approx(methods[EVERYBODY].fees[0]) == pytest.approx(0.12)
        if metric.combine != "weighted-mean":
            # A random policy has no weights: its weighted mean is the plain one.
            assert methods[RANDOM].errors[-1] == pytest.approx(methods[EVERYBODY].errors[0])


def test_money_decides_alone_at_a_huge_price(found):
    for methods in found.values():
        dear, cheapest = methods[ONCE], methods[FIXED]
        assert dear.fees[-1] <= cheapest.fees[0] + 1e-12
        assert (np.diff(dear.fees) <= 1e-12).all()


def test_the_random_policy_pays_the_mean_fee_of_the_panel():
    problem = regression()
    drawn = frontiers(problem, REGRESSION[0], surrogate=None, repetitions=40)[RANDOM]
    assert drawn.fees == pytest.approx(np.arange(1, 5) * 0.03, rel=0.03)


def test_a_narrow_experiment_looks_at_small_committees_only():
    problem = classification(one_stage=True, width=2)
    methods = frontiers(problem, CLASSIFICATION[1], surrogate=None, repetitions=2)
    assert len(methods[FIXED].errors) == len(methods[ORACLE].errors) == len(methods[RANDOM].errors) == 2
    assert methods[ONCE].sizes.max() <= 2
    assert methods[EVERYBODY].sizes[0] == 4


def test_the_majority_by_the_paper_s_rule_for_ties_depends_on_the_labels():
    problem = classification(one_stage=True)
    by_rank, by_index = (
        frontiers(problem, metric, surrogate=None, repetitions=1)[FIXED] for metric in CLASSIFICATION[1::2]
    )
    assert by_rank.errors[0] == by_index.errors[0]
    assert by_rank.errors[1] == by_rank.errors[0]
    assert by_rank.errors[1] < by_index.errors[1]


def test_both_kinds_of_size_and_every_price_of_the_paper_s():
    pytest.importorskip("torch")
    problem = regression()
    surrogate = SurrogateCardinality(hidden=(8,), training=Training(epochs=2, batch=64, rate=1e-2))
    methods = frontiers(problem, REGRESSION[1], surrogate=surrogate, prices=(0.0, 1.0, 1e3), repetitions=1)
    assert methods[PER_PRICE].settings.tolist() == [0.0, 1.0, 1e3]
    assert ((methods[PER_PRICE].sizes >= 1) & (methods[PER_PRICE].sizes <= 4)).all()
    assert {0.0, 1.0, 1e3} <= set(methods[ONCE].settings)


def test_the_paper_s_size_at_its_best_sees_the_scores():
    pytest.importorskip("torch")
    problem = classification()
    # With nothing to tell queries apart but the scores, a network that does not see them has one size for all.
    parts = {side: getattr(problem, side) for side in ROWS}
    blind = {s: replace(part, X=np.ones((ROWS[s], 1), np.float32), seen=part.scores) for s, part in parts.items()}
    assert blind["test"].take(np.arange(5)).most.shape == (5, 4)
    problem = replace(problem, **blind)
    plain = SurrogateCardinality(hidden=(), training=Training(epochs=20, batch=64, rate=1e-2))
    best = SurrogateCardinality(hidden=(16,), training=plain.training, rates=(1e-3, 1e-2))
    methods = frontiers(
        problem, CLASSIFICATION[0], surrogate=plain, at_best=best, prices=(1.0, 2.0, 3.0), repetitions=1
    )
    assert methods[AT_BEST].settings.tolist() == methods[PER_PRICE].settings.tolist() == [1.0, 2.0, 3.0]
    assert (methods[PER_PRICE].sizes % 1 == 0).all()
    assert (methods[AT_BEST].sizes % 1 > 0).any()
    seeds = [measure(problem, surrogate=None, at_best=best, prices=(1.0,), repetitions=1)]
    assert list(summary(seeds)["metrics"]["majority"]["gains"]) == [AT_BEST, ONCE]


def test_a_rival_asks_the_entity_it_scores_highest():
    problem = regression()
    base, last = np.eye(4)[0], np.eye(4)[3]
    scores = [np.stack([np.tile(base, (ROWS[side], 1)), np.tile(last, (ROWS[side], 1))]) for side in ("choose", "test")]
    got = top_1(replace(problem, rivals={"either": Rival((0.0, 1.0), *scores)}))["either"]
    assert got.errors == pytest.approx(problem.test.errors.mean(axis=0)[[0, 3]])
    assert got.chosen_errors == pytest.approx(problem.choose.errors.mean(axis=0)[[0, 3]])
    assert got.fees == pytest.approx([0.0, 0.03])


def test_entities_alone_and_the_labels_as_one_of_them():
    names, alone = entity_points(regression())
    assert names == ["base", "a", "b", "c"]
    assert alone.errors == pytest.approx(regression().test.errors.mean(axis=0))
    problem = classification(one_stage=True)
    names, alone = entity_points(problem)
    assert names == ["model", "a", "b", "c"]
    best = problem.test.scores[:, :3].argmax(axis=1)
    assert alone.errors[0] == pytest.approx((best != problem.test.truth).mean())


def test_budgets_mix_settings_chosen_on_other_rows():
    found = points(
        errors=[0.9, 0.1, 0.5], fees=[0.1, 1.1, 2.1], chosen_errors=[0.8, 0.7, 0.2], chosen_fees=[0.0, 1.0, 2.0]
    )
    # On the rows to choose by the middle setting lies above the line between the others: no budget uses it.
    got, paid = found.at_budgets([-1.0, 0.0, 1.0, 2.0, 9.0])
    assert np.isnan(got[0])
    assert np.isnan(paid[0])
    assert got[1:] == pytest.approx([0.9, 0.7, 0.5, 0.5])
    assert paid[1:] == pytest.approx([0.1, 1.1, 2.1, 2.1])
    assert found.sizes_at([1.0]) == pytest.approx([2.0])
    assert found.best == 2
    assert found.cheapest_within(0.75) == 1
    assert found.cheapest_within(0.1) == 2
    assert points([0.3], [1.0]).at_budgets([1.0])[0] == pytest.approx([0.3])


def test_the_oracle_s_order_is_by_error_then_by_fee():
    errors = np.array([[1.0, 0.0, 0.0], [0.2, 0.1, 0.3]])
    assert oracle_order(errors, np.array([0.0, 0.5, 0.1])).tolist() == [[2, 1, 0], [1, 0, 2]]


def test_only_the_best_label_sits_beside_the_experts():
    panel = Panel.one_stage(["x", "y"], ["a"])
    assert in_house_first(panel, np.array([[0.1, 0.2, 9.0], [0.3, 0.2, 0.0]])).tolist() == [[1, 2], [0, 2]]
    assert in_house_first(Panel.two_stage(["a"]), np.zeros((1, 2))).tolist() == [[0, 1]]


def test_a_cascade_stops_once_answers_agree():
    said = np.array([[0, 1, 1, 0], [2, 2, 2, 2], [0, 1, 2, 3]])
    thresholds, (choose, test) = agreement_stops(said, said[:1], "classification", count=3)
    assert thresholds.tolist() == [1, 2, 3, 4]
    assert choose.tolist() == [[1, 1, 1], [3, 2, 4], [4, 3, 4], [4, 4, 4]]
    assert test.tolist() == [[1], [3], [4], [4]]
    numbers = np.array([[0.0, 0.0, 1.0], [0.0, 2.0, 1.0]])
    thresholds, (choose, _) = agreement_stops(numbers, numbers, "regression", count=2)
    assert thresholds == pytest.approx([0.0, 1.0])
    assert choose.tolist() == [[2, 3], [2, 2]]


def test_figures_are_in_the_paper_s_units():
    assert shown(0.04, "regression") == pytest.approx(20.0)
    assert shown(0.04, "classification") == pytest.approx(96.0)
    assert rounded([0.123456789, np.nan]) == [0.12346, None]
    assert spread([1.0, 3.0]) == pytest.approx((2.0, np.sqrt(2)))
    assert np.isnan(spread([1.0])[1])
    assert mean_of([1.0, 2.0]) == "1.50"
    assert spread_of([1.0, 3.0]) == "± 1.41"
    assert spread_of([1.0]) == "-"


def test_gains_are_paired_and_count_from_fixed_k():
    seeds = [measure(regression(seed), surrogate=None, repetitions=1) for seed in range(2)]
    table = summary(seeds)
    figures = table["metrics"]["mean"]
    assert PER_PRICE not in figures["gains"]
    fixed, ours = (np.array(figures["at_budgets"][name]["seeds"], dtype=float) for name in (FIXED, ONCE))
    gains = np.array(figures["gains"][ONCE]["at_budgets"]["seeds"], dtype=float)
    assert gains == pytest.approx(fixed - ours, abs=2e-3, nan_ok=True)
    assert not np.isnan(gains[:, -1]).any()
    assert table["budgets"] == pytest.approx(0.012 * np.arange(1, 11))
    assert figures["at_budgets"][EVERYBODY]["mean"][0] is None


@pytest.mark.parametrize("quick", [False, True])
def test_an_experiment_as_files(tmp_path, quick):
    pytest.importorskip("matplotlib")
    arms = {"one": summary([measure(classification(), surrogate=None, repetitions=1)])}
    claims = [Claim("95.5 at 0.19", "96.0", "0.1", agrees=True), Claim("x", "y", "-", agrees=False, why="z", arm="one")]
    results = study(
        "toy", task="classification", seeds=[0], quick=quick, seconds=1.0, settings={"k": 1}, arms=arms, claims=claims
    )
    assert write(results, tmp_path) == ["toy.json", "toy.md", "toy.png"]
    read = json.loads((tmp_path / "toy.json").read_text())
    assert read["provenance"]["versions"]["numpy"]
    assert read["arms"]["one"]["metrics"]["majority"]["methods"][CASCADE]["error"]["std"][0] is None
    page = (tmp_path / "toy.md").read_text()
    assert ("A quick run" in page) == quick
    assert "| x | one | y | - | **no** | z |" in page
    assert claims_table(read["claims"])[2] == "| 95.5 at 0.19 |  | 96.0 | 0.1 | yes |  |"


def test_missing_data_ends_in_one_clear_line(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("ASKWHO_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInputError, match=r"`data` must hold california, got .* without california: type"):
        housing(tmp_path)
    out = tmp_path / "out"
    assert status_of(["reproduce", "california", "--data", str(tmp_path), "--out", str(out)]) == 2
    assert status_of(["reproduce", "california", "--out", str(out)]) == 2
    said = capsys.readouterr().err.splitlines()
    assert [line.startswith("askwho: `data` must") for line in said] == [True, True]
    assert not out.exists()
    assert "california" in EXPERIMENTS


@pytest.mark.skipif(DATA is None or not (Path(DATA) / "california_housing.npz").is_file(), reason="needs ASKWHO_DATA")
def test_california_in_small(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    pytest.importorskip("matplotlib")
    small = replace(_california_study.QUICK, epochs=1, prices=(1e-9, 0.05), rival_weights=(1.0,), rows=600)
    monkeypatch.setattr(_california_study, "QUICK", small)
    assert status_of(["reproduce", "california", "--quick", "--data", str(DATA), "--out", str(tmp_path)]) == 0
    assert "california.json, california.md, california.png" in capsys.readouterr().err.replace("\n", " ")
    read = json.loads((tmp_path / "california.json").read_text())
    assert read["quick"]
    assert list(read["arms"]) == ["shift max", "shift sum", "shift max, answers unbounded"]
    alone = read["arms"]["shift max"]["entities"]["error"]["mean"]
    assert 14 < min(alone) < max(alone) < 41
    assert read["arms"]["shift max"]["metrics"]["best-of-k"]["methods"][EVERYBODY]["error"]["mean"][0] < 7
