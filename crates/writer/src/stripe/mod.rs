//! Splits record batches into leaves and their levels: Dremel's striping, one node of the schema at a time.
//!
//! The tree is walked from the root. A node gets exactly its slots as one contiguous array; a list passes its elements on as the
//! next one, and collects them first only if other elements lie between. The state of the slots is
//!
//! - the *definition*: validity bitmaps, each within the one before, of the nullable nodes since the innermost list;
//! - the *entries*: repetition levels, and the definition levels of the entries that ended higher up.
//!
//! Both are filled by block: a list costs a store, its elements a `memset`, and a column without nulls nothing.
//! (<https://github.com/apache/parquet-format#nested-encoding>)

mod definition;
mod elements;
mod entries;
mod striped;
#[cfg(test)]
mod tests;

pub(crate) use self::striped::StripedLeaf;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::RunEndIndexType;
use arrow_array::{Array, ArrayRef, RunArray, UInt64Array, downcast_run_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};
use lath_parquet::{Error, Result};

use self::definition::Definition;
use self::elements::Elements;
use self::entries::Entries;

/// The slots of a node: their number, and nulls.
#[derive(Clone)]
struct Context {
    definition: Definition,
    /// `None` if nothing repeats: then every slot is an entry.
    entries: Option<Arc<Entries>>,
    rep_level: u8,
}

/// Appends to `leaves` the values and levels of each leaf of a root column, in file order.
///
/// # Errors
/// [`Error::Invalid`] if the array does not have the field's type, or has nulls where the field allows none.
pub(crate) fn stripe(field: &Field, array: &ArrayRef, leaves: &mut Vec<StripedLeaf>) -> Result<()> {
    let context = Context { definition: Definition::default(), entries: None, rep_level: 0 };
    Walk { rows: array.len(), leaves }.visit(field, array, context)
}

struct Walk<'a> {
    rows: usize,
    leaves: &'a mut Vec<StripedLeaf>,
}

impl Walk<'_> {
    fn visit(&mut self, field: &Field, array: &ArrayRef, mut context: Context) -> Result<()> {
        match (field.data_type(), array.data_type()) {
            (DataType::Struct(fields), DataType::Struct(_)) => {
                context.define(field, array.nulls())?;
                let columns = array.as_struct().columns();
                if columns.len() != fields.len() {
                    return Err(mistyped(field, array));
                }
                fields.iter().zip(columns).try_for_each(|(field, column)| self.visit(field, column, context.clone()))
            }
            (DataType::RunEndEncoded(_, values), DataType::RunEndEncoded(..)) => {
                let flat = Field::new(field.name(), values.data_type().clone(), field.is_nullable());
                self.visit(&flat, &without_runs(array)?, context)
            }
            (DataType::Map(entries, _), DataType::Map(..)) => {
                context.define(field, array.nulls())?;
                let elements = Elements::from_map(array.as_map(), context.present())?;
                // The entries are the repeated group itself, which cannot be null.
                self.visit_elements(&(**entries).clone().with_nullable(false), &elements, context)
            }
            (
                DataType::List(item)
                | DataType::LargeList(item)
                | DataType::FixedSizeList(item, _)
                | DataType::ListView(item)
                | DataType::LargeListView(item),
                _,
            ) if is_same_list(field.data_type(), array.data_type()) => {
                context.define(field, array.nulls())?;
                let elements = Elements::from_list(array, context.present())?;
                self.visit_elements(item, &elements, context)
            }
            (expected, actual) if expected == actual && !actual.is_nested() => self.leaf(field, array, context),
            _ => Err(mistyped(field, array)),
        }
    }

    fn visit_elements(&mut self, item: &Field, elements: &Elements, context: Context) -> Result<()> {
        let Context { definition, entries, rep_level } = context;
        let rep_level = rep_level.checked_add(1).ok_or_else(too_deep)?;
        let entries = Entries::new(entries.as_deref(), elements.lengths(), &definition, rep_level);
        let definition = definition.into_elements()?;
        self.visit(item, elements.array(), Context { definition, entries: Some(Arc::new(entries)), rep_level })
    }

    fn leaf(&mut self, field: &Field, array: &ArrayRef, mut context: Context) -> Result<()> {
        let nulls = match array.data_type() {
            DataType::Dictionary(..) | DataType::Null => array.logical_nulls(),
            _ => array.nulls().cloned(),
        };
        context.define(field, nulls.as_ref())?;
        let Context { definition, entries, .. } = context;
        let slot_levels = definition.levels();
        let (def_levels, rep_levels) = match entries {
            None => (slot_levels, None),
            Some(entries) => {
                let def_levels = entries.def_levels(slot_levels, definition.deepest());
                // The last leaf below a list takes the levels, the others copy them.
                (Some(def_levels), Some(Arc::unwrap_or_clone(entries).into_rep_levels()))
            }
        };
        let present = definition.present().cloned();
        self.leaves.push(StripedLeaf { rows: self.rows, def_levels, rep_levels, values: Arc::clone(array), present });
        Ok(())
    }
}

impl Context {
    /// Enters a node with these nulls.
    fn define(&mut self, field: &Field, nulls: Option<&NullBuffer>) -> Result<()> {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0);
        if field.is_nullable() {
            self.definition.optional(nulls)
        } else if nulls.is_some_and(|nulls| self.definition.is_broken_by(nulls)) {
            Err(Error::invalid(format!("column {} is not nullable, but has nulls", field.name())))
        } else {
            Ok(())
        }
    }

    fn present(&self) -> Option<&NullBuffer> {
        self.definition.present()
    }
}

fn is_same_list(expected: &DataType, actual: &DataType) -> bool {
    match (expected, actual) {
        (DataType::FixedSizeList(_, expected), DataType::FixedSizeList(_, actual)) => expected == actual,
        _ => std::mem::discriminant(expected) == std::mem::discriminant(actual),
    }
}

/// The values of a run-end encoded array, repeated.
fn without_runs(array: &ArrayRef) -> Result<ArrayRef> {
    fn expand<R: RunEndIndexType>(array: &RunArray<R>) -> Result<ArrayRef> {
        let run_ends = array.run_ends();
        let (mut row, end) = (run_ends.offset(), run_ends.offset() + array.len());
        let mut indices = Vec::with_capacity(array.len());
        for (run, run_end) in run_ends.values().iter().enumerate().skip(run_ends.get_start_physical_index()) {
            let run_end = arrow_buffer::ArrowNativeType::as_usize(*run_end).min(end);
            indices.resize(indices.len() + run_end.saturating_sub(row), run as u64);
            row = run_end.max(row);
            if row == end {
                break;
            }
        }
        take(array.values(), indices)
    }
    downcast_run_array!(
        array => expand(array),
        _ => Err(Error::invalid("an array of runs with ends of an unknown type"))
    )
}

fn take(array: &ArrayRef, indices: Vec<u64>) -> Result<ArrayRef> {
    arrow_select::take::take(array, &UInt64Array::from(indices), None)
        .map_err(|error| Error::invalid(error.to_string()))
}

fn mistyped(field: &Field, array: &ArrayRef) -> Error {
    let (name, expected, actual) = (field.name(), field.data_type(), array.data_type());
    Error::invalid(format!("column {name}: expected {expected}, found {actual}"))
}

fn too_deep() -> Error {
    Error::invalid("the schema is nested too deeply: levels of more than 254")
}
