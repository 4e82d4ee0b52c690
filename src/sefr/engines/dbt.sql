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
{% set x %}CAST({{ sefr_quoted(name) }} AS {{ sefr_double() }}){% endset %}
SELECT {{ sefr_quoted(label) }} AS label, '{{ name | replace("'", "''") }}' AS feature, {{ loop.index0 }} AS place,
  count(*) AS class_rows, count(*) - count({{ x }}) AS missing, count({{ x }}) AS present,
  0.0 AS origin, sum({{ x }}) AS total, min({{ x }}) AS low, max({{ x }}) AS high
FROM {{ relation }}
WHERE {{ sefr_quoted(label) }} IS NOT NULL
GROUP BY {{ sefr_quoted(label) }}
{% if not loop.last %}UNION ALL{% endif %}

{% endfor %}
{% endmacro %}
