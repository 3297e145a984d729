"""dshhooks: intercept what an AI agent does, with plugins.

Every public name is importable from here and loaded on first use: ``from dshhooks import hookimpl, Deny`` costs little
more than the decisions themselves.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dshhooks import sync as sync
    from dshhooks.config import HarnessConfig as HarnessConfig
    from dshhooks.engine.hooks import Hooks as Hooks
    from dshhooks.engine.hooks import Registration as Registration
    from dshhooks.engine.plan import ChainLink as ChainLink
    from dshhooks.engine.trace import Trace as Trace
    from dshhooks.engine.trace import TraceRecord as TraceRecord
    from dshhooks.harness import Harness as Harness
    from dshhooks.plugins.status import PluginStatus as PluginStatus
    from dshhooks.reference import hookspecs_table as hookspecs_table
    from dshhooks.tools.decorator import tool as tool
    from dshhooks.tools.definition import ToolDefinition as ToolDefinition
    from dshhooks.tools.definition import ToolOutput as ToolOutput
    from dshhooks.tools.registry import ToolRegistry as ToolRegistry
    from hookspecs.decisions import *  # noqa: F403
    from hookspecs.errors import *  # noqa: F403
    from hookspecs.execution import *  # noqa: F403
    from hookspecs.json import MISSING as MISSING
    from hookspecs.markers import Authority as Authority
    from hookspecs.markers import hookimpl as hookimpl
    from hookspecs.operations import Denial as Denial
    from hookspecs.operations import deny as deny
    from hookspecs.signal import CancelSignal as CancelSignal
    from hookspecs.signal import CancelSource as CancelSource
    from hookspecs.values import *  # noqa: F403

__version__ = "0.1.0"

_HOMES: dict[str, tuple[str, ...]] = {
    "dshhooks.config": ("HarnessConfig",),
    "dshhooks.engine.hooks": ("Hooks", "Registration"),
    "dshhooks.engine.plan": ("ChainLink",),
    "dshhooks.engine.trace": ("Trace", "TraceRecord"),
    "dshhooks.harness": ("Harness",),
    "dshhooks.plugins.status": ("PluginStatus",),
    "dshhooks.reference": ("hookspecs_table",),
    "dshhooks.tools.decorator": ("tool",),
    "dshhooks.tools.definition": ("ToolDefinition", "ToolOutput"),
    "dshhooks.tools.registry": ("ToolRegistry",),
    "hookspecs.decisions": (
        "Accept", "Allow", "AllowPrompt", "ApprovalOutcome", "Ask", "Block", "BlockPrompt", "ContinueTurn", "Deny",
        "FailRequest", "PostToolDecision", "PreToolDecision", "RetryRequest", "SteeringReason", "StopTurn",
    ),
    "hookspecs.errors": (
        "AbortError", "ConfigError", "GuardFailedError", "HarnessError", "HookUsageError", "InvalidDecisionError",
        "JsonSchemaError", "LlmError", "NotLosslessError", "PluginError", "PluginFailedError", "SealedError",
        "ToolArgsError", "ToolNotFoundError", "ToolOutputError", "ToolTimeoutError", "error_chain", "error_message",
    ),
    "hookspecs.execution": (
        "ApprovalRequest", "Approver", "ErrorInfo", "ToolCall", "ToolError", "ToolExecution", "ToolFailure",
        "ToolResult", "ToolRunContext", "ToolSuccess", "ToolToken",
    ),
    "hookspecs.json": ("MISSING",),
    "hookspecs.markers": ("Authority", "hookimpl"),
    "hookspecs.operations": ("Denial", "deny"),
    "hookspecs.signal": ("CancelSignal", "CancelSource"),
    "hookspecs.values": (
        "AssistantProvenance", "CallId", "Content", "ContentBlock", "HookContext", "Message", "MessageId",
        "MessageSource", "PluginSource", "ReasoningBlock", "SessionId", "TextBlock", "ToolCallBlock",
        "ToolResultBlock", "UnknownBlock", "UnknownSource", "UserSource", "as_content", "content_text",
    ),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME, "__version__", "sync"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name == "sync":
        return importlib.import_module("dshhooks.sync")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'dshhooks' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
