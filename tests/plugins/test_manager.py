"""Loading: one plugin's failure isolated from the rest, and what must stop the start stops it."""

from __future__ import annotations

import sys

import pytest

from dshhooks.config import HarnessConfig
from dshhooks.engine.hooks import Hooks
from dshhooks.plugins.manager import StartError, load_plugins
from hookspecs.decisions import Deny
from hookspecs.errors import ConfigError, PluginError
from hookspecs.execution import ToolCall
from hookspecs.markers import hookimpl
from tests.plugins.kit import DENY, OPTIONS, TOOL, Site, config


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on sys.path to install into."""
    return Site(tmp_path / "site", monkeypatch)


def reason(plugins, name):
    """Why a plugin is not loaded."""
    return next(row.reason for row in plugins.report() if row.name == name)


class Watcher:
    """A plugin object that denies nothing."""

    @hookimpl
    def tools_pre_execute(self, execution):
        return None


# -- what is loaded ------------------------------------------------------------------------------------------------


def test_a_loaded_plugin_is_reported_with_its_hooks(site):
    """Status, distribution, version, hooks."""
    site.install("one", distribution="dist-one", version="2.0")
    plugins, hooks = site.load()
    [row] = plugins.report()
    assert (row.name, row.distribution, row.version, row.status, row.reason) == ("one", "dist-one", "2.0", "loaded", "")
    assert row.hooks == ("tools_pre_execute",)
    assert hooks.plugins == ("one",)


def test_a_module_is_a_plugin(site):
    """The entry point may name a module with functions."""
    site.install("mod", "from dshhooks import hookimpl\n@hookimpl\ndef tools_change(): pass\n", value="{module}")
    assert site.statuses() == {"mod": "loaded"}


def test_an_instance_is_a_plugin(site):
    """Or an object."""
    site.install("obj", DENY + "\nplugin = Plugin()\n", value="{module}:plugin")
    assert site.statuses() == {"obj": "loaded"}


def test_the_list_is_the_chain(site):
    """The first in the list is asked first, and the report has the same order."""
    for name in ("a", "b", "c"):
        site.install(name)
    plugins, hooks = site.load(config(enable=["b", "c", "a"]))
    assert [link.plugin for link in hooks.chain("tools_pre_execute")] == ["b", "c", "a"]
    assert [row.name for row in plugins.report()] == ["b", "c", "a"]


def test_without_a_list_the_chain_is_by_name(site):
    """Whatever order the files have."""
    for name in ("c", "a", "b"):
        site.install(name)
    _, hooks = site.load()
    assert hooks.plugins == ("a", "b", "c")


def test_a_disabled_plugin_is_not_imported(site):
    """Its module has not run; the report says why."""
    module = site.install("off", "raise AssertionError('imported')")
    plugins, hooks = site.load(config(disable=["off"]))
    assert module not in sys.modules
    assert [row.status for row in plugins.report()] == ["disabled"]
    assert hooks.plugins == ()


@pytest.mark.parametrize(
    "settings", [{"none": True}, {"off": ["off"]}, {"only": []}, {"enable": []}, {"autoload": False}]
)
def test_no_way_of_switching_off_imports(site, settings):
    """Every switch works before the import."""
    module = site.install("off", "raise AssertionError('imported')")
    assert site.statuses(config(**settings)) == {"off": "disabled"}
    assert module not in sys.modules


def test_a_plugin_with_an_unusual_name_is_loaded(site):
    """Spaces and letters of any script."""
    site.install("größe 1")
    assert site.statuses() == {"größe 1": "loaded"}


# -- failing alone -------------------------------------------------------------------------------------------------

BROKEN = {
    "raises on import": ("raise ValueError('no luck')", "ValueError: no luck"),
    "exits on import": ("import sys; sys.exit(3)", "SystemExit: 3"),
    "does not parse": ("def (", "SyntaxError"),
    "lacks its module's import": ("import no_such_module_anywhere", "ModuleNotFoundError"),
    "lacks the attribute": ("x = 1", "has no attribute 'Plugin'"),
    "raises when called": (
        "class Plugin:\n    def __init__(self): raise OSError('disk')",
        "calling Plugin failed: OSError: disk",
    ),
    "exits when called": ("class Plugin:\n    def __init__(self): raise SystemExit('bye')", "SystemExit: bye"),
    "takes arguments nobody has": (
        "class Plugin:\n    def __init__(self, a, b): ...",
        "calling Plugin failed: TypeError",
    ),
    "has unresolvable annotations": (
        "from __future__ import annotations\nclass Plugin:\n    def __init__(self, options: Nowhere): ...",
        "annotations of Plugin.__init__",
    ),
    "implements nothing": ("class Plugin: pass", "it implements no hook"),
    "misspells a hook": (
        "from dshhooks import hookimpl\nclass Plugin:\n    @hookimpl\n    def tools_pre_exekute(self, execution): ...",
        "did you mean 'tools_pre_execute'?",
    ),
    "asks for an argument the hook has not": (
        "from dshhooks import hookimpl\nclass Plugin:\n    @hookimpl\n    def tools_pre_execute(self, tool): ...",
        "'tool'",
    ),
    "has a guard that cannot be called": (
        "from dshhooks import hookimpl\nclass Plugin:\n    @hookimpl\n    async def tools_guard(self, execution): ...",
        "called synchronously",
    ),
    "raises an error that cannot be printed": (
        "class Bad(Exception):\n    def __str__(self): raise ValueError\nraise Bad",
        "Bad: <unprintable exception>",
    ),
    "uses the old wrapper": (
        "from dshhooks import hookimpl\nclass Plugin:\n    @hookimpl(hookwrapper=True)\n    def tools_execute(): yield",
        "hookwrapper",
    ),
    "is written in C": ("Plugin = dict", "is no plugin"),
    "is a function": ("def Plugin(): ...", "it implements no hook"),
    "is nothing": ("Plugin = None", "is no plugin"),
    "names its needs with a string": (DENY + "\n    requires = 'other'\n", "must be a list of plugin names"),
    "names its needs with numbers": (DENY + "\n    requires = [1]\n", "must be a list of plugin names"),
    "cannot say its needs": (
        DENY + "\n    def __getattribute__(self, name):\n        if name == 'requires': raise SystemExit(1)\n"
        "        return super().__getattribute__(name)\n",
        "`requires` cannot be read",
    ),
}


@pytest.mark.parametrize("source", BROKEN, ids=str)
def test_a_broken_plugin_fails_alone(site, source):
    """It is reported with the reason, the others are loaded, and the host may start."""
    code, said = BROKEN[source]
    site.install("broken", code)
    site.install("healthy")
    plugins, hooks = site.load()
    assert {row.name: row.status for row in plugins.report()} == {"broken": "failed", "healthy": "loaded"}
    assert said in reason(plugins, "broken")
    assert hooks.plugins == ("healthy",)
    plugins.raise_problems()


def test_a_property_that_raises_is_none_of_our_business(site):
    """Looking for hooks must not trip over a plugin's other attributes."""
    site.install("touchy", DENY + "\n    @property\n    def boom(self): raise RuntimeError('boom')\n")
    assert site.statuses() == {"touchy": "loaded"}


def test_an_entry_point_that_is_none(site):
    """Its text cannot be taken apart; that is its failure."""
    site.install("odd", value="not a valid ! value")
    assert site.statuses() == {"odd": "failed"}


def test_a_keyboard_interrupt_while_importing_is_not_a_plugins_failure(site):
    """The person at the keyboard is not a plugin."""
    site.install("slow", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        site.load()


def test_one_object_under_two_names_is_loaded_once(site):
    """Two entry points for one module: the second one says so."""
    module = site.install(
        "first", "from dshhooks import hookimpl\n@hookimpl\ndef tools_change(): pass\n", value="{module}"
    )
    site.distribution("dist-again", "1", f"[dshhooks]\nsecond = {module}\n")
    site.names.add("second")
    plugins, _ = site.load()
    assert sorted(row.status for row in plugins.report()) == ["failed", "loaded"]


def test_duplicate_names_are_refused_naming_both(site):
    """Neither is imported, neither is loaded (decisions.md 7.20)."""
    first = site.install("same", "raise AssertionError", distribution="dist-a")
    second = site.install("same", "raise AssertionError", distribution="dist-b")
    plugins, hooks = site.load()
    [row] = plugins.report()
    assert row.status == "duplicate"
    assert "dist-a and by dist-b" in row.reason
    assert hooks.plugins == ()
    assert not {first, second} & sys.modules.keys()


# -- tools ---------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_plugins_tools_can_be_called(site, anyio_backend):
    """register_tools of an installed plugin reaches the registry."""
    from dshhooks.engine.hooks import Hooks
    from dshhooks.tools.registry import ToolRegistry

    site.install("greeter", TOOL)
    hooks = Hooks()
    registry = ToolRegistry(hooks)
    site.load(hooks=hooks)
    result = await registry.execute(ToolCall("c1", "greet", {"name": "you"}))
    assert result.value == "hello you"


def test_tools_of_a_plugin_that_fails_halfway_are_taken_back(site):
    """It registers one tool, then raises: the tool is gone, the plugin is out, the others stay."""
    from dshhooks.engine.hooks import Hooks
    from dshhooks.tools.registry import ToolRegistry

    site.install("half", TOOL + "        raise ValueError('second tool')\n")
    site.install("healthy")
    hooks = Hooks()
    registry = ToolRegistry(hooks)
    plugins, _ = site.load(hooks=hooks)
    assert {row.name: row.status for row in plugins.report()} == {"half": "failed", "healthy": "loaded"}
    assert "second tool" in reason(plugins, "half")
    assert registry.get("greet") is None
    assert hooks.plugins == ("healthy",)


# -- options -------------------------------------------------------------------------------------------------------


def plugin_with(site, **options):
    """Load the plugin with options and return the object."""
    site.install("opts", OPTIONS)
    _, hooks = site.load(config(options={"opts": options} if options else {}))
    return hooks.plugin("opts")


def test_options_are_structured_into_the_plugins_class(site):
    """The table reaches __init__ as an attrs object."""
    options = plugin_with(site, attempts=7, codes=["A"]).options
    assert (options.attempts, options.codes) == (7, ["A"])


def test_without_a_table_the_defaults_hold(site):
    """The plugin still gets its options object."""
    assert plugin_with(site).options.attempts == 3


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"attempts": "3"}, "plugin.opts.attempts: must be a whole number, not '3'"),
        ({"attempts": True}, "plugin.opts.attempts: must be a whole number, not True"),
        ({"attempts": 0}, "plugin.opts.attempts: "),
        ({"codes": "A"}, "plugin.opts.codes: must be a list, not 'A'"),
        ({"codes": ["A", 1]}, "plugin.opts.codes[1]: must be a string, not 1"),
        ({"atempts": 3}, "plugin.opts.atempts: unknown key (did you mean 'attempts'?)"),
    ],
)
def test_a_wrong_option_stops_the_start_naming_its_key(site, options, said):
    """File, key and what to write instead; the plugin is failed."""
    site.install("opts", OPTIONS)
    plugins, _ = site.load(config(options={"opts": options}))
    assert [row.status for row in plugins.report()] == ["failed"]
    with pytest.raises(StartError) as caught:
        plugins.raise_problems()
    assert isinstance(caught.value, ConfigError)
    assert f"test.toml: {said}" in str(caught.value)
    assert caught.value.report == tuple(plugins.report())


def test_options_for_a_plugin_that_takes_none(site):
    """Somebody believes in a setting that does nothing: that stops the start."""
    site.install("plain")
    plugins, _ = site.load(config(options={"plain": {"strict": True}}))
    assert "plugin.plain: this plugin takes no options, got: strict" in plugins.problems[0]


def test_options_for_a_module(site):
    """The same for a module."""
    site.install("mod", "from dshhooks import hookimpl\n@hookimpl\ndef tools_change(): pass\n", value="{module}")
    plugins, _ = site.load(config(options={"mod": {"a": 1, "b": 2}}))
    assert "takes no options, got: a, b" in plugins.problems[0]


def test_an_empty_table_is_no_option(site):
    """`[plugin.plain]` alone says nothing."""
    site.install("plain")
    assert site.statuses(config(options={"plain": {}})) == {"plain": "loaded"}


def test_options_of_a_disabled_plugin_are_not_looked_at(site):
    """It is not even imported, so nobody can know what it takes."""
    site.install("off", "raise AssertionError")
    plugins, _ = site.load(config(disable=["off"], options={"off": {"x": 1}}))
    plugins.raise_problems()


SHAPES = {
    "required option missing": ("token: str", "plugin.opts.token: is required"),
    "default its own validator refuses": ("n: int = field(default=0, validator=validators.ge(1))", "plugin.opts: "),
    "factory that exits": ("n: int = field(factory=lambda: exit(1))", "plugin.opts: "),
    "type that nobody knows": ("n: Nowhere = None", "Nowhere"),
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_options_that_cannot_be_made_stop_the_start(site, shape):
    """Whoever is to blame: a plugin that cannot have its options must not be left out silently."""
    fields, said = SHAPES[shape]
    head, plugin = OPTIONS.partition("class Options:")[0], OPTIONS[OPTIONS.index("class Plugin") :]
    site.install("opts", f"{head}class Options:\n    {fields}\n\n{plugin}")
    plugins, _ = site.load()
    assert [row.status for row in plugins.report()] == ["failed"]
    assert said in plugins.problems[0]


SIGNATURES = {
    "keyword only": "def __init__(self, *, options: Options) -> None:",
    "with a default": "def __init__(self, options: Options = Options(attempts=9)) -> None:",
    "or None": "def __init__(self, options: Options | None = None) -> None:",
    "called something else": "def __init__(self, settings: Options) -> None:\n        options = settings",
}


@pytest.mark.parametrize("signature", SIGNATURES, ids=str)
def test_ways_of_taking_options(site, signature):
    """The annotation says it, not the parameter's name or place."""
    site.install("opts", OPTIONS.replace("def __init__(self, options: Options) -> None:", SIGNATURES[signature]))
    _, hooks = site.load(config(options={"opts": {"attempts": 5}}))
    assert hooks.plugin("opts").options.attempts == 5


def test_a_plugin_that_is_an_attrs_class_itself(site):
    """Its generated __init__ is in another namespace; the options are found all the same."""
    source = OPTIONS.partition("class Plugin")[0] + (
        "@frozen\nclass Plugin:\n    options: Options\n\n"
        "    @hookimpl\n    def tools_pre_execute(self, execution):\n        return None\n"
    )
    site.install("opts", source)
    _, hooks = site.load(config(options={"opts": {"attempts": 5}}))
    assert hooks.plugin("opts").options.attempts == 5


# -- needs ---------------------------------------------------------------------------------------------------------


def needing(*names):
    """A plugin that requires others."""
    return DENY + f"\n    requires = {list(names)!r}\n"


def test_a_plugin_whose_needs_are_loaded_is_loaded(site):
    """Wherever they stand in the order."""
    site.install("a", needing("b"))
    site.install("b")
    assert site.statuses() == {"a": "loaded", "b": "loaded"}


def test_a_plugin_whose_need_is_disabled_fails(site):
    """And so does whoever needed that one."""
    site.install("a", needing("b"))
    site.install("b", needing("c"))
    site.install("c")
    plugins, hooks = site.load(config(disable=["c"]))
    assert {row.name: row.status for row in plugins.report()} == {"a": "failed", "b": "failed", "c": "disabled"}
    assert "requires 'c'" in reason(plugins, "b")
    assert hooks.plugins == ()


def test_plugins_that_need_each_other_are_loaded(site):
    """A circle is no contradiction: all of them are there."""
    site.install("a", needing("b"))
    site.install("b", needing("a"))
    assert site.statuses() == {"a": "loaded", "b": "loaded"}


LATE = {
    "misfits": "from dshhooks import hookimpl\nclass Plugin:\n    @hookimpl\n    def no_such_hook(self): ...\n",
    "fails to contribute": TOOL + "        raise ValueError\n",
    "implements nothing": "class Plugin: pass\n",
}


@pytest.mark.parametrize("fault", LATE, ids=str)
def test_a_need_that_fails_late_counts_as_not_loaded(site, fault):
    """Importing it worked; it never took part, so whoever needs it must not either."""
    site.install("a", needing("b"))
    site.install("b", LATE[fault])
    plugins, hooks = site.load()
    assert {row.name: row.status for row in plugins.report()} == {"a": "failed", "b": "failed"}
    assert hooks.plugins == ()


def test_a_passed_object_is_a_need_that_is_met(site):
    """Loaded is loaded, wherever it comes from."""
    site.install("a", needing("Watcher"))
    assert site.statuses(objects=[Watcher()]) == {"a": "loaded", "Watcher": "loaded"}


def test_a_passed_object_whose_need_is_missing_is_refused(site):
    """The host passed it in, so the host hears of it."""
    plugin = Watcher()
    plugin.requires = ["nobody"]
    with pytest.raises(PluginError, match="'Watcher': requires 'nobody'"):
        site.load(objects=[plugin])


# -- required ------------------------------------------------------------------------------------------------------


def problem(plugins):
    """The one problem."""
    [text] = plugins.problems
    with pytest.raises(StartError):
        plugins.raise_problems()
    return text


def test_a_required_plugin_that_is_there_lets_the_host_start(site):
    """Loaded and new enough."""
    site.install("guard", version="1.4")
    plugins, _ = site.load(config(required=["guard>=1.2"]))
    plugins.raise_problems()


def test_a_required_plugin_that_is_too_old(site):
    """The installed version and what to do."""
    site.install("guard", version="1.0", distribution="dist-guard")
    plugins, _ = site.load(config(required=["guard>=1.2"]))
    assert problem(plugins) == "required plugin 'guard>=1.2': installed is dist-guard 1.0; upgrade it"


@pytest.mark.parametrize("version", [None, "nonsense!"])
def test_a_required_plugin_without_a_version_to_compare(site, version):
    """What cannot be shown to be new enough is not (fail closed)."""
    site.install("guard", version=version)
    plugins, _ = site.load(config(required=["guard>=1.2"]))
    assert "required plugin 'guard>=1.2'" in problem(plugins)


def test_a_required_plugin_that_is_missing(site):
    """With the nearest name."""
    site.install("guard")
    plugins, _ = site.load(config(required=["gaurd"]))
    assert "unknown plugin 'gaurd'" in problem(plugins)
    assert "did you mean 'guard'?" in problem(plugins)


@pytest.mark.parametrize(
    "settings",
    [{"disable": ["guard"]}, {"enable": []}, {"autoload": False}, {"none": True}, {"off": ["guard"]}, {"only": []}],
)
def test_a_required_plugin_cannot_be_disabled(site, settings):
    """By no switch; the start fails and says which (decisions.md 7.15)."""
    site.install("guard")
    plugins, _ = site.load(config(required=["guard"], **settings))
    assert "required plugin 'guard' is disabled: " in problem(plugins)


def test_a_required_plugin_that_is_shadowed(site):
    """It would be asked and not obeyed: that is no policy to rely on."""
    site.install("guard")
    plugins, _ = site.load(config(required=["guard"], shadow=["guard"]))
    assert problem(plugins).startswith("required plugin 'guard' is in plugins.shadow")


# A plugin with an operation guard, and no name for what it enforces.
NAMELESS = """
from dshhooks import deny, hookimpl

class Plugin:
    @hookimpl
    def operation_guard(self, call):
        return deny("test.no", "not today")
"""


def test_an_operation_guard_without_a_revision(site, caplog):
    """Report and log say that the host runs without it, and how to mend it; required, the host does not start."""
    site.install("keeper", NAMELESS)
    plugins, hooks = site.load(config())
    [row] = plugins.report()
    assert (row.status, "needs a policy_revision" in row.reason) == ("failed", True)
    assert "'keeper' was not loaded; unless it is required, the host runs without it" in caplog.text
    plugins.raise_problems()
    assert hooks.chain("operation_guard") == []
    plugins, _ = site.load(config(required=["keeper"]))
    assert "required plugin 'keeper' is failed" in problem(plugins)


def test_a_required_plugin_that_is_broken(site):
    """With what broke."""
    site.install("guard", "raise ValueError('no luck')")
    plugins, _ = site.load(config(required=["guard"]))
    assert "required plugin 'guard' is failed: " in problem(plugins)
    assert "no luck" in problem(plugins)


def test_a_required_plugin_that_two_distributions_publish(site):
    """It could be either, so it is neither."""
    site.install("guard", distribution="dist-a")
    site.install("guard", distribution="dist-b")
    plugins, _ = site.load(config(required=["guard"]))
    assert "is duplicate: published by dist-a and by dist-b" in problem(plugins)


def test_every_problem_is_told_at_once(site):
    """Nobody likes to fix one error to see the next."""
    site.install("opts", OPTIONS)
    plugins, _ = site.load(config(enable=["opts", "nobody"], options={"opts": {"attempts": "x"}}, required=["opts"]))
    assert len(plugins.problems) == 3
    with pytest.raises(StartError) as caught:
        plugins.raise_problems()
    assert all(text in str(caught.value) for text in plugins.problems)


# -- objects -------------------------------------------------------------------------------------------------------


def test_passed_objects_stand_outermost_the_first_one_first(site):
    """Before everything installed, whatever autoload says (decisions.md 7.13)."""
    site.install("a")
    first, second = Watcher(), Watcher()
    first.name, second.name = "first", "second"
    _, hooks = site.load(objects=[first, second])
    assert hooks.plugins == ("first", "second", "a")
    _, hooks = site.load(config(autoload=False), objects=[first])
    assert hooks.plugins == ("first",)


def test_passed_objects_are_reported_without_a_distribution(site):
    """They have none."""
    plugins, _ = site.load(objects=[Watcher()])
    [row] = plugins.report()
    assert (row.name, row.distribution, row.version, row.status) == ("Watcher", "", "", "loaded")


def test_a_passed_object_never_takes_an_installed_plugins_name(site):
    """Disabling, requiring and options go by name, so the name must stay the installed one's."""
    site.install("Watcher")
    assert site.statuses(objects=[Watcher()]) == {"Watcher-2": "loaded", "Watcher": "loaded"}


def test_a_passed_class_gets_its_options(site):
    """Under the name of the class."""
    module = site.install("unused", OPTIONS)
    plugin = __import__(module).Plugin
    _, hooks = site.load(config(options={"Plugin": {"attempts": 4}}, disable=["unused"]), objects=[plugin])
    assert hooks.plugin("Plugin").options.attempts == 4


def test_a_passed_object_with_options_it_cannot_take(site):
    """It is made already."""
    with pytest.raises(ConfigError, match="takes no options"):
        site.load(config(options={"Watcher": {"x": 1}}), objects=[Watcher()])


def test_a_passed_object_that_does_not_fit_is_refused(site):
    """The host's own mistake is not isolated."""

    class Misspelled:
        @hookimpl
        def tools_pre_exekute(self, execution): ...

    with pytest.raises(PluginError, match="did you mean"):
        site.load(objects=[Misspelled()])


def test_the_same_object_twice_is_refused(site):
    """It could not be told apart."""
    plugin = Watcher()
    with pytest.raises(PluginError, match="not registered"):
        site.load(objects=[plugin, plugin])


def test_a_required_object_is_there(site):
    """And a version it cannot have is not."""
    plugins, _ = site.load(config(required=["Watcher"]), objects=[Watcher()])
    plugins.raise_problems()
    plugins, _ = site.load(config(required=["Watcher>=1"]), objects=[Watcher()])
    assert "it was passed in without a version" in problem(plugins)


# -- shadow --------------------------------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_a_shadowed_plugin_answers_and_is_not_obeyed(site, anyio_backend):
    """Its decision is in the trace; the call is decided by the others (decisions.md 3.13)."""
    from dshhooks.testing import echo_tool
    from dshhooks.tools.registry import ToolRegistry

    site.install("strict")
    plugins, hooks = site.load(config(shadow=["strict"]))
    assert [(row.status, row.reason) for row in plugins.report()] == [("loaded", "shadow")]
    registry = ToolRegistry(hooks)
    registry.register(echo_tool())
    with hooks.trace() as trace:
        result = await registry.execute(ToolCall("c1", "echo", {}))
    assert not result.is_error
    assert [(r.plugin, r.kind, r.outcome) for r in trace.records if r.plugin == "strict"] == [
        ("strict", "shadow", "deny")
    ]


def test_a_passed_object_can_be_shadowed(site):
    """By its name."""

    class Strict:
        @hookimpl
        def tools_pre_execute(self, execution):
            return Deny("no")

    plugins, hooks = site.load(config(shadow=["Strict"]), objects=[Strict()])
    assert plugins.report()[0].reason == "shadow"
    assert hooks.chain("tools_pre_execute") == []


def test_a_plugin_made_by_the_host_is_closed_by_the_host():
    """``close()`` of a class the loader called runs when the plugin goes; a passed object stays its owner's."""
    closed = []

    class Open:
        @hookimpl
        def tools_result(self):
            """Hear nothing in particular."""

        def close(self):
            closed.append(self)

    hooks, given = Hooks(), Open()
    load_plugins(hooks, HarnessConfig(), [Open, given], found={})
    hooks.close()
    assert len(closed) == 1
    assert closed[0] is not given
