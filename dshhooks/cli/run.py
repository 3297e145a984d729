"""``dshhooks run``: one agent turn on real input."""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import click

from dshhooks.cli.options import Switches, stdin_text, with_switches

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent
    from dshhooks.harness import Harness

__all__ = ["run"]


@click.command()
@click.argument("prompt")
@click.option("--provider", metavar="P", help="Who serves the model: openai, scripted, or what a plugin registers.")
@click.option("--model", metavar="M", help="The provider's model id.")
@click.option("--base-url", metavar="U", help="Endpoint of an OpenAI-compatible server.")
@click.option("--session", "session_id", metavar="ID", help="Continue this session, or start one with this id.")
@click.option(
    "--approve", type=click.Choice(["yes", "no"]), help="The answer to an ask; default: the terminal, else no."
)
@click.option("--json", "as_json", is_flag=True, help="One event of the session a line on stdout.")
@with_switches
def run(
    prompt: str,
    provider: str | None,
    model: str | None,
    base_url: str | None,
    session_id: str | None,
    approve: str | None,
    as_json: bool,
    switches: Switches,
) -> None:
    """Send PROMPT ("-" reads it from stdin) to an agent and show what it does.

    Ctrl-C cancels the turn and leaves a session that can be continued; a second one leaves at once. Exits 0 when the
    turn completed, 2 when the prompt was refused, 1 otherwise.
    """
    import anyio

    try:
        text = stdin_text() if prompt == "-" else prompt
    except ValueError as exc:
        raise click.UsageError(f"the prompt on stdin is not UTF-8: {exc}") from None
    sys.exit(anyio.run(_run, text, provider, model, base_url, session_id, approve, as_json, switches))


async def _run(
    prompt: str,
    provider: str | None,
    model: str | None,
    base_url: str | None,
    session_id: str | None,
    approve: str | None,
    as_json: bool,
    switches: Switches,
) -> int:
    import anyio

    from dshhooks.cli.view import Answerer, JsonView, TextView
    from dshhooks.harness import Harness

    view: Any = JsonView() if as_json else TextView()
    async with Harness.open(switches.load(), plugins=[view, *Answerer.for_terminal(approve)]) as harness:
        provider = provider or harness.config.agent.provider or ("openai" if base_url else "scripted")
        _serve(harness, provider, base_url)
        model = model or harness.config.agent.model or ("demo" if provider == "scripted" else None)
        agent = await _agent(harness, session_id, provider, model)
        if harness.config.store.url is None and session_id is not None:
            click.echo("note: no [store] is configured, so this session is gone when the command ends", err=True)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_on_interrupt, agent)
            agent.followup(prompt)
            await agent.when_idle()
            tasks.cancel_scope.cancel()
        view.finish(agent)
        return _exit_code(agent)


def _serve(harness: Harness, provider: str, base_url: str | None) -> None:
    """Register the adapter a built-in provider name stands for, unless a plugin serves it."""
    if provider in harness.llm.providers:
        return
    if provider == "openai":
        from dshhooks.llm.openai_adapter import OpenAIAdapter

        harness.llm.register_adapter(["openai"], OpenAIAdapter(base_url))
    elif provider == "scripted":
        from dshhooks.llm.embedded import EmbeddedAdapter

        harness.llm.register_adapter(["scripted"], EmbeddedAdapter())
    else:
        known = ", ".join(["openai", "scripted", *harness.llm.providers])
        raise click.UsageError(f"--provider {provider}: nobody serves it; there are: {known}")


async def _agent(harness: Harness, session_id: str | None, provider: str, model: str | None) -> Agent:
    from hookspecs.errors import HarnessError

    if session_id is not None:
        try:
            return await harness.resume_agent(session_id, provider=provider, model=model)
        except HarnessError as exc:
            if exc.code not in ("SESSION_NOT_FOUND", "NO_PERSISTENCE"):
                raise
    return await harness.create_agent(provider=provider, model=model, session_id=session_id, cwd=os.getcwd())


async def _cancel_on_interrupt(agent: Agent) -> None:
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT) as signals:
        async for _ in signals:
            if agent.owner_signal().aborted:
                os._exit(130)  # asked twice: what was acknowledged is in the store, the rest is repaired on resume
            click.echo("\ncancelling; once more to leave at once", err=True)
            agent.cancel()


def _exit_code(agent: Agent) -> int:
    for event in reversed(agent.session.events):
        if event.type == "turn/end":
            return {"completed": 0, "max-tokens": 0, "rejected": 2}.get(event.data.reason.kind, 1)
    return 1
