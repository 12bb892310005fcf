//! Rewrites literals, casts, common types and scalar functions of numbers, texts, lists and maps.

pub(crate) mod cast_names;
mod casts;
mod coarse_moments;
mod common_types;
mod dates;
mod decimals;
mod division;
mod floats;
pub(crate) mod functions;
pub(crate) mod nested;
pub(crate) mod numbers;
mod octet_length;
pub(crate) mod patterns;
mod rounding;
pub(crate) mod types;
mod uuids;
mod variants;

pub(crate) use self::cast_names::typed_as_function;
pub(crate) use self::casts::StandardCasts;
#[cfg(feature = "remote")]
pub(crate) use self::casts::round_to_even_function;
#[cfg(feature = "remote")]
pub(crate) use self::coarse_moments::coarse_moment_functions;
pub(crate) use self::common_types::CommonTypes;
pub(crate) use self::decimals::places;
pub(crate) use self::division::ExactDivision;
pub(crate) use self::nested::list_concatenation::ListConcatenation;
pub(crate) use self::nested::list_numbers::ListNumbers;
pub(crate) use self::nested::list_types::ListTypes;
pub(crate) use self::nested::maps::{MapAccess, map_extract_function};
pub(crate) use self::nested::nested_order::NestedOrder;
pub(crate) use self::nested::null_elements::NullElements;
pub(crate) use self::nested::null_lists::NullLists;
pub(crate) use self::octet_length::OctetLength;
pub(crate) use self::rounding::{PlainPlaces, whole_number_functions};
#[cfg(feature = "remote")]
pub(crate) use self::uuids::plain_function;
pub(crate) use self::uuids::{
    UUID, UuidColumns, UuidComparisons, UuidTexts, try_uuid_function, uuid_function, uuid_text_function,
};
pub(crate) use self::uuids::{accept_uuids, cast_to_column};
pub(crate) use self::variants::{VariantCasts, variant_function};
