"""The four tools as the harness sees them: what the model reads, what comes back, and the way to the body."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from dshhooks import ToolDefinition, ToolOutput

from . import render
from .actions import Actions
from .arguments import checked
from .options import WorkspaceOptions

__all__ = ["definitions"]

Action = Callable[..., Awaitable[dict[str, Any]]]

# What ending a command takes at most, beyond the grace of the options.
_ENDING = 15.0


def definitions(actions: Actions) -> list[ToolDefinition]:
    """Return the definitions of the four tools over one workspace."""
    return [_bash(actions), _read_file(actions), _write_file(actions), _list_files(actions)]


def _bash(actions: Actions) -> ToolDefinition:
    options = actions.options
    parameters = _object(
        required=["command"],
        command=_typed("string", "Shell source to run."),
        cwd=_typed("string", "Folder to start in, relative to the workspace; default: the workspace itself."),
        timeout=_typed(
            "number",
            f"Seconds it may run; default {min(options.bash_timeout, options.max_bash_timeout):g}, "
            f"at most {options.max_bash_timeout:g}.",
        ),
    )
    value = _object(
        required=["exit_code", "signal", "stdout", "stderr", "truncated", "timed_out"],
        exit_code=_nullable("integer"),
        signal=_nullable("string"),
        stdout={"type": "string"},
        stderr={"type": "string"},
        truncated={"type": "boolean"},
        timed_out={"type": "boolean"},
    )
    return ToolDefinition(
        name="bash",
        description=_bash_description(options),
        parameters=parameters,
        output=ToolOutput(value, lambda _args, result: render.bash_text(result)),
        execute=_body(actions.bash, parameters),
        # Later than the tool's own limit, whose result tells more than a timeout plugin's error.
        timeout=options.max_bash_timeout + options.kill_grace + options.drain_grace + _ENDING,
    )


def _bash_description(options: WorkspaceOptions) -> str:
    background = (
        "Processes left in the background keep running; redirect their output to a file."
        if options.keep_background
        else "Processes still running when it ends are ended with it."
    )
    return (
        "Run a shell command in the workspace. Each call is a new shell without terminal and with empty standard "
        f"input. {background} Long output keeps its start and end, {options.max_output_bytes} bytes of each stream. "
        "A failing command is a normal result; read its exit code."
    )


def _read_file(actions: Actions) -> ToolDefinition:
    parameters = _object(
        required=["path"],
        path=_typed("string", "File in the workspace."),
        offset=_typed("integer", "Lines to skip; default 0."),
        limit=_typed("integer", "Lines to read; default: as many as fit."),
    )
    value = _object(
        required=["path", "content", "offset", "lines", "size", "truncated", "lossy", "next_offset"],
        path={"type": "string"},
        content={"type": "string"},
        offset={"type": "integer"},
        lines={"type": "integer"},
        size={"type": "integer"},
        truncated={"type": "boolean"},
        lossy={"type": "boolean"},
        next_offset=_nullable("integer"),
    )
    return ToolDefinition(
        name="read_file",
        description=(
            f"Read a text file of the workspace, at most {actions.options.max_read_bytes} bytes at a time. "
            "A longer file is continued by calling again with the offset the result names."
        ),
        parameters=parameters,
        output=ToolOutput(value, lambda _args, result: render.read_text(result)),
        execute=_body(actions.read_file, parameters),
        idempotent=True,
        is_concurrency_safe=_always,
    )


def _write_file(actions: Actions) -> ToolDefinition:
    parameters = _object(
        required=["path", "content"],
        path=_typed("string", "File in the workspace; missing folders are made."),
        content=_typed("string", "The whole new content."),
    )
    value = _object(required=["path", "bytes"], path={"type": "string"}, bytes={"type": "integer"})
    return ToolDefinition(
        name="write_file",
        description="Create a file of the workspace or replace its whole content, in one step.",
        parameters=parameters,
        output=ToolOutput(value, lambda _args, result: render.write_text(result)),
        execute=_body(actions.write_file, parameters),
        idempotent=True,
    )


def _list_files(actions: Actions) -> ToolDefinition:
    options = actions.options
    skipped = f" Not entered: {', '.join(options.skip_dirs)}." if options.skip_dirs else ""
    parameters = _object(
        path=_typed("string", "Folder in the workspace; default: the workspace itself."),
        pattern=_typed("string", "Glob: *.py matches names, src/**/*.py matches paths; default *."),
        recursive=_typed("boolean", "Whether to enter folders; a pattern with a slash does so anyway."),
    )
    entry = _object(
        required=["path", "type", "size"],
        path={"type": "string"},
        type={"type": "string", "enum": ["file", "directory", "symlink", "other"]},
        size=_nullable("integer"),
    )
    value = _object(
        required=["path", "entries", "truncated"],
        path={"type": "string"},
        entries={"type": "array", "items": entry},
        truncated={"type": "boolean"},
    )
    return ToolDefinition(
        name="list_files",
        description=f"List files and folders of the workspace, at most {options.max_entries} entries.{skipped}",
        parameters=parameters,
        output=ToolOutput(value, lambda _args, result: render.list_text(result)),
        execute=_body(actions.list_files, parameters),
        idempotent=True,
        is_concurrency_safe=_always,
    )


def _body(action: Action, parameters: Mapping[str, Any]) -> Callable[[Any, Any], Awaitable[dict[str, Any]]]:
    async def execute(arguments: Any, _execution: Any) -> dict[str, Any]:
        return await action(**checked(arguments, parameters))

    return execute


def _always(_arguments: Any) -> bool:
    return True


def _object(*, required: list[str] | None = None, **properties: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    return {**schema, "required": required} if required else schema


def _typed(kind: str, description: str) -> dict[str, Any]:
    return {"type": kind, "description": description}


def _nullable(kind: str) -> dict[str, Any]:
    return {"oneOf": [{"type": kind}, {"type": "null"}]}
