"""What a model request came to: tokens and the reason it stopped, in the conventions' words."""

from __future__ import annotations

from typing import Any, Final

from dshhooks_tracing.content import encodable

__all__ = ["answered", "finish_reason", "usage"]

_FINISH: Final = {"tool-calls": "tool_call", "max-tokens": "length"}
_LONGEST: Final = 64


def answered(payload: Any) -> dict[str, Any]:
    """Return what the end of a request says; nothing of a stream that was cut."""
    reason = finish_reason(payload)
    return {"gen_ai.response.finish_reasons": (reason,) if reason else None, **usage(payload)}


def finish_reason(payload: Any) -> str | None:
    """Return the conventions' word for why the model stopped; a reason they do not know keeps its own."""
    ended = payload.stream_result
    if ended is None or ended.finish is None:
        return None
    kind: str = ended.finish.kind
    return encodable(_FINISH.get(kind, kind)[:_LONGEST])


def usage(payload: Any) -> dict[str, int | None]:
    """Return token counts. The conventions' input includes what a cache read or wrote; ours does not."""
    ended = payload.stream_result
    if ended is None or ended.usage is None:
        return {}
    tokens = ended.usage
    read, written = tokens.cache_read_tokens, tokens.cache_write_tokens
    return {
        "gen_ai.usage.input_tokens": tokens.input_tokens + (read or 0) + (written or 0),
        "gen_ai.usage.output_tokens": tokens.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": read,
        "gen_ai.usage.cache_creation.input_tokens": written,
        "gen_ai.usage.reasoning.output_tokens": tokens.reasoning_tokens,
    }
