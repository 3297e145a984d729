"""Files a tool runs without being told: ``conftest.py``, ``vite.config.js``, ``build.rs``, ``Rakefile`` ...

When this very command wrote such a file and then starts the tool, the file's content is judged as code.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from typing import TYPE_CHECKING

from .values import Arg, Out

if TYPE_CHECKING:
    from .invocation import Invocation

_JS_CONFIG = (
    "*.config.js",
    "*.config.ts",
    "*.config.mjs",
    "*.config.cjs",
    ".eslintrc.js",
    ".eslintrc.cjs",
    "gulpfile.js",
    "Gruntfile.js",
    "*.test.js",
    "*.test.ts",
    "*.spec.js",
    "*.spec.ts",
    "*.test.mjs",
    "*.setup.js",
    ".pnp.cjs",
    ".mocharc.js",
    "karma.conf.js",
    "metro.config.js",
)
_JS = "npm pnpm yarn bun node npx vite vitest jest webpack rollup next nuxt astro eslint tsc esbuild mocha playwright cypress gulp grunt tailwindcss postcss parcel turbo nx ava tap karma remix svelte-kit ng expo metro prettier stylelint"
_PYTHON_TESTS = (
    "conftest.py",
    "test_*.py",
    "*_test.py",
    "sitecustomize.py",
    "usercustomize.py",
    "noxfile.py",
    "setup.py",
    "fabfile.py",
    "tasks.py",
    "dodo.py",
    "gunicorn.conf.py",
    "settings.py",
    "manage.py",
    "conf.py",
    "wsgi.py",
)

#: Tool -> (reader, names it runs).
_RUNS: dict[str, tuple[str, tuple[str, ...]]] = {
    **{name: ("node", _JS_CONFIG) for name in _JS.split()},
    **{
        name: ("python", _PYTHON_TESTS)
        for name in "pytest py.test tox nox pip python uv poetry pdm hatch fab invoke inv doit coverage gunicorn sphinx-build flask django-admin build celery locust scrapy alembic".split()
    },
    "go": ("go", ("*.go",)),
    "cargo": ("c", ("build.rs", "*.rs")),
    "rake": ("ruby", ("Rakefile", "*.rake")),
    "bundle": ("ruby", ("Gemfile", "*.gemspec", "*_spec.rb")),
    "rspec": ("ruby", ("*_spec.rb", ".rspec")),
    "rails": ("ruby", ("*.rb", "Rakefile")),
    "ruby": ("ruby", ()),
    "gradle": ("groovy", ("*.gradle", "*.gradle.kts")),
    "gradlew": ("groovy", ("*.gradle", "*.gradle.kts")),
    "mvn": ("java", ("*Test.java",)),
    "vagrant": ("ruby", ("Vagrantfile",)),
    "pod": ("ruby", ("Podfile", "*.podspec")),
    "fastlane": ("ruby", ("Fastfile",)),
    "composer": ("php", ("*.php",)),
    "phpunit": ("php", ("*Test.php",)),
    "artisan": ("php", ("*.php",)),
    "mix": ("elixir", ("*.exs", "*.ex")),
    "swift": ("c", ("Package.swift",)),
    "lua": ("lua", ()),
    "busted": ("lua", ("*_spec.lua",)),
    "nvim": ("lua", ("init.lua",)),
    "scons": ("python", ("SConstruct", "SConscript")),
    "waf": ("python", ("wscript",)),
    "meson": ("python", ()),
    "ansible-playbook": ("unknown", ()),
}

#: Task runner -> files whose lines it gives to a shell.
_RECIPES: dict[str, tuple[str, ...]] = {
    "just": ("justfile", ".justfile", "Justfile", "*.just"),
    "task": ("Taskfile*.y*ml", "taskfile*.y*ml", "pyproject.toml"),
    **{name: ("Procfile*",) for name in "foreman honcho overmind hivemind goreman nf heroku".split()},
    **{name: ("pyproject.toml", "*.toml") for name in "poe hatch pdm rye pixi taskipy".split()},
    "tox": ("tox.ini", "setup.cfg", "pyproject.toml"),
    "nox": (),
    "lefthook": ("lefthook*.y*ml", ".lefthook*.y*ml"),
    "pre-commit": (".pre-commit-config.yaml",),
    "lint-staged": (".lintstagedrc*", "package.json"),
    "deno": ("deno.json*",),
    "composer": ("composer.json",),
    "devbox": ("devbox.json",),
    "mise": ("mise.toml", ".mise.toml", "*.toml"),
    "mprocs": ("mprocs.yaml",),
    "process-compose": ("process-compose*.y*ml",),
    "supervisord": ("supervisord.conf", "*.conf", "*.ini"),
    "earthly": ("Earthfile",),
    "act": ("*.yml", "*.yaml"),
    "gitlab-runner": ("*.yml",),
    "dvc": ("dvc.yaml",),
    "snakemake": ("Snakefile", "*.smk"),
    "nextflow": ("*.nf",),
    "tmuxinator": ("*.yml",),
    "tmuxp": ("*.yaml", "*.json"),
    "turbo": ("package.json",),
    "nx": ("project.json", "package.json", "nx.json"),
    "lerna": ("package.json",),
    "nodemon": ("nodemon.json",),
    "wireit": ("package.json",),
    "cargo-make": ("Makefile.toml",),
    "mage": (),
    "ninja": ("build.ninja", "*.ninja"),
    "cmake": ("CMakeLists.txt", "*.cmake"),
    "meson": ("meson.build",),
    "bazel": ("BUILD", "BUILD.bazel", "*.bzl", "WORKSPACE"),
    "ant": ("build.xml",),
    "mvn": ("pom.xml",),
    "mvnw": ("pom.xml",),
    "dotnet": ("*.csproj", "*.targets", "*.props", "*.fsproj"),
    "msbuild": ("*.csproj", "*.targets", "*.props", "*.proj"),
    "skaffold": ("skaffold.yaml",),
    "tilt": ("Tiltfile",),
    "packer": ("*.pkr.hcl", "*.json"),
    "terraform": ("*.tf",),
    "ansible-playbook": ("*.yml", "*.yaml"),
    "salt-call": ("*.sls",),
    "puppet": ("*.pp",),
    "pm2": ("ecosystem.config.js", "*.json"),
    "watchexec": (),
    "direnv": (".envrc",),
    "goreleaser": (".goreleaser.y*ml",),
    "husky": (),
    "monit": ("monitrc",),
    "logrotate": ("*.conf",),
}

#: Interpreter -> what a program of its language may import from the workspace.
_MODULES: dict[str, tuple[str, tuple[str, ...]]] = {
    "python": ("python", ("*.py",)),
    "node": ("node", ("*.js", "*.mjs", "*.cjs")),
    "deno": ("node", ("*.js", "*.mjs", "*.ts")),
    "bun": ("node", ("*.js", "*.mjs", "*.cjs", "*.ts")),
    "ruby": ("ruby", ("*.rb",)),
    "perl": ("perl", ("*.pl", "*.pm")),
    "php": ("php", ("*.php",)),
    "lua": ("lua", ("*.lua",)),
    "make": ("c", ("*.c", "*.cc", "*.cpp", "*.rs", "*.go")),
}
#: Modules that look at other files without running them.
_LOOKS = frozenset("py_compile compileall json.tool black ruff mypy flake8 isort pylint ast tokenize pip venv".split())


def implicit_files(inv: Invocation) -> None:
    """Judge the files this command wrote that the tool in ``inv`` runs by itself."""
    _fetched_tree(inv)
    if not inv.state.files:
        return
    tables = [t for t in (_RUNS.get(inv.name), _modules(inv), _recipes(inv)) if t is not None]
    for place, outs in list(inv.state.files.items()):
        base = posixpath.basename(place)
        for language, names in tables:
            named = language != "recipes" and inv.name in _RUNS and _is_named(inv, place, base)
            if not (named or any(fnmatch.fnmatchcase(base, name) for name in names)):
                continue
            for out in outs:
                _judge_written(inv, base, out, language)


def _recipes(inv: Invocation) -> tuple[str, tuple[str, ...]] | None:
    names = _RECIPES.get(inv.name)
    return ("recipes", names) if names else None


def _modules(inv: Invocation) -> tuple[str, tuple[str, ...]] | None:
    """What the interpreter may import; with code in its options only what that code names."""
    found = _MODULES.get(inv.name)
    if found is None or not inv.args or (inv.texts[0] == "-m" and inv.texts[1:2] and inv.texts[1] in _LOOKS):
        return None
    language, patterns = found
    if inv.name == "make" or not any(re.match(r"-\w*[cepE]$|--eval|--print", text) for text in inv.texts):
        return found
    names = set(re.findall(r"\w+", " ".join(re.sub(r"^-[MmrlL](?=.)", "", text) for text in inv.texts)))
    suffixes = [pattern[1:] for pattern in patterns]
    stems = tuple(stem + suffix for stem in names for suffix in suffixes)
    packages = tuple(base + suffix for base in ("__init__", "index") for suffix in suffixes)
    return language, (*stems, *packages)


def _is_named(inv: Invocation, place: str, base: str) -> bool:
    return (
        any(text == place or text.split("::")[0] == place for text in inv.texts)
        and bool(re.search(r"\.\w+$", base))
        and inv.name not in ("python", "node", "ruby", "go", "lua", "pip", "eslint", "prettier", "tsc", "npm")
    )


def _judge_written(inv: Invocation, base: str, out: Out, language: str) -> None:
    if out.text is not None and "copy" not in out.tags:
        key = (base, out.text)
        if key in inv.engine.judging:
            return
        inv.engine.judging.add(key)
        inv.code(language, Arg(out.text, out.tags), what=f"the file {base} it wrote")
        inv.engine.judging.discard(key)
    elif "net" in out.tags:
        inv.ask(f"runs the file {base}, which was just downloaded")


#: Tools that run what they find in the directory, and the words that make them only look.
_BUILDS = frozenset(
    "make gmake ninja cmake meson scons npm pnpm yarn bun pip uv poetry pdm hatch tox nox pytest cargo go bundle rake "
    "mvn mvnw gradle gradlew ant composer just task dotnet swift mix rebar3 stack cabal python pre-commit".split()
)
_INERT = frozenset(
    "list ls show tree outdated view info why fmt format search freeze check metadata vet version env audit".split()
)


def _fetched_tree(inv: Invocation) -> None:
    """Building, installing or testing a tree this very command fetched runs code nobody has seen."""
    trees = {tree for origin, tree in inv.state.unpacked if origin == "net"}
    if not trees or inv.name not in _BUILDS or set(inv.texts[:1]) & _INERT:
        return
    targets = [arg for arg in inv.args if not arg.text.startswith("-")]
    places = {*inv.state.cwds, *(place for arg in targets for place in inv.places(arg))}
    if any(place == tree or place.startswith(tree + "/") for place in places for tree in trees if tree != "."):
        inv.ask("builds or runs what was just fetched")
