"""What can go wrong around an operation (spec/operations.md 1.4).

::

    HarnessError
    ├── CallError               the owner described its operation wrongly          OPERATION_CALL
    ├── SnapshotError           a payload holds something that cannot be frozen    OPERATION_SNAPSHOT
    ├── GuardError              a guard failed; the operation is blocked           OPERATION_BLOCKED, PLUGIN_FAILED
    ├── OperationCanceled       an observer, or the owner, cancelled this operation only  OPERATION_CANCELED
    └── DriftRejectedError      a session is not resumed under another policy      DRIFT_REJECTED

A malformed *declaration* is a :class:`hookspecs.errors.OperationConfigError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookspecs.errors import HarnessError

if TYPE_CHECKING:
    from dshhooks.operations.drift import Assessment
    from dshhooks.operations.kinds import Operation

__all__ = ["CallError", "DriftRejectedError", "GuardError", "OperationCanceled", "SnapshotError"]


class CallError(HarnessError):
    """An operation was described wrongly; nothing was started.

    Args:
        message: What is wrong.
        kind: ``"unknown_operation"`` or ``"invalid_payload"``.
    """

    def __init__(self, message: str, kind: str = "invalid_payload") -> None:
        super().__init__(message, "OPERATION_CALL")
        self.kind = kind


class SnapshotError(HarnessError):
    """A payload holds a value nobody could promise to keep unchanged; names its type and nothing else (C3).

    Args:
        message: What is wrong.
        kind: ``"unknown_block"`` or ``"unknown_conversation"``.
    """

    def __init__(self, message: str, kind: str = "unknown_conversation") -> None:
        super().__init__(message, "OPERATION_SNAPSHOT")
        self.kind = kind


class GuardError(HarnessError):
    """A guard failed, which blocks the operation. Nothing shown of it holds the cause's text (X1).

    Args:
        operation: What it was asked about.
        index: Its position among all guards of the set.
        cause: What it raised, or what is wrong with its answer. A plain attribute and not ``__cause__``, which every
            traceback would print. For trusted code only.
        plugin: The plugin whose ``operation_guard`` it is; empty for a guard of the host's own.
    """

    def __init__(self, operation: Operation, index: int, cause: BaseException | None = None, plugin: str = "") -> None:
        who = f"plugin {plugin!r} failed in hook 'operation_guard'" if plugin else f"guard {index} failed"
        super().__init__(f"{operation} was blocked: {who}", "PLUGIN_FAILED" if plugin else "OPERATION_BLOCKED")
        self.operation = operation
        self.index = index
        self.cause = cause
        self.plugin = plugin

    def __reduce__(self) -> Any:
        # A copy that leaves the process leaves the cause, and its text, behind.
        return type(self), (self.operation, self.index, None, self.plugin)


class OperationCanceled(HarnessError):
    """This operation was cancelled while the work around it goes on.

    Args:
        operation: The one that was.
        reason: What ``cancel`` was given; not part of the message.
    """

    def __init__(self, operation: Operation | None = None, reason: Any = None) -> None:
        super().__init__(f"{operation or 'the operation'} was canceled", "OPERATION_CANCELED")
        self.operation = operation
        self.reason = reason

    def __reduce__(self) -> Any:
        return type(self), (self.operation,)


class DriftRejectedError(HarnessError):
    """A session is not resumed: what governs it has changed, and nobody accepted that (R4).

    Args:
        message: What changed and how to accept it.
        assessment: Everything that changed.
    """

    def __init__(self, message: str, assessment: Assessment) -> None:
        super().__init__(message, "DRIFT_REJECTED")
        self.assessment = assessment
