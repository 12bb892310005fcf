//! Dictionary encoding: each distinct value once, and a code for every value.

mod categories;
mod table;
mod worth;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::Buffer;
use lath_format::schema::PhysicalType;
use lath_kernels::{gather, rle};

use crate::physical::{Strings, Values};
use crate::statistics::{Order, ValueStatistics};
use categories::Categories;
use lath_parquet::Result;
use table::{NumberMemory, StringMemory};
pub(crate) use worth::Worth;

/// The code of a key without a code yet.
const NO_CODE: u32 = u32::MAX;

/// The growing dictionary of a column chunk, and the codes of the pending page.
#[derive(Debug)]
pub(crate) struct Dictionary {
    table: Table,
    codes: Vec<u32>,
    keys: Keys,
    worth: Worth,
    /// One bit for each code that a page has.
    seen: Vec<u64>,
    categories: Option<Categories>,
}

#[derive(Debug)]
enum Table {
    Words32(NumberMemory<u32>),
    Words64(NumberMemory<u64>),
    Strings(StringMemory),
    /// Strings of one length, whose page has no lengths.
    Fixed(StringMemory, usize),
}

/// The codes of an Arrow dictionary's keys.
#[derive(Debug, Default)]
struct Keys {
    dictionary: Option<ArrayRef>,
    codes: Vec<u32>,
}

impl Dictionary {
    /// A dictionary for a column, if its type can have one.
    pub(crate) fn new(physical: PhysicalType, type_length: usize) -> Option<Self> {
        let table = match physical {
            PhysicalType::INT32 | PhysicalType::FLOAT => Table::Words32(NumberMemory::new()),
            PhysicalType::INT64 | PhysicalType::DOUBLE => Table::Words64(NumberMemory::new()),
            PhysicalType::BYTE_ARRAY => Table::Strings(StringMemory::new()),
            PhysicalType::FIXED_LEN_BYTE_ARRAY if type_length > 0 => Table::Fixed(StringMemory::new(), type_length),
            PhysicalType::INT96 => Table::Fixed(StringMemory::new(), 12),
            _ => return None,
        };
        let (keys, worth) = (Keys::default(), Worth::default());
        Some(Self { table, codes: Vec::new(), keys, worth, seen: Vec::new(), categories: None })
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        match &self.table {
            Table::Words32(memory) => memory.entries().len(),
            Table::Words64(memory) => memory.entries().len(),
            Table::Strings(memory) | Table::Fixed(memory, _) => memory.len(),
        }
    }

    /// Bytes of the dictionary page.
    pub(crate) fn page_len(&self) -> usize {
        match &self.table {
            Table::Words32(memory) => 4 * memory.entries().len(),
            Table::Words64(memory) => 8 * memory.entries().len(),
            Table::Strings(memory) => memory.page().len(),
            Table::Fixed(memory, width) => width * memory.len(),
        }
    }

    /// Bytes of memory.
    pub(crate) fn capacity(&self) -> usize {
        let table = match &self.table {
            Table::Words32(memory) => memory.capacity(),
            Table::Words64(memory) => memory.capacity(),
            Table::Strings(memory) | Table::Fixed(memory, _) => memory.capacity(),
        };
        table + 4 * (self.codes.capacity() + self.keys.codes.capacity())
    }

    pub(crate) fn worth(&self) -> &Worth {
        &self.worth
    }

    /// Adds values of the pending page; returns false, and adds none, if the table is full.
    pub(crate) fn append(&mut self, values: &Values) -> Result<bool> {
        let start = self.codes.len();
        let plain_len = values.plain_len();
        // The two halves show whether new values become fewer.
        let half = values.len() / 2;
        self.codes.resize(start + values.len(), 0);
        let mut codes = std::mem::take(&mut self.codes);
        let taken = if self.worth.value_count() == 0 && half > 0 {
            let first = self.intern(&values.slice(0, half), &mut codes[start..start + half])?;
            self.worth.add(half, self.len(), 0);
            let rest = values.len() - half;
            first && self.intern(&values.slice(half, rest), &mut codes[start + half..])?
        } else {
            self.intern(values, &mut codes[start..])?
        };
        self.codes = codes;
        if !taken {
            self.codes.truncate(start);
            return Ok(false);
        }
        let counted = if self.worth.value_count() == half && start == 0 && half > 0 { half } else { 0 };
        self.worth.add(values.len() - counted, self.len(), plain_len);
        Ok(true)
    }

    fn intern(&mut self, values: &Values, codes: &mut [u32]) -> Result<bool> {
        match (&mut self.table, values) {
            (Table::Words32(memory), Values::Words32(words)) => memory.intern(words, codes),
            (Table::Words64(memory), Values::Words64(words)) => memory.intern(words, codes),
            (Table::Strings(memory), Values::Strings(strings)) => strings.with(|strings| memory.intern(strings, codes)),
            (Table::Fixed(memory, _), Values::Fixed { width, bytes, .. }) => {
                memory.intern(lath_kernels::ByteStrings::Fixed { data: bytes, width: *width }, codes)
            }
            (_, Values::Codes { codes: keys, entries }) => {
                self.intern_keys(keys, &entries.array, &entries.values, codes)
            }
            _ => Ok(false),
        }
    }

    /// Adds keys of an Arrow dictionary: an entry is looked up once, however often its key occurs.
    fn intern_keys(&mut self, keys: &[u32], array: &ArrayRef, entries: &Values, codes: &mut [u32]) -> Result<bool> {
        let is_known = self.keys.dictionary.as_ref().is_some_and(|known| known.to_data().ptr_eq(&array.to_data()));
        if !is_known {
            self.keys.codes.clear();
            self.keys.codes.resize(entries.len(), NO_CODE);
            self.keys.dictionary = Some(array.clone());
        }
        let mut new = Vec::new();
        for &key in keys {
            if let Some(code @ &mut NO_CODE) = self.keys.codes.get_mut(key as usize) {
                *code = 0;
                new.push(key);
            }
        }
        if !new.is_empty() {
            let values = entries.expanded_at(&new)?;
            let mut new_codes = vec![0; new.len()];
            if !self.intern(&values, &mut new_codes)? {
                self.keys.dictionary = None;
                return Ok(false);
            }
            for (key, code) in new.into_iter().zip(new_codes) {
                self.keys.codes[key as usize] = code;
                if let Some(categories) = &mut self.categories {
                    categories.mark(code);
                }
            }
        }
        gather::gather_u32(&self.keys.codes, keys, codes)?;
        Ok(true)
    }

    /// Maximum encoded size of the codes of the pending page.
    pub(crate) fn max_codes_len(&self) -> usize {
        1 + rle::max_encoded_len(self.codes.len(), self.width())
    }

    /// Bits of a code.
    pub(crate) fn width(&self) -> u32 {
        usize::BITS - self.len().saturating_sub(1).leading_zeros()
    }

    /// Encodes the codes of the pending page: their width in a byte, then the RLE/bit-packing hybrid.
    pub(crate) fn encode_codes(&self, out: &mut [u8]) -> Result<usize> {
        self.encode_first_codes(self.codes.len(), out)
    }

    /// Encodes the first `count` codes of the pending page.
    pub(crate) fn encode_first_codes(&self, count: usize, out: &mut [u8]) -> Result<usize> {
        let width = self.width();
        out[0] = width as u8;
        Ok(1 + rle::encode_u32(&self.codes[..count], width, &mut out[1..])?)
    }

    /// Drops the codes of the pending page.
    pub(crate) fn clear_codes(&mut self) {
        self.codes.clear();
    }

    /// Encodes the dictionary page's body.
    pub(crate) fn encode_entries(&self, out: &mut [u8]) -> usize {
        let len = self.page_len();
        match &self.table {
            Table::Words32(memory) => out[..len].copy_from_slice(bytemuck::cast_slice(memory.entries())),
            Table::Words64(memory) => out[..len].copy_from_slice(bytemuck::cast_slice(memory.entries())),
            Table::Strings(memory) => out[..len].copy_from_slice(memory.page()),
            Table::Fixed(memory, width) => {
                let entries = memory.page().chunks_exact(4 + width);
                for (slot, entry) in out[..len].chunks_exact_mut(*width).zip(entries) {
                    slot.copy_from_slice(&entry[4..]);
                }
            }
        }
        len
    }

    /// The entries as values.
    pub(crate) fn entries(&self) -> Values {
        match &self.table {
            Table::Words32(memory) => Values::Words32(memory.entries().to_vec().into()),
            Table::Words64(memory) => Values::Words64(memory.entries().to_vec().into()),
            Table::Strings(memory) => {
                Values::Strings(Strings::from_slices((0..memory.len()).map(|code| memory.get(code))))
            }
            Table::Fixed(memory, width) => {
                let mut bytes = vec![0; width * memory.len()];
                self.encode_entries(&mut bytes);
                Values::Fixed { width: *width, len: memory.len(), bytes: Buffer::from_vec(bytes) }
            }
        }
    }

    /// Statistics of the pending page's byte strings, by the entries of its codes.
    pub(crate) fn statistics(&mut self, order: Order) -> ValueStatistics {
        let (Table::Strings(memory) | Table::Fixed(memory, _)) = &self.table else { return ValueStatistics::default() };
        self.seen.clear();
        self.seen.resize(memory.len().div_ceil(64), 0);
        for &code in &self.codes {
            self.seen[code as usize / 64] |= 1 << (code % 64);
        }
        let seen = arrow_buffer::bit_iterator::BitIndexIterator::new(bytemuck::cast_slice(&self.seen), 0, memory.len());
        ValueStatistics::from_bytes(order, seen.map(|code| memory.get(code)))
    }

    /// Clears everything for the next column chunk; memory stays allocated.
    pub(crate) fn clear(&mut self) -> Result<()> {
        self.codes.clear();
        self.keys = Keys::default();
        self.worth = Worth::default();
        self.categories = None;
        match &mut self.table {
            Table::Words32(memory) => memory.clear(),
            Table::Words64(memory) => memory.clear(),
            Table::Strings(memory) | Table::Fixed(memory, _) => memory.clear(),
        }
    }
}
