use crate::chunk::ColumnChunk;
use crate::statistics::{BoundingBox, GeospatialStatistics, SizeStatistics};
use crate::thrift::ThriftWriter;

/// Statistics of the values of a column chunk, to be written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChunkStatistics {
    /// A lower bound.
    pub min: Option<Bound>,
    /// An upper bound.
    pub max: Option<Bound>,
    /// Number of nulls.
    pub null_count: Option<u64>,
    /// Number of distinct values.
    pub distinct_count: Option<u64>,
    /// Number of NaNs.
    pub nan_count: Option<u64>,
    /// Whether the bounds go to the deprecated fields, which are ordered as signed values for all types.
    pub is_deprecated: bool,
}

/// A bound of values in the PLAIN encoding of the column's type, without the length prefix of byte arrays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    /// The bound.
    pub value: Vec<u8>,
    /// Whether it is a value of the chunk.
    pub is_exact: bool,
}

impl ChunkStatistics {
    /// Copies the statistics of a chunk in another file.
    pub(super) fn of(chunk: &ColumnChunk<'_>) -> Option<Self> {
        let statistics = chunk.statistics()?;
        let bound = |value: Option<&[u8]>, is_exact| value.map(|value| Bound { value: value.to_vec(), is_exact });
        Some(Self {
            min: bound(statistics.min, statistics.min_is_exact),
            max: bound(statistics.max, statistics.max_is_exact),
            null_count: statistics.null_count,
            distinct_count: chunk.distinct_count(),
            nan_count: chunk.nan_count(),
            is_deprecated: statistics.is_deprecated,
        })
    }

    /// The fields of a `Statistics`. Fields about bounds are written only if there are bounds.
    pub(super) fn write(&self, writer: &mut ThriftWriter<'_>) {
        let fields = if self.is_deprecated { [1, 2] } else { [5, 6] };
        let bounds = |writer: &mut ThriftWriter<'_>| {
            for (id, bound) in fields.into_iter().zip([&self.max, &self.min]) {
                if let Some(bound) = bound {
                    writer.binary(id, &bound.value);
                }
            }
        };
        if self.is_deprecated {
            bounds(writer);
        }
        for (id, count) in [(3, self.null_count), (4, self.distinct_count)] {
            write_count(writer, id, count);
        }
        if !self.is_deprecated {
            bounds(writer);
        }
        for (id, bound) in [(7, &self.max), (8, &self.min)] {
            if let Some(bound) = bound {
                writer.bool(id, bound.is_exact);
            }
        }
        write_count(writer, 9, self.nan_count);
    }
}

/// A count that the format's integer cannot hold is not written.
fn write_count(writer: &mut ThriftWriter<'_>, id: i16, count: Option<u64>) {
    if let Some(count) = count.and_then(|count| i64::try_from(count).ok()) {
        writer.i64(id, count);
    }
}

impl SizeStatistics {
    pub(super) fn write(&self, writer: &mut ThriftWriter<'_>) {
        if let Some(bytes) = self.unencoded_byte_array_data_bytes {
            writer.i64(1, bytes);
        }
        for (id, histogram) in [(2, &self.repetition_level_histogram), (3, &self.definition_level_histogram)] {
            if let Some(histogram) = histogram {
                writer.i64s(id, histogram.iter().copied());
            }
        }
    }
}

impl GeospatialStatistics {
    pub(super) fn write(&self, writer: &mut ThriftWriter<'_>) {
        if let Some(bounds) = &self.bounding_box {
            writer.structure(1, |writer| bounds.write(writer));
        }
        if let Some(types) = &self.types {
            writer.i32s(2, types.iter().copied());
        }
    }
}

impl BoundingBox {
    fn write(&self, writer: &mut ThriftWriter<'_>) {
        for (id, value) in [(1, self.xmin), (2, self.xmax), (3, self.ymin), (4, self.ymax)] {
            writer.double(id, value);
        }
        for (id, value) in [(5, self.zmin), (6, self.zmax), (7, self.mmin), (8, self.mmax)] {
            if let Some(value) = value {
                writer.double(id, value);
            }
        }
    }
}
