"""hookspecs.operations: the one way a guard says no (spec/operations.md 1.3)."""

from __future__ import annotations

import copy
import pickle
import sys
import unicodedata
from typing import Any

import pytest

from hookspecs.errors import ConfigError, HarnessError, OperationConfigError
from hookspecs.operations import Denial, denial_fault, deny


class Text(str):
    pass


class TestDenial:
    def test_may_be_raised(self) -> None:
        """A denial is an exception, but none of our errors: it carries a code of the guard's own."""
        with pytest.raises(Denial) as caught:
            raise deny("budget.exceeded", "too much")
        assert (caught.value.code, caught.value.reason) == ("budget.exceeded", "too much")
        assert str(caught.value) == "budget.exceeded: too much"
        assert not isinstance(caught.value, HarnessError)

    @pytest.mark.parametrize("parts", [("", ""), (None, 7), ("BAD CODE", "\n"), (b"x", object)])
    def test_the_constructor_is_permissive(self, parts: tuple[Any, Any]) -> None:
        """N4: a malformed denial can be built; whoever judges it checks again."""
        denial = Denial(*parts)
        assert (denial.code, denial.reason) == parts

    @pytest.mark.parametrize("again", [copy.copy, lambda d: pickle.loads(pickle.dumps(d))])
    def test_survives_copies(self, again: Any) -> None:
        """A denial crosses process boundaries with both parts."""
        denial = again(deny("a", "b"))
        assert (type(denial), denial.code, denial.reason) == (Denial, "a", "b")


class TestDeny:
    @pytest.mark.parametrize("code", ["a", "a1", "a_b.c-d", "z" * 64])
    def test_good_codes(self, code: str) -> None:
        """N1: a lowercase letter, then letters, digits, _ . -; at most 64 bytes."""
        assert deny(code, "r").code == code

    @pytest.mark.parametrize(
        "code", ["", "A", "1a", "_a", ".a", "aB", "a b", "a\n", "\na", "é", "aé", "z" * 65, None, 7, b"a", Text("a")]
    )
    def test_bad_codes(self, code: Any) -> None:
        """N1: everything else is refused; a trailing newline and a str subclass too."""
        refused(code, "r")

    @pytest.mark.parametrize("reason", ["r", " r ", "é" * 512, "x" * 1024, "a\u200bb", "\u2028x", "日本"])
    def test_good_reasons(self, reason: str) -> None:
        """N2: 1 to 1024 bytes of UTF-8, kept untrimmed."""
        assert deny("a", reason).reason == reason

    @pytest.mark.parametrize(
        "reason", ["", " ", "\u3000", "x" * 1025, "é" * 513, "\ud800", "a\ud800", None, 7, b"r", Text("r"), ["r"]]
    )
    def test_bad_reasons(self, reason: Any) -> None:
        """N2: blank, too long, not UTF-8 or not a str is refused."""
        refused("a", reason)

    def test_control_characters(self) -> None:
        """N2: exactly the characters of category Cc are refused."""
        refused_points = {n for n in range(sys.maxunicode + 1) if denial_fault("a", f"x{chr(n)}") is not None}
        controls = {n for n in range(0x100) if unicodedata.category(chr(n)) == "Cc"}
        surrogates = set(range(0xD800, 0xE000))
        assert len(controls) == 65
        assert refused_points == controls | surrogates

    def test_the_error_says_what_is_wrong(self) -> None:
        """N3: kind, field, no operation; the message names the part."""
        with pytest.raises(OperationConfigError, match="at most 1024") as caught:
            deny("a", "x" * 2000)
        exc = caught.value
        assert (exc.kind, exc.field, exc.operation, exc.index) == ("invalid_denial", "denial", None, 0)
        assert isinstance(exc, ConfigError)
        assert not isinstance(exc, Denial)


class TestDenialFault:
    def test_never_raises(self) -> None:
        """Hostile parts are a fault like any other."""

        class Hostile:
            def __getattribute__(self, name: str) -> Any:
                raise RuntimeError(name)

        assert denial_fault(Hostile(), "r") is not None
        assert denial_fault("a", Hostile()) is not None
        assert denial_fault("a", "r") is None


def refused(code: Any, reason: Any) -> None:
    with pytest.raises(OperationConfigError):
        deny(code, reason)
    assert denial_fault(code, reason)
