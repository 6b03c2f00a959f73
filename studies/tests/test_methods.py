"""The methods that are compared: their estimates and rules by hand, what they learn on a small problem, the study."""

import json
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from askwho.cli import status_of  # noqa: E402
from askwho.engine import Training  # noqa: E402
from askwho.losses import asymmetric_softmax_shares  # noqa: E402
from askwho_studies import _command  # noqa: E402
from askwho_studies.paper.methods import EXPERIMENTS, METHODS, Problem, _study, figures, run_methods  # noqa: E402
from askwho_studies.paper.methods._figures import calibration_error  # noqa: E402
from askwho_studies.paper.methods._learned import Model, chances  # noqa: E402
from askwho_studies.paper.methods._registry import kind_of  # noqa: E402
from askwho_studies.paper.methods._rules import chow, early_exit  # noqa: E402

# Enough for a network to learn who is right where.
SHORT = Training(epochs=10, batch=64, precision="float32")


def small(n=600, *, task="classification", given=False):
    """Each expert is right on its own side of 0; the model cannot know the label, and a given base is mostly wrong."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 2)).astype(np.float32)
    left = X[:, 0] < 0
    if task == "regression":
        truth = rng.random(n)
        said = np.column_stack([truth + 0.5, truth + np.where(left, 0.0, 0.4), truth + np.where(left, 0.4, 0.0)])
    else:
        truth = rng.integers(0, 3, n)
        wrong = (truth + rng.integers(1, 3, n)) % 3
        said = np.column_stack([wrong, np.where(left, truth, wrong), np.where(left, wrong, truth)])
    parts = np.split(rng.permutation(n), [n // 2, n // 2 + n // 6, n // 2 + n // 3])
    labels = 0 if given or task == "regression" else 3
    return Problem(
        task, X, truth, said[:, 1:] if labels else said, (0.05, 0.04) if labels else (0.0, 0.05, 0.04), labels, *parts
    )


def test_chances_are_what_their_authors_say():
    scores = np.array([[1.0, 0.0, -1.0, 0.5]])
    shares = np.exp(scores) / np.exp(scores).sum()
    assert chances("mozannar-sontag", scores, 3) == pytest.approx(shares / shares[0, :3].sum())
    assert chances("mozannar-sontag", np.array([[0.0, 0.0, 0.0, 9.0]]), 3)[0, 3] == 1  # it can exceed 1, and is cut
    assert chances("one-vs-all", scores, 3) == pytest.approx(1 / (1 + np.exp(-scores)))
    published = asymmetric_softmax_shares(torch.from_numpy(scores), n_labels=3).numpy()
    assert chances("asymmetric-softmax", scores, 3) == pytest.approx(published)
    assert chances("mao-one-stage", scores, 3) is None


def test_calibration_error_is_the_gap_by_bins():
    sure = np.array([0.81, 0.81, 0.81, 0.81, 0.31, 0.31])
    right = np.array([True, True, True, False, False, False])
    assert calibration_error(sure, right) == pytest.approx(100 * (4 * 0.06 + 2 * 0.31) / 6)
    assert calibration_error(np.array([1.0]), np.array([True])) == 0


def test_chow_asks_where_doubt_exceeds_what_rejecting_costs():
    problem = small(24)
    said = problem.truth.copy()
    said[problem.test[0]] = (said[problem.test[0]] + 1) % 3
    entities = problem.two_stage(said)
    # The best expert errs on about half of the held-out rows: the one doubtful row is worth its fee, others are not.
    certain = np.log(np.full((len(problem.judged), 3), 1e-4))
    certain[:, 0] = np.log(0.9998)
    certain[len(problem.held) + len(problem.choose)] = np.log([0.34, 0.33, 0.33])
    points = chow(problem, entities, Model(said, certain, 1e-3, 0.0))
    costs = entities.errors[problem.held][:, 1:].mean(axis=0) + entities.panel.fees[1:]
    asked = int(costs.argmin()) + 1
    assert costs.min() < 0.66
    assert points.fees[0] == pytest.approx(entities.panel.fees[asked] / len(problem.test))
    assert points.errors[0] == pytest.approx(entities.errors[problem.test[0], asked] / len(problem.test))


def test_an_early_exit_stops_once_it_is_sure_and_never_pays_more_for_more_doubt():
    problem = small(600)
    rng = np.random.default_rng(1)
    right = rng.random((600, 2)) < 0.9
    wrong = (problem.truth + 1) % 3
    said = np.where(right, problem.truth[:, None], wrong[:, None])
    problem = Problem(
        "classification", problem.X, problem.truth, said, (0.05, 0.04), 3,
        problem.fit, problem.held, problem.choose, problem.test,
    )  # fmt: skip
    flat = Model(np.zeros(600, dtype=int), np.log(np.full((len(problem.judged), 3), 1 / 3)), 1e-3, 0.0)
    points, lead, ends = early_exit(problem, problem.two_stage(flat.said), flat)
    assert points.fees[0] == 0  # any doubt will do
    assert (np.diff(points.fees) >= 0).all()
    assert points.errors[0] > 0.6
    assert points.errors[-1] < 0.2
    assert ends.mean(axis=1) == pytest.approx(1 - points.errors)
    assert calibration_error(lead[-1], ends[-1]) < 15


@pytest.fixture(scope="module")
def learned():
    return figures(small(), rates=dict.fromkeys(["the model", *METHODS], 1e-2), training=SHORT, device="cpu")


def test_every_method_that_learns_finds_who_is_right_where(learned):
    for name, method in METHODS.items():
        if method.stage in ("one", "two") and not isinstance(learned[name], str):
            assert learned[name].top_1 > 90, name
            assert 0.04 <= learned[name].fee <= 0.05, name
    assert learned["the model"].top_1 < 50
    assert learned["ours, asks one"].top_1 > 90
    assert learned["Verma & Nalisnick 2022, one-vs-all"].calibration < 15
    assert np.isnan(learned["Mao et al. 2024, general costs"].calibration)


def test_a_wider_choice_of_settings_is_no_worse_where_it_is_chosen(learned):
    assert learned["ours, k(x)"].area >= learned["ours, asks one"].area - 2
    assert np.isnan(learned["ours, k(x)"].top_1)
    # Two experts are wrong in different places, so agreement asks both and knows no better.
    assert learned["fixed cascade, until answers agree"].area < learned["ours, asks one"].area


@pytest.mark.parametrize(("task", "kind"), [("classification", "given"), ("regression", "numbers")])
def test_where_a_base_is_given_one_stage_methods_are_blank_with_a_reason(task, kind):
    problem = small(task=task, given=True)
    assert kind_of(problem) == kind
    found = figures(problem, rates=dict.fromkeys(METHODS, 1e-2), training=SHORT, device="cpu")
    assert isinstance(found["Mozannar & Sontag 2020"], str)
    assert isinstance(found["Chow 1970"], str)
    assert "the model" not in found
    assert list(found) == list(METHODS)
    best = found["Narasimhan et al. 2022, post hoc"]
    assert best.rate == 1e-2
    assert best.top_1 < 10 if task == "regression" else best.top_1 > 90


def test_the_study_keeps_its_pieces_and_takes_rates_from_the_first_seed(tmp_path, monkeypatch):
    made, asked = [], []

    def problem(name, _, seed, **__):
        made.append((name, seed))
        return small(given=name == "svhn")

    def counted(_, *, rates, **__):
        asked.append(rates)
        row = {"area": 90.0 + len(asked), "top_1": 80.0, "fee": 0.04, "calibration": float("nan"), "seconds": 1.0}
        first = _study.Figures(**row, rate=1e-3)
        return {name: first if name.startswith("ours") else "a reason" for name in METHODS}

    monkeypatch.setattr(_study, "problem", problem)
    monkeypatch.setattr(_study, "figures", counted)
    lines = []
    for _ in range(2):
        run_methods(tmp_path, out=tmp_path, only=["cifar10", "svhn"], seeds=2, workers=1, progress=lines.append)
    assert made == [("cifar10", 0), ("svhn", 0), ("cifar10", 1), ("svhn", 1)]
    ours = dict.fromkeys((name for name in METHODS if name.startswith("ours")), 1e-3)
    assert asked == [None, None, ours, ours]
    found = json.loads((tmp_path / "methods.json").read_text())
    assert found["experiments"]["cifar10"]["methods"]["ours, k(x)"]["area"]["seeds"] == [91.0, 93.0]
    page = (tmp_path / "methods.md").read_text()
    assert "| ours, k(x) | 92.00 ± 1.41 | 93.00 ± 1.41 |" in page
    assert "- Chow 1970, CIFAR-10: a reason." in page
    assert "calibration" in page
    assert lines[-1] == f"methods.json, methods.md in {tmp_path}"
    assert page.splitlines()[2].startswith("**Without an image encoder (CIFAR-10, SVHN, two stages):")

    # With an encoder in reach what was kept without one is made anew, and nothing is said of its lack.
    monkeypatch.setattr(_study, "problem", lambda *_, **__: replace(small(), encoder="an encoder"))
    monkeypatch.setattr(_study, "find_spec", lambda name: name)
    run_methods(tmp_path, out=tmp_path, only=["cifar10"], seeds=1, workers=1)
    assert len(asked) == 5
    assert "Without an image encoder" not in (tmp_path / "methods.md").read_text()


def test_what_needs_no_encoder_does_not_ask_for_one():
    made = {"inputs": "8 numbers", "images without an encoder": False, "methods": {}}
    found = {"quick": False, "seeds": [0], "settings": {}, "provenance": {}, "references": {}}
    assert "encoder" not in _study.markdown({**found, "experiments": {"california": made}})
    recorded = {"inputs": "EfficientNet-Lite0 (ImageNet)", "methods": {}}  # as results had it before
    assert "encoder" not in _study.markdown({**found, "experiments": {"cifar10": recorded}})


def test_the_command_hands_over_its_experiments(tmp_path, monkeypatch, capsys):
    given = {}
    monkeypatch.setattr(_command, "run_methods", lambda data, **others: given.update(others))
    monkeypatch.setattr(_command, "require", lambda place, names: given.update(needed=names))
    words = ["reproduce", "methods", "--data", str(tmp_path), "--out", str(tmp_path)]
    assert status_of([*words, "--only", "cifar10-people,california"]) == 0
    assert given["only"] == ["cifar10-people", "california"]
    assert given["needed"] == ["cifar10", "cifar10n", "california"]
    assert status_of(words) == 0
    assert given["only"] == list(EXPERIMENTS)
    assert status_of([*words, "--only", "magic"]) == 2
    assert "`only` must be one of 'cifar10'" in capsys.readouterr().err
