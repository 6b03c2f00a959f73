"""What mistakes cost, read from a file."""

import json
from functools import partial
from pathlib import Path

from askwho import _validation as check
from askwho.core import CostMatrix
from askwho.data._tables import read_table
from askwho.exceptions import InvalidInputError

# The columns of a table of costs.
_COLUMNS = ("truth", "answer", "cost")


def read_costs(path: str | Path) -> dict[str, dict[str, float]]:
    """Return what mistakes cost, as `Columns` takes it.

    Args:
        path: JSON, `{"fraud": {"fine": 20}}`; or a table that `read_log` reads, with the columns `truth`, `answer` and
            `cost`, a row a mistake.
    """
    place = Path(path)
    if place.suffix.lower() == ".json":
        try:
            found = json.loads(
                place.read_text(encoding="utf-8"), object_pairs_hook=partial(check.once, name="error costs")
            )
        except InvalidInputError:
            raise
        except (OSError, RecursionError, ValueError):
            raise InvalidInputError(
                f"`error costs` must be a JSON file from truth to answer to cost, got {str(path)!r}, which cannot be "
                "read."
            ) from None
        return CostMatrix.of(found, "error costs").to_json()
    table = read_table(place, texts=_COLUMNS[:2])
    missing = [name for name in _COLUMNS if name not in table]
    if missing:
        raise InvalidInputError(f"`error costs` must have the columns {list(_COLUMNS)}, got {list(table)}.")
    costs = check.numeric(table["cost"], "cost").tolist()
    rows: dict[str, list[tuple[str, float]]] = {}
    for truth, said, cost in zip(table["truth"].tolist(), table["answer"].tolist(), costs, strict=True):
        rows.setdefault(str(truth), []).append((str(said), cost))
    mapping = {truth: check.once(pairs, "error costs") for truth, pairs in rows.items()}
    return CostMatrix.of(mapping, "error costs").to_json()
