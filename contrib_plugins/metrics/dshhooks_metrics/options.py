"""The options of the plugin: the table ``[plugin.metrics]``."""

from __future__ import annotations

from typing import Any

from attrs import Attribute, field, frozen

__all__ = ["MetricsOptions"]


def _flag(_options: object, attribute: Attribute[Any], value: bool) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{attribute.name} must be true or false, not {value!r}")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _port(_options: object, attribute: Attribute[Any], value: int | None) -> None:
    if value is not None and not (_whole(value) and 0 <= value <= 65535):
        raise ValueError(f"{attribute.name} must be a port, 0 (any free one) to 65535, not {value!r}")


def _count(_options: object, attribute: Attribute[Any], value: int) -> None:
    if not (_whole(value) and value >= 1):
        raise ValueError(f"{attribute.name} must be a whole number of at least 1, not {value!r}")


@frozen(kw_only=True)
class MetricsOptions:
    """What is written down, and where it can be read.

    Args:
        record_arguments: Put each call's arguments on its span. They may hold secrets, so by default they stay out.
        prometheus_port: Serve ``/metrics`` on this port of 127.0.0.1; ``None``: do not. Needs the extra ``prometheus``.
        max_tools: Tools counted apart; further ones are counted together as ``(other)``.
    """

    record_arguments: bool = field(default=False, validator=_flag)
    prometheus_port: int | None = field(default=None, validator=_port)
    max_tools: int = field(default=256, validator=_count)
