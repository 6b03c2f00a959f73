"""Work shared by threads: every result, in order, and not far ahead of whoever takes them."""

import threading

import pytest

from askwho import _threads
from askwho._threads import in_order, on_each, one_thread_each, processors, use_processors


@pytest.mark.parametrize("workers", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 17])
def test_results_keep_the_order_of_the_items(workers, count):
    assert list(in_order(lambda x: x * x, range(count), workers=workers)) == [x * x for x in range(count)]


def test_items_are_taken_only_a_little_ahead():
    taken = []

    def items():
        for x in range(100):
            taken.append(x)
            yield x

    results = in_order(lambda x: x, items(), workers=2)
    assert next(results) == 0
    assert len(taken) == 3
    results.close()
    assert len(taken) == 3


def test_workers_work_at_the_same_time():
    # Each waits for the other: one worker alone would never get past the barrier.
    barrier = threading.Barrier(2, timeout=30)
    assert len(list(in_order(lambda _: barrier.wait(), range(4), workers=2))) == 4


def test_one_worker_does_one_item_after_the_other():
    seen = []
    list(in_order(seen.append, range(20), workers=1))
    assert seen == list(range(20))


@pytest.mark.parametrize("place", [0, 3])
def test_what_the_work_raises_is_raised(place):
    def work(x):
        if x == place:
            raise ValueError("no")
        return x

    results = in_order(work, range(9), workers=2)
    assert [next(results) for _ in range(place)] == list(range(place))
    with pytest.raises(ValueError, match="no"):
        next(results)


def test_what_reading_raises_is_raised():
    def items():
        yield 1
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(in_order(lambda x: x, items(), workers=2))


def test_there_is_a_processor():
    assert processors() >= 1


def test_a_worker_uses_its_share(monkeypatch):
    monkeypatch.setattr(_threads, "_SHARE", [])
    use_processors(7)
    assert processors() == 7
    use_processors(1)
    assert processors() == 1


def test_products_of_matrices_take_one_thread_while_several_of_ours_are_at_work():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def blas():
        return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]

    before = blas()
    with one_thread_each():
        assert set(blas()) == {1}
    assert blas() == before


@pytest.mark.parametrize(("workers", "each"), [(1, 5), (2, 2), (3, 1), (6, 1)])
def test_whoever_works_beside_others_has_a_part_of_the_processors(workers, each, monkeypatch):
    monkeypatch.setattr(_threads, "_SHARE", [5])
    barrier = threading.Barrier(workers, timeout=30)

    def work(_):
        barrier.wait()
        found = processors()
        barrier.wait()
        return found

    assert list(in_order(work, range(2 * workers), workers=workers)) == [each] * (2 * workers)
    assert processors() == 5


@pytest.mark.parametrize("share", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 5])
def test_work_is_done_once_on_each(share, count, monkeypatch):
    monkeypatch.setattr(_threads, "_SHARE", [share])
    done = []
    on_each(done.append, range(count))
    assert sorted(done) == list(range(count))


def test_two_processors_work_at_the_same_time(monkeypatch):
    monkeypatch.setattr(_threads, "_SHARE", [2])
    barrier = threading.Barrier(2, timeout=30)
    on_each(lambda _: barrier.wait(), range(4))


def test_what_the_work_on_each_raises_is_raised(monkeypatch):
    monkeypatch.setattr(_threads, "_SHARE", [2])
    with pytest.raises(ZeroDivisionError):
        on_each(lambda x: 1 / x, range(3))
