"""Times KNORA-E of DESlib on one row of digits, and its pool alone; run by decide.py with DESlib's own Python."""

import json
import sys
import warnings
from pathlib import Path

from deslib.des.knora_e import KNORAE  # pyright: ignore[reportMissingImports]

sys.path.insert(0, str(Path(__file__).parents[1]))
from digits_pool import mixed_pool
from measure import in_turn


def main() -> None:
    """Print both medians as JSON."""
    warnings.simplefilter("ignore")
    pool, X, y = mixed_pool(int(sys.argv[1]))
    knora = KNORAE(pool).fit(X[100:], y[100:])
    row = X[:1]
    found = {
        "knora_e": in_turn(100, lambda: knora.predict(row), warm=10)[0],
        "pool": in_turn(100, lambda: [member.predict(row) for member in pool], warm=10)[0],
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
