"""The runtimes of a host with many agents: one for each folder they work in, and none where no hook file is."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshhooks.bridge.agent_options import HookPluginOptions
from dshhooks.bridge.dialects import Dialect
from dshhooks.bridge.discovery import candidates
from dshhooks.bridge.jsonfile import Report
from dshhooks.bridge.options import BridgeOptions

if TYPE_CHECKING:
    from dshhooks.bridge.model import Diagnostic
    from dshhooks.bridge.runtime import HookRuntime

__all__ = ["Workspaces"]

log = logging.getLogger("dshhooks.bridge")

# Events of the contract that nothing in this host stands for.
_UNHEARD = ("notice", "compact:before")


class Workspaces:
    """Makes runtimes when they are first needed; files are read then, and again on :meth:`reload`.

    Args:
        options: The plugin's.
        dialect: Whose files are read; no others.
        plugin: What messages call the plugin.
    """

    def __init__(self, options: HookPluginOptions, dialect: Dialect, plugin: str) -> None:
        self._options, self._dialect, self._plugin = options, dialect, plugin
        self._runtimes: dict[str, HookRuntime | None] = {}
        self._handlers: Any = None
        self._said: set[str] = set()
        self._called: set[tuple[str, str]] = set()
        self.hooks: Any = None  # the host's, if it is known: its plugins may bring kinds of handlers

    def of(self, folder: str) -> HookRuntime | None:
        """Return the runtime for a folder; ``None``: no hook file concerns it."""
        try:
            return self._runtimes[folder]
        except KeyError:
            return self._runtimes.setdefault(folder, self._made(folder))

    def _made(self, folder: str) -> HookRuntime | None:
        options = self._options.for_folder(folder, self._dialect)
        if options.config_path is None and not _any_file(options):
            return None  # and nothing of the runtime is imported
        from dshhooks.bridge.handlers.table import Handlers
        from dshhooks.bridge.runtime import HookRuntime

        if self._handlers is None:
            self._handlers = Handlers() if self.hooks is None else Handlers.of(self.hooks)
        runtime = HookRuntime(options, handlers=self._handlers)
        self._tell(runtime)
        return runtime

    def called(self, folder: str, tool: str) -> None:
        """Say once which hooks miss a tool that is called because they know it by another name."""
        runtime = self.of(folder)
        if runtime is None or (folder, tool) in self._called:
            return
        self._called.add((folder, tool))
        from dshhooks.bridge.unmatched import unmatched

        for text in unmatched(runtime.configuration, tool, self._options.tool_aliases.get(tool, ()), self._plugin):
            self._say(logging.WARNING, text)

    def reload(self) -> None:
        """Read all files again: those that changed, those that are new, and not those that are gone."""
        self._called.clear()
        for folder, runtime in tuple(self._runtimes.items()):
            if runtime is None:
                del self._runtimes[folder]
            else:
                runtime.reload()
                self._tell(runtime)

    def close(self) -> None:
        """End hooks nobody waits for."""
        for runtime in self._runtimes.values():
            if runtime is not None:
                runtime.close()

    def _tell(self, runtime: HookRuntime) -> None:
        """Say once what is wrong with files: a hook that was dropped guards nothing."""
        for note in runtime.diagnostics:
            if note.level != "info" and note.code != "file-untrusted":  # the runtime itself tells of that
                self._say(logging.ERROR if note.level == "error" else logging.WARNING, _told(note))
        for event in _UNHEARD:
            if event in runtime.configuration.by_event:
                self._say(logging.INFO, f"hooks of {event} are configured, and this host has no such event")

    def _say(self, level: int, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            log.log(level, "plugin %r: %s", self._plugin, text)


def _any_file(options: BridgeOptions) -> bool:
    return any(_exists(candidate.path) for candidate in candidates(options, Report("")))


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass  # something is there and cannot be looked at: reading it says why
    return True


def _told(note: Diagnostic) -> str:
    hint = f" ({note.hint})" if note.hint else ""
    return f"{note.source}{note.path and '#' + note.path}: {note.message}{hint}"
