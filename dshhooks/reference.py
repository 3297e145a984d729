"""The hookspecs as data, and the reference page made from them.

Nothing here is written down twice: names, parameters and authorities are read from the hookspec classes, the prose from
their docstrings. ``python -m dshhooks.pages --write`` makes the page, ``--check`` says whether it is current.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Sequence
from types import FunctionType
from typing import Final

from attrs import frozen

from hookspecs import hookspec_classes
from hookspecs.markers import META, Authority, HookMeta

__all__ = ["LIFECYCLE", "PARTS", "HookDoc", "HookRow", "hook_docs", "hookspecs_table", "parse_doc",
           "render_reference"]  # fmt: skip


PARTS: Final = ("Fires", "Parameters", "Returns", "Authority", "Wrappers", "Failure", "Example")
_PART: Final = re.compile(rf"^({'|'.join(PARTS)}):{{1,2}}[ \n]*", re.MULTILINE)

# The order in which one run meets the hooks; a test says that each is here exactly once.
LIFECYCLE: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("A host opens", ("register_variants", "register_llm_adapters", "register_tools", "register_bridge_handlers")),
    ("Tools come or go", ("tools_change",)),
    ("An agent is created or resumed", ("session_created", "agent_created", "agent_session_start")),
    ("A message arrives", ("agent_inbox_enqueue", "agent_status", "agent_inbox_dequeue")),
    ("A turn begins", ("agent_prompt_submit",)),
    (
        "A step runs",
        ("system_prompt_assemble", "agent_session_prefix", "agent_pre_step", "agent_request", "llm_stream",
         "agent_step_result"),
    ),
    ("Its request failed", ("agent_request_error",)),
    (
        "Each tool call",
        ("tools_pre_execute", "approval_request", "tools_guard", "tools_execute", "tools_post_execute", "tools_result"),
    ),
    ("An agent spawns another", ("subagent_start", "subagent_end")),
    ("The step ends", ("agent_post_step", "agent_turn_continuation", "agent_turn_stopping", "agent_turn_stop")),
    ("The turn ends", ("agent_error", "session_flush")),
    ("Somebody cancels", ("agent_cancel_requested", "agent_inbox_discard")),
    ("The agent is disposed", ("agent_disposed", "session_disposed")),
    ("At every event of the log", ("session_event",)),
    ("Around every bounded operation", ("operation", "operation_guard")),
)  # fmt: skip

AUTHORITIES: Final[dict[Authority, str]] = {
    Authority.DECIDE: "answers with a typed decision; the first answer wins (in `tools_pre_execute` the strictest), "
    "wrappers may change it; fails closed",
    Authority.REFUSE: "says no or nothing; nobody can undo a no; fails closed",
    Authority.WRAP: "stands around a body, may answer in its place; fails closed",
    Authority.OBSERVE: "hears of something frozen; cannot change it; failures are logged",
    Authority.CHECKPOINT: "is called before something goes on; an exception stops it",
    Authority.CONTRIBUTE: "adds something; every answer counts",
}


@frozen
class HookRow:
    """One line of the table of hookspecs.

    Args:
        name: The hookspec, which is the name of the method a plugin writes.
        canonical: The event's name in the harness.
        authority: What an implementation may do.
        parameters: Names of the parameters, in order.
        returns: Names of the types an answer may have; empty: no fixed type.
        domain: ``"tools"``, ``"agent"``, …: the module of the hookspec.
        summary: The first sentence of its documentation.
    """

    name: str
    canonical: str
    authority: Authority
    parameters: tuple[str, ...]
    returns: tuple[str, ...]
    domain: str
    summary: str


@frozen
class HookDoc:
    """One hookspec with its documentation taken apart.

    Args:
        row: Its line of the table.
        signature: The exact declaration.
        parts: Text by name of the part, see :data:`PARTS`; only the parts that are there.
        meta: What the hookspec promises beyond its signature.
    """

    row: HookRow
    signature: str
    parts: dict[str, str]
    meta: HookMeta


def hookspecs_table() -> list[HookRow]:
    """Return every hookspec as data, domain after domain, in the order of the hookspec classes."""
    return [doc.row for doc in hook_docs()]


def hook_docs() -> list[HookDoc]:
    """Return every hookspec with its parsed documentation, in the order of :func:`hookspecs_table`."""
    return [_hook_doc(spec_class, fn) for spec_class in hookspec_classes() for fn in _specs_of(spec_class)]


def parse_doc(text: str) -> tuple[str, dict[str, str]]:
    """Return the summary of a hookspec's docstring and its parts by name."""
    head, *rest = _PART.split(inspect.cleandoc(text))
    parts = dict(zip(rest[::2], map(inspect.cleandoc, rest[1::2]), strict=True))
    return " ".join(head.split()), parts


def parse_parameters(text: str) -> dict[str, str]:
    """Return what the ``Parameters`` part says about each parameter."""
    found = re.split(r"^(\w+): ", text, flags=re.MULTILINE)
    return {name: " ".join(said.split()) for name, said in zip(found[1::2], found[2::2], strict=True)}


def _specs_of(spec_class: type) -> Iterator[FunctionType]:
    for value in vars(spec_class).values():
        if isinstance(value, FunctionType) and hasattr(value, META):
            yield value


def _hook_doc(spec_class: type, fn: FunctionType) -> HookDoc:
    meta: HookMeta = getattr(fn, META)
    summary, parts = parse_doc(fn.__doc__ or "")
    signature = inspect.signature(fn)
    row = HookRow(
        name=fn.__name__,
        canonical=meta.canonical,
        authority=meta.authority,
        parameters=tuple(name for name in signature.parameters if name != "self"),
        returns=tuple(kind.__name__ for kind in meta.returns),
        domain=spec_class.__module__.rpartition(".")[2],
        summary=summary,
    )
    return HookDoc(row, _declaration(fn.__name__, signature), parts, meta)


def _declaration(name: str, signature: inspect.Signature) -> str:
    parameters = [p.name if p.name == "self" else f"{p.name}: {p.annotation}" for p in signature.parameters.values()]
    answer = signature.return_annotation
    line = f"def {name}({', '.join(parameters)}) -> {answer}"
    if len(line) <= 100:
        return line
    lines = "".join(f"    {parameter},\n" for parameter in parameters)
    return f"def {name}(\n{lines}) -> {answer}"


def render_reference() -> str:
    """Return the text of ``docs/reference/hooks.md``."""
    docs = hook_docs()
    return "\n".join([*_intro(), *_table(docs), *_lifecycle(), *_sections(docs)]).rstrip() + "\n"


def _intro() -> Iterator[str]:
    yield "# Hooks"
    yield ""
    yield "<!-- Made by `python -m dshhooks.pages --write` from the hookspecs. Edit those, not this page. -->"
    yield ""
    yield "An implementation takes the parameters it needs, by name, in any order. Every hook has one authority:"
    yield ""
    yield "| authority | an implementation |"
    yield "| --- | --- |"
    for authority, meaning in AUTHORITIES.items():
        yield f"| {authority.value} | {meaning} |"
    yield ""


def _table(docs: Sequence[HookDoc]) -> Iterator[str]:
    yield "## All hooks"
    yield ""
    yield "| hook | event | authority | summary |"
    yield "| --- | --- | --- | --- |"
    for doc in docs:
        row = doc.row
        yield f"| [`{row.name}`](#{row.name}) | {row.canonical} | {row.authority.value} | {row.summary} |"
    yield ""


def _lifecycle() -> Iterator[str]:
    yield "## When they fire"
    yield ""
    for moment, names in LIFECYCLE:
        yield f"* {moment}: {' → '.join(f'[`{name}`](#{name})' for name in names)}"
    yield ""


def _sections(docs: Sequence[HookDoc]) -> Iterator[str]:
    domain = ""
    for doc in docs:
        if doc.row.domain != domain:
            domain = doc.row.domain
            yield f"## Domain: {domain}"
            yield ""
        yield from _section(doc)


def _section(doc: HookDoc) -> Iterator[str]:
    yield f"### {doc.row.name}"
    yield ""
    yield doc.row.summary
    yield ""
    yield "```python"
    yield doc.signature
    yield "```"
    yield ""
    yield f"* **Event:** `{doc.row.canonical}`"
    yield f"* **Fires:** {_one_line(doc.parts['Fires'])}"
    yield from _parameters(doc.parts["Parameters"])
    for part in PARTS[2:-1]:
        yield f"* **{part}:** {_one_line(doc.parts[part])}"
    yield from _facts(doc.meta)
    yield ""
    yield "```python"
    yield doc.parts["Example"]
    yield "```"
    yield ""


def _parameters(text: str) -> Iterator[str]:
    parameters = parse_parameters(text)
    yield "* **Parameters:**" if parameters else f"* **Parameters:** {_one_line(text)}"
    for name, said in parameters.items():
        yield f"    * `{name}`: {_code(said)}"


def _facts(meta: HookMeta) -> Iterator[str]:
    if meta.returns:
        yield f"* **Answer types:** {', '.join(f'`{kind.__name__}`' for kind in meta.returns)}"
    if meta.default is not None:
        yield f"* **When everybody abstains:** `{getattr(meta.default, '__name__', meta.default)}()`"
    if meta.changeable:
        yield f"* **`call_next` may change:** {', '.join(f'`{name}`' for name in meta.changeable)}"


def _one_line(text: str) -> str:
    return _code(" ".join(text.split()))


def _code(text: str) -> str:
    """Turn the docstrings' reStructuredText code marks into Markdown's."""
    return re.sub(r":\w+:`([^`]+)`", r"`\1`", text).replace("``", "`")
