"""dshhooks.operations.providers: several sets, one (spec/operations.md §2)."""

from __future__ import annotations

import pytest

from dshhooks.operations import (
    Around,
    Guard,
    Operation,
    OperationConfigError,
    OperationSet,
    Provider,
    compose,
    validate_set,
)
from dshhooks.operations import compose_revisions as revisions
from tests.operations.kit import allow


def guarded(name: str, revision: str) -> Provider:
    """A provider with a guard."""
    return Provider(name, OperationSet(revision, [Guard(Operation.TURN, allow)]))


def test_one_provider_s_revision_is_kept():
    """Verbatim; providers without guards do not count."""
    observer = Provider("o", OperationSet("", [], [Around(Operation.STEP, allow)]))
    assert compose([]).policy_revision == ""
    assert compose([observer]).policy_revision == ""
    assert compose([observer, guarded("a", " v1 "), observer]).policy_revision == " v1 "


def test_the_digest_of_several():
    """A golden vector: what a session's start keeps must mean the same for ever."""
    composed = compose([guarded("a", "v1"), guarded("b", "v2")])
    validate_set(composed)
    assert composed.policy_revision == revisions([("a", "v1"), ("b", "v2")])
    assert composed.policy_revision == GOLDEN
    assert len(composed.guards) == 2


GOLDEN = "sha256:72bca6351e71275ad03cc63f6fce09c420f48757b5d9c5c2c01d5b4cf6869762"


def test_nothing_is_mixed_up():
    """Order, names, revisions and where one part ends all count."""
    lists = [
        [("a", "v1"), ("b", "v2")], [("b", "v2"), ("a", "v1")], [("a", "v2"), ("b", "v1")], [("av", "1"), ("b", "v2")],
        [("a", "v1b"), ("v", "2")], [("a", "v1"), ("b", "v2"), ("c", "v3")], [("a", "v1"), ("b", "v22")],
    ]  # fmt: skip
    assert len({revisions(pairs) for pairs in lists}) == len(lists)
    assert revisions([("\ud800", "v1"), ("b", "v2")]).startswith("sha256:")


def test_a_bad_provider_is_named():
    """The error is the set's own, with a note."""
    with pytest.raises(OperationConfigError) as caught:
        compose([guarded("good", "v1"), guarded("bad", "")])
    assert caught.value.kind == "missing_policy_revision"
    assert caught.value.__notes__ == ["in the operations of 'bad'"]
    with pytest.raises(OperationConfigError):
        revisions([("a", "v1"), ("b", " ")])
