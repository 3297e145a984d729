"""Whom a host's operations tell and ask: its own set, and its plugins' hooks (decisions.md 5.2, spec/operations.md 2).

A runner is compiled once for what is registered and used until that changes. Without anybody to tell or ask there is
no runner, and nothing of the rest of this package is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dshhooks.engine.hooks import Hooks
from dshhooks.engine.plan import Plan
from hookspecs.errors import OperationConfigError, PluginError

if TYPE_CHECKING:
    from dshhooks.operations.declare import Guard, OperationSet
    from dshhooks.operations.runner import Runner

__all__ = ["Operations"]

# More agents with plugins of their own than this at once, and their runners are compiled again.
_KEPT = 256


class Operations:
    """The one place owners of operations get their runner from.

    Args:
        hooks: The plugins; one with an ``operation_guard`` needs a ``policy_revision``, unless it is registered for
            one agent only: guards added like that can only refuse, and no session was started under them.
    """

    def __init__(self, hooks: Hooks) -> None:
        # False while nobody takes part: asked on the hot path, before anybody asks for a runner.
        self.attended = False
        self._hooks = hooks
        self._own: OperationSet | None = None
        self._taking_part: set[str] = set()
        self._revisions: dict[str, str] = {}
        self._runners: dict[int, tuple[Plan, Runner | None]] = {}
        self._last: tuple[object, int, Runner | None] = (None, 0, None)
        hooks.on_arrival(self._welcome)

    def adopt(self, declared: OperationSet) -> None:
        """Take the host's own set: its observers and guards come before every plugin's.

        Raises:
            OperationConfigError: ``duplicate_option``: there is one already; or ``invalid_hooks``, with the set's first
                problem as its ``__cause__``.
        """
        from dshhooks.operations.declare import OperationSet, validate_set

        if self._own is not None:
            raise OperationConfigError(
                "this host has its own operations already; put both into one OperationSet",
                kind="duplicate_option",
                field="operations",
            )
        if type(declared) is not OperationSet:
            raise OperationConfigError(
                f"operations: an OperationSet is needed, not {type(declared).__name__}",
                kind="invalid_hooks",
                field="operations",
            )
        try:
            validate_set(declared)
        except OperationConfigError as exc:
            raise OperationConfigError(f"operations: {exc}", kind="invalid_hooks", field="operations") from exc
        self._own = declared
        self.attended = True
        self._anew()

    def runner(self, agent: object = None) -> Runner | None:
        """Return who is told of, and asked about, the operations of ``agent``; ``None`` when nobody is."""
        state, whose, runner = self._last
        if whose == id(agent) and state is self._hooks.state:  # asked for every event of a turn
            return runner
        observers = self._hooks.plan("operation", agent)
        # A change of registrations replaces every chain, so one of the two stands for both.
        known = self._runners.get(id(observers))
        runner = known[1] if known is not None else self._compile(observers, self._hooks.plan("operation_guard", agent))
        self._last = self._hooks.state, id(agent), runner
        return runner

    @property
    def policy_revision(self) -> str:
        """The composed revision of every guard that asks about everybody; empty without guards."""
        if self._own is None and not self._hooks.plan("operation_guard").active:
            return ""
        from dshhooks.operations.providers import compose_revisions

        own = self._own
        pairs = [("", own.policy_revision)] if own is not None and own.guards else []
        obeyed = (impl.plugin for impl in self._hooks.plan("operation_guard").implementations)
        return compose_revisions([*pairs, *((name, self._revisions[name]) for name in dict.fromkeys(obeyed))])

    def guards(self, agent: object = None) -> tuple[Guard, ...]:
        """Return every guard asked about the operations of ``agent``, in order; a shadowed one is asked, not obeyed."""
        from dshhooks.operations.plugins import declared_by

        plans = self._hooks.plan("operation", agent), self._hooks.plan("operation_guard", agent)
        return tuple(declared_by(self._own, *plans, self.policy_revision).guards)

    def _compile(self, observers: Plan, guards: Plan) -> Runner | None:
        runner: Runner | None = None
        if self._own is not None or observers.active or guards.active:
            from dshhooks.operations.plugins import declared_by
            from dshhooks.operations.runner import compile_set

            runner = compile_set(declared_by(self._own, observers, guards, self.policy_revision))
        if len(self._runners) >= _KEPT:
            self._runners.clear()
        # The plan is kept beside it, so that its id cannot become another plan's.
        self._runners[id(observers)] = (observers, runner)
        return runner

    def _welcome(self, plugin: str) -> Callable[[], None]:
        hooks = self._hooks.hooks_of(plugin)
        if "operation_guard" in hooks and self._hooks.agent_of(plugin) is None:
            self._revisions[plugin] = _revision(plugin, self._hooks.plugin(plugin))
        if "operation" in hooks or "operation_guard" in hooks:
            self._taking_part.add(plugin)
            self.attended = True
        return lambda: self._forget(plugin)

    def _forget(self, plugin: str) -> None:
        self._revisions.pop(plugin, None)
        self._taking_part.discard(plugin)
        self.attended = self._own is not None or bool(self._taking_part)
        self._anew()

    def _anew(self) -> None:
        self._runners.clear()
        self._last = (None, 0, None)


def _revision(name: str, plugin: object) -> str:
    from dshhooks.operations.declare import check_revision

    revision: Any = getattr(plugin, "policy_revision", "")
    try:
        check_revision(revision)
    except OperationConfigError as exc:
        raise PluginError(
            f"plugin {name!r} has operation guards, so it needs a policy_revision that names what they enforce "
            f'(policy_revision = "1"): {exc}'
        ) from exc
    return str(revision)
