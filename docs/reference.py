"""The pages of names: what every public module exports, with signatures and docstrings, read from the source.

Nothing is imported for it: annotations stand as they were written, and docstrings are the Markdown that they are.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import griffe

SOURCE = Path(__file__).parents[1] / "src"
# A value that fills more than a line hides what its docstring says of it.
LONGEST_VALUE = 100
_EXAMPLE = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.DOTALL | re.MULTILINE)
_LABELS = ("async", "classmethod", "staticmethod", "abstractmethod")
_SIGNS = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}


@dataclass(frozen=True)
class Module:
    """A module with a public surface.

    Args:
        name: such as `askwho.policy`.
        says: the first paragraph of its docstring.
        public: what it exports, by name, in the order of `__all__`.
    """

    name: str
    says: str
    public: dict[str, griffe.Object]


def modules() -> list[Module]:
    """Return the package and every public subpackage that says what it exports."""
    options: griffe.GoogleOptions = {"warn_missing_types": False}
    package = griffe.load(
        "askwho", search_paths=[SOURCE], docstring_parser="google", docstring_options=options, resolve_aliases=True
    )
    return [
        Module(each.path, _says(each), {str(name): _target(each[str(name)]) for name in each.exports})
        for each in sorted(_packages(_target(package)), key=lambda each: each.path)
        if each.exports
    ]


def pages() -> dict[str, str]:
    """Return the generated pages by the name of their files: the index, then one for each module."""
    found = modules()
    homes = _homes(found)
    return {"index.md": _index(found)} | {f"{module.name}.md": _Page(module, homes).text() for module in found}


def _packages(package: griffe.Object) -> Iterator[griffe.Object]:
    yield package
    for name, member in package.modules.items():
        if member.is_init_module and not name.startswith("_"):
            yield from _packages(member)


def _target(found: griffe.Object | griffe.Alias) -> griffe.Object:
    return found.final_target if isinstance(found, griffe.Alias) else found


def _says(described: griffe.Object) -> str:
    """The first paragraph of a docstring, on one line."""
    text = described.docstring.value if described.docstring else ""
    return text.partition("\n\n")[0].replace("\n", " ")


def _homes(found: list[Module]) -> dict[str, str]:
    """From where a name is defined, or exported, to where it is described: the nearest room above that exports it."""
    homes: dict[str, str] = {}
    for module in sorted(found, key=lambda module: len(module.name)):
        for name, described in module.public.items():
            if described.path not in homes or described.path.startswith(f"{module.name}."):
                homes[described.path] = f"{module.name}.{name}"
    for module in found:
        homes |= {f"{module.name}.{name}": homes[described.path] for name, described in module.public.items()}
    return homes


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
        names = ", ".join(f"{{py:obj}}`{name} <{module.name}.{name}>`" for name in module.public)
        lines.append(f"| [`{module.name}`]({module.name}.md) | {module.says} | {names} |")
    return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class _Page:
    """The page of one module.

    Args:
        module: what it describes.
        homes: from where a name is defined to where it is described.
    """

    module: Module
    homes: dict[str, str]

    def text(self) -> str:
        """One block a public name; what another module describes is only named here, and leads there."""
        lines = [f"# `{self.module.name}`", "", f":::{{py:module}} {self.module.name}", ":::", "", self.module.says, ""]
        for name, described in self.module.public.items():
            home = self.homes[described.path]
            if home == f"{self.module.name}.{name}":
                lines += self._block(name, described)
            else:
                lines += [
                    f":::{{py:{_role(described)}}} {name}",
                    "",
                    f"{_says(described)} See {{py:obj}}`{home}`.",
                    ":::",
                    "",
                ]
        return "\n".join(lines)

    def _block(self, name: str, described: griffe.Object, fence: str = "::::") -> list[str]:
        """The directive of a name, with those of its members inside it."""
        role, options, signature = _role(described), [], name
        if isinstance(described, griffe.Function):
            signature += self._arguments(described.parameters) + self._arrow(described.returns)
            options = [f"{label}:" for label in _LABELS if label in described.labels]
        elif isinstance(described, griffe.Class):
            signature += self._arguments(described.parameters)
        elif isinstance(described, griffe.Attribute):
            options = [f"type: {_quoted(self._written(described.annotation))}"] if described.annotation else []
            value = _one_line(str(described.value))
            if role == "data" and len(value) <= LONGEST_VALUE:
                options.append(f"value: {_quoted(value)}")
        lines = [f"{fence}{{py:{role}}} {signature}", *(f":{option}" for option in options)]
        lines += ["", *self._docstring(described), ""]
        if isinstance(described, griffe.Class):
            for key, member in _members(described):
                lines += self._block(key, member, fence[:-1])
        return [*lines, fence, ""]

    def _arguments(self, parameters: griffe.Parameters) -> str:
        """What a call takes, as it is written in the source, without `self`."""
        shown: list[str] = []
        before = griffe.ParameterKind.positional_only
        for parameter in parameters:
            if parameter.name in ("self", "cls") and not shown:
                continue
            kind = parameter.kind or griffe.ParameterKind.positional_or_keyword
            if before is griffe.ParameterKind.positional_only and kind is not before and shown:
                shown.append("/")
            if kind is griffe.ParameterKind.keyword_only and before not in (kind, griffe.ParameterKind.var_positional):
                shown.append("*")
            text = _SIGNS.get(kind, "") + parameter.name
            text += f": {self._written(parameter.annotation)}" if parameter.annotation is not None else ""
            if parameter.default is not None and kind not in _SIGNS:
                text += f" = {_one_line(str(parameter.default))}"
            shown.append(text)
            before = kind
        return f"({', '.join(shown)}{', /' if shown and before is griffe.ParameterKind.positional_only else ''})"

    def _arrow(self, returns: griffe.Expr | str | None) -> str:
        return "" if returns is None else f" -> {self._written(returns)}"

    def _written(self, annotation: griffe.Expr | str) -> str:
        """An annotation, with public names by their full paths: these become links, and are shown as they were."""
        if isinstance(annotation, str):
            return annotation
        parts = annotation.iterate(flat=True)
        return _one_line("".join(self._name(part) if isinstance(part, griffe.Expr) else part for part in parts))

    def _name(self, part: griffe.Expr) -> str:
        return self.homes.get(part.canonical_path, str(part))

    def _docstring(self, described: griffe.Object) -> list[str]:
        """A docstring, its arguments as a list of fields."""
        lines: list[str] = []
        for section in described.docstring.parsed if described.docstring else ():
            if isinstance(section, griffe.DocstringSectionText):
                lines += [_EXAMPLE.sub(_fenced, section.value)]
            elif isinstance(section, griffe.DocstringSectionParameters):
                lines += [_field(f"param {each.name}", each.description) for each in section.value]
            elif isinstance(section, griffe.DocstringSectionAttributes):
                lines += [_field(f"ivar {each.name}", each.description) for each in section.value]
            elif isinstance(section, griffe.DocstringSectionReturns):
                lines += [_field("returns", each.description) for each in section.value]
            elif isinstance(section, griffe.DocstringSectionAdmonition):
                lines += [f"**{section.title}.** {section.value.description}"]
            else:
                raise TypeError(
                    f"{described.path}: no page knows how to show a section of kind {section.kind.value!r}."
                )
            lines.append("")
        return lines


def _role(described: griffe.Object) -> str:
    """What the Python domain calls it."""
    inside = described.parent is not None and described.parent.is_class
    if described.is_class:
        return "class"
    if described.is_function:
        return "method" if inside else "function"
    if "property" in described.labels:
        return "property"
    return "attribute" if inside else "data"


def _members(described: griffe.Class) -> Iterator[tuple[str, griffe.Object]]:
    """The public members that say something of themselves, a class's own before those that it inherits."""
    for name, member in (described.members | described.inherited_members).items():
        if member.docstring and (member.is_special or not name.startswith("_")):
            yield name, _target(member)


def _field(name: str, text: str) -> str:
    return f":{name}: " + text.replace("\n", "\n    ")


def _fenced(example: re.Match[str]) -> str:
    return f"```pycon\n{example[0]}\n```"


def _quoted(code: str) -> str:
    """Code as the value of an option, whose own quotes would be taken off otherwise."""
    return json.dumps(code, ensure_ascii=False)


def _one_line(code: str) -> str:
    return " ".join(code.split())
