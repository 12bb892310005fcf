//! Converts the schema of a file to Arrow by the `parquet` crate's rules.

use std::borrow::Cow;

use arrow_schema::Schema;
use lath_format::schema::KeyValue;
use lath_format::schema::{ARROW_SCHEMA_META_KEY, parquet_to_arrow_schema};
use lath_format::schema::{SchemaDescriptor, TypePtr};

use super::hint::is_readable;
use super::lists::with_three_levels;
use super::sound::{Scrutiny, without_unsound_annotations};
use super::tree;
use crate::envelope::guard;
use crate::error::Result;

/// A converted schema.
pub(super) struct Conversion {
    pub(super) schema: Schema,
    /// The Parquet types of the Arrow schema: the types of the file, with three levels for every list and without invalid
    /// annotations.
    pub(super) root: TypePtr,
    /// Whether the types follow the Arrow schema that the writer stored in the file.
    pub(super) follows_hint: bool,
}

/// Converts the whole schema.
///
/// The Arrow schema that a writer stored in the file is a hint: it is ignored if it is malformed or does not fit the Parquet
/// schema, which the data follows.
pub(super) fn convert(
    descr: &SchemaDescriptor,
    key_value: Option<&[KeyValue]>,
    use_hint: bool,
    deepest: usize,
) -> Result<Conversion> {
    let three_levels = with_three_levels(&descr.root_schema_ptr())?;
    if let Some(root) = &three_levels {
        tree::check_depth(root, deepest)?;
    }
    let root = three_levels.clone().unwrap_or_else(|| descr.root_schema_ptr());
    let sound = match without_unsound_annotations(&root, Scrutiny::Structure)?.or(three_levels) {
        Some(root) => Cow::Owned(SchemaDescriptor::new(root)),
        None => Cow::Borrowed(descr),
    };
    let hint = key_value.and_then(|pairs| {
        pairs.iter().filter(|pair| is_hint(pair)).filter_map(|pair| pair.value.as_deref()).next_back()
    });
    if use_hint && hint.is_some_and(is_readable) {
        let pairs = key_value.map(<[KeyValue]>::to_vec);
        if let Ok(schema) = guard(|| parquet_to_arrow_schema(&sound, pairs.as_ref())) {
            return Ok(Conversion { schema, root: sound.root_schema_ptr(), follows_hint: true });
        }
    }
    let pairs: Option<Vec<KeyValue>> =
        key_value.map(|pairs| pairs.iter().filter(|pair| !is_hint(pair)).cloned().collect());
    let failure = match guard(|| parquet_to_arrow_schema(&sound, pairs.as_ref())) {
        Ok(schema) => return Ok(Conversion { schema, root: sound.root_schema_ptr(), follows_hint: false }),
        Err(error) => error,
    };
    match without_unsound_annotations(&root, Scrutiny::EveryLeaf)? {
        Some(root) => {
            let bare = SchemaDescriptor::new(root);
            let schema = guard(|| parquet_to_arrow_schema(&bare, pairs.as_ref()))?;
            Ok(Conversion { schema, root: bare.root_schema_ptr(), follows_hint: false })
        }
        None => Err(failure),
    }
}

fn is_hint(pair: &KeyValue) -> bool {
    pair.key == ARROW_SCHEMA_META_KEY
}
