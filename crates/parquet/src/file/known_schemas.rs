//! Schemas of files opened lately. Files of one table have the same bytes there, which are then converted once; and what is
//! made for one file's schema (a predicate bound to it, say) can be used for the next.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_schema::SchemaRef;
use lath_format::schema::SchemaDescPtr;

use crate::options::Int96Unit;
use crate::schema::Converted;

/// A schema, and what it was made from.
#[derive(Debug)]
pub(crate) struct KnownSchema {
    pub(super) source: Option<SchemaSource>,
    pub(super) descr: SchemaDescPtr,
    pub(super) converted: Converted,
    /// The schema of the whole file, strings as views.
    pub(super) arrow: SchemaRef,
}

/// What decides a file's schema: two lists of its footer, as they are stored, and the options that it is opened with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SchemaSource {
    pub(super) schema: Box<[u8]>,
    pub(super) key_values: Box<[u8]>,
    pub(super) use_hint: bool,
    pub(super) int96_unit: Int96Unit,
    pub(super) depth: usize,
}

/// What a [`SchemaSource`] is made of, borrowed.
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaBytes<'a> {
    pub(super) schema: &'a [u8],
    pub(super) key_values: &'a [u8],
    pub(super) use_hint: bool,
    pub(super) int96_unit: Int96Unit,
    pub(super) depth: usize,
}

/// Maximum number of schemas that are kept.
const MAX_SCHEMAS: usize = 16;

/// The largest schema that is kept, in bytes of a footer.
const MAX_BYTES: usize = 1 << 20;

impl SchemaBytes<'_> {
    fn are_of(self, source: &SchemaSource) -> bool {
        self.use_hint == source.use_hint
            && self.int96_unit == source.int96_unit
            && self.depth == source.depth
            && self.schema == &*source.schema
            && self.key_values == &*source.key_values
    }

    pub(super) fn to_source(self) -> Option<SchemaSource> {
        let is_kept = self.schema.len() + self.key_values.len() <= MAX_BYTES;
        is_kept.then(|| SchemaSource {
            schema: self.schema.into(),
            key_values: self.key_values.into(),
            use_hint: self.use_hint,
            int96_unit: self.int96_unit,
            depth: self.depth,
        })
    }
}

/// Schemas that were made lately, those used last first.
#[derive(Debug, Default)]
pub(crate) struct KnownSchemas {
    schemas: Mutex<Vec<Arc<KnownSchema>>>,
}

impl KnownSchemas {
    /// Those of files that are opened without a runtime.
    pub(crate) fn of_process() -> Arc<Self> {
        static SCHEMAS: OnceLock<Arc<KnownSchemas>> = OnceLock::new();
        Arc::clone(SCHEMAS.get_or_init(Arc::default))
    }

    /// The schema made from these bytes, if it is known.
    pub(super) fn find(&self, bytes: SchemaBytes<'_>) -> Option<Arc<KnownSchema>> {
        let mut known = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |schema: &Arc<KnownSchema>| schema.source.as_ref().is_some_and(|source| bytes.are_of(source));
        let at = known.iter().position(is_it)?;
        known[..=at].rotate_right(1);
        known.first().cloned()
    }

    /// Keeps `schema`; gives the one that is kept, which is another's if that was faster.
    pub(super) fn keep(&self, schema: Arc<KnownSchema>) -> Arc<KnownSchema> {
        if schema.source.is_none() {
            return schema;
        }
        let mut known = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) = known.iter().find(|other| other.source == schema.source) {
            return Arc::clone(same);
        }
        known.truncate(MAX_SCHEMAS - 1);
        known.insert(0, Arc::clone(&schema));
        schema
    }
}
