"""The daemon of a configuration: one, shared by everybody who asks the same, and right about all of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.clients.serve_kit import Done, User, ended, payload, until, user


@pytest.fixture
def someone(tmp_path: Path) -> Iterator[User]:
    """A user with a project; daemons are started as they are needed."""
    yield from user(tmp_path)


@pytest.fixture
def served(someone: User) -> User:
    """The same, with the daemon of the project running."""
    someone.serve()
    return someone


def pid_that_answers(someone: User, **env: str) -> int:
    """Return the process in which the policy runs."""
    return int(someone.call("who HOME", **env).reason.split()[1])


def answered(someone: User) -> int:
    """Return how many calls the daemons say they have answered."""
    return sum(each.facts["answered"] for each in someone.daemons() if each.facts is not None)


def test_the_first_call_starts_one(someone: User) -> None:
    """The first is answered in a process of its own; what it leaves behind answers the next."""
    assert someone.call("forbidden a").reason == "no: a"
    until(someone.daemons)
    until(lambda: pid_that_answers(someone) in [each.pid for each in someone.daemons()])


def test_nobody_waits_for_a_daemon_that_was_started(someone: User) -> None:
    """It has streams of its own: a client that reads to the end of the pipe gets there."""
    out, err = someone.begin().communicate(payload("forbidden a"), timeout=60)
    until(someone.daemons)
    assert (out.count(b"\n"), err) == (1, b"")


def ask_two_hundred(someone: User) -> None:
    """Let 200 processes ask at once, each its own question, and compare every answer."""

    def ask(number: int) -> str:
        return someone.call(f"{'forbidden' if number % 2 else 'fine'} {number}").reason

    with ThreadPoolExecutor(200) as pool:
        reasons = list(pool.map(ask, range(200)))
    assert reasons == [f"no: {number}" if number % 2 else "" for number in range(200)]


def test_two_hundred_at_once(served: User) -> None:
    """Every one of 200 processes gets the answer to its own question, most of them from the one daemon there is."""
    ask_two_hundred(served)
    assert len(served.daemons()) == 1
    assert answered(served) > 100


def test_two_hundred_at_once_with_none_running(someone: User) -> None:
    """A few evaluate, the others wait for the daemon that is started: 200 interpreters would not be done in time."""
    ask_two_hundred(someone)
    assert len(someone.daemons()) == 1


def test_two_hundred_and_a_kill(served: User) -> None:
    """The daemon is killed under half of them."""
    (daemon,) = served.daemons()

    def kill() -> None:
        until(lambda: answered(served) > 50)
        os.kill(daemon.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    ask_two_hundred(served)
    killer.join()
    assert daemon.pid not in [each.pid for each in served.daemons()]


def test_a_killed_daemon_takes_no_answer_with_it(served: User) -> None:
    """SIGKILL while it has 12 calls inside: each is answered by a process of its own."""
    (daemon,) = served.daemons()
    names = [str(number) for number in range(12)]
    processes = [served.asking(f"wait {name}") for name in names]
    served.begun(*names)
    os.kill(daemon.pid, signal.SIGKILL)
    served.go(*names)
    reasons = [ended(process).reason for process in processes]
    assert reasons == [f"waited: {name}" for name in names]


def test_a_stopped_daemon_costs_one_wait(served: User) -> None:
    """SIGSTOP: the call falls back, and the next one finds another daemon instead of the one that hangs."""
    (hanging,) = served.daemons()
    os.kill(hanging.pid, signal.SIGSTOP)
    assert served.call("forbidden a").reason == "no: a"
    until(served.daemons)
    assert [each.pid for each in served.daemons()] != [hanging.pid]
    assert served.call("forbidden b").reason == "no: b"
    os.kill(hanging.pid, signal.SIGCONT)


def test_a_changed_policy_counts_at_once(served: User) -> None:
    """The file of a plugin is replaced: the very next call is judged by the new one."""
    assert served.call("forbidden a").reason == "no: a"
    served.policy.write_text(served.policy.read_text().replace('WORD = "no"', 'WORD = "never"'), encoding="utf-8")
    assert served.call("forbidden a").reason == "never: a"


def test_a_changed_configuration_counts_at_once(served: User) -> None:
    """The same for the configuration, in both directions."""
    served.configure("[plugins]\nenable = []\n")
    assert served.call("forbidden a").reason == ""
    served.configure('[plugins]\nenable = ["probe"]\n')
    assert served.call("forbidden a").reason == "no: a"
    served.configure("[plugins\n")
    assert "dshhooks.toml" in served.call("fine").reason


def test_an_appearing_configuration_counts_at_once(served: User) -> None:
    """That a file was not there is remembered as well: one nearer to the folder takes over."""
    (served.project / "dshhooks.toml").unlink()
    (served.project.parent / "dshhooks.toml").write_text("[plugins]\nenable = []\n", encoding="utf-8")
    assert served.call("forbidden a").reason == ""


def test_an_environment_of_its_own(served: User) -> None:
    """Another value of a variable is another daemon: no plugin sees somebody else's."""
    first = pid_that_answers(served)
    assert served.call("who MODE", MODE="strict").reason.endswith("seen strict")
    until(lambda: len(served.daemons()) == 2)
    assert served.call("who MODE", MODE="strict").reason.endswith("seen strict")
    assert served.call("who MODE").reason.endswith("seen None")
    assert pid_that_answers(served) == first


def test_an_agents_variables_do_not_stay(someone: User) -> None:
    """They are those of one call: neither another daemon, nor left over for the next call's plugins."""
    someone.call("fine", CLAUDE_CODE_SESSION_ID="one")
    until(someone.daemons)
    until(lambda: pid_that_answers(someone, CLAUDE_CODE_SESSION_ID="two") == someone.daemons()[0].pid)
    assert someone.call("who CLAUDE_CODE_SESSION_ID", CLAUDE_CODE_SESSION_ID="two").reason.endswith("seen None")
    assert len(someone.daemons()) == 1


def test_it_works_in_the_folder_of_the_call(served: User) -> None:
    """What a plugin finds relative to the working directory is what it finds without a daemon."""
    assert f"cwd {served.project} " in served.call("who HOME").reason


def test_what_plugins_print_goes_to_the_log(served: User) -> None:
    """Nothing of it reaches a client, and nothing the terminal of `dshhooks serve`."""
    assert served.call("print") == Done(b"", b"", 0)
    assert [word in served.log() for word in ("PLUGIN PRINTED", "PLUGIN WROTE", "PLUGIN SHELL")] == [True] * 3


def test_one_that_waits_holds_nobody_up(served: User) -> None:
    """A hook that awaits something leaves the loop to others."""
    process = served.asking("wait a")
    served.begun("a")
    assert served.call("forbidden b").reason == "no: b"
    served.go("a")
    assert ended(process).reason == "waited: a"


@pytest.mark.parametrize("how", ["spin", "seize"])
def test_one_that_hangs_holds_nobody_up(served: User, how: str) -> None:
    """In Python or with the interpreter held: it is denied, the others are answered, another daemon takes over."""
    (first,) = served.daemons()
    process = served.asking(how, "--budget", "4")
    assert served.call("forbidden b").reason == "no: b"
    assert "dshhooks" in ended(process).reason
    until(lambda: first.pid not in [each.pid for each in served.daemons()])
    assert served.call("forbidden c").reason == "no: c"


def test_one_that_exits_the_daemon_is_denied(served: User) -> None:
    """Tried again in a process of its own, where it exits again: that is a denial."""
    assert "ended before it had decided" in served.call("exit 0").reason
    assert served.call("forbidden b").reason == "no: b"


def test_one_that_interrupts_is_denied(served: User) -> None:
    """KeyboardInterrupt out of a hook, where no signal came: it does not take the daemon along."""
    (first,) = served.daemons()
    assert "KeyboardInterrupt" in served.call("interrupt").reason
    assert pid_that_answers(served) == first.pid


def test_a_budget_holds(served: User) -> None:
    """A hook that waits for ever is cancelled; the daemon goes on."""
    (first,) = served.daemons()
    assert "in time" in served.call("wait for-ever", "--budget", "1").reason
    assert pid_that_answers(served) == first.pid


@pytest.mark.parametrize("how", ["leave", "forget", "corrupt"])
def test_what_a_plugin_does_to_the_process_is_not_done_to_the_next_call(served: User, how: str) -> None:
    """Another directory, another environment, no `json` any more: another daemon takes over from this one."""
    before = served.call("who HOME").reason
    served.call(how)
    assert served.call("who HOME").reason.split()[2:] == before.split()[2:]
    until(lambda: served.call("who HOME").reason.split()[1] in [str(each.pid) for each in served.daemons()])
    assert served.call("who HOME").reason.split()[1] != before.split()[1]


def test_nothing_in_the_working_directory_takes_the_place_of_anything(someone: User) -> None:
    """A daemon is no easier to subvert than a process of its own."""
    for name in ("json", "dshhooks", "asyncio", "sitecustomize"):
        (someone.project / f"{name}.py").write_text("raise SystemExit(0)\n", encoding="utf-8")
    someone.env["PYTHONPATH"] = f".:{someone.env['PYTHONPATH']}"
    assert someone.call("forbidden a").reason == "no: a"
    until(someone.daemons)
    until(lambda: pid_that_answers(someone) in [each.pid for each in someone.daemons()])


def test_fifty_megabytes(served: User) -> None:
    """A large event goes through the socket whole."""
    assert served.call(f"forbidden {'x' * (50 << 20)}").reason.startswith("no: xxx")
    assert answered(served) == 1


def test_nobody_serves_a_broken_configuration(someone: User) -> None:
    """Whoever started one is told why not, every call is denied with that reason, and a repair counts at once."""
    someone.configure("[plugins\n")
    command = [sys.executable, "-P", "-m", "dshhooks.cli", "serve"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=someone.project, env=someone.env, check=False)
    assert (done.returncode, "dshhooks.toml" in done.stderr, done.stdout) == (1, True, "")
    assert "dshhooks.toml" in someone.call("fine").reason
    until(lambda: "dshhooks.toml" in someone.log())
    assert "dshhooks.toml" in someone.call("fine").reason
    assert someone.daemons() == []
    someone.configure('[plugins]\nenable = ["probe"]\n')
    assert someone.call("fine").reason == ""


def test_a_new_version_takes_over(someone: User, tmp_path: Path) -> None:
    """The installation is replaced under a daemon: it sends its callers away and ends."""
    package = someone.reinstall(tmp_path / "installed")
    someone.env["PYTHONPATH"] += f":{package.parent}"
    process = someone.serve()
    (first,) = someone.daemons()
    assert pid_that_answers(someone) == first.pid
    with open(package / "__init__.py", "a", encoding="utf-8") as file:
        file.write('\n__version__ = "9.9.9"\n')
    assert pid_that_answers(someone) != first.pid
    assert ended(process).code == 0


def test_one_that_cannot_start_is_not_tried_each_time(someone: User, tmp_path: Path) -> None:
    """The first call tries; after that, for a while, only the process that answers is started."""
    count = tmp_path / "imports"
    someone.reinstall(tmp_path / "broken", f"open({str(count)!r}, 'a').write('x')\nraise ImportError('half')\n")
    assert "half" in someone.call("fine").reason
    until(lambda: count.read_text() == "xx")
    assert "half" in someone.call("fine").reason
    assert count.read_text() == "xxx"


def test_the_second_one_leaves(served: User) -> None:
    """A configuration has one daemon; who comes second says so and is done."""
    command = [sys.executable, "-P", "-m", "dshhooks.cli", "serve"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=served.project, env=served.env, check=False)
    assert (done.returncode, "runs already" in done.stdout) == (0, True)
    assert len(served.daemons()) == 1


def test_it_ends_when_nobody_asks(someone: User) -> None:
    """--idle: it goes, its socket with it."""
    process = someone.serve("--idle", "1")
    assert ended(process).code == 0
    assert os.listdir(someone.sockets) == []


def test_it_finishes_what_it_has_begun(served: User) -> None:
    """SIGTERM to the daemon: who is inside gets an answer from it, who comes after goes elsewhere."""
    (daemon,) = served.daemons()
    process = served.asking("wait a")
    served.begun("a")
    (served.files / "begun-a").unlink()
    os.kill(daemon.pid, signal.SIGTERM)
    until(lambda: not Path(served.socket_path()).exists())
    served.go("a")
    assert ended(process).reason == "waited: a"
    assert not (served.files / "begun-a").exists()  # nobody else has looked at it


def dshhooks_serve(someone: User, *arguments: str) -> str:
    """Run ``dshhooks serve`` to its end and return what it printed."""
    command = [sys.executable, "-P", "-m", "dshhooks.cli", "serve", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=someone.project, env=someone.env, check=True
    ).stdout


def test_status_and_stop(served: User) -> None:
    """Both speak of every daemon of this user, whatever folder it is for."""
    (daemon,) = served.daemons()
    assert dshhooks_serve(served, "--status").startswith(f"running: {daemon.pid}, 0 calls, {served.project}")
    (row,) = json.loads(dshhooks_serve(served, "--status", "--json"))
    assert (row["pid"], row["cwd"]) == (daemon.pid, str(served.project))
    assert dshhooks_serve(served, "--stop").startswith(f"stopped: {daemon.pid}")
    until(lambda: not served.daemons())
    assert dshhooks_serve(served, "--status").startswith("no daemon runs")
