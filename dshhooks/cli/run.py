"""``dshhooks run``: one agent turn on real input."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from attrs import frozen

from dshhooks.cli.options import Switches, stdin_text, stdout_kept, with_switches
from dshhooks.cli.show import print_json

if TYPE_CHECKING:
    from dshhooks.agent.handle import Agent
    from dshhooks.harness import Harness

__all__ = ["run"]


@click.command(short_help="Send a prompt to an agent.")
@click.argument("prompt")
@click.option("--provider", metavar="P", help="Who serves the model: openai, scripted, or what a plugin registers.")
@click.option("--model", metavar="M", help="The provider's model id.")
@click.option("--base-url", metavar="U", help="Endpoint of an OpenAI-compatible server.")
@click.option("--session", "session_id", metavar="ID", help="Continue this session, or start one with this id.")
@click.option(
    "--approve", type=click.Choice(["yes", "no"]), help="The answer to an ask; default: the terminal, else no."
)
@click.option(
    "--allow-policy-drift", is_flag=True, help="Continue although the operation guards' policy revision has changed."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
@with_switches
def run(prompt: str, switches: Switches, **options: Any) -> None:
    """Send PROMPT ("-" reads it from stdin) to an agent and show what it does.

    Ctrl-C cancels the turn and leaves a session that can be continued; a second one leaves at once. Exits 0 when the
    turn completed, 2 when the prompt was refused, 1 otherwise.
    """
    import anyio

    from dshhooks.engine.lifeline import lifeline

    try:
        text = stdin_text() if prompt == "-" else prompt
    except ValueError as exc:
        raise click.UsageError(f"the prompt on stdin is not UTF-8: {exc}") from None
    said = _Options(**options)
    with lifeline(), stdout_kept(said.as_json):
        code, document = anyio.run(_run, text, said, switches)
    if document is not None:
        print_json(document)
    sys.exit(code)


@frozen
class _Options:
    """What the command line says about the run."""

    provider: str | None
    model: str | None
    base_url: str | None
    session_id: str | None
    approve: str | None
    allow_policy_drift: bool
    as_json: bool


async def _run(prompt: str, options: _Options, switches: Switches) -> tuple[int, dict[str, Any] | None]:
    from dshhooks.cli.view import Answerer, JsonView, TextView
    from dshhooks.harness import Harness

    logging.getLogger("dshhooks.agent").setLevel(logging.ERROR)  # the view shows how a turn ended
    view: Any = JsonView() if options.as_json else TextView()
    async with Harness.open(switches.load(), plugins=[view, *Answerer.for_terminal(options.approve)]) as harness:
        agent = await _agent(harness, options)
        if harness.config.store.url is None and options.session_id is not None:
            click.echo("note: no [store] is configured, so this session is gone when the command ends", err=True)
        before = len(agent.session.events)
        killed = await _turn(agent, prompt)
        events = agent.session.events[before:]
        code = 128 + signal.SIGTERM if killed else 2 if view.refused is not None else _exit_code(events)
        return code, view.finish(agent, events)


async def _turn(agent: Agent, prompt: str) -> bool:
    """Run the prompt's turn to its end; return whether somebody asked the process to terminate meanwhile."""
    import anyio

    asked: list[int] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_cancel_on_signal, agent, asked)
        agent.followup(prompt)
        await agent.when_idle()
        tasks.cancel_scope.cancel()
    return signal.SIGTERM in asked


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


async def _agent(harness: Harness, options: _Options) -> Agent:
    """Resume or create the agent, on the provider and model that were asked for."""
    from dshhooks.agent.handle import AgentOptions

    agent = await _resumed(harness, options)
    if agent is not None and agent.options.provider and agent.options.model:
        _serve(harness, agent.options.provider, options.base_url)
        return agent
    provider, model = _route(harness, options)
    _serve(harness, provider, options.base_url)
    if agent is None:
        return await harness.create_agent(
            provider=provider, model=model, session_id=options.session_id, cwd=os.getcwd()
        )
    agent.options = AgentOptions(provider, model)  # it never got as far as asking one
    return agent


def _route(harness: Harness, options: _Options) -> tuple[str, str]:
    """Return provider and model for an agent that has none of its own yet."""
    configured = harness.config.agent
    provider = options.provider or configured.provider or ("openai" if options.base_url else "scripted")
    if options.provider is None and configured.provider is None and provider == "scripted":
        click.echo(
            "note: no provider is configured, so a built-in script answers; see --base-url, --provider, --model",
            err=True,
        )
    model = options.model or configured.model or ("demo" if provider == "scripted" else None)
    if model is None:
        raise click.UsageError(f"provider {provider!r} needs a model: --model M, or [agent] model in dshhooks.toml")
    return provider, model


async def _resumed(harness: Harness, options: _Options) -> Agent | None:
    """Resume the named session on what it used last, unless something else was asked for; ``None`` if there is none."""
    from hookspecs.errors import HarnessError

    if options.session_id is None:
        return None
    provider = options.provider or ("openai" if options.base_url else None)
    try:
        return await harness.resume_agent(
            options.session_id,
            provider=provider,
            model=options.model,
            allow_policy_drift=options.allow_policy_drift,
        )
    except HarnessError as exc:
        if exc.code not in ("SESSION_NOT_FOUND", "NO_PERSISTENCE"):
            raise
        return None


async def _cancel_on_signal(agent: Agent, asked: list[int]) -> None:
    """Cancel the turn on SIGINT or SIGTERM, so that what its tools started is cleaned up; leave at once on another."""
    import anyio

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            if asked:
                os._exit(128 + number)  # what was acknowledged is in the store, the rest is repaired on resume
            asked.append(number)
            click.echo("\ncancelling; once more to leave at once", err=True)
            agent.cancel()


def _exit_code(events: Sequence[Any]) -> int:
    ends = [event.data.reason.kind for event in events if event.type == "turn/end"]
    return 0 if ends and ends[-1] in ("completed", "max-tokens") else 1
