"""What the build of the site generates: the reference, from the code itself, and the pages of recorded results."""

# ruff: noqa: ANN401 - typer does not say of what class a parameter is, nor mkdocs what else it passes

import ast
import importlib
import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import typer
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "askwho"
RESULTS = ROOT / "benchmarks" / "results"
COMMANDS = "reference/commands.md"


@dataclass(frozen=True)
class Module:
    """A module with a public surface.

    Args:
        name: such as `askwho.policy`.
        says: the first line of its docstring.
        public: its `__all__`, in that order.
        origins: from a name that it imports to the module it comes from.
    """

    name: str
    says: str
    public: tuple[str, ...]
    origins: dict[str, str]

    @property
    def page(self) -> str:
        """Where its reference is."""
        return f"reference/{self.name}.md"


def modules() -> Iterator[Module]:
    """Yield the package and every public subpackage that says what it exports, without importing any of them."""
    for path in sorted(PACKAGE.rglob("__init__.py")):
        parts = path.parent.relative_to(PACKAGE.parent).parts
        if any(part.startswith("_") for part in parts):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        public = [
            ast.literal_eval(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)
        ]
        if not public:
            continue
        origins = {
            alias.asname or alias.name: node.module or ""
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        says = (ast.get_docstring(tree) or "").partition("\n\n")[0].replace("\n", " ")
        yield Module(".".join(parts), says, tuple(public[0]), origins)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the generated pages into the navigation, behind the index of the reference."""
    pages = [{"Commands": COMMANDS}, *({module.name: module.page} for module in modules())]
    for section in config.nav or []:
        if "Reference" in section:
            section["Reference"][1:1] = pages
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and the recorded results that pages link to."""
    found = list(modules())
    texts = {"reference/index.md": _index(found), COMMANDS: _commands()}
    texts |= {module.page: _reference(module, found) for module in found}
    for uri, text in texts.items():
        files.append(File.generated(config, uri, content=text))
    for path in sorted(RESULTS.rglob("*")):
        if path.suffix in (".md", ".png"):
            uri = f"results/{path.relative_to(RESULTS).as_posix()}"
            files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Lead links to recorded results, which lie outside the folder of the docs, to their copies in the site."""
    depth = page.file.src_uri.count("/")
    return markdown.replace("](" + "../" * (depth + 1) + "benchmarks/results/", "](" + "../" * depth + "results/")


def _index(found: list[Module]) -> str:
    """Every module, every name."""
    lines = [
        "# Reference",
        "",
        "Generated from the code: every public name, with its signature, and [every command](commands.md).",
        "",
        "| module | what it holds | names |",
        "|---|---|---|",
    ]
    for module in found:
        names = ", ".join(f"[`{name}`]({module.name}.md#{module.name}.{name})" for name in module.public)
        lines.append(f"| [`{module.name}`]({module.name}.md) | {module.says} | {names} |")
    return "\n".join(lines) + "\n"


def _reference(module: Module, found: list[Module]) -> str:
    """One block a public name; a name that another public module defines is a link to its own page."""
    by_name = {each.name: each for each in found}
    lines = [f"# `{module.name}`", "", module.says, ""]
    elsewhere: list[str] = []
    for name in module.public:
        origin = module.origins.get(name, "")
        path, anchor = f"{module.name}.{name}", f"{{ #{module.name}.{name} }}"
        home = next((each for each in by_name.values() if each != module and _holds(each, origin, name)), None)
        if path in by_name:
            elsewhere.append(f"- [`{name}`]({path}.md){anchor}: {by_name[path].says}")
        elif home is not None:
            elsewhere.append(f"- [`{name}`]({home.name}.md#{home.name}.{name}){anchor}, of `{home.name}`")
        else:
            lines += [f"::: {path}", ""]
    if elsewhere:
        lines += ["## Described on pages of their own", "", *elsewhere, ""]
    return "\n".join(lines)


def _holds(module: Module, origin: str, name: str) -> bool:
    """Whether a module is where a name comes from, itself or by one of its private parts."""
    inside = origin == module.name or origin.startswith(f"{module.name}._")
    return inside and name in module.public and module.name != "askwho"


def _commands() -> str:
    """Every command with its arguments and options, from the program itself."""
    sys.path.insert(0, str(PACKAGE.parent))
    app: Any = typer.main.get_command(importlib.import_module("askwho.cli").app)
    lines = [
        "# Commands {: #askwho.cli }",
        "",
        f"{app.help} Exit status: 0, 1 where a command failed, 2 for bad input, after one clear line. In Python,",
        "[`askwho.cli.main`](askwho.cli.md#askwho.cli.main) runs a list of words.",
        "",
    ]
    for name, command in _each_command(app.commands):
        hints = get_type_hints(command.callback)
        arguments = [p for p in command.params if not p.opts[0].startswith("-")]
        options = [p for p in command.params if p.opts[0].startswith("-")]
        named = (p.name.upper() + ("..." if p.nargs == -1 else "") for p in arguments)
        usage = " ".join(["askwho", name, *named, "[OPTIONS]" if options else ""])
        lines += [
            f"## askwho {name} {{: #{name.replace(' ', '-')} }}",
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
