"""Where a daemon stands and what starts it: one for each configuration of a user (issue 5, point 3).

The lean client starts :func:`main` by way of ``apart`` and hands down the lock of the configuration; ``dshhooks serve``
takes the lock itself.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Final

from attrs import field, frozen

from dshhooks.clients import place, starter
from dshhooks.clients.arguments import read_request, working_folder
from dshhooks.clients.request import Setting

__all__ = ["IDLE", "Stand", "idle_seconds", "serve", "stand_here"]

IDLE: Final = 900.0


@frozen
class Stand:
    """Where the daemon of a configuration stands.

    Args:
        folder: The directory of this user's daemons.
        name: The configuration's name.
        setting: What its plugins are loaded with.
    """

    folder: bytes
    name: str
    setting: Setting = field(factory=Setting, repr=False)

    @property
    def socket_path(self) -> bytes:
        """Where it listens."""
        return place.socket_path(self.folder, self.name)


def stand_here(switches: Sequence[str]) -> Stand:
    """Return the stand of this process: its working directory, its environment, and these switches.

    Raises:
        ArgumentsError: A switch is wrong.
        OSError: The working directory is gone.
    """
    lasting, _ = place.split_environment(os.environb)
    words = [os.fsencode(word) for word in switches]
    package = os.fsencode(os.path.dirname(__file__))
    here = working_folder()
    name = place.identity(words, os.fsencode(here), lasting, package)
    return Stand(place.directory(lasting), name, read_request(switches, b"", os.environ, here).setting)


def idle_seconds() -> float:
    """Return ``DSHHOOKS_SERVE_IDLE``, else 15 minutes; what is not a number of seconds does not count."""
    try:
        return max(1.0, float(os.environ.get("DSHHOOKS_SERVE_IDLE", "")))
    except ValueError:
        return IDLE


def serve(stand: Stand, lock: int, idle: float, ready: Callable[[], None] = lambda: None) -> None:
    """Answer calls until nobody asks any more; the lock goes with the process.

    Args:
        stand: Which configuration.
        lock: Its lock, held.
        idle: Seconds without a call after which the daemon ends.
        ready: Called when it listens.
    """
    forget_the_caller()
    from dshhooks.clients.daemon import Daemon

    Daemon(stand, lock, idle, ready).run()


def forget_the_caller() -> None:
    """Drop an agent's own variables: they are those of one call, and plugins must not find them in the next."""
    for name in place.split_environment(os.environb)[1]:
        del os.environb[name]


def main() -> None:
    """Serve what the lean client asked for."""
    os.set_inheritable(starter.LOCK_FD, False)
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    serve(stand_here(sys.argv[1:]), starter.LOCK_FD, idle_seconds())
