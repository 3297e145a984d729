"""The local model over real HTTP, in this process and as a command (spec/external-hooks.md A.12)."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest

from dshhooks.llm.mock import MockRules, mock_server
from tests.llm.kit import PATIENCE, mocked

TOOLS = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("add", "list_files")]


def body(text, **more):
    """A request with one prompt."""
    return {"model": "mock", "messages": [{"role": "user", "content": text}], **more}


def post(base, request, path="/chat/completions", **more):
    """Send a request."""
    return httpx.post(base + path, json=request, timeout=PATIENCE, **more)


def message(response):
    """The assistant message of an answer."""
    assert response.status_code == 200
    return response.json()["choices"][0]["message"]


def events(response):
    """The documents of a streamed answer."""
    lines = [line for line in response.text.split("\n\n") if line]
    assert lines[-1] == "data: [DONE]"
    return [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]


@pytest.fixture(scope="module")
def base():
    """One server for the tests that need no rules of their own."""
    with mocked() as url:
        yield url


class TestOracle:
    @pytest.mark.parametrize(("text", "content"), [
        ("may I?", '{"ok":true}'),
        ("please DENY this", '{"ok":false,"reason":"mock denied"}'),
        ("undENYable, deny, Deny", '{"ok":true}'),
    ])  # fmt: skip
    def test_the_deny_word(self, base, text, content):
        """It denies, and case counts."""
        assert message(post(base, body(text))) == {"role": "assistant", "content": content}

    def test_all_user_messages_count(self, base):
        """They are one prompt; what others said is not part of it."""
        said = [
            {"role": "system", "content": "DENY"},
            {"role": "user", "content": "DE"},
            {"role": "user", "content": "NY"},
        ]
        assert message(post(base, {"messages": said}))["content"] == '{"ok":true}'
        said = [{"role": "user", "content": [{"type": "text", "text": "DENY"}]}, {"role": "user", "content": "now"}]
        assert message(post(base, {"messages": said}))["content"].startswith('{"ok":false')

    def test_another_deny_word(self):
        """The one that was asked for replaces the usual one."""
        with mocked(deny_on="verboten") as base:
            assert message(post(base, body("verboten")))["content"].startswith('{"ok":false')
            assert message(post(base, body("DENY")))["content"] == '{"ok":true}'

    def test_a_fence(self):
        """As models like to write."""
        with mocked(fence=True) as base:
            assert message(post(base, body("x")))["content"] == '```json\n{"ok":true}\n```'

    def test_a_raw_answer(self):
        """Exactly this, whatever was asked."""
        with mocked(raw=" no JSON ") as base:
            assert message(post(base, body("DENY", tools=TOOLS)))["content"] == " no JSON "

    def test_a_delay(self):
        """A client that is less patient has gone by then."""
        with mocked(delay=PATIENCE) as base, pytest.raises(httpx.ReadTimeout):
            httpx.post(base + "/chat/completions", json=body("x"), timeout=0.2)

    @pytest.mark.parametrize("status", [401, 429, 500, 503])
    def test_a_status(self, status):
        """Every request fails with it, as JSON."""
        with mocked(status=status) as base:
            response = post(base, body("x"))
            assert (response.status_code, response.json()["error"]["message"]) == (status, "the mock was told to fail")


class TestShape:
    def test_a_completion(self, base):
        """The minimal form clients rely on."""
        answer = post(base, body("x")).json()
        assert {key: answer[key] for key in ("id", "object", "model")} == {
            "id": "mock", "object": "chat.completion", "model": "mock",
        }  # fmt: skip
        assert (answer["choices"][0]["index"], answer["choices"][0]["finish_reason"]) == (0, "stop")
        usage = answer["usage"]
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]

    @pytest.mark.parametrize("usage", [False, True])
    def test_a_streamed_answer(self, base, usage):
        """Pieces that make the same text, one finish, and usage behind it when it was asked for."""
        more = {"stream_options": {"include_usage": True}} if usage else {}
        response = post(base, body("hello there you", stream=True, tools=TOOLS, **more))
        documents = events(response)
        choices = [choice for document in documents for choice in document["choices"]]
        assert response.headers["content-type"] == "text/event-stream"
        assert "".join(choice["delta"].get("content", "") for choice in choices) == "You said: hello there you"
        assert [choice["finish_reason"] for choice in choices if choice["finish_reason"]] == ["stop"]
        assert [bool(document.get("usage")) for document in documents].count(True) == usage

    def test_streamed_white_space(self):
        """Nothing is lost, even when there is nothing else."""
        with mocked(raw=" \n\n ") as base:
            documents = events(post(base, body("x", stream=True)))
        assert "".join(document["choices"][0]["delta"].get("content", "") for document in documents) == " \n\n "


class TestTools:
    def test_a_call_that_was_asked_for(self, base):
        """A line of the prompt names tool and arguments; several lines are several calls."""
        answer = message(post(base, body('do\ncall add {"a": 1}\n  call add {"a": 2}  \nplease', tools=TOOLS)))
        calls = answer["tool_calls"]
        assert [call["function"] for call in calls] == [
            {"name": "add", "arguments": '{"a": 1}'}, {"name": "add", "arguments": '{"a": 2}'},
        ]  # fmt: skip
        assert len({call["id"] for call in calls}) == 2
        assert answer["content"] is None

    @pytest.mark.parametrize("text", ['call mul {"a": 1}', "call add now", 'recall add {"a": 1}', "profile this"])
    def test_what_asks_for_none(self, base, text):
        """An unknown tool, no arguments, or other words."""
        assert message(post(base, body(text, tools=TOOLS)))["content"] == f"You said: {text}"

    def test_a_prompt_about_files(self, base):
        """It is answered with a listing, by whichever tool can."""
        assert message(post(base, body("Which files are here?", tools=TOOLS)))["tool_calls"][0]["function"] == {
            "name": "list_files", "arguments": "{}",
        }  # fmt: skip

    def test_only_the_last_prompt_asks(self, base):
        """A call of an earlier turn is not made again."""
        said = [{"role": "user", "content": "call add {}"}, {"role": "assistant", "content": "done"},
                {"role": "user", "content": "thanks"}]  # fmt: skip
        assert message(post(base, {"messages": said, "tools": TOOLS}))["content"] == "You said: thanks"

    def test_results(self, base):
        """They are talked about, all of the last batch."""
        said = [{"role": "user", "content": "call add {}"}, {"role": "tool", "tool_call_id": "1", "content": "old"},
                {"role": "assistant", "content": ""}, {"role": "tool", "tool_call_id": "2", "content": "3"},
                {"role": "tool", "tool_call_id": "3", "content": "4"}]  # fmt: skip
        assert message(post(base, {"messages": said, "tools": TOOLS}))["content"] == "The tool said:\n3\n4"

    def test_streamed_calls(self, base):
        """Id and name first, arguments in pieces."""
        documents = events(post(base, body('call add {"a": 12345, "b": 67890}', stream=True, tools=TOOLS)))
        deltas = [call for document in documents for call in document["choices"][0]["delta"].get("tool_calls", ())]
        assert deltas[0]["id"]
        assert deltas[0]["function"] == {"name": "add", "arguments": ""}
        assert len(deltas) > 2
        assert "".join(delta["function"]["arguments"] for delta in deltas) == '{"a": 12345, "b": 67890}'
        assert documents[-1]["choices"][0]["finish_reason"] == "tool_calls"

    def test_the_same_conversation_has_the_same_ids(self):
        """In any process: nothing of it is random."""
        rules, request = MockRules(), body("call add {}\ncall add {}\ud800", tools=TOOLS)
        ids = [call["id"] for call in rules.answer(request)["tool_calls"]]
        script = f"""
from dshhooks.llm.mock import MockRules
print(*[call["id"] for call in MockRules().answer({request!r})["tool_calls"]])
"""
        out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        assert out.split() == ids


class TestRefusals:
    @pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
    def test_any_other_method(self, base, method):
        """Nothing is served by it, and the connection stays usable."""
        with httpx.Client(base_url=base, timeout=PATIENCE) as client:
            response = client.request(method, "/chat/completions", content=b"some body")
            assert response.status_code == 404
            assert client.post("/chat/completions", json=body("x")).status_code == 200

    @pytest.mark.parametrize("path", ["", "/completions", "/chat", "/models", "/chat/completions/x"])
    def test_any_other_path(self, base, path):
        """Not found, saying which."""
        response = post(base, body("x"), path)
        assert response.status_code == 404
        assert f"/v1{path}" in response.json()["error"]["message"]

    def test_a_query_string(self, base):
        """Some clients add one."""
        assert post(base, body("x"), "/chat/completions?api-version=1").status_code == 200

    @pytest.mark.parametrize("content", [
        b"", b"{", b"[]", b"7", b'"x"', b"\xff", b'{"messages": 1}', b'{"messages": [1]}',
        b'{"messages": [], "tools": 1}', b'{"messages": [], "tools": [{}]}',
        b'{"messages": [], "tools": [{"function": null}]}',
    ])  # fmt: skip
    def test_what_is_no_request(self, base, content):
        """400, as JSON, and the connection stays usable."""
        with httpx.Client(base_url=base, timeout=PATIENCE) as client:
            response = client.post("/chat/completions", content=content)
            assert (response.status_code, response.json()["error"]["type"]) == (400, "invalid_request_error")
            assert client.post("/chat/completions", json=body("x")).status_code == 200

    def test_a_body_of_unknown_length(self, base):
        """It is asked for its length; the next request gets a fresh connection."""
        with httpx.Client(base_url=base, timeout=PATIENCE) as client:
            response = client.post("/chat/completions", content=iter([b"{}"]))
            assert response.status_code == 411
            assert client.post("/chat/completions", json=body("x")).status_code == 200

    def test_a_client_that_goes_away(self, capsys):
        """The server says nothing of it and serves the next one."""
        with mocked(raw="word " * 200_000) as base:
            with httpx.stream(
                "POST", base + "/chat/completions", json=body("x", stream=True), timeout=PATIENCE
            ) as answer:
                next(answer.iter_bytes())
            assert post(base, body("x")).status_code == 200
        assert capsys.readouterr().err == ""

    def test_a_port_that_is_taken(self):
        """It cannot be had twice."""
        with mock_server(0) as server, pytest.raises(OSError, match="in use"):
            mock_server(server.server_address[1])


class TestCommand:
    """``dshhooks mock-llm`` as a process of its own."""

    @pytest.fixture
    def start(self):
        """Start it with options; give its port."""
        started = []

        def starting(*arguments):
            command = [sys.executable, "-m", "dshhooks.cli", "mock-llm", *arguments]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            started.append(process)
            return process

        yield starting
        for process in started:
            process.kill()
            process.communicate()

    def test_it_prints_its_port_and_serves(self, start):
        """The first line of stdout is the port, on 127.0.0.1."""
        process = start("--port", "0", "--deny-on", "NO", "--fence")
        port = int(process.stdout.readline())
        answer = message(post(f"http://127.0.0.1:{port}/v1", body("NO")))["content"]
        assert answer == '```json\n{"ok":false,"reason":"mock denied"}\n```'

    @pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
    def test_it_ends_when_it_is_told_to(self, start, number, code):
        """At once, without a traceback."""
        process = start("--port", "0")
        process.stdout.readline()
        began = time.monotonic()
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == code
        assert "Traceback" not in err
        assert time.monotonic() - began < PATIENCE

    def test_a_port_that_is_taken(self, start):
        """It says what to do about it."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            process = start("--port", str(taken.getsockname()[1]))
            _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
        assert "choose another with --port" in err

    @pytest.mark.parametrize("arguments", [["--port", "70000"], ["--delay", "-1"], ["--status", "42"], ["--odd"]])
    def test_options_that_are_none(self, start, arguments):
        """They are refused before anything is served."""
        process = start(*arguments)
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out) == (1, "")
        assert arguments[0] in err
