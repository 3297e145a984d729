"""``list_entries`` and its patterns."""

from __future__ import annotations

import os

import pytest
from dshhooks_workspace_tools import listing
from dshhooks_workspace_tools.errors import WorkspaceError
from dshhooks_workspace_tools.globs import Pattern
from dshhooks_workspace_tools.listing import list_entries


def names(workspace, *args, max_entries=100, **how):
    return [entry.path for entry in list_entries(workspace, *args, max_entries=max_entries, **how).entries]


@pytest.fixture
def tree(root):
    for path in ("src/app.py", "src/lib/util.py", "src/lib/data.json", ".git/config", "docs/a.md", ".hidden"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    return root


class TestListing:
    def test_one_level(self, workspace, tree):
        """By default the root's entries, sorted, dot files included, nothing below."""
        assert names(workspace) == [".git", ".hidden", "a.txt", "docs", "src", "sub"]

    def test_entry(self, workspace, root, outside):
        """An entry says what it is; only files have a size; links are named, not followed."""
        (root / "link").symlink_to(outside)
        os.mkfifo(root / "pipe")
        found = {e.path: (e.type, e.size) for e in list_entries(workspace, max_entries=9).entries}
        assert found == {
            "a.txt": ("file", 6),
            "link": ("symlink", None),
            "pipe": ("other", None),
            "sub": ("directory", None),
        }

    def test_recursive(self, workspace, tree):
        """Recursive listings enter folders, name paths from the root, and only name skipped folders."""
        found = names(workspace, "src", recursive=True)
        assert found == ["src/app.py", "src/lib", "src/lib/data.json", "src/lib/util.py"]
        assert ".git/config" not in names(workspace, recursive=True, skip=(".git",))
        assert ".git" in names(workspace, recursive=True, skip=(".git",))

    def test_skipped_folder_can_be_listed_itself(self, workspace, tree):
        """Skipping is about entering on the way, not about asking for the folder."""
        assert names(workspace, ".git", recursive=True, skip=(".git",)) == [".git/config"]

    def test_patterns(self, workspace, tree):
        """A name pattern filters one level, or every level of a recursive listing; one with folders recurses."""
        assert names(workspace, ".", "*.py") == []
        assert names(workspace, ".", "*.py", True) == ["src/app.py", "src/lib/util.py"]
        assert names(workspace, ".", "**/*.py") == ["src/app.py", "src/lib/util.py"]
        assert names(workspace, ".", "src/*.py") == ["src/app.py"]
        assert names(workspace, "src", "lib/*") == ["src/lib/data.json", "src/lib/util.py"]

    def test_links_are_not_entered(self, workspace, links):
        """A recursive listing does not follow links: not outside, not in circles."""
        found = names(workspace, recursive=True)
        assert "out-dir" in found
        assert not any(path.startswith(("out-dir/", "in-dir/", "loop/")) for path in found)

    def test_through_a_link_inside(self, workspace, links):
        """Asking for a link to a folder inside lists that folder, under its real path."""
        assert names(workspace, "in-dir") == ["sub/b.txt"]

    def test_limit(self, workspace, root):
        """At the limit the listing stops and says so; exactly full is complete."""
        for index in range(5):
            (root / "sub" / f"{index}").touch()
        assert list_entries(workspace, "sub", max_entries=6).truncated is False
        cut = list_entries(workspace, "sub", max_entries=5)
        assert (len(cut.entries), cut.truncated) == (5, True)

    def test_visits_are_limited(self, workspace, root, monkeypatch):
        """A pattern that matches nothing does not walk for ever."""
        monkeypatch.setattr(listing, "MAX_VISITED", 2)
        found = list_entries(workspace, ".", "nothing", True, max_entries=9)
        assert (found.entries, found.truncated) == ((), True)

    def test_too_deep(self, workspace, root, monkeypatch, open_fds):
        """Folders nested too deep are named but not entered, and the listing says so."""
        monkeypatch.setattr(listing, "MAX_DEPTH", 2)
        (root / "1/2/3").mkdir(parents=True)
        before = open_fds()
        found = list_entries(workspace, "1", recursive=True, max_entries=9)
        assert ([e.path for e in found.entries], found.truncated) == (["1/2", "1/2/3"], True)
        assert open_fds() == before

    def test_name_that_is_no_text(self, workspace, root):
        """A name that is not UTF-8 is shown with U+FFFD, never with lone surrogates."""
        os.close(os.open(os.fsencode(root) + b"/\xff.bin", os.O_CREAT))
        assert "\ufffd.bin" in names(workspace)

    @pytest.mark.parametrize(
        ("path", "code"),
        [
            ("a.txt", "NOT_A_DIRECTORY"),
            ("nope", "NOT_FOUND"),
            ("out-dir", "OUTSIDE_WORKSPACE"),
            ("..", "OUTSIDE_WORKSPACE"),
        ],
    )
    def test_refused(self, workspace, links, path, code):
        """Only folders inside can be listed."""
        with pytest.raises(WorkspaceError) as caught:
            list_entries(workspace, path, max_entries=9)
        assert caught.value.code == code

    def test_no_descriptor_is_left(self, workspace, tree, open_fds):
        """A listing that stops half-way deep in the tree closes what it opened."""
        before = open_fds()
        list_entries(workspace, recursive=True, max_entries=7)
        assert open_fds() == before


class TestPattern:
    @pytest.mark.parametrize(
        ("pattern", "path", "expected"),
        [
            ("*", "a", True),
            ("*", "a/b", True),
            ("", "a", True),
            ("**", "a/b/c", True),
            ("*.py", "x/y.py", True),
            ("*.py", "x/y.pyc", False),
            ("x/*.py", "x/y.py", True),
            ("x/*.py", "x/z/y.py", False),
            ("x/**/*.py", "x/y.py", True),
            ("x/**/*.py", "x/a/b/y.py", True),
            ("**/b/**", "a/b/c", True),
            ("**/b/**", "b", True),
            ("**/b/**", "a/c", False),
            ("/x/y", "x/y", True),
            ("./x/y", "x/y", True),
            ("?[ab]", "xa", True),
            ("?[!ab]", "xa", False),
            ("A", "a", False),
        ],
    )
    def test_meaning(self, pattern, path, expected):
        """``*`` stays in one name, ``**`` spans folders, a name alone matches anywhere."""
        assert Pattern(pattern).matches(path.split("/")) is expected

    def test_hostile_pattern_is_cheap(self):
        """A pattern made to backtrack is answered at once."""
        assert not Pattern("**/" * 300 + "x").matches(["a"] * 120)
        assert not Pattern("*a" * 400 + "b").matches(["a" * 250])
