"""What lies in the folder of data, set by set, and what to type for the rest."""

from pathlib import Path
from typing import Any

from askwho_studies.data._place import FOLDER, Held, command, held
from askwho_studies.data._sets import SETS

_FORMS = {
    "official": "official files",
    "sheets": "JPEG sheets",
    "arrays": "NumPy arrays",
}
"""How each form is called where a person reads it."""
_LOGS_PAGE = "docs/how-to/get-the-data.md"
"""The recorded logs cannot be fetched: it says how each was made from its public source."""


def inventory(data: Path | None = None) -> dict[str, Any]:
    """Return what a folder of data holds, of each set and of the recorded logs, and the command for what it lacks.

    Args:
        data: the folder; `askwho-data` unless said.
    """
    place = FOLDER if data is None else data
    return {
        "data": str(place),
        "sets": [_plain(place, held(place, name)) for name in SETS],
        "logs": sorted(path.stem for path in (place / "logs").glob("*.parquet") if path.with_suffix(".json").is_file()),
    }


def told(found: dict[str, Any]) -> list[str]:
    """Return the lines that say to a person what `inventory` found."""
    lines = [f"{each['name']}: {_line(each)}" for each in found["sets"]]
    logs = found["logs"]
    said = ", ".join(logs) if logs else f"none in logs/; {_LOGS_PAGE} says how to make them"
    return [f"data in {found['data']}", *lines, f"recorded logs: {said}"]


def _plain(place: Path, there: Held) -> dict[str, Any]:
    return {
        "name": there.name,
        "form": there.form,
        "verified": there.verified,
        "lacking": list(there.lacking),
        "holds": SETS[there.name].holds,
        "licence": SETS[there.name].licence,
        "page": SETS[there.name].page,
        "command": None if there.form is not None else command(place, [there.name]),
    }


def _line(each: dict[str, Any]) -> str:
    if each["form"] is None:
        part = f", in part ({', '.join(each['lacking'])} not as it should be)" if each["lacking"] else ""
        return f"missing{part}: {each['command']}"
    sums = {True: ", published sums checked", False: ", no published sum", None: ""}[each["verified"]]
    return f"{_FORMS[each['form']]}{sums if each['form'] == 'official' else ''}"
