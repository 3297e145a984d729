"""Guards and observers, declared; and what is wrong with a declaration, said at once (spec/operations.md 1.2)."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from attrs import frozen

from dshhooks.operations.kinds import Operation
from hookspecs.errors import OperationConfigError

__all__ = ["Around", "Guard", "OperationSet", "check_revision", "validate_set"]

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")  # Unicode category Cc, all 65 of it
_REVISION_BYTES: Final = 128


@frozen
class Guard:
    """Asked before an operation starts; can only refuse it.

    Args:
        operation: A guardable operation.
        check: ``check(call)``, plain or async. Returns ``None`` to let it pass, ``deny(code, reason)`` to refuse
            (raising that is the same). Any other answer, and any other exception, blocks it as a failure of the guard.
        plugin: Whose it is, to be named when it fails; empty for the host's own.
    """

    operation: Operation
    check: Callable[[Any], Any]
    plugin: str = ""


@frozen
class Around:
    """Sees an operation begin and finish; cannot change how it goes.

    Args:
        operation: Any operation.
        begin: ``begin(call)``, plain. Returns ``finish(result)`` or ``None``; a generator function yields once and is
            sent the result.
        plugin: Whose it is, to be named when it fails; empty for the host's own.
    """

    operation: Operation
    begin: Callable[[Any], Any]
    plugin: str = ""


@frozen
class OperationSet:
    """Guards and observers in the order they are asked; later changes to the lists it was given do nothing.

    Args:
        policy_revision: Names what the guards enforce; required when, and only when, there are guards. Change it
            whenever they change: a session resumed under another revision says so.
        guards: Guards.
        around: Observers.
    """

    policy_revision: str = ""
    guards: Sequence[Guard] = ()
    around: Sequence[Around] = ()

    def __attrs_post_init__(self) -> None:
        for name in ("guards", "around"):
            entries = getattr(self, name)
            if isinstance(entries, (Mapping, str, bytes)):
                raise OperationConfigError(f"{name}: a list in the order they are asked, please", field=name)
            object.__setattr__(self, name, tuple(entries))


def validate_set(declared: OperationSet) -> None:
    """Refuse a malformed set, naming its first problem (V1-V4).

    Raises:
        OperationConfigError: ``kind``, ``field``, ``index`` and ``operation`` say which.
    """
    _check_policy(declared)
    for index, guard in enumerate(declared.guards):
        for kind, hint in _guard_faults(guard):
            raise _error(kind, hint, guard, index, "guards")
    for index, around in enumerate(declared.around):
        for kind, hint in _around_faults(around):
            raise _error(kind, hint, around, index, "around")


def _check_policy(declared: OperationSet) -> None:
    revision = declared.policy_revision
    if not declared.guards and revision != "":
        if type(revision) is not str:
            check_revision(revision)
        raise _revision_error("unexpected_policy_revision", "there are no guards whose policy it could name")
    if declared.guards:
        check_revision(revision)


def check_revision(revision: Any) -> None:
    """Refuse a revision that could not name a policy (V1, V2).

    Raises:
        OperationConfigError: ``missing_policy_revision`` or ``invalid_policy_revision``.
    """
    if type(revision) is not str:  # a subclass could tell us one thing and the log another
        raise _revision_error("invalid_policy_revision", f"it must be a str, not {type(revision).__name__}")
    if not revision.strip():
        raise _revision_error("missing_policy_revision", "guards need one, so that a resumed session notices a change")
    if _CONTROL.search(revision):
        raise _revision_error("invalid_policy_revision", "it holds a control character")
    try:
        size = len(revision.encode())
    except UnicodeEncodeError:
        raise _revision_error("invalid_policy_revision", "it holds a lone surrogate") from None
    if size > _REVISION_BYTES:
        raise _revision_error("invalid_policy_revision", f"it has {size} bytes; at most {_REVISION_BYTES} are allowed")


def _guard_faults(guard: Any) -> Iterator[tuple[str, str]]:
    if type(guard) is not Guard:
        yield "nil_guard", f"a Guard is needed, not {type(guard).__name__}"
        return
    if type(guard.operation) is not Operation:
        yield "unknown_operation", "operation must be a member of Operation"
    elif not guard.operation.guardable:
        yield "operation_not_guardable", f"{guard.operation} can be observed and not refused"
    if not callable(guard.check):
        yield "nil_guard", "check must be callable"
    elif _is_any(guard.check, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
        yield "nil_guard", "check must return its answer; with `yield` it would never run"


def _around_faults(around: Any) -> Iterator[tuple[str, str]]:
    if type(around) is not Around:
        yield "nil_around", f"an Around is needed, not {type(around).__name__}"
        return
    if type(around.operation) is not Operation:
        yield "unknown_operation", "operation must be a member of Operation"
    if not callable(around.begin):
        yield "nil_around", "begin must be callable"
    elif _is_any(around.begin, inspect.iscoroutinefunction, inspect.isasyncgenfunction):
        yield "async_around", "begin is called where nobody can wait; use a plain `def`"


def _is_any(fn: Any, *tests: Callable[[Any], bool]) -> bool:
    called = getattr(type(fn), "__call__", None)  # noqa: B004 - the method itself is looked at, for objects with one
    return any(test(fn) or test(called) for test in tests)


def _error(kind: str, hint: str, entry: Any, index: int, field: str) -> OperationConfigError:
    operation = getattr(entry, "operation", None) if type(entry) in (Guard, Around) else None
    named = operation if type(operation) in (Operation, str) else None
    return OperationConfigError(f"{field}[{index}]: {hint}", kind, operation=named, index=index, field=field)


def _revision_error(kind: str, hint: str) -> OperationConfigError:
    return OperationConfigError(f"policy_revision: {hint}", kind, field="policy_revision")
