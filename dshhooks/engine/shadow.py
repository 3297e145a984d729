"""Shadow mode: a plugin that answers, is written down, and is not obeyed (decisions.md 3.13)."""

from __future__ import annotations

import logging
from typing import Any

from dshhooks.engine.chain import around
from dshhooks.engine.observe import contained
from dshhooks.engine.plan import Plan
from dshhooks.engine.trace import note_shadow, outcome_of

__all__ = ["shadowed"]

log = logging.getLogger("dshhooks.shadow")


async def shadowed(plan: Plan, args: tuple[Any, ...], default: Any = None, body: Any = None) -> Any:
    """Ask the shadowed plugins first, record what they would have done, then run the chain that counts."""
    for impl in plan.shadows:
        with note_shadow(impl) as record:
            answer = await contained(impl, args)
            outcome, detail = outcome_of(answer)
            log.info("shadowed plugin %r, hook %r: %s %s", impl.plugin, impl.hook, outcome, detail)
            if record is not None:
                record.outcome, record.detail = outcome, detail
    run = around if plan.wrappers else plan.inner
    return await run(plan, args, default, body)
