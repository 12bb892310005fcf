//! Definition and repetition levels of one page.

use arrow_buffer::Buffer;
use lath_kernels::{bitpack, levels, rle, select};

use crate::error::{Error, Result};
use crate::page::{BitOrder, Levels};

/// Decodes the levels of one page, some at a time.
#[derive(Debug)]
pub(crate) struct LevelDecoder {
    max_level: u8,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// The maximum level is 0, so that nothing is stored.
    None,
    Rle {
        decoder: rle::Decoder,
        src: Buffer,
    },
    /// The deprecated packing without runs; `position` counts values.
    BitPacked {
        src: Buffer,
        order: BitOrder,
        position: usize,
    },
}

impl LevelDecoder {
    pub(crate) fn new(stored: Levels, max_level: u8) -> Result<Self> {
        let kind = match stored {
            _ if max_level == 0 => Kind::None,
            Levels::None => return Err(Error::corrupt("a page without the levels that its column needs")),
            Levels::Rle(src) => Kind::Rle { decoder: rle::Decoder::new(bit_width(max_level))?, src },
            Levels::BitPacked(src, order) => Kind::BitPacked { src, order, position: 0 },
        };
        Ok(Self { max_level, kind })
    }

    /// Decodes exactly `out.len()` levels.
    pub(crate) fn decode(&mut self, out: &mut [u8]) -> Result<()> {
        match &mut self.kind {
            Kind::None => out.fill(0),
            Kind::Rle { decoder, src } => {
                let produced = decoder.decode_u8(src, out)?;
                if produced < out.len() {
                    return Err(Error::corrupt("levels end before the page's values do"));
                }
            }
            Kind::BitPacked { src, order, position } => {
                decode_bit_packed(src, *order, bit_width(self.max_level), *position, out)?;
                *position += out.len();
            }
        }
        let representable = (1u16 << bit_width(self.max_level)) - 1;
        if u16::from(self.max_level) < representable && out.iter().fold(0, |a, &b| a.max(b)) > self.max_level {
            return Err(Error::corrupt(format!("a level over the column's maximum of {}", self.max_level)));
        }
        Ok(())
    }

    /// Decodes `count` levels of a column whose maximum is 1 into a bitmap, starting at bit `at`; returns the number of ones.
    pub(crate) fn decode_bits(&mut self, bits: &mut [u8], at: usize, count: usize) -> Result<usize> {
        if let Kind::Rle { decoder, src } = &mut self.kind {
            let produced = decoder.decode_bits(src, bits, at, count)?;
            if produced < count {
                return Err(Error::corrupt("levels end before the page's values do"));
            }
            return Ok(select::count_ones(bits, at, count)?);
        }
        let mut chunk = [0u8; 1024];
        let mut mask = [0u64; 1024 / 64];
        let mut done = 0;
        let mut ones = 0;
        while done < count {
            let n = (count - done).min(chunk.len());
            self.decode(&mut chunk[..n])?;
            let words = &mut mask[..n.div_ceil(64)];
            levels::ge_mask(&chunk[..n], 1, words)?;
            ones += levels::count(words);
            select::copy_bits(bytemuck::cast_slice(words), 0, bits, at + done, n)?;
            done += n;
        }
        Ok(ones)
    }
}

/// Values can only be unpacked from a whole byte on, so that this starts at the multiple of eight before `position`.
fn decode_bit_packed(src: &[u8], order: BitOrder, width: u32, position: usize, out: &mut [u8]) -> Result<()> {
    let lead = position % 8;
    let mut start = position - lead;
    let mut rest = out;
    let mut skip = lead;
    let mut block = [0u8; 64];
    while !rest.is_empty() {
        let wanted = (rest.len() + skip).min(block.len());
        let from = (start / 8).checked_mul(width as usize).filter(|&from| from <= src.len());
        let from = from.ok_or_else(|| Error::corrupt("levels end before the page's values do"))?;
        let unpack = match order {
            BitOrder::LeastSignificantFirst => bitpack::unpack_u8,
            BitOrder::MostSignificantFirst => bitpack::unpack_msb_u8,
        };
        unpack(&src[from..], width, &mut block[..wanted])?;
        let (now, later) = rest.split_at_mut(wanted - skip);
        now.copy_from_slice(&block[skip..wanted]);
        rest = later;
        skip = 0;
        start += block.len();
    }
    Ok(())
}

fn bit_width(max_level: u8) -> u32 {
    8 - max_level.leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers 0 to 7 in three bits each, as in the specification's examples of RLE and BIT_PACKED.
    const LEAST_FIRST: [u8; 3] = [0b1000_1000, 0b1100_0110, 0b1111_1010];
    const MOST_FIRST: [u8; 3] = [0b0000_0101, 0b0011_1001, 0b0111_0111];

    #[test]
    fn bit_packed_levels_are_unpacked_in_the_order_of_their_writer() {
        for (order, bytes) in
            [(BitOrder::LeastSignificantFirst, LEAST_FIRST), (BitOrder::MostSignificantFirst, MOST_FIRST)]
        {
            // In steps that end within bytes.
            for step in [1, 3, 8, 61, 200] {
                let stored = Levels::BitPacked(Buffer::from_vec(bytes.repeat(25)), order);
                let mut decoder = LevelDecoder::new(stored, 7).unwrap();
                let mut levels = vec![0; 200];
                levels.chunks_mut(step).for_each(|out| decoder.decode(out).unwrap());
                assert!(
                    levels.iter().enumerate().all(|(at, &level)| usize::from(level) == at % 8),
                    "{order:?}: {levels:?}"
                );
                assert!(decoder.decode(&mut [0]).is_err());
            }
        }
    }
}
