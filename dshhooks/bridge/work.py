"""One dispatch: its hooks in order or together, each with its payload, each with its record."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Final, Protocol

import anyio
from attrs import field, frozen

from dshhooks.bridge.events import Event, subject_of
from dshhooks.bridge.execution import Runner
from dshhooks.bridge.handlers.base import Job
from dshhooks.bridge.history import History, record_of
from dshhooks.bridge.model import Hook, Verdict
from dshhooks.bridge.options import BridgeOptions
from dshhooks.bridge.outcomes import Run
from dshhooks.bridge.payloads import Payloads
from hookspecs.signal import CancelSignal

__all__ = ["Watch", "Work", "session_of"]


_NOT_STARTED: Final = frozenset({"spawn-failed", "config"})


class Watch(Protocol):
    """Is told of each run of one dispatch: as it begins, and once it has ended, however it ended. Must not raise."""

    def began(self, hook: Hook) -> None:
        """A hook is about to run."""

    def ended(self, run: Run) -> None:
        """It has run."""


@frozen(kw_only=True, slots=False)
class Work:
    """What the runs of one dispatch have in common.

    Args:
        event: The event's row.
        dispatched: The name it was dispatched by.
        payload: The caller's.
        subject: What matchers are compared with; ``None``: taken from the payload.
        cwd: The working directory, absolute.
        signal: The host's.
        environ: Makes the environment of hooks; asked when there is one.
        options: The runtime's.
        runner: Runs them.
        history: Records them.
        watch: Told of them; ``None``: nobody.
    """

    event: Event
    dispatched: str
    payload: Mapping[str, Any]
    subject: str | None
    cwd: str
    signal: CancelSignal
    environ: Callable[[], Mapping[str, str]]
    options: BridgeOptions
    runner: Runner
    history: History
    watch: Watch | None = None
    id: str = field(init=False, factory=lambda: secrets.token_hex(8))
    started: set[str] = field(init=False, factory=set)  # hooks that were given their run, by id

    async def runs(self, verdicts: list[Verdict]) -> list[Run]:
        """Run the hooks and return their runs in the order of the configuration, however they ended."""
        if not self.options.parallel or len(verdicts) < 2:
            return [await self._run(verdict) for verdict in verdicts]
        runs: list[Run | None] = [None] * len(verdicts)

        async def at(index: int, verdict: Verdict) -> None:
            runs[index] = await self._run(verdict)

        async with anyio.create_task_group() as tasks:
            for index, verdict in enumerate(verdicts):
                tasks.start_soon(at, index, verdict)
        return [run for run in runs if run is not None]

    async def _run(self, verdict: Verdict) -> Run:
        job = self._job(verdict)
        if self.watch is not None:
            self.watch.began(job.hook)
        if not self.signal.aborted:
            self.started.add(job.hook.id)
        try:
            run = await self.runner.run(job, self.event, self.dispatched, self.signal, session_of(self.payload))
        except BaseException:  # a cancellation, which trio's nurseries raise in a group; or an interrupt
            self._ended(self.runner.aborted(job, self.event, self.dispatched))
            raise
        if run.outcome.failure in _NOT_STARTED:
            self.started.discard(job.hook.id)
        self._ended(run)
        return run

    def _ended(self, run: Run) -> None:
        if self.watch is not None:
            self.watch.ended(run)
        subject = subject_of(self.event, self.payload) if self.subject is None else self.subject
        self.history.add(record_of(run, dispatch=self.id, subject=subject, cap=self.options.stderr_cap))

    def _job(self, verdict: Verdict) -> Job:
        options, hook = self.options, verdict.hook
        return Job(
            hook=hook,
            event=self.event.name,
            stdin=self._payloads.stdin(hook),
            body=self._payloads.body(hook),
            cwd=self.cwd,
            project_dir=os.path.abspath(options.project_dir) if options.project_dir is not None else self.cwd,
            environ=self._environ,
            timeout=options.timeout_of(hook),
            options=options,
        )

    @cached_property
    def _environ(self) -> Mapping[str, str]:
        return self.environ()

    @cached_property
    def _payloads(self) -> Payloads:
        return Payloads(self.event, self.payload, dispatched=self.dispatched, cwd=self.cwd)


def session_of(payload: Mapping[str, Any]) -> str:
    """Return the session a payload is about; ``""``: it does not say."""
    value = payload.get("session_id")
    return value if isinstance(value, str) else ""
