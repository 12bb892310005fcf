//! A Parquet schema without some of its leaves.

use std::sync::Arc;

use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use crate::envelope::guard;
use crate::error::{Error, Result};

/// The schema with the leaves `columns`, which ascend, and the groups above them.
///
/// # Errors
/// [`Error::Invalid`] if no leaf is left.
pub(super) fn prune(schema: &SchemaDescriptor, columns: &[usize]) -> Result<SchemaDescriptor> {
    let root = schema.root_schema();
    let mut leaf = 0;
    let fields = root.get_fields().iter().filter_map(|field| visit(field, columns, &mut leaf).transpose());
    let fields = fields.collect::<Result<Vec<_>>>()?;
    if fields.is_empty() {
        return Err(Error::invalid("no column is left to be copied"));
    }
    let root = guard(|| Type::group_type_builder(root.name()).with_fields(fields).build())?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
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
    if fields.len() == node.get_fields().len() && fields.iter().zip(node.get_fields()).all(|(a, b)| Arc::ptr_eq(a, b)) {
        return Ok(Some(Arc::clone(node)));
    }
    let info = node.get_basic_info();
    let mut builder = Type::group_type_builder(info.name())
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_id(info.has_id().then(|| info.id()))
        .with_fields(fields);
    if info.has_repetition() {
        builder = builder.with_repetition(info.repetition());
    }
    guard(|| builder.build()).map(|group| Some(Arc::new(group)))
}
