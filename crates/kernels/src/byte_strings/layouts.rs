//! Strings in every layout, for tests.

use lath_testkit::{GuardedBytes, GuardedSlice};

use crate::ByteStrings;

/// All layouts of the same strings, in memory that ends, or starts, with them.
pub(crate) struct Layouts {
    data: [GuardedBytes; 2],
    offsets_32: GuardedSlice<i32>,
    offsets_64: GuardedSlice<i64>,
    views: GuardedSlice<u128>,
    width: Option<usize>,
}

impl Layouts {
    pub(crate) fn new(strings: &[Vec<u8>]) -> Self {
        let data = strings.concat();
        let mut ends = vec![0];
        ends.extend(strings.iter().scan(0, |end, string| {
            *end += string.len();
            Some(*end)
        }));
        let views = strings.iter().zip(&ends).map(|(string, &start)| {
            let mut view = [0; 16];
            view[..4].copy_from_slice(&(string.len() as u32).to_le_bytes());
            if string.len() <= 12 {
                view[4..4 + string.len()].copy_from_slice(string);
            } else {
                view[4..8].copy_from_slice(&string[..4]);
                view[8..12].copy_from_slice(&1_u32.to_le_bytes());
                view[12..].copy_from_slice(&(start as u32).to_le_bytes());
            }
            u128::from_le_bytes(view)
        });
        let width = strings.first().map(Vec::len).filter(|&width| width > 0);
        Self {
            data: [GuardedBytes::ending_at_guard(&data), GuardedBytes::starting_at_guard(&data)],
            offsets_32: GuardedSlice::ending_at_guard(&ends.iter().map(|&end| end as i32).collect::<Vec<_>>()),
            offsets_64: GuardedSlice::ending_at_guard(&ends.iter().map(|&end| end as i64).collect::<Vec<_>>()),
            views: GuardedSlice::ending_at_guard(&views.collect::<Vec<_>>()),
            width: width.filter(|&width| strings.iter().all(|string| string.len() == width)),
        }
    }

    /// Calls `test` with every layout.
    pub(crate) fn for_each(&self, mut test: impl FnMut(ByteStrings<'_>)) {
        for data in &self.data {
            test(ByteStrings::Offsets32 { data, offsets: &self.offsets_32 });
            test(ByteStrings::Offsets64 { data, offsets: &self.offsets_64 });
            test(ByteStrings::Views { views: &self.views, buffers: &[b"another buffer", data] });
            if let Some(width) = self.width {
                test(ByteStrings::Fixed { data, width });
            }
        }
    }
}
