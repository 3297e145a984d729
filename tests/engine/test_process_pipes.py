"""The pipes of a process, without one."""

from __future__ import annotations

import os

import anyio
import pytest

from dshhooks.engine.process_pipes import Input, Output, Watch

pytestmark = pytest.mark.anyio


async def test_what_a_fork_of_the_host_holds_is_not_ours_any_more():
    """A worker the host forked has a copy of our end, which stays ready for ever: nobody is woken by it."""
    with Input(b"x" * 100_000) as given, Watch() as watch:
        copy = os.dup(given.fileno())
        watch.add(given)
        while given.fileno() >= 0:
            await watch.turn()
            os.read(given.theirs, 1 << 16)
        with anyio.move_on_after(0.02) as scope:
            await watch.turn()
        os.close(copy)
    assert scope.cancelled_caught


async def test_over_is_closed():
    """Also what was added twice."""
    with Output(10) as out, Watch() as watch:
        watch.add(out)
        watch.add(out)
        os.write(out.theirs, b"said")
        out.close_theirs()
        while not out.ended:
            await watch.turn()
        assert (out.fileno(), out.kept) == (-1, b"said")
