"""The parts of the plugins that need no agent: the log's events, lives, runtimes by folder, what is watched."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest

from dshhooks.bridge import BridgeOptions, HookInvoked, HookPlugin, HookPluginOptions, HookResult, HookRuntime
from dshhooks.bridge.handlers.table import Handlers
from dshhooks.bridge.journal import register
from dshhooks.bridge.lives import Life
from dshhooks.bridge.workspaces import Workspaces
from dshhooks.session.codec import Codec
from dshhooks.session.variants import Variants
from tests.bridge.kit import write
from tests.bridge.runtime_kit import hooks_on, runtime, shell


class Event:
    """One event of a log, as lives look at it."""

    def __init__(self, kind):
        self.type = kind


class Watching:
    """Writes down what it is told."""

    def __init__(self):
        self.heard = []

    def began(self, hook):
        self.heard.append(("began", hook.command))

    def ended(self, run):
        self.heard.append(("ended", run.hook.command, run.outcome.exit_code, run.outcome.failure))


# -- the log's events --------------------------------------------------------------------------------------------------


def test_events_on_the_wire():
    """The names of the contract, and nothing for what is absent."""
    variants = Variants()
    register(variants)
    codec = Codec(variants)
    invoked = HookInvoked(1, "PreToolUse", "claude-code", "h-1", "Bash")
    result = HookResult(1, "PreToolUse", "h-1", "deny", 1.5, 2, "no")
    assert codec.to_wire(invoked) == {
        "turn": 1, "point": "PreToolUse", "dialect": "claude-code", "handlerId": "h-1", "matcher": "Bash",
    }  # fmt: skip
    assert codec.to_wire(result) == {
        "turn": 1, "point": "PreToolUse", "handlerId": "h-1", "decision": "deny", "durationMs": 1.5, "exitCode": 2,
        "stderrSummary": "no",
    }  # fmt: skip
    assert codec.to_wire(HookResult(1, "Stop", "h", "pass", 0.0)) == {
        "turn": 1, "point": "Stop", "handlerId": "h", "decision": "pass", "durationMs": 0.0,
    }  # fmt: skip
    for event in (invoked, result):
        assert codec.from_wire(event.type, json.loads(json.dumps(codec.to_wire(event)))) == event


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: HookInvoked(0, "Stop", "codex", "h"),
        lambda: HookInvoked(1, "", "codex", "h"),
        lambda: HookInvoked(1, "Stop", "adapter", "h"),
        lambda: HookInvoked(1, "Stop", "codex", ""),
        lambda: HookResult(1, "Stop", "h", "pass", -1.0),
        lambda: HookResult(1, "Stop", "h", "pass", math.nan),
        lambda: HookResult(1, "Stop", "h", "pass", math.inf),
    ],
)
def test_events_that_cannot_be(wrong):
    """A turn, a point, a known dialect, a run, and a duration."""
    with pytest.raises(ValueError, match=r"turn|point|dialect|handler_id|duration_ms"):
        wrong()


def test_two_plugins_share_the_events():
    """The second one finds them there."""
    variants = Variants()
    register(variants)
    register(variants)
    assert variants.unions["session-event"].members["hook/invoked"] is HookInvoked


# -- lives -------------------------------------------------------------------------------------------------------------


def test_how_often_a_turn_was_made_to_go_on():
    """In a row; tools begin the count again, and a new turn everything."""
    life, log = Life(), []
    life.enter(1, log)
    for count in (1, 2):
        life.force(log)
        log.append(Event("assistant/message"))
        life.enter(1, log)
        assert (life.forced, life.active) == (count, True)
    log.append(Event("tool/result"))
    life.enter(1, log)
    assert (life.forced, life.active) == (0, True)
    life.force(log)
    life.enter(2, log)
    assert (life.forced, life.active) == (0, False)


# -- runtimes by folder ------------------------------------------------------------------------------------------------


def test_no_file_no_runtime(tmp_path):
    """And nothing of it is imported: a host without hook files pays for none."""
    program = f"""
import json, sys
from dshhooks.bridge import HookPluginOptions
from dshhooks.bridge.workspaces import Workspaces
found = Workspaces(HookPluginOptions(home={str(tmp_path)!r}), "claude", "p").of({str(tmp_path)!r})
print(json.dumps([found is None, "dshhooks.bridge.runtime" in sys.modules, "httpx" in sys.modules]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert json.loads(done.stdout) == [True, False, False]


def test_one_runtime_for_each_folder(tmp_path):
    """Each reads its own project; an agent that works elsewhere is not concerned."""
    one, two = tmp_path / "one", tmp_path / "two"
    write(one / ".claude" / "settings.json", hooks_on("PreToolUse", shell("true")))
    two.mkdir()
    spaces = Workspaces(HookPluginOptions(home=str(tmp_path), trust_project=True), "claude", "p")
    found = spaces.of(str(one))
    assert found is not None
    assert found is spaces.of(str(one))
    assert len(found.groups) == 1
    assert spaces.of(str(two)) is None
    write(two / ".claude" / "settings.json", hooks_on("PreToolUse", shell("true")))
    assert spaces.of(str(two)) is None
    spaces.reload()
    assert spaces.of(str(two)) is not None


def test_a_pinned_file_that_is_missing(tmp_path, caplog):
    """Somebody counts on it: that is an error, said once."""
    spaces = Workspaces(HookPluginOptions(config_path=str(tmp_path / "no.json")), "claude", "p")
    spaces.of(str(tmp_path))
    spaces.of(str(tmp_path / "sub"))
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "no.json" in caplog.text


def test_only_some_dialects(tmp_path):
    """Other places are not looked at, and the environment's file neither: it may be of any dialect."""
    for place in (".claude/settings.json", ".codex/hooks.json"):
        write(tmp_path / place, hooks_on("PreToolUse", shell("true")))
    environ = {"DSHHOOKS_BRIDGE_CONFIG": str(tmp_path / ".codex" / "hooks.json")}
    options = BridgeOptions(home=tmp_path, cwd=tmp_path / "none", dialects=("claude",))
    assert [source.dialect for source in HookRuntime(options, environ=environ).sources] == ["claude"]


@pytest.mark.parametrize("wrong", [(), ("claud",), "claude", 1])
def test_dialects_that_cannot_be(wrong):
    """At least one, all of them known."""
    with pytest.raises(ValueError, match="dialects must be a list of some of claude"):
        BridgeOptions(dialects=wrong)


def test_the_shared_plugin_is_no_plugin_by_itself():
    """It belongs to no dialect."""
    with pytest.raises(AttributeError, match="dialect"):
        HookPlugin()


# -- watching ----------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize("parallel", [False, True])
async def test_a_watch_hears_of_every_run(tmp_path, parallel):
    """As it begins and as it has ended."""
    watch = Watching()
    made = runtime(tmp_path, shell("exit 0"), shell("exit 3"), parallel=parallel)
    await made.dispatch("PreToolUse", {"tool_name": "x"}, watch=watch)
    assert sorted(watch.heard) == [
        ("began", "exit 0"), ("began", "exit 3"), ("ended", "exit 0", 0, None), ("ended", "exit 3", 3, None),
    ]  # fmt: skip
    if not parallel:
        assert [heard[0] for heard in watch.heard] == ["began", "ended", "began", "ended"]


@pytest.mark.anyio
async def test_a_watch_hears_of_a_cancelled_run(tmp_path):
    """Also when the caller's own task is cancelled."""
    import anyio

    watch = Watching()
    made = runtime(tmp_path, shell("sleep 60"))
    async with anyio.create_task_group() as tasks:
        watch_began = watch.began

        def began(hook):
            watch_began(hook)
            tasks.cancel_scope.cancel()

        watch.began = began
        tasks.start_soon(lambda: made.dispatch("PreToolUse", {"tool_name": "x"}, watch=watch))
    assert watch.heard == [("began", "sleep 60"), ("ended", "sleep 60", None, "aborted")]


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_a_watch_hears_of_a_run_cancelled_in_a_nursery(tmp_path):
    """As a connection is while it is made: trio raises the cancellation of its tasks in a group."""
    import anyio
    import trio

    waiting, watch, handlers = anyio.Event(), Watching(), Handlers()

    class Connecting:
        async def run(self, job):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(trio.sleep_forever)
                waiting.set()
                await trio.sleep_forever()

    handlers.register("connecting", Connecting())
    made = runtime(tmp_path, {"type": "connecting", "command": "c"}, handlers=handlers)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: made.dispatch("PreToolUse", {"tool_name": "x"}, watch=watch))
        await waiting.wait()
        tasks.cancel_scope.cancel()
    assert watch.heard == [("began", "c"), ("ended", "c", None, "aborted")]
    assert [record["outcome"] for record in made.history.recent] == ["aborted"]
