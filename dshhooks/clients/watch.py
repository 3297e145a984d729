"""Whether a daemon still stands for what is on disk: configuration files, installed distributions, imported modules.

A few hundred calls of ``stat`` for each request, so that no decision is made by a policy that was replaced.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import time
from collections.abc import Iterator

from dshhooks.clients.fingerprint import TICK, config_files, facts_of, plugin_files, younger
from dshhooks.clients.request import Setting

__all__ = ["Watch"]


class Watch:
    """What the daemon of a setting is made of. Made before plugins are loaded.

    Args:
        setting: Configuration, switches and folder.

    Modules are taken in as they appear. One that was written since the start counts as changed: what was imported may
    have been the older text.
    """

    def __init__(self, setting: Setting) -> None:
        self._since = time.time_ns() - TICK
        # The metadata of what is installed; the modules are looked after here, those of dshhooks among them.
        installed = plugin_files(list(sys.modules))
        self._facts = facts_of([*config_files(setting), *installed, *_imported()])
        self._known = len(sys.modules)

    @property
    def files(self) -> frozenset[str]:
        """Every path that is looked at."""
        return frozenset(self._facts)

    def changed(self) -> str:
        """Return the first file that is not what it was; empty when all are."""
        late = self._take_in_modules() if len(sys.modules) != self._known else ""
        now = facts_of(self._facts)
        return late or next((path for path, fact in self._facts.items() if now[path] != fact), "")

    def _take_in_modules(self) -> str:
        self._known = len(sys.modules)
        new = facts_of(path for path in _imported() if path not in self._facts)
        self._facts.update(new)
        return younger(new, self._since)


def _imported() -> Iterator[str]:
    """The files of modules that are not Python's own."""
    standard = sysconfig.get_path("stdlib") + os.sep
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and (not path.startswith(standard) or "site-packages" in path):
            yield path
