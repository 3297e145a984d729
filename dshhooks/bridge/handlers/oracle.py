"""Hooks of kind ``oracle``: a model is asked, and its reply is read (A.6.7)."""

from __future__ import annotations

import json
from typing import Any

from dshhooks.bridge.dialects import rules
from dshhooks.bridge.handlers.base import Job
from dshhooks.bridge.handlers.http import post, shown_url
from dshhooks.bridge.options import LlmOptions
from dshhooks.bridge.outcomes import RawResult
from dshhooks.bridge.placeholders import prompt_text

__all__ = ["OracleHandler"]


class OracleHandler:
    """Asks an OpenAI-compatible server one question. The reply text is the result's stdout."""

    async def run(self, job: Job) -> RawResult:
        """Ask; without a configured server nothing is sent."""
        llm = job.options.llm
        if llm is None:
            return RawResult(failure="config", error="no model for oracles: set base_url and model in "
                                                     "BridgeOptions(llm=...)")  # fmt: skip
        url = f"{llm.base_url.rstrip('/')}/chat/completions"
        key = {} if llm.api_key is None else {"authorization": f"Bearer {llm.api_key}"}
        answer = await post(url, _request(job, llm), key, limit=job.options.limits.stdout)
        if isinstance(answer, RawResult):
            return answer
        reply = None if answer.truncated else _reply(answer.body)
        if reply is None:
            return RawResult(failure="reply", error=f"POST {shown_url(url)}: the answer has no reply text in "
                                                    "choices[0].message.content")  # fmt: skip
        return RawResult(0, reply)


def _request(job: Job, llm: LlmOptions) -> bytes:
    hook = job.hook
    append = rules(hook.dialect, hook.profile).append_payload
    prompt = prompt_text(hook.prompt or "", job.body.decode("utf-8"), append=append)
    message = {"role": "user", "content": prompt}
    return json.dumps({"model": hook.model or llm.model, "messages": [message], "temperature": 0}).encode("ascii")


def _reply(body: bytes) -> str | None:
    try:
        document: Any = json.loads(body)
        content = document["choices"][0]["message"]["content"]
    except (ValueError, RecursionError, KeyError, IndexError, TypeError):
        return None
    return content if isinstance(content, str) else None
