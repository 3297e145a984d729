"""``write_text``: all or nothing, inside only."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

import pytest
from dshhooks_workspace_tools import writing
from dshhooks_workspace_tools.errors import WorkspaceError
from dshhooks_workspace_tools.writing import write_text


def write(workspace, path, content="new", max_bytes=1000):
    return write_text(workspace, path, content, max_bytes=max_bytes)


def code_of(workspace, path, content="new", **how):
    with pytest.raises(WorkspaceError) as caught:
        write(workspace, path, content, **how)
    return caught.value.code


class TestWritten:
    def test_new_file(self, workspace, root):
        """A new file appears with missing folders, and the result counts bytes, not characters."""
        written = write(workspace, "x/y/f.txt", "h€llo\r\n")
        assert (written.path, written.size) == ("x/y/f.txt", 9)
        assert (root / "x/y/f.txt").read_bytes() == "h€llo\r\n".encode()

    def test_new_file_follows_the_umask(self, workspace, root):
        """A new file has the permissions any program's new file has."""
        old = os.umask(0o027)
        try:
            write(workspace, "f")
        finally:
            os.umask(old)
        assert stat.S_IMODE((root / "f").stat().st_mode) == 0o640

    @pytest.mark.parametrize("mode", [0o600, 0o755, 0o664])
    def test_existing_file_keeps_its_mode(self, workspace, root, mode):
        """Replacing keeps permission bits."""
        (root / "a.txt").chmod(mode)
        write(workspace, "a.txt")
        assert stat.S_IMODE((root / "a.txt").stat().st_mode) == mode
        assert (root / "a.txt").read_text() == "new"

    def test_set_id_bits_are_dropped(self, workspace, root):
        """New content in a set-user-id program does not inherit its powers."""
        (root / "a.txt").chmod(0o4755)
        write(workspace, "a.txt")
        assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o755

    def test_empty_content(self, workspace, root):
        """Empty content makes an empty file."""
        write(workspace, "a.txt", "")
        assert (root / "a.txt").read_bytes() == b""

    def test_longest_name(self, workspace, root):
        """A name as long as the file system allows can be written."""
        write(workspace, "n" * 255)
        assert (root / ("n" * 255)).read_text() == "new"

    def test_absolute_path_inside(self, workspace, root):
        """The result's path is relative to the root."""
        assert write(workspace, f"{root}/sub/c").path == "sub/c"

    def test_hard_link_is_detached(self, workspace, root, outside):
        """A hard link's other name keeps the old content, because the file is replaced and not written into."""
        os.link(outside / "secret.txt", root / "hard")
        write(workspace, "hard")
        assert (outside / "secret.txt").read_text() == "the outside secret"

    def test_links_inside_are_written_through(self, workspace, root, links):
        """A link stays a link; its target, even a missing one, gets the content."""
        write(workspace, "in-file", "one")
        write(workspace, "in-dangling", "two")
        assert (root / "a.txt").read_text() == "one"
        assert (root / "sub" / "new.txt").read_text() == "two"
        assert (root / "in-dangling").is_symlink()

    def test_nothing_else_is_left(self, workspace, root, open_fds):
        """No temporary file and no descriptor remains."""
        before = open_fds()
        write(workspace, "sub/c")
        assert sorted(os.listdir(root / "sub")) == ["b.txt", "c"]
        assert open_fds() == before

    def test_a_reader_keeps_its_version(self, workspace, root):
        """Whoever has the old file open reads the old content to its end."""
        with open(root / "a.txt") as reader:
            write(workspace, "a.txt", "changed")
            assert reader.read() == "alpha\n"


class TestRefused:
    @pytest.mark.parametrize(
        "path",
        [
            "out-file",
            "out-dir/x",
            "out-dangling",
            "out-dangling-relative",
            "out-chain",
            "out-parent/x",
            "../x",
            "/tmp/x/y",
        ],
    )
    def test_outside(self, workspace, links, outside, tmp_path, path):
        """Nothing outside is made or changed, also not through a link to nothing."""
        before = sorted(os.listdir(tmp_path))
        assert code_of(workspace, path) == "OUTSIDE_WORKSPACE"
        assert os.listdir(outside) == ["secret.txt"]
        assert (outside / "secret.txt").read_text() == "the outside secret"
        assert sorted(os.listdir(tmp_path)) == before

    @pytest.mark.parametrize("path", [".", "sub", "sub/", "new/", "sub/..", "new/.", ".."])
    def test_folders(self, workspace, root, path):
        """A path that means a folder is refused and nothing is made."""
        before = sorted(os.listdir(root))
        assert code_of(workspace, path) == "NOT_A_FILE"
        assert sorted(os.listdir(root)) == before

    def test_empty_path(self, workspace):
        """An empty path is refused as such."""
        assert code_of(workspace, "") == "INVALID_PATH"

    def test_fifo(self, workspace, root):
        """A FIFO is neither written to nor replaced."""
        os.mkfifo(root / "pipe")
        assert code_of(workspace, "pipe") == "NOT_A_FILE"
        assert stat.S_ISFIFO((root / "pipe").stat().st_mode)

    def test_too_large(self, workspace, root):
        """Content beyond the limit is refused; the old file stays."""
        assert code_of(workspace, "a.txt", "€€", max_bytes=5) == "TOO_LARGE"
        assert (root / "a.txt").read_text() == "alpha\n"

    def test_lone_surrogate(self, workspace, root):
        """Content that is no Unicode text is refused; nothing is made."""
        assert code_of(workspace, "f", "ok\ud800") == "INVALID_ARGUMENT"
        assert not (root / "f").exists()

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everything")
    def test_read_only_file(self, workspace, root):
        """A read-only file is not replaced although its folder would allow it."""
        (root / "a.txt").chmod(0o444)
        assert code_of(workspace, "a.txt") == "PERMISSION_DENIED"

    def test_failed_write_leaves_the_old_file(self, workspace, root, monkeypatch, open_fds):
        """When the disk fills up, the old content stays and the temporary file goes."""
        before = open_fds()

        def full(fd, data):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(writing, "_write_all", full)
        assert code_of(workspace, "a.txt") == "IO_ERROR"
        assert (root / "a.txt").read_text() == "alpha\n"
        assert sorted(os.listdir(root)) == ["a.txt", "sub"]
        assert open_fds() == before


def test_swapping_links_never_writes_outside(workspace, root, outside, swapping):
    """While a folder and a link are swapped, nothing ever lands outside."""
    (root / "link").symlink_to(outside)
    (root / "victim").mkdir()
    with swapping(root / "victim", root / "link"):
        for _ in range(1500):
            with suppress(WorkspaceError):
                write(workspace, "victim/planted.txt")
    assert os.listdir(outside) == ["secret.txt"]


def test_swapping_the_file_never_writes_outside(workspace, root, outside, swapping):
    """While a file and a link to the secret are swapped, the secret stays as it is."""
    (root / "link").symlink_to(outside / "secret.txt")
    with swapping(root / "a.txt", root / "link"):
        for _ in range(1500):
            with suppress(WorkspaceError):
                write(workspace, "a.txt")
    assert (outside / "secret.txt").read_text() == "the outside secret"
