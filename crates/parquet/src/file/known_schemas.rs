//! Cache of schemas of recently opened files. Files of one table have the same encoded schema, which is then converted once; and
//! results for one file's schema (for example a predicate bound to it) can be used for the next.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow_schema::SchemaRef;
use lath_format::schema::SchemaDescPtr;

use crate::options::Int96Unit;
use crate::schema::{ColumnMapping, ConvertedSchema};

/// A schema, and its source.
#[derive(Debug)]
pub(crate) struct KnownSchema {
    pub(super) source: Option<SchemaSource>,
    pub(super) descr: SchemaDescPtr,
    pub(super) converted: ConvertedSchema,
    /// The schema of the whole file, strings as views.
    pub(super) arrow: SchemaRef,
}

/// Source of a file's schema: two lists of its footer, as stored, and the options of opening it.
#[derive(Debug, Clone)]
pub(super) struct SchemaSource {
    pub(super) schema: Box<[u8]>,
    pub(super) key_values: Box<[u8]>,
    pub(super) use_hint: bool,
    pub(super) int96_unit: Int96Unit,
    pub(super) depth: usize,
    pub(super) columns: Option<Arc<ColumnMapping>>,
}

/// A borrowed [`SchemaSource`].
#[derive(Debug, Clone, Copy)]
pub(super) struct SchemaBytes<'a> {
    pub(super) schema: &'a [u8],
    pub(super) key_values: &'a [u8],
    pub(super) use_hint: bool,
    pub(super) int96_unit: Int96Unit,
    pub(super) depth: usize,
    pub(super) columns: Option<&'a Arc<ColumnMapping>>,
}

/// Maximum number of cached schemas.
const MAX_SCHEMAS: usize = 16;

/// The largest cached schema, in bytes of a footer.
const MAX_BYTES: usize = 1 << 20;

impl SchemaSource {
    fn as_bytes(&self) -> SchemaBytes<'_> {
        SchemaBytes {
            schema: &self.schema,
            key_values: &self.key_values,
            use_hint: self.use_hint,
            int96_unit: self.int96_unit,
            depth: self.depth,
            columns: self.columns.as_ref(),
        }
    }
}

impl SchemaBytes<'_> {
    fn equals(self, source: &SchemaSource) -> bool {
        self.use_hint == source.use_hint
            && self.int96_unit == source.int96_unit
            && self.depth == source.depth
            && self.schema == &*source.schema
            && self.key_values == &*source.key_values
            && ColumnMapping::is_same(self.columns, source.columns.as_ref())
    }

    pub(super) fn to_source(self) -> Option<SchemaSource> {
        let is_kept = self.schema.len() + self.key_values.len() <= MAX_BYTES;
        is_kept.then(|| SchemaSource {
            schema: self.schema.into(),
            key_values: self.key_values.into(),
            use_hint: self.use_hint,
            int96_unit: self.int96_unit,
            depth: self.depth,
            columns: self.columns.cloned(),
        })
    }
}

/// Recently used schemas, the last used first.
#[derive(Debug, Default)]
pub(crate) struct KnownSchemas {
    schemas: Mutex<Vec<Arc<KnownSchema>>>,
}

impl KnownSchemas {
    /// The cache for files that are opened without a runtime.
    pub(crate) fn global() -> Arc<Self> {
        static SCHEMAS: OnceLock<Arc<KnownSchemas>> = OnceLock::new();
        Arc::clone(SCHEMAS.get_or_init(Arc::default))
    }

    /// The schema of these bytes, if it is cached.
    pub(super) fn find(&self, bytes: SchemaBytes<'_>) -> Option<Arc<KnownSchema>> {
        let mut known = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |schema: &Arc<KnownSchema>| schema.source.as_ref().is_some_and(|source| bytes.equals(source));
        let at = known.iter().position(is_it)?;
        known[..=at].rotate_right(1);
        known.first().cloned()
    }

    /// Caches `schema`; returns the cached one, which another thread may have added before.
    pub(super) fn keep(&self, schema: Arc<KnownSchema>) -> Arc<KnownSchema> {
        let Some(source) = &schema.source else { return schema };
        let mut known = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(same) =
            known.iter().find(|other| other.source.as_ref().is_some_and(|other| source.as_bytes().equals(other)))
        {
            return Arc::clone(same);
        }
        known.truncate(MAX_SCHEMAS - 1);
        known.insert(0, Arc::clone(&schema));
        schema
    }
}
