//! Functions of texts and patterns.

use super::Template;

pub(super) const TEMPLATES: &[Template] = &[
    ("regexp_matches", 2, "regexp_like($1, $2)"),
    ("regexp_matches", 3, "regexp_like($1, $2, $3)"),
    ("regexp_full_match", 2, "regexp_like($1, concat('^(?:', $2, ')$'))"),
    ("regexp_full_match", 3, "regexp_like($1, concat('^(?:', $2, ')$'), $3)"),
    ("string_split_regex", 2, "regexp_split($1, $2)"),
    ("str_split_regex", 2, "regexp_split($1, $2)"),
    ("regexp_split_to_array", 2, "regexp_split($1, $2)"),
    ("str_split", 2, "string_split($1, $2)"),
    ("split", 2, "string_split($1, $2)"),
    ("strlen", 1, "octet_length($1)"),
    ("lcase", 1, "lower($1)"),
    ("ucase", 1, "upper($1)"),
    ("unicode", 1, "ord($1)"),
    ("prefix", 2, "starts_with($1, $2)"),
    ("suffix", 2, "ends_with($1, $2)"),
    ("editdist3", 2, "levenshtein($1, $2)"),
    ("mismatches", 2, "hamming($1, $2)"),
    ("gen_random_uuid", 0, "uuid()"),
    ("base64", 1, "encode($1, 'base64')"),
    ("to_base64", 1, "encode($1, 'base64')"),
    ("from_base64", 1, "decode($1, 'base64')"),
    ("unhex", 1, "decode($1, 'hex')"),
    ("from_hex", 1, "decode($1, 'hex')"),
    ("parse_filename", 1, "array_element(string_split($1, '/'), -1)"),
    ("parse_path", 1, "string_split($1, '/')"),
];
