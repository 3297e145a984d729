"""The registry of plugins and the one place dispatches start from.

pluggy keeps the plugins, validates their signatures and orders them; the chains that run come from compiled plans.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pluggy

from dshhooks.engine.admission import instantiate, own_name, refuse_misfit, refuse_unmarked, refuse_value
from dshhooks.engine.chain import around, collect, first, run_now, strictest
from dshhooks.engine.logs import Log
from dshhooks.engine.observe import described, observe
from dshhooks.engine.plan import ChainLink, Plan, compile_plan
from hookspecs import hookspec_classes
from hookspecs.errors import ConfigError, HookUsageError, PluginError
from hookspecs.markers import META, PROJECT, Authority, HookMeta
from hookspecs.plain import Plain

if TYPE_CHECKING:
    from dshhooks.engine.plan import Implementation
    from dshhooks.engine.trace import Trace

__all__ = ["Hooks", "Registration"]

log = Log("dshhooks.plugins")


# Told of a plugin's name when it arrives; returns what to do when it leaves.
Arrival = Callable[[str], Callable[[], None]]


class Registration:
    """Something that was registered and can be taken back, once. Also a context manager."""

    __slots__ = ("_undo",)

    def __init__(self, undo: Callable[[], None]) -> None:
        self._undo: Callable[[], None] | None = undo

    def dispose(self) -> None:
        """Take it back; calling it again does nothing."""
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.dispose()


class _Spec(Plain):
    meta: HookMeta
    args: tuple[str, ...]


class Hooks:
    """Plugins in, dispatches out.

    A plugin registered later stands outside earlier ones (pluggy's rule). One registered for an agent takes part only
    in dispatches about that agent.

    Args:
        domains: Know the hooks of these modules of ``hookspecs`` only, and ignore what plugins implement beside them:
            for one event, and plugins that were taken in with all of them before.
    """

    def __init__(self, domains: Iterable[str] | None = None) -> None:
        self._manager = pluggy.PluginManager(PROJECT)
        self._specs: dict[str, _Spec] = {}
        self._knows_all = domains is None
        for spec_class in hookspec_classes() if domains is None else hookspec_classes(domains):
            self._add_specs(spec_class)
        self._shadowed: set[str] = set()
        self._scopes: dict[str, Any] = {}
        self._scoped_agents: dict[int, int] = {}
        self._arrivals: list[Arrival] = []
        self._departures: dict[str, list[Callable[[], object]]] = {}
        self._plans: dict[Any, Plan] = {}
        self._tracing = 0
        self.policy_combination = "strictest"

    def _add_specs(self, spec_class: type) -> None:
        self._manager.add_hookspecs(spec_class)
        for name, function in vars(spec_class).items():
            meta = getattr(function, META, None)
            if meta is not None:
                parameters = list(inspect.signature(function).parameters)[1:]
                self._specs[name] = _Spec(meta, tuple(parameters))

    # -- registering -----------------------------------------------------------------------------------------------

    def register(
        self,
        plugin: object,
        name: str | None = None,
        *,
        agent: object = None,
        shadow: bool = False,
        announce: bool = True,
    ) -> Registration:
        """Add a plugin; it goes outermost.

        Args:
            plugin: Any object with hookimpls; a class is called without arguments.
            name: Its name everywhere; by default the object's own, or its class's.
            agent: Take part only in dispatches about this agent.
            shadow: Answer, be recorded, and not be obeyed.
            announce: Let it contribute (tools, adapters) now; otherwise :meth:`announce` does so later.

        Raises:
            PluginError: The name or object is registered already, it is no plugin (a plain value, or hooks that all
                lack their marker), a hook does not exist (with a suggestion), a function does not fit its hookspec, or
                contributing failed. Nothing stays registered then.
        """
        refuse_value(plugin)
        if isinstance(plugin, type):
            plugin = instantiate(plugin)
        name = self._free_name(plugin, name)
        if self._manager.has_plugin(name):
            raise PluginError(f"there already is a plugin {name!r}; register yours under another name")
        self._refuse_unknown_hooks(plugin, name)
        try:
            self._manager.register(plugin, name)
        except (ValueError, pluggy.PluginValidationError) as exc:
            if self._manager.has_plugin(name):  # some versions of pluggy keep what they had taken in by then
                self._manager.unregister(name=name)
            raise PluginError(f"plugin {name!r} was not registered: {exc}") from exc
        self._scope(name, agent)
        if shadow:
            self._shadowed.add(name)
        self._plans = {}
        if announce:
            try:
                self.announce(name)
            except BaseException:
                self._unregister(name, plugin)
                raise
        return Registration(lambda: self._unregister(name, plugin))

    def announce(self, name: str) -> None:
        """Let a registered plugin contribute; what it contributes goes when it goes.

        Raises:
            PluginError: Contributing failed; what it had contributed by then is taken back.
        """
        undos = self._departures.setdefault(name, [])
        try:
            for arrival in self._arrivals:
                undos.append(arrival(name))
        except BaseException:
            self._depart(name)
            raise

    def on_arrival(self, arrival: Arrival) -> None:
        """Call ``arrival(name)`` for every plugin registered so far and from now on; it returns what undoes it."""
        self._arrivals.append(arrival)
        for name in self.plugins:
            self._departures.setdefault(name, []).append(arrival(name))

    def close(self) -> None:
        """Unregister every plugin, outermost first, so that what they contributed is taken back."""
        for name in self.plugins:
            self._unregister(name, self._manager.get_plugin(name))

    def on_departure(self, name: str, undo: Callable[[], object]) -> None:
        """Call ``undo()`` when a registered plugin goes, before what was asked for earlier; its failure is logged."""
        self._departures.setdefault(name, []).append(undo)

    def _depart(self, name: str) -> None:
        for undo in reversed(self._departures.pop(name, [])):
            try:
                undo()
            except Exception as exc:  # noqa: BLE001 - whoever leaves leaves, and the rest of its things with it
                log.warning("plugin %r: taking it out failed: %s", name, described(exc))

    def _free_name(self, plugin: object, name: str | None) -> str:
        if name is not None:
            if not isinstance(name, str) or not name:
                raise PluginError(f"a plugin's name must be a non-empty str, not {name!r}")
            return name
        base = own_name(plugin)
        name, number = base, 2
        while self._manager.has_plugin(name):
            name, number = f"{base}-{number}", number + 1
        return name

    def _scope(self, name: str, agent: object) -> None:
        if agent is not None:
            self._scopes[name] = agent
            self._scoped_agents[id(agent)] = self._scoped_agents.get(id(agent), 0) + 1

    def _unregister(self, name: str, plugin: object) -> None:
        if self._manager.get_plugin(name) is not plugin:
            return
        self._manager.unregister(plugin, name)
        self._plans = {}
        self._depart(name)
        self._shadowed.discard(name)
        agent = self._scopes.pop(name, None)
        if agent is not None:
            self._scoped_agents[id(agent)] -= 1
            if not self._scoped_agents[id(agent)]:
                del self._scoped_agents[id(agent)]

    def _refuse_unknown_hooks(self, plugin: object, name: str) -> None:
        marked = False
        for attribute in dir(plugin):
            options = self._manager.parse_hookimpl_opts(plugin, attribute)
            if options is None:
                continue
            marked = True
            hook = options.get("specname") or attribute
            spec = self._specs.get(hook)
            if spec is not None:
                refuse_misfit(name, hook, spec.meta, getattr(plugin, attribute), bool(options.get("wrapper")))
            elif self._knows_all and not options.get("optionalhook"):
                raise PluginError(f"plugin {name!r} implements unknown hook {hook!r}{self._suggest(hook)}")
        if not marked:
            refuse_unmarked(name, plugin, self.names)

    def _suggest(self, hook: str) -> str:
        import difflib  # needed for a mistake only

        close = difflib.get_close_matches(hook, self._specs, 1)
        return f"; did you mean {close[0]!r}?" if close else "; `dshhooks hooks` lists them"

    # -- looking ---------------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all hooks."""
        return tuple(self._specs)

    @property
    def plugins(self) -> tuple[str, ...]:
        """The names of the registered plugins, outermost first."""
        return tuple(name for name, _ in reversed(self._manager.list_name_plugin()))

    def plugin(self, name: str) -> object | None:
        """Return the plugin object registered under ``name``, or ``None``."""
        return self._manager.get_plugin(name)

    def agent_of(self, plugin: str) -> object | None:
        """Return the agent a plugin is registered for, or ``None``."""
        return self._scopes.get(plugin)

    @staticmethod
    def own_name(plugin: object) -> str:
        """Return what a plugin is called when nobody names it: its ``name``, ``__name__``, or class."""
        return own_name(plugin)

    def implemented_by(self, plugin: object) -> tuple[str, ...]:
        """Return the names of the hooks any object has implementations for, whether they exist or not."""
        found = []
        for attribute in dir(plugin):
            options = self._manager.parse_hookimpl_opts(plugin, attribute)
            if options is not None:
                found.append(options.get("specname") or attribute)
        return tuple(found)

    def hooks_of(self, plugin: str) -> tuple[str, ...]:
        """Return the names of the hooks a registered plugin implements, sorted."""
        callers = self._manager.get_hookcallers(self._manager.get_plugin(plugin)) or ()
        return tuple(sorted(caller.name for caller in callers))

    def chain(self, hook: str, agent: object = None) -> list[ChainLink]:
        """Return the effective chain of a hook, outermost first.

        Raises:
            HookUsageError: There is no such hook.
        """
        return self.plan(hook, agent).links()

    # -- calling ---------------------------------------------------------------------------------------------------

    def plan(self, hook: str, agent: object = None) -> Plan:
        """Return the compiled chain of a hook for dispatches about ``agent``."""
        key = (hook, id(agent)) if agent is not None and id(agent) in self._scoped_agents else hook
        plan = self._plans.get(key)
        return plan if plan is not None else self._compile(hook, agent, key)

    @property
    def state(self) -> object:
        """Another object after every change of who takes part; what was made of plans is good while it is the same."""
        return self._plans

    def forget_plans(self) -> None:
        """Compile every chain anew when it is next asked for; dispatches that run keep theirs."""
        self._plans = {}

    def _compile(self, hook: str, agent: object, key: Any) -> Plan:
        spec = self._specs.get(hook)
        if spec is None:
            raise HookUsageError(f"there is no hook {hook!r}{self._suggest(hook)}")
        plans = self._plans  # the dict of now: a registration meanwhile replaces it, and this plan with it
        plan = compile_plan(
            getattr(self._manager.hook, hook),
            spec.meta,
            spec.args,
            visible=lambda plugin: self._scopes.get(plugin, agent) is agent,
            shadowed=self._shadowed,
            instrument=_instrument() if self._tracing else None,
        )
        plan.inner = self._inner(spec.meta)
        plan.run = _shadowed() if plan.shadows else around if plan.wrappers else plan.inner
        plans[key] = plan
        return plan

    def _inner(self, meta: HookMeta) -> Callable[..., Any]:
        if not meta.firstresult:
            return collect
        return strictest if meta.combine == "strictest" and self.policy_combination == "strictest" else first

    async def call(self, hook: str, /, **arguments: Any) -> Any:
        """Dispatch a hook: order, firstresult and policy combination, but no defaults and no normalization.

        Returns:
            The answer or ``None`` for decide, refuse and wrap hooks; the list of answers for contribute and checkpoint
            hooks; ``None`` for observers.

        Raises:
            HookUsageError: An unknown hook, or arguments that are not the hookspec's.
            InvalidDecisionError: An answer that is no decision of this hook.
            Exception: Whatever an implementation raised, with a note naming hook and plugin.
        """
        plan = self.plan(hook, _about(arguments))
        args = _ordered(plan, arguments)
        if plan.meta.authority is Authority.OBSERVE:
            return await observe(plan, args)
        return await plan.run(plan, args)

    def call_now(self, hook: str, /, **arguments: Any) -> Any:
        """Dispatch a synchronous hook from code that cannot await. Otherwise like :meth:`call`."""
        return run_now(self.call(hook, **arguments), hook)

    @property
    def tracing(self) -> bool:
        """Whether anybody is collecting a trace."""
        return self._tracing > 0

    @contextmanager
    def trace(self) -> Iterator[Trace]:
        """Collect a record of every implementation called in this context, until the block ends."""
        from dshhooks.engine.trace import Trace, collecting

        self._switch_tracing(+1)
        try:
            with collecting(Trace()) as trace:
                yield trace
        finally:
            self._switch_tracing(-1)

    def _switch_tracing(self, step: int) -> None:
        before, self._tracing = self._tracing, self._tracing + step
        if not before or not self._tracing:
            self._plans = {}

    def set_policy_combination(self, value: str) -> None:
        """Set how answers of ``tools_pre_execute`` combine: ``"strictest"`` or ``"first"``.

        Raises:
            ConfigError: Neither of the two; nothing changes then.
        """
        if value not in ("strictest", "first"):
            raise ConfigError(f"policy_combination must be 'strictest' or 'first', not {value!r}")
        self.policy_combination = value
        self._plans = {}


# Most processes have nobody in shadow and trace nothing.


def _shadowed() -> Callable[..., Any]:
    from dshhooks.engine.shadow import shadowed

    return shadowed


def _instrument() -> Callable[[Implementation], Implementation]:
    from dshhooks.engine.trace import instrument

    return instrument


def _about(arguments: dict[str, Any]) -> object:
    if "agent" in arguments:
        return arguments["agent"]
    subject = arguments.get("execution", arguments.get("request"))
    return getattr(subject, "agent", None)


def _ordered(plan: Plan, arguments: dict[str, Any]) -> tuple[Any, ...]:
    try:
        args = tuple(arguments[name] for name in plan.args)
    except KeyError as exc:
        raise HookUsageError(f"hook {plan.hook!r} needs the argument {exc.args[0]!r}") from None
    if len(args) != len(arguments):
        extra = ", ".join(sorted(set(arguments) - set(plan.args)))
        raise HookUsageError(f"hook {plan.hook!r} has no argument {extra}; it takes {', '.join(plan.args) or 'none'}")
    return args
