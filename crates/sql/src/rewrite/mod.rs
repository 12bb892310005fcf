//! What makes DataFusion 55 answer as SQL says: statements and plans that it would read otherwise become others.
//!
//! | module | what it changes |
//! | --- | --- |
//! | `at_time_zone` | `AT TIME ZONE` is no cast |
//! | `casts` | timestamps without a zone beside such with one are in UTC; numbers are rounded to integers |
//! | `change_sources` | `UPDATE … FROM` and `DELETE … USING` |
//! | `common_types` | numbers that are compared have a type that holds all of them |
//! | `date_arithmetic` | a date plus an interval with hours is a timestamp |
//! | `decimals` | decimals that are compared have all their digits |
//! | `division` | quotients of decimals keep their digits |
//! | `expressions` | nothing by itself: the walk of the rules that rewrite expressions by their types |
//! | `extremes` | `min` and `max` of lists, structs and maps |
//! | `field_access` | fields behind subscripts: `lists[1].name` |
//! | `filter_bounds` | conditions whose bounds DataFusion computes wrongly are opaque to it |
//! | `floats` | decimals beside floats are floats |
//! | `frames` | windows in the order of byte strings, durations, structs and maps |
//! | `float_order` | NaN equals NaN and is above all numbers, both zeros are equal |
//! | `guards` | errors are raised for rows alone that reach the expression |
//! | `intervals` | intervals compare by their length |
//! | `multisets` | `INTERSECT ALL` and `EXCEPT ALL` count copies |
//! | `maps` | values of maps by keys of any type |
//! | `octet_length` | byte strings have a length too |
//! | `null_safe_joins` | equalities are no keys of joins that take nulls as equal |
//! | `overflow` | integers, decimals and sums that grow out of their type are an error |
//! | `using_joins` | the column that `USING` and `NATURAL` merge has the values of both sides |
//! | `inner_values` | VALUES within `CREATE TABLE (columns) AS` keep their types |
//! | `lists` | `IN` with columns in its list |
//! | `numbers` | literals with a point are exact decimals, and those with an exponent doubles |
//! | `offsets` | `OFFSET` without `LIMIT` leaves out the first rows of its order |
//! | `output` | equal columns in the select list, and names of computed ones |
//! | `patterns` | `LIKE … ESCAPE` and `SIMILAR TO` |
//! | `rounding` | `round`, `ceil` and `floor` of decimals have one type, into which their results fit |
//! | `rows` | comparisons of rows are comparisons of their columns, with nulls as the standard has them |
//! | `list_aggregates` | `array_agg` with DISTINCT has its own order |
//! | `text_aggregates` | several `string_agg` with orders of their own |
//! | `row_subqueries` | rows are looked for in subqueries |
//! | `selected` | the rows that FILTER selects, for the aggregate functions here |
//! | `types` | names of types that DuckDB and PostgreSQL have; `VARCHAR(n)` in casts |
//! | `uuid` | UUIDs from text |
//! | `windows` | windows that refine named ones, `bool_and` and `bool_or` over frames, `GROUP BY … WITH ROLLUP` |
//! | `subquery` | subqueries become joins where DataFusion answers wrongly or not at all |

mod aggregates;
mod change_sources;
mod expressions;
mod field_access;
mod filter_bounds;
mod float_order;
mod guards;
mod joins;
mod output;
mod overflow;
mod statement;
mod subquery;
mod times;
mod using_joins;
mod values;

pub(crate) use aggregates::DistinctLists;
pub(crate) use aggregates::NestedExtremes;
pub(crate) use aggregates::PeerFrames;
pub(crate) use aggregates::SortedOffsets;
pub(crate) use filter_bounds::FilterBounds;
pub(crate) use float_order::{CANONICAL_FLOAT, FloatOrder};
pub(crate) use guards::{BooleanCases, Guards};
pub(crate) use joins::Multisets;
pub(crate) use joins::{EquijoinKeys, OrderedInnerJoins};
pub(crate) use output::with_output_names;
pub(crate) use overflow::{CheckedArithmetic, checked_sum};
pub(crate) use statement::rewrite;
pub(crate) use subquery::Unnesting;
pub(crate) use times::DateArithmetic;
pub(crate) use times::at_time_zone_function;
pub(crate) use times::{ComparedIntervals, IntervalWindows};
pub(crate) use using_joins::merge_join_columns;
pub(crate) use values::CommonTypes;
pub(crate) use values::ExactDivision;
pub(crate) use values::OctetLength;
pub(crate) use values::StandardCasts;
pub(crate) use values::uuid_function;
pub(crate) use values::{MapAccess, map_extract_function};
pub(crate) use values::{PlainPlaces, whole_number_functions};
