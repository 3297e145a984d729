"""A host that answers clients: opened once, asked many times, at once if need be (issue 5, decisions.md 7.26)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from dshhooks.clients.agent import ClientAgent, Outbox, collecting
from dshhooks.clients.answer import SILENT, Answer, answer_for, continuation_text
from dshhooks.clients.denial import CLIENTS, clean
from dshhooks.clients.direct import NeedsLoop, run_directly
from dshhooks.clients.event import ClientEvent, EventError, read_event, read_payload
from dshhooks.clients.failure import failed, failed_event
from dshhooks.clients.host import Host, full_host, lean_host
from dshhooks.clients.policy import HOOKS, LATER, judge
from dshhooks.clients.recognise import client_of
from dshhooks.clients.request import HandleRequest, Setting
from dshhooks.clients.state import MAX_CONTINUATIONS, forget_continuations, is_continuation, may_go_on
from dshhooks.clients.verdict import Verdict
from dshhooks.engine.faults import is_fault
from dshhooks.engine.hooks import Hooks
from dshhooks.engine.logs import Log, catch_up
from dshhooks.engine.observe import described
from hookspecs.errors import HarnessError, error_message

__all__ = ["HandleService", "handle_once"]

log = Log("dshhooks.clients")

# Sessions whose agent is kept, for plugins that remember by agent; the oldest goes first.
_AGENTS: Final = 256


class HandleService:
    """Answers requests under one setting.

    Args:
        host: The plugins.
        fault: Why there is no host; every gating event is denied with it then.
    """

    def __init__(self, host: Host | None, fault: BaseException | None = None) -> None:
        self._host, self._fault = host, fault
        self._agents: OrderedDict[tuple[str, str], ClientAgent] = OrderedDict()

    @classmethod
    def open(cls, setting: Setting) -> HandleService:
        """Load every enabled plugin; a broken configuration or plugin raises nothing here: :meth:`answer` denies."""
        return cls._opened(lambda: full_host(setting))

    @classmethod
    def _opened(cls, make: Callable[[], Host]) -> HandleService:
        try:
            return cls(make())
        except BaseException as exc:
            if not is_fault(exc):
                raise
            return cls(None, exc)

    @property
    def fault(self) -> BaseException | None:
        """Why no event can be judged; ``None`` when all is well."""
        return self._fault

    async def answer(self, request: HandleRequest) -> Answer:
        """Answer one request; many may be answered at once. Raises nothing but cancellation and interrupts.

        The time limit is the caller's business: a plugin that never returns is nothing a coroutine can end.
        """
        payload: Mapping[str, Any] | None = None
        try:
            payload = read_payload(request.stdin)
            event = read_event(_checked(request.client), payload, request.environment)
            return await self._answered(request, event)
        except BaseException as exc:
            if not is_fault(exc):
                raise
            return _failed(request, payload, exc)

    async def _answered(self, request: HandleRequest, event: ClientEvent) -> Answer:
        if self._fault is not None:
            raise self._fault
        host = self._host
        assert host is not None, "a service has a host or a fault"
        if event.kind not in HOOKS:
            return SILENT
        agent = self._agent_of(event)
        with collecting(Outbox(event)) as outbox:
            verdict = await judge(host.hooks, event, agent, outbox, lambda: host.need(LATER.get(event.kind, ())))
        return answer_for(_limited(verdict, event, host), event, approve=request.approve)

    def _agent_of(self, event: ClientEvent) -> ClientAgent:
        key = (event.client.name, event.session_id)
        agent = self._agents.pop(key, None) or ClientAgent(event)
        if event.kind != "session:end":
            self._agents[key] = agent
            if len(self._agents) > _AGENTS:
                self._agents.popitem(last=False)
        return agent

    def close(self) -> None:
        """Take the plugins out."""
        if self._host is not None:
            self._host.close()


def _checked(client: str) -> str:
    if client != "auto" and client not in CLIENTS:
        raise EventError(f"there is no client {client!r}; known: auto, {', '.join(CLIENTS)}")
    return client


def _limited(verdict: Verdict, event: ClientEvent, host: Host) -> Verdict:
    """Apply what is not the plugins' to decide: who may be asked, and how often a turn goes on."""
    client, session = event.client.name, event.session_id
    if verdict.kind == "ask" and host.approval == "never":
        return Verdict("deny", f"{verdict.reason} (approval.policy is 'never')", verdict.contexts)
    if event.kind == "prompt:submit" and event.prompt and not is_continuation(client, session, event.prompt):
        forget_continuations(client, session)
    if event.kind != "turn:stop":
        return verdict
    if verdict.kind != "continue":
        forget_continuations(client, session)
    elif not may_go_on(client, session, clean(continuation_text(verdict))):
        log.warning("%s: the turn went on %d times because of hooks; now it ends", client, MAX_CONTINUATIONS)
        return Verdict()
    return verdict


def _failed(request: HandleRequest, payload: Mapping[str, Any] | None, exc: BaseException) -> Answer:
    """Answer for an event that could not be judged, and say so in the log."""
    reason = f"dshhooks could not judge this: {_told(exc)}"
    log.error("%s", reason if request.on_error == "deny" else f"{reason} (let through: --on-error allow)")
    if payload is None:
        wire = failed(request.client, request.stdin, dict(request.environment), reason, request.on_error)
        return Answer(*wire, unread=reason if any(wire) else "")
    named = request.client if request.client in CLIENTS else client_of(payload, dict(request.environment)) or ""
    return Answer(*failed_event(named, payload, reason, request.on_error))


def _told(exc: BaseException) -> str:
    return error_message(exc) if isinstance(exc, (HarnessError, EventError)) else described(exc)


# -- one process -------------------------------------------------------------------------------------------------------


def handle_once(request: HandleRequest) -> Answer:
    """Answer one request in this process, importing as little as its event needs."""
    wanted = _wanted(request)
    service = HandleService._opened(lambda: lean_host(request.setting, wanted))
    try:
        return _driven(service, wanted, request)
    finally:
        service.close()


def _wanted(request: HandleRequest) -> tuple[str, ...]:
    try:
        payload = read_payload(request.stdin)
        return HOOKS.get(read_event(_checked(request.client), payload, request.environment).kind, ())
    except EventError:
        return ()  # it is denied whoever is loaded, but a plugin that cannot be is worth knowing of first


def _driven(service: HandleService, wanted: tuple[str, ...], request: HandleRequest) -> Answer:
    """Run the coroutine; without an event loop where no plugin waits."""
    host = service._host
    if host is None:
        return run_directly(Hooks(), (), lambda: service.answer(request))
    try:
        return run_directly(host.hooks, wanted, lambda: service.answer(request))
    except NeedsLoop:
        import anyio

        catch_up()
        host.hooks.forget_plans()  # those were for running without a loop
        return anyio.run(service.answer, request)
