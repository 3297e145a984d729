"""Spans of a turn, printed by an exporter of our own; needs opentelemetry-sdk and dshhooks-tracing."""

import anyio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from dshhooks import CallTools, Harness, HarnessConfig, Say, ScriptedAdapter, tool
from dshhooks.config import PluginsConfig

TOKENS = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")


class Print(SpanExporter):
    """Prints the name of each span that ends, and its tokens."""

    def export(self, spans):
        for span in spans:
            print(span.name, *(span.attributes[name] for name in TOKENS if name in span.attributes))
        return SpanExportResult.SUCCESS


@tool
async def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


async def main():
    script = ScriptedAdapter([CallTools([("add", {"a": 1, "b": 2})]), Say("It is three.")])
    # What dshhooks.toml would say; the plugin itself takes the global provider.
    config = HarnessConfig(PluginsConfig(enable=["tracing"]), plugin={"tracing": {"agent_name": "support"}})
    async with Harness.open(config) as harness:
        harness.tools.register(add)
        harness.llm.register_adapter(["scripted"], script)
        agent = await harness.create_agent(provider="scripted", model="demo")
        agent.followup("What is 1 + 2?")
        await agent.when_idle()


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Print()))
trace.set_tracer_provider(provider)
anyio.run(main)
