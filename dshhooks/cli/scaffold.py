"""An installable plugin with a test, written out."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from hookspecs.errors import PluginError

__all__ = ["write_plugin"]

_FILES = {
    "pyproject.toml": """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "dshhooks-$name"
version = "0.1.0"
description = "A dshhooks plugin."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["dshhooks"]

[project.entry-points.dshhooks]
$name = "$module:$cls"

[tool.hatch.build.targets.wheel]
packages = ["$module"]
""",
    "README.md": """\
# dshhooks-$name

Denies tool calls whose arguments mention a forbidden word.

    [plugin.$name]
    forbidden = ["production"]
""",
    "$module/__init__.py": '''\
"""Denies tool calls whose arguments mention a forbidden word."""

from __future__ import annotations

from attrs import Factory, frozen

from dshhooks import Deny, ToolExecution, hookimpl


@frozen
class Options:
    """``[plugin.$name]``: words no tool call may mention."""

    forbidden: list[str] = Factory(list)


class $cls:
    """The plugin."""

    def __init__(self, options: Options) -> None:
        self.options = options

    @hookimpl
    def tools_pre_execute(self, execution: ToolExecution) -> Deny | None:
        """Deny a call that mentions a forbidden word; no opinion on any other."""
        text = repr(execution.arguments)
        for word in self.options.forbidden:
            if word in text:
                return Deny(f"{execution.name} may not mention {word!r}")
        return None
''',
    "$module/py.typed": "",
    "tests/test_$module.py": '''\
"""What the plugin does to a real call."""

from __future__ import annotations

from $module import $cls, Options

from dshhooks.testing import run_call


def test_a_call_with_a_forbidden_word_is_denied():
    """The reason names the word, and the tool never runs."""
    result = run_call({"path": "production.db"}, plugins=[$cls(Options(forbidden=["production"]))])
    assert result.is_error
    assert "production" in result.error.message


def test_any_other_call_runs():
    """The echo tool answers with its arguments."""
    result = run_call({"path": "notes.txt"}, plugins=[$cls(Options(forbidden=["production"]))])
    assert result.value == {"path": "notes.txt"}
''',
}


# Names the module uses itself.
_TAKEN = ("Deny", "Factory", "None", "Options", "ToolExecution")


def write_plugin(name: str, folder: str) -> Path:
    """Write the scaffold of a plugin; refuses to touch a folder that exists.

    Args:
        name: The entry-point name: lower-case words joined by hyphens.
        folder: Where the new folder goes.

    Raises:
        PluginError: The name is no good, or the folder exists or cannot be written.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise PluginError(f"{name!r} is no plugin name: use lower-case words joined by hyphens, like no-force-push")
    values = {"name": name, "module": "dshhooks_" + name.replace("-", "_"), "cls": _class_name(name)}
    root = Path(folder) / name
    try:
        root.mkdir(parents=True)
        for path, text in _FILES.items():
            file = root / Template(path).substitute(values)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(Template(text).substitute(values), encoding="utf-8")
    except FileExistsError:
        raise PluginError(f"{root} exists; choose another name or --dir") from None
    except OSError as exc:
        raise PluginError(f"{root} cannot be written: {exc.strerror or exc}; choose another --dir") from exc
    return root


def _class_name(name: str) -> str:
    cls = "".join(word.title() for word in name.split("-"))
    return f"{cls}Plugin" if cls in _TAKEN else cls
