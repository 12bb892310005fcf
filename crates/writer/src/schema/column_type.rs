//! Chooses the Parquet type of a column: the type stored in its field, if its values can be written as that.

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, Fields};
use lath_format::schema::{ConvertedType, PhysicalType, Repetition};
use lath_format::schema::{SchemaDescriptor, Type, TypePtr};
use lath_parquet::internal::{
    Node, NodeKind, guard, has_same_annotation, is_stored_alike, nodes, stored_type, without_stored_type,
    without_unknown_types,
};
use lath_parquet::{ExactType, Result};

use crate::physical::Conversion;

/// A column's Parquet type, and its field for striping: a nullable field is OPTIONAL.
#[derive(Debug)]
pub(crate) struct ColumnType {
    pub(crate) ty: TypePtr,
    pub(crate) striped: FieldRef,
}

/// The type stored in `field`, if rows of its Arrow type can be written as that type. Leaves whose Arrow type differs from the
/// type as read get the type of `converted`, which is derived from the Arrow type alone.
pub(crate) fn carried(field: &FieldRef, converted: &TypePtr) -> Option<ColumnType> {
    let stored = named_like(&stored_type(field)?, field).ok()?;
    let (stored, converted) = (descriptor(&stored).ok()?, descriptor(converted).ok()?);
    let fields = Fields::from(vec![without_stored_type(field)]);
    let (striped, misfits) = fit(&stored, &fields, &converted)?;
    let [ty] = stored.root_schema().get_fields() else { return None };
    let ty =
        if misfits.contains(&true) { replace_leaves(ty, &misfits, &converted, &mut 0).ok()? } else { Arc::clone(ty) };
    Some(ColumnType { ty, striped: striped.into_iter().next()? })
}

/// The fields for striping, if rows of `fields` can be written as `stored` in every leaf.
pub(crate) fn fitting(stored: &SchemaDescriptor, fields: &Fields, converted: &SchemaDescriptor) -> Option<Fields> {
    let (striped, misfits) = fit(stored, fields, converted)?;
    (!misfits.contains(&true)).then(|| striped.into())
}

/// The fields for striping, and flags of the leaves that cannot be written as `stored`; `None` if levels or nesting differ.
fn fit(stored: &SchemaDescriptor, fields: &Fields, converted: &SchemaDescriptor) -> Option<(Vec<FieldRef>, Vec<bool>)> {
    let nodes = nodes(stored).ok()?;
    if nodes.len() != fields.len() || stored.num_columns() != converted.num_columns() {
        return None;
    }
    let mut leaves = Vec::with_capacity(stored.num_columns());
    let striped = nodes.iter().zip(fields).map(|(node, field)| striped(node, field, 0, &mut leaves));
    let striped = striped.collect::<Option<Vec<_>>>()?;
    // Groups without leaves have no field; a map with such a part has none either.
    if !leaves.iter().map(|leaf| leaf.column).eq(0..stored.num_columns()) {
        return None;
    }
    let misfits = leaves.iter().zip(converted.columns()).map(|(leaf, converted)| {
        let column = stored.column(leaf.column);
        let (ty, converted) = (column.self_type(), converted.self_type());
        let is_alike = is_stored_alike(ty, converted) && has_same_annotation(ty, converted)
            || is_read_alike(ty, leaf.read_as, &leaf.written);
        !is_alike || Conversion::new(&column, &leaf.written).is_err()
    });
    let misfits = misfits.collect();
    Some((striped, misfits))
}

/// A leaf, with the Arrow type it is read as, and the Arrow type of the values to write.
struct Leaf<'a> {
    column: usize,
    read_as: &'a DataType,
    written: DataType,
}

/// The field, nullable if the node has a level for nulls. `parent_level` is the node's definition level if it were REQUIRED.
/// `None` if there are no such levels, or if the node is nested in another way.
fn striped<'a>(node: &'a Node, field: &FieldRef, parent_level: u8, leaves: &mut Vec<Leaf<'a>>) -> Option<FieldRef> {
    let is_optional = node.def_level > parent_level;
    if field.is_nullable() && !is_optional {
        return None;
    }
    let data_type = match (&node.kind, field.data_type()) {
        (NodeKind::Leaf(leaf), data_type) => {
            let written = flat(data_type);
            if written.is_nested() {
                return None;
            }
            let (read_as, written) = (node.field.data_type(), written.clone());
            leaves.push(Leaf { column: leaf.column, read_as, written });
            data_type.clone()
        }
        (NodeKind::Struct(children), DataType::Struct(fields)) if children.len() == fields.len() => {
            let below = children.iter().zip(fields).map(|(child, field)| {
                let is_same = child.field.name() == field.name();
                is_same.then(|| striped(child, field, node.def_level, leaves)).flatten()
            });
            DataType::Struct(below.collect::<Option<Fields>>()?)
        }
        (NodeKind::List { element_def_level, element }, data_type) => {
            let is_map = matches!(data_type, DataType::Map(..));
            if is_map != matches!(node.field.data_type(), DataType::Map(..)) {
                return None;
            }
            let mut below = |item: &FieldRef| striped(element, item, *element_def_level, leaves);
            match data_type {
                DataType::List(item) => DataType::List(below(item)?),
                DataType::LargeList(item) => DataType::LargeList(below(item)?),
                DataType::FixedSizeList(item, len) => DataType::FixedSizeList(below(item)?, *len),
                DataType::ListView(item) => DataType::ListView(below(item)?),
                DataType::LargeListView(item) => DataType::LargeListView(below(item)?),
                // The entries are the repeated group itself, which cannot be null.
                DataType::Map(entries, is_sorted) => {
                    DataType::Map(below(&Arc::new(Field::clone(entries).with_nullable(false)))?, *is_sorted)
                }
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(Arc::new(Field::clone(field).with_data_type(data_type).with_nullable(is_optional)))
}

/// Whether a leaf of type `ty` that is read as `read_as` holds the same values as `written`, in any layout.
fn is_read_alike(ty: &Type, read_as: &DataType, written: &DataType) -> bool {
    use DataType as D;
    let is_string = |data_type: &D| matches!(data_type, D::Utf8 | D::LargeUtf8 | D::Utf8View);
    let is_binary = |data_type: &D| matches!(data_type, D::Binary | D::LargeBinary | D::BinaryView);
    match (read_as, written) {
        // An Arrow schema in the file can declare bytes as text.
        (read_as, written) if is_binary(read_as) && is_string(written) => {
            matches!(ty.get_basic_info().converted_type(), ConvertedType::NONE | ConvertedType::ENUM)
        }
        (read_as, written) if is_binary(read_as) => is_binary(written),
        (read_as, written) if is_string(read_as) => is_string(written),
        (D::Decimal128(..) | D::Decimal256(..), written) => {
            ExactType::decimal_digits(read_as) == ExactType::decimal_digits(written)
        }
        (D::Timestamp(..), D::Timestamp(..)) if ty.get_physical_type() == PhysicalType::INT96 => true,
        (D::Timestamp(unit, zone), D::Timestamp(other_unit, other_zone)) => {
            unit == other_unit && zone.is_some() == other_zone.is_some()
        }
        (D::Date32, D::Date64) => true,
        (read_as, written) => read_as == written,
    }
}

/// The type of the values of a dictionary or of runs, else the type itself.
fn flat(data_type: &DataType) -> &DataType {
    match data_type {
        DataType::Dictionary(_, values) => flat(values),
        DataType::RunEndEncoded(_, values) => flat(values.data_type()),
        other => other,
    }
}

/// The key of a field's metadata that has its number.
const FIELD_ID_KEY: &str = "PARQUET:field_id";

/// The type with the name, the nullability and the number of the field. A field without a number keeps the type's.
fn named_like(ty: &TypePtr, field: &Field) -> Result<TypePtr> {
    let ty = without_unknown_types(ty)?;
    let repetition = match ty.get_basic_info().repetition() {
        Repetition::REPEATED => Repetition::REPEATED,
        _ if field.is_nullable() => Repetition::OPTIONAL,
        _ => Repetition::REQUIRED,
    };
    let own = ty.get_basic_info().has_id().then(|| ty.get_basic_info().id());
    let id = field.metadata().get(FIELD_ID_KEY).and_then(|id| id.parse().ok());
    rebuilt_with_id(&ty, field.name(), repetition, None, id.or(own))
}

/// The type, in which the leaves flagged in `misfits` are stored like the leaves of `converted`.
fn replace_leaves(
    ty: &TypePtr,
    misfits: &[bool],
    converted: &SchemaDescriptor,
    next_leaf: &mut usize,
) -> Result<TypePtr> {
    let (name, repetition) = (ty.name(), ty.get_basic_info().repetition());
    if ty.is_primitive() {
        let leaf = *next_leaf;
        *next_leaf += 1;
        if !misfits[leaf] {
            return Ok(Arc::clone(ty));
        }
        let id = ty.get_basic_info().has_id().then(|| ty.get_basic_info().id());
        return rebuilt_with_id(&converted.column(leaf).self_type_ptr(), name, repetition, None, id);
    }
    let fields = ty.get_fields().iter().map(|field| replace_leaves(field, misfits, converted, next_leaf));
    rebuilt(ty, name, repetition, Some(fields.collect::<Result<_>>()?))
}

/// The type with another name and repetition, and, for a group, other fields.
fn rebuilt(ty: &TypePtr, name: &str, repetition: Repetition, fields: Option<Vec<TypePtr>>) -> Result<TypePtr> {
    let id = ty.get_basic_info().has_id().then(|| ty.get_basic_info().id());
    rebuilt_with_id(ty, name, repetition, fields, id)
}

fn rebuilt_with_id(
    ty: &TypePtr,
    name: &str,
    repetition: Repetition,
    fields: Option<Vec<TypePtr>>,
    id: Option<i32>,
) -> Result<TypePtr> {
    let info = ty.get_basic_info();
    let built = guard(|| match ty.as_ref() {
        Type::PrimitiveType { physical_type, type_length, scale, precision, .. } => {
            Type::primitive_type_builder(name, *physical_type)
                .with_repetition(repetition)
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_length(*type_length)
                .with_scale(*scale)
                .with_precision(*precision)
                .with_id(id)
                .build()
        }
        Type::GroupType { fields: own, .. } => Type::group_type_builder(name)
            .with_repetition(repetition)
            .with_converted_type(info.converted_type())
            .with_logical_type(info.logical_type_ref().cloned())
            .with_fields(fields.unwrap_or_else(|| own.clone()))
            .with_id(id)
            .build(),
    });
    built.map(Arc::new)
}

fn descriptor(root_field: &TypePtr) -> Result<SchemaDescriptor> {
    let root = guard(|| Type::group_type_builder("schema").with_fields(vec![Arc::clone(root_field)]).build())?;
    Ok(SchemaDescriptor::new(Arc::new(root)))
}
