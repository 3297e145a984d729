"""dshhooks.operations.declare: sets, and what is wrong with them (spec/operations.md 1.2)."""

from __future__ import annotations

import sys
import unicodedata
from typing import Any

import pytest

from dshhooks.operations import (
    Around,
    Guard,
    Manifest,
    Operation,
    OperationConfigError,
    OperationSet,
    Outcome,
    compile_set,
    validate_set,
)
from tests.operations.kit import GUARDABLE, OTHERS, allow, call


class Text(str):
    pass


def refused(declared: OperationSet) -> tuple[Any, ...]:
    """What is said about a malformed set."""
    with pytest.raises(OperationConfigError) as caught:
        validate_set(declared)
    error = caught.value
    return error.kind, error.field, error.index, error.operation


def test_guardable():
    """Case 1: exactly turn, inference, compaction and tool_call."""
    assert tuple(each for each in Operation if each.guardable) == GUARDABLE


def test_outcomes():
    """Case 2: four, and no other word is one."""
    assert [str(each) for each in Outcome] == ["completed", "denied", "failed", "canceled"]
    with pytest.raises(ValueError, match="odd"):
        Outcome("odd")


def test_an_empty_set():
    """Case 3: passes, and names no policy."""
    validate_set(OperationSet())
    assert compile_set(OperationSet()).policy_revision == Manifest().hook_policy_rev == ""


def test_a_full_set():
    """Case 4: guards wherever they may be, observers everywhere."""
    guards, around = [Guard(each, allow) for each in GUARDABLE], [Around(each, allow) for each in Operation]
    validate_set(OperationSet("v1", guards, around))


@pytest.mark.parametrize("operation", ["nonsense", "tool_call", None, 7, Text("turn")])
def test_a_guard_for_an_unknown_operation(operation):
    """Case 5: only a member of Operation is one; the entry's place is said."""
    good = Guard(Operation.TURN, allow)
    assert refused(OperationSet("v1", [good, Guard(operation, allow)]))[:3] == ("unknown_operation", "guards", 1)


@pytest.mark.parametrize("operation", OTHERS)
def test_a_guard_for_what_cannot_be_refused(operation):
    """Case 6: the other four can be observed only."""
    expected = ("operation_not_guardable", "guards", 0, operation)
    assert refused(OperationSet("v1", [Guard(operation, allow)])) == expected


def _generator(_call):
    yield


async def _async_generator(_call):
    yield


@pytest.mark.parametrize("check", [None, "deny", 7, _generator, _async_generator])
def test_a_guard_without_a_callable(check):
    """Case 7: nothing to ask; a function with `yield` would never run."""
    assert refused(OperationSet("v1", [Guard(Operation.TURN, check)])) == ("nil_guard", "guards", 0, Operation.TURN)


@pytest.mark.parametrize("entry", [None, allow, Operation.TURN])
def test_an_entry_that_is_no_guard(entry):
    """Case 7: a bare function does not say what it guards."""
    assert refused(OperationSet("v1", [entry])) == ("nil_guard", "guards", 0, None)


async def _async(_call):
    pass


class AsyncCallable:
    async def __call__(self, _call):
        pass


@pytest.mark.parametrize(
    ("entry", "kind"),
    [
        (Around("nonsense", allow), "unknown_operation"),
        (Around(Operation.STEP, None), "nil_around"),
        (allow, "nil_around"),
        (Around(Operation.STEP, _async), "async_around"),
        (Around(Operation.STEP, AsyncCallable()), "async_around"),
        (Around(Operation.STEP, _async_generator), "async_around"),
    ],
)
def test_a_bad_observer(entry, kind):
    """Case 8: field `around`, with its place; `async def` could never be called correctly."""
    assert refused(OperationSet("", [], [Around(Operation.STEP, _generator), entry]))[:3] == (kind, "around", 1)


def test_a_coroutine_function_may_guard():
    """D3: guards may wait."""
    validate_set(OperationSet("v1", [Guard(Operation.TURN, _async)]))


REVISION = ("policy_revision", 0, None)


def revised(revision: Any) -> OperationSet:
    """A set with a guard."""
    return OperationSet(revision, [Guard(Operation.TURN, allow)])


@pytest.mark.parametrize("revision", ["", " ", " \t", "\u3000"])
def test_a_missing_revision(revision):
    """Cases 9 and 10: empty or blank is missing, also with a tab in it."""
    assert refused(revised(revision)) == ("missing_policy_revision", *REVISION)


@pytest.mark.parametrize(
    "revision", ["\ud800", "v\n1", "v\u0085", "\x7f1", "a" * 129, "é" * 65, "v\x1f", None, 7, b"v1", Text("v1")]
)
def test_an_invalid_revision(revision):
    """Case 12: control characters, lone surrogates, more than 128 bytes, and everything that is no plain str."""
    assert refused(revised(revision)) == ("invalid_policy_revision", *REVISION)


@pytest.mark.parametrize("revision", ["v", " v1 ", "a" * 128, "é" * 64, "\u200b"])
def test_a_good_revision(revision):
    """V2: bytes count, and nothing is trimmed."""
    assert compile_set(revised(revision)).policy_revision == revision


def test_control_characters_are_category_cc():
    """V2: all 65 of them, and nothing else that is not blank or a surrogate."""
    for number in range(sys.maxunicode + 1):
        if unicodedata.category(chr(number)) == "Cc":
            assert refused(revised(f"v{chr(number)}"))[0] == "invalid_policy_revision"
    validate_set(revised("v\u00ad\u200e\u2028"))


@pytest.mark.parametrize("revision", ["v1", " ", "\n"])
def test_a_revision_without_guards(revision):
    """Case 13: observers do not justify one."""
    declared = OperationSet(revision, [], [Around(Operation.TURN, allow)])
    assert refused(declared) == ("unexpected_policy_revision", *REVISION)


def test_the_first_problem_is_reported():
    """V1 before V3 before V4."""
    bad = [Guard("x", allow)]
    assert refused(OperationSet("", bad, [None]))[0] == "missing_policy_revision"
    assert refused(OperationSet("v1", bad, [None]))[1] == "guards"


def test_a_mapping_is_no_list():
    """Position is the contract, so there must be one."""
    with pytest.raises(OperationConfigError, match="guards: a list"):
        OperationSet("v1", {Operation.TURN: allow})


@pytest.mark.anyio
async def test_lists_are_copied():
    """Case 15: replacing an entry afterwards changes nothing."""
    seen: list[str] = []
    around = [Around(Operation.TURN, lambda _call: seen.append("first"))]
    runner = compile_set(OperationSet("", [], around))
    around[0] = Around(Operation.TURN, lambda _call: seen.append("second"))
    (await runner.start(call(Operation.TURN))).finish(Outcome.COMPLETED)
    assert seen == ["first"]
