"""The image experiments: reading, experts, splits, and a small run of each where the data is there."""

import ast
import io
import json
import os
import zipfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from askwho.exceptions import InvalidInputError
from askwho_studies._kept import fingerprint, kept
from askwho_studies.paper import _image_scores, _image_study
from askwho_studies.paper._frontiers import Points
from askwho_studies.paper._image_claims import best_within
from askwho_studies.paper._image_experiments import EXPERIMENTS, Arm
from askwho_studies.paper._image_scores import TRAINED_BY, panel_of, rates_chosen, scored, split
from askwho_studies.paper._images import Images, read_images
from askwho_studies.paper._pools import drawn_classes, known_classes, specialists

# Where the shared data lies; tests that need it skip without it.
DATA = os.environ.get("ASKWHO_DATA")


def archive(path, pictures, labels, split, per_sheet):
    """Sheets of 2×2 tiles, as the data folder has them with 50×50."""
    image = pytest.importorskip("PIL.Image")
    with zipfile.ZipFile(path, "w") as out:
        for number, start in enumerate(range(0, len(pictures), per_sheet)):
            sheet = np.zeros((64, 64, 3), dtype=np.uint8)
            for place, picture in enumerate(pictures[start : start + per_sheet]):
                down, across = divmod(place, 2)
                sheet[32 * down : 32 * down + 32, 32 * across : 32 * across + 32] = picture
            stream = io.BytesIO()
            image.fromarray(sheet).save(stream, "JPEG", quality=100, subsampling=0)
            out.writestr(f"{split}_{number:03}.jpg", stream.getvalue())
        stream = io.BytesIO()
        np.savez(stream, **{f"{split}_y": labels})
        out.writestr("labels.npz", stream.getvalue())
        out.writestr("meta.json", json.dumps({"n": len(pictures), "per_sheet": per_sheet}))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "images").mkdir()
    rng = np.random.default_rng(0)
    flat = rng.integers(30, 220, (9, 1, 1, 3))
    pictures = np.broadcast_to(flat, (9, 32, 32, 3)).astype(np.uint8)
    archive(tmp_path / "images" / "tiny_train.zip", pictures[:6], np.arange(6) % 3, "train", 4)
    archive(tmp_path / "images" / "tiny_test.zip", pictures[6:], np.arange(3), "test", 4)
    return tmp_path, flat.reshape(9, 3)


def test_images_are_read_in_order_channels_first(folder):
    data, colours = folder
    images = read_images(data, "tiny")
    assert images.rows.shape == (9, 3072)
    assert images.n_train == 6
    assert images.labels.tolist() == [0, 1, 2, 0, 1, 2, 0, 1, 2]
    means = images.rows.reshape(9, 3, 1024).mean(axis=2)
    np.testing.assert_allclose(means, colours, atol=3)
    mean, deviation = images.scale
    np.testing.assert_allclose(mean, means[:6].mean(axis=0))
    np.testing.assert_allclose(deviation, images.rows[:6].reshape(6, 3, -1).std(axis=(0, 2)), rtol=1e-5)


def test_a_part_of_the_images_is_the_first_of_each_side(folder):
    data, _ = folder
    whole, part = read_images(data, "tiny"), read_images(data, "tiny", most=(5, 2))
    assert part.n_train == 5
    np.testing.assert_array_equal(part.rows, np.concatenate([whole.rows[:5], whole.rows[6:8]]))


def test_a_missing_archive_is_named(tmp_path):
    with pytest.raises(InvalidInputError, match=r"must hold images/tiny_train\.zip"):
        read_images(tmp_path, "tiny")
    with pytest.raises(InvalidInputError, match=r"must hold cifar10, got .*: type `askwho data get cifar10 --data"):
        read_images(tmp_path, "cifar10")


@pytest.mark.parametrize(("experts", "known", "classes"), [(6, 5, 10), (5, 55, 100)])
def test_every_class_is_known_to_as_many_specialists(experts, known, classes):
    windows = known_classes(experts, known, classes)
    counts = np.bincount(np.concatenate(windows), minlength=classes)
    assert all(len(set(window.tolist())) == known for window in windows)
    assert counts.max() - counts.min() <= 1


def test_specialists_are_right_as_often_as_the_paper_says():
    truth = np.arange(60_000) % 10
    known = known_classes(6, 5, 10)
    said = specialists(truth, known, 10, random_state=3)
    for j, classes in enumerate(known):
        knows = np.isin(truth, classes)
        assert (said[knows, j] == truth[knows]).mean() == pytest.approx(0.94, abs=0.006)
        assert (said[~knows, j] == truth[~knows]).mean() == pytest.approx(0.10, abs=0.008)
        # Beside the truth no class is favoured.
        wrong = said[knows, j] - truth[knows]
        counts = np.bincount(wrong[wrong != 0] % 10, minlength=10)[1:]
        assert counts.min() > 0.7 * counts.max()
    again = specialists(truth, known, 10, random_state=3)
    np.testing.assert_array_equal(said, again)


def blank(n_train, n_test):
    labels = (np.arange(n_train + n_test) % 10).astype(np.int64)
    return Images(np.zeros((n_train + n_test, 3072), dtype=np.uint8), labels, n_train, 10)


def test_drawn_classes_are_as_many_and_differ_by_seed():
    first, second = (drawn_classes(6, 5, 10, random_state=seed) for seed in (0, 1))
    assert [len(set(classes.tolist())) for classes in first] == [5] * 6
    assert [classes.tolist() for classes in first] != [classes.tolist() for classes in second]
    again = drawn_classes(6, 5, 10, random_state=0)
    assert [classes.tolist() for classes in first] == [classes.tolist() for classes in again]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_no_image_is_used_twice(name):
    images = blank(1200, 300)
    rows = split(EXPERIMENTS[name], images, seed=1)
    parts = [rows.experts, rows.policy, rows.learn, rows.choose, rows.test]
    together = np.concatenate(parts)
    assert len(np.unique(together)) == len(together)
    assert all(part.size for part in parts[1:])
    if "people" not in name:
        assert rows.test.tolist() == images.test.tolist()
    assert set(np.concatenate(parts[:4]).tolist()) <= set(images.train.tolist())


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_there_is_a_fee_for_every_expert(name):
    experiment = EXPERIMENTS[name]
    panel = panel_of(experiment, blank(10, 10))
    paid = panel.fees[panel.is_kind("expert")]
    assert paid.tolist() == list(experiment.fees)
    assert panel.fees.sum() == pytest.approx(sum(experiment.fees))


def test_scores_are_read_back_only_under_the_settings_they_were_made_with(tmp_path):
    made = []

    def make():
        made.append(1)
        return {"scores": np.arange(3.0)}

    path = tmp_path / "deep" / "scores.npz"
    for mark in ("one", "one", "other", "other"):
        np.testing.assert_array_equal(kept(path, mark, make)["scores"], np.arange(3.0))
    assert len(made) == 2
    assert [file.name for file in path.parent.iterdir()] == ["scores.npz"]


def test_a_change_of_the_code_that_trains_trains_anew(tmp_path, monkeypatch):
    code, trained = tmp_path / "trainer.py", []

    def scores(*how):
        trained.append(code.read_text())
        parts = {name: np.zeros((len(rows), len(how[6]))) for name, rows in how[5].items()}
        return {**parts, "held": np.array(0.0)}

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(_image_scores, "TRAINED_BY", ("trainer",))
    monkeypatch.setattr(_image_scores, "_scores", scores)
    first, said_otherwise, second = (
        "def train(rate):\n    return 2 * rate\n",
        '"""Trains."""\n\n\ndef train(rate):\n    """Return twice the rate."""\n    return 2 * rate  # why not\n',
        "def train(rate):\n    return 3 * rate\n",
    )
    for text in (first, first, said_otherwise, second):
        code.write_text(text)
        fingerprint.cache_clear()
        scored(
            EXPERIMENTS["cifar10"],
            "shift max",
            blank(600, 50),
            3,
            data=tmp_path,
            cache=tmp_path / "cache",
            features=None,
        )
    fingerprint.cache_clear()
    assert trained == [first, second]


def test_the_code_that_trains_is_all_that_it_imports_of_ours():
    used = set()
    for name in TRAINED_BY:
        if name.startswith("askwho_studies"):
            tree = ast.parse(Path(find_spec(name).origin).read_text(encoding="utf-8"))
            used |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}
    ours = {name for name in used if name.startswith("askwho")}
    # Settings are marked as they are; the others only read, keep, or turn scores into what methods are measured by.
    beside = {
        "_image_experiments": "askwho_studies.paper",
        "_scored": "askwho_studies.paper",
        "_kept": "askwho_studies",
    }
    untold = {f"{place}.{name}" for name, place in beside.items()}
    assert ours - set(TRAINED_BY) == untold | {"askwho.exceptions", "askwho.learners", "askwho_studies.data"}


def test_where_k_is_learned_from_all_images_no_policy_scores_one_that_taught_it(tmp_path, monkeypatch):
    images, trained = blank(600, 50), []

    def scores(*how):
        taught, wanted, panel = how[3], how[5], how[6]
        trained.append(taught)
        assert not any(np.isin(rows, taught).any() for rows in wanted.values())
        # The score of a first label says whose it is.
        return {name: np.eye(len(panel))[[0] * len(rows)] * rows[:, None] for name, rows in wanted.items()} | {
            "held": np.array(0.0)
        }

    monkeypatch.setattr(_image_scores, "_scores", scores)
    experiment = EXPERIMENTS["cifar10-all-images"]
    assert experiment.kept_as == "cifar10"
    few, every = (
        scored(experiment, arm, images, 3, data=tmp_path, cache=tmp_path, features=None) for arm in experiment.arms
    )
    rows = split(experiment, images, 3)
    # The arms share their policy, and five more have four fifths of its images each.
    assert [len(taught) for taught in trained] == [
        len(rows.policy),
        *[pytest.approx(0.8 * len(rows.policy), abs=1)] * 5,
    ]
    assert len(few.learn.truth) == len(rows.learn)
    told = every.learn.scores[:, 0] - every.learn.scores[:, 1]
    assert sorted(np.rint(told).tolist()) == sorted(np.concatenate([rows.learn, rows.policy]).tolist())
    np.testing.assert_array_equal(every.learn.truth, images.labels[np.rint(told).astype(int)])
    np.testing.assert_array_equal(every.test.scores, few.test.scores)
    # The scores twice, in two orders; and beside them what is there for features.
    assert few.test.most.shape == (50, 32)
    assert every.test.most.shape == (50, 48)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_small_run_of_each(name, tmp_path, monkeypatch):
    if DATA is None or not (Path(DATA) / "images").is_dir():
        pytest.skip("needs the image sets: set ASKWHO_DATA to the folder that holds images/")
    pytest.importorskip("torch")
    pytest.importorskip("PIL")
    monkeypatch.setattr(_image_study, "QUICK_IMAGES", (480, 100))
    said = []
    found = _image_study.run_images(name, Path(DATA), out=tmp_path, quick=True, device="cpu", progress=said.append)
    stored = json.loads((tmp_path / f"{name}.json").read_text())
    assert stored["quick"] is True
    page = (tmp_path / f"{name}.md").read_text()
    assert "no results" in page
    assert page.index("Without an image encoder") < page.index("Settings")
    assert stored["arms"].keys() == found["arms"].keys()
    majority = found["arms"]["shift max"]["metrics"]["majority"]["methods"]
    assert majority["oracle"]["error"]["mean"][0] >= majority["top-k"]["error"]["mean"][0]
    if name != "cifar10":
        return
    # The scores are there for the next run, which trains nothing.
    before = len(said)
    _image_study.run_images(name, Path(DATA), out=tmp_path, quick=True, device="cpu", progress=said.append)
    assert not any("epoch" in line for line in said[before:])


def test_an_arm_alone_still_has_the_policy_it_shares(tmp_path, monkeypatch):
    experiment = EXPERIMENTS["cifar10-all-images"]
    last, made = list(experiment.arms)[-1], []

    def stop(given, arm, *_, **__):
        made.append((list(given.arms), arm))
        raise KeyboardInterrupt

    monkeypatch.setattr(_image_study, "read_images", lambda *_, **__: blank(60, 10))
    monkeypatch.setattr(_image_study, "frozen_features", lambda *_: (None, None))
    monkeypatch.setattr(_image_study, "scored", stop)
    with pytest.raises(KeyboardInterrupt):
        _image_study.run_images("cifar10-all-images", tmp_path, arms=[last], workers=1)
    assert made == [(list(experiment.arms), last)]


def test_features_are_kept_and_the_lack_of_an_encoder_is_not(tmp_path, monkeypatch):
    torch_side = pytest.importorskip("askwho_studies.paper._image_training")
    images, made = blank(60, 10), []

    def encoded(*_, **__):
        made.append(encoder)
        return encoder and (np.ones((len(images.rows), 4)), encoder)

    monkeypatch.setattr(torch_side, "encoded", encoded)
    for encoder in (None, "an encoder", "another"):  # noqa: B007 - read by what stands for it
        found = _image_study.frozen_features(images, tmp_path, None)
    assert made == [None, "an encoder"]
    assert found[1] == "an encoder"


def test_each_arm_has_the_best_of_its_own_rates_found_once(tmp_path, monkeypatch):
    experiment, tried = EXPERIMENTS["svhn"], []

    def scores(*how):
        arm, training, wanted = how[0], how[1], how[5]
        tried.append((arm.shift, arm.depth, training.rate, training.epochs))
        # A small rate is best for the deep network, a middle one for the others.
        held = abs(np.log(training.rate / (3e-4 if arm.depth == 10 else 3e-3)))
        return {**{name: np.zeros((len(rows), len(how[6]))) for name, rows in wanted.items()}, "held": np.array(held)}

    monkeypatch.setattr(_image_scores, "_scores", scores)
    monkeypatch.setattr(_image_scores, "said_by", lambda _, images, *__, **___: np.zeros((len(images.rows), 6)))
    for seed in range(2):
        for arm in experiment.arms:
            scored(experiment, arm, blank(600, 50), seed, data=tmp_path, cache=tmp_path, features=None)
    short = [each for each in tried if each[-1] < experiment.training.epochs]
    assert len(short) == len(set(short)) == 4 + 4 + 3
    assert experiment.training.rate in {rate for shift, depth, rate, _ in short if (shift, depth) == ("sum", 4)}
    taken = [each[:3] for each in tried if each[-1] == experiment.training.epochs]
    printed = experiment.training.rate
    assert taken == 2 * [
        ("max", 4, printed),
        ("sum", 4, printed),
        ("max", 4, 3e-3),
        ("sum", 4, 3e-3),
        ("max", 10, 3e-4),
    ]


def test_the_best_setting_within_a_budget_is_chosen_on_other_rows():
    fees = np.array([0.0, 0.1, 0.5])
    errors, chosen = np.array([0.2, 0.4, 0.0]), np.array([0.3, 0.1, 0.0])
    assert best_within(Points(np.arange(3.0), errors, fees, np.ones(3), chosen, fees), 0.2) == (60.0, 0.1)


def test_the_rate_that_was_chosen_is_told_of_arms_that_choose(tmp_path):
    np.savez(
        tmp_path / "rates-shift-max-best-rate.npz", rates=np.array([0.1, 0.2, 0.3]), held=np.array([3.0, 1.0, 2.0])
    )
    arms = {"shift max": Arm("max"), "shift max, best rate": Arm("max", rates=(0.1, 0.2, 0.3))}
    assert rates_chosen(tmp_path, arms) == {"shift max, best rate": 0.2}
