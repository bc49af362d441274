{# Fails by name where a warehouse has no implementation of a macro, instead of compiling SQL that it refuses. #}
{% macro unsupported_adapter(macro_name) %}
    {{ exceptions.raise_compiler_error(
        "synctrail does not support the adapter '" ~ target.type ~ "' (macro " ~ macro_name
        ~ "). Supported: bigquery, databricks, duckdb, postgres, redshift, snowflake, spark. See the table of warehouses in the README."
    ) }}
{% endmacro %}
