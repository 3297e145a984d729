"""Variables that make a later program run or load something: ``PAGER``, ``BASH_ENV``, ``GIT_*``, ``LD_PRELOAD`` ..."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .paths import is_temporary, normalize
from .patterns import later
from .values import UNKNOWN, Arg

if TYPE_CHECKING:
    from .engine import Engine
    from .state import State

#: Variables whose value is a command line; harmless when its program is in ``_VIEWERS``.
_COMMANDS = later(
    r"(?:[A-Z]+_)?(?:PAGER|EDITOR|VISUAL|BROWSER)|GIT_(?:SEQUENCE_EDITOR|SSH(?:_COMMAND)?|EXTERNAL_DIFF|ASKPASS|PROXY_COMMAND|TEMPLATE_DIR)|SSH_ASKPASS|SUDO_ASKPASS"
    r"|MANPAGER|MANOPT|FCEDIT|HISTEDIT|RSYNC_RSH|CVS_RSH|SVN_SSH|LESSOPEN|LESSCLOSE|LESSEDIT|SYSTEMD_EDITOR|KUBE_EDITOR|TEXEDIT|TERMINAL"
    r"|RUSTC|RUSTC_WRAPPER|RUSTC_WORKSPACE_WRAPPER|CARGO_BUILD_RUSTC(?:_WRAPPER)?|CARGO_TARGET_\w+_(?:RUNNER|LINKER)|MAKE|MAKESHELL|CONFIG_SHELL|GREP|FZF_DEFAULT_COMMAND"
    r"|DIFF|\w+_EXTERNAL_DIFF|COMMAND_NOT_FOUND|NODE_REPL_EXTERNAL_MODULE|npm_config_(?:script_shell|shell|editor|viewer|git)|npm_(?:node_)?execpath|WGETRC|TAR_RSH|RSH|CC|CXX|LD|AR"
)
_VIEWERS = later(
    r"(?:\S*/)?(?:cat|less|more|most|bat|batcat|delta|diff-so-fancy|true|:|vi|vim|nvim|nano|emacs|emacsclient|code|subl|head|ssh|none|gcc|g\+\+|clang|clang\+\+|cc|c\+\+|ld|lld|mold|ar"
    r"|sccache|ccache|rustc|firefox|chrome|google-chrome|chromium|false|echo|tee|fd|rg|find|ag|zig|musl-gcc|\w+-linux-(?:gnu|musl)\w*-(?:gcc|g\+\+|ld|ar))(?:-\d+)?(?:\s|$)"
)
#: Variables that are dangerous whatever their value.
_ALWAYS = later(
    r"BASH_ENV|ENV|PROMPT_COMMAND|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|ZDOTDIR|LD_(?:PRELOAD|AUDIT|DEBUG_OUTPUT|ORIGIN_PATH)|DYLD_\w+|GIT_(?:EXEC_PATH|CONFIG|CONFIG_(?!NOSYSTEM)\w+|ALTERNATE_OBJECT_DIRECTORIES)"
    r"|PERL5(?:OPT|DB|LIB)|PERLLIB|PYTHON(?:STARTUP|HOME|INSPECT|BREAKPOINT|USERBASE|PLATLIBDIR|EXECUTABLE|CASEOK)|RUBYOPT|RUBYLIB|NODE_PATH_OVERRIDE|LUA_INIT\w*|PHPRC|PHP_INI_SCAN_DIR"
    r"|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|TAR_OPTIONS|ZIPOPT|UNZIP|RIPGREP_CONFIG_PATH|MAKEFLAGS|MFLAGS|GNUMAKEFLAGS|MAKEFILES|CURL_HOME|GCONV_PATH|LOCPATH|NLSPATH"
    r"|HOSTALIASES|RESOLV_HOST_CONF|TERMINFO(?:_DIRS)?|TERMCAP|INPUTRC|GEM_(?:PATH|HOME)|BUNDLE_GEMFILE|EMACSLOADPATH|VIMINIT|EXINIT|MYVIMRC|AWKPATH|AWKLIBPATH|OPENSSL_(?:CONF|ENGINES|MODULES)|SSLKEYLOGFILE"
    r"|npm_config_(?:registry|userconfig|globalconfig|node_options|init_module|prefix|cafile|ignore_scripts)|NPM_CONFIG_(?:REGISTRY|USERCONFIG)|YARN_(?:REGISTRY|NPM_REGISTRY_SERVER|RC_FILENAME)|PIP_(?:INDEX_URL|EXTRA_INDEX_URL|CONFIG_FILE|TRUSTED_HOST|FIND_LINKS)"
    r"|UV_(?:INDEX|INDEX_URL|EXTRA_INDEX_URL|DEFAULT_INDEX|FIND_LINKS)|DOTNET_STARTUP_HOOKS|COR(?:ECLR)?_PROFILER\w*|CORECLR_ENABLE_PROFILING|GTK_MODULES|GOPROXY|GONOSUMDB|GONOSUMCHECK|GOINSECURE|GOSUMDB|GOENV|CARGO_(?:HOME|REGISTR\w+)|GOFLAGS_OVERRIDE"
    r"|ALL_PROXY|all_proxy|HTTPS?_PROXY|https?_proxy|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS|CURL_CA_BUNDLE|SSL_CERT_FILE|GIT_SSL_NO_VERIFY|GIT_SSL_CAINFO|NODE_TLS_REJECT_UNAUTHORIZED|PYTHONHTTPSVERIFY"
    r"|KUBECONFIG_OVERRIDE|DOCKER_HOST|SUDO_EDITOR_OVERRIDE|ANSIBLE_\w*PLUGINS|MAVEN_ARGS|GRADLE_OPTS_OVERRIDE|ELECTRON_RUN_AS_NODE|DSHHOOKS_\w+|PYTEST_PLUGINS|SHELL|(?:PSQL|CURL|SCREEN|VIM|GVIM|SQLITE|MYSQL|CONDA|NPM|YARN|ACK|DIG|LYNX|NANO|IRB|PRY|GDB|MAIL|WGET)RC|CLAUDE_CONFIG_DIR|CODEX_HOME|FPATH"
)
#: Variables that are dangerous when the value looks like one of these.
_WHEN: tuple[tuple[re.Pattern[str], re.Pattern[str], str], ...] = (
    (later(r"PS[0-4]|PROMPT|RPROMPT|RPS1"), later(r"\$\(|`|\$\{"), "the prompt runs the substitutions in it"),
    (
        later(r"NODE_OPTIONS"),
        later(
            r"(?:^|\s)(?:-r|--require|--import|--loader|--experimental-loader|--eval|--env-file|--inspect|--openssl-config|-e)\b|\ue000"
        ),
        "Node loads it",
    ),
    (
        later(r"(?:CARGO_ENCODED_)?RUSTFLAGS|RUSTDOCFLAGS"),
        later(r"linker|runner|codegen-backend|plugin|\ue000"),
        "the compiler runs it",
    ),
    (
        later(r"GOFLAGS|GOTOOLEXEC|GO_TEST_EXEC"),
        later(r"toolexec|-exec|overlay|insecure|\ue000"),
        "go runs it",
    ),
    (later(r"ERL_\w*FLAGS|ELIXIR_ERL_OPTIONS"), later(r"-(?:eval|run|s)\b"), "Erlang runs it"),
    (
        later(
            r"(?:POETRY|PIP|UV|NPM|npm|YARN|PNPM|BUN|BUNDLE|GEM|HOMEBREW|CARGO|GO|NIX|CONDA|MAVEN|MVNW|GRADLE|COMPOSER|NODEJS|NVM|FNM|RUSTUP|"
            r"ELECTRON|PUPPETEER|PLAYWRIGHT|SASS|CYPRESS|DENO|HEX|PUB|FLUTTER|VCPKG|CONAN|ANSIBLE_GALAXY|HELM|KREW)_\w*(?:URL|DOMAIN|MIRROR|REGISTRY|INDEX|SOURCE|SERVER|HOST|DIST|BASE)\w*",
        ),
        later(r"https?://(?!localhost|127\.|0\.0\.0\.0)"),
        "packages are fetched from there",
    ),
    (
        later(r"(?:MAVEN_OPTS|JAVA_OPTS|GRADLE_OPTS|SBT_OPTS|ANT_OPTS|CATALINA_OPTS)"),
        later(r"-javaagent|-agent(?:lib|path)|OnOutOfMemoryError|-Xrun|OnError"),
        "Java loads it",
    ),
    (
        later(r"PYTEST_(?:ADDOPTS|PLUGINS)"),
        later(r"-p\s*(?!no:)\S|--pdbcls|--rootdir|-c\s"),
        "pytest loads it",
    ),
    (later(r"PYTHONWARNINGS"), later(r"antigravity|:\S+\.\w+:|::\w+\.\w+|\ue000"), "Python imports it"),
    (
        later(r"LESS|MORE|GREP_OPTIONS|RSYNC_OPTIONS|LESSKEYIN|LESSKEY\w*"),
        later(r"\+!|\+.*!|exec|\ue000|^/"),
        "the program runs it",
    ),
    (
        later(r"\w*(?:MIRROR|REGISTRY|INDEX_URL|ENDPOINT_URL)\w*", re.IGNORECASE),
        later(r"https?://(?!localhost|127\.|0\.0\.0\.0)"),
        "later programs fetch from there",
    ),
    (later(r"GIT_TRACE\w*|GIT_REDIRECT_\w+"), later(r"^[/~]"), "git writes to that file"),
    (
        later(
            r"KUBECONFIG|\w+_(?:CONFIG|CONFIG_FILE|CONFIG_PATH|CONF|CONFFILE|CFG|RC|RCFILE|INIT|INIT_FILE|PLUGINS?|PLUGIN_(?:DIR|PATH)|MODULES?|SETTINGS)"
        ),
        later(r"^(?:/tmp|/var/tmp|/dev/shm)/"),
        "a program takes its settings from a temporary directory",
    ),
    (later(r"FZF_\w+"), later(r"--preview|--bind|execute|[;|`$]"), "fzf runs it"),
    (
        later(r"(?:\w+_)?(?:C|CXX|CPP|F)FLAGS|(?:\w+_)?LDFLAGS"),
        later(r"-fplugin|-wrapper|-specs|-B\s*/tmp|@"),
        "the compiler loads it",
    ),
)
_SEARCH_PATHS = later(
    r"(?:LD_LIBRARY_PATH|LD_RUN_PATH|PYTHONPATH|NODE_PATH|CLASSPATH|GOPATH|LUA_C?PATH|PKG_CONFIG_PATH|MANPATH|CDPATH|GI_TYPELIB_PATH|QT_PLUGIN_PATH|GIT_DIR|GIT_WORK_TREE|CMAKE_PREFIX_PATH|XDG_(?!CACHE|STATE|RUNTIME)\w+|GNUPGHOME|COMPOSER_HOME|GRADLE_USER_HOME|(?:MAVEN|JAVA|VAGRANT|RUSTUP|VOLTA|SBCL|ANDROID|DENO_INSTALL|ANT|SPARK|HADOOP|CATALINA)_HOME"
    r"|GOROOT|GOBIN|PYENV_ROOT|NVM_DIR|SDKMAN_DIR|ASDF_DIR|BUN_INSTALL|KREW_ROOT|CONDA_PREFIX|VIRTUAL_ENV|VIM|VIMRUNTIME|R_LIBS\w*|R_PROFILE\w*|R_ENVIRON\w*|JULIA_LOAD_PATH|ERL_LIBS|TCLLIBPATH"
    r"|OCTAVE_PATH|GUILE_LOAD_PATH|NIX_PATH|DOTNET_ADDITIONAL_DEPS|GTK_PATH|GIO_EXTRA_MODULES|GST_PLUGIN_PATH|VK_LAYER_PATH|LIBGL_DRIVERS_PATH|SASL_PATH|PKCS11_MODULE|SSH_AUTH_SOCK|DOCKER_CERT_PATH"
    r"|CMAKE_TOOLCHAIN_FILE|ANSIBLE_(?:LIBRARY|MODULE_UTILS|ROLES_PATH|COLLECTIONS_PATH|INVENTORY)|TF_DATA_DIR|HELM_\w+|AWS_SHARED_CREDENTIALS_FILE|GOOGLE_APPLICATION_CREDENTIALS)"
)


def arming_problem(name: str, value: Arg, engine: Engine, state: State) -> str | None:
    """Say what is wrong with setting ``name`` to ``value``, or None.

    Args:
        name: the variable.
        value: what it would hold.
        engine: the judge.
        state: for resolving relative directories.
    """
    text = value.text
    if name == "PATH":
        return _path_problem(value, state)
    if _ALWAYS.fullmatch(name):
        return None if not text else f"{name} changes what later programs run or load"
    if _COMMANDS.fullmatch(name):
        if not text or (
            _VIEWERS.match(text)
            and not re.search(r"[;&|`$()<>\n]", text.replace(UNKNOWN, ""))
            and "roxy" not in text
            and "ocalCommand" not in text
        ):
            return None
        return f"{name} is run by later programs"
    for pattern, bad, why in _WHEN:
        if pattern.fullmatch(name) and bad.search(text):
            return f"{name} is set: {why}"
    if _SEARCH_PATHS.fullmatch(name) and any(is_temporary(normalize(p)) for p in text.split(":") if p):
        return f"{name} makes later programs load code from a temporary directory"
    return None


def _path_problem(value: Arg, state: State) -> str | None:
    """New directories in front of PATH decide which program a name means."""
    for entry in value.text.split(":"):
        if entry in ("", UNKNOWN):
            if entry == "" and value.text:
                return "PATH gets an empty entry, the current directory"
            continue
        place = normalize(entry, state.cwds[0])
        inside = not place.startswith(("/", "~", "..")) and UNKNOWN not in place
        if inside and not re.search(r"(?:^|/)(?:s?bin|\.bin|scripts?|tools|shims|[\w.-]*venv[\w.-]*/Scripts)$", place):
            return f"PATH gets {entry}, a directory of the workspace"
        if place == "." or is_temporary(place) or place == "/tmp" or re.match(r"/dev/|/var/tmp", place):
            return f"PATH gets {entry}, where anybody may have put programs"
    return None
