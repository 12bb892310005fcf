use parquet::basic::{EdgeInterpolationAlgorithm, LogicalType, TimeUnit};

use crate::thrift::ThriftWriter;

/// The union `LogicalType`. An unknown type has only its number, and is written without parameters.
pub(super) fn write_logical_type(logical_type: &LogicalType, writer: &mut ThriftWriter<'_>) {
    let id = match logical_type {
        LogicalType::String => 1,
        LogicalType::Map => 2,
        LogicalType::List => 3,
        LogicalType::Enum => 4,
        LogicalType::Decimal(_) => 5,
        LogicalType::Date => 6,
        LogicalType::Time(_) => 7,
        LogicalType::Timestamp(_) => 8,
        LogicalType::Integer(_) => 10,
        LogicalType::Unknown => 11,
        LogicalType::Json => 12,
        LogicalType::Bson => 13,
        LogicalType::Uuid => 14,
        LogicalType::Float16 => 15,
        LogicalType::Variant(_) => 16,
        LogicalType::Geometry(_) => 17,
        LogicalType::Geography(_) => 18,
        LogicalType::_Unknown { field_id } => *field_id,
    };
    writer.structure(id, |writer| write_parameters(logical_type, writer));
}

fn write_parameters(logical_type: &LogicalType, writer: &mut ThriftWriter<'_>) {
    match logical_type {
        LogicalType::Decimal(decimal) => {
            writer.i32(1, decimal.scale);
            writer.i32(2, decimal.precision);
        }
        LogicalType::Time(time) => write_time(time.is_adjusted_to_u_t_c, time.unit, writer),
        LogicalType::Timestamp(time) => write_time(time.is_adjusted_to_u_t_c, time.unit, writer),
        LogicalType::Integer(integer) => {
            writer.i8(1, integer.bit_width);
            writer.bool(2, integer.is_signed);
        }
        LogicalType::Variant(variant) => {
            if let Some(version) = variant.specification_version {
                writer.i8(1, version);
            }
        }
        LogicalType::Geometry(geometry) => write_crs(geometry.crs.as_deref(), writer),
        LogicalType::Geography(geography) => {
            write_crs(geography.crs.as_deref(), writer);
            if let Some(algorithm) = geography.algorithm {
                writer.i32(2, edge_interpolation_id(algorithm));
            }
        }
        _ => {}
    }
}

fn write_time(is_adjusted_to_utc: bool, unit: TimeUnit, writer: &mut ThriftWriter<'_>) {
    writer.bool(1, is_adjusted_to_utc);
    let unit = match unit {
        TimeUnit::MILLIS => 1,
        TimeUnit::MICROS => 2,
        TimeUnit::NANOS => 3,
    };
    writer.structure(2, |writer| writer.structure(unit, |_| {}));
}

fn write_crs(crs: Option<&str>, writer: &mut ThriftWriter<'_>) {
    if let Some(crs) = crs {
        writer.binary(1, crs);
    }
}

fn edge_interpolation_id(algorithm: EdgeInterpolationAlgorithm) -> i32 {
    match algorithm {
        EdgeInterpolationAlgorithm::SPHERICAL => 0,
        EdgeInterpolationAlgorithm::VINCENTY => 1,
        EdgeInterpolationAlgorithm::THOMAS => 2,
        EdgeInterpolationAlgorithm::ANDOYER => 3,
        EdgeInterpolationAlgorithm::KARNEY => 4,
        EdgeInterpolationAlgorithm::_Unknown(id) => id,
    }
}
