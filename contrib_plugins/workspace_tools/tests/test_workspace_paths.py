"""Confinement: what a path may mean, and that nothing else can be reached by it."""

from __future__ import annotations

import os
import shutil

import pytest
from dshhooks_workspace_tools.errors import WorkspaceError
from dshhooks_workspace_tools.paths import MAX_DEPTH, Workspace
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st


def code_of(workspace, path, **how):
    with pytest.raises(WorkspaceError) as caught, workspace.at(path, **how):
        pytest.fail("the path was accepted")
    return caught.value.code


def where(workspace, path):
    with workspace.at(path) as place:
        return place.path


class TestAccepted:
    @pytest.mark.parametrize(
        ("path", "found"),
        [
            ("a.txt", "a.txt"),
            ("./a.txt", "a.txt"),
            ("sub//b.txt", "sub/b.txt"),
            ("sub/../a.txt", "a.txt"),
            ("sub/./../sub/b.txt", "sub/b.txt"),
            (".", "."),
            ("sub/..", "."),
            ("sub/", "sub"),
            ("missing", "missing"),
            ("...", "..."),
            ("~", "~"),
            ("..a", "..a"),
        ],
    )
    def test_relative(self, workspace, path, found):
        """A relative path starts at the root; dots inside it are resolved."""
        assert where(workspace, path) == found

    @pytest.mark.parametrize("below", ["", "/", "/a.txt", "/sub/b.txt", "/sub/../a.txt", "//a.txt"])
    def test_absolute_inside(self, workspace, root, below):
        """An absolute path in the root means the same as its relative part."""
        expected = os.path.normpath("." + below)
        assert where(workspace, f"{root}{below}") == expected

    def test_absolute_by_the_configured_name(self, root, tmp_path):
        """A root configured through a link accepts absolute paths by both of its names."""
        (tmp_path / "alias").symlink_to(root)
        workspace = Workspace(str(tmp_path / "alias"))
        assert where(workspace, f"{tmp_path}/alias/a.txt") == where(workspace, f"{root}/a.txt") == "a.txt"

    @pytest.mark.parametrize(
        ("path", "found"),
        [
            ("in-file", "a.txt"),
            ("in-dir/b.txt", "sub/b.txt"),
            ("in-absolute/b.txt", "sub/b.txt"),
            ("in-up", "a.txt"),
            ("in-chain", "sub/b.txt"),
            ("in-dangling", "sub/new.txt"),
            ("in-dir/../a.txt", "a.txt"),
        ],
    )
    def test_links_that_stay_inside(self, workspace, links, path, found):
        """Links inside that lead inside are followed, also when their target is missing."""
        assert where(workspace, path) == found

    def test_absolute_link_below_the_root(self, workspace, root):
        """An absolute link starts over at the root, wherever it stands."""
        (root / "sub" / "link").symlink_to(root / "sub")
        assert where(workspace, "sub/link/link/b.txt") == "sub/b.txt"

    def test_root_of_everything(self):
        """The file system's root works as a workspace; then nothing is outside."""
        assert where(Workspace("/"), "/proc/self/stat").endswith("/stat")


class TestRefused:
    @pytest.mark.parametrize(
        "path", ["..", "../outside/secret.txt", "sub/../../outside", "./..", "sub/../..", "../workspace"]
    )
    def test_dots_that_lead_out(self, workspace, path):
        """``..`` above the root is refused, even on a way that would come back."""
        assert code_of(workspace, path) == "OUTSIDE_WORKSPACE"

    def test_absolute_elsewhere(self, workspace, root, outside):
        """An absolute path elsewhere is refused, and so is a neighbour whose name begins like the root's."""
        neighbour = root.with_name(root.name + "-2")
        neighbour.mkdir()
        for path in ("/", "/etc/passwd", str(outside / "secret.txt"), str(neighbour), f"{root}/../outside"):
            assert code_of(workspace, path) == "OUTSIDE_WORKSPACE"

    @pytest.mark.parametrize(
        "path",
        [
            "out-file",
            "out-dir",
            "out-dir/secret.txt",
            "out-relative",
            "out-relative/secret.txt",
            "out-chain",
            "out-dangling",
            "out-dangling-relative",
            "out-parent",
            "out-parent/workspace/a.txt",
            "out-deep",
            "in-dir/../out-file",
        ],
    )
    def test_links_that_lead_out(self, workspace, links, path):
        """A link on the way or at its end that leads out is refused, whether its target exists or not."""
        assert code_of(workspace, path) == "OUTSIDE_WORKSPACE"

    @pytest.mark.parametrize("path", ["loop", "loop/x", "loop-2"])
    def test_link_loops(self, workspace, links, path):
        """Links in a circle end with an error."""
        assert code_of(workspace, path) == "SYMLINK_LOOP"

    @pytest.mark.parametrize(
        ("path", "code"),
        [
            ("", "INVALID_PATH"),
            ("a\0b", "INVALID_PATH"),
            ("\ud800", "INVALID_PATH"),
            ("n" * 256, "PATH_TOO_LONG"),
            ("é" * 128, "PATH_TOO_LONG"),
            ("sub/" * 2000, "PATH_TOO_LONG"),
            ("a.txt/x", "NOT_A_DIRECTORY"),
            ("a.txt/", "NOT_A_DIRECTORY"),
            ("a.txt/..", "NOT_A_DIRECTORY"),
            ("missing/x", "NOT_FOUND"),
            ("missing/../a.txt", "NOT_FOUND"),
        ],
    )
    def test_unusable(self, workspace, path, code):
        """A path that cannot be opened says why."""
        assert code_of(workspace, path) == code

    def test_message_names_path_and_root(self, workspace, root, links):
        """A refusal names the path, the link, the root and what to do."""
        with pytest.raises(WorkspaceError) as caught, workspace.at("out-dir/secret.txt"):
            pass
        for part in ("'out-dir/secret.txt'", "symbolic link 'out-dir'", str(root), "use a path inside it"):
            assert part in caught.value.message

    def test_too_deep(self, workspace, root, open_fds):
        """Nesting beyond what is held open is an error, and every descriptor is closed."""
        before = open_fds()
        deep = "/".join(["d"] * (MAX_DEPTH + 2))
        assert code_of(workspace, deep, create_parents=True) == "PATH_TOO_LONG"
        assert open_fds() == before


class TestCreatingParents:
    def test_makes_what_is_missing(self, workspace, root):
        """Missing folders on the way are made, the entry itself is not."""
        with workspace.at("x/y/z.txt", create_parents=True) as place:
            assert place.path == "x/y/z.txt"
        assert (root / "x" / "y").is_dir()
        assert not (root / "x" / "y" / "z.txt").exists()

    def test_through_a_dangling_link(self, workspace, root):
        """A link to a missing folder inside gets the folder it means."""
        (root / "link").symlink_to("real")
        with workspace.at("link/f", create_parents=True) as place:
            assert place.path == "real/f"

    @pytest.mark.parametrize("path", ["x/../../outside/f", "x/../y/f", "x/y/../../../f"])
    def test_refused_way_leaves_nothing(self, workspace, root, path):
        """Where ``..`` follows a missing folder nothing is made: the way could still be refused."""
        before = sorted(os.listdir(root))
        assert code_of(workspace, path, create_parents=True) == "NOT_FOUND"
        assert sorted(os.listdir(root)) == before

    def test_outside_dangling_link(self, workspace, links, outside):
        """A link to a missing folder outside is refused and the folder is not made."""
        assert code_of(workspace, "out-dangling/f", create_parents=True) == "OUTSIDE_WORKSPACE"
        assert os.listdir(outside) == ["secret.txt"]


class TestRaces:
    def test_folder_swapped_after_the_walk(self, workspace, root, outside):
        """A folder replaced by a link after the walk is still the folder that was walked."""
        with workspace.at("sub/b.txt") as place:
            (root / "sub").rename(root / "moved")
            (root / "sub").symlink_to(outside)
            fd = os.open("b.txt", os.O_RDONLY, dir_fd=place.fd)
            with open(fd) as file:
                assert file.read() == "beta\n"

    def test_leaf_swapped_after_the_walk(self, workspace, root, outside):
        """A folder entry replaced by a link after the walk is refused, not followed."""
        with workspace.at("sub") as place:
            shutil.rmtree(root / "sub")
            (root / "sub").symlink_to(outside)
            with pytest.raises(OSError, match=r"Not a directory|symbolic links"):
                place.open_directory()

    def test_root_replaced(self, workspace, root, outside):
        """A root that is moved away and replaced by a link is refused."""
        root.rename(root.with_name("moved"))
        root.symlink_to(outside)
        assert code_of(workspace, "secret.txt") in ("NOT_A_DIRECTORY", "SYMLINK_LOOP")

    def test_root_replaced_by_a_folder(self, workspace, root):
        """A root that is replaced by another folder is refused as well."""
        root.rename(root.with_name("moved"))
        root.mkdir()
        assert code_of(workspace, ".") == "WORKSPACE_MOVED"


class TestRoot:
    def test_missing(self, tmp_path):
        """A root that does not exist is an error at the start."""
        with pytest.raises(WorkspaceError, match="does not exist"):
            Workspace(str(tmp_path / "nowhere"))

    def test_file(self, root):
        """A root that is a file is an error at the start."""
        with pytest.raises(WorkspaceError, match="not a folder"):
            Workspace(str(root / "a.txt"))

    def test_relative_root_is_fixed_at_the_start(self, root, monkeypatch, tmp_path):
        """``"."`` means the working directory of the start, wherever the process goes later."""
        monkeypatch.chdir(root)
        workspace = Workspace(".")
        monkeypatch.chdir(tmp_path)
        assert workspace.root == str(root)
        assert where(workspace, "a.txt") == "a.txt"


INSIDE = ["a.txt", "sub", "b.txt", "in-dir", "in-up", "in-chain", "in-absolute", "in-dangling", "loop", "x"]
OUTSIDE = ["out-dir", "out-parent", "out-relative", "out-chain", "out-deep", "out-dangling", "secret.txt", "outside"]
NAMES = st.sampled_from([*INSIDE, *OUTSIDE, "workspace", ".", "..", ""])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=400, deadline=None)
@given(names=st.lists(NAMES, min_size=1, max_size=8), absolute=st.booleans(), create=st.booleans())
def test_no_path_leaves_the_root(workspace, links, root, outside, open_fds, names, absolute, create):
    """Whatever is combined: an accepted place lies in the root, nothing appears outside, no descriptor is left."""
    path = "/".join(names)
    before = open_fds()
    try:
        with workspace.at(f"{root}/{path}" if absolute else path, create_parents=create) as place:
            real = os.readlink(f"/proc/self/fd/{place.fd}")
            assert real == str(root) or real.startswith(f"{root}/")
            assert place.name is None or not os.path.islink(os.path.join(real, place.name))
    except WorkspaceError:
        pass
    assert open_fds() == before
    assert os.listdir(outside) == ["secret.txt"]
