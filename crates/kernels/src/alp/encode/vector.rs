//! One vector: the integers and misses of its values, and their encoding.

use std::array;

use super::super::page::{exception, vector_header};
use super::super::scale::Scale;
use super::super::{Float, private};
use super::{BLOCK, VECTOR};
use crate::bitpack::packed_len;

/// The integers of at most a vector of values.
#[derive(Debug)]
pub(super) struct Integers<T: private::Float> {
    blocks: [[T::Bits; BLOCK]; VECTOR / BLOCK],
    /// A bit for each value that its integer does not give back.
    misses: [u64; VECTOR / BLOCK],
}

/// The properties of a vector under a pair of exponent and factor.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measure<T: private::Float> {
    /// The smallest integer.
    base: T::Bits,
    width: u32,
    pub(super) miss_count: usize,
    /// The size of the packed integers and the exceptions.
    pub(super) len_bytes: usize,
}

impl<T: private::Float> Measure<T> {
    /// The size of the packed integers in bytes.
    pub(super) fn packed_len(&self) -> usize {
        self.len_bytes - self.miss_count * exception::<T>()
    }
}

impl<T: Float> Default for Integers<T> {
    fn default() -> Self {
        Self { blocks: array::from_fn(|_| [T::Bits::default(); BLOCK]), misses: [0; VECTOR / BLOCK] }
    }
}

impl<T: Float> Integers<T> {
    /// Converts at most a vector of values to integers, and measures them.
    pub(super) fn measure(&mut self, values: &[T], scale: &Scale<T>) -> Measure<T> {
        let (whole, rest) = values.as_chunks::<BLOCK>();
        let (blocks, last_block) = self.blocks.split_at_mut(whole.len());
        let (misses, last_misses) = self.misses.split_at_mut(whole.len());
        let (mut min, mut max) = T::digitize(whole, scale, blocks, misses);
        if let Some(&last) = rest.last() {
            let mut padded = [last; BLOCK];
            padded[..rest.len()].copy_from_slice(rest);
            let range = T::digitize(&[padded], scale, &mut last_block[..1], &mut last_misses[..1]);
            last_misses[0] &= (1 << rest.len()) - 1;
            min = if range.0 < min { range.0 } else { min };
            max = if range.1 > max { range.1 } else { max };
        }
        let miss_count: usize =
            self.misses[..values.len().div_ceil(BLOCK)].iter().map(|misses| misses.count_ones() as usize).sum();
        if miss_count == values.len() {
            return Measure {
                base: T::Bits::default(),
                width: 0,
                miss_count,
                len_bytes: miss_count * exception::<T>(),
            };
        }
        let base = min.to_integer();
        let range: u64 = T::truncate(max.to_integer().into().wrapping_sub(base.into())).into();
        let width = u64::BITS - range.leading_zeros();
        let len_bytes = packed_len(values.len(), width) + miss_count * exception::<T>();
        Measure { base, width, miss_count, len_bytes }
    }

    /// Encodes at most a vector of values, and returns the number of bytes.
    pub(super) fn encode(&mut self, values: &[T], scale: &Scale<T>, out: &mut [u8]) -> usize {
        let Measure { base, width, miss_count, len_bytes } = self.measure(values, scale);
        let (header, out) = out.split_at_mut(vector_header::<T>());
        if len_bytes > values.len() * exception::<T>() {
            return vector_header::<T>() + write_all_as_exceptions(values, header, out);
        }
        write_header::<T>(header, [scale.exponent, scale.factor], miss_count, base, width);
        let integers = &mut self.blocks.as_flattened_mut()[..values.len()];
        let (packed, out) = out.split_at_mut(packed_len(values.len(), width));
        let (positions, exceptions) = out.split_at_mut(2 * miss_count);
        if width > 0 {
            T::rebase(integers, base);
        }
        let mut position = positions.as_chunks_mut::<2>().0.iter_mut();
        let mut exception = exceptions.chunks_exact_mut(size_of::<T>());
        for (block, &misses) in self.misses[..values.len().div_ceil(BLOCK)].iter().enumerate() {
            for at in SetBits(misses).map(|bit| block * BLOCK + bit) {
                integers[at] = T::Bits::default();
                if let (Some(position), Some(exception)) = (position.next(), exception.next()) {
                    *position = (at as u16).to_le_bytes();
                    write_low_bytes(exception, values[at].to_bits().into());
                }
            }
        }
        T::pack(integers, width, packed);
        vector_header::<T>() + len_bytes
    }
}

/// The indices of the set bits, ascending.
struct SetBits(u64);

impl Iterator for SetBits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let bit = self.0.trailing_zeros();
        self.0 &= self.0 - 1;
        Some(bit as usize)
    }
}

/// Returns the number of bytes after the header.
fn write_all_as_exceptions<T: Float>(values: &[T], header: &mut [u8], out: &mut [u8]) -> usize {
    write_header::<T>(header, [0, 0], values.len(), T::Bits::default(), 0);
    let (positions, exceptions) = out.split_at_mut(2 * values.len());
    for (index, (position, exception)) in
        positions.as_chunks_mut::<2>().0.iter_mut().zip(exceptions.chunks_exact_mut(size_of::<T>())).enumerate()
    {
        if let Some(value) = values.get(index) {
            *position = (index as u16).to_le_bytes();
            write_low_bytes(exception, value.to_bits().into());
        }
    }
    values.len() * exception::<T>()
}

fn write_header<T: Float>(out: &mut [u8], pair: [u8; 2], miss_count: usize, base: T::Bits, width: u32) {
    out[..2].copy_from_slice(&pair);
    out[2..4].copy_from_slice(&(miss_count as u16).to_le_bytes());
    write_low_bytes(&mut out[4..4 + size_of::<T>()], base.into());
    out[4 + size_of::<T>()] = width as u8;
}

#[inline]
fn write_low_bytes(out: &mut [u8], bits: u64) {
    out.copy_from_slice(&bits.to_le_bytes()[..out.len()]);
}
