"""Hooks of kind ``webhook``: the payload is posted, the body of the answer is read like stdout (A.6.6)."""

from __future__ import annotations

from dshhooks.bridge.dialects import rules
from dshhooks.bridge.handlers.base import Job
from dshhooks.bridge.handlers.http import Answer, is_allowed, post, shown_url
from dshhooks.bridge.outcomes import RawResult
from dshhooks.bridge.placeholders import header_value

__all__ = ["WebhookHandler"]


class WebhookHandler:
    """Posts to the hook's address. A status alone never denies."""

    async def run(self, job: Job) -> RawResult:
        """Post the payload; anything but 2xx is a failure."""
        hook, headers = job.hook, {}
        if hook.url is None:
            return RawResult(failure="config", error="the webhook has no url")
        allowed = job.options.allowed_urls
        if allowed is not None and not is_allowed(hook.url, allowed):
            return RawResult(failure="config", error=f"{shown_url(hook.url)} is not in allowed_urls: nothing was sent")
        for name, template in hook.headers.items():
            try:
                how = rules(hook.dialect, hook.profile)
                headers[name] = header_value(template, job.environ, how, hook.allowed_env_vars)
            except ValueError as exc:
                return RawResult(failure="config", error=f"header {name!r}: {exc}")
        answer = await post(hook.url, job.body, headers, limit=job.options.limits.stdout)
        if isinstance(answer, Answer):
            return RawResult(0, answer.body, stdout_truncated=answer.truncated)
        return answer
