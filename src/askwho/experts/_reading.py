"""Experts from a file: `experts.toml`, one table for each, checked before anybody is asked."""

import os
import tomllib
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from askwho.exceptions import AskwhoError, InvalidInputError
from askwho.experts._expert import Expert
from askwho.experts._fields import Fields
from askwho.experts._http import Http
from askwho.experts._lines import Lines
from askwho.experts._network import FREE, Endpoint
from askwho.experts._onnx import Onnx
from askwho.experts._openai import Chat, OpenAI
from askwho.experts._parsing import Parse, checked_parse
from askwho.experts._prices import LookedUp, Prices, Stated
from askwho.experts._python import Python, function_of
from askwho.experts._recorded import Recorded
from askwho.experts._templates import checked_path

# What is added to the address of an endpoint, where that ends with its version.
_CHAT = "/chat/completions"
# Statuses of an error, which a provider may say that he does not charge for.
_ERRORS = range(400, 600)


def read_experts(path: str | os.PathLike[str], *, environment: Mapping[str, str] | None = None) -> dict[str, Expert]:
    """Return the experts of a TOML file by name, in its order; a message names the file and the line.

    Args:
        path: a file of tables `[experts.NAME]`, each with a `kind`: openai, http, python, onnx or recorded.
        environment: where secrets come from; the process's own unless given.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
        found = tomllib.loads(text, parse_float=Decimal)
    except (OSError, UnicodeDecodeError):
        raise InvalidInputError(f"`experts` must be a TOML file, got {str(file)!r}, which cannot be read.") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"{file.name} must be TOML: {error}") from None
    lines = Lines(text)
    tables = found.pop("experts", None)
    if found:
        other = next(iter(found))
        raise InvalidInputError(f"{file.name}, line {lines.of([other])}: `{other}` must be a table [experts.NAME].")
    if not isinstance(tables, dict) or not tables:
        raise InvalidInputError(f"{file.name} must have a table [experts.NAME] for each expert, got none.")
    experts: dict[str, Expert] = {}
    for name, given in tables.items():
        if not isinstance(given, dict):
            raise InvalidInputError(f"{file.name}, line {lines.of(['experts', name])}: `{name}` must be a table.")
        experts[name] = _expert(Fields(file, name, given, lines, environment))
    return experts


def _expert(fields: Fields) -> Expert:
    kind = fields.take("kind", str, needed=True)
    if kind not in _KINDS:
        raise fields.wrong(f"`kind` must be one of {', '.join(_KINDS)}, got {kind!r}.", "kind")
    try:
        made = _KINDS[kind](fields)
    except AskwhoError as error:
        if str(error).startswith(fields.path.name):
            raise
        # Said by the part itself, which knows no file: the field that it names is found by its name.
        key = str(error).split("`")[1].split(".")[0] if str(error).count("`") > 1 else ""
        raise fields.wrong(str(error), key) from None
    fields.finish()
    return made


def _openai(fields: Fields) -> Expert:
    url = fields.take("url", str, needed=True).rstrip("/")
    model = fields.take("model", str, needed=True)
    usual = Chat(model, "")
    chat = Chat(
        model,
        fields.take("prompt", str, needed=True),
        fields.take("system", str),
        fields.take("max_tokens", int, usual.max_tokens),
        fields.take("max_input_tokens", int, usual.max_input),
        _plain(fields.take("options", dict, {})),
        fields.take("length_field", str, usual.length_field),
    )
    endpoint = _endpoint(fields, url if url.endswith(_CHAT) else url + _CHAT)
    return OpenAI(fields.name, endpoint, chat, _parse(fields), _prices(fields, model))


def _http(fields: Fields) -> Expert:
    fee, most = fields.money("fee"), fields.money("max_fee")
    path = fields.take("fee_path", str)
    if most is None and (fee is None or path is not None):
        raise fields.wrong("`max_fee` must say the most that a call can charge, where replies tell its fee.")
    return Http(
        fields.name,
        _endpoint(fields, fields.take("url", str, needed=True)),
        _plain(fields.any_of("body", dict, list, str, needed=True)),
        checked_path(fields.take("answer", str, needed=True), "answer"),
        max(most or 0, fee or 0),
        fee,
        None if path is None else checked_path(path, "fee_path"),
        fields.take("info", str),
        _parse(fields),
    )


def _python(fields: Fields) -> Expert:
    return Python(
        fields.name,
        function_of(fields.take("function", str, needed=True)),
        fields.money("fee") or 0,
        fields.limits(),
        fields.take("batch", int),
        fields.number("wait", 0.005) or 0.0,
    )


def _onnx(fields: Fields) -> Expert:
    return Onnx(
        fields.name,
        fields.file("model"),
        fields.texts("columns", needed=True),
        _plain(fields.take("classes", list)),
        fields.take("output", str),
        fields.money("fee") or 0,
        fields.limits(),
    )


def _recorded(fields: Fields) -> Expert:
    fee = fields.any_of("fee", Decimal, int, str)
    return Recorded.of(
        fields.name,
        fields.file("table"),
        id=fields.take("id", str, "id"),
        answer=fields.take("answer", str, f"answer_{fields.name}"),
        fee=0.0 if fee is None else fee if isinstance(fee, str) else float(fee),
        info=fields.take("info", str),
        latency=fields.take("latency", str),
        limits=fields.limits(),
        speed=fields.number("speed", 1.0) or 1.0,
    )


_KINDS: dict[str, Callable[[Fields], Expert]] = {
    "openai": _openai,
    "http": _http,
    "python": _python,
    "onnx": _onnx,
    "recorded": _recorded,
}  # how each kind is read


def _endpoint(fields: Fields, url: str) -> Endpoint:
    free = fields.take("free_statuses", list, [])
    if not all(isinstance(status, int) and status in _ERRORS for status in free):
        raise fields.wrong("`free_statuses` must be statuses from 400 to 599, got others.", "free_statuses")
    return Endpoint(fields.name, url, fields.limits(), fields.headers(), FREE | set(free))


def _parse(fields: Fields) -> Parse:
    return checked_parse(_plain(fields.take("parse", dict, {})))


def _prices(fields: Fields, model: str) -> Prices:
    given, provider = fields.any_of("price", dict, str, needed=True), fields.take("provider", str)
    if isinstance(given, str):
        if given != "look-up":
            raise fields.wrong(
                "`price` must be { input = ..., output = ... } of a million tokens, or 'look-up'.", "price"
            )
        return LookedUp(model, provider)
    known = {"input", "output", "cached", "call"}
    numbers = all(isinstance(value, Decimal | int) and not isinstance(value, bool) for value in given.values())
    if not {"input", "output"} <= set(given) <= known or not numbers:
        raise fields.wrong(
            f"`price` must have numbers for input and output of a million tokens, and may have cached and call, got "
            f"{sorted(given)}.",
            "price",
        )
    return Stated(**{key: Decimal(value) for key, value in given.items()})


def _plain(value: Any) -> Any:  # noqa: ANN401 - TOML
    """Values of a file as JSON has them: numbers with a point are floats there."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value
