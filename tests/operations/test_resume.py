"""What a session is started under, and whether it goes on under something else (spec/operations.md 1.17)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import dshhooks.sync
from dshhooks.agent.handle import Agent
from dshhooks.config import AgentConfig, HarnessConfig, PluginsConfig
from dshhooks.harness import Harness
from dshhooks.llm.scripted import Say, ScriptedAdapter
from dshhooks.operations import DriftChange, DriftRejectedError, Guard, Manifest, Operation, OperationSet, Severity
from dshhooks.session.ledger import Ledger
from dshhooks.session.memory import MemoryStore
from hookspecs.errors import HarnessError
from hookspecs.markers import hookimpl
from tests.operations.journal_kit import Watcher
from tests.session.kit import Kept, kinds, refused
from tests.tools.kit import Plugin, tool

pytestmark = pytest.mark.anyio

CONFIG = HarnessConfig(PluginsConfig(autoload=False), agent=AgentConfig("scripted", "m"))
V1_TO_V2 = DriftChange("hook_policy", Severity.WARN, "v1", "v2")


def policy(revision: str, name: str = "policy") -> Any:
    """A plugin with an operation guard that allows everything."""
    made = Plugin(name, operation_guard=lambda call: None)
    made.policy_revision = revision  # type: ignore[attr-defined]
    return made


@asynccontextmanager
async def host(store: Any, *plugins: Any, operations: OperationSet | None = None) -> AsyncIterator[Harness]:
    """A host that says "fine" to every prompt."""
    async with Harness.open(CONFIG, plugins=plugins, store=store, operations=operations) as harness:
        harness.llm.register_adapter(["scripted"], ScriptedAdapter([Say("fine")] * 3))
        yield harness


async def turn(agent: Agent) -> None:
    """One prompt and its answer."""
    agent.followup("go")
    await agent.when_idle()


async def started(store: Any, *plugins: Any) -> Manifest:
    """A stored session "s" with one turn; returns what it was started under."""
    async with host(store, *plugins) as harness:
        await turn(await harness.create_agent(session_id="s"))
    baseline = (await store.ledger("s")).baseline
    assert baseline is not None
    return baseline  # type: ignore[no-any-return]


class TestManifest:
    async def test_guards_have_a_revision(self, kept: Kept) -> None:
        """Case 126: it is recorded with the session's start, with all that governs the session; the log is as ever."""
        async with host(kept.open(), policy("v1"), Watcher()) as harness:
            for name in ("global", "hidden"):
                harness.tools.register(tool(name))

            def setup(ctx: Any) -> None:
                ctx.tool(tool("own"))
                ctx.restrict(deny=["hidden"])

            agent = await harness.create_agent(session_id="s", provider="scripted", model="m2", setup=setup)
            await turn(agent)
            manifest = agent.session.manifest
        recorded = await kept.open().ledger("s")
        assert recorded.epoch == 1
        assert recorded.baseline == manifest == Manifest("", "scripted/m2", ("global", "own"), ("policy",), "v1")
        assert kinds((await kept.open().load("s")).events)[:2] == ["turn/start", "user/message"]

    async def test_observers_have_none(self, kept: Kept) -> None:
        """Case 126: nor does a session without guards; its manifest is recorded nevertheless."""
        assert (await started(kept.open(), Watcher())).hook_policy_rev == ""

    async def test_observers_do_not_count(self) -> None:
        """Case 127: hosts that differ in who looks on only have equal fingerprints; another revision is another one."""
        quiet = Plugin("quiet", session_event=lambda session, event: None, tools_result=lambda execution, result: None)
        alike = [await started(MemoryStore(), policy("v1"), *more) for more in ((), (Watcher(),), (quiet, Watcher()))]
        assert len({manifest.fingerprint() for manifest in alike}) == 1
        assert (await started(MemoryStore(), policy("v2"))).fingerprint() != alike[0].fingerprint()
        other = Plugin("other", tools_pre_execute=lambda execution: None)
        assert (await started(MemoryStore(), policy("v1"), other)).fingerprint() != alike[0].fingerprint()

    async def test_a_plugin_may_say_that_it_does_not_govern(self) -> None:
        """What relays what a person does is no part of the session's terms."""
        person = Plugin("person", approval_request=lambda request: None)
        person.governs = False  # type: ignore[attr-defined]
        assert (await started(MemoryStore(), person)).plugins == ()

    async def test_of_one_agent(self) -> None:
        """R1: guards added for an agent at run time can only refuse, and change no revision; the plugin is named."""
        store = MemoryStore()
        async with host(store) as harness:
            agents = [
                await harness.create_agent(session_id=name, setup=setup)
                for name, setup in (("mine", lambda ctx: ctx.register(policy(""))), ("other", None))
            ]
            for agent in agents:
                await turn(agent)
        found = [(await store.ledger(name)).baseline for name in ("mine", "other")]
        assert found == [Manifest("", "scripted/m", (), ("policy",)), Manifest("", "scripted/m")]

    async def test_of_a_subagent(self) -> None:
        """Case 133: its session records the same revision and what it was spawned as."""
        store = MemoryStore()
        async with host(store, policy("v1")) as harness:
            parent = await harness.create_agent(session_id="s")
            result = await parent.spawn("helper", "go")
        baseline = (await store.ledger(result.session_id)).baseline
        assert baseline is not None
        assert (baseline.agent, baseline.hook_policy_rev) == ("helper", "v1")


class TestResume:
    async def test_the_same_policy_is_silent(self, kept: Kept) -> None:
        """R4: nothing has changed, nothing is recorded but the opening."""
        before = await started(kept.open(), policy("v1"))
        watcher = Watcher()
        async with host(kept.open(), policy("v1"), watcher) as harness:
            await harness.resume_agent("s")
            assert (watcher.records("fence"), watcher.records()) == (["2"], [])
        ledger = await kept.open().ledger("s")
        assert (ledger.epoch, [entry.epoch for entry in ledger.adopted], ledger.baseline) == (2, [1], before)

    async def test_another_policy_is_refused(self, kept: Kept) -> None:
        """Case 128: one warning; refused with a record, the claim given back, nothing bound; the log as it was."""
        before = await started(kept.open(), policy("v1"))
        log = await kept.open().load("s")
        watcher, heard = Watcher(), Heard()
        async with host(kept.open(), policy("v2"), watcher, heard) as harness:
            with pytest.raises(DriftRejectedError, match="'v1' -> 'v2'") as caught:
                await harness.resume_agent("s")
            assert caught.value.assessment.changes == (V1_TO_V2,)
            assert caught.value.code == "DRIFT_REJECTED"
            assert (harness.agents.list(), harness.sessions.list(), heard.names) == ([], [], [])
            await kept.open().claim("s")
        # R5: the new runner sees the fence and the rejection, although its policy was not accepted.
        assert (watcher.records("fence"), watcher.records()) == (["2"], ["restore-failed:2"])
        ledger = await kept.open().ledger("s")
        assert ledger.baseline == before
        assert ledger.refused is not None
        assert (ledger.refused.epoch, ledger.refused.manifest.hook_policy_rev) == (2, "v2")
        assert (await kept.open().load("s")).revision == log.revision

    async def test_an_allowed_one_becomes_the_baseline(self, kept: Kept) -> None:
        """Case 128: accepted and recorded once; the next resume under it is silent, under the old one refused."""
        await started(kept.open(), policy("v1"))
        watcher = Watcher()
        async with host(kept.open(), policy("v2"), watcher) as harness:
            await turn(await harness.resume_agent("s", allow_policy_drift=True))
        assert watcher.records()[0] == "adopted:2"
        async with host(kept.open(), policy("v2")) as harness:
            await turn(await harness.resume_agent("s"))
        ledger = await kept.open().ledger("s")
        assert [(entry.epoch, entry.manifest.hook_policy_rev) for entry in ledger.adopted] == [(1, "v1"), (2, "v2")]
        async with host(kept.open(), policy("v1")) as harness:
            with pytest.raises(DriftRejectedError):
                await harness.resume_agent("s")

    async def test_a_refusal_can_be_followed_by_an_acceptance(self) -> None:
        """R4: the same session, the same host, once it is allowed."""
        store = MemoryStore()
        await started(store, policy("v1"))
        async with host(store, policy("v2")) as harness:
            with pytest.raises(DriftRejectedError):
                await harness.resume_agent("s")
            await turn(await harness.resume_agent("s", allow_policy_drift=True))
        ledger = await store.ledger("s")
        assert (ledger.epoch, ledger.refused, len(ledger.adopted)) == (3, None, 2)

    @pytest.mark.parametrize(("before", "after"), [((), ("v1",)), (("v1",), ()), (("v1",), ("v1", "v1"))])
    async def test_in_any_direction(self, before: tuple[str, ...], after: tuple[str, ...]) -> None:
        """R3: guards that came, went or were joined by others are a warning, whatever their own revisions."""
        store = MemoryStore()
        await started(store, *(policy(rev, f"p{at}") for at, rev in enumerate(before)))
        async with host(store, *(policy(rev, f"p{at}") for at, rev in enumerate(after))) as harness:
            with pytest.raises(DriftRejectedError) as caught:
                await harness.resume_agent("s")
        assert [change.category for change in caught.value.assessment.warnings] == ["hook_policy"]

    async def test_the_hosts_own_guards(self) -> None:
        """R6: the set a host is opened with counts like a plugin's."""
        store = MemoryStore()
        await started(store)
        own = OperationSet("v1", [Guard(Operation.TURN, lambda _call: None)])
        async with host(store, operations=own) as harness:
            with pytest.raises(DriftRejectedError) as caught:
                await harness.resume_agent("s")
        assert caught.value.assessment.changes == (DriftChange("hook_policy", Severity.WARN, "", "v1"),)

    async def test_a_session_from_before(self, kept: Kept) -> None:
        """R3: a session without a manifest had no policy: guards are a change, their absence is none."""
        store = kept.open()
        await started(store, policy("v1"))
        await store.record("s", Ledger())
        async with host(kept.open(), policy("v1")) as harness:
            with pytest.raises(DriftRejectedError):
                await harness.resume_agent("s")
        async with host(kept.open()) as harness:
            await turn(await harness.resume_agent("s"))

    async def test_other_changes_are_recorded(self) -> None:
        """R4: another model or tool needs nobody's consent, and is the new baseline."""
        store = MemoryStore()
        await started(store, policy("v1"))
        watcher = Watcher()
        async with host(store, policy("v1"), watcher) as harness:
            harness.tools.register(tool("new"))
            await turn(await harness.resume_agent("s", model="m2"))
        baseline = (await store.ledger("s")).baseline
        assert baseline is not None
        assert (baseline.model, baseline.tools) == ("scripted/m2", ("new",))
        assert watcher.records()[0] == "adopted:2"

    async def test_a_decider(self) -> None:
        """R4: it gets everything; True is yes; a raise is no, with its cause."""
        store, seen = MemoryStore(), list[Any]()
        await started(store, policy("v1"))
        async with host(store, policy("v2")) as harness:
            with pytest.raises(DriftRejectedError) as caught:
                await harness.resume_agent("s", drift_decider=lambda given: seen.append(given))
            assert seen == [caught.value.assessment]
            error = ValueError("ask me later")

            def broken(_given: Any) -> bool:
                raise error

            with pytest.raises(DriftRejectedError) as caught:
                await harness.resume_agent("s", drift_decider=broken)
            assert caught.value.__cause__ is error
            await turn(await harness.resume_agent("s", drift_decider=lambda _given: True))

    async def test_a_rejection_that_cannot_be_recorded(self, caplog: pytest.LogCaptureFixture) -> None:
        """Fail closed: it is rejected all the same, and the log says that there is no record of it."""
        store = MemoryStore()
        await started(store, policy("v1"))
        written = store._write_ledger

        def full(session_id: str, ledger: Ledger) -> None:
            if ledger.refused is not None:
                raise OSError("disk full")
            written(session_id, ledger)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "_write_ledger", full)
            async with host(store, policy("v2")) as harness:
                with pytest.raises(DriftRejectedError):
                    await harness.resume_agent("s")
                await store.claim("s")
        assert "could not be recorded: OSError: disk full" in caplog.text

    async def test_an_adoption_that_cannot_be_recorded(self) -> None:
        """Fail closed: a session whose new terms are not durable is not resumed."""
        store = MemoryStore()
        await started(store, policy("v1"))
        watcher, real = Watcher(), store.record

        async def full(session_id: str, ledger: Ledger) -> None:
            if len(ledger.adopted) > 1:
                raise OSError("disk full")
            await real(session_id, ledger)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "record", full)
            async with host(store, policy("v2"), watcher) as harness:
                with pytest.raises(OSError, match="disk full"):
                    await harness.resume_agent("s", allow_policy_drift=True)
                assert harness.agents.list() == []
        assert watcher.outcomes() == ["failed"]

    async def test_a_damaged_record(self) -> None:
        """Fail closed: what a session was accepted under cannot be read, so it is not resumed."""
        store = MemoryStore()
        await started(store)

        def damaged(_session_id: str) -> Ledger:
            raise HarnessError("it cannot be read", "SESSION_CORRUPT")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store, "_read_ledger", damaged)
            async with host(store) as harness:
                with refused("SESSION_CORRUPT"):
                    await harness.resume_agent("s")

    async def test_no_history(self, kept: Kept) -> None:
        """Case 130: nothing of the past is dispatched; new work goes to the new observers."""
        await started(kept.open())
        watcher = Everything()
        async with host(kept.open(), watcher) as harness:
            agent = await harness.resume_agent("s")
            assert watcher.seen == [("journal_append", "2")]
            before = len(agent.session.events)
            await turn(agent)
            events = agent.session.events[before:]
        assert [what for what, _ in watcher.seen].count("turn") == 1
        assert [i for what, i in watcher.seen if what == "journal_append"][1:] == [str(event.seq) for event in events]


class TestSync:
    def test_the_same_rules(self) -> None:
        """Callers without an event loop are refused, and allow, in the same way."""
        store = MemoryStore()
        with dshhooks.sync.open(CONFIG, [policy("v1")], store=store) as harness:
            harness.llm.register_adapter(["scripted"], ScriptedAdapter([Say("fine")]))
            agent = harness.create_agent(session_id="s")
            agent.followup("go")
            agent.when_idle()
        with dshhooks.sync.open(CONFIG, [policy("v2")], store=store) as harness:
            with pytest.raises(DriftRejectedError) as caught:
                harness.resume_agent("s")
            assert caught.value.assessment.changes == (V1_TO_V2,)
            assert harness.resume_agent("s", allow_policy_drift=True).id == "s"


class Heard:
    """A plugin that is told of sessions and agents that come to be."""

    governs = False

    def __init__(self) -> None:
        self.names: list[str] = []

    @hookimpl
    def session_created(self, session: Any) -> None:
        self.names.append(session.id)

    @hookimpl
    def agent_created(self, agent: Any) -> None:
        self.names.append(agent.id)


class Everything:
    """An observer of every operation."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    @hookimpl
    def operation(self, call: Any) -> None:
        self.seen.append((str(call.operation), getattr(call.payload, "record_id", "")))
