"""Everyday tools with options that run programs or write files, as one table."""

from __future__ import annotations

import re
from collections.abc import Callable

import attrs

from ..invocation import Invocation
from ..registry import program
from ..values import ANYTHING, UNKNOWN, Arg, Out

_HELPERS = re.compile(
    r"(?:gzip|pigz|bzip2|pbzip2|lbzip2|xz|pixz|zstd|zstdmt|lz4|lzip|lzop|brotli|compress|cat|less|more|true|ssh|rsh)(?: -[\w=]+)*$"
)


@attrs.frozen
class Tool:
    """Options of one tool.

    Attributes:
        values: short options with a value.
        long_values: long options with a separate value (``runs`` and ``writes`` belong here too).
        runs: options whose value is a program or command line.
        writes: options whose value is a file that is written.
        reads: options whose value is a file that is read.
        asks: options (a pattern over each argument) that ask, with the reason.
        write_operand: index of an operand that is written (``-1`` the last), or None.
        reason: why ``asks`` asks.
    """

    values: str = ""
    long_values: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    asks: str = ""
    reason: str = "has an option that runs or changes something else"
    write_operand: int | None = None


_TOOLS: dict[str, Tool] = {
    "zip": Tool(
        "btnxiP",
        ("--unzip-command", "-TT", "--temp-path", "--out"),
        writes=("--out",),
        asks=r"-TT.*|--unz\w*(?:-\w*)?(?:=.*)?|-\w*m\w*$|--move|-(?!-)\w*T(?=\w*T)",
        write_operand=0,
    ),
    "unzip": Tool("dx", (), asks=r"-:$", writes=("-d",)),
    "7z": Tool("o", (), asks=r"-sdel", writes=("-o",)),
    "7za": Tool("", (), asks=r"-sdel"),
    "rar": Tool("", (), asks=r"-df|-dr|m$"),
    "unrar": Tool(),
    "cpio": Tool(
        "FEHMR",
        ("--to-command", "--rsh-command", "--file"),
        runs=("--to-command", "--rsh-command"),
        asks=r"--absolute-filenames|-\w*i\w*|--extract",
    ),
    "ar": Tool(),
    "split": Tool(
        "abClnt",
        ("--filter", "--bytes", "--lines", "--suffix-length", "--number", "--additional-suffix"),
        runs=("--filter",),
    ),
    "csplit": Tool("fnb", ("--prefix",), writes=("-f", "--prefix")),
    "iconv": Tool("ftoc", ("--output", "--from-code", "--to-code"), writes=("-o", "--output")),
    "fzf": Tool(
        "",
        ("--preview", "--bind", "--query"),
        runs=("--preview",),
        asks=r"--bind[= ]?.*|.*(?:execute|become|reload|transform).*\(.*",
    ),
    "skim": Tool("", ("--preview", "--bind"), runs=("--preview",), asks=r".*execute.*"),
    "mypy": Tool("pmc", ("--python-executable", "--config-file"), runs=("--python-executable",)),
    "keyctl": Tool(
        "", (), asks=r"print|pipe|read|add|update|revoke|clear|unlink|padd", reason="reads or changes stored keys"
    ),
    "sudoedit": Tool("", (), asks=r".*", reason="edits with other privileges"),
    "semanage": Tool("", (), asks=r"permissive|.*-d.*|.*-a.*"),
    "dockerd": Tool("", (), asks=r".*"),
    "containerd": Tool("", (), asks=r".*"),
    "partx": Tool("", (), asks=r"-[adu].*|--(?:add|delete|update)"),
    "volta": Tool("", (), asks=r".*://.*"),
    "nvm": Tool("", (), asks=r".*://.*|--reinstall-packages-from.*"),
    "nix-channel": Tool("", (), asks=r"--add|--remove|--rollback"),
    "ansible-galaxy": Tool("", (), asks=r".*(?:git\+|://).*|-s|--server.*|publish|import"),
    "huggingface-cli": Tool("", (), asks=r"upload.*|delete-cache|login|repo|lfs.*"),
    "hf": Tool("", (), asks=r"upload.*|repo|auth|jobs"),
    "jsr": Tool("", (), asks=r"publish"),
    "finger": Tool("", (), asks=r".*@.*"),
    "irssi": Tool("", (), asks=r".*"),
    "weechat": Tool("", (), asks=r"-r.*|.*irc:.*"),
    "rabbitmqadmin": Tool("", (), asks=r"delete|purge|close|import|declare"),
    "velero": Tool("", (), asks=r"delete|restore|uninstall"),
    "rancher": Tool("", (), asks=r"delete|rm|exec|ssh|kubectl"),
    "azcopy": Tool("", (), asks=r"copy|sync|remove|rm|make"),
    "asdf": Tool("", (), asks=r".*://.*"),
    "cpan": Tool("", (), asks=r".*://.*"),
    "q": Tool("", (), asks=r"--trust.*|chat"),
    "eb": Tool("", (), asks=r"terminate|printenv|setenv|deploy|ssh|restore|swap|clone"),
    "dotenvx": Tool("", (), asks=r"get|decrypt|set|run"),
    "man": Tool(
        "PHCMSLmprRTEe",
        (
            "--pager",
            "--html",
            "--config-file",
            "--preprocessor",
            "--troff-device",
            "--locale",
            "--manpath",
            "--sections",
        ),
        runs=("-P", "--pager"),
        asks=r"-H.+|--html=.+|-C.*|--config-file.*|-l$",
    ),
    "info": Tool("", (), asks=r"--restore.*"),
    "ffmpeg": Tool("", (), asks=r"tee|concat:.*|tee:.*|.*\[f=.*", write_operand=-1),
    "convert": Tool("", (), asks=r"(?:msl|mvg|ephemeral|label|https?|epsi?):.*|.*\|.*|.*;.*", write_operand=-1),
    "identify": Tool("", (), asks=r"(?:msl|mvg|https?):.*"),
    "gs": Tool("", (), asks=r"-dNOSAFER|-sOutputFile=(?:%pipe%|\|).*|.*%pipe%.*|-c$"),
    "pandoc": Tool(
        "otfFLM",
        ("--output", "--filter", "--lua-filter", "--pdf-engine", "--from", "--to", "--template", "--metadata"),
        runs=("-F", "--filter"),
        writes=("-o", "--output"),
        asks=r"--lua-filter.*|-L.*|--pdf-engine=.*[/].*",
    ),
    "pdflatex": Tool("", (), asks=r"-{1,2}(?:shell-escape|enable-write18)|\\.*write18.*|\\.*input\|.*"),
    "lualatex": Tool("", (), asks=r"-{1,2}shell-escape|\\directlua.*"),
    "xelatex": Tool("", (), asks=r"-{1,2}shell-escape"),
    "latex": Tool("", (), asks=r"-{1,2}shell-escape"),
    "tex": Tool("", (), asks=r"-{1,2}shell-escape|\\write18.*"),
    "latexmk": Tool("", (), asks=r"-e$|-{1,2}shell-escape|-r$|-pdflatex=.*"),
    "groff": Tool("", (), asks=r"-\w*U\w*|-\w*R\w*"),
    "troff": Tool("", (), asks=r"-\w*U\w*"),
    "openssl": Tool(
        "",
        (
            "-out",
            "-in",
            "-engine",
            "-provider",
            "-provider-path",
            "-inkey",
            "-key",
            "-keyout",
            "-config",
            "-CAfile",
            "-pass",
            "-passin",
            "-passout",
            "-connect",
        ),
        writes=("-out", "-keyout", "-writerand"),
        reads=("-inkey", "-key"),
        asks=r"-engine|-provider(?:-path)?|s_server|-config|-rand",
    ),
    "gcc": Tool(
        "oILlDUxT",
        ("-specs", "-wrapper", "-fplugin", "-include"),
        writes=("-o",),
        asks=r"-wrapper|-fplugin=.*|-specs=.*|@/.*|-B/.*|-B$|-iplugindir.*",
    ),
    "clang": Tool(
        "oILlDUxT",
        ("-Xclang", "-load"),
        writes=("-o",),
        asks=r"-fplugin=.*|-load|-fpass-plugin=.*|-B/.*|-fuse-ld=/.*",
    ),
    "ld": Tool("o", (), writes=("-o",), asks=r"-plugin|--plugin.*"),
    "rustc": Tool(
        "oLlC", ("--codegen",), writes=("-o",), asks=r"-?C?\s*linker=.*|linker=.*|-Zcodegen-backend.*|-Clinker.*"
    ),
    "protoc": Tool("I", (), asks=r"--plugin=.*"),
    "cmake": Tool(
        "SBGDPCU",
        ("--build", "--install", "--target", "--config"),
        asks=r"-DCMAKE_\w*(?:LAUNCHER|COMPILER)=/tmp.*|-P/.*|remove_directory",
    ),
    "ninja": Tool("fCjlkdtw", (), asks=r"-f/.*"),
    "ag": Tool("ABCmGp", ("--pager", "--path-to-ignore"), runs=("--pager",)),
    "ctags": Tool(
        "fLIo",
        ("--options", "--output-file"),
        writes=("-f", "-o", "--output-file"),
        asks=r"--options=.*|--_?xcmd.*|--langdef.*",
    ),
    "cscope": Tool(),
    "exiftool": Tool(
        "", (), asks=r"-if$|-config|-p$|-execute.*|-.*<.*|-delete_original.*|-overwrite_original.*|-.*=.*"
    ),
    "nginx": Tool("cgpe", (), asks=r"-[cgps].*"),
    "apache2": Tool("", (), asks=r"-[fcCkE].*"),
    "httpd": Tool("", (), asks=r"-[fcCkE].*"),
    "php-fpm": Tool("", (), asks=r"-[dcy].*"),
    "dpkg-deb": Tool("", (), asks=r"--raw-extract|-x$"),
    "genisoimage": Tool("", (), asks=r"-pathspecs.*"),
    "dialog": Tool("", (), asks=r"--\w*program\w*"),
    "check_by_ssh": Tool("", (), asks=r".*"),
    "pidstat": Tool("", (), asks=r"-e$"),
    "slsh": Tool("", (), asks=r"-e.*"),
    "jrunscript": Tool("", (), asks=r".*"),
    "espeak": Tool(),
    "run-parts": Tool("", (), asks=r".*", reason="runs every program in a directory"),
    "logrotate": Tool("", (), asks=r"-f$|--force|/tmp.*", reason="runs the scripts of a configuration"),
    "mpv": Tool("", (), asks=r"--script.*|--input-ipc.*|--stream-record.*"),
    "vlc": Tool("", (), asks=r"--lua.*|--sout.*"),
    "jest": Tool(
        "c",
        (),
        asks=r"--(?:globalSetup|globalTeardown|runner|testRunner|reporters|transform|resolver|setupFiles\w*)=?/tmp.*",
    ),
    "pytest": Tool("kmnpcrWo", (), asks=r"--pdbcls.*|-p\s*/.*|--rootdir=/tmp.*|-c/tmp.*|--confcutdir.*"),
    "eslint": Tool("c", (), asks=r"--(?:rulesdir|resolve-plugins-relative-to|parser|plugin|config|format)[= ]?/tmp.*"),
    "black": Tool(),
    "pre-commit": Tool(
        "",
        (),
        asks=r"^(?:install|try-repo|init-templatedir|autoupdate|install-hooks)$",
        reason="installs hooks or runs another repository's",
    ),
    "husky": Tool("", (), asks=r".*", reason="installs hooks"),
    "lefthook": Tool("", (), asks=r"^(?:install|add)$", reason="installs hooks"),
    "strip": Tool("o", (), writes=("-o",)),
    "objcopy": Tool("", (), write_operand=-1),
    "wc": Tool("", ("--files0-from",), reads=("--files0-from",)),
    "diff": Tool("", (), asks=r""),
    "sdiff": Tool("o", ("--diff-program", "--output"), runs=("--diff-program",), writes=("-o", "--output")),
    "diff3": Tool("", ("--diff-program",), runs=("--diff-program",)),
    "cmp": Tool(),
    "watchman": Tool("", (), asks=r"trigger.*|.*-j.*"),
    "inotifywait": Tool("o", (), writes=("-o",)),
    "aspell": Tool("", (), asks=r"--\w*filter.*|--conf=.*"),
    "gpg-agent": Tool("", (), asks=r".*"),
    "wasmtime": Tool("", (), asks=r"--dir=/.*"),
    "netsh": Tool("", (), asks=r".*"),
    "rundll32": Tool("", (), asks=r".*"),
    "regsvr32": Tool("", (), asks=r".*"),
    "mshta": Tool("", (), asks=r".*"),
    "claude": Tool(
        "",
        (),
        asks=r"--dangerously.*|config|mcp|--permission-mode.*|--allowed-?tools.*|--settings.*|-p$|--print",
        reason="starts or configures an agent",
    ),
    "codex": Tool(
        "",
        (),
        asks=r"--dangerously.*|exec|--full-auto|--yolo|-a$|--ask-for-approval.*|--sandbox.*|-c$|mcp|e$",
        reason="starts or configures an agent",
    ),
    "gemini": Tool(
        "", (), asks=r"--yolo|-y|--approval-mode.*|mcp|extensions|-p$", reason="starts or configures an agent"
    ),
    "opencode": Tool("", (), asks=r"run|auth|mcp|agent", reason="starts or configures an agent"),
    "aider": Tool("", (), asks=r".*", reason="starts an agent"),
    "amp": Tool("", (), asks=r".*", reason="starts an agent"),
    "crush": Tool("", (), asks=r".*", reason="starts an agent"),
    "copilot": Tool("", (), asks=r".*", reason="starts an agent"),
    "cursor-agent": Tool("", (), asks=r".*", reason="starts an agent"),
    "qwen": Tool("", (), asks=r".*", reason="starts an agent"),
    "llm": Tool("", (), asks=r"keys|install|--functions.*"),
    "dshhooks": Tool(
        "",
        (),
        asks=r"--disable.*|--no-plugins|--plugins.*|install|uninstall|call|--trust-project|trust|--approve.*",
        reason="changes or bypasses the hooks",
    ),
}


def _judge(tool: Tool) -> Callable[[Invocation], Out | None]:
    asks = re.compile(tool.asks) if tool.asks else None

    def judge(inv: Invocation) -> Out | None:
        p = inv.options(
            tool.values,
            (*tool.long_values, *tool.runs, *tool.writes),
            single_dash=any(v.startswith("-") and not v.startswith("--") and len(v) > 2 for v in tool.long_values)
            and inv.name in ("openssl",),
        )
        for value in p.values(*tool.runs) if tool.runs else ():
            if not _HELPERS.match(value.text):
                inv.ask("runs a program: " + value.text.replace(UNKNOWN, "…")[:80])
                inv.script(value)
        for value in p.values(*tool.writes) if tool.writes else ():
            inv.write(value, _produced(inv))
        inv.read_all(p.values(*tool.reads) if tool.reads else ())
        if tool.write_operand is not None and len(p.operands) > abs(tool.write_operand):
            inv.write(p.operands[tool.write_operand], None)
        if (
            inv.name == "openssl"
            and inv.texts[:1]
            and inv.texts[0] not in ("x509", "verify", "crl", "asn1parse", "s_client", "req", "dgst")
        ):
            inv.read_all(p.values("-in"))
        if asks is not None and any(asks.fullmatch(text) for text in inv.texts):
            inv.ask(tool.reason)
        if inv.name == "openssl" and inv.texts[:1] == ["s_client"]:
            if inv.stdin.tags or inv.stdin.text:
                inv.ask("sends its input to another machine")
            return Out(None, frozenset({"net"}))
        if inv.name in ("cmake", "ninja", "meson") and any(v.text.startswith("/tmp/") for v in p.values("-P", "-f")):
            inv.ask("runs a script from a temporary directory")
        if inv.name == "cmake" and inv.texts[:1] == ["-E"] and len(inv.args) > 1:
            inv.run(inv.args[1:])
        if inv.name in ("gcc", "clang", "rustc"):
            produced = _produced(inv)
            if not p.has("-o", "-c", "-S", "-E"):
                inv.engine.remember(Arg("a.out"), inv.state, produced)
        if inv.name in ("gcc", "clang") and "-" in inv.texts:
            inv.code("c", Arg(inv.stdin.text, inv.stdin.tags)) if inv.stdin.text is not None else inv.ask(
                "compiles what is not known"
            )
        if inv.name == "unzip":
            _unpacked(inv, [a.text for a in p.values("-d")], p.operands[:1])
        return inv.stdin.derived("file")

    return judge


def _unbundled(letters: str, rest: list[Arg]) -> list[Arg]:
    """The old form ``tar xfC archive directory``: values follow in the order of their letters."""
    options = [Arg("-" + "".join(c for c in letters if c not in "fCbITXLVKNHgF"))]
    for letter in letters:
        if letter in "fCbITXLVKNHgF" and rest:
            options += [Arg("-" + letter), rest.pop(0)]
    return [option for option in options if option.text != "-"] + rest


def _unpacked(inv: Invocation, directories: list[str], archives: tuple[Arg, ...] | list[Arg]) -> None:
    """What an archive leaves behind is not known; running it in the same command asks."""
    if archives or inv.stdin.tags:
        contents = [inv.written(archive) for archive in archives]
        net = "net" in inv.stdin.tags or any(content is not None and "net" in content.tags for content in contents)
        for place in inv.places(Arg(directories[0] if directories else ".")):
            inv.state.unpacked |= {("net" if net else "archive", place)}


def _produced(inv: Invocation) -> Out:
    """What a compiler writes: a program made of sources, some of which this command may have written."""
    if inv.name.split("-")[0] not in ("gcc", "clang", "g++", "clang++", "rustc", "cc", "c++"):
        return ANYTHING
    sources = [inv.written(arg) for arg in inv.args if re.search(r"\.(?:c|cc|cpp|cxx|rs|m|s|S)$", arg.text)]
    for arg in inv.args:
        if re.search(r"\.(?:c|cc|cpp|cxx|rs|m)$", arg.text):
            inv.run_file(arg, "c")
    return Out(None, frozenset({"compiled"})) if all(s is None or s.text is not None for s in sources) else ANYTHING


for _name, _tool in _TOOLS.items():
    program(_name, reads=_name != "openssl")(_judge(_tool))
for _alias, _target in {
    "g++": "gcc",
    "cc": "gcc",
    "c++": "gcc",
    "clang++": "clang",
    "py.test": "pytest",
    "7zz": "7z",
    "pigz": "ar",
    "makeinfo": "ar",
}.items():
    program(_alias, reads=True)(_judge(_TOOLS[_target]))


@program("tar", reads=False)
def tar(inv: Invocation) -> Out | None:
    """Archives: programs in options, absolute names, archives written over something."""
    args = list(inv.args)
    if args and not args[0].text.startswith("-") and re.fullmatch(r"[A-Za-z]+", args[0].text):
        args = _unbundled(args[0].text, args[1:])
    p = inv.with_args(args).options(
        "fCTXIFgHKNVbL",
        "--file --directory --exclude --files-from --use-compress-program --to-command --checkpoint-action "
        "--info-script --new-volume-script --rsh-command --rmt-command --transform --listed-incremental "
        "--exclude-from --strip-components --owner --group --mode --format --warning",
        longs=("--to-stdout", "--checkpoint", "--use-compress"),
    )
    for option in p:
        if any(
            full.startswith(option.name) and len(option.name) > 4
            for full in (
                "--checkpoint-action",
                "--to-command",
                "--info-script",
                "--new-volume-script",
                "--rsh-command",
                "--rmt-command",
            )
        ) and option.name not in ("--checkpoint", "--to-stdout"):
            inv.ask("runs a program: " + option.name)
            if option.value is not None:
                inv.script(option.value.with_text(re.sub(r"^exec=", "", option.value.text)))
        elif option.name in ("-I", "-F") or (
            option.name.startswith("--use") and "--use-compress-program".startswith(option.name)
        ):
            if option.value is not None and not _HELPERS.match(option.value.text):
                inv.ask("runs a program: " + option.value.text[:80])
                inv.script(option.value)
        elif option.name in (
            "--remove-files",
            "--absolute-names",
            "-P",
            "--unlink-first",
            "--recursive-unlink",
            "--overwrite-dir",
        ):
            inv.ask("removes files or writes outside its directory")
    creating = p.has("-c", "--create", "-r", "--append", "-u", "--update")
    if not creating:
        _unpacked(
            inv, [v.text for v in p.values("-C", "--directory")], [v for v in p.values("-f", "--file") if v.text != "-"]
        )
    for value in p.values("-f", "--file"):
        if value.text != "-" and ":" in value.text:
            inv.ask("moves data to another machine")
        elif creating and value.text != "-":
            inv.write(value)
    for value in p.values("-C", "--directory"):
        if not creating:
            inv.write(value, None)
            for place in inv.places(value):
                if place in ("/", "~"):
                    inv.ask("unpacks over " + place)
        else:
            inv.read(value)
    if creating:
        inv.read_all(p.operands)
    extracted = p.has("-O", "--to-stdout") or creating
    return inv.stdin.derived("file") if extracted else ANYTHING


_MAKE_VARIABLES = frozenset("SHELL .SHELLFLAGS MAKEFLAGS MAKE MAKEFILES BASH_ENV LD_PRELOAD PATH".split())


@program(
    "make gmake bmake nmake just task mage doit earthly dagger mk",
    reads=False,
)
def make(inv: Invocation) -> Out | None:
    """Builds: ``SHELL=``, ``--eval``, makefiles from elsewhere or written by this command."""
    p = inv.options(
        "fCIjlowWE",
        "--file --makefile --directory --eval --jobs --include-dir --justfile --working-directory --shell --taskfile",
    )
    if inv.name in ("make", "gmake", "bmake"):
        for value in p.values("--eval", "-E"):
            inv.ask("evaluates a rule from its arguments")
            inv.code("make", value)
    for operand in p.operands:
        name, equals, setting = operand.text.partition("=")
        if equals and name.strip(":+?") in _MAKE_VARIABLES:
            inv.ask(f"sets {name} for every recipe")
        elif equals:
            inv.engine.arm(name, operand.with_text(setting), inv.state)
            if "$(" in setting or "`" in setting:
                inv.code("make", operand)
            if re.search(r"\$\((?!shell)|`|;|\|", setting):
                inv.script(operand.with_text(": " + setting))
    files = p.values("-f", "--file", "--makefile", "--justfile", "--taskfile")
    for file in files or [Arg("Makefile"), Arg("makefile"), Arg("GNUmakefile"), Arg("justfile")]:
        if file.text in ("-", "/dev/stdin", "/dev/fd/0"):
            if inv.stdin.text is None:
                inv.ask("runs a makefile that is not known")
            else:
                inv.code("make", Arg(inv.stdin.text, inv.stdin.tags))
                inv.ask("runs a makefile from its input")
        elif files and file.text.startswith(("/dev/", "/tmp/")) and inv.written(file) is None:
            inv.ask("runs a makefile from " + file.text)
        else:
            inv.run_file(file, "make")
    if p.has("--shell") and inv.name == "just":
        inv.ask("sets the shell for every recipe")
    return ANYTHING


@program(
    "pass gopass bw lpass 1password keepassxc-cli secret-tool security keyring kwallet-query pass-cli rbw dashlane "
    "ykman age gpg gpg2 cmdkey klist chainsaw mimikatz lazagne trufflehog",
    reads=True,
)
def vaults(inv: Invocation) -> Out | None:
    """Password stores and keys."""
    joined = " ".join(inv.texts)
    if inv.name in ("gpg", "gpg2"):
        if re.search(r"--export-secret|--export-options.*backup", joined):
            inv.deny("exports secret keys")
        elif re.search(
            r"--delete-|--batch.*--yes.*--delete|--gen-|--quick-|--decrypt|(?:^|\s)-d\b|--import\b|--edit-key|--pinentry|--passphrase",
            joined,
        ):
            inv.ask("changes keys")
        for value in inv.options("or", ("--output", "--recipient")).values("-o", "--output"):
            inv.write(value)
        return Out(None, inv.stdin.tags | {"decoded"})
    if inv.name == "security":
        if re.search(
            r"dump-keychain|find-(?:generic|internet)-password|export|delete-|add-|unlock-keychain|set-|authorizationdb|import",
            joined,
        ):
            inv.deny("reads or changes the keychain")
        return ANYTHING
    if inv.name == "age" and "-d" not in inv.texts and "--decrypt" not in inv.texts:
        return ANYTHING
    if re.fullmatch(r"(?:--?)?(?:version|help|status|list|ls)", joined or "x") is None or not inv.args:
        inv.deny("reads or changes stored secrets") if inv.name not in ("klist",) else None
    return ANYTHING


@program("op", reads=False)
def onepassword(inv: Invocation) -> Out | None:
    """1Password's command line."""
    if inv.texts[:1] == ["run"] and "--" in inv.texts:
        inv.ask("hands secrets to a program")
        return inv.run(inv.args[inv.texts.index("--") + 1 :])
    if inv.texts[:1] and inv.texts[0] not in ("--version", "whoami", "account", "help"):
        inv.deny("reads or changes stored secrets")
    return ANYTHING


@program(
    "git-credential-osxkeychain git-credential-manager git-credential-store git-credential-cache "
    "git-credential-libsecret git-credential-manager-core docker-credential-desktop docker-credential-osxkeychain "
    "docker-credential-pass docker-credential-secretservice docker-credential-helper",
    reads=False,
)
def credential_helper(inv: Invocation) -> None:
    """Credential helpers print secrets."""
    inv.deny("hands out stored credentials")
