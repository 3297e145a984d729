"""``dshhooks bridge``: exit codes, what is on stdout and nothing else, trust, history, import."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from tests.bridge.kit import write
from tests.bridge.runtime_kit import alive, hooks_on, pid_in, shell
from tests.cli.kit import Terminal

# A plugin that adds a kind of handlers.
KIND = """
from dshhooks import hookimpl
from dshhooks.bridge import RawResult

class Words:
    async def run(self, job):
        return RawResult(2, stderr="no " + job.hook.fields["word"])

class Plugin:
    @hookimpl
    def register_bridge_handlers(self, handlers):
        handlers.register("words", Words)
"""


@pytest.fixture
def hooks(project):
    """Write the project's Claude file, and return it."""

    def save(*hooks, event="PreToolUse", name=".claude/settings.json", **members):
        return write(project.folder / name, hooks_on(event, *hooks, **members))

    return save


def bridge(project, verb, *arguments, stdin="", home="home", **more):
    """Run a verb with a home directory of its own."""
    return project.run("bridge", verb, "--home", str(project.folder / home), *arguments, stdin=stdin, **more)


# -- run -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "code", "decision"), [("Stop", 0, "none"), ("PreToolUse", 2, "deny"), ("pretooluse", 1, None)]
)
def test_run(project, hooks, event, code, decision):
    """Case 122: 0, 2 or 1, and exactly one JSON line, or nothing."""
    file = hooks(shell("echo noise; echo no >&2; exit 2"))
    done = bridge(project, "run", "--event", event, "--config", str(file), stdin='{"tool_name": "Bash"}')
    assert done.code == code
    if decision is None:
        assert done.out == ""
        assert event in done.err
    else:
        assert done.out.count("\n") == 1
        assert set(done.json) == {"canonical", "outcome", "runs"}
        assert done.json["outcome"]["decision"] == decision


@pytest.mark.parametrize("verb", ["run", "explain"])
@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_a_file_somebody_named_that_cannot_be_used(project, verb, text):
    """Exit 1, said on stderr, nothing on stdout: guards that are misspelled must not look like guards that agree."""
    file = project.folder / "guards.json"
    if text is not None:
        file.write_text(text)
    done = bridge(project, verb, "--event", "PreToolUse", "--config", str(file))
    assert (done.code, done.out) == (1, "")
    assert "guards.json could not be used" in done.err


def test_what_is_wrong_with_files_is_said(project):
    """On stderr, by every verb that goes on without them; `validate` says it once, on stdout."""
    write(project.folder / "home/.claude/settings.json", "{")
    write(project.folder / "home/.codex/hooks.json", hooks_on("PreToolUse", shell("exit 2"), {"type": "mcp_tool"}))
    done = bridge(project, "run", "--event", "PreToolUse")
    assert done.code == 2
    assert "json-invalid" in done.err
    assert "mcp_tool" in done.err
    checked = bridge(project, "validate")
    assert (checked.code, checked.err, checked.out.count("json-invalid")) == (1, "", 1)


@pytest.mark.parametrize(("arguments", "code"), [((), 0), (("--ask-exit",), 3)])
def test_an_ask(project, hooks, arguments, code):
    """0, with the decision in the document; 3 when asked for."""
    answer = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}
    write(project.folder / "answer", answer)
    file = hooks(shell("cat answer"))
    done = bridge(project, "run", "--event", "PreToolUse", "--config", str(file), *arguments)
    assert (done.code, done.json["outcome"]["decision"]) == (code, "ask")


def test_the_payload_from_a_file(project, hooks):
    """And the subject from the command line."""
    file = hooks(shell("exit 2"), matcher="Edit")
    payload = write(project.folder / "payload.json", {"tool_name": "Bash"})
    run = ("run", "--event", "PreToolUse", "--config", str(file), "--payload", str(payload))
    assert bridge(project, *run).code == 0
    assert bridge(project, *run, "--subject", "Edit").code == 2


@pytest.mark.parametrize(
    ("arguments", "stdin", "said"),
    [
        ((), "{", "not JSON"),
        ((), "[]", "object"),
        ((), '{"a": NaN}', "JSON"),
        (("--payload", "missing.json"), "", "missing.json"),
        (("--timeout", "0"), "", "timeout"),
        (("--llm-model", "m"), "", "--llm-base-url"),
        (("--llm-base-url", "http://127.0.0.1:9"), "", "--llm-model"),
        (("--cwd", "nowhere"), "", "nowhere"),
        (("--dialect", "cursor"), "", "dialect"),
    ],
)
def test_wrong_use(project, arguments, stdin, said):
    """Case 123 and its kin: exit 1, a message, nothing on stdout."""
    done = bridge(project, "run", "--event", "Stop", *arguments, stdin=stdin)
    assert (done.code, done.out) == (1, "")
    assert said in done.err


def test_a_hook_nobody_waits_for_comes_to_its_end(project, hooks):
    """The answer is there before; the command ends after."""
    file = hooks(shell("sleep 0.2; echo done > ran", **{"async": True}))
    done = bridge(project, "run", "--event", "PreToolUse", "--config", str(file))
    assert done.json["runs"][0]["outcome"]["detached"] is True
    assert (project.folder / "ran").exists()


@pytest.mark.parametrize("detached", [True, False])
def test_a_polite_kill(project, hooks, detached):
    """Ends what runs, also what nobody waits for, and then the command: 143."""
    file = hooks(shell("echo $$ > pid; sleep 60", **{"async": detached}))
    home = str(project.folder / "home")
    process = project.start("bridge", "run", "--event", "PreToolUse", "--config", str(file), "--home", home,
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # fmt: skip
    while not pid_in(project.folder / "pid"):
        assert process.poll() is None
    process.terminate()
    assert process.wait(20) == 143
    assert not alive(pid_in(project.folder / "pid"))


def test_a_kind_a_plugin_adds(project, hooks):
    """Plugins are loaded when a file names a type nobody here knows."""
    project.install("words", KIND)
    project.enable("words")
    file = hooks({"type": "words", "word": "w"})
    done = bridge(project, "run", "--event", "PreToolUse", "--config", str(file))
    assert (done.code, done.json["outcome"]["reason"]) == (2, "no w")


# -- trust ---------------------------------------------------------------------------------------------------------


def test_a_projects_file_must_be_trusted(project, hooks):
    """It is said on stderr, once; after `trust` it runs; a changed one does not."""
    hooks(shell("exit 2"))
    before = bridge(project, "run", "--event", "PreToolUse")
    assert (before.code, before.err.count("not trusted")) == (0, 1)
    shown = bridge(project, "trust")
    assert "exit 2" in shown.err
    assert bridge(project, "run", "--event", "PreToolUse").code == 2
    hooks(shell("exit 2; true"))
    assert bridge(project, "run", "--event", "PreToolUse").code == 0


def test_trust_a_file_and_take_it_back(project, hooks):
    """By name, without asking."""
    file = str(hooks(shell("exit 2")))
    assert list(bridge(project, "trust", file, "--json").json) == [file]
    assert bridge(project, "run", "--event", "PreToolUse").code == 2
    assert bridge(project, "trust", file, "--remove", "--json").json == {}
    assert bridge(project, "run", "--event", "PreToolUse").code == 0


def test_trust_a_pipe(project):
    """Nobody can agree to what it will say: exit code 1 at once, and nothing is remembered."""
    os.mkfifo(project.folder / ".dsh-hooks.json")
    for arguments in ((), (".dsh-hooks.json",)):
        done = bridge(project, "trust", *arguments)
        assert done.code == 1
        assert "named pipe" in done.err
    assert not (project.folder / "home" / ".config").exists()


def test_a_broken_trust_store(project, hooks):
    """It is named on stderr, by who reads it and by who writes it anew."""
    hooks(shell("exit 2"))
    store = write(project.folder / "home" / ".config" / "dshhooks" / "trusted-hooks.json", "{")
    run = bridge(project, "run", "--event", "PreToolUse")
    assert (run.code, run.err.count(str(store))) == (0, 1)
    assert str(store) in bridge(project, "trust").err
    assert bridge(project, "run", "--event", "PreToolUse").code == 2


def test_trust_a_file_that_is_not_there(project):
    """Exit 1."""
    assert bridge(project, "trust", "missing.json").code == 1


@pytest.mark.parametrize(("answer", "code"), [("y\n", 2), ("n\n", 0)])
def test_a_person_is_asked(project, hooks, answer, code):
    """On a terminal, after the files were shown."""
    hooks(shell("exit 2"))
    home = str(project.folder / "home")
    with Terminal() as terminal:
        process = project.start("bridge", "trust", "--home", home, stdin=terminal.slave, stdout=subprocess.DEVNULL,
                                stderr=terminal.slave)  # fmt: skip
        terminal.detach()
        terminal.wait_for("[y/N]")
        terminal.type(answer)
        terminal.rest()
        process.wait(20)
    assert bridge(project, "run", "--event", "PreToolUse").code == code


def test_trust_this_once(project, hooks):
    """`--trust-project` remembers nothing."""
    hooks(shell("exit 2"))
    assert bridge(project, "run", "--event", "PreToolUse", "--trust-project").code == 2
    assert bridge(project, "run", "--event", "PreToolUse").code == 0


# -- looking -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("strict", "code"), [((), 0), (("--strict",), 1)])
def test_validate_an_unknown_event(project, hooks, strict, code):
    """Case 41: a warning; it fails under --strict only."""
    hooks(shell("true"), event="PreToolUze")
    done = bridge(project, "validate", "--json", *strict)
    assert done.code == code
    assert [(note["level"], note["code"]) for note in done.json] == [("warning", "event-unknown")]


def test_validate_an_error(project, hooks):
    """Exit 1; people get file, pointer, and what to do."""
    hooks({"type": "Command", "command": "touch ran"})
    done = bridge(project, "validate")
    assert done.code == 1
    assert "settings.json#/hooks/PreToolUse/0/hooks/0" in done.out
    assert "command" in done.out
    assert not (project.folder / "ran").exists()


def test_list_and_dump(project, hooks):
    """One line a file; the active groups as one document."""
    file = hooks(shell("true"), matcher="Bash")
    write(project.folder / "home" / ".codex" / "hooks.json", hooks_on("Stop", shell("true")))
    done = bridge(project, "list", "--trust-project")
    assert done.out.splitlines() == [
        f"user\tcodex\t{project.folder}/home/.codex/hooks.json", f"project\tclaude\t{file}"]  # fmt: skip
    document = bridge(project, "dump").json
    assert (document["enabled"], len(document["sources"]), len(document["groups"])) == (True, 2, 1)
    assert set(document["groups"][0]) == {"event", "spelling", "dialect", "source", "matcher", "hooks"}


def test_disabled(project, hooks):
    """Case 54: nothing runs, and `dump` says so."""
    hooks(shell("exit 2"))
    write(project.folder / ".claude" / "settings.local.json", {"disableAllHooks": True})
    document = bridge(project, "dump", "--trust-project").json
    assert (document["enabled"], document["groups"]) == (False, [])
    assert bridge(project, "run", "--event", "PreToolUse", "--trust-project").code == 0


def test_explain(project, hooks):
    """Every configured hook, and why; nothing runs."""
    hooks(shell("touch ran"), matcher="Edit")
    done = bridge(
        project, "explain", "--event", "PreToolUse", "--trust-project", "--json", stdin='{"tool_name": "Bash"}'
    )
    (line,) = done.json
    assert (line["runs"], line["reason"]) == (False, "matcher")
    assert not (project.folder / "ran").exists()


def test_explain_and_execute(project, hooks):
    """With the run of those that fire."""
    hooks(shell("echo no >&2; exit 2"))
    arguments = ("explain", "--event", "PreToolUse", "--trust-project", "--execute")
    (line,) = bridge(project, *arguments, "--json").json
    assert line["run"]["outcome"]["decision"] == "deny"
    assert "deny: no" in bridge(project, *arguments).out


def test_history(project, hooks):
    """What ran, for people and for programs."""
    hooks(shell("exit 2"))
    for _ in range(2):
        bridge(project, "run", "--event", "PreToolUse", "--trust-project", stdin='{"tool_name": "Bash"}')
    assert [record["decision"] for record in bridge(project, "history", "--json").json] == ["deny", "deny"]
    assert len(bridge(project, "history", "--json", "--tail", "1").json) == 1
    assert bridge(project, "history").out.count("Bash") == 2


# -- import --------------------------------------------------------------------------------------------------------


def test_import(project):
    """The native document on stdout, what was lost on stderr; and it runs."""
    file = write(project.folder / "gemini.json", {"hooks": {
        "BeforeTool": [{"matcher": "run_shell_command", "hooks": [shell("exit 2", timeout=5000)]}],
        "BeforeModel": [{"hooks": [shell("true")]}],
    }})  # fmt: skip
    done = bridge(project, "import", str(file), "--from", "gemini")
    assert done.code == 0
    assert "BeforeModel is not imported" in done.err
    native = write(project.folder / ".dsh-hooks.json", done.out)
    run = ("run", "--event", "PreToolUse", "--config", str(native))
    assert bridge(project, *run, stdin='{"tool_name": "Bash"}').code == 2
    assert bridge(project, *run, stdin='{"tool_name": "Read"}').code == 0


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', None])
def test_import_something_else(project, text):
    """Exit 1, and a word about it."""
    if text is not None:
        write(project.folder / "x.json", text)
    done = bridge(project, "import", "x.json", "--from", "cursor")
    assert done.code == 1
    assert done.err


@pytest.mark.parametrize("verb", ["validate", "dump", "list", "explain"])
@pytest.mark.parametrize(
    "switch", [["--plugins", "words"], ["--disable", "words"], ["--no-plugins"]], ids=lambda switch: switch[0]
)
def test_the_switches_of_plugins_stand_before_or_after_a_verb(project, hooks, verb, switch):
    """A hook whose kind a plugin brings is there or not, wherever the switch stands."""
    project.install("words", KIND)
    project.enable("words")
    file = hooks({"type": "words", "word": "x"})
    given = ["--config", str(file), "--json", *(["--event", "PreToolUse"] if verb == "explain" else [])]
    outcomes = [
        (done.code, done.out)
        for done in (
            project.run(*switch, "bridge", verb, *given),
            project.run("bridge", *switch, verb, *given),
            project.run("bridge", verb, *switch, *given),
        )
    ]
    plain = project.run("bridge", verb, *given)
    assert outcomes[1:] == outcomes[:-1]
    if verb != "list":
        assert (outcomes[0] == (plain.code, plain.out)) is (switch[0] == "--plugins")


def test_every_verb_has_help(project):
    """The group lists them all."""
    out = project.run("bridge", "--help").out
    for verb in ("validate", "run", "listen", "dump", "list", "explain", "history", "trust", "import"):
        assert f"  {verb} " in out
    assert json.dumps(bridge(project, "list", "--json").json) == "[]"


@pytest.mark.parametrize(("verb", "said"), [("help", "validate"), ("version", "dshhooks ")])
def test_about_itself(project, verb, said):
    """Its verbs and its version can be asked for as words, as the other programs' users do."""
    done = project.run("bridge", verb)
    assert (done.code, done.err) == (0, "")
    assert said in done.out


def test_every_verb_takes_dialect_and_json(project):
    """decisions.md 7.16: also those that are about no file."""
    verbs = project.run("bridge", "help", "--dialect", "claude", "--json").json
    assert {"validate", "run", "help", "version"} <= verbs.keys()
    for verb in verbs:
        help_text = project.run("bridge", verb, "--help").out
        assert "--dialect" in help_text
        assert "--json" in help_text
    version = project.run("bridge", "version", "--dialect", "claude", "--json").json
    assert project.run("version").out == f"dshhooks {version['version']}\n"
