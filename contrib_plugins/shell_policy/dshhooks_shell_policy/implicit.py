"""Files a tool runs without being told: ``conftest.py``, ``vite.config.js``, ``build.rs``, ``Rakefile`` ...

When this very command wrote such a file and then starts the tool, the file's content is judged as code.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from typing import TYPE_CHECKING

from .values import Arg

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


def implicit_files(inv: Invocation) -> None:
    """Judge the files this command wrote that the tool in ``inv`` runs by itself."""
    if not inv.state.files or inv.name not in _RUNS:
        return
    language, names = _RUNS[inv.name]
    for place, outs in list(inv.state.files.items()):
        base = posixpath.basename(place)
        named = (
            any(text == place or text.split("::")[0] == place for text in inv.texts)
            and bool(re.search(r"\.\w+$", base))
            and inv.name not in ("python", "node", "ruby", "go", "lua", "pip", "eslint", "prettier", "tsc", "npm")
        )
        if not (named or any(fnmatch.fnmatchcase(base, name) for name in names)):
            continue
        for out in outs:
            if out.text is not None and "copy" not in out.tags:
                inv.code(language, Arg(out.text, out.tags), what=f"the file {base} it wrote")
            elif "net" in out.tags:
                inv.ask(f"runs the file {base}, which was just downloaded")
