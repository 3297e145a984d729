"""What options give away whatever the program: code, settings and sources from where anybody may have put them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .embedded import judge_embedded
from .patterns import later
from .values import UNKNOWN, Arg

if TYPE_CHECKING:
    from .invocation import Invocation

#: Options that make a program load or run what their value names.
_LOADS = later(
    r"-{1,2}(?:[\w-]*[-_])?(?:kubeconfig|config|configuration|conf|script|load|require|import|rc|init|ini|"
    r"module|engine|provider|program|command|exec|python|node|ruby|perl|shell|interpreter|wrapper|runner|hook|"
    r"rules|ruleset|transform|preset|extension|ext|settings|preload|loader|launcher|compiler|linker|agent|filter|"
    r"extensionDevelopmentPath|resolver|parser|reporter|formatter|env|makefile|justfile|taskfile|gemfile|lua|eval|"
    r"plugin|addon|setup|teardown|bootstrap|backend|driver|fixture|processor|preprocessor|postprocessor|middleware|"
    r"helper|handler|callback|inventory|playbook|startup|profile|macro|rcfile|rulesdir|checker|"
    r"root|home|prefix|sysroot|toolchain|library|lib|options|optfile|manifest|package|project|jar)s?"
    r"(?:[-_]?(?:file|path|dir|directory|script|module|cmd|command|name))?s?$",
    re.IGNORECASE,
)
#: Of those, options that as often name plain data.
_DATA_OPTIONS = later(
    r"-{1,2}(?:root|home|prefix|cache[\w-]*|project|package|manifest|profile|filter|import)$", re.IGNORECASE
)
#: Tools that run what a project or settings file says, wherever an option finds it.
_PROJECT_TOOLS = frozenset(
    "mvn mvnw gradle gradlew ant sbt lein nox tox invoke inv fab doit scons pre-commit sphinx-build uwsgi gunicorn "
    "celery npm pnpm yarn bun nx turbo lerna tsc vite webpack rollup parcel gulp grunt jest vitest mocha karma "
    "playwright cypress cargo rake bundle composer phpunit just task mage earthly bazel buck2 pants dotnet msbuild "
    "meson cmake pulumi cdk serverless sls sam ansible ansible-playbook salt-call chef-client packer vagrant "
    "docker-compose skaffold tilt "
    "helmfile kustomize foreman honcho supervisord pm2 forever nodemon snakemake dvc luigi airflow prefect dbt".split()
)
_RESULTS = later(
    r"-{1,2}(?:o|d|v|l|D|[\w-]*(?:out|log|report|results?|cache|target|dest|artifact|coverage|junit|temp|tmp|storage|data|trace|snapshot|dist|build|schedule|pid|socket|sock|db)[\w-]*)$",
    re.IGNORECASE,
)
#: Options that say where things are fetched from.
_SOURCES = later(
    r"-{1,2}(?:[\w-]*[-_])?(?:registry|index|index-url|repo|repository|repositories|server|mirror|source|sources|proxy|"
    r"channel|plugin|script|config|extension|upstream|find-links|update-url|download-url|distribution-url)$",
    re.IGNORECASE,
)
#: Options that say where things are sent.
_SINKS = later(
    r"-{1,2}(?:[\w-]*[-_])?(?:output|dest|destination|to|target|upload|upload-to|upload-url|sink|push|push-to|webhook|webhook-url|export|export-to|post|send|send-to|remote-write)$",
    re.IGNORECASE,
)
_REMOTE = later(r"(?:https?|ftp|git|ssh)(?:\+\w+)?://(?!localhost|127\.|0\.0\.0\.0|\[::1)|git\+", re.IGNORECASE)
_USUAL = later(
    r"https://(?:[\w-]+\.)*(?:npmjs|yarnpkg|pypi|pythonhosted|pytorch|rubygems|crates|nuget|maven|apache|golang|packagist|"
    r"anaconda|nvidia|github|debian|ubuntu)\.(?:org|com|io)(?:[:/]|$)"
)
_TEMPORARY = later(r"(?:/tmp|/var/tmp|/dev/shm|/dev/fd|/dev/stdin)(?:/|$)")
_CODE_FILE = later(
    r"\.(?:[cm]?[jt]sx?|py|rb|pl|pm|php|lua|sh|bash|zsh|so(?:\.\d+)*|dylib|dll|jar|el|vim|tcl|R|gradle|groovy|rc|cfg|conf|ini|toml|bat|ps1)$"
)
_SHORT_LOAD = later(r"-[crlLPRSE]$|-jar$")
_OUTPUT = later(
    r"(?:-o|-O|-out|--?(?:out|output|outfile|output-file|outdir|output-dir|output-directory|dest|destination|log-file|logfile|save|report|trace-file))$"
)
#: Options that switch a protection off or print what is hidden, in every program that has them.
_SWITCHES = later(
    r"--(?:dangerously-[\w-]+|enable-exec|enable-alpha-plugins|allow-dangerous[\w-]*|disable-sandbox|unsafe-perm|yes-i-really[\w-]*|"
    r"i-know-what[\w-]*|privileged|devmode|unregister|skip-verification)(?:=true)?$"
)
_REVEALS = later(
    r"--(?:show-secrets?|show-tokens?|show-sensitive|show-values|show-passwords?|reveal|decrypt|with-decryption|plaintext|unmask|"
    r"include-secrets|export-secrets?|no-mask|show-credentials?)(?:=true)?$"
)
#: Package tools install or link what lies at a path.
_TAKES_IN = frozenset("install i add link use import load register require include attach".split())
#: Programs whose arguments are data.
_DATA = frozenset(
    "echo printf git grep rg ag ack sed awk jq yq test [ [[ gh glab read declare export local readonly typeset set "
    "unset alias cd ls cat "
    "curl wget docker trap eval xargs find kill case tee diff cp mv ln rm mkdir touch head tail wc less".split()
)


def judge_generic(inv: Invocation) -> None:
    """Judge options by their names alone, and what stands behind ``exec``, ``run`` or ``--``."""
    if inv.name in _DATA:
        return
    texts = inv.texts
    for index, arg in enumerate(inv.args):
        name, equals, value = arg.text.partition("=")
        if not name.startswith("-"):
            continue
        if _SWITCHES.match(arg.text):
            inv.ask(f"{arg.text} switches a protection off")
        elif _REVEALS.match(arg.text):
            inv.ask(f"{arg.text} prints what is kept secret")
        if not equals:
            value = texts[index + 1] if index + 1 < len(texts) else ""
        if value and not value.startswith("-"):
            _option(inv, name, value)
    _local_sources(inv)
    judge_embedded(inv)


def _option(inv: Invocation, name: str, value: str) -> None:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name)  # --globalSetup
    temporary = _TEMPORARY.match(value) and value != "/tmp"
    if temporary and inv.name in _PROJECT_TOOLS and not _RESULTS.match(words):
        inv.ask(f"{name} takes a project or settings from {value[:60]}")
    elif _SHORT_LOAD.match(name):
        if temporary and _CODE_FILE.search(value):
            inv.ask(f"{name} takes code or settings from {value[:60]}")
    elif temporary and (_LOADS.match(words) or _LOADS.match(name)):
        if _CODE_FILE.search(value) or not _DATA_OPTIONS.match(words):
            inv.ask(f"{name} takes code or settings from {value[:60]}")
    elif _SINKS.match(words) and re.match(r"(?:https?|ftp|s3|gs|ssh|sftp)://(?!localhost|127\.)", value):
        inv.ask(f"{name} sends to another machine: {value[:60]}")
    elif _SOURCES.match(words) and _REMOTE.match(value) and not _USUAL.match(value):
        inv.ask(f"{name} names another source: {value.replace(UNKNOWN, '…')[:60]}")
    if _OUTPUT.match(name):
        inv.write(Arg(value), None)


def _local_sources(inv: Invocation) -> None:
    """``npm link /tmp/x``, ``sdk install java /tmp/x``: code from where anybody may have put it."""
    verbs = set([text for text in inv.texts if not text.startswith("-")][:2]) & _TAKES_IN
    for before, text in zip(["", *inv.texts], inv.texts, strict=False):
        path = re.sub(r"^(?:file:|-D\w+=)", "", text)
        if verbs and _TEMPORARY.match(path) and not before.startswith("-"):
            inv.ask("takes in what lies in a temporary directory")
