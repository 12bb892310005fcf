use crate::page_index::{ColumnIndex, OffsetIndex};
use crate::thrift::ThriftWriter;

impl OffsetIndex {
    /// Appends an `OffsetIndex`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut writer = ThriftWriter::new(out);
        writer.structures(1, self.page_locations.iter(), |writer, page| {
            writer.i64(1, page.offset);
            writer.i32(2, page.compressed_page_size);
            writer.i64(3, page.first_row_index);
        });
        if let Some(bytes) = &self.unencoded_byte_array_data_bytes {
            writer.i64s(2, bytes.iter().copied());
        }
        writer.end();
    }

    /// The index of the same pages, moved by `distance`, which can be negative; `None` if an offset overflows.
    pub fn moved(mut self, distance: i64) -> Option<Self> {
        for page in &mut self.page_locations {
            page.offset = page.offset.checked_add(distance)?;
        }
        Some(self)
    }
}

impl ColumnIndex {
    /// Appends a `ColumnIndex`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut writer = ThriftWriter::new(out);
        writer.bools(1, self.null_pages.iter().copied());
        writer.byte_strings(2, self.min_values.iter().map(Vec::as_slice));
        writer.byte_strings(3, self.max_values.iter().map(Vec::as_slice));
        writer.i32(4, self.boundary_order.id());
        for (id, counts) in [
            (5, &self.null_counts),
            (6, &self.repetition_level_histograms),
            (7, &self.definition_level_histograms),
            (8, &self.nan_counts),
        ] {
            if let Some(counts) = counts {
                writer.i64s(id, counts.iter().copied());
            }
        }
        writer.end();
    }
}
