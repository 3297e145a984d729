"""``@tool``: from a function to a definition, and a call of it through the pipeline."""

from __future__ import annotations

import functools
import math
import threading
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import attrs
import pytest

from dshhooks import MISSING, HarnessError, ToolDefinition, tool
from dshhooks.tools.registry import ToolRegistry
from hookspecs.errors import ToolArgsError
from hookspecs.execution import ToolCall, ToolExecution, ToolRunContext
from hookspecs.json import FrozenDict, FrozenList, freeze
from hookspecs.values import HookContext, PluginSource
from tests.tools.kit import Plugin, code, execute, message, registry, text, wrap

if TYPE_CHECKING:
    from fractions import Fraction

DEEP = 5_000


class Colour(Enum):
    RED = "red"


@attrs.frozen
class Item:
    sku: str
    qty: int = attrs.field(default=1, validator=attrs.validators.gt(0))


@tool(timeout=5.0, idempotent=True, concurrency_safe=True)
async def add(a: int, b: int = 1) -> int:
    """Add two integers.

    Never anything else.

    Args:
        a: The first.
    """
    return a + b


@tool
def shout(words: str) -> str:
    """Say it loud."""
    return words.upper()


class Shop:
    """Tools as methods: registered through an instance."""

    def __init__(self, price: int) -> None:
        self.price = price

    @tool(concurrency_safe=True)
    async def cost(self, item: Item) -> int:
        """Say what an item costs."""
        return self.price * item.qty

    async def undecorated(self, qty: int) -> int:
        """Say what many cost."""
        return self.price * qty


def mode(tools: ToolRegistry, name: str, arguments: Any) -> str:
    return tools.execution_mode(ToolCall("c1", name, arguments))


# -- the definition --------------------------------------------------------------------------------------------------


def test_the_definition() -> None:
    """Everything comes from the signature, the docstring and the options."""
    definition = add.definition
    assert isinstance(definition, ToolDefinition)
    assert definition.name == "add"
    assert definition.description == "Add two integers."
    assert definition.parameters == {
        "type": "object",
        "properties": {"a": {"type": "integer", "description": "The first."}, "b": {"type": "integer", "default": 1}},
        "required": ["a"],
    }
    assert definition.output.schema == {"type": "integer"}
    assert (definition.timeout, definition.idempotent, definition.cancellation) == (5.0, True, "scope")


def test_bare_decoration_has_modest_defaults() -> None:
    """Nothing is promised that was not said."""
    definition = shout.definition
    assert (definition.timeout, definition.idempotent, definition.is_concurrency_safe) == (None, False, None)
    assert definition.parameters["required"] == ["words"]


def test_required_is_left_out_when_empty() -> None:
    """A tool without arguments has an open object with no required (spec 1.7)."""

    @tool
    def now() -> str:
        return "now"

    assert now.definition.parameters == {"type": "object", "properties": {}}
    assert now.definition.description == ""


def test_names_and_descriptions_can_be_given() -> None:
    """Options stand above what the function says."""
    renamed = tool(name="sum", description="Sums.")(add)
    assert (renamed.definition.name, renamed.definition.description) == ("sum", "Sums.")
    assert add.definition.name == "add"


def test_every_option_arrives() -> None:
    """The rest of the definition is passed on."""

    def nothing(*_args: Any) -> None: ...

    made = tool(
        lambda: 1, name="x", cancellation="signal", finalize_content=nothing, presentation_meta=nothing, render=nothing
    ).definition
    assert made.cancellation == "signal"
    assert made.finalize_content is made.output.presentation_meta is made.output.render is nothing


def test_unannotated_parameters_take_any_json() -> None:
    """No annotation, no demand."""
    made = tool(lambda a, b=None: [a, b], name="pair").definition
    assert made.parameters == {"type": "object", "properties": {"a": {}, "b": {"default": None}}, "required": ["a"]}
    assert made.output.schema == {}


def test_the_annotation_of_a_parameter_stands_above_the_docstring() -> None:
    """``Annotated`` is closer to the parameter."""

    @tool
    def look(path: Annotated[str, "Where."], depth: Annotated[int, "How deep."], kind: Literal["a"]) -> str:
        """Look.

        :param path: ignored
        :param kind: Which.
        """
        return path

    assert {name: part["description"] for name, part in look.definition.parameters["properties"].items()} == {
        "path": "Where.",
        "depth": "How deep.",
        "kind": "Which.",
    }


def test_defaults_are_shown_as_json() -> None:
    """An enum, a class or a tuple as default is told to the model as what it would send; a factory is not told."""

    @tool
    def pick(
        a: Colour = Colour.RED,
        b: Item = Item("x"),
        c: tuple[int, str] = (1, "a"),
        d: Any = object(),  # noqa: B008
    ) -> None: ...

    shown = {name: part.get("default", "-") for name, part in pick.definition.parameters["properties"].items()}
    assert shown == {"a": "red", "b": {"sku": "x", "qty": 1}, "c": [1, "a"], "d": "-"}


def test_local_classes_are_found() -> None:
    """Annotations are strings here, and name classes only this function knows."""

    @attrs.frozen
    class Inner:
        n: int

    @attrs.frozen
    class Outer:
        inner: Inner

    @tool
    def unwrap(outer: Outer) -> Inner:
        return outer.inner

    assert unwrap.definition.execute(freeze({"outer": {"inner": {"n": 2}}}), None) == {"n": 2}


# -- still a function --------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_the_function_can_still_be_called() -> None:
    """Unit tests call it as ever, positionally and with defaults, past any validation."""
    assert await add(1) == 2
    assert await add(1, b=5) == 6
    assert shout("a") == "A"
    assert shout.__name__ == "shout"
    assert shout.__doc__ == "Say it loud."
    assert repr(shout) == "<tool 'shout'>"


@pytest.mark.anyio
async def test_a_bound_method_is_a_tool() -> None:
    """``tool(obj.method)``: no ``self`` in the schema."""
    tools = registry(tools=[tool(Shop(3).undecorated)])
    assert tools.schemas()[0]["parameters"]["required"] == ["qty"]
    assert (await tools.call("undecorated", {"qty": 2})).value == 6


@pytest.mark.anyio
async def test_a_decorated_method_is_the_tool_of_its_instance() -> None:
    """Two instances, two tools; the method can be called as well."""
    cheap, dear = Shop(1), Shop(10)
    assert await cheap.cost(Item("a", 2)) == 2
    assert cheap.cost.definition.parameters["required"] == ["item"]
    assert (await registry(tools=[cheap.cost]).call("cost", {"item": {"sku": "a"}})).value == 1
    assert (await registry(tools=[dear.cost]).call("cost", {"item": {"sku": "a"}})).value == 10


def test_a_method_without_its_instance_cannot_be_registered() -> None:
    """The error says through what to register it."""
    with pytest.raises(TypeError, match=r"instance\.cost"):
        registry(tools=[Shop.cost])


@pytest.mark.anyio
async def test_partials_hide_what_is_bound() -> None:
    """A bound argument is not the model's business."""

    async def fetch(url: str, key: str, limit: int = 3) -> str:
        """Fetch."""
        return f"{url} {key} {limit}"

    made = tool(functools.partial(fetch, key="secret"))
    assert list(made.definition.parameters["properties"]) == ["url", "limit"]
    assert (made.definition.name, made.definition.description) == ("fetch", "Fetch.")
    assert (await registry(tools=[made]).call("fetch", {"url": "u"})).value == "u secret 3"


@pytest.mark.anyio
async def test_callable_objects_need_a_name() -> None:
    """They have a signature and no name of their own."""

    class Greeter:
        async def __call__(self, who: str) -> str:
            """Greet."""
            return f"hello {who}"

    with pytest.raises(TypeError, match="name="):
        tool(Greeter())
    made = tool(Greeter(), name="greet")
    assert made.definition.description == "Greet."
    assert (await registry(tools=[made]).call("greet", {"who": "you"})).value == "hello you"


# -- what cannot be a tool ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fn", "part"),
    [
        (lambda *args: 0, r"parameter \*args"),
        (lambda **more: 0, r"parameter \*\*more"),
        (lambda a, /: 0, "parameter a"),
    ],
)
def test_arguments_without_a_name_are_refused(fn: Any, part: str) -> None:
    """A call has names only; the error says which parameter and what to do."""
    with pytest.raises(TypeError, match=f"tool 'x': {part}"):
        tool(fn, name="x")


@pytest.mark.parametrize("thing", [5, "add", int, Item, None.__class__])
def test_only_functions_are_tools(thing: Any) -> None:
    """Not values, not classes."""
    with pytest.raises(TypeError, match="@tool needs a function"):
        tool(thing, name="x")


def test_generators_are_refused() -> None:
    """A tool has one value."""

    async def stream() -> Any:
        yield 1

    def walk() -> Any:
        yield 1

    for fn in (stream, walk):
        with pytest.raises(TypeError, match="one value"):
            tool(fn)


def test_a_lambda_needs_a_name() -> None:
    """Nobody can call ``<lambda>``."""
    with pytest.raises(TypeError, match="name="):
        tool(lambda: 1)


@pytest.mark.parametrize("timeout", [0, -1, math.inf, math.nan, True, "5"])
def test_a_bad_timeout_is_refused_at_decoration(timeout: Any) -> None:
    """Case 23: positive, finite, a number."""
    with pytest.raises(TypeError, match="tool 'add': timeout"):
        tool(add, timeout=timeout)


@pytest.mark.parametrize(
    "options",
    [
        {"idempotent": 1},
        {"concurrency_safe": "yes"},
        {"cancellation": "never"},
        {"render": 1},
        {"presentation_meta": 1},
        {"finalize_content": 1},
        {"present_call": 1},
        {"present_result": 1},
        {"description": 1},
        {"name": ""},
        {"name": 5},
    ],
)
def test_bad_options_are_refused_at_decoration(options: Any) -> None:
    """Case 22 and its kin: the message names the option."""
    with pytest.raises(TypeError, match=next(iter(options))):
        tool(add, **options)


def test_unresolvable_annotations_are_refused_with_advice() -> None:
    """A name under TYPE_CHECKING does not exist when the schema is made."""

    def half(x: Fraction) -> int:
        return 0

    with pytest.raises(TypeError, match=r"tool 'half': .*'Fraction'.*TYPE_CHECKING"):
        tool(half)


def test_unsupported_annotations_name_the_place() -> None:
    """Function and parameter, or the return annotation."""

    def bad(data: bytes) -> None: ...

    def worse() -> bytes:
        return b""

    with pytest.raises(TypeError, match=r"tool 'bad', parameter 'data': bytes .* supported are"):
        tool(bad)
    with pytest.raises(TypeError, match="tool 'worse', return annotation: bytes"):
        tool(worse)


# -- calls -------------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_call() -> None:
    """Arguments by name, defaults by the function."""
    tools = registry(tools=[add, shout])
    assert (await tools.call("add", {"a": 1})).value == 2
    assert (await tools.call("add", {"b": 2, "a": 2.0})).value == 4
    assert (await tools.call("shout", {"words": "a"})).value == "A"


@pytest.mark.anyio
async def test_invalid_arguments() -> None:
    """Case 35: INVALID_ARGS, all violations joined, the body never runs, wrappers and post-execute see the failure."""
    ran: list[str] = []
    seen: list[Any] = []

    @tool
    def body(a: int, item: Item) -> None:
        ran.append("body")

    async def around(execution: Any, *, call_next: Any) -> Any:
        result = await call_next()
        seen.append(code(result))
        return result

    plugin = Plugin(tools_execute=wrap(around), tools_post_execute=lambda execution, result: seen.append(code(result)))
    result = await execute(registry(plugin, tools=[body]), "body", {"a": "x", "item": {"qty": 1}})
    assert code(result) == "INVALID_ARGS"
    assert result.error.info.name == "ToolArgsError"
    assert message(result) == "a must be of type integer; item.sku is required"
    assert ran == []
    assert seen == ["INVALID_ARGS", "INVALID_ARGS"]


@pytest.mark.parametrize("args", [{}, {"a": None}, {"a": True}, {"a": 1, "b": "x"}, [], None, 5, {"a": float("nan")}])
@pytest.mark.anyio
async def test_execute_refuses_before_calling(args: Any) -> None:
    """A definition used on its own validates too, whatever it is handed."""
    with pytest.raises(ToolArgsError) as caught:
        await add.definition.execute(args, None)
    assert caught.value.code == "INVALID_ARGS"
    assert str(caught.value) == "; ".join(caught.value.violations)


@pytest.mark.anyio
async def test_unknown_arguments_are_refused() -> None:
    """The schema is open, but a misspelt argument is not silently dropped."""
    assert "additionalProperties" not in add.definition.parameters
    result = await registry(tools=[add]).call("add", {"a": 1, "bb": 2})
    assert (code(result), message(result)) == ("INVALID_ARGS", "bb is not a known property")


@pytest.mark.anyio
async def test_what_a_class_refuses_is_an_invalid_argument() -> None:
    """A validator's objection, a bad date: path-qualified, every one of them."""

    @tool
    def buy(item: Item, more: list[Item], limits: dict[str, int]) -> None: ...

    bad = {"sku": "a", "qty": 0}
    result = await registry(tools=[buy]).call("buy", {"item": bad, "more": [bad], "limits": {"x": None}})
    assert code(result) == "INVALID_ARGS"
    assert message(result) == (
        "item is not accepted: 'qty' must be > 0: 0; more[0] is not accepted: 'qty' must be > 0: 0; "
        "limits.x must be of type integer"
    )


@pytest.mark.anyio
async def test_an_error_of_the_body_is_not_an_argument_error() -> None:
    """What the function itself raises keeps its own shape."""

    @tool
    def fail(how: str) -> None:
        raise HarnessError("no", "MINE") if how == "coded" else ValueError("plain")

    tools = registry(tools=[fail])
    assert code(await tools.call("fail", {"how": "coded"})) == "MINE"
    assert code(await tools.call("fail", {"how": "plain"})) is None


@pytest.mark.anyio
async def test_arguments_arrive_as_their_types_or_frozen() -> None:
    """Classes are built; plain containers are the call's own, not copies."""
    got: dict[str, Any] = {}

    @tool
    def keep(item: Item, colour: Colour, names: list[str], table: dict[str, Any], *, n: int = 3) -> None:
        got.update(locals())

    arguments = freeze({"item": {"sku": "a"}, "colour": "red", "names": ["x"], "table": {"k": [1]}})
    assert not (await registry(tools=[keep]).call("keep", arguments)).is_error
    assert (got["item"], got["colour"], got["n"]) == (Item("a"), Colour.RED, 3)
    assert (type(got["names"]), type(got["table"])) == (FrozenList, FrozenDict)
    assert got["names"] is arguments["names"]


@pytest.mark.anyio
async def test_hostile_arguments_reach_an_any_parameter() -> None:
    """Five thousand levels and lone surrogates are JSON."""

    @tool
    async def echo(value: Any) -> Any:
        return value

    deep: list[Any] = []
    for _ in range(DEEP):
        deep = [deep]
    tools = registry(tools=[echo])
    result = await tools.call("echo", {"value": deep})
    assert text(result).startswith("[[[[")
    assert (await tools.call("echo", {"value": "\ud800"})).value == "\ud800"
    assert text(await tools.call("echo", {"value": {"\udfff": "é"}})) == '{"\udfff":"é"}'


@pytest.mark.anyio
async def test_lone_surrogates_in_violations() -> None:
    """A name nobody can encode is still named."""
    result = await registry(tools=[add]).call("add", {"a": "\ud800", "\udfff": 1})
    assert message(result) == 'a must be of type integer; arguments["\\udfff"] is not a known property'


# -- the execution context -------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_the_context_parameter() -> None:
    """It is no part of the schema, and its name cannot be smuggled in as an argument."""

    @tool
    async def note(words: str, ctx: ToolRunContext, view: ToolExecution | None = None) -> str:
        ctx.defer_context(HookContext(words, PluginSource("me")))
        assert view is ctx
        return ctx.call_id

    tools = registry(tools=[note])
    assert list(note.definition.parameters["properties"]) == ["words"]
    result = await execute(tools, "note", {"words": "hi"})
    assert result.value == "c1"
    assert len(result.contexts) == 1
    assert code(await tools.call("note", {"words": "hi", "ctx": {}})) == "INVALID_ARGS"


@pytest.mark.anyio
async def test_plain_functions_run_in_a_thread() -> None:
    """An async one stays in the caller's."""
    threads: dict[str, int] = {}

    @tool
    def blocking() -> None:
        threads["blocking"] = threading.get_ident()

    @tool
    async def awaiting() -> None:
        threads["awaiting"] = threading.get_ident()

    tools = registry(tools=[blocking, awaiting])
    await tools.call("blocking")
    await tools.call("awaiting")
    assert threads["awaiting"] == threading.get_ident()
    assert threads["blocking"] != threading.get_ident()


@pytest.mark.anyio
async def test_a_plain_function_may_return_an_awaitable() -> None:
    """A wrapper somebody wrote around an async function works, its value given like any other."""

    async def inner(sku: str) -> Item:
        return Item(sku)

    @functools.wraps(inner)
    def outer(*args: Any, **kwargs: Any) -> Any:
        return inner(*args, **kwargs)

    assert (await registry(tools=[tool(outer)]).call("inner", {"sku": "a"})).value == {"sku": "a", "qty": 1}


# -- values ----------------------------------------------------------------------------------------------------------


def returning(value: Any, annotation: Any = MISSING) -> Any:
    def give() -> Any:
        return value

    give.__annotations__ = {} if annotation is MISSING else {"return": annotation}
    return tool(give)


@pytest.mark.parametrize(
    ("value", "annotation", "shown"),
    [
        ("text", str, "text"),
        ("text", Any, "text"),
        (None, None, "done"),
        (None, int | None, "null"),
        (1.5, float, "1.5"),
        (True, bool, "true"),
        ({"a": ["é"]}, dict, '{"a":["é"]}'),
        (Item("a"), Item, '{"sku":"a","qty":1}'),
        (Colour.RED, Colour, "red"),
        ([Item("a", 2)], list[Item], '[{"sku":"a","qty":2}]'),
        ((1, 2), tuple[int, int], "[1,2]"),
    ],
)
@pytest.mark.anyio
async def test_default_rendering(value: Any, annotation: Any, shown: str) -> None:
    """Text as it is, nothing as "done", everything else as compact JSON."""
    assert text(await registry(tools=[returning(value, annotation)]).call("give")) == shown


@pytest.mark.anyio
async def test_own_rendering() -> None:
    """``render`` sees the arguments and the JSON value."""
    made = tool(add, render=lambda args, value: f"{args['a']} makes {value}")
    assert text(await registry(tools=[made]).call("add", {"a": 1})) == "1 makes 2"


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        ("x", int),
        (True, int),
        (None, Item),
        ({"sku": 1}, Item),
        ((1,), list[int]),
        (Item("a"), Any),
        (object(), MISSING),
    ],
)
@pytest.mark.anyio
async def test_a_value_outside_its_annotation_is_invalid_output(value: Any, annotation: Any) -> None:
    """The return annotation is a promise the registry checks."""
    result = await registry(tools=[returning(value, annotation)]).call("give")
    assert code(result) == "INVALID_TOOL_OUTPUT"


@pytest.mark.anyio
async def test_a_value_that_cannot_be_taken_apart_is_invalid_output() -> None:
    """A broken instance is the tool's failure, with a code and a reason."""
    broken = Item.__new__(Item)
    result = await registry(tools=[returning(broken, Item)]).call("give")
    assert code(result) == "INVALID_TOOL_OUTPUT"
    assert "AttributeError" in message(result)


# -- scheduling and presentation ---------------------------------------------------------------------------------------


def test_concurrency_safety_is_asked_about_valid_arguments_only() -> None:
    """Cases 31 and 32: exactly True for valid arguments is parallel, everything else exclusive."""
    asked: list[Any] = []

    def reading(args: Any) -> Any:
        asked.append(args)
        return args["a"] == 1 or "yes"

    tools = registry(tools=[add, tool(add, name="some", concurrency_safe=reading), tool(add, name="none")])
    assert mode(tools, "add", {"a": 1}) == "parallel"
    assert mode(tools, "add", {"a": "x"}) == "exclusive"
    assert mode(tools, "add", {"a": object()}) == "exclusive"
    assert mode(tools, "some", {"a": 1}) == "parallel"
    assert mode(tools, "some", {"a": 2}) == "exclusive"
    assert mode(tools, "some", {}) == "exclusive"
    assert mode(tools, "none", {"a": 1}) == "exclusive"
    assert asked == [{"a": 1}, {"a": 2}]


def test_presenters_are_asked_about_valid_arguments_only() -> None:
    """A mismatch is no view, never an error."""
    decorated = tool(add, present_call=lambda args: args["a"], present_result=lambda args, result: (args["a"], result))
    made = decorated.definition
    assert made.present_call is not None
    assert made.present_result is not None
    assert made.present_call({"a": 1}) == 1
    assert made.present_call({"a": "x"}) is None
    assert made.present_call("junk") is None
    assert made.present_result({"a": 1}, "r") == (1, "r")
    assert made.present_result({}, "r") is None
