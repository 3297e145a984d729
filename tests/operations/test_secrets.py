"""What a guard or observer that breaks has said is in no trace and no log, wherever it is asked (1.9, X1)."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import anyio.lowlevel
import pytest

from hookspecs.operations import Denial
from tests.operations.watch import Guarding
from tests.tools.kit import Plugin, execute, registry

pytestmark = pytest.mark.anyio

SECRET = "hunter2"


def raises(call: Any) -> None:
    """Breaks, and says with what."""
    raise ValueError(SECRET)


async def breaks_late(_call: Any) -> None:
    """Breaks after a wait."""
    await anyio.lowlevel.checkpoint()
    raise ValueError(SECRET)


async def seems_cancelled(_call: Any) -> None:
    """Breaks with what only a cancelled task raises."""
    await anyio.lowlevel.checkpoint()
    raise asyncio.CancelledError(SECRET)


def malformed(_call: Any) -> Denial:
    """Answers with what is no denial."""
    return Denial("NOT A CODE", SECRET)


def says(_call: Any) -> str:
    """Answers with text."""
    return SECRET


def breaks_behind(call: Any) -> Any:
    """An observer that breaks in its finish."""
    yield
    raise ValueError(SECRET)


@pytest.mark.parametrize("shadow", [False, True])
@pytest.mark.parametrize("guard", [raises, breaks_late, seems_cancelled, malformed, says])
async def test_of_a_guard(guard: Any, shadow: bool, caplog: pytest.LogCaptureFixture) -> None:
    """X1: traced or shadowed, it is written down that the guard broke, and nothing of what it said."""
    caplog.set_level(logging.DEBUG)
    tools = registry()
    tools.hooks.register(Guarding(guard), shadow=shadow)
    with tools.hooks.trace() as trace:
        result = await execute(tools)
    assert result.is_error is not shadow
    [record] = [record for record in trace.records if record.hook == "operation_guard"]
    assert record.outcome in ("raised", "denial", "str")
    assert [text for text in (repr(trace), caplog.text, repr(result)) if SECRET in text] == []


@pytest.mark.parametrize("observer", [raises, breaks_behind])
async def test_of_an_observer(observer: Any, caplog: pytest.LogCaptureFixture) -> None:
    """1.9: the log names the plugin that failed and where, traced or not, and nothing of what it said."""
    caplog.set_level(logging.DEBUG)
    tools = registry(Plugin("watching", operation=observer))
    with tools.hooks.trace() as trace:
        await execute(tools)
    phase = "begin" if observer is raises else "finish"
    assert f"plugin 'watching': an observer of tool_call failed in its {phase} and was ignored" in caplog.text
    assert {record.plugin for record in trace.records if record.hook == "operation"} == {"watching"}
    assert SECRET not in repr(trace) + caplog.text
