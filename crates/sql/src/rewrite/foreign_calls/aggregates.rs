//! Aggregates.

use super::Template;

pub(super) const TEMPLATES: &[Template] = &[
    ("first", 1, "first_value($1)"),
    ("arbitrary", 1, "first_value($1)"),
    ("last", 1, "last_value($1)"),
    ("list", 1, "array_agg($1)"),
    ("count_if", 1, "count(CASE WHEN $1 THEN 1 END)"),
    ("countif", 1, "count(CASE WHEN $1 THEN 1 END)"),
    ("arg_max", 2, "first_value($1 ORDER BY $2 DESC) FILTER (WHERE $1 IS NOT NULL AND $2 IS NOT NULL)"),
    ("argmax", 2, "arg_max($1, $2)"),
    ("max_by", 2, "arg_max($1, $2)"),
    ("arg_min", 2, "first_value($1 ORDER BY $2) FILTER (WHERE $1 IS NOT NULL AND $2 IS NOT NULL)"),
    ("argmin", 2, "arg_min($1, $2)"),
    ("min_by", 2, "arg_min($1, $2)"),
    ("arg_max_null", 2, "first_value($1 ORDER BY $2 DESC) FILTER (WHERE $2 IS NOT NULL)"),
    ("arg_min_null", 2, "first_value($1 ORDER BY $2) FILTER (WHERE $2 IS NOT NULL)"),
    (
        "arg_max",
        3,
        "array_slice(array_agg($1 ORDER BY $2 DESC) FILTER (WHERE $1 IS NOT NULL AND $2 IS NOT NULL), 1, value_count($3))",
    ),
    ("argmax", 3, "arg_max($1, $2, $3)"),
    ("max_by", 3, "arg_max($1, $2, $3)"),
    (
        "arg_min",
        3,
        "array_slice(array_agg($1 ORDER BY $2) FILTER (WHERE $1 IS NOT NULL AND $2 IS NOT NULL), 1, value_count($3))",
    ),
    ("argmin", 3, "arg_min($1, $2, $3)"),
    ("min_by", 3, "arg_min($1, $2, $3)"),
    ("max", 2, "array_slice(array_agg($1 ORDER BY $1 DESC) FILTER (WHERE $1 IS NOT NULL), 1, value_count($2))"),
    ("min", 2, "array_slice(array_agg($1 ORDER BY $1) FILTER (WHERE $1 IS NOT NULL), 1, value_count($2))"),
    ("string_agg", 1, "string_agg($1, ',')"),
    ("group_concat", 1, "string_agg($1, ',')"),
    ("group_concat", 2, "string_agg($1, $2)"),
    ("listagg", 1, "string_agg($1, ',')"),
    ("listagg", 2, "string_agg($1, $2)"),
    ("approx_count_distinct", 1, "approx_distinct($1)"),
    ("approx_quantile", 2, "approx_percentile_cont($1, $2)"),
    ("variance", 1, "var($1)"),
    ("sem", 1, "stddev_pop($1) / sqrt(CAST(nullif(count($1), 0) AS DOUBLE))"),
    ("kahan_sum", 1, "fsum($1)"),
    ("sumkahan", 1, "fsum($1)"),
    ("favg", 1, "fsum($1) / CAST(nullif(count($1), 0) AS DOUBLE)"),
    ("geomean", 1, "exp(avg(ln(CAST($1 AS DOUBLE))))"),
    ("geometric_mean", 1, "exp(avg(ln(CAST($1 AS DOUBLE))))"),
    ("product", 1, "array_product(array_agg(CAST($1 AS DOUBLE)) FILTER (WHERE $1 IS NOT NULL))"),
    ("count", 0, "count(*)"),
    (
        "quantile_disc",
        2,
        "array_element(array_agg($1 ORDER BY $1) FILTER (WHERE $1 IS NOT NULL), CAST(greatest(1, ceil($2 * count($1))) AS BIGINT))",
    ),
    ("skewness", 1, SKEWNESS),
    ("kurtosis", 1, KURTOSIS),
    ("kurtosis_pop", 1, KURTOSIS_POP),
];

const SKEWNESS: &str = "CASE WHEN count($1) > 2 AND var(CAST($1 AS DOUBLE)) > 0 THEN
    sqrt(CAST(count($1) * (count($1) - 1) AS DOUBLE)) / (count($1) - 2)
    * (sum(CAST($1 AS DOUBLE) ^ 3) - 3 * sum(CAST($1 AS DOUBLE) ^ 2) * avg(CAST($1 AS DOUBLE)) + 2 * count($1) * avg(CAST($1 AS DOUBLE)) ^ 3) / count($1)
    / (stddev_pop(CAST($1 AS DOUBLE)) ^ 3) END";

const KURTOSIS: &str = "CASE WHEN count($1) > 3 AND var(CAST($1 AS DOUBLE)) > 0 THEN
    (CAST(count($1) AS DOUBLE) - 1) / ((count($1) - 2) * (count($1) - 3)) * ((count($1) + 1)
    * (sum(CAST($1 AS DOUBLE) ^ 4) - 4 * sum(CAST($1 AS DOUBLE) ^ 3) * avg(CAST($1 AS DOUBLE)) + 6 * sum(CAST($1 AS DOUBLE) ^ 2) * avg(CAST($1 AS DOUBLE)) ^ 2
    - 3 * count($1) * avg(CAST($1 AS DOUBLE)) ^ 4) / count($1) / (stddev_pop(CAST($1 AS DOUBLE)) ^ 4) - 3 * (CAST(count($1) AS DOUBLE) - 1)) END";

const KURTOSIS_POP: &str = "CASE WHEN count($1) > 1 AND var(CAST($1 AS DOUBLE)) > 0 THEN
    (sum(CAST($1 AS DOUBLE) ^ 4) - 4 * sum(CAST($1 AS DOUBLE) ^ 3) * avg(CAST($1 AS DOUBLE)) + 6 * sum(CAST($1 AS DOUBLE) ^ 2) * avg(CAST($1 AS DOUBLE)) ^ 2
    - 3 * count($1) * avg(CAST($1 AS DOUBLE)) ^ 4) / count($1) / (stddev_pop(CAST($1 AS DOUBLE)) ^ 4) - 3 END";
