"""How a chain runs: wrappers around implementations around the body, all in the caller's task.

Written flat, because every tool call comes through here several times. ``args`` is always the full tuple of the
hookspec's arguments; ``default`` stands when everybody abstains; ``body`` is what a wrap hook surrounds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from inspect import isawaitable
from typing import Any

from dshhooks.engine.faults import add_note, blamed, discard
from dshhooks.engine.plan import Implementation, Plan
from hookspecs.decisions import Allow, Ask, Deny
from hookspecs.errors import HookUsageError, InvalidDecisionError

__all__ = ["CallNext", "around", "collect", "first", "run_now", "strictest"]

Args = tuple[Any, ...]
Body = Callable[..., Awaitable[Any]]
State = tuple[Plan, Args, Any, Body | None]  # what all layers of one dispatch share


async def first(plan: Plan, args: Args, default: Any = None, body: Body | None = None) -> Any:
    """Ask each implementation in order; return the first answer that is not ``None``, else the body's, else default."""
    for impl in plan.implementations:
        try:
            answer = impl.fn(*args)
            # A plain function may hand back an awaitable too, so the answer decides and not the function's kind.
            if answer is not None and type(answer) not in plan.accepted and isawaitable(answer):
                answer = await answer
        except BaseException as exc:  # noqa: BLE001 - raised on
            raise blamed(exc, impl)  # noqa: B904 - it is the exception itself
        if answer is not None:
            return _checked(plan, impl, answer)
    if body is not None:
        return await body(*args)
    return default


async def strictest(plan: Plan, args: Args, default: Any = None, _body: Body | None = None) -> Any:
    """Ask everybody until one denies: a ``Deny`` beats an ``Ask`` beats an ``Allow`` (decisions.md 3.4)."""
    asked = allowed = None
    accepted = plan.accepted
    for impl in plan.implementations:
        try:
            answer = impl.fn(*args)
            if answer is not None and type(answer) not in accepted and isawaitable(answer):
                answer = await answer
        except BaseException as exc:  # noqa: BLE001 - raised on
            raise blamed(exc, impl)  # noqa: B904 - it is the exception itself
        if answer is None:
            continue
        if type(answer) not in accepted:
            _checked(plan, impl, answer)
        # Against None, never by truth: a subclass may call itself false, and an Ask would be lost.
        if isinstance(answer, Allow):
            allowed = answer if allowed is None else allowed
        elif isinstance(answer, Deny):
            return answer
        elif isinstance(answer, Ask):
            asked = answer if asked is None else asked
    if asked is not None:
        return asked
    return default if allowed is None else allowed


async def collect(plan: Plan, args: Args, _default: Any = None, _body: Body | None = None) -> list[Any]:
    """Call every implementation in order and return the answers that are not ``None``; an exception stops it."""
    answers = []
    for impl in plan.implementations:
        try:
            answer = impl.fn(*args)
            if answer is not None and isawaitable(answer):
                answer = await answer
        except BaseException as exc:  # noqa: BLE001 - raised on
            raise blamed(exc, impl)  # noqa: B904 - it is the exception itself
        if answer is not None:
            answers.append(_checked(plan, impl, answer))
    return answers


def around(plan: Plan, args: Args, default: Any = None, body: Body | None = None) -> Coroutine[Any, Any, Any]:
    """Run the wrappers, inside them the implementations and the body."""
    return CallNext((plan, args, default, body), 0)()


async def _around_generators(state: State, index: int) -> Any:
    """Run a stretch of generator wrappers: all set up, then what is inside them, then all torn down in reverse."""
    plan, args, default, body = state
    wrappers = plan.wrappers
    count = len(wrappers)
    opened: list[tuple[Implementation, Generator[None, Any, Any]]] = []
    failure: BaseException | None = None
    result: Any = None
    try:
        while index < count and not wrappers[index].is_async:
            opened.append(_open(wrappers[index], args))
            index += 1
        if index < count:
            rest = CallNext(state, index)
            try:
                result = await rest()
            finally:
                rest.close()
        else:
            result = await plan.inner(plan, args, default, body)
    except BaseException as exc:  # noqa: BLE001 - every wrapper must be torn down; re-raised below
        failure = exc
    none = default is None and body is None
    while opened:
        impl, generator = opened.pop()
        try:
            if failure is not None:
                generator.throw(failure)
            else:
                generator.send(result)
            generator.close()
            failure = _misuse(impl, "yielded twice; a wrapper has exactly one `yield`")
        except StopIteration as stop:
            failure, result = None, stop.value
            if type(result) not in plan.accepted:
                try:
                    _checked(plan, impl, result, none=none)
                except BaseException as exc:  # noqa: BLE001 - likewise
                    failure = exc
        except BaseException as exc:  # noqa: BLE001 - it becomes what the outer wrappers see
            if exc is not failure:
                add_note(exc, impl.hook, impl.plugin)
            failure = exc
    if failure is None:
        return result
    try:
        raise failure
    finally:
        del failure  # the traceback holds this frame: without this every failure is a reference cycle


def _open(impl: Implementation, args: Args) -> tuple[Implementation, Generator[None, Any, Any]]:
    try:
        generator = impl.fn(*args)
        next(generator)
    except StopIteration:
        raise _misuse(impl, "did not yield; a wrapper has exactly one `yield`") from None
    except BaseException as exc:  # noqa: BLE001 - raised on
        raise blamed(exc, impl)  # noqa: B904 - it is the exception itself
    return impl, generator


class CallNext:
    """The rest of the chain, as an async wrapper sees it. Position-bound: each call runs all of it again.

    ``await call_next()`` returns what the rest answers. One call at a time, only while the wrapper runs. Keyword
    arguments replace hook arguments the hookspec declares changeable (decisions.md 7.3).
    """

    __slots__ = ("_closed", "_index", "_running", "_state", "raised")

    def __init__(self, state: State, index: int) -> None:
        self._state, self._index = state, index
        self._running = self._closed = False
        self.raised: BaseException | None = None

    # A wrapper's own frame and this one are all that stands between two wrappers: a long chain costs what it must.
    async def __call__(self, **changes: Any) -> Any:
        if self._running or self._closed:
            raise self._misused()
        state, index = self._changed(changes) if changes else self._state, self._index
        plan, args, default, body = state
        self._running = True
        try:
            if index == len(plan.wrappers):
                if body is not None and not plan.implementations:
                    return await body(*args)
                return await plan.inner(plan, args, default, body)
            impl = plan.wrappers[index]
            if not impl.is_async:
                return await _around_generators(state, index)
            rest = CallNext(state, index + 1)
            try:
                result = await impl.fn(*args, call_next=rest)
            except BaseException as exc:
                passing = exc is rest.raised
                rest.close()
                if passing:
                    raise
                raise blamed(exc, impl)  # noqa: B904 - it is the exception itself
            if rest.close():
                raise _misuse(impl, "returned while its call_next() was still running; await it to the end")
            if type(result) not in plan.accepted:
                _checked(plan, impl, result, none=default is None and body is None)
            return result
        except BaseException as exc:
            if index:  # nobody stands outside the first wrapper to ask, and nobody would break the cycle
                self.raised = exc
            raise
        finally:
            self._running = False

    def close(self) -> bool:
        """Forbid further calls; return whether one is still running."""
        self._closed = True
        self.raised = None  # breaks the cycle exception -> traceback -> frame -> self -> exception
        return self._running

    def _misused(self) -> HookUsageError:
        impl = self._state[0].wrappers[self._index - 1]
        if self._closed:
            return _misuse(impl, "called call_next() after it had returned")
        return _misuse(impl, "called call_next() twice at once; await one call before the next")

    def _changed(self, changes: dict[str, Any]) -> State:
        plan, args, default, body = self._state
        allowed = plan.meta.changeable
        for name in changes:
            if name not in allowed:
                what = f"only {', '.join(allowed)}" if allowed else "nothing"
                impl = plan.wrappers[self._index - 1]
                raise _misuse(impl, f"passed {name}= to call_next(); {what} can be changed here")
        args = tuple(changes.get(name, value) for name, value in zip(plan.args, args, strict=True))
        return plan, args, default, body


def run_now(coroutine: Coroutine[Any, Any, Any], hook: str) -> Any:
    """Run a chain of a synchronous hook to its end without an event loop.

    Raises:
        HookUsageError: An implementation handed back something that has to wait.
    """
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    coroutine.close()
    raise HookUsageError(f"hook {hook!r} is called synchronously: its implementations cannot wait")


def _checked(plan: Plan, impl: Implementation, answer: Any, *, none: bool = False) -> Any:
    returns = plan.meta.returns
    # By its type: isinstance() would ask the answer for its __class__, and a stand-in or a liar says what it likes.
    # Where anything goes, a coroutine still does not: only a wrapper that forgot to await hands one back.
    if (issubclass(type(answer), returns) if returns else not isawaitable(answer)) or (answer is None and none):
        return answer
    discard(answer)
    wanted = ", ".join(kind.__name__ for kind in returns) or "anything but an awaitable"
    raise InvalidDecisionError(
        f"plugin {impl.plugin!r} answered hook {impl.hook!r} with {_shown(answer)}; expected one of: {wanted}"
    )


def _shown(answer: Any) -> str:
    return "None" if answer is None else f"an object of type {type(answer).__name__}"


def _misuse(impl: Implementation, what: str) -> HookUsageError:
    return HookUsageError(f"plugin {impl.plugin!r}, hook {impl.hook!r}: the wrapper {what}")
