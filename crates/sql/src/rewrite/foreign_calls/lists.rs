//! Functions of lists, structs and maps.

use super::Template;

pub(super) const TEMPLATES: &[Template] = &[
    ("list_apply", 2, "array_transform($1, $2)"),
    ("array_apply", 2, "array_transform($1, $2)"),
    ("apply", 2, "array_transform($1, $2)"),
    ("filter", 2, "array_filter($1, $2)"),
    ("list_unique", 1, "cardinality(array_distinct(array_compact($1)))"),
    ("array_unique", 1, "cardinality(array_distinct(array_compact($1)))"),
    ("list_reverse_sort", 1, "list_sort($1, 'DESC', 'NULLS LAST')"),
    ("array_reverse_sort", 1, "list_sort($1, 'DESC', 'NULLS LAST')"),
    ("list_sort", 1, "array_sort($1, 'ASC', 'NULLS LAST')"),
    ("list_sort", 2, "array_sort($1, $2, 'NULLS LAST')"),
    ("array_push_front", 2, "array_prepend($2, $1)"),
    ("list_min", 1, "array_min($1)"),
    ("list_count", 1, "cardinality(array_compact($1))"),
    ("list_first", 1, "array_element($1, 1)"),
    ("list_last", 1, "array_element($1, -1)"),
    ("map_contains", 2, "array_has(map_keys($1), $2)"),
    ("struct_extract", 2, "get_field($1, $2)"),
    ("list_dot_product", 2, "inner_product($1, $2)"),
    ("list_inner_product", 2, "inner_product($1, $2)"),
    ("list_cosine_similarity", 2, "1 - cosine_distance($1, $2)"),
    ("list_cosine_distance", 2, "cosine_distance($1, $2)"),
    ("array_inner_product", 2, "inner_product($1, $2)"),
    ("array_cosine_similarity", 2, "1 - cosine_distance($1, $2)"),
    ("array_cosine_distance", 2, "cosine_distance($1, $2)"),
];
