"""The stdio protocol: one JSON object a line in, one out, in order (spec/external-hooks.md A.10).

Files are read and written by number: what a plugin prints goes through ``sys.stdout`` and must not end up between the
answers.
"""

from __future__ import annotations

import json
import os
import select
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Final

import anyio

from dshhooks.bridge.errors import BridgeError
from dshhooks.bridge.model import Diagnostic
from dshhooks.bridge.runtime import HookRuntime

__all__ = ["Protocol", "serve"]

_PIECE: Final = 64 * 1024
# A pipe that reports itself writable takes this much without blocking.
_UNBLOCKED: Final = 4096


class _Refused(Exception):  # not an error of the program: the answer to a wrong request
    """What the answer says, and further members of it."""

    def __init__(self, error: str, **members: Any) -> None:
        super().__init__(error)
        self.members = members


class Protocol:
    """Answers requests; knows nothing of where they come from.

    Args:
        runtime: Runs the hooks.
        strict: An error in any hook file is a refusal, as it always is when the file somebody named cannot be used.

    Attributes:
        over: ``bye`` was said.
    """

    def __init__(self, runtime: HookRuntime, *, strict: bool = False) -> None:
        self._runtime, self._strict = runtime, strict
        self.over = False
        self._operations: Mapping[str, Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]] = {
            "ping": self._ping, "dispatch": self._dispatch, "reload": self._reload, "bye": self._bye,
        }  # fmt: skip

    async def answer(self, line: bytes) -> bytes | None:
        """Return the answer to a line, with its newline; ``None`` for a blank one. Whatever it holds, nothing raises.

        Cancellation passes: running hooks are ended.
        """
        if not line.strip():
            return None
        echo: dict[str, Any] = {}
        try:
            request = _request(line)
            if "id" in request:
                echo["id"] = _echoed(request["id"])
            answer = {"ok": True, **await self._operation(request)(request)}
        except _Refused as exc:
            answer = {"ok": False, "error": str(exc), **exc.members}
        except BridgeError as exc:
            answer = {"ok": False, "error": str(exc)}
        except Exception as exc:  # noqa: BLE001 - one line in, one line out: whoever waits must not wait for ever
            answer = {"ok": False, "error": f"internal error: {type(exc).__name__}: {exc}"}
        return encoded(answer | echo)

    def _operation(self, request: dict[str, Any]) -> Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]:
        name = request.get("op")
        if not isinstance(name, str) or name not in self._operations:
            raise _Refused(f"unknown op {name!r}: known are {', '.join(self._operations)}")
        return self._operations[name]

    async def _ping(self, _request: dict[str, Any]) -> dict[str, Any]:
        self._refuse_without_rules()
        return {"pong": True}

    def _refuse_without_rules(self) -> None:
        """Refuse while nobody can say what the hooks are: "no objection" would be a lie.

        Raises:
            _Refused: The file somebody named cannot be used, or strictly: there are errors in a file.
        """
        notes = self._runtime.diagnostics
        if self._runtime.unusable is not None:
            raise _Refused(f"{self._runtime.unusable.file} could not be used: nothing is run; correct it and reload",
                           diagnostics=_told(notes))  # fmt: skip
        wrong = [note for note in notes if note.level == "error"] if self._strict else []
        if wrong:
            raise _Refused(f"{wrong[0].source} has errors: nothing is run; correct it and reload",
                           diagnostics=_told(notes))  # fmt: skip

    async def _dispatch(self, request: dict[str, Any]) -> dict[str, Any]:
        event, payload = request.get("event"), request.get("payload")
        if not isinstance(event, str):
            raise _Refused("event must be a text: the name of the event")
        for name in ("subject", "cwd"):
            if not isinstance(request.get(name), (str, type(None))):
                raise _Refused(f"{name} must be a text")
        self._refuse_without_rules()
        subject, cwd = request.get("subject"), request.get("cwd")
        dispatch = await self._runtime.dispatch(event, payload, subject=subject, cwd=cwd)
        return dispatch.as_json()

    async def _reload(self, _request: dict[str, Any]) -> dict[str, Any]:
        return {"diagnostics": _told(self._runtime.reload())}

    async def _bye(self, _request: dict[str, Any]) -> dict[str, Any]:
        self.over = True
        return {}


def _told(notes: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    return [note.as_json() for note in notes]


def _request(line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError:
        raise _Refused("the line is not UTF-8") from None
    except (ValueError, RecursionError) as exc:
        raise _Refused(f"the line is not JSON: {exc}") from None
    if not isinstance(request, dict):
        raise _Refused("a request must be a JSON object")
    return request


def _echoed(value: Any) -> Any:
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        raise _Refused("id is not JSON: it has NaN or Infinity, or is nested too deep") from None
    return value


def encoded(answer: Mapping[str, Any]) -> bytes:
    """Return an answer as a line; in ASCII, so that lone surrogates and odd line ends stay escaped."""
    return json.dumps(answer, separators=(",", ":")).encode("ascii") + b"\n"


async def serve(runtime: HookRuntime, reads: int = 0, writes: int = 1, *, strict: bool = False) -> None:
    """Answer requests until ``bye``, the end of the input, or until nobody reads the answers.

    Args:
        runtime: Runs the hooks; it is closed at the end.
        reads: File descriptor of the requests.
        writes: File descriptor of the answers.
        strict: An error in any hook file is a refusal.
    """
    protocol = Protocol(runtime, strict=strict)
    limit = runtime.options.limits.line
    async with runtime, aclosing(_lines(reads, limit)) as lines:
        async for line in lines:
            try:
                if line is None:
                    answer: bytes | None = encoded({"ok": False, "error": f"the line is longer than {limit} bytes"})
                else:
                    answer = await _answered(protocol, line, writes)
                await _write(writes, answer or b"")
            except BrokenPipeError:
                return
            if protocol.over:
                return


async def _answered(protocol: Protocol, line: bytes, writes: int) -> bytes | None:
    """Answer a line; once nobody can read the answer, running hooks are ended.

    Raises:
        BrokenPipeError: That is so.
    """
    unread = False

    async def watch() -> None:
        nonlocal unread
        if unread := await _unread(writes):
            tasks.cancel_scope.cancel()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        answer = await protocol.answer(line)
        tasks.cancel_scope.cancel()
    if unread:
        raise BrokenPipeError
    return answer


async def _unread(writes: int) -> bool:
    """Wait until the other end is closed; ``False``: that cannot be seen, or somebody sends something there."""
    try:
        await anyio.wait_readable(writes)  # the end of a pipe to write to wakes for an error, which is this one
    except (OSError, ValueError):
        return False
    poll = select.poll()
    poll.register(writes, 0)
    return bool(poll.poll(0))


async def _lines(reads: int, limit: int) -> AsyncGenerator[bytes | None, None]:
    """Yield lines without their ends, the last one also without a newline; ``None`` for one that is too long."""
    held, skipping = bytearray(), False
    while data := await _read(reads):
        *whole, rest = data.split(b"\n")
        for piece in whole:
            held += b"" if skipping else piece
            yield None if skipping or len(held) > limit else bytes(held)
            held, skipping = bytearray(), False
        held += b"" if skipping else rest
        if len(held) > limit:
            held, skipping = bytearray(), True
    if held or skipping:
        yield None if skipping else bytes(held)


async def _read(reads: int) -> bytes:
    try:
        await anyio.wait_readable(reads)
    except PermissionError:
        pass  # a file on disk: it never blocks, and cannot be waited for
    except (OSError, ValueError):
        return b""  # closed
    try:
        return os.read(reads, _PIECE)
    except OSError:
        return b""  # closed, or its terminal is gone


async def _write(writes: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            await anyio.wait_writable(writes)
        except PermissionError:
            pass  # a file on disk
        view = view[os.write(writes, view[:_UNBLOCKED]) :]
