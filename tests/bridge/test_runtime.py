"""The runtime: which hooks run, in which order, how often; trust, reloading, hooks nobody waits for."""

from __future__ import annotations

import json
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from dshhooks.bridge.errors import PayloadError, UnknownEventError
from dshhooks.bridge.files import read_regular
from dshhooks.bridge.history import History, read_history
from dshhooks.bridge.options import BridgeOptions
from dshhooks.bridge.runtime import HookRuntime
from dshhooks.bridge.trust import trust_store
from hookspecs.signal import CancelSource
from tests.bridge.kit import write
from tests.bridge.runtime_kit import alive, hooks_on, pid_in, python, runtime, shell, until

ROOT = Path(__file__).parents[2]
ENVIRON = {**os.environ, "PYTHONPATH": str(ROOT)}

pytestmark = pytest.mark.anyio


def says(text, seconds=0.0):
    """A hook that adds a line to a file and refuses."""
    return shell(f"sleep {seconds}; echo {text} >> order; echo {text} >&2; exit 2")


def lines(folder, name="order"):
    """The lines of a file; none if it is missing."""
    file = folder / name
    return file.read_text().split() if file.exists() else []


# -- requests ------------------------------------------------------------------------------------------------------


async def test_an_unknown_event(tmp_path):
    """Case 2: the error names it, and nothing runs."""
    made = runtime(tmp_path, shell("touch ran"))
    with pytest.raises(UnknownEventError, match="pretooluse"):
        await made.dispatch("pretooluse")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("payload", [[], "text", {"a": float("nan")}, {1: 2}])
async def test_a_payload_json_has_no_words_for(tmp_path, payload):
    """An error for the request, before anything runs."""
    made = runtime(tmp_path, shell("touch ran"))
    with pytest.raises(PayloadError):
        await made.dispatch("PreToolUse", payload)
    assert not (tmp_path / "ran").exists()


async def test_nothing_matches(tmp_path):
    """The neutral outcome."""
    dispatch = await runtime(tmp_path, shell("exit 2")).dispatch("Stop")
    assert (dispatch.canonical, dispatch.outcome.decision, dispatch.runs) == ("turn:stop", "none", ())


async def test_the_callers_payload_stays_as_it_is(tmp_path):
    """Members are added to a copy."""
    payload = {"tool_name": "Bash"}
    await runtime(tmp_path, shell("true")).dispatch("PreToolUse", payload)
    assert payload == {"tool_name": "Bash"}


@pytest.mark.parametrize(
    ("event", "payload", "subject", "said"),
    [("PreToolUse", {}, None, 1), ("tool:after", {"tool_name": 3}, None, 1), ("PreToolUse", {}, "", 0),
     ("PreToolUse", {"tool": "Bash"}, None, 0), ("Stop", {}, None, 0)],
)  # fmt: skip
async def test_a_payload_without_a_tool(tmp_path, caplog, event, payload, subject, said):
    """Only groups that match everything run; a line at level debug says why the others did not."""
    caplog.set_level(logging.DEBUG, logger="dshhooks.bridge")
    document = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [shell("touch ran")]}]}}
    await runtime(tmp_path, document=document).dispatch(event, payload, subject=subject)
    assert (caplog.text.count("names no tool"), (tmp_path / "ran").exists()) == (said, payload == {"tool": "Bash"})
    assert all(record.levelno == logging.DEBUG for record in caplog.records)


@pytest.mark.parametrize(("dialects", "contexts"), [(None, ("plain",)), (["claude"], ("plain",)), (["codex"], ()),
                                                    ([], ())])  # fmt: skip
async def test_whose_text_is_context(tmp_path, dialects, contexts):
    """What hooks of other dialects print stays in the record; a context they answer with counts."""
    answer = shell("""echo '{"additionalContext": "answered"}'""")
    made = runtime(tmp_path, shell("echo plain"), answer, event="SessionStart", context_dialects=dialects)
    dispatch = await made.dispatch("SessionStart", {"source": "startup"})
    assert dispatch.outcome.contexts == (*contexts, "answered")
    assert dispatch.runs[0].outcome.stdout == "plain\n"


async def test_an_echoing_hook_decides_nothing(tmp_path):
    """Spec E.8: a hook that prints its payload back, on every event."""
    events = ["PreToolUse", "PostToolUse", "SessionStart", "SessionEnd", "UserPromptSubmit", "Stop", "SubagentStart",
              "SubagentStop", "Notification", "PreCompact"]  # fmt: skip
    document = {"hooks": {event: [{"hooks": [shell("cat")]}] for event in events}}
    made = runtime(tmp_path, document=document)
    for event in events:
        outcome = (await made.dispatch(event, {"reason": "clear", "source": "startup"})).outcome
        assert (outcome.decision, outcome.reason, outcome.stop, outcome.contexts) == ("none", None, False, ())


# -- order ---------------------------------------------------------------------------------------------------------


async def test_hooks_run_in_order(tmp_path):
    """A deny does not keep the later ones from running; reasons are joined in order."""
    outcome = (await runtime(tmp_path, says("a", 0.1), says("b"), says("c")).dispatch("PreToolUse")).outcome
    assert lines(tmp_path) == ["a", "b", "c"]
    assert outcome.reason == "a\n\nb\n\nc"


async def test_hooks_in_parallel_say_the_same(tmp_path):
    """They start together, and their answer is that of the order in the file."""
    made = runtime(tmp_path, says("a", 0.4), says("b"), parallel=True)
    outcome = (await made.dispatch("PreToolUse")).outcome
    assert lines(tmp_path) == ["b", "a"]
    assert outcome.reason == "a\n\nb"


async def test_event_names_that_exclude_each_other(tmp_path):
    """Cases 3 to 6: with processes."""
    document = {"hooks": {"PostToolUse": [{"hooks": [shell("echo ok >> order")]}],
                          "PostToolUseFailure": [{"hooks": [shell("echo failed >> order")]}]}}  # fmt: skip
    made = runtime(tmp_path, document=document)
    for event in ("PostToolUse", "PostToolUseFailure", "tool:after"):
        await made.dispatch(event)
    assert lines(tmp_path) == ["ok", "failed", "ok", "failed"]


async def test_once_in_a_session(tmp_path):
    """At most one run, and another in another session."""
    made = runtime(tmp_path, shell("echo ran >> order", once=True))
    for session in ("s1", "s1", "s2"):
        await made.dispatch("PreToolUse", {"session_id": session})
    assert lines(tmp_path) == ["ran", "ran"]
    assert [line.reason for line in made.explain("PreToolUse", {"session_id": "s1"})] == ["once-used"]


async def test_once_also_when_two_come_at_the_same_time(tmp_path):
    """Whoever matches first has it."""
    made = runtime(tmp_path, shell("echo ran >> order; sleep 0.1", once=True))
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(made.dispatch, "PreToolUse", {"session_id": "s"})
    assert lines(tmp_path) == ["ran"]


@pytest.mark.parametrize("how", ["cancelled", "aborted"])
async def test_once_is_not_used_up_by_a_dispatch_that_stops_before_it(tmp_path, how):
    """A guard that was never started still guards; one that was started has had its run."""
    hooks = shell("echo ran >> first; sleep 60", once=True), says("guard") | {"once": True}
    made, source = runtime(tmp_path, *hooks), CancelSource()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: made.dispatch("PreToolUse", {"session_id": "s"}, signal=source.signal))
        await until(lambda: lines(tmp_path, "first"))
        tasks.cancel_scope.cancel() if how == "cancelled" else source.abort("enough")
    assert lines(tmp_path) == []
    assert (await made.dispatch("PreToolUse", {"session_id": "s"})).outcome.decision == "deny"
    assert not (await made.dispatch("PreToolUse", {"session_id": "s"})).runs
    assert (lines(tmp_path, "first"), lines(tmp_path)) == (["ran"], ["guard"])


async def test_once_is_not_used_up_by_what_cannot_start(tmp_path):
    """Otherwise the first call is denied for it, and the next one passes unasked."""
    made = runtime(tmp_path, shell("exit 2", once=True, onError="block", cwd="later"))
    for _ in range(2):
        (run,) = (await made.dispatch("PreToolUse", {"session_id": "s"})).runs
        assert (run.outcome.failure, run.outcome.decision) == ("spawn-failed", "deny")
    (tmp_path / "later").mkdir()
    (run,) = (await made.dispatch("PreToolUse", {"session_id": "s"})).runs
    assert (run.outcome.failure, run.outcome.decision) == (None, "deny")
    assert not (await made.dispatch("PreToolUse", {"session_id": "s"})).runs


async def test_once_after_reloading(tmp_path):
    """A hook that stands where another one stood has not run; one that is as it was has."""
    same, old, new = shell("echo same >> order", once=True), shell("true", once=True), says("new") | {"once": True}
    made = runtime(tmp_path, same, old)
    await made.dispatch("PreToolUse", {"session_id": "s"})
    write(Path(made.sources[0].file), hooks_on("PreToolUse", same, new))
    made.reload()
    await made.dispatch("PreToolUse", {"session_id": "s"})
    assert lines(tmp_path) == ["same", "new"]


async def test_a_session_that_ends_is_forgotten(tmp_path):
    """One that starts again under the same id runs its hooks again."""
    made = runtime(tmp_path, shell("echo ran >> order", once=True))
    for event in ("PreToolUse", "SessionEnd", "PreToolUse"):
        await made.dispatch(event, {"session_id": "s"})
    assert lines(tmp_path) == ["ran", "ran"]


async def test_a_condition(tmp_path):
    """`if` keeps a hook from other calls."""
    made = runtime(tmp_path, shell("echo ran >> order", **{"if": "Bash(git push *)"}))
    for command in ("git status", "git push origin"):
        await made.dispatch("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": command}})
    assert lines(tmp_path) == ["ran"]


async def test_explain_runs_nothing_and_says_why(tmp_path):
    """Spec A.13: every configured hook, with the first condition that keeps it back."""
    group = {"hooks": [shell("touch ran")]}
    document = {"hooks": {"PreToolUse": [group | {"matcher": "Edit"}, group], "Stop": [group]}}
    made = runtime(tmp_path, document=document)
    lines = made.explain("tool:before", {"tool_name": "Bash"})
    assert [(line.runs, line.reason) for line in lines] == [
        (False, "matcher"),
        (True, "match"),
        (False, "event-mismatch"),
    ]
    assert not (tmp_path / "ran").exists()


# -- hooks nobody waits for ----------------------------------------------------------------------------------------


async def test_async_is_not_waited_for(tmp_path):
    """The run is recorded as started; it cannot decide, and comes to its end by itself."""
    async with runtime(tmp_path, shell("sleep 0.3; echo ran > order; exit 2", **{"async": True})) as made:
        (run,) = (await made.dispatch("PreToolUse")).runs
        assert (run.outcome.detached, run.outcome.decision, lines(tmp_path)) == (True, "none", [])
        assert made.history.recent[0]["outcome"] == "spawned"
        await until(lambda: lines(tmp_path))


@pytest.mark.parametrize(("on_error", "decision"), [("warn", "none"), ("block", "deny")])
async def test_a_flood_of_hooks_nobody_waits_for(tmp_path, on_error, decision):
    """So many run at once and no more: another is not started, which is a failure like any other."""
    slow = shell("sleep 60", **{"async": True})
    async with runtime(tmp_path, slow, limits={"detached": 2}, on_error=on_error) as made:
        for _ in range(2):
            assert (await made.dispatch("PreToolUse", {"session_id": "s"})).outcome.decision == "none"
        dispatch = await made.dispatch("PreToolUse", {"session_id": "other"})
        (run,) = dispatch.runs
        assert (run.outcome.failure, run.outcome.detached, dispatch.outcome.decision) == (
            "spawn-failed",
            False,
            decision,
        )
        assert "2 hooks nobody waits for run already" in str(run.error)
        await made.dispatch("SessionEnd", {"session_id": "s"})
        await until(lambda: not len(made._detached))
        assert (await made.dispatch("PreToolUse")).runs[0].outcome.detached


CROWDED = """
import anyio, os, resource, sys
from dshhooks.bridge import BridgeOptions, HookRuntime

async def main():
    runtime = HookRuntime(BridgeOptions(config_path=sys.argv[1], cwd=sys.argv[2]))
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    taken = []
    try:
        while True:
            taken.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        pass
    (run,) = (await runtime.dispatch("PreToolUse")).runs
    for number in taken:
        os.close(number)
    (again,) = (await runtime.dispatch("PreToolUse")).runs
    await runtime.aclose()
    print(run.outcome.failure, run.outcome.decision, again.outcome.detached)
    print(run.error)

anyio.run(main, backend=sys.argv[3])
"""


def test_no_file_left_for_hooks_nobody_waits_for(tmp_path, anyio_backend):
    """That one is a failure of the hook like any other; the host does not hang, and starts the next one."""
    made = runtime(tmp_path, shell("true", **{"async": True, "onError": "block"}))
    argv = [sys.executable, "-c", CROWDED, made.sources[0].file, str(tmp_path), anyio_backend]
    ended = subprocess.run(argv, capture_output=True, text=True, env=ENVIRON, timeout=60, check=True)
    said, error = ended.stdout.splitlines()
    assert said == "spawn-failed deny True"
    assert "Too many open files" in error


async def test_closing_ends_what_runs_on_its_own(tmp_path):
    """Spec A.6.3: with all it started."""
    async with runtime(tmp_path, shell("sleep 60 & echo $! > child; wait", **{"async": True})) as made:
        await made.dispatch("PreToolUse")
        await until(lambda: pid_in(tmp_path / "child"))
    assert not alive(pid_in(tmp_path / "child"))


async def test_closing_can_wait(tmp_path):
    """For programs that run one event and end."""
    made = runtime(tmp_path, shell("sleep 0.2; echo ran > order", **{"async": True}))
    await made.dispatch("PreToolUse")
    await made.aclose(drain=True)
    assert lines(tmp_path) == ["ran"]


async def test_the_end_of_a_session_ends_its_own(tmp_path):
    """And nobody else's."""
    slow = shell("echo $$ > pid-$(python3 -c 'import json,sys; print(json.load(sys.stdin)[\"session_id\"])'); sleep 60",
                 **{"async": True})  # fmt: skip
    async with runtime(tmp_path, slow) as made:
        for session in ("a", "b"):
            await made.dispatch("PreToolUse", {"session_id": session})
        await until(lambda: pid_in(tmp_path / "pid-a") and pid_in(tmp_path / "pid-b"))
        await made.dispatch("SessionEnd", {"session_id": "a"})
        await until(lambda: not alive(pid_in(tmp_path / "pid-a")))
        assert alive(pid_in(tmp_path / "pid-b"))


FORGETFUL = """
import asyncio, sys
from dshhooks.bridge import BridgeOptions, HookRuntime
runtime = HookRuntime(BridgeOptions(config_path=sys.argv[1], cwd=sys.argv[2]))
asyncio.run(runtime.dispatch("PreToolUse"))
while not open(sys.argv[2] + "/child").read():
    pass
"""


def test_a_host_that_forgets_to_close(tmp_path):
    """It ends at once, and so do the hooks."""
    hook = shell("sleep 60 & echo $! > child; wait", **{"async": True})
    file = write(tmp_path / "settings.json", hooks_on("PreToolUse", hook))
    (tmp_path / "child").touch()
    (tmp_path / "host.py").write_text(FORGETFUL)
    command = [sys.executable, str(tmp_path / "host.py"), str(file), str(tmp_path)]
    done = subprocess.run(command, timeout=30, check=False, capture_output=True, text=True, cwd=ROOT, env=ENVIRON)
    assert (done.returncode, done.stderr) == (0, "")
    assert not alive(pid_in(tmp_path / "child"))


async def test_parallel_hooks_are_all_ended(tmp_path):
    """By the cancellation of whoever waits for them; each has its record."""
    made = runtime(tmp_path, *(shell(f"echo $$ > pid{n}; sleep 60") for n in range(3)), parallel=True)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.dispatch, "PreToolUse")
        await until(lambda: all(pid_in(tmp_path / f"pid{n}") for n in range(3)))
        tasks.cancel_scope.cancel()
    assert not any(alive(pid_in(tmp_path / f"pid{n}")) for n in range(3))
    assert [record["outcome"] for record in made.history.recent] == ["aborted"] * 3


# -- trust and reloading -------------------------------------------------------------------------------------------


def project(folder, command="echo ran >> order", **options):
    """A runtime over a project with one Claude file."""
    write(folder / "project" / ".claude" / "settings.json", hooks_on("PreToolUse", shell(command)))
    return HookRuntime(BridgeOptions(cwd=folder / "project", home=folder / "home", **options))


def store_of(folder):
    """The user's trust store."""
    store = trust_store(BridgeOptions(home=folder / "home"))
    assert store is not None
    return store


async def test_a_checkouts_hooks_do_not_run(tmp_path, caplog):
    """Listed, said once, not run."""
    made = project(tmp_path)
    made.reload()
    assert (await made.dispatch("PreToolUse")).runs == ()
    assert [source.trusted for source in made.sources] == [False]
    assert caplog.text.count("is not trusted") == 1
    assert [line.reason for line in made.explain("PreToolUse")] == ["untrusted"]


async def test_a_trusted_file_runs_until_it_changes(tmp_path):
    """The agreement is about its bytes."""
    made = project(tmp_path)
    file = tmp_path / "project" / ".claude" / "settings.json"
    store_of(tmp_path).add({str(file): file.read_bytes()})
    made.reload()
    assert len((await made.dispatch("PreToolUse")).runs) == 1
    file.write_text(json.dumps(hooks_on("PreToolUse", shell("echo other >> order"))))
    made.reload()
    assert (await made.dispatch("PreToolUse")).runs == ()


@pytest.mark.parametrize("link", [".claude", ".claude/settings.json"])
async def test_a_link_to_a_trusted_file_is_not_trusted(tmp_path, link):
    """The same words in another checkout run that one's scripts: trust is about a place, whatever is linked there."""
    trusted, evil = tmp_path / "project", tmp_path / "evil"
    project(tmp_path, "sh ./check.sh")
    store_of(tmp_path).add(
        {str(trusted / ".claude" / "settings.json"): read_regular(trusted / ".claude/settings.json")}
    )
    (evil / link).parent.mkdir(parents=True)
    (evil / link).symlink_to(trusted / link)
    made = HookRuntime(BridgeOptions(cwd=evil, home=tmp_path / "home"))
    assert (await made.dispatch("PreToolUse")).runs == ()
    store_of(tmp_path).add({str(evil / ".claude" / "settings.json"): read_regular(evil / ".claude" / "settings.json")})
    made.reload()
    assert len((await made.dispatch("PreToolUse")).runs) == 1


async def test_a_project_reached_by_a_link(tmp_path):
    """Is the same project."""
    project(tmp_path)
    file = tmp_path / "project" / ".claude" / "settings.json"
    store_of(tmp_path).add({str(file): read_regular(file)})
    (tmp_path / "link").symlink_to("project")
    made = HookRuntime(BridgeOptions(cwd=tmp_path / "link", home=tmp_path / "home"))
    assert [source.trusted for source in made.sources] == [True]


async def test_trusting_at_the_same_time(tmp_path):
    """Nobody's word is lost."""

    def add(number):
        for file in range(10):
            store_of(tmp_path).add({str(tmp_path / f"{number}-{file}"): b"x"})

    async with anyio.create_task_group() as tasks:
        for number in range(4):
            tasks.start_soon(anyio.to_thread.run_sync, add, number)
    assert len(store_of(tmp_path).entries()) == 40


async def test_what_runs_is_what_was_read(tmp_path):
    """A file that changes after it was read changes nothing until it is read, and trusted, again."""
    made = project(tmp_path, trust=lambda _source: True)
    write(tmp_path / "project" / ".claude" / "settings.json", hooks_on("PreToolUse", shell("echo evil >> order")))
    await made.dispatch("PreToolUse")
    assert lines(tmp_path / "project") == ["ran"]


async def test_the_host_decides(tmp_path):
    """`trust=` is asked, with the file's hash."""
    asked = []
    project(tmp_path, trust=lambda source: asked.append(source) or False)
    assert [len(source.digest) for source in asked] == [64]


async def test_the_store_is_private(tmp_path):
    """Mode 0600; a folder that is made for it 0700."""
    store = store_of(tmp_path)
    store.add({str(tmp_path / "f"): b"x"})
    assert stat.S_IMODE(os.stat(store.path).st_mode) == 0o600
    assert list(store.entries()) == [str(tmp_path / "f")]
    store.remove([str(tmp_path / "f")])
    assert store.entries() == {}


@pytest.mark.parametrize("text", ["", "[]", "{", '{"files": 1}', '{"files": {"/x": 1}}', b"\xff"])
async def test_a_broken_store_trusts_nobody(tmp_path, text):
    """And it is said which file that is, to whoever has a project to trust."""
    made = project(tmp_path)
    file = made.sources[0].file
    store_of(tmp_path).add({file: read_regular(file)})
    assert [note.code for note in made.reload()] == []
    write(store_of(tmp_path).path, text)
    assert [(note.level, note.code) for note in made.reload()] == [("warning", "file-untrusted"),
                                                                   ("warning", "trust-unreadable")]  # fmt: skip
    assert made.diagnostics[1].source == str(store_of(tmp_path).path)
    assert (await made.dispatch("PreToolUse")).runs == ()
    assert runtime(tmp_path, shell("true")).diagnostics == ()


async def test_no_store_is_no_problem(tmp_path):
    """Nobody has agreed to anything yet."""
    assert store_of(tmp_path).problem() is None
    assert [note.code for note in project(tmp_path).diagnostics] == ["file-untrusted"]


@pytest.mark.parametrize("broken", ["{", "[]", None])
async def test_reloading_a_file_that_was_broken(tmp_path, broken):
    """Case 120: diagnostics, and the next dispatch answers; a guard does not go because its file cannot be read."""
    made = runtime(tmp_path, shell("exit 2"))
    file = tmp_path / "config" / "settings.json"
    file.unlink() if broken is None else write(file, broken)
    (note,) = made.reload()
    assert (note.level, note.message.partition("; ")[2]) == ("error", "the hooks it had before stay in force")
    assert made.unusable is None
    assert (await made.dispatch("PreToolUse")).outcome.decision == "deny"
    write(file, hooks_on("PreToolUse", shell("exit 0")))
    assert made.reload() == []
    assert (await made.dispatch("PreToolUse")).outcome.decision == "none"


async def test_a_named_file_that_was_never_usable(tmp_path):
    """The runtime says so, until it is."""
    made = runtime(tmp_path, document="{")
    assert made.unusable == made.sources[0]
    assert [note.level for note in made.reload()] == ["error"]
    write(tmp_path / "config" / "settings.json", hooks_on("PreToolUse", shell("exit 2")))
    assert made.reload() == []
    assert made.unusable is None


def test_a_discovered_file_that_is_broken(tmp_path):
    """Is nobody's word: the others count, and its diagnostic."""
    write(tmp_path / ".claude" / "settings.json", "{")
    made = HookRuntime(BridgeOptions(home=tmp_path, cwd=tmp_path / "project"))
    assert [note.level for note in made.diagnostics] == ["error"]
    assert made.unusable is None


# -- history -------------------------------------------------------------------------------------------------------


async def test_history_has_no_secrets(tmp_path):
    """One line a run: what it was and how it ended; nothing it was given."""
    made = runtime(tmp_path, shell("echo said >&2; exit 2", env={"A": "sesame"}), history=tmp_path / "h" / "log.jsonl")
    await made.dispatch("PreToolUse", {"tool_name": "Bash", "tool_input": {"command": "sesame"}})
    (record,) = read_history(tmp_path / "h" / "log.jsonl")
    assert (record["outcome"], record["subject"], record["stderr"]) == ("deny", "Bash", "said")
    assert "sesame" not in json.dumps(record)
    assert stat.S_IMODE(os.stat(tmp_path / "h" / "log.jsonl").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(tmp_path / "h").st_mode) == 0o700


async def test_history_that_cannot_be_written(tmp_path, caplog):
    """Case 124: said once, and the decision stands."""
    (tmp_path / "file").write_text("")
    made = runtime(tmp_path, shell("exit 2"), history=tmp_path / "file" / "log.jsonl")
    for _ in range(2):
        assert (await made.dispatch("PreToolUse")).outcome.decision == "deny"
    assert caplog.text.count("cannot be written") == 1


async def test_history_in_a_pipe_nobody_reads(tmp_path, caplog):
    """It is not waited for, to write or to read."""
    os.mkfifo(tmp_path / "log.jsonl")
    history = History(tmp_path / "log.jsonl")
    history.add({"n": 1})
    assert "cannot be written" in caplog.text
    assert read_history(tmp_path / "log.jsonl") == []


async def test_history_keeps_the_beginning_of_a_subject(tmp_path):
    """A tool's name is what the caller says it is."""
    made = runtime(tmp_path, shell("true"), history=tmp_path / "log.jsonl")
    await made.dispatch("PreToolUse", {"tool_name": "x" * (1 << 20)})
    (record,) = read_history(tmp_path / "log.jsonl")
    assert len(record["subject"]) == 501


async def test_torn_lines_are_skipped(tmp_path):
    """Case 124: what another writer, or a full disk, left behind."""
    file = tmp_path / "log.jsonl"
    history = History(file)
    history.add({"n": 1})
    with file.open("ab") as stream:
        stream.write(b"\xff\xfe\n[]\n" + b"[" * 100_000 + b'\n{"n": 2}\n{"n": 3')
    assert [record["n"] for record in read_history(file)] == [1, 2]
    assert [record["n"] for record in read_history(file, 1)] == [2]
    assert read_history(file, 0) == []


async def test_history_is_rotated(tmp_path):
    """At 1 MiB; both files are read."""
    history = History(tmp_path / "log.jsonl")
    for number in range(3):
        history.add({"n": number, "text": "x" * 600_000})
    assert (tmp_path / "log.jsonl.1").exists()
    assert [record["n"] for record in read_history(tmp_path / "log.jsonl")] == [0, 1, 2]


async def test_writers_rotate_together(tmp_path, caplog):
    """What one has put aside, no other puts aside again, and none of them complains."""
    writers = [History(tmp_path / "log.jsonl") for _ in range(4)]

    def write_all(history, name):
        for number in range(25):
            history.add({"n": f"{name}{number}", "text": "x" * 30_000})

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # so that they meet where it matters
    try:
        async with anyio.create_task_group() as tasks:
            for name, history in zip("abcd", writers, strict=True):
                tasks.start_soon(anyio.to_thread.run_sync, write_all, history, name)
    finally:
        sys.setswitchinterval(before)
    records = read_history(tmp_path / "log.jsonl")
    assert len(records) >= (1 << 20) // 30_100
    assert records[-1]["n"] in ("a24", "b24", "c24", "d24")
    assert caplog.records == []


async def test_memory_keeps_the_last_ones():
    """500 of them."""
    history = History()
    for number in range(600):
        history.add({"n": number})
    assert [history.recent[0]["n"], len(history.recent)] == [100, 500]


async def test_a_hook_in_python_by_default_interpreter(tmp_path):
    """A guard people really write: JSON in, JSON out."""
    source = """
import json, sys
call = json.load(sys.stdin)
if "secret" in call["tool_input"]["path"]:
    json.dump({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask",
                                      "permissionDecisionReason": "really?"}}, sys.stdout)
"""
    made = runtime(tmp_path, python(tmp_path, source))
    asked = await made.dispatch("PreToolUse", {"tool_name": "Read", "tool_input": {"path": "secret.txt"}})
    fine = await made.dispatch("PreToolUse", {"tool_name": "Read", "tool_input": {"path": "readme"}})
    assert (asked.outcome.decision, asked.outcome.reason, fine.outcome.decision) == ("ask", "really?", "none")
