"""The registry: tools in, results out."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

from dshhooks.engine.contribution import contribute
from dshhooks.engine.faults import discard, is_fault, origin, plugin_failed
from dshhooks.engine.hooks import Hooks, Registration
from dshhooks.engine.observe import described
from dshhooks.operations.host import Operations
from dshhooks.tools.approval import Approvals
from dshhooks.tools.contribution import PluginRegistry
from dshhooks.tools.definition import ToolDefinition, check_definition, check_timeout, is_coroutine_callable
from dshhooks.tools.layers import Entry, Guard, GuardFunction, Layer, Layers, Restriction
from dshhooks.tools.pipeline import Pipeline
from dshhooks.tools.schema import check_schema, compile_schema
from hookspecs.errors import HarnessError, NotLosslessError, error_message
from hookspecs.execution import ToolCall, ToolResult
from hookspecs.json import snapshot
from hookspecs.signal import CancelSignal

if TYPE_CHECKING:
    from dshhooks.tools.guard_list import GuardEntry

__all__ = ["ToolRegistry"]

log = logging.getLogger("dshhooks.tools")


class ToolRegistry:
    """Holds tools in layers and runs every call through the pipeline (spec/core.md 1, 3).

    Args:
        hooks: The plugins that take part; by default none, and ``registry.hooks`` takes them. Their ``register_tools``
            hooks are called here and now, and again for each plugin that arrives later.
    """

    def __init__(self, hooks: Hooks | None = None) -> None:
        self.hooks = hooks if hooks is not None else Hooks()
        self.operations = Operations(self.hooks)
        self.approvals = Approvals(self.hooks)
        self._layers = Layers()
        self.pipeline = Pipeline(self.hooks, self._layers, self.approvals, self.operations)
        self._ids = itertools.count(1)
        self.hooks.on_arrival(self._welcome)

    def _welcome(self, plugin: str) -> Callable[[], None]:
        own = PluginRegistry(self, self.hooks.agent_of(plugin))
        return contribute(self.hooks, "register_tools", plugin, own)

    # -- registering -----------------------------------------------------------------------------------------------

    def register(self, definition: Any, *, agent: object = None) -> Registration:
        """Make a tool visible to everybody, or to one agent (spec/core.md 1.2).

        Args:
            definition: A :class:`ToolDefinition`, or a function decorated with ``@tool``.
            agent: Whose tool it is; it shadows a global tool of the same name.

        Returns:
            A registration whose ``dispose`` removes exactly this tool.

        Raises:
            TypeError: A part of the definition has the wrong type.
            JsonSchemaError: The output schema is outside the subset; lists every violation.
            HarnessError: ``DUPLICATE_TOOL``: the layer has a tool of this name.
            Exception: What a ``tools_change`` hook raised; the tool is not registered then.
        """
        definition = getattr(definition, "definition", definition)
        check_definition(definition)
        where = f"tool {definition.name!r}"
        check_schema(definition.output.schema, f"output schema of {where}")
        check_timeout(definition.timeout, where)
        layer = self._layers.make(agent)
        if definition.name in layer.tools:
            self._layers.tidy(layer)
            raise _duplicate(definition.name, agent)
        entry = Entry(
            definition,
            compile_schema(definition.output.schema, "value"),
            threaded=not is_coroutine_callable(definition.execute),
        )
        layer.tools[definition.name] = entry
        self._announce(lambda: self._remove(layer, definition.name, entry))
        return Registration(lambda: self._dispose(layer, definition.name, entry))

    def _announce(self, undo: Any) -> None:
        try:
            self.hooks.call_now("tools_change")
        except BaseException as exc:
            undo()
            if isinstance(exc, SystemExit):
                note = origin(exc)
                raise plugin_failed(exc, "tools_change", note.plugin if note is not None else "?") from exc
            raise

    def _remove(self, layer: Layer, name: str, entry: Entry) -> bool:
        if layer.tools.get(name) is not entry:
            return False
        del layer.tools[name]
        self._layers.tidy(layer)
        return True

    def _dispose(self, layer: Layer, name: str, entry: Entry) -> None:
        if self._remove(layer, name, entry):
            self._announce_lifted()

    def _announce_lifted(self) -> None:
        # What was lifted stays lifted, so an objection can only be written down.
        try:
            self.hooks.call_now("tools_change")
        except BaseException as exc:
            if not is_fault(exc):
                raise
            log.warning("a tools_change hook objected to a removal and was ignored: %s", described(exc))

    def guard(self, fn: GuardFunction, *, agent: object = None) -> Registration:
        """Add a guard for everybody's calls, or one agent's, at the final position (spec/core.md 1.5).

        Args:
            fn: ``fn(execution)`` returns a reason to deny or ``None``; synchronous. Raising denies too.

        Raises:
            TypeError: ``fn`` is not callable, or is a coroutine function.
        """
        if not callable(fn) or is_coroutine_callable(fn):
            raise TypeError("a guard is a plain function: fn(execution) -> str | None; it cannot be async")
        layer, guard = self._layers.make(agent), Guard(fn)
        layer.guards.append(guard)

        def undo() -> None:
            if guard in layer.guards:
                layer.guards.remove(guard)
                self._layers.tidy(layer)

        return Registration(undo)

    def guards(self, agent: object = None) -> list[GuardEntry]:
        """Return every guard a call of ``agent`` meets, in order: those asked at admission, then the final ones."""
        from dshhooks.tools.guard_list import guard_entries

        return list(guard_entries(self.hooks, self.operations, self._layers, agent))

    def restrict(
        self, agent: object, *, allow: Iterable[str] | None = None, deny: Iterable[str] | None = None
    ) -> Registration:
        """Hide global tools from one agent; several restrictions intersect (spec/core.md 1.4).

        Args:
            agent: Whose view it is.
            allow: Only these stay visible; an empty list hides every global tool.
            deny: These are hidden.

        Raises:
            HarnessError: ``INVALID_RESTRICTION``: no agent, neither list, or a name that is no global tool.
        """
        if agent is None:
            raise HarnessError("restrict needs an agent: a restriction is one agent's view", "INVALID_RESTRICTION")
        if allow is None and deny is None:
            raise HarnessError("restrict needs allow=[...] or deny=[...] (an empty list counts)", "INVALID_RESTRICTION")
        restriction = Restriction(None if allow is None else _names(allow, "allow"), _names(deny or (), "deny"))
        self._refuse_unknown((restriction.allow or frozenset()) | restriction.deny)
        layer = self._layers.make(agent)
        layer.restrictions.append(restriction)

        def undo() -> None:
            if restriction in layer.restrictions:
                layer.restrictions.remove(restriction)
                self._layers.tidy(layer)

        def lift() -> None:
            undo()
            self._announce_lifted()

        self._announce(undo)
        return Registration(lift)

    def inherit(self, agent: object, above: object) -> Registration:
        """Hold ``agent`` to the guards and restrictions ``above`` has now, beside its own; both can only refuse.

        Args:
            agent: Who is held, for example a subagent.
            above: Whose guards and restrictions count for it too; what it is given later does not.
        """
        source = self._layers.of(above)
        if source is None:
            return Registration(_nothing)
        layer = self._layers.make(agent)
        guards, restrictions = [Guard(guard.fn) for guard in source.guards], list(source.restrictions)
        layer.guards.extend(guards)
        layer.restrictions.extend(restrictions)

        def undo() -> None:
            layer.guards[:] = [guard for guard in layer.guards if guard not in guards]
            for restriction in restrictions:
                if restriction in layer.restrictions:
                    layer.restrictions.remove(restriction)
            self._layers.tidy(layer)

        return Registration(undo)

    def _refuse_unknown(self, names: frozenset[str]) -> None:
        known = self._layers.everybody.tools
        unknown = sorted(names - set(known))
        if unknown:
            raise HarnessError(
                f"restrict names no global tool: {', '.join(unknown)}; there are: {', '.join(known) or 'none'}",
                "INVALID_RESTRICTION",
            )

    # -- looking ---------------------------------------------------------------------------------------------------

    def get(self, name: str, agent: object = None) -> ToolDefinition | None:
        """Return the definition ``agent`` (or nobody in particular) sees under ``name`` now, or ``None``."""
        entry = self._layers.get(name, agent)
        return entry.definition if entry is not None else None

    def names(self, agent: object = None) -> list[str]:
        """Return the names of the tools ``agent`` (or nobody in particular) sees now."""
        return [entry.definition.name for entry in self._layers.view(agent)]

    def schemas(self, agent: object = None) -> list[dict[str, Any]]:
        """Return what a model is told: name, description and parameters of every visible tool; fresh copies.

        Raises:
            NotLosslessError: A raw definition's parameters are not lossless JSON; names the tool.
        """
        return [_projection(entry.definition) for entry in self._layers.view(agent)]

    def entries(self, agent: object = None) -> list[Entry]:
        """Return the tools an agent sees, or everybody."""
        return list(self._layers.view(agent))

    def execution_mode(self, call: ToolCall) -> Literal["parallel", "exclusive"]:
        """Say whether a call may overlap others: only when its tool says exactly True (spec/core.md 1.6)."""
        entry = self._layers.get(call.name, call.agent)
        if entry is None or entry.definition.is_concurrency_safe is None:
            return "exclusive"
        try:
            safe = entry.definition.is_concurrency_safe(call.arguments)
        except (Exception, SystemExit):  # noqa: BLE001 - a classifier that breaks has not said yes
            return "exclusive"
        discard(safe)
        return "parallel" if safe is True else "exclusive"

    # -- running ---------------------------------------------------------------------------------------------------

    async def execute(self, call: ToolCall) -> ToolResult:
        """Run one call through the whole pipeline.

        Returns:
            The frozen result the observers saw. Faults of tools and plugins are failures (codes: spec/core.md 3.9),
            never exceptions.
        """
        return await self.pipeline.execute(call)

    async def call(
        self, name: str, arguments: Any = None, *, signal: CancelSignal | None = None, agent: object = None
    ) -> ToolResult:
        """Run a tool by name with a fresh id; like :meth:`execute`."""
        arguments = {} if arguments is None else arguments
        return await self.pipeline.execute(ToolCall(f"call-{next(self._ids)}", name, arguments, signal, agent))


def _nothing() -> None:
    return None


def _duplicate(name: str, agent: object) -> HarnessError:
    if agent is not None:
        return HarnessError(f"this agent already has a tool {name!r}; dispose it first", "DUPLICATE_TOOL")
    return HarnessError(
        f"there already is a global tool {name!r}; dispose it first, or register yours for one agent: "
        "register(definition, agent=agent) (per-agent registration shadows the global tool)",
        "DUPLICATE_TOOL",
    )


def _names(names: Iterable[str], what: str) -> frozenset[str]:
    if isinstance(names, str):
        raise TypeError(f"restrict({what}=...) takes a list of tool names, not one str")
    listed = list(names)
    wrong = [name for name in listed if not isinstance(name, str)]
    if wrong:
        raise TypeError(f"restrict({what}=...) takes tool names, and {wrong[0]!r} is a {type(wrong[0]).__name__}")
    return frozenset(listed)


def _projection(definition: ToolDefinition) -> dict[str, Any]:
    try:
        parameters = snapshot(definition.parameters)
    except NotLosslessError as exc:
        raise NotLosslessError(f"parameters of tool {definition.name!r}: {error_message(exc)}") from exc
    return {"name": definition.name, "description": definition.description, "parameters": parameters}
