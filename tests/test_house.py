"""The house's rules that code can break without anybody noticing: above all, which way imports point."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from attrs import frozen

ROOT = Path(__file__).parent.parent

# house.md: `cli, testing -> harness -> agent -> tools, session, llm, operations, bridge -> engine, plugins ->
# hookspecs`. `clients` is composed of a harness and started from the command line, so it stands between those two.
LEVELS = (
    ("hookspecs",),
    ("engine", "plugins"),
    ("tools", "session", "llm", "operations", "bridge"),
    ("agent",),
    ("harness",),
    ("clients",),
    ("cli", "testing"),
)
LEVEL = {room: number for number, rooms in enumerate(LEVELS) for room in rooms}

# Single files that belong to a room of another name.
ROOMS = {
    "__main__": "cli",
    "config": "plugins",
    "pages": "cli",
    "structure": "plugins",
    "reference": "cli",
    "sync": "cli",
}

CONTRACT_MAY_IMPORT = {"pluggy", "attrs", "hookspecs"}

# anyio is what a signal waits with; importing a decision must not import it, so it is imported inside the function.
INSIDE_FUNCTIONS = {("hookspecs/signal.py", "anyio")}


@frozen
class Arrow:
    """One import: where it stands, what it imports, whether it runs when the module is imported, and if ever."""

    file: str
    line: int
    target: str
    at_import: bool
    runs: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.target}"


def files(folder: str) -> list[Path]:
    """The Python files of a folder."""
    return sorted((ROOT / folder).rglob("*.py"))


def arrows(file: Path) -> Iterator[Arrow]:
    """Every import in a file, also those inside functions and for type checkers only."""
    tree = ast.parse(file.read_text(encoding="utf-8"), str(file))
    inside = {id(node) for scope in ast.walk(tree) if isinstance(scope, FUNCTIONS) for node in ast.walk(scope)}
    typing = {id(node) for scope in ast.walk(tree) if _for_types(scope) for node in ast.walk(scope)}
    where = str(file.relative_to(ROOT))
    for node in ast.walk(tree):
        for target in _targets(node, file):
            yield Arrow(where, node.lineno, target, id(node) not in inside | typing, id(node) not in typing)


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _targets(node: ast.AST, file: Path) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        package = list(file.relative_to(ROOT).parent.parts)
        base = package[: len(package) - node.level + 1] if node.level else []
        module = ".".join([*base, *([node.module] if node.module else [])])
        # `from dshhooks import tools` may name a room; `from dshhooks.tools import x` names one already.
        yield from (f"{module}.{alias.name}" for alias in node.names) if module == "dshhooks" else [module]


def room(dotted: str) -> str | None:
    """The room a module of ours is in; ``None`` for the front door and for modules of others."""
    parts = dotted.split(".")
    if parts[0] == "hookspecs":
        return "hookspecs"
    if parts[0] != "dshhooks" or len(parts) == 1:
        return None
    return ROOMS.get(parts[1], parts[1]) if ROOMS.get(parts[1], parts[1]) in LEVEL else None


def own_arrows() -> Iterator[tuple[str, Arrow]]:
    """Every import in dshhooks, with the room it stands in; the front door re-exports everything and stands outside."""
    for file in files("dshhooks"):
        if file == ROOT / "dshhooks" / "__init__.py":
            continue
        here = room(".".join(file.relative_to(ROOT).with_suffix("").parts))
        assert here is not None, f"{file} is in no room of house.md"
        for arrow in arrows(file):
            yield here, arrow


def test_imports_point_downwards():
    """A room imports its own, rooms beside it, and rooms further down. A type's name may come from above."""
    wrong = [
        f"{arrow} ({here} -> {there})"
        for here, arrow in own_arrows()
        if arrow.runs and (there := room(arrow.target)) is not None and LEVEL[there] > LEVEL[here]
    ]
    assert wrong == []


def test_rooms_side_by_side_do_not_import_each_other_in_circles():
    """Beside is fine one way."""
    beside = {
        (here, there)
        for here, arrow in own_arrows()
        if arrow.runs and (there := room(arrow.target)) not in (None, here) and LEVEL[there] == LEVEL[here]
    }
    assert [(a, b) for a, b in beside if (b, a) in beside] == []


def test_nobody_inside_uses_the_front_door():
    """`from dshhooks import Deny` is for the outside; only the version comes from it."""
    allowed = ("dshhooks/cli/version.py", "dshhooks/clients/fingerprint.py")
    used = [
        arrow for _, arrow in own_arrows() if arrow.target.split(".")[0] == "dshhooks" and room(arrow.target) is None
    ]
    assert [str(arrow) for arrow in used if arrow.file not in allowed] == []


def test_the_contract_stands_on_its_own():
    """hookspecs imports the standard library, pluggy, attrs and itself."""
    wrong = []
    for file in files("hookspecs"):
        for arrow in arrows(file):
            top = arrow.target.split(".")[0]
            excused = not arrow.at_import and (arrow.file, top) in INSIDE_FUNCTIONS
            if top not in CONTRACT_MAY_IMPORT | sys.stdlib_module_names and not excused:
                wrong.append(str(arrow))
    assert wrong == []


def test_contrib_plugins_use_public_names_only():
    """`from dshhooks import …`, `from dshhooks.bridge import …`, the testing kit, and the contract."""
    from dshhooks import __all__ as public

    wrong = []
    for file in files("contrib_plugins"):
        for arrow in arrows(file) if "tests" not in file.parts else ():
            top, _, rest = arrow.target.partition(".")
            if top == "dshhooks" and rest and rest not in {*public, "bridge"} and rest.split(".")[0] != "testing":
                wrong.append(f"{arrow}: not a public name")
    assert wrong == []


@pytest.mark.parametrize("folder", ["dshhooks", "hookspecs"])
def test_every_module_says_what_it_is_for(folder):
    """A docstring, and annotations that are not evaluated."""
    wrong = []
    for file in files(folder):
        text = file.read_text(encoding="utf-8")
        if not ast.get_docstring(ast.parse(text)) or "from __future__ import annotations" not in text:
            wrong.append(str(file.relative_to(ROOT)))
    assert wrong == []


def test_every_room_of_the_plan_is_typed():
    """py.typed travels with each import package."""
    contrib = (ROOT / "contrib_plugins").glob("*/dshhooks_*/__init__.py")
    packages = [ROOT / "dshhooks", ROOT / "hookspecs", *(file.parent for file in contrib)]
    assert [str(package) for package in packages if not (package / "py.typed").is_file()] == []
