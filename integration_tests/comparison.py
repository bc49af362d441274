"""Compares what models hold with what the rules, told in Python, say that they must hold."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tally import TALLIES
from warehouses import Warehouse

Row = dict[str, Any]


def assert_models_hold(warehouse: Warehouse, expected: dict[str, list[Row]], where: str = "true") -> None:
    """Fail unless each model holds the expected rows alone; columns that no rule tells are not compared.

    Args:
        warehouse: Where the models are.
        expected: The rows of each, by its name.
        where: The condition for the rows that are compared.

    """
    for model, rows in expected.items():
        columns = sorted(rows[0]) if rows else []
        query = f"select * from {model} where {where}"
        actual = Counter(comparable(row, columns) for row in warehouse.query(query))
        wanted = Counter(comparable(row, columns) for row in rows)
        missing, surplus = wanted - actual, actual - wanted
        assert not missing and not surplus, (
            f"{model}: {missing.total()} rows missing, such as {sorted(missing, key=str)[:1]}; "
            f"{surplus.total()} not expected, such as {sorted(surplus, key=str)[:1]}"
        )
        TALLIES[warehouse.target].models_compared.add(model)
        TALLIES[warehouse.target].rows_equal += len(rows)


def comparable(row: Row, columns: list[str]) -> tuple[tuple[str, Any], ...]:
    """Return a row as a value; floats to nine digits, since their sums depend on the order of the rows."""
    return tuple(
        (name, float(f"{row[name]:.9g}") if isinstance(row[name], float) else row[name]) for name in columns
    )
