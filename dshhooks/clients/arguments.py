"""The command line of ``handle`` as a request (api.md "Command line")."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from dshhooks.clients.recognise import VARIABLES as RECOGNISING
from dshhooks.clients.request import VARIABLES, HandleRequest, Setting
from dshhooks.clients.words import parsed

__all__ = ["ArgumentsError", "read_request", "request_of", "working_folder"]

_SETTING = ("config", "plugins", "disable", "no_plugins")


class ArgumentsError(ValueError):
    """The command line of ``handle`` is wrong; says which word and what would be right."""


def working_folder() -> str:
    """Return the absolute working directory.

    Raises:
        FileNotFoundError: It is gone, and with it whatever configuration stood there.
    """
    try:
        return os.getcwd()
    except OSError as exc:
        raise FileNotFoundError("the working directory is gone: start the agent in one that is there") from exc


def read_request(words: Sequence[str], stdin: bytes, environ: Mapping[str, str], cwd: str) -> HandleRequest:
    """Return the request that a command line, stdin and an environment make.

    Args:
        words: The command line after ``handle``.
        stdin: What the client wrote.
        environ: The variables of this call; only those that count are taken along.
        cwd: The absolute working directory.

    Raises:
        ArgumentsError: A word is unknown, has no value, or has one that is none.
    """
    said, fault = parsed(words)
    if fault:
        raise ArgumentsError(f"handle: {fault}")
    return request_of(said, stdin, environ, cwd)


def request_of(said: Mapping[str, Any], stdin: bytes, environ: Mapping[str, str], cwd: str) -> HandleRequest:
    """Return the request for a command line that was parsed; otherwise like :func:`read_request`."""
    given = dict(said)
    setting = Setting(**{name: given.pop(name) for name in _SETTING}, cwd=cwd, environment=_only(VARIABLES, environ))
    return HandleRequest(**given, stdin=stdin, environment=_only(RECOGNISING, environ), cwd=cwd, setting=setting)


def _only(names: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in names if name in environ}
