"""The external hook runtime: events in, folded outcomes out (spec/external-hooks.md A.6)."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any

import anyio
import anyio.to_thread
from attrs import evolve

from dshhooks.bridge.detached import Detached
from dshhooks.bridge.environment import hook_environment
from dshhooks.bridge.errors import BridgeError
from dshhooks.bridge.events import TOOL_EVENTS, resolve, subject_of
from dshhooks.bridge.execution import Runner
from dshhooks.bridge.folding import fold
from dshhooks.bridge.handlers.table import Handlers
from dshhooks.bridge.history import History
from dshhooks.bridge.merge import load, unusable
from dshhooks.bridge.model import Configuration, Diagnostic, Explanation, Group, Source, Verdict
from dshhooks.bridge.once import Once
from dshhooks.bridge.options import BridgeOptions
from dshhooks.bridge.outcomes import Dispatch
from dshhooks.bridge.payloads import check_payload
from dshhooks.bridge.selection import matching, select
from dshhooks.bridge.trust import TrustStore, trust_store
from dshhooks.bridge.work import Watch, Work, session_of
from hookspecs.signal import NEVER, CancelSignal

__all__ = ["HookRuntime", "Watch"]

log = logging.getLogger("dshhooks.bridge")


class HookRuntime:
    """Runs configured hooks for any host. Files are read when it is made and on :meth:`reload`.

    A context manager, ``async with``, for hosts whose files have ``async`` hooks: leaving it ends those.

    Args:
        options: Where hook files are, how they are read and run.
        handlers: The kinds of handlers; ``None``: those of the contract.
        environ: The environment of hooks, of headers and of discovery; ``None``: the process's.
    """

    def __init__(
        self,
        options: BridgeOptions | None = None,
        *,
        handlers: Handlers | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.options = options if options is not None else BridgeOptions()
        self.handlers = handlers if handlers is not None else Handlers()
        self.history = History(self.options.history)
        self._environ = environ
        self._detached = Detached(self.options.limits.detached)
        self._runner = Runner(self.options, self.handlers, self._detached)
        self._once = Once()
        self._reported: set[tuple[str, str]] = set()
        self._pipes: dict[str, bytes] = {}
        self.configuration = Configuration()
        self.reload()

    # -- looking ---------------------------------------------------------------------------------------------------

    @property
    def groups(self) -> tuple[Group, ...]:
        """The active groups, in order."""
        return self.configuration.groups

    @property
    def sources(self) -> tuple[Source, ...]:
        """The files that were found, the most specific last."""
        return self.configuration.sources

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """What the last reading had to say."""
        return self.configuration.diagnostics

    @property
    def enabled(self) -> bool:
        """Whether hooks are switched on."""
        return self.configuration.enabled

    @property
    def unusable(self) -> Source | None:
        """The file somebody named that could not be used: its guards are silent, not absent. ``None``: all is well."""
        return unusable(self.configuration)

    def reload(self) -> list[Diagnostic]:
        """Read all files again and return what there is to say; what cannot be read is a diagnostic, never raised.

        A file somebody named that has become unusable changes nothing: the hooks it had before stay in force.
        """
        store = trust_store(self.options, self._environ)
        trusted = store.trusts if store is not None else None
        read = load(self.options, trusted=trusted, kinds=self.handlers.kinds, environ=self._environ, pipes=self._pipes)
        if unusable(read) is not None and self.configuration.sources and self.unusable is None:
            read = evolve(self.configuration, diagnostics=map(_kept, read.diagnostics))
        self._once.renew(self.configuration, read)
        self.configuration = _with_doubts(read, store)
        self._report()
        return list(self.configuration.diagnostics)

    def adopt(self, handlers: Handlers) -> list[Diagnostic]:
        """Take the kinds of hooks from another table, and read all files again with it."""
        self.handlers = handlers
        self._runner = Runner(self.options, handlers, self._detached)
        return self.reload()

    def _report(self) -> None:
        """Say once about each version of each file that it is not run."""
        hints = {note.source: note.hint for note in self.diagnostics if note.code == "file-untrusted"}
        for source in self.sources:
            version = (source.file, source.digest)
            if not source.trusted and version not in self._reported:
                self._reported.add(version)
                log.warning("%s comes with the project and is not trusted: its hooks are not run; %s", source.file,
                            hints.get(source.file) or "trust it first")  # fmt: skip

    def explain(self, event: str, payload: Mapping[str, Any] | None = None, *, subject: str | None = None
                ) -> list[Explanation]:  # fmt: skip
        """Return for every configured hook whether it would run, and why; nothing is run.

        Raises:
            UnknownEventError: No dialect calls an event that.
            PayloadError: The payload is no JSON object.
        """
        given = check_payload(payload)
        verdicts = select(self.configuration, event, given, subject=subject, options=self.options,
                          used=self._once.used(session_of(given)))  # fmt: skip
        return [_explanation(verdict) for verdict in verdicts]

    # -- running ---------------------------------------------------------------------------------------------------

    async def dispatch(
        self,
        event: str,
        payload: Mapping[str, Any] | None = None,
        *,
        subject: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        signal: CancelSignal | None = None,
        watch: Watch | None = None,
    ) -> Dispatch:
        """Run the hooks of an event, in order, and return their runs and what they say together.

        Args:
            event: Any dialect's name of it.
            payload: What hooks are told; each dialect's members are added. It is never changed.
            subject: What matchers are compared with; ``None``: taken from the payload.
            cwd: Working directory; ``None``: the project's, else the runtime's.
            signal: When it aborts, running hooks are ended and the others not started; such runs decide nothing.
            watch: Told of each run as it begins and ends, also when the caller is cancelled.

        Raises:
            UnknownEventError: No dialect calls an event that; nothing ran.
            PayloadError: The payload is no JSON object; nothing ran.
            BridgeError: There is no working directory; nothing ran.
        """
        row, given = resolve(event), check_payload(payload)
        work = Work(
            event=row,
            dispatched=event,
            payload=given,
            subject=subject,
            cwd=self._folder(cwd),
            signal=signal or NEVER,
            environ=partial(hook_environment, os.environ if self._environ is None else self._environ, self.options),
            options=self.options,
            runner=self._runner,
            history=self.history,
            watch=watch,
        )
        if subject is None and row.name in TOOL_EVENTS and not subject_of(row, given):
            log.debug("%s: the payload names no tool, so only groups that match everything run", event)
        session = session_of(given)
        if row.name == "session:end" and session:
            self._detached.abort(session)
        verdicts = matching(self.configuration, event, given, subject=subject, options=self.options,
                            used=self._once.used(session))  # fmt: skip
        taken = self._once.take(session, verdicts)
        try:
            runs = await work.runs(verdicts)
        finally:
            self._once.give_back(session, taken - work.started)
        if row.name == "session:end":
            self._once.end(session)
        return Dispatch(row.name, fold([run.outcome for run in runs], row.name), runs)

    def _folder(self, cwd: str | os.PathLike[str] | None) -> str:
        try:
            return os.path.abspath(cwd or self.options.project_dir or self.options.cwd or ".")
        except FileNotFoundError:
            raise BridgeError("this process's own working directory is gone: say where hooks run with cwd=") from None

    # -- ending ----------------------------------------------------------------------------------------------------

    async def aclose(self, *, drain: bool = False) -> None:
        """End the hooks that run on their own, or with ``drain`` wait for them. Nothing may be dispatched after."""
        try:
            if drain and len(self._detached):
                # Abandoned when somebody cancels: they are ended then, and with them the waiting.
                await anyio.to_thread.run_sync(self._detached.drain, abandon_on_cancel=True)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._detached.close)

    def close(self) -> None:
        """End the hooks that run on their own, and wait for that for a bounded time; for hosts that cannot await."""
        self._detached.close()

    async def __aenter__(self) -> HookRuntime:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
                        ) -> None:  # fmt: skip
        with anyio.CancelScope(shield=True):
            await self.aclose()


def _with_doubts(configuration: Configuration, store: TrustStore | None) -> Configuration:
    """Add why nothing is trusted, if that is what keeps a project's file from running."""
    if store is None or all(source.trusted for source in configuration.sources):
        return configuration
    problem = store.problem()
    if problem is None:
        return configuration
    note = Diagnostic("warning", "trust-unreadable", f"cannot be read, so nothing is trusted: {problem}",
                      str(store.path), hint="trust the project's files again: that writes it anew")  # fmt: skip
    return evolve(configuration, diagnostics=[*configuration.diagnostics, note])


def _kept(note: Diagnostic) -> Diagnostic:
    """Add to what is wrong with a file what it means for a host that goes on."""
    if note.level != "error":
        return note
    return evolve(note, message=f"{note.message}; the hooks it had before stay in force")


def _explanation(verdict: Verdict) -> Explanation:
    hook, group = verdict.hook, verdict.group
    return Explanation(hook.id, verdict.runs, verdict.reason, hook.kind, group.dialect, hook.spelling,
                       group.source.file, group.matcher)  # fmt: skip
