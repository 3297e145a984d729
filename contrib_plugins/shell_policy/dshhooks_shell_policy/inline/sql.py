"""SQL and the commands of database shells, by statement."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..patterns import later
from ..values import UNKNOWN, Arg

if TYPE_CHECKING:
    from ..invocation import Invocation

_STRING_OR_COMMENT = later(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\$(\w*)\$.*?\$\1\$|--[^\n]*|/\*(?!!).*?\*/", re.DOTALL)
_DESTROYS = later(
    r"(?i)\b(?:drop\s+(?:table|database|schema|view|index|keyspace|user|role|column|collection|materialized|sequence|function|type|extension|owned|trigger|policy|publication|tablespace|stream|stage|warehouse)"
    r"|truncate\b|alter\s+(?:table|database|user|role|system)\b.*\b(?:drop|rename\s+to|superuser|password|set\s+unlogged|disable)|alter\s+system|grant\b|revoke\b|create\s+(?:user|role)\b.*(?:superuser|identified|password)|set\s+password|shutdown\b|vacuum\s+full|reset\s+master|purge\s+binary"
    r"|attach\s+database|load_extension|create\s+(?:or\s+replace\s+)?function\b.*\blanguage\s+(?:c|plpythonu?|plpython3u|plperlu|plsh)|create\s+extension\b.*\b(?:pl\w+u|file_fdw|dblink|adminpack|postgres_fdw|http|pg_net|aws_\w+)|create\s+(?:server|foreign\s+table|subscription)|dblink\s*\(|pg_shadow|pg_authid|pg_user_mapping|mysql\.user\b|authentication_string|sys\.sql_logins|dba_users|pg_read_file|pg_ls_dir|lo_import|lo_export|pg_terminate_backend|pg_reload_conf|xp_cmdshell|sp_oacreate|dbms_scheduler|utl_http|readfile|writefile|edit\s*\(|load_file|into\s+(?:out|dump)file|load\s+data\b|copy\b.*\bprogram\b|copy\b.*\bto\s+'|sys_exec|sys_eval|install\s+\w+|force\s+install|read_\w+\s*\(\s*'[^']*\|\s*'|pragma\s+writable_schema|delete\s+from\s+(?:mysql|pg_)|update\s+(?:mysql|pg_)\.)"
)
_DELETE = later(r"(?is)\bas\s*\(\s*delete\b|^\s*(?:with\b.*?\)\s*)?(?:explain\s+(?:analyze\s+)?)?delete\b")
_UPDATE = later(r"(?is)^\s*(?:with\b.*?\)\s*)?(?:explain\s+analyze\s+)?update\s+[\w.\"`\[\]]+\s+(?:as\s+\w+\s+)?set\b")
_WHERE = later(r"(?is)\bwhere\b(?!\s+(?:true|1\s*=\s*1|1|not\s+false)\s*(?:$|;))")
_SHELL = later(
    r"(?im)^\s*(?:\\!|\.shell\b|\.system\b|\.sh\b|system\s|\\system\b|!!?\s*\w|host\s|\.load\b|\.restore\b|\.recover\b|\.import\s+['\"]?\||\.output\s+['\"]?\||\.once\s+['\"]?\||\.log\b|\.cd\b|\.archive\b|\.excel\b|\.www\b)"
)
_META_FILE = later(
    r"(?im)^\s*(?:\.output|\.once|\.backup|\.save|\.dump>|\.read|\.restore|\.open|\\o|\\i|\\ir|\\w|\\g|\.clone|source|tee)\s+(\S+)"
)
_META_PROGRAM = later(
    r"(?i)\\copy\b.*\bprogram\b|\\g\s*\||\\o\s*\||\\setenv\s+(?:PAGER|PSQL_\w+|EDITOR)|\bpager\s+\S|\\gexec|\\watch|\.read\s+\||`[^`]*`\s*$"
)


def judge_sql(inv: Invocation, code: Arg) -> None:
    """Judge statements given to a database client.

    Args:
        inv: the client.
        code: its input; unresolved pieces count as values.
    """
    text = code.text
    if text.strip() == UNKNOWN:
        inv.dynamic("runs statements that are not known")
        return
    for found in re.finditer(r"(?im)^\s*(?:\\!|\.shell|\.system|\.sh\b|system|\\system|host)\s+(.*)$", text):
        inv.ask("leaves the database for the shell")
        inv.script(found.group(1))
    if _SHELL.search(text) or _META_PROGRAM.search(text):
        inv.ask("leaves the database for the shell or loads code")
    for found in _META_FILE.finditer(text):
        target = found.group(1).strip("'\";")
        if target not in ("stdout", "off", "stderr"):
            _file(inv, found.group(), Arg(target), text)
    for path in re.findall(r"(?i)\b(?:attach(?:\s+database)?|vacuum\s+into|backup\s+to)\s+'([^']+)'", text):
        inv.write(Arg(path), None)
    for statement in _STRING_OR_COMMENT.sub(" '' ", text).split(";"):
        _statement(inv, statement)
    for raw in re.findall(
        r"(?is)read_\w+\s*\(\s*'[^']*\|\s*'|/\*!.*?\*/|\bprogram\s+'[^']*'|\bexecute\s+'[^']*'|\bprepare\b.*\bfrom\s+'[^']*'",
        text,
    ):
        if _DESTROYS.search(raw) or re.match("program|read_", raw.lower()) or re.search(r"(?i)delete|update", raw):
            inv.ask("hides a statement in a string or comment")


def _file(inv: Invocation, command: str, target: Arg, text: str) -> None:
    """A file the client writes, or statements it reads from one this command wrote."""
    if not re.match(r"(?i)\s*(?:\.read|\\i|\.open|\.restore|source)", command):
        inv.write(target, None)
        return
    content = inv.read(target)
    if content.text is not None and content.text != text:
        judge_sql(inv, Arg(content.text, content.tags))


def _statement(inv: Invocation, statement: str) -> None:
    if _DESTROYS.search(statement):
        inv.ask("destroys data, changes rights or reaches the file system")
    elif (_DELETE.search(statement) or _UPDATE.match(statement)) and not _WHERE.search(statement):
        inv.ask("changes every row of a table")
    elif _DELETE.search(statement):
        inv.ask("deletes rows")
