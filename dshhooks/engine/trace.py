"""A trace: one record for every implementation that ran, and for the phases between them.

Tracing swaps in plans whose functions time themselves, so an untraced dispatch runs exactly the code it would run if
this module did not exist.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from inspect import isawaitable
from time import perf_counter
from typing import Any

from attrs import define, field

from dshhooks.engine.faults import CONFIDENTIAL, discard
from dshhooks.engine.plan import Implementation
from hookspecs.decisions import ApprovalOutcome, Ask, Block, BlockPrompt, Deny
from hookspecs.errors import error_message
from hookspecs.execution import ToolFailure, ToolSuccess
from hookspecs.operations import Denial, denial_fault

__all__ = ["Trace", "TraceRecord", "current_trace", "instrument", "note_shadow", "outcome_of", "phase"]


@define
class TraceRecord:
    """What one implementation, or one phase of the pipeline, did.

    Args:
        hook: The hook's name, or the phase's.
        plugin: The plugin's name; empty for a phase.
        kind: ``wrapper``, ``async-wrapper``, ``implementation``, ``shadow``, ``guard`` or ``phase``.
        depth: How many records it is nested in.
        seconds: Wall time, everything inside included.
        outcome: In a word: ``abstain``, ``allow``, ``deny``, ``ok``, ``failure``, ``raised``, …
        detail: The reason, message or exception.
    """

    hook: str
    plugin: str
    kind: str
    depth: int
    seconds: float = 0.0
    outcome: str = "running"
    detail: str = ""


@define
class Trace:
    """Collects records in the order they began."""

    records: list[TraceRecord] = field(factory=list)


_current: ContextVar[tuple[Trace, int] | None] = ContextVar("dshhooks_trace", default=None)


def current_trace() -> Trace | None:
    """Return the trace that is collecting in this context, or ``None``."""
    held = _current.get()
    return held[0] if held else None


@contextmanager
def collecting(trace: Trace) -> Iterator[Trace]:
    """Collect into ``trace`` in this context and the tasks it starts."""
    token = _current.set((trace, 0))
    try:
        yield trace
    finally:
        _current.reset(token)


@contextmanager
def phase(hook: str, plugin: str = "", kind: str = "phase") -> Iterator[TraceRecord | None]:
    """Record what happens inside; yields ``None`` when nobody is collecting."""
    held = _current.get()
    if held is None:
        yield None
        return
    trace, depth = held
    record = TraceRecord(hook, plugin, kind, depth)
    trace.records.append(record)
    with _timed(trace, record):
        yield record


@contextmanager
def _timed(trace: Trace, record: TraceRecord) -> Iterator[None]:
    """Nest what happens inside in the record, and add its time."""
    token = _current.set((trace, record.depth + 1))
    started = perf_counter()
    try:
        yield
    except BaseException as exc:
        record.outcome, record.detail = outcome_of(exc, record.hook)
        raise
    finally:
        record.seconds += perf_counter() - started
        # A generator wrapper that is closed late runs in another context; there is nothing to restore there.
        try:
            _current.reset(token)
        except ValueError:
            pass


def note_shadow(impl: Implementation) -> Any:
    """Record a shadowed implementation."""
    return phase(impl.hook, impl.plugin, "shadow")


def outcome_of(answer: Any, hook: str = "") -> tuple[str, str]:
    """Put an answer to ``hook`` into a word and a detail, for people."""
    if answer is None:
        return "abstain", ""
    if hook in CONFIDENTIAL:
        return _without_text(answer)
    if isinstance(answer, BaseException):
        return "raised", f"{type(answer).__name__}: {error_message(answer)}"
    if isinstance(answer, (Deny, Ask, BlockPrompt)):
        return type(answer).__name__.lower().removesuffix("prompt"), answer.reason or ""
    if isinstance(answer, Block):
        from hookspecs.values import content_text

        return "block", content_text(answer.feedback)
    if isinstance(answer, ToolFailure):
        info = answer.error.info
        return "failure", f"{info.code}: {answer.error.message}" if info else answer.error.message
    if isinstance(answer, ToolSuccess):
        return "ok", ""
    if isinstance(answer, ApprovalOutcome):
        return answer.value, ""
    if isinstance(answer, str) and hook == "tools_guard":
        return "deny", answer
    return type(answer).__name__.lower(), ""


def _without_text(answer: Any) -> tuple[str, str]:
    """Show a denial, which is meant to be shown, and of everything else its type only."""
    if isinstance(answer, Denial) and denial_fault(answer.code, answer.reason) is None:
        return "deny", str(answer)
    if isinstance(answer, BaseException):
        return "raised", type(answer).__name__
    return type(answer).__name__.lower(), ""


def instrument(impl: Implementation) -> Implementation:
    """Return a copy of the implementation that records itself."""
    wrap = {"wrapper": _generator, "async-wrapper": _async_wrapper}.get(impl.kind, _plain)
    return Implementation(impl.hook, impl.plugin, impl.kind, wrap(impl))


def _finish(record: TraceRecord | None, answer: Any) -> Any:
    if record is not None:
        record.outcome, record.detail = outcome_of(answer, record.hook)
    return answer


def _plain(impl: Implementation) -> Callable[..., Any]:
    def traced(*args: Any) -> Any:
        with phase(impl.hook, impl.plugin, impl.kind) as record:
            answer = impl.fn(*args)
            trace = current_trace()
            if record is None or trace is None or answer is None or not isawaitable(answer):
                return _finish(record, answer)
        return _Later(answer, trace, record)

    return traced


class _Later:
    """A traced implementation's awaitable: what it waits for counts as its time and nests in its record."""

    __slots__ = ("_answer", "_record", "_trace")

    def __init__(self, answer: Awaitable[Any], trace: Trace, record: TraceRecord) -> None:
        self._answer, self._trace, self._record = answer, trace, record

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._wait().__await__()

    async def _wait(self) -> Any:
        with _timed(self._trace, self._record):
            return _finish(self._record, await self._answer)

    def close(self) -> None:
        """Go unawaited, as the answer itself would have."""
        discard(self._answer)


def _generator(impl: Implementation) -> Callable[..., Any]:
    def traced(*args: Any) -> Generator[None, Any, Any]:
        with phase(impl.hook, impl.plugin, impl.kind) as record:
            return _finish(record, (yield from impl.fn(*args)))

    return traced


def _async_wrapper(impl: Implementation) -> Callable[..., Any]:
    async def traced(*args: Any, call_next: Any) -> Any:
        with phase(impl.hook, impl.plugin, impl.kind) as record:
            return _finish(record, await impl.fn(*args, call_next=call_next))

    return traced
