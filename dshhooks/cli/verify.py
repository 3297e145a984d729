"""What ``dshhooks sessions verify`` finds: logs that do not hold, and policies that have changed since."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import attrs
from attrs import frozen

from dshhooks.cli.options import stdout_kept

if TYPE_CHECKING:
    from dshhooks.config import HarnessConfig
    from dshhooks.operations.drift import Assessment
    from dshhooks.operations.manifest import Manifest

__all__ = ["Configured", "Finding", "configured", "look"]


@frozen
class Configured:
    """What the configured plugins say about every session.

    Args:
        plugins: Those that may change what happens.
        policy_revision: The composed one of their operation guards.
    """

    plugins: tuple[str, ...]
    policy_revision: str

    def over(self, baseline: Manifest | None) -> Manifest:
        """Return what a session would go on under; tools and model are its agent's, which is not here to be asked."""
        from dshhooks.operations.manifest import MANIFEST_SCHEMA, Manifest

        return attrs.evolve(
            baseline if baseline is not None else Manifest(),
            schema=MANIFEST_SCHEMA,
            plugins=self.plugins,
            hook_policy_rev=self.policy_revision,
        )


@frozen
class Finding:
    """What became of one session.

    Args:
        name: The session.
        problem: What is wrong with its log, or empty.
        drift: What has changed since it was last accepted, or ``None`` when nobody could say.
    """

    name: str
    problem: str = ""
    drift: Assessment | None = None

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        changes = self.drift.changes if self.drift is not None else None
        return {
            "session": self.name,
            "ok": not self.problem,
            "problem": self.problem or None,
            "drift": None if changes is None else [_change(change) for change in changes],
        }


def _change(change: Any) -> dict[str, Any]:
    values = {name: list(v) if isinstance(v := getattr(change, name), tuple) else v for name in ("old", "new")}
    return {"category": change.category, "severity": str(change.severity), **values}


def configured(config: HarnessConfig) -> Configured | None:
    """Return what the configured plugins say; ``None``, after a warning, when they do not allow a start."""
    from dshhooks.agent.manifest import Governing
    from dshhooks.harness import build

    with stdout_kept(True):  # plugins may print
        host = build(config)
    try:
        if host.plugins.problems:
            said = "; ".join(host.plugins.problems)
            logging.getLogger("dshhooks.cli").warning("policy drift is not checked: %s", said)
            return None
        return Configured(tuple(Governing(host.hooks).names()), host.operations.policy_revision)
    finally:
        host.hooks.close()


async def look(store: Any, session_id: str | None, now: Configured | None) -> list[Finding]:
    """Check one session, or all of a store, without changing any."""
    names = [session_id] if session_id else [header.id for header in await store.list()]
    return [await _finding(store, name, now) for name in names]


async def _finding(store: Any, name: str, now: Configured | None) -> Finding:
    from dshhooks.operations.drift import assess_drift
    from hookspecs.errors import HarnessError

    try:
        problem = await _problem(store, name)
        baseline = (await store.ledger(name)).baseline
    except HarnessError as exc:
        return Finding(name, str(exc))
    return Finding(name, problem, None if now is None else assess_drift(baseline, now.over(baseline)))


async def _problem(store: Any, name: str) -> str:
    from dshhooks.session.enclosure import TurnEnclosure

    stored = await store.inspect(name)
    check = TurnEnclosure()
    for event in stored.events:
        check(event)
    return f"not closed; resuming repairs it: {'; '.join(map(str, stored.repair))}" if stored.repair else ""
