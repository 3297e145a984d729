"""Options of the external hook runtime (spec/external-hooks.md A.9.3): checked when they are made, not when used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar, get_args

from attrs import field, frozen

from dshhooks.bridge import checks
from dshhooks.bridge.dialects import DEFAULT_TIMEOUTS, DIALECTS, PROFILES, Dialect, Profile
from dshhooks.bridge.model import Hook, OnError, Source

__all__ = ["BridgeOptions", "Limits", "LlmOptions", "ProxyOptions"]

T = TypeVar("T")


@frozen(kw_only=True)
class LlmOptions:
    """The model oracles ask: an OpenAI-compatible server. Both ``base_url`` and ``model`` are needed."""

    base_url: str = field(validator=checks.web_address)
    model: str = field(validator=checks.filled)
    api_key: str | None = field(default=None, validator=checks.optional_text, repr=False)


@frozen(kw_only=True)
class ProxyOptions:
    """The command proxies run when the hook names none."""

    command: str = field(validator=checks.filled)


@frozen(kw_only=True)
class Limits:
    """How much is kept: bytes of output, characters of a context, bytes of a line of the stdio protocol.

    And how many hooks nobody waits for (``async``) run at the same time, whoever started them: those that are one too
    many fail to start.
    """

    stdout: int = field(default=1 << 20, validator=checks.count)
    stderr: int = field(default=1 << 16, validator=checks.count)
    context: int = field(default=10_000, validator=checks.count)
    line: int = field(default=1 << 24, validator=checks.count)
    detached: int = field(default=32, validator=checks.count)


def _made(kind: Callable[..., T], name: str, value: T | Mapping[str, Any]) -> T:
    """Take a mapping where an options class is wanted: that is what a configuration file holds."""
    if not isinstance(value, Mapping):
        return value
    try:
        return kind(**value)
    except (ValueError, TypeError) as exc:
        raise type(exc)(f"{name}: {exc}") from exc


def _llm(value: LlmOptions | Mapping[str, Any] | None) -> LlmOptions | None:
    return None if value is None else _made(LlmOptions, "llm", value)


def _proxy(value: ProxyOptions | Mapping[str, Any] | None) -> ProxyOptions | None:
    return None if value is None else _made(ProxyOptions, "proxy", value)


def _limits(value: Limits | Mapping[str, Any]) -> Limits:
    return _made(Limits, "limits", value)


_NO_ALIASES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType({})


@frozen(kw_only=True)
class BridgeOptions:
    """What a :class:`HookRuntime` is made with. A wrong value raises ``ValueError`` or ``TypeError`` here.

    Args:
        discover: Look for hook files in the places of A.9.1.
        config_path: One pinned file; discovery is off then, and the file is trusted.
        dialect: The dialect of the pinned file; ``None``: guessed from its name, place and content.
        dialects: Only the places of these dialects are looked at, and no file the environment pins; ``None``: all.
        profile: How files are read; ``None``: ``current``. Native files are always read in ``seed``.
        matcher_profile: The same for matchers alone; ``None``: as ``profile``.
        lenient: Hooks that stand directly under an event are taken for a group that matches everything.
        cwd: Working directory; ``None``: the process's when files are read.
        home: Home directory; ``None``: the user's.
        project_dir: What ``CLAUDE_PROJECT_DIR`` says; ``None``: the dispatch's working directory.
        plugin_root: What ``CLAUDE_PLUGIN_ROOT`` says.
        plugin_data: What ``CLAUDE_PLUGIN_DATA`` says.
        llm: The model of oracles; a mapping will do.
        proxy: The runner of proxies; a mapping will do.
        timeout_sec: Seconds for hooks that name none; ``None``: per kind.
        event_timeouts: Seconds by canonical event, for hooks that name none; before ``timeout_sec``.
        on_error: What infrastructure failures do: ``warn``, ``block`` or ``ignore``.
        stderr_cap: Characters of stderr in logs and history.
        parallel: Hooks of one event run at the same time; the answer is the same.
        dedupe: The same handler configured twice runs once.
        strict_json: Output that looks like JSON and is none counts as an infrastructure failure.
        context_dialects: Hooks of these dialects may add what they print to the model's context, on events that take
            any; ``None``: all of them.
        login_shell: Commands run in a login shell (``sh -lc``), which reads the user's profile; not on Windows.
        limits: How much output is kept; a mapping will do.
        tool_aliases: Further names of a tool that matchers are tested against, by its name.
        env_allow: Names of the variables hooks see, with ``*``; ``None``: all but the keys of models. One that is
            named without ``*`` is passed on even so.
        env_deny: Names of variables hooks never see, with ``*``, for example ``OTEL_*``.
        allowed_urls: Where webhooks may post: addresses with ``*`` in host and path; ``None``: anywhere.
        history: Where runs are recorded; ``None``: in memory only.
        trust: Says whether a project's file may run; ``None``: what the user has trusted before.
    """

    discover: bool = field(default=True, validator=checks.flag)
    config_path: Path | None = field(default=None, converter=checks.path, validator=checks.optional_path)
    dialect: Dialect | None = field(default=None, validator=checks.one_of(None, *DIALECTS))
    dialects: tuple[Dialect, ...] | None = field(
        default=None, converter=checks.texts, validator=checks.known_dialects(least=1)
    )
    profile: Profile | None = field(default=None, validator=checks.one_of(None, *PROFILES))
    matcher_profile: Profile | None = field(default=None, validator=checks.one_of(None, *PROFILES))
    lenient: bool = field(default=False, validator=checks.flag)
    cwd: Path | None = field(default=None, converter=checks.path, validator=checks.optional_path)
    home: Path | None = field(default=None, converter=checks.path, validator=checks.optional_path)
    project_dir: Path | None = field(default=None, converter=checks.path, validator=checks.optional_path)
    plugin_root: Path | None = field(default=None, converter=checks.path, validator=checks.optional_path)
    plugin_data: Path | None = field(default=None, converter=checks.path, validator=checks.optional_path)
    llm: LlmOptions | None = field(default=None, converter=_llm, validator=checks.instance(LlmOptions, optional=True))
    proxy: ProxyOptions | None = field(
        default=None, converter=_proxy, validator=checks.instance(ProxyOptions, optional=True)
    )
    timeout_sec: float | None = field(default=None, validator=checks.positive)
    event_timeouts: Mapping[str, float] = field(factory=dict)
    on_error: OnError = field(default="warn", validator=checks.one_of(*get_args(OnError)))
    stderr_cap: int = field(default=500, validator=checks.count)
    parallel: bool = field(default=False, validator=checks.flag)
    dedupe: bool = field(default=False, validator=checks.flag)
    strict_json: bool = field(default=False, validator=checks.flag)
    context_dialects: tuple[Dialect, ...] | None = field(
        default=None, converter=checks.texts, validator=checks.known_dialects(least=0)
    )
    login_shell: bool = field(default=False, validator=checks.flag)
    limits: Limits = field(factory=Limits, converter=_limits, validator=checks.instance(Limits, optional=False))
    tool_aliases: Mapping[str, tuple[str, ...]] = field(
        default=_NO_ALIASES, converter=checks.aliases, validator=checks.table_of_texts
    )
    env_allow: tuple[str, ...] | None = field(default=None, converter=checks.texts, validator=checks.only_texts)
    env_deny: tuple[str, ...] = field(default=(), converter=checks.texts, validator=checks.only_texts)
    allowed_urls: tuple[str, ...] | None = field(default=None, converter=checks.texts, validator=checks.only_texts)
    history: Path | None = field(default=None, converter=checks.path, validator=checks.optional_path)
    trust: Callable[[Source], bool] | None = field(default=None, validator=checks.function)

    @event_timeouts.validator
    def _check_event_timeouts(self, attribute: Any, value: Mapping[str, float]) -> None:
        from dshhooks.bridge.events import EVENTS

        if not isinstance(value, Mapping):
            raise TypeError(f"{attribute.name} must be a table of seconds by event, not {value!r}")
        for event, seconds in value.items():
            if event not in EVENTS:
                raise ValueError(f"{attribute.name} has {event!r}, which is no canonical event: {', '.join(EVENTS)}")
            checks.positive(self, attribute, seconds)

    def timeout_of(self, hook: Hook) -> float:
        """Return the seconds a hook may take: its own, the event's, the runtime's, its kind's (A.6.8)."""
        for seconds in (hook.timeout, self.event_timeouts.get(hook.canonical), self.timeout_sec):
            if seconds is not None:
                return seconds
        return DEFAULT_TIMEOUTS.get(hook.kind, DEFAULT_TIMEOUTS["shell"])

    def on_error_of(self, hook: Hook) -> OnError:
        """Return what a failure of the hook does: its own word, else the runtime's."""
        return hook.on_error or self.on_error
