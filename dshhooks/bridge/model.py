"""What the bridge passes around, the configured side; what comes back from hooks is in ``outcomes.py``.

::

    files ──discovery──► Source ──parse──► Group[Hook] + Diagnostic ──merge──► Configuration
    event + payload ──selection──► Verdict per hook ──payloads──► bytes ──handlers──► RawResult
    RawResult ──response.decode_response──► Outcome ──fold──► FoldedOutcome
    runtime.dispatch ──► Dispatch(canonical, outcome, runs=[Run]);   runtime.explain ──► [Explanation]

Everything in the two modules is frozen and knows nothing of processes. ``as_json()`` gives the form on the wire:
camelCase, optional members left out where there is nothing. Options are in ``options.py``; what differs between
dialects is in ``dialects.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

from attrs import field, frozen

from dshhooks.bridge.dialects import Dialect, Profile
from dshhooks.bridge.matchers import MATCH_ALL, Matcher

__all__ = ["Configuration", "Diagnostic", "Explanation", "Group", "Hook", "Level", "OnError", "Scope", "Source",
           "Verdict"]  # fmt: skip

Level = Literal["error", "warning", "info"]
Scope = Literal["user", "project", "local", "pinned"]
OnError = Literal["warn", "block", "ignore"]

_NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@frozen
class Diagnostic:
    """Something a person should know about a hook file or an answer.

    Args:
        level: ``error``, ``warning`` or ``info``.
        code: The stable kind, for example ``"flat-hook"``.
        message: What is wrong, in one sentence.
        source: The file, or the hook's id for an answer.
        path: JSON pointer into the file, for example ``/hooks/PreToolUse/0/hooks/1/timeout``; empty: the whole file.
        hint: What to write instead, if there is something to say.
    """

    level: Level
    code: str
    message: str
    source: str = ""
    path: str = ""
    hint: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the members; ``hint`` only if there is one."""
        document = {"level": self.level, "code": self.code, "message": self.message, "source": self.source}
        return document | {"path": self.path} | ({} if self.hint is None else {"hint": self.hint})


@frozen
class Source:
    """A hook file: where it came from and how it is read.

    Args:
        file: The path as it was found.
        dialect: Whose format it is.
        profile: How literally it is read.
        scope: ``user``, ``project``, ``local`` (the project's, not checked in) or ``pinned``.
        digest: SHA-256 of the bytes read, in hex; empty when they could not be read.
        loaded: Whether it was read as far as its events; ``False`` for a missing or broken file.
        trusted: ``False``: nobody has agreed to run what a checkout brought; its groups are not active.
    """

    file: str
    dialect: Dialect
    profile: Profile
    scope: Scope
    digest: str = ""
    loaded: bool = True
    trusted: bool = True

    def as_json(self) -> dict[str, Any]:
        """Return what ``bridge dump`` shows."""
        return {name: getattr(self, name) for name in ("file", "dialect", "profile", "scope", "loaded", "trusted")}


# Without slots: files with hundreds of hooks are read, and a frozen class with slots takes twice as long to make.
@frozen(slots=False)
class Hook:
    """One configured handler, checked; fields the kind does not have are ``None``.

    Args:
        id: ``dialect:scope:file:event:group:hook``, unique in a runtime; the numbers are positions in the file.
        kind: ``shell``, ``webhook``, ``oracle``, ``proxy``, or one a plugin registered.
        source: The file it stands in.
        canonical: The canonical event.
        spelling: The event's name as the file writes it.
        matcher: Its group's pattern as written; ``None``: matches everything.
        path: JSON pointer to it.
        command: Shell text, or the program when ``args`` is there. ``None`` for a proxy that uses the runtime's runner,
            and for a hook that has only ``platform_commands``.
        args: Exec form: the arguments, each one argument, no shell.
        shell: ``bash`` or ``powershell``; ``None``: the platform's.
        platform_commands: What replaces ``command``: keys ``windows``, ``linux``, ``osx``, ``bash``, ``powershell``.
        url: Where a webhook posts to.
        headers: Header templates of a webhook; ``$NAME`` and ``${NAME}`` are still in them.
        allowed_env_vars: Which variables may be put into headers; ``None``: as the dialect says.
        prompt: Template of an oracle or proxy.
        model: Overrides the configured model.
        timeout: Seconds; ``None``: the runtime's, else the kind's.
        env: Added to the environment.
        cwd: Working directory, relative to the dispatch's.
        on_error: What an infrastructure failure does; ``None``: as the runtime says.
        exit_other_is_failure: Exits other than 0 and 2 are infrastructure failures too.
        status_message: For hosts that show one.
        detached: Started and not waited for: it cannot decide (``async``).
        once: At most one run in a session.
        condition: The permission rule of ``if``, as written, where it is evaluated.
        fields: All members as written, for kinds a plugin registered; empty for the others.
    """

    id: str
    kind: str
    source: Source
    canonical: str
    spelling: str
    matcher: str | None = None
    path: str = ""
    command: str | None = None
    args: tuple[str, ...] | None = None
    shell: str | None = None
    platform_commands: Mapping[str, str] = _NOTHING
    url: str | None = None
    headers: Mapping[str, str] = _NOTHING
    allowed_env_vars: tuple[str, ...] | None = None
    prompt: str | None = None
    model: str | None = None
    timeout: float | None = None
    env: Mapping[str, str] = _NOTHING
    cwd: str | None = None
    on_error: OnError | None = None
    exit_other_is_failure: bool = False
    status_message: str | None = None
    detached: bool = False
    once: bool = False
    condition: str | None = None
    fields: Mapping[str, Any] = _NOTHING

    @property
    def dialect(self) -> Dialect:
        """The dialect of its file."""
        return self.source.dialect

    @property
    def profile(self) -> Profile:
        """The profile its file is read in."""
        return self.source.profile

    def as_json(self) -> dict[str, Any]:
        """Return the ``hook`` member of a run record; never environment, headers, commands or prompts."""
        document = {"id": self.id, "dialect": self.dialect, "event": self.canonical, "kind": self.kind}
        extra = {"matcher": self.matcher, "statusMessage": self.status_message}
        return document | {name: value for name, value in extra.items() if value is not None}


@frozen(slots=False)
class Group:
    """One matcher and its hooks, under one name of one event, from one file."""

    canonical: str
    spelling: str
    source: Source
    hooks: tuple[Hook, ...]
    test: Matcher = MATCH_ALL
    matcher: str | None = None
    path: str = ""

    @property
    def dialect(self) -> Dialect:
        """The dialect of its file."""
        return self.source.dialect

    def as_json(self) -> dict[str, Any]:
        """Return what ``bridge dump`` shows."""
        hooks = [_shown(hook) for hook in self.hooks]
        document = {"event": self.canonical, "spelling": self.spelling, "dialect": self.dialect}
        return document | {"source": self.source.file, "matcher": self.matcher, "hooks": hooks}


def _shown(hook: Hook) -> dict[str, Any]:
    """A hook for ``dump``: what it is and how it runs, without the parts that hold secrets."""
    document: dict[str, Any] = {"id": hook.id, "kind": hook.kind}
    for name, value in (("command", hook.command), ("args", hook.args), ("timeout", hook.timeout),
                        ("if", hook.condition), ("onError", hook.on_error)):  # fmt: skip
        if value is not None:
            document[name] = list(value) if isinstance(value, tuple) else value
    return document | ({"async": True} if hook.detached else {}) | ({"once": True} if hook.once else {})


def _groups(value: Iterable[Group]) -> tuple[Group, ...]:
    return tuple(value)


def _sources(value: Iterable[Source]) -> tuple[Source, ...]:
    return tuple(value)


def _diagnostics(value: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(value)


@frozen
class Configuration:
    """Everything the files say, in order: sources as discovered, groups as written.

    ``groups`` are the active ones: of loaded and trusted files, none when hooks are disabled. ``configured`` are all
    that were understood, for ``explain``.
    """

    groups: tuple[Group, ...] = field(default=(), converter=_groups)
    sources: tuple[Source, ...] = field(default=(), converter=_sources)
    diagnostics: tuple[Diagnostic, ...] = field(default=(), converter=_diagnostics)
    enabled: bool = True
    configured: tuple[Group, ...] = field(default=(), converter=_groups)
    by_event: Mapping[str, tuple[Group, ...]] = field(init=False, repr=False, eq=False)

    @by_event.default
    def _by_event(self) -> Mapping[str, tuple[Group, ...]]:
        index: dict[str, list[Group]] = {}
        for group in self.groups:
            index.setdefault(group.canonical, []).append(group)
        return {name: tuple(groups) for name, groups in index.items()}

    def as_json(self) -> dict[str, Any]:
        """Return what ``bridge dump`` prints."""
        sources, groups = [s.as_json() for s in self.sources], [g.as_json() for g in self.groups]
        return {"enabled": self.enabled, "sources": sources, "groups": groups}


@frozen
class Verdict:
    """Whether one configured hook runs for one dispatch, and the first condition that says no.

    ``reason`` is ``match`` when it runs, else ``event-mismatch``, ``matcher``, ``if``, ``disabled``, ``untrusted``,
    ``once-used`` or ``duplicate``.
    """

    hook: Hook
    group: Group
    runs: bool
    reason: str


@frozen
class Explanation:
    """Whether one configured hook would run, and why (A.13); ``reason`` is that of :class:`Verdict`."""

    id: str
    runs: bool
    reason: str
    kind: str
    dialect: Dialect
    event: str
    source: str
    matcher: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the members; ``matcher`` is null for one that matches everything."""
        names = ("id", "runs", "reason", "kind", "dialect", "event", "source", "matcher")
        return {name: getattr(self, name) for name in names}
