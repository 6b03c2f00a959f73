"""The fields of one expert in a file: each of the type that it must have, with its line in every message."""

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from askwho._money import nanos
from askwho.exceptions import InvalidInputError
from askwho.experts._expert import Limits
from askwho.experts._lines import Lines
from askwho.experts._secrets import Secret, from_environment

# What a type is called to whoever writes the file.
_WORDS: dict[type, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    Decimal: "a number",
    list: "a list",
    dict: "a table",
}


class Fields:
    """What a file says of one expert.

    Args:
        path: of the file: files beside it are named from there.
        name: whose fields they are.
        given: as TOML says them, numbers with a point as `Decimal`.
        lines: where they stand.
        environment: where secrets come from.
    """

    def __init__(
        self, path: Path, name: str, given: Mapping[str, Any], lines: Lines, environment: Mapping[str, str] | None
    ) -> None:
        self.path = path
        self.name = name
        self._given = dict(given)
        self._lines = lines
        self._environment = environment
        self._taken: set[str] = set()

    def wrong(self, message: str, key: str = "") -> InvalidInputError:
        """Return the error to raise, with the file and the line."""
        where = self._lines.of(("experts", self.name, *([key] if key else [])))
        return InvalidInputError(f"{self.path.name}, line {where}, expert {self.name!r}: {message}")

    def take(self, key: str, kind: type, default: Any = None, *, needed: bool = False) -> Any:  # noqa: ANN401
        """Return a field, of that type; a whole number is a number too."""
        self._taken.add(key)
        if key not in self._given:
            if needed:
                raise self.wrong(f"`{key}` must be given: it is {_WORDS[kind]}.")
            return default
        value = self._given[key]
        if kind is Decimal and isinstance(value, int) and not isinstance(value, bool):
            return Decimal(value)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.wrong(f"`{key}` must be {_WORDS[kind]}, got {_shown(value)}.", key)
        return value

    def number(self, key: str, default: float | None = None) -> float | None:
        """Return a number."""
        found = self.take(key, Decimal)
        return default if found is None else float(found)

    def money(self, key: str) -> int | None:
        """Return an amount in nanos; None where it is not said."""
        found = self.take(key, Decimal)
        try:
            return None if found is None else nanos(found)
        except InvalidInputError as error:
            raise self.wrong(str(error), key) from None

    def texts(self, key: str, *, needed: bool = False) -> list[str]:
        """Return a list of texts."""
        found = self.take(key, list, [], needed=needed)
        if not all(isinstance(each, str) for each in found):
            raise self.wrong(f"`{key}` must be a list of texts, got {_shown(found)}.", key)
        return found

    def any_of(self, key: str, *kinds: type, needed: bool = False) -> Any:  # noqa: ANN401
        """Return a field that may be of several types."""
        self._taken.add(key)
        value = self._given.get(key)
        if value is None and not needed:
            return None
        if isinstance(value, bool) or not isinstance(value, kinds):
            words = " or ".join(_WORDS[kind] for kind in kinds)
            raise self.wrong(f"`{key}` must be {words}, got {_shown(value)}.", key if value is not None else "")
        return value

    def file(self, key: str) -> Path:
        """Return a file that stands beside this one, or anywhere."""
        found = self.path.parent / self.take(key, str, needed=True)
        if not found.is_file():
            raise self.wrong(f"`{key}` must be a file, got {self._given[key]!r}, which is not there.", key)
        return found

    def limits(self) -> Limits:
        """Return what the expert can bear."""
        usual = Limits()
        given: dict[str, Any] = {
            "timeout": self.number("timeout", usual.timeout),
            "concurrency": self.take("concurrency", int, usual.concurrency),
            "rate": self.number("rate"),
            "retries": self.take("retries", int, usual.retries),
            "idempotent": self.take("idempotent", bool, usual.idempotent),
        }
        try:
            return Limits(**given)
        except InvalidInputError as error:
            key = next((key for key in given if f"`{key}`" in str(error)), "")
            raise self.wrong(str(error), key) from None

    def headers(self) -> dict[str, str | Secret]:
        """Return headers: texts, and secrets that the environment holds."""
        found: dict[str, str | Secret] = {}
        for header, value in self.take("headers", dict, {}).items():
            if isinstance(value, str):
                found[header] = value
            elif isinstance(value, dict) and set(value) == {"env"} and isinstance(value["env"], str):
                found[header] = self._secret(value["env"], "headers")
            else:
                raise self.wrong(f'`headers` must be texts or {{ env = "NAME" }}, got {_shown(value)}.', "headers")
        variable = self.take("key_env", str)
        if variable is not None:
            found["Authorization"] = Secret(self._secret(variable, "key_env").reveal(), before="Bearer ")
        return found

    def _secret(self, variable: str, key: str) -> Secret:
        try:
            return from_environment(variable, self._environment)
        except InvalidInputError as error:
            raise self.wrong(str(error), key) from None

    def finish(self) -> None:
        """Raise where something was said that nobody reads."""
        unknown = [key for key in self._given if key not in self._taken]
        if unknown:
            raise self.wrong(
                f"`{unknown[0]}` must be a field of this kind, got one that is not: it has {sorted(self._taken)}.",
                unknown[0],
            )


def _shown(value: Any) -> str:  # noqa: ANN401 - TOML
    """A value as a message shows it; a table by its keys alone, for a secret may have been written into it."""
    if isinstance(value, dict):
        return f"a table of {sorted(value)}"
    if isinstance(value, Decimal | int | float):
        return str(value)
    return f"{type(value).__name__} of length {len(value)}" if isinstance(value, str | list) else type(value).__name__
