"""What a tool is."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, Literal

from attrs import frozen

from hookspecs.execution import ToolExecution, ToolResult
from hookspecs.values import ContentBlock

__all__ = ["ToolDefinition", "ToolOutput", "check_definition", "is_coroutine_callable"]


@frozen
class ToolOutput:
    """What a tool's value is and how it is shown.

    Args:
        schema: JSON schema of the subset; every successful value is validated against it.
        render: ``render(args, value)`` returns a ``str`` or content blocks for the model. Pure, synchronous; may run
            more than once for a call.
        presentation_meta: ``presentation_meta(args, value)`` returns JSON for user interfaces; top-level calls only.
    """

    schema: dict[str, Any]
    render: Callable[[Any, Any], str | list[ContentBlock] | tuple[ContentBlock, ...]]
    presentation_meta: Callable[[Any, Any], Any] | None = None


@frozen
class ToolDefinition:
    """One tool, written by hand; :func:`dshhooks.tool` makes one from a function.

    Args:
        name: Unique in its layer.
        description: What the model reads.
        parameters: JSON schema the model reads. A raw definition's arguments are not validated.
        output: Schema and rendering of the value.
        execute: ``execute(args, exec)`` returns the canonical JSON value. A plain function runs in a worker thread.
        finalize_content: ``finalize_content(exec, result)`` returns blocks to replace the content, or ``None``. Runs
            exactly once, last, whatever happened.
        timeout: Seconds; a plugin enforces it.
        idempotent: Running it twice does no harm; retry plugins ask.
        is_concurrency_safe: ``is_concurrency_safe(args)`` returns exactly True when the call may overlap others.
        cancellation: ``"scope"``: an abort cancels the body and the registry waits for it to unwind. ``"signal"``: the
            body watches ``exec.signal`` itself.
        present_call: ``present_call(args)`` returns a view of the pending call.
        present_result: ``present_result(args, result)`` returns a view of the finished call.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    output: ToolOutput
    execute: Callable[[Any, Any], Any]
    finalize_content: Callable[[ToolExecution, ToolResult], Any] | None = None
    timeout: float | None = None
    idempotent: bool = False
    is_concurrency_safe: Callable[[Any], bool] | None = None
    cancellation: Literal["scope", "signal"] = "scope"
    present_call: Callable[[Any], Any] | None = None
    present_result: Callable[[Any, Any], Any] | None = None


def check_definition(definition: Any) -> None:
    """Refuse a definition that cannot work.

    Raises:
        TypeError: Not a definition, or one of its parts has the wrong type; the message names the part.
    """
    if not isinstance(definition, ToolDefinition):
        raise TypeError(f"register needs a ToolDefinition (or a @tool function), not {type(definition).__name__}")
    if not isinstance(definition.name, str) or not definition.name:
        raise TypeError(f"a tool's name must be a non-empty str, not {definition.name!r}")
    where = f"tool {definition.name!r}"
    for part, kind in (("description", str), ("parameters", dict)):
        if not isinstance(getattr(definition, part), kind):
            found = type(getattr(definition, part)).__name__
            raise TypeError(f"{where}: {part} must be a {kind.__name__}, not {found}")
    output = definition.output
    if output is None or not callable(getattr(output, "render", None)):
        raise TypeError(f"{where}: output needs a callable render(args, value)")
    for owner, part in ((output, "presentation_meta"), (definition, "finalize_content"),
                        (definition, "is_concurrency_safe"), (definition, "present_call"),
                        (definition, "present_result")):  # fmt: skip
        value = getattr(owner, part, None)
        if value is not None and not callable(value):
            raise TypeError(f"{where}: {part} must be callable")
    if not callable(definition.execute):
        raise TypeError(f"{where}: execute must be callable")
    if definition.cancellation not in ("scope", "signal"):
        raise TypeError(f"{where}: cancellation must be 'scope' or 'signal', not {definition.cancellation!r}")


def check_timeout(timeout: Any, where: str) -> None:
    """Refuse a timeout that is not a positive finite number of seconds.

    Raises:
        TypeError: The message names the tool.
    """
    if timeout is None:
        return
    number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)
    if not number or not math.isfinite(timeout) or timeout <= 0:
        raise TypeError(f"{where}: timeout must be a positive, finite number of seconds, not {timeout!r}")


def is_coroutine_callable(fn: Any) -> bool:
    """Say whether calling ``fn`` gives a coroutine, looking through partials and callable objects."""
    while isinstance(fn, functools.partial):
        fn = fn.func
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(getattr(type(fn), "__call__", None))  # noqa: B004 - whether it is async, not whether
