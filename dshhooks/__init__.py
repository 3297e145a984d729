"""dshhooks: intercept what an AI agent does, with plugins.

Every public name is importable from here and loaded on first use: ``from dshhooks import hookimpl, Deny`` costs little
more than the decisions themselves.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # a fork of `dshhooks handle` copies what was imported before it, so typing is not
    from dshhooks import sync as sync
    from dshhooks.agent.approvals import set_approval_policy as set_approval_policy
    from dshhooks.agent.causes import DisposedCause as DisposedCause
    from dshhooks.agent.causes import ParentCause as ParentCause
    from dshhooks.agent.causes import UserCause as UserCause
    from dshhooks.agent.context import AgentContext as AgentContext
    from dshhooks.agent.handle import Agent as Agent
    from dshhooks.agent.inbox import ResolvedInput as ResolvedInput
    from dshhooks.agent.initiator import current_initiator as current_initiator
    from dshhooks.agent.initiator import require_initiator as require_initiator
    from dshhooks.agent.initiator import with_initiator as with_initiator
    from dshhooks.agent.initiator import without_initiator as without_initiator
    from dshhooks.agent.prompt import PromptAssembly as PromptAssembly
    from dshhooks.agent.prompt import PromptContext as PromptContext
    from dshhooks.agent.prompt import PromptSection as PromptSection
    from dshhooks.agent.spawn import SubagentResult as SubagentResult
    from dshhooks.config import HarnessConfig as HarnessConfig
    from dshhooks.engine.hooks import Hooks as Hooks
    from dshhooks.engine.hooks import Registration as Registration
    from dshhooks.engine.lifeline import lifeline as lifeline
    from dshhooks.engine.plan import ChainLink as ChainLink
    from dshhooks.engine.process_tree import ProcessTree as ProcessTree
    from dshhooks.engine.trace import Trace as Trace
    from dshhooks.engine.trace import TraceRecord as TraceRecord
    from dshhooks.harness import Harness as Harness
    from dshhooks.llm.openai_adapter import OpenAIAdapter as OpenAIAdapter
    from dshhooks.llm.scripted import CallTools as CallTools
    from dshhooks.llm.scripted import Fail as Fail
    from dshhooks.llm.scripted import Say as Say
    from dshhooks.llm.scripted import ScriptedAdapter as ScriptedAdapter
    from dshhooks.llm.service import LlmAdapter as LlmAdapter
    from dshhooks.llm.service import ReasoningInfo as ReasoningInfo
    from dshhooks.plugins.status import PluginStatus as PluginStatus
    from dshhooks.reference import hookspecs_table as hookspecs_table
    from dshhooks.session.event import Event as Event
    from dshhooks.session.event import Replace as Replace
    from dshhooks.session.events import *  # noqa: F403
    from dshhooks.session.jsonl import JsonlStore as JsonlStore
    from dshhooks.session.log import Session as Session
    from dshhooks.session.log import SessionHeader as SessionHeader
    from dshhooks.session.memory import MemoryStore as MemoryStore
    from dshhooks.session.sqlite import SqliteStore as SqliteStore
    from dshhooks.tools.decorator import tool as tool
    from dshhooks.tools.definition import ToolDefinition as ToolDefinition
    from dshhooks.tools.definition import ToolOutput as ToolOutput
    from dshhooks.tools.registry import ToolRegistry as ToolRegistry
    from hookspecs.decisions import *  # noqa: F403
    from hookspecs.errors import *  # noqa: F403
    from hookspecs.execution import *  # noqa: F403
    from hookspecs.json import MISSING as MISSING
    from hookspecs.json import canonical as canonical
    from hookspecs.json import freeze as freeze
    from hookspecs.json import is_json as is_json
    from hookspecs.json import snapshot as snapshot
    from hookspecs.json import thaw as thaw
    from hookspecs.markers import Authority as Authority
    from hookspecs.markers import hookimpl as hookimpl
    from hookspecs.model import *  # noqa: F403
    from hookspecs.operations import Denial as Denial
    from hookspecs.operations import deny as deny
    from hookspecs.signal import CancelSignal as CancelSignal
    from hookspecs.signal import CancelSource as CancelSource
    from hookspecs.values import *  # noqa: F403

__version__ = "0.1.0"

_HOMES: dict[str, tuple[str, ...]] = {
    "dshhooks.agent.causes": ("DisposedCause", "ParentCause", "UserCause"),
    "dshhooks.agent.context": ("AgentContext",),
    "dshhooks.agent.handle": ("Agent",),
    "dshhooks.agent.approvals": ("set_approval_policy",),
    "dshhooks.agent.inbox": ("ResolvedInput",),
    "dshhooks.agent.initiator": ("current_initiator", "require_initiator", "with_initiator", "without_initiator"),
    "dshhooks.agent.prompt": ("PromptAssembly", "PromptContext", "PromptSection"),
    "dshhooks.agent.spawn": ("SubagentResult",),
    "dshhooks.config": ("HarnessConfig",),
    "dshhooks.engine.hooks": ("Hooks", "Registration"),
    "dshhooks.engine.lifeline": ("lifeline",),
    "dshhooks.engine.plan": ("ChainLink",),
    "dshhooks.engine.process_tree": ("ProcessTree",),
    "dshhooks.engine.trace": ("Trace", "TraceRecord"),
    "dshhooks.harness": ("Harness",),
    "dshhooks.llm.openai_adapter": ("OpenAIAdapter",),
    "dshhooks.llm.scripted": ("CallTools", "Fail", "Say", "ScriptedAdapter"),
    "dshhooks.llm.service": ("LlmAdapter", "ReasoningInfo"),
    "dshhooks.plugins.status": ("PluginStatus",),
    "dshhooks.reference": ("hookspecs_table",),
    "dshhooks.session.event": ("Event", "Replace"),
    "dshhooks.session.events": (
        "AbortedEnd", "ApprovalAsked", "ApprovalDecided", "ApprovalPolicyChanged", "AssistantChunk",
        "AssistantMessage", "CompletedEnd", "DisposedEnd", "Envelope", "ErrorEnd", "HeaderSnapshot", "HookDecision",
        "InjectionTrigger", "InputRejected", "InterruptedEnd", "LlmRetry", "MaxTokensEnd", "MessageTrigger",
        "PrefixContext", "PromptBlocked", "RejectedEnd", "RequestHeader", "StepEnd", "StepStart", "SteeringMessage",
        "TodoItem", "TodoWrite", "ToolCallStarted", "ToolErrorInfo", "ToolResultRecorded", "TurnEnd", "TurnStart",
        "UnknownEnd", "UnknownEvent", "UnknownTrigger", "UserMessage",
    ),
    "dshhooks.session.jsonl": ("JsonlStore",),
    "dshhooks.session.log": ("Session", "SessionHeader"),
    "dshhooks.session.memory": ("MemoryStore",),
    "dshhooks.session.sqlite": ("SqliteStore",),
    "dshhooks.tools.decorator": ("tool",),
    "dshhooks.tools.definition": ("ToolDefinition", "ToolOutput"),
    "dshhooks.tools.registry": ("ToolRegistry",),
    "hookspecs.decisions": (
        "Accept", "Allow", "AllowPrompt", "ApprovalOutcome", "Ask", "Block", "BlockPrompt", "ContinueTurn", "Deny",
        "FailRequest", "PostToolDecision", "PreToolDecision", "RetryRequest", "SteeringReason", "StopTurn",
    ),
    "hookspecs.errors": (
        "AbortError", "ConfigError", "GuardFailedError", "HarnessError", "HookUsageError", "InvalidDecisionError",
        "JsonSchemaError", "LlmError", "NotLosslessError", "OperationConfigError", "PluginError",
        "PluginFailedError", "SealedError", "ToolArgsError", "ToolNotFoundError", "ToolOutputError",
        "ToolTimeoutError", "error_chain", "error_message",
    ),
    "hookspecs.execution": (
        "ApprovalRequest", "Approver", "ErrorInfo", "ToolCall", "ToolError", "ToolExecution", "ToolFailure",
        "ToolResult", "ToolRunContext", "ToolSuccess", "ToolToken",
    ),
    "hookspecs.json": ("MISSING", "canonical", "freeze", "is_json", "snapshot", "thaw"),
    "hookspecs.markers": ("Authority", "hookimpl"),
    "hookspecs.model": (
        "AbortedFinish", "BlockEnd", "BlockStart", "ErrorFinish", "FinishChunk", "FinishReason", "GenerateOptions",
        "LlmCallConfig", "LlmFailure", "MaxTokensFinish", "ReasoningDelta", "StopFinish", "StreamChunk", "TextDelta",
        "TokenUsage", "ToolCallDelta", "ToolCallsFinish", "ToolSchema", "UnknownFinish", "UsageChunk",
    ),
    "hookspecs.operations": ("Denial", "deny"),
    "hookspecs.signal": ("CancelSignal", "CancelSource"),
    "hookspecs.values": (
        "AssistantProvenance", "CallId", "Content", "ContentBlock", "HookContext", "Message", "MessageId",
        "MessageSource", "PluginSource", "ReasoningBlock", "SessionId", "TextBlock", "ToolCallBlock",
        "ToolResultBlock", "UnknownBlock", "UnknownSource", "UserSource", "as_content", "content_text",
    ),
}  # fmt: skip
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted([*_HOME, "__version__", "sync"])


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "sync":
        return import_module("dshhooks.sync")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'dshhooks' has no attribute {name!r}")
    value: object = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
