"""Posting JSON: no redirects, a cap on the answer, and failures as sentences without secrets (A.6.6)."""

from __future__ import annotations

import functools
import ssl
import zlib
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

import anyio
from attrs import frozen

from dshhooks.bridge.outcomes import RawResult
from dshhooks.bridge.text import decode_output, preview

__all__ = ["Answer", "is_allowed", "post", "shown_url"]

_BODY_SHOWN: Final = 200


@frozen
class Answer:
    """The body of a 2xx answer, as much of it as is kept."""

    body: bytes
    truncated: bool


async def post(url: str, body: bytes, headers: Mapping[str, str], *, limit: int) -> Answer | RawResult:
    """Post JSON and return the answer's body, or the failure. The caller limits the time.

    Args:
        url: Where to; what is between ``//`` and ``@`` is sent as basic authentication.
        body: The JSON.
        headers: Added; they stand above ``content-type``, in whatever case it is written.
        limit: Bytes of the answer that are read.
    """
    import httpx

    address, status, read = shown_url(url), 0, _Body(limit)
    try:
        sent = httpx.Headers({"content-type": "application/json", "user-agent": "dshhooks",
                              "accept-encoding": "identity"})  # fmt: skip
        sent.update([(name.encode("ascii"), value.strip(" \t").encode("utf-8")) for name, value in headers.items()])
        # What is too long is left unread. Cancelled and not just left: that also unwinds the generators inside httpx.
        with anyio.CancelScope() as enough:
            async with (
                httpx.AsyncClient(timeout=None, follow_redirects=False, verify=_verify(url)) as client,
                client.stream("POST", url, content=body, headers=sent) as response,
            ):
                status = response.status_code
                read.open(response.headers.get("content-encoding", ""))
                async for piece in response.aiter_raw():
                    if not read.take(piece):
                        enough.cancel()
    except (httpx.LocalProtocolError, UnicodeError):
        # Its text would quote the header, and with it the token in it.
        return RawResult(failure="http", error=f"POST {address}: a header or the address cannot be sent")
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as exc:
        return RawResult(failure="http", error=f"POST {address}: {str(exc) or type(exc).__name__}")
    if not 200 <= status < 300:
        return RawResult(failure="http", error=f"POST {address}: {_refusal(status, bytes(read.kept))}")
    read.end()
    if read.broken:
        return RawResult(failure="http", error=f"POST {address}: {read.broken}")
    return Answer(bytes(read.kept[:limit]), len(read.kept) > limit)


class _Body:
    """The body of an answer, up to a limit. It was asked for as it is; some servers compress it all the same.

    Not unpacked by httpx, which unpacks whole pieces: 300 bytes can be made to hold a gigabyte.
    """

    def __init__(self, limit: int) -> None:
        self.kept = bytearray()  # one byte more than the limit, if there is more
        self.broken = ""
        self._most = limit + 1
        self._unpack: Callable[[bytes, int], bytes] = lambda piece, most: piece[:most]
        self._packed: Any = None
        self._came = False

    def open(self, encoding: str) -> None:
        """Take note of how it is packed."""
        name = encoding.strip().lower()
        if name in ("gzip", "x-gzip"):
            self._packed = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
            self._unpack = self._packed.decompress
        elif name not in ("", "identity"):
            self.broken = f"the answer is encoded as {encoding!r}, which was not asked for"

    def take(self, piece: bytes) -> bool:
        """Take a piece and say whether there is room for more. Nothing is raised: httpx is not unwound by that."""
        room = 0 if self.broken else self._most - len(self.kept)
        self._came = self._came or bool(piece)
        try:
            self.kept += self._unpack(piece, room) if room else b""
        except zlib.error as exc:
            self.broken = f"the answer cannot be unpacked: {exc}"
        if self._packed is not None and self._packed.unused_data:
            # It may be the rest of the answer, packed for itself; and zlib keeps it, however much comes.
            self.broken = "something follows the packed answer"
        return len(self.kept) < self._most and not self.broken

    def end(self) -> None:
        """Take note of the end: the beginning of a packed answer is none."""
        whole = self._packed is None or self._packed.eof or not self._came
        if not whole and not self.broken and len(self.kept) < self._most:
            self.broken = "the packed answer ends in the middle"


def _refusal(status: int, body: bytes) -> str:
    why = " (redirects are not followed)" if 300 <= status < 400 else ""
    said = preview(decode_output(body), _BODY_SHOWN)
    return f"HTTP {status}{why}" + (f": {said}" if said else "")


def is_allowed(url: str, patterns: tuple[str, ...]) -> bool:
    """Say whether an address fits a pattern part by part, so that no ``*`` reaches from the host into the path."""
    parts = urlsplit(url)
    return any(_same_place(parts, urlsplit(pattern)) for pattern in patterns)


def _same_place(url: SplitResult, pattern: SplitResult) -> bool:
    return (
        url.scheme == pattern.scheme
        and fnmatchcase(url.hostname or "", pattern.hostname or "")
        and _same_port(url, pattern)
        and fnmatchcase(url.path or "/", pattern.path or "/")
    )


def _same_port(url: SplitResult, pattern: SplitResult) -> bool:
    if pattern.netloc.endswith(":*"):
        return True
    try:
        return url.port == pattern.port
    except ValueError:
        return False  # no number: no address fits


def shown_url(url: str) -> str:
    """Return an address for logs: without user, password, query and fragment."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port is not None else ''}{parts.path}"


def _verify(url: str) -> ssl.SSLContext | bool:
    """Certificates are loaded once, and only when somebody needs them: loading takes longer than most requests."""
    return _context() if url.lower().startswith("https:") else False


@functools.cache
def _context() -> ssl.SSLContext:
    return ssl.create_default_context()
