"""Lossless JSON: what may cross a boundary, and how it is frozen there (spec/core.md 0.4).

Only values that come back from JSON text exactly as they went in are accepted: the exact types ``None``, ``bool``,
``int``, ``str``, finite ``float`` other than ``-0.0``, ``list`` and ``dict`` with ``str`` keys. Subclasses, tuples and
everything else are refused, never coerced.
"""

from __future__ import annotations

import json as _json
import math
from collections.abc import Callable, Iterator
from typing import Any, Final, NoReturn, cast

from hookspecs.errors import NotLosslessError

__all__ = ["MISSING", "FrozenDict", "FrozenList", "Missing", "canonical", "encode", "freeze", "is_json", "parse",
           "snapshot", "thaw"]  # fmt: skip


class Missing:
    """The type of :data:`MISSING`: a field that is absent, where ``None`` would mean JSON null."""

    __slots__ = ()
    _instance: Missing | None = None

    def __new__(cls) -> Missing:
        if cls._instance is None:
            cls._instance = super().__new__(cls)
        return cls._instance

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


def _refuse(self: object, *_args: object, **_kwargs: object) -> NoReturn:
    raise TypeError(f"{type(self).__name__} is frozen: take a copy with hookspecs.json.thaw() and change that")


class FrozenDict(dict[str, Any]):
    """A dict nobody can change; equal to the ordinary dict with the same items. Made by :func:`freeze` only."""

    __slots__ = ()

    def __init__(self, *_args: object, **_kwargs: object) -> None:
        raise TypeError("FrozenDict cannot be made directly: use hookspecs.json.freeze(value)")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
    __setattr__ = __delattr__ = _refuse  # or its __class__ could become one that can be changed

    def __deepcopy__(self, _memo: object) -> Any:
        return thaw(self)

    def __reduce_ex__(self, _protocol: object) -> Any:
        return freeze, (thaw(self),)


class FrozenList(list[Any]):
    """A list nobody can change; equal to the ordinary list with the same items. Made by :func:`freeze` only."""

    __slots__ = ()

    def __init__(self, *_args: object, **_kwargs: object) -> None:
        raise TypeError("FrozenList cannot be made directly: use hookspecs.json.freeze(value)")

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse
    __setattr__ = __delattr__ = _refuse

    def __deepcopy__(self, _memo: object) -> Any:
        return thaw(self)

    def __reduce_ex__(self, _protocol: object) -> Any:
        return freeze, (thaw(self),)


_new_dict, _fill_dict, _put_item = dict.__new__, dict.update, dict.__setitem__
_new_list, _fill_list = list.__new__, list.extend
_SCALARS: Final = frozenset({str, int, bool, type(None)})
_CONTAINERS: Final = frozenset({dict, list, FrozenDict, FrozenList})
_DICTS: Final = frozenset({dict, FrozenDict})

# Plain recursion is the fastest walk CPython has; below this depth the explicit stack takes over,
# which also is where a cycle ends up.
_RECURSION: Final = 120

# A message may be read by a model: keys and depth are the caller's, the length of a path must not be.
_PATH: Final = 240


def _frozen_dict(items: dict[str, Any]) -> FrozenDict:
    frozen = _new_dict(FrozenDict)
    _fill_dict(frozen, items)
    return frozen


def _frozen_list(items: list[Any]) -> FrozenList:
    frozen = _new_list(FrozenList)
    _fill_list(frozen, items)
    return frozen


class _NotJson(Exception):
    """Internal: stops a walk; the public error is built by a second walk that knows the path."""


def _good_float(value: float) -> bool:
    return math.isfinite(value) and not (value == 0.0 and math.copysign(1.0, value) < 0)


def freeze(value: Any) -> Any:
    """Return a deeply frozen copy of a lossless JSON value; a value frozen before is returned as it is.

    Args:
        value: Any object.

    Returns:
        The scalar itself, a :class:`FrozenDict` or a :class:`FrozenList`.

    Raises:
        NotLosslessError: The value is not lossless JSON; the message gives the path of the first offender.
    """
    kind = type(value)
    if kind in _SCALARS or kind is FrozenDict or kind is FrozenList:
        return value
    try:
        return _freeze(value, kind, 0)
    except _NotJson:
        raise _error(value) from None


def _freeze(value: Any, kind: type, depth: int) -> Any:
    if depth > _RECURSION:
        return _copy_deep(value, _frozen_dict, _frozen_list)
    depth += 1
    if kind is dict:
        # Most values are scalars: copied in one go, and only the others are replaced.
        frozen = _new_dict(FrozenDict)
        _fill_dict(frozen, value)
        for key, item in value.items():
            if type(key) is not str:
                raise _NotJson
            inner = type(item)
            if inner not in _SCALARS:
                _put_item(frozen, key, _freeze(item, inner, depth))
        return frozen
    if kind is list:
        elements = []
        for item in value:
            inner = type(item)
            if inner not in _SCALARS:
                item = _freeze(item, inner, depth)
            elements.append(item)
        return _frozen_list(elements)
    if kind is FrozenDict or kind is FrozenList:
        return value
    if kind is float and _good_float(value):
        return value
    raise _NotJson


def snapshot(value: Any) -> Any:
    """Return an ordinary deep copy of a lossless JSON value that shares no container with it.

    Args:
        value: Any object; frozen containers become ordinary ones.

    Raises:
        NotLosslessError: The value is not lossless JSON; the message gives the path of the first offender.
    """
    try:
        return _copy_deep(value, _same, _same)
    except _NotJson:
        raise _error(value) from None


def thaw(value: Any) -> Any:
    """Return an ordinary, changeable deep copy of a frozen value. The same as :func:`snapshot`."""
    return snapshot(value)


def is_json(value: Any) -> bool:
    """Say whether :func:`snapshot` would accept the value, without copying it."""
    return _offender(value) is None


def _same(items: Any) -> Any:
    return items


def _copy_deep(value: Any, make_dict: Callable[[Any], Any], make_list: Callable[[Any], Any]) -> Any:
    """Copy with an explicit stack: any depth, cycles refused. Children are finished before their parent."""
    result: list[Any] = []
    stack = [_Frame(iter((value,)), result, None, 0)]
    ancestors: set[int] = set()
    while True:
        frame = stack[-1]
        for item in frame.items:
            key = None
            if frame.is_dict:
                key, item = item
                if type(key) is not str:
                    raise _NotJson
            kind = type(item)
            if kind in _CONTAINERS:
                if id(item) in ancestors:
                    raise _NotJson
                ancestors.add(id(item))
                is_dict = kind in _DICTS
                stack.append(_Frame(iter(item.items() if is_dict else item), {} if is_dict else [], key, id(item)))
                break
            if kind not in _SCALARS and not (kind is float and _good_float(item)):
                raise _NotJson
            frame.put(key, item)
        else:
            stack.pop()
            if not stack:
                return result[0]
            ancestors.discard(frame.source)
            done = make_dict(frame.out) if frame.is_dict else make_list(frame.out)
            stack[-1].put(frame.key, done)


class _Frame:
    __slots__ = ("is_dict", "items", "key", "out", "source")

    def __init__(self, items: Iterator[Any], out: Any, key: str | None, source: int) -> None:
        self.items, self.out, self.key, self.source = items, out, key, source
        self.is_dict = type(out) is dict

    def put(self, key: str | None, item: Any) -> None:
        if self.is_dict:
            self.out[key] = item
        else:
            self.out.append(item)


def _error(value: Any) -> NotLosslessError:
    found = _offender(value)
    where, why = found if found is not None else ("value", "it changed while it was read")
    if len(where) > _PATH:
        where = f"{where[: _PATH // 2]}...{where[-_PATH // 2 :]}"
    return NotLosslessError(f"not lossless JSON at {where}: {why}")


def _offender(value: Any) -> tuple[str, str] | None:
    """Return path and reason of the first part that is not lossless JSON, or None."""
    walk: list[tuple[Any, Any]] = [(None, iter((("value", value),)))]
    path: list[str] = []
    ancestors: dict[int, None] = {}  # in order of depth
    while walk:
        for step, item in walk[-1][1]:
            why = _verdict(item, ancestors)
            if why is not None:
                return "".join([*path, step]), why
            if type(item) in _CONTAINERS:
                path.append(step)
                ancestors[id(item)] = None
                walk.append((item, _steps(item)))
                break
            if step == "":  # a bad key was met: _steps stops there
                return "".join(path), cast("str", item)
        else:
            walk.pop()
            if path:
                path.pop()
                ancestors.popitem()
    return None


def _steps(container: Any) -> Iterator[tuple[str, Any]]:
    if type(container) in _DICTS:
        for key, item in container.items():
            if type(key) is not str:
                yield "", f"key of type {type(key).__name__}; keys must be str"
                return
            yield f".{key}" if key.isidentifier() else f"[{_json.dumps(key)}]", item
    else:
        for index, item in enumerate(container):
            yield f"[{index}]", item


def _verdict(item: Any, ancestors: dict[int, None]) -> str | None:
    kind = type(item)
    if kind in _SCALARS:
        return None
    if kind is float:
        return None if _good_float(item) else f"{item!r} has no lossless JSON form"
    if kind not in _CONTAINERS:
        return f"{kind.__name__} is not a JSON type"
    return "it contains itself" if id(item) in ancestors else None


# Made once: `json.dumps` with options makes an encoder for every call.
_PLAIN: Final = _json.JSONEncoder(allow_nan=False, separators=(",", ":"))
_SORTING: Final = _json.JSONEncoder(allow_nan=False, separators=(",", ":"), sort_keys=True)


def encode(value: Any, *, sort_keys: bool = False) -> str:
    """Return compact ASCII JSON text of a lossless value, at any depth; lone surrogates survive as escapes.

    Raises:
        NotLosslessError: The value has no text that could be read again, such as an integer of more digits than
            ``sys.get_int_max_str_digits()`` allows.
    """
    try:
        try:
            return (_SORTING if sort_keys else _PLAIN).encode(value)
        except RecursionError:
            return "".join(_encode_deep(value, sort_keys))
    except ValueError as exc:
        raise NotLosslessError(f"no JSON text: {exc}") from exc


def canonical(value: Any) -> str:
    """Return the one JSON text every equal value shares: keys sorted at every level, no spaces, ASCII."""
    return encode(value, sort_keys=True)


def _encode_deep(value: Any, sort_keys: bool) -> Iterator[str]:
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if type(item) is _Literal:
            yield item.text
        elif isinstance(item, dict):
            todo.append(_Literal("}"))
            pairs = sorted(item.items()) if sort_keys else list(item.items())
            for index in range(len(pairs) - 1, -1, -1):
                key, inner = pairs[index]
                todo.append(inner)
                todo.append(_Literal(("," if index else "") + _json.dumps(key) + ":"))
            yield "{"
        elif isinstance(item, list):
            todo.append(_Literal("]"))
            for index in range(len(item) - 1, -1, -1):
                todo.append(item[index])
                if index:
                    todo.append(_Literal(","))
            yield "["
        else:
            yield _json.dumps(item, allow_nan=False)


class _Literal:
    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def parse(text: str) -> Any:
    """Parse strict JSON: NaN and Infinity are invalid text, a duplicate key keeps its last value.

    Raises:
        ValueError: The text is not JSON, nests too deep for the parser, or holds a literal that has no lossless
            value, such as ``1e400`` or ``-0.0``.
    """
    if not isinstance(text, str):
        raise TypeError(f"JSON text is a str, not {type(text).__name__}")
    try:
        # What this decoder makes is lossless by construction: exact types, str keys, every float looked at.
        return _STRICT.decode(text)
    except RecursionError:
        raise ValueError("JSON text nests too deep to parse") from None


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _exact_float(text: str) -> float:
    value = float(text)
    if not _good_float(value):
        raise NotLosslessError(f"{text} has no lossless JSON form")
    return value


_STRICT: Final = _json.JSONDecoder(parse_constant=_no_constant, parse_float=_exact_float)
