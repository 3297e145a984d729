"""Text tools: searches, filters and queries whose options run programs or write files."""

from __future__ import annotations

import re

from ..invocation import Invocation
from ..paths import is_broad, is_outside, read_kind
from ..registry import program
from ..values import UNKNOWN, Arg, Out


@program(
    "grep rg ag ack ugrep zgrep pt",
    reads=False,
)
def grep(inv: Invocation) -> Out | None:
    """Searches: the pattern is data, the files are read, some options run programs."""
    p = inv.options(
        "efABCmgtTMjdD" if inv.name != "grep" else "efABCmdD",
        "--regexp --file --glob --type --type-not --max-count --context --after-context --before-context "
        "--include --exclude --exclude-dir --color --pre --pre-glob --hostname-bin --ignore-file --max-depth "
        "--pager --sort --replace --engine --threads",
        longs=("--pretty", "--pcre2", "--no-ignore"),
    )
    if inv.name != "grep" and any(
        option.name in ("--pre", "--hostname-bin", "--pager", "--search-zip-command")
        or (option.name.startswith("--pre") and option.name not in ("--pretty", "--pre-glob"))
        for option in p
    ):
        inv.ask("runs a program on every file")
    files = p.operands if p.has("-e", "--regexp", "-f", "--file", "--files", "--type-list") else p.operands[1:]
    inv.read_all([*files, *p.values("-f", "--file")])
    pattern = " ".join(a.text for a in [*p.operands[:1], *p.values("-e", "--regexp")])
    recursive = inv.name in ("rg", "ag", "ack") or p.has("-r", "-R", "--recursive", "--dereference-recursive")
    if (
        any(
            place in ("~", "/", "~/.config") or (place.startswith("/etc") and recursive and place == "/etc")
            for f in files
            for place in inv.places(f)
        )
        and recursive
        and re.search(r"(?i)passw|secret|token|api.?key|private key|BEGIN|credential|AKIA|ghp_|sk-", pattern)
    ):
        inv.ask("searches the whole home or machine for secrets")
    if (
        "environment" in inv.stdin.tags
        and re.search(r"(?i)passw|secret|token|key|cred|auth|private|\bpat\b|aws|github|gh_|openai|anthropic", pattern)
        and not p.has("-v", "--invert-match")
    ):
        inv.ask("looks for secrets in the environment")
    if (
        inv.stdin.tags & {"docker", "cluster", "cloud"}
        and re.search(r"(?i)passw|secret|private.?key", pattern)
        and not p.has("-v", "--invert-match")
    ):
        inv.ask("looks for secrets in what runs")
    if "history" in inv.stdin.tags and re.search(r"(?i)pass|secret|token|key|cred|auth", pattern):
        inv.ask("looks for secrets in the history")
    return inv.stdin.derived("file") if files else inv.stdin.derived()


@program(
    "strings xxd hexdump od base64 base32 basenc uuencode uudecode rev tr cut paste column fold fmt expand unexpand "
    "uniq comm join wc md5sum sha1sum sha256sum shasum cksum gzip gunzip bzip2 bunzip2 xz unxz zstd lz4 numfmt shuf "
    "tsort",
)
def filters(inv: Invocation) -> Out | None:
    """Text filters: what they print comes from what they read."""
    if "environment" in inv.stdin.tags and inv.name in (
        "base64",
        "base32",
        "xxd",
        "hexdump",
        "od",
        "gzip",
        "xz",
        "uuencode",
        "rev",
    ):
        inv.ask("encodes the environment")
    if inv.name in ("uniq", "xxd"):
        operands = inv.options("fswlcogs").operands
        for target in operands[1:2]:
            inv.write(target)
    if inv.name in ("base64", "uudecode", "shuf"):
        for value in inv.options("owbin", ("--output", "--wrap")).values("-o", "--output"):
            inv.write(value)
    if inv.name in _COMPRESSORS and any(re.match(r"-\w*r|--recursive|--rm", text) for text in inv.texts):
        for arg in inv.args:
            if any(is_broad(place) or is_outside(place) for place in inv.places(arg) if not arg.text.startswith("-")):
                inv.ask("replaces every file of " + arg.text)
    if inv.name in ("gunzip", "bunzip2", "unxz") and not {"-c", "--stdout", "-k", "-t", "-l"} & set(inv.texts):
        for arg in inv.args:
            inv.write(arg.with_text(re.sub(r"\.(?:gz|bz2|xz)$", "", arg.text)), Out(None, frozenset({"file"})))
    return inv.stdin.derived("file" if any(not a.text.startswith("-") for a in inv.args) else "filtered")


_COMPRESSORS = ("gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "lz4")


@program("jq", "yq", "dasel", "gron", "xq", reads=False)
def query(inv: Invocation) -> Out | None:
    """The first operand is a filter; ``env`` in it is the environment."""
    p = inv.options("fL", ("--from-file", "--indent"))
    operands = list(p.operands)
    program_text = operands.pop(0).text if operands and not p.has("-f", "--from-file") else ""
    if re.search(r"(?<![.\w\"'])env\b(?!\s*[:=])|\$ENV\b|strenv|envsubst", program_text):
        inv.ask("prints the environment")
    inv.read_all([*operands, *p.values("-f", "--from-file")])
    inv.read_all(Arg(path) for path in re.findall(r"\bload\w*\(\s*[\"']([^\"']+)", " ".join(inv.texts)))
    for index, text in enumerate(inv.texts):
        if text in ("--slurpfile", "--rawfile") and index + 2 < len(inv.args):
            inv.read(inv.args[index + 2])
    if inv.name == "yq" and any(re.match(r"-\w*i|--inplace|--in-place", text) for text in inv.texts):
        for target in operands or p.operands:
            inv.write(target, None)
    kept = operands and operands[0].text == "package.json" and not re.search(r"scripts|\.\[", program_text)
    return inv.stdin.derived("file" if operands else "filtered", *(["filtered"] if kept else []))


_METADATA_ONLY = "ls stat file du tree eza exa lsd df"


@program(_METADATA_ONLY, reads=False)
def metadata(inv: Invocation) -> Out | None:
    """Show names and sizes, not contents; the names of secrets stay marked."""
    if inv.name == "file":
        inv.read_all(inv.options("f", ("--files-from",)).values("-f", "--files-from"))
    if inv.name == "file" and {"-C", "--compile"} & set(inv.texts):
        inv.ask("compiles a magic file")
    if inv.name == "tree":
        for value in inv.options("oLIPH").values("-o"):
            inv.write(value)
    secret = {
        "path:" + arg.text
        for arg in inv.args
        if inv.name == "ls" and any(read_kind(place) for place in inv.places(arg))
    }
    return Out(None, frozenset({"file"} | secret))


@program("sort", reads=True)
def sort(inv: Invocation) -> Out | None:
    """``-o`` writes, ``--compress-program`` runs."""
    p = inv.options(
        "okStT",
        "--output --key --field-separator --compress-program --temporary-directory --files0-from "
        "--buffer-size --random-source --parallel --batch-size",
    )
    for value in p.values("-o", "--output"):
        inv.write(value)
    for value in p.values("--compress-program"):
        if value.text not in ("gzip", "zstd", "lz4", "bzip2", "xz", "lzop", "pigz"):
            inv.ask("runs a program: " + value.text.replace(UNKNOWN, "…"))
    return inv.stdin.derived()
