"""What a tool call is made of: the call, its sealed execution, its result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from attrs import Factory, field, frozen

from hookspecs.decisions import ApprovalOutcome, _content, _contexts, _text
from hookspecs.errors import SealedError
from hookspecs.json import MISSING
from hookspecs.record import Record
from hookspecs.signal import CancelSignal

if TYPE_CHECKING:
    from hookspecs.values import Content, HookContext

__all__ = ["ApprovalRequest", "Approver", "ErrorInfo", "ToolCall", "ToolError", "ToolExecution", "ToolFailure",
           "ToolResult", "ToolRunContext", "ToolSuccess", "ToolToken"]  # fmt: skip


class ToolToken:
    """The opaque identity of one execution, compared by ``is``; not derivable from the call id."""

    __slots__ = ("__weakref__",)


@frozen(eq=False, repr=False)
class ApprovalRequest(Record):
    """What a person is asked to approve; bound to one execution (decisions.md 3.14).

    Args:
        agent: Who calls; ``None`` for a call that brought its own approver.
        tool_name: The tool.
        call_id: The model's id of the call.
        reason: Why the policy asks.
        signal: The execution's signal, the same object.
        token: The execution the answer is for.
        digest: SHA-256 (hex) over canonical JSON of ``{"arguments", "name"}``.
    """

    agent: Any
    tool_name: str
    call_id: str | None = None
    reason: str | None = None
    signal: CancelSignal | None = None
    token: ToolToken | None = None
    digest: str = ""


Approver = Callable[[ApprovalRequest], "ApprovalOutcome | Awaitable[ApprovalOutcome]"]


@frozen(eq=False, repr=False)
class ToolCall(Record):
    """One call, as its caller describes it.

    Args:
        id: The caller's id, shown in logs and results.
        name: The tool's name.
        arguments: Lossless JSON; snapshotted and frozen before any policy sees it.
        signal: Cancels the call; ``None`` never does.
        agent: The calling agent, or ``None``.
        parent: The outer execution's token, for a call made from inside a tool.
        approver: Answers an ``Ask`` for a call without an agent (decisions.md 7.9).
    """

    id: str
    name: str
    arguments: Any = Factory(dict)
    signal: CancelSignal | None = None
    agent: Any = None
    parent: ToolToken | None = None
    approver: Approver | None = None


@frozen(eq=False, repr=False)
class ErrorInfo(Record):
    """The machine-readable half of a failure: the error's class name and stable code."""

    name: str = field(validator=_text)
    code: str = field(validator=_text)


def _info(_instance: object, _attribute: object, value: Any) -> None:
    if value is not None and not isinstance(value, ErrorInfo):
        raise TypeError(f"ToolError(info=...) must be an ErrorInfo or None, not {type(value).__name__}")


@frozen(eq=False, repr=False)
class ToolError(Record):
    """Why a call failed; ``info`` is absent for denials, blocks and foreign exceptions (spec/core.md 3.9)."""

    message: str = field(validator=_text)
    info: ErrorInfo | None = field(default=None, validator=_info)


@frozen(eq=False, repr=False)
class ToolSuccess(Record):
    """A call that worked.

    Args:
        value: The canonical JSON value programs read.
        content: The blocks the model reads, rendered from the value.
        meta: JSON for user interfaces.
        contexts: Messages to add after the result.
        concludes_turn: The tool asked for the turn to end after its batch.
    """

    is_error: ClassVar[bool] = False
    value: Any
    content: Content = field(default=(), converter=_content)
    meta: Any = MISSING
    contexts: tuple[HookContext, ...] = field(default=(), converter=_contexts)
    concludes_turn: bool = field(default=False, kw_only=True)


def _tool_error(value: ToolError) -> ToolError:
    if not isinstance(value, ToolError):
        raise TypeError(f"ToolFailure(error=...) must be a ToolError, not {type(value).__name__}")
    return value


def _error_content(failure: ToolFailure) -> Content:
    from hookspecs.values import TextBlock  # as in decisions.py: a call that is only judged has no result

    return (TextBlock(f"Error: {failure.error.message}"),)


@frozen(eq=False, repr=False)
class ToolFailure(Record):
    """A call that did not work; it has no value. Without ``content`` the model reads ``Error: <message>``."""

    is_error: ClassVar[bool] = True
    # A converter and not a validator: the default content reads the error first.
    error: ToolError = field(converter=_tool_error)
    content: Content = field(default=Factory(_error_content, takes_self=True), converter=_content)
    meta: Any = MISSING
    contexts: tuple[HookContext, ...] = field(default=(), converter=_contexts)


ToolResult = ToolSuccess | ToolFailure


class ToolExecution:
    """One sealed call: the same object in every phase, read-only but for the signal around dispatch.

    Its identity is fixed before the first policy runs (spec/core.md 2): ``call_id``, ``name``, ``arguments``
    (deep-frozen; ``MISSING`` when they could not be sealed), ``agent``, ``token`` and ``parent`` never change.
    """

    __slots__ = ("__weakref__", "_run", "agent", "arguments", "call_id", "name", "parent", "signal", "token")

    call_id: str
    name: str
    arguments: Any
    agent: Any
    token: ToolToken
    parent: ToolToken | None
    signal: CancelSignal
    _run: Any  # the registry's side of this execution; it alone knows the phase

    def __init__(self) -> None:
        raise TypeError("a ToolExecution is made by the registry, one for each ToolCall")

    def __setattr__(self, attribute: str, _value: object) -> NoReturn:
        if attribute == "signal":
            raise SealedError("execution.signal is read-only: use `with execution.replace_signal(signal):`")
        raise SealedError(f"execution.{attribute} is sealed: nobody changes a call after policy has seen it")

    def __delattr__(self, attribute: str) -> NoReturn:
        raise SealedError(f"execution.{attribute} is sealed and cannot be removed")

    @property
    def definition(self) -> Any:
        """The :class:`ToolDefinition` the calling agent sees under this name now, or ``None``."""
        return self._run.definition()

    @contextmanager
    def replace_signal(self, signal: CancelSignal) -> Iterator[None]:
        """Let the inner wrappers and the body see another signal; restored on exit (spec/core.md 2.3).

        Legal only inside ``tools_execute`` wrappers and not while the body runs. The body still hears the caller's
        signal: the two are fused just before it starts.

        Raises:
            HookUsageError: Used in another phase.
            TypeError: ``signal`` is not a :class:`CancelSignal`.
        """
        if not isinstance(signal, CancelSignal):
            raise TypeError(f"replace_signal needs a CancelSignal, not {type(signal).__name__}")
        before = self._run.replace_signal(signal)
        try:
            yield
        finally:
            self._run.restore_signal(before)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r} {self.call_id!r}>"


class ToolRunContext(ToolExecution):
    """The execution as the tool's body sees it: it may also add contexts and end the turn."""

    __slots__ = ()

    def defer_context(self, context: HookContext) -> None:
        """Add a context after this call's result. Without effect once dispatch is over.

        Raises:
            TypeError: Not a :class:`HookContext`.
        """
        from hookspecs.values import HookContext

        if not isinstance(context, HookContext):
            raise TypeError(f"defer_context needs a HookContext, not {type(context).__name__}")
        self._run.defer(context)

    def conclude_turn(self) -> None:
        """Ask that the turn ends after this batch, if this call succeeds (decisions.md 7.11)."""
        self._run.conclude()
