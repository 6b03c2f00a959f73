"""The official formats: the same arrays as the sheets hold, and nothing that a stranger wrote is run."""

import hashlib
import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from studies.tests.data import made

from askwho.exceptions import InvalidInputError
from askwho_studies.data import (
    HOUSING_FILE,
    PEOPLE,
    SETS,
    VOTES,
    get,
    read_housing,
    read_people,
    read_split,
    read_votes,
)
from askwho_studies.paper._california import housing
from askwho_studies.paper._images import read_images
from askwho_studies.paper._pools import annotators

# Where the shared data lies; tests that need it skip without it.
DATA = os.environ.get("ASKWHO_DATA")
shared = pytest.mark.skipif(DATA is None or not (Path(DATA) / "images").is_dir(), reason="needs ASKWHO_DATA")


def official(data, name, sides):
    """Write images and labels of both splits as the makers of a set would."""
    folder = data / SETS[name].folder
    folder.mkdir(parents=True)
    for split, (images, labels) in zip(("train", "test"), sides, strict=True):
        if name == "svhn":
            (folder / f"{split}_32x32.mat").write_bytes(made.mat(images, labels))
        elif name == "cifar100":
            (folder / f"{split}.bin").write_bytes(made.records(images, labels, [labels // 5]))
        elif split == "test":
            (folder / "test_batch.bin").write_bytes(made.records(images, labels))
        else:
            for i, rows in enumerate(np.array_split(np.arange(len(labels)), 5), start=1):
                (folder / f"data_batch_{i}.bin").write_bytes(made.records(images[rows], labels[rows]))
    return folder


@pytest.mark.parametrize("name", ["cifar10", "cifar100", "svhn"])
@pytest.mark.parametrize("most", [1, 3, 7, 20, 999])
def test_a_part_is_the_first_of_the_whole(name, most, tmp_path):
    folder = official(tmp_path, name, [made.pictures(20, 10), made.pictures(8, 10, 1)])
    images, labels = read_split(folder, name, "train")
    some, few = read_split(folder, name, "train", most=most)
    np.testing.assert_array_equal(some, images[:most])
    np.testing.assert_array_equal(few, labels[:most])


@pytest.mark.parametrize("name", ["cifar10", "cifar100", "svhn"])
def test_official_files_come_before_sheets_and_are_told_apart(name, tmp_path):
    sides = [made.pictures(20, 10), made.pictures(8, 10, 1)]
    official(tmp_path, name, sides)
    found = read_images(tmp_path, name)
    assert (found.form, found.n_train, found.described) == ("official", 20, "28 images, official")
    np.testing.assert_array_equal(found.rows, np.concatenate([images for images, _ in sides]))
    np.testing.assert_array_equal(found.labels, np.concatenate([labels for _, labels in sides]))


@shared
@pytest.mark.parametrize("name", ["cifar10", "cifar100", "svhn"])
def test_official_files_and_sheets_give_the_same_arrays_to_jpegs_accuracy(name, tmp_path):
    picture = pytest.importorskip("PIL.Image")
    sheets = read_images(Path(DATA), name, most=(60, 40))
    assert sheets.form == "sheets"
    sides = [(sheets.rows[:60], sheets.labels[:60]), (sheets.rows[60:], sheets.labels[60:])]
    official(tmp_path, name, sides)
    exact = read_images(tmp_path, name)
    # The shared tiles as originals: their official files hold them byte for byte, in the same order.
    np.testing.assert_array_equal(exact.rows, sheets.rows)
    np.testing.assert_array_equal(exact.labels, sheets.labels)
    # And a sheet made of these, as the shared ones were made of the originals, is near them.
    tiles = exact.rows.reshape(10, 10, 3, 32, 32).transpose(0, 3, 1, 4, 2).reshape(320, 320, 3)
    stream = io.BytesIO()
    picture.fromarray(tiles).save(stream, "JPEG", quality=95, subsampling=0)
    again = np.asarray(picture.open(stream).convert("RGB")).reshape(10, 32, 10, 32, 3).transpose(0, 2, 4, 1, 3)
    error = np.square(again.reshape(100, -1).astype(float) - exact.rows).mean()
    assert 10 * np.log10(255**2 / error) > 36


@shared
def test_the_published_sum_of_cifar10h_is_that_of_the_shared_counts(web, tmp_path):
    with np.load(Path(DATA) / "images" / "cifar10h.npz", allow_pickle=False) as stored:
        counts = stored["counts"].astype(np.float64)
    web.files[VOTES] = made.npy(counts / counts.sum(axis=1, keepdims=True))
    (folder,) = get(["cifar10h"], data=tmp_path, mirror=web.url, progress=print)
    assert hashlib.md5((folder / VOTES).read_bytes()).hexdigest() == SETS["cifar10h"].archives[0].sum.value  # noqa: S324
    np.testing.assert_allclose(read_votes(folder / VOTES) * counts.sum(axis=1, keepdims=True), counts)


@shared
def test_the_census_in_lines_gives_the_shared_arrays(tmp_path):
    X, y = housing(Path(DATA))
    households = np.round(X[:, 4] / X[:, 5])
    counted = np.round(np.column_stack([X[:, 2] * households, X[:, 3] * households, X[:, 4], households]))
    table = np.column_stack([X[:, 7], X[:, 6], X[:, 1], counted, X[:, 0], np.round(y * 1e5)])
    (tmp_path / "california").mkdir()
    (tmp_path / "california" / HOUSING_FILE).write_bytes(made.lines(table))
    again, values = housing(tmp_path)
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(values, y)


@shared
def test_peoples_labels_are_in_the_order_of_the_images():
    truth = read_images(Path(DATA), "cifar10", most=(500, 1)).labels[:500]
    assert annotators(Path(DATA), truth).shape == (50_000, 3)
    with pytest.raises(InvalidInputError, match="in the order of cifar10's training images, got labels of other"):
        annotators(Path(DATA), truth[::-1])


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_peoples_labels_are_read_without_unpickling(zipped, kind, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    said = {name: labels.astype(kind) for name, labels in made.people(700).items()}
    folder = tmp_path / SETS["cifar10n"].folder
    folder.mkdir(parents=True)
    (folder / PEOPLE).write_bytes(made.saved(said, zipped=zipped))
    monkeypatch.setattr(pickle, "load", None)
    monkeypatch.setattr(pickle, "loads", None)
    monkeypatch.setattr(pickle, "Unpickler", None)
    found = read_people(folder / PEOPLE)
    for name, labels in found.items():
        np.testing.assert_array_equal(labels, said[name])
    np.testing.assert_array_equal(annotators(tmp_path)[:, 2], said["random_label3"])


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (self.path,)


@pytest.mark.parametrize("zipped", [True, False])
def test_what_a_stranger_wrote_is_not_run(zipped, tmp_path):
    trap, path = tmp_path / "trap", tmp_path / PEOPLE
    raw = pickle.dumps({"clean_label": Evil(str(trap))}, protocol=2)
    if zipped:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", raw)
    else:
        path.write_bytes(raw)
    with pytest.raises(InvalidInputError, match="must hold the labels clean_label"):
        read_people(path)
    assert not trap.exists()
    pickle.loads(raw)  # noqa: S301 - our own, to see that the trap works
    assert trap.is_dir()


def test_an_array_of_objects_is_refused(tmp_path):
    path = tmp_path / VOTES
    np.save(path, np.array([Evil(str(tmp_path / "trap"))], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidInputError, match="must hold an array of shares"):
        read_votes(path)
    assert not (tmp_path / "trap").exists()


@pytest.mark.parametrize("place", range(0, 100, 7))
@pytest.mark.parametrize("name", ["svhn", "cifar10n", "cifar10h"])
def test_a_file_cut_anywhere_is_refused_in_words(name, place, tmp_path):
    file, read = {
        "svhn": ("train_32x32.mat", lambda path: read_split(path.parent, "svhn", "train")),
        "cifar10n": (PEOPLE, read_people),
        "cifar10h": (VOTES, read_votes),
    }[name]
    if name == "cifar10n":
        pytest.importorskip("torch")
    raw = made.archives(name)[file]
    (tmp_path / file).write_bytes(raw[: len(raw) * place // 100])
    with pytest.raises(InvalidInputError, match=f"`{file}` must hold .* is damaged, or another file"):
        read(tmp_path / file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw[:-1], "records of 3073 bytes, got 24583 bytes"),
        (lambda raw: b"", "records of 3073 bytes, got 0 bytes"),
        (lambda raw: b"\x0a" + raw[1:], "labels below 10, got 10"),
    ],
)
def test_batches_that_are_none_are_refused(change, message, tmp_path):
    folder = official(tmp_path, "cifar10", [made.pictures(20, 10), made.pictures(8, 10, 1)])
    path = folder / "test_batch.bin"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(InvalidInputError, match=message):
        read_split(folder, "cifar10", "test")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1,2,3\n", "9 numbers a line, got 3"),
        (b"1,2,3,4,5,6,0,8,9\n", "households in every block"),
        (b"a,b\n", "numbers separated by commas"),
    ],
)
def test_lines_that_are_no_census_are_refused(text, message, tmp_path):
    path = tmp_path / HOUSING_FILE
    path.write_bytes(text)
    with pytest.raises(InvalidInputError, match=message):
        read_housing(path)
