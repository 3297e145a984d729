"""dshhooks.operations.manifest, .drift: what a session goes on under (spec/operations.md 1.17)."""

from __future__ import annotations

import json

import attrs
import pytest

from dshhooks.operations import (
    Assessment,
    DriftChange,
    DriftRejectedError,
    Manifest,
    OperationConfigError,
    Severity,
    accepts_without_warning,
    assess_drift,
    decide,
    validate_manifest,
)
from hookspecs.json import freeze

FULL = Manifest("coder", "openai/gpt", ("bash", "edit"), ("retry", "policy"), "v1")
POLICY = DriftChange("hook_policy", Severity.WARN, "v1", "v2")


def test_golden_fingerprints():
    """R2: durable; these must never change."""
    assert Manifest().fingerprint() == EMPTY_2
    assert FULL.fingerprint() == FULL_2
    assert attrs.evolve(FULL, schema=1).fingerprint() == FULL_1


EMPTY_2 = "faaa37687f1ce87dc98a4ebb4cafec174182a47aaf4d65f54e3e1248b5b39c91"
FULL_2 = "8ebac5648c24a15c566c964cb4003986a5ba36530b6514f92a66220c125e5413"
FULL_1 = "8933372dc843c500d3f67dde36df7f3286299fcec5febe7c946591350237232a"


@pytest.mark.parametrize("name", [field.name for field in attrs.fields(Manifest)])
def test_every_field_counts(name):
    """R2: a changed field is another fingerprint; so is a field's text in its neighbour."""
    value = {"tools": ("x",), "plugins": ("x",), "schema": 1}.get(name, "x")
    assert attrs.evolve(FULL, **{name: value}).fingerprint() != FULL.fingerprint()
    assert Manifest("ab", "c").fingerprint() != Manifest("a", "bc").fingerprint()
    assert Manifest(tools=("a",)).fingerprint() != Manifest(plugins=("a",)).fingerprint()


def test_collections_have_no_order():
    """R2: sorted, once each."""
    assert Manifest(tools=["b", "a", "b"]) == Manifest(tools=("a", "b"))


def test_a_policy_counts_and_observers_do_not():
    """Cases 3, 126 and 127: a new revision is another fingerprint, none is the empty one."""
    assert Manifest(hook_policy_rev="v1").fingerprint() != Manifest(hook_policy_rev="v2").fingerprint()
    assert Manifest(hook_policy_rev="").to_json() == {"schema": 2, "agent": "", "model": "", "tools": [], "plugins": []}


def test_an_old_manifest():
    """Case 131: with a revision it is refused; its fingerprint does not cover one."""
    old = attrs.evolve(FULL, schema=1)
    assert old.fingerprint() == attrs.evolve(old, hook_policy_rev="").fingerprint()
    with pytest.raises(OperationConfigError) as caught:
        validate_manifest(old)
    assert (caught.value.kind, caught.value.field) == ("invalid_manifest", "hook_policy_rev")
    validate_manifest(attrs.evolve(old, hook_policy_rev=""))


def test_it_is_recorded_and_read_back():
    """R1: through JSON and through frozen JSON; unknown keys are left alone."""
    for manifest in (Manifest(), FULL):
        data = json.loads(json.dumps(manifest.to_json()))
        assert Manifest.from_json({**data, "later": 1}) == manifest
        assert Manifest.from_json(freeze(data)) == manifest


@pytest.mark.parametrize(
    "data",
    [
        {"schema": 3}, {"schema": 0}, {"schema": True}, {"agent": 7}, {"tools": "bash"}, {"tools": [1]},
        {"hook_policy_rev": "v1"}, {"schema": 2, "hook_policy_rev": " "}, {"schema": 2, "hook_policy_rev": "a\n"},
    ],
)  # fmt: skip
def test_a_malformed_record(data):
    """Nothing is guessed."""
    with pytest.raises(OperationConfigError):
        Manifest.from_json(data)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"schema": "2"}, "invalid_manifest"), ({"schema": True}, "invalid_manifest"),
        ({"schema": None}, "invalid_manifest"),
        ({"schema": 3}, "invalid_manifest"), ({"agent": 7}, "invalid_manifest"), ({"model": None}, "invalid_manifest"),
        ({"tools": (7, 8)}, "invalid_manifest"), ({"hook_policy_rev": 0}, "invalid_policy_revision"),
        ({"hook_policy_rev": "\n"}, "missing_policy_revision"),
    ],
)  # fmt: skip
def test_a_malformed_manifest(changes, kind):
    """R2: the same is refused, in the same way, of one that was made here."""
    with pytest.raises(OperationConfigError) as caught:
        validate_manifest(attrs.evolve(FULL, **changes))
    assert caught.value.kind == kind


@pytest.mark.parametrize(("old", "new"), [("v1", "v2"), ("", "v1"), ("v1", "")])
def test_policy_drift(old, new):
    """Case 128, R3: in any direction one change, a warning."""
    found = assess_drift(Manifest(hook_policy_rev=old), Manifest(hook_policy_rev=new))
    assert found.changes == (DriftChange("hook_policy", Severity.WARN, old, new),)


def test_a_session_from_before():
    """R3: without a manifest only the policy counts; it had none."""
    assert assess_drift(None, Manifest("a", "m", ("t",))).changes == ()
    assert assess_drift(None, FULL).changes == (DriftChange("hook_policy", Severity.WARN, "", "v1"),)


def test_an_assessment_is_its_changes():
    """R3: whoever only wants to know what has changed, or whether, need not unpack it."""
    found = assess_drift(Manifest(hook_policy_rev="v1"), Manifest(hook_policy_rev="v2"))
    assert (list(found), len(found), bool(found)) == ([POLICY], 1, True)
    assert not assess_drift(FULL, FULL)


def test_other_drift():
    """Told, sorted, and nobody has to agree."""
    found = assess_drift(FULL, Manifest("x", "y", ("z",), (), "v1"))
    assert [change.category for change in found.changes] == ["agent", "model", "plugins", "tools"]
    assert accepts_without_warning(found)
    assert decide(found) is True
    assert assess_drift(FULL, FULL) == Assessment()
    assert decide(Assessment()) is False


def test_the_default_refuses_another_policy():
    """Case 128, R4: unless it is allowed; accepted, it has to be recorded."""
    found = Assessment((POLICY,))
    with pytest.raises(DriftRejectedError, match=r"'v1' -> 'v2'.*allow_policy_drift=True") as caught:
        decide(found)
    assert caught.value.assessment is found
    assert decide(found, allow_policy_drift=True) is True


def test_an_allowed_policy_allows_nothing_else():
    """R4: the option is about the policy only."""
    with pytest.raises(DriftRejectedError):
        decide(Assessment((POLICY, DriftChange("other", Severity.WARN, 1, 2))), allow_policy_drift=True)


def test_a_decider():
    """R4: gets everything; only True is yes; raising is no, and its cause is kept."""
    found, seen, error = Assessment((POLICY,)), [], ValueError("x")
    assert decide(found, decider=lambda given: seen.append(given) is None) is True
    assert seen == [found]
    for no in (False, None, 1, "yes"):
        with pytest.raises(DriftRejectedError):
            decide(found, decider=lambda _given, no=no: no)

    def broken(_given):
        raise error

    with pytest.raises(DriftRejectedError) as caught:
        decide(found, decider=broken)
    assert caught.value.__cause__ is error


def test_a_decider_that_waits():
    """R4: nobody waits for it, so it has not decided; that is said, and no coroutine is left behind."""

    async def later(_given):
        return True

    with pytest.raises(DriftRejectedError) as caught:
        decide(Assessment((POLICY,)), decider=later)
    assert "plain `def`" in str(caught.value.__cause__)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (("a", "b"), ("b", "c", "d"), "plugins: -a +c +d"),
        (("a", "b"), ("b", "a"), "plugins: a, b -> b, a"),
        ((), ("a",), "plugins: +a"),
        ("", "v1", "plugins: none -> 'v1'"),
    ],
    ids=["list", "order", "first", "label"],
)
def test_a_change_in_words(old, new, said):
    """Of a list, what went and what came; a person looks for one plugin among twenty."""
    assert str(DriftChange("plugins", Severity.INFO, old, new)) == said
