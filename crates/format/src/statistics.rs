//! Statistics of the values of a column chunk.

use crate::thrift::{ThriftError, ThriftReader, WireType};

/// Bounds of a chunk's values, and the number of nulls.
///
/// Bounds are in the PLAIN encoding of the column's type, without the length prefix of byte arrays. They are not checked: they can have any
/// length, and contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statistics<'a> {
    /// A lower bound.
    pub min: Option<&'a [u8]>,
    /// An upper bound.
    pub max: Option<&'a [u8]>,
    /// Number of nulls.
    pub null_count: Option<u64>,
    /// Whether `min` is a value of the chunk: the writer says so, or does not say it and the type is one whose bounds are never shortened.
    pub min_is_exact: bool,
    /// Whether `max` is a value of the chunk, as for `min`.
    pub max_is_exact: bool,
    /// Whether the bounds come from the deprecated fields, which are ordered as signed values for all types.
    pub is_deprecated: bool,
}

/// Level histograms and the bytes of byte arrays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SizeStatistics {
    /// Bytes of all byte arrays, without the length prefixes of PLAIN.
    pub unencoded_byte_array_data_bytes: Option<i64>,
    /// The number of values by repetition level, from 0.
    pub repetition_level_histogram: Option<Vec<i64>>,
    /// The number of values by definition level, from 0.
    pub definition_level_histogram: Option<Vec<i64>>,
}

impl SizeStatistics {
    pub(crate) fn read(reader: &mut ThriftReader<'_>) -> Result<Self, ThriftError> {
        let mut statistics = Self::default();
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::I64) => statistics.unencoded_byte_array_data_bytes = Some(reader.i64()?),
                (2, WireType::List) => statistics.repetition_level_histogram = Some(integers(reader)?),
                (3, WireType::List) => statistics.definition_level_histogram = Some(integers(reader)?),
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;
        Ok(statistics)
    }
}

/// A list of integers, without elements of other types.
pub(crate) fn integers(reader: &mut ThriftReader<'_>) -> Result<Vec<i64>, ThriftError> {
    let (element, count) = reader.list()?;
    let mut integers = Vec::new();
    for _ in 0..count {
        match element {
            WireType::I16 | WireType::I32 | WireType::I64 => integers.push(reader.i64()?),
            other => reader.skip_element(other)?,
        }
    }
    Ok(integers)
}

/// Statistics of the geometries of a chunk.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GeospatialStatistics {
    /// Their bounding box.
    pub bounding_box: Option<BoundingBox>,
    /// The [codes](https://parquet.apache.org/docs/file-format/types/geospatial/) of their types.
    pub types: Option<Vec<i32>>,
}

/// Minimum and maximum of each dimension. X can wrap around; then its minimum is larger than its maximum.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[expect(missing_docs, reason = "the names of the specification")]
pub struct BoundingBox {
    pub xmin: f64,
    pub xmax: f64,
    pub ymin: f64,
    pub ymax: f64,
    pub zmin: Option<f64>,
    pub zmax: Option<f64>,
    pub mmin: Option<f64>,
    pub mmax: Option<f64>,
}

impl GeospatialStatistics {
    pub(crate) fn read(reader: &mut ThriftReader<'_>) -> Result<Self, ThriftError> {
        let mut statistics = Self::default();
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::Struct) => statistics.bounding_box = Some(BoundingBox::read(reader)?),
                (2, WireType::List) => {
                    // An empty list means that the types are unknown.
                    let types = Some(integers(reader)?).filter(|types| !types.is_empty());
                    statistics.types =
                        types.map(|types| types.into_iter().filter_map(|code| code.try_into().ok()).collect());
                }
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;
        Ok(statistics)
    }
}

impl BoundingBox {
    fn read(reader: &mut ThriftReader<'_>) -> Result<Self, ThriftError> {
        let mut bounds = Self::default();
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::Double) => bounds.xmin = reader.double()?,
                (2, WireType::Double) => bounds.xmax = reader.double()?,
                (3, WireType::Double) => bounds.ymin = reader.double()?,
                (4, WireType::Double) => bounds.ymax = reader.double()?,
                (5, WireType::Double) => bounds.zmin = Some(reader.double()?),
                (6, WireType::Double) => bounds.zmax = Some(reader.double()?),
                (7, WireType::Double) => bounds.mmin = Some(reader.double()?),
                (8, WireType::Double) => bounds.mmax = Some(reader.double()?),
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;
        Ok(bounds)
    }
}
