"""A local model: an OpenAI-compatible server that answers by rule, for tests and for trying things out.

Rules, in this order: a request whose last message is a tool's result is answered with text about it. With tools, a
line ``call NAME {json}`` in the prompt asks for that call; a prompt about files asks for a listing. Without tools, the
prompt is a question to an oracle: ``{"ok": false, "reason": "mock denied"}`` when it contains the deny word, else
``{"ok": true}``.
"""

from __future__ import annotations

import json
import re
import socketserver
import sys
import time
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from attrs import frozen

__all__ = ["MockRules", "mock_server"]

_CALL = re.compile(r"^\s*call\s+([\w.-]+)\s+(\{.*\})\s*$", re.MULTILINE)


@frozen
class MockRules:
    """How the mock answers.

    Args:
        deny_on: The deny word; case counts.
        fence: Wrap oracle answers in a code fence.
        delay: Seconds to wait before answering.
        status: Answer every request with this HTTP status.
        raw: Answer with exactly this text.
    """

    deny_on: str = "DENY"
    fence: bool = False
    delay: float = 0.0
    status: int = 200
    raw: str | None = None

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the assistant message for a request."""
        messages = request.get("messages") or []
        if self.raw is not None:
            return {"role": "assistant", "content": self.raw}
        if messages and messages[-1].get("role") == "tool":
            return {"role": "assistant", "content": _about_results(messages)}
        prompt = "\n".join(_text(message) for message in messages if message.get("role") == "user")
        calls = _calls(prompt, _last_user(messages), request.get("tools") or [])
        if calls:
            return {"role": "assistant", "content": None, "tool_calls": calls}
        if request.get("tools"):
            return {"role": "assistant", "content": f"You said: {_last_user(messages)}"}
        verdict = {"ok": False, "reason": "mock denied"} if self.deny_on in prompt else {"ok": True}
        text = json.dumps(verdict, separators=(",", ":"))
        return {"role": "assistant", "content": f"```json\n{text}\n```" if self.fence else text}


def _text(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _last_user(messages: list[dict[str, Any]]) -> str:
    return next((_text(message) for message in reversed(messages) if message.get("role") == "user"), "")


def _about_results(messages: list[dict[str, Any]]) -> str:
    results: list[str] = []
    for message in reversed(messages):
        if message.get("role") != "tool":
            break
        results.insert(0, _text(message))
    return "The tool said:\n" + "\n".join(results)


def _calls(prompt: str, last: str, tools: list[Any]) -> list[dict[str, Any]]:
    names = [tool["function"].get("name") for tool in tools]
    wanted = [(name, arguments) for name, arguments in _CALL.findall(last) if name in names]
    if not wanted and re.search(r"\bfiles?\b", last, re.IGNORECASE):
        if "bash" in names:
            wanted = [("bash", '{"command": "ls -A; ls -A | wc -l"}')]
        elif "list_files" in names:
            wanted = [("list_files", "{}")]
    return [
        {"id": _call_id(prompt, at), "type": "function", "function": {"name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(wanted)
    ]


def _call_id(prompt: str, at: int) -> str:
    # The same conversation gets the same ids in every process, so that what was recorded can be compared.
    return f"call_{zlib.crc32(prompt.encode('utf-8', 'replace')):08x}_{at}"


def _problem(request: Any) -> str | None:
    """Say what keeps a request from being answered, as an endpoint would."""
    if not isinstance(request, dict):
        return "the request must be an object"
    messages, tools = request.get("messages", []), request.get("tools")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages):
        return "messages must be a list of objects"
    if tools is not None and not (isinstance(tools, list) and all(_is_tool(tool) for tool in tools)):
        return "tools must be a list of objects with a function"
    return None


def _is_tool(tool: Any) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("function"), dict)


def mock_server(port: int = 8765, rules: MockRules | None = None) -> ThreadingHTTPServer:
    """Return a server bound to 127.0.0.1; call ``serve_forever()`` on it.

    Args:
        port: 0 picks a free one; ``server.server_address[1]`` tells which.
        rules: How it answers.

    Raises:
        OSError: The port is taken.
    """
    handler = type("Handler", (_Handler,), {"rules": rules or MockRules()})
    return _Server(("127.0.0.1", port), handler)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def server_bind(self) -> None:
        """Bind without asking the resolver for this machine's name, which can take seconds."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away in the middle of an answer."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    rules: MockRules
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes; the second must not wait for the first's receipt

    def do_POST(self) -> None:
        """Answer a chat completion; everything else is not found."""
        body = self._body()
        if body is None:
            self._error(411, "content-length is required")
        elif not self.path.split("?")[0].endswith("/chat/completions"):
            self._error(404, f"no such path: {self.path}")
        else:
            self._complete(body)

    def do_GET(self) -> None:
        """Nothing is served by anything but POST."""
        if self._body() is None:
            self.close_connection = True
        self._error(404, f"no such path: {self.path}")

    do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_GET

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""

    def _complete(self, body: bytes) -> None:
        try:
            request = json.loads(body)
        except ValueError as exc:
            self._error(400, f"invalid JSON: {exc}")
            return
        problem = _problem(request)
        if problem is not None:
            self._error(400, problem)
            return
        time.sleep(self.rules.delay)
        if self.rules.status != 200:
            self._json(self.rules.status, {"error": {"message": "the mock was told to fail", "type": "mock"}})
            return
        message = self.rules.answer(request)
        if request.get("stream"):
            self._stream(request, message)
        else:
            self._json(200, _completion(request, message))

    def _body(self) -> bytes | None:
        """Read the request's body; ``None`` when its length is not told, and the connection is not usable after it."""
        length = self.headers.get("content-length") or ("" if "transfer-encoding" in self.headers else "0")
        if not length.isascii() or not length.isdigit():
            self.close_connection = True
            return None
        return self.rfile.read(int(length))

    def _error(self, status: int, message: str) -> None:
        self._json(status, {"error": {"message": message, "type": "invalid_request_error"}})

    def _json(self, status: int, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _stream(self, request: dict[str, Any], message: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        for document in _parts(request, message):
            self.wfile.write(f"data: {json.dumps(document)}\n\n".encode())
            self.wfile.flush()
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


def _usage(request: dict[str, Any], message: dict[str, Any]) -> dict[str, int]:
    prompt, answer = len(json.dumps(request.get("messages"))) // 4, max(1, len(json.dumps(message)) // 4)
    return {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt + answer}


def _finish(message: dict[str, Any]) -> str:
    return "tool_calls" if message.get("tool_calls") else "stop"


def _head(request: dict[str, Any], kind: str) -> dict[str, Any]:
    return {"id": "mock", "object": kind, "created": int(time.time()), "model": request.get("model", "mock")}


def _completion(request: dict[str, Any], message: dict[str, Any]) -> dict[str, Any]:
    choice = {"index": 0, "message": message, "finish_reason": _finish(message)}
    return {**_head(request, "chat.completion"), "choices": [choice], "usage": _usage(request, message)}


def _parts(request: dict[str, Any], message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    head = _head(request, "chat.completion.chunk")

    def part(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield part({"role": "assistant", "content": ""})
    for piece in re.findall(r"\s*\S+\s*|\s+", message.get("content") or ""):
        yield part({"content": piece})
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = call["function"]
        yield part({"tool_calls": [{"index": index, **call, "function": {"name": function["name"], "arguments": ""}}]})
        for at in range(0, len(function["arguments"]), 16):
            piece = function["arguments"][at : at + 16]
            yield part({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield part({}, _finish(message))
    if (request.get("stream_options") or {}).get("include_usage"):
        yield {**head, "choices": [], "usage": _usage(request, message)}
