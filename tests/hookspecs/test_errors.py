"""hookspecs.errors: the tree, and diagnostics that never fail (spec/core.md 0.3)."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

from hookspecs import errors
from hookspecs.errors import (
    ConfigError,
    HarnessError,
    LlmError,
    OperationConfigError,
    PluginError,
    PluginFailedError,
    ToolArgsError,
    ToolTimeoutError,
    error_chain,
    error_message,
)

CODES = {
    "AbortError": "ABORTED",
    "ConfigError": "CONFIG_ERROR",
    "GuardFailedError": "GUARD_FAILED",
    "HarnessError": "HARNESS_ERROR",
    "HookUsageError": "HOOK_USAGE",
    "InvalidDecisionError": "INVALID_DECISION",
    "JsonSchemaError": "UNSUPPORTED_SCHEMA",
    "LlmError": "UNKNOWN",
    "OperationConfigError": "CONFIG_ERROR",
    "PluginError": "PLUGIN_ERROR",
    "PluginFailedError": "PLUGIN_FAILED",
    "SealedError": "HOOK_USAGE",
    "ToolArgsError": "INVALID_ARGS",
    "ToolNotFoundError": "UNKNOWN_TOOL",
    "ToolOutputError": "INVALID_TOOL_OUTPUT",
    "ToolTimeoutError": "TOOL_TIMEOUT",
}
BUILTINS = {
    "ConfigError": ValueError,
    "HookUsageError": RuntimeError,
    "SealedError": AttributeError,
    "InvalidDecisionError": TypeError,
    "ToolArgsError": ValueError,
    "ToolNotFoundError": LookupError,
    "ToolTimeoutError": TimeoutError,
}


class TestTree:
    def test_every_error_has_a_code(self) -> None:
        """The table of codes above is complete: a new error needs a line there."""
        found = [
            name
            for name, value in vars(errors).items()
            if inspect.isclass(value) and issubclass(value, HarnessError) and not name.startswith("_")
        ]
        assert sorted(found) == sorted(CODES)
        assert set(CODES) <= set(errors.__all__)

    @pytest.mark.parametrize("name", CODES)
    def test_message_code_and_name(self, name: str) -> None:
        """An error shows its message, its code, and its class name as the name half of error info."""
        exc = getattr(errors, name)("what happened")
        assert (str(exc), exc.message, exc.code, exc.name) == ("what happened", "what happened", CODES[name], name)

    @pytest.mark.parametrize("name", BUILTINS)
    def test_is_what_a_user_would_catch(self, name: str) -> None:
        """Each error is also the builtin one would expect there."""
        assert issubclass(getattr(errors, name), BUILTINS[name])

    def test_a_code_can_be_given(self) -> None:
        """A cause may carry a finer code than its class."""
        assert errors.AbortError("x", "ABORTED_BEFORE_DISPATCH").code == "ABORTED_BEFORE_DISPATCH"
        assert ToolTimeoutError("slow", "MY_TIMEOUT").args == ("slow",)
        assert HarnessError("x", "MINE").code == "MINE"

    def test_a_failed_plugin_is_a_plugin_error(self) -> None:
        """Whoever handles plugin trouble handles a raising hook too."""
        assert issubclass(PluginFailedError, PluginError)

    def test_violations_are_a_tuple(self) -> None:
        """What does not fit is listed."""
        assert ToolArgsError("x", ["a", "b"]).violations == ("a", "b")  # type: ignore[arg-type]
        assert ToolArgsError("x").violations == ()

    def test_facts_of_a_model_failure(self) -> None:
        """A model error carries what the provider said."""
        exc = LlmError("busy", "RATE_LIMIT", status=429, retry_after=1.5, request_id="r")
        assert (exc.code, exc.status, exc.retry_after, exc.request_id) == ("RATE_LIMIT", 429, 1.5, "r")
        assert LlmError("x").status is None

    def test_facts_of_an_operation_error(self) -> None:
        """A malformed guard set says what and where (spec/operations.md 1.2)."""
        exc = OperationConfigError("bad", "operation_not_guardable", operation="step", index=2, field="guards")
        assert (exc.kind, exc.operation, exc.index, exc.field) == ("operation_not_guardable", "step", 2, "guards")
        assert isinstance(exc, ConfigError)

    @pytest.mark.parametrize("name", CODES)
    @pytest.mark.parametrize("again", [copy.copy, lambda exc: pickle.loads(pickle.dumps(exc))])
    def test_survives_copies(self, name: str, again: Any) -> None:
        """Errors cross process boundaries with everything they carry."""
        exc = getattr(errors, name)("what happened")
        exc.code = "OTHER"
        twin = again(exc)
        assert type(twin) is type(exc)
        assert (str(twin), vars(twin)) == (str(exc), vars(exc))


class Text(str):
    def __iter__(self) -> Any:
        raise RuntimeError("iterated")

    def __str__(self) -> str:
        raise RuntimeError("str")

    def __add__(self, other: Any) -> Any:
        raise RuntimeError("added")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")

    __hash__ = str.__hash__


class Hostile(Exception):
    """Raises what it was given whenever somebody wants its text."""

    def __str__(self) -> str:
        raise self.args[0]


class TestErrorMessage:
    def test_is_the_text(self) -> None:
        """An ordinary exception shows its text, a silent one none."""
        assert error_message(ValueError("x")) == "x"
        assert error_message(ValueError()) == ""

    @pytest.mark.parametrize("fault", [ValueError("x"), RecursionError(), SystemExit(1), GeneratorExit()])
    def test_is_total(self, fault: BaseException) -> None:
        """A __str__ that raises, even SystemExit, gives a placeholder."""
        assert error_message(Hostile(fault)) == "<unprintable exception>"

    def test_an_interrupt_passes(self) -> None:
        """KeyboardInterrupt is the person at the keyboard, not the exception's text."""
        with pytest.raises(KeyboardInterrupt):
            error_message(Hostile(KeyboardInterrupt()))

    def test_no_text_at_all(self) -> None:
        """A __str__ that returns no str counts as raising."""

        class Odd(Exception):
            def __str__(self) -> Any:
                return 7

        assert error_message(Odd()) == "<unprintable exception>"

    def test_is_an_exact_str(self) -> None:
        """A str subclass is copied without calling anything it overrides: the text goes into lossless JSON."""

        class Odd(Exception):
            def __str__(self) -> str:
                return Text("odd")

        assert type(error_message(Odd())) is str
        assert error_message(Odd()) == "odd"


def caused(exc: BaseException, cause: BaseException | None) -> BaseException:
    exc.__cause__ = cause
    return exc


class TestErrorChain:
    def test_one_exception(self) -> None:
        """Without a cause the chain is the message, or the class name when that is empty."""
        assert error_chain(ValueError("x")) == "x"
        assert error_chain(ValueError()) == "ValueError"

    def test_causes_follow(self) -> None:
        """Each explicit cause follows after a colon."""
        chain = caused(ValueError("a"), caused(KeyError(), OSError("c")))
        assert error_chain(chain) == "a: KeyError: c"

    def test_context_is_no_cause(self) -> None:
        """What was being handled when it happened is not part of the chain."""
        exc = ValueError("a")
        exc.__context__ = OSError("b")
        assert error_chain(exc) == "a"

    def test_a_cause_that_says_the_same_is_skipped(self) -> None:
        """A wrapper that repeats its cause's words shows them once; different words deeper are kept."""
        assert error_chain(caused(RuntimeError("same"), OSError("same"))) == "same"
        assert error_chain(caused(RuntimeError("same"), caused(OSError("same"), OSError("x")))) == "same: same: x"

    def test_groups_show_their_members(self) -> None:
        """Members are in brackets, each with its own causes, before the group's cause."""
        group = ExceptionGroup("many", [ValueError("a"), caused(OSError("b"), KeyError())])
        assert error_chain(caused(group, TypeError("c"))) == "many [a; b: KeyError]: c"
        assert error_chain(ExceptionGroup("", [ValueError("a")])) == "ExceptionGroup [a]"
        assert error_chain(BaseExceptionGroup("base", [KeyboardInterrupt()])) == "base [KeyboardInterrupt]"

    def test_nested_groups(self) -> None:
        """A group inside a group has its own brackets."""
        assert error_chain(ExceptionGroup("o", [ExceptionGroup("i", [ValueError("a")])])) == "o [i [a]]"

    def test_cycles_end(self) -> None:
        """A chain that comes back to itself ends in a marker."""
        a, b = ValueError("a"), ValueError("b")
        a.__cause__, b.__cause__ = b, a
        assert error_chain(a) == "a: b: <cycle>"
        b.__cause__ = ExceptionGroup("g", [b, ValueError("c")])
        assert error_chain(a) == "a: b: g [<cycle>; c]"

    def test_shared_causes_are_shown_in_full(self) -> None:
        """Two members with one cause both show it: that is no cycle."""
        shared = OSError("disk")
        group = ExceptionGroup("g", [caused(ValueError("a"), shared), caused(ValueError("b"), shared)])
        assert error_chain(group) == "g [a: disk; b: disk]"

    def test_a_very_long_chain_is_cut(self) -> None:
        """Thousands of causes neither overflow the stack nor fill the log, and are not called a cycle."""
        exc: BaseException = ValueError("0")
        for number in range(1, 5_000):
            exc = caused(ValueError(str(number)), exc)
        text = error_chain(exc)
        assert text.startswith("4999: 4998: ")
        assert text.endswith("<more causes>")
        assert len(text) < 1_000

    def test_hostile_text(self) -> None:
        """Each exception that cannot be printed has its own placeholder."""
        assert error_chain(caused(ValueError("a"), Hostile(ValueError()))) == "a: <unprintable exception>"
        assert error_chain(ExceptionGroup("g", [Hostile(SystemExit())])) == "g [<unprintable exception>]"

    def test_hostile_attributes(self) -> None:
        """Properties that hide __cause__, __class__, message or exceptions are never asked."""

        def refuse(self: object) -> Any:
            raise RuntimeError("asked")

        hidden = {name: property(refuse) for name in ("__cause__", "__class__", "message", "exceptions")}
        chained = type("Chained", (ValueError,), dict(hidden))("a")
        BaseException.__dict__["__cause__"].__set__(chained, OSError("b"))
        assert error_chain(chained) == "a: b"
        group = type("Group", (ExceptionGroup,), dict(hidden))("g", [ValueError("c")])
        assert error_chain(group) == "g [c]"

    def test_a_hostile_group_message(self) -> None:
        """The message of a group may be a str subclass; the rendering is an exact str."""
        text = error_chain(ExceptionGroup(Text("g"), [ValueError("a")]))
        assert type(text) is str
        assert text == "g [a]"
