"""Does a plugin keep the contract? Loads it as the host would, and runs a real call through it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from attrs import frozen

from dshhooks.config import HarnessConfig
from dshhooks.engine.faults import is_fault
from dshhooks.engine.hooks import Hooks
from dshhooks.plugins.discovery import discover
from dshhooks.plugins.loading import import_plugin, instantiate
from hookspecs.errors import HarnessError, PluginError, error_chain
from hookspecs.execution import ToolCall, ToolFailure

__all__ = ["Finding", "check_plugin"]

# Seconds a plugin may take over the trial call.
PATIENCE = 30.0

# What a call fails with when a hook misbehaved, whatever it raised or answered.
_BROKEN = ("PLUGIN_FAILED", "INVALID_DECISION", "HOOK_USAGE", "GUARD_FAILED")


@frozen
class Finding:
    """One thing that was checked."""

    what: str
    ok: bool
    detail: str = ""


def check_plugin(name_or_path: str, config: HarnessConfig | None = None) -> list[Finding]:
    """Check an installed plugin by name, or one in a file (``FILE.py`` or ``FILE.py:ATTRIBUTE``).

    Args:
        name_or_path: The plugin. One in a file is called after the attribute, or the file.
        config: Where its options come from; by default it is made without any.

    Returns:
        What was checked, in order; it stops at the first failure that makes the rest pointless.
    """
    config = config or HarnessConfig()
    findings: list[Finding] = []
    try:
        target, name = _find(name_or_path)
        findings.append(Finding("it can be imported", True, name))
        plugin = instantiate(target, name, config.plugin.get(name), config.source)
        findings.append(Finding("it can be made with its options", True))
        hooks = Hooks()
        if not hooks.implemented_by(plugin):
            return [*findings, Finding("it implements at least one hook", False, _forgotten(plugin, hooks))]
        hooks.register(plugin, name, announce=False)
    except HarnessError as exc:
        return [*findings, Finding("it loads", False, str(exc))]
    implemented = hooks.hooks_of(name)
    findings.append(Finding("its hooks exist and fit", True, ", ".join(implemented)))
    findings.append(Finding("it implements at least one hook", True, _forgotten(plugin, hooks)))
    findings.extend(_run(plugin, name))
    return findings


def _find(name_or_path: str) -> tuple[Any, str]:
    path, _, attribute = name_or_path.partition(".py:")
    file = Path(f"{path}.py" if attribute else name_or_path)
    if file.suffix == ".py":
        module = _module(file)
        return (
            _attribute(module, attribute, file) if attribute else _only_plugin(module, file)
        ), attribute or file.stem
    found = discover().get(name_or_path)
    if found is None:
        installed = ", ".join(discover()) or "none"
        raise PluginError(f"no plugin {name_or_path!r} is installed (installed: {installed}), and it is no FILE.py")
    return import_plugin(found), name_or_path


def _module(file: Path) -> Any:
    name = f"dshhooks_checked_{file.stem}"  # a file called json.py must not become everybody's json
    spec = importlib.util.spec_from_file_location(name, file)
    if not file.is_file() or spec is None or spec.loader is None:
        raise PluginError(f"{file}: there is no such file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as exc:
        del sys.modules[name]
        if not is_fault(exc):
            raise
        raise PluginError(f"{file}: importing it failed: {type(exc).__name__}: {error_chain(exc)}") from exc
    return module


def _attribute(module: Any, name: str, file: Path) -> Any:
    try:
        return getattr(module, name)
    except AttributeError as exc:
        raise PluginError(f"{file}: there is no {name!r} in it") from exc


def _only_plugin(module: Any, file: Path) -> Any:
    """Return the one class of the module with hookimpls (or hooks that lack the marker), else the module itself."""
    hooks = Hooks()
    own = [value for value in vars(module).values() if isinstance(value, type) and value.__module__ == module.__name__]
    classes = [value for value in own if hooks.implemented_by(value)]
    if len(classes) > 1:
        names = ", ".join(value.__name__ for value in classes)
        raise PluginError(f"{file} has several plugins ({names}); name one: {file}:{classes[0].__name__}")
    if not classes and not hooks.implemented_by(module):
        classes = [value for value in own if _forgotten(value, hooks)]
    return classes[0] if classes else module


def _forgotten(plugin: Any, hooks: Hooks) -> str:
    """Name functions called like a hook that lost their marker."""
    implemented = set(hooks.implemented_by(plugin))
    lost = [name for name in hooks.names if callable(getattr(plugin, name, None)) and name not in implemented]
    return f"without @hookimpl: {', '.join(lost)}" if lost else ""


def _run(plugin: Any, name: str) -> list[Finding]:
    import anyio

    findings: list[Finding] = []
    for backend in ("asyncio", "trio"):
        what = f"a call runs under it ({backend})"
        if backend == "trio" and importlib.util.find_spec("trio") is None:
            findings.append(Finding(what, True, "not tried: trio is not installed"))
            continue
        try:
            findings.append(Finding(what, *anyio.run(_verdict, plugin, name, backend=backend)))
        except (HarnessError, TimeoutError) as exc:
            return [*findings, Finding(what, False, str(exc) or f"it took longer than {PATIENCE:.0f} seconds")]
    return findings


async def _verdict(plugin: Any, name: str) -> tuple[bool, str]:
    """Run one call under the plugin, and say whether all its hooks behaved, observers included."""
    import anyio

    from dshhooks.testing import echo_tool
    from dshhooks.tools.registry import ToolRegistry

    registry = ToolRegistry()
    registry.register(echo_tool("conformance_echo"))
    with registry.hooks.register(plugin, name), registry.hooks.trace() as trace, anyio.fail_after(PATIENCE):
        result = await registry.execute(ToolCall("call-1", "conformance_echo", {"text": "hello"}))
    raised = [f"{record.hook} raised {record.detail}" for record in trace.records if record.outcome == "raised"]
    if raised:
        return False, "; ".join(raised)
    if not isinstance(result, ToolFailure):
        return True, ""
    info = result.error.info
    return info is None or info.code not in _BROKEN, f"it ended in a failure: {result.error.message}"
