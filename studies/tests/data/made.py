"""Small sets in their makers' formats, from made-up arrays, and the sums that such archives have."""

import gzip
import hashlib
import io
import tarfile
from dataclasses import replace

import numpy as np
from scipy.io import savemat

from askwho_studies.data import SETS, Sum

# Of each part, as few as five batches can share.
ROWS = {
    "california": (12,),
    "cifar10": (20, 8),
    "cifar100": (20, 8),
    "svhn": (14, 6),
    "cifar10n": (20,),
    "cifar10h": (8,),
}


def pictures(rows, classes, seed=0):
    """Images (n, 3072), channels first, and labels (n,)."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (rows, 3072), dtype=np.uint8), rng.permutation(np.arange(rows) % classes)


def records(images, labels, before=()):
    """CIFAR's binary batches: labels, then pixels, image by image."""
    return np.column_stack([*before, labels, images]).astype(np.uint8).tobytes()


def mat(images, labels):
    """SVHN's file: (32, 32, 3, n), the digit 0 as 10."""
    stream = io.BytesIO()
    X = images.reshape(-1, 3, 32, 32).transpose(2, 3, 1, 0)
    y = np.where(labels == 0, 10, labels).astype(np.uint8)[:, None]
    savemat(stream, {"X": X, "y": y}, do_compression=True)
    return stream.getvalue()


def tgz(members):
    """A tar archive from names, or whole members, to bytes."""
    stream = io.BytesIO()
    with gzip.GzipFile(fileobj=stream, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as archive:
        for member, data in members:
            info = member if isinstance(member, tarfile.TarInfo) else tarfile.TarInfo(member)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


def people(rows=20, seed=5):
    """What CIFAR-10N's file holds."""
    rng = np.random.default_rng(seed)
    names = ("clean_label", "aggre_label", "worse_label", "random_label1", "random_label2", "random_label3")
    return {name: rng.integers(0, 10, rows) for name in names}


def saved(value, *, zipped=True):
    """What torch writes."""
    import torch  # noqa: PLC0415 - tests that need it skip without it

    stream = io.BytesIO()
    torch.save(value, stream, _use_new_zipfile_serialization=zipped)
    return stream.getvalue()


def shares(rows=8, seed=6):
    counts = np.random.default_rng(seed).multinomial(51, np.full(10, 0.1), rows)
    return counts / counts.sum(axis=1, keepdims=True)


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def census(rows=12, seed=7):
    """Lines as StatLib has them: longitude, latitude, age, rooms, bedrooms, population, households, income, value."""
    rng = np.random.default_rng(seed)
    place = np.column_stack([rng.uniform(-124, -114, rows), rng.uniform(32, 42, rows)])
    return np.column_stack(
        [place, rng.integers(1, 999, (rows, 5)), rng.uniform(0, 15, rows), rng.integers(1, 5e5, rows)]
    )


def lines(table):
    return "\n".join(",".join(repr(float(cell)) for cell in row) for row in table).encode() + b"\n"


def cifar10_members():
    images, labels = pictures(20, 10)
    test, test_labels = pictures(8, 10, seed=1)
    files = {f"data_batch_{i + 1}.bin": records(images[4 * i : 4 * i + 4], labels[4 * i : 4 * i + 4]) for i in range(5)}
    files |= {"test_batch.bin": records(test, test_labels), "readme.html": b"<a>"}
    return [(f"cifar-10-batches-bin/{name}", data) for name, data in files.items()]


def archives(name):
    """The archives of a small set, by their names."""
    if name == "california":
        return {"cal_housing.tgz": tgz([("CaliforniaHousing/cal_housing.data", lines(census()))])}
    if name == "cifar10":
        return {"cifar-10-binary.tar.gz": tgz(cifar10_members())}
    if name == "cifar100":
        sides = [pictures(rows, 100, seed) for seed, rows in enumerate(ROWS[name])]
        files = [records(images, labels, [labels // 5]) for images, labels in sides]
        names = ("cifar-100-binary/train.bin", "cifar-100-binary/test.bin")
        return {"cifar-100-binary.tar.gz": tgz(zip(names, files, strict=True))}
    if name == "svhn":
        sides = [mat(*pictures(rows, 10, seed)) for seed, rows in enumerate(ROWS[name])]
        return dict(zip(("train_32x32.mat", "test_32x32.mat"), sides, strict=True))
    return {"CIFAR-10_human.pt": saved(people())} if name == "cifar10n" else {"cifar10h-probs.npy": npy(shares())}


def small(name, files):
    """The set, with the rows of the small one and, where there are published sums, the sums of its archives."""
    changed = [
        replace(archive, size=len(files[archive.name]), sum=archive.sum and summed(files[archive.name]))
        for archive in SETS[name].archives
    ]
    return replace(SETS[name], rows=ROWS[name], room=1, archives=tuple(changed))


def summed(data):
    return Sum("md5", hashlib.md5(data, usedforsecurity=False).hexdigest(), "https://example.org/sums")
