"""The hookspecs against the contract, their documentation, and the page made from it."""

from __future__ import annotations

import ast
import inspect
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pluggy
import pytest

import dshhooks.reference
import hookspecs
from dshhooks.reference import LIFECYCLE, PARTS, HookDoc, HookRow, hook_docs, hookspecs_table, parse_parameters
from hookspecs.decisions import AllowPrompt, FailRequest
from hookspecs.markers import META, PROJECT, Authority, hookimpl

ROOT = Path(__file__).parents[2]

# The table "All hookspecs" of the public contract, by hand: this is what plugins are written against.
CONTRACT = """
agent/created             agent_created(agent)                                            checkpoint
agent/disposed            agent_disposed(agent)                                           observe
agent/session-start       agent_session_start(agent, source)                              observe
agent/session-prefix      agent_session_prefix(agent, signal)                             contribute
agent/prompt-submit       agent_prompt_submit(agent, content, source, signal)             decide
agent/pre-step            agent_pre_step(agent, turn, step, signal)                       checkpoint
agent/post-step           agent_post_step(agent, turn, step, signal)                      checkpoint
agent/request             agent_request(agent, turn, step, config, signal)                decide
agent/step-result         agent_step_result(agent, turn, step, message, signal)           decide
agent/request-error       agent_request_error(agent, turn, step, error, failure, prior_failures, signal)  decide
agent/turn-continuation   agent_turn_continuation(agent, turn, default, signal)           decide
agent/turn-stop           agent_turn_stop(agent, turn, signal)                            decide
agent/turn-stopping       agent_turn_stopping(agent, turn, signal)                        checkpoint
agent/status              agent_status(agent, status)                                     observe
agent/error               agent_error(agent, turn, step, error)                           observe
agent/cancel-requested    agent_cancel_requested(agent, cause)                            observe
agent/inbox/enqueue       agent_inbox_enqueue(agent, message)                             observe
agent/inbox/dequeue       agent_inbox_dequeue(agent, message)                             observe
agent/inbox/discard       agent_inbox_discard(agent, messages)                            observe
subagent/start            subagent_start(parent, agent, agent_type)                       observe
subagent/end              subagent_end(parent, agent, agent_type)                         observe
tools/pre-execute         tools_pre_execute(execution)                                    decide
tools/guard               tools_guard(execution)                                          refuse
tools/execute             tools_execute(execution)                                        wrap
tools/post-execute        tools_post_execute(execution, result)                           decide
tools/result              tools_result(execution, result)                                 observe
tools/change              tools_change()                                                  checkpoint
approval/request          approval_request(request)                                       decide
session/created           session_created(session)                                        checkpoint
session/event             session_event(session, event)                                   observe
session/flush             session_flush(session)                                          checkpoint
session/disposed          session_disposed(session)                                       observe
llm/stream                llm_stream(options)                                             wrap
system-prompt/assemble    system_prompt_assemble(assembly, context)                       decide
operation                 operation(call)                                                 observe
operation/guard           operation_guard(call)                                           refuse
plugins/register-tools            register_tools(registry)                                contribute
plugins/register-llm-adapters     register_llm_adapters(service)                          contribute
plugins/register-variants         register_variants(variants)                             contribute
plugins/register-bridge-handlers  register_bridge_handlers(handlers)                      contribute
"""
ANSWERS = {
    "tools_pre_execute": ("Allow", "Deny", "Ask"),
    "tools_guard": ("str",),
    "tools_execute": ("ToolSuccess", "ToolFailure"),
    "tools_post_execute": ("Accept", "Block"),
    "approval_request": ("ApprovalOutcome",),
    "agent_prompt_submit": ("AllowPrompt", "BlockPrompt"),
    "agent_turn_continuation": ("StopTurn", "ContinueTurn"),
    "agent_turn_stop": ("StopTurn",),
    "agent_request_error": ("FailRequest", "RetryRequest"),
    "agent_request": ("LlmCallConfig",),
    "agent_step_result": ("Message",),
    "llm_stream": ("AsyncIterator",),
    "operation_guard": ("Denial",),
}
DOCS = {doc.row.name: doc for doc in hook_docs()}
every_hook = pytest.mark.parametrize("doc", DOCS.values(), ids=DOCS)


def contract_lines() -> Iterator[tuple[str, str, str]]:
    for line in CONTRACT.strip().splitlines():
        canonical, rest = line.split(maxsplit=1)
        call, authority = rest.rsplit(maxsplit=1)
        yield canonical, call.strip(), authority


class TestContract:
    def test_the_table_is_the_contract(self) -> None:
        """Exactly these hooks exist, with these parameters in this order and these authorities."""
        found = [(r.canonical, f"{r.name}({', '.join(r.parameters)})", r.authority.value) for r in hookspecs_table()]
        assert sorted(found) == sorted(contract_lines())

    def test_answer_types(self) -> None:
        """Hooks with a typed answer name its types; no others do."""
        assert {row.name: row.returns for row in hookspecs_table() if row.returns} == ANSWERS

    def test_defaults(self) -> None:
        """What holds when everybody abstains, where that does not depend on the call."""
        assert DOCS["agent_prompt_submit"].meta.default is AllowPrompt
        assert DOCS["agent_request_error"].meta.default is FailRequest
        assert DOCS["agent_turn_continuation"].meta.default is None
        assert DOCS["agent_turn_stop"].meta.default is None

    def test_changeable_arguments(self) -> None:
        """A wrapper may pass on another request and another assembly, and nothing else anywhere (decisions.md 7.3)."""
        changeable = {name: doc.meta.changeable for name, doc in DOCS.items() if doc.meta.changeable}
        assert changeable == {"llm_stream": ("options",), "system_prompt_assemble": ("assembly",)}

    def test_synchronous_hooks(self) -> None:
        """Only where the call site cannot await are coroutine functions refused."""
        registering = {"register_tools", "register_llm_adapters", "register_variants", "register_bridge_handlers"}
        synchronous = {name for name, doc in DOCS.items() if doc.meta.synchronous}
        assert synchronous == {"tools_guard", "tools_change", "operation"} | registering
        assert {name for name, doc in DOCS.items() if doc.meta.generator} == {"operation"}

    def test_pluggy_accepts_the_specs(self) -> None:
        """Every class can be added to one manager, and no name is used twice."""
        manager = pluggy.PluginManager(PROJECT)
        for spec_class in hookspecs.hookspec_classes():
            manager.add_hookspecs(spec_class)
        assert len(DOCS) == len(hookspecs_table()) == len(list(contract_lines()))

    def test_every_method_is_a_hookspec(self) -> None:
        """A method of a hookspec class without the marker would silently be no hook."""
        for spec_class in hookspecs.hookspec_classes():
            for name, value in vars(spec_class).items():
                assert name.startswith("__") or hasattr(value, META), f"{spec_class.__name__}.{name}"

    def test_importing_the_contract_is_light(self) -> None:
        """hookspecs/ imports the standard library, pluggy and attrs, and never dshhooks."""
        allowed = {"pluggy", "attrs", "hookspecs"}
        for path in (ROOT / "hookspecs").glob("*.py"):
            extra = {"anyio"} if path.name == "signal.py" else set()
            for module in imported(ast.parse(path.read_text("utf-8"))):
                assert module in allowed | extra or module in sys.stdlib_module_names, f"{path.name} imports {module}"


class TestDocs:
    @every_hook
    def test_has_every_part(self, doc: HookDoc) -> None:
        """Each docstring has the fixed parts, in order, none of them empty."""
        assert tuple(doc.parts) == PARTS
        assert all(doc.parts.values())

    @every_hook
    def test_summary_is_one_sentence(self, doc: HookDoc) -> None:
        """The first line says what an implementation does, on one line of its own."""
        first = (inspect.getdoc(spec(doc.row)) or "").splitlines()[0]
        assert first == doc.row.summary
        assert doc.row.summary.endswith(".")

    @every_hook
    def test_documents_its_parameters(self, doc: HookDoc) -> None:
        """Every parameter is described, in the order of the signature, and nothing else is."""
        described = parse_parameters(doc.parts["Parameters"])
        assert tuple(described) == doc.row.parameters
        assert all(described.values())
        if not doc.row.parameters:
            assert doc.parts["Parameters"] == "none."

    @every_hook
    def test_states_its_authority(self, doc: HookDoc) -> None:
        """The authority in words is the one the marker has, and synchronous hooks say so."""
        assert doc.parts["Authority"].startswith(f"{doc.row.authority.value}.")
        assert ("async def" in doc.parts["Authority"]) is doc.meta.synchronous

    @every_hook
    def test_says_whether_wrappers_are_allowed(self, doc: HookDoc) -> None:
        """Hooks nobody may stand around say 'none'."""
        registers = doc.row.authority is Authority.CONTRIBUTE and doc.meta.synchronous
        none = registers or doc.row.authority in (Authority.REFUSE, Authority.OBSERVE)
        assert doc.parts["Wrappers"].startswith("none") is none

    @every_hook
    def test_names_its_answers(self, doc: HookDoc) -> None:
        """A decision hook's documentation shows each of its decisions."""
        if doc.row.authority is Authority.DECIDE:
            assert all(kind in doc.parts["Returns"] for kind in doc.row.returns)

    @every_hook
    def test_example_is_an_implementation(self, doc: HookDoc) -> None:
        """Each example is code that registers as an implementation of its hook, against the real hookspecs."""
        manager = pluggy.PluginManager(PROJECT)
        for spec_class in hookspecs.hookspec_classes():
            manager.add_hookspecs(spec_class)
        namespace: dict[str, Any] = {"hookimpl": hookimpl}
        body = "\n".join(f"    {line}" for line in doc.parts["Example"].splitlines())
        exec(compile(f"class Plugin:\n{body}\n", f"<example of {doc.row.name}>", "exec"), namespace)
        manager.register(namespace["Plugin"]())
        manager.check_pending()
        (found,) = getattr(manager.hook, doc.row.name).get_hookimpls()
        assert not found.wrapper or doc.meta.wrappable


class TestTable:
    def test_is_data(self) -> None:
        """A row is a frozen value that JSON can show."""
        rows = hookspecs_table()
        assert all(type(row) is HookRow for row in rows)
        assert rows == hookspecs_table()
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            rows[0].name = "x"  # type: ignore[misc]
        shown = json.loads(json.dumps([attrs.asdict(row) for row in rows]))
        assert {row["authority"] for row in shown} == {authority.value for authority in Authority}

    def test_knows_the_domain(self) -> None:
        """The domain is the module of the hookspec."""
        domains = {row.name: row.domain for row in hookspecs_table()}
        assert (domains["tools_guard"], domains["subagent_end"], domains["llm_stream"]) == ("tools", "agent", "llm")
        assert set(domains.values()) == {"plugins", "session", "agent", "llm", "tools", "operations"}


class TestPage:
    def test_is_current(self) -> None:
        """docs/reference/hooks.md is what the hookspecs say; make it with `python -m dshhooks.pages --write`."""
        assert (ROOT / "docs/reference/hooks.md").read_text("utf-8") == dshhooks.reference.render_reference()

    @every_hook
    def test_shows_the_hook(self, doc: HookDoc) -> None:
        """Each hook has its section with signature, event, every part and the example."""
        page = dshhooks.reference.render_reference()
        section = page.split(f"\n### {doc.row.name}\n")[1].split("\n### ")[0]
        assert doc.signature in section
        assert f"`{doc.row.canonical}`" in section
        assert doc.parts["Example"] in section
        assert all(f"**{part}:**" in section for part in PARTS[:-1])

    def test_signatures_are_python(self) -> None:
        """The declarations on the page parse, and are those of the hookspecs."""
        for doc in DOCS.values():
            (node,) = ast.parse(f"{doc.signature}: ...").body
            assert isinstance(node, ast.FunctionDef)
            assert tuple(arg.arg for arg in node.args.args) == ("self", *doc.row.parameters)

    def test_the_lifecycle_has_every_hook_once(self) -> None:
        """No hook is forgotten in the order of events, and none is there twice."""
        assert sorted(name for _, names in LIFECYCLE for name in names) == sorted(DOCS)

    def test_has_no_leftovers(self) -> None:
        """No reStructuredText mark survives the translation to Markdown."""
        prose = dshhooks.reference.render_reference().split("```")[::2]
        assert not any("``" in text or ":class:" in text for text in prose)


def spec(row: HookRow) -> Any:
    return next(vars(c)[row.name] for c in hookspecs.hookspec_classes() if row.name in vars(c))


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            yield (node.module or "").partition(".")[0]
