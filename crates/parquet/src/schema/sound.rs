//! Removes annotations that a Parquet type cannot have, before it is converted to Arrow.
//!
//! One malformed or unknown annotation would otherwise make every column of the file unreadable. Without it the type is read as
//! stored: a group as a struct, a primitive as its physical type.

use std::sync::Arc;

use arrow_schema::DECIMAL256_MAX_PRECISION;
use lath_format::schema::{ConvertedType, LogicalType, PhysicalType, Repetition};
use lath_format::schema::{ProjectionMask, parquet_to_arrow_field_levels};
use lath_format::schema::{SchemaDescriptor, Type, TypePtr};

use crate::envelope::guard;
use crate::error::{Error, Result};

/// Depth of checking annotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scrutiny {
    /// The rules for groups and decimals, which are cheap to check.
    Structure,
    /// Also, each primitive type is converted alone, to see whether that works.
    EveryLeaf,
}

/// The schema without invalid annotations; `None` if all are valid.
pub(super) fn without_unsound_annotations(root: &TypePtr, scrutiny: Scrutiny) -> Result<Option<TypePtr>> {
    let fields = rewrite_all(root.get_fields(), scrutiny)?;
    let annotated = root.get_basic_info().converted_type() != ConvertedType::NONE;
    if fields.is_none() && !annotated {
        return Ok(None);
    }
    let fields = fields.unwrap_or_else(|| root.get_fields().to_vec());
    let rebuilt = guard(|| Type::group_type_builder(root.name()).with_fields(fields).build())?;
    Ok(Some(Arc::new(rebuilt)))
}

/// Repetition of a type; the root has none, which is `REQUIRED`.
pub(super) fn repetition(ty: &Type) -> Repetition {
    let info = ty.get_basic_info();
    if info.has_repetition() { info.repetition() } else { Repetition::REQUIRED }
}

fn rewrite_all(types: &[TypePtr], scrutiny: Scrutiny) -> Result<Option<Vec<TypePtr>>> {
    let mut rewritten: Option<Vec<TypePtr>> = None;
    for (index, ty) in types.iter().enumerate() {
        if let Some(new) = rewrite(ty, false, scrutiny)? {
            rewritten.get_or_insert_with(|| types.to_vec())[index] = new;
        }
    }
    Ok(rewritten)
}

/// Rewrites one type. `inner` marks the repeated child of a list or map: whether it is annotated as a list is part of the
/// backward-compatibility rules, so its annotation stays.
fn rewrite(ty: &TypePtr, inner: bool, scrutiny: Scrutiny) -> Result<Option<TypePtr>> {
    if ty.is_primitive() {
        return match leaf_annotation(ty, inner, scrutiny) {
            Annotation::Sound => Ok(None),
            Annotation::Replaced(logical_type) => primitive(ty, logical_type).map(Some),
        };
    }
    let is_sound = inner || group_is_sound(ty);
    let is_list_or_map = is_sound && !inner && nesting(ty) != ConvertedType::NONE;
    let fields = if is_list_or_map {
        match ty.get_fields() {
            [child] => rewrite(child, true, scrutiny)?.map(|child| vec![child]),
            _ => None,
        }
    } else {
        rewrite_all(ty.get_fields(), scrutiny)?
    };
    if fields.is_none() && is_sound {
        return Ok(None);
    }
    let info = ty.get_basic_info();
    let mut builder = Type::group_type_builder(ty.name())
        .with_repetition(repetition(ty))
        .with_id(info.has_id().then(|| info.id()))
        .with_fields(fields.unwrap_or_else(|| ty.get_fields().to_vec()));
    if is_sound {
        builder =
            builder.with_converted_type(info.converted_type()).with_logical_type(info.logical_type_ref().cloned());
    }
    guard(|| builder.build()).map(|ty| Some(Arc::new(ty)))
}

/// LIST, MAP or MAP_KEY_VALUE, which decide how a group is read; NONE for everything else.
pub(super) fn nesting(group: &Type) -> ConvertedType {
    match group.get_basic_info().converted_type() {
        nested @ (ConvertedType::LIST | ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE) => nested,
        _ => ConvertedType::NONE,
    }
}

fn group_is_sound(group: &Type) -> bool {
    let is_repeated = repetition(group) == Repetition::REPEATED;
    match nesting(group) {
        ConvertedType::LIST => !is_repeated && repeated_child(group).is_some(),
        ConvertedType::MAP | ConvertedType::MAP_KEY_VALUE => {
            !is_repeated
                && repeated_child(group).is_some_and(|entries| {
                    entries.is_group()
                        && match entries.get_fields() {
                            [_key] => true,
                            [key, value] => {
                                repetition(key) != Repetition::REPEATED && repetition(value) != Repetition::REPEATED
                            }
                            _ => false,
                        }
                })
        }
        // The extension type would be attached to the list that a repeated group becomes.
        _ => !(is_repeated && matches!(group.get_basic_info().logical_type_ref(), Some(LogicalType::Variant(_)))),
    }
}

/// The only child of a group, if it is repeated.
fn repeated_child(group: &Type) -> Option<&TypePtr> {
    match group.get_fields() {
        [child] if repetition(child) == Repetition::REPEATED => Some(child),
        _ => None,
    }
}

/// Treatment of a leaf's annotation.
enum Annotation {
    Sound,
    Replaced(Option<LogicalType>),
}

fn leaf_annotation(leaf: &TypePtr, inner: bool, scrutiny: Scrutiny) -> Annotation {
    let info = leaf.get_basic_info();
    if info.converted_type() == ConvertedType::DECIMAL {
        // Arrow has no wider decimal.
        let is_fixed = leaf.get_physical_type() == PhysicalType::FIXED_LEN_BYTE_ARRAY;
        if leaf.get_precision() > i32::from(DECIMAL256_MAX_PRECISION) || is_fixed && type_length(leaf) > 32 {
            return Annotation::Replaced(None);
        }
    }
    // The extension type would be attached to the list that a repeated field becomes.
    let is_list = !inner && repetition(leaf) == Repetition::REPEATED;
    match info.logical_type_ref() {
        Some(LogicalType::_Unknown { .. }) => Annotation::Replaced(None),
        Some(LogicalType::Json) if is_list => Annotation::Replaced(Some(LogicalType::String)),
        Some(LogicalType::Uuid | LogicalType::Geometry(_) | LogicalType::Geography(_)) if is_list => {
            Annotation::Replaced(None)
        }
        _ if scrutiny == Scrutiny::EveryLeaf && !converts_alone(leaf) => Annotation::Replaced(None),
        _ => Annotation::Sound,
    }
}

fn converts_alone(leaf: &TypePtr) -> bool {
    guard(|| {
        let mut field = Arc::clone(leaf);
        if repetition(leaf) == Repetition::REPEATED {
            let list = Type::group_type_builder("list")
                .with_repetition(Repetition::REQUIRED)
                .with_converted_type(ConvertedType::LIST)
                .with_fields(vec![field]);
            field = Arc::new(list.build()?);
        }
        let root = Type::group_type_builder("leaf").with_fields(vec![field]).build()?;
        parquet_to_arrow_field_levels(&SchemaDescriptor::new(Arc::new(root)), ProjectionMask::all(), None)
    })
    .is_ok()
}

/// The leaf with another annotation.
fn primitive(leaf: &Type, logical_type: Option<LogicalType>) -> Result<TypePtr> {
    let info = leaf.get_basic_info();
    let builder = Type::primitive_type_builder(leaf.name(), leaf.get_physical_type())
        .with_repetition(repetition(leaf))
        .with_logical_type(logical_type)
        .with_length(type_length(leaf))
        .with_id(info.has_id().then(|| info.id()));
    guard(|| builder.build()).map(Arc::new).map_err(|error| match error {
        Error::Corrupt { what, at } => Error::Corrupt { what: format!("column '{}': {what}", leaf.name()), at },
        other => other,
    })
}

/// Byte length of FIXED_LEN_BYTE_ARRAY values.
pub(super) fn type_length(leaf: &Type) -> i32 {
    match leaf {
        Type::PrimitiveType { type_length, .. } => *type_length,
        Type::GroupType { .. } => -1,
    }
}
