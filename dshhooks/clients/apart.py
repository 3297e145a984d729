"""The start of every process that evaluates policy, run by path with ``python -E -P``: nothing steers what is imported.

Agents start hooks with whatever environment they have, in a folder they can write. ``PYTHONPATH=.`` would have a file
of that folder in the place of one of ours, ``PYTHONHOME`` of another Python would end every call (decisions.md 7.26).
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

__all__ = ["ANSWER_FD", "main"]

# Where the lean client reads what the worker says.
ANSWER_FD = 3
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def main(part: str) -> None:
    """Run ``worker`` or ``serve``, of this installation and no other.

    Args:
        part: The module of this folder; the rest of the command line is for it.
    """
    try:
        sys.path += _places(os.environ.get("PYTHONPATH", ""))
        for name in ("hookspecs", "dshhooks"):
            _adopt(name)
        run = import_module(f"dshhooks.clients.{part}").main
    except BaseException as exc:
        if part == "worker":
            os.write(ANSWER_FD, f"E dshhooks is not installed properly: {type(exc).__name__}: {exc}".encode())
        raise
    run()


def _places(variable: str) -> list[str]:
    """Return where else plugins may be installed: behind everything, and no folder that depends on where we are."""
    return [place for place in variable.split(os.pathsep) if os.path.isabs(place)]


def _adopt(name: str) -> None:
    """Import the package that stands beside this file, not the one ``sys.path`` leads to."""
    spec = PathFinder.find_spec(name, [os.path.dirname(PACKAGE)])
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no package {name!r} in {os.path.dirname(PACKAGE)}")
    module = sys.modules[name] = module_from_spec(spec)
    spec.loader.exec_module(module)


if __name__ == "__main__":
    main(sys.argv.pop(1))
