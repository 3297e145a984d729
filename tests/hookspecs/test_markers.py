"""hookspecs.markers: what the two markers accept, refuse and tell pluggy."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pluggy
import pytest

from hookspecs import hookspec_classes
from hookspecs.decisions import Allow, Deny
from hookspecs.markers import ASYNC_WRAPPER, META, PROJECT, Authority, HookMeta, hookimpl, hookspec


@pytest.fixture
def manager() -> pluggy.PluginManager:
    """A plugin manager that knows every hookspec."""
    manager = pluggy.PluginManager(PROJECT)
    for spec_class in hookspec_classes():
        manager.add_hookspecs(spec_class)
    return manager


def options_of(fn: Any) -> dict[str, Any]:
    return getattr(fn, f"{PROJECT}_impl")


def free_implementation(execution: Any) -> Any: ...


def implementation(self: Any, execution: Any) -> Any: ...


def free_wrapper(execution: Any) -> Any:
    return (yield)


def wrapper(self: Any, execution: Any) -> Any:
    return (yield)


async def free_async_wrapper(execution: Any, *, call_next: Any) -> Any: ...


async def async_wrapper(self: Any, execution: Any, *, call_next: Any) -> Any: ...


# Each form of an implementation, as a free function and as a method.
FORMS = {
    "implementation": (free_implementation, implementation),
    "wrapper": (free_wrapper, wrapper),
    "async-wrapper": (free_async_wrapper, async_wrapper),
}


class TestHookimpl:
    def test_bare(self) -> None:
        """@hookimpl without parentheses marks and returns the function itself."""

        def fn(self: object) -> None: ...

        assert hookimpl(fn) is fn
        assert options_of(fn)["wrapper"] is False

    def test_the_function_by_keyword(self) -> None:
        """Api: the signature is hookimpl(fn=None, *, ...)."""

        def fn(self: object) -> None: ...

        assert hookimpl(fn=fn) is fn
        assert options_of(fn)["wrapper"] is False

    def test_with_options(self) -> None:
        """Ordering, optional hooks and another name reach pluggy."""

        @hookimpl(tryfirst=True, optionalhook=True, specname="tools_guard")
        def fn(self: object) -> None: ...

        options = options_of(fn)
        assert (options["tryfirst"], options["trylast"], options["optionalhook"]) == (True, False, True)
        assert options["specname"] == "tools_guard"

    def test_an_async_implementation_is_left_alone(self) -> None:
        """Only wrappers need a shim."""

        async def fn(self: object) -> None: ...

        assert hookimpl(fn) is fn
        assert inspect.iscoroutinefunction(fn)

    def test_the_old_wrapper_form_is_refused(self) -> None:
        """hookwrapper=True says what to write instead."""
        with pytest.raises(TypeError, match="wrapper=True"):
            hookimpl(hookwrapper=True)  # type: ignore[call-overload]


class TestWrappers:
    def test_a_generator_is_a_wrapper(self) -> None:
        """pluggy's own form passes unchanged."""

        def fn(self: object) -> Any:
            return (yield)

        assert hookimpl(wrapper=True)(fn) is fn
        assert options_of(fn)["wrapper"] is True

    @pytest.mark.parametrize("bare", [True, False])
    def test_a_plain_function_is_refused(self, bare: bool) -> None:
        """A wrapper that cannot surround anything fails where it is written, by name."""

        def not_a_wrapper(self: object) -> None: ...

        with pytest.raises(TypeError, match="not_a_wrapper"):
            hookimpl(not_a_wrapper, wrapper=True) if bare else hookimpl(wrapper=True)(not_a_wrapper)  # type: ignore[call-overload]

    def test_an_async_generator_is_refused(self) -> None:
        """An async generator is no wrapper; the error names the form that is."""

        async def fn(self: object) -> Any:
            yield

        with pytest.raises(TypeError, match="async generator"):
            hookimpl(wrapper=True)(fn)

    def test_call_next_must_be_keyword_only(self) -> None:
        """Without call_next, or with it among the hook's arguments, an async wrapper is refused."""

        async def without(self: object, execution: object) -> None: ...

        async def positional(self: object, execution: object, call_next: object) -> None: ...

        for fn in (without, positional):
            with pytest.raises(TypeError, match=r"\*, call_next"):
                hookimpl(wrapper=True)(fn)

    def test_an_async_wrapper_looks_like_a_generator(self) -> None:
        """pluggy sees a generator function; the engine finds the coroutine function behind it."""

        async def fn(self: object, execution: object, *, call_next: Any) -> Any: ...

        marked = hookimpl(wrapper=True)(fn)
        assert inspect.isgeneratorfunction(marked)
        assert getattr(marked, ASYNC_WRAPPER) is fn
        assert (marked.__name__, marked.__doc__) == (fn.__name__, fn.__doc__)

    @pytest.mark.anyio
    async def test_an_async_wrapper_can_be_awaited(self) -> None:
        """A unit test calls the method as it was written."""

        class Plugin:
            @hookimpl(wrapper=True)
            async def tools_execute(self, execution: Any, *, call_next: Callable[[], Any]) -> Any:
                return [execution, await call_next()]

        async def call_next() -> str:
            return "inner"

        assert await Plugin().tools_execute("x", call_next=call_next) == ["x", "inner"]


class TestPluggy:
    @pytest.mark.parametrize("kind", ["method", "static", "class"])
    @pytest.mark.parametrize("form", FORMS)
    def test_finds_every_form(self, manager: pluggy.PluginManager, kind: str, form: str) -> None:
        """Methods, static methods and class methods of each form are registered, as what they are."""
        free, bound = FORMS[form]
        target = {"method": bound, "static": staticmethod(free), "class": classmethod(bound)}[kind]
        marked = hookimpl(wrapper=form != "implementation")(target)
        manager.register(type("Plugin", (), {"tools_execute": marked})())
        (found,) = manager.hook.tools_execute.get_hookimpls()
        assert found.argnames == ("execution",)
        assert found.wrapper is (form != "implementation")
        assert hasattr(found.function, ASYNC_WRAPPER) is (form == "async-wrapper")

    def test_refuses_unknown_arguments(self, manager: pluggy.PluginManager) -> None:
        """A misspelled parameter fails at registration, for async wrappers too."""

        class Plugin:
            @hookimpl(wrapper=True)
            async def tools_execute(self, exection: Any, *, call_next: Any) -> Any: ...

        with pytest.raises(pluggy.PluginValidationError, match="exection"):
            manager.register(Plugin())

    def test_a_module_function_is_an_implementation(self, manager: pluggy.PluginManager) -> None:
        """A hook may be a function without self."""

        class Module:
            @staticmethod
            @hookimpl
            def tools_guard(execution: Any) -> None: ...

        manager.register(Module)
        assert len(manager.hook.tools_guard.get_hookimpls()) == 1

    def test_firstresult_follows_the_authority(self, manager: pluggy.PluginManager) -> None:
        """Decide, refuse and wrap hooks stop at an answer; the others call everybody."""
        for spec_class in hookspec_classes():
            for name, fn in vars(spec_class).items():
                if (meta := getattr(fn, META, None)) is not None:
                    caller = getattr(manager.hook, name)
                    assert bool(caller.spec.opts["firstresult"]) is meta.firstresult, name


class TestHookspec:
    def test_keeps_what_it_was_told(self) -> None:
        """The meta is kept beside pluggy's options, and the function is returned."""

        def fn(self: object) -> None: ...

        marked = hookspec("x/y", Authority.DECIDE, returns=(Allow, Deny), default=Allow, changeable=("a",))(fn)
        assert marked is fn
        assert getattr(fn, META) == HookMeta("x/y", Authority.DECIDE, (Allow, Deny), Allow, changeable=("a",))

    @pytest.mark.parametrize(
        ("authority", "firstresult", "wrappable"),
        [("decide", True, True), ("refuse", True, False), ("wrap", True, True), ("observe", False, False),
         ("checkpoint", False, True), ("contribute", False, True)],
    )  # fmt: skip
    def test_authority_decides(self, authority: str, firstresult: bool, wrappable: bool) -> None:
        """Who may stop the chain and who may be wrapped follows from the authority alone."""
        meta = HookMeta("x", Authority(authority))
        assert (meta.firstresult, meta.wrappable) == (firstresult, wrappable)

    def test_a_generator_observer_is_wrappable(self) -> None:
        """The operation hook's own begin and finish is a generator, which pluggy takes for a wrapper."""
        assert HookMeta("x", Authority.OBSERVE, generator=True).wrappable

    def test_authority_reads_as_its_word(self) -> None:
        """An authority is a str, so tables and JSON show the word."""
        assert Authority.DECIDE == "decide"
        assert f"{Authority.WRAP}" == "wrap"
