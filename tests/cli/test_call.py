"""``dshhooks call``: exit codes, the JSON document, the tree, and bad input."""

from __future__ import annotations

import json

import pytest

from tests.cli.kit import ASK
from tests.plugins.kit import DENY, OPTIONS, TOOL

# A plugin with tools of every kind of ending, which also writes to stdout where it should not.
TOOLS = """
import sys
from dshhooks import HarnessError, hookimpl, tool

print("noise while importing")

@tool
def shout(text: str) -> str:
    print("noise while running")
    return text.upper()

@tool
def count(n: int) -> dict[str, int]:
    return {"n": n}

@tool
def fail(code: str = "") -> str:
    raise HarnessError("it went wrong", code) if code else ValueError("just wrong")

@tool
def leave() -> str:
    sys.exit(7)

@tool(render=lambda args, value: "deep")
def deep(levels: int) -> list:
    value = []
    for _ in range(levels):
        value = [value]
    return value

@tool
def surrogate() -> str:
    return "\\ud800 and \\x1b[31mred"

class Plugin:
    @hookimpl
    def register_tools(self, registry):
        for one in (shout, count, deep, fail, leave, surrogate):
            registry.register(one)
"""


@pytest.fixture
def tools(project):
    """A project with the tools above."""
    project.install("tools", TOOLS)
    project.enable("tools")
    return project


# -- endings -------------------------------------------------------------------------------------------------------


def test_a_call_that_works(tools):
    """Exit 0, the content on stdout."""
    done = tools.run("call", "shout", '{"text": "hello"}')
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith("HELLO\n")


def test_a_call_that_fails(tools):
    """Exit 1; what happened is on stderr, with its code."""
    done = tools.run("call", "fail", '{"code": "BUSY"}')
    assert done.code == 1
    assert "failed [BUSY]: it went wrong" in done.err
    assert "wrong" not in done.out


def test_a_tool_that_raises_or_exits_only_fails(tools):
    """Exit 1 in either case; a tool cannot choose our exit code."""
    assert tools.run("call", "fail").code == 1
    done = tools.run("call", "leave")
    assert done.code == 1
    assert "Traceback" not in done.err


def test_a_call_that_is_denied(tools):
    """Exit 2; the reason is on stderr, and the tool never ran."""
    module = tools.install("strict", DENY)
    tools.enable("strict", "tools")
    done = tools.run("call", "shout", '{"text": "x"}')
    assert done.code == 2
    assert f"denied: {module}" in done.err
    assert "noise while running" not in done.out


GUARD = """
from dshhooks import deny, hookimpl

class Plugin:
    policy_revision = "1"

    @hookimpl
    def operation_guard(self, call):
        if "broken" in call.payload.arguments:
            raise ValueError("hunter" + "2")
        return deny("test.no", "not today")
"""


def test_a_call_that_an_operation_guard_denies(tools):
    """Exit 2 like every other no, with its reason; the document says deny."""
    tools.install("keeper", GUARD)
    tools.enable("keeper", "tools")
    done = tools.run("call", "shout", '{"text": "x"}')
    assert (done.code, "denied: denied: not today" in done.err) == (2, True)
    assert tools.run("call", "shout", '{"text": "x"}', "--json").json["decision"] == "deny"


@pytest.mark.parametrize("shadow", ["", 'shadow = ["keeper"]'])
def test_an_operation_guard_that_breaks(tools, shadow):
    """spec/operations.md X1: nothing of what it raised is on any stream, traced or not."""
    tools.install("keeper", GUARD)
    tools.enable("keeper", "tools", more=shadow)
    for flags in ((), ("--trace",), ("--trace", "--json")):
        done = tools.run("call", "shout", '{"text": "broken"}', *flags)
        assert done.code == (0 if shadow else 2)
        assert "hunter2" not in done.out + done.err


def test_arguments_that_do_not_fit(tools):
    """Exit 1 with the path of the argument."""
    done = tools.run("call", "count", '{"n": "many"}')
    assert done.code == 1
    assert "INVALID_ARGS" in done.err
    assert "n" in done.err


@pytest.mark.parametrize("document", ["[1]", "5", "null", '"text"'])
def test_arguments_that_are_no_object(tools, document):
    """JSON, but not what a tool takes."""
    done = tools.run("call", "count", document)
    assert done.code == 1
    assert "INVALID_ARGS" in done.err


def test_an_unknown_tool(tools):
    """Exit 1; the tools there are."""
    done = tools.run("call", "shuot", "{}")
    assert done.code == 1
    assert "UNKNOWN_TOOL" in done.err
    assert "hint: tools of the loaded plugins:" in done.err
    assert "shout" in done.err


def test_an_unknown_tool_may_belong_to_a_plugin_that_is_off(tools):
    """The hint names the plugins that are not loaded."""
    done = tools.run("call", "shout", '{"text": "x"}', "--disable", "tools")
    assert "hint: tools of the loaded plugins: none; not loaded: " in done.err
    assert "the plugin `workspace-tools` brings bash, " in done.err
    assert "tools" in done.err.partition("not loaded: ")[2]


def test_without_plugins_there_are_no_tools(tools):
    """--no-plugins means it."""
    done = tools.run("call", "shout", '{"text": "x"}', "--no-plugins")
    assert done.code == 1
    assert "tools of the loaded plugins: none" in done.err


# -- arguments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["{", "", "{'a': 1}", '{"a": NaN}', '{"a": 1e999}', "{} {}", "nonsense"])
def test_bad_json(tools, text):
    """Exit 1, a usage error that shows what is meant; nothing runs."""
    done = tools.run("call", "shout", text)
    assert done.code == 1
    assert "Usage:" in done.err
    assert "JSON: " in done.err
    assert "for example '{" in done.err
    assert "Traceback" not in done.err
    assert done.out == ""


def test_json_that_is_too_deep(tools):
    """No traceback."""
    done = tools.run("call", "shout", "-", stdin="[" * 200_000)
    assert done.code == 1
    assert "JSON: " in done.err
    assert "Traceback" not in done.err


def test_arguments_from_stdin(tools):
    """`-` reads them there, in UTF-8 whatever the locale says."""
    done = tools.run("call", "shout", "-", "--json", stdin='{"text": "größe"}'.encode(), env={"LC_ALL": "C"})
    assert done.json["value"] == "GRÖSSE"


def test_stdin_that_is_no_text(tools):
    """Exit 1 with a usage error."""
    done = tools.run("call", "shout", "-", stdin=b'{"text": "\xff"}')
    assert done.code == 1
    assert "JSON: " in done.err
    assert "Traceback" not in done.err


def test_an_empty_stdin(tools):
    """Nothing is not a document."""
    assert tools.run("call", "shout", "-").code == 1


def test_without_arguments_they_are_empty(tools):
    """A tool without parameters needs none."""
    assert tools.run("call", "surrogate").code == 0


def test_surrogates_in_and_out(tools):
    """They pass the pipeline; what no encoding has becomes a question mark on stdout, and stays in JSON."""
    assert tools.run("call", "surrogate").out.startswith("noise while importing\n? and ")
    assert tools.run("call", "surrogate", "--json").json["value"] == "\ud800 and \x1b[31mred"


# -- the document --------------------------------------------------------------------------------------------------

KEYS = {"is_error", "value", "content", "error", "decision", "contexts", "trace"}


def test_the_document_of_a_success(tools):
    """One document, whatever plugins print; absent parts are null."""
    done = tools.run("call", "count", '{"n": 3}', "--json")
    assert done.code == 0
    assert done.json.keys() == KEYS
    assert (done.json["is_error"], done.json["value"], done.json["error"]) == (False, {"n": 3}, None)
    assert done.json["content"] == [{"type": "text", "text": '{"n":3}'}]
    assert (done.json["decision"], done.json["contexts"]) == ("allow", [])
    assert "noise while importing" in done.err


def test_the_document_of_a_failure(tools):
    """Message, name and code."""
    done = tools.run("call", "fail", '{"code": "BUSY"}', "--json")
    assert done.code == 1
    assert done.json["value"] is None
    assert done.json["error"] == {"message": "it went wrong", "name": "HarnessError", "code": "BUSY"}


def test_the_document_of_a_failure_without_a_code(tools):
    """A foreign exception has neither name nor code."""
    assert tools.run("call", "fail", "--json").json["error"] == {"message": "just wrong", "name": None, "code": None}


def test_the_document_of_a_denial(tools):
    """Exit 2 and decision deny."""
    module = tools.install("strict", DENY)
    tools.enable("strict", "tools")
    done = tools.run("call", "count", '{"n": 3}', "--json")
    assert done.code == 2
    assert (done.json["decision"], done.json["error"]["message"]) == ("deny", module)
    [record] = [record for record in done.json["trace"] if record["plugin"] == "strict"]
    assert (record["hook"], record["outcome"]) == ("tools_pre_execute", "deny")
    assert record["seconds"] >= 0


def test_the_document_of_a_deep_value(tools):
    """A value may nest deeper than Python recurses."""
    done = tools.run("call", "deep", '{"levels": 20000}', "--json")
    assert done.code == 0, done.err
    assert '"value":' + "[" * 20001 + "]" * 20001 in done.out


def test_the_document_is_ascii(tools):
    """No terminal or pipe can break it."""
    assert tools.run("call", "surrogate", "--json").out.isascii()


# -- asking --------------------------------------------------------------------------------------------------------


@pytest.fixture
def asking(tools):
    """A project where every call is asked about."""
    tools.install("ask", ASK)
    tools.enable("ask", "tools")
    return tools


def test_without_a_terminal_the_answer_is_no(asking):
    """Exit 2, and it is said what was asked, why nobody could answer, and what to do."""
    done = asking.run("call", "count", '{"n": 1}')
    assert done.code == 2
    assert "asked: count: is this fine? -> no (there is no terminal to ask on; --approve yes would let" in done.err


def test_an_answer_can_be_given_beforehand(asking):
    """--approve yes and no."""
    assert asking.run("call", "count", '{"n": 1}', "--approve", "yes").code == 0
    assert asking.run("call", "count", '{"n": 1}', "--approve", "no").code == 2
    assert asking.run("call", "count", '{"n": 1}', "--approve", "maybe").code == 1


def test_the_answer_is_in_the_trace(asking):
    """Asked, and allowed once."""
    trace = asking.run("call", "count", '{"n": 1}', "--approve", "yes", "--json").json["trace"]
    outcomes = {(record["hook"], record["outcome"]) for record in trace}
    assert {("tools_pre_execute", "ask"), ("approval", "allowed-once"), ("policy", "allow")} <= outcomes


def test_policy_never_rejects_unasked(asking):
    """`[approval] policy = "never"` wins over --approve yes."""
    asking.enable("ask", "tools", more='[approval]\npolicy = "never"\n')
    done = asking.run("call", "count", '{"n": 1}', "--approve", "yes")
    assert done.code == 2
    assert "asked:" not in done.err


# -- the tree ------------------------------------------------------------------------------------------------------


def test_the_tree_says_who_decided_what(tools):
    """One line for each implementation and phase, nested, with outcome and time, plain in a pipe."""
    module = tools.install("strict", DENY)
    tools.enable("strict", "tools")
    done = tools.run("call", "count", '{"n":   3}', "--trace")
    lines = [line for line in done.out.splitlines() if "noise" not in line]
    assert lines[0] == 'count {"n":3}'
    assert lines[1].startswith(f"└─ policy  deny — {module}  ")
    assert lines[2].startswith(f"   └─ tools_pre_execute · strict  deny — {module}  ")
    assert lines[1].endswith(("µs", "ms", " s"))
    assert "\x1b" not in done.out + done.err


def test_what_a_plugin_says_cannot_steer_the_terminal(tools):
    """Escape sequences and line breaks in a reason are shown, not obeyed."""
    evil = DENY.replace("__name__", r"'no\x1b[2J\x1b]0;title\x07\nallowed: everything \u202e'")
    tools.install("evil", evil)
    tools.enable("evil", "tools")
    done = tools.run("call", "count", '{"n": 1}', "--trace", env={"LC_ALL": "C.UTF-8"})
    assert done.code == 2
    assert "no\\x1b[2J\\x1b]0;title\\x07 allowed: everything" in done.out
    assert not set("\x1b\x07\u202e") & set(done.out + done.err)


# -- configuration -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[plugins", "not valid TOML"),
        ("[plugins]\nenabel = []\n", "plugins.enabel: unknown key (did you mean 'enable'?)"),
        ("[plugins]\nenable = ['tols']\n", "unknown plugin 'tols'"),
        ("[plugins]\nrequired = ['tools>=2']\n", "required plugin 'tools>=2': installed is"),
        ("[plugins]\nrequired = ['tools[x]']\n", "plugins.required"),
        ("[plugins]\nrequired = ['tools']\ndisable = ['tools']\n", "required plugin 'tools' is disabled"),
        ("[plugin.tools]\nx = 1\n", "plugin.tools: this plugin takes no options"),
        ("[agent]\nmax_parallel_tool_calls = 0\n", "agent.max_parallel_tool_calls: must be at least 1"),
    ],
)
def test_a_wrong_configuration_stops_the_call(tools, text, said):
    """Exit 1 with file and key; nothing runs."""
    tools.configure(text)
    done = tools.run("call", "shout", '{"text": "x"}', "--json")
    assert done.code == 1
    assert done.out == ""
    assert "error: " in done.err
    assert said in done.err
    assert "Traceback" not in done.err
    assert "running" not in done.err


def test_a_required_plugin_that_is_broken_stops_the_call(tools):
    """Fail closed."""
    tools.install("guard", "raise ValueError('no luck')")
    tools.configure("[plugins]\nenable = ['guard', 'tools']\nrequired = ['guard']\n")
    done = tools.run("call", "shout", '{"text": "x"}')
    assert done.code == 1
    assert "required plugin 'guard' is failed: importing" in done.err
    assert "noise while running" not in done.out


def test_a_broken_plugin_is_reported_and_left_out(tools):
    """A warning on stderr; the call runs."""
    tools.install("broken", "raise ValueError('no luck')")
    tools.enable("broken", "tools")
    done = tools.run("call", "shout", '{"text": "x"}', "--json")
    assert done.code == 0
    assert done.json["value"] == "X"
    assert "dshhooks: plugin 'broken' was not loaded" in done.err
    assert "no luck" in done.err


def test_a_wrong_option_stops_the_call(tools):
    """With the path of its key."""
    tools.install("opts", OPTIONS)
    tools.enable("opts", "tools", more="[plugin.opts]\nattempts = 'x'\n")
    done = tools.run("call", "shout", '{"text": "x"}')
    assert done.code == 1
    assert "plugin.opts.attempts: must be a whole number, not 'x'" in done.err


def test_nonsense_from_a_plugin_is_its_failure(tools):
    """INVALID_DECISION names plugin and hook; the call does not run."""
    tools.install("odd", DENY.replace("Deny(__name__)", "'yes'"))
    tools.enable("odd", "tools")
    done = tools.run("call", "shout", '{"text": "x"}')
    assert done.code == 2
    assert "INVALID_DECISION" in done.err
    assert "'odd'" in done.err
    assert "noise while running" not in done.out


def test_a_call_works_in_any_folder(tools):
    """Also below the one with the configuration."""
    tools.install("greeter", TOOL)
    tools.enable("greeter")
    below = tools.folder / "a" / "b"
    below.mkdir(parents=True)
    tools.folder = below
    assert json.loads(tools.run("call", "greet", '{"name": "you"}', "--json").out)["value"] == "hello you"
