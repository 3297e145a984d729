"""Which hooks with ``once`` have had their run, by session (spec/external-hooks.md A.4.2)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from attrs import evolve

from dshhooks.bridge.model import Configuration, Hook, Verdict

__all__ = ["Once"]

# Sessions that ended without saying so are forgotten, the oldest first.
_MANY_SESSIONS: Final = 1_000


class Once:
    """Remembers for a runtime which hooks are used up."""

    def __init__(self) -> None:
        self._used: dict[str, set[str]] = {}

    def used(self, session: str) -> Collection[str]:
        """Return the ids of hooks that run no more in a session."""
        return self._used.get(session, frozenset())

    def take(self, session: str, verdicts: Iterable[Verdict]) -> frozenset[str]:
        """Use up those of the hooks that run once, before anything waits, so that nobody else runs them.

        Returns:
            Their ids.
        """
        taken = frozenset(verdict.hook.id for verdict in verdicts if verdict.hook.once)
        if taken:
            self._used.setdefault(session, set()).update(taken)
            while len(self._used) > _MANY_SESSIONS:
                del self._used[next(iter(self._used))]
        return taken

    def give_back(self, session: str, hooks: Collection[str]) -> None:
        """Have hooks run after all: they were not started, and what they guard must not go unguarded."""
        if hooks and session in self._used:
            self._used[session].difference_update(hooks)

    def end(self, session: str) -> None:
        """Forget a session."""
        self._used.pop(session, None)

    def renew(self, old: Configuration, new: Configuration) -> None:
        """Files were read again: an id that means another hook now has not been used."""
        if not self._used:
            return
        before, now = _once(old), _once(new)
        kept = {key for key, hook in now.items() if key in before and _same(before[key], hook)}
        for ids in self._used.values():
            ids.intersection_update(kept)


def _once(configuration: Configuration) -> dict[str, Hook]:
    groups = configuration.configured or configuration.groups
    return {hook.id: hook for group in groups for hook in group.hooks if hook.once}


def _same(old: Hook, new: Hook) -> bool:
    return evolve(old, source=new.source) == new
