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
    pub(crate) file: Option<FileColumns<'a>>,
    leaves: Option<&'a LeafOfPath<'a>>,
}

/// The columns of a file that is one of several with one schema.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileColumns<'a> {
    pub(crate) schema: &'a Schema,
    /// Whether each type of the whole schema holds all values of the file's type.
    pub(crate) is_widened: bool,
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

/// A top-level column with one value for all rows, such as that of a Hive partition.
#[derive(Debug, Clone)]
pub struct Constant {
    /// The column's name.
    pub name: String,
    /// Its type.
    pub field: FieldRef,
    /// The value, or null.
    pub value: Option<Value>,
}

impl<'a> BindContext<'a> {
    /// The columns of `schema`, and nothing else.
    pub fn new(schema: &'a Schema) -> Self {
        Self { schema, constants: &[], file: None, leaves: None }
    }

    /// For the rows of one file among several: names and literals mean what they mean in the schema of all, and tests are those of
    /// the file's own types. A column that the file lacks, or has without values, is null.
    ///
    /// `is_widened` says that each type of the schema of all holds every value of the file's type, as it is where schemas are united.
    /// Else a literal is placed among the values of the file's type, and floats of another width are an error.
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

    /// With a function that finds the leaf of a column: its argument is the index of the field in the schema, or in that of the file
    /// where there is one, then those of the fields within structs. It returns `None` for a column that is not the values of one leaf, as a struct or a map is not.
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
