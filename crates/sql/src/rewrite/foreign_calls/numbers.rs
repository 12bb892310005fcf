//! Functions of numbers, and conditions.

use super::Template;

pub(super) const TEMPLATES: &[Template] = &[
    // DataFusion's functions take few types.
    ("ifnull", 2, "coalesce($1, $2)"),
    ("nvl", 2, "coalesce($1, $2)"),
    ("if", 3, "CASE WHEN $1 THEN $2 ELSE $3 END"),
    ("ifelse", 3, "CASE WHEN $1 THEN $2 ELSE $3 END"),
    ("xor", 2, "$1 XOR $2"),
    ("even", 1, "CASE WHEN $1 >= 0 THEN ceil(CAST($1 AS DOUBLE) / 2) * 2 ELSE floor(CAST($1 AS DOUBLE) / 2) * 2 END"),
    ("divide", 2, "$1 // $2"),
    ("add", 2, "$1 + $2"),
    ("subtract", 2, "$1 - $2"),
    ("multiply", 2, "$1 * $2"),
    ("ceiling", 1, "ceil($1)"),
    ("least_common_multiple", 2, "lcm($1, $2)"),
    ("greatest_common_divisor", 2, "gcd($1, $2)"),
    ("current_schema", 0, "'public'"),
    ("current_database", 0, "'datafusion'"),
    ("current_catalog", 0, "'datafusion'"),
];
