//! Predicates bound to a schema, and the columns that they are bound to.

use std::borrow::Cow;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{Field, FieldRef};

use crate::access::{Access, operand_of};
use crate::cast::Cast;
use crate::error::{Error, Result};
use crate::evaluate::{Evaluation, TruthCache};
use crate::test::Test;

/// A predicate whose names and types are settled for one schema.
///
/// A reader decodes [`columns`](Self::columns) and calls [`evaluate`](Self::evaluate) with their values; before that it may walk
/// [`test`](Self::test) to rule out rows by what is known of them.
#[derive(Debug, Clone)]
pub struct BoundPredicate {
    /// The condition.
    pub test: Test,
    /// The operands of `test`, each once.
    pub columns: Vec<BoundColumn>,
    pub(crate) truths: TruthCache,
}

/// An operand: a column, or what is found within it.
#[derive(Debug, Clone)]
pub struct BoundColumn {
    /// The column to decode, as the index of the root field in the schema and those of the fields within structs: a leaf, or a list,
    /// map or struct.
    pub indices: Vec<usize>,
    /// The names of these fields.
    pub names: Vec<String>,
    /// What messages call the operand.
    pub name: String,
    /// The operand's Arrow field, before any cast.
    pub field: FieldRef,
    /// The field that the operand has in the schema of all files, where its type is a wider one.
    pub(crate) wide: Option<FieldRef>,
    /// The index of the leaf that has the operand's values, or the elements of an operand that is a list. `None` if the operand is
    /// cast, is a value of a map, or is not the values of one leaf.
    pub leaf: Option<usize>,
    /// Whether the leaf is within a list: then only [`ValueTest::Contains`](crate::ValueTest::Contains) is about the leaf's values.
    pub repeated: bool,
    /// Whether reading a value can fail because the operand's type does not hold it.
    pub(crate) may_overflow: bool,
    /// The way from the root column to the operand.
    pub(crate) access: Vec<Access>,
    /// What its values are cast to, one after the other.
    pub(crate) casts: Vec<Cast>,
}

impl BoundColumn {
    /// The operand's values in a batch that has its path; those within a null struct or map are null.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the batch does not have the column as it was bound.
    pub fn operand(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        operand_of(batch, &self.access)?
            .ok_or_else(|| Error::mismatch(format!("the batch does not have column {:?} as it was bound", self.name)))
    }

    /// The field that conditions are about: that of the schema of all files, or what it is cast to.
    pub(crate) fn tested_field(&self) -> Cow<'_, Field> {
        match self.casts.last() {
            None => Cow::Borrowed(self.wide.as_ref().unwrap_or(&self.field)),
            Some(cast) => Cow::Owned(cast.to.field()),
        }
    }

    /// The values that are tested.
    pub(crate) fn cast(&self, operand: &ArrayRef) -> Result<ArrayRef> {
        let mut array = ArrayRef::clone(operand);
        let mut field = Cow::Borrowed(self.field.as_ref());
        // Without a cast, literals are placed among the values of the file's type.
        if let Some(wide) = self.wide.as_ref().filter(|_| !self.casts.is_empty()) {
            array = arrow_cast::cast(&array, wide.data_type())?;
            field = Cow::Borrowed(wide.as_ref());
        }
        for cast in &self.casts {
            array = cast.apply(&array, &field, &self.name)?;
            field = Cow::Owned(cast.to.field());
        }
        Ok(array)
    }
}

impl BoundPredicate {
    /// True, false or null for each of `row_count` rows. `operands` has an array for each of the columns, in their order, as
    /// [`BoundColumn::operand`] takes it from a batch.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if a column does not have `row_count` values, or values of another type than it was bound with;
    /// [`Error::Cast`] if a value cannot be cast.
    pub fn evaluate(&self, operands: &[ArrayRef], row_count: usize) -> Result<BooleanArray> {
        if operands.len() != self.columns.len() || operands.iter().any(|operand| operand.len() != row_count) {
            return Err(Error::mismatch("a predicate needs an array of each of its columns, one value a row"));
        }
        let cast = |(column, operand): (&BoundColumn, &ArrayRef)| column.cast(operand);
        let operands: Vec<ArrayRef> = self.columns.iter().zip(operands).map(cast).collect::<Result<_>>()?;
        Evaluation { operands: &operands, row_count, truths: &self.truths }.evaluate(&self.test)
    }

    /// Drops the columns that are not tested.
    pub(crate) fn drop_unused(&mut self) {
        let used = self.test.columns();
        self.test.renumber_columns(&used);
        let mut index = 0..;
        self.columns.retain(|_| index.next().is_some_and(|index| used.binary_search(&index).is_ok()));
    }

    /// A predicate for a part of the test. It has the columns of that part only, in the same order.
    pub fn part(&self, test: Test) -> Self {
        let mut part = self.with_test(test);
        part.drop_unused();
        part
    }

    /// Whether all columns are numbers of one type of at most 8 bytes, compared as they are stored. Evaluating such a predicate
    /// takes less time a row than picking the row's values out of an array.
    pub fn only_compares_numbers(&self) -> bool {
        let is_number = |column: &BoundColumn| {
            column.casts.is_empty() && column.field.data_type().primitive_width().is_some_and(|width| width <= 8)
        };
        let first = self.columns.first().map(|column| column.field.data_type());
        self.columns.iter().all(|column| is_number(column) && Some(column.field.data_type()) == first)
            && self.test.only_compares()
    }

    /// The same columns with another test, such as one that is simpler for some rows.
    pub fn with_test(&self, test: Test) -> Self {
        Self { test, columns: self.columns.clone(), truths: self.truths.clone() }
    }
}
