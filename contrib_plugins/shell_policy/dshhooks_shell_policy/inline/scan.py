"""Source of languages without a parser here (JavaScript, Perl, Ruby, PHP, Lua, C ...): tokens that run, remove or connect.

Not a proof: a table of the constructs each language has for leaving the language. Text inside comments is dropped first
where that is safe. Constant commands in the common calls are judged as commands; everything else asks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..paths import Kind, normalize, read_kind, write_kind
from ..patterns import later
from ..values import ANYTHING, UNKNOWN, Arg

if TYPE_CHECKING:
    from ..invocation import Invocation


def _p(pattern: str) -> re.Pattern[str]:
    return later(pattern)


#: Per language: constructs that ask.
_BAD: dict[str, re.Pattern[str]] = {
    "node": _p(
        r"child_process|worker_threads|process\s*\.\s*(?:binding|dlopen|kill|setuid|mainModule|abort|chdir)|process\s*\[|\bexec(?:Sync|File|FileSync)?\s*\(\s*[`'\"]|\bspawn(?:Sync)?\s*\(|\beval\s*\(|\bnew\s+Function\b|\bFunction\s*\(|\.constructor\s*\(\s*['\"]|constructor\s*\[|\bvm\b\s*[.'\"]"
        r"|\b(?:rm|rmdir|unlink|truncate|chmod|chown|symlink|link|rename|cp)(?:Sync)?\s*\(\s*(?!['\"]\.?/?(?:tmp|dist|build|out)\b)|\b(?:rm|rmdir|unlink)\w*\s*\(|require\s*\(\s*(?!['\"`])|import\s*\(\s*(?!['\"`])|globalThis\s*\[|\bnet['\"]|['\"](?:node:)?(?:net|tls|dgram|dns|cluster|repl|inspector|vm|http2)['\"]"
        r"|method\s*:\s*['\"](?:POST|PUT|DELETE|PATCH)|\.request\s*\(|\.post\s*\(|\bDeno\.(?:run|Command|remove|env|writeTextFile|writeFile|connect|listen)|\bBun\.(?:\$|spawn|spawnSync|write)|\$`|process\.env\s*(?:\)|$)|process\.env(?:\.|\[['\"])\w*(?:TOKEN|SECRET|KEY|PASSW|CREDENTIAL)|dotenv.*parsed|JSON\.stringify\s*\(\s*process\.env|Object\.\w+\s*\(\s*process\.env"
    ),
    "perl": _p(
        r"\bfork\b|\b(?:unlink|rmdir)\b\s*(?:[;}]|(?:for|if|unless|or|and)\b|$)|\b(?:system|exec|fork|kill|syscall|unlink|rmdir|rename|symlink|link|chmod|chown|truncate|dbmopen|socket|connect|sysopen|opendir)\b\s*(?:\(|[\"'`$@%{<]|qw?\b|q[qxw]?\s*[{(/|\[]|\d|glob)|`|\bqx\b|\beval\b\s*(?!\{)|\bopen\b\s*\(?\s*(?:my\s*)?[\w$*]+\s*,\s*(?:\"|'|q)?\s*[|>+]|\bopen\b\s*\(?[^;]*\|[\"']|\bopen\b\s*\(?\s*\w+\s*,\s*[\"'][^\"']*[|>]"
        r"|\b(?:IO|File)::(?:Socket|Path|Copy|Temp|Pipe)|\bIPC::|\bSocket\b|\bPOSIX::(?:exec|_exit|system|fork|execv\w*)|\bremove_tree|\brmtree|\bmove\s*\(|\bLWP|\bHTTP::|\bNet::|\brequire\b\s+[\"'$]|\bdo\b\s+[\"'$]|s(?P<d>[/|#!,{]).*(?P=d).*(?P=d)\w*ee|\bInline\b|\bAcme|\bDynaLoader|\bXSLoader|&\{|\bsyscall|&\s*\$|<\s*\$ENV|%ENV\b|\$ENV\{\W?\w*(?:TOKEN|SECRET|KEY|PASS)|\bundef\s*\$_|\*\{|\bpack\b.*\beval"
    ),
    "ruby": _p(
        r"\b(?:system|exec|spawn|fork|syscall|trap|load|abort_on_exception|instance_eval|class_eval|module_eval|binding|define_method|send|__send__|public_send|const_get)\b\s*(?:\(|[\"'`:%*]|\s+[\"'%a-z*])|`|%x|\beval\b|\bIO\.(?:popen|write|binwrite|copy_stream|read\s*\(\s*['\"]\|)|\bOpen3|\bPTY|\bProcess\.|\bKernel\.|\bFileUtils\b|\bFile\.(?:delete|unlink|rename|write|chmod|symlink|truncate|open\s*\([^)]*['\"][wa])"
        r"|\bDir\.(?:delete|rmdir|unlink|rmtree|home)|\bPathname\b.*\b(?:rmtree|delete|unlink)|\.rm_rf|\bTCPSocket|\bTCPServer|\bUDPSocket|\bNet::|\bURI\.open|\bopen\s*\(\s*['\"](?:\||http)|\bSocket\b|\brequire\s*\(?\s*['\"](?:socket|open3|pty|net/|fiddle|open-uri)|\bFiddle|\bDL\b|\bENV\.(?:to_h|each|inspect|map|to_a)|p\s+ENV\s*$|\bMarshal\.load|\bObjectSpace|\bsh\s*[\"(\']|\b(?:delete_all|destroy_all|drop_table|truncate_tables|update_all)\b|\.execute\b|\bunpack1?\b.*\beval|\bCGI\b"
    ),
    "php": _p(
        r"\b(?:system|exec|shell_exec|passthru|popen|proc_open|pcntl_\w+|eval|assert|create_function|unlink|rmdir|rename|chmod|chown|chgrp|symlink|link|mail|dl|fsockopen|pfsockopen|stream_socket_\w+|socket_\w+|curl_\w+|ftp_\w+|ssh2_\w+|putenv|ini_set|call_user_func\w*|array_map|usort|preg_replace_callback|register_shutdown_function|include|include_once|require|file_put_contents|fwrite|copy|move_uploaded_file|base64_decode|gzinflate|str_rot13|phpinfo|posix_\w+|phpversion_x)\s*\("
        r"|getenv\s*\(\s*\)|\bDB::(?:table|statement|unprepared|delete)|->(?:truncate|delete|forceDelete|drop\w*)\s*\(|\bSchema::drop|`|\b(?:include|require)(?:_once)?\s+['\"](?!vendor/|\./vendor/|bootstrap/)|\$\w+\s*\(|\$\{|\bnew\s+\$|\$_ENV|\$_SERVER\s*\)|preg_replace\s*\(\s*['\"].*/\w*e"
    ),
    "lua": _p(
        r"\bos\s*\.\s*(?:execute|remove|rename|exit|tmpname)|\bio\s*\.\s*(?:popen|output)|\bio\s*\.\s*open\s*\([^)]*,\s*['\"][wa]|\bload(?:string|file)?\s*\(|\bdofile|\bpackage\s*\.|\brequire\s*\(?\s*['\"](?:socket|posix|ffi|lfs)|\bdebug\s*\.|\bos\s*\[|\bio\s*\[|\b_G\s*\[|\bffi\b|\bvim\.(?:fn\.system|fn\.delete|cmd|loop|uv|api\.nvim_command)"
    ),
    "tclsh": _p(
        r"\bexec\b|\bopen\s+[\"{]?\||\bfile\s+(?:delete|rename|copy)|\bsocket\b|\beval\b|\bsource\b|\bload\b|\bopen\b.*\b[wa]\+?\b"
    ),
    "expect": _p(r"\bspawn\b|\bexec\b|\bsystem\b|\bopen\b|\bsend\b"),
    "Rscript": _p(
        r"\b(?:system2?|shell|shell\.exec|unlink|file\.remove|file\.rename|file\.copy|source|eval|parse|download\.file|url|socketConnection|pipe|install\.packages|Sys\.setenv|Sys\.getenv\s*\(\s*\)|readRenviron|writeLines|write\.\w+|saveRDS|cat\s*\([^)]*file)\s*\(|processx|callr|sys::"
    ),
    "julia": _p(
        r"\brun\s*\(|`|\brm\s*\(|\bmv\s*\(|\bcp\s*\(|\bpipeline\s*\(|\beval\b|\binclude\b|\bccall\b|\bdownload\b|\bconnect\b|\bopen\s*\([^)]*[\"'][wa]|Meta\.parse|\bENV\s*\)|Pkg\."
    ),
    "osascript": _p(r"."),
    "c": _p(
        r"\b(?:system|popen|exec[lv]\w*|posix_spawnp?|fork|vfork|unlink|unlinkat|rmdir|remove|rename|socket|connect|bind|kill|ptrace|dlopen|chmod|chown|setuid|setgid|mount|umount2?|reboot|syscall|truncate|nftw|fts_open)\s*\(|__attribute__\s*\(\s*\(\s*constructor|\b__asm__|\basm\b|std::process|Command::new|std::net|TcpStream|remove_dir_all|remove_file|fs::remove|libc::|std::filesystem::remove|\bunsafe\b.*extern"
    ),
    "go": _p(
        r"os/exec|exec\.Command|os\.(?:Remove|RemoveAll|Rename|Chmod|Chown|Truncate|StartProcess|Symlink|Link|Environ)|syscall\.|\"net\"|net\.Dial|http\.Post|unsafe|plugin\.Open|cgo|import \"C\""
    ),
    "java": _p(
        r"Runtime|ProcessBuilder|\bFiles\.(?:delete|walk|move|write)|\.delete\s*\(|Socket|URLClassLoader|ScriptEngine|Unsafe|System\.getenv\s*\(\s*\)|HttpURLConnection|reflect|sys\.process|\.!"
    ),
    "groovy": _p(r"\.execute\s*\(|Runtime|ProcessBuilder|\.delete\w*\s*\(|Socket|Eval\.|evaluate\s*\(|URL\s*\("),
    "elixir": _p(
        r"System\.(?:cmd|shell|halt|get_env\s*\(\s*\)|stop)|:os\.cmd|File\.(?:rm|rm_rf|write|rename|cp|chmod)|Code\.eval|\bos:cmd|\bfile:(?:delete|write|del_dir)|open_port|Port\.open|:gen_tcp|:httpc|:init\."
    ),
    "scheme": _p(
        r"(?i)\bsystem\*?\b|run-program|uiop:|shell-command|call-process|start-process|delete-file|delete-directory|open-network|make-network|url-retrieve|\beval\b|execlp?|process-spawn|rename-file|write-region|load-file|run-command|sh\s"
    ),
}
_BAD["ts"] = _BAD["node"]

#: Calls whose constant argument is a shell command.
_COMMAND_CALLS = later(
    r"\b(?:system|exec|execSync|popen|shell_exec|passthru|spawn|io\.popen|os\.execute|shell-command|IO\.popen|system2|run)\s*\(?\s*(?P<q>[\"'`])(?P<c>(?:\\.|(?!(?P=q)).)*)(?P=q)|`(?P<b>[^`$]{2,})`|%x[{(\[](?P<x>[^})\]]*)|qx[{(/](?P<y>[^})/]*)"
)
_STRING = later(r"\"((?:\\.|[^\"\\\n]){2,300})\"|'((?:\\.|[^'\\\n]){2,300})'")
_WRITES = later(r"(?:writeFile|appendFile|createWriteStream|writeTextFile)(?:Sync)?\s*\(\s*(['\"])(.*?)\1")
_SECRET_VARIABLE = later(
    r"(?i)(?:\benv|getenv|get_env|environ)\W{1,4}\w*\W{0,3}[\"']\w*(?:TOKEN|SECRET|API_?KEY|ACCESS_?KEY|PASSW|CREDENTIAL|PRIVATE_?KEY)\w*[\"']"
)
_EMPTIES = later(r"write(?:File|FileSync|TextFile)?\s*\(\s*[\"'][^\"']+[\"']\s*,\s*(?:\"\"|''|``)\s*[),]")
MAX_CODE = 60_000


def judge_tokens(inv: Invocation, language: str, code: Arg, what: str) -> None:
    """Judge source by the table above.

    Args:
        inv: the interpreter's invocation.
        language: a key of the table; unknown languages ask.
        code: the source.
        what: how to call it.
    """
    text = code.text
    pattern = _BAD.get(language)
    if pattern is None or len(text) > MAX_CODE:
        inv.ask(f"runs {what} of {language}, which is not judged here")
        return
    if not code.known and not _harmless_unknown(code):
        inv.dynamic(f"runs {what} that is not known before it runs")
    stripped = _without_comments(language, text)
    found = pattern.search(stripped)
    if found:
        inv.ask(f"runs {what} of {language} that uses {found.group().strip()[:40]!r}")
    if _SECRET_VARIABLE.search(stripped):
        inv.ask(f"runs {what} of {language} that reads a secret from the environment")
    if _EMPTIES.search(stripped):
        inv.ask(f"runs {what} of {language} that empties a file")
    for call in _COMMAND_CALLS.finditer(stripped) if language != "node" or "exec" in stripped else ():
        command = call.group("c") or call.group("b") or call.group("x") or call.group("y")
        if command and found:
            inv.script(command.replace('\\"', '"').replace(UNKNOWN, "x"))
    _judge_strings(inv, text, language)


def _harmless_unknown(code: Arg) -> bool:
    from ..invocation import _DATA_TAGS

    return code.text.strip() != UNKNOWN and all(
        tag in _DATA_TAGS or tag.startswith(("env:", "var:", "from:")) for tag in code.tags
    )


def _without_comments(language: str, text: str) -> str:
    if language in ("node", "ts", "c", "go", "java", "groovy", "php"):
        return re.sub(r"(?m)(?:^|(?<=\s))//[^\n]*$", "", re.sub(r"/\*(?:(?!\*/).)*\*/", " ", text, flags=re.DOTALL))
    if language in ("perl", "ruby", "Rscript", "julia"):
        return re.sub(r"(?m)^\s*#[^\n]*$", "", text)
    return text


def _judge_strings(inv: Invocation, text: str, language: str) -> None:
    for groups in _STRING.findall(text):
        value = groups[0] or groups[1]
        if not re.search(r"[/.~]", value) or " " in value.strip():
            continue
        place = normalize(value.lstrip(">").lstrip("/") if value.startswith((">", "//")) else value)
        kind = read_kind(place)
        if kind is Kind.SECRET:
            inv.deny(f"the code names {value}: {kind.value}")
        elif kind is Kind.MAYBE_SECRET and language != "c":
            inv.ask(f"the code names {value}: {kind.value}")
        elif value.startswith(("/", "~", ".", ">")) and write_kind(place) in (
            Kind.PERSISTENCE,
            Kind.POLICY,
            Kind.DEVICE,
        ):
            inv.ask(f"the code names {value}: {write_kind(place).value}")  # type: ignore[union-attr]
    for _quote, name in _WRITES.findall(text):
        inv.write(Arg(name), ANYTHING)
