"""Loggers that import ``logging`` when they have something to say; a hook command seldom has (issue 5, point 3)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["Log", "catch_up", "set_up_later"]

_setups: list[Callable[[], None]] = []


class Log:
    """Stands for ``logging.getLogger(name)``: every attribute is that logger's.

    Args:
        name: The logger's name.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        import logging

        catch_up()
        return getattr(logging.getLogger(self._name), attribute)


def set_up_later(setup: Callable[[], None]) -> None:
    """Call ``setup()`` once, before the first record of a :class:`Log`; at once if ``logging`` is there already."""
    _setups.append(setup)
    catch_up()


def catch_up() -> None:
    """Call what waits for ``logging``, if it was imported meanwhile: by a plugin, which may use it directly."""
    while _setups and "logging" in sys.modules:
        _setups.pop()()
