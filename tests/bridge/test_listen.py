"""The stdio protocol: the real command at the end of real pipes, and a client in JavaScript."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from dshhooks.bridge.listen import Protocol, serve
from tests.bridge.kit import write
from tests.bridge.runtime_kit import alive, hooks_on, pid_in, runtime, shell, until

ROOT = Path(__file__).parents[2]


def arguments(folder, *hooks):
    """The command for these hooks, everything in ``folder``."""
    write(folder / "settings.json", hooks_on("PreToolUse", *hooks))
    return [sys.executable, "-m", "dshhooks.cli", "bridge", "listen", "--config", str(folder / "settings.json"),
            "--home", str(folder / "home"), "--cwd", str(folder)]  # fmt: skip


def talk(folder, *hooks, data):
    """Send all of it; return the exit code, the answers, and stderr."""
    done = subprocess.run(arguments(folder, *hooks), input=data, capture_output=True, timeout=60, check=False, cwd=ROOT)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


@contextmanager
def listening(folder, *hooks):
    """The command, waiting for requests."""
    with subprocess.Popen(
        arguments(folder, *hooks), stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ask(process, **request):
    """Send one request and return its answer."""
    process.stdin.write(json.dumps(request).encode() + b"\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


# -- lines ---------------------------------------------------------------------------------------------------------


def test_blank_garbage_ping(tmp_path):
    """Case 118: two answers, in order; the end of input is a good end."""
    code, answers, _ = talk(tmp_path, data=b'\n  \r\nnot json\n{"op":"ping"}\n')
    assert code == 0
    assert [answer["ok"] for answer in answers] == [False, True]
    assert answers[1]["pong"] is True


def test_the_last_line_needs_no_newline(tmp_path):
    """Nor does anybody need to say bye."""
    assert talk(tmp_path, data=b'{"op":"ping"}\r\n{"op":"ping","id":[1]}')[1] == [
        {"ok": True, "pong": True}, {"ok": True, "pong": True, "id": [1]}]  # fmt: skip


def test_requests_from_a_file(tmp_path):
    """Which cannot be waited for like a pipe."""
    file = write(tmp_path / "requests", '{"op":"ping"}\n{"op":"bye"}\n{"op":"ping"}\n')
    with file.open() as stdin, (tmp_path / "answers").open("wb") as stdout:
        done = subprocess.run(arguments(tmp_path), stdin=stdin, stdout=stdout, timeout=60, check=False, cwd=ROOT)
    assert done.returncode == 0
    assert len((tmp_path / "answers").read_text().splitlines()) == 2


def test_dispatch(tmp_path):
    """The answer is that of `bridge run`; what hooks print stays in it."""
    request = b'{"op":"dispatch","event":"PreToolUse","payload":{"tool_name":"Bash"},"id":"x"}\n'
    code, answers, _ = talk(tmp_path, shell("echo leaked; echo no >&2; exit 2"), data=request)
    (answer,) = answers
    assert code == 0
    assert (answer["ok"], answer["id"], answer["canonical"]) == (True, "x", "tool:before")
    assert answer["outcome"]["decision"] == "deny"
    assert set(answer["runs"][0]) == {"hook", "outcome", "durationMs"}


@pytest.mark.parametrize("number", ["NaN", "[1e999]"])
def test_an_id_that_no_answer_can_hold(tmp_path, number):
    """Python reads more than JSON can say; an answer is JSON all the same."""
    _, answers, _ = talk(tmp_path, data=b'{"op":"ping","id":%s}\n{"op":"ping"}\n' % number.encode())
    assert [answer["ok"] for answer in answers] == [False, True]
    assert "id" not in answers[0]


def test_an_id_of_any_depth(tmp_path):
    """How deep Python can read and write depends on its version: each request has an answer, with the id or none."""
    depths = [*range(900, 1010), *range(1000, 12_000, 500), 100_000]
    data = b"".join(b'{"op":"ping","id":%s%s}\n' % (b"[" * depth, b"]" * depth) for depth in depths)
    done = subprocess.run(arguments(tmp_path), input=data, capture_output=True, timeout=60, check=True, cwd=ROOT)
    answers = done.stdout.splitlines()
    assert len(answers) == len(depths)
    assert all((b'"id"' in answer) is answer.startswith(b'{"ok":true') for answer in answers)
    assert answers[0].startswith(b'{"ok":true')
    assert answers[-1].startswith(b'{"ok":false')


def test_a_hook_runs_and_nobody_reads(tmp_path):
    """A host that is gone has no use for its hooks: they are ended, and the process ends quietly."""
    with listening(tmp_path, shell("echo $$ > pid; exec sleep 60")) as process:
        assert ask(process, op="ping")["ok"] is True
        process.stdin.write(b'{"op":"dispatch","event":"PreToolUse"}\n')
        process.stdin.flush()
        while not pid_in(tmp_path / "pid"):
            assert process.poll() is None
        process.stdout.close()
        assert process.wait(20) == 0
        assert not alive(pid_in(tmp_path / "pid"))


@pytest.mark.anyio
async def test_nobody_reads_in_any_loop(tmp_path):
    """The same inside a host's own loop, whichever it is: the hook ends, and serving does."""
    (reads, feeds), (shows, writes) = os.pipe(), os.pipe()
    made = runtime(tmp_path, shell("echo $$ > pid; exec sleep 60"))
    with anyio.fail_after(20):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(serve, made, reads, writes)
            os.write(feeds, b'{"op":"dispatch","event":"PreToolUse"}\n')
            await until(lambda: pid_in(tmp_path / "pid"))
            os.close(shows)
    assert not alive(pid_in(tmp_path / "pid"))
    assert [record["outcome"] for record in made.history.recent] == ["aborted"]
    for end in (reads, feeds, writes):
        os.close(end)


def test_reload(tmp_path):
    """Case 120: a file that broke is diagnostics, and the next dispatch still answers, by the rules it had before."""
    with listening(tmp_path, shell("exit 2")) as process:
        assert ask(process, op="dispatch", event="PreToolUse")["outcome"]["decision"] == "deny"
        write(tmp_path / "settings.json", "{")
        answer = ask(process, op="reload")
        assert answer["ok"] is True
        assert [note["level"] for note in answer["diagnostics"]] == ["error"]
        assert ask(process, op="dispatch", event="PreToolUse")["outcome"]["decision"] == "deny"
        assert ask(process, op="bye") == {"ok": True}
        assert process.wait(20) == 0


@pytest.mark.anyio
@pytest.mark.parametrize("request_", [b'{"op":"ping","id":7}', b'{"op":"dispatch","event":"PreToolUse","id":7}'])
async def test_no_answer_without_rules(tmp_path, request_):
    """A file that was named and cannot be used: no request is told that nobody objects, until it is corrected."""
    protocol = Protocol(runtime(tmp_path, document="{"))
    answer = json.loads(await protocol.answer(request_))
    assert (answer["ok"], answer["id"], set(answer)) == (False, 7, {"ok", "error", "diagnostics", "id"})
    assert "settings.json could not be used" in answer["error"]
    assert [note["code"] for note in answer["diagnostics"]] == ["json-invalid"]
    write(tmp_path / "config" / "settings.json", {"hooks": {}})
    assert json.loads(await protocol.answer(b'{"op":"reload"}')) == {"ok": True, "diagnostics": []}
    assert json.loads(await protocol.answer(request_))["ok"] is True


@pytest.mark.anyio
@pytest.mark.parametrize("strict", [True, False])
async def test_strictly(tmp_path, strict):
    """A hook that was dropped guards nothing: strictly, an error in a file is as bad as no file."""
    made = runtime(tmp_path, shell("exit 2"), {"type": "command"})
    answer = json.loads(await Protocol(made, strict=strict).answer(b'{"op":"dispatch","event":"PreToolUse"}'))
    assert answer["ok"] is not strict
    assert ("has errors" in answer.get("error", "")) is strict


def test_the_flags_reach_it(tmp_path):
    """`--strict`, and a `--config` that is not there: an answer to each request, and a good end."""
    flags = arguments(tmp_path, {"type": "command"})
    for more in (["--strict"], ["--config", str(tmp_path / "missing.json")]):
        done = subprocess.run([*flags, *more], input=b'{"op":"ping"}\n', capture_output=True, cwd=ROOT, check=True)
        (answer,) = map(json.loads, done.stdout.splitlines())
        assert answer["ok"] is False
        assert [note["level"] for note in answer["diagnostics"]] == ["error"]


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_stream_is_closed(tmp_path, closed):
    """Something else has its number: nothing is read from there or written to it."""
    command = ["sh", "-c", f'exec "$@" {closed}', "sh", *arguments(tmp_path)]
    done = subprocess.run(command, input=b'{"op":"ping"}\n', capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 1
    assert b"needs stdin and stdout" in done.stderr


def test_nobody_reads_the_answers(tmp_path):
    """It ends quietly."""
    with listening(tmp_path) as process:
        process.stdout.close()
        process.stdin.write(b'{"op":"ping"}\n')
        process.stdin.close()
        assert process.wait(20) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals(tmp_path, number, code):
    """The running hook is ended before it leaves."""
    with listening(tmp_path, shell("echo $$ > pid; sleep 60")) as process:
        process.stdin.write(b'{"op":"dispatch","event":"PreToolUse"}\n')
        process.stdin.flush()
        while not pid_in(tmp_path / "pid"):
            assert process.poll() is None
        os.kill(process.pid, number)
        assert process.wait(20) == code
        assert not alive(pid_in(tmp_path / "pid"))


# -- one side is killed --------------------------------------------------------------------------------------------

# A hook with a child that would both go on for a minute; it says so when both are there.
LASTING = shell("sleep 60 & echo $! > child; echo $$ > pid; wait")
# A host in sh: it starts the command with two pipes, asks, and waits for the answer.
HOST = """
mkfifo in out
"$@" <in >out & echo $! >bridge
exec 3>in 4<out
echo '{"op":"dispatch","event":"PreToolUse"}' >&3
read -r answer <&4
"""


def in_sh(folder, *hooks):
    """Start that host."""
    command = ["sh", "-c", HOST, "sh", *arguments(folder, *hooks)]
    return subprocess.Popen(command, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)})


def gone(folder, *names):
    """Say whether the processes whose numbers are in these files have ended."""
    return all(pid_in(folder / name) and not alive(pid_in(folder / name)) for name in names)


@pytest.mark.anyio
async def test_the_host_is_killed(tmp_path):
    """Its end is the end of the bridge, of the hook it waited for, and of what that had started."""
    host = in_sh(tmp_path, LASTING)
    await until(lambda: pid_in(tmp_path / "pid"))
    host.kill()
    host.wait()
    await until(lambda: gone(tmp_path, "bridge", "pid", "child"))


@pytest.mark.anyio
async def test_the_bridge_is_killed(tmp_path):
    """The host sees the end of the answers; the hook ends, too, and what an earlier one left behind does not."""
    document = hooks_on("PreToolUse", LASTING)
    document["hooks"]["Stop"] = [{"hooks": [shell("sleep 60 >&- 2>&- & echo $! > daemon")]}]
    with listening(tmp_path, LASTING) as process:
        write(tmp_path / "settings.json", document)
        assert ask(process, op="reload")["diagnostics"] == []
        assert ask(process, op="dispatch", event="Stop")["ok"] is True
        process.stdin.write(b'{"op":"dispatch","event":"PreToolUse"}\n')
        process.stdin.flush()
        await until(lambda: pid_in(tmp_path / "pid"))
        process.kill()
        assert process.stdout.read() == b""
        await until(lambda: gone(tmp_path, "pid", "child"))
        daemon = pid_in(tmp_path / "daemon")
        assert alive(daemon)
        os.kill(daemon, signal.SIGKILL)


# -- requests ------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"[]", "object"),
        (b"nul", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b'{"op":"\xff"}', "UTF-8"),
        (b"{}", "unknown op None"),
        (b'{"op":"dance"}', "unknown op 'dance'"),
        (b'{"op":["ping"]}', "unknown op"),
        (b'{"op":"dispatch"}', "event"),
        (b'{"op":"dispatch","event":7}', "event"),
        (b'{"op":"dispatch","event":"pretooluse"}', "pretooluse"),
        (b'{"op":"dispatch","event":"Stop","payload":[]}', "payload"),
        (b'{"op":"dispatch","event":"Stop","payload":{"a":NaN}}', "JSON"),
        (b'{"op":"dispatch","event":"Stop","subject":1}', "subject"),
        (b'{"op":"dispatch","event":"Stop","cwd":{}}', "cwd"),
    ],
)
async def test_a_wrong_request(tmp_path, line, error):
    """One answer that says what is wrong; the next request is answered as ever."""
    protocol = Protocol(runtime(tmp_path))
    answer = json.loads(await protocol.answer(line))
    assert answer["ok"] is False
    assert error in answer["error"]
    assert json.loads(await protocol.answer(b'{"op":"ping"}'))["ok"] is True


@pytest.mark.anyio
async def test_a_payload_may_be_missing(tmp_path):
    """Absent and null are an empty one."""
    protocol = Protocol(runtime(tmp_path))
    for payload in (b"", b',"payload":null'):
        assert json.loads(await protocol.answer(b'{"op":"dispatch","event":"Stop"' + payload + b"}"))["ok"] is True


def test_a_line_that_is_too_long(tmp_path, monkeypatch):
    """An error, and the line after it is read."""
    code, answers, _ = talk(tmp_path, data=b'"' + b"x" * (17 << 20) + b'"\n{"op":"ping"}\n')
    assert code == 0
    assert [answer["ok"] for answer in answers] == [False, True]
    assert "longer" in answers[0]["error"]


@pytest.mark.anyio
@pytest.mark.parametrize("seed", range(8))
async def test_one_answer_a_line_however_it_arrives(tmp_path, seed):
    """In pieces of any size, with garbage and long lines between: as many answers as lines that are not blank."""
    rng = random.Random(seed)
    kinds = [b'{"op":"ping"}', b"garbage", b"", b" \r", b"x" * 5000, b'{"op":"dispatch","event":"Stop"}', b"\xff\xfe"]
    lines = [rng.choice(kinds) for _ in range(30)]
    data = b"\n".join(lines)
    (reads, feeds), (shows, writes) = os.pipe(), os.pipe()
    made = runtime(tmp_path, limits={"line": 4000})

    async def feed():
        position = 0
        while position < len(data):
            size = rng.choice([1, 7, 900, 4096])
            os.write(feeds, data[position : position + size])
            position += size
            await anyio.lowlevel.checkpoint()
        os.close(feeds)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(feed)
        await serve(made, reads, writes)
    os.close(writes)
    os.close(reads)
    with os.fdopen(shows, "rb") as file:
        answers = [json.loads(line) for line in file]
    expected = [line.startswith(b"{") for line in lines if line.strip()]
    assert [answer["ok"] for answer in answers] == expected


# -- other languages -----------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_the_client_of_the_documentation(tmp_path):
    """The ten lines of JavaScript in docs/how-to/stdio-protocol.md work as they stand there."""
    page = (ROOT / "docs" / "how-to" / "stdio-protocol.md").read_text(encoding="utf-8")
    (client,) = re.findall(r"```javascript\n(.*?)```", page, re.DOTALL)
    assert len(client.strip().splitlines()) == 10
    (tmp_path / "client.mjs").write_text(client)
    write(
        tmp_path / "hooks.json", {"version": 1, "events": {"tool:before": [{"hooks": [shell("echo no >&2; exit 2")]}]}}
    )
    dshhooks = tmp_path / "bin" / "dshhooks"
    dshhooks.parent.mkdir()
    dshhooks.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m dshhooks.cli "$@"\n')
    dshhooks.chmod(0o755)
    path = f"{dshhooks.parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["node", "client.mjs"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "deny no\n"), done.stderr


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
def test_ten_thousand_dispatches(tmp_path):
    """A foreign host, garbage between its requests: each has its answer, in order, and matching hooks have run."""
    hook = shell("""sed -n 's/.*"number": *\\([0-9]*\\).*/no \\1/p' >&2; exit 2""")
    command = arguments(tmp_path)
    write(tmp_path / "settings.json", hooks_on("PreToolUse", hook, matcher="Bash"))
    driver = Path(__file__).with_name("driver.mjs")
    done = subprocess.run(["node", driver, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["wrong"] == []
    assert (said["dispatches"], said["denied"], said["refused"], said["blank"]) == (10_000, 400, 2003, 1429)
    assert (said["more"], said["code"]) == (None, 0)
