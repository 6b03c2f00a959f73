"""What is written into the books as text: names, reasons and JSON."""

import json
import math
from collections.abc import Mapping
from datetime import date
from typing import Any

from askwho.exceptions import InvalidInputError

# Letters of a name: an index of PostgreSQL takes some 2,700 bytes, and a letter is four at the most.
_LONGEST_NAME = 500
# Letters of a reason: a page that a server sends in place of an answer tells no more behind them.
_LONGEST_WHY = 1000


def name_of(value: object, name: str) -> str:
    """Return a name that both databases keep as it is, or say what is wrong with it."""
    if not isinstance(value, str) or not value or len(value) > _LONGEST_NAME or "\0" in value or not _encodes(value):
        raise InvalidInputError(
            f"`{name}` must be text of 1 to {_LONGEST_NAME} letters without NUL, got {value!r:.80}."
        )
    return value


def reason(why: object) -> str:
    """Return why something is as it is, in text that both databases keep, cut behind a thousand letters."""
    if why == "":
        return ""
    text = str(why).replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= _LONGEST_WHY else f"{text[:_LONGEST_WHY]}…"


def to_json(value: Any, name: str) -> str:  # noqa: ANN401 - whatever JSON knows
    """Return a value as JSON: NumPy's numbers as Python's, dates as ISO 8601 writes them, NaN as null."""
    try:
        try:
            return _ENCODER.encode(value)
        except ValueError:
            return _ENCODER.encode(_without_nan(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"`{name}` must be what JSON can hold, got {type(value).__name__}: {error}.") from None


def object_to_json(value: object, name: str) -> str:
    """Return a mapping as a JSON object."""
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"`{name}` must be a mapping from name to value, got {type(value).__name__}.")
    return to_json({str(key): each for key, each in value.items()}, name)


def _plain(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    # An array or a scalar of NumPy: what they hold as Python's own.
    if hasattr(value, "tolist"):
        return _without_nan(value.tolist())
    raise TypeError(f"there is a {type(value).__name__} in it")


# Made once: `json.dumps` makes one for every value that is not quite plain.
_ENCODER = json.JSONEncoder(default=_plain, allow_nan=False)


def _without_nan(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Mapping):
        return {str(key): _without_nan(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(each) for each in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _encodes(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
