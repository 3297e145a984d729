"""Fixtures: both backends, a workspace with something to steal beside it, and ways to see what is left over."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from dshhooks_workspace_tools.paths import Workspace

SECRET = "the outside secret"


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param


@pytest.fixture
def outside(tmp_path):
    """A folder beside the workspace with a secret in it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text(SECRET)
    return folder


@pytest.fixture
def root(tmp_path, outside):
    """The workspace's folder: ``a.txt``, ``sub/b.txt`` and links in and out."""
    folder = tmp_path / "workspace"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.txt").write_text("alpha\n")
    (folder / "sub" / "b.txt").write_text("beta\n")
    return folder


@pytest.fixture
def workspace(root):
    return Workspace(str(root))


@pytest.fixture
def links(root, outside):
    """Links of every kind, by where they lead."""
    made = {
        "in-file": "a.txt",
        "in-dir": "sub",
        "in-absolute": str(root / "sub"),
        "in-up": "sub/../a.txt",
        "in-chain": "in-chain-2",
        "in-chain-2": "in-dir/b.txt",
        "in-dangling": "sub/new.txt",
        "out-file": str(outside / "secret.txt"),
        "out-dir": str(outside),
        "out-relative": "../outside",
        "out-chain": "out-chain-2",
        "out-chain-2": "out-relative/secret.txt",
        "out-dangling": str(outside / "planted.txt"),
        "out-dangling-relative": "../outside/planted.txt",
        "out-parent": "..",
        "out-deep": "sub/../../outside/secret.txt",
        "loop": "loop",
        "loop-2": "loop-3",
        "loop-3": "loop-2",
    }
    for name, target in made.items():
        (root / name).symlink_to(target)
    return made


@pytest.fixture
def swapping():
    """Return a context manager: while it is open, another thread swaps two paths, each time in one atomic step."""
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "renameat2"):
        pytest.skip("needs renameat2")

    @contextmanager
    def swaps(one: Path, other: Path) -> Iterator[None]:
        done = threading.Event()

        def swap() -> None:
            while not done.is_set():
                libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2)

        thread = threading.Thread(target=swap)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    return swaps


@pytest.fixture
def open_fds():
    """Return a function that lists this process's open descriptors and what they are."""

    def listed() -> dict[str, str]:
        found = {}
        for fd in os.listdir("/proc/self/fd"):
            try:
                found[fd] = os.readlink(f"/proc/self/fd/{fd}")
            except FileNotFoundError:
                pass  # the descriptor of the listing itself
        return found

    return listed


@pytest.fixture
def has_children():
    """Return a function that tells whether this process has a child, running or not yet collected."""

    def has() -> bool:
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return True

    return has


@pytest.fixture
def running():
    """Return a function that tells whether a process runs; a zombie waiting for its parent does not."""

    def runs(pid: int) -> bool:
        try:
            line = Path(f"/proc/{pid}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return False
        return line.rpartition(")")[2].split()[0] not in "ZX"

    return runs
