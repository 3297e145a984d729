"""Which configured hooks run for an event; dispatch and explain ask the same function (A.3, A.6.1, A.13)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from dshhooks.bridge.conditions import parse_condition
from dshhooks.bridge.events import TOOL_EVENTS, Event, admits, resolve, subject_of
from dshhooks.bridge.model import Configuration, Group, Hook, Verdict
from dshhooks.bridge.options import BridgeOptions

__all__ = ["matching", "select"]

Used = Callable[[Hook], bool]


def select(
    configuration: Configuration,
    event: str,
    payload: Mapping[str, Any],
    *,
    subject: str | None = None,
    options: BridgeOptions | None = None,
    used: Collection[str] = frozenset(),
) -> list[Verdict]:
    """Return for every configured hook whether it runs, and the first condition that says no.

    Args:
        configuration: What the files say.
        event: Any dialect's name of the event; it decides between names that exclude each other.
        payload: The caller's payload: the subject and ``if`` are read from it.
        subject: What matchers are compared with; ``None``: derived from the payload. ``""`` is a subject.
        options: For aliases of tools and for dedupe.
        used: Ids of hooks with ``once`` that have run in this session.

    Raises:
        UnknownEventError: No dialect calls an event that.
    """
    active = set(map(id, configuration.groups))
    judge = _Judge(resolve(event), event, payload, subject, options, used)
    verdicts: list[Verdict] = []
    for group in configuration.configured or configuration.groups:
        if id(group) in active:
            verdicts += judge.verdicts(group)
        else:
            reason = "untrusted" if not group.source.trusted else "disabled"
            verdicts += [Verdict(hook, group, False, reason) for hook in group.hooks]
    return verdicts


def matching(
    configuration: Configuration,
    event: str,
    payload: Mapping[str, Any],
    *,
    subject: str | None = None,
    options: BridgeOptions | None = None,
    used: Collection[str] = frozenset(),
) -> list[Verdict]:
    """Return the verdicts of those that run, in the order of the configuration. Arguments are those of `select`."""
    row = resolve(event)
    groups = configuration.by_event.get(row.name)
    if not groups:
        return []
    judge = _Judge(row, event, payload, subject, options, used)
    return [verdict for group in groups for verdict in judge.verdicts(group) if verdict.runs]


class _Judge:
    """One dispatch: the subject with its aliases, and the handlers seen so far."""

    def __init__(
        self,
        event: Event,
        dispatched: str,
        payload: Mapping[str, Any],
        subject: str | None,
        options: BridgeOptions | None,
        used: Collection[str],
    ) -> None:
        self._event = event
        self._dispatched = dispatched
        self._payload = payload
        self._subject = subject_of(event, payload) if subject is None else subject
        aliases = options.tool_aliases if options is not None and event.name in TOOL_EVENTS else {}
        self._aliases: Iterable[str] = aliases.get(self._subject, ())
        self._dedupe = options is not None and options.dedupe
        self._used = used
        self._seen: set[tuple[object, ...]] = set()

    def verdicts(self, group: Group) -> Iterator[Verdict]:
        reason = self._of_group(group)
        for hook in group.hooks:
            why = reason or self._of_hook(hook)
            yield Verdict(hook, group, why is None, why or "match")

    def _of_group(self, group: Group) -> str | None:
        event = self._event
        if group.canonical != event.name or not admits(event, group.dialect, group.spelling, self._dispatched):
            return "event-mismatch"
        return None if group.test.matches(self._subject, self._aliases) else "matcher"

    def _of_hook(self, hook: Hook) -> str | None:
        if hook.condition is not None and not self._holds(hook.condition):
            return "if"
        if hook.once and hook.id in self._used:
            return "once-used"
        return "duplicate" if self._dedupe and self._again(hook) else None

    def _holds(self, rule: str) -> bool:
        if self._event.name not in TOOL_EVENTS:
            return False  # such a rule is about a tool call, and this is none
        condition = parse_condition(rule)
        return any(condition.holds(name, self._payload) for name in (self._subject, *self._aliases))

    def _again(self, hook: Hook) -> bool:
        """Say whether the same handler was there before; matchers are not part of what makes handlers the same."""
        handler = (hook.command, hook.args, tuple(hook.platform_commands.items()), hook.url, hook.prompt)
        key = (hook.canonical, hook.spelling, hook.kind, hook.shell, handler, hook.condition)
        if key in self._seen:
            return True
        self._seen.add(key)
        return False
