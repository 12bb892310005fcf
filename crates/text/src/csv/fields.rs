//! The fields of a column: their bytes one after another, and which of them are null.

use arrow_array::StringArray;
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};

/// The tokens for null.
#[derive(Debug, Clone, Default)]
pub(super) struct Nulls {
    pub(super) tokens: Vec<String>,
    /// Whether empty fields are null too.
    pub(super) has_empty: bool,
}

impl Nulls {
    pub(super) fn contain(&self, value: &[u8]) -> bool {
        match value {
            [] if self.has_empty => true,
            _ => self.tokens.iter().any(|token| token.as_bytes() == value),
        }
    }
}

/// The fields of a column that have been read so far.
#[derive(Debug)]
pub(super) struct Fields {
    /// Bytes up to `len`, then free space.
    bytes: Vec<u8>,
    len: usize,
    /// Offsets at which values start and end.
    offsets: Vec<i32>,
    valid: NullBufferBuilder,
    /// Whether quoted fields are never null.
    keeps_quoted: bool,
}

impl Default for Fields {
    fn default() -> Self {
        Self { bytes: Vec::new(), len: 0, offsets: vec![0], valid: NullBufferBuilder::new(0), keeps_quoted: false }
    }
}

impl Fields {
    /// Bytes of all values.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Sets whether quoted fields are never null.
    pub(super) fn keep_quoted(&mut self, keep: bool) {
        self.keeps_quoted = keep;
    }

    /// The bytes of the unfinished value.
    pub(super) fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.truncate(self.len);
        self.bytes
    }

    /// Adds bytes that were written to [`room`](Self::room) to the value.
    pub(super) fn grow(&mut self, len: usize) {
        self.len += len;
    }

    /// Free space for the bytes of a value.
    pub(super) fn room(&mut self) -> &mut [u8] {
        if self.bytes.len() - self.len < 32 {
            self.bytes.resize((self.bytes.len() * 2).max(64), 0);
        }
        &mut self.bytes[self.len..]
    }

    /// Appends to the unfinished value.
    pub(super) fn push(&mut self, value: &[u8]) {
        self.bytes.truncate(self.len);
        self.bytes.extend_from_slice(value);
        self.len = self.bytes.len();
    }

    /// Ends a value.
    pub(super) fn end_value(&mut self, is_quoted: bool, nulls: &Nulls) {
        let start = self.offsets.last().map_or(0, |&offset| offset as usize);
        let is_null = !(is_quoted && self.keeps_quoted) && nulls.contain(&self.bytes[start..self.len]);
        if is_null {
            self.len = start;
        }
        // Limits of a batch and of a value are far below an overflow.
        self.offsets.push(self.len as i32);
        self.valid.append(!is_null);
    }

    /// Takes the values.
    ///
    /// # Errors
    /// The first row that is not UTF-8.
    pub(super) fn take(&mut self) -> Result<StringArray, usize> {
        let next = Self { keeps_quoted: self.keeps_quoted, ..Self::default() };
        let Self { mut bytes, len, offsets, mut valid, .. } = std::mem::replace(self, next);
        bytes.truncate(len);
        self.bytes.reserve(len);
        let rows = offsets.len() - 1;
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        let bytes = Buffer::from_vec(bytes);
        StringArray::try_new(offsets.clone(), bytes.clone(), valid.finish()).map_err(|_| {
            let value = |row: usize| &bytes[offsets[row] as usize..offsets[row + 1] as usize];
            (0..rows).find(|&row| str::from_utf8(value(row)).is_err()).unwrap_or_default()
        })
    }
}
