"""Normalization: whatever happened becomes a frozen, JSON-safe result. The only place that does it."""

from __future__ import annotations

from operator import is_
from typing import Any, Final

import attrs

from dshhooks.engine.faults import HookNote, discard, origin
from hookspecs.decisions import Block
from hookspecs.errors import HarnessError, error_message
from hookspecs.execution import ErrorInfo, ToolError, ToolFailure, ToolResult, ToolSuccess
from hookspecs.json import MISSING, freeze
from hookspecs.values import Content, HookContext, PluginSource, TextBlock, UserSource, as_content, content_text

__all__ = ["aborted", "authored_content", "blocked", "denial", "failure_of", "materialize", "seal_content",
           "seal_contexts", "seal_value", "was_aborted", "with_contexts"]  # fmt: skip

BEFORE: Final = ErrorInfo("AbortError", "ABORTED_BEFORE_DISPATCH")
ABORTED: Final = ErrorInfo("AbortError", "ABORTED")

_ANY: Final = (Any, "Any", "typing.Any")


def failure_of(exc: BaseException, *, blame: bool = True) -> ToolFailure:
    """Turn an exception into a failure.

    Args:
        exc: What was raised.
        blame: Report a foreign exception of a plugin's hook as ``PLUGIN_FAILED`` (decisions.md 3.7). False for a tool
            body, whose foreign exceptions have no code.
    """
    if isinstance(exc, HarnessError):
        info = _info(exc)
        return ToolFailure(ToolError(error_message(exc) or info.name, info))
    note = origin(exc) if blame else None
    if note is None:
        return ToolFailure(ToolError(_described(exc, named=False)))
    return _plugin_failed(exc, note)


def _info(exc: HarnessError) -> ErrorInfo:
    try:
        return ErrorInfo(_exact(exc.name), _exact(exc.code))
    except (Exception, SystemExit):  # noqa: BLE001 - a subclass that never called super().__init__, or worse
        return ErrorInfo(type(exc).__name__, "HARNESS_ERROR")


def _plugin_failed(exc: BaseException, note: HookNote) -> ToolFailure:
    message = f"plugin {note.plugin!r} failed in hook {note.hook!r}: {_described(exc, named=True)}"
    return ToolFailure(ToolError(message, ErrorInfo("PluginFailedError", "PLUGIN_FAILED")))


def _described(exc: BaseException, *, named: bool) -> str:
    name, text = type(exc).__name__, error_message(exc)
    if not text:
        return name
    return f"{name}: {text}" if named or isinstance(exc, SystemExit) else text


def _exact(text: Any) -> str:
    return text if type(text) is str else str.__str__(text) if issubclass(type(text), str) else f"{text}"


def denial(reason: str) -> ToolFailure:
    """Turn a policy's or guard's reason into a failure without info (spec/core.md 3.3)."""
    return ToolFailure(ToolError(_exact(reason)))


def aborted(*, invoked: bool, contexts: tuple[HookContext, ...] = ()) -> ToolFailure:
    """The failure of a cancelled call: ``ABORTED`` once the body was invoked, else ``ABORTED_BEFORE_DISPATCH``."""
    if invoked:
        return ToolFailure(ToolError("the call was cancelled while it ran", ABORTED), contexts=contexts)
    return ToolFailure(ToolError("the call was cancelled before it began", BEFORE), contexts=contexts)


def was_aborted(result: ToolResult) -> bool:
    """Say whether a call ended by cancellation, of its caller or of an operation around it."""
    return isinstance(result, ToolFailure) and result.error.info in (BEFORE, ABORTED)


def blocked(decision: Block) -> ToolFailure:
    """Turn a post-execute block into a failure: its feedback and its contexts, nothing else (spec/core.md 3.6)."""
    message = _exact(content_text(decision.feedback)) or "the result was blocked"
    return ToolFailure(ToolError(message), decision.feedback, contexts=decision.contexts)


def materialize(result: ToolResult) -> ToolResult:
    """Return the result with every part frozen and checked; the same object when nothing had to change.

    Raises:
        NotLosslessError: A part is not lossless JSON.
    """
    changes: dict[str, Any] = {}
    for name, sealed in (
        ("content", seal_content(result.content)),
        ("meta", _seal_meta(result.meta)),
        ("contexts", seal_contexts(result.contexts)),
    ):
        if sealed is not getattr(result, name):
            changes[name] = sealed
    if isinstance(result, ToolFailure):
        error = _seal_error(result.error)
        if error is not result.error:
            changes["error"] = error
    return attrs.evolve(result, **changes) if changes else result


def seal_content(content: Content) -> Content:
    """Return content whose every block is lossless; the same tuple when all of them were.

    Raises:
        NotLosslessError: A block has a field that is not lossless JSON, or is no attrs class.
    """
    for block in content:
        if type(block) is not TextBlock or type(block.text) is not str:
            return tuple(seal_value(block) for block in content)
    return content


def authored_content(content: Any) -> Content:
    """Return what a tool's ``render`` or ``finalize_content`` answered as sealed content.

    Raises:
        TypeError: Neither a ``str`` nor a sequence of blocks; ``NotLosslessError`` for what is in them.
    """
    if type(content) is str:
        return (TextBlock(content),)
    try:
        return seal_content(as_content(content))
    except TypeError:
        discard(content)
        raise


def seal_value(value: Any) -> Any:
    """Freeze a block or source field by field; nested blocks and contexts alike."""
    kind = type(value)
    if not attrs.has(kind):
        return freeze(value)
    changes = {}
    for attribute in attrs.fields(kind):
        before = getattr(value, attribute.name)
        # A field of type Any holds JSON, where a tuple is refused; any other tuple is the class's own doing.
        if isinstance(before, tuple) and attribute.type not in _ANY:
            after: Any = tuple(seal_value(item) for item in before)
        else:
            after = before if before is MISSING else seal_value(before)
        if after is not before:
            changes[attribute.alias] = after
    return attrs.evolve(value, **changes) if changes else value


def _seal_meta(meta: Any) -> Any:
    return meta if meta is MISSING else freeze(meta)


def seal_contexts(contexts: tuple[HookContext, ...]) -> tuple[HookContext, ...]:
    return tuple(map(_seal_context, contexts)) if contexts else contexts


def _seal_context(context: HookContext) -> HookContext:
    if type(context.source) in (PluginSource, UserSource) and context.meta is MISSING:
        content = seal_content(context.content)
        if content is context.content and type(getattr(context.source, "plugin", "")) is str:
            return context
    return seal_value(context)  # type: ignore[no-any-return]


def _seal_error(error: ToolError) -> ToolError:
    if not isinstance(error, ToolError):
        raise TypeError(f"a failure's error must be a ToolError, not {type(error).__name__}")
    return seal_value(error)  # type: ignore[no-any-return]


def with_contexts(result: ToolResult, contexts: tuple[HookContext, ...]) -> ToolResult:
    """Return the result with exactly these contexts."""
    if len(result.contexts) == len(contexts) and all(map(is_, result.contexts, contexts)):
        return result
    if isinstance(result, ToolSuccess):
        return ToolSuccess(result.value, result.content, result.meta, contexts, concludes_turn=result.concludes_turn)
    return ToolFailure(result.error, result.content, result.meta, contexts)
