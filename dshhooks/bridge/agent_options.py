"""Options of the plugins that run hook files inside an agent: the tables ``[plugin.claude-hooks]`` and its kin."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from attrs import field, frozen

from dshhooks.bridge.dialects import Dialect
from dshhooks.bridge.options import BridgeOptions

__all__ = ["HookPluginOptions"]

# An agent that goes away waits for these hooks; a product gives them 1.5 s, which a busy machine needs to start Python.
_TIMEOUTS: Final[Mapping[str, float]] = {"session:end": 5.0}

_POLICIES: Final = ("closed", "block", "warn", "ignore")


def _cap(_options: object, attribute: Any, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{attribute.name} must be a whole number of at least 0, not {value!r}")


def _policy(_options: object, attribute: Any, value: str) -> None:
    if value not in _POLICIES:
        raise ValueError(f"{attribute.name} must be one of {', '.join(_POLICIES)}, not {value!r}")


@frozen(kw_only=True)
class HookPluginOptions:
    """Where hook files are, how they are read and run. Unless said otherwise, the words of :class:`BridgeOptions`.

    Args:
        config_path: The one file to run, as if a person had trusted it; empty: the user's and the project's.
        home: Home directory; empty: the user's.
        project_dir: What ``CLAUDE_PROJECT_DIR`` says; empty: the working directory of the agent.
        plugin_root: What ``CLAUDE_PLUGIN_ROOT`` says; empty: nothing.
        profile: ``current`` or ``seed``.
        trust_project: Run what comes with the project although nobody has trusted it with ``dshhooks bridge trust``.
        on_error: What a hook does that gave no usable answer: ``closed`` lets it block where a hook decides about a
            prompt or a call that is to come, ``block`` everywhere, ``warn`` and ``ignore`` nowhere. A hook's own
            ``onError`` stands above.
        stop_cap: How often in a row ``Stop`` hooks may make a turn go on; tools that ran start the count again.
        timeout_sec: Seconds for hooks that name none; 0: per kind.
        event_timeouts: Seconds by canonical event, for hooks that name none.
        stderr_cap: Characters of stderr in logs.
        parallel: Hooks of one event run at the same time.
        dedupe: The same handler configured twice runs once.
        strict_json: Output that looks like JSON and is none counts as no usable answer.
        lenient: Hooks that stand directly under an event are taken for a group that matches everything.
        tool_aliases: Further names of a tool that matchers are tested against: ``{bash = ["Bash"]}``.
        llm: The model of ``prompt`` hooks: ``{base_url = ..., model = ...}``.
        proxy: The runner of ``agent`` hooks: ``{command = ...}``.
        history: Where runs are recorded; empty: in memory only.
    """

    config_path: str = ""
    home: str = ""
    project_dir: str = ""
    plugin_root: str = ""
    profile: str = "current"
    trust_project: bool = False
    on_error: str = field(default="closed", validator=_policy)
    stop_cap: int = field(default=8, validator=_cap)
    timeout_sec: float = 0.0
    event_timeouts: dict[str, float] = field(factory=dict)
    stderr_cap: int = 500
    parallel: bool = False
    dedupe: bool = False
    strict_json: bool = False
    lenient: bool = False
    tool_aliases: dict[str, list[str]] = field(factory=dict)
    llm: dict[str, str] = field(factory=dict)
    proxy: dict[str, str] = field(factory=dict)
    history: str = ""

    def __attrs_post_init__(self) -> None:
        # The runtime's options check the rest; here, so that a wrong value stops the start and not a tool call.
        self.for_folder(os.curdir, "claude")

    def for_folder(self, folder: str, dialect: Dialect) -> BridgeOptions:
        """Return the options of the runtime for agents that work in ``folder``.

        Raises:
            ValueError: An option is wrong.
            TypeError: An option is of a wrong type.
        """
        return BridgeOptions(
            config_path=_path(self.config_path),
            dialect=dialect if self.config_path else None,
            dialects=(dialect,),
            profile=self.profile,  # type: ignore[arg-type]  # checked there
            lenient=self.lenient,
            cwd=Path(folder),
            home=_path(self.home),
            project_dir=_path(self.project_dir),
            plugin_root=_path(self.plugin_root),
            llm=self.llm or None,
            proxy=self.proxy or None,
            timeout_sec=self.timeout_sec or None,
            event_timeouts={**_TIMEOUTS, **self.event_timeouts},
            on_error="block" if self.on_error == "closed" else self.on_error,  # type: ignore[arg-type]
            stderr_cap=self.stderr_cap,
            parallel=self.parallel,
            dedupe=self.dedupe,
            strict_json=self.strict_json,
            tool_aliases=self.tool_aliases,
            history=_path(self.history),
            trust=_everything if self.trust_project else None,
        )


def _path(value: str) -> Path | None:
    return Path(value).expanduser() if value else None


def _everything(_source: object) -> bool:
    return True
