"""Which paths matter: secrets that must not be read, places that must not be written.

A path is normalized first (home spellings to ``~``, ``.`` and ``..`` resolved against the directory the script
is in), then matched by the tables below. Patterns with wildcards are also tried against example names, so
``~/.s?h/id_*`` is seen for what it opens.
"""

from __future__ import annotations

import enum
import fnmatch
import posixpath
import re
from collections.abc import Callable
from functools import lru_cache

from . import credential_files
from .patterns import later


class Kind(enum.Enum):
    """What a path is."""

    SECRET = "a secret"
    MAYBE_SECRET = "possibly a secret"
    PERSISTENCE = "a file that is run or obeyed later"
    POLICY = "settings of an agent or of this policy"
    PIPELINE = "a file that other tools run automatically"
    SYSTEM = "a system path"
    DEVICE = "a device"
    NETWORK = "a network connection"


def _any(*patterns: str) -> re.Pattern[str]:
    return later("|".join(f"(?:{pattern})" for pattern in patterns))


_START = r"(?:^|/)"
_SECRET = _any(
    _START + r"\.ssh(?:$|/(?!known_hosts|config$|[^/]*\.pub$))",
    _START + r"id_(?:rsa|dsa|ecdsa|ed25519)(?:[_-]\w+)?$",
    _START + r"\.aws(?:$|/)",
    _START + r"\.azure(?:$|/)",
    _START + r"\.config/(?:gcloud|gh|op|doctl|hub|rclone|sops|age)(?:$|/)",
    _START + r"\.kube/(?:config|cache)",
    r"^~/\.kube$",
    _START + r"\.docker/config\.json$",
    _START + r"[._]netrc$",
    r"^~/\.(?:npmrc|wgetrc|curlrc)$",
    _START + r"gcloud/(?:credentials|access_tokens|application_default|legacy_credentials)",
    _START
    + r"\.(?:pypirc|git-credentials|pgpass|my\.cnf|vault-token|htpasswd|s3cfg|boto|dockercfg|msmtprc|authinfo(?:\.gpg)?)$",
    _START + r"\.(?:gnupg|password-store)(?:$|/)",
    _START + r"\.terraform\.d/credentials",
    _START + r"\.local/share/keyrings",
    _START + r"Keychains(?:$|/)",
    _START + r"(?:logins\.json|key[34]\.db|Login Data|cookies\.sqlite|Cookies|wallet\.dat)$",
    _START + r"\.mozilla(?:$|/)",
    _START + r"\.config/(?:google-chrome|chromium|BraveSoftware)",
    _START + r"Google/Chrome(?:$|/)",
    _START + r"\.(?:bash|zsh|sh|python|psql|mysql|sqlite|node_repl|irb|rediscli)_?history$",
    r"^/etc/(?:g?shadow|sudoers)(?:$|[-/.~])",
    r"^/etc/(?:ssl/private|ssh/ssh_host_\w+_key$|krb5\.keytab)",
    r"^/proc/[^/]+/(?:environ|mem|maps|auxv)$",
    r"^/(?:proc/kcore|dev/k?mem)$",
    r"^(?:/var)?/run/secrets",
    _START + r"\.claude/\.credentials",
    _START + r"\.codex/auth\.json$",
    _START + r"\.gemini/oauth_creds",
    _START + r"\.cargo/credentials",
    _START + r"\.gem/credentials$",
    _START + r"\.m2/settings(?:-security)?\.xml$",
    _START + r"[^/]*\.(?:p12|pfx|jks|keystore|kdbx?|ppk)$",
    r"^/var/lib/(?:kubelet|docker|rancher)(?:$|/)",
)
_MAYBE_SECRET = _any(
    _START + r"\.env(?:$|\.(?!example|sample|template|dist|defaults?|test$|ci$|schema)[\w.-]+$)",
    _START + r"\.?(?:prod|production|local|staging|dev|secrets?)\.env$",
    _START + r"\.envrc$",
    _START
    + r"(?!(?:[^/]*[._-])?(?:cert|certs|certificate|ca|cacert|chain|fullchain|public|pub|bundle|root)\b)[^/]*\.(?:pem|key)$",
    r"^~/\..*(?:credential|secret|passw|private[-_]?key|[-_./]tokens?\b)",
    r"^~/\.config/.*(?:auth|tokens?|credentials?|secrets?|hosts)[^/]*$",
    _START + r"(?:auth\.json|fish_history)$",
    _START
    + r"(?:[^/]*credentials|client_secrets?|service[-_]account[^/]*|secrets?|[^/]*secrets?)\.(?:json|ya?ml|toml|ini|txt|csv)$",
    _START + r"(?:credentials|master\.key|\.secrets?|api[-_]?keys?(?:\.txt)?)$",
    _START + r"secrets(?:$|/)",
    _START + r"[^/]*\.tfstate(?:\.backup)?$",
    _START + r"\.config/?$",
)
# The only words of letters, digits and dashes that the two find; for others they, which are long, are not compiled.
_BARE = frozenset({"Keychains", "Cookies", "credentials", "secrets", "apikey", "apikeys", "api-key", "api-keys"})
_RC = (
    r"bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|kshrc|mkshrc|cshrc|tcshrc|login|logout"
    r"|inputrc|xinitrc|xsession|xsessionrc|xprofile|Xresources|pam_environment|vimrc|gvimrc|exrc|nanorc|emacs|tmux\.conf|screenrc|gitconfig|curlrc|wgetrc|psqlrc"
    r"|sqliterc|irbrc|pryrc|pythonrc|pythonrc\.py|pdbrc|gdbinit|lldbinit|Rprofile|Renviron|condarc|mailrc|forward|hgrc|lesskey|lessfilter|my\.cnf|pgpass|rhosts|shosts|hushlogin"
)
_PERSISTENCE = _any(
    rf"{_START}\.(?:{_RC})$",
    r"^~/\.(?:npmrc|yarnrc|yarnrc\.yml|pypirc|netrc|git-credentials|gemrc|bundle|cargo|gradle|m2)(?:$|/)",
    r"^~/\.config/(?:fish|git|nvim|systemd|autostart|environment\.d|pip|direnv|starship|npm|gh|htop|containers|sway|i3|powershell|nushell|kitty|alacritty|tmux|uv)(?:$|/|\.)",
    r"^~/\.(?:ssh|gnupg|aws|azure|kube|docker|emacs\.d|vim|oh-my-zsh|oh-my-bash|bashrc\.d|zsh|profile\.d|local/bin|pip|pyenv|nvm|rbenv|asdf|rustup|ipython|jupyter)(?:$|/)",
    r"^~/(?:bin|\.bin|\.local/share/(?:systemd|applications|dbus-1|nautilus|bash-completion))(?:$|/)",
    _START + r"\.ssh(?:$|/)",
    _START + r"Library/Launch(?:Agents|Daemons)(?:$|/)",
    _START + r"authorized_keys2?$",
    _START + r"(?:user|site)customize\.py$",
    r"(?:site-packages|dist-packages|\ue000)/[^/]*\.pth$",
    r"(?:^|/)(?:\.git|[^/]+\.git)/(?:hooks(?:$|/)|config(?:\.worktree)?$|info/attributes$|modules/)",
    _START + r"\.husky(?:$|/)",
    _START + r"\.githooks(?:$|/)",
    r"^/etc/(?:cron|profile|bash|zsh|environment|ld\.so|sudoers|systemd|init|rc|pam|ssh|xdg|passwd|shadow|group|hosts)",
    r"^/var/spool/(?:cron|at)",
    r"^/usr/local/bin(?:$|/)",
)
_POLICY = _any(
    _START + r"\.?dsh-?hooks\.(?:toml|json)$",
    _START + r"\.dsh-hooks(?:$|[./])",
    _START + r"\.dshhooks(?:$|/)",
    r"^~/\.config/dshhooks(?:$|/)",
    _START
    + r"\.(?:claude|codex|gemini|cursor|windsurf|continue|vibe|opencode|aider|copilot|qwen|roo|kiro|amazonq|goose|cline|augment|crush)(?:$|/)",
    r"^~/\.config/(?:claude|codex|opencode|goose|github-copilot|Code/User|Cursor|zed|crush)(?:$|/)",
    r"^~/\.claude\.json$",
    _START + r"\.?mcp\.json$",
    _START + r"opencode\.jsonc?$",
    _START + r"\.aider\.conf\.yml$",
    _START + r"\.(?:cursorrules|windsurfrules|clinerules)$",
    r"^/etc/(?:claude-code|codex)(?:$|/)",
)
_PIPELINE = _any(
    _START + r"\.github/(?:workflows|actions)(?:$|/)",
    _START + r"\.gitlab-ci\.ya?ml$",
    _START + r"\.(?:circleci|buildkite|woodpecker|drone|teamcity|semaphore)(?:$|/|\.ya?ml)",
    _START + r"\.(?:travis|drone|appveyor|woodpecker|cirrus)\.ya?ml$",
    _START + r"(?:Jenkinsfile|azure-pipelines\.ya?ml|bitbucket-pipelines\.ya?ml|buildspec\.ya?ml|cloudbuild\.ya?ml)$",
    _START + r"\.vscode/(?:settings|tasks|launch|extensions|mcp)\.json$",
    _START + r"\.vscode$",
    _START + r"\.idea(?:$|/)",
    _START + r"\.devcontainer(?:$|/|\.json)",
    _START + r"\.envrc$",
    _START + r"\.(?:npmrc|yarnrc|yarnrc\.yml|pnpmfile\.cjs|pip\.conf|pre-commit-config\.yaml|lefthook\.yml)$",
    _START + r"(?:pip\.conf|lefthook\.ya?ml)$",
    _START + r"\.cargo/config(?:\.toml)?$",
    _START + r"\.gitattributes$",
    _START + r"\.gitmodules$",
    _START + r"(?:AGENTS|CLAUDE|GEMINI|QWEN|CONVENTIONS)(?:\.local)?\.md$",
    _START + r"copilot-instructions\.md$",
    r"(?:^|/)\.git/",
    r"^~/\.(?!cache(?:/|$)|npm/|local/share/|local/state/|gradle/caches|m2/repository|Trash|config/?$)[^/]+",
    _START + r"\.\w+_history$",
)
_SYSTEM = _any(
    r"^/(?:etc|usr|bin|sbin|lib|lib32|lib64|libx32|boot|sys|proc|opt|root|srv|home|Users|Library|System|Applications|private|snap|efi|nix)(?:$|/)",
    r"^/var(?:$|/(?!tmp|folders)[^/]*)",
    r"^/[^/]*$",
    r"^~$",
)
_OK_DEVICE = later(r"^/dev/(?:null|zero|full|stdin|stdout|stderr|tty|fd(?:/\d+)?|u?random|shm/.*|pts/\d+)$")
_TMP = later(r"^(?:/private)?(?:/tmp|/var/tmp|/var/folders)/.+|^/tmp$")
_HOME = later(r"^(?:/home/[^/]+|/Users/[^/]+|/root|/var/root|~[A-Za-z_][\w.-]*)(?=/|$)")

#: Names tried against patterns with wildcards.
_EXAMPLES = (
    "~/.ssh/id_rsa",
    "~/.ssh/id_ed25519",
    "~/.ssh/authorized_keys",
    "~/.aws/credentials",
    "~/.netrc",
    "~/.bashrc",
    "~/.bash_history",
    "~/.git-credentials",
    "~/.gnupg/secring.gpg",
    "~/.kube/config",
    "~/.docker/config.json",
    "~/.config/gh/hosts.yml",
    "/etc/shadow",
    "/etc/passwd",
    "/etc/sudoers",
    "/proc/1/environ",
    ".env",
    ".env.local",
    ".env.production",
    ".git/config",
    ".git/hooks/pre-commit",
    ".claude/settings.json",
    "dshhooks.toml",
)


@lru_cache(maxsize=4096)
def normalize(path: str, cwd: str = ".") -> str:
    """Return ``path`` absolute, relative to ``~`` or relative to the workspace, without ``.`` and ``..``.

    Args:
        path: as the program would get it; ``~`` stands for the home directory.
        cwd: the directory the script is in, normalized the same way.
    """
    path = re.sub(r"^file:(?://)?(?=/)", "", path)
    path = re.sub(r"^/proc/(?:self|\d+|thread-self)/(?:root|cwd)(?=/)", "", path)
    if path.startswith("~+"):
        path = cwd + path[2:]
    if not path.startswith(("/", "~")):
        path = posixpath.join(cwd, path)
    path = re.sub(r"^/{2,}", "/", posixpath.normpath(path)) if path else "."
    path = _HOME.sub("~", path)
    if path.startswith("~/.."):
        path = posixpath.normpath("/home/u" + path[1:])
        path = re.sub(r"^/home/u(?=/|$)", "~", path)
    return path


@lru_cache(maxsize=4096)
def read_kind(path: str) -> Kind | None:
    """Say why reading the normalized ``path`` matters, or None."""
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        return Kind.NETWORK
    harmless = path not in _BARE and path.isascii() and path.replace("-", "").isalnum()
    if not harmless and _SECRET.search(path):
        return Kind.SECRET
    if (not harmless and _MAYBE_SECRET.search(path)) or credential_files.is_one(path):
        return Kind.MAYBE_SECRET
    return _by_example(path, read_kind)


@lru_cache(maxsize=4096)
def write_kind(path: str) -> Kind | None:
    """Say why writing, moving or removing the normalized ``path`` matters, or None."""
    if path.startswith(("/dev/tcp/", "/dev/udp/")):
        return Kind.NETWORK
    if path.startswith("/dev/") or path == "/dev":
        return None if _OK_DEVICE.match(path) else Kind.DEVICE
    for pattern, kind in ((_POLICY, Kind.POLICY), (_PERSISTENCE, Kind.PERSISTENCE), (_PIPELINE, Kind.PIPELINE)):
        if pattern.search(path):
            return kind
    if _TMP.match(path):
        return None
    if _SYSTEM.search(path):
        return Kind.SYSTEM
    return _by_example(path, write_kind)


def is_temporary(path: str) -> bool:
    """Say whether the normalized path is inside a temporary directory."""
    return bool(_TMP.match(path)) and path not in ("/tmp", "/var/tmp")


def is_outside(path: str) -> bool:
    """Say whether the normalized path leaves the workspace (and is not temporary)."""
    return path.startswith(("/", "~", "..")) and not is_temporary(path)


_SOURCE = later(
    r"\.(?:py|[cm]?[jt]sx?|go|rs|c|cc|cpp|h|hpp|java|kt|rb|php|swift|scala|ex|exs|hs|lua|vue|svelte|html|css|scss|json|toml|"
    r"ya?ml|lock|md|rst|cfg|ini|tf|proto|sh|env(?:\.\w+)?)$|(?:^|/)(?:Makefile|Dockerfile|Gemfile|Rakefile|LICENSE)$"
)


def is_precious(path: str) -> bool:
    """Say whether emptying the normalized path loses data: a data base, or any file outside but logs."""
    if re.search(r"\.(?:db|sqlite3?|sql|rdb|mdb|parquet|dump|bak|tfstate)$", path):
        return not is_temporary(path)
    if _SOURCE.search(path) and not path.endswith("__init__.py"):
        return not is_temporary(path)
    return is_outside(path) and not re.search(r"\.(?:log|out|tmp|txt|pid|lock)(?:\.\d+)?$|/(?:logs?|cache)/", path)


def is_broad(path: str) -> bool:
    """Say whether the normalized path is a whole tree nobody removes by accident gladly: root, home, workspace, parents."""
    bare = path.rstrip("*/") or "/"
    return (
        bare in ("/", "~", ".", "")
        or bool(re.fullmatch(r"(?:\.\./?)+", bare + "/"))
        or path in ("*", ".*", "./*", "~/*", "/*")
    )


def _by_example(path: str, kind_of: Callable[[str], Kind | None]) -> Kind | None:
    """Try a pattern against example names, component by component as the shell does."""
    if not any(c in path for c in "*?["):
        return None
    parts = path.split("/")
    if not parts[-1].strip("*?."):
        return None  # a bare "*" opens what lies there; the directory decides
    for example in _EXAMPLES:
        names = example.split("/")
        if len(names) == len(parts) and all(_fits(name, part) for name, part in zip(names, parts, strict=True)):
            return kind_of(example)
    return None


def _fits(name: str, pattern: str) -> bool:
    if name.startswith(".") and not pattern.startswith((".", "[")):
        return False
    return fnmatch.fnmatchcase(name, pattern)
