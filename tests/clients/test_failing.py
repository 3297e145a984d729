"""Whatever goes wrong: a gating event is denied in the client's form, an observing one is answered with silence."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest

from dshhooks.clients.answer import SILENT, Answer
from dshhooks.clients.failure import failed
from dshhooks.clients.service import HandleService
from dshhooks.clients.state import MAX_CONTINUATIONS
from hookspecs.decisions import Allow
from hookspecs.errors import ConfigError
from tests.clients.kit import AFTER, BEFORE, PROMPT, START, STOP, ask, plugin, request, sample, service, written
from tests.clients.ran import would_run, would_submit

pytestmark = pytest.mark.usefixtures("own_state")


def denied(client: str, answer: Answer, event: str = "") -> bool:
    """Whether a tool call does not go through."""
    word = event or sample(client, BEFORE[client]).get("hook_event_name", "")
    return not would_run(client, word, answer.stdout, answer.stderr, answer.code)


class Unprintable(Exception):
    """Cannot even be told about."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


FAULTS = [
    ValueError("broken"), SystemExit(0), RecursionError(), MemoryError(), KeyError("x"), Unprintable(), StopIteration(),
    ExceptionGroup("two", [ValueError(), OSError()]),
]  # fmt: skip


@pytest.mark.parametrize("client", BEFORE)
@pytest.mark.parametrize("hook", ["tools_pre_execute", "tools_guard", "operation_guard"])
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: type(fault).__name__)
def test_a_plugin_that_raises_denies(client, hook, fault):
    """Whatever it raises, and at whichever of the hooks that may say no."""

    def fail(execution: Any) -> None:
        raise fault

    def fail_operation(call: Any) -> None:
        raise fault

    broken = plugin(**{hook: fail_operation if hook == "operation_guard" else fail})
    answer = ask(client, sample(client, BEFORE[client]), broken)
    assert denied(client, answer)
    assert b"could not judge" in answer.stdout


@pytest.mark.parametrize(
    "answered", ["deny", False, object(), Allow, [Allow()]], ids=["text", "false", "object", "class", "list"]
)
@pytest.mark.parametrize("client", BEFORE)
def test_an_answer_that_is_no_decision_denies(client, answered):
    """A text is no `Deny`, and a false value no abstention."""
    answer = ask(client, sample(client, BEFORE[client]), plugin(tools_pre_execute=lambda execution: answered))
    assert denied(client, answer)


@pytest.mark.parametrize("client", BEFORE)
def test_a_host_that_cannot_start_denies(client):
    """A broken configuration, or an enabled plugin that cannot be loaded, with the reason."""
    broken = HandleService(None, ConfigError("dshhooks.toml: not valid TOML"))
    answer = ask_service(broken, client, sample(client, BEFORE[client]))
    assert denied(client, answer)
    assert b"not valid TOML" in answer.stdout


def ask_service(served: HandleService, client: str, payload: Any, **said: Any) -> Answer:
    """What a service answers, without an event loop."""
    from dshhooks.clients.direct import run_directly
    from dshhooks.engine.hooks import Hooks

    asked = request(client, payload, **said)
    return run_directly(Hooks(), (), lambda: served.answer(asked))


@pytest.mark.parametrize(
    "stdin", [b"", b"{", b"[]", b"\xff", b"{}", b'{"hook_event_name": "Banana"}', b'{"hook_event_name": null}', b"null"]
)
@pytest.mark.parametrize("client", BEFORE)
def test_stdin_that_is_no_event_denies(client, stdin):
    """It may have been a tool call, so it is treated as one."""
    assert denied(client, ask(client, stdin), "PreToolUse")


@pytest.mark.parametrize("client", ["auto", "clade", ""])
def test_a_client_nobody_knows_gets_the_portable_denial(client):
    """The one answer six clients honour: block and deny, reason on stderr, exit 2."""
    answer = ask(client, b'{"x": 1}')
    assert answer.code == 2
    assert answer.stderr.strip()
    for each in sorted(set(BEFORE) - {"vibe"}):
        assert denied(each, answer, "PreToolUse")


@pytest.mark.parametrize("client", BEFORE)
def test_a_misspelt_client_is_denied_in_the_form_of_the_one_it_is(client):
    """The payload says who is asking, although the command line does not."""
    answer = ask("clade", sample(client, BEFORE[client]))
    assert denied(client, answer)
    assert b"no client 'clade'" in answer.stdout


@pytest.mark.parametrize("client", PROMPT)
def test_a_failing_prompt_policy_blocks_the_prompt(client):
    """In the one form Copilot honours: block, exit 0."""
    answer = ask(client, sample(client, PROMPT[client]), plugin(agent_prompt_submit=fail_prompt))
    assert not would_submit(client, answer.stdout, answer.stderr, answer.code)


def fail_prompt(agent: Any) -> None:
    """A hook of the agent that is broken."""
    raise ValueError("broken")


@pytest.mark.parametrize("client", [*AFTER])
def test_a_failure_after_a_tool_is_silent_and_logged(client, caplog):
    """The tool has run; nothing waits for this."""

    def fail(execution: Any, result: Any) -> None:
        raise ValueError("broken")

    with caplog.at_level(logging.ERROR):
        assert ask(client, sample(client, AFTER[client]), plugin(tools_post_execute=fail)) == SILENT
    assert "broken" in caplog.text


@pytest.mark.parametrize("client", START)
def test_a_failure_at_the_start_of_a_session_is_silent(client):
    """A session that starts is observed."""
    broken = HandleService(None, ConfigError("broken"))
    assert ask_service(broken, client, sample(client, START[client])) == SILENT


@pytest.mark.parametrize("client", STOP)
def test_a_failing_stop_is_told_once_and_then_ends_the_turn(client, tmp_path, monkeypatch):
    """The model hears that the policy is broken; a second time would be for ever."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    broken = HandleService(None, ConfigError("broken"))
    first = ask_service(broken, client, sample(client, STOP[client]))
    assert written(first)["decision"] == "block"
    assert ask_service(broken, client, sample(client, STOP[client], stop_hook_active=True)) == SILENT


@pytest.mark.parametrize("client", sorted(AFTER))
def test_bytes_that_are_no_text_do_not_hide_an_observing_event(client):
    """What a tool printed need not be UTF-8; a result is nothing to be denied."""
    stdin = json.dumps(sample(client, AFTER[client])).encode()[:-1] + b', "more": "\xff"}'
    assert ask(client, stdin) == SILENT


@pytest.mark.parametrize("client", sorted(STOP))
def test_bytes_that_are_no_text_do_not_keep_a_turn_going(client):
    """The end of a turn is known and counted, although it cannot be judged: Codex and Gemini would go on for ever."""
    stdin = json.dumps(sample(client, STOP[client])).encode()[:-1] + b', "more": "\xff"}'
    answers = [ask(client, stdin) for _ in range(MAX_CONTINUATIONS + 1)]
    assert (answers[-1].stdout, answers[-1].stderr, answers[-1].code) == (b"", b"", 0)


@pytest.mark.parametrize("client", BEFORE)
def test_a_process_that_cannot_answer_is_answered_for(client):
    """Interrupts, a spent budget, a dead child: by the module that imports nothing, in the same form as any denial."""
    stdin = json.dumps(sample(client, BEFORE[client])).encode()
    out, err, code = failed(client, stdin, {}, "no")
    assert Answer(out, err, code) == ask(client, stdin, plugin(tools_guard=lambda execution: "no"))
    assert failed(client, stdin, {}, "no", "allow") == (b"", b"", 0)


@pytest.mark.parametrize("client", BEFORE)
def test_on_error_allow_lets_through_what_could_not_be_judged(client):
    """For those who want the opposite, and only for failures."""

    def fail(execution: Any) -> None:
        raise ValueError("broken")

    said = {"on_error": "allow"}
    assert ask(client, sample(client, BEFORE[client]), plugin(tools_pre_execute=fail), **said) == SILENT
    assert ask(client, b"{", **said) == SILENT
    no = ask(client, sample(client, BEFORE[client]), plugin(tools_guard=lambda execution: "no"), **said)
    assert denied(client, no)


def test_a_failing_observer_changes_nothing():
    """`tools_result` hears of a denied call; what it raises goes nowhere."""
    heard = []

    def result(execution: Any, result: Any) -> None:
        heard.append((execution.name, result.error.message))
        raise ValueError("broken")

    def guard(execution: Any) -> str:
        return "no"

    answer = ask("claude", sample("claude", "PreToolUse"), plugin(tools_guard=guard, tools_result=result))
    assert heard == [("bash", "no")]
    assert written(answer)["hookSpecificOutput"]["permissionDecisionReason"] == "no"


@pytest.mark.anyio
async def test_interrupts_and_cancellation_pass_through():
    """A service normalizes faults; a KeyboardInterrupt is none."""

    def interrupt(execution: Any) -> None:
        raise KeyboardInterrupt

    served = service(plugin(tools_pre_execute=interrupt))
    with pytest.raises(KeyboardInterrupt):
        await served.answer(request("claude", sample("claude", "PreToolUse")))


@pytest.mark.anyio
async def test_plugins_may_wait():
    """An `async def` policy is awaited; the answer is the same."""
    import anyio

    from hookspecs.decisions import Deny

    async def policy(execution: Any) -> Deny:
        await anyio.lowlevel.checkpoint()
        return Deny("no")

    served = service(plugin(tools_pre_execute=policy))
    answer = await served.answer(request("claude", sample("claude", "PreToolUse")))
    assert written(answer)["hookSpecificOutput"]["permissionDecisionReason"] == "no"


@pytest.mark.anyio
async def test_many_events_are_judged_at_once():
    """What plugins say to the agent of one event does not get into the answer to another."""
    import anyio

    async def policy(execution: Any) -> None:
        execution.agent.inject(execution.arguments["command"])
        await anyio.lowlevel.checkpoint()

    served, answers = service(plugin(tools_pre_execute=policy)), {}

    async def one(number: int) -> None:
        payload = sample("claude", "PreToolUse", tool_input={"command": f"c{number}"})
        answers[number] = written(await served.answer(request("claude", payload)))

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(one, number)
    assert {n: a["hookSpecificOutput"]["additionalContext"] for n, a in answers.items()} == {
        n: f"c{n}" for n in range(20)
    }
