"""Several processors at once: how many there are, and work that they share while its results keep their order."""

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


# Where a process is one of many that share a machine, whoever started them says how many processors each may use.
_SHARE: list[int] = []
# And of a thread of `in_order`, among whom it is.
_AMONG = threading.local()


def processors() -> int:
    """Return how many processors this process may use; in the midst of work that `in_order` shares, its part of them.

    Threads of its own would only take turns with those of the others.
    """
    allowed = getattr(os, "sched_getaffinity", None)
    every = _SHARE[0] if _SHARE else (os.cpu_count() or 1) if allowed is None else len(allowed(0))
    crowd: _Crowd | None = getattr(_AMONG, "crowd", None)
    return every if crowd is None else max(1, every // max(1, crowd.busy))


class _Crowd:
    """How many items are at work."""

    def __init__(self) -> None:
        self.busy, self._lock = 0, threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self.busy += 1
        _AMONG.crowd = self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.busy -= 1
        _AMONG.crowd = None


def use_processors(count: int) -> None:
    """Use so many from now on: an engine starts a worker for each processor, and none may take those of the others."""
    _SHARE[:] = [count]


@contextmanager
def one_thread_each() -> Generator[None]:
    """Let products of matrices take no threads of their own meanwhile: beside ours they would wait for each other.

    OpenBLAS waits without resting. Two threads of ours, with two of its own each, took five times the processor time.
    """
    try:
        from threadpoolctl import threadpool_limits  # noqa: PLC0415 - scikit-learn brings it, and may cease to
    except ImportError:
        yield
        return
    with threadpool_limits(1, "blas"):
        yield


def in_order(work: Callable[[Given], Made], items: Iterable[Given], *, workers: int) -> Iterator[Made]:
    """Yield the work done on each item, in the order of the items, by so many threads.

    One item more than there are workers is taken ahead, and no more: whoever takes the results decides how fast items
    are read. What reading an item or the work on it raises is raised, and the rest is given up.
    """
    crowd = _Crowd()

    def at_work(item: Given) -> Made:
        with crowd:
            return work(item)

    with ThreadPoolExecutor(workers) as pool:
        waiting: deque[Future[Made]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(at_work, item))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for each in waiting:
                each.cancel()


def on_each(work: Callable[[Given], object], items: Sequence[Given]) -> None:
    """Do the work on each item, on every processor there is; without threads where that is one, or one item."""
    threads = min(len(items), processors())
    if threads > 1:
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(work, items):
                pass
    else:
        for item in items:
            work(item)
