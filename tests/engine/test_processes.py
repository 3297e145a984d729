"""Reading the processes of this machine, once for all who ask at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from dshhooks.engine import processes
from dshhooks.engine.processes import MARK, is_the_same, newest


def started(**variables):
    """A process that waits for its stdin to be closed, once it is there."""
    command, environ = [sys.executable, "-c", "print(flush=True); input()"], {**os.environ, **variables}
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environ)
    assert process.stdout.read(1)
    return process


def test_what_runs_now():
    """With its parent and its marks; and not any more once it has ended, collected or not."""
    with started(**{f"NOT_{MARK}": "no", MARK: "a:b"}) as process:
        (entry,) = [entry for entry in newest() if entry.pid == process.pid]
        assert (entry.parent, entry.marks, is_the_same(entry)) == (os.getpid(), b"a:b", True)
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert process.pid not in {entry.pid for entry in newest()}
        assert not is_the_same(entry)
    assert not is_the_same(entry)


def test_somebody_else_has_the_number():
    """The same number with another start is another process."""
    (entry,) = [entry for entry in newest() if entry.pid == os.getpid()]
    other = processes.ProcessEntry(entry.pid, entry.parent, entry.group, entry.session, entry.started + 1)
    assert (is_the_same(entry), is_the_same(other)) == (True, False)


def test_many_ask_at_once(monkeypatch):
    """Those that ask while it is read wait for the next reading, which is one for all."""
    readings, reading, go_on = [], threading.Event(), threading.Event()

    def read():
        readings.append(len(readings))
        reading.set()
        assert go_on.wait(20)
        return [readings[-1]]

    monkeypatch.setattr(processes, "_running", read)
    scans, answers = processes._Scans(), []
    threads = [threading.Thread(target=lambda: answers.append(scans.newest())) for _ in range(8)]
    threads[0].start()
    assert reading.wait(20)
    for thread in threads[1:]:
        thread.start()
    go_on.set()
    for thread in threads:
        thread.join()
    assert answers[0] == [0]
    assert all(answer >= [1] for answer in answers[1:])
    assert len(readings) < len(threads)


def test_a_fork_can_read_them():
    """Though another thread was reading, and held the lock, when it was made. In a process of its own."""
    source = """
import os, threading
from dshhooks.engine import processes
with processes._scans._lock:
    pid = os.fork()
    if not pid:
        os._exit(0 if processes.newest() else 1)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "0\n"


def test_no_file_is_left(monkeypatch):
    """That is an error, and not the news that nothing runs."""

    def refuse(*_args, **_more):
        raise OSError(24, "Too many open files")

    (entry,) = [entry for entry in newest() if entry.pid == os.getpid()]
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(OSError, match="Too many"):
        newest()
    with pytest.raises(OSError, match="Too many"):
        is_the_same(entry)
