"""What an exception means for an operation: a denial, a cancellation, or a failure (spec/operations.md 1.3, 1.10).

Exceptions may be hostile: attributes are read from the slots of ``BaseException`` itself, and types are asked for with
``issubclass(type(exc), ...)``, because ``isinstance`` believes whatever an object calls its ``__class__``.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, Final

from dshhooks.operations.errors import GuardError, OperationCanceled
from dshhooks.operations.kinds import Outcome
from hookspecs.operations import Denial, denial_fault

__all__ = ["as_denial", "cancellation_types", "classify", "is_containable", "is_genuine_cancellation"]

_HOPS: Final = 32
_LEAVES: Final = 1024

_CAUSE: Any = BaseException.__dict__["__cause__"].__get__
_FIELDS: Any = BaseException.__dict__["__dict__"].__get__
_MEMBERS: Any = BaseExceptionGroup.__dict__["exceptions"].__get__


def cancellation_types() -> tuple[type[BaseException], ...]:
    """Return what the loaded async backends raise to cancel; works in any thread, with or without a running loop."""
    asyncio, trio = sys.modules.get("asyncio"), sys.modules.get("trio")
    found = (getattr(asyncio, "CancelledError", None), getattr(trio, "Cancelled", None))
    return tuple(kind for kind in found if kind is not None)


def as_denial(exc: object) -> Denial | None:
    """Return the denial an exception is, or was explicitly raised from; the only classifier (N5, N6).

    Follows ``raise ... from`` only, never the implicit context: a crash while a denial was being handled is a crash.
    The first denial met is the one that counts, malformed or not. A group counts when all its leaves are denials.

    Args:
        exc: Anything; ``None`` and other non-exceptions are no denials.

    Returns:
        A fresh, well-formed :class:`Denial`, or ``None``. Never raises.
    """
    for link in _chain(exc):
        kind = type(link)
        if issubclass(kind, GuardError):
            return None
        if issubclass(kind, Denial):
            return _checked(link)
        if issubclass(kind, BaseExceptionGroup):
            denials = [_leaf_denial(leaf) for leaf in _leaves(link)]
            return denials[0] if denials and None not in denials else None
    return None


def _leaf_denial(leaf: BaseException | None) -> Denial | None:
    for link in _chain(leaf):
        if issubclass(type(link), (GuardError, BaseExceptionGroup)):
            return None
        if issubclass(type(link), Denial):
            return _checked(link)
    return None


def _checked(denial: BaseException) -> Denial | None:
    # What the constructor stored, past anything a subclass put in the way of it.
    fields = _FIELDS(denial)
    code, reason = fields.get("code"), fields.get("reason")
    return None if denial_fault(code, reason) is not None else Denial(code, reason)


def _chain(exc: object) -> Iterator[BaseException]:
    seen: set[int] = set()
    while issubclass(type(exc), BaseException) and id(exc) not in seen and len(seen) <= _HOPS:  # itself is no hop
        seen.add(id(exc))
        yield exc  # type: ignore[misc]  # issubclass() on its type says so
        exc = _CAUSE(exc)


def _leaves(group: BaseException) -> Iterator[BaseException | None]:
    """Yield what a group holds, nested groups opened once each; ``None``, which is nothing good, if it is too much."""
    todo, seen, met = [group], set[int](), 0
    while todo:
        item = todo.pop()
        if not issubclass(type(item), BaseExceptionGroup):
            yield item
        elif id(item) not in seen:
            seen.add(id(item))
            todo.extend(reversed(_MEMBERS(item)))
        met += 1
        if met > _LEAVES:
            yield None
            return


def classify(error: BaseException | None) -> Outcome:
    """Return the outcome an operation's terminal error stands for (1.10).

    Looks at the error only, never at what is being cancelled right now. A ``TimeoutError`` counts as cancellation; a
    provider with socket time-outs of its own wraps them in its own error. Never raises.
    """
    if error is None:
        return Outcome.COMPLETED
    try:
        if as_denial(error) is not None:
            return Outcome.DENIED
        return Outcome.CANCELED if _is_cancellation(error) else Outcome.FAILED
    except Exception:  # noqa: BLE001 - an error that cannot even be looked at is a failure
        return Outcome.FAILED


def _is_cancellation(error: BaseException) -> bool:
    kinds: Any = (*cancellation_types(), OperationCanceled, TimeoutError)
    last = _first_of(error, kinds)
    if issubclass(type(last), BaseExceptionGroup):
        return all(issubclass(type(_first_of(leaf, kinds)), kinds) for leaf in _leaves(last))
    return issubclass(type(last), kinds)


def _first_of(error: BaseException | None, kinds: Any) -> Any:
    """Return the first link that is of one of the kinds, or a group; ``None`` behind a guard's failure."""
    for link in _chain(error):
        if issubclass(type(link), GuardError):  # a policy that timed out is a broken policy
            return None
        if issubclass(type(link), (*kinds, BaseExceptionGroup)):
            return link
    return None


def is_containable(exc: BaseException) -> bool:
    """Say whether synchronous code that raised this has merely failed.

    No await, no genuine cancellation: there its class is one more exception. What is left (``KeyboardInterrupt``,
    ``GeneratorExit``) passes through every boundary after cleanup.
    """
    kinds: Any = (Exception, SystemExit, *cancellation_types())
    if issubclass(type(exc), BaseExceptionGroup):
        return all(issubclass(type(leaf), kinds) for leaf in _leaves(exc))
    return issubclass(type(exc), kinds)


def is_genuine_cancellation(exc: BaseException) -> bool:
    """Say whether code that awaits was cancelled; a group that holds a cancellation and faults was, too (E3)."""
    kinds = cancellation_types()
    if not issubclass(type(exc), BaseExceptionGroup):
        return issubclass(type(exc), kinds)
    leaves = list(_leaves(exc))
    return any(issubclass(type(leaf), kinds) for leaf in leaves) and is_containable(exc)
