//! Finds the parts of a footer in one pass that decodes almost nothing.

use std::ops::Range;

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::layout::{Layouts, NO_LAYOUT};
use crate::schema::{Leaves, check_schema};
use crate::thrift::{ThriftError, ThriftReader, WireType};

/// Fields of `FileMetaData`, by number.
mod field {
    pub(super) const VERSION: i16 = 1;
    pub(super) const SCHEMA: i16 = 2;
    pub(super) const NUM_ROWS: i16 = 3;
    pub(super) const ROW_GROUPS: i16 = 4;
    pub(super) const KEY_VALUE_METADATA: i16 = 5;
    pub(super) const CREATED_BY: i16 = 6;
    pub(super) const COLUMN_ORDERS: i16 = 7;
}

/// Fields of `RowGroup`, by number.
const COLUMNS: i16 = 1;
const NUM_ROWS: i16 = 3;

/// Sizes below which few row groups and chunks are. Memory is reserved for as many elements as a list claims, and at most for as many as the
/// rest of the footer has room for.
const SMALL_ROW_GROUP: usize = 32;
const SMALL_CHUNK: usize = 32;

/// The places of the parts of a `FileMetaData`.
///
/// ```text
/// | version | schema | num_rows | row_groups:                                        | key_value_metadata | created_by | column_orders |
///           \ range /           | chunk … chunk | num_rows, … | chunk … chunk | … |   \ range /
///                                 ^ chunk_starts  ^ tails       ^ chunk_starts
/// ```
#[derive(Debug, Default)]
pub(crate) struct Outline {
    pub(crate) version: i32,
    pub(crate) row_count: i64,
    /// The list of schema elements.
    pub(crate) schema: Range<usize>,
    pub(crate) leaves: Leaves,
    /// The list of pairs; empty if there is none.
    pub(crate) key_values: Range<usize>,
    /// The list of column orders; empty if there is none.
    pub(crate) column_orders: Range<usize>,
    pub(crate) created_by: Option<Range<usize>>,
    /// By row group: number of rows.
    pub(crate) row_counts: Vec<u64>,
    /// By row group: the start of the fields after the list of column chunks.
    pub(crate) tails: Vec<u32>,
    /// By row group, then by column: the start of the `ColumnChunk`.
    pub(crate) chunk_starts: Vec<u32>,
    /// In the same order: the number of the chunk's layout, or [`NO_LAYOUT`].
    pub(crate) chunk_layouts: Vec<u16>,
    pub(crate) layouts: Layouts,
    /// Number of column chunks of each row group.
    pub(crate) columns: usize,
}

impl Outline {
    /// Walks over a `FileMetaData`. Checks that all structures are well-formed, and that the schema is one tree of at most `schema_depth` levels.
    pub(crate) fn find(footer: &[u8], schema_depth: usize) -> Result<Self> {
        if u32::try_from(footer.len()).is_err() {
            return Err(Error::unsupported("a footer of 4 GiB or more"));
        }
        let mut outline = Self::default();
        let mut refusal = None;
        let mut seen = 0u32;
        let walk = ThriftReader::new(footer).each_field(|reader, field| {
            let start = reader.position();
            match (field.id, field.wire_type) {
                (field::VERSION, WireType::I32) => outline.version = reader.i32()?,
                (field::SCHEMA, WireType::List) => {
                    if let Err(error) = check_schema(reader, schema_depth, &mut outline.leaves)? {
                        refusal.get_or_insert(error);
                    }
                    outline.schema = start..reader.position();
                }
                (field::NUM_ROWS, WireType::I64) => outline.row_count = reader.i64()?,
                (field::ROW_GROUPS, WireType::List) => {
                    if let Err(error) = outline.find_row_groups(reader)? {
                        refusal.get_or_insert(error);
                    }
                }
                (field::KEY_VALUE_METADATA, WireType::List) => {
                    reader.skip(field)?;
                    outline.key_values = start..reader.position();
                }
                (field::CREATED_BY, WireType::Binary) => {
                    let len = reader.binary()?.len();
                    outline.created_by = Some(reader.position() - len..reader.position());
                }
                (field::COLUMN_ORDERS, WireType::List) => {
                    reader.skip(field)?;
                    outline.column_orders = start..reader.position();
                }
                _ => return reader.skip(field),
            }
            seen |= 1 << field.id;
            Ok(())
        });
        walk.map_err(|error| Error::malformed("footer", error))?;
        if let Some(refusal) = refusal {
            return Err(refusal);
        }
        for (id, name) in [
            (field::VERSION, "version"),
            (field::SCHEMA, "schema"),
            (field::NUM_ROWS, "number of rows"),
            (field::ROW_GROUPS, "list of row groups"),
        ] {
            if seen & 1 << id == 0 {
                return Err(Error::corrupt(format!("malformed footer: it has no {name}")));
            }
        }
        Ok(outline)
    }

    /// The outer result is an error of the walk. An inner error does not stop the walk, which has to reach the list's end.
    fn find_row_groups(&mut self, reader: &mut ThriftReader<'_>) -> Result<Result<()>, ThriftError> {
        let mut verdict = Ok(());
        let mut total_rows = 0u64;
        if !self.tails.is_empty() {
            return Err(ThriftError::Malformed("two lists of row groups"));
        }
        let (_, count) = ThriftReader::at(reader.bytes(), reader.position()).list()?;
        let expected = count.min((reader.bytes().len() - reader.position()) / SMALL_ROW_GROUP);
        self.row_counts.reserve_exact(expected);
        self.tails.reserve_exact(expected);
        reader.each_structure(|reader, row_group| {
            let chunks_before = self.chunk_starts.len();
            let mut rows = None;
            let mut tail = None;
            let start = reader.position();
            reader.each_field(|reader, field| match (field.id, field.wire_type) {
                (COLUMNS, WireType::List) => {
                    let (element, count) = reader.list()?;
                    if element != WireType::Struct && count > 0 {
                        return Err(ThriftError::Malformed("list of column chunks"));
                    }
                    if self.chunk_starts.len() != chunks_before {
                        return Err(ThriftError::Malformed("two lists of column chunks in a row group"));
                    }
                    self.find_chunks(reader, count)?;
                    tail = (count > 0).then_some(reader.position());
                    Ok(())
                }
                (NUM_ROWS, WireType::I64) => {
                    rows = Some(reader.i64()?);
                    Ok(())
                }
                _ => reader.skip(field),
            })?;
            // Without columns, the fields are read from the first one.
            self.tails.push(tail.unwrap_or(start) as u32);
            let columns = self.chunk_starts.len() - chunks_before;
            if row_group == 0 {
                self.columns = columns;
            }
            let mut refuse = |what: String| {
                if verdict.is_ok() {
                    verdict = Err(Error::corrupt(format!("malformed footer: row group {row_group} {what}")));
                }
            };
            if columns != self.columns {
                refuse(format!("has {columns} columns, and the first one {}", self.columns));
            }
            let rows = match rows {
                None => {
                    refuse("does not say its number of rows".to_owned());
                    0
                }
                Some(rows) => u64::try_from(rows).unwrap_or_else(|_| {
                    refuse(format!("has {rows} rows"));
                    0
                }),
            };
            // Both are below 2⁶³ here.
            total_rows += rows;
            if total_rows > i64::MAX as u64 {
                refuse("takes the file past 2⁶³ rows".to_owned());
                total_rows = 0;
            }
            self.row_counts.push(rows);
            Ok(())
        })?;
        Ok(verdict)
    }

    /// Finds the ends of `count` chunks: by the layout of the same column in the row group before, by another layout, or by walking over the fields.
    fn find_chunks(&mut self, reader: &mut ThriftReader<'_>, count: usize) -> Result<(), ThriftError> {
        let bytes = reader.bytes();
        if self.chunk_starts.is_empty() {
            let most = (bytes.len() - reader.position()) / SMALL_CHUNK;
            let expected = count.saturating_mul(self.tails.capacity()).min(most);
            self.chunk_starts.reserve_exact(expected);
            self.chunk_layouts.reserve_exact(expected);
        }
        let first = self.chunk_layouts.len();
        let mut start = reader.position();
        for index in first..first.saturating_add(count) {
            let above = index.checked_sub(self.columns).and_then(|above| self.chunk_layouts.get(above));
            let above = above.copied().unwrap_or(NO_LAYOUT);
            let (layout, len) = match self.layouts.find(bytes.get(start..).unwrap_or_default(), above) {
                Some(found) => found,
                None => {
                    let mut walk = ThriftReader::at(bytes, start);
                    walk.skip_element(WireType::Struct)?;
                    let len = walk.position() - start;
                    (self.layouts.learn(&bytes[start..walk.position()]), len)
                }
            };
            // The footer is shorter than 4 GiB.
            self.chunk_starts.push(start as u32);
            self.chunk_layouts.push(layout);
            start += len;
        }
        *reader = ThriftReader::at(bytes, start);
        Ok(())
    }

    /// Removes row groups and schema. Returns the remaining bytes, which replace `footer`.
    pub(crate) fn without_row_groups(self, footer: &[u8]) -> (Self, Bytes) {
        let mut rest = Vec::new();
        let mut keep = |range: Range<usize>| {
            let start = rest.len();
            rest.extend_from_slice(footer.get(range).unwrap_or_default());
            start..rest.len()
        };
        let outline = Self {
            version: self.version,
            row_count: self.row_count,
            key_values: keep(self.key_values),
            column_orders: keep(self.column_orders),
            created_by: self.created_by.map(keep),
            leaves: self.leaves,
            row_counts: self.row_counts,
            columns: self.columns,
            ..Self::default()
        };
        (outline, rest.into())
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.row_counts.capacity() * 8
            + (self.tails.capacity() + self.chunk_starts.capacity()) * 4
            + self.chunk_layouts.capacity() * 2
            + self.leaves.memory_bytes()
            + self.layouts.memory_bytes()
    }
}
