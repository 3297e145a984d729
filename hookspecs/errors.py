"""The error tree of the contract.

::

    HarnessError(message, code)            everything dshhooks raises on purpose
    ├── ConfigError                        a configuration key is wrong            CONFIG_ERROR
    │   └── OperationConfigError           a guard set or denial is malformed      CONFIG_ERROR
    ├── PluginError                        a plugin cannot be loaded or registered PLUGIN_ERROR
    │   └── PluginFailedError              a plugin's hook raised                  PLUGIN_FAILED
    ├── HookUsageError                     the hook machinery was misused          HOOK_USAGE
    │   └── SealedError                    something sealed was assigned to        HOOK_USAGE
    ├── InvalidDecisionError               a hook answered with nonsense           INVALID_DECISION
    ├── GuardFailedError                   a registry guard raised                 GUARD_FAILED
    ├── JsonSchemaError                    a schema is outside the subset          UNSUPPORTED_SCHEMA
    ├── ToolNotFoundError                  no visible tool of that name            UNKNOWN_TOOL
    ├── ToolArgsError                      arguments do not fit                    INVALID_ARGS
    ├── ToolOutputError                    a value does not fit or render          INVALID_TOOL_OUTPUT
    ├── ToolTimeoutError                   the tool's deadline passed              TOOL_TIMEOUT
    ├── AbortError                         cancelled      ABORTED / ABORTED_BEFORE_DISPATCH
    └── LlmError                           a model request failed                  the provider's code
    NotLosslessError                       a value is not lossless JSON (no code)

A foreign exception never contributes a code, whatever attributes it has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from hookspecs.model import LlmFailure

__all__ = [
    "AbortError",
    "ConfigError",
    "GuardFailedError",
    "HarnessError",
    "HookUsageError",
    "InvalidDecisionError",
    "JsonSchemaError",
    "LlmError",
    "NotLosslessError",
    "OperationConfigError",
    "PluginError",
    "PluginFailedError",
    "SealedError",
    "ToolArgsError",
    "ToolNotFoundError",
    "ToolOutputError",
    "ToolTimeoutError",
    "error_chain",
    "error_message",
]

UNPRINTABLE = "<unprintable exception>"
CYCLE = "<cycle>"
TOO_DEEP = "<more causes>"


class HarnessError(Exception):
    """An error with a stable code.

    Args:
        message: What happened, where, and what to do about it.
        code: The machine-readable kind, for example ``"UNKNOWN_TOOL"``.
    """

    def __init__(self, message: str, code: str = "HARNESS_ERROR") -> None:
        super().__init__(message)
        self.message = message
        self.code = code

    @property
    def name(self) -> str:
        """The class name: the ``name`` half of a result's error info."""
        return type(self).__name__


class _CodedError(HarnessError):
    default_code: ClassVar[str]

    def __init__(self, message: str, code: str | None = None) -> None:
        super().__init__(message, code or self.default_code)


class ConfigError(_CodedError, ValueError):
    """A configuration value is wrong; the message names file and key."""

    default_code = "CONFIG_ERROR"


class OperationConfigError(ConfigError):
    """A declaration for bounded operations, or a denial, is malformed (spec/operations.md 1.2, 1.3).

    Args:
        message: What is wrong and what to write instead.
        kind: The stable kind, for example ``"invalid_denial"`` or ``"operation_not_guardable"``.
        operation: The operation the entry was for, if it has one.
        index: Position of the entry in its list; 0 when it is not about a list.
        field: The part that is wrong, for example ``"guards"`` or ``"denial"``.
    """

    def __init__(
        self, message: str, kind: str = "invalid", *, operation: str | None = None, index: int = 0, field: str = ""
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.operation = operation
        self.index = index
        self.field = field


class PluginError(_CodedError):
    """A plugin could not be found, loaded, ordered or registered."""

    default_code = "PLUGIN_ERROR"


class PluginFailedError(PluginError):
    """A plugin's hook raised an exception that has no code of its own."""

    default_code = "PLUGIN_FAILED"


class HookUsageError(_CodedError, RuntimeError):
    """A hook was called, or used what it was given, in a way the contract forbids."""

    default_code = "HOOK_USAGE"


class SealedError(HookUsageError, AttributeError):  # type: ignore[misc]  # `name` means another thing to each
    """Something sealed was assigned to."""


class InvalidDecisionError(_CodedError, TypeError):
    """A hook returned something that is not a decision of that hook."""

    default_code = "INVALID_DECISION"


class GuardFailedError(_CodedError):
    """A function given to ``ToolRegistry.guard`` raised, or answered with nonsense."""

    default_code = "GUARD_FAILED"


class _ViolationsError(_CodedError):
    def __init__(self, message: str, violations: tuple[str, ...] = (), code: str | None = None) -> None:
        super().__init__(message, code)
        self.violations = tuple(violations)


class JsonSchemaError(_ViolationsError, ValueError):
    """A schema uses something outside the supported subset (spec/core.md 1.7)."""

    default_code = "UNSUPPORTED_SCHEMA"


class ToolNotFoundError(_CodedError, LookupError):
    """No tool of that name is visible to the caller."""

    default_code = "UNKNOWN_TOOL"


class ToolArgsError(_ViolationsError, ValueError):
    """The arguments of a call do not fit the tool's schema."""

    default_code = "INVALID_ARGS"


class ToolOutputError(_ViolationsError, ValueError):
    """A canonical value is not lossless JSON, does not fit the output schema, or cannot be rendered."""

    default_code = "INVALID_TOOL_OUTPUT"


class ToolTimeoutError(_CodedError, TimeoutError):
    """A tool did not finish within its time."""

    default_code = "TOOL_TIMEOUT"


class AbortError(_CodedError):
    """Work was cancelled by its signal."""

    default_code = "ABORTED"


class LlmError(HarnessError):
    """A model request failed; ``failure`` holds the same facts as the immutable value durable records keep.

    Args:
        message: Human-readable, non-empty.
        code: Provider-neutral code, for example ``"RATE_LIMIT"``; non-empty.
        status: HTTP status, 100 to 599.
        retry_after: Seconds the provider asks to wait; positive and finite.
        request_id: The provider's id of the request; non-empty.

    Raises:
        ValueError: One of them is not what it should be (spec/core.md 6).
    """

    def __init__(
        self,
        message: str,
        code: str = "UNKNOWN",
        *,
        status: int | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        from hookspecs.model import LlmFailure  # not at the top: most errors are not about models

        super().__init__(message, code)
        self.failure: LlmFailure = LlmFailure(message, code, status, retry_after, request_id)
        self.status = status
        self.retry_after = retry_after
        self.request_id = request_id


class NotLosslessError(TypeError, ValueError):
    """A value does not survive a round trip through JSON text.

    Both a ``TypeError`` (a tuple, a set, an Enum) and a ``ValueError`` (NaN, a cycle): callers catch either.
    It has no code, as spec/core.md 2.2 says.
    """


def error_message(exc: BaseException) -> str:
    """Return ``str(exc)``; a fixed placeholder when that itself raises. Never raises (spec/core.md 0.3)."""
    try:
        text = str(exc)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - a hostile __str__ (even one that exits) must not break error handling
        return UNPRINTABLE
    return _exact(text)


def _exact(text: str) -> str:
    # str() hands out subclasses unchanged; downstream needs the exact type to be lossless JSON. This slot copies the
    # characters and calls nothing a subclass could override.
    return str.__str__(text)


def error_chain(exc: BaseException) -> str:
    """Render an exception with its group members and explicit causes for diagnostics (spec/core.md 0.3).

    A cause that renders like its wrapper is skipped, a cycle renders a marker, a hostile ``__str__`` a placeholder.
    """
    return _chain(exc, ())


def _chain(exc: BaseException, seen: tuple[int, ...]) -> str:
    if id(exc) in seen:
        return CYCLE
    if len(seen) > 64:
        return TOO_DEEP
    seen = (*seen, id(exc))
    text = _head(exc)
    if issubclass(type(exc), BaseExceptionGroup):
        text += f" [{'; '.join(_chain(member, seen) for member in _MEMBERS(exc))}]"
    cause = _CAUSE(exc)
    if cause is not None:
        rendered = _chain(cause, seen)
        if rendered != text:
            text += f": {rendered}"
    return text


def _head(exc: BaseException) -> str:
    message = _exact(_MESSAGE(exc)) if issubclass(type(exc), BaseExceptionGroup) else error_message(exc)
    return message or type(exc).__name__


# Read from the slots themselves: a subclass may hide each behind a property that raises, and isinstance() asks the
# instance for its __class__.
_CAUSE: Any = BaseException.__dict__["__cause__"].__get__
_MESSAGE: Any = BaseExceptionGroup.__dict__["message"].__get__
_MEMBERS: Any = BaseExceptionGroup.__dict__["exceptions"].__get__
