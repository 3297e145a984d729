"""The kit for plugin authors: what it runs is the real pipeline, and what it finds is true."""

from __future__ import annotations

import subprocess
import sys
import threading

import pytest

from dshhooks import ApprovalOutcome, Ask, Deny, hookimpl, tool
from dshhooks.config import parse_config
from dshhooks.testing import echo_tool, run_call
from dshhooks.testing.conformance import check_plugin


class Says:
    """A plugin that answers every call the same way."""

    def __init__(self, answer, name="says"):
        self.answer, self.name = answer, name

    @hookimpl
    def tools_pre_execute(self, execution):
        return self.answer


def test_without_anything_the_echo_tool_answers():
    """With its arguments; none are an empty object."""
    assert run_call({"a": [1]}).value == {"a": [1]}
    assert run_call().value == {}


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_plugin_takes_part(backend):
    """On either backend."""
    assert run_call(plugins=[Says(Deny("no"))], backend=backend).error.message == "no"


def test_the_first_plugin_is_outermost():
    """As in a configured list."""
    order = []

    class Notes:
        def __init__(self, name):
            self.name = name

        @hookimpl
        def tools_pre_execute(self, execution):
            order.append(self.name)

    run_call(plugins=[Notes("a"), Notes("b")])
    assert order == ["a", "b"]


def test_a_tool_of_ones_own():
    """A @tool function or a definition."""

    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    assert run_call({"a": 1, "b": 2}, tool=add).value == 3
    assert run_call({"a": 1, "b": 2}, tool=add.definition).value == 3
    assert run_call({"x": 1}, tool=echo_tool("other")).value == {"x": 1}


def test_an_approver_answers():
    """When a plugin asks."""
    asked = []

    def answer(request):
        asked.append(request.reason)
        return ApprovalOutcome.ALLOWED_ONCE

    assert not run_call(plugins=[Says(Ask("sure?"))], approver=answer).is_error
    assert asked == ["sure?"]
    assert run_call(plugins=[Says(Ask("sure?"))]).is_error


def test_the_agent_reaches_the_plugins():
    """As execution.agent."""
    agent, seen = object(), []

    class Looks:
        @hookimpl
        def tools_pre_execute(self, execution):
            seen.append(execution.agent)

    run_call(plugins=[Looks()], agent=agent)
    assert seen == [agent]


def test_it_works_from_any_thread():
    """A test runner may have its own."""
    results = []
    thread = threading.Thread(target=lambda: results.append(run_call({"a": 1})))
    thread.start()
    thread.join()
    assert results[0].value == {"a": 1}


def test_the_fixture_is_there_by_itself(tool_registry):
    """The pytest plugin of an installed dshhooks gives a registry with the echo tool."""
    assert [schema["name"] for schema in tool_registry.schemas()] == ["echo"]


UNFINISHED = """
import anyio
from dshhooks.operations import Around, Call, Operation, OperationSet, Outcome, StepData, compile_set

held = []

def started():
    runner = compile_set(OperationSet(around=[Around(Operation.STEP, lambda call: None)]))
    return anyio.run(runner.start, Call(Operation.STEP, StepData(0)))

def test_finishes(finished_operations):
    started().finish(Outcome.COMPLETED)

def test_leaves(finished_operations):
    held.append(started())

def test_drops(finished_operations):
    started()

def test_has_nothing_to_do_with_the_others(finished_operations):
    pass
"""


def test_the_fixture_fails_a_test_that_leaves_an_operation(tmp_path):
    """spec/operations.md F6: a scope that is still held, and one that is not any more."""
    (tmp_path / "test_unfinished.py").write_text(UNFINISHED)
    options = ["-q", "-p", "no:cacheprovider", "-W", "ignore"]
    command = [sys.executable, "-m", "pytest", *options, "test_unfinished.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert "4 passed, 2 errors" in done.stdout
    assert "<Scope of step, started>" in done.stdout
    assert "a scope of step was dropped unfinished" in done.stdout


def test_findings_come_in_order_and_stop_where_the_rest_is_pointless(tmp_path):
    """Nothing is checked about what cannot be imported."""
    file = tmp_path / "broken.py"
    file.write_text("raise ValueError('no luck')")
    [finding] = check_plugin(str(file))
    assert not finding.ok
    assert "no luck" in finding.detail


def test_options_come_from_the_configuration(tmp_path):
    """A plugin that needs an option is made with it; one in a file is called after the file."""
    file = tmp_path / "needs.py"
    file.write_text(
        "from attrs import frozen\nfrom dshhooks import hookimpl\n@frozen\nclass Options:\n    token: str\n"
        "class Needs:\n    def __init__(self, options: Options): ...\n    @hookimpl\n    def tools_change(self): ...\n"
    )
    assert not all(finding.ok for finding in check_plugin(str(file)))
    assert all(finding.ok for finding in check_plugin(str(file), parse_config({"plugin": {"needs": {"token": "x"}}})))


def test_checking_leaves_nothing_behind(tmp_path):
    """A file that cannot be imported is not half a module."""
    import sys

    before = set(sys.modules)
    file = tmp_path / "half.py"
    file.write_text("x = 1\nraise SystemExit\n")
    check_plugin(str(file))
    assert not [name for name in set(sys.modules) - before if "half" in name]


def test_a_plugin_that_never_answers_is_found_out(tmp_path, monkeypatch):
    """The check ends."""
    monkeypatch.setattr("dshhooks.testing.conformance.PATIENCE", 0.05)
    file = tmp_path / "sleepy.py"
    file.write_text(
        "import anyio\nfrom dshhooks import hookimpl\n@hookimpl\nasync def tools_pre_execute(execution):\n"
        "    await anyio.sleep_forever()\n"
    )
    last = check_plugin(str(file))[-1]
    assert not last.ok
    assert "took longer than" in last.detail
