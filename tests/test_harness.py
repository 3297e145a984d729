"""The composition root: what a host is made of, and when it does not start."""

from __future__ import annotations

import pytest

from dshhooks import ApprovalOutcome, Ask, ConfigError, Deny, Harness, HarnessConfig, PluginError, ToolCall, hookimpl
from dshhooks.config import ApprovalConfig, PluginsConfig, ToolsConfig
from dshhooks.harness import build
from dshhooks.plugins.manager import StartError
from dshhooks.testing import echo_tool
from tests.plugins.kit import TOOL, Site

pytestmark = pytest.mark.anyio

NOBODY = PluginsConfig(enable=[])


class Says:
    """A plugin that answers every call the same way."""

    def __init__(self, answer, name="says"):
        self.answer, self.name = answer, name

    @hookimpl
    def tools_pre_execute(self, execution):
        return self.answer


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on sys.path to install into."""
    return Site(tmp_path / "site", monkeypatch)


async def call(harness, **more):
    """Call the echo tool."""
    harness.tools.register(echo_tool())
    return await harness.tools.execute(ToolCall("c1", "echo", {}, **more))


async def test_the_parts_belong_together(anyio_backend):
    """Plugins of the host decide about tools of the host."""
    async with Harness.open(HarnessConfig(NOBODY), plugins=[Says(Deny("no"))]) as harness:
        assert harness.tools.hooks is harness.hooks
        assert harness.hooks.plugins == ("says",)
        assert (await call(harness)).error.message == "no"


async def test_a_file_configures_the_host(site, tmp_path, anyio_backend):
    """By path; installed plugins are loaded, their tools can be called."""
    site.install("greeter", TOOL)
    file = tmp_path / "any.toml"
    file.write_text("[plugins]\nenable = ['greeter']\n")
    async with Harness.open(file) as harness:
        assert harness.config.source == str(file)
        assert (await harness.tools.call("greet", {"name": "you"})).value == "hello you"


async def test_without_a_configuration_the_nearest_file_counts(site, tmp_path, monkeypatch, anyio_backend):
    """Harness.open() in a project."""
    site.install("greeter", TOOL)
    (tmp_path / "dshhooks.toml").write_text("[plugins]\nenable = ['greeter']\n")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    for name in ("DSHHOOKS_CONFIG", "DSHHOOKS_PLUGINS", "DSHHOOKS_DISABLE", "DSHHOOKS_NO_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    async with Harness.open() as harness:
        assert harness.hooks.plugins == ("greeter",)


async def test_how_policies_combine_is_configured(anyio_backend):
    """`[tools] policy_combination`: the outer answer wins under "first", the stricter one otherwise."""
    from dshhooks import Allow

    plugins = [Says(Allow(), "outer"), Says(Deny("no"), "inner")]
    async with Harness.open(HarnessConfig(NOBODY), plugins=plugins) as harness:
        assert (await call(harness)).is_error
    async with Harness.open(HarnessConfig(NOBODY, ToolsConfig("first")), plugins=plugins) as harness:
        assert not (await call(harness)).is_error


async def test_whether_anybody_is_asked_is_configured(anyio_backend):
    """`[approval] policy`."""

    def yes(_request):
        return ApprovalOutcome.ALLOWED_ONCE

    plugins = [Says(Ask("sure?"))]
    async with Harness.open(HarnessConfig(NOBODY), plugins=plugins) as harness:
        assert not (await call(harness, approver=yes)).is_error
    never = HarnessConfig(NOBODY, approval=ApprovalConfig("never"))
    async with Harness.open(never, plugins=plugins) as harness:
        assert (await call(harness, approver=yes)).is_error


async def test_closing_takes_the_plugins_out(anyio_backend):
    """Their tools go with them."""
    async with Harness.open(HarnessConfig(NOBODY), plugins=[Brings()]) as harness:
        assert harness.tools.get("echo") is not None
    assert harness.hooks.plugins == ()
    assert harness.tools.get("echo") is None


class Brings:
    """A plugin with a tool."""

    @hookimpl
    def register_tools(self, registry):
        registry.register(echo_tool())


async def test_an_exception_in_the_block_comes_out_as_it_is(anyio_backend):
    """No exception group, and the host is closed."""
    with pytest.raises(ZeroDivisionError):
        async with Harness.open(HarnessConfig(NOBODY), plugins=[Brings()]) as harness:
            raise ZeroDivisionError
    assert harness.hooks.plugins == ()


@pytest.mark.parametrize(
    ("plugins", "said"),
    [
        (PluginsConfig(enable=["nobody-at-all"]), "unknown plugin 'nobody-at-all'"),
        (PluginsConfig(enable=[], required=["nobody-at-all>=1"]), "unknown plugin 'nobody-at-all'"),
    ],
)
async def test_a_start_that_is_refused(plugins, said, anyio_backend):
    """Fail closed: the block never runs; the error carries the report."""
    with pytest.raises(StartError, match=said) as caught:
        async with Harness.open(HarnessConfig(plugins)):
            pytest.fail("it started")
    assert {row.name: row.status for row in caught.value.report}["nobody-at-all"] == "missing"


async def test_plugins_that_were_loaded_by_then_are_taken_out_again(anyio_backend):
    """A host that does not start holds nothing."""
    plugin = Closing()
    with pytest.raises(StartError):
        async with Harness.open(HarnessConfig(PluginsConfig(enable=["nobody-at-all"])), plugins=[plugin]):
            pytest.fail("it started")
    assert plugin.registration.disposed


class Closing:
    """A plugin that can see its registration go."""

    @hookimpl
    def register_tools(self, registry):
        self.registration = Spy(registry.register(echo_tool()))


class Spy:
    """Says whether a registration has been disposed."""

    def __init__(self, registration):
        self._registration = registration

    @property
    def disposed(self):
        return self._registration._undo is None


async def test_a_report_is_there_without_a_start(anyio_backend):
    """build does not refuse, so that the command line can show why."""
    harness = build(HarnessConfig(PluginsConfig(enable=["nobody-at-all"])))
    assert harness.plugins.problems
    assert any(row.status == "missing" for row in harness.plugins.report())


async def test_a_wrong_configuration(tmp_path, anyio_backend):
    """ConfigError, before anything is loaded."""
    with pytest.raises(ConfigError, match="cannot be read"):
        async with Harness.open(tmp_path / "missing.toml"):
            pytest.fail("it started")


async def test_a_plugin_object_that_does_not_fit(anyio_backend):
    """The host's mistake is raised; the ones that fitted are taken out."""

    class Misspelled:
        @hookimpl
        def tools_pre_exekute(self, execution): ...

    plugin = Closing()
    with pytest.raises(PluginError, match="did you mean"):
        async with Harness.open(HarnessConfig(NOBODY), plugins=[Misspelled(), plugin]):
            pytest.fail("it started")
    assert not hasattr(plugin, "registration") or plugin.registration.disposed


async def test_two_hosts_do_not_know_of_each_other(anyio_backend):
    """Nothing is global."""
    async with (
        Harness.open(HarnessConfig(NOBODY), plugins=[Says(Deny("no"))]) as strict,
        Harness.open(HarnessConfig(NOBODY)) as free,
    ):
        assert (await call(strict)).is_error
        assert not (await call(free)).is_error
