"""Fixtures: both backends, and a workspace whose hook files the plugin runs in a real agent."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager

import pytest
from dshhooks_claude_hooks import ClaudeHooks

from dshhooks import Harness, MemoryStore, ScriptedAdapter, tool
from dshhooks.bridge import HookPluginOptions
from dshhooks.config import AgentConfig, HarnessConfig, PluginsConfig


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param


def command(text, **members):
    """A command hook."""
    return {"type": "command", "command": text, **members}


def answer(**document):
    """A command that prints JSON and exits 0."""
    text = json.dumps(document)
    assert "'" not in text
    return command(f"cat >/dev/null; printf '%s' '{text}'")


def scoped(event, **members):
    """A command that answers in the event's own block."""
    return answer(hookSpecificOutput={"hookEventName": event, **members})


class Workspace:
    """A home directory, a project, and what hooks were told."""

    def __init__(self, folder):
        self.home, self.project, self.seen = folder / "home", folder / "project", folder / "seen.jsonl"
        self.ran = []  # the texts the tool was called with
        self.home.mkdir()
        self.project.mkdir()

    def hooks(self, where=None, **events):
        """Write a settings file: each event has one group with one hook, or several groups."""
        groups = {event: value if isinstance(value, list) else [{"hooks": [value]}] for event, value in events.items()}
        file = (where or self.home) / ".claude" / "settings.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"hooks": groups}), encoding="utf-8")
        return file

    def spy(self, then="true", **members):
        """A hook that writes down what it was told."""
        return command(f"cat >> '{self.seen}'; {then}", **members)

    def told(self):
        """What spies were told, in order."""
        return [json.loads(line) for line in self.seen.read_text().splitlines()] if self.seen.exists() else []

    def plugin(self, **options):
        """The plugin, with the home directory of the test."""
        return ClaudeHooks(HookPluginOptions(home=str(self.home), **options))

    def tools(self):
        """One that works, and one that does not."""

        @tool
        def echo(text: str = "") -> str:
            """Say it back."""
            self.ran.append(text)
            return f"said {text}"

        @tool
        def fail() -> str:
            """Never work."""
            raise RuntimeError("it broke")

        return echo, fail

    @asynccontextmanager
    async def agent(self, *steps, plugins=(), admission="recorded", **options):
        """An agent on a script, in the project, with the plugin outermost."""
        model = ScriptedAdapter(steps)
        config = HarnessConfig(
            PluginsConfig(autoload=False),
            agent=AgentConfig(provider="scripted", model="m", prompt_admission=admission),
        )
        self.hooked = self.plugin(**options)
        given = (self.hooked, *plugins)
        async with Harness.open(config, plugins=given, store=MemoryStore()) as harness:
            harness.llm.register_adapter(["scripted"], model)
            for definition in self.tools():
                harness.tools.register(definition)
            agent = await harness.create_agent(cwd=str(self.project))
            agent.model = model
            yield agent


@pytest.fixture
def workspace(tmp_path):
    return Workspace(tmp_path)


@pytest.fixture
def kit():
    """The helpers above, for test modules."""

    class Kit:
        command, answer, scoped = staticmethod(command), staticmethod(answer), staticmethod(scoped)

    return Kit
