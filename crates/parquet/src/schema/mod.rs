//! The tree that ties a Parquet schema to the Arrow schema it is read as.

use arrow_schema::FieldRef;
use parquet::basic::Type as PhysicalType;

/// One Arrow field to be produced, with what is needed to build it from levels and values.
///
/// Levels are those of the Parquet specification, counted from the root. A node's *slots* are the places where it has
/// an element or a null: the level pairs whose repetition level is at most `rep_level` and whose definition level is
/// at least `ancestor_def_level`.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    /// The Arrow field this node becomes.
    pub(crate) field: FieldRef,
    /// Definition level from which the node itself is not null.
    pub(crate) def_level: u8,
    /// Number of repeated nodes above this one (a list's own repetition is not counted).
    pub(crate) rep_level: u8,
    /// Definition level from which the nearest repeated ancestor has an element (0 if there is none).
    pub(crate) ancestor_def_level: u8,
    /// What the node is made of.
    pub(crate) kind: NodeKind,
}

/// What a [`Node`] is made of.
#[derive(Debug, Clone)]
pub(crate) enum NodeKind {
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
pub(crate) struct Leaf {
    /// Index among the leaves of the Parquet schema, which is the index of its column chunks.
    pub(crate) column: usize,
    /// The type that is stored.
    pub(crate) physical_type: PhysicalType,
    /// Byte length of FIXED_LEN_BYTE_ARRAY values, else 0.
    pub(crate) type_length: usize,
    /// Largest definition level of the column.
    pub(crate) max_def_level: u8,
    /// Largest repetition level of the column.
    pub(crate) max_rep_level: u8,
}
