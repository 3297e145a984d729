"""The flags of every ``dshhooks bridge`` verb, and the runtime they describe."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from attrs import frozen

from dshhooks.bridge.dialects import DIALECTS, PROFILES
from dshhooks.cli.options import Switches, with_plugin_switches

if TYPE_CHECKING:
    from dshhooks.bridge.model import Diagnostic
    from dshhooks.bridge.options import BridgeOptions
    from dshhooks.bridge.runtime import HookRuntime

__all__ = ["Flags", "bridge_flags", "opened", "print_note", "require_pinned"]

_HISTORY = Path(".local", "state", "dshhooks", "bridge-history.jsonl")


@frozen(kw_only=True)
class Flags:
    """What the flags say."""

    config: str | None
    dialect: Any
    profile: Any
    lenient: bool
    home: str | None
    cwd: str | None
    project_dir: str | None
    timeout: float | None
    on_error: Any
    llm_base_url: str | None
    llm_model: str | None
    llm_key: str | None
    proxy_command: str | None
    parallel: bool
    trust_project: bool
    history: str | None
    switches: Switches

    def options(self, **changes: Any) -> BridgeOptions:
        """Return the runtime's options.

        Raises:
            UsageError: Two flags do not go together, or a value is wrong.
        """
        from dshhooks.bridge.options import BridgeOptions

        given: dict[str, Any] = {
            "config_path": self.config, "dialect": self.dialect, "profile": self.profile, "lenient": self.lenient,
            "home": self.home, "cwd": self.folder(), "project_dir": self.project_dir, "timeout_sec": self.timeout,
            "llm": self._llm(), "parallel": self.parallel, "history": self.history_path(),
            "proxy": {"command": self.proxy_command} if self.proxy_command is not None else None,
            "trust": _everybody if self.trust_project else None,
        }  # fmt: skip
        if self.on_error is not None:
            given["on_error"] = self.on_error
        try:
            return BridgeOptions(**(given | changes))
        except (ValueError, TypeError) as exc:
            raise click.UsageError(str(exc)) from None

    def folder(self) -> str | None:
        """Return the working directory, absolute.

        Raises:
            UsageError: It does not exist.
        """
        if self.cwd is not None and not os.path.isdir(self.cwd):
            raise click.UsageError(f"--cwd {self.cwd}: there is no such directory")
        return None if self.cwd is None else os.path.abspath(self.cwd)

    def _llm(self) -> dict[str, Any] | None:
        if (self.llm_base_url is None) != (self.llm_model is None):
            raise click.UsageError("--llm-base-url and --llm-model go together: give both or neither")
        if self.llm_base_url is None:
            return None
        return {"base_url": self.llm_base_url, "model": self.llm_model, "api_key": self.llm_key or None}

    def history_path(self) -> Path | None:
        """Return the file runs are recorded in; ``None``: there is no home directory."""
        from dshhooks.bridge.discovery import home_directory
        from dshhooks.bridge.options import BridgeOptions

        if self.history is not None:
            return Path(self.history)
        home = home_directory(BridgeOptions(home=self.home))
        return None if home is None else home / _HISTORY


def _everybody(_source: object) -> bool:
    return True


_OPTIONS = (
    click.option("--config", metavar="FILE", help="Use this hook file alone, and trust it."),
    click.option("--dialect", type=click.Choice(DIALECTS), help="The dialect of --config; guessed by default."),
    click.option("--profile", type=click.Choice(PROFILES), help="How files are read; default: current."),
    click.option("--lenient", is_flag=True, help="Run hooks that stand directly under an event."),
    click.option("--home", metavar="DIR", help="The home directory."),
    click.option("--cwd", metavar="DIR", help="Where project files are, and where hooks run."),
    click.option("--project-dir", metavar="DIR", help="CLAUDE_PROJECT_DIR; default: the working directory."),
    click.option("--timeout", type=click.FloatRange(min=0, min_open=True), metavar="SECONDS",
                 help="For hooks that name none."),
    click.option("--on-error", type=click.Choice(["warn", "block", "ignore"]), help="What a hook that fails does."),
    click.option("--llm-base-url", metavar="URL", help="The server oracles ask; needs --llm-model."),
    click.option("--llm-model", metavar="NAME", help="The model oracles ask; needs --llm-base-url."),
    click.option("--llm-key", metavar="KEY", envvar="DSHHOOKS_LLM_KEY",
                 help="Its key; rather set DSHHOOKS_LLM_KEY: a command line can be seen by others."),
    click.option("--proxy-command", metavar="COMMAND", help="Runs the proxies that name no command."),
    click.option("--parallel", is_flag=True, help="Run the hooks of an event at the same time."),
    click.option("--trust-project", is_flag=True, help="Run the project's hook files this once."),
    click.option("--history", metavar="FILE", help="Where runs are recorded."),
)  # fmt: skip


def bridge_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags to a verb and hand them over as ``flags``."""
    names = Flags.__annotations__

    @with_plugin_switches
    @functools.wraps(function)
    def command(*args: Any, **kwargs: Any) -> Any:
        flags = Flags(**{name: kwargs.pop(name) for name in names})
        return function(*args, flags=flags, **kwargs)

    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@contextmanager
def opened(flags: Flags, *, tell: bool = True, **changes: Any) -> Iterator[HookRuntime]:
    """Make the runtime. Plugins are loaded only when a file names a type of hooks nobody here knows.

    Args:
        flags: What the command line says.
        tell: Say on stderr what is wrong with the files: a hook that was dropped guards nothing.
        **changes: Options that differ from what the flags say.
    """
    from dshhooks.bridge.runtime import HookRuntime

    runtime = HookRuntime(flags.options(**changes))
    if not any(note.code == "type-unknown" for note in runtime.diagnostics):
        _tell(runtime, tell)
        yield runtime
        return
    from dshhooks.bridge.handlers.table import Handlers
    from dshhooks.harness import build

    harness = build(flags.switches.load())
    try:
        harness.plugins.raise_problems()
        runtime.adopt(Handlers.of(harness.hooks))
        _tell(runtime, tell)
        yield runtime
    finally:
        harness.hooks.close()


def _tell(runtime: HookRuntime, tell: bool) -> None:
    for note in runtime.diagnostics if tell else ():
        if note.level != "info" and note.code != "file-untrusted":  # the runtime itself tells of that
            print_note(note, err=True)


def require_pinned(runtime: HookRuntime) -> None:
    """Refuse to go on without the file somebody named: its guards would be silent, not absent.

    Raises:
        ClickException: It could not be read.
    """
    if runtime.unusable is not None:
        raise click.ClickException(f"{runtime.unusable.file} could not be used: nothing was run")


def print_note(note: Diagnostic, *, err: bool = False) -> None:
    """Print a diagnostic for people; its hint on a line of its own."""
    from dshhooks.cli.show import printable

    where = f"{note.source}#{note.path}" if note.path else note.source
    click.echo(printable(f"{note.level}: {where or 'options'}: {note.message} [{note.code}]"), err=err)
    if note.hint:
        click.echo(printable(f"    {note.hint}"), err=err)
