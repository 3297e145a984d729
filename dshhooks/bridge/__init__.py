"""External hooks: the hook files of Claude Code, Codex, opencode and our own, run for any host.

The pure half (reading files, matching, payloads, decoding, folding) starts nothing and can be used by itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dshhooks.bridge.agent_options import HookPluginOptions as HookPluginOptions
    from dshhooks.bridge.agent_plugin import HookPlugin as HookPlugin
    from dshhooks.bridge.errors import BridgeError as BridgeError
    from dshhooks.bridge.errors import PayloadError as PayloadError
    from dshhooks.bridge.errors import UnknownEventError as UnknownEventError
    from dshhooks.bridge.folding import fold as fold
    from dshhooks.bridge.handlers.base import Handler as Handler
    from dshhooks.bridge.handlers.base import Job as Job
    from dshhooks.bridge.handlers.table import Handlers as Handlers
    from dshhooks.bridge.journal import HookInvoked as HookInvoked
    from dshhooks.bridge.journal import HookResult as HookResult
    from dshhooks.bridge.model import Configuration as Configuration
    from dshhooks.bridge.model import Diagnostic as Diagnostic
    from dshhooks.bridge.model import Explanation as Explanation
    from dshhooks.bridge.model import Group as Group
    from dshhooks.bridge.model import Hook as Hook
    from dshhooks.bridge.model import Source as Source
    from dshhooks.bridge.options import BridgeOptions as BridgeOptions
    from dshhooks.bridge.options import Limits as Limits
    from dshhooks.bridge.options import LlmOptions as LlmOptions
    from dshhooks.bridge.options import ProxyOptions as ProxyOptions
    from dshhooks.bridge.outcomes import Dispatch as Dispatch
    from dshhooks.bridge.outcomes import FoldedOutcome as FoldedOutcome
    from dshhooks.bridge.outcomes import Outcome as Outcome
    from dshhooks.bridge.outcomes import RawResult as RawResult
    from dshhooks.bridge.outcomes import Run as Run
    from dshhooks.bridge.response import decode_response as decode_response
    from dshhooks.bridge.runtime import HookRuntime as HookRuntime

_HOMES: dict[str, tuple[str, ...]] = {
    "agent_options": ("HookPluginOptions",),
    "agent_plugin": ("HookPlugin",),
    "errors": ("BridgeError", "PayloadError", "UnknownEventError"),
    "folding": ("fold",),
    "journal": ("HookInvoked", "HookResult"),
    "handlers.base": ("Handler", "Job"),
    "handlers.table": ("Handlers",),
    "model": ("Configuration", "Diagnostic", "Explanation", "Group", "Hook", "Source"),
    "options": ("BridgeOptions", "Limits", "LlmOptions", "ProxyOptions"),
    "outcomes": ("Dispatch", "FoldedOutcome", "Outcome", "RawResult", "Run"),
    "response": ("decode_response",),
    "runtime": ("HookRuntime",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
