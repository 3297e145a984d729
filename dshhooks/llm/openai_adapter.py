"""Any OpenAI-compatible chat-completions endpoint, through the official client (extra ``openai``)."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable
from typing import Final, TypeVar

import anyio

from dshhooks.engine.scope import tied_scope
from dshhooks.llm.openai_errors import failure_of, malformed
from dshhooks.llm.openai_wire import Answer, EventStream, request_body
from hookspecs.errors import LlmError
from hookspecs.model import GenerateOptions, StreamChunk
from hookspecs.signal import CancelSignal

__all__ = ["OpenAIAdapter"]

T = TypeVar("T")
_GRACE: Final = 0.1  # seconds between "[DONE]" and the end of the response, which mostly come together


class OpenAIAdapter:
    """One provider attempt per request, streamed; failures are :class:`LlmError` with provider-neutral codes.

    Args:
        base_url: Of the endpoint, for example ``http://127.0.0.1:8765/v1``; ``None``: the client's default.
        api_key: ``None``: the client's own lookup; an endpoint that needs none gets a placeholder.
        timeout: Seconds without a chunk before the request counts as stalled (``TIMEOUT``).

    Raises:
        LlmError: ``MISSING_EXTRA``: the ``openai`` package is not installed. ``AUTH``: there is no key.
    """

    def __init__(self, base_url: str | None = None, api_key: str | None = None, *, timeout: float = 120.0) -> None:
        try:
            import openai
        except ImportError as exc:
            raise LlmError("OpenAIAdapter needs the extra: pip install 'dshhooks[openai]'", "MISSING_EXTRA") from exc
        key = api_key or os.environ.get("OPENAI_API_KEY") or ("none-needed" if base_url else None)
        self._timeout = timeout
        try:
            # One call is one attempt: repeating it is a policy's business, where it can be seen.
            self._client = openai.AsyncOpenAI(base_url=base_url, api_key=key, timeout=timeout, max_retries=0)
        except openai.OpenAIError as exc:
            raise LlmError(f"the OpenAI client could not be made: {exc}", "AUTH") from exc

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Yield the chunks of one answer.

        Raises:
            LlmError: The request failed. ``ABORTED``: ``options.signal`` aborted; the connection is closed then.
        """
        signal, answer, events = options.signal, Answer(), EventStream()
        if signal.aborted:
            raise _aborted()
        stream = await self._within(signal, self._client.chat.completions.create(**request_body(options)))
        # The client's own reader is not used: it leaves its inner generators to the garbage collector, which trio
        # complains about, and hides the difference between a life sign and an event.
        body: AsyncIterator[bytes] = stream.response.aiter_bytes()
        try:
            while not answer.over:
                found = await self._within(signal, _next_events(body, events), reading=True)
                if found is None:
                    break
                for chunk in _read(answer, found):
                    yield chunk
        finally:
            await _let_go(body, answer.over)
        if answer.finish is None:
            raise LlmError("the stream ended before the answer did", "STREAM_CLOSED")
        for chunk in answer.end():
            yield chunk

    async def aclose(self) -> None:
        """Close the client and its connections; the adapter serves no more requests."""
        await self._client.close()

    async def _within(self, signal: CancelSignal, work: Awaitable[T], *, reading: bool = False) -> T:
        """Wait for the endpoint, but not past the signal's abort and not longer than the timeout."""
        with tied_scope(signal), anyio.move_on_after(self._timeout):
            try:
                return await work
            except Exception as exc:
                raise failure_of(exc, reading=reading) from exc
        if signal.aborted:
            raise _aborted()
        raise LlmError(f"the endpoint sent nothing for {self._timeout:g} s", "TIMEOUT")


def _aborted() -> LlmError:
    return LlmError("the request was cancelled", "ABORTED")


async def _next_events(body: AsyncIterator[bytes], events: EventStream) -> list[str] | None:
    """Return the data of the next events, however many life signs come first; ``None`` at the end."""
    while (piece := await anext(body, None)) is not None:
        if found := events.feed(piece):
            return found
    return events.end() or None


def _read(answer: Answer, found: list[str]) -> list[StreamChunk]:
    try:
        return [chunk for data in found for chunk in answer.take(data)]
    except (AttributeError, TypeError, ValueError) as exc:  # nobody checked what was sent
        raise malformed(exc) from exc


async def _let_go(body: AsyncIterator[bytes], over: bool) -> None:
    """Leave a response: a finished one is read to its end if that comes at once, so that its connection serves again.

    Any other is cancelled rather than closed. The client nests generators, and closing the outermost leaves the others
    to the garbage collector; a cancellation runs through all of them and closes the connection on its way.
    """
    with anyio.move_on_after(_GRACE if over else 0, shield=True):
        try:
            while await anext(body, None) is not None:
                pass
        except Exception:  # noqa: BLE001 - nobody waits for this answer any more
            return
