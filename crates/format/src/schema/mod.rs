//! Parquet schemas, and their conversion to Arrow schemas.
//!
//! Types, descriptors and the conversion to and from Arrow come from the `parquet` crate, which only this crate names.

mod call;
mod check;
mod parse;
mod path;

pub use call::{LibraryError, guard};
pub use parquet::arrow::{
    ARROW_SCHEMA_META_KEY, ArrowSchemaConverter, ProjectionMask, encode_arrow_schema, parquet_to_arrow_field_levels,
    parquet_to_arrow_schema,
};
pub use parquet::basic::{
    ColumnOrder as TypeOrder, ConvertedType, LogicalType, Repetition, SortOrder, TimeUnit, Type as PhysicalType,
};
pub use parquet::file::metadata::KeyValue;
pub use parquet::schema::printer::print_schema;
pub use parquet::schema::types::{
    BasicTypeInfo, ColumnDescPtr, ColumnDescriptor, ColumnPath, SchemaDescPtr, SchemaDescriptor, Type, TypePtr,
};

pub use check::DEEPEST_SCHEMA;
pub(crate) use check::{Leaves, check_schema};
pub(crate) use parse::{key_values, parse_schema};
pub use path::{PathMatch, begins_with, find_path, is_at_or_below, is_column, quoted_names, spelled, write_path};
