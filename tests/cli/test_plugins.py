"""``dshhooks plugins``: the list, effective chains, conformance, and the scaffold."""

from __future__ import annotations

import json

import pytest

from dshhooks.cli.scaffold import write_plugin
from hookspecs.errors import PluginError
from tests.plugins.kit import DENY, OPTIONS, TOOL

WRAPPERS = """
from dshhooks import hookimpl

class Plugin:
    @hookimpl(wrapper=True)
    def tools_pre_execute(self, execution):
        return (yield)

    @hookimpl(wrapper=True)
    async def tools_execute(self, execution, *, call_next):
        return await call_next()
"""


# -- the list ------------------------------------------------------------------------------------------------------


@pytest.fixture
def mixed(project):
    """A loaded, a disabled, a failed and a duplicate plugin, and a shadowed one."""
    project.install("good", DENY, distribution="dist-good", version="1.2")
    project.install("off", "raise AssertionError('imported')")
    project.install("bad", "raise ValueError('no\\nluck')")
    project.install("twice", DENY, distribution="dist-b")
    project.install("twice", DENY, distribution="dist-a")
    project.install("watched", DENY)
    project.configure(
        "[plugins]\nenable = ['watched', 'good', 'off', 'bad', 'twice']\ndisable = ['off']\nshadow = ['watched']\n"
    )
    return project


def test_the_list_as_a_document(mixed):
    """One PluginStatus each: loaded ones outermost first, then the others by name."""
    done = mixed.run("plugins", "--json")
    assert done.code == 0
    rows = {row["name"]: row for row in done.json}
    assert [row["name"] for row in done.json][:2] == ["watched", "good"]
    assert rows["good"] == {
        "name": "good", "distribution": "dist-good", "version": "1.2", "status": "loaded", "reason": "",
        "hooks": ["tools_pre_execute"],
    }  # fmt: skip
    assert {name: rows[name]["status"] for name in ("off", "bad", "twice", "watched")} == {
        "off": "disabled", "bad": "failed", "twice": "duplicate", "watched": "loaded",
    }  # fmt: skip
    assert "ValueError: no\nluck" in rows["bad"]["reason"]
    assert "dist-a and by dist-b" in rows["twice"]["reason"]
    assert rows["watched"]["reason"] == "shadow"
    for words in (("plugins", "list", "--json"), ("plugins", "--json", "list")):
        assert mixed.run(*words).json == done.json


def test_the_list_for_people(mixed):
    """One line each, aligned, plain in a pipe; reasons where there are no hooks."""
    done = mixed.run("plugins")
    lines = done.out.splitlines()
    assert lines[0].split() == ["plugin", "status", "distribution", "version", "hooks", "or", "reason"]
    column = lines[0].index("status")
    assert all(line[column - 1] == " " and line[column] != " " for line in lines)
    assert any(line.startswith("bad ") and line.endswith("ValueError: no luck") for line in lines)
    assert any(line.startswith("watched ") and line.endswith("tools_pre_execute (shadow)") for line in lines)
    assert "\x1b" not in done.out + done.err


def test_a_configuration_that_would_not_start_is_still_listed(mixed):
    """Exit 1; the list on stdout helps to see why."""
    mixed.configure("[plugins]\nenable = ['good', 'nobody']\nrequired = ['bad']\n")
    done = mixed.run("plugins", "--json")
    assert done.code == 1
    assert {row["name"]: row["status"] for row in done.json}["nobody"] == "missing"
    assert "the host would not start: unknown plugin 'nobody'" in done.err
    assert "the host would not start: required plugin 'bad' is disabled: not in plugins.enable" in done.err


def test_a_plugin_that_prints_while_it_loads(project):
    """Its words go to stderr when stdout is for the document."""
    project.install("chatty", "print('hello')\n" + DENY)
    project.enable("chatty")
    for words in (["plugins", "--json"], ["plugins", "chain", "tools_pre_execute", "--json"]):
        done = project.run(*words)
        assert len(done.json) >= 1
        assert done.err == "hello\n"


# -- chains --------------------------------------------------------------------------------------------------------


def test_a_chain(project):
    """Outermost first, wrappers before implementations, whatever the list's order."""
    project.install("deny", DENY)
    project.install("wrap", WRAPPERS)
    project.enable("deny", "wrap")
    done = project.run("plugins", "chain", "tools_pre_execute", "--json")
    assert done.json == [{"plugin": "wrap", "kind": "wrapper"}, {"plugin": "deny", "kind": "implementation"}]
    lines = project.run("plugins", "chain", "tools_execute").out.splitlines()
    assert [line.split() for line in lines] == [["plugin", "kind"], ["wrap", "async-wrapper"]]


def test_an_empty_chain(project):
    """Said in words; the document is an empty list."""
    project.enable()
    assert "no loaded plugin implements tools_result" in project.run("plugins", "chain", "tools_result").out
    assert project.run("plugins", "chain", "tools_result", "--json").json == []


def test_the_chain_of_no_hook(project):
    """Exit 1 with a suggestion."""
    done = project.run("plugins", "chain", "tools_exekute")
    assert done.code == 1
    assert "there is no hook 'tools_exekute'; did you mean 'tools_execute'?" in done.err


# -- checking ------------------------------------------------------------------------------------------------------


def check(project, source, *more, name="candidate.py"):
    """Check a file."""
    (project.folder / name).write_text(source, encoding="utf-8")
    return project.run("plugins", "check", name, *more)


@pytest.mark.parametrize(
    "source", [DENY, OPTIONS, TOOL, WRAPPERS, "from dshhooks import hookimpl\n@hookimpl\ndef tools_change(): ...\n"]
)
def test_a_good_plugin(project, source):
    """Exit 0 and a list of what was checked."""
    done = check(project, source)
    assert done.code == 0, done.out
    assert done.out.count("ok  ") == len(done.out.splitlines()) == 6
    assert "\x1b" not in done.out


FAULTY = {
    "misspelled": (DENY.replace("tools_pre_execute", "tools_pre_exekute"), "did you mean 'tools_pre_execute'?"),
    "nonsense": (DENY.replace("Deny(__name__)", "'yes'"), "expected one of: Allow, Deny, Ask"),
    "raises": (DENY.replace("return Deny(__name__)", "raise ValueError('boom')"), "boom"),
    "observer raises": (
        "from dshhooks import hookimpl\n@hookimpl\ndef tools_result(result):\n    raise ValueError('boom')\n",
        "tools_result raised ValueError: boom",
    ),
    "does not import": ("raise ValueError('no luck')", "ValueError: no luck"),
    "exits": ("raise SystemExit", "SystemExit"),
    "does not parse": ("def (", "SyntaxError"),
    "nothing": ("x = 1", "FAIL it implements at least one hook"),
    "unmarked": ("class P:\n    def tools_guard(self, execution): ...\n", "without @hookimpl: tools_guard"),
    "several": (DENY + DENY.replace("Plugin", "Other"), "name one: candidate.py:Plugin"),
    "tools fail": (TOOL + "        raise ValueError('boom')\n", "boom"),
    "needs options": (OPTIONS.replace("= field(default=3, validator=validators.ge(1))", ""), "attempts: is required"),
}


@pytest.mark.parametrize("fault", FAULTY, ids=str)
def test_a_faulty_plugin(project, fault):
    """Exit 1, a FAIL line that says what is wrong, no traceback."""
    source, said = FAULTY[fault]
    done = check(project, source)
    assert done.code == 1
    assert "FAIL" in done.out
    assert said in done.out
    assert "Traceback" not in done.out + done.err


def test_one_of_several(project):
    """FILE.py:ATTRIBUTE."""
    (project.folder / "both.py").write_text(DENY + DENY.replace("Plugin", "Other"))
    assert project.run("plugins", "check", "both.py:Other").code == 0
    done = project.run("plugins", "check", "both.py:Neither")
    assert done.code == 1
    assert "both.py: there is no 'Neither' in it" in done.out


def test_a_file_that_is_called_like_a_module(project):
    """A candidate in json.py does not become everybody's json."""
    assert check(project, DENY, name="json.py").code == 0


def test_an_installed_plugin(project):
    """By name, with its configured options."""
    project.install("opts", OPTIONS.replace("= field(default=3, validator=validators.ge(1))", ""))
    assert project.run("plugins", "check", "opts").code == 1
    project.configure("[plugin.opts]\nattempts = 3\n")
    assert project.run("plugins", "check", "opts").code == 0


@pytest.mark.parametrize("name", ["nobody", "no/such/file.py", ".", "x.py:y"])
def test_nothing_to_check(project, name):
    """Exit 1, said plainly."""
    done = project.run("plugins", "check", name)
    assert done.code == 1
    assert "FAIL it loads: " in done.out
    assert "Traceback" not in done.err


# -- the scaffold --------------------------------------------------------------------------------------------------


def test_a_new_plugin_is_written(project):
    """An installable folder with a test, and what to do next."""
    done = project.run("plugins", "new", "no-friday-deploys", "--dir", "a folder")
    assert done.code == 0
    root = project.folder / "a folder" / "no-friday-deploys"
    files = sorted(str(file.relative_to(root)) for file in root.rglob("*") if file.is_file())
    assert files == [
        "README.md", "dshhooks_no_friday_deploys/__init__.py", "dshhooks_no_friday_deploys/py.typed", "pyproject.toml",
        "tests/test_dshhooks_no_friday_deploys.py",
    ]  # fmt: skip
    assert "pip install -e 'a folder/no-friday-deploys'" in done.out


def test_a_new_plugin_keeps_the_contract(project):
    """Check agrees, whatever the name."""
    for name in ("friday", "options", "deny", "tool-execution", "factory", "none", "a-2b"):
        project.run("plugins", "new", name)
        module = f"dshhooks_{name.replace('-', '_')}"
        done = project.run("plugins", "check", f"{name}/{module}/__init__.py")
        assert done.code == 0, (name, done.out)


@pytest.mark.parametrize("name", ["", "Upper", "under_score", "-x", "x-", "2x", "a b", "../x", "ä", "a--b", "x\n"])
def test_a_name_that_is_none(tmp_path, name):
    """Nothing is written."""
    with pytest.raises(PluginError, match="is no plugin name"):
        write_plugin(name, str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_exists_is_left_alone(project):
    """Exit 1; nobody's work is overwritten."""
    (project.folder / "mine").mkdir()
    done = project.run("plugins", "new", "mine")
    assert done.code == 1
    assert "mine exists" in done.err
    assert list((project.folder / "mine").iterdir()) == []


def test_a_folder_that_cannot_be_made(project):
    """A file is in the way: exit 1, no traceback."""
    (project.folder / "file").write_text("")
    done = project.run("plugins", "new", "mine", "--dir", "file")
    assert done.code == 1
    assert "cannot be written" in done.err
    assert "Traceback" not in done.err


def test_the_next_step_is_json_free(project):
    """`plugins new` says what it did; it has no document."""
    with pytest.raises(json.JSONDecodeError):
        project.run("plugins", "new", "mine").json  # noqa: B018
