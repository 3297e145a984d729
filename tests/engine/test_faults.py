"""Whose fault an exception is, and what is nobody's (decision 3.7)."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
from typing import Any

import anyio
import attrs
import pytest

from dshhooks.engine.faults import HookNote, add_note, blamed, discard, is_fault, origin
from dshhooks.engine.plan import Implementation
from hookspecs.errors import HarnessError

pytestmark = pytest.mark.anyio

IMPL = Implementation("hook", "plugin", "implementation", lambda: None)


@pytest.mark.parametrize(
    ("exc", "fault"),
    [
        (ValueError(), True),
        (HarnessError("x"), True),
        (SystemExit(1), True),
        (StopIteration(), True),
        (RecursionError(), True),
        (MemoryError(), True),
        (KeyboardInterrupt(), False),
        (GeneratorExit(), False),
        (ExceptionGroup("g", [ValueError()]), True),
        (BaseExceptionGroup("g", [SystemExit(1), ValueError()]), True),
        (BaseExceptionGroup("g", [ValueError(), KeyboardInterrupt()]), False),
        (BaseExceptionGroup("g", [BaseExceptionGroup("h", [GeneratorExit()])]), False),
        (asyncio.CancelledError(), True),
    ],
    ids=repr,
)
def test_what_a_boundary_normalizes(exc: BaseException, fault: bool) -> None:
    """Exceptions, SystemExit, groups of nothing else, and a CancelledError that is nobody's cancellation."""
    assert is_fault(exc) is fault


async def test_a_cancellation_that_was_asked_for_is_no_fault() -> None:
    """On either backend, the real thing passes."""
    seen: list[bool] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        try:
            await anyio.sleep_forever()
        except BaseException as exc:
            seen.append(is_fault(exc))
            raise
    assert seen == [False]


@pytest.mark.parametrize("anyio_backend", ["asyncio"], indirect=True)
async def test_asyncios_own_cancellation_is_no_fault() -> None:
    """Task.cancel() counts like a scope's cancellation."""
    seen: list[bool] = []

    async def run() -> None:
        try:
            await asyncio.sleep(3600)
        except BaseException as exc:
            seen.append(is_fault(exc))
            raise

    task = asyncio.ensure_future(run())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == [False]


async def test_a_stray_cancelled_error_in_a_running_task_is_a_fault() -> None:
    """Nobody cancelled this task; on trio the class means nothing at all."""
    assert is_fault(asyncio.CancelledError())
    assert is_fault(BaseExceptionGroup("g", [asyncio.CancelledError(), ValueError()]))


class RefusingError(Exception):
    def add_note(self, note: str) -> None:
        raise RuntimeError("no")


class PropertyError(Exception):
    __notes__ = property(lambda self: 1 / 0)  # type: ignore[assignment]


class SlottedError(Exception):
    __slots__ = ()


class GuardedError(Exception):
    def __setattr__(self, name: str, value: object) -> None:
        raise RuntimeError("no")

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError("no")


@dataclasses.dataclass(frozen=True)
class FrozenDataclassError(Exception):
    text: str = "x"


@attrs.frozen
class FrozenAttrsError(Exception):
    text: str = "x"


@pytest.mark.parametrize(
    "kind",
    [ValueError, SystemExit, RefusingError, PropertyError, SlottedError, GuardedError, FrozenDataclassError,
     FrozenAttrsError],
)  # fmt: skip
def test_every_fault_can_be_blamed(kind: Any) -> None:
    """Even one whose class fights being written to: its origin is kept all the same."""
    exc = kind()
    add_note(exc, "hook", "plugin")
    add_note(exc, "hook", "plugin")
    note = origin(exc)
    assert (note.hook, note.plugin) == ("hook", "plugin")
    assert note == "raised in hook 'hook' of plugin 'plugin'"


def test_a_note_is_written_once_and_shown_in_the_traceback() -> None:
    """Python prints notes below an exception; the same place is not named twice."""
    exc = ValueError("x")
    exc.add_note("somebody else's")
    for _ in range(2):
        add_note(exc, "hook", "plugin")
    assert exc.__notes__ == ["somebody else's", HookNote("hook", "plugin")]


def test_the_origin_is_where_it_was_raised_last() -> None:
    """One exception object raised by several plugins in turn."""
    exc = ValueError("x")
    for plugin in ("a", "b", "a"):
        add_note(exc, "hook", plugin)
        assert origin(exc).plugin == plugin
    assert len(exc.__notes__) == 2


@pytest.mark.parametrize("notes", [None, "text", ("raised in hook",), 7, ["text"]])
def test_strange_notes_are_nobodys(notes: Any) -> None:
    """An exception whose notes were set to something odd has no origin, and can still be blamed."""
    exc = ValueError("x")
    exc.__notes__ = notes
    assert origin(exc) is None
    add_note(exc, "hook", "plugin")
    assert origin(exc).plugin == "plugin"


def test_an_exception_without_notes_has_no_origin() -> None:
    """A tool's own exception is not a plugin's."""
    assert origin(ValueError("x")) is None


async def test_a_stray_cancelled_error_names_its_hook() -> None:
    """Decision 3.7: it is a fault like any other, so it is somebody's."""
    exc = asyncio.CancelledError()
    add_note(exc, "hook", "plugin")
    assert origin(exc).plugin == "plugin"


@pytest.mark.parametrize("exc", [KeyboardInterrupt(), GeneratorExit()])
def test_what_is_nobodys_fault_gets_no_note(exc: BaseException) -> None:
    """Interrupts and cancellations are passed on untouched."""
    add_note(exc, "hook", "plugin")
    assert not hasattr(exc, "__notes__")


def test_a_stop_iteration_becomes_the_cause_of_an_error() -> None:
    """It could not leave a coroutine; the plugin is named on what can."""
    stop = StopIteration("x")
    error = blamed(stop, IMPL)
    assert isinstance(error, RuntimeError)
    assert error.__cause__ is stop
    assert origin(error).plugin == "plugin"


def test_any_other_exception_is_itself() -> None:
    """Blaming changes nothing but the note."""
    exc = ValueError("x")
    assert blamed(exc, IMPL) is exc
    assert origin(exc).plugin == "plugin"


async def coroutine() -> None:
    """Never awaited."""


class ClosingBadly:
    def __await__(self) -> Any:
        yield

    def close(self) -> None:
        raise RuntimeError("no")


@pytest.mark.parametrize("make", [coroutine, ClosingBadly, lambda: None, lambda: open, lambda: "text"])
def test_discarding_never_raises_and_leaves_no_coroutine(make: Any) -> None:
    """No "never awaited" warning comes from an answer that was refused."""
    discard(make())
    gc.collect()


def test_discarding_leaves_other_things_open(tmp_path: Any) -> None:
    """Only awaitables are closed: a file that was returned by mistake is its owner's."""
    with open(tmp_path / "file", "w") as file:
        discard(file)
        assert not file.closed
