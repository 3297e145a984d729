"""Webhooks, against real servers: what is sent, what counts, and what is a failure."""

from __future__ import annotations

import gzip
import json
import logging
import socket
import time
import tracemalloc

import pytest

from tests.bridge.runtime_kit import no_proxies, runtime, serving

pytestmark = pytest.mark.anyio

SECRET = "sesame-1234"


def webhook(server, **members):
    """A hook that posts to a server."""
    return {"type": "http", "url": server if isinstance(server, str) else server.url, **members}


async def one(folder, hook, event="PreToolUse", payload=None, **options):
    """Dispatch to one webhook and return the run."""
    made = runtime(folder, hook, event=event, environ=no_proxies() | {"TOK": SECRET}, **options)
    (run,) = (await made.dispatch(event, payload or {"tool_name": "Bash"})).runs
    return run


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    """A proxy in the environment of the tests must not get between."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


async def test_a_denial(tmp_path):
    """Case 103: the body is read like stdout."""
    with serving({"decision": "block", "reason": "r"}) as server:
        run = await one(tmp_path, webhook(server))
    assert (run.outcome.decision, run.outcome.reason, run.outcome.exit_code) == ("deny", "r", 0)


async def test_what_is_sent(tmp_path):
    """The payload in the hook's dialect, as JSON, without a newline."""
    with serving() as server:
        await one(tmp_path, webhook(server))
    ((headers, body),) = server.requests
    assert headers["content-type"] == "application/json"
    assert json.loads(body)["hook_event_name"] == "PreToolUse"
    assert not body.endswith(b"\n")


async def test_the_content_type_can_be_another(tmp_path):
    """In whatever case it is written."""
    with serving() as server:
        await one(tmp_path, webhook(server, headers={"CONTENT-Type": "application/x"}))
    assert server.requests[0][0]["content-type"] == "application/x"


@pytest.mark.parametrize(("status", "body"), [(204, b""), (200, b""), (201, b"just text")])
async def test_no_opinion(tmp_path, status, body):
    """An empty body, or text on an event that takes none, says nothing and is no failure."""
    with serving(body, status) as server:
        run = await one(tmp_path, webhook(server))
    assert (run.outcome.decision, run.outcome.contexts, run.error) == ("none", (), None)


async def test_text_is_context_where_stdout_is(tmp_path):
    """Spec A.6.6: like a command's."""
    made = None
    with serving("remember this") as server:
        made = runtime(tmp_path, webhook(server), event="SessionStart")
        dispatch = await made.dispatch("SessionStart", {"source": "startup"})
    assert dispatch.outcome.contexts == ("remember this",)


async def test_a_server_error(tmp_path):
    """Case 104: a failure, with at most 200 characters of what it said."""
    with serving("x" * 10_000, 500) as server:
        run = await one(tmp_path, webhook(server))
    assert (run.outcome.failure, run.outcome.decision) == ("http", "none")
    assert "HTTP 500" in str(run.error)
    assert str(run.error).count("x") == 200


async def test_a_status_alone_never_denies(tmp_path):
    """403 with a denial in the body is a failure like any other."""
    with serving({"decision": "block"}, 403) as server:
        run = await one(tmp_path, webhook(server))
    assert (run.outcome.failure, run.outcome.decision) == ("http", "none")


async def test_redirects_are_not_followed(tmp_path):
    """Case 106: the other host hears nothing, and the headers stay here."""
    with serving({"decision": "block"}) as other, serving(status=307, location=other.url) as server:
        run = await one(tmp_path, webhook(server))
        assert other.requests == []
    assert "307" in str(run.error)


@pytest.mark.parametrize(("allowed", "sent"), [([], "Bearer "), (["TOK"], f"Bearer {SECRET}")])
async def test_variables_in_headers(tmp_path, allowed, sent, caplog):
    """Case 107: only those that are allowed; the value is in no log and no record."""
    caplog.set_level(logging.DEBUG, logger="dshhooks")
    with serving(status=500) as server:
        made = runtime(tmp_path, webhook(server, headers={"Authorization": "Bearer $TOK"}, allowedEnvVars=allowed),
                       environ=no_proxies() | {"TOK": SECRET}, history=tmp_path / "history")  # fmt: skip
        dispatch = await made.dispatch("PreToolUse")
    assert server.requests[0][0]["authorization"].strip() == sent.strip()
    assert SECRET not in caplog.text + json.dumps(dispatch.as_json()) + (tmp_path / "history").read_text()


async def test_a_header_with_a_line_break(tmp_path):
    """It would start another header: nothing is sent."""
    with serving() as server:
        made = runtime(tmp_path, webhook(server, headers={"X": "$TOK"}, allowedEnvVars=["TOK"]),
                       environ=no_proxies() | {"TOK": "a\r\nEvil: yes"})  # fmt: skip
        (run,) = (await made.dispatch("PreToolUse")).runs
    assert server.requests == []
    assert run.outcome.failure == "config"


async def test_a_header_that_cannot_be_sent(tmp_path):
    """The failure does not quote it."""
    with serving() as server:
        made = runtime(tmp_path, webhook(server, headers={"X": "$TOK"}, allowedEnvVars=["TOK"]),
                       environ=no_proxies() | {"TOK": f"{SECRET}\x00"})  # fmt: skip
        (run,) = (await made.dispatch("PreToolUse")).runs
    assert run.outcome.failure == "http"
    assert SECRET not in str(run.error)


@pytest.mark.parametrize(("policy", "decision"), [(None, "none"), ("block", "deny")])
async def test_nobody_listens(tmp_path, policy, decision, caplog):
    """Case 108: a warning, or a denial where failures block."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/hook"
        run = await one(tmp_path, webhook(url, **({"onError": policy} if policy else {})))
    assert (run.outcome.failure, run.outcome.decision) == ("http", decision)
    assert [("127.0.0.1" in record.message, record.levelname) for record in caplog.records] == [(True, "WARNING")]


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nconte",
                                  b'HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"decision": "block"}'])  # fmt: skip
async def test_a_server_that_closes_early(tmp_path, sent):
    """Before, in the middle of, or after its headers: half an answer is a failure, and denies where failures do."""
    with serving(answer=lambda handler: handler.wfile.write(sent)) as server:
        run = await one(tmp_path, webhook(server, onError="block"))
    assert (run.outcome.failure, run.outcome.decision) == ("http", "deny")


async def test_a_body_that_trickles(tmp_path):
    """The time limit covers the body."""

    def trickle(handler):
        handler.send_response(200)
        handler.end_headers()
        for number in range(200):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            written.append(number)
            time.sleep(0.05)

    written = []
    with serving(answer=trickle) as server:
        run = await one(tmp_path, webhook(server, timeout=0.5))
        assert len(written) < 200
    assert run.error == "timed out after 0.5s"


async def test_a_body_without_end(tmp_path):
    """No more than the limit is read."""

    def flood(handler):
        handler.send_response(200)
        handler.end_headers()
        for _ in range(10_000):
            handler.wfile.write(b"x" * 65536)

    with serving(answer=flood) as server:
        run = await one(tmp_path, webhook(server, timeout=10), limits={"stdout": 1000})
    assert run.outcome.stdout_truncated
    assert len(run.outcome.stdout) == 1000


def packed(data, *encodings):
    """An answer that is compressed, although it was asked for as it is."""

    def answer(handler):
        handler.send_response(200)
        handler.send_header("content-encoding", ", ".join(encodings))
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


async def test_a_compressed_answer(tmp_path):
    """Nobody asked for it; it is read all the same."""
    with serving(answer=packed(gzip.compress(b'{"decision": "block"}'), "gzip")) as server:
        run = await one(tmp_path, webhook(server))
    assert server.requests[0][0]["accept-encoding"] == "identity"
    assert run.outcome.decision == "deny"


async def test_a_compressed_flood(tmp_path):
    """No more of it is unpacked than is kept."""
    data = gzip.compress(b'{"a": "' + b"x" * (100 << 20))
    with serving(answer=packed(data, "gzip")) as server:
        tracemalloc.start()
        try:
            run = await one(tmp_path, webhook(server))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert (run.outcome.stdout_truncated, run.outcome.decision) == (True, "deny")
    assert peak < 20 << 20


@pytest.mark.parametrize("encodings", [("gzip", "gzip"), ("br",)])
async def test_an_answer_in_another_encoding(tmp_path, encodings):
    """Packed again and again, three hundred bytes hold a gigabyte: it is a failure that names the encoding."""
    with serving(answer=packed(gzip.compress(gzip.compress(b"x")), *encodings)) as server:
        run = await one(tmp_path, webhook(server, onError="block"))
    assert (run.outcome.failure, run.outcome.decision) == ("http", "deny")
    assert repr(", ".join(encodings)) in str(run.error)


DENY = b'{"decision": "block", "reason": "no"}'


@pytest.mark.parametrize(
    "data",
    [gzip.compress(DENY)[:-12], gzip.compress(DENY[:14]) + gzip.compress(DENY[14:]), gzip.compress(b"{}") + b"x"],
    ids=["cut", "in two parts", "followed"],
)
async def test_a_packed_answer_that_is_not_whole(tmp_path, data):
    """What is missing, or follows, may say no: a failure, and not the little that could be read."""
    with serving(answer=packed(data, "gzip")) as server:
        run = await one(tmp_path, webhook(server, onError="block"))
    assert (run.outcome.failure, run.outcome.decision) == ("http", "deny")
    assert "packed answer" in str(run.error)


async def test_nothing_packed(tmp_path):
    """An empty answer is one, whatever it says of its encoding."""
    with serving(answer=packed(b"", "gzip")) as server:
        run = await one(tmp_path, webhook(server, onError="block"))
    assert (run.outcome.failure, run.outcome.decision) == (None, "none")


async def test_an_answer_that_is_not_what_it_says(tmp_path):
    """A failure like any other."""
    with serving(answer=packed(b"hello", "gzip")) as server:
        run = await one(tmp_path, webhook(server))
    assert run.outcome.failure == "http"


async def test_an_address_with_a_password(tmp_path):
    """It is sent, and not shown."""
    with serving(status=500) as server:
        url = f"http://me:{SECRET}@127.0.0.1:{server.port}/hook?key={SECRET}"
        run = await one(tmp_path, webhook(url))
    assert server.requests[0][0]["authorization"].startswith("Basic ")
    assert SECRET not in str(run.error)
    assert f"http://127.0.0.1:{server.port}/hook" in str(run.error)


@pytest.mark.parametrize(
    ("pattern", "sent"),
    [
        ("http://127.0.0.1:{port}/*", True),
        ("http://127.*:{port}/hook", True),
        ("http://127.0.0.1:*/*", True),
        ("http://127.0.0.1:1/*", False),
        ("http://127.0.0.1:x/*", False),
        ("https://127.0.0.1:{port}/*", False),
        ("http://*.example.com:{port}/*", False),
        ("http://127.0.0.1:{port}", False),
    ],
)
async def test_where_webhooks_may_post(tmp_path, pattern, sent):
    """Elsewhere nothing is sent, and the run is a failure."""
    with serving() as server:
        run = await one(tmp_path, webhook(server), allowed_urls=[pattern.format(port=server.port)])
    assert len(server.requests) == sent
    assert run.outcome.failure == (None if sent else "config")


async def test_no_star_reaches_into_the_path(tmp_path):
    """A host that only ends like an allowed one, or names it in its path, is another host."""
    for url in (
        "http://evil.test/a.example.com/x",
        "http://a.example.com@evil.test/x",
        "http://a.example.com.evil.test/x",
    ):
        run = await one(tmp_path, webhook(url), allowed_urls=["http://*.example.com/*"])
        assert run.outcome.failure == "config"
