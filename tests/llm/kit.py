"""What the tests of the model seam share: streams read to the end, adapters that do one thing, real HTTP servers."""

from __future__ import annotations

import socket
import socketserver
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from dshhooks.engine.hooks import Hooks
from dshhooks.llm.assembler import BlockAssembler
from dshhooks.llm.grammar import StreamGrammar
from dshhooks.llm.mock import MockRules, mock_server
from dshhooks.llm.service import LlmService
from hookspecs.model import FinishChunk, GenerateOptions, StopFinish, StreamChunk, TextDelta
from hookspecs.values import Content, Message, TextBlock

__all__ = [
    "PATIENCE",
    "Fixed",
    "Raising",
    "assembled",
    "checked",
    "mocked",
    "options",
    "prompt",
    "read",
    "said",
    "service",
    "serving",
    "text_of",
]  # fmt: skip

# Seconds nothing here may take; only a test that hangs meets it.
PATIENCE = 30


def prompt(text: str) -> Message:
    """A message of the user."""
    return Message("user", text)


def options(text: str = "hello", **parts: Any) -> GenerateOptions:
    """A request with one prompt."""
    return GenerateOptions(**{"provider": "p", "model": "m", "messages": [prompt(text)], **parts})


def said(text: str) -> list[StreamChunk]:
    """The shortest stream that says something."""
    return [TextDelta(0, text), FinishChunk(StopFinish())]


async def read(chunks: Any) -> list[StreamChunk]:
    """A stream, to its end."""
    return [chunk async for chunk in chunks]


async def checked(chunks: Any) -> list[StreamChunk]:
    """A stream to its end, which must follow the grammar."""
    grammar, out = StreamGrammar(), []
    async for chunk in chunks:
        grammar.push(chunk)
        out.append(chunk)
    grammar.end()
    return out


def assembled(chunks: list[StreamChunk]) -> BlockAssembler:
    """Chunks, pushed."""
    assembler = BlockAssembler()
    for chunk in chunks:
        assembler.push(chunk)
    return assembler


def text_of(blocks: Content) -> str:
    """The text blocks, joined."""
    return "".join(block.text for block in blocks if isinstance(block, TextBlock))


class Fixed:
    """An adapter that yields the same chunks for every request, and knows whether its streams were closed."""

    def __init__(self, chunks: list[StreamChunk] | None = None) -> None:
        self.chunks = said("hi") if chunks is None else chunks
        self.requests: list[GenerateOptions] = []
        self.running = 0

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Yield them."""
        self.requests.append(options)
        self.running += 1
        try:
            for chunk in self.chunks:
                yield chunk
        finally:
            self.running -= 1


class Raising:
    """An adapter that raises, after so many chunks."""

    def __init__(self, error: BaseException, after: int = 0) -> None:
        self.error, self.after = error, after

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Yield and raise."""
        for _ in range(self.after):
            yield TextDelta(0, "x")
        raise self.error


def service(adapter: Any = None, *plugins: Any) -> LlmService:
    """A service with an adapter for ``p`` and plugins, the first one outermost."""
    hooks = Hooks()
    for plugin in reversed(plugins):
        hooks.register(plugin)
    made = LlmService(hooks)
    if adapter is not None:
        made.register_adapter(["p"], adapter)
    return made


@contextmanager
def _running(server: ThreadingHTTPServer) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(PATIENCE)


@contextmanager
def mocked(**rules: Any) -> Iterator[str]:
    """The local model, running; its base URL."""
    with _running(mock_server(0, MockRules(**rules))) as port:
        yield f"http://127.0.0.1:{port}/v1"


class Conversation:
    """One request as a misbehaving server sees it, and what it may do to it."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes, released: threading.Event) -> None:
        self._handler, self.body, self.released = handler, body, released
        self.headers = handler.headers

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Answer at once, completely."""
        self.head(status, **{"content-length": str(len(body)), **headers})
        self._handler.wfile.write(body)

    def head(self, status: int = 200, **headers: str) -> None:
        """Begin an answer; without a length it ends with the connection."""
        self._handler.send_response(status)
        for name, value in {"content-type": "text/event-stream", "connection": "close", **headers}.items():
            self._handler.send_header(name.replace("_", "-"), value)
        self._handler.end_headers()

    def send(self, text: str | bytes) -> None:
        """Send a piece of the answer."""
        self._handler.wfile.write(text if isinstance(text, bytes) else text.encode())

    def reset(self) -> None:
        """Drop the connection in the rudest way."""
        connection = self._handler.connection
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        connection.close()

    def until_closed(self) -> bool:
        """Wait until the client is gone; false when it never goes."""
        self._handler.connection.settimeout(PATIENCE)
        try:
            return self._handler.connection.recv(1) == b""
        except ConnectionError:
            return True
        except TimeoutError:
            return False


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """What a misbehaving server runs into is its own doing."""


@contextmanager
def serving(behave: Callable[[Conversation], object]) -> Iterator[str]:
    """A server on which ``behave`` treats every request; its base URL."""
    released = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            self.close_connection = True
            behave(Conversation(self, body, released))

        def log_message(self, format: str, *args: Any) -> None:
            """Stay quiet."""

    with _running(_Quiet(("127.0.0.1", 0), Handler)) as port:
        try:
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            released.set()
