"""The failures measured in other frameworks do not happen here (benchmarks/probes.py)."""

from __future__ import annotations

import pytest

from benchmarks.probes import AMOUNT, PROBES, observe_ours

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", PROBES)
async def test_our_side_of_every_probe_is_good(name: str) -> None:
    """What a probe observes in our pipeline is what a host can rely on."""
    probe = PROBES[name]
    seen = await observe_ours(probe.plugins)
    assert probe.good(seen), f"wanted: {probe.wanted}; observed: {seen.text}"


async def test_rewritten_arguments_never_reach_the_body() -> None:
    """A later interceptor cannot change what a policy judged: the body runs with exactly that."""
    seen = await observe_ours(PROBES["rewrite"].plugins)
    assert seen.ran_with == (AMOUNT,)
    assert not seen.is_error


@pytest.mark.parametrize("name", ["policy-raises", "exit"])
async def test_a_broken_policy_denies_with_plugin_failed(name: str) -> None:
    """A policy that raises or exits fails the call, says so by its code, and the body never runs."""
    seen = await observe_ours(PROBES[name].plugins)
    assert (seen.code, seen.ran_with, seen.raised) == ("PLUGIN_FAILED", (), "")


async def test_nonsense_is_an_invalid_decision() -> None:
    """An answer that is no decision fails the call with a code of its own."""
    seen = await observe_ours(PROBES["nonsense"].plugins)
    assert (seen.code, seen.ran_with) == ("INVALID_DECISION", ())


async def test_a_failing_observer_leaves_the_result() -> None:
    """The caller gets the tool's own result whatever an observer raises."""
    seen = await observe_ours(PROBES["observer-raises"].plugins)
    assert (seen.told, seen.is_error) == (f"spent {AMOUNT}", False)


async def test_no_wrapper_is_entered_after_a_guard_denied() -> None:
    """A guard's denial is the end: outer wrappers cannot answer in its place."""
    seen = await observe_ours(PROBES["undo-deny"].plugins)
    assert seen.entered == ()
    assert seen.told == "spending is off"
