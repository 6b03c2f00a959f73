"""The public sets that the studies read: where each comes from, how it lies, what its makers say of its use."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from askwho_studies.data._housing import check_housing
from askwho_studies.data._pictures import check_cifar10, check_cifar100, check_svhn
from askwho_studies.data._votes import check_people, check_votes

RECORD = "SOURCE.json"
"""What lies beside the files of a set that was fetched: whence they came, whether sums were checked, their lengths."""


@dataclass(frozen=True)
class Sum:
    """A checksum, and who published it.

    Args:
        kind: how it is computed. MD5 tells a damaged file, not one that somebody forged.
        value: in hexadecimal digits.
        cited: the page that prints it.
    """

    kind: Literal["md5", "sha256"]
    value: str
    cited: str


@dataclass(frozen=True)
class Archive:
    """One file that the makers of a set offer.

    Args:
        name: what a mirror calls it, too.
        url: where they offer it.
        size: about how many bytes, to see beforehand whether there is room.
        sum: as published; None where nobody did.
        members: from a member of a tar archive to the file it becomes; empty for a file that stays as it is.
    """

    name: str
    url: str
    size: int
    sum: Sum | None = None
    members: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def files(self) -> tuple[str, ...]:
        """The files that come of it."""
        return tuple(self.members.values()) or (self.name,)


@dataclass(frozen=True)
class PublicSet:
    """A set of data that anybody can fetch.

    Args:
        name: as it is typed.
        holds: what it is, in a few words.
        page: of its makers.
        licence: what they say of its use.
        folder: where its official files lie, under the folder of data.
        room: bytes of these files.
        rows: how many rows each of its parts has.
        check: called with the folder and `rows`; it raises where what lies there is not the set.
        archives: what is fetched.
        others: files under the folder of data that hold the same in another form.
        form: what that other form is called.
    """

    name: str
    holds: str
    page: str
    licence: str
    folder: str
    room: int
    rows: tuple[int, ...]
    check: Callable[[Path, tuple[int, ...]], None]
    archives: tuple[Archive, ...]
    others: tuple[str, ...]
    form: Literal["sheets", "arrays"] = "arrays"

    @property
    def files(self) -> tuple[str, ...]:
        """Its official files."""
        return tuple(name for archive in self.archives for name in archive.files)

    @property
    def verified(self) -> bool:
        """Whether there is a published checksum for all of it."""
        return all(archive.sum is not None for archive in self.archives)


# Prints the sums of both CIFAR sets, beside the archives.
_CIFAR_PAGE = "https://www.cs.toronto.edu/~kriz/cifar.html"
# The page asks for a citation, and is silent on all else.
_CIFAR_LICENCE = (
    "none stated; the page asks to cite Krizhevsky, Learning Multiple Layers of Features from Tiny Images, 2009"
)
# SVHN's own page prints no sums.
_TORCHVISION = "https://github.com/pytorch/vision/blob/main/torchvision/datasets/svhn.py"
# Says whence the archive comes, and its sum.
_SKLEARN = "https://github.com/scikit-learn/scikit-learn/blob/main/sklearn/datasets/_california_housing.py"
# CIFAR-10H's own page prints no sums. This one is also that of its counts, divided by their sums and written anew.
_TORCH_UNCERTAINTY = (
    "https://github.com/torch-uncertainty/torch-uncertainty/blob/main/"
    "src/torch_uncertainty/datasets/classification/cifar/cifar_h.py"
)


def _batches(folder: str, names: tuple[str, ...]) -> dict[str, str]:
    return {f"{folder}/{name}": name for name in names}


SETS: Mapping[str, PublicSet] = {
    each.name: each
    for each in (
        PublicSet(
            "california",
            "20,640 blocks of the census of 1990: eight figures and the median value of a house",
            "https://www.dcc.fc.up.pt/~ltorgo/Regression/cal_housing.html",
            "none stated; made from the 1990 U.S. census, to be cited as Pace and Barry, Sparse Spatial "
            "Autoregressions, 1997",
            "california",
            2_000_000,
            (20_640,),
            check_housing,
            (
                Archive(
                    "cal_housing.tgz",
                    "https://ndownloader.figshare.com/files/5976036",
                    450_000,
                    Sum("sha256", "aaa5c9a6afe2225cc2aed2723682ae403280c4a3695a2ddda4ffb5d8215ea681", _SKLEARN),
                    {"CaliforniaHousing/cal_housing.data": "cal_housing.data"},
                ),
            ),
            ("california_housing.npz",),
        ),
        PublicSet(
            "cifar10",
            "60,000 images of 10 classes, in the binary version",
            _CIFAR_PAGE,
            _CIFAR_LICENCE,
            "images/cifar10",
            184_380_000,
            (50_000, 10_000),
            check_cifar10,
            (
                Archive(
                    "cifar-10-binary.tar.gz",
                    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                    170_052_171,
                    Sum("md5", "c32a1d4ab5d03f1284b67883e8d87530", _CIFAR_PAGE),
                    _batches("cifar-10-batches-bin", (*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin")),
                ),
            ),
            ("images/cifar10_train.zip", "images/cifar10_test.zip"),
            "sheets",
        ),
        PublicSet(
            "cifar100",
            "60,000 images of 100 classes, in the binary version",
            _CIFAR_PAGE,
            _CIFAR_LICENCE,
            "images/cifar100",
            184_440_000,
            (50_000, 10_000),
            check_cifar100,
            (
                Archive(
                    "cifar-100-binary.tar.gz",
                    "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                    168_513_733,
                    Sum("md5", "03b5dce01913d631647c71ecec9e9cb8", _CIFAR_PAGE),
                    _batches("cifar-100-binary", ("train.bin", "test.bin")),
                ),
            ),
            ("images/cifar100_train.zip", "images/cifar100_test.zip"),
            "sheets",
        ),
        PublicSet(
            "svhn",
            "99,289 digits from photographs of house numbers, cropped to 32 by 32",
            "http://ufldl.stanford.edu/housenumbers/",
            "for non-commercial use only; to be cited as Netzer et al., Reading Digits in Natural Images, 2011",
            "images/svhn",
            246_400_000,
            (73_257, 26_032),
            check_svhn,
            (
                Archive(
                    "train_32x32.mat",
                    "http://ufldl.stanford.edu/housenumbers/train_32x32.mat",
                    182_040_794,
                    Sum("md5", "e26dedcc434d2e4c54c9b2d4a06d8373", _TORCHVISION),
                ),
                Archive(
                    "test_32x32.mat",
                    "http://ufldl.stanford.edu/housenumbers/test_32x32.mat",
                    64_275_384,
                    Sum("md5", "eb5a983be6a315427106f1b164d9cef3", _TORCHVISION),
                ),
            ),
            ("images/svhn_train.zip", "images/svhn_test.zip"),
            "sheets",
        ),
        PublicSet(
            "cifar10n",
            "three people's labels of each training image of CIFAR-10",
            "https://github.com/UCSC-REAL/cifar-10-100n",
            "CC BY-NC 4.0; to be cited as Wei et al., Learning with Noisy Labels Revisited, 2022",
            "images/cifar10n",
            2_500_000,
            (50_000,),
            check_people,
            (
                Archive(
                    "CIFAR-10_human.pt",
                    "https://github.com/UCSC-REAL/cifar-10-100n/raw/main/data/CIFAR-10_human.pt",
                    2_500_000,
                ),
            ),
            ("images/cifar10n_cifar100n.npz",),
        ),
        PublicSet(
            "cifar10h",
            "the shares of about 51 people's labels of each test image of CIFAR-10",
            "https://github.com/jcpeterson/cifar-10h",
            "CC BY-NC-SA 4.0; to be cited as Peterson et al., Human uncertainty makes classification more robust, 2019",
            "images/cifar10h",
            800_128,
            (10_000,),
            check_votes,
            (
                Archive(
                    "cifar10h-probs.npy",
                    "https://github.com/jcpeterson/cifar-10h/raw/master/data/cifar10h-probs.npy",
                    800_128,
                    Sum("md5", "7b41f73eee90fdefc73bfc820ab29ba8", _TORCH_UNCERTAINTY),
                ),
            ),
            ("images/cifar10h.npz",),
        ),
    )
}
"""By the name that is typed."""
