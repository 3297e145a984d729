"""Kinds of handlers that plugins add."""

from __future__ import annotations

import gc
from weakref import ref

import anyio
import pytest

from dshhooks import hookimpl
from dshhooks.bridge.errors import BridgeError
from dshhooks.bridge.handlers.table import Handlers
from dshhooks.bridge.outcomes import RawResult
from dshhooks.config import HarnessConfig, PluginsConfig
from dshhooks.engine.hooks import Hooks
from dshhooks.harness import Harness
from hookspecs.errors import PluginError
from tests.bridge.runtime_kit import runtime

pytestmark = pytest.mark.anyio


class Words:
    """Refuses payloads with a word in them."""

    async def run(self, job):
        word = job.hook.fields["word"]
        return RawResult(2, stderr=f"no {word}") if word.encode() in job.body else RawResult(0)


class Broken:
    """Does what its constructor is told."""

    def __init__(self, answer):
        self.answer = answer

    async def run(self, job):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


class Plugin:
    """Adds a kind."""

    @hookimpl
    def register_bridge_handlers(self, handlers):
        handlers.register("words", Words)


@pytest.fixture
def host():
    """A configuration that loads no installed plugin."""
    return HarnessConfig(plugins=PluginsConfig(autoload=False))


def words(**members):
    """A hook of that kind."""
    return {"type": "words", "word": "secret", **members}


async def test_a_plugins_kind(tmp_path):
    """Its hooks are read, keep members of their own, and decide."""
    hooks = Hooks()
    hooks.register(Plugin)
    made = runtime(tmp_path, words(), handlers=Handlers(hooks))
    assert made.diagnostics == ()
    dispatch = await made.dispatch("PreToolUse", {"tool_input": {"a": "secret"}})
    assert (dispatch.outcome.decision, dispatch.outcome.reason) == ("deny", "no secret")
    assert dispatch.runs[0].hook.kind == "words"


async def test_a_plugin_that_goes_takes_its_kind_along(tmp_path):
    """What runs then is a failure that says so; after reloading the type is unknown."""
    hooks = Hooks()
    registration = hooks.register(Plugin)
    made = runtime(tmp_path, words(onError="block"), handlers=Handlers(hooks))
    registration.dispose()
    dispatch = await made.dispatch("PreToolUse")
    assert dispatch.runs[0].outcome.failure == "config"
    assert dispatch.outcome.decision == "deny"
    assert [note.code for note in made.reload()] == ["type-unknown"]


async def test_a_plugin_that_comes_later(tmp_path):
    """Is asked when it comes."""
    hooks = Hooks()
    handlers = Handlers(hooks)
    hooks.register(Plugin)
    assert handlers.kinds == {"words"}


async def test_one_table_a_host():
    """Each plugin is asked once, however many runtimes there are; the table goes with its host."""
    hooks = Hooks()
    hooks.register(Plugin)
    assert Handlers.of(hooks) is Handlers.of(hooks)
    assert Handlers.of(hooks) is not Handlers.of(Hooks())
    table, host = ref(Handlers.of(hooks)), ref(hooks)
    del hooks
    gc.collect()
    assert (table(), host()) == (None, None)


class Counting(Plugin):
    """Counts how often it is asked."""

    def __init__(self):
        self.asked = 0

    @hookimpl
    def register_bridge_handlers(self, handlers):
        self.asked += 1
        handlers.register("words", Words)


async def test_a_host_asks_when_it_opens(host):
    """Once, before anybody needs a hook; whoever makes a runtime for this host finds the kind."""
    plugin = Counting()
    async with Harness.open(host, plugins=[plugin]) as harness:
        assert plugin.asked == 1
        assert Handlers.of(harness.hooks).kinds == {"words"}
    assert plugin.asked == 1


async def test_a_plugin_that_comes_while_the_host_runs(tmp_path, host):
    """Its kind comes with it, and goes with it."""
    async with Harness.open(host) as harness:
        registration = harness.hooks.register(Plugin)
        made = runtime(tmp_path, words(), handlers=Handlers.of(harness.hooks))
        assert (await made.dispatch("PreToolUse", {"tool_input": {"a": "secret"}})).outcome.decision == "deny"
        registration.dispose()
        assert Handlers.of(harness.hooks).kinds == frozenset()


async def test_a_kind_that_cannot_be_had(host):
    """Two plugins with the same kind: the host does not open, rather than run one's hooks with the other."""
    with pytest.raises(PluginError, match="already"):
        async with Harness.open(host, plugins=[Plugin(), Counting()]):
            pytest.fail("it opened")


@pytest.mark.parametrize("answer", [ValueError("oops"), SystemExit(3), None, {"decision": "deny"}])
async def test_a_handler_that_misbehaves(tmp_path, answer):
    """Is a failed run, never an exception."""
    handlers = Handlers()
    handlers.register("words", Broken(answer))
    dispatch = await runtime(tmp_path, words(onError="block"), handlers=handlers).dispatch("PreToolUse")
    assert dispatch.outcome.decision == "deny"
    assert "'words' failed" in str(dispatch.runs[0].error)


@pytest.mark.parametrize(
    "members",
    [{"exit_code": "2"}, {"exit_code": True}, {"exit_code": 2.0}, {"stdout": None}, {"stderr": ["no"]},
     {"failure": "made-up"}, {"error": None}],
)  # fmt: skip
async def test_a_result_that_is_none(tmp_path, members):
    """Values of the wrong type are the handler's failure, and not that of whoever reads them."""

    class Odd:
        async def run(self, job):
            return RawResult(**members)

    handlers = Handlers()
    handlers.register("words", Odd)
    dispatch = await runtime(tmp_path, words(onError="block"), handlers=handlers).dispatch("PreToolUse")
    assert dispatch.outcome.decision == "deny"
    assert f"'words' failed: {'ValueError' if 'failure' in members else 'TypeError'}" in str(dispatch.runs[0].error)


async def test_a_handler_that_does_not_come_back(tmp_path):
    """Is cancelled when its time is over."""

    class Sleeper:
        async def run(self, job):
            await anyio.sleep_forever()

    handlers = Handlers()
    handlers.register("words", Sleeper)
    (run,) = (await runtime(tmp_path, words(timeout=0.1), handlers=handlers).dispatch("PreToolUse")).runs
    assert run.error == "timed out after 0.1s"


@pytest.mark.parametrize(
    ("kind", "handler"), [("shell", Words), ("command", Words), ("", Words), (1, Words), ("x", object)]
)
async def test_what_is_no_handler(kind, handler):
    """Is refused when it is registered."""
    with pytest.raises(BridgeError):
        Handlers().register(kind, handler)


async def test_one_handler_a_kind():
    """The second is refused; after the first has gone it may come."""
    handlers = Handlers()
    first = handlers.register("words", Words)
    with pytest.raises(BridgeError, match="already"):
        handlers.register("words", Words)
    first.dispose()
    handlers.register("words", Words)
