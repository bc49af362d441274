"""Serves fakesnow, a Snowflake look-alike on DuckDB, over HTTP; a program of its own: PORT.

What fakesnow lacks of what dbt-snowflake and the loader send is put right here, so that both are what users
run.
"""

from __future__ import annotations

import re
import shutil
import sys
import threading
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import duckdb
import fakesnow.arrow
import fakesnow.copy_into
import fakesnow.cursor
import fakesnow.info_schema
import fakesnow.macros
import fakesnow.server
import pyarrow as pa
import pyarrow.compute as pc
import uvicorn
from fakesnow.cursor import FakeSnowflakeCursor
from fakesnow.dialect import parse_one
from fakesnow.instance import FakeSnow
from fakesnow.transforms import stage
from snowflake.connector.errors import ProgrammingError
from sqlglot import exp
from starlette.responses import JSONResponse

_execute = FakeSnowflakeCursor.execute
_copy_into = fakesnow.copy_into.copy_into
_source_glob = fakesnow.copy_into._source_glob
_pattern = threading.local()
_creation_sql = fakesnow.macros.creation_sql
_insert_table_comment_sql = fakesnow.info_schema.insert_table_comment_sql
_timestamp_to_sf_struct = fakesnow.arrow.timestamp_to_sf_struct


# Functions that fakesnow lacks or has otherwise, made in each database. In a variant, an object keeps the
# last of equal keys, and is written with its keys sorted; fakesnow takes the escapes out of a pattern twice.
_FUNCTIONS = """
create or replace macro {catalog}._parse_json(text) as cast(json_normalize(
    case
        when len(json_keys(try_cast(text as json))) > len(list_distinct(json_keys(try_cast(text as json))))
            then cast(cast(try_cast(text as json) as variant) as json)
        else try_cast(text as json)
    end
) as json);
create or replace macro {catalog}._regexp_replace(text, pattern, replacement) as
    regexp_replace(text, pattern, replacement, 'g');
create or replace macro {catalog}.is_object(value) as json_type(value) = 'OBJECT';
create or replace macro {catalog}.as_varchar(value) as
    case when json_type(value) = 'VARCHAR' then value ->> '$' end;
"""


def creation_sql(catalog: str) -> str:
    """Return what makes the functions of a database.

    fakesnow's flatten reads a key as a path into the object: `$.x` would be the key x.
    """
    functions = str(_creation_sql(catalog))
    member = "TO_JSON(input) -> x"
    assert member in functions
    by_place = "(TO_JSON(input) -> '$.*')[list_position(json_keys(TO_JSON(input)), x)]"
    return functions.replace(member, by_place) + _FUNCTIONS.format(catalog=catalog)


# https://docs.snowflake.com/en/sql-reference/sql/drop-stage and https://docs.snowflake.com/en/sql-reference/sql/remove
_DROP_STAGE = re.compile(r"drop\s+stage\s+(?:if\s+exists\s+)?(?P<name>[\w.]+)", re.IGNORECASE)
_ABORT = re.compile(r"select\s+system\$abort_transaction\(\d+\)", re.IGNORECASE)
_REMOVE = re.compile(r"remove\s+@(?P<name>[\w.]+)(?P<path>/\S*)?", re.IGNORECASE)


def execute(
    cursor: FakeSnowflakeCursor, command: str, *arguments: Any, **options: Any
) -> FakeSnowflakeCursor:
    """Execute a statement; one that fails ends its transaction, in which DuckDB would refuse all others."""
    try:
        if _ABORT.fullmatch(command):
            command = _without_transactions(cursor)
        for form in (_DROP_STAGE, _REMOVE):
            if found := form.fullmatch(command):
                command = _without_stage(cursor, found)
        return _execute(cursor, command, *arguments, **options)
    except Exception as error:
        try:
            cursor._duck_conn.execute("select 1")
        except duckdb.Error:
            cursor._duck_conn.rollback()
            cursor._conn._in_transaction = False
        raise _as_of_snowflake(error) from error


def _without_stage(cursor: FakeSnowflakeCursor, found: re.Match[str]) -> str:
    """Remove a stage, or files of it; return a statement that says so."""
    parts = stage.parts_from_var(found["name"], cursor._conn.database, cursor._conn.schema)
    path = str(found.groupdict().get("path") or "").strip("/")
    shutil.rmtree(stage.internal_dir(".".join(parts), path), ignore_errors=True)
    if found.re is _DROP_STAGE:
        cursor._duck_conn.execute(
            "delete from _fs_global._fs_information_schema._fs_stages"
            " where (database_name, schema_name, name) = (?, ?, ?)",
            parts,
        )
    return "select 'removed' as result"


def _without_transactions(cursor: FakeSnowflakeCursor) -> str:
    """End the transactions of all other sessions, whose numbers fakesnow has not; return what says so."""
    for session in fakesnow.server.sessions.values():
        if session is not cursor._conn:
            with suppress(duckdb.Error):
                session._duck_conn.rollback()
    return "select 'aborted' as result"


def _as_of_snowflake(error: Exception) -> Any:
    """Return an error with the number that Snowflake gives it, where fakesnow has another."""
    if isinstance(error, duckdb.TransactionException) and "onflict" in str(error):
        # Snowflake waits for the other transaction, up to LOCK_TIMEOUT, and then says so.
        return ProgrammingError(msg=f"Lock timeout: {error}", errno=625, sqlstate="57014")
    if isinstance(error, ProgrammingError) and "already exists" in str(error.msg):
        return ProgrammingError(msg=error.msg, errno=2002, sqlstate="42710")
    return error


def copy_into(connection: Any, database: str, schema: str, statement: exp.Copy, *others: Any) -> str:
    """Copy only those files whose path matches the statement's pattern."""
    parameters = statement.args.get("params") or []
    _pattern.text = next(
        (each.expression.name for each in parameters if each.name.upper() == "PATTERN"), None
    )
    statement.set("params", [each for each in parameters if each.name.upper() != "PATTERN"])
    return str(_copy_into(connection, database, schema, statement, *others))


def source_glob(source: str, connection: Any) -> list[str]:
    """List the files of a stage that match the pattern of the statement, if it has one."""
    pattern = getattr(_pattern, "text", None)
    return [file for file in _source_glob(source, connection) if not pattern or re.fullmatch(pattern, file)]


class Answer(JSONResponse):
    """An answer of the server; what it does not understand is an SQL error.

    After an HTTP error the connector would try the statement again, for ever.
    """

    def __init__(self, content: dict[str, Any], status_code: int = 200) -> None:
        if status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            content |= {"data": {"sqlState": "XX000", "errorCode": content["code"]}}
            status_code = HTTPStatus.OK
        super().__init__(content, status_code)


def parse(command: str) -> Any:
    """Parse a statement, and put it as DuckDB understands it."""
    statement = parse_one(command)
    if isinstance(statement, exp.Create):
        _create_qualified_temporary_relations_as_others(statement)
    elif isinstance(statement, exp.Merge):
        _qualify_source_columns(statement)
    for call in statement.find_all(exp.ParseJSON):
        call.replace(exp.func("_parse_json", call.this))
    for call in statement.find_all(exp.RegexpReplace):
        call.replace(exp.func("_regexp_replace", call.this, call.expression, call.args["replacement"]))
    return statement


def _create_qualified_temporary_relations_as_others(statement: exp.Create) -> None:
    """DuckDB has temporary relations in a schema of their own alone; dbt drops them by itself."""
    properties, table = statement.args.get("properties"), statement.find(exp.Table)
    if properties is not None and table is not None and table.db:
        kept = [each for each in properties.expressions if not isinstance(each, exp.TemporaryProperty)]
        properties.set("expressions", kept)


def _qualify_source_columns(statement: exp.Merge) -> None:
    """Say of the values of a merge that they are the source's: fakesnow joins source and target."""
    source = statement.args["using"].alias_or_name
    for when in statement.args["whens"].expressions:
        action = when.args["then"]
        values = (
            [assignment.expression for assignment in action.expressions]
            if isinstance(action, exp.Update)
            else action.expression.expressions
        )
        for value in values:
            for column in value.find_all(exp.Column):
                if not column.table:
                    column.set("table", exp.to_identifier(source))


def insert_table_comment_sql(catalog: str, schema: str, table: str, comment: str | None) -> str:
    """Record a table's comment, with its quotes escaped; without one, write nothing.

    DuckDB lets a transaction write to one database, and fakesnow keeps the comments in another.
    """
    if comment is None:
        return "select 1"
    return str(_insert_table_comment_sql(catalog, schema, table, comment.replace("'", "''")))


def timestamp_to_sf_struct(timestamps: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Send timestamps as Snowflake does, with those that are null as null, and not as 1970."""
    values = timestamps.combine_chunks() if isinstance(timestamps, pa.ChunkedArray) else timestamps
    structs = _timestamp_to_sf_struct(pc.fill_null(values, pa.scalar(0, type=values.type)))
    return pa.StructArray.from_arrays(structs.flatten(), fields=list(structs.type), mask=pc.is_null(values))


def main() -> None:
    """Serve until the standard input ends, as it does with whoever started the program."""
    FakeSnowflakeCursor.execute = execute
    fakesnow.copy_into._source_glob = source_glob
    fakesnow.cursor.copy_into = copy_into
    fakesnow.macros.creation_sql = creation_sql
    fakesnow.cursor.parse_one = parse
    fakesnow.server.JSONResponse = Answer
    fakesnow.info_schema.insert_table_comment_sql = insert_table_comment_sql
    fakesnow.arrow.timestamp_to_sf_struct = timestamp_to_sf_struct
    fakesnow.server.shared_fs = FakeSnow()
    # sqlglot reads calls within calls by recursion, and an error's template is a hundred of them.
    sys.setrecursionlimit(100_000)
    threading.stack_size(512 * 1024**2)
    options = {"host": "127.0.0.1", "port": int(sys.argv[1]), "log_level": "warning"}
    server = threading.Thread(target=uvicorn.run, args=[fakesnow.server.app], kwargs=options, daemon=True)
    server.start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
