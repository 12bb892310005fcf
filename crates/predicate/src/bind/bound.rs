//! Predicates bound to a schema, and the columns that they are bound to.

use std::borrow::Cow;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{Field, FieldRef};

use crate::access::{Access, follow};
use crate::cast::Cast;
use crate::error::{Error, Result};
use crate::evaluate::{Evaluation, TruthCache};
use crate::test::Test;

/// A predicate whose names and types are resolved for one schema.
///
/// A reader decodes [`columns`](Self::columns) and calls [`evaluate`](Self::evaluate) with their values. Before that it may walk
/// [`test`](Self::test) to rule out rows by statistics and filters.
#[derive(Debug, Clone)]
pub struct BoundPredicate {
    /// The condition.
    pub test: Test,
    /// The distinct operands of `test`.
    pub columns: Vec<BoundColumn>,
    pub(crate) truths: TruthCache,
}

/// An operand: a column, a field of a struct, or a value of a map.
#[derive(Debug, Clone)]
pub struct BoundColumn {
    /// The column to decode (a leaf, list, map or struct): the index of the root field in the schema, then the indices of fields within
    /// structs.
    pub indices: Vec<usize>,
    /// The names of these fields.
    pub names: Vec<String>,
    /// The operand's name in messages.
    pub name: String,
    /// The operand's Arrow field, before casts.
    pub field: FieldRef,
    /// The operand's field in the schema of all files, if its type there is wider.
    pub(crate) wide: Option<FieldRef>,
    /// The index of the leaf that has the operand's values, or a list operand's elements. `None` if the operand is cast, is a value of a map,
    /// or has more than one leaf.
    pub leaf: Option<usize>,
    /// Whether the leaf is within a list. Then only [`ValueTest::Contains`](crate::ValueTest::Contains) tests the leaf's values.
    pub repeated: bool,
    /// Whether reading a value can fail because the operand's type does not have it.
    pub(crate) may_overflow: bool,
    /// The steps from the root column to the operand.
    pub(crate) access: Vec<Access>,
    /// The casts of its values, in order.
    pub(crate) casts: Vec<Cast>,
}

impl BoundColumn {
    /// Whether the operand is a value of a map, or within one.
    pub fn is_in_map(&self) -> bool {
        self.access.len() > self.names.len()
    }

    /// The operand's values in a batch. Values within a null struct or map are null.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the batch lacks the column, or has it with another type.
    pub fn operand(&self, batch: &RecordBatch) -> Result<ArrayRef> {
        follow(batch, &self.access)?
            .ok_or_else(|| Error::mismatch(format!("the batch does not have column {:?} as it was bound", self.name)))
    }

    /// The field that conditions test: after casts, in the schema of all files.
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
        // Without a cast, literals have been narrowed to the file's type.
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
    /// True, false or null for each of `row_count` rows. `operands` has an array for each of the columns, in their order, as from
    /// [`BoundColumn::operand`].
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

    /// Removes columns that are not tested.
    pub(crate) fn drop_unused(&mut self) {
        let used = self.test.columns();
        self.test.renumber_columns(&used);
        let mut index = 0..;
        self.columns.retain(|_| index.next().is_some_and(|index| used.binary_search(&index).is_ok()));
    }

    /// A predicate of a part of the test. It has only the columns of that part, in the same order.
    pub fn part(&self, test: Test) -> Self {
        let mut part = self.with_test(test);
        part.drop_unused();
        part
    }

    /// Whether all columns are numbers of one type of at most 8 bytes, compared without conversion. Evaluating such a predicate takes less
    /// time a row than selecting the row's values from an array.
    pub fn only_compares_numbers(&self) -> bool {
        let is_number = |column: &BoundColumn| {
            column.casts.is_empty() && column.field.data_type().primitive_width().is_some_and(|width| width <= 8)
        };
        let first = self.columns.first().map(|column| column.field.data_type());
        self.columns.iter().all(|column| is_number(column) && Some(column.field.data_type()) == first)
            && self.test.only_compares()
    }

    /// Replaces the test, for example by a simpler one for some of the rows.
    pub fn with_test(&self, test: Test) -> Self {
        Self { test, columns: self.columns.clone(), truths: self.truths.clone() }
    }
}
