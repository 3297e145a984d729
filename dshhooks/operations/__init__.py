"""Bounded operations: guards that can only refuse, observers that can only look (spec/operations.md).

Every public name is importable from here and loaded on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dshhooks.operations.active import Active as Active
    from dshhooks.operations.call import Call as Call
    from dshhooks.operations.call import Cause as Cause
    from dshhooks.operations.call import Coordinates as Coordinates
    from dshhooks.operations.call import Result as Result
    from dshhooks.operations.call import check_call as check_call
    from dshhooks.operations.context import CurrentOperation as CurrentOperation
    from dshhooks.operations.context import current_operation as current_operation
    from dshhooks.operations.declare import Around as Around
    from dshhooks.operations.declare import Guard as Guard
    from dshhooks.operations.declare import OperationSet as OperationSet
    from dshhooks.operations.declare import validate_set as validate_set
    from dshhooks.operations.drift import *  # noqa: F403
    from dshhooks.operations.errors import *  # noqa: F403
    from dshhooks.operations.host import Operations as Operations
    from dshhooks.operations.journal import Record as Record
    from dshhooks.operations.journal import with_hooks as with_hooks
    from dshhooks.operations.kinds import *  # noqa: F403
    from dshhooks.operations.manifest import *  # noqa: F403
    from dshhooks.operations.observers import ObserverFault as ObserverFault
    from dshhooks.operations.payloads import *  # noqa: F403
    from dshhooks.operations.place import Place as Place
    from dshhooks.operations.place import current_place as current_place
    from dshhooks.operations.providers import Provider as Provider
    from dshhooks.operations.providers import compose as compose
    from dshhooks.operations.providers import compose_revisions as compose_revisions
    from dshhooks.operations.runner import *  # noqa: F403
    from dshhooks.operations.scope import Scope as Scope
    from dshhooks.operations.scope import track_scopes as track_scopes
    from dshhooks.operations.snapshot import freeze as freeze
    from dshhooks.operations.token import CancelToken as CancelToken
    from dshhooks.operations.verdict import as_denial as as_denial
    from dshhooks.operations.verdict import classify as classify
    from hookspecs.errors import ConfigError as ConfigError
    from hookspecs.errors import OperationConfigError as OperationConfigError
    from hookspecs.operations import Denial as Denial
    from hookspecs.operations import deny as deny

_HOMES: dict[str, tuple[str, ...]] = {
    "dshhooks.operations.active": ("Active",),
    "dshhooks.operations.call": ("Call", "Cause", "Coordinates", "Result", "check_call"),
    "dshhooks.operations.verdict": ("as_denial", "classify"),
    "dshhooks.operations.providers": ("Provider", "compose", "compose_revisions"),
    "dshhooks.operations.context": ("CurrentOperation", "current_operation"),
    "dshhooks.operations.declare": ("Around", "Guard", "OperationSet", "validate_set"),
    "dshhooks.operations.drift": (
        "Assessment", "Decider", "DriftChange", "Severity", "accepts_without_warning", "assess_drift", "decide",
    ),
    "dshhooks.operations.errors": (
        "CallError", "DriftRejectedError", "GuardError", "OperationCanceled", "SnapshotError",
    ),
    "dshhooks.operations.host": ("Operations",),
    "dshhooks.operations.place": ("Place", "current_place"),
    "dshhooks.operations.journal": ("Record", "with_hooks"),
    "dshhooks.operations.kinds": ("Operation", "Outcome"),
    "dshhooks.operations.manifest": ("MANIFEST_SCHEMA", "Manifest", "validate_manifest"),
    "dshhooks.operations.observers": ("ObserverFault",),
    "dshhooks.operations.payloads": (
        "PAYLOADS", "CompactionData", "CompactionInput", "CompactionOutput", "GateAnswer", "GateWaitData",
        "InferenceData", "JournalAppendData", "Payload", "StepData", "StreamResult", "ToolCallData",
        "ToolExecutionData", "TurnData", "terminal_fields",
    ),
    "dshhooks.operations.runner": ("Runner", "compile_set", "handles", "start"),
    "dshhooks.operations.scope": ("Scope", "track_scopes"),
    "dshhooks.operations.snapshot": ("freeze",),
    "dshhooks.operations.token": ("CancelToken",),
    "hookspecs.errors": ("ConfigError", "OperationConfigError"),
    "hookspecs.operations": ("Denial", "deny"),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'dshhooks.operations' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
