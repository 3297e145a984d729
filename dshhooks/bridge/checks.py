"""What options of the bridge may be: converters and validators, whose errors name the option."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from dshhooks.bridge.dialects import DIALECTS

__all__ = ["aliases", "count", "filled", "flag", "function", "instance", "is_web_address", "known_dialects", "one_of",
           "only_texts", "optional_path", "optional_text", "path", "positive", "table_of_texts", "texts",
           "web_address"]  # fmt: skip


def positive(_instance: object, attribute: Any, value: Any) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{attribute.name} must be a number of seconds above 0, not {value!r}")


def count(_instance: object, attribute: Any, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{attribute.name} must be a whole number above 0, not {value!r}")


def flag(_instance: object, attribute: Any, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(f"{attribute.name} must be True or False, not {value!r}")


def filled(_instance: object, attribute: Any, value: Any) -> None:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{attribute.name} must be a text that is not empty, not {value!r}")


def web_address(_instance: object, attribute: Any, value: Any) -> None:
    if not isinstance(value, str) or not is_web_address(value):
        raise ValueError(f"{attribute.name} must be an http or https address with a host, not {value!r}")


def is_web_address(text: str) -> bool:
    """Say whether a text is an address that can be posted to."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port >= 0)
    except ValueError:
        return False


def optional_text(instance: object, attribute: Any, value: Any) -> None:
    if value is not None:
        filled(instance, attribute, value)


def one_of(*choices: Any) -> Callable[[object, Any, Any], None]:
    def check(_instance: object, attribute: Any, value: Any) -> None:
        if value not in choices:
            raise ValueError(f"{attribute.name} must be one of {', '.join(map(repr, choices))}, not {value!r}")

    return check


def function(_instance: object, attribute: Any, value: Any) -> None:
    if value is not None and not callable(value):
        raise TypeError(f"{attribute.name} must be a function of a Source, not {value!r}")


def path(value: str | os.PathLike[str] | None) -> Path | None:
    # What is no path is left to the validator, which knows what the option is called.
    return Path(value) if isinstance(value, (str, os.PathLike)) else value


def optional_path(_instance: object, attribute: Any, value: Any) -> None:
    if value is not None and not isinstance(value, Path):
        raise TypeError(f"{attribute.name} must be a path, not {value!r}")


def instance(kind: type, *, optional: bool) -> Callable[[object, Any, Any], None]:
    def check(_instance: object, attribute: Any, value: Any) -> None:
        if not isinstance(value, kind) and not (optional and value is None):
            raise TypeError(f"{attribute.name} must be {kind.__name__}, not {value!r}")

    return check


def aliases(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return MappingProxyType({name: (others,) if isinstance(others, str) else texts(others)
                             for name, others in value.items()})  # fmt: skip


def table_of_texts(_instance: object, attribute: Any, value: Any) -> None:
    if not isinstance(value, Mapping) or not all(map(_is_row, value.items())):
        raise TypeError(f"{attribute.name} must be a table of lists of names, not {value!r}")


def _is_row(item: tuple[Any, Any]) -> bool:
    name, others = item
    return isinstance(name, str) and isinstance(others, tuple) and all(isinstance(other, str) for other in others)


def known_dialects(*, least: int) -> Callable[[object, Any, Any], None]:
    def check(_instance: object, attribute: Any, value: Any) -> None:
        if value is not None and (not isinstance(value, tuple) or len(value) < least or set(value) - set(DIALECTS)):
            raise ValueError(f"{attribute.name} must be a list of some of {', '.join(DIALECTS)}, not {value!r}")

    return check


def texts(value: Any) -> Any:
    return tuple(value) if isinstance(value, (list, frozenset, set)) else value


def only_texts(_instance: object, attribute: Any, value: Any) -> None:
    if value is not None and (not isinstance(value, tuple) or not all(isinstance(item, str) for item in value)):
        raise TypeError(f"{attribute.name} must be a list of texts, not {value!r}")
