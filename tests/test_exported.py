"""What ``dshhooks`` exports: everything it says, nothing else, and as lightly as it promises."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dshhooks
from hookspecs import errors

SOURCE = Path(dshhooks.__file__).read_text(encoding="utf-8")


def for_type_checkers() -> set[str]:
    """The names the TYPE_CHECKING block brings in; a star brings what its module lists."""
    [block] = [node for node in ast.parse(SOURCE).body if isinstance(node, ast.If)]
    names: set[str] = set()
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            if alias.name == "*":
                names.update(importlib.import_module(node.module).__all__)
            else:
                names.add(alias.asname or alias.name)
    return names


def loaded_after(code: str) -> set[str]:
    """The modules a fresh interpreter has after running some code."""
    program = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("name", dshhooks.__all__)
def test_every_name_is_importable(name):
    """And `from dshhooks import *` would not fail."""
    assert getattr(dshhooks, name) is not None or name == "MISSING"


def test_names_are_sorted_and_unique():
    """So that the list can be read."""
    assert dshhooks.__all__ == sorted(set(dshhooks.__all__))


def test_type_checkers_see_the_same_names():
    """What mypy finds is what exists at run time."""
    assert for_type_checkers() | {"__version__"} == set(dshhooks.__all__)


def test_dir_lists_them():
    """For completion."""
    assert set(dshhooks.__all__) <= set(dir(dshhooks))


def test_an_unknown_name_is_an_attribute_error():
    """As for any module."""
    with pytest.raises(AttributeError, match="module 'dshhooks' has no attribute 'nonsense'"):
        dshhooks.nonsense  # noqa: B018


def test_a_name_is_the_same_object_everywhere():
    """isinstance works whichever way a class came."""
    from hookspecs.decisions import Deny

    assert dshhooks.Deny is Deny
    assert dshhooks.Deny is dshhooks.Deny


@pytest.mark.parametrize(
    ("code", "without"),
    [
        ("import dshhooks", {"hookspecs", "attrs", "pluggy", "cattrs", "anyio", "asyncio"}),
        ("from dshhooks import Deny", {"pluggy", "cattrs", "anyio", "asyncio", "httpx", "dshhooks.engine.hooks"}),
        ("from dshhooks import ToolCall, ToolSuccess", {"pluggy", "cattrs", "anyio"}),
        ("from dshhooks import hookimpl", {"pluggy", "cattrs", "anyio", "httpx"}),
        ("from dshhooks import Hooks, ToolRegistry", {"cattrs", "httpx", "rich", "click"}),
        ("from dshhooks import Harness", {"httpx", "rich", "click", "dshhooks.agent"}),
        ("import dshhooks.testing.plugin", {"dshhooks.engine.hooks", "anyio", "cattrs"}),
    ],
)
def test_importing_stays_light(code, without):
    """Heavy modules are imported when they are used."""
    assert not without & loaded_after(code)


def test_every_error_is_in_the_tree():
    """The picture in the module's docstring shows every public exception under its base, with its code."""
    tree = errors.__doc__ or ""
    for name in errors.__all__:
        value = getattr(errors, name)
        if inspect.isclass(value):
            assert re.search(rf"\b{name}\b", tree), f"{name} is not in the tree of hookspecs/errors.py"
            code = value.__dict__.get("default_code")
            assert code is None or re.search(rf"\b{name}\b.*\b{code}\b", tree), f"{name}: {code} is not beside it"


def test_every_error_is_exported():
    """What can be raised can be caught by a public name; those of bounded operations by theirs."""
    public = {name for name in errors.__all__ if inspect.isclass(getattr(errors, name))}
    assert public - set(dshhooks.__all__) - {"OperationConfigError"} == set()


@pytest.mark.parametrize("error", [getattr(errors, name) for name in errors.__all__ if name.endswith("Error")])
def test_every_error_can_be_caught_as_ours(error):
    """One base class, one attribute with the code; NotLosslessError has none, as the spec says."""
    if error is errors.NotLosslessError:
        assert not issubclass(error, errors.HarnessError)
        return
    made = error("message")
    assert isinstance(made, errors.HarnessError)
    assert made.code == made.code.upper() != ""
    assert (str(made), made.message, made.name) == ("message", "message", error.__name__)
