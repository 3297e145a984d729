"""``dshhooks handle`` in one process: the courier's call, evaluated by a fork of this process (decisions.md 7.26).

Imports next to nothing, and never click: what is imported before the fork is copied by it.
"""

from __future__ import annotations

import posix

from dshhooks.clients.courier import Courier, run

__all__ = ["main"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn


def main(arguments: Sequence[str]) -> NoReturn:
    """Answer one event of a client and exit.

    Args:
        arguments: What follows ``handle``.
    """
    courier = Courier(_load, arguments)
    courier.read_arguments()
    run(courier, lambda: _load("child").ask(courier, lambda writer: _judge(courier, writer)))


def _load(name: str) -> Any:
    from importlib import import_module

    return import_module(f"dshhooks.clients.{name}")


def _judge(courier: Courier, writer: int) -> None:
    """Be the child. Everything of weight is imported here."""
    try:
        from dshhooks.clients.worker import judge_and_end
    except BaseException as exc:  # noqa: BLE001 - whatever it is, the parent makes a denial of it
        reason = f"dshhooks is not installed properly: {type(exc).__name__}: {exc}"
        posix.write(writer, _load("wire").failure(reason))
        return
    judge_and_end(writer, float(courier.left()), courier.arguments, courier.read_stdin())
