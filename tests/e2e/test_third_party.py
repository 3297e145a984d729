"""A plugin somebody else has built as a wheel, in a fresh environment."""

from __future__ import annotations

import pytest

# Until the first call, the fixture builds two wheels and makes an environment.
pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def run(lab, folder):
    """The environment's dshhooks in an empty folder."""

    def command(*words, **variables):
        return lab.run(*words, cwd=folder, **variables)

    return command


@pytest.fixture
def configure(folder):
    """Write the configuration."""
    return (folder / "dshhooks.toml").write_text


FORBIDDEN = '[plugin.no-friday]\nforbidden = ["production"]\n'
MENTIONS = '{"target": "production"}'


def test_the_environment_has_our_wheel_and_not_the_checkout(lab, folder):
    """Otherwise everything below would prove nothing."""
    code = "import dshhooks, hookspecs; print(dshhooks.__file__, hookspecs.__file__)"
    done = lab.execute(lab.python, "-c", code, cwd=folder)
    assert done.code == 0
    assert done.out.count(str(lab.root / "env")) == 2


def test_it_is_listed(run):
    """With distribution, version and hooks; it is the only plugin."""
    [row] = run("plugins", "--json").json
    assert (row["name"], row["distribution"], row["version"], row["status"]) == (
        "no-friday", "dshhooks-no-friday", "0.1.0", "loaded",
    )  # fmt: skip
    assert row["hooks"] == ["tools_pre_execute"]


def test_it_takes_part(run, configure):
    """Its options reach it, and its denial is ours: exit 2."""
    configure(FORBIDDEN)
    done = run("call", "deploy", MENTIONS)
    assert done.code == 2
    assert "denied: deploy may not mention 'production'" in done.err
    assert run("call", "deploy", '{"target": "staging"}').code == 1  # no such tool; the plugin had no opinion


@pytest.mark.parametrize("switch", [["--disable", "no-friday"], ["--no-plugins"], ["--plugins", ""]])
def test_it_can_be_disabled(run, configure, switch):
    """Then nobody denies."""
    configure(FORBIDDEN)
    done = run("call", "deploy", MENTIONS, *switch)
    assert done.code == 1
    assert "UNKNOWN_TOOL" in done.err


def test_it_can_be_disabled_by_the_environment(run, configure):
    """DSHHOOKS_DISABLE."""
    configure(FORBIDDEN)
    assert run("call", "deploy", MENTIONS, DSHHOOKS_DISABLE="no-friday").code == 1


def test_it_can_be_required(run, configure):
    """Present and new enough."""
    configure(f"[plugins]\nrequired = ['no-friday>=0.1']\n{FORBIDDEN}")
    assert run("call", "deploy", MENTIONS).code == 2


@pytest.mark.parametrize(
    ("required", "said"),
    [
        ("no-friday>=9", "required plugin 'no-friday>=9': installed is dshhooks-no-friday 0.1.0; upgrade it"),
        ("no-fridays", "unknown plugin 'no-fridays': plugins.required names it, and it is not installed; did you mean"),
    ],
)
def test_a_requirement_that_is_not_met_stops_the_start(run, configure, required, said):
    """Too old or missing: exit 1, nothing is decided, nothing runs."""
    configure(f"[plugins]\nrequired = ['{required}']\n{FORBIDDEN}")
    done = run("call", "deploy", MENTIONS)
    assert done.code == 1
    assert said in done.err
    assert "denied" not in done.err


def test_a_required_plugin_cannot_be_disabled(run, configure):
    """The start fails, saying so."""
    configure("[plugins]\nrequired = ['no-friday']\n")
    done = run("call", "deploy", MENTIONS, "--disable", "no-friday")
    assert done.code == 1
    assert "required plugin 'no-friday' is disabled: disabled by --disable" in done.err


def test_a_wrong_option_stops_the_start(run, configure):
    """With file, key and what is wrong."""
    configure("[plugin.no-friday]\nforbiden = []\n")
    done = run("plugins")
    assert done.code == 1
    assert "dshhooks.toml: plugin.no-friday.forbiden: unknown key (did you mean 'forbidden'?)" in done.err


def test_it_keeps_the_contract(run):
    """`plugins check` by name."""
    done = run("plugins", "check", "no-friday")
    assert done.code == 0, done.out
    assert "FAIL" not in done.out


def test_its_own_tests_pass(lab, folder):
    """Those the scaffold came with, with the installed testing kit."""
    tests = lab.root / "no-friday" / "tests"
    done = lab.execute(lab.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests, cwd=folder)
    assert done.code == 0, done.out
    assert "2 passed" in done.out


def test_it_can_be_uninstalled(lab, run):
    """Then it is not there; and installed again it is."""
    lab.pip("uninstall", "dshhooks-no-friday")
    try:
        assert run("plugins", "--json").json == []
    finally:
        lab.pip("install", "--no-deps", *lab.wheels.glob("dshhooks_no_friday-*.whl"))
    assert len(run("plugins", "--json").json) == 1
