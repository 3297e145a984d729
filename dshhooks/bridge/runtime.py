"""The external hook runtime: events in, folded outcomes out (spec/external-hooks.md A.6)."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Mapping
from functools import partial
from types import TracebackType
from typing import Any, Final

import anyio
import anyio.to_thread

from dshhooks.bridge.detached import Detached
from dshhooks.bridge.events import Event, resolve, subject_of
from dshhooks.bridge.execution import Runner
from dshhooks.bridge.folding import fold
from dshhooks.bridge.handlers.base import Handlers, Job
from dshhooks.bridge.history import History, record_of
from dshhooks.bridge.merge import load
from dshhooks.bridge.model import Configuration, Diagnostic, Explanation, Group, Source, Verdict
from dshhooks.bridge.options import BridgeOptions
from dshhooks.bridge.outcomes import Dispatch, Run
from dshhooks.bridge.payloads import Payloads, check_payload
from dshhooks.bridge.selection import matching, select
from dshhooks.bridge.trust import trust_store
from hookspecs.signal import NEVER, CancelSignal

__all__ = ["KEY_VARIABLE", "HookRuntime"]

log = logging.getLogger("dshhooks.bridge")

# Where the command line takes the model's key from; hooks never see it.
KEY_VARIABLE: Final = "DSHHOOKS_LLM_KEY"

# Sessions that ended without saying so are forgotten, the oldest first.
_MANY_SESSIONS: Final = 1_000


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
        self._detached = Detached()
        self._runner = Runner(self.options, self.handlers, self._detached)
        self._used: dict[str, set[str]] = {}
        self._reported: set[tuple[str, str]] = set()
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

    def reload(self) -> list[Diagnostic]:
        """Read all files again and return what there is to say; what cannot be read is a diagnostic, never raised."""
        store = trust_store(self.options, self._environ)
        trusted = store.trusts if store is not None else None
        self.configuration = load(self.options, trusted=trusted, kinds=self.handlers.kinds, environ=self._environ)
        self._report()
        return list(self.configuration.diagnostics)

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
                          used=self._used.get(_session(given), ()))  # fmt: skip
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
    ) -> Dispatch:
        """Run the hooks of an event, in order, and return their runs and what they say together.

        Args:
            event: Any dialect's name of it.
            payload: What hooks are told; each dialect's members are added. It is never changed.
            subject: What matchers are compared with; ``None``: taken from the payload.
            cwd: Working directory; ``None``: the project's, else the runtime's.
            signal: When it aborts, running hooks are ended and the others not started; such runs decide nothing.

        Raises:
            UnknownEventError: No dialect calls an event that; nothing ran.
            PayloadError: The payload is no JSON object; nothing ran.
        """
        row, given = resolve(event), check_payload(payload)
        work = _Work(self, row, event, given, subject, self._folder(cwd), signal or NEVER)
        if row.name == "session:end" and _session(given):
            self._detached.abort(_session(given))
        runs = await work.runs(self._selected(event, given, subject, signal))
        if row.name == "session:end":
            self._used.pop(_session(given), None)
        return Dispatch(row.name, fold([run.outcome for run in runs], row.name), runs)

    def _selected(self, event: str, payload: Mapping[str, Any], subject: str | None, signal: CancelSignal | None
                  ) -> list[Verdict]:  # fmt: skip
        """Return what runs now, and remember those that run once: before anything waits, so that nobody else does."""
        session = _session(payload)
        used = self._used.get(session, frozenset[str]())
        verdicts = matching(self.configuration, event, payload, subject=subject, options=self.options, used=used)
        once = {verdict.hook.id for verdict in verdicts if verdict.hook.once}
        if once and not (signal is not None and signal.aborted):
            self._used.setdefault(session, set()).update(once)
            while len(self._used) > _MANY_SESSIONS:
                del self._used[next(iter(self._used))]
        return verdicts

    def _folder(self, cwd: str | os.PathLike[str] | None) -> str:
        return os.path.abspath(cwd or self.options.project_dir or self.options.cwd or os.getcwd())

    def hook_environment(self) -> dict[str, str]:
        """Return what hooks see of the environment: all of it but the model's key."""
        environ = os.environ if self._environ is None else self._environ
        key = self.options.llm.api_key if self.options.llm is not None else None
        return {name: value for name, value in environ.items()
                if name != KEY_VARIABLE and (key is None or value != key)}  # fmt: skip

    # -- ending ----------------------------------------------------------------------------------------------------

    async def aclose(self, *, drain: bool = False) -> None:
        """End the hooks that run on their own, or with ``drain`` wait for them. Nothing may be dispatched after."""
        if len(self._detached) or drain:
            await anyio.to_thread.run_sync(partial(self._detached.close, drain=drain))
        else:
            self._detached.close()

    async def __aenter__(self) -> HookRuntime:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
                        ) -> None:  # fmt: skip
        with anyio.CancelScope(shield=True):
            await self.aclose()


class _Work:
    """One dispatch."""

    def __init__(self, runtime: HookRuntime, event: Event, dispatched: str, payload: Mapping[str, Any],
                 subject: str | None, cwd: str, signal: CancelSignal) -> None:  # fmt: skip
        self._runtime, self._event, self._dispatched = runtime, event, dispatched
        self._payloads = Payloads(event, payload, dispatched=dispatched, cwd=cwd)
        self._session = _session(payload)
        self._subject = subject_of(event, payload) if subject is None else subject
        self._cwd, self._signal = cwd, signal
        self._environ: dict[str, str] | None = None
        self._id = secrets.token_hex(8)

    async def runs(self, verdicts: list[Verdict]) -> list[Run]:
        if not self._runtime.options.parallel or len(verdicts) < 2:
            return [await self._run(verdict) for verdict in verdicts]
        runs: list[Run | None] = [None] * len(verdicts)

        async def at(index: int, verdict: Verdict) -> None:
            runs[index] = await self._run(verdict)

        async with anyio.create_task_group() as tasks:
            for index, verdict in enumerate(verdicts):
                tasks.start_soon(at, index, verdict)
        return [run for run in runs if run is not None]

    async def _run(self, verdict: Verdict) -> Run:
        runner = self._runtime._runner
        job = self._job(verdict)
        try:
            run = await runner.run(job, self._event, self._dispatched, self._signal, self._session)
        except anyio.get_cancelled_exc_class():
            self._record(runner.aborted(job, self._event, self._dispatched))
            raise
        self._record(run)
        return run

    def _record(self, run: Run) -> None:
        cap = self._runtime.options.stderr_cap
        self._runtime.history.add(record_of(run, dispatch=self._id, subject=self._subject, cap=cap))

    def _job(self, verdict: Verdict) -> Job:
        options, hook = self._runtime.options, verdict.hook
        if self._environ is None:
            self._environ = self._runtime.hook_environment()
        return Job(
            hook=hook,
            event=self._event.name,
            stdin=self._payloads.stdin(hook),
            body=self._payloads.body(hook),
            cwd=self._cwd,
            project_dir=os.path.abspath(options.project_dir) if options.project_dir is not None else self._cwd,
            environ=self._environ,
            timeout=options.timeout_of(hook),
            options=options,
        )


def _session(payload: Mapping[str, Any]) -> str:
    value = payload.get("session_id")
    return value if isinstance(value, str) else ""


def _explanation(verdict: Verdict) -> Explanation:
    hook, group = verdict.hook, verdict.group
    return Explanation(hook.id, verdict.runs, verdict.reason, hook.kind, group.dialect, hook.spelling,
                       group.source.file, group.matcher)  # fmt: skip
