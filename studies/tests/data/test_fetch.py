"""Downloads: resumed, checked, and whole or not at all."""

import resource
from dataclasses import replace

import numpy as np
import pytest
from studies.tests.data.made import summed

from askwho.exceptions import FailedError, InvalidInputError
from askwho_studies.data import Archive, Sum, _fetch
from askwho_studies.data._fetch import TRIES, fetch

# Three reads of the downloader's.
BODY = np.random.default_rng(0).bytes(3_000_000)
# With a published sum.
FILE = Archive("file.bin", "https://example.org/file.bin", len(BODY), summed(BODY))
# Without one.
UNSURE = replace(FILE, sum=None)


@pytest.fixture
def bring(web, tmp_path):
    """Fetch the file from the server; what is said and waited for is kept."""
    web.files["file.bin"] = BODY

    def bring(archive=FILE):
        return fetch(archive, tmp_path, url=f"{web.url}/file.bin", progress=bring.said.append, wait=bring.waits.append)

    bring.said, bring.waits = [], []
    return bring


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_comes_whole_and_leaves_nothing_else(bring, web, tmp_path):
    assert bring().read_bytes() == BODY
    assert names(tmp_path) == ["file.bin"]
    assert web.asked == [("file.bin", None)]
    assert bring.said[-1] == "file.bin: 3,000,000 of 3,000,000 bytes"


@pytest.mark.parametrize("archive", [FILE, UNSURE], ids=["sum", "no sum"])
def test_a_cut_connection_is_gone_on_from(archive, bring, web):
    web.cuts = [1_100_000, 900_000, 0, 500_000]
    assert bring(archive).read_bytes() == BODY
    starts = [None, 1_100_000, 2_000_000, 2_000_000, 2_500_000]
    assert web.asked == [("file.bin", start and f"bytes={start}-") for start in starts]
    # What brings something is no failure: the pause is that of the first.
    assert bring.waits == [1.0, 1.0, 2.0, 1.0]
    assert "file.bin: going on from byte 1,100,000" in bring.said


def test_after_some_tries_that_bring_nothing_it_gives_up_and_the_next_run_goes_on(bring, web, tmp_path):
    web.cuts = [1_000_000, *[0] * TRIES]
    with pytest.raises(FailedError, match=r"got 1,000,000 bytes of it, then: .* What came is kept"):
        bring()
    assert (tmp_path / "file.bin.partial").read_bytes() == BODY[:1_000_000]
    assert bring().read_bytes() == BODY
    assert web.asked[-1] == ("file.bin", "bytes=1000000-")


def test_a_server_that_ignores_ranges_is_asked_for_all_of_it(bring, web):
    web.ranges, web.cuts = False, [1_500_000]
    assert bring().read_bytes() == BODY
    assert web.asked == [("file.bin", None), ("file.bin", "bytes=1500000-")]


def test_a_server_that_ignores_ranges_and_always_cuts_is_given_up(bring, web):
    web.ranges, web.cuts = False, [1_500_000] * 50
    with pytest.raises(FailedError, match="must come from"):
        bring()
    assert len(web.asked) == TRIES


def test_a_file_that_changed_meanwhile_is_fetched_anew(bring, web):
    other = BODY[::-1]
    web.cuts = [1_000_000, *[0] * TRIES]
    with pytest.raises(FailedError):
        bring(UNSURE)
    web.files["file.bin"] = other
    assert bring(UNSURE).read_bytes() == other


def test_without_a_version_or_a_sum_parts_are_not_put_together(bring, web):
    web.tags, web.cuts = False, [1_000_000]
    assert bring(UNSURE).read_bytes() == BODY
    assert web.asked == [("file.bin", None)] * 2


def test_with_a_sum_they_are(bring, web):
    web.tags, web.cuts = False, [1_000_000]
    assert bring().read_bytes() == BODY
    assert web.asked[1] == ("file.bin", "bytes=1000000-")


def test_a_wrong_sum_is_refused_with_both_and_the_page_and_removed(bring, tmp_path):
    wrong = replace(FILE, sum=Sum("sha256", "0" * 64, "https://example.org/page"))
    with pytest.raises(FailedError, match=r"sha256 sum 0{64}, as https://example.org/page says, got [0-9a-f]{64} from"):
        bring(wrong)
    assert names(tmp_path) == []


def test_a_part_that_is_the_whole_needs_no_more(bring, web, tmp_path):
    (tmp_path / "file.bin.partial").write_bytes(BODY)
    assert bring().read_bytes() == BODY
    assert web.asked == [("file.bin", "bytes=3000000-")]


def test_a_part_longer_than_the_whole_is_thrown_away(bring, web, tmp_path):
    (tmp_path / "file.bin.partial").write_bytes(BODY + b"more")
    assert bring().read_bytes() == BODY
    assert web.asked == [("file.bin", "bytes=3000004-"), ("file.bin", None)]


def test_a_file_that_is_not_there_is_asked_for_once(bring, web):
    web.files.clear()
    with pytest.raises(FailedError, match="HTTP Error 404"):
        bring()
    assert (len(web.asked), bring.waits) == (1, [])


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_server_that_is_busy_is_asked_again(code, bring, web):
    web.codes = [code, code]
    assert bring().read_bytes() == BODY
    assert bring.waits == [1.0, 2.0]


def test_a_server_that_is_not_there_is_named(bring, tmp_path):
    address = "http://127.0.0.1:1/file.bin"
    with pytest.raises(FailedError, match=f"must come from {address}, got 0 bytes"):
        fetch(FILE, tmp_path, url=address, progress=bring.said.append, wait=bring.waits.append)
    assert bring.waits == [1.0, 2.0, 5.0, 10.0]


def test_a_disk_without_room_is_seen_beforehand(bring, tmp_path, monkeypatch):
    usage = _fetch.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(_fetch.shutil, "disk_usage", lambda _: usage._replace(free=1_000))
    with pytest.raises(FailedError, match=r"needs 3,000,000 bytes more, got room for 1,000"):
        bring()
    assert not (tmp_path / "file.bin.partial").exists()


def test_a_disk_that_fills_up_keeps_what_came(bring, web, tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_300_000, hard))
    try:
        with pytest.raises(FailedError, match=r"got a full disk\. What came is kept"):
            bring()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "file.bin.partial").read_bytes() == BODY[:1_300_000]
    assert bring().read_bytes() == BODY
    assert web.asked[-1] == ("file.bin", "bytes=1300000-")


def test_a_server_that_sends_without_end_is_stopped(bring, monkeypatch, tmp_path):
    monkeypatch.setattr(_fetch, "_LARGEST", 2_000_000)
    with pytest.raises(FailedError, match="must have about 3,000,000 bytes, got over 2,000,000"):
        bring()
    assert (tmp_path / "file.bin.partial").stat().st_size == 0


@pytest.mark.parametrize("address", ["file:///etc/hostname", "ftp://example.org/file.bin", "here/file.bin"])
def test_only_the_web_is_fetched_from(address, tmp_path):
    with pytest.raises(InvalidInputError, match="`mirror` must be an address of the web"):
        fetch(FILE, tmp_path, url=address, progress=print)
