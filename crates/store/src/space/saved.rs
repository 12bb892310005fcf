//! The free map as a clean close writes it. Its regions are read when they are first needed.
//!
//! ```text
//! 0   u32  checksum: low half of XXH3 of the bytes from 4 to the end of the directory
//! 4   u32  version, 1
//! 8   u64  first unit
//! 16  u64  unit after the last
//! 24  the directory: for each region of 2 MiB, counted from unit 0
//!       u32  the number of its free units
//!       u32  checksum of its bitmap: low half of XXH3; 0 if it has none
//!     the bitmaps, of 4,096 bytes, of the regions in which some units are free and others used
//! ```
//!
//! Bit `i` of a bitmap is bit `i % 8` of byte `i / 8`. It is set if the unit is used, or lies before the first or after
//! the last. Opening reads only the directory: 8 bytes for each 2 MiB of the file.

use std::fmt;

use super::regions::{REGION, Region, Regions};
use super::{Class, REGION_WORDS, Space, bits, by_region};
use crate::error::{Error, Result};
use crate::extent::Extent;
use xxhash_rust::xxh3::xxh3_64;

const VERSION: u32 = 1;
const HEADER_BYTES: usize = 24;
const ENTRY_BYTES: usize = 8;
const REGION_BYTES: usize = REGION_WORDS * 8;

/// No bitmap.
const NONE: u32 = u32::MAX;

/// A saved map with regions that have not been read yet.
pub(super) struct SavedMap {
    source: Box<dyn AsRef<[u8]> + Send + Sync>,
    /// For each region, the index of its bitmap in the file, and the bitmap's checksum.
    bitmaps: Vec<(u32, u32)>,
    /// The offset of the bitmaps.
    offset: usize,
    /// The number of regions still to be read.
    unread: usize,
    /// Regions whose bits have the wrong checksum or contradict the directory.
    damaged: Vec<usize>,
}

impl fmt::Debug for SavedMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedMap").field("unread", &self.unread).field("damaged", &self.damaged).finish_non_exhaustive()
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

impl SavedMap {
    /// Reads the bits of a region, if they are intact and agree with the directory.
    fn read(&self, region: usize, free: u32, range: (u64, u64)) -> Option<[u64; REGION_WORDS]> {
        let mut words = [u64::MAX; REGION_WORDS];
        let (bitmap, checksum) = self.bitmaps[region];
        if bitmap == NONE {
            if free > 0 {
                bits::set_all(&mut words, false, range.0, range.1 - range.0);
            }
            return Some(words);
        }
        let start = self.offset + bitmap as usize * REGION_BYTES;
        let bytes = (*self.source).as_ref().get(start..start + REGION_BYTES)?;
        if xxh3_64(bytes) as u32 != checksum {
            return None;
        }
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        let clear: u32 = words.iter().map(|word| word.count_zeros()).sum();
        let outside =
            bits::is_any_clear(&words, 0, range.0) || bits::is_any_clear(&words, range.1, u64::from(REGION) - range.1);
        (clear == free && !outside).then_some(words)
    }
}

impl Space {
    /// An upper bound on the length of the output of [`save`](Self::save).
    pub(crate) fn saved_bytes_max(&self) -> usize {
        HEADER_BYTES + self.regions.len() * (ENTRY_BYTES + REGION_BYTES)
    }

    /// Returns the map as bytes. It counts the units of `also_free`, which are used here, as free.
    pub(crate) fn save(&mut self, also_free: impl IntoIterator<Item = Extent>) -> Vec<u8> {
        self.load_all();
        let mut also_free: Vec<_> =
            also_free.into_iter().flat_map(|extent| by_region(extent.start, extent.end())).collect();
        also_free.sort_unstable();
        let mut also_free = also_free.into_iter().peekable();
        let directory = HEADER_BYTES + self.regions.len() * ENTRY_BYTES;
        let mut out = vec![0; directory];
        out[4..8].copy_from_slice(&VERSION.to_le_bytes());
        out[8..16].copy_from_slice(&self.first.to_le_bytes());
        out[16..24].copy_from_slice(&self.end.to_le_bytes());
        for region in 0..self.regions.len() {
            let mut words = [0; REGION_WORDS + 1];
            words[..REGION_WORDS].copy_from_slice(&self.words[region * REGION_WORDS..][..REGION_WORDS]);
            let mut free = self.regions.get(region).free;
            while let Some((_, start, units)) = also_free.next_if(|&(at, ..)| at == region) {
                free += bits::clear(&mut words, start % u64::from(REGION), units);
            }
            let (low, high) = self.range(region);
            let mut checksum = 0;
            if free > 0 && u64::from(free) < high - low {
                let start = out.len();
                out.resize(start + REGION_BYTES, 0);
                for (bytes, word) in out[start..].as_chunks_mut::<8>().0.iter_mut().zip(words) {
                    *bytes = word.to_le_bytes();
                }
                checksum = xxh3_64(&out[start..]) as u32;
            }
            let entry = &mut out[HEADER_BYTES + region * ENTRY_BYTES..][..ENTRY_BYTES];
            entry[..4].copy_from_slice(&free.to_le_bytes());
            entry[4..].copy_from_slice(&checksum.to_le_bytes());
        }
        let checksum = xxh3_64(&out[4..directory]) as u32;
        out[..4].copy_from_slice(&checksum.to_le_bytes());
        out
    }

    /// Reads the output of [`save`](Self::save) in full.
    #[cfg(test)]
    pub(crate) fn restore(bytes: &[u8]) -> Result<Self> {
        let mut space = Self::lazy(bytes.to_vec())?;
        space.load_all();
        match space.damaged_regions().first() {
            None => Ok(space),
            Some(region) => Err(Error::corrupt(format!("the free map is wrong in region {region}"))),
        }
    }

    /// Reads the output of [`save`](Self::save). Regions are read when they are first used, so the bytes must not
    /// change until [`is_loaded`](Self::is_loaded). A damaged region counts as completely used, and is listed by
    /// [`damaged_regions`](Self::damaged_regions).
    pub(crate) fn lazy(source: impl AsRef<[u8]> + Send + Sync + 'static) -> Result<Self> {
        let bytes = source.as_ref();
        let short = || Error::corrupt("the free map is truncated");
        let first = u64_at(bytes, 8).ok_or_else(short)?;
        let end = u64_at(bytes, 16).ok_or_else(short)?;
        if u32_at(bytes, 4) != Some(VERSION) || first > end || end > 1 << 40 {
            return Err(Error::corrupt("the header of the free map is wrong"));
        }
        let count = end.div_ceil(REGION.into()) as usize;
        let offset = HEADER_BYTES + count * ENTRY_BYTES;
        let checked = bytes.get(4..offset).ok_or_else(short)?;
        if u32_at(bytes, 0) != Some(xxh3_64(checked) as u32) {
            return Err(Error::corrupt("the checksum of the free map's directory is wrong"));
        }
        let mut regions = Regions::default();
        let mut bitmaps = Vec::with_capacity(count);
        let (mut stored, mut free) = (0, 0);
        let directory = bytes[HEADER_BYTES..offset].as_chunks::<ENTRY_BYTES>().0;
        for (region, &[a, b, c, d, sum @ ..]) in directory.iter().enumerate() {
            let units = u32::from_le_bytes([a, b, c, d]);
            let (low, high) = range(first, end, region);
            if u64::from(units) > high - low {
                return Err(Error::corrupt("the free map counts more free units than there are"));
            }
            let partly = units > 0 && u64::from(units) < high - low;
            bitmaps.push((if partly { stored } else { NONE }, u32::from_le_bytes(sum)));
            stored += u32::from(partly);
            free += u64::from(units);
            regions.push(Region { free: units, left: 0, longest: REGION as u16, loaded: false, class: Class::Medium });
        }
        if bytes.len() < offset + stored as usize * REGION_BYTES {
            return Err(short());
        }
        // Zeroed memory costs nothing until it is touched.
        let words = vec![0; count * REGION_WORDS + 1];
        let saved = SavedMap { source: Box::new(source), bitmaps, offset, unread: count, damaged: Vec::new() };
        let mut space = Self::empty(0);
        (space.words, space.regions, space.first, space.end) = (words, regions, first, end);
        (space.free, space.saved) = (free, Some(saved));
        Ok(space)
    }

    /// Returns whether all regions of the saved map were read.
    pub(crate) fn is_loaded(&self) -> bool {
        self.saved.as_ref().is_none_or(|saved| saved.unread == 0)
    }

    /// Reads the regions of the saved map that were not read yet.
    pub(crate) fn load_all(&mut self) {
        if !self.is_loaded() {
            (0..self.regions.len()).for_each(|region| self.load(region));
        }
    }

    /// The regions, in units of 2 MiB from the start of the file, whose bits in the saved map were damaged.
    pub(crate) fn damaged_regions(&self) -> &[usize] {
        self.saved.as_ref().map_or(&[], |saved| &saved.damaged)
    }

    #[inline]
    pub(super) fn load(&mut self, region: usize) {
        if !self.regions.get(region).loaded {
            self.load_saved(region);
        }
    }

    #[cold]
    fn load_saved(&mut self, region: usize) {
        let range = self.range(region);
        let free = self.regions.get(region).free;
        let Some(saved) = &mut self.saved else { return };
        let words = saved.read(region, free, range);
        saved.unread -= 1;
        if saved.unread == 0 {
            saved.source = Box::new([]);
            saved.bitmaps = Vec::new();
        }
        if words.is_none() {
            saved.damaged.push(region);
            self.regions.take(region, free);
            self.free -= u64::from(free);
        }
        self.words[region * REGION_WORDS..][..REGION_WORDS].copy_from_slice(&words.unwrap_or([u64::MAX; REGION_WORDS]));
        self.regions.set_loaded(region);
    }

    /// The units of a region between the first and the last of the area, counted within the region.
    pub(super) fn range(&self, region: usize) -> (u64, u64) {
        range(self.first, self.end, region)
    }
}

fn range(first: u64, end: u64, region: usize) -> (u64, u64) {
    let base = region as u64 * u64::from(REGION);
    let within = |unit: u64| unit.saturating_sub(base).min(REGION.into());
    (within(first), within(end))
}
