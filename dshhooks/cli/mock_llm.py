"""``dshhooks mock-llm``: the local model."""

from __future__ import annotations

import click

__all__ = ["mock_llm"]


@click.command("mock-llm", short_help="Serve an OpenAI-compatible model for trying out.")
@click.option("--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 picks a free one.")
@click.option("--deny-on", default="DENY", show_default=True, metavar="WORD", help="The word an oracle denies on.")
@click.option("--fence", is_flag=True, help="Wrap oracle answers in a code fence.")
@click.option("--delay", type=click.FloatRange(min=0), default=0.0, metavar="SECONDS", help="Wait before answering.")
@click.option("--status", type=click.IntRange(200, 599), default=200, metavar="N", help="Answer with this HTTP status.")
@click.option("--raw", metavar="TEXT", help="Answer everything with this text.")
def mock_llm(port: int, deny_on: str, fence: bool, delay: float, status: int, raw: str | None) -> None:
    """Serve an OpenAI-compatible model on 127.0.0.1 until interrupted; it answers by rule.

    A prompt with a line `call TOOL {"argument": "value"}` makes it ask for that call, and then say what the tool said;
    one about files asks for a listing; any other is repeated. A request without tools is a question to an oracle.

    The first line on stdout is the port.
    """
    from dshhooks.llm.mock import MockRules, mock_server

    try:
        server = mock_server(port, MockRules(deny_on, fence, delay, status, raw))
    except OSError as exc:
        raise click.ClickException(f"port {port}: {exc.strerror or exc}; choose another with --port, or 0") from None
    click.echo(str(server.server_address[1]))
    with server:
        server.serve_forever()
