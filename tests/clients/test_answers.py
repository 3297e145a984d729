"""Golden answers: each client, each verdict, to the byte's meaning (observed.md 2 and 4)."""

from __future__ import annotations

from typing import Any

import pytest

from dshhooks.clients.answer import SILENT, Answer
from hookspecs.decisions import Accept, Allow, AllowPrompt, Ask, Block, BlockPrompt, ContinueTurn, Deny, SteeringReason
from hookspecs.values import HookContext, PluginSource
from tests.clients.kit import AFTER, BEFORE, PROMPT, START, STOP, ask, plugin, sample, written
from tests.clients.ran import would_run

pytestmark = pytest.mark.usefixtures("own_state")

SOURCE = PluginSource("policy")


def specific(event: str, **members: Any) -> dict[str, Any]:
    """The part of Claude's form that is about one event."""
    return {"hookSpecificOutput": {"hookEventName": event, **members}}


def deny(event: str, reason: str) -> dict[str, Any]:
    """A denial in Claude's form."""
    return specific(event, permissionDecision="deny", permissionDecisionReason=reason)


def before(client: str, decision: Any, **said: Any) -> Answer:
    """The answer to a tool call about which a plugin decides so."""
    return ask(client, sample(client, BEFORE[client]), plugin(tools_pre_execute=lambda execution: decision), **said)


DENIED = {
    "claude": (deny("PreToolUse", "no"), "", 0),
    "codex": (deny("PreToolUse", "no"), "", 0),
    "gemini": ({"decision": "deny", "reason": "no"}, "", 0),
    "qwen": (deny("PreToolUse", "no"), "", 0),
    "copilot": (deny("PreToolUse", "no"), "", 0),
    "copilot-native": ({"permissionDecision": "deny", "permissionDecisionReason": "no"}, "", 0),
    "vibe": ({"decision": "deny", "reason": "no"}, "", 0),
    "openhands": ({"decision": "deny", "reason": "no"}, "no\n", 2),
}


@pytest.mark.parametrize("client", DENIED)
def test_deny(client):
    """A denial arrives with its reason, in the form that client honours, and nothing else is written."""
    answer = before(client, Deny("no"))
    assert (written(answer), answer.stderr.decode(), answer.code) == DENIED[client]


@pytest.mark.parametrize("client", DENIED)
def test_a_guard_denies_like_a_policy(client):
    """`tools_guard` is asked as well, and its reason is told."""
    answer = ask(client, sample(client, BEFORE[client]), plugin(tools_guard=lambda execution: "no"))
    assert (written(answer), answer.stderr.decode(), answer.code) == DENIED[client]


@pytest.mark.parametrize("client", BEFORE)
@pytest.mark.parametrize("decision", [None, Allow()], ids=["abstains", "allows"])
def test_no_opinion_and_an_unasked_approval_are_silent(client, decision):
    """An approval nobody asked to be passed on would run what the user never approved."""
    assert before(client, decision) == SILENT


ASKED = {
    "claude": specific("PreToolUse", permissionDecision="ask", permissionDecisionReason="sure?"),
    "qwen": specific("PreToolUse", permissionDecision="ask", permissionDecisionReason="sure?"),
    "copilot": specific("PreToolUse", permissionDecision="ask", permissionDecisionReason="sure?"),
}


@pytest.mark.parametrize("client", ASKED)
def test_ask_where_the_client_can(client):
    """The client asks its user; headless it was measured to deny."""
    answer = before(client, Ask("sure?"))
    assert (written(answer), answer.stderr, answer.code) == (ASKED[client], b"", 0)


@pytest.mark.parametrize("client", sorted(set(BEFORE) - set(ASKED)))
def test_ask_is_a_denial_where_the_client_cannot(client):
    """Codex runs the tool after an ask and Gemini hangs; so it is denied, and the reason says why."""
    answer = before(client, Ask("sure?"))
    assert b"sure?" in answer.stdout
    assert b"cannot ask" in answer.stdout
    assert not would_run(client, sample(client, BEFORE[client]).get("hook_event_name", ""), *wire(answer))


@pytest.mark.parametrize("client", BEFORE)
def test_ask_is_a_denial_where_nobody_is_to_be_asked(client):
    """`approval.policy = "never"` holds here, too."""
    answer = before(client, Ask("sure?"), approval="never")
    assert b"never" in answer.stdout
    assert b'"ask"' not in answer.stdout


APPROVED = {
    "claude": ("permissionDecision", "allow"), "codex": ("permissionDecision", "allow"),
    "gemini": ("decision", "allow"), "qwen": ("permissionDecision", "allow"),
    "copilot": ("permissionDecision", "allow"), "copilot-native": ("permissionDecision", "allow"),
    "vibe": None, "openhands": None,
}  # fmt: skip


@pytest.mark.parametrize("client", APPROVED)
def test_approve_passes_an_allow_on(client):
    """With --approve, and where the client honours it."""
    document = written(before(client, Allow(), approve=True)) or {}
    expected = APPROVED[client]
    found = document.get("hookSpecificOutput", document)
    assert found == {} if expected is None else found[expected[0]] == expected[1]


@pytest.mark.parametrize("client", BEFORE)
def test_approve_makes_no_approval_of_silence(client):
    """Nobody allowed anything."""
    assert before(client, None, approve=True) == SILENT


@pytest.mark.parametrize("client", BEFORE)
def test_a_guard_beats_an_approval(client):
    """Nothing a policy says undoes a guard."""
    allow, no = plugin(tools_pre_execute=lambda execution: Allow()), plugin(tools_guard=lambda execution: "never")
    answer = ask(client, sample(client, BEFORE[client]), allow, no, approve=True)
    assert b"never" in answer.stdout
    assert not would_run(client, sample(client, BEFORE[client]).get("hook_event_name", ""), *wire(answer))


# -- after a tool ------------------------------------------------------------------------------------------------------

CONTEXT = HookContext("by the way", SOURCE)
BLOCKED = {"decision": "block", "reason": "do not trust it"}


FEEDBACK = {
    "claude": BLOCKED, "codex": BLOCKED, "gemini": BLOCKED, "copilot": BLOCKED, "copilot-native": BLOCKED,
    "qwen": specific("PostToolUse", additionalContext="do not trust it"), "vibe": None,
}  # fmt: skip


@pytest.mark.parametrize("client", FEEDBACK)
def test_feedback_after_a_tool(client):
    """A block of the result is told as the client can; qwen ignores blocks and takes context, Vibe takes nothing."""
    block = plugin(tools_post_execute=lambda execution, result: Block("do not trust it"))
    answer = ask(client, sample(client, AFTER[client]), block)
    assert (written(answer), answer.code) == (FEEDBACK[client], 0)


AFTERWARDS = {
    **{client: specific("PostToolUse", additionalContext="by the way") for client in ("claude", "codex", "qwen")},
    "gemini": specific("AfterTool", additionalContext="by the way"),
    "copilot": None, "copilot-native": None, "vibe": None,
}  # fmt: skip


@pytest.mark.parametrize("client", AFTERWARDS)
def test_context_after_a_tool(client):
    """Where it was seen to reach the model; elsewhere it is left out and logged."""
    accept = plugin(tools_post_execute=lambda execution, result: Accept(contexts=(CONTEXT,)))
    assert written(ask(client, sample(client, AFTER[client]), accept)) == AFTERWARDS[client]


def test_a_failed_call_is_seen_as_one():
    """Claude has an event of its own for it; what blocks it becomes context."""
    seen = []

    def post(execution: Any, result: Any) -> Any:
        seen.append(result.is_error)
        return Block("try something else")

    answer = ask("claude", sample("claude", "PostToolUseFailure"), plugin(tools_post_execute=post))
    assert seen == [True]
    assert written(answer) == specific("PostToolUseFailure", additionalContext="try something else")


# -- prompts, sessions, turns ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", PROMPT)
def test_a_blocked_prompt(client):
    """Every client stops at `decision: block` with exit 0, Copilot at nothing else."""
    block = plugin(agent_prompt_submit=lambda agent, content: BlockPrompt("not that"))
    answer = ask(client, sample(client, PROMPT[client]), block)
    assert (written(answer), answer.stderr, answer.code) == ({"decision": "block", "reason": "not that"}, b"", 0)


@pytest.mark.parametrize("client", PROMPT)
def test_context_for_a_prompt(client):
    """Where it reaches the model; Copilot was seen to drop it."""
    word = sample(client, PROMPT[client]).get("hook_event_name")
    add = plugin(agent_prompt_submit=lambda agent, content: AllowPrompt(contexts=(CONTEXT,)))
    expected = None if client.startswith("copilot") else specific(word, additionalContext="by the way")
    assert written(ask(client, sample(client, PROMPT[client]), add)) == expected


def test_qwens_empty_prompts_are_nobodys():
    """It submits one with every tool result; a prompt policy is asked about what a person wrote."""
    block = plugin(agent_prompt_submit=lambda agent, content: BlockPrompt("not that"))
    assert ask("qwen", sample("qwen", "UserPromptSubmit", prompt=""), block) == SILENT


@pytest.mark.parametrize("client", START)
def test_the_prefix_of_a_session(client):
    """What stands in front of our own requests is context of a client's session."""
    from hookspecs.values import Message

    rules = plugin(agent_session_prefix=lambda agent: [Message("user", "house rules")])
    expected = None if client.startswith("copilot") else specific("SessionStart", additionalContext="house rules")
    assert written(ask(client, sample(client, START[client]), rules)) == expected


@pytest.fixture
def state(tmp_path, monkeypatch):
    """Where turns are counted."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def go_on() -> Any:
    """A plugin that never wants a turn to end."""
    more = ContinueTurn(SteeringReason("run the tests", SOURCE))
    return plugin(agent_turn_continuation=lambda agent, default: more)


@pytest.mark.parametrize("client", STOP)
def test_a_turn_goes_on(client, state):
    """The reason is what the model reads next."""
    answer = ask(client, sample(client, STOP[client]), go_on())
    assert (written(answer), answer.code) == ({"decision": "block", "reason": "run the tests"}, 0)


@pytest.mark.parametrize("client", STOP)
def test_a_turn_does_not_go_on_for_ever(client, state):
    """Codex and Gemini would let it: we end it after eight, and a new prompt starts over."""
    stop, prompt = sample(client, STOP[client], stop_hook_active=True), sample(client, PROMPT[client])
    answers = [ask(client, stop, go_on()) for _ in range(10)]
    assert [answer != SILENT for answer in answers] == [True] * 8 + [False] * 2
    ask(client, prompt, plugin(agent_prompt_submit=lambda agent: None))
    assert ask(client, stop, go_on()) != SILENT


@pytest.mark.parametrize("client", STOP)
@pytest.mark.parametrize("broken", [False, True])
def test_a_turn_that_goes_on_with_a_prompt_does_not_go_on_for_ever(client, broken, state):
    """Gemini submits what it goes on with as if a user had written it: that starts nothing over."""
    policy = plugin(agent_turn_stopping=lambda agent: 1 / 0) if broken else go_on()
    answers = []
    for _ in range(10):
        answers.append(written(ask(client, sample(client, STOP[client]), policy)))
        if answers[-1] is not None:
            ask(client, sample(client, PROMPT[client], prompt=answers[-1]["reason"]), policy)
    assert [answer is not None for answer in answers] == [True] * 8 + [False] * 2


def test_a_session_without_a_name_is_not_made_to_go_on(state):
    """Nobody could count."""
    assert ask("codex", sample("codex", "Stop", session_id=""), go_on()) == SILENT


@pytest.mark.parametrize("client", STOP)
def test_turn_stop_is_the_last_word(client, state):
    """`agent_turn_stop` ends a turn that others wanted to continue."""
    from hookspecs.decisions import StopTurn

    stop = plugin(agent_turn_stop=lambda agent: StopTurn())
    assert ask(client, sample(client, STOP[client]), stop, go_on()) == SILENT


def test_steering_before_the_end_makes_a_turn_go_on(state):
    """As in a turn of our own: `agent_turn_stopping` may still have something to say."""
    steer = plugin(agent_turn_stopping=lambda agent: agent.steer("one more thing"))
    assert written(ask("claude", sample("claude", "Stop"), steer)) == {"decision": "block", "reason": "one more thing"}


def test_what_is_injected_beside_a_call_is_context():
    """`agent.inject` in a policy reaches the model where the client takes context there."""

    def tell(execution: Any) -> None:
        execution.agent.inject("mind the gap")

    answer = ask("claude", sample("claude", "PreToolUse"), plugin(tools_pre_execute=tell))
    assert written(answer) == specific("PreToolUse", additionalContext="mind the gap")


def test_cancelling_the_agent_denies_the_call():
    """In a turn of our own the call would not have run either."""
    cancel = plugin(tools_pre_execute=lambda execution: execution.agent.cancel())
    assert b"cancelled" in ask("claude", sample("claude", "PreToolUse"), cancel).stdout


def test_permission_requests_are_answered_in_their_own_form():
    """Claude asks hooks before it asks the user, and reads `behavior`."""
    answer = ask(
        "claude", sample("claude", "PermissionRequest"), plugin(tools_pre_execute=lambda execution: Deny("no"))
    )
    assert written(answer) == specific("PermissionRequest", decision={"behavior": "deny", "message": "no"})


def wire(answer: Answer) -> tuple[bytes, bytes, int]:
    """An answer as what the table of measurements is about."""
    return answer.stdout, answer.stderr, answer.code
