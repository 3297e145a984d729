"""The two markers: ``hookspec`` for this package, ``hookimpl`` for plugin authors.

Both set pluggy's own options, so registration, validation and ordering stay pluggy's. What pluggy has no word for
(the authority of a hook, an async wrapper) is kept beside them.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from enum import StrEnum
from typing import Any, Final, TypeVar, overload

from attrs import frozen

from hookspecs.record import Record

__all__ = ["ASYNC_WRAPPER", "PROJECT", "Authority", "HookMeta", "hookimpl", "hookspec"]

PROJECT: Final = "dshhooks"

# Where the shim keeps the coroutine function it stands for; the engine calls that and never the shim.
ASYNC_WRAPPER: Final = "dshhooks_async_wrapper"
META: Final = "dshhooks_meta"

F = TypeVar("F", bound=Callable[..., Any])


class Authority(StrEnum):
    """What an implementation of a hook may do; exactly one per hookspec (decisions.md 3.5)."""

    DECIDE = "decide"
    REFUSE = "refuse"
    WRAP = "wrap"
    OBSERVE = "observe"
    CHECKPOINT = "checkpoint"
    CONTRIBUTE = "contribute"


@frozen(eq=False, repr=False)
class HookMeta(Record):
    """What a hookspec promises beyond its signature.

    Args:
        canonical: The event's name in the harness, for example ``"tools/pre-execute"``.
        authority: What implementations may do.
        returns: The types an answer may have; empty: anything.
        default: Makes the decision that stands when everybody abstains; ``None``: there is none.
        combine: ``"first"``: the first answer wins. ``"strictest"``: a ``Deny`` beats an ``Ask`` beats an ``Allow``.
        synchronous: The call site cannot await, so coroutine functions are refused at registration.
        changeable: Arguments ``call_next(**changes)`` may replace.
        generator: Implementations may be generators with one ``yield`` around the thing observed.
    """

    canonical: str
    authority: Authority
    returns: tuple[type, ...] = ()
    default: Callable[[], Any] | None = None
    combine: str = "first"
    synchronous: bool = False
    changeable: tuple[str, ...] = ()
    generator: bool = False

    @property
    def firstresult(self) -> bool:
        """Whether one answer is enough."""
        return self.authority in (Authority.DECIDE, Authority.REFUSE, Authority.WRAP)

    @property
    def wrappable(self) -> bool:
        """Whether wrappers are allowed: nobody stands before a guard, an observer, or another plugin's contribution."""
        alone = self.authority is Authority.CONTRIBUTE and self.synchronous
        return self.generator or not (alone or self.authority in (Authority.REFUSE, Authority.OBSERVE))


def hookspec(
    canonical: str,
    authority: Authority,
    *,
    returns: tuple[type, ...] = (),
    default: Callable[[], Any] | None = None,
    combine: str = "first",
    synchronous: bool = False,
    changeable: tuple[str, ...] = (),
    generator: bool = False,
) -> Callable[[F], F]:
    """Mark a method of a hookspec class. The arguments are those of :class:`HookMeta`."""
    meta = HookMeta(canonical, authority, returns, default, combine, synchronous, changeable, generator)

    def mark(fn: F) -> F:
        from pluggy import HookspecMarker  # not at the top: importing a decision must not import pluggy

        setattr(fn, META, meta)
        return HookspecMarker(PROJECT)(firstresult=meta.firstresult)(fn)

    return mark


@overload
def hookimpl(fn: F) -> F: ...
@overload
def hookimpl(
    fn: None = None,
    *,
    wrapper: bool = False,
    tryfirst: bool = False,
    trylast: bool = False,
    optionalhook: bool = False,
    specname: str | None = None,
) -> Callable[[F], F]: ...
def hookimpl(
    fn: Any = None,
    *,
    wrapper: bool = False,
    hookwrapper: bool = False,
    tryfirst: bool = False,
    trylast: bool = False,
    optionalhook: bool = False,
    specname: str | None = None,
) -> Any:
    """Mark a function or method as an implementation of the hook of the same name.

    Args:
        wrapper: Stand around the other implementations. Either a generator function with one ``yield``, or an
            ``async def`` with a keyword-only ``call_next`` that may be awaited any number of times, one at a time.
        tryfirst: Go before (for a wrapper: outside) the others.
        trylast: Go after (inside) the others.
        optionalhook: Accept that no such hook exists.
        specname: The hook's name when the function is called something else.

    Raises:
        TypeError: A wrapper of neither form, or ``hookwrapper=True``, which dshhooks does not support.
    """
    if hookwrapper:
        raise TypeError("hookwrapper=True is pluggy's old form and is refused: use wrapper=True")

    def mark(target: Any) -> Any:
        from pluggy import HookimplMarker  # not at the top: importing a decision must not import pluggy

        marked = _wrapper(target) if wrapper else target
        options = {"wrapper": wrapper, "tryfirst": tryfirst, "trylast": trylast, "optionalhook": optionalhook}
        return HookimplMarker(PROJECT)(**options, specname=specname)(marked)  # type: ignore[call-overload]

    return mark if fn is None else mark(fn)


def _wrapper(target: Any) -> Any:
    if isinstance(target, (staticmethod, classmethod)):
        return type(target)(_wrapper(target.__func__))
    name = getattr(target, "__qualname__", repr(target))
    if inspect.isasyncgenfunction(target):
        raise TypeError(f"{name}: an async generator cannot be a wrapper; use `async def` with `*, call_next`")
    if inspect.iscoroutinefunction(target):
        _check_call_next(target, name)
        return _shim(target)
    if not inspect.isgeneratorfunction(target):
        raise TypeError(f"{name}: a wrapper is a generator with one `yield`, or an `async def` with `*, call_next`")
    return target


def _check_call_next(target: Any, name: str) -> None:
    parameter = inspect.signature(target).parameters.get("call_next")
    if parameter is None or parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        raise TypeError(f"{name}: an async wrapper needs a keyword-only parameter: async def f(..., *, call_next)")


def _shim(target: Any) -> Any:
    """Make a generator function pluggy takes for a wrapper, and that can still be awaited in a unit test."""

    @types.coroutine
    @functools.wraps(target)
    def shim(*args: Any, **kwargs: Any) -> Any:
        return (yield from target(*args, **kwargs).__await__())

    setattr(shim, ASYNC_WRAPPER, target)
    return shim
