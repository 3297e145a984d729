"""Structuring of what people write in configuration files: strict, and wrong values are named by the path of their key.

cattrs does the work; on top of it nothing is coerced (``"no"`` is no bool, a string is no list of letters), unknown
keys are refused with a suggestion, and a field's validator is heard with the field's path.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeVar, get_args, get_origin

import attrs

from dshhooks.engine.faults import is_fault
from hookspecs.errors import ConfigError, error_message

__all__ = ["structure"]

T = TypeVar("T")
Hook = Callable[[Any, Any], Any]


def structure(data: Any, kind: type[T], path: str, source: str) -> T:
    """Structure ``data`` into an attrs class.

    Args:
        data: What the file holds under ``path``.
        kind: The attrs class.
        path: The key, for messages: ``"plugin.retry"``; empty for the whole document.
        source: The file, for messages.

    Raises:
        ConfigError: Names every wrong key by its path, with a suggestion for an unknown one.
    """
    import cattrs

    try:
        return _converter().structure(data, kind)  # type: ignore[no-any-return]
    except BaseException as exc:
        if not is_fault(exc):  # a validator, converter or default factory that exits is a fault of the options class
            raise
        found = cattrs.transform_error(exc, path=path or "$", format_exception=_described)
        raise ConfigError(f"{source}: {'; '.join(line for text in found for line in _path_first(text))}") from exc


# What a message is taken apart at again after cattrs has added the path to it; no key of a file has a NUL.
_AT, _AND, _END = "\0at", "\0and", "\0 @ "


def _described(problem: BaseException, _type: Any) -> str:
    """Say what is wrong; for unknown keys once for each, with the key."""
    from cattrs.errors import ForbiddenExtraKeysError

    if isinstance(problem, ForbiddenExtraKeysError):
        names = [attribute.alias for attribute in attrs.fields(problem.cl)]
        text = _AND.join(f"{key}{_AT}{_unknown(key, names)}" for key in sorted(map(str, problem.extra_fields)))
    elif isinstance(problem, KeyError):
        text = "is required"
    else:
        text = _message(problem) or type(problem).__name__
    return text + _END.removesuffix(" @ ")


def _message(problem: BaseException) -> str:
    # attrs' own validators raise with the attribute and the value as further arguments: only the first is prose.
    if type(problem) in (ValueError, TypeError) and problem.args and isinstance(problem.args[0], str):
        return problem.args[0]
    return error_message(problem)


def _unknown(key: str, names: list[str]) -> str:
    import difflib  # needed for a mistake only

    close = difflib.get_close_matches(key, names, 1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names) or 'none'}"
    return f"unknown key ({hint})"


def _path_first(text: str) -> Iterator[str]:
    """Turn cattrs' ``problem @ $.a['b'].c`` into ``a.b.c: problem``."""
    problems, _, where = text.partition(_END)
    where = re.sub(r"\['([^']*)'\]", r".\1", where).removeprefix("$").removeprefix(".")
    for problem in problems.split(_AND):
        key, at, what = problem.rpartition(_AT)
        path = f"{where}.{key}" if at and where else key or where
        yield f"{path}: {what}" if path else what


@functools.cache
def _converter() -> Any:
    import cattrs
    from cattrs.cols import is_any_set, is_mapping, is_sequence

    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind, accepted, named in (
        (bool, (bool,), "true or false"),
        (int, (int,), "a whole number"),
        (float, (int, float), "a number"),
        (str, (str,), "a string"),
    ):
        converter.register_structure_hook(kind, functools.partial(_exactly, kind=kind, accepted=accepted, named=named))
    converter.register_structure_hook_func(_is_literal, _one_of)
    converter.register_structure_hook_factory(
        lambda kind: is_sequence(kind) or is_any_set(kind), functools.partial(_list_hook, converter)
    )
    converter.register_structure_hook_factory(is_mapping, functools.partial(_mapping_hook, converter))
    converter.register_structure_hook_factory(attrs.has, functools.partial(_table_hook, converter))
    return converter


def _is_literal(kind: Any) -> bool:
    return get_origin(kind) is Literal


def _exactly(value: Any, _type: Any, *, kind: type, accepted: tuple[type, ...], named: str) -> Any:
    if type(value) not in accepted:
        raise ValueError(f"must be {named}, not {_shown(value)}")
    return kind(value)


def _shown(value: Any) -> str:
    """Return a value for a message, which a megabyte of it would not make clearer."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _one_of(value: Any, kind: Any) -> Any:
    choices = get_args(kind)
    for choice in choices:
        if type(choice) is type(value) and choice == value:
            return value
    raise ValueError(f"must be {' or '.join(map(repr, choices))}, not {_shown(value)}")


def _list_hook(converter: Any, kind: Any) -> Hook:
    from cattrs.cols import list_structure_factory

    arguments = [argument for argument in get_args(kind) if argument is not Ellipsis] or [Any]
    inner = list_structure_factory(list[arguments[0]], converter)  # type: ignore[valid-type]
    origin = get_origin(kind) or kind
    build = origin if origin in (tuple, set, frozenset) else list

    def hook(value: Any, wanted: Any) -> Any:
        if not isinstance(value, list):
            raise ValueError(f"must be a list, not {_shown(value)}")
        return build(inner(value, wanted))

    return hook


def _mapping_hook(converter: Any, kind: Any) -> Hook:
    from cattrs.cols import mapping_structure_factory

    return _table(mapping_structure_factory(kind, converter))


def _table_hook(converter: Any, kind: Any) -> Hook:
    from cattrs.gen import make_dict_structure_fn, override

    overrides: dict[str, Any] = {
        attribute.name: override(struct_hook=functools.partial(_field, converter, kind, attribute))
        for attribute in attrs.fields(attrs.resolve_types(kind))
        if attribute.init
    }
    return _table(
        make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True, _cattrs_use_alias=True, **overrides)
    )


def _table(inner: Hook) -> Hook:
    def hook(value: Any, wanted: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"must be a table, not {_shown(value)}")
        return inner(value, wanted)

    return hook


def _field(converter: Any, kind: type, attribute: Any, value: Any, wanted: Any) -> Any:
    """Structure one field and run its validator here, where cattrs still knows the path."""
    structured = value if wanted is Any or wanted is None else converter.structure(value, wanted)
    if attribute.validator is not None and attribute.converter is None:
        try:
            attribute.validator(object.__new__(kind), attribute, structured)
        except AttributeError:
            pass  # it looks at other fields; the class runs it again when they are there
    return structured
