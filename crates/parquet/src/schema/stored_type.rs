//! Stores the Parquet type of a column as metadata of its Arrow field.
//!
//! Arrow has fewer types than Parquet: ENUM and BSON are bytes in Arrow, and a list of two levels is a list. So that a column can
//! be written with its original type, its field stores the Parquet type under [`PARQUET_TYPE_KEY`], but only if the field alone
//! would become another one: most columns store nothing.
//!
//! The value is the base64 form of a `FileMetaData` in Thrift's compact protocol (a footer that any Parquet library can read),
//! whose schema has the column as its only field, and which has no rows. Only fields at the root of a schema have it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{Field, FieldRef, Fields, Schema};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use lath_format::schema::ArrowSchemaConverter;
use lath_format::schema::{BasicTypeInfo, SchemaDescriptor, Type, TypePtr};
use lath_format::schema::{ConvertedType, LogicalType, PhysicalType};
use lath_format::write::FooterMetaData;

use super::collect_columns;
use super::prune::prune_root;
use super::sound::{repetition, type_length};
use super::{Node, NodeKind};
use crate::envelope::guard;
use crate::error::Result;
use crate::options::Limits;

/// The metadata key of an Arrow field for the Parquet type of its column, if a writer would choose another type by the Arrow type
/// alone: an ENUM, a list of two levels, a decimal in bytes.
///
/// `ParquetWriter` of `lath-writer` writes a column with this type if the field still has the Arrow type that such a column is
/// read as; otherwise, and without the key, it uses the Arrow type. The value is base64 of a Parquet footer (a `FileMetaData` in
/// Thrift's compact protocol) whose schema has only this column.
pub const PARQUET_TYPE_KEY: &str = "lath:parquet_type";

/// The Parquet type of a root column.
#[derive(Debug)]
pub(super) struct StoredType {
    ty: TypePtr,
    /// Number of its first leaf in the file.
    first_leaf: usize,
    /// Value of the field's metadata, if it is needed.
    encoded: Option<String>,
    /// Whether the field, or one below it, has an extension type, which some layouts remove.
    has_extension: bool,
}

impl StoredType {
    /// The types of the columns of `nodes`.
    pub(super) fn from_nodes(descr: &SchemaDescriptor, nodes: &[Node]) -> Vec<Self> {
        let fields: Fields = nodes.iter().map(|node| FieldRef::clone(&node.field)).collect();
        let converted = convert_all(&fields);
        let mut first_leaves = HashMap::new();
        for leaf in 0..descr.num_columns() {
            first_leaves.entry(descr.get_column_root_idx(leaf)).or_insert(leaf);
        }
        let stored = nodes.iter().zip(converted).map(|(node, converted)| {
            let mut leaves = Vec::new();
            collect_columns(node, &mut leaves);
            let root = leaves.first().map_or(0, |&leaf| descr.get_column_root_idx(leaf));
            let ty = &descr.root_schema().get_fields()[root];
            Self {
                ty: Arc::clone(ty),
                first_leaf: first_leaves.get(&root).copied().unwrap_or(0),
                encoded: encode_unless_converted(ty, converted.as_ref()),
                has_extension: extension_count(node) > 0,
            }
        });
        stored.collect()
    }

    /// The node `kept` with the necessary metadata in its field: it is `whole`, or a part of it, perhaps with other Arrow types.
    pub(super) fn annotate(&self, whole: &Node, kept: Node) -> Result<Node> {
        if self.encoded.is_none() && !self.has_extension {
            return Ok(kept);
        }
        let (mut all, mut columns) = (Vec::new(), Vec::new());
        collect_columns(whole, &mut all);
        collect_columns(&kept, &mut columns);
        let encoded = if all.len() == columns.len() && extension_count(whole) == extension_count(&kept) {
            self.encoded.clone()
        } else if let Some(ty) = prune_root(&self.ty, self.first_leaf, &columns)? {
            let converted = convert_all(&Fields::from(vec![FieldRef::clone(&kept.field)]));
            encode_unless_converted(&ty, converted.first().and_then(Option::as_ref))
        } else {
            None
        };
        let Some(encoded) = encoded else { return Ok(kept) };
        let mut metadata = kept.field.metadata().clone();
        metadata.insert(PARQUET_TYPE_KEY.to_owned(), encoded);
        Ok(Node { field: FieldRef::new(Field::clone(&kept.field).with_metadata(metadata)), ..kept })
    }
}

/// The field without a stored Parquet type.
pub fn without_stored_type(field: &FieldRef) -> FieldRef {
    if !field.metadata().contains_key(PARQUET_TYPE_KEY) {
        return FieldRef::clone(field);
    }
    let mut metadata = field.metadata().clone();
    metadata.remove(PARQUET_TYPE_KEY);
    FieldRef::new(Field::clone(field).with_metadata(metadata))
}

/// The Parquet type stored in a field; `None` if there is none, or a malformed one.
pub fn stored_type(field: &Field) -> Option<TypePtr> {
    let footer = BASE64_STANDARD.decode(field.metadata().get(PARQUET_TYPE_KEY)?).ok()?;
    let footer = lath_format::Footer::find(footer.into(), false, None, Limits::DEFAULT_SCHEMA_DEPTH).ok()?;
    match footer.parse_schema().ok()?.root_schema().get_fields() {
        [ty] => Some(Arc::clone(ty)),
        _ => None,
    }
}

/// The `parquet` crate's type for each Arrow field; `None` if Parquet cannot represent it.
fn convert_all(fields: &Fields) -> Vec<Option<TypePtr>> {
    let convert = |fields: Fields| guard(|| ArrowSchemaConverter::new().convert(&Schema::new(fields)));
    if let Ok(descr) = convert(fields.clone()) {
        return descr.root_schema().get_fields().iter().cloned().map(Some).collect();
    }
    let alone = |field: &FieldRef| convert(vec![FieldRef::clone(field)].into()).ok();
    fields.iter().map(|field| alone(field)?.root_schema().get_fields().first().cloned()).collect()
}

fn encode_unless_converted(ty: &TypePtr, converted: Option<&TypePtr>) -> Option<String> {
    if converted.is_some_and(|converted| is_same(ty, converted)) {
        return None;
    }
    let ty = without_unknown_types(ty).ok()?;
    if converted.is_some_and(|converted| is_same(&ty, converted)) { None } else { encode(ty).ok() }
}

fn encode(ty: TypePtr) -> Result<String> {
    let root = guard(|| Type::group_type_builder("schema").with_fields(vec![ty]).build())?;
    let metadata = FooterMetaData {
        version: 1,
        schema: &root,
        row_groups: Vec::new(),
        key_value_metadata: &[],
        created_by: None,
        column_orders: &[],
    };
    let mut footer = Vec::new();
    metadata.write(&mut footer);
    Ok(BASE64_STANDARD.encode(footer))
}

/// Whether two types are equal; attributes without meaning for the type are ignored.
fn is_same(a: &Type, b: &Type) -> bool {
    let (info_a, info_b) = (a.get_basic_info(), b.get_basic_info());
    let id = |info: &BasicTypeInfo| info.has_id().then(|| info.id());
    if a.name() != b.name()
        || repetition(a) != repetition(b)
        || id(info_a) != id(info_b)
        || !has_same_annotation(a, b)
        || a.is_primitive() != b.is_primitive()
    {
        return false;
    }
    if a.is_primitive() {
        return is_stored_alike(a, b);
    }
    let (fields_a, fields_b) = (a.get_fields(), b.get_fields());
    fields_a.len() == fields_b.len() && fields_a.iter().zip(fields_b).all(|(a, b)| is_same(a, b))
}

/// Whether two primitive types have the same physical type.
pub fn is_stored_alike(a: &Type, b: &Type) -> bool {
    a.get_physical_type() == b.get_physical_type()
        && (a.get_physical_type() != PhysicalType::FIXED_LEN_BYTE_ARRAY || type_length(a) == type_length(b))
}

/// Whether two types have the same logical and converted type, with the same parameters.
pub fn has_same_annotation(a: &Type, b: &Type) -> bool {
    let (info_a, info_b) = (a.get_basic_info(), b.get_basic_info());
    let digits = |ty: &Type| match ty {
        Type::PrimitiveType { precision, scale, .. } => (*precision, *scale),
        Type::GroupType { .. } => (-1, -1),
    };
    info_a.logical_type_ref() == info_b.logical_type_ref()
        && info_a.converted_type() == info_b.converted_type()
        && (info_a.converted_type() != ConvertedType::DECIMAL || digits(a) == digits(b))
}

/// The type without logical types that the `parquet` crate does not know: it cannot write them.
pub fn without_unknown_types(ty: &TypePtr) -> Result<TypePtr> {
    let info = ty.get_basic_info();
    let logical_type =
        info.logical_type_ref().filter(|logical_type| !matches!(logical_type, LogicalType::_Unknown { .. }));
    let is_known = logical_type.is_some() == info.logical_type_ref().is_some();
    let id = info.has_id().then(|| info.id());
    if let Type::PrimitiveType { physical_type, type_length, scale, precision, .. } = ty.as_ref() {
        if is_known {
            return Ok(Arc::clone(ty));
        }
        let builder = Type::primitive_type_builder(ty.name(), *physical_type)
            .with_repetition(repetition(ty))
            .with_converted_type(info.converted_type())
            .with_length(*type_length)
            .with_scale(*scale)
            .with_precision(*precision)
            .with_id(id);
        return guard(|| builder.build()).map(Arc::new);
    }
    let fields = ty.get_fields().iter().map(without_unknown_types).collect::<Result<Vec<_>>>()?;
    if is_known && fields.iter().zip(ty.get_fields()).all(|(a, b)| Arc::ptr_eq(a, b)) {
        return Ok(Arc::clone(ty));
    }
    let mut builder = Type::group_type_builder(ty.name())
        .with_converted_type(info.converted_type())
        .with_logical_type(logical_type.cloned())
        .with_id(id)
        .with_fields(fields);
    if info.has_repetition() {
        builder = builder.with_repetition(info.repetition());
    }
    guard(|| builder.build()).map(Arc::new)
}

fn extension_count(node: &Node) -> usize {
    let below = match &node.kind {
        NodeKind::Leaf(_) => 0,
        NodeKind::Struct(children) => children.iter().map(extension_count).sum(),
        NodeKind::List { element, .. } => extension_count(element),
    };
    below + usize::from(node.field.extension_type_name().is_some())
}
