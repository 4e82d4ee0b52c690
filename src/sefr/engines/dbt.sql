{#
  SEFR in dbt: a model whose rows are a Summary. Copy this file into a project's macros/ folder.

    -- models/flowers_summary.sql
    {{ sefr_summary(ref('flowers'), 'species', ['sepal', 'petal']) }}

  `sefr train --from-query` makes the model of the table that dbt builds, written as CSV or Parquet. The SQL is
  plain: aggregates, CASE and UNION ALL. Missing values must be NULL, not NaN.
#}
{% macro sefr_quoted(name) %}{% if adapter is defined %}{{ adapter.quote(name) }}{% else %}"{{ name | replace('"', '""') }}"{% endif %}{% endmacro %}

{# dbt's own type_float() has 32 bits in some databases. #}
{% macro sefr_double() %}
{%- set kind = target.type if target is defined else "" -%}
{%- if kind in ("athena", "databricks", "mysql", "spark", "trino") %}DOUBLE
{%- elif kind == "bigquery" %}FLOAT64
{%- elif kind == "clickhouse" %}Float64
{%- elif kind in ("fabric", "sqlserver") %}FLOAT
{%- else %}DOUBLE PRECISION
{%- endif %}
{%- endmacro %}

{% macro sefr_summary(relation, label, features) %}
{% for name in features %}
SELECT sefr_label AS label, '{{ name | replace("'", "''") }}' AS feature, {{ loop.index0 }} AS place,
  count(*) AS class_rows, count(*) - count(sefr_value) AS missing, count(sefr_value) AS present,
  0.0 AS origin, sum(sefr_value) AS total, min(sefr_value) AS low, max(sefr_value) AS high
FROM (
  SELECT sefr_rows.{{ sefr_quoted(label) }} AS sefr_label,
    CAST(sefr_rows.{{ sefr_quoted(name) }} AS {{ sefr_double() }}) AS sefr_value
  FROM {{ relation }} AS sefr_rows
  WHERE sefr_rows.{{ sefr_quoted(label) }} IS NOT NULL
) AS sefr_cells
GROUP BY sefr_label
{% if not loop.last %}UNION ALL{% endif %}

{% endfor %}
{% endmacro %}
