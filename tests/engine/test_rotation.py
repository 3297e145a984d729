"""A full file is put aside once."""

from __future__ import annotations

import fcntl
import os
import sys
import threading

import pytest

from dshhooks.engine.rotation import put_aside


@pytest.fixture
def opened(tmp_path):
    """A file with something in it, and its descriptor."""
    path = tmp_path / "log"
    path.write_text("full")
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    yield path, descriptor
    os.close(descriptor)


def names(folder):
    """What is in a folder, by name."""
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_it_is_renamed(tmp_path, opened):
    """What was put aside before is replaced."""
    path, descriptor = opened
    (tmp_path / "log.1").write_text("older")
    put_aside(str(path), descriptor)
    assert names(tmp_path) == {"log.1": "full"}


def test_what_took_its_place_stays(tmp_path, opened):
    """Another writer has put the file aside and begun a new one."""
    path, descriptor = opened
    path.rename(tmp_path / "log.1")
    path.write_text("new")
    put_aside(str(path), descriptor)
    assert names(tmp_path) == {"log.1": "full", "log": "new"}


def test_nothing_took_its_place_yet(tmp_path, opened):
    """Another writer has put the file aside a moment ago."""
    path, descriptor = opened
    path.rename(tmp_path / "log.1")
    put_aside(str(path), descriptor)
    assert names(tmp_path) == {"log.1": "full"}


def test_another_is_at_it(tmp_path, opened):
    """Who holds the lock renames; nobody waits for it."""
    path, descriptor = opened
    other = os.open(path, os.O_WRONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    put_aside(str(path), descriptor)
    assert names(tmp_path) == {"log": "full"}
    os.close(other)


def test_all_at_once(tmp_path):
    """Of what eight writers append to a file that is full at ten lines, at least the last ten are there."""
    path = tmp_path / "log"

    def write() -> None:
        for _ in range(200):
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(descriptor, b"line\n")
            if os.fstat(descriptor).st_size >= 50:
                put_aside(str(path), descriptor)
            os.close(descriptor)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # so that they meet where it matters
    try:
        threads = [threading.Thread(target=write) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert "".join(names(tmp_path).values()).count("line\n") >= 10
