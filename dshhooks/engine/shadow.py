"""Shadow mode: a plugin that answers, is written down, and is not obeyed (decisions.md 3.13)."""

from __future__ import annotations

from typing import Any

from dshhooks.engine.chain import around
from dshhooks.engine.logs import Log
from dshhooks.engine.observe import contained, contained_now
from dshhooks.engine.plan import Implementation, Plan
from dshhooks.engine.trace import TraceRecord, note_shadow, outcome_of

__all__ = ["ask_shadow", "ask_shadows", "shadowed"]

log = Log("dshhooks.shadow")


async def shadowed(plan: Plan, args: tuple[Any, ...], default: Any = None, body: Any = None) -> Any:
    """Ask the shadowed plugins first, record what they would have done, then run the chain that counts."""
    for impl in plan.shadows:
        await ask_shadow(impl, args)
    run = around if plan.wrappers else plan.inner
    return await run(plan, args, default, body)


async def ask_shadow(impl: Implementation, args: tuple[Any, ...]) -> None:
    """Ask one shadowed implementation and record what it would have done."""
    with note_shadow(impl) as record:
        _write_down(impl, args, await contained(impl, args), record)


def ask_shadows(plan: Plan, args: tuple[Any, ...]) -> None:
    """Ask the shadowed plugins of a synchronous hook and record what they would have done."""
    for impl in plan.shadows:
        with note_shadow(impl) as record:
            _write_down(impl, args, contained_now(impl, args), record)


def _write_down(impl: Implementation, args: tuple[Any, ...], answer: Any, record: TraceRecord | None) -> None:
    outcome, detail = outcome_of(answer, impl.hook)
    log.info("shadowed plugin %r, hook %r: %s %s", impl.plugin, impl.hook, outcome, detail)
    if record is not None:
        record.outcome, record.detail = outcome, detail
    # Whom it is about keeps a log of its own: an agent, which is the first argument or belongs to it.
    about = args[0] if args else None
    note = getattr(getattr(about, "agent", about), "note_shadow", None)
    if answer is not None and note is not None:
        note(impl.hook, impl.plugin, outcome, detail)
