"""Guards: the last word before dispatch, which can only be no (spec/core.md 3.3, decisions.md 7.4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dshhooks.engine.faults import blamed, discard, is_fault
from dshhooks.engine.plan import Plan
from hookspecs.errors import GuardFailedError, HarnessError, InvalidDecisionError, error_message
from hookspecs.execution import ToolExecution

if TYPE_CHECKING:
    from dshhooks.tools.layers import Guard, Layer

__all__ = ["ask_hooks", "ask_layer"]


def ask_layer(layer: Layer, execution: ToolExecution, traced: bool) -> str | None:
    """Return the first reason of a layer's guards, in registration order, or ``None``.

    The list is live: a guard registered by an earlier one in this pass is asked too. Only when the last guard removes
    itself and adds another does the new one wait for the next call.

    Raises:
        GuardFailedError: A guard raised, or answered with something other than a ``str`` or ``None``.
    """
    guards = layer.guards
    index = 0
    while index < len(guards):
        guard, was_last = guards[index], index == len(guards) - 1
        reason = _ask_traced(guard, execution) if traced else _ask(guard, execution)
        if reason is not None:
            return reason
        if index < len(guards) and guards[index] is guard:
            index += 1
        elif was_last:
            break
        else:
            # The guard, or one before it, was removed; nobody behind it may be skipped.
            index = guards.index(guard) + 1 if guard in guards else index
    return None


def _ask_traced(guard: Guard, execution: ToolExecution) -> str | None:
    from dshhooks.engine.trace import phase  # somebody traces, so it is there

    with phase("guard", getattr(guard.fn, "__qualname__", repr(guard.fn)), "guard") as record:
        reason = _ask(guard, execution)
        if record is not None:
            record.outcome, record.detail = ("abstain", "") if reason is None else ("deny", reason)
        return reason


def _ask(guard: Guard, execution: ToolExecution) -> str | None:
    try:
        answer = guard.fn(execution)
    except BaseException as exc:
        if isinstance(exc, HarnessError) or not is_fault(exc):
            raise
        raise GuardFailedError(f"a guard failed: {type(exc).__name__}: {error_message(exc)}") from exc
    if answer is None or issubclass(type(answer), str):
        return answer
    discard(answer)
    raise GuardFailedError(f"a guard answered with {type(answer).__name__}; it must return a str or None, and at once")


def ask_hooks(plan: Plan, execution: ToolExecution) -> str | None:
    """Return the first reason of the ``tools_guard`` hooks, or ``None``; shadowed ones are asked and not heard.

    Raises:
        InvalidDecisionError: An answer that is neither ``str`` nor ``None``.
        Exception: What a hook raised, with a note naming it.
    """
    if plan.shadows:
        from dshhooks.engine.shadow import ask_shadows

        ask_shadows(plan, (execution,))
    for impl in plan.implementations:
        try:
            answer = impl.fn(execution)
        except BaseException as exc:  # noqa: BLE001 - raised on
            raise blamed(exc, impl)  # noqa: B904 - it is the exception itself
        if answer is None:
            continue
        if issubclass(type(answer), str):  # isinstance() would believe whatever the answer calls its __class__
            return answer  # type: ignore[no-any-return]
        discard(answer)
        raise InvalidDecisionError(
            f"plugin {impl.plugin!r} answered hook {impl.hook!r} with {type(answer).__name__}; expected str or None"
        )
    return None
