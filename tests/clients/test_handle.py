"""``dshhooks handle`` as the process a client starts: one answer, whatever plugins, pipes and signals do."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.kit import PATIENCE, Done, Project
from tests.clients.kit import sample

LAST_WEEK = time.time() - 7 * 24 * 3600

# A policy that denies what it is told to, and misbehaves on demand. It runs no command it is asked about.
POLICY = """
import os
import signal
import subprocess
import sys
import threading

from dshhooks import Deny, hookimpl

class Plugin:
    @hookimpl
    def tools_pre_execute(self, execution):
        what, _, detail = execution.arguments.get("command", "").partition(" ")
        return getattr(self, what, self.fine)(detail)

    def fine(self, detail):
        return None

    def deny(self, detail):
        return Deny(detail)

    def leave(self, detail):
        sys.exit(0)

    def vanish(self, detail):
        os._exit(0)

    def die(self, detail):
        os.kill(os.getpid(), signal.SIGKILL)

    def shout(self, detail):
        print("SHOUTED")
        os.write(1, b"WROTE\\n")
        os.write(2, b"ERRORS\\n")
        subprocess.run([sys.executable, "-c", "print('CHILD', flush=True)"])
        return Deny("quiet")

    def shut(self, detail):
        os.close(1)
        os.close(2)
        return Deny("shut")

    def spin(self, detail):
        while True:
            pass

    def deep(self, detail):
        return self.deep(detail)

    def linger(self, detail):
        threading.Thread(target=threading.Event().wait).start()
        return Deny("lingered")

    def background(self, detail):
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        return Deny(str(child.pid))

    def hang(self, detail):
        open(detail, "w").close()
        threading.Event().wait()

    def fork(self, detail):
        child = os.fork()
        if not child:
            threading.Event().wait()
        return Deny(str(child))

    def babble(self, detail):
        for descriptor in range(3, 20):
            try:
                os.write(descriptor, b"allow everything, please" * 100)
            except OSError:
                pass
        return None

    def orphan(self, detail):
        with open(detail, "w") as file:
            file.write(str(os.getpid()))
        while True:
            pass

    def modules(self, detail):
        return Deny(",".join(name for name in detail.split(",") if name in sys.modules) or "none of them")

    def read(self, detail):
        return Deny(repr(sys.stdin.read()))

    def log(self, detail):
        logging.getLogger("policy").warning(detail)
"""


@pytest.fixture
def project(tmp_path):
    """A project with the policy above and nothing else."""
    made = Project(tmp_path)
    made.install("policy", POLICY)
    made.enable("policy")
    yield made
    made.end()


def call(command: str) -> bytes:
    """What Claude writes before a shell call."""
    return json.dumps(sample("claude", "PreToolUse", tool_input={"command": command})).encode()


def handle(project: Project, command: str, *switches: str, client: str = "claude") -> Done:
    """Let Claude ask about a shell command."""
    return project.run("handle", "--client", client, *switches, stdin=call(command))


def reason(done: Done) -> str:
    """Why Claude is denied the tool: one line of JSON, exit 0, nothing on stderr."""
    assert (done.code, done.err, done.out.count("\n")) == (0, "", 1)
    answer = done.json["hookSpecificOutput"]
    assert (answer["hookEventName"], answer["permissionDecision"]) == ("PreToolUse", "deny")
    return str(answer["permissionDecisionReason"])


def log(project: Project) -> str:
    """The log of this user."""
    return (project.folder / ".local/state/dshhooks/handle.log").read_text(encoding="utf-8")


def installed_long_ago(project: Project) -> None:
    """Leave the files as an installer of last week would: old, with the folder for compiled modules beside them.

    What is written while plugins load is in no list, and that folder would be.
    """
    (project.site.folder / "__pycache__").mkdir()
    for path in (*project.site.folder.rglob("*"), project.site.folder, *project.folder.glob("*.toml")):
        os.utime(path, (LAST_WEEK, LAST_WEEK))


def test_a_denial_and_no_opinion(project):
    """The reason in Claude's form, and silence."""
    assert reason(handle(project, "deny not now")) == "not now"
    assert handle(project, "fine") == Done(0, "", "")


def test_the_second_event_goes_by_the_cached_list(project):
    """The same answers, and nothing is imported that this event does not need."""
    installed_long_ago(project)
    handle(project, "fine")
    heavy = "anyio,asyncio,cattrs,click,httpx,jsonschema_rs,importlib.metadata,dshhooks.harness,logging,"
    heavy += "hookspecs.agent,hookspecs.values,dshhooks.bridge,dshhooks.clients.judge_results,dshhooks.engine.trace"
    assert reason(handle(project, f"modules {heavy}")) == "none of them"
    assert handle(project, "fine") == Done(0, "", "")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("leave", "SystemExit"),
        ("vanish", "(exit code 0)"),
        ("die", "(killed by SIGKILL)"),
        ("deep", "RecursionError"),
    ],
)
def test_a_plugin_that_ends_the_process_denies(project, command, said):
    """Whoever answers is another process than the one plugins run in."""
    assert said in reason(handle(project, command))


def test_what_plugins_print_is_in_the_log(project):
    """print, writes to the descriptors, a child's output: none of it reaches the client."""
    assert reason(handle(project, "shout")) == "quiet"
    for word in ("SHOUTED", "WROTE", "ERRORS", "CHILD"):
        assert word in log(project)


def test_a_plugin_may_close_its_output(project):
    """It is not the client's."""
    assert reason(handle(project, "shut")) == "shut"


def test_plugins_do_not_get_the_clients_stdin(project):
    """It was read by then; a plugin that reads finds the end of the file."""
    assert reason(handle(project, "read")) == "''"


def test_a_thread_that_never_ends_holds_nobody_up(project):
    """The answer is out, so the process ends."""
    assert reason(handle(project, "linger")) == "lingered"


def test_a_child_that_stays_holds_nobody_up(project):
    """Clients wait until everybody has closed the pipe; a plugin's child never had it."""
    pid = int(reason(handle(project, "background")))
    os.kill(pid, signal.SIGKILL)  # it was still there


def test_what_a_plugin_forked_holds_nobody_up(project):
    """It has the child's descriptors, and nobody waits for those."""
    pid = int(reason(handle(project, "fork")))
    os.kill(pid, signal.SIGKILL)  # it was still there


def test_nonsense_between_the_processes_is_no_answer(project):
    """Whatever a plugin writes into descriptors it does not own."""
    assert "ended before it had decided" in reason(handle(project, "babble"))


def test_a_plugin_does_not_outlive_its_budget_without_its_parent(project, tmp_path):
    """Gemini kills the shell and not what it started; the child ends by itself."""
    told = tmp_path / "pid"
    os.mkfifo(told)
    process = project.start(
        "handle",
        "--client",
        "claude",
        "--budget",
        "3",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdin.write(call(f"orphan {told}"))
    process.stdin.close()
    process.stdin = None
    child = os.pidfd_open(int(told.read_text(encoding="utf-8")))
    process.kill()
    process.communicate()
    assert select.select([child], [], [], PATIENCE)[0]
    os.close(child)


def test_a_plugin_that_never_returns_is_denied_when_the_budget_is_spent(project):
    """Well before the client would give up and run the tool."""
    assert "no answer in time" in reason(handle(project, "spin", "--budget", "1"))


def test_stdin_that_is_never_closed_is_denied_when_the_budget_is_spent(project):
    """It cannot be read as an event, so the answer is the portable one."""
    process = project.start(
        "handle", "--client", "claude", "--budget", "0.5",
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    process.stdin.write(b'{"hook_event_name"')
    process.stdin.flush()
    process.wait(PATIENCE)
    _, err = process.communicate()
    assert process.returncode == 2
    assert b"not closed in time" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_policy_is_asked_denies(project, tmp_path, number):
    """A client that gives up early, or Ctrl-C, does not run the tool."""
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    process = project.start(
        "handle", "--client", "claude", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdin.write(call(f"hang {begun}"))
    process.stdin.close()
    process.stdin = None
    begun.read_text(encoding="utf-8")  # until the plugin has opened it
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert "interrupted" in reason(Done(process.returncode, out.decode(), err.decode()))


@pytest.mark.parametrize("preparation", [
    "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
    "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
])  # fmt: skip
def test_signals_somebody_has_blocked_or_ignored_change_nothing(project, preparation):
    """What starts us leaves them so for us."""
    code = f"import os, signal, sys\n{preparation}\nos.execv(sys.argv[1], sys.argv[1:])"
    words = [sys.executable, "-P", "-m", "dshhooks", "handle", "--client", "claude"]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], cwd=project.folder, env=project.environment(), input=call("deny it"),
        capture_output=True, timeout=PATIENCE, check=False,
    )  # fmt: skip
    assert reason(Done(done.returncode, done.stdout.decode(), done.stderr.decode())) == "it"


# -- pipes -------------------------------------------------------------------------------------------------------------


def test_a_stdout_nobody_reads_is_denied_by_exit_code(project):
    """Exit 2 and the reason on stderr are honoured where no JSON can arrive."""
    reading, writing = os.pipe()
    os.close(reading)
    process = project.start(
        "handle", "--client", "claude", stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)
    _, err = process.communicate(call("deny it"), timeout=PATIENCE)
    assert process.returncode == 2
    assert b"could not write" in err


def shell(project: Project, redirection: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    """Run the hook command through a shell, as clients do."""
    words = [sys.executable, "-P", "-m", "dshhooks", "handle", "--client", "claude"]
    return subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {redirection}', *words],
        cwd=project.folder, env=project.environment(), input=stdin, capture_output=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def test_a_closed_stdout_is_denied_by_exit_code(project):
    """A descriptor that was closed from the start is not taken for a pipe of ours."""
    done = shell(project, ">&-", call("deny it"))
    assert done.returncode == 2
    assert b"could not write" in done.stderr


def test_a_closed_stdin_is_denied(project):
    """Nothing was asked, and something may have been."""
    done = shell(project, "<&-", b"")
    assert done.returncode == 2
    assert b"stdin was empty" in done.stderr


def test_a_closed_stderr_changes_nothing(project):
    """Claude reads stdout."""
    assert b'"deny"' in shell(project, "2>&-", call("deny it")).stdout


def test_a_dirty_stdout_is_denied_by_exit_code(project, tmp_path):
    """With a line before it no client reads the JSON, so exit 2 and stderr say it."""
    out = tmp_path / "out"
    out.write_bytes(b"")
    done = shell(project, f">>{out}", call("deny it"))
    assert (done.returncode, out.read_bytes().count(b"deny")) == (0, 1)
    with out.open("wb", buffering=0) as stdout:
        stdout.write(b"noise\n")
        process = project.start(
            "handle", "--client", "claude", stdin=subprocess.PIPE, stdout=stdout, stderr=subprocess.PIPE
        )
        _, err = process.communicate(call("deny it"), timeout=PATIENCE)
    assert process.returncode == 2
    assert err.startswith(b"it (something else")
    assert out.read_bytes() == b"noise\n"


def test_a_dirty_pipe_is_denied_by_exit_code(project):
    """As long as the reader has not taken what was there, it is seen."""
    reading, writing = os.pipe()
    os.write(writing, b"noise\n")
    process = project.start(
        "handle", "--client", "claude", stdin=subprocess.PIPE, stdout=writing, stderr=subprocess.PIPE
    )
    os.close(writing)
    _, err = process.communicate(call("deny it"), timeout=PATIENCE)
    os.close(reading)
    assert process.returncode == 2
    assert b"something else" in err


def test_fifty_megabytes_are_judged(project):
    """A tool may write a large file."""
    event = sample("claude", "PreToolUse", tool_input={"command": "deny big", "content": "x" * 50_000_000})
    assert reason(project.run("handle", "--client", "claude", stdin=json.dumps(event).encode())) == "big"


# -- configuration -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("[plugins\n", "not valid TOML"),
        ("[plugins]\nenabel = []\n", "enabel"),
        ('[plugins]\nenable = ["policy", "absent"]\n', "absent"),
        ('[plugins]\nenable = ["policy"]\nrequired = ["policy>=99"]\n', "policy>=99"),
        ('[plugins]\nenable = ["policy"]\n[plugin.policy]\nx = 1\n', "no options"),
    ],
)
def test_a_broken_configuration_denies(project, config, said):
    """Policy that cannot be read is not policy that allows; a good one before does not help."""
    assert handle(project, "fine") == Done(0, "", "")
    project.configure(config)
    assert said in reason(handle(project, "fine"))


def test_a_plugin_that_cannot_be_loaded_denies(project):
    """Any enabled one, whether it has to do with this event or not, and also when the list was cached before."""
    module = project.install("other", "from dshhooks import hookimpl\nclass Plugin:\n    @hookimpl\n"
                             "    def agent_disposed(self, agent):\n        return None\n")  # fmt: skip
    project.enable("policy", "other")
    assert handle(project, "fine") == Done(0, "", "")
    file = Path(project.site.folder) / f"{module}.py"
    good = file.read_text(encoding="utf-8")
    file.write_text("raise RuntimeError('gone')\n", encoding="utf-8")
    assert "gone" in reason(handle(project, "fine"))
    file.write_text(good, encoding="utf-8")
    assert handle(project, "fine") == Done(0, "", "")


# A plugin with a policy where a variable wants it.
MOODY = """
import os
from dshhooks import Deny, hookimpl

class Plugin:
    @hookimpl
    def agent_disposed(self, agent):
        return None

    if "STRICT" in os.environ:
        @hookimpl
        def tools_pre_execute(self, execution):
            return Deny("strict")
"""


def test_a_plugin_may_have_its_hooks_by_a_variable(project):
    """The list of who has which hook is one for each environment."""
    project.install("moody", MOODY)
    project.enable("moody")
    for _ in range(2):
        assert handle(project, "fine") == Done(0, "", "")
        strict = project.run("handle", "--client", "claude", stdin=call("fine"), env={"STRICT": "1"})
        assert reason(strict) == "strict"


# What a checkout may bring, and what variables a client may take from one.
CHECKOUT = ["[plugins]\nenable = []\n", '[plugins]\ndisable = ["policy"]\n', '[plugins]\nshadow = ["policy"]\n']
VARIABLES = [
    {"DSHHOOKS_DISABLE": "policy"}, {"DSHHOOKS_NO_PLUGINS": "1"}, {"DSHHOOKS_PLUGINS": "other"},
    {"DSHHOOKS_CONFIG": "dshhooks.toml"},
]  # fmt: skip


@pytest.mark.parametrize("variables", [{}, *VARIABLES], ids=str)
@pytest.mark.parametrize("brought", CHECKOUT)
def test_a_pinned_configuration_with_required_plugins_holds_in_any_checkout(project, tmp_path, brought, variables):
    """No file of the project counts beside it, and leaving out what is required denies every call."""
    pinned = tmp_path / "guard.toml"
    pinned.write_text('[plugins]\nenable = ["policy"]\nrequired = ["policy"]\n', encoding="utf-8")
    project.configure(brought)
    (project.folder / "pyproject.toml").write_text(f"[tool.dshhooks.{brought[1:]}", encoding="utf-8")
    stdin = call("deny it")
    done = project.run("handle", "--client", "claude", "--config", str(pinned), stdin=stdin, env=variables)
    assert "it" in reason(done).split() or "policy" in reason(done) or "other" in reason(done)


def test_observing_events_are_silent_whatever_is_broken(project):
    """Exit 0, nothing written, a line in the log."""
    project.configure("[plugins\n")
    event = json.dumps(sample("claude", "SessionStart")).encode()
    assert project.run("handle", "--client", "claude", stdin=event) == Done(0, "", "")
    assert "not valid TOML" in log(project)


def test_what_a_policy_logs_is_in_the_log(project):
    """With its time, and from the cached list as well; also what the policy says while it is made."""
    made = '\n    def __init__(self):\n        logging.getLogger("dshhooks.x").info("made")\n'
    project.install("talker", "import logging\n" + POLICY + made)
    project.enable("talker")
    for _ in range(2):
        assert handle(project, "log careful") == Done(0, "", "")
    said = [line.rpartition(" dshhooks: ") for line in log(project).splitlines()]
    assert [text for time, _, text in said if time.startswith("20")] == ["made", "careful"] * 2


def test_what_a_shadowed_policy_would_have_done_is_in_the_log(project):
    """It is asked and not obeyed; the line has its time."""
    project.configure('[plugins]\nenable = ["policy"]\nshadow = ["policy"]\n')
    for _ in range(2):
        assert handle(project, "deny it") == Done(0, "", "")
    lines = [line for line in log(project).splitlines() if "shadowed plugin 'policy'" in line]
    assert len(lines) == 2
    assert all(line.startswith("20") for line in lines)


def test_the_environment_and_the_payload_are_not_logged(project):
    """Clients pass model keys on to hooks."""
    project.configure("[plugins\n")
    project.run(
        "handle", "--client", "claude", stdin=call("deny PAYLOADWORD"), env={"ANTHROPIC_API_KEY": "sk-secret-word"}
    )
    assert "sk-secret-word" not in log(project)
    assert "PAYLOADWORD" not in log(project)
    assert (project.folder / ".local/state/dshhooks/handle.log").stat().st_mode & 0o777 == 0o600


# -- the command line --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        ["--cliend", "claude"],
        ["--client"],
        ["--budget", "soon"],
        ["--on-error", "maybe"],
        ["--budget", "nan"],
        ["more"],
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_denies(project, words):
    """Whatever else it says, and with the reason."""
    done = project.run("handle", "--client", "claude", *words, stdin=call("fine"))
    assert reason(done)
    assert reason(done) in log(project)


def test_switches_count_before_the_verb_too(project):
    """As for every command that runs hooks."""
    assert project.run("--no-plugins", "handle", "--client", "claude", stdin=call("deny it")) == Done(0, "", "")
    assert project.run("--disable", "policy", "handle", "--client=claude", stdin=call("deny it")) == Done(0, "", "")


def test_on_error_allow(project):
    """The opposite, for failures only."""
    assert handle(project, "leave", "--on-error", "allow") == Done(0, "", "")
    assert reason(handle(project, "deny it", "--on-error", "allow")) == "it"


def test_a_plugin_that_waits_gets_an_event_loop(project):
    """An `async def` policy in one process."""
    project.install("waiting", "import anyio\nfrom dshhooks import Deny, hookimpl\nclass Plugin:\n    @hookimpl\n"
                    "    async def tools_pre_execute(self, execution):\n        await anyio.sleep(0)\n"
                    "        return Deny('waited')\n")  # fmt: skip
    project.enable("waiting")
    assert [reason(handle(project, "fine")) for _ in range(2)] == ["waited", "waited"]


def test_help_says_what_it_is_for(project):
    """The one thing about it that needs the other verbs' command line."""
    done = project.run("handle", "--help")
    assert done.code == 0
    assert "--client" in done.out


def test_an_installation_that_is_broken_denies(project):
    """Not even our own modules can be imported: the portable denial, from the first file there is."""
    module: Any = "import sys\nsys.modules['dshhooks.clients.courier'] = None\n"
    (Path(project.site.folder) / "sitecustomize.py").write_text(module, encoding="utf-8")
    done = handle(project, "fine")
    assert done.code == 2
    assert done.err.strip()
    assert done.json["decision"] == "block"


def test_what_evaluates_cannot_be_imported(project):
    """The half of the installation that the fork needs: a denial in the client's form that says so."""
    module = "import sys\nsys.modules['dshhooks.clients.worker'] = None\n"
    (Path(project.site.folder) / "sitecustomize.py").write_text(module, encoding="utf-8")
    assert "not installed properly" in reason(handle(project, "fine"))
