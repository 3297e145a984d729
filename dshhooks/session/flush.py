"""A checkpoint that asks everybody: the first failure is raised once all have answered (spec/core.md 5.6)."""

from __future__ import annotations

import copy
import logging
from inspect import isawaitable
from typing import Any

from dshhooks.engine.chain import around
from dshhooks.engine.faults import add_note, for_host, is_fault
from dshhooks.engine.observe import described
from dshhooks.engine.plan import Plan

__all__ = ["ask_all"]

log = logging.getLogger("dshhooks.session")


async def ask_all(plan: Plan, args: tuple[Any, ...]) -> None:
    """Await every implementation in plugin order, wrappers around them; then raise the first failure.

    Raises:
        Exception: The first failure, with a note naming hook and plugin; later ones are logged.
    """
    if not plan.active:
        return
    asked = copy.copy(plan)
    asked.inner = _everybody
    try:
        await (around if plan.wrappers else _everybody)(asked, args)
    except SystemExit as exc:
        raise for_host(exc)  # noqa: B904 - the exception itself, or it is the cause


async def _everybody(plan: Plan, args: tuple[Any, ...], _default: Any = None, _body: Any = None) -> list[Any]:
    failure: BaseException | None = None
    for impl in plan.implementations:
        try:
            answer = impl.fn(*args)
            if answer is not None and isawaitable(answer):
                await answer
        except BaseException as exc:
            if not is_fault(exc):
                raise
            add_note(exc, impl.hook, impl.plugin)
            if failure is None:
                failure = exc
            else:
                log.warning("plugin %r failed in hook %r, too: %s", impl.plugin, impl.hook, described(exc))
    if failure is None:
        return []
    try:
        raise failure
    finally:
        del failure  # the traceback holds this frame
