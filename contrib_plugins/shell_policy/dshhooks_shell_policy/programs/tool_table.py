"""Everyday tools with options that run programs or write files, as one table."""

from __future__ import annotations

import attrs

from ..patterns import later

HELPERS = later(
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


TOOLS: dict[str, Tool] = {
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
    "pylint": Tool("", ("--init-hook", "--load-plugins", "--rcfile")),
    "restic": Tool("", (), asks=r"forget|prune|rewrite|key|unlock|restore", reason="removes or rewrites backups"),
    "borg": Tool("", (), asks=r"delete|prune|compact|recreate|key|break-lock", reason="removes or rewrites backups"),
    "duplicity": Tool("", (), asks=r"remove-.*|cleanup|--force", reason="removes or rewrites backups"),
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
    "import": Tool("", (), asks=r"-window|.*\.(?:png|jpe?g|gif)", reason="records the screen"),
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
    "diff": Tool("", (), asks=r""),
    "sdiff": Tool("o", ("--diff-program", "--output"), runs=("--diff-program",), writes=("-o", "--output")),
    "diff3": Tool("", ("--diff-program",), runs=("--diff-program",)),
    "cmp": Tool(),
    "watchman": Tool("", (), asks=r"trigger.*|.*-j.*"),
    "inotifywait": Tool("o", (), writes=("-o",)),
    "aspell": Tool("", (), asks=r"--\w*filter.*|--conf=.*"),
    "gpg-agent": Tool("", (), asks=r".*"),
    "wasmtime": Tool("", (), asks=r"--dir=/.*"),
    **{
        name: Tool(
            "",
            (),
            asks=r"[/~].*|\.\..*|--(?:root|path|directory)=[/~].*",
            reason="serves a directory outside the workspace",
        )
        for name in "http-server serve live-server miniserve twistd webfsd darkhttpd dufs sirv filebrowser woof updog".split()
    },
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
