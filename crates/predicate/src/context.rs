use std::fmt;

use arrow_schema::{FieldRef, Schema};

use crate::value::Value;

/// What a predicate is bound to: the columns of a schema, and what is known of them.
///
/// ```
/// use std::sync::Arc;
///
/// use arrow_schema::{DataType, Field, Schema};
/// use lath_predicate::{BindContext, Constant, Leaf, Predicate, Value};
///
/// let schema = Schema::new(vec![Field::new("id", DataType::Int64, false)]);
/// // A file whose only leaf is that column, in a folder `year=2025`.
/// let leaf = |path: &[usize]| (path == [0]).then_some(Leaf { index: 0, repeated: false, may_overflow: false });
/// let year = Field::new("year", DataType::Int32, true);
/// let constants = [Constant { name: "year".into(), field: Arc::new(year), value: Some(Value::Int(2025)) }];
/// let context = BindContext::new(&schema).with_leaves(&leaf).with_constants(&constants);
///
/// let bound = Predicate::parse("id = 7 AND year = 2025")?.bind(&context)?;
/// assert_eq!(bound.columns.len(), 1);
/// assert_eq!(bound.columns[0].leaf, Some(0));
/// # Ok::<(), lath_predicate::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct BindContext<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) constants: &'a [Constant],
    leaves: Option<&'a LeafOfPath<'a>>,
}

/// Finds the leaf of a column, by the index of the field in the schema and those of the fields within structs.
type LeafOfPath<'a> = dyn Fn(&[usize]) -> Option<Leaf> + 'a;

/// The leaf of a file that holds the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    /// The leaf's index among those of the file.
    pub index: usize,
    /// Whether the column is a list, whose elements are the leaf's values, or lies within one.
    pub repeated: bool,
    /// Whether the file can have values that the Arrow type cannot hold, so that to read one is an error. A comparison with a
    /// literal beyond the type is then not settled before the values are read.
    pub may_overflow: bool,
}

/// A column with one value for all rows: that of a Hive partition, or null where a file lacks a column.
#[derive(Debug, Clone)]
pub struct Constant {
    /// The column's name; that of a field within structs has dots.
    pub name: String,
    /// Its type.
    pub field: FieldRef,
    /// The value, or null.
    pub value: Option<Value>,
}

impl<'a> BindContext<'a> {
    /// The columns of `schema`, and nothing else.
    pub fn new(schema: &'a Schema) -> Self {
        Self { schema, constants: &[], leaves: None }
    }

    /// With a function that finds the leaf of a column: its argument is the index of the field in the schema, then those of the
    /// fields within structs. It returns `None` for a column that is not the values of one leaf, as a struct or a map is not.
    /// Without it, [`BoundColumn::leaf`](crate::BoundColumn::leaf) is always `None`.
    #[must_use]
    pub fn with_leaves(self, leaves: &'a dyn Fn(&[usize]) -> Option<Leaf>) -> Self {
        Self { leaves: Some(leaves), ..self }
    }

    /// With columns that have one value for all rows. One that has the name of a column of the schema replaces it.
    #[must_use]
    pub fn with_constants(self, constants: &'a [Constant]) -> Self {
        Self { constants, ..self }
    }

    /// The leaf of the column that these indices lead to.
    pub(crate) fn leaf(&self, indices: &[usize]) -> Option<Leaf> {
        self.leaves.and_then(|leaf_of| leaf_of(indices))
    }
}

impl fmt::Debug for BindContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BindContext")
            .field("schema", &self.schema)
            .field("constants", &self.constants)
            .finish_non_exhaustive()
    }
}
