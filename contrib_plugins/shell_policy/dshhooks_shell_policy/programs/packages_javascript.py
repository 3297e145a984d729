"""JavaScript's package managers."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..patterns import later
from ..registry import program
from ..values import ANYTHING, Arg, Out
from .sources import REPO_SHORTHAND, any_option, judge_sources


@program(
    "npm pnpm yarn bun cnpm tnpm lerna nx turbo corepack",
    reads=False,
)
def npm(inv: Invocation) -> Out | None:
    """JavaScript's package managers."""
    texts = inv.texts
    words = [text for text in texts if not text.startswith("-")]
    verb = words[0] if words else ""
    if inv.name == "bun" and (
        verb
        not in (
            "install",
            "i",
            "add",
            "a",
            "run",
            "x",
            "test",
            "build",
            "remove",
            "rm",
            "update",
            "link",
            "publish",
            "pm",
            "create",
            "init",
            "upgrade",
            "outdated",
        )
        and inv.args
    ):
        from .javascript import javascript

        return javascript(inv)
    if verb == "npm" and inv.name == "yarn":
        words, verb = words[1:], words[1] if len(words) > 1 else ""
    if any_option(
        inv,
        "--registry",
        "--userconfig",
        "--globalconfig",
        "--script-shell",
        "--node-options",
        "--shell",
        "--editor",
        "--viewer",
        "--use-yarnrc",
        "--ignore-scripts-x",
    ):
        inv.ask("uses another registry or other settings")
    if (
        "--dry-run" not in inv.texts
        and verb
        in (
            "publish",
            "unpublish",
            "deprecate",
            "owner",
            "access",
            "token",
            "login",
            "adduser",
            "add-user",
            "logout",
            "dist-tag",
            "team",
            "org",
            "star",
            "hook",
            "profile",
            "stage",
        )
        and not (
            verb in ("owner", "access", "dist-tag", "team", "org", "token")
            and words[1:2]
            and words[1] in ("ls", "list")
            and verb != "token"
        )
    ):
        inv.ask(f"{verb} changes the registry or an account")
    changes = words[1:2] and words[1] in ("set", "delete", "edit", "fix", "unset")
    if verb in ("set", "set-script") or (changes and (verb == "config" or (verb == "c" and inv.name == "npm"))):
        inv.ask("changes the settings of the package manager")
    if verb == "pkg" and words[1:2] == ["set"]:
        for arg in inv.args:
            if arg.text.startswith("scripts.") and "=" in arg.text:
                inv.ask("changes the scripts of the package") if re.match(
                    r"scripts\.(?:pre|post|install|prepare)", arg.text
                ) else None
                inv.script(arg.with_text(arg.text.split("=", 1)[1]))
    if verb in ("config", "get") and any("auth" in word.lower() or "token" in word.lower() for word in words):
        inv.ask("prints credentials of the registry")
    if words[:2] == ["audit", "fix"] and "--force" in texts:
        inv.ask("changes dependencies in ways that may break them")
    if inv.name == "corepack":
        judge_sources(inv, inv.args)
    if verb == "plugin" and words[1:2] == ["import"]:
        inv.ask("installs a plugin")
    if verb in (
        "install",
        "i",
        "in",
        "add",
        "a",
        "ci",
        "update",
        "up",
        "upgrade",
        "link",
        "isntall",
        "global",
        "dlx",
        "create",
        "init",
        "exec",
        "x",
        "install-test",
        "it",
    ):
        operands = tuple(a for a in inv.args[texts.index(verb) + 1 :] if not a.text.startswith("-"))
        judge_sources(inv, inv.args)
        if verb in ("install", "i", "add", "dlx", "exec", "x", "global") and any(
            REPO_SHORTHAND.match(a.text) or re.search(r".@(?:npm:|[\w-]+/[\w.-]+$|git|github:)", a.text)
            for a in operands
        ):
            inv.ask("installs from a repository")
    if verb in ("init", "create") and len(words) > 1 and not _KNOWN_STARTERS.match(words[1]):
        inv.ask("runs a starter nobody vouches for: " + words[1][:60])
    if verb in ("exec", "x", "dlx", "create", "explore"):
        return _exec(inv, verb)
    if verb in ("install", "i", "ci", "test", "run", "start", "rebuild", "build", "t", "tst", "run-script"):
        _scripts(inv, words)
    judge_words = " ".join(words)
    from .databases import judge_task

    judge_task(inv, judge_words)
    return Out(None, frozenset({"npm"}))


def _exec(inv: Invocation, verb: str) -> Out | None:
    rest = list(inv.args[inv.texts.index(verb) + 1 :])
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0)
        if option.text in ("-c", "--call", "--shell-mode") and rest:
            return inv.script(rest[0])
        if option.text in ("-p", "--package") and rest:
            rest.pop(0)
        if option.text == "--":
            break
    if verb in ("dlx", "x") and rest and not _KNOWN_TOOLS.fullmatch(re.sub(r"(?<=.)@[^/]*$", "", rest[0].text)):
        inv.ask("runs a package nobody vouches for: " + rest[0].text[:60])
    if verb == "explore" and rest:
        rest = rest[1:]
        rest = rest[1:] if rest and rest[0].text == "--" else rest
    return inv.run(rest) if rest else ANYTHING


def _scripts(inv: Invocation, words: list[str]) -> None:
    """When this command wrote package.json, the scripts in it are about to run."""
    content = inv.written(Arg("package.json"))
    if content is None:
        return
    if content.text is None:
        if "net" in content.tags or "filtered" not in content.tags:
            inv.ask("runs scripts of a package.json this command wrote")
        return
    import json

    try:
        scripts = json.loads(content.text).get("scripts", {})
    except (ValueError, AttributeError):
        return
    for script in scripts.values() if isinstance(scripts, dict) else ():
        if isinstance(script, str):
            inv.script(script)


_KNOWN_STARTERS = later(
    r"@[\w-]+/|(?:next-app|react-app|react-router|vite|vite-extra|vue|svelte|astro|remix|nuxt|nuxt-app|expo-app|expo|t3-app|nx-workspace|turbo|electron-app"
    r"|tauri-app|docusaurus|strapi-app|solid|qwik|hono|rsbuild|playwright|storybook|eslint|@eslint/config|docs|fastify|express|strapi|cloudflare|convex|payload-app|medusa-app|preact|lit|wxt|plasmo)(?:@[\w.-]+)?$"
)
#: Tools people run without installing them first; any other name may be a typo away from something else.
_KNOWN_TOOLS = later(
    r"(?:@[\w-]+/[\w.-]+|[./].*|(?:create-)?(?:next-app|react-app|vite|vue|svelte|astro|remix|nuxt-app|expo-app|t3-app|nx-workspace|turbo|electron-app|tauri-app|docusaurus|strapi-app|solid|qwik|hono|rsbuild)"
    r"|tsc|tsx|ts-node|ts-jest|jest|vitest|mocha|ava|tap|c8|nyc|playwright|cypress|eslint|prettier|stylelint|biome|oxlint|rome|xo|standard|tslint|knip|depcheck|madge|vite|webpack|webpack-cli|rollup|parcel|esbuild|swc|babel|tsup|unbuild|microbundle"
    r"|next|nuxt|nuxi|astro|remix|gatsby|svelte-kit|sv|vue-cli-service|vue-tsc|ng|nest|expo|react-native|ionic|cap|electron|electron-builder|storybook|sb|docusaurus|vuepress|vitepress|typedoc|jsdoc"
    r"|prisma|drizzle-kit|knex|sequelize|sequelize-cli|typeorm|mikro-orm|supabase|firebase|firebase-tools|wrangler|vercel|netlify|serverless|sls|sst|cdk|aws-cdk|pulumi|amplify"
    r"|nodemon|pm2|concurrently|npm-run-all|cross-env|dotenv|dotenv-cli|rimraf|shx|cpy-cli|mkdirp|wait-on|start-server-and-test|http-server|serve|live-server|json-server|localtunnel|kill-port|open-cli"
    r"|lerna|nx|turbo|changeset|semantic-release|release-it|standard-version|husky|lint-staged|commitlint|commitizen|cz|npm-check-updates|ncu|npm-check|license-checker|size-limit|bundlesize|source-map-explorer|webpack-bundle-analyzer"
    r"|tailwindcss|postcss|sass|less|lessc|svgo|imagemin|openapi-typescript|openapi-generator-cli|swagger-cli|graphql-codegen|msw|hardhat|truffle|ganache|web-ext|markdownlint|markdownlint-cli|markdownlint-cli2|cspell|alex|redocly|spectral"
    r"|degit|tiged|envinfo|npkill|yarn|pnpm|npm|node|only-allow|patch-package|syncpack|taze|zx|gulp|grunt|bower|yo|ember|lighthouse|pa11y|jscodeshift|plop|hygen|cowsay|tldr|clinic|autocannon|ts-prune|attw|publint|shadcn|shadcn-ui|drizzle|react-scripts|craco|gh-pages|bun|deno|pyright|basedpyright|repomix|mcp-inspector)"
)


@program("npx", reads=False)
def npx(inv: Invocation) -> Out | None:
    """Runs a package's program."""
    p = inv.options(
        "pcw",
        "--package --call --workspace --registry --node-options --shell --userconfig",
        stop=True,
    )
    for value in p.values("-c", "--call"):
        inv.script(value)
    if p.has("--registry", "--node-options", "--shell", "--userconfig"):
        inv.ask("uses another registry or other settings")
    judge_sources(inv, (*p.values("-p", "--package"), *p.rest[:1]), "runs a package from outside the registry")
    if p.rest and (REPO_SHORTHAND.match(p.rest[0].text) or not p.rest[0].known):
        inv.ask("runs a package from a repository")
    if not p.rest:
        return ANYTHING
    if p.rest[0].known and not _KNOWN_TOOLS.fullmatch(re.sub(r"(?<=.)@[^/]*$", "", p.rest[0].text)):
        inv.ask("runs a package nobody vouches for: " + p.rest[0].text[:60])
    head = re.sub(r"(?<=.)@.*", "", p.rest[0].text) if not p.rest[0].text.startswith("@") else p.rest[0].text
    if "/" in head and not head.startswith("@"):
        return ANYTHING
    return inv.run([p.rest[0].with_text(head), *p.rest[1:]])
