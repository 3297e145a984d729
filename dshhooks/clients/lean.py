"""The hook command itself, run by path with ``python -I -S``: loads the courier, and denies if even that fails.

The interpreter compiles a script anew each time, so there is next to nothing in it (issue 5, point 3).
"""

from __future__ import annotations

import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_TEXT = "dshhooks is not installed properly, so this could not be checked; reinstall it, or uninstall the hook"


def _load(name: str) -> Any:
    """Import a neighbour by path, from its cached bytecode, without the package and without ``sys.path``."""
    import _frozen_importlib
    import _frozen_importlib_external as files

    known = sys.modules.get(f"dshhooks.clients.{name}")
    if known is not None:
        return known
    path = f"{__file__.rpartition('/')[0] or '.'}/{name}.py"
    spec: Any = files.spec_from_file_location(f"dshhooks.clients.{name}", path)
    # Under its real name: modules that import each other find each other, though the package is not there.
    module = sys.modules[spec.name] = _frozen_importlib.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _end_unheld() -> None:
    """End without a word if, by what is left of us, nothing waits for the answer to this event.

    A turn goes on once at most: with the denial below Codex and Gemini would go on for ever. What comes back is told
    apart by stdout alone; the denial itself is the one that depends on nothing.
    """
    import _signal  # type: ignore[import-not-found]  # built into the interpreter, and typeshed has no stub for it

    _signal.signal(_signal.SIGALRM, _signal.SIG_DFL)
    _signal.alarm(5)  # a stdin that nobody closes: ended by a signal, after which the shell says no
    for name in ("denial", "recognise"):
        _load(name)
    said = b""
    while piece := posix.read(0, 1 << 20):
        said += piece
    words = "\0".join(sys.argv[1:]).replace("--client=", "--client\0").partition("--client\0")[2]
    if not any(_load("failure").failed(words.partition("\0")[0] or "auto", said, {}, _TEXT)):
        posix._exit(0)


def _last_resort() -> None:
    """Deny without any file of ours: Vibe's spelling for Vibe, else the portable denial (observed.md 2)."""
    # The option's value and nothing else: the same word in a path would have every other client run the tool.
    if "\0--client\0vibe\0" in "\0".join(("", *sys.argv, "")).replace("--client=", "--client\0"):
        posix.write(1, f'{{"decision":"deny","reason":"{_TEXT}"}}\n'.encode())
        posix._exit(0)
    specific = f'{{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"{_TEXT}"}}'
    try:
        posix.write(1, f'{{"decision":"block","reason":"{_TEXT}","hookSpecificOutput":{specific}}}\n'.encode())
        posix.write(2, f"{_TEXT}\n".encode())
    finally:
        posix._exit(2)


if __name__ == "__main__":
    try:
        _load("courier").main(_load, sys.argv[1:])
    except BaseException:  # noqa: BLE001 - whatever it is, an exit code of ours must not be 1: that fails open
        try:
            _end_unheld()
        except BaseException:  # noqa: BLE001 - so little is left that nothing is known of the event
            pass
        _last_resort()
