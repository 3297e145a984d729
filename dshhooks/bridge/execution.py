"""One run: the handler under its time limit and the host's signal, then what it means (spec/external-hooks.md A.6)."""

from __future__ import annotations

import logging
import time
from typing import Any, Final

import anyio
from attrs import evolve

from dshhooks.bridge.detached import Detached
from dshhooks.bridge.events import Event
from dshhooks.bridge.handlers.base import Job
from dshhooks.bridge.handlers.table import Handlers
from dshhooks.bridge.model import Diagnostic
from dshhooks.bridge.options import BridgeOptions
from dshhooks.bridge.outcomes import Outcome, RawResult, Run
from dshhooks.bridge.response import decode_response
from dshhooks.engine.faults import is_fault
from dshhooks.engine.observe import described
from dshhooks.engine.scope import tied_scope
from hookspecs.signal import NEVER, CancelSignal

__all__ = ["Runner"]

log = logging.getLogger("dshhooks.bridge")

_LEVELS: Final = {"error": logging.ERROR, "warning": logging.WARNING, "info": logging.DEBUG}
_ABORTED: Final = RawResult(failure="aborted", error="hook aborted by the host")


class Runner:
    """Runs jobs; nothing a handler does comes out as an exception, but for the caller's own cancellation."""

    def __init__(self, options: BridgeOptions, handlers: Handlers, detached: Detached) -> None:
        self._options, self._handlers, self._detached = options, handlers, detached

    async def run(self, job: Job, event: Event, dispatched: str, signal: CancelSignal, session: str) -> Run:
        """Do a job and return its run. A job of a hook that is not waited for is only started.

        Args:
            job: The hook, and what it is given.
            event: The event's row.
            dispatched: The name it was dispatched by.
            signal: The host's.
            session: The session, whose end also ends what was only started.
        """
        started = time.perf_counter()
        if signal.aborted:
            raw = _ABORTED
        elif job.hook.detached:
            raw = self._started(job, session)
        else:
            raw = await self._tied(job, signal)
        return self._decoded(job, raw, event, dispatched, time.perf_counter() - started)

    def aborted(self, job: Job, event: Event, dispatched: str) -> Run:
        """Return the run of a job whose caller was cancelled."""
        return self._decoded(job, _ABORTED, event, dispatched, 0.0)

    async def _tied(self, job: Job, signal: CancelSignal) -> RawResult:
        if signal is NEVER:
            return await self._timed(job)
        with tied_scope(signal):
            return await self._timed(job)
        return _ABORTED

    def _started(self, job: Job, session: str) -> RawResult:
        try:
            if self._detached.start(lambda: self._alone(job), session):
                return RawResult(detached=True)
        except (OSError, RuntimeError) as exc:
            what = f"nothing could be started to run it beside the host: {described(exc)}"
            return RawResult(failure="spawn-failed", error=what)
        most = self._options.limits.detached
        return RawResult(failure="spawn-failed", error=f"{most} hooks nobody waits for run already: it was not started")

    async def _alone(self, job: Job) -> None:
        raw = await self._timed(job)
        if raw.failure is not None:
            log.warning("%s: %s", job.hook.id, raw.error)

    async def _timed(self, job: Job) -> RawResult:
        handler = self._handlers.find(job.hook.kind)
        if handler is None:
            return RawResult(failure="config", error=f"nobody runs hooks of kind {job.hook.kind!r} any more")
        # Those that end a process keep the time themselves, and can still tell what it had printed.
        if getattr(handler, "keeps_time", False):
            return await _contained(handler, job)
        with anyio.move_on_after(job.timeout):
            return await _contained(handler, job)
        return RawResult(failure="timeout", error=f"timed out after {job.timeout:g}s")

    def _decoded(self, job: Job, raw: RawResult, event: Event, dispatched: str, seconds: float) -> Run:
        options = self._options
        outcome = decode_response(
            raw,
            event,
            hook=job.hook,
            dispatched=dispatched,
            on_error=options.on_error_of(job.hook),
            strict_json=options.strict_json,
            limits=options.limits,
            stderr_cap=options.stderr_cap,
        )
        if options.context_dialects is not None and job.hook.dialect not in options.context_dialects:
            outcome = evolve(outcome, plain=False)
        _tell(outcome)
        return Run(job.hook, outcome, round(seconds * 1000, 3), outcome.error)


async def _contained(handler: Any, job: Job) -> RawResult:
    try:
        raw = await handler.run(job)
        if isinstance(raw, RawResult):
            return raw
        problem = f"answered with {type(raw).__name__}, not RawResult"
    except BaseException as exc:
        if not is_fault(exc):
            raise
        problem = described(exc)
    return RawResult(failure="spawn-failed", error=f"the handler of kind {job.hook.kind!r} failed: {problem}")


def _tell(outcome: Outcome) -> None:
    for note in outcome.notes:
        _log(note)


def _log(note: Diagnostic) -> None:
    hint = f" ({note.hint})" if note.hint else ""
    log.log(_LEVELS[note.level], "%s: %s%s", note.source, note.message, hint)
