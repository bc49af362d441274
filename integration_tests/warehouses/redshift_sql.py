"""Redshift's SQL as Postgres understands it."""

from __future__ import annotations

import sqlglot
from sqlglot import exp


def as_postgres(sql: str) -> str:
    """Return statements as Postgres understands them; locks and queries of the catalog as they are."""
    if "pg_get_late_binding_view_cols" in sql or "svv_" in sql or sql.startswith("lock "):
        return sql
    statements = [statement for statement in sqlglot.parse(sql, read="redshift") if statement is not None]
    for statement in statements:
        for sort_key in list(statement.find_all(exp.SortKeyProperty)):
            sort_key.pop()
        # What lies inside comes first: what takes a node's place takes over its parts.
        for node in reversed(list(statement.bfs())):
            replacement = _as_postgres(node)
            if replacement is not node:
                node.replace(replacement)
    return ";\n".join(statement.sql("postgres") for statement in statements)


def _as_postgres(node: exp.Expr) -> exp.Expr:
    match node:
        case exp.Join(this=exp.Pivot() as unpivot):
            return _members(unpivot)
        case exp.RegexpReplace():
            # Of the parameters, the package gives those that ask for groups in every match.
            every = exp.Literal.string("g")
            return _call("regexp_replace", node.this, node.expression, node.args["replacement"], every)
        case exp.TryCast():
            text, kind = exp.cast(node.this, "text"), exp.Literal.string(node.to.sql("postgres"))
            is_valid = _call("pg_input_is_valid", text, kind)
            return exp.Case(ifs=[exp.If(this=is_valid, true=exp.cast(node.this, node.to))])
        case exp.Cast(this=exp.Anonymous(this="json_parse") as parsed):
            return _call("super_text", parsed)
        case exp.ParseJSON():
            return _call("json_parse", node.this)
    return node


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))


def _members(unpivot: exp.Pivot) -> exp.Join:
    """Return what stands for `unpivot <object> as <value> at <key>` in a FROM clause."""
    pair = unpivot.this
    value = pair.this
    columns = [exp.to_identifier(value.alias), pair.expression]
    lateral = exp.Lateral(
        this=_call("super_members", value.this),
        alias=exp.TableAlias(this=exp.to_identifier("members_of"), columns=columns),
    )
    return exp.Join(this=lateral, kind="cross")
