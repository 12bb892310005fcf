//! Removes leaves from Parquet types.

use std::sync::Arc;

use lath_format::schema::LogicalType;
use lath_format::schema::{SchemaDescriptor, Type, TypePtr};

use crate::envelope::guard;
use crate::error::{Error, Result};

/// The schema with the leaves `columns`, which ascend, and the groups above them.
///
/// # Errors
/// [`Error::Invalid`] if no leaf is left.
pub fn prune(schema: &SchemaDescriptor, columns: &[usize]) -> Result<SchemaDescriptor> {
    let root = schema.root_schema();
    let mut leaf = 0;
    let fields = root.get_fields().iter().filter_map(|field| visit(field, columns, &mut leaf).transpose());
    let fields = fields.collect::<Result<Vec<_>>>()?;
    if fields.is_empty() {
        return Err(Error::invalid("there is no column to copy"));
    }
    let root = guard(|| Type::group_type_builder(root.name()).with_fields(fields).build())?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
}

/// The part of a root column, whose first leaf is `first`, with the leaves `columns`, which ascend; `None` if there are none.
pub(super) fn prune_root(root: &TypePtr, first: usize, columns: &[usize]) -> Result<Option<TypePtr>> {
    visit(root, columns, &mut { first })
}

fn visit(node: &TypePtr, columns: &[usize], leaf: &mut usize) -> Result<Option<TypePtr>> {
    if node.is_primitive() {
        *leaf += 1;
        return Ok(columns.binary_search(&(*leaf - 1)).is_ok().then(|| Arc::clone(node)));
    }
    let fields = node.get_fields().iter().filter_map(|field| visit(field, columns, leaf).transpose());
    let fields = fields.collect::<Result<Vec<_>>>()?;
    if fields.is_empty() {
        return Ok(None);
    }
    let is_whole = fields.len() == node.get_fields().len();
    if is_whole && fields.iter().zip(node.get_fields()).all(|(a, b)| Arc::ptr_eq(a, b)) {
        return Ok(Some(Arc::clone(node)));
    }
    let info = node.get_basic_info();
    // A Variant needs all of its fields.
    let logical_type = info.logical_type_ref().filter(|ty| is_whole || !matches!(ty, LogicalType::Variant(_)));
    let mut builder = Type::group_type_builder(info.name())
        .with_converted_type(info.converted_type())
        .with_logical_type(logical_type.cloned())
        .with_id(info.has_id().then(|| info.id()))
        .with_fields(fields);
    if info.has_repetition() {
        builder = builder.with_repetition(info.repetition());
    }
    guard(|| builder.build()).map(|group| Some(Arc::new(group)))
}
