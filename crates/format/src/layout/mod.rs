//! Layouts of column chunks: which bytes are structure, and where the fields are that readers ask for.
//!
//! Neighbouring chunks of a footer differ in numbers and bounds, and hardly ever in anything else. A [`Layout`] is made of one
//! chunk and says of every byte whether it is structure (headers, lengths, types), part of an integer, or content. Where
//! another chunk has the same structure, and integers of the same lengths, it has the same fields at the same places: no
//! field by field walk is needed, neither to find where the chunk ends nor to read it.
//!
//! ```text
//! chunk    26 08 1c 15 04 … 18 08 2a 00 00 00 00 00 00 00 … 16 8c 02 …
//! mask     ff 80 ff ff 80 … ff ff 00 00 00 00 00 00 00 00 … ff 80 80 …
//!          |  |  |         |  |  content                   |  integer: its bytes have to end where these do
//!          |  integer      |  length
//!          header          header
//! ```

mod known;
mod place;
mod trace;

pub(crate) use known::{Layouts, NO_LAYOUT};
pub(crate) use place::{Bases, Fields, field};

use lath_kernels::bytes::{MASKED_BYTES, MaskedBytes, has_expected_bits};

/// The longest chunk that a layout is made of. Places are 15 bits, and whoever has longer bounds has few chunks alike.
const LONGEST: usize = 4096;

/// Where the fields of a chunk are, and what another chunk has to have in common for them to be there too.
#[derive(Debug)]
pub(crate) struct Layout {
    len: u32,
    /// The bits of the chunk that are structure.
    structure: Box<[MaskedBytes]>,
    fields: Fields,
}

impl Layout {
    /// The layout of `chunk`, a whole `ColumnChunk`; `None` where it has something rare, or something wrong.
    pub(crate) fn of(chunk: &[u8]) -> Option<Self> {
        if !(MASKED_BYTES..=LONGEST).contains(&chunk.len()) {
            return None;
        }
        let (mask, fields) = trace::trace(chunk)?;
        let starts = (0..chunk.len()).step_by(MASKED_BYTES).map(|at| at.min(chunk.len() - MASKED_BYTES));
        let structure = starts.map(|at| Some(MaskedBytes::new(chunk[at..].first_chunk()?, mask[at..].first_chunk()?)));
        Some(Self { len: chunk.len() as u32, structure: structure.collect::<Option<_>>()?, fields })
    }

    /// Whether the chunk at the start of `bytes` has this layout.
    #[inline]
    fn fits(&self, bytes: &[u8]) -> bool {
        bytes.get(..self.len()).is_some_and(|chunk| has_expected_bits(chunk, &self.structure))
    }

    /// Bytes of a chunk.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    pub(crate) fn fields(&self) -> &Fields {
        &self.fields
    }

    fn memory_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.structure)
    }
}
