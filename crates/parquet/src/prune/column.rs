//! The columns of a predicate, prepared for one file.

use arrow_schema::DataType;
use lath_format::schema::ColumnDescriptor;
use lath_kernels::compare::Comparison;
use lath_predicate::{BoundColumn, ValueTest};

use super::bloom::KeyKind;
use super::bounds::BoundReader;
use crate::file::ParquetFile;

/// Properties of a column for pruning, computed once for each file.
#[derive(Debug)]
pub(super) struct PreparedColumn<'a> {
    pub(super) column: &'a BoundColumn,
    /// The leaf's descriptor; `None` if the operand is not a leaf's values.
    pub(super) descriptor: Option<&'a ColumnDescriptor>,
    /// `None` if bounds cannot be used.
    pub(super) bounds: Option<BoundReader>,
    /// `None` if filters cannot be probed.
    pub(super) keys: Option<KeyKind>,
}

impl<'a> PreparedColumn<'a> {
    pub(super) fn new(file: &'a ParquetFile, column: &'a BoundColumn) -> Self {
        let leaves = file.metadata().schema_descr().columns();
        let leaf = column.leaf.and_then(|leaf| Some((leaf, leaves.get(leaf)?)));
        let Some((leaf, descriptor)) = leaf else { return Self { column, descriptor: None, bounds: None, keys: None } };
        let data_type = element_type(column);
        let order = file.metadata().column_order(leaf);
        Self {
            column,
            descriptor: Some(descriptor),
            bounds: data_type.and_then(|data_type| BoundReader::new(descriptor, data_type, order)),
            keys: data_type.and_then(|data_type| KeyKind::new(descriptor, data_type)),
        }
    }

    /// The Arrow type of the leaf's values.
    pub(super) fn element_type(&self) -> Option<&'a DataType> {
        element_type(self.column)
    }

    /// Whether evidence of the leaf's values applies to `test`. Within lists it applies only to tests for an element.
    pub(super) fn applies_to(&self, test: &ValueTest) -> bool {
        self.descriptor.is_some() && self.column.repeated == matches!(test, ValueTest::Contains(_))
    }

    /// The leaf whose filters can be probed for the keys of a test.
    pub(super) fn filter_leaf(&self, test: &ValueTest) -> Option<usize> {
        let has_keys = match test {
            ValueTest::Compare(Comparison::Equal, _) | ValueTest::In(_) | ValueTest::Contains(_) => true,
            ValueTest::Like(pattern) => pattern.exact().is_some(),
            _ => false,
        };
        self.column.leaf.filter(|_| has_keys && self.keys.is_some() && self.applies_to(test))
    }
}

/// The type of a leaf's values: the operand's type, or its element type.
fn element_type(column: &BoundColumn) -> Option<&DataType> {
    let data_type = column.field.data_type();
    if !column.repeated {
        return Some(data_type);
    }
    match data_type {
        DataType::List(element)
        | DataType::LargeList(element)
        | DataType::ListView(element)
        | DataType::LargeListView(element)
        | DataType::FixedSizeList(element, _) => Some(element.data_type()),
        _ => None,
    }
}
