"""What a dispatch will run, compiled once: the implementations of one hook, in order, ready to be called.

The only place that knows ordering. pluggy orders (``tryfirst``, then last registered first, then ``trylast``); this
reads its list back to front, as pluggy itself does, and never calls through it (decisions.md 3.1).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import pluggy
from attrs import frozen

from hookspecs.markers import ASYNC_WRAPPER, HookMeta
from hookspecs.record import Record

__all__ = ["ChainLink", "Implementation", "Plan", "async_form", "compile_plan"]


@frozen(eq=False, repr=False)
class ChainLink(Record):
    """One place in an effective chain, as shown to people.

    Args:
        plugin: The plugin's name.
        kind: ``"wrapper"``, ``"async-wrapper"`` or ``"implementation"``.
    """

    plugin: str
    kind: str


class Implementation:
    """One plugin's function for one hook, taking the hookspec's arguments by position."""

    __slots__ = ("fn", "hook", "is_async", "kind", "plugin")

    def __init__(self, hook: str, plugin: str, kind: str, fn: Callable[..., Any]) -> None:
        self.hook, self.plugin, self.kind, self.fn = hook, plugin, kind, fn
        self.is_async = kind == "async-wrapper"


class Plan:
    """An immutable compiled chain. A dispatch keeps the plan it started with, whatever is registered meanwhile."""

    __slots__ = ("accepted", "active", "args", "hook", "implementations", "inner", "meta", "run", "shadows", "wrappers")

    hook: str
    meta: HookMeta
    args: tuple[str, ...]
    wrappers: tuple[Implementation, ...]
    implementations: tuple[Implementation, ...]
    shadows: tuple[Implementation, ...]
    accepted: frozenset[type]
    active: bool
    inner: Callable[..., Any]
    run: Callable[..., Any]

    def links(self) -> list[ChainLink]:
        """Return the chain outermost first; shadowed implementations are not part of it."""
        return [ChainLink(link.plugin, link.kind) for link in (*self.wrappers, *self.implementations)]


def async_form(function: Any) -> Callable[..., Any] | None:
    """Return the coroutine function behind a marker's shim, bound like the shim, or ``None`` for anything else."""
    target = getattr(function, ASYNC_WRAPPER, None)
    if target is None or not inspect.ismethod(function):
        return target
    return target.__get__(function.__self__)  # type: ignore[no-any-return]


def compile_plan(
    caller: pluggy.HookCaller,
    meta: HookMeta,
    args: tuple[str, ...],
    *,
    visible: Callable[[str], bool],
    shadowed: Collection[str],
    instrument: Callable[[Implementation], Implementation] | None = None,
) -> Plan:
    """Compile the chain of one hook.

    Args:
        caller: pluggy's record of the hook.
        meta: The hookspec's promises.
        args: The hookspec's argument names, in order.
        visible: Says whether a plugin takes part in this dispatch (agent scope).
        shadowed: Plugins that answer without being obeyed.
        instrument: Wraps each implementation, for tracing.
    """
    impls = [impl for impl in reversed(caller.get_hookimpls()) if visible(impl.plugin_name)]
    plan = Plan()
    plan.hook, plan.meta, plan.args = caller.name, meta, args
    obeyed = [impl for impl in impls if impl.plugin_name not in shadowed or not _is_shadowable(meta, impl)]
    plan.wrappers = _build(caller.name, args, (impl for impl in obeyed if impl.wrapper), instrument)
    plan.implementations = _build(caller.name, args, (impl for impl in obeyed if not impl.wrapper), instrument)
    silent = [impl for impl in impls if impl not in obeyed and not impl.wrapper]
    plan.shadows = _build(caller.name, args, silent, None)
    plan.accepted = frozenset(meta.returns)
    plan.active = bool(plan.wrappers or plan.implementations or plan.shadows)
    return plan


def _is_shadowable(meta: HookMeta, impl: pluggy.HookImpl) -> bool:
    # Observers and contributors change no outcome, so a shadowed plugin keeps them (decisions.md 3.13).
    return impl.wrapper or meta.firstresult or meta.authority.value == "checkpoint"


def _build(
    hook: str,
    args: tuple[str, ...],
    impls: Iterable[pluggy.HookImpl],
    instrument: Callable[[Implementation], Implementation] | None,
) -> tuple[Implementation, ...]:
    built = [_implementation(hook, args, impl) for impl in impls]
    return tuple(map(instrument, built) if instrument else built)


def _implementation(hook: str, args: tuple[str, ...], impl: pluggy.HookImpl) -> Implementation:
    coroutine = async_form(impl.function) if impl.wrapper else None
    kind = "async-wrapper" if coroutine else "wrapper" if impl.wrapper else "implementation"
    positions = [args.index(name) for name in impl.argnames]
    keywords = {name: args.index(name) for name in impl.kwargnames if name in args}
    fn = _adapt(coroutine or impl.function, positions, keywords, len(args))
    return Implementation(hook, impl.plugin_name, kind, fn)


def _adapt(
    fn: Callable[..., Any], positions: Sequence[int], keywords: dict[str, int], width: int
) -> Callable[..., Any]:
    """Let ``fn`` be called with every argument of the hookspec; it picks the ones it declared."""
    if not keywords and list(positions) == list(range(width)):
        return fn
    if not keywords and len(positions) == 1:
        only = positions[0]
        return lambda *args, **extra: fn(args[only], **extra)
    return lambda *args, **extra: fn(
        *(args[at] for at in positions), **{name: args[at] for name, at in keywords.items()}, **extra
    )
