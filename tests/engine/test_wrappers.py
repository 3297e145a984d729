"""Any nesting of both wrapper forms behaves like the nested functions it stands for (decision 3.2)."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.kit import PROMPT, answer, around, ask, assembling, hooks, notes

pytestmark = pytest.mark.anyio


# -- wrappers, against a model -----------------------------------------------------------------------------------------

PASS, TAG, SWALLOW, REPLACE, BEFORE, AFTER, AGAIN, SHORT = (
    "pass", "tag", "swallow", "replace", "before", "after", "again", "short",
)  # fmt: skip
GENERATOR_ACTS = (PASS, TAG, SWALLOW, REPLACE, BEFORE, AFTER)
ASYNC_ACTS = (*GENERATOR_ACTS, AGAIN, SHORT)


class OurError(Exception):
    pass


def modelled(act: str, name: str, inner: Any, log: list[str]) -> Any:
    """What a wrapper means: a plain function around another."""

    def run() -> Any:
        log.append(f"{name} in")
        if act == BEFORE:
            raise OurError(f"{name} before")
        if act == SHORT:
            return f"{name} short"
        try:
            result = inner()
            if act == AGAIN:
                result = [result, inner()]
        except OurError as exc:
            log.append(f"{name} error {exc}")
            if act == SWALLOW:
                return f"{name} swallowed {exc}"
            if act == REPLACE:
                raise OurError(f"{name} instead") from exc
            raise
        log.append(f"{name} out {result}")
        if act == AFTER:
            raise OurError(f"{name} after")
        return [name, result] if act == TAG else result

    return run


def as_generator(act: str, name: str, log: list[str]) -> Any:
    def wrapper(assembly: Any) -> Any:
        log.append(f"{name} in")
        if act == BEFORE:
            raise OurError(f"{name} before")
        try:
            result = yield
        except OurError as exc:
            log.append(f"{name} error {exc}")
            if act == SWALLOW:
                return f"{name} swallowed {exc}"
            if act == REPLACE:
                raise OurError(f"{name} instead") from exc
            raise
        log.append(f"{name} out {result}")
        if act == AFTER:
            raise OurError(f"{name} after")
        return [name, result] if act == TAG else result

    return wrapper


def as_async(act: str, name: str, log: list[str]) -> Any:
    async def wrapper(assembly: Any, *, call_next: Any) -> Any:
        await checkpoint()
        log.append(f"{name} in")
        if act == BEFORE:
            raise OurError(f"{name} before")
        if act == SHORT:
            return f"{name} short"
        try:
            result = await call_next()
            if act == AGAIN:
                result = [result, await call_next()]
        except OurError as exc:
            log.append(f"{name} error {exc}")
            if act == SWALLOW:
                return f"{name} swallowed {exc}"
            if act == REPLACE:
                raise OurError(f"{name} instead") from exc
            raise
        log.append(f"{name} out {result}")
        if act == AFTER:
            raise OurError(f"{name} after")
        return [name, result] if act == TAG else result

    return wrapper


layers = st.one_of(
    st.tuples(st.just("generator"), st.sampled_from(GENERATOR_ACTS)),
    st.tuples(st.just("async"), st.sampled_from(ASYNC_ACTS)),
)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("traced", [False, True], ids=["untraced", "traced"])
def test_any_stack_of_wrappers_means_nested_functions(backend: str, traced: bool) -> None:
    """Decision 3.2: both forms, in any nesting, behave as the functions they stand for, exceptions and retries too."""

    @settings(max_examples=80, deadline=None)
    @given(st.lists(layers, max_size=7), st.booleans())
    def check(stack: list[tuple[str, str]], fails: bool) -> None:
        expected_log: list[str] = []
        run: Any = _innermost(fails, expected_log)
        for number, (_, act) in reversed(list(enumerate(stack))):
            run = modelled(act, f"w{number}", run, expected_log)
        log: list[str] = []
        plugins = [
            around((as_generator if form == "generator" else as_async)(act, f"w{number}", log), f"w{number}")
            for number, (form, act) in enumerate(stack)
        ]
        innermost = _innermost(fails, log)
        made = hooks(*plugins, assembling(lambda assembly: innermost(), "impl"))
        with_or_without = made.trace if traced else anyio.CancelScope

        async def call() -> Any:
            with with_or_without():
                return await made.call(PROMPT, assembly=None, context=None)

        outcome, named = _outcome(lambda: anyio.run(call, backend=backend))
        assert outcome == _outcome(run)[0]
        assert log == expected_log
        # Whoever raised it, and nobody it only passed through, is named, once.
        assert named == ([(PROMPT, outcome[1].split()[0])] if outcome[0] == "raised" else [])

    check()


def _innermost(fails: bool, log: list[str]) -> Any:
    def run() -> str:
        log.append("impl")
        if fails:
            raise OurError("impl")
        return "value"

    return run


def _outcome(run: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """What came of it, and who is blamed."""
    try:
        return ("returned", run()), []
    except OurError as exc:
        return ("raised", str(exc), str(exc.__cause__)), notes(exc)


async def test_an_exception_names_its_hook_and_plugin_once() -> None:
    """Decision 3.7: passing through wrappers of either form adds nothing."""

    def generator(assembly: Any) -> Any:
        return (yield)

    async def asynchronous(assembly: Any, *, call_next: Any) -> Any:
        return await call_next()

    def fail(assembly: Any) -> None:
        raise ValueError("x")

    with pytest.raises(ValueError, match="x") as caught:
        await ask(around(generator), around(asynchronous), around(generator), assembling(fail, "culprit"))
    assert notes(caught.value) == [(PROMPT, "culprit")]


async def test_an_exception_raised_again_elsewhere_names_the_last_place() -> None:
    """Decision 3.7: one exception object kept by two plugins is blamed on whoever raised it last."""
    from dshhooks.engine.faults import origin

    kept = ValueError("kept")

    def fail(assembly: Any) -> None:
        raise kept

    for name in ("a", "b", "a"):
        with pytest.raises(ValueError, match="kept"):
            await ask(assembling(fail, name))
        assert origin(kept).plugin == name
    assert len(notes(kept)) == 2


@pytest.mark.parametrize("exc", [StopIteration("s"), StopAsyncIteration("s")])
@pytest.mark.parametrize("form", ["plain", "async", "generator", "generator before", "async wrapper"])
async def test_a_stop_iteration_is_an_error_like_any_other(exc: Exception, form: str) -> None:
    """Decision 3.7: it neither ends the chain silently nor is taken for an answer; the plugin is named."""

    def plain(assembly: Any) -> None:
        raise exc

    async def asynchronous(assembly: Any) -> None:
        raise exc

    def generator(assembly: Any) -> Any:
        if form == "generator before":
            raise exc
        yield
        raise exc

    async def async_wrapper(assembly: Any, *, call_next: Any) -> Any:
        await call_next()
        raise exc

    plugin = {
        "plain": assembling(plain, "s"),
        "async": assembling(asynchronous, "s"),
        "generator": around(generator, "s"),
        "generator before": around(generator, "s"),
        "async wrapper": around(async_wrapper, "s"),
    }[form]
    with pytest.raises((RuntimeError, StopAsyncIteration)) as caught:
        await ask(plugin, answer("x"))
    assert notes(caught.value) == [(PROMPT, "s")]


async def test_a_wrapper_sees_the_stop_iteration_of_an_implementation_as_an_error() -> None:
    """Decision 3.2: thrown into a generator it must not end it as if it had returned."""
    seen: list[str] = []

    def look(assembly: Any) -> Any:
        try:
            return (yield)
        except RuntimeError as exc:
            seen.append(type(exc.__cause__).__name__)
            return "handled"

    def stop(assembly: Any) -> None:
        raise StopIteration("mine")

    assert await ask(around(look), assembling(stop)) == "handled"
    assert seen == ["StopIteration"]
