"""Does a plugin keep the contract? Loads it as the host would, and runs a real call through it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from attrs import frozen

from dshhooks.engine.faults import is_fault
from dshhooks.engine.hooks import Hooks
from dshhooks.plugins.discovery import discover
from dshhooks.plugins.loading import import_plugin, instantiate
from hookspecs.errors import HarnessError, PluginError, error_chain
from hookspecs.execution import ToolFailure

__all__ = ["Finding", "check_plugin"]


@frozen
class Finding:
    """One thing that was checked."""

    what: str
    ok: bool
    detail: str = ""


def check_plugin(name_or_path: str) -> list[Finding]:
    """Check an installed plugin by name, or one in a file (``FILE.py`` or ``FILE.py:ATTRIBUTE``).

    Returns:
        What was checked, in order; it stops at the first failure that makes the rest pointless.
    """
    findings: list[Finding] = []
    try:
        target, name = _find(name_or_path)
        findings.append(Finding("it can be imported", True, name))
        plugin = instantiate(target, name, None, "defaults")
        findings.append(Finding("it can be made with default options", True))
        hooks = Hooks()
        hooks.register(plugin, name, announce=False)
    except HarnessError as exc:
        return [*findings, Finding("it loads", False, str(exc))]
    implemented = hooks.hooks_of(name)
    findings.append(Finding("its hooks exist and fit", True, ", ".join(implemented)))
    findings.append(Finding("it implements at least one hook", bool(implemented), _forgotten(plugin, hooks)))
    findings.extend(_run(plugin, name))
    return findings


def _find(name_or_path: str) -> tuple[Any, str]:
    path, _, attribute = name_or_path.partition(".py:")
    file = Path(f"{path}.py" if attribute else name_or_path)
    if file.suffix == ".py":
        module = _module(file)
        return (getattr(module, attribute) if attribute else _only_plugin(module)), attribute or file.stem
    found = discover().get(name_or_path)
    if found is None:
        installed = ", ".join(discover()) or "none"
        raise PluginError(f"no plugin {name_or_path!r} is installed (installed: {installed}), and it is no FILE.py")
    return import_plugin(found), name_or_path


def _module(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if not file.is_file() or spec is None or spec.loader is None:
        raise PluginError(f"{file}: there is no such file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as exc:
        if not is_fault(exc):
            raise
        raise PluginError(f"{file}: importing it failed: {error_chain(exc)}") from exc
    return module


def _only_plugin(module: Any) -> Any:
    """Return the one class of the module with hookimpls, or the module itself when it has functions with them."""
    hooks = Hooks()
    own = [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == module.__name__]
    classes = [value for value in own if hooks.implemented_by(value)]
    if len(classes) > 1:
        names = ", ".join(value.__name__ for value in classes)
        raise PluginError(f"{module.__name__}.py has several plugins ({names}); name one: FILE.py:{classes[0].__name__}")
    return classes[0] if classes else module


def _forgotten(plugin: Any, hooks: Hooks) -> str:
    """Name functions called like a hook that lost their marker."""
    implemented = set(hooks.implemented_by(plugin))
    lost = [name for name in hooks.names if callable(getattr(plugin, name, None)) and name not in implemented]
    return f"without @hookimpl: {', '.join(lost)}" if lost else ""


def _run(plugin: Any, name: str) -> list[Finding]:
    from dshhooks.testing import run_call

    findings = []
    for backend in ("asyncio", "trio"):
        if backend == "trio" and importlib.util.find_spec("trio") is None:
            continue
        try:
            result = run_call({"text": "hello"}, plugins=[plugin], backend=backend)
        except PluginError as exc:
            return [*findings, Finding(f"a call runs under it ({backend})", False, str(exc))]
        info = result.error.info if isinstance(result, ToolFailure) else None
        broken = info is not None and info.code in ("PLUGIN_FAILED", "INVALID_DECISION", "HOOK_USAGE")
        detail = result.error.message if isinstance(result, ToolFailure) else ""
        findings.append(Finding(f"a call runs under it ({backend})", not broken, detail))
    return findings
