"""Hooks that are processes: what they are given, what they do to us, and how they end. Real processes throughout."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tracemalloc

import anyio
import pytest

from hookspecs.signal import CancelSource
from tests.bridge.runtime_kit import alive, pid_in, python, runtime, shell, until

pytestmark = pytest.mark.anyio

# Prints its stdin back into a file.
ECHO = "import sys; open('seen', 'wb').write(sys.stdin.buffer.read())"


async def one(made, event="PreToolUse", payload=None, **more):
    """Dispatch and return the only run."""
    dispatch = await made.dispatch(event, payload or {}, **more)
    (run,) = dispatch.runs
    return run


# -- what a hook is given ------------------------------------------------------------------------------------------


async def test_stdin_is_the_payload_of_its_dialect(tmp_path):
    """Case 61: the caller's members, the event's name in its dialect, one newline."""
    made = runtime(tmp_path, python(tmp_path, ECHO))
    await made.dispatch("tool:before", {"tool_name": "Bash", "own": [1]})
    seen = (tmp_path / "seen").read_bytes()
    assert seen.endswith(b"}\n")
    assert json.loads(seen) | {"hook_event_name": "PreToolUse", "tool_name": "Bash", "own": [1]} == json.loads(seen)


async def test_an_alias_is_for_matchers_only(tmp_path):
    """Spec A.3: a matcher fits another name of the tool, and the hook is told the real one."""
    document = {"hooks": {"PreToolUse": [{"matcher": "Edit|Write", "hooks": [python(tmp_path, ECHO)]}]}}
    made = runtime(tmp_path, document=document, tool_aliases={"apply_patch": ["Edit", "Write"]})
    assert len((await made.dispatch("PreToolUse", {"tool_name": "apply_patch"})).runs) == 1
    assert json.loads((tmp_path / "seen").read_bytes())["tool_name"] == "apply_patch"


async def test_a_native_hook_gets_an_envelope(tmp_path):
    """Case 62: the canonical event, a time, the members."""
    document = {"version": 1, "events": {"tool:before": [{"hooks": [python(tmp_path, ECHO)]}]}}
    await runtime(tmp_path, document=document, dialect="native").dispatch("PreToolUse", {"tool_name": "Bash"})
    seen = json.loads((tmp_path / "seen").read_bytes())
    assert seen["event"] == "tool:before"
    assert seen["ts"].endswith("Z")
    assert seen["tool_name"] == "Bash"


async def test_odd_text_arrives_as_json(tmp_path):
    """Case 64: emoji, CJK, a line separator and a lone surrogate."""
    text = "\N{GRINNING FACE} 读取 \u2028 \ud800"
    await runtime(tmp_path, python(tmp_path, ECHO)).dispatch("PreToolUse", {"own": text})
    assert json.loads((tmp_path / "seen").read_bytes())["own"] == text


async def test_printing_before_reading_is_no_deadlock(tmp_path):
    """Case 65: 5 MiB in, 1 MiB out first."""
    source = "import sys; print('x' * (1 << 20)); sys.exit(2 if len(sys.stdin.read()) > 5 << 20 else 1)"
    run = await one(runtime(tmp_path, python(tmp_path, source)), payload={"own": "y" * (5 << 20)})
    assert run.outcome.decision == "deny"


async def test_exec_form_has_no_shell(tmp_path):
    """Case 48: each argument arrives as it is written."""
    source = tmp_path / "args.py"
    source.write_text("import sys, json; json.dump(sys.argv[1:], open('seen', 'w'))")
    hook = {"type": "command", "command": sys.executable, "args": [str(source), "a b", "$HOME", "*"]}
    await runtime(tmp_path, hook).dispatch("PreToolUse")
    assert json.loads((tmp_path / "seen").read_text()) == ["a b", "$HOME", "*"]


async def test_placeholders_in_a_command(tmp_path):
    """Case 50: the project's directory is there, quoted or not; what nobody knows is left alone."""
    project = tmp_path / "my $project"
    project.mkdir()
    command = 'printf "%s|%s" "${CLAUDE_PROJECT_DIR}" \'${UNKNOWN}\''
    run = await one(runtime(tmp_path, shell(command), project_dir=project))
    assert run.outcome.stdout == f"{project}|${{UNKNOWN}}"


async def test_placeholders_in_arguments(tmp_path):
    """In the exec form there is no shell to expand them: values are put in."""
    hook = {"type": "command", "command": "printf", "args": ["%s", "${CLAUDE_PROJECT_DIR}/x"]}
    run = await one(runtime(tmp_path, hook, project_dir=tmp_path))
    assert run.outcome.stdout == f"{tmp_path}/x"


async def test_environment(tmp_path):
    """Case 101: the hook's own variables, and the project's directory, which wins over them."""
    hook = shell('echo "$A $CLAUDE_PROJECT_DIR"', env={"A": "1", "CLAUDE_PROJECT_DIR": "/elsewhere"})
    run = await one(runtime(tmp_path, hook))
    assert run.outcome.stdout == f"1 {tmp_path}\n"


@pytest.mark.parametrize(
    ("allow", "seen"),
    [(None, "none none none o"), (["*", "OPENAI_API_KEY"], "none none key o"), (["*"], "none none none o")],
)
async def test_the_models_key_is_no_business_of_hooks(tmp_path, allow, seen):
    """Neither its variable, nor any with its value, nor those other hosts use; unless it is named."""
    keys = {"DSHHOOKS_LLM_KEY": "k", "MY_KEY": "sesame", "OPENAI_API_KEY": "key", "OTHER": "o"}
    llm = {"base_url": "http://127.0.0.1:9", "model": "m", "api_key": "sesame"}
    hook = shell('echo "${DSHHOOKS_LLM_KEY-none} ${MY_KEY-none} ${OPENAI_API_KEY-none} $OTHER"')
    run = await one(runtime(tmp_path, hook, environ={**os.environ, **keys}, llm=llm, env_allow=allow))
    assert run.outcome.stdout == f"{seen}\n"


async def test_what_hooks_may_see(tmp_path):
    """Variables by name; what the hook itself brings, and the project's directory, are always there."""
    environ = {"PATH": os.environ["PATH"], "OTEL_A": "a", "OTEL_B": "b", "OTHER": "o"}
    hook = shell('echo "${OTEL_A-}|${OTEL_B-}|${OTHER-}|$OWN|$CLAUDE_PROJECT_DIR"', env={"OWN": "x"})
    options = {"env_allow": ["PATH", "OTEL_*"], "env_deny": ["OTEL_B"]}
    run = await one(runtime(tmp_path, hook, environ=environ, **options))
    assert run.outcome.stdout == f"a|||x|{tmp_path}\n"


async def test_the_dispatch_says_where(tmp_path):
    """A request's folder stands above the runtime's; a hook's own is relative to it."""
    (tmp_path / "there" / "below").mkdir(parents=True)
    run = await one(runtime(tmp_path, shell("pwd", cwd="below")), cwd=tmp_path / "there")
    assert run.outcome.stdout.strip() == str(tmp_path / "there" / "below")


async def test_a_platforms_own_command(tmp_path):
    """The override for this platform is run, whatever `command` says."""
    run = await one(runtime(tmp_path, shell("echo any", linux="echo linux", osx="echo osx", windows="echo windows")))
    assert run.outcome.stdout.strip() in ("linux", "osx")


async def test_a_command_for_another_platform_only(tmp_path):
    """It is a failure which says so, not silence."""
    hook = {"type": "command", "windows": "echo windows", "onError": "block"}
    run = await one(runtime(tmp_path, hook))
    assert run.outcome.decision == "deny"
    assert "platform" in str(run.error)


@pytest.mark.parametrize(("login", "seen"), [(False, "none\n"), (True, "here\n")])
async def test_a_login_shell(tmp_path, login, seen):
    """When asked for, the user's profile is read before the command."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".profile").write_text("FROM_PROFILE=here\n")
    environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
    run = await one(runtime(tmp_path, shell('echo "${FROM_PROFILE-none}"'), environ=environ, login_shell=login))
    assert run.outcome.stdout == seen


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
async def test_bash_when_asked_for(tmp_path):
    """`shell: bash` is bash, with what only it can do."""
    run = await one(runtime(tmp_path, shell("[[ abc == a* ]] && echo yes", shell="bash")))
    assert run.outcome.stdout == "yes\n"


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
async def test_a_hook_in_javascript(tmp_path):
    """A program that reads all of stdin and answers in JSON."""
    (tmp_path / "hook.js").write_text(
        "let text = ''; process.stdin.on('data', d => text += d).on('end', () => "
        "console.log(JSON.stringify({decision: 'block', reason: JSON.parse(text).tool_name})))"
    )
    run = await one(runtime(tmp_path, shell("node hook.js")), payload={"tool_name": "Bash"})
    assert (run.outcome.decision, run.outcome.reason) == ("deny", "Bash")


# -- endings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "decision", "reason"),
    [
        ("true", "none", None),
        ("echo no >&2; exit 2", "deny", "no"),
        ("exit 2", "deny", "blocked by hook"),
        ("echo oops >&2; exit 3", "none", None),
    ],
)
async def test_exit_codes(tmp_path, command, decision, reason):
    """Cases 66 to 68, with processes."""
    run = await one(runtime(tmp_path, shell(command)))
    assert (run.outcome.decision, run.outcome.reason) == (decision, reason)


async def test_time_is_up(tmp_path):
    """Case 91: the dispatch is back before the hook would have been, says why, and decides nothing."""
    run = await one(runtime(tmp_path, shell("echo partial; echo $$ > pid; exec sleep 60", timeout=0.3)))
    assert not alive(pid_in(tmp_path / "pid"))
    assert (run.outcome.decision, run.error) == ("none", "timed out after 0.3s")
    assert run.outcome.contexts == ()
    assert run.outcome.stdout == "partial\n"


async def test_time_is_up_and_failures_block(tmp_path):
    """Case 92: a deny that says so, where a deny counts."""
    made = runtime(tmp_path, shell("sleep 60", timeout=0.2, onError="block"))
    dispatch = await made.dispatch("PreToolUse")
    assert dispatch.outcome.decision == "deny"
    assert str(dispatch.outcome.reason).startswith("hook failed: timed out")


async def test_time_is_up_where_nothing_can_be_blocked(tmp_path):
    """Case 92: downgraded, and the deny is still told."""
    made = runtime(tmp_path, shell("sleep 60", timeout=0.2, onError="block"), event="PostToolUse")
    outcome = (await made.dispatch("tool:after")).outcome
    assert (outcome.decision, outcome.downgraded, outcome.raw_decision) == ("none", True, "deny")


async def test_a_background_child_is_not_waited_for(tmp_path):
    """Case 93: the exit code counts at once, and the child is left alone."""
    made = runtime(tmp_path, shell("sleep 30 & echo $! > child; exit 2", timeout=20))
    run = await one(made)
    child = pid_in(tmp_path / "child")
    try:
        assert run.outcome.decision == "deny"
        assert run.outcome.pipe_held
        assert alive(child)
    finally:
        os.kill(child, 9)


@pytest.mark.parametrize("start", ["sleep 60", "setsid sleep 60", "nohup setsid sleep 60 </dev/null"])
async def test_grandchildren_end_with_the_time(tmp_path, start):
    """Also those that left the session."""
    made = runtime(tmp_path, shell(f"{start} >/dev/null 2>&1 & echo $! > child; sleep 60", timeout=0.4))
    await one(made)
    child = pid_in(tmp_path / "child")
    assert child
    await until(lambda: not alive(child), 2)


async def test_a_process_that_ignores_the_polite_signal(tmp_path):
    """It is ended all the same."""
    source = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    )
    run = await one(runtime(tmp_path, python(tmp_path, source, timeout=1.5)))
    assert (run.outcome.failure, run.outcome.stdout) == ("timeout", "up\n")


async def test_killed_by_a_signal(tmp_path):
    """Case 95: there is no exit code, the error names the signal, and `onError` applies."""
    source = "import os; os.kill(os.getpid(), 9)"
    exec_form = {"type": "command", "command": sys.executable, "args": ["-c", source]}
    run = await one(runtime(tmp_path, exec_form | {"onError": "block"}))
    assert run.outcome.exit_code is None
    assert "SIGKILL" in str(run.error)
    assert run.outcome.decision == "deny"


async def test_a_host_that_is_not_told_how_it_ended(tmp_path):
    """It ignores SIGCHLD: no deny is lost, though nobody knows whether it was one."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        run = await one(runtime(tmp_path, shell("echo no >&2; exit 2")))
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert (run.outcome.decision, run.outcome.stderr) == ("deny", "no\n")
    assert "SIGCHLD" in str(run.outcome.reason)


async def test_stdin_is_not_read(tmp_path):
    """Case 96: the exit code decides, nothing else."""
    run = await one(runtime(tmp_path, shell("exit 2")), payload={"own": "x" * (1 << 20)})
    assert (run.outcome.decision, run.error) == ("deny", None)


async def test_stdin_is_closed_and_the_hook_goes_on(tmp_path):
    """The same, some time later."""
    run = await one(runtime(tmp_path, shell("exec 0<&-; sleep 0.1; exit 2")), payload={"own": "x" * (1 << 20)})
    assert (run.outcome.decision, run.error) == ("deny", None)


async def test_a_flood(tmp_path):
    """Case 97: 200 MiB are read, one is kept, and memory stays where it was."""
    source = "import os\npiece = b'x' * (1 << 20)\nfor _ in range(200): os.write(1, piece)"
    tracemalloc.start()  # and not the process's peak: what ran before may have been higher
    try:
        run = await one(runtime(tmp_path, python(tmp_path, source)))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 50 << 20
    assert run.outcome.stdout_truncated
    assert len(run.outcome.stdout) == 1 << 20


async def test_a_character_in_two_pieces(tmp_path):
    """Spec A.6.5: what comes in pieces is put together before it is read as text."""
    source = (
        'import os, time\nfor piece in (b\'{"decision":"block","reason":"\\xe8\', b\'\\xaf\\xbb"}\'):\n'
        "    os.write(1, piece); time.sleep(0.1)"
    )
    run = await one(runtime(tmp_path, python(tmp_path, source)))
    assert (run.outcome.decision, run.outcome.reason) == ("deny", "读")


async def test_a_flood_on_stderr(tmp_path):
    """Less of it is kept."""
    source = "import os, sys\nos.write(2, b'e' * (1 << 20))\nsys.exit(2)"
    run = await one(runtime(tmp_path, python(tmp_path, source)))
    assert run.outcome.stderr_truncated
    assert len(run.outcome.stderr) == 1 << 16
    assert run.outcome.decision == "deny"


async def test_the_program_is_missing(tmp_path, caplog):
    """Case 98: the shell's 127 blocks nothing and is told."""
    run = await one(runtime(tmp_path, shell("no-such-program-anywhere")))
    assert (run.outcome.exit_code, run.outcome.decision, run.error) == (127, "none", None)
    assert [("was not found" in record.message, record.levelname) for record in caplog.records] == [(True, "WARNING")]


async def test_the_program_of_the_exec_form_is_missing(tmp_path):
    """Without a shell it is a failure."""
    hook = {"type": "command", "command": "no-such-program-anywhere", "args": []}
    run = await one(runtime(tmp_path, hook))
    assert run.outcome.failure == "spawn-failed"
    assert "no-such-program-anywhere" in str(run.error)


async def test_the_folder_is_missing(tmp_path):
    """Case 98: a failure that names it; nothing runs somewhere else."""
    run = await one(runtime(tmp_path, shell("touch ran", cwd="nowhere")))
    assert run.outcome.failure == "spawn-failed"
    assert str(tmp_path / "nowhere") in str(run.error)
    assert not (tmp_path / "ran").exists()


# -- the host's cancellation ---------------------------------------------------------------------------------------

SLEEPER = "sleep 60 & echo $! > child; echo $$ > parent; wait"


async def test_the_caller_is_cancelled(tmp_path):
    """Case 99: its processes are gone, the cancellation goes on, history says so."""
    made = runtime(tmp_path, shell(SLEEPER))
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(made.dispatch, "PreToolUse")
            await until(lambda: pid_in(tmp_path / "parent"))
            scope.cancel()
    assert scope.cancelled_caught
    assert not alive(pid_in(tmp_path / "parent"))
    assert not alive(pid_in(tmp_path / "child"))
    assert [record["outcome"] for record in made.history.recent] == ["aborted"]


async def test_the_signal_aborts(tmp_path):
    """Case 99, by signal: the dispatch returns, nothing is decided, even where failures block."""
    made, source = runtime(tmp_path, shell(SLEEPER, onError="block")), CancelSource()
    dispatches = []

    async def dispatch():
        dispatches.append(await made.dispatch("PreToolUse", signal=source.signal))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(dispatch)
        await until(lambda: pid_in(tmp_path / "parent"))
        source.abort()
    assert not alive(pid_in(tmp_path / "child"))
    (run,) = dispatches[0].runs
    assert (run.error, dispatches[0].outcome.decision) == ("hook aborted by the host", "none")


async def test_a_signal_that_has_aborted_starts_nothing(tmp_path):
    """Spec A.6.3: not even to end it again."""
    source = CancelSource()
    source.abort()
    run = await one(runtime(tmp_path, shell("touch ran")), signal=source.signal)
    assert run.outcome.failure == "aborted"
    assert not (tmp_path / "ran").exists()
