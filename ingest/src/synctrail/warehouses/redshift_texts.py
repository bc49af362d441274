"""Texts as Redshift can hold them."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark
from pyspark.sql.types import StringType

from synctrail.columns import REPLACEMENT

LONGEST = 65_535
"""How many bytes of UTF-8 a text has at most.

https://docs.aws.amazon.com/redshift/latest/dg/r_Character_types.html
"""
# Which bytes go on with a character, as hexadecimal digits; a character has four at most.
_CONTINUATION = ("80", "BF")
_LONGEST_CHARACTER = 4


def storable(rows: DataFrame, columns: Iterable[str], cut: Observation | None = None) -> DataFrame:
    """Return rows of which Redshift can hold the texts.

    A NUL becomes U+FFFD: what Redshift makes of one is documented for CSV alone, and elsewhere it has been
    seen to end the text (https://github.com/estuary/connectors/pull/839). A text that is too long is cut at
    the end of a character, since COPY of Parquet does not cut it, and fails: TRUNCATECOLUMNS is none of the
    parameters of https://docs.aws.amazon.com/redshift/latest/dg/copy-usage_notes-copy-from-columnar.html.

    Args:
        rows: the rows.
        columns: those that are to be looked at; of others than texts, nothing is changed.
        cut: gets how many texts of each column are cut, when the rows are written.

    """
    texts = {field.name for field in rows.schema if isinstance(field.dataType, StringType)} & set(columns)
    found = rows.withColumns(
        {name: F.replace(F.col(name), F.lit("\0"), F.lit(REPLACEMENT)) for name in texts}
    )
    if cut is not None and texts:
        found = found.observe(cut, *(F.count_if(_is_too_long(F.col(name))).alias(name) for name in texts))
    return found.withColumns(
        {name: F.when(_is_too_long(F.col(name)), _cut(F.col(name))).otherwise(F.col(name)) for name in texts}
    )


def _is_too_long(text: Column) -> Column:
    return F.octet_length(text) > LONGEST


def _cut(text: Column) -> Column:
    """Return as many bytes as there can be, without a part of a character at the end."""
    content = text.cast("binary")
    lengths = range(LONGEST, LONGEST - _LONGEST_CHARACTER, -1)
    whole = (
        F.when(
            ~F.hex(F.substring(content, length + 1, 1)).between(*_CONTINUATION),
            F.substring(content, 1, length),
        )
        for length in lengths
    )
    return F.coalesce(*whole).cast("string")
