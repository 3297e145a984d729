"""Database clients: queries pass, destruction and escapes to the shell do not."""

from __future__ import annotations

import re

from ..inline.sql import judge_sql
from ..invocation import Invocation
from ..patterns import later
from ..registry import program
from ..values import Arg, Out

#: Options of each client that carry SQL or commands, and those that only take a value.
_QUERY = {
    "psql": (
        ("-c", "--command"),
        "cdfhpUvFRTPoLW",
        (
            "--command",
            "--dbname",
            "--file",
            "--host",
            "--port",
            "--username",
            "--set",
            "--output",
            "--variable",
            "--log-file",
        ),
    ),
    "mysql": (
        ("-e", "--execute"),
        "ehPuDS",
        ("--execute", "--host", "--port", "--user", "--database", "--socket", "--init-command", "--pager"),
    ),
    "sqlite3": (("-cmd", "--cmd"), "", ("-cmd", "--cmd", "-separator", "-nullvalue", "-newline", "-init", "--init")),
    "duckdb": (("-c", "-s", "-cmd"), "cs", ("-cmd", "-init")),
    "clickhouse-client": (
        ("-q", "--query"),
        "qhud",
        ("--query", "--host", "--user", "--database", "--password", "--port", "--format", "--multiquery"),
    ),
    "cqlsh": (("-e", "--execute"), "eufkp", ("--execute", "--file", "--username", "--keyspace")),
    "sqlcmd": (("-Q", "-q"), "QqSUPdio", ()),
    "snowsql": (("-q", "--query"), "qfcaud", ("--query", "--filename", "--connection")),
    "usql": (("-c", "--command"), "cfo", ("--command", "--file", "--out")),
    "pgcli": (("-e",), "ehpUd", ()),
    "mycli": (("-e", "--execute"), "ehPuD", ("--execute",)),
    "litecli": (("-e", "--execute"), "eD", ("--execute",)),
    "trino": (("--execute",), "", ("--execute", "--file", "--server", "--catalog", "--schema")),
    "presto": (("--execute",), "", ("--execute", "--file", "--server")),
    "beeline": (("-e",), "euf", ()),
    "hive": (("-e",), "ef", ()),
    "spark-sql": (("-e",), "ef", ()),
    "isql": ((), "", ()),
    "cockroach": (("-e", "--execute"), "e", ("--execute", "--url", "--host")),
    "influx": (("-execute", "--execute"), "", ("-execute", "--execute", "-host", "-database")),
}


@program(*_QUERY, "sqlplus", "osql", "tsql", reads=False)
def client(inv: Invocation) -> Out | None:
    """Judges the SQL given as option, operand or standard input."""
    queries, values, long_values = _QUERY.get(inv.name, ((), "", ()))
    p = inv.options(values, long_values, single_dash=inv.name in ("sqlite3", "influx"))
    found = [*p.values(*queries), *p.values("--init-command", "--sql", "--statement")]
    for value in p.values("--pager", "--editor"):
        inv.script(value)
    if inv.name in ("sqlite3", "duckdb", "isql", "litecli"):
        found += list(p.operands[1:])
        for operand in p.operands[:1]:
            inv.read(operand)
    for value in [*p.values("-f", "--file", "-i", "-init", "--init", "--filename")]:
        content = inv.written(value)
        if content is not None and content.text is not None:
            found.append(Arg(content.text))
        elif _HARMLESS_FILE.search(value.text):
            continue
        else:
            inv.ask("runs a file of statements")
    for value in p.values("-o", "--output", "-L", "--log-file", "--out"):
        if value.text.startswith("|"):
            inv.script(value.with_text(value.text[1:]))
        else:
            inv.write(value)
    for value in found:
        judge_sql(inv, value)
    if inv.name in ("sqlplus", "isql", "osql", "tsql") and any(text.startswith("@") for text in inv.texts):
        inv.ask("runs a file of statements")
    if not found:
        _from_stdin(inv)
    if inv.name in ("influx", "cockroach") and re.search(
        r"(?i)\b(?:delete|drop|decommission|remove)\b", " ".join(inv.texts)
    ):
        inv.ask("removes data")
    return Out(None, frozenset({"database"}))


#: Files of statements that build something up; others may tear down.
_HARMLESS_FILE = later(
    r"(?i)(?:^|[/:_.-])(?:schema|seeds?|init|fixtures?|create|setup|structure|tables?|up|sample|demo|test\w*|data)(?:[_.-]\w+)*\.sql(?:\.gz)?$"
)


def _from_stdin(inv: Invocation) -> None:
    stdin = inv.stdin
    if stdin.text is not None:
        judge_sql(inv, Arg(stdin.text, stdin.tags))
    elif stdin.tags and not any(tag.startswith("from:") and _HARMLESS_FILE.search(tag) for tag in stdin.tags):
        inv.ask("runs statements that are not known")


@program(
    "dropdb dropuser mysqladmin pg_restore mongorestore mysqlimport pg_resetwal initdb pg_ctl pg_dropcluster "
    "createuser redis-server mongoimport clickhouse rabbitmqctl kafka-topics kafka-topics.sh "
    "kafka-delete-records.sh nodetool pgbench pg_dropuser",
    reads=True,
)
def admin(inv: Invocation) -> None:
    """Administration commands."""
    words = " ".join(inv.texts)
    for value in inv.options("D", "--pgdata").values("-D", "--pgdata") if inv.name == "initdb" else ():
        inv.write(value, None)
    destroys = {
        "mysqladmin": r"\b(?:drop|shutdown|flush|password|kill|create)\b",
        "pg_restore": r"--clean|(?:^| )-c\b|-d\b|--dbname",
        "mongorestore": r".",
        "mysqlimport": r"--delete|--replace",
        "mongoimport": r"--drop",
        "pg_ctl": r"\b(?:stop|restart|kill|promote|init)\b",
        "redis-server": r"--(?:loadmodule|dir|dbfilename)",
        "clickhouse": r"(?i)\b(?:drop|truncate|delete)\b",
        "rabbitmqctl": r"\b(?:delete|purge|reset|stop|force|forget|clear)\w*",
        "kafka-topics": r"--delete",
        "kafka-topics.sh": r"--delete",
        "nodetool": r"\b(?:decommission|removenode|assassinate|clearsnapshot|truncatehints)\b",
        "pgbench": r"(?:^| )-i\b",
        "initdb": r"(?!)",
    }
    if re.search(destroys.get(inv.name, r"^"), words):
        inv.ask("removes or overwrites data")


_REDIS_WRITES = later(
    r"(?i)^(?:flushall|flushdb|del|unlink|config|debug|shutdown|slaveof|replicaof|migrate|restore|eval|evalsha|script|module|rename|swapdb|failover|cluster|acl|save|bgsave|bgrewriteaof|function|client)$"
)


@program("redis-cli", "keydb-cli", reads=False)
def redis(inv: Invocation) -> Out | None:
    """Reads and plain writes pass."""
    p = inv.options("hpnausi", "--user --pass --rdb --pipe-timeout --eval --scan-pattern --pattern")
    words = [arg.text for arg in p.operands]
    safe_client = (
        len(words) > 1
        and words[0].lower() in ("config", "client", "cluster", "acl", "script", "function")
        and words[1].lower() in ("get", "list", "info", "nodes", "whoami", "exists", "slots", "id", "getname")
    )
    if words and _REDIS_WRITES.match(words[0]) and not safe_client:
        inv.ask(f"{words[0]} removes data or configures the server")
    if p.has("--eval", "--pipe", "--rdb", "--cluster"):
        inv.ask("runs scripts or bulk commands")
    for value in p.values("--rdb"):
        inv.write(value)
    if (not words and inv.stdin.tags) or (not words and inv.stdin.text):
        lines = (inv.stdin.text or "flushall").splitlines()
        if any(_REDIS_WRITES.match((line.split() or [""])[0]) for line in lines):
            inv.ask("runs commands that remove data or are not known")
    return Out(None, frozenset({"database"}))


_MONGO_BAD = later(
    r"\b(?:drop\w*|delete\w*|remove|deleteMany|renameCollection|shutdownServer|createUser|updateUser|grantRolesToUser|runCommand|adminCommand|updateMany|replaceOne|findAndModify|findOneAndDelete|bulkWrite|copyTo|eval|load|child_process|require|process|fs|spawn|exec\w*)\s*(?:\(|\.|\[)"
)


@program("mongosh", "mongo", reads=False)
def mongo(inv: Invocation) -> Out | None:
    """The shell's code is JavaScript."""
    p = inv.options("hup", "--eval --host --username --password --file -f --port")
    code = [value.text for value in p.values("--eval")]
    if inv.stdin.text is not None and not code:
        code.append(inv.stdin.text)
    if any(_MONGO_BAD.search(text) for text in code):
        inv.ask("removes or changes data")
    if p.values("--file", "-f") or any(operand.text.endswith(".js") for operand in p.operands):
        inv.ask("runs a file of statements")
    if inv.stdin.text is None and inv.stdin.tags and not code:
        inv.ask("runs statements that are not known")
    return Out(None, frozenset({"database"}))


_TASK_BAD = later(
    r"(?:^|[\s:])(?:(?:db|database|migrate|ecto|schema|doctrine:\w+|sequelize)[:.](?:drop\w*|reset\w*|wipe|fresh|refresh|purge|truncate\w*|rollback|force|undo:all|schema:load|setup:force|migrate:(?:undo|reset|down)\S*)|db:migrate:undo:all|flush|reset_db|sqlflush|reset-db|drop-db|dropdb|drop-all|database drop)(?:$|[\s:])"
    r"|migrate\s+reset|--force-reset|migrate\s+\S+\s+zero|db\s+(?:drop|reset|wipe)|downgrade\s+(?:base|-\d)|\bmigrate:rollback|prune\b.*--force|--accept-data-loss|push\b.*--force|schema:drop|database:drop"
)


def judge_task(inv: Invocation, words: str) -> None:
    """Judge the words given to a framework's task runner (``rails``, ``manage.py``, ``artisan``, ``prisma`` ...)."""
    if _TASK_BAD.search(words):
        inv.ask("drops or resets a database")


@program(
    "rails rake prisma sequelize knex typeorm drizzle-kit artisan alembic flask django-admin mix ecto sequelize-cli "
    "goose dbmate migrate flyway liquibase sqlx diesel atlas hasura dbt aerich phinx doctrine mikro-orm wp drush "
    "thor invoke inv",
    reads=False,
)
def task_runner(inv: Invocation) -> Out | None:
    """Framework task runners."""
    words = " ".join(inv.texts)
    judge_task(inv, words)
    if re.search(
        r"(?:^|\s)(?:runner|eval|r|console -c|-e|run -e|shell -c|php-eval|php:eval|ev)\s", words + " "
    ) and inv.name in ("rails", "mix", "rake", "drush", "wp"):
        language = {"rails": "ruby", "rake": "ruby", "drush": "php", "wp": "php"}.get(inv.name, "ruby")
        inv.code(language, inv.args[-1])
    if inv.name == "rake" and "-e" in inv.texts[:-1]:
        inv.code("ruby", inv.args[inv.texts.index("-e") + 1])
    if inv.stdin.text is not None:
        if inv.name == "prisma" and "execute" in inv.texts:
            inv.code("sql", Arg(inv.stdin.text, inv.stdin.tags))
        elif inv.name in ("flask", "rails") and {"shell", "console", "c"} & set(inv.texts):
            inv.code("python" if inv.name == "flask" else "ruby", Arg(inv.stdin.text, inv.stdin.tags))
        elif {"dbshell", "dbconsole", "db"} & set(inv.texts):
            inv.code("sql", Arg(inv.stdin.text, inv.stdin.tags))
    for index, arg in enumerate(inv.args):
        if re.match(r"--?(?:execute|eval|sql|statement)=", arg.text):
            inv.code("php", arg.with_text(arg.text.split("=", 1)[1]))
        elif arg.text in ("--execute", "--eval") and index + 1 < len(inv.args):
            inv.code("php", inv.args[index + 1])
    if re.search(r"(?:^|\s)(?:sql-(?:drop|create)|db execute|metadata clear|stamp|down-to|drop)(?:\s|$)", words):
        inv.ask("changes or drops a database")
    if inv.name in ("dbmate", "goose", "migrate", "diesel", "sqlx", "flyway", "liquibase", "atlas") and re.search(
        r"(?:^|\s)(?:drop\w*|down|reset|redo|clean|database\s+(?:drop|reset)|rollback\w*|force)(?:\s|$)", words
    ):
        inv.ask("drops or resets a database")
    return None
