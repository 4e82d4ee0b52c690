-- SEFR inside DuckDB (1.3 or later): training, its Summary and answers as macros.
--
--   .read duckdb.sql
--   CREATE TABLE model AS FROM sefr_train('flowers', 'species');
--   FROM sefr_predict('model', 'new_flowers');
--
-- The model is a table: one row per class and feature. The score of a row for a class is the sum over its features
-- of weight * (value - midpoint); the highest wins, the first label on a tie. A missing value adds nothing. Answers
-- are those of SEFRClassifier(missing='ignore'). Labels are text. `sefr sql` prints faster queries for wide tables.

-- One row per value: sefr_label, sefr_feature, sefr_value. All columns but the label must be numbers, or name them.
CREATE OR REPLACE MACRO sefr_cells(source_table, label_column, features := NULL) AS TABLE
SELECT COLUMNS(lambda sefr_name: sefr_name = label_column) AS sefr_label,
  unnest(struct_keys(struct_pack(*COLUMNS(lambda sefr_name: sefr_name <> label_column)))) AS sefr_feature,
  unnest(list_value(*COLUMNS(lambda sefr_name: sefr_name <> label_column))) AS sefr_value
FROM (  -- under their own names, so that none of ours can be one of theirs
  SELECT CAST(COLUMNS(lambda sefr_name: sefr_name = label_column) AS VARCHAR),
    nullif(CAST(COLUMNS(lambda sefr_name: sefr_name <> label_column
      AND (features IS NULL OR list_contains(features, sefr_name))) AS DOUBLE), 'NaN'::DOUBLE)
  FROM query_table(source_table)
);

-- What Summary.of_query reads.
CREATE OR REPLACE MACRO sefr_summary(source_table, label_column, features := NULL) AS TABLE
SELECT sefr_label AS label, sefr_feature AS feature, place, count(*) AS class_rows,
  count(*) - count(sefr_value) AS missing, count(sefr_value) AS present, 0.0::DOUBLE AS origin,
  sum(sefr_value) AS total, min(sefr_value) AS low, max(sefr_value) AS high
FROM sefr_cells(source_table, label_column, features := features)
JOIN (
  SELECT sefr_feature, row_number() OVER (ORDER BY sefr_feature) - 1 AS place
  FROM (SELECT DISTINCT sefr_feature FROM sefr_cells(source_table, label_column, features := features))
) USING (sefr_feature)
WHERE sefr_label IS NOT NULL
GROUP BY ALL;

-- The weights (equations 3 to 9 of the paper): label, feature, weight, midpoint, for features as they come.
CREATE OR REPLACE MACRO sefr_train(source_table, label_column, features := NULL, epsilon := 1e-7) AS TABLE
WITH sefr_sums AS MATERIALIZED (
  FROM sefr_summary(source_table, label_column, features := features)
), sefr_ranges AS (
  SELECT feature, min(low) AS lowest, max(high) - min(low) AS span, sum(present) AS all_present,
    sum(total) AS all_total, sum(class_rows) AS all_rows
  FROM sefr_sums GROUP BY feature
), sefr_means AS (
  SELECT label, feature, lowest, span, class_rows, all_rows,
    CASE WHEN span > 0 AND present > 0 THEN (total / present - lowest) / span ELSE 0 END AS own,
    CASE WHEN span > 0 AND all_present > present
      THEN ((all_total - coalesce(total, 0)) / (all_present - present) - lowest) / span ELSE 0 END AS others
  FROM sefr_sums JOIN sefr_ranges USING (feature)
)
SELECT label, feature,
  CASE WHEN span > 0 THEN (own - others) / (own + others + epsilon) / span ELSE 0 END AS weight,
  CASE WHEN span > 0 THEN lowest + span * (others * class_rows + own * (all_rows - class_rows)) / all_rows
    ELSE lowest END AS midpoint
FROM sefr_means
ORDER BY label, feature;

-- Every row of a table with its answer and the score of that answer.
CREATE OR REPLACE MACRO sefr_predict(model_table, source_table) AS TABLE
WITH sefr_source AS MATERIALIZED (
  FROM query_table(source_table)
), sefr_rows AS MATERIALIZED (  -- the columns as fields of one: no name of ours can be one of theirs
  SELECT row_number() OVER () AS sefr_row, sefr_columns, sefr_numbers
  FROM (SELECT struct_pack(*COLUMNS(*)) AS sefr_columns FROM sefr_source) AS sefr_packed
  POSITIONAL JOIN (
    SELECT list_value(*COLUMNS(*)) AS sefr_numbers
    FROM (SELECT nullif(TRY_CAST(COLUMNS(*) AS DOUBLE), 'NaN'::DOUBLE) FROM sefr_source)
  ) AS sefr_listed
), sefr_model AS MATERIALIZED (
  SELECT label, weight, midpoint,
    list_position((SELECT any_value(struct_keys(sefr_columns)) FROM sefr_rows), feature) AS sefr_place
  FROM query_table(model_table)
), sefr_scores AS (
  SELECT sefr_row, label, sum(weight * (sefr_numbers[sefr_place] - midpoint)) AS score
  FROM sefr_rows CROSS JOIN sefr_model WHERE sefr_numbers[sefr_place] IS NOT NULL
  GROUP BY ALL
), sefr_answers AS (
  SELECT sefr_row, label AS prediction, score FROM sefr_scores
  QUALIFY row_number() OVER (PARTITION BY sefr_row ORDER BY score DESC, label) = 1
)
SELECT unnest(sefr_rows.sefr_columns), sefr_answers.prediction, sefr_answers.score
FROM sefr_rows LEFT JOIN sefr_answers USING (sefr_row)
ORDER BY sefr_rows.sefr_row;
