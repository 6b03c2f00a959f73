"""The page of commands, from the program itself."""

# ruff: noqa: ANN401 - typer does not say of what class a parameter is

import inspect
from collections.abc import Iterator
from typing import Any, get_type_hints

import typer

from askwho.cli import app


def commands() -> str:
    """Return a page: every command with its arguments and options."""
    program: Any = typer.main.get_command(app)
    lines = [
        "# Commands",
        "",
        f"{program.help} Exit status: 0, 1 where a command failed, 2 for bad input, after one clear line. In Python,",
        "{py:obj}`askwho.cli.main` runs a list of words.",
        "",
    ]
    for name, command in _each_command(program.commands):
        hints = get_type_hints(command.callback)
        arguments = [p for p in command.params if not p.opts[0].startswith("-")]
        options = [p for p in command.params if p.opts[0].startswith("-")]
        named = (p.name.upper() + ("..." if p.nargs == -1 else "") for p in arguments)
        usage = " ".join(["askwho", name, *named, "[OPTIONS]" if options else ""])
        lines += [
            f"## askwho {name}",
            "",
            inspect.cleandoc(command.help),
            "",
            "```text",
        ]
        lines += [usage.strip(), "```", "", "| name | takes | default | what it is |", "|---|---|---|---|"]
        for param in [*arguments, *options]:
            shown = param.name.upper() if param in arguments else "`, `".join([*param.opts, *param.secondary_opts])
            lines.append(f"| `{shown}` | {_takes(param, hints)} | {_default(param)} | {_escaped(param.help or '')} |")
        lines.append("")
    return "\n".join(lines)


def _each_command(commands: dict[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command by the words that are typed for it, those of a group after its name."""
    for name, command in commands.items():
        if hasattr(command, "commands"):
            yield from _each_command(command.commands, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def _takes(param: Any, hints: dict[str, Any]) -> str:
    if getattr(param, "is_flag", False):
        return "nothing"
    hint = str(getattr(hints[param.name], "__name__", hints[param.name])).replace("pathlib.Path", "Path")
    words = {"str": "text", "list": "texts", "Path": "path", "int": "whole number", "float": "number"}
    return words[hint.removesuffix(" | None")]


def _default(param: Any) -> str:
    if param.required:
        return "required"
    shown = "" if param.default is None or getattr(param, "is_flag", False) else f"`{param.default}`"
    return f"`${param.envvar}`" if param.envvar and not shown else shown


def _escaped(text: str) -> str:
    """Text for a cell: a glob's star is no emphasis, and `<` opens no tag."""
    for sign in ("\\", "*", "|", "<", "_"):
        text = text.replace(sign, f"\\{sign}")
    return text
