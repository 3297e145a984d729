"""Where hook files are looked for, and whose format a file is in (spec/external-hooks.md A.9.1)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from dshhooks.bridge.dialects import LAYOUT, ROOT_KEYS, Dialect
from dshhooks.bridge.jsonfile import Report
from dshhooks.bridge.model import Scope
from dshhooks.bridge.options import BridgeOptions

__all__ = ["CONFIG_VARIABLE", "HOME_VARIABLE", "Candidate", "candidates", "guess_dialect", "home_directory"]

CONFIG_VARIABLE: Final = "DSHHOOKS_BRIDGE_CONFIG"
HOME_VARIABLE: Final = "DSHHOOKS_BRIDGE_HOME"

_NATIVE_NAMES: Final = frozenset({".dsh-hooks.json", "dsh-hooks.json"})
_SETTINGS: Final = re.compile(r"settings.*\.json", re.I)


@frozen
class Candidate:
    """A file that may be there; ``name`` is a short one for ids, a ``dialect`` of ``None`` is to be guessed."""

    path: Path
    scope: Scope
    dialect: Dialect | None
    name: str


def candidates(options: BridgeOptions, report: Report, environ: Mapping[str, str] | None = None) -> list[Candidate]:
    """Return the files to read, least specific first; one that is reached twice only at its first place.

    Args:
        options: ``config_path`` pins a file; else the variable ``DSHHOOKS_BRIDGE_CONFIG`` may; else all places of
            A.9.1, unless ``discover`` is off.
        report: Takes a warning when there is no home directory.
        environ: The environment; ``None``: the process's.
    """
    environ = os.environ if environ is None else environ
    # The variable may name a file of any dialect, and somebody who reads only some would run it in the wrong one.
    variable = environ.get(CONFIG_VARIABLE) if options.dialects is None else None
    pinned = options.config_path or variable or None
    if pinned is not None:
        return [Candidate(Path(pinned), "pinned", options.dialect, str(pinned))]
    if not options.discover:
        return []
    found: dict[str, Candidate] = {}
    for candidate in _places(options, report, environ):
        found.setdefault(os.path.realpath(candidate.path), candidate)
    return list(found.values())


def _places(options: BridgeOptions, report: Report, environ: Mapping[str, str]) -> Iterator[Candidate]:
    home = home_directory(options, environ)
    if home is None:
        report.add("warning", "home-unknown", "", "there is no home directory: user hooks are left out", "set HOME")
    below = options.cwd or Path.cwd()
    for place in LAYOUT:
        if options.dialects is not None and place.dialect not in options.dialects:
            continue
        if place.scope != "user":
            yield Candidate(below / place.path, place.scope, place.dialect, place.path)
        elif home is not None:
            yield Candidate(home / place.path, place.scope, place.dialect, place.path)


def home_directory(options: BridgeOptions, environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the home directory: the option, the variable, ``HOME``, the password database; ``None``: there is none."""
    environ = os.environ if environ is None else environ
    if options.home is not None:
        return options.home
    for variable in (HOME_VARIABLE, "HOME", "USERPROFILE"):
        if environ.get(variable):
            return Path(environ[variable])
    try:
        import pwd

        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except (ImportError, KeyError, AttributeError):
        return None


def guess_dialect(path: Path, data: Any) -> Dialect:
    """Return whose format a pinned file is in, from its name, the folder it stands in, and its content."""
    name, folder = path.name, path.parent.name
    if name in _NATIVE_NAMES or _is_native(data):
        return "native"
    if _SETTINGS.fullmatch(name):
        return "claude"
    if name in ("opencode.json", "opencode.jsonc"):
        return "opencode"
    if name == "hooks.json":
        return "claude" if folder == "hooks" else "codex"  # a Claude plugin keeps its own in hooks/hooks.json
    return "claude"


def _is_native(data: Any) -> bool:
    return isinstance(data, dict) and ROOT_KEYS["native"] in data and data.get("version") == 1
