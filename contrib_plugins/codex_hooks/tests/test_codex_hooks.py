"""What is different for Codex: places, payloads, matchers. The rest is shared, and tested with claude-hooks."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from importlib.metadata import entry_points

import pytest
from dshhooks_codex_hooks import CodexHooks

from dshhooks import CallTools, Harness, MemoryStore, Say, ScriptedAdapter, content_text, tool
from dshhooks.bridge import HookPlugin, HookPluginOptions
from dshhooks.config import AgentConfig, HarnessConfig, PluginsConfig

pytestmark = pytest.mark.anyio

CALL = CallTools([("shell", {"command": "ls", "timeout": 5})])


@tool
def shell(command: str, timeout: int = 0) -> str:
    """Pretend to run something."""
    return f"ran {command} {timeout}"


@tool
def shell_session() -> str:
    """Another tool whose name begins the same."""
    return "opened"


def write(folder, **events):
    """A hook file; each event has one group."""
    file = folder / ".codex" / "hooks.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"hooks": {event: [group] for event, group in events.items()}}), encoding="utf-8")
    return file


def group(text, matcher=None):
    """One command."""
    hooks = [{"type": "command", "command": text}]
    return {"hooks": hooks} if matcher is None else {"matcher": matcher, "hooks": hooks}


@tool
def broken() -> str:
    """Never work."""
    raise RuntimeError("it broke")


@asynccontextmanager
async def agent(folder, *steps, plugins=(), **options):
    """An agent on a script, with the plugin."""
    config = HarnessConfig(PluginsConfig(autoload=False), agent=AgentConfig(provider="scripted", model="m-1"))
    plugin = CodexHooks(HookPluginOptions(home=str(folder / "home"), **options))
    async with Harness.open(config, plugins=(plugin, *plugins), store=MemoryStore()) as harness:
        model = ScriptedAdapter(steps)
        harness.llm.register_adapter(["scripted"], model)
        for definition in (shell, shell_session, broken):
            harness.tools.register(definition)
        made = await harness.create_agent(cwd=str(folder))
        made.model = model
        yield made


async def run(made, prompt="go"):
    """One prompt, to the end."""
    made.followup(prompt)
    await made.when_idle()


def logged(made, kind):
    """The data of the log's events of one type."""
    return [event.data for event in made.session.events if event.type == kind]


async def test_what_codex_hooks_are_told(tmp_path):
    """Model and turn, all arguments of the call, and nothing after the JSON."""
    seen = tmp_path / "seen"
    spy = group(f"cat >> '{seen}'; echo >> '{seen}'")
    write(tmp_path / "home", PreToolUse=spy, PostToolUse=spy, Stop=spy)
    async with agent(tmp_path, CALL, Say("done")) as made:
        await run(made)
    before, after, stop = map(json.loads, seen.read_text().splitlines())
    call = {"tool_name": "shell", "tool_input": {"command": "ls", "timeout": 5}, "tool_use_id": "call-1"}
    base = {"session_id": made.id, "turn_id": "1", "model": "m-1", "transcript_path": None, "cwd": str(tmp_path)}
    assert before.items() >= {**base, **call, "hook_event_name": "PreToolUse"}.items()
    assert after.items() >= {**base, **call, "hook_event_name": "PostToolUse", "tool_response": "ran ls 5"}.items()
    assert stop.items() >= {**base, "stop_hook_active": False, "last_assistant_message": "done"}.items()


async def test_deny(tmp_path):
    """Exit 2, also with nothing to say, denies; the log says whose dialect it was."""
    write(tmp_path / "home", PreToolUse=group("exit 2"))
    async with agent(tmp_path, CALL, Say("done")) as made:
        await run(made)
        [result] = logged(made, "tool/result")
        assert "blocked by PreToolUse hook" in content_text(result.content)
        assert [event.dialect for event in logged(made, "hook/invoked")] == ["codex"]


async def test_ask_is_an_ask(tmp_path):
    """Codex itself would run the tool; here nobody is there to ask, so it is denied."""
    document = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}
    write(tmp_path / "home", PreToolUse=group(f"printf '%s' '{json.dumps(document)}'"))
    async with agent(tmp_path, CALL, Say("done")) as made:
        await run(made)
        assert logged(made, "tool/result")[0].is_error


@pytest.mark.parametrize(("matcher", "denied"), [("shell", [True, False]), ("^shell", [True, True])])
async def test_matchers(tmp_path, matcher, denied):
    """Words are names; everything else is a regular expression that may match anywhere."""
    write(tmp_path / "home", PreToolUse=group("exit 2", matcher))
    both = CallTools([("shell", {"command": "ls"}), ("shell_session", {})])
    async with agent(tmp_path, both, Say("done")) as made:
        await run(made)
        assert [result.is_error for result in logged(made, "tool/result")] == denied


async def test_failing_tools_are_post_tool_use(tmp_path):
    """Codex has no event of its own for them."""
    seen = tmp_path / "seen"
    write(tmp_path / "home", PostToolUse=group(f"cat >> '{seen}'"))
    async with agent(tmp_path, CallTools([("broken", {})]), Say("done")) as made:
        await run(made)
    told = json.loads(seen.read_text())
    assert told["hook_event_name"] == "PostToolUse"
    assert "it broke" in told["tool_response"]


async def test_project_files_need_trust(tmp_path, caplog):
    """A checkout's file does not run by itself."""
    write(tmp_path, PreToolUse=group("exit 2"))
    async with agent(tmp_path, CALL, Say("done")) as made:
        await run(made)
        assert not logged(made, "tool/result")[0].is_error
    assert caplog.text.count("is not trusted") == 1


async def test_beside_claude_hooks(tmp_path):
    """Both run, each its own files, and their events share the log's types."""

    class Claude(HookPlugin):
        dialect, name = "claude", "claude-hooks"

    write(tmp_path / "home", PreToolUse=group("true"))
    settings = write(tmp_path / "home", PreToolUse=group("true"))
    claude = tmp_path / "home" / ".claude" / "settings.json"
    claude.parent.mkdir()
    claude.write_text(settings.read_text(), encoding="utf-8")
    other = Claude(HookPluginOptions(home=str(tmp_path / "home")))
    async with agent(tmp_path, CALL, Say("done"), plugins=[other]) as made:
        await run(made)
        assert [event.dialect for event in logged(made, "hook/invoked")] == ["codex", "claude-code"]
        assert [type(event).__name__ for event in logged(made, "hook/result")] == ["HookResult", "HookResult"]


def test_the_entry_point():
    """Its name is the plugin's name everywhere."""
    found = [entry for entry in entry_points(group="dshhooks") if entry.name == "codex-hooks"]
    assert [entry.load() for entry in found] == [CodexHooks]
