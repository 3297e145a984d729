"""The model service: adapters by name, prepared calls, ``llm_stream`` around requests, whose failure it is."""

from __future__ import annotations

import attrs
import pytest

from dshhooks.llm.service import LlmService, ReasoningInfo, failure_from
from hookspecs.errors import HarnessError, LlmError, PluginError
from hookspecs.json import MISSING
from hookspecs.markers import hookimpl
from hookspecs.model import FinishChunk, LlmCallConfig, LlmFailure, TextDelta
from hookspecs.values import AssistantProvenance, Message
from tests.llm.kit import Fixed, Raising, assembled, options, prompt, read, said, service, text_of

pytestmark = pytest.mark.anyio


async def ask(made, request=None, **kwargs):
    """The text a service answers."""
    stream = await made.open(request or options(), **kwargs)
    return text_of(assembled(await read(stream)).blocks())


async def failing(made, request=None, **kwargs):
    """The exception reading a request ends in, and whether it is the adapter's own."""
    stream = await made.open(request or options(), **kwargs)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the tests look at it
        await read(stream)
    await stream.aclose()
    return caught.value, stream.is_adapter_failure(caught.value)


class TestAdapters:
    async def test_one_adapter_for_several_names(self):
        """Each of them is served, until the registration is disposed."""
        made = service()
        registration = made.register_adapter(["a", "b"], Fixed())
        assert made.providers == ("a", "b")
        assert await ask(made, options(provider="b")) == "hi"
        registration.dispose()
        registration.dispose()
        assert made.providers == ()

    async def test_a_name_alone(self):
        """A ``str`` is one name and not a list of letters."""
        made = service()
        made.register_adapter("openai", Fixed())
        assert made.providers == ("openai",)

    @pytest.mark.parametrize(("names", "code"), [
        ([], "INVALID_ADAPTER"), ("", "INVALID_ADAPTER"), (["a", ""], "INVALID_ADAPTER"), (["a", 1], "INVALID_ADAPTER"),
        (["a", "a"], "DUPLICATE_ADAPTER"), (["a", "p"], "DUPLICATE_ADAPTER"),
    ])  # fmt: skip
    async def test_all_or_none(self, names, code):
        """A bad or taken name registers none of them (case 208)."""
        made = service(Fixed())
        with pytest.raises(HarnessError) as caught:
            made.register_adapter(names, Fixed())
        assert (caught.value.code, made.providers) == (code, ("p",))

    async def test_what_is_no_adapter(self):
        """Without ``stream`` there is nothing to call."""
        with pytest.raises(HarnessError, match="str has no stream") as caught:
            service().register_adapter(["a"], "adapter")
        assert caught.value.code == "INVALID_ADAPTER"

    async def test_an_old_registration_does_not_take_a_new_adapter_out(self):
        """Disposing removes what was registered, not what stands there now."""
        made = service()
        old = made.register_adapter(["a"], Fixed())
        old.dispose()
        made.register_adapter(["a"], Fixed(said("new")))
        old.dispose()
        assert await ask(made, options(provider="a")) == "new"

    async def test_nobody_serves_it(self):
        """The lookup is innermost, so the failure counts as the adapter's and names who there is."""
        exc, tagged = await failing(service(Fixed()), options(provider="nobody"))
        assert (exc.code, tagged) == ("NO_ADAPTER", True)
        assert "'nobody'; there are: p" in str(exc)

    async def test_plugins_bring_adapters(self):
        """They come and go with the plugin."""

        class Plugin:
            @hookimpl
            def register_llm_adapters(self, service):
                service.register_adapter(["mine"], Fixed(said("from a plugin")))

        made = service()
        registration = made._hooks.register(Plugin())
        assert await ask(made, options(provider="mine")) == "from a plugin"
        registration.dispose()
        assert made.providers == ()

    async def test_a_plugin_whose_adapters_clash(self):
        """It is refused as a whole and leaves nothing behind."""

        class Plugin:
            @hookimpl
            def register_llm_adapters(self, service):
                service.register_adapter(["fresh"], Fixed())
                service.register_adapter(["p"], Fixed())

        made = service(Fixed())
        with pytest.raises(PluginError, match="failed in hook 'register_llm_adapters': HarnessError: provider 'p'"):
            made._hooks.register(Plugin())
        assert made.providers == ("p",)

    async def test_closing(self):
        """Each adapter that can be closed is, once; one that fails does not keep the others open."""
        closed = []

        class Closing(Fixed):
            async def aclose(self):
                closed.append(self)
                raise OSError("no")

        made, one, two = service(Fixed()), Closing(), Closing()
        made.register_adapter(["a", "b"], one)
        made.register_adapter(["c"], two)
        await made.aclose()
        assert (closed, made.providers) == ([one, two], ())


class TestRequests:
    async def test_the_request_as_it_is(self):
        """The adapter gets the very options."""
        adapter, request = Fixed(), options()
        await ask(service(adapter), request)
        assert adapter.requests[0] is request

    async def test_stream(self):
        """``stream`` is the short way; leaving it early closes the adapter's stream."""
        adapter = Fixed()
        made = service(adapter)
        chunks = made.stream(options())
        assert await anext(chunks) == TextDelta(0, "hi")
        assert adapter.running == 1
        await chunks.aclose()
        assert adapter.running == 0
        assert await read(made.stream(options())) == said("hi")

    @pytest.mark.parametrize("wrapped", [False, True])
    async def test_closing_in_the_middle_closes_the_adapters_stream(self, wrapped):
        """Also behind an iterator that does not close what it reads."""

        class Plugin:
            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                async def through(chunks):
                    async for chunk in chunks:
                        yield chunk

                return through(await call_next())

        adapter = Fixed()
        stream = await service(adapter, *([Plugin()] if wrapped else [])).open(options())
        async for _ in stream:
            break
        assert adapter.running == 1
        await stream.aclose()
        await stream.aclose()
        assert adapter.running == 0

    async def test_one_attempt(self):
        """A failing adapter is asked once."""
        asked = []

        class Failing:
            async def stream(self, options):
                asked.append(options)
                raise LlmError("no", "SERVER")
                yield

        await failing(service(Failing()))
        assert len(asked) == 1

    async def test_an_iterator_that_is_no_generator(self):
        """Anything with ``__anext__`` is a stream; it need not be closable."""

        class Chunks:
            def __init__(self):
                self.left = said("iterated")

            def __aiter__(self):
                return self

            async def __anext__(self):
                if not self.left:
                    raise StopAsyncIteration
                return self.left.pop(0)

        class Adapter:
            def stream(self, options):
                return Chunks()

        assert await ask(service(Adapter())) == "iterated"


class TestPreparedCalls:
    def config(self, **parts):
        return LlmCallConfig(**{"provider": "p", "model": "m", **parts})

    async def test_it_serves_one_request(self):
        """A second one is refused."""
        made = service(Fixed())
        prepared = made.prepare(self.config())
        assert await ask(made, prepared=prepared) == "hi"
        with pytest.raises(HarnessError, match="serves one request") as caught:
            await made.open(options(), prepared=prepared)
        assert caught.value.code == "INVALID_PREPARED_CALL"

    @pytest.mark.parametrize("drift", [
        {"model": "other"}, {"provider": "q"}, {"temperature": 0.5}, {"max_tokens": 1}, {"stop": ["x"]},
        {"reasoning_effort": "low"},
    ])  # fmt: skip
    async def test_it_serves_only_its_configuration(self, drift):
        """Any difference is refused, and the call can still be used for what it was made for."""
        made = service(Fixed())
        prepared = made.prepare(self.config())
        with pytest.raises(HarnessError) as caught:
            await made.open(options(**drift), prepared=prepared)
        assert caught.value.code == "INVALID_PREPARED_CALL"
        assert await ask(made, prepared=prepared) == "hi"

    async def test_it_is_bound_to_its_adapter(self):
        """Whoever stands under the name by then does not get the request."""
        made = service()
        registration = made.register_adapter(["p"], Fixed(said("old")))
        prepared = made.prepare(self.config())
        registration.dispose()
        made.register_adapter(["p"], Fixed(said("new")))
        assert await ask(made, prepared=prepared) == "old"
        assert await ask(made) == "new"

    async def test_an_adapter_may_come_later(self):
        """Preparing does not need one; the request does."""
        made = service()
        prepared = made.prepare(self.config())
        assert (await failing(made, prepared=prepared))[0].code == "NO_ADAPTER"
        prepared = made.prepare(self.config())
        made.register_adapter(["p"], Fixed())
        assert await ask(made, prepared=prepared) == "hi"

    async def test_a_wrapper_may_ask_again_and_ask_for_something_else(self):
        """What a plugin does inside one request needs no other prepared call."""

        class Plugin:
            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                await read(await call_next())
                await read(await call_next(options=attrs.evolve(options, model="big")))
                return await call_next(options=attrs.evolve(options, provider="q"))

        first, second = Fixed(), Fixed(said("second"))
        made = service(first, Plugin())
        made.register_adapter(["q"], second)
        assert await ask(made, prepared=made.prepare(self.config())) == "second"
        assert [request.model for request in first.requests] == ["m", "big"]


class TestEffort:
    def made(self):
        class Thinking(Fixed):
            def reasoning(self, model):
                return ReasoningInfo(["low", "high"], "low") if model == "m" else None

        return service(Thinking())

    def config(self, model="m", effort=None):
        return LlmCallConfig("p", model, effort)

    async def test_the_default_is_filled_in(self):
        """Only where nobody said, and only for a model that has efforts."""
        made = self.made()
        assert made.prepare(self.config()).config.reasoning_effort == "low"
        assert made.prepare(self.config(effort="high")).config.reasoning_effort == "high"
        assert made.prepare(self.config("plain")).config.reasoning_effort is None

    async def test_an_unknown_effort_is_refused(self):
        """It is not rounded to another one."""
        with pytest.raises(LlmError, match="'m' has no reasoning effort 'medium'; it has: low, high") as caught:
            self.made().prepare(self.config(effort="medium"))
        assert caught.value.code == "UNSUPPORTED_REASONING_EFFORT"

    async def test_an_adapter_that_says_nothing(self):
        """The effort is passed on as it is."""
        assert service(Fixed()).prepare(self.config(effort="x")).config.reasoning_effort == "x"


class TestReplayState:
    def history(self, provider="p", state="secret"):
        return [prompt("hi"), Message("assistant", "hello", AssistantProvenance(provider, "m", state)), prompt("go on")]

    async def shown(self, made, adapter, request):
        await ask(made, request)
        return adapter.requests[-1].messages

    async def test_its_own(self):
        """The adapter that left it gets it back, also under another of its names."""
        adapter = Fixed()
        made = service(adapter)
        made.register_adapter(["alias"], adapter)
        for left, asked in (("p", "p"), ("alias", "p"), ("p", "alias")):
            request = options(messages=self.history(left), provider=asked)
            assert await self.shown(made, adapter, request) == request.messages

    async def test_somebody_elses(self):
        """Any other adapter sees who wrote the message, and no state; nor does anybody once the writer is gone."""
        adapter = Fixed()
        made = service(adapter)
        made.register_adapter(["other"], Fixed())
        for left in ("other", "gone"):
            request = options(messages=self.history(left))
            messages = await self.shown(made, adapter, request)
            assert messages[1].provenance == AssistantProvenance(left, "m")
            assert messages[1].provenance.replay_state is MISSING
            assert (messages[0], messages[2]) == (request.messages[0], request.messages[2])
            assert request.messages[1].provenance.replay_state == "secret"

    async def test_plugins_see_it_all(self):
        """What is hidden from the adapter is not hidden from who stands around it."""
        seen = []

        class Plugin:
            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                seen.append(options.messages[1].provenance.replay_state)
                return await call_next()

        await ask(service(Fixed(), Plugin()), options(messages=self.history("gone")))
        assert seen == ["secret"]


class TestHooks:
    async def test_both_wrapper_forms(self):
        """Each stands around the rest, the first plugin outermost."""

        async def marked(chunks, mark):
            async for chunk in chunks:
                yield TextDelta(0, f"{mark}({chunk.text})") if isinstance(chunk, TextDelta) else chunk

        class Outer:
            @hookimpl(wrapper=True)
            def llm_stream(self, options):
                chunks = yield
                return marked(chunks, "outer")

        class Inner:
            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                return marked(await call_next(), "inner")

        assert await ask(service(Fixed(), Outer(), Inner())) == "outer(inner(hi))"

    async def test_an_answer_from_a_plugin_needs_no_adapter(self):
        """A short circuit never comes to the lookup."""

        class Plugin:
            @hookimpl
            async def llm_stream(self, options):
                for chunk in said("cached"):
                    yield chunk

        assert await ask(service(None, Plugin())) == "cached"

    async def test_a_plugin_that_abstains(self):
        """``None`` leaves it to the adapter."""

        class Plugin:
            @hookimpl
            def llm_stream(self, options):
                return None

        assert await ask(service(Fixed(), Plugin())) == "hi"

    async def test_changed_options(self):
        """Everybody further in gets the changed request, the wrapper outside kept its own."""

        class Plugin:
            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                return await call_next(options=attrs.evolve(options, provider="q", temperature=0.0))

        adapter = Fixed(said("from q"))
        made = service(Fixed(), Plugin())
        made.register_adapter(["q"], adapter)
        request = options()
        assert await ask(made, request) == "from q"
        assert adapter.requests == [attrs.evolve(request, provider="q", temperature=0.0)]

    @pytest.mark.parametrize("answer", [None, [], "text", Fixed])
    async def test_an_answer_that_is_no_stream(self, answer):
        """It is refused, naming the plugin, before anybody reads it."""

        class Plugin:
            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                await (await call_next()).aclose()
                return answer

        with pytest.raises(HarnessError, match="plugin 'Plugin' answered hook 'llm_stream'") as caught:
            await service(Fixed(), Plugin()).open(options())
        assert caught.value.code == "INVALID_DECISION"

    async def test_plugins_of_an_agent(self):
        """They take part in its requests only."""

        class Plugin:
            @hookimpl
            async def llm_stream(self, options):
                for chunk in said("mine"):
                    yield chunk

        agent, made = object(), service(Fixed())
        made._hooks.register(Plugin(), agent=agent)
        assert await ask(made, agent=agent) == "mine"
        assert await ask(made) == "hi"


class TestWhoseFailure:
    @pytest.mark.parametrize("after", [0, 2])
    async def test_an_adapters_own(self, after):
        """The very exception arrives, tagged, whether it came at once or in the middle."""
        error = LlmError("busy", "SERVER", status=503)
        assert await failing(service(Raising(error, after))) == (error, True)

    async def test_one_from_making_the_stream(self):
        """An adapter may fail before there is an iterator."""
        error = ValueError("bad request")

        class Adapter:
            def stream(self, options):
                raise error

        assert await failing(service(Adapter())) == (error, True)

    async def test_a_foreign_one_with_a_code(self):
        """The same object arrives; its code means nothing to us (case 209)."""
        error = OSError("connection lost")
        error.code, error.status = "RATE_LIMIT", 429
        exc, tagged = await failing(service(Raising(error)))
        assert (exc, tagged) == (error, True)
        assert failure_from(exc) == LlmFailure("connection lost", "UNKNOWN")

    @pytest.mark.parametrize(
        "error", [SystemExit(3), StopAsyncIteration("x"), BaseExceptionGroup("g", [SystemExit(1)])]
    )
    async def test_what_is_no_exception_to_recover_from(self, error):
        """It becomes one, with what it was as its cause."""

        class Adapter:
            def stream(self, options):
                raise error

        exc, tagged = await failing(service(Adapter()))
        assert (type(exc), exc.code, exc.__cause__, tagged) == (LlmError, "UNKNOWN", error, True)

    async def test_an_interrupt_passes(self):
        """Nobody tags or wraps it."""
        stream = await service(Raising(KeyboardInterrupt())).open(options())
        with pytest.raises(KeyboardInterrupt) as caught:
            await read(stream)
        assert not stream.is_adapter_failure(caught.value)

    async def test_an_adapter_whose_stream_is_a_coroutine(self):
        """The mistake is named, and nothing is left un-awaited."""

        class Adapter:
            async def stream(self, options):
                return said("hi")

        exc, tagged = await failing(service(Adapter()))
        assert (exc.code, tagged) == ("INVALID_ADAPTER", True)
        assert "Adapter.stream() returned coroutine, not an async iterator" in str(exc)

    @pytest.mark.parametrize("when", ["before", "after", "reading"])
    async def test_a_wrappers_own(self, when):
        """It arrives with a note of its plugin if it came from the hook, and is not the adapter's."""
        error = RuntimeError(when)

        class Plugin:
            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                if when == "before":
                    raise error
                chunks = await call_next()
                if when == "after":
                    raise error

                async def breaking():
                    async for _ in chunks:
                        raise error
                    yield

                return breaking()

        made = service(Fixed(), Plugin())
        if when == "reading":
            assert await failing(made) == (error, False)
            return
        with pytest.raises(RuntimeError) as caught:
            await made.open(options())
        assert caught.value is error
        assert error.__notes__ == ["raised in hook 'llm_stream' of plugin 'Plugin'"]

    async def test_what_a_failing_wrapper_had_begun_to_read(self):
        """It is closed."""

        class Plugin:
            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                await anext(aiter(await call_next()))
                raise RuntimeError("too bad")

        adapter = Fixed()
        with pytest.raises(RuntimeError):
            await service(adapter, Plugin()).open(options())
        assert adapter.running == 0

    async def test_a_wrapper_that_replaces_the_adapters(self):
        """Its own exception is its own, whatever the cause."""

        class Plugin:
            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                async def translated(chunks):
                    try:
                        async for chunk in chunks:
                            yield chunk
                    except LlmError as exc:
                        raise RuntimeError("sorry") from exc

                return translated(await call_next())

        exc, tagged = await failing(service(Raising(LlmError("busy", "SERVER")), Plugin()))
        assert (str(exc), tagged) == ("sorry", False)

    async def test_a_wrapper_that_lets_it_through(self):
        """It stays the adapter's."""
        error = LlmError("busy", "SERVER")

        class Plugin:
            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                chunks = await call_next()
                return (chunk async for chunk in chunks)

        assert await failing(service(Raising(error), Plugin())) == (error, True)

    async def test_a_wrapper_that_recovers(self):
        """It may ask again within the request; nobody hears of the first failure."""
        adapter = Raising(LlmError("busy", "SERVER"))

        class Plugin:
            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                with pytest.raises(LlmError):
                    await read(await call_next())
                return await call_next(options=attrs.evolve(options, provider="q"))

        made = service(adapter, Plugin())
        made.register_adapter(["q"], Fixed(said("from q")))
        assert await ask(made) == "from q"

    async def test_a_nested_requests_failure(self):
        """What a plugin's own request to a model raised is not the outer adapter's."""
        error = LlmError("busy", "SERVER")

        class Plugin:
            @hookimpl(wrapper=True)
            async def llm_stream(self, options, *, call_next):
                if options.provider == "p":
                    await read(made.stream(attrs.evolve(options, provider="q")))
                return await call_next()

        made: LlmService = service(Fixed(), Plugin())
        made.register_adapter(["q"], Raising(error))
        with pytest.raises(LlmError) as caught:
            await made.open(options())
        assert caught.value is error

    async def test_a_consumers_own(self):
        """Whoever reads and raises is not the adapter, even when it is thrown in."""
        stream = await service(Fixed()).open(options())
        chunks = aiter(stream)
        await anext(chunks)
        error = RuntimeError("mine")
        with pytest.raises(RuntimeError):
            await chunks.athrow(error)
        assert not stream.is_adapter_failure(error)


class TestFailures:
    """failure_from: what durable records keep of an exception."""

    async def test_a_model_error(self):
        """All its facts."""
        error = LlmError("busy", "RATE_LIMIT", status=429, retry_after=1.5, request_id="r")
        assert failure_from(error) is error.failure
        assert error.failure == LlmFailure("busy", "RATE_LIMIT", 429, 1.5, "r")

    async def test_facts_of_another_code(self):
        """An error whose code was changed has no facts but that."""
        error = LlmError("busy", "RATE_LIMIT", status=429)
        error.code = "OTHER"
        assert failure_from(error) == LlmFailure("busy", "OTHER")

    async def test_another_error_of_ours(self):
        """Its code is trusted."""
        assert failure_from(HarnessError("x", "SOME_CODE")) == LlmFailure("x", "SOME_CODE")

    @pytest.mark.parametrize("code", ["", None, 7])
    async def test_a_code_that_is_none(self, code):
        """It counts as unknown and breaks nothing."""
        error = HarnessError("x")
        error.code = code
        assert failure_from(error) == LlmFailure("x", "UNKNOWN")

    async def test_a_failure_that_is_none(self):
        """What an error keeps under that name is looked at before it is believed."""
        error = HarnessError("x", "SERVER")
        error.failure = {"message": "x", "code": "SERVER"}
        assert failure_from(error) == LlmFailure("x", "SERVER")

    async def test_a_hostile_or_silent_message(self):
        """There always is one."""

        class HostileError(Exception):
            def __str__(self):
                raise RuntimeError("no")

        assert failure_from(HostileError()).message == "<unprintable exception>"
        assert failure_from(ValueError()) == LlmFailure("ValueError", "UNKNOWN")

    @pytest.mark.parametrize("facts", [
        {"message": ""}, {"code": ""}, {"code": None}, {"status": 99}, {"status": 600}, {"status": True},
        {"status": 429.0}, {"retry_after": 0}, {"retry_after": -1.0}, {"retry_after": float("inf")},
        {"retry_after": float("nan")}, {"retry_after": True}, {"request_id": ""},
    ])  # fmt: skip
    async def test_facts_that_are_none(self, facts):
        """An error cannot be made of them; nor can the durable value."""
        whole = {"message": "m", "code": "C", **facts}
        with pytest.raises(ValueError, match=f"LlmFailure.{next(iter(facts))}"):
            LlmError(**whole)
        with pytest.raises(ValueError, match=f"LlmFailure.{next(iter(facts))}"):
            LlmFailure(**whole)

    async def test_it_cannot_be_changed(self):
        """Durable facts are immutable."""
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            LlmError("m", "C").failure.code = "D"


async def test_the_last_chunk_of_a_finished_stream():
    """Reading to the end and closing afterwards is the ordinary course."""
    adapter = Fixed()
    stream = await service(adapter).open(options())
    assert isinstance((await read(stream))[-1], FinishChunk)
    await stream.aclose()
    assert adapter.running == 0
