use std::fmt;

use arrow_schema::{FieldRef, Schema};

use crate::value::Value;

/// The columns to which a predicate is bound: a schema, leaves, and constant columns.
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
    pub(crate) field_defaults: &'a [FieldDefault],
    pub(crate) file: Option<FileColumns<'a>>,
    leaves: Option<&'a LeafOfPath<'a>>,
}

/// The columns of one file of several with a common schema.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileColumns<'a> {
    pub(crate) schema: &'a Schema,
    /// Whether each type of the common schema holds all values of the file's type.
    pub(crate) is_widened: bool,
}

/// Finds the leaf of a column by the index of the root field in the schema and the indices of fields within structs.
type LeafOfPath<'a> = dyn Fn(&[usize]) -> Option<Leaf> + 'a;

/// The leaf of a file with the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    /// The leaf's index in the file.
    pub index: usize,
    /// Whether the column is a list, whose elements are the leaf's values, or is within a list.
    pub repeated: bool,
    /// Whether the file can have values that the Arrow type cannot hold, so that reading one is an error. A comparison with a literal outside
    /// the type's range then has to read the values.
    pub may_overflow: bool,
}

/// A top-level column with one value for all rows, such as a Hive partition column.
#[derive(Debug, Clone)]
pub struct Constant {
    /// The column's name.
    pub name: String,
    /// Its type.
    pub field: FieldRef,
    /// The value, or null.
    pub value: Option<Value>,
}

/// A field within a struct that a file lacks: it has this value in all rows in which the struct is not null.
#[derive(Debug, Clone)]
pub struct FieldDefault {
    /// The names of the column and of the fields within it.
    pub path: Vec<String>,
    /// The value.
    pub value: Value,
}

impl<'a> BindContext<'a> {
    /// The columns of `schema`.
    pub fn new(schema: &'a Schema) -> Self {
        Self { schema, constants: &[], field_defaults: &[], file: None, leaves: None }
    }

    /// Binds to one file of several. Names and literals have the meaning that they have in the common schema; tests compare values of the
    /// file's own types. A column that the file lacks, or of which it has only nulls, is null.
    ///
    /// `is_widened` says that each type of the common schema holds every value of the file's type, as after uniting schemas. Otherwise a literal
    /// is compared with the file's type directly, and floats of another width are an error.
    ///
    /// ```
    /// use arrow_schema::{DataType, Field, Schema};
    /// use lath_predicate::{BindContext, Predicate, Test, ValueTest};
    ///
    /// let schema = |data_type| Schema::new(vec![Field::new("x", data_type, true)]);
    /// let (whole, file) = (schema(DataType::Float64), schema(DataType::Float32));
    /// let bound = Predicate::parse("x = 0.1")?.bind(&BindContext::new(&whole).with_file(&file, true))?;
    /// // No 32-bit float is the double 0.1.
    /// assert_eq!(bound.test, Test::Values { column: 0, test: ValueTest::Always(false) });
    /// # Ok::<(), lath_predicate::Error>(())
    /// ```
    #[must_use]
    pub fn with_file(self, file: &'a Schema, is_widened: bool) -> Self {
        Self { file: Some(FileColumns { schema: file, is_widened }), ..self }
    }

    /// Sets a function that finds the leaf of a column. Its argument is the index of the root field in the schema (in the file's schema, if
    /// there is one), then the indices of fields within structs. It returns `None` for a column with more than one leaf, such as a struct or a
    /// map. Without this function, [`BoundColumn::leaf`](crate::BoundColumn::leaf) is always `None`.
    #[must_use]
    pub fn with_leaves(self, leaves: &'a dyn Fn(&[usize]) -> Option<Leaf>) -> Self {
        Self { leaves: Some(leaves), ..self }
    }

    /// Adds columns with one value for all rows. They replace columns of the schema with the same name.
    #[must_use]
    pub fn with_constants(self, constants: &'a [Constant]) -> Self {
        Self { constants, ..self }
    }

    /// Sets the values of fields within structs that the file lacks. Other fields that it lacks are null.
    #[must_use]
    pub fn with_field_defaults(self, defaults: &'a [FieldDefault]) -> Self {
        Self { field_defaults: defaults, ..self }
    }

    /// The leaf of the column with these indices.
    pub(crate) fn leaf(&self, indices: &[usize]) -> Option<Leaf> {
        self.leaves.and_then(|find_leaf| find_leaf(indices))
    }
}

impl fmt::Debug for BindContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BindContext")
            .field("schema", &self.schema)
            .field("constants", &self.constants)
            .field("field_defaults", &self.field_defaults)
            .finish_non_exhaustive()
    }
}
