//! Layouts of column chunks: the bytes that are structure, and the places of fields.
//!
//! Neighbouring chunks of a footer usually differ only in numbers and bounds. A [`Layout`] is made from one chunk, and classifies each byte as
//! structure (headers, lengths, types), part of an integer, or content. Another chunk with the same structure, and integers of the same lengths,
//! has the same fields at the same places: its end and its fields are found without walking over it.
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
pub(crate) use place::{Bases, Fields, Place, REQUIRED, field, flag};

use lath_kernels::bytes::{MASKED_BYTES, MaskedBytes, has_expected_bits};

/// The longest chunk with a layout. Places have 15 bits, and longer chunks rarely have the same layout.
const LONGEST: usize = 4096;

/// The places of the fields of a chunk, and the structure that another chunk must share to have them at the same places.
#[derive(Debug)]
pub(crate) struct Layout {
    len: u32,
    /// The bits of the chunk that are structure.
    structure: Box<[MaskedBytes]>,
    fields: Fields,
}

impl Layout {
    /// The layout of `chunk`, a whole `ColumnChunk`; `None` if it has rare or invalid structures.
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

    /// The place and value of the first byte of structure that differs in `bytes`.
    fn first_difference(&self, bytes: &[u8]) -> Option<(u32, u8)> {
        let chunk = bytes.get(..self.len())?;
        let starts = (0..self.len()).step_by(MASKED_BYTES).map(|at| at.min(self.len() - MASKED_BYTES));
        starts.zip(&self.structure).find_map(|(start, block)| {
            let (at, byte) = block.first_difference(chunk[start..].first_chunk()?)?;
            Some(((start + at) as u32, byte))
        })
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

#[cfg(test)]
mod tests {
    use lath_testkit::Seeded;

    use super::*;
    use crate::thrift::{ThriftReader, ThriftWriter, WireType};

    fn random_chunk(random: &mut fastrand::Rng, path_bytes: usize) -> Vec<u8> {
        let number = |random: &mut fastrand::Rng| {
            let bits = [6, 13, 20, 40][random.usize(..4)];
            random.i64(0..1 << bits)
        };
        let mut bytes = Vec::new();
        let mut writer = ThriftWriter::new(&mut bytes);
        writer.binary(1, vec![b'x'; path_bytes]);
        writer.i64(2, number(random));
        writer.structure(3, |writer| {
            writer.i32(1, random.i32(0..8));
            writer.i32s(2, [random.i32(0..10), random.i32(0..10)].into_iter());
            writer.byte_strings(3, ["column", "x"].into_iter().map(str::as_bytes));
            writer.i32(4, random.i32(0..8));
            for id in [5, 6, 7, 9, 11] {
                writer.i64(id, number(random));
            }
            writer.structure(12, |writer| {
                writer.binary(1, vec![0xff; random.usize(..40)]);
                writer.i64(3, number(random));
                for id in [5, 6] {
                    writer.binary(id, random.i64(..).to_le_bytes());
                }
                writer.bool(7, random.bool());
            });
            writer.structures(13, 0..random.i32(0..3), |writer, count| {
                writer.i32(1, 0);
                writer.i32(2, 8);
                writer.i32(3, count);
            });
            writer.structure(16, |writer| writer.i64(1, number(random)));
        });
        writer.i64(4, number(random));
        writer.i32(5, 100);
        writer.end();
        bytes
    }

    /// A chunk with changed bytes that still matches the layout has the same structure.
    #[test]
    fn what_fits_a_layout_has_the_same_structure() {
        let mut random = Seeded::new("what fits a layout has the same structure");
        let (mut fitting, mut others) = (0, 0);
        for _ in 0..300 {
            let chunk = random_chunk(&mut random, 3);
            let layout = Layout::of(&chunk).expect("a layout");
            let structure = trace::trace(&chunk).expect("a structure");
            for _ in 0..300 {
                let mut changed = chunk.clone();
                for _ in 0..random.usize(1..4) {
                    let at = random.usize(..changed.len());
                    match random.u8(..3) {
                        0 => changed[at] ^= 1 << random.u8(..8),
                        1 => changed[at] ^= 0x80,
                        _ => changed[at] = random.u8(..),
                    }
                }
                if !layout.fits(&changed) {
                    others += 1;
                    continue;
                }
                fitting += 1;
                let mut reader = ThriftReader::new(&changed);
                assert_eq!(reader.skip_element(WireType::Struct), Ok(()));
                assert_eq!(reader.position(), chunk.len());
                assert_eq!(trace::trace(&changed).expect("a structure"), structure);
            }
        }
        assert!(fitting > 1000 && others > 1000, "{fitting} fit, {others} do not");
    }

    #[test]
    fn a_footer_whose_chunks_are_all_different_has_few_layouts() {
        let mut random = Seeded::new("a footer whose chunks are all different has few layouts");
        let mut layouts = Layouts::default();
        let mut bytes = 0;
        for index in 0..20_000 {
            let chunk = random_chunk(&mut random, index % 3_000);
            bytes += chunk.len();
            if layouts.find(&chunk, NO_LAYOUT).is_none() {
                layouts.learn(&chunk);
            }
        }
        assert!(layouts.memory_bytes() < bytes / 10, "{} for {bytes}", layouts.memory_bytes());
    }
}
