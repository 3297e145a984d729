"""Oracles, against the mock model and servers that answer nonsense; proxies, with real runners."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import contextmanager

import pytest

from dshhooks.llm.mock import MockRules, mock_server
from tests.bridge.runtime_kit import python, runtime, serving, shell

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    """A proxy in the environment of the tests must not get between."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def model(**rules):
    """The mock model; yields its base URL."""
    with mock_server(0, MockRules(**rules)) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1/"
        finally:
            server.shutdown()
            thread.join()


def oracle(prompt="May this run? $ARGUMENTS", **members):
    """An oracle."""
    return {"type": "prompt", "prompt": prompt, **members}


async def one(folder, hook, base_url=None, payload=None, **options):
    """Dispatch to one hook and return the run."""
    llm = {"base_url": base_url, "model": "m", "api_key": "sesame"} if base_url else None
    (run,) = (await runtime(folder, hook, llm=llm, **options).dispatch("PreToolUse", payload or {})).runs
    return run


def replying(content):
    """An answer of a model server with this reply."""
    return {"choices": [{"message": {"role": "assistant", "content": content}}]}


# -- oracles -------------------------------------------------------------------------------------------------------


async def test_without_a_model(tmp_path):
    """Case 109: a failure that names the setting."""
    run = await one(tmp_path, oracle())
    assert run.outcome.failure == "config"
    assert "base_url" in str(run.error)


async def test_the_mock_model_denies(tmp_path):
    """The deny word in the payload reaches the model."""
    with model() as url:
        run = await one(tmp_path, oracle(), url, {"tool_input": {"command": "DENY"}})
    assert (run.outcome.decision, run.outcome.reason) == ("deny", "mock denied")


async def test_the_mock_model_agrees(tmp_path):
    """`ok: true` releases; it is no approval."""
    with model() as url:
        run = await one(tmp_path, oracle(), url)
    assert (run.outcome.decision, run.error) == ("none", None)


async def test_a_fenced_reply(tmp_path):
    """Case 110: a fence around the object, no reason given."""
    with serving(replying('Sure:\n```json\n{"ok":false}\n```\n')) as server:
        run = await one(tmp_path, oracle(), server.base_url)
    assert (run.outcome.decision, run.outcome.reason) == ("deny", "denied by evaluation")


async def test_ok_that_is_no_boolean(tmp_path):
    """Case 113: a failure, not an approval."""
    with serving(replying('{"ok":"false"}')) as server:
        run = await one(tmp_path, oracle(onError="block"), server.base_url)
    assert (run.outcome.failure, run.outcome.decision) == ("reply", "deny")


@pytest.mark.parametrize("body", ["no json", [], {"choices": []}, replying(None), {"choices": [{"message": 1}]}])
async def test_an_answer_without_a_reply(tmp_path, body):
    """Whatever the server says instead."""
    with serving(body) as server:
        run = await one(tmp_path, oracle(), server.base_url)
    assert run.outcome.failure == "reply"


async def test_a_server_that_refuses(tmp_path):
    """Not 2xx is a failure; the key is not in it."""
    with model(status=503) as url:
        run = await one(tmp_path, oracle(), url)
    assert run.outcome.failure == "http"
    assert "503" in str(run.error)
    assert "sesame" not in str(run.error)


async def test_what_is_asked(tmp_path):
    """One user message, temperature 0, the hook's own model, the key as bearer; the payload goes in literally."""
    with serving(replying('{"ok":true}')) as server:
        await one(tmp_path, oracle("A $ARGUMENTS B", model="mine"), server.base_url, {"own": "$& $' \\1"})
    ((headers, body),) = server.requests
    asked = json.loads(body)
    assert headers["authorization"] == "Bearer sesame"
    assert (asked["model"], asked["temperature"], len(asked["messages"])) == ("mine", 0, 1)
    text = asked["messages"][0]["content"]
    assert json.loads(text.removeprefix("A ").removesuffix(" B"))["own"] == "$& $' \\1"


async def test_a_model_that_thinks_too_long(tmp_path):
    """The hook's time counts."""
    with model(delay=3) as url:
        run = await one(tmp_path, oracle(timeout=0.3), url)
        assert run.error == "timed out after 0.3s"


# -- proxies -------------------------------------------------------------------------------------------------------

REFUSER = """
import json, os, sys
given = json.load(sys.stdin)
assert given["prompt"] == os.environ["HOOK_PROMPT"], "the prompt is in both places"
print(json.dumps({"decision": "block", "reason": given["prompt"].split(" ")[0] + given["tool_name"]}))
"""


async def test_a_proxy_gets_the_prompt(tmp_path):
    """Case 114: on stdin and as a variable; its answer counts like a shell hook's."""
    hook = {"type": "agent", "prompt": "Judge $ARGUMENTS", "command": python(tmp_path, REFUSER)["command"]}
    run = await one(tmp_path, hook, payload={"tool_name": "Bash"})
    assert (run.outcome.decision, run.outcome.reason) == ("deny", "JudgeBash")


async def test_a_proxy_without_a_shell(tmp_path):
    """With `args` a proxy's command is a program, too: nothing is shell text."""
    python(tmp_path, "import sys; sys.stderr.write('|'.join(sys.argv[1:])); sys.exit(2)", "agent.py")
    arguments = [str(tmp_path / "agent.py"), "a b", "$HOME", "; exit 0", "${CLAUDE_PROJECT_DIR}"]
    hook = {"type": "agent", "prompt": "p", "command": sys.executable, "args": arguments}
    run = await one(tmp_path, hook)
    assert (run.outcome.decision, run.outcome.reason) == ("deny", f"a b|$HOME|; exit 0|{tmp_path}")


async def test_a_proxy_without_a_runner(tmp_path):
    """Case 114: a failure that says what is missing."""
    run = await one(tmp_path, {"type": "agent", "prompt": "p"})
    assert run.outcome.failure == "config"
    assert "command" in str(run.error)


async def test_the_runtimes_runner(tmp_path):
    """It serves hooks that name none."""
    hook = {"type": "agent", "prompt": "p"}
    run = await one(tmp_path, hook, proxy={"command": "echo because >&2; exit 2"})
    assert (run.outcome.decision, run.outcome.reason) == ("deny", "because")


async def test_a_prompt_too_long_for_a_variable(tmp_path):
    """It is on stdin only, and the process starts."""
    hook = {"type": "agent", "prompt": "$ARGUMENTS", "command": 'echo "${HOOK_PROMPT-none}" >&2; exit 2'}
    run = await one(tmp_path, hook, payload={"own": "x" * 200_000})
    assert (run.outcome.decision, run.outcome.reason) == ("deny", "none")


async def test_a_proxy_is_ended_in_time(tmp_path):
    """Like any process."""
    run = await one(tmp_path, {"type": "agent", "prompt": "p", **shell("sleep 60"), "timeout": 0.2} | {"type": "agent"})
    assert run.error == "timed out after 0.2s"
