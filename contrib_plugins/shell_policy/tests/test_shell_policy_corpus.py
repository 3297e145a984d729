"""The corpora: everything dangerous is caught, nothing everyday is."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from hookspecs.decisions import Allow, Ask, Deny

from dshhooks_shell_policy import classify

_SPEC = importlib.util.spec_from_file_location("shell_policy_corpus", Path(__file__).with_name("corpus.py"))
corpus = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(corpus)

DANGEROUS = corpus.load("corpus_dangerous.txt")
BENIGN = corpus.load("corpus_benign.txt")


def _kinds(pairs):
    return sorted({kind for kind, _ in pairs})


@pytest.mark.parametrize("kind", _kinds(DANGEROUS))
def test_dangerous_commands_are_caught(kind):
    """No command of a dangerous kind is allowed."""
    allowed = [command for k, command in DANGEROUS if k == kind and isinstance(classify(command), Allow)]
    assert allowed == []


@pytest.mark.parametrize("kind", _kinds(BENIGN))
def test_everyday_commands_pass(kind):
    """No command of a benign kind is asked about or denied."""
    stopped = [(command, classify(command)) for k, command in BENIGN if k == kind]
    assert [pair for pair in stopped if not isinstance(pair[1], Allow)] == []


def test_the_corpora_are_large_enough():
    """Several hundred commands a side, or the two tests above say little."""
    assert len(DANGEROUS) > 700
    assert len(BENIGN) > 700


def test_every_reason_is_told():
    """A stopped command says why, without the placeholder for unresolved text."""
    for _, command in DANGEROUS:
        decision = classify(command)
        assert isinstance(decision, (Ask, Deny))
        assert decision.reason
        assert "\ue000" not in decision.reason


def test_nothing_in_the_corpora_breaks_the_judge():
    """Fail-closed answers for broken rules do not hide behind a passing corpus."""
    broken = [c for _, c in DANGEROUS + BENIGN if "could not be judged" in (getattr(classify(c), "reason", "") or "")]
    assert broken == []
