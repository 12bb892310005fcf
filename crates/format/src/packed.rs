//! Stores the row groups of a file with very many of them, in less memory than its footer.
//!
//! The chunks of one column and layout differ in few bytes. The common bytes are stored once, as a [`Template`], and the different bytes as a
//! record for each chunk. The records of a column are consecutive.
//!
//! ```text
//! chunks     26 08 1c 15 04 … 16 8c 02 …     template   26 __ 1c 15 04 … 16 __ __ …    pieces: 1, 1 byte; 15, 2 bytes
//!            26 0a 1c 15 04 … 16 9e 02 …     records    08 8c 02 | 0a 9e 02 | 0c b0 02 | …
//!            26 0c 1c 15 04 … 16 b0 02 …
//! ```
//!
//! A field is entirely in the template or in the record, so that bounds can be borrowed from either.

use std::borrow::Cow;

use crate::layout::{Bases, Fields, NO_LAYOUT, Place};
use crate::outline::Outline;
use crate::thrift::ThriftReader;

/// The minimum number of row groups of a packed file. Packing costs as much as one or two more passes, and saves only kilobytes with fewer row
/// groups.
pub(crate) const PACKED_ROW_GROUPS: usize = 1024;

/// The minimum number of chunks of a template.
const TEMPLATE_CHUNKS: usize = 4;

/// A `ColumnChunk` that has not been decoded.
pub(crate) struct StoredChunk<'a> {
    pub(crate) bases: Bases<'a>,
    /// The places of its fields, if it has a layout.
    pub(crate) fields: Option<&'a Fields>,
    /// The pieces that turn the template into the chunk.
    pub(crate) pieces: &'a [Piece],
}

impl<'a> StoredChunk<'a> {
    /// The bytes of the structure, and possibly bytes after it.
    pub(crate) fn bytes(&self) -> Cow<'a, [u8]> {
        if self.pieces.is_empty() {
            return Cow::Borrowed(self.bases.shared);
        }
        let mut chunk = self.bases.shared.to_vec();
        let mut record = self.bases.record;
        for piece in self.pieces {
            let Some((bytes, rest)) = record.split_at_checked(piece.len.into()) else { break };
            if let Some(place) = chunk.get_mut(piece.range()) {
                place.copy_from_slice(bytes);
            }
            record = rest;
        }
        Cow::Owned(chunk)
    }
}

/// Bytes that differ between the chunks of a template.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Piece {
    at: u16,
    len: u16,
}

impl Piece {
    fn range(self) -> std::ops::Range<usize> {
        self.at.into()..usize::from(self.at) + usize::from(self.len)
    }
}

/// The common bytes of chunks of one column and layout.
#[derive(Debug)]
struct Template {
    /// One of the chunks.
    chunk: Box<[u8]>,
    fields: Fields,
    pieces: Box<[Piece]>,
    record_bytes: usize,
}

#[derive(Debug, Default)]
struct PackedColumn {
    templates: Box<[Template]>,
    /// By row group: the number of the chunk's template, or [`NO_LAYOUT`] if it is not packed.
    numbers: Vec<u16>,
    /// By row group: the start of the record or of the chunk.
    starts: Vec<u32>,
    bytes: Vec<u8>,
}

/// The row groups of a file.
#[derive(Debug)]
pub(crate) struct PackedRowGroups {
    columns: Box<[PackedColumn]>,
    /// By row group: the fields after the list of column chunks, and their starts.
    tails: Box<[u8]>,
    tail_starts: Box<[u32]>,
}

impl PackedRowGroups {
    pub(crate) fn pack(footer: &[u8], outline: &Outline) -> Self {
        let mut drafts: Vec<Drafts> = std::iter::repeat_with(Drafts::default).take(outline.columns).collect();
        each_chunk(footer, outline, |column, chunk, layout| drafts[column].note(chunk, layout));
        let row_groups = outline.row_counts.len();
        let mut columns: Vec<_> = drafts.iter_mut().map(|drafts| drafts.column(outline, row_groups)).collect();
        each_chunk(footer, outline, |column, chunk, layout| {
            columns[column].push(chunk, drafts[column].find(layout).and_then(|draft| draft.template));
        });
        let mut tails = Vec::new();
        let mut tail_starts = Vec::with_capacity(row_groups);
        for &start in &outline.tails {
            let mut reader = ThriftReader::at(footer, start as usize);
            // It was well-formed before.
            let _ = reader.each_field(ThriftReader::skip);
            tail_starts.push(tails.len() as u32);
            tails.extend_from_slice(footer.get(start as usize..reader.position()).unwrap_or_default());
        }
        Self { columns: columns.into(), tails: tails.into(), tail_starts: tail_starts.into() }
    }

    pub(crate) fn chunk(&self, row_group: usize, leaf: usize) -> Option<StoredChunk<'_>> {
        let column = self.columns.get(leaf)?;
        let start = *column.starts.get(row_group)? as usize;
        let bytes = column.bytes.get(start..)?;
        let template = column.templates.get(usize::from(*column.numbers.get(row_group)?));
        Some(match template {
            Some(Template { chunk, fields, pieces, .. }) => {
                StoredChunk { bases: Bases { shared: chunk, record: bytes }, fields: Some(fields), pieces }
            }
            None => StoredChunk { bases: Bases { shared: bytes, record: &[] }, fields: None, pieces: &[] },
        })
    }

    /// The fields of a row group after its list of column chunks, and bytes after them.
    pub(crate) fn tail(&self, row_group: usize) -> &[u8] {
        let start = self.tail_starts.get(row_group).copied().unwrap_or(u32::MAX);
        self.tails.get(start as usize..).unwrap_or_default()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let columns = self.columns.iter().map(PackedColumn::memory_bytes).sum::<usize>();
        size_of::<Self>() + columns + self.tails.len() + self.tail_starts.len() * 4
    }
}

/// Calls `visit` with the column, the bytes and the layout of every chunk.
fn each_chunk(footer: &[u8], outline: &Outline, mut visit: impl FnMut(usize, &[u8], u16)) {
    let chunks = outline.chunk_starts.iter().zip(&outline.chunk_layouts);
    for (index, (&start, &layout)) in chunks.enumerate() {
        let start = start as usize;
        let len = match outline.layouts.get(layout) {
            Some(layout) => layout.len(),
            None => {
                let mut reader = ThriftReader::at(footer, start);
                // It was well-formed before.
                let _ = reader.skip_element(crate::thrift::WireType::Struct);
                reader.position() - start
            }
        };
        visit(index % outline.columns, footer.get(start..start + len).unwrap_or_default(), layout);
    }
}

/// The chunks of one column by layout, while their common bytes are collected.
#[derive(Debug, Default)]
struct Drafts {
    /// In the order of their layouts.
    drafts: Vec<Draft>,
    /// The last one found.
    last: usize,
    /// Bytes of chunks without a layout.
    walked_bytes: usize,
}

#[derive(Debug)]
struct Draft {
    layout: u16,
    chunks: usize,
    first: Box<[u8]>,
    /// Bits that are not the same in all chunks.
    differing: Box<[u8]>,
    /// The number of its template.
    template: Option<u16>,
}

impl Drafts {
    fn find(&mut self, layout: u16) -> Option<&mut Draft> {
        if self.drafts.get(self.last).is_none_or(|draft| draft.layout != layout) {
            self.last = self.drafts.binary_search_by_key(&layout, |draft| draft.layout).ok()?;
        }
        self.drafts.get_mut(self.last)
    }

    fn note(&mut self, chunk: &[u8], layout: u16) {
        if layout == NO_LAYOUT {
            self.walked_bytes += chunk.len();
            return;
        }
        let Some(draft) = self.find(layout) else {
            let place = self.drafts.partition_point(|draft| draft.layout < layout);
            let differing = vec![0; chunk.len()].into();
            self.drafts.insert(place, Draft { layout, chunks: 1, first: chunk.into(), differing, template: None });
            return;
        };
        draft.chunks += 1;
        for ((differing, byte), first) in draft.differing.iter_mut().zip(chunk).zip(&draft.first) {
            *differing |= byte ^ first;
        }
    }

    /// A column without chunks, with room for all of them.
    fn column(&mut self, outline: &Outline, row_groups: usize) -> PackedColumn {
        let mut templates = Vec::new();
        let mut bytes = self.walked_bytes;
        for draft in &mut self.drafts {
            let number = u16::try_from(templates.len()).ok().filter(|&number| number != NO_LAYOUT);
            let fields = outline.layouts.get(draft.layout).filter(|_| draft.chunks >= TEMPLATE_CHUNKS);
            let template = fields.and_then(|layout| Template::new(draft, layout.fields())).zip(number);
            match template {
                Some((template, number)) => {
                    bytes += draft.chunks * template.record_bytes;
                    draft.template = Some(number);
                    templates.push(template);
                }
                None => bytes += draft.chunks * draft.first.len(),
            }
        }
        PackedColumn {
            templates: templates.into(),
            numbers: Vec::with_capacity(row_groups),
            starts: Vec::with_capacity(row_groups),
            bytes: Vec::with_capacity(bytes),
        }
    }
}

impl Template {
    /// `None` if offsets are too large.
    fn new(draft: &Draft, fields: &Fields) -> Option<Self> {
        let mut differs: Vec<bool> = draft.differing.iter().map(|&bits| bits != 0).collect();
        for place in fields.places {
            let field = differs.get_mut(place.at()..place.at() + place.len())?;
            if field.contains(&true) {
                field.fill(true);
            }
        }
        let mut pieces = Vec::new();
        let mut packed = *fields;
        let (mut at, mut record_bytes) = (0, 0);
        for run in differs.chunk_by(|one, other| one == other) {
            if run[0] {
                pieces.push(Piece { at: at as u16, len: run.len() as u16 });
                for (place, original) in packed.places.iter_mut().zip(fields.places) {
                    if original.len() > 0 && (at..at + run.len()).contains(&original.at()) {
                        *place = Place::in_record(record_bytes + original.at() - at, original.len())?;
                    }
                }
                record_bytes += run.len();
            }
            at += run.len();
        }
        Some(Self { chunk: draft.first.clone(), fields: packed, pieces: pieces.into(), record_bytes })
    }
}

impl PackedColumn {
    fn push(&mut self, chunk: &[u8], template: Option<u16>) {
        // A column has fewer bytes than the footer, which is shorter than 4 GiB.
        self.starts.push(self.bytes.len() as u32);
        self.numbers.push(template.unwrap_or(NO_LAYOUT));
        match template.and_then(|number| self.templates.get(usize::from(number))) {
            Some(template) => {
                for piece in &template.pieces {
                    self.bytes.extend_from_slice(chunk.get(piece.range()).unwrap_or_default());
                }
            }
            None => self.bytes.extend_from_slice(chunk),
        }
    }

    fn memory_bytes(&self) -> usize {
        let template = |template: &Template| template.chunk.len() + size_of_val(&*template.pieces);
        size_of::<Self>()
            + size_of_val(&*self.templates)
            + self.templates.iter().map(template).sum::<usize>()
            + self.numbers.capacity() * 2
            + self.starts.capacity() * 4
            + self.bytes.capacity()
    }
}
