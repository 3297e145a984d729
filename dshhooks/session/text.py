"""JSON text of durable records: one line, ASCII, and whatever can be frozen can be written and read again.

The fast paths are the C encoder and scanner. Nesting deeper than they can follow, and integers with more digits than
``sys.get_int_max_str_digits()``, go through the slow ones below. (Two surrogates that stand side by side come back as
the character they spell.)
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, Final, NoReturn

__all__ = ["dumps", "loads"]

_DIGITS: Final = 600  # Python allows no limit below 640
_NUMBER: Final = re.compile(r"(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_LONG: Final = re.compile(r"[0-9]{640}")
_WORDS: Final = {"true": True, "false": False, "null": None}


def dumps(value: Any) -> str:
    """Return the text of a frozen or lossless JSON value."""
    try:
        return _encode(value)
    except (RecursionError, ValueError):
        return "".join(_pieces(value))


def loads(text: str) -> Any:
    """Return the value of one JSON text.

    Raises:
        ValueError: It is not JSON, or names a number that has no lossless value (``NaN``, ``1e400``, ``-0.0``).
    """
    try:
        value, end = _scan(text, 0)
    except RecursionError:
        return _Slow(text).value()
    except StopIteration as exc:
        raise ValueError(f"no JSON at character {exc.value}") from None
    except ValueError:
        if _LONG.search(text):
            return _Slow(text).value()
        raise
    if end != len(text):
        raise ValueError(f"something follows the JSON at character {end}")
    return value


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or (value == 0.0 and text[0] == "-"):
        raise ValueError(f"{text[:40]} has no lossless value")
    return value


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_scan: Any = json.JSONDecoder(parse_float=_float, parse_constant=_constant).scan_once  # type: ignore[attr-defined]
_encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, check_circular=False, separators=(",", ":")).encode


def _pieces(value: Any) -> Iterator[str]:
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if type(item) is _Text:
            yield item.text
        elif isinstance(item, dict):
            pairs = [part for key, inner in item.items() for part in (_Text(","), _Text(_encode(key) + ":"), inner)]
            todo += [_Text("}"), *reversed(pairs[1:]), _Text("{")]
        elif isinstance(item, list):
            parts = [part for inner in item for part in (_Text(","), inner)]
            todo += [_Text("]"), *reversed(parts[1:]), _Text("[")]
        elif type(item) is int:
            yield _digits(item)
        else:
            yield _encode(item)


class _Text:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _digits(value: int) -> str:
    if value < 0:
        return "-" + _digits(-value)
    if value.bit_length() < 3 * _DIGITS:
        return str(value)
    half = int(value.bit_length() * 0.30103) // 2
    high, low = divmod(value, 10**half)
    return _digits(high) + _digits(low).rjust(half, "0")


def _integer(text: str) -> int:
    if len(text) <= _DIGITS:
        return int(text)
    if text[0] == "-":
        return -_integer(text[1:])
    half = len(text) // 2
    return _integer(text[:-half]) * int(10**half) + _integer(text[-half:])


class _Slow:
    """A parser with its own stack."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def value(self) -> Any:
        """Return the one value of the text."""
        root: list[Any] = []
        stack: list[tuple[Any, str | None]] = [(root, None)]
        while True:
            container, key = stack[-1]
            item = self._start()
            if key is None:
                container.append(item)
            else:
                container[key] = item
            opened = isinstance(item, (dict, list)) and not self._take("}" if isinstance(item, dict) else "]")
            if opened:
                stack.append((item, self._key(item)))
                continue
            while len(stack) > 1 and not self._take(","):
                if not self._take("}" if stack[-1][1] is not None else "]"):
                    raise self._wrong("a comma or an end is missing")
                stack.pop()
            if len(stack) == 1:
                self._skip()
                if self._at != len(self._text):
                    raise self._wrong("something follows")
                return root[0]
            stack[-1] = (stack[-1][0], self._key(stack[-1][0]))

    def _start(self) -> Any:
        self._skip()
        char = self._text[self._at : self._at + 1]
        if char in ("{", "[", '"') and char:
            self._at += 1
            return {} if char == "{" else [] if char == "[" else self._string()
        for word, value in _WORDS.items():
            if self._text.startswith(word, self._at):
                self._at += len(word)
                return value
        found = _NUMBER.match(self._text, self._at)
        if found is None:
            raise self._wrong("no value")
        self._at = found.end()
        return _float(found.group()) if found.group(2) or found.group(3) else _integer(found.group(1))

    def _string(self) -> str:
        value, self._at = scanstring(self._text, self._at, True)
        return str(value)

    def _key(self, container: Any) -> str | None:
        if isinstance(container, list):
            return None
        if not self._take('"'):
            raise self._wrong("a key is missing")
        key = self._string()
        if not self._take(":"):
            raise self._wrong("a colon is missing")
        return key

    def _take(self, char: str) -> bool:
        self._skip()
        if not self._text.startswith(char, self._at):
            return False
        self._at += 1
        return True

    def _skip(self) -> None:
        self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it matches nothing, too

    def _wrong(self, what: str) -> ValueError:
        return ValueError(f"{what} at character {self._at}")
