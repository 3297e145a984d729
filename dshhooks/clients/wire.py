"""What is said between the lean client, the daemon and the worker: one request, signs of life, one answer.

A request is ``dshhooks PROTOCOL head-length body-length\\n``, the head, and the body, which is stdin as it was. The
head is fields joined by NUL, which neither arguments nor paths nor variables can contain. What comes back is dots, each
a sign of life, and then one of ``A code out-length err-length\\n`` with that many bytes, ``E reason``, or ``R``: do it
yourself. Loaded by path as well, so it imports nothing.
"""

from __future__ import annotations

__all__ = [
    "ALIVE",
    "LONGEST_ANSWER",
    "PROTOCOL",
    "YOURSELF",
    "Wire",
    "answer",
    "failure",
    "fields",
    "greeting",
    "lengths",
    "parse",
    "refusal",
    "request",
    "told",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Wire = tuple[bytes, bytes, int]

# Raised when what is said, or what makes up a configuration, changes its form.
PROTOCOL = 1
# More than any answer; who sends more is not one of ours.
LONGEST_ANSWER = 64 << 20

YOURSELF = b"R"
ALIVE = b"."


def request(kind: bytes, seconds: str, cwd: bytes, words: Sequence[str], env: Mapping[bytes, bytes]) -> bytes:
    """Return the head of a request.

    Args:
        kind: ``handle``, ``status`` or ``stop``.
        seconds: How long the other side has.
        cwd: The working directory of this call.
        words: The command line as it was given.
        env: What the agent set for this call.
    """
    arguments = [word.encode("utf-8", "surrogateescape") for word in words]
    variables = [name + b"=" + value for name, value in env.items()]
    return b"\0".join([kind, seconds.encode(), cwd, b"%d" % len(arguments), *arguments, *variables])


def greeting(head: bytes, body: bytes) -> bytes:
    """Return the line that says how long the rest is."""
    return b"dshhooks %d %d %d\n" % (PROTOCOL, len(head), len(body))


def lengths(line: bytes) -> tuple[int, int]:
    """Read a greeting: the lengths of head and body.

    Raises:
        ValueError: It is none, or of another protocol.
    """
    name, protocol, head, body = line.rstrip(b"\n").split(b" ")
    if name != b"dshhooks" or int(protocol) != PROTOCOL or int(head) < 0 or int(body) < 0:
        raise ValueError(f"not a request of protocol {PROTOCOL}: {line[:60]!r}")
    return int(head), int(body)


def fields(head: bytes) -> tuple[str, float, str, list[str], dict[str, str]]:
    """Read a head: kind, seconds, working directory, command line, environment.

    Raises:
        ValueError: It is not a head.
    """
    kind, seconds, cwd, count, *rest = (field.decode("utf-8", "surrogateescape") for field in head.split(b"\0"))
    words, variables = rest[: int(count)], rest[int(count) :]
    if not 0 < float(seconds) <= 3600:  # not a number as well
        raise ValueError(f"{seconds!r} is no time to wait")
    return kind, float(seconds), cwd, words, {name: value for name, _, value in (v.partition("=") for v in variables)}


def answer(wire: Wire) -> bytes:
    """Return an answer as it is sent."""
    stdout, stderr, code = wire
    return b"A %d %d %d\n" % (code, len(stdout), len(stderr)) + stdout + stderr


def failure(reason: str) -> bytes:
    """Return what is sent where there is no answer."""
    return b"E " + reason.encode("utf-8", "replace")


def told(exc: BaseException) -> str:
    """Return an exception as the reason of a denial."""
    return f"dshhooks could not judge this: {type(exc).__name__}{': ' if str(exc) else ''}{exc}"


def parse(data: bytes) -> Wire | None:
    """Read an answer; ``None`` for a part of one and for anything else."""
    head, newline, rest = data.partition(b"\n")
    words = head.split(b" ")
    if not newline or len(words) != 4 or words[0] != b"A" or not all(word.isdigit() for word in words[1:]):
        return None
    code, out, err = (int(word) for word in words[1:])
    if code > 255 or out + err != len(rest):
        return None
    return rest[:out], rest[out:], code


def refusal(data: bytes) -> str:
    """Read why there is no answer; empty when the other side did not say."""
    return data[2:].decode("utf-8", "replace") if data.startswith(b"E ") else ""
