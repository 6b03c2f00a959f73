"""Times KNORA-E of DESlib on one row of digits, and its pool alone; run by decide.py with DESlib's own Python."""

import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from deslib.des.knora_e import KNORAE  # pyright: ignore[reportMissingImports]

sys.path.insert(0, str(Path(__file__).parents[1]))
from digits_pool import mixed_pool


def median_seconds(call: Callable[[], object]) -> float:
    """Return the median of a hundred calls, after ten to warm up."""
    times: list[float] = []
    for turn in range(110):
        start = time.perf_counter()
        call()
        if turn >= 10:
            times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    """Print both medians as JSON."""
    warnings.simplefilter("ignore")
    pool, X, y = mixed_pool(int(sys.argv[1]))
    knora = KNORAE(pool).fit(X[100:], y[100:])
    row = X[:1]
    found = {
        "knora_e": median_seconds(lambda: knora.predict(row)),
        "pool": median_seconds(lambda: [member.predict(row) for member in pool]),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
