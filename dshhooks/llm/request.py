"""One request on its way: what it was prepared with, its stream, and which failures are the adapter's own.

Failures from looking the adapter up, calling it and reading it are told apart from what plugins around the request
raise, because only the former are offered to recovery (spec/core.md 6, "Failure tagging").
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from attrs import frozen

from dshhooks.engine.faults import discard, is_fault
from hookspecs.errors import HarnessError, LlmError, error_message
from hookspecs.model import AbortedFinish, ErrorFinish, GenerateOptions, LlmCallConfig, LlmFailure, StreamChunk

if TYPE_CHECKING:
    from dshhooks.llm.service import LlmService

__all__ = ["AdapterStream", "Around", "ModelStream", "PreparedCall", "Route", "close", "failure_from", "failure_in",
           "nothing_said"]  # fmt: skip

# Stands around each attempt at a request: given the request as the adapter gets it, and what opens its stream.
Around = Callable[[GenerateOptions, Callable[[], AsyncIterator[StreamChunk]]], AsyncIterator[StreamChunk]]


@frozen(eq=False)
class Route:
    """A provider name and who serves it."""

    provider: str
    adapter: Any


class PreparedCall:
    """A call configuration bound to the adapter that will serve it; good for one request."""

    def __init__(self, config: LlmCallConfig, route: Route | None) -> None:
        self.config, self._route, self._used = config, route, False

    def take(self, options: GenerateOptions) -> Route | None:
        """Return the bound route, once.

        Raises:
            HarnessError: ``INVALID_PREPARED_CALL``: used before, or the request's configuration is another.
        """
        if self._used:
            raise HarnessError("a prepared call serves one request; prepare another", "INVALID_PREPARED_CALL")
        if options.config != self.config:
            raise HarnessError("the request is not the one that was prepared", "INVALID_PREPARED_CALL")
        self._used = True
        return self._route


class ModelStream:
    """The chunks of one request, and whether a failure came from the adapter itself."""

    def __init__(self, chunks: AsyncIterator[StreamChunk], adapter: AdapterStream) -> None:
        self._chunks, self._adapter = chunks, adapter

    def __aiter__(self) -> AsyncIterator[StreamChunk]:
        return aiter(self._chunks)

    def is_adapter_failure(self, exc: BaseException) -> bool:
        """Say whether this very exception was raised by the final adapter (or by there being none)."""
        return any(exc is raised for raised in self._adapter.raised)

    async def aclose(self) -> None:
        """Close the stream; harmless when it ended."""
        try:
            await close(self._chunks)
        finally:
            await self._adapter.aclose()


class AdapterStream:
    """The innermost point of a request: finds the adapter and remembers what it raised.

    Args:
        service: Knows the adapters.
        prepared: The request that was prepared, if one was.
        route: The adapter bound to it. A wrapper that asks for something else gets that one's adapter.
        around: Stands around every attempt; what it raises itself is no failure of the adapter.
    """

    def __init__(
        self, service: LlmService, prepared: GenerateOptions | None, route: Route | None, around: Around | None = None
    ) -> None:
        self._service, self._prepared, self._route, self._around = service, prepared, route, around
        self._exactly: tuple[GenerateOptions | None, Any] = None, None  # as ``around`` was shown it, and for whom
        self._opened: list[AsyncIterator[StreamChunk]] = []
        self.raised: list[BaseException] = []

    async def open(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Return the adapter's chunks; the adapter is looked up when they are read."""
        if self._around is None:
            chunks = self._chunks(options)
        else:
            exact = self._exact(options)
            chunks = self._around(exact, lambda: self._chunks(exact))
        self._opened.append(chunks)
        return chunks

    async def aclose(self) -> None:
        """Close what wrappers left open: an iterator around a stream need not close it."""
        while self._opened:
            await close(self._opened.pop())

    async def _chunks(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        chunks: AsyncIterator[StreamChunk] | None = None
        try:
            chunks = self._start(options)
        except BaseException as exc:  # noqa: BLE001 - raised on
            raise self._tagged(exc)  # noqa: B904 - it is the exception itself, or has it as its cause
        try:
            while True:
                try:
                    chunk = await anext(chunks)
                except StopAsyncIteration:
                    return
                except BaseException as exc:  # noqa: BLE001 - raised on
                    raise self._tagged(exc)  # noqa: B904 - likewise
                yield chunk  # outside: what a consumer throws in here is no failure of the adapter
        finally:
            await close(chunks)

    def _adapter(self, options: GenerateOptions) -> Any:
        return (self._bound(options) or self._service.route(options.provider)).adapter

    def _bound(self, options: GenerateOptions) -> Route | None:
        prepared = self._prepared
        if self._route is None or prepared is None:
            return None
        return self._route if options is prepared or options.config == prepared.config else None

    def _exact(self, options: GenerateOptions) -> GenerateOptions:
        """Return the request as its adapter gets it; as it is when there is no adapter, which reading it will say."""
        try:
            adapter = self._adapter(options)
        except LlmError:
            return options
        exact = self._service.visible(options, adapter)
        self._exactly = exact, adapter
        return exact

    def _start(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        adapter = self._adapter(options)
        shown, to = self._exactly
        if options is not shown or adapter is not to:
            options = self._service.visible(options, adapter)
        chunks = adapter.stream(options)
        if not isinstance(chunks, AsyncIterator):
            discard(chunks)
            what = f"{type(adapter).__name__}.stream() returned {type(chunks).__name__}, not an async iterator"
            raise LlmError(f"{what}; write it as `async def` with `yield`", "INVALID_ADAPTER")
        return chunks

    def _tagged(self, exc: BaseException) -> BaseException:
        """Remember an adapter's failure and return what to raise; what is no ``Exception`` is wrapped in one."""
        if not is_fault(exc):
            return exc
        if not isinstance(exc, Exception) or isinstance(exc, (StopIteration, StopAsyncIteration)):
            wrapped = LlmError(f"the adapter raised {type(exc).__name__}: {error_message(exc)}", "UNKNOWN")
            wrapped.__cause__ = exc
            exc = wrapped
        self.raised.append(exc)
        return exc


async def close(chunks: Any) -> None:
    """Close whatever has an ``aclose``."""
    close = getattr(chunks, "aclose", None)
    if close is not None:
        await close()


def failure_from(exc: BaseException) -> LlmFailure:
    """Return the durable failure of a model request's exception; never raises.

    A foreign exception has the code ``UNKNOWN``, whatever attributes it has. Facts beside message and code count only
    when the error brought them itself, under the same code (spec/core.md 6).
    """
    message = error_message(exc) or type(exc).__name__
    if not isinstance(exc, HarnessError):
        return LlmFailure(message, "UNKNOWN")
    code = exc.code if isinstance(exc.code, str) and exc.code else "UNKNOWN"
    own = vars(exc).get("failure")
    return own if isinstance(own, LlmFailure) and own.code == code else LlmFailure(message, code)


def failure_in(finish: object) -> tuple[LlmError, LlmFailure] | None:
    """Return the failure a stream ended with in band, as an error and as what is recorded; ``None`` for an answer."""
    if not isinstance(finish, (ErrorFinish, AbortedFinish)):
        return None
    failure = finish.failure
    error = LlmError(
        failure.message,
        failure.code,
        status=failure.status,
        retry_after=failure.retry_after,
        request_id=failure.request_id,
    )
    return error, failure


def nothing_said() -> LlmError:
    """Return the error for an answer without a single block."""
    return LlmError("the model answered with nothing", "EMPTY_RESPONSE")
