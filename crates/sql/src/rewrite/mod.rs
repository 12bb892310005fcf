//! Rewrites statements and plans whose results DataFusion 55 would compute differently from SQL.
//!
//! | module | what it changes |
//! | --- | --- |
//! | `age` | the function `age` |
//! | `at_time_zone` | `AT TIME ZONE` is no cast |
//! | `cast_names` | expressions that differ only in casts have different names |
//! | `casts` | timestamps without a zone are in UTC where they meet ones with a zone; numbers are rounded to integers |
//! | `change_sources` | `UPDATE … FROM` and `DELETE … USING` |
//! | `coarse_moments` | casts of timestamps to seconds and milliseconds round |
//! | `common_types` | numbers that are compared have a type that holds all of them |
//! | `date_arithmetic` | a date plus an interval with hours is a timestamp |
//! | `dates` | dates that meet timestamps have their unit |
//! | `wide_dates` | `date_trunc` takes all dates |
//! | `decimals` | decimals that are compared have all their digits |
//! | `division` | quotients of decimals keep their digits |
//! | `empty_frames` | windows whose frame ends before it starts |
//! | `expressions` | shared code: the walk of rules that rewrite expressions by type |
//! | `extremes` | `min` and `max` of lists, structs and maps |
//! | `field_access` | fields after subscripts: `lists[1].name` |
//! | `filter_bounds` | conditions whose bounds DataFusion computes wrongly are hidden |
//! | `floats` | decimals compared with floats become floats |
//! | `frames` | windows in the order of byte strings, durations, structs and maps |
//! | `float_order` | NaN equals NaN and is above all numbers, both zeros are equal |
//! | `guards` | errors are raised only for rows that reach the expression |
//! | `intervals` | intervals compare by their length |
//! | `multisets` | `INTERSECT ALL` and `EXCEPT ALL` count copies |
//! | `mode` | the aggregate `mode` |
//! | `quantile` | quantiles between two values have all their digits |
//! | `compensated_sum` | the aggregate `fsum` |
//! | `maps` | values of maps by keys of any type |
//! | `octet_length` | byte strings have a length, too |
//! | `nested_order` | lists and structs with nulls inside have one order everywhere |
//! | `null_safe_joins` | equalities are not keys of null-safe joins |
//! | `own_functions` | the functions that the rules put into plans, for plans that another process executes |
//! | `overflow` | integers, decimals and sums that overflow their type are an error |
//! | `using_joins` | the column that `USING` and `NATURAL` merge has the values of both sides |
//! | `element_functions` | lists and fields within functions of elements |
//! | `null_elements` | functions of DuckDB that pass over nulls in lists |
//! | `inner_values` | VALUES within `CREATE TABLE (columns) AS` keep their types |
//! | `foreign_calls` | functions of DuckDB that are expressions of other functions |
//! | `functions` | functions of PostgreSQL and DuckDB that are written otherwise here: `mod(a, b)`, `age(t)`, `mode() WITHIN GROUP` |
//! | `list_concatenation` | lists with a null list are null |
//! | `list_numbers` | functions over lists of numbers refuse lists of lists |
//! | `list_types` | functions over lists return lists of the type that they promise |
//! | `lists` | `IN` with columns in its list |
//! | `null_lists` | lists of columns without a type |
//! | `numbers` | literals with a point are exact decimals, and those with an exponent doubles |
//! | `offsets` | `OFFSET` without `LIMIT` skips the first rows of its order |
//! | `output` | equal columns in the select list, and names of computed ones |
//! | `patterns` | `LIKE … ESCAPE` and `SIMILAR TO` |
//! | `property_barriers` | properties of grouping sets and outer joins that do not hold are hidden |
//! | `rounding` | `round`, `ceil` and `floor` of decimals have one type, into which their results fit |
//! | `running_extremes` | `min` and `max` over windows are not sorted where they begin with null |
//! | `rows` | comparisons of rows compare their columns, with the standard's rules for null |
//! | `list_aggregates` | `array_agg` with DISTINCT has its own order |
//! | `subquery_order` | aggregates and `LIMIT` keep the order of a subquery |
//! | `text_aggregates` | several `string_agg` with different orders |
//! | `row_subqueries` | membership of rows in subqueries |
//! | `selected` | the rows that FILTER selects, for the aggregate functions here |
//! | `types` | type names of DuckDB and PostgreSQL; `VARCHAR(n)` in casts |
//! | `uuids` | UUIDs from text and their text, comparisons with texts, and UUIDs as values of functions, CASE, aggregates, windows and lists |
//! | `variants` | casts, orders and results of Variant values |
//! | `windows` | windows that refine named ones, `bool_and` and `bool_or` over frames, `GROUP BY … WITH ROLLUP` |
//! | `subquery` | subqueries that DataFusion evaluates wrongly or not at all become joins |

mod aggregates;
mod change_sources;
mod expressions;
mod field_access;
mod filter_bounds;
mod float_order;
mod foreign_calls;
mod guards;
mod joins;
mod nested_limits;
mod output;
mod overflow;
#[cfg(feature = "remote")]
pub(crate) mod own_functions;
mod property_barriers;
mod statement;
mod subquery;
mod times;
mod using_joins;
mod values;

pub(crate) use aggregates::DistinctLists;
pub(crate) use aggregates::GroupingSets;
pub(crate) use aggregates::NestedExtremes;
pub(crate) use aggregates::PeerFrames;
pub(crate) use aggregates::RunningExtremes;
pub(crate) use aggregates::SortedOffsets;
pub(crate) use aggregates::SubqueryOrder;
pub(crate) use aggregates::{compensated_sum_function, count_functions, quantile_function};
#[cfg(feature = "remote")]
pub(crate) use aggregates::{grouping_sets, with_grouping_sets};
pub(crate) use filter_bounds::FilterBounds;
pub(crate) use float_order::{CANONICAL_FLOAT, FloatOrder};
pub(crate) use guards::{BooleanCases, Guards, has_subquery, is_fallible, is_fallible_by_row};
pub(crate) use joins::Multisets;
pub(crate) use joins::null_safe_rules;
pub(crate) use nested_limits::NestedLimits;
pub(crate) use output::{hide_aliases, name_answer, with_output_names};
pub(crate) use overflow::{CheckedArithmetic, checked_sum};
pub(crate) use property_barriers::PropertyBarriers;
#[cfg(feature = "remote")]
pub(crate) use property_barriers::{barrier_columns, with_barrier};
pub(crate) use statement::{rewrite, rewrite_expression};
pub(crate) use subquery::Unnesting;
pub(crate) use times::DateArithmetic;
pub(crate) use times::WideDates;
pub(crate) use times::{ComparedIntervals, IntervalWindows};
pub(crate) use times::{age_function, at_time_zone_function};
pub(crate) use using_joins::merge_join_columns;
pub(crate) use values::CommonTypes;
pub(crate) use values::ExactDivision;
pub(crate) use values::ListConcatenation;
pub(crate) use values::ListNumbers;
pub(crate) use values::ListTypes;
pub(crate) use values::NestedOrder;
pub(crate) use values::NullElements;
pub(crate) use values::NullLists;
pub(crate) use values::OctetLength;
pub(crate) use values::StandardCasts;
#[cfg(feature = "remote")]
pub(crate) use values::plain_function;
pub(crate) use values::typed_as_function;
pub(crate) use values::{MapAccess, map_extract_function};
pub(crate) use values::{PlainPlaces, whole_number_functions};
pub(crate) use values::{UUID, UuidColumns, UuidComparisons, UuidTexts};
pub(crate) use values::{VariantCasts, variant_function};
pub(crate) use values::{accept_uuids, cast_to_column, try_uuid_function, uuid_function, uuid_text_function};
