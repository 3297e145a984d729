"""The host for callers without an event loop."""

from __future__ import annotations

import threading

import pytest

import dshhooks
from dshhooks import (
    Deny,
    HarnessConfig,
    PluginError,
    Say,
    ScriptedAdapter,
    ToolCall,
    content_text,
    hookimpl,
    tool,
)
from dshhooks.config import PluginsConfig
from dshhooks.sync import Blocking
from dshhooks.testing import echo_tool

NONE = HarnessConfig(PluginsConfig(enable=[]))


@pytest.fixture(params=["asyncio", "trio"])
def host(request):
    """A host without installed plugins, with the echo tool."""
    with dshhooks.sync.open(NONE, backend=request.param) as made:
        made.tools.register(echo_tool())
        yield made


def test_a_call_blocks_until_it_is_done(host):
    """The same result as with await."""
    assert host.tools.call("echo", {"a": 1}).value == {"a": 1}
    assert host.tools.execute(ToolCall("c1", "echo", {"b": 2})).value == {"b": 2}


def test_plugins_take_part():
    """Objects passed in, as with Harness.open."""

    class Strict:
        @hookimpl
        def tools_pre_execute(self, execution):
            return Deny("no")

    with dshhooks.sync.open(NONE, plugins=[Strict()]) as host:
        host.tools.register(echo_tool())
        assert host.tools.call("echo", {}).error.message == "no"
        assert host.plugins.report()[0].name == "Strict"
        assert [link.plugin for link in host.hooks.chain("tools_pre_execute")] == ["Strict"]


def test_hooks_can_be_called(host):
    """harness.hooks.call, blocking."""
    assert host.hooks.call("tools_change") == []


def test_everything_runs_in_the_loops_thread(host):
    """Also a method that is synchronous: nothing of the host is touched from two threads."""
    seen = []

    class Watcher:
        @hookimpl
        def register_tools(self, registry):
            seen.append(threading.current_thread())

        @hookimpl
        async def tools_pre_execute(self, execution):
            seen.append(threading.current_thread())

    host.hooks.register(Watcher())
    host.tools.call("echo", {})
    assert seen[0] is seen[1]
    assert seen[0] is not threading.current_thread()


def test_a_registration_is_a_context_manager(host):
    """As it is without the view."""

    class Strict:
        @hookimpl
        def tools_pre_execute(self, execution):
            return Deny("no")

    with host.hooks.register(Strict()):
        assert host.tools.call("echo", {}).is_error
    registration = host.hooks.register(Strict())
    assert host.tools.call("echo", {}).is_error
    registration.dispose()
    assert not host.tools.call("echo", {}).is_error


def test_a_trace_collects_what_is_called(host):
    """The context of the caller goes with the call."""
    with host.hooks.trace() as trace:
        host.tools.call("echo", {})
    assert [record.hook for record in trace.records] == ["policy", "dispatch"]


def test_errors_come_out(host):
    """Unwrapped."""

    class Misspelled:
        @hookimpl
        def tools_pre_exekute(self, execution): ...

    with pytest.raises(PluginError, match="did you mean"):
        host.hooks.register(Misspelled())


def test_the_parts_are_views_and_the_rest_is_not(host):
    """Values are what they are; asking twice gives equal views."""
    assert isinstance(host.tools, Blocking)
    assert host.tools == host.tools
    assert host.config is NONE
    assert "blocking" in repr(host.hooks)
    with pytest.raises(AttributeError):
        host.no_such_part  # noqa: B018


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_conversation_can_be_read(backend):
    """Events and messages are values: they can be iterated, indexed and counted."""
    with dshhooks.sync.open(NONE, backend=backend) as host:
        host.llm.register_adapter(["scripted"], ScriptedAdapter([Say("hello")]))
        agent = host.create_agent(provider="scripted", model="demo")
        agent.followup("hi")
        agent.when_idle()
        assert [content_text(message.content) for message in agent.session.messages()] == ["hi", "hello"]
        assert agent.session.events[-1].data.reason.kind == "completed"
        assert len(agent.session.messages()) == 2


def test_a_view_given_back_is_the_thing_itself(host):
    """An argument that is a view arrives as what it shows."""
    seen = []

    @tool
    def look() -> None:
        """Nothing."""

    host.tools.register(look)
    host.tools.guard(lambda execution: seen.append(execution.agent))
    host.tools.call("look", {}, agent=host.tools)
    assert seen == [host.tools._target]


def test_a_start_that_is_refused():
    """Fail closed, with the same error."""
    config = HarnessConfig(PluginsConfig(enable=[], required=["nobody-at-all"]))
    with pytest.raises(PluginError, match="unknown plugin 'nobody-at-all'"), dshhooks.sync.open(config):
        pytest.fail("it started")


def test_a_block_that_raises_closes_the_host():
    """The exception comes out as it is, and the plugins are gone."""
    seen = []
    with pytest.raises(ZeroDivisionError), dshhooks.sync.open(NONE, plugins=[_Idle()]) as host:
        _fail(host, seen)
    assert seen[0].plugins == ()


def _fail(host, seen):
    seen.append(host.hooks._target)
    raise ZeroDivisionError


class _Idle:
    @hookimpl
    def tools_change(self): ...
