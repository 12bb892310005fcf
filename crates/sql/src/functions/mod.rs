//! Functions of DuckDB that are no expressions of other functions.
//!
//! | module | functions |
//! | --- | --- |
//! | `function` | a scalar function as a row of a table: its name, types and evaluation |
//! | `date_trunc` | `date_trunc` |
//! | `differences` | `date_diff`, `date_sub` |
//! | `list_reduce` | `list_reduce` |
//! | `month_ends` | `last_day` |
//! | `numbers` | `fdiv`, `fmod`, `list_sum`, the number of values of `max(a, n)` |
//! | `epochs` | `epoch_ms`, `epoch_us`, `epoch_ns` |
//! | `buckets` | `time_bucket` |
//! | `time_format` | `strftime`, `strptime`, `try_strptime` |
//! | `patterns` | `regexp_extract`, `regexp_extract_all`, `regexp_split`, `string_split` |
//! | `similarity` | `hamming`, `jaccard`, `jaro_similarity`… |
//! | `format_spec` | how `format` and `printf` write a value |
//! | `text_format` | `format`, `printf` |
//! | `text_parts` | `text[2:3]`, `hex`, `bin`, `ord`, `url_encode`, `url_decode` |
//! | `type_names` | the names of types, `typeof` |
//! | `values` | `hash`, `len`, `bit_count`, `isinf`, `isfinite`, `bar` |

mod buckets;
mod date_trunc;
mod differences;
mod epochs;
mod format_spec;
mod function;
mod list_reduce;
mod month_ends;
mod numbers;
mod patterns;
mod similarity;
mod text_format;
mod text_parts;
mod time_format;
mod type_names;
mod values;

pub(crate) use differences::{MICROS_A_DAY, Part};
pub(crate) use list_reduce::list_reduce_function;
pub(crate) use type_names::type_name;

use datafusion::logical_expr::ScalarUDF;

/// The function of `text[first:last]`.
pub(crate) fn text_slice_function() -> ScalarUDF {
    ScalarUDF::from(function::ForeignFunction::new(text_parts::SLICE))
}

/// The function of the starts of parts of moments.
pub(crate) fn time_bucket_function() -> ScalarUDF {
    ScalarUDF::from(function::ForeignFunction::new(buckets::FUNCTIONS[0]))
}

/// The functions of a session.
pub(crate) fn foreign_functions() -> impl Iterator<Item = ScalarUDF> {
    [
        buckets::FUNCTIONS,
        differences::FUNCTIONS,
        epochs::FUNCTIONS,
        month_ends::FUNCTIONS,
        numbers::FUNCTIONS,
        patterns::FUNCTIONS,
        similarity::FUNCTIONS,
        text_format::FUNCTIONS,
        text_parts::FUNCTIONS,
        time_format::FUNCTIONS,
        values::FUNCTIONS,
    ]
    .into_iter()
    .flatten()
    .map(|definition| {
        let function = ScalarUDF::from(function::ForeignFunction::new(*definition));
        match definition.name {
            // DataFusion's `array_sum`, which adds integers as DOUBLE, is also called `list_sum`: this one takes its place.
            "list_sum" => function.with_aliases(["array_sum"]),
            _ => function,
        }
    })
    .chain([type_names::typeof_function(), date_trunc::date_trunc_function()])
}
