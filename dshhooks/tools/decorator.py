"""``@tool``: a function becomes a tool, its schema from the annotations and its prose from the docstring."""

from __future__ import annotations

import inspect
import json
import sys
import types
from collections.abc import Awaitable, Callable
from functools import partial, update_wrapper
from typing import Any, Generic, Literal, ParamSpec, TypedDict, TypeVar, Unpack, overload

from attrs import evolve

from dshhooks.tools.definition import ToolDefinition, ToolOutput, check_definition, check_timeout, is_coroutine_callable
from dshhooks.tools.schema import check_schema
from dshhooks.tools.signature import Signature, read_signature
from hookspecs.errors import ToolOutputError, error_message
from hookspecs.json import encode

__all__ = ["Tool", "tool"]

P = ParamSpec("P")
R = TypeVar("R")


class _Options(TypedDict, total=False):
    name: str | None
    description: str | None
    timeout: float | None
    idempotent: bool
    concurrency_safe: bool | Callable[[Any], bool]
    cancellation: Literal["scope", "signal"]
    finalize_content: Callable[..., Any] | None
    render: Callable[[Any, Any], Any] | None
    presentation_meta: Callable[[Any, Any], Any] | None
    present_call: Callable[[Any], Any] | None
    present_result: Callable[[Any, Any], Any] | None


class Tool(Generic[P, R]):
    """A function that is a tool: call it like the function, register it like a definition.

    In a class body it is a method: ``instance.method`` is the tool of that instance.
    """

    def __init__(self, fn: Callable[P, R], template: ToolDefinition, signature: Signature) -> None:
        update_wrapper(self, fn)
        self._fn, self._template, self._signature = fn, template, signature
        self._definition: ToolDefinition | None = None
        if not signature.method:
            self._definition = evolve(template, execute=_body(fn, f"tool {template.name!r}", signature))

    @property
    def definition(self) -> ToolDefinition:
        """The definition a registry takes.

        Raises:
            TypeError: The function is a method without its instance.
        """
        if self._definition is None:
            name = self._template.name
            raise TypeError(f"tool {name!r} is a method: register it through an instance, instance.{name}")
        return self._definition

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._fn(*args, **kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Tool[..., R]:
        if instance is None or not self._signature.method:
            return self
        bound = types.MethodType(self._fn, instance)
        return Tool(bound, self._template, evolve(self._signature, method=False))

    def __repr__(self) -> str:
        return f"<tool {self._template.name!r}>"


@overload
def tool(fn: Callable[P, R], /, **options: Unpack[_Options]) -> Tool[P, R]: ...
@overload
def tool(**options: Unpack[_Options]) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    idempotent: bool = False,
    concurrency_safe: bool | Callable[[Any], bool] = False,
    cancellation: Literal["scope", "signal"] = "scope",
    finalize_content: Callable[..., Any] | None = None,
    render: Callable[[Any, Any], Any] | None = None,
    presentation_meta: Callable[[Any, Any], Any] | None = None,
    present_call: Callable[[Any], Any] | None = None,
    present_result: Callable[[Any, Any], Any] | None = None,
) -> Any:
    """Make a tool of a function; used bare, with options, or on a bound method: ``tool(obj.method)``.

    The annotations are the schema (:mod:`dshhooks.tools.annotations` lists them), the first paragraph of the docstring
    is the description, its ``Args:`` or ``:param x:`` entries describe the parameters. A parameter annotated
    ``ToolRunContext`` receives the execution and is no part of the schema. An ``async def`` runs in the caller's event
    loop, a plain ``def`` in a worker thread.

    A call whose arguments do not fit is ``INVALID_ARGS`` and the function does not run; unknown names do not fit.
    ``list`` and ``dict`` parameters of plain JSON are the frozen containers of the call: copy before changing them. The
    value is turned into JSON by the return annotation; without one it must be JSON already.

    Args:
        fn: The function. It must be callable with names only: no ``*args``, ``**kwargs``, ``/``.
        name: The tool's name; by default the function's.
        description: What the model reads; by default from the docstring.
        timeout: Seconds; a plugin enforces it.
        idempotent: Running it twice does no harm; retry plugins ask.
        concurrency_safe: The call may overlap others: ``True``, or ``concurrency_safe(args)`` which says exactly True.
            It is asked only about valid arguments.
        cancellation: ``"scope"``: an abort cancels the body. ``"signal"``: the body watches ``exec.signal``.
        finalize_content: ``finalize_content(exec, result)`` returns blocks to replace the content, or ``None``.
        render: ``render(args, value)`` returns ``str`` or blocks; by default a ``str`` as it is, anything else as JSON.
        presentation_meta: ``presentation_meta(args, value)`` returns JSON for user interfaces.
        present_call: ``present_call(args)`` returns a view of the pending call; not asked about invalid arguments.
        present_result: ``present_result(args, result)``, likewise.

    Returns:
        A :class:`Tool`; without ``fn``, a decorator.

    Raises:
        TypeError: The function or an option cannot make a tool; says what and what to do (spec/core.md 1.7).
    """
    local = sys._getframe(1).f_locals

    def decorate(fn: Callable[..., Any]) -> Tool[..., Any]:
        fn = fn._fn if isinstance(fn, Tool) else fn
        title = _name(fn, name)
        where = f"tool {title!r}"
        check_timeout(timeout, where)
        _check_options(where, idempotent, concurrency_safe, description, present_call, present_result)
        signature = read_signature(fn, where, local)
        check_schema(signature.output.schema, f"output schema of {where}")
        template = ToolDefinition(
            name=title,
            description=signature.description if description is None else description,
            parameters=signature.parameters,
            output=ToolOutput(signature.output.schema, render or _renderer(signature), presentation_meta),
            execute=_waits_for_self,
            finalize_content=finalize_content,
            timeout=timeout,
            idempotent=idempotent,
            is_concurrency_safe=_classifier(concurrency_safe, signature),
            cancellation=cancellation,
            present_call=_soft(present_call, signature),
            present_result=_soft(present_result, signature),
        )
        check_definition(template)
        return Tool(fn, template, signature)

    return decorate if fn is None else decorate(fn)


# -- checks ----------------------------------------------------------------------------------------------------------


def _name(fn: Any, name: str | None) -> str:
    if not callable(fn) or inspect.isclass(fn):
        raise TypeError(f"@tool needs a function, not {fn!r}")
    if name is not None:
        return name
    inner = fn
    while isinstance(inner, partial):
        inner = inner.func
    own = getattr(inner, "__name__", "<lambda>")
    if own == "<lambda>":
        raise TypeError(f"{fn!r} has no name a model could call it by: tool(..., name='...')")
    return str(own)


def _check_options(
    where: str, idempotent: Any, concurrency_safe: Any, description: Any, present_call: Any, present_result: Any
) -> None:
    if not isinstance(idempotent, bool):
        raise TypeError(f"{where}: idempotent must be True or False, not {idempotent!r}")
    if not isinstance(concurrency_safe, bool) and not callable(concurrency_safe):
        raise TypeError(f"{where}: concurrency_safe must be True, False or callable(args), not {concurrency_safe!r}")
    if description is not None and not isinstance(description, str):
        raise TypeError(f"{where}: description must be a str, not {description!r}")
    for part, presenter in (("present_call", present_call), ("present_result", present_result)):
        if presenter is not None and not callable(presenter):
            raise TypeError(f"{where}: {part} must be callable")


# -- parts of the definition -----------------------------------------------------------------------------------------


def _waits_for_self(_args: Any, _execution: Any) -> Any:
    raise TypeError("this tool is a method: register it through an instance")


def _body(fn: Callable[..., Any], where: str, signature: Signature) -> Callable[[Any, Any], Any]:
    bind, give = signature.bind, signature.output.give
    if is_coroutine_callable(fn):

        async def execute(args: Any, execution: Any) -> Any:
            value = await fn(**bind(args, execution))
            return value if give is None else _given(give, value, where)

        return execute

    def execute_in_thread(args: Any, execution: Any) -> Any:
        value = fn(**bind(args, execution))
        if give is None:
            return value
        return _given_later(give, value, where) if inspect.isawaitable(value) else _given(give, value, where)

    return execute_in_thread


async def _given_later(give: Callable[[Any], Any], value: Awaitable[Any], where: str) -> Any:
    return _given(give, await value, where)


def _given(give: Callable[[Any], Any], value: Any, where: str) -> Any:
    try:
        return give(value)
    except Exception as exc:
        what = f"{type(exc).__name__}: {error_message(exc)}"
        raise ToolOutputError(f"{where} returned something its annotation does not describe: {what}", (what,)) from exc


def _classifier(safe: bool | Callable[[Any], bool], signature: Signature) -> Callable[[Any], bool] | None:
    violations = signature.violations
    if safe is False:
        return None
    if safe is True:
        return lambda args: not violations(args)
    return lambda args: False if violations(args) else safe(args)


def _soft(presenter: Callable[..., Any] | None, signature: Signature) -> Callable[..., Any] | None:
    if presenter is None:
        return None
    violations = signature.violations
    return lambda args, *result: None if violations(args) else presenter(args, *result)


def _renderer(signature: Signature) -> Callable[[Any, Any], str]:
    # A function that returns nothing has done something; one that may find nothing says so in JSON.
    nothing = "done" if signature.output.schema.get("type") == "null" else "null"

    def render(_args: Any, value: Any) -> str:
        return value if isinstance(value, str) else nothing if value is None else _compact(value)

    return render


# One encoder for all: json.dumps with options builds a new one on every call.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _compact(value: Any) -> str:
    try:
        return _ENCODER.encode(value)
    except RecursionError:
        return encode(value)
