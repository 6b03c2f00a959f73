"""Sets as they are fetched: whole in their folder, or not there at all."""

import fcntl
import json
import resource
import tarfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from studies.tests.data import made

from askwho.exceptions import FailedError, InvalidInputError
from askwho_studies.data import (
    HOUSING_FILE,
    PEOPLE,
    SETS,
    VOTES,
    _fetch,
    _get,
    get,
    held,
    read_housing,
    read_people,
    read_split,
    read_votes,
)

# Before tests make sets of their own of them.
NAMES = list(SETS)


@pytest.fixture
def bring(web, tmp_path):
    """Fetch sets from the server, without pauses."""

    def bring(*names, **options):
        return get(names, data=tmp_path, mirror=web.url, progress=bring.said.append, wait=bring.waits.append, **options)

    bring.said, bring.waits = [], []
    return bring


def everything(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def packed(*members):
    """The archive of a small CIFAR-10, with members of one's own before those of the set."""
    return {"cifar-10-binary.tar.gz": made.tgz([*members, *made.cifar10_members()])}


@pytest.mark.parametrize("name", NAMES)
def test_each_set_comes_to_its_folder_with_a_record_and_nothing_else(name, serve, bring, tmp_path):
    web = serve(name)
    (folder,) = bring(name, unverified=name == "cifar10n")
    wanted = SETS[name]
    assert folder == tmp_path / wanted.folder
    assert everything(tmp_path) == sorted(f"{wanted.folder}/{file}" for file in (*wanted.files, "SOURCE.json"))
    assert not (tmp_path / ".downloads").exists()
    assert [asked for asked, _ in web.asked] == [archive.name for archive in wanted.archives]
    record = json.loads((folder / "SOURCE.json").read_text())
    assert record["files"] == {file: (folder / file).stat().st_size for file in wanted.files}
    assert [each["verified"] for each in record["archives"]] == [name != "cifar10n"] * len(wanted.archives)
    assert record["archives"][0]["from"].startswith(web.url)
    assert any(wanted.licence in line for line in bring.said)
    assert held(tmp_path, name).form == "official"
    # A set that is there is left as it is.
    bring(name, unverified=True)
    assert len(web.asked) == len(wanted.archives)


def test_what_is_read_from_the_folders_is_what_was_packed(serve, bring, tmp_path):
    for name in NAMES:
        serve(name)
    bring(*NAMES, unverified=True)
    for name, classes in (("cifar10", 10), ("cifar100", 100), ("svhn", 10)):
        for seed, split in enumerate(("train", "test")):
            images, labels = read_split(tmp_path / SETS[name].folder, name, split)
            expected, truth = made.pictures(made.ROWS[name][seed], classes, seed)
            np.testing.assert_array_equal(images, expected)
            np.testing.assert_array_equal(labels, truth)
    np.testing.assert_array_equal(read_votes(tmp_path / SETS["cifar10h"].folder / VOTES), made.shares())
    said = read_people(tmp_path / SETS["cifar10n"].folder / PEOPLE)
    np.testing.assert_array_equal(said["random_label2"], made.people()["random_label2"])
    X, y = read_housing(tmp_path / SETS["california"].folder / HOUSING_FILE)
    np.testing.assert_allclose(y * 1e5, made.census()[:, 8])
    np.testing.assert_allclose(X[:, 5] * X[:, 2] / X[:, 4], X[:, 2] / made.census()[:, 6])


def test_what_nobody_published_a_sum_of_is_fetched_only_when_that_is_said(serve, bring, tmp_path):
    web = serve("cifar10n")
    with pytest.raises(InvalidInputError, match="`unverified` must be said to fetch cifar10n: nobody published"):
        bring("cifar10h", "cifar10n")
    assert (web.asked, everything(tmp_path)) == ([], [])
    assert [name for name in NAMES if not SETS[name].verified] == ["cifar10n"]


def test_published_sums_are_checked_even_so(serve, bring, web, tmp_path):
    serve("cifar10")
    web.files["cifar-10-binary.tar.gz"] = packed(("more", b"more"))["cifar-10-binary.tar.gz"]
    with pytest.raises(FailedError, match=r"must have the md5 sum [0-9a-f]{32}, as https://example.org/sums says"):
        bring("cifar10", unverified=True)
    assert everything(tmp_path) == []


def test_an_unknown_name_lists_those_there_are(bring):
    with pytest.raises(InvalidInputError, match="`name` must be one of 'california', 'cifar10'"):
        bring("mnist")


@pytest.mark.parametrize("path", ["../../evil", "/evil", "a/../../evil", "a\\..\\evil"])
def test_an_archive_that_points_out_of_itself_is_refused_whole(path, serve, bring, tmp_path):
    serve("cifar10", packed((path, b"evil")))
    with pytest.raises(FailedError, match="must hold members inside of it, got"):
        bring("cifar10")
    assert everything(tmp_path) == []
    assert not list(tmp_path.parent.glob("evil"))


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE])
def test_a_member_that_is_no_file_is_refused(kind, serve, bring, tmp_path):
    link = tarfile.TarInfo("cifar-10-batches-bin/test_batch.bin")
    link.type, link.linkname = kind, "/etc/hostname"
    serve("cifar10", packed((link, b"")))
    with pytest.raises(FailedError, match="got a link or a folder of that name"):
        bring("cifar10")
    assert everything(tmp_path) == []


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_an_archive_cut_short_is_refused_and_removed(share, serve, bring, tmp_path):
    whole = packed()["cifar-10-binary.tar.gz"]
    serve("cifar10", {"cifar-10-binary.tar.gz": whole[: int(share * len(whole))]})
    with pytest.raises(FailedError, match="cifar10 must be what its makers offer, got something else from"):
        bring("cifar10")
    assert everything(tmp_path) == []
    serve("cifar10")
    assert bring("cifar10") == [tmp_path / "images" / "cifar10"]


def test_an_archive_without_a_file_of_the_set_is_refused(serve, bring):
    members = [member for member in made.cifar10_members() if "data_batch_3" not in member[0]]
    serve("cifar10", {"cifar-10-binary.tar.gz": made.tgz(members)})
    with pytest.raises(FailedError, match=r"must hold cifar-10-batches-bin/data_batch_3\.bin, got an archive without"):
        bring("cifar10")


@pytest.mark.parametrize(("name", "file"), [("svhn", "test_32x32.mat"), ("cifar10n", PEOPLE), ("cifar10h", VOTES)])
def test_a_file_cut_short_is_no_set(name, file, serve, bring, tmp_path):
    web = serve(name)
    files = {each.name: web.files[each.name] for each in SETS[name].archives}
    serve(name, files | {file: files[file][: len(files[file]) // 2]})
    with pytest.raises(FailedError, match=f"{name} must be what its makers offer, got something else"):
        bring(name, unverified=True)
    assert everything(tmp_path) == []


def test_another_number_of_rows_is_no_set(serve, bring, monkeypatch):
    serve("cifar10")
    monkeypatch.setitem(SETS, "cifar10", replace(SETS["cifar10"], rows=(20, 9)))
    with pytest.raises(FailedError, match="must hold 9 images to test, got 8"):
        bring("cifar10")


def test_a_run_that_is_stopped_while_unpacking_leaves_no_set_and_keeps_the_archive(serve, bring, tmp_path, monkeypatch):
    web = serve("cifar10")
    whole = SETS["cifar10"]

    def stopped(*_):
        raise KeyboardInterrupt

    monkeypatch.setitem(SETS, "cifar10", replace(whole, check=stopped))
    with pytest.raises(KeyboardInterrupt):
        bring("cifar10")
    assert everything(tmp_path) == [".downloads/cifar-10-binary.tar.gz"]
    monkeypatch.setitem(SETS, "cifar10", whole)
    bring("cifar10")
    assert len(web.asked) == 1
    assert held(tmp_path, "cifar10").form == "official"


def test_a_disk_that_is_full_while_unpacking_keeps_the_archive(serve, bring, tmp_path):
    web = serve("svhn")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    bring_one = _get.fetch
    sizes = [len(web.files[each.name]) for each in SETS["svhn"].archives]
    for archive in SETS["svhn"].archives:
        (tmp_path / ".downloads").mkdir(exist_ok=True)
        bring_one(archive, tmp_path / ".downloads", url=f"{web.url}/{archive.name}", progress=print)
    resource.setrlimit(resource.RLIMIT_FSIZE, (min(sizes) // 2, hard))
    try:
        with pytest.raises(FailedError, match="svhn needs more room, got a full disk"):
            bring("svhn")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert everything(tmp_path) == [".downloads/test_32x32.mat", ".downloads/train_32x32.mat"]
    bring("svhn")
    assert len(web.asked) == 2


def test_room_to_unpack_is_looked_for_beforehand(serve, bring, monkeypatch, tmp_path):
    serve("cifar10")
    usage = _fetch.shutil.disk_usage(tmp_path)
    monkeypatch.setitem(SETS, "cifar10", replace(SETS["cifar10"], room=usage.free + 10**15))
    with pytest.raises(FailedError, match=r"cifar10 needs [0-9,]+ bytes to be unpacked, got room for"):
        bring("cifar10")
    assert everything(tmp_path) == [".downloads/cifar-10-binary.tar.gz"]


def test_a_set_that_was_damaged_is_replaced(serve, bring, tmp_path):
    serve("cifar10")
    (folder,) = bring("cifar10")
    (folder / "test_batch.bin").write_bytes(b"short")
    assert held(tmp_path, "cifar10").form is None
    assert held(tmp_path, "cifar10").lacking == ("test_batch.bin",)
    bring("cifar10")
    assert held(tmp_path, "cifar10").form == "official"
    assert [path.name for path in (tmp_path / "images").iterdir()] == ["cifar10"]


def test_two_at_once_do_not_write_to_the_same_files(serve, bring, tmp_path):
    serve("cifar10")
    (tmp_path / ".downloads").mkdir()
    with (tmp_path / ".downloads" / "cifar10.lock").open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(FailedError, match="cifar10 must be fetched by one process at a time"):
            bring("cifar10")
    assert bring("cifar10") == [tmp_path / "images" / "cifar10"]


def test_without_a_mirror_the_makers_own_address_is_taken(monkeypatch, tmp_path):
    asked = []

    def refuse(*_, url, **__):
        asked.append(url)
        raise FailedError("no web here")

    monkeypatch.setattr(_get, "fetch", refuse)
    for name in NAMES:
        with pytest.raises(FailedError, match="no web here"):
            get([name], data=tmp_path, unverified=True, progress=print)
    assert asked == [SETS[name].archives[0].url for name in NAMES]


def test_every_sum_has_the_length_of_its_kind_and_a_page():
    for wanted in SETS.values():
        assert wanted.page.startswith("http")
        for archive in wanted.archives:
            assert Path(archive.name).name == archive.name
            if archive.sum is not None:
                assert len(bytes.fromhex(archive.sum.value)) == {"md5": 16, "sha256": 32}[archive.sum.kind]
                assert archive.sum.cited.startswith("https://")
