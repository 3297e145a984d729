"""Approval without a person: a rule answers what a policy asks about."""

import anyio

from dshhooks import ApprovalOutcome, Ask, Harness, HarnessConfig, ToolCall, hookimpl, tool


class AskBeforeSending:
    @hookimpl
    def tools_pre_execute(self, execution):
        return Ask("this leaves the house") if execution.name == "send" else None


class BusinessHours:
    def __init__(self, hour):
        self.hour = hour

    @hookimpl
    async def approval_request(self, request):
        print("asked:", request.tool_name, "-", request.reason)
        return ApprovalOutcome.ALLOWED_ONCE if 9 <= self.hour < 17 else ApprovalOutcome.REJECTED


@tool
async def send(to: str) -> str:
    """Send a message."""
    return f"sent to {to}"


async def main():
    for hour in (10, 22):
        async with Harness.open(HarnessConfig(), plugins=[AskBeforeSending(), BusinessHours(hour)]) as harness:
            harness.tools.register(send)
            call = ToolCall("1", "send", {"to": "bob"}, approver=BusinessHours(hour).approval_request)
            result = await harness.tools.execute(call)
            print(result.error.message if result.is_error else result.value)


anyio.run(main)
