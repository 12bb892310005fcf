//! The tree that relates a Parquet schema to its Arrow schema.
//!
//! The possible Arrow types of a leaf, by physical type. "Hint" marks types that occur only if a file's own Arrow schema has
//! them.
//!
//! | physical type | Arrow type of the leaf |
//! | --- | --- |
//! | any | `Null` (logical type UNKNOWN; all values are null, but the column may be required) |
//! | BOOLEAN | `Boolean` |
//! | INT32 | `Int8`, `Int16`, `Int32`, `UInt8`, `UInt16`, `UInt32`, `Date32`, `Time32(ms)`, `Decimal128`; hint: `Time32(s)`, `Date64` (of days), `Timestamp(any)` (of the plain number), `Decimal32`, `Decimal64`, `Decimal256` |
//! | INT64 | `Int64`, `UInt64`, `Time64(µs, ns)`, `Timestamp(ms, µs, ns; none or UTC)`, `Decimal128`; hint: `Timestamp(any unit, any zone)`, `Duration(any)`, `Date64` (of milliseconds), `Decimal32`, `Decimal64`, `Decimal256` |
//! | INT96 | `Timestamp(ns, µs, ms, none)`, as the caller chooses; hint: `Timestamp(any unit, any zone)` |
//! | FLOAT, DOUBLE | `Float32`, `Float64` |
//! | BYTE_ARRAY | `Utf8View`, `Utf8`, `BinaryView`, `Binary`, `Decimal128`, `Decimal256`; hint: `LargeUtf8`, `LargeBinary`, `Decimal32`, `Decimal64` |
//! | FIXED_LEN_BYTE_ARRAY(n) | `FixedSizeBinary(n)`, `Float16` (n = 2), `Interval(month-day-nano)` (n = 12), `Decimal128` (n ≤ 16), `Decimal256` (16 < n ≤ 32); hint: `Interval(any)`, `Decimal32`, `Decimal64`, `Decimal256` |
//!
//! Each of these except `Null`, `Boolean` and `Interval` can also be the values of a `Dictionary`: with keys of `Int32` if the
//! caller requests one, of any integer type if the hint has one. Strings in dictionaries have offsets, never views. Precision and
//! scale of a decimal always come from the Parquet schema.
//!
//! Lists are `List`; hint: `LargeList`, `FixedSizeList(len ≥ 0)`, `ListView`, `LargeListView`. Maps are `Map`, or lists of keys
//! if they have no values; keys are not nullable in Arrow even if they are in the Parquet schema. Run-end encoding never occurs:
//! such a hint is ignored.

mod convert;
mod hint;
mod lists;
mod mapping;
mod projection;
mod prune;
mod refine;
mod sound;
mod storage;
mod stored_type;
#[cfg(test)]
mod tests;
mod tree;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{FieldRef, Schema, SchemaRef};
use lath_format::schema::KeyValue;
use lath_format::schema::PhysicalType;
use lath_format::schema::SchemaDescriptor;

use self::convert::Conversion;
use self::projection::Paths;
use self::refine::Refinement;
use self::storage::LeafTypes;
use self::stored_type::StoredType;
use crate::error::Result;
use crate::options::{Int96Unit, Limits, Strings};

pub(crate) use hint::decode_arrow_schema;
pub use mapping::{ColumnMapping, MappedColumn};
pub use projection::Projection;
pub use prune::prune;
pub(crate) use storage::dictionary_field;
pub use stored_type::PARQUET_TYPE_KEY;
pub use stored_type::{has_same_annotation, is_stored_alike, stored_type, without_stored_type, without_unknown_types};

/// Layouts of columns that a scan selects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ArrowLayout {
    pub(crate) strings: Strings,
    /// Paths of columns read as dictionaries, as [`SchemaOptions::dictionary_columns`].
    pub(crate) dictionary_columns: Vec<String>,
}

/// Options that determine the Arrow types of a file.
#[derive(Debug, Clone)]
pub struct SchemaOptions {
    /// Layout of string and binary columns.
    pub strings: Strings,
    /// Paths of leaves, or of groups above them, read as `Dictionary(Int32, …)`.
    pub dictionary_columns: Vec<String>,
    /// Whether the file may lack some of these, because another file of the dataset has them.
    pub may_lack_dictionary_columns: bool,
    /// Whether the Arrow schema that the writer stored in the file is used.
    pub use_hint: bool,
    /// The unit of INT96 timestamps.
    pub int96_unit: Int96Unit,
    /// The table's columns in the file; `None` for the file's own.
    pub columns: Option<Arc<ColumnMapping>>,
    /// Limits on the schema.
    pub limits: Limits,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        Self {
            strings: Strings::default(),
            dictionary_columns: Vec::new(),
            may_lack_dictionary_columns: false,
            use_hint: true,
            int96_unit: Int96Unit::default(),
            columns: None,
            limits: Limits::default(),
        }
    }
}

impl SchemaOptions {
    /// These options with the layout that a scan selects.
    pub(crate) fn with_layout(self, layout: &ArrowLayout) -> Self {
        Self { strings: layout.strings, dictionary_columns: layout.dictionary_columns.clone(), ..self }
    }
}

/// The deepest schema that is walked, regardless of [`Limits::schema_depth`]: walks are recursive, here and in the crate that
/// parses the footer, and threads have stacks of 2 MiB.
pub(crate) const DEEPEST_SCHEMA: usize = 512;

/// The whole schema of a file, converted, from which every projection and layout is derived.
#[derive(Debug)]
pub(crate) struct ConvertedSchema {
    nodes: Vec<Node>,
    /// For each node, the stored type of its column; empty if the columns are mapped.
    stored: Vec<StoredType>,
    metadata: HashMap<String, String>,
    /// Whether types follow the Arrow schema that the writer stored in the file.
    follows_hint: bool,
    /// Whether the names are a table's, not the file's.
    is_mapped: bool,
}

impl ConvertedSchema {
    /// The leaves by path. Paths of the Parquet schema select nothing from a mapped file.
    fn paths<'a>(&'a self, descr: &'a SchemaDescriptor) -> Paths<'a> {
        Paths::new(&self.nodes, descr, self.is_mapped)
    }

    /// The name of the column that has only this leaf, unless it is a field of another column.
    pub(crate) fn flat_column(&self, leaf: usize) -> Option<&str> {
        let is_it = |node: &&Node| matches!(&node.kind, NodeKind::Leaf(own) if own.column == leaf);
        self.nodes.iter().find(is_it).map(|node| node.field.name().as_str())
    }
}

/// Converts the whole schema of a file, with the options of opening the file.
pub(crate) fn convert(
    descr: &SchemaDescriptor,
    key_value: Option<&[KeyValue]>,
    options: &SchemaOptions,
) -> Result<ConvertedSchema> {
    let (nodes, metadata, follows_hint) = convert_nodes(descr, key_value, options)?;
    if let Some(columns) = &options.columns {
        let (nodes, stored) = (columns.apply(nodes)?, Vec::new());
        return Ok(ConvertedSchema { nodes, stored, metadata: HashMap::new(), follows_hint, is_mapped: true });
    }
    let stored = StoredType::from_nodes(descr, &nodes);
    Ok(ConvertedSchema { nodes, stored, metadata, follows_hint, is_mapped: false })
}

/// The tree of all columns of a schema, from the schema alone.
pub fn nodes(descr: &SchemaDescriptor) -> Result<Vec<Node>> {
    let options = SchemaOptions { use_hint: false, ..SchemaOptions::default() };
    convert_nodes(descr, None, &options).map(|(nodes, ..)| nodes)
}

/// The tree of all columns, the metadata of the Arrow schema, and whether types follow the file's own Arrow schema.
fn convert_nodes(
    descr: &SchemaDescriptor,
    key_value: Option<&[KeyValue]>,
    options: &SchemaOptions,
) -> Result<(Vec<Node>, HashMap<String, String>, bool)> {
    let deepest = options.limits.schema_depth.min(DEEPEST_SCHEMA);
    tree::check_depth(descr.root_schema(), deepest)?;
    let Conversion { schema, root, follows_hint } = convert::convert(descr, key_value, options.use_hint, deepest)?;
    // The hint may contain stored types of another file's columns.
    let fields = schema.fields().iter().map(without_stored_type).collect();
    Ok((tree::nodes(descr, &root, &fields)?, schema.metadata, follows_hint))
}

/// Builds the Arrow schema of a file, or of the part of it that `projection` selects, and the tree that assembles its columns: a
/// node for each field of the schema.
pub(crate) fn refine(
    converted: &ConvertedSchema,
    descr: &SchemaDescriptor,
    options: &SchemaOptions,
    projection: Option<&Projection>,
) -> Result<(SchemaRef, Vec<Node>)> {
    let nodes = &converted.nodes;
    let mut refinement = Refinement {
        descr,
        selected: None,
        dictionaries: Vec::new(),
        leaf_types: LeafTypes {
            strings: options.strings,
            int96_unit: options.int96_unit,
            follows_hint: converted.follows_hint,
        },
    };
    if let Some(projection) = projection {
        refinement.selected = Some(projection.select(descr.num_columns(), || converted.paths(descr))?);
    }
    if !options.dictionary_columns.is_empty() {
        let paths = converted.paths(descr);
        let is_there = |path: &&String| !options.may_lack_dictionary_columns || paths.columns_at(path).is_ok();
        let chosen: Vec<String> = options.dictionary_columns.iter().filter(is_there).cloned().collect();
        refinement.dictionaries = paths.select(&chosen)?;
    }
    let mut kept = Vec::with_capacity(nodes.len());
    for (at, node) in nodes.iter().enumerate() {
        if let Some(refined) = refinement.apply(node)? {
            kept.push(match converted.stored.get(at) {
                Some(stored) => stored.annotate(node, refined)?,
                None => refined,
            });
        }
    }
    let fields: Vec<FieldRef> = kept.iter().map(|node| FieldRef::clone(&node.field)).collect();
    Ok((Arc::new(Schema::new_with_metadata(fields, converted.metadata.clone())), kept))
}

/// Converts and refines at once.
#[cfg(test)]
pub(crate) fn build(
    descr: &SchemaDescriptor,
    key_value: Option<&[KeyValue]>,
    options: &SchemaOptions,
    projection: Option<&Projection>,
) -> Result<(SchemaRef, Vec<Node>)> {
    refine(&convert(descr, key_value, options)?, descr, options, projection)
}

/// One Arrow field of the result, with the levels to build it from.
///
/// Levels are counted from the root, as in the Parquet specification. A node's *slots* are the places where it has an element or
/// a null: the level pairs whose repetition level is at most `rep_level` and whose definition level is at least
/// `ancestor_def_level`.
#[derive(Debug, Clone)]
pub struct Node {
    /// The node's Arrow field.
    pub field: FieldRef,
    /// Definition level from which the node itself is not null.
    pub def_level: u8,
    /// Number of repeated nodes above this one (a list's own repetition is not counted).
    pub rep_level: u8,
    /// Definition level from which the nearest repeated ancestor has an element (0 if there is none).
    pub ancestor_def_level: u8,
    /// Kind of the node.
    pub kind: NodeKind,
}

/// Kind of a [`Node`].
#[derive(Debug, Clone)]
pub enum NodeKind {
    /// A column of values.
    Leaf(Leaf),
    /// A group of fields; the Arrow type is `Struct`.
    Struct(Vec<Node>),
    /// A repeated element; the Arrow type is any of the list types, or `Map` (whose element is the struct of entries).
    List {
        /// Definition level from which the list has at least one element.
        element_def_level: u8,
        /// The element.
        element: Box<Node>,
    },
}

/// A column of values: the leaf of a Parquet schema.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// Index among the leaves of the Parquet schema, which is the index of its column chunks.
    pub column: usize,
    /// The stored type.
    pub physical_type: PhysicalType,
    /// Byte length of FIXED_LEN_BYTE_ARRAY values, else 0.
    pub type_length: usize,
    /// Maximum definition level of the column.
    pub max_def_level: u8,
    /// Maximum repetition level of the column.
    pub max_rep_level: u8,
}

/// The columns of a node's leaves, in file order.
pub fn collect_columns(node: &Node, columns: &mut Vec<usize>) {
    match &node.kind {
        NodeKind::Leaf(leaf) => columns.push(leaf.column),
        NodeKind::Struct(children) => children.iter().for_each(|child| collect_columns(child, columns)),
        NodeKind::List { element, .. } => collect_columns(element, columns),
    }
}
