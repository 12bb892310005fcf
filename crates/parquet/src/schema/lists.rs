//! Gives lists of old writers today's structure before the schema is converted to Arrow.
//!
//! The specification's third rule for [old lists] says that a repeated group whose only child is repeated, too, is the element
//! itself and not a level of the list. The conversion of the `parquet` crate does not implement that rule, so that the level it
//! expects is inserted; definition and repetition levels do not change:
//!
//! ```text
//! optional group l (LIST) {          optional group l (LIST) {
//!   repeated group e (MAP) {           repeated group list {
//!     repeated group key_value { … }     required group e (MAP) {
//!   }                                      repeated group key_value { … }
//! }                                  } } }
//! ```
//!
//! The element's annotation, if it has one, determines its type: a list, a map or a struct.
//!
//! [old lists]: https://github.com/apache/parquet-format/blob/master/LogicalTypes.md#backward-compatibility-rules

use std::sync::Arc;

use lath_format::schema::{ConvertedType, Repetition};
use lath_format::schema::{Type, TypePtr};

use super::sound::{nesting, repetition};
use crate::envelope::guard;
use crate::error::Result;

/// The schema with three levels for each list whose repeated group is its element by the third rule; `None` if there are none.
pub(super) fn with_three_levels(root: &TypePtr) -> Result<Option<TypePtr>> {
    let Some(fields) = rewrite_all(root.get_fields())? else { return Ok(None) };
    rebuilt(root, root.get_basic_info().has_repetition().then(|| repetition(root)), fields).map(Some)
}

fn rewrite_all(types: &[TypePtr]) -> Result<Option<Vec<TypePtr>>> {
    let mut rewritten: Option<Vec<TypePtr>> = None;
    for (index, ty) in types.iter().enumerate() {
        if let Some(new) = rewrite(ty)? {
            rewritten.get_or_insert_with(|| types.to_vec())[index] = new;
        }
    }
    Ok(rewritten)
}

fn rewrite(ty: &TypePtr) -> Result<Option<TypePtr>> {
    if ty.is_primitive() {
        return Ok(None);
    }
    if let Some(element) = element_by_the_third_rule(ty) {
        let element = rebuilt(element, Some(Repetition::REQUIRED), element.get_fields().to_vec())?;
        let element = rewrite(&element)?.unwrap_or(element);
        let level = Type::group_type_builder("list").with_repetition(Repetition::REPEATED).with_fields(vec![element]);
        let level = guard(|| level.build()).map(Arc::new)?;
        return rebuilt(ty, Some(repetition(ty)), vec![level]).map(Some);
    }
    let Some(fields) = rewrite_all(ty.get_fields())? else { return Ok(None) };
    rebuilt(ty, Some(repetition(ty)), fields).map(Some)
}

/// The repeated group of a list, if its only child is repeated.
fn element_by_the_third_rule(list: &Type) -> Option<&TypePtr> {
    if nesting(list) != ConvertedType::LIST || repetition(list) == Repetition::REPEATED {
        return None;
    }
    let [element] = list.get_fields() else { return None };
    if element.is_primitive() || repetition(element) != Repetition::REPEATED {
        return None;
    }
    matches!(element.get_fields(), [child] if repetition(child) == Repetition::REPEATED).then_some(element)
}

/// The group with another repetition and other fields.
fn rebuilt(group: &Type, repetition: Option<Repetition>, fields: Vec<TypePtr>) -> Result<TypePtr> {
    let info = group.get_basic_info();
    let mut builder = Type::group_type_builder(group.name())
        .with_converted_type(info.converted_type())
        .with_logical_type(info.logical_type_ref().cloned())
        .with_id(info.has_id().then(|| info.id()))
        .with_fields(fields);
    if let Some(repetition) = repetition {
        builder = builder.with_repetition(repetition);
    }
    guard(|| builder.build()).map(Arc::new)
}
