"""The program of a throw-away BigQuery emulator: bqemulator, as it is wanted here."""

from __future__ import annotations

import sys
import threading

# BigQuery's JSON functions, where DuckDB's differ: json_keys writes a key with a point or an escape in it as
# a JSON string, json_query_array of what is no array is null, a key between brackets may look like a path.
_JSON_MACROS = """
create macro bigquery_json_keys(object) as list_transform(
    json_keys(object),
    lambda key: case when contains(key, '.') or cast(to_json(key) as varchar) <> '"' || key || '"'
        then cast(to_json(key) as varchar) else key end
);
create macro bigquery_json_items(json) as
    case when json_type(json) = 'ARRAY' then json_extract(json, '$[*]') end;
create macro bigquery_json_field(object, key) as
    json_extract(object, '$.*')[list_position(json_keys(object), key)];
"""


def serve() -> None:
    """Run the emulator until it is told to end."""
    from bqemulator.api import errors  # noqa: PLC0415
    from bqemulator.cli import main  # noqa: PLC0415
    from bqemulator.domain.errors import ValidationError  # noqa: PLC0415
    from bqemulator.sql.rewriter import create_table_schema_ctas  # noqa: PLC0415
    from bqemulator.storage.engine import DuckDBEngine  # noqa: PLC0415
    from sqlglot import exp  # noqa: PLC0415
    from sqlglot.generators.duckdb import DuckDBGenerator  # noqa: PLC0415

    # In the place of the extension for GEOGRAPHY, which DuckDB would download; nothing here is geographic.
    DuckDBEngine._load_spatial = lambda engine: engine._connection.execute(_JSON_MACROS)

    def bracket_sql(generator: DuckDBGenerator, bracket: exp.Bracket) -> str:
        # Where a column stands between brackets, it names a field: places in arrays are calculated here.
        if isinstance(bracket.expressions[0], exp.Column):
            return str(generator.func("bigquery_json_field", bracket.this, bracket.expressions[0]))
        return str(generator.bracket_sql(bracket))

    DuckDBGenerator.TRANSFORMS.update({
        exp.JSONKeysAtDepth: lambda generator, keys: generator.func("bigquery_json_keys", keys.this),
        exp.JSONExtractArray: lambda generator, items: generator.func("bigquery_json_items", items.this),
        exp.Bracket: bracket_sql,
    })  # fmt: skip

    # dbt writes the query of a table with a contract in parentheses, where the emulator looks for a bare one.
    first_select = create_table_schema_ctas._first_select

    def first_select_in_parentheses(body: exp.Expression) -> object:
        while isinstance(body, exp.Subquery | exp.Paren):
            body = body.this
        return first_select(body)

    create_table_schema_ctas._first_select = first_select_in_parentheses

    # Clients ask again, for ten minutes, where a server says that the fault is its own.
    errors.InternalError = lambda _: ValidationError("The emulator cannot run this; its log says why.")

    # The template of an error is ninety calls, each within the next.
    sys.setrecursionlimit(50_000)
    threading.stack_size(512 * 1024 * 1024)
    main()


if __name__ == "__main__":
    serve()
