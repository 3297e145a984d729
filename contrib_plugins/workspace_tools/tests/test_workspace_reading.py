"""``read_range``: lines, limits, and what is not a file."""

from __future__ import annotations

import os
import socket
import tracemalloc
from contextlib import suppress

import pytest
from dshhooks_workspace_tools.errors import WorkspaceError
from dshhooks_workspace_tools.reading import read_range
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def read(workspace, path="f", offset=0, limit=None, max_bytes=1000):
    return read_range(workspace, path, offset, limit, max_bytes=max_bytes)


def code_of(workspace, path, **how):
    with pytest.raises(WorkspaceError) as caught:
        read(workspace, path, **how)
    return caught.value.code


class TestLines:
    def test_whole_file(self, workspace):
        """Without a range the file is returned as it is."""
        found = read(workspace, "sub/b.txt")
        assert (found.path, found.content, found.lines, found.truncated) == ("sub/b.txt", "beta\n", 1, False)
        assert found.next_offset is None

    def test_empty(self, workspace, root):
        """An empty file is empty text, not an error."""
        (root / "f").write_bytes(b"")
        assert read(workspace).content == ""

    @pytest.mark.parametrize(
        ("offset", "limit", "content", "truncated"),
        [
            (0, 1, "1\n", True),
            (0, 2, "1\n2\n", True),
            (1, 1, "2\n", True),
            (2, 1, "3", False),
            (0, 3, "1\n2\n3", False),
            (2, None, "3", False),
            (3, None, "", False),
            (99, 5, "", False),
        ],
    )
    def test_range(self, workspace, root, offset, limit, content, truncated):
        """``offset`` lines are skipped, ``limit`` lines returned; truncated says whether more follows."""
        (root / "f").write_text("1\n2\n3")
        found = read(workspace, offset=offset, limit=limit)
        assert (found.content, found.truncated) == (content, truncated)

    def test_line_ends_are_kept(self, workspace, root):
        """Only a line feed ends a line; nothing is translated."""
        (root / "f").write_bytes("a\r\nb\rc\u2028d\n\ufeffe".encode())
        assert read(workspace).content == "a\r\nb\rc\u2028d\n\ufeffe"
        assert read(workspace, offset=1).content == "b\rc\u2028d\n\ufeffe"

    @pytest.mark.parametrize(("offset", "limit"), [(-1, None), (0, 0), (0, -3)])
    def test_bad_range(self, workspace, offset, limit):
        """Negative offsets and limits below one line are refused."""
        assert code_of(workspace, "a.txt", offset=offset, limit=limit) == "INVALID_ARGUMENT"


class TestBytes:
    def test_only_whole_lines(self, workspace, root):
        """The byte limit cuts between lines."""
        (root / "f").write_text("12345\n" * 10)
        found = read(workspace, max_bytes=15)
        assert (found.content, found.truncated, found.next_offset) == ("12345\n" * 2, True, 2)

    def test_exact_fit(self, workspace, root):
        """A file that exactly fills the limit is complete."""
        (root / "f").write_text("12345\n" * 2)
        assert read(workspace, max_bytes=12).truncated is False

    def test_long_line_is_cut_between_characters(self, workspace, root):
        """A line longer than the limit is cut, not inside a character, and the next offset leads past it."""
        (root / "f").write_text("€" * 10 + "\nnext\n")
        found = read(workspace, max_bytes=8)
        assert (found.content, found.next_offset, found.lossy) == ("€€", 1, False)
        assert read(workspace, offset=1, max_bytes=8).content == "next\n"

    def test_binary(self, workspace, root):
        """Bytes that are not UTF-8 read as U+FFFD, never as lone surrogates, and the result says so."""
        (root / "f").write_bytes(b"\xff\x00\xed\xa0\x80ok\n")
        found = read(workspace)
        assert found.lossy
        assert found.content.endswith("ok\n")
        found.content.encode()

    def test_replacement_character_itself_is_not_lossy(self, workspace, root):
        """A file that really contains U+FFFD is read without loss."""
        (root / "f").write_text("\ufffd")
        assert read(workspace).lossy is False

    def test_huge_file_in_little_memory(self, workspace, root):
        """A sparse file of 300 MB, one line, costs no more memory than the limit asks for."""
        with open(root / "f", "wb") as file:
            file.truncate(300_000_000)
        tracemalloc.start()
        try:
            found = read(workspace)
            past = read(workspace, offset=5)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert (found.truncated, len(found.content), past.content) == (True, 1000, "")
        assert peak < 2_000_000

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
    @given(text=st.text(alphabet="ab€😀\n\r", max_size=60), max_bytes=st.integers(4, 40), limit=st.integers(1, 5))
    def test_pages_join_to_the_file(self, workspace, root, text, max_bytes, limit):
        """Following the offsets returns every line once, long ones cut, and then stops."""
        (root / "f").write_bytes(text.encode())
        expected = [line for line in text.encode().split(b"\n")]
        seen, offset = [], 0
        while offset is not None:
            found = read(workspace, offset=offset, limit=limit, max_bytes=max_bytes)
            assert not found.lossy
            assert len(found.content.encode()) <= max_bytes
            seen += found.content.encode().split(b"\n")[: found.lines]
            assert found.next_offset is None or found.next_offset > offset
            offset = found.next_offset
        assert all(full.startswith(part) for part, full in zip(seen, expected, strict=False))
        assert len(seen) == len(expected) - (expected[-1] == b"")


class TestRefused:
    def test_folder(self, workspace):
        """A folder is no file; the message names the tool for it."""
        for path in ("sub", ".", "sub/"):
            assert code_of(workspace, path) == "NOT_A_FILE"

    def test_missing(self, workspace):
        """A missing file is NOT_FOUND."""
        assert code_of(workspace, "nope") == "NOT_FOUND"

    def test_outside(self, workspace, links):
        """No link and no dots lead to the secret."""
        for path in ("out-file", "out-dir/secret.txt", "out-chain", "../outside/secret.txt"):
            assert code_of(workspace, path) == "OUTSIDE_WORKSPACE"

    def test_fifo_is_not_even_opened(self, workspace, root):
        """A FIFO is refused at once, and a writer waiting for a reader does not notice."""
        os.mkfifo(root / "pipe")
        assert code_of(workspace, "pipe") == "NOT_A_FILE"
        with pytest.raises(OSError, match="No such device"):
            os.open(root / "pipe", os.O_WRONLY | os.O_NONBLOCK)

    def test_socket_and_device(self, workspace, root, monkeypatch):
        """Sockets and devices are refused."""
        monkeypatch.chdir(root)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("sock")
        assert code_of(workspace, "sock") == "NOT_A_FILE"
        if os.geteuid() == 0:
            os.mknod(root / "null", 0o20666, os.makedev(1, 3))
            assert code_of(workspace, "null") == "NOT_A_FILE"

    def test_stopped_by_the_checkpoint(self, workspace, root, open_fds):
        """A checkpoint that raises ends a long skip, and the file is closed."""
        (root / "f").write_text("x\n" * 10)
        before = open_fds()

        def stop():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            read_range(workspace, "f", 5, None, max_bytes=10, checkpoint=stop)
        assert open_fds() == before


def test_swapping_links_never_shows_the_secret(workspace, root, outside, swapping):
    """While a folder and a link are swapped, a read returns the inside file or refuses; it never shows the secret."""
    (root / "link").symlink_to(outside)
    (root / "victim").mkdir()
    (root / "victim" / "secret.txt").write_text("inside")
    seen, codes = set(), set()
    with swapping(root / "victim", root / "link"):
        for _ in range(3000):
            try:
                seen.add(read(workspace, "victim/secret.txt").content)
            except WorkspaceError as exc:
                codes.add(exc.code)
    assert seen <= {"inside"}
    assert codes <= {"OUTSIDE_WORKSPACE", "NOT_A_DIRECTORY"}


def test_swapping_the_file_never_shows_the_secret(workspace, root, outside, swapping):
    """The same for a file that is swapped with a link to the secret."""
    (root / "link").symlink_to(outside / "secret.txt")
    seen, codes = set(), set()
    with swapping(root / "a.txt", root / "link"):
        for _ in range(3000):
            try:
                seen.add(read(workspace, "a.txt").content)
            except WorkspaceError as exc:
                codes.add(exc.code)
    assert seen <= {"alpha\n"}
    assert codes <= {"OUTSIDE_WORKSPACE", "NOT_A_FILE", "SYMLINK_LOOP"}


def test_swapping_the_file_never_reads_a_fifo(workspace, root, swapping):
    """The same for a file that is swapped with a FIFO, which must not be read as an empty file."""
    os.mkfifo(root / "pipe")
    seen = set()
    with swapping(root / "a.txt", root / "pipe"):
        for _ in range(3000):
            with suppress(WorkspaceError):
                seen.add(read(workspace, "a.txt").content)
    assert seen <= {"alpha\n"}
