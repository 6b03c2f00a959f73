"""The house as it is seen from outside: few edges between rooms, small classes, each thing defined once."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "askwho"
# What every room stands on is no room: messages, types, files, and how parts are written.
FOUNDATIONS = {path.stem for path in SOURCE.glob("_*")} | {"exceptions"}
MOST_EDGES = 59
MOST_ATTRIBUTES = 12
# One name for each thing a user can say of a log's columns: a record without behaviour, as flat as the command line.
RECORDS = {"Columns": 15}


def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


TREES = trees()


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(tree: ast.Module) -> set[str]:
    """Return the rooms that a module imports from, wherever the import stands."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "askwho":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("askwho."):
            found.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("askwho.")}
    return found


def edges() -> set[tuple[str, str]]:
    rooms = {room_of(path) for path in TREES} - FOUNDATIONS
    found = {(room_of(path), other) for path, tree in TREES.items() for other in imported(tree)}
    return {(room, other) for room, other in found if room != other and room in rooms and other in rooms}


def test_edges_between_rooms_are_few():
    found = edges()
    assert len(found) <= MOST_EDGES, sorted(found)
    # The count is of something: the top of the house stands on the floors below.
    assert {("cli", "fitting"), ("policy", "beliefs"), ("persistence", "policy")} <= found


def test_persistence_knows_the_policy_and_no_entrails():
    assert {other for room, other in edges() if room == "persistence"} == {"policy"}


def attributes() -> dict[str, set[str]]:
    """Return what each class holds: annotated fields and whatever its methods put into `self`, inherited ones too."""
    own: dict[str, set[str]] = {}
    bases: dict[str, list[str]] = {}
    for tree in TREES.values():
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            held = {item.target.id for item in node.body if isinstance(item, ast.AnnAssign) and _is_name(item.target)}
            for inner in ast.walk(node):
                targets = inner.targets if isinstance(inner, ast.Assign) else []
                targets = [inner.target] if isinstance(inner, ast.AnnAssign | ast.AugAssign) else targets
                for target in (each for given in targets for each in getattr(given, "elts", [given])):
                    if isinstance(target, ast.Attribute) and _is_name(target.value) and target.value.id == "self":
                        held.add(target.attr)
            own[node.name] = held
            bases[node.name] = [base.id for base in node.bases if isinstance(base, ast.Name)]

    def whole(name: str) -> set[str]:
        return own.get(name, set()).union(*(whole(base) for base in bases.get(name, []) if base != name))

    return {name: whole(name) for name in own}


def _is_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Name)


def test_no_class_holds_more_than_twelve_attributes():
    found = {
        name: sorted(held) for name, held in attributes().items() if len(held) > RECORDS.get(name, MOST_ATTRIBUTES)
    }
    assert not found
    assert len(attributes()["Policy"]) == MOST_ATTRIBUTES


# What stands in one place of the code, and a piece of text that can only be its definition.
ONCE = {
    "SplitMix64": ("_splitmix.py", "0xBF58476D1CE4E5B9"),
    "the task": ("_types.py", 'Literal["classification", "regression"]'),
    "scoring committees of every size": ("replay/_replay.py", "found = prefix_errors("),
    "asking in turn on logged rows": ("replay/_replay.py", "turns.known"),
    "what the curve is learned from": ("policy/_curve.py", "def _layout("),
    "the facts about surrogates": ("_surrogates.py", '"mozannar-sontag"'),
    "why a query goes to whom it goes to": ("policy/_why.py", "gain_of_one_more(self)"),
}


@pytest.mark.parametrize("what", ONCE)
def test_each_thing_is_written_once(what):
    place, mark = ONCE[what]
    found = [path.relative_to(SOURCE).as_posix() for path in TREES if mark in path.read_text(encoding="utf-8")]
    assert found == [place]


def test_nothing_asks_whether_there_is_a_base_but_the_policy():
    asked = [
        path.relative_to(SOURCE).as_posix()
        for path in TREES
        if ".base is None" in path.read_text(encoding="utf-8")
        or ".base is not None" in path.read_text(encoding="utf-8")
    ]
    assert {name.split("/")[0] for name in asked} <= {"policy", "estimators"}, asked
