use parquet::basic::{ConvertedType, Repetition, Type as PhysicalType};
use parquet::schema::types::Type;

use super::logical_type::write_logical_type;
use crate::thrift::ThriftWriter;

/// The list of schema elements: the tree below `root`, each group before its fields.
pub(super) fn write_schema(root: &Type, id: i16, writer: &mut ThriftWriter<'_>) {
    let mut elements = Vec::new();
    let mut rest = vec![root];
    while let Some(element) = rest.pop() {
        elements.push(element);
        if element.is_group() {
            rest.extend(element.get_fields().iter().rev().map(AsRef::as_ref));
        }
    }
    writer.structures(id, elements.into_iter(), |writer, element| write_element(element, writer));
}

/// The fields of a `SchemaElement`. Absent lengths, scales and precisions are negative.
fn write_element(element: &Type, writer: &mut ThriftWriter<'_>) {
    let info = element.get_basic_info();
    let [length, scale, precision] = match element {
        Type::PrimitiveType { physical_type, type_length, scale, precision, .. } => {
            writer.i32(1, physical_type_id(*physical_type));
            [*type_length, *scale, *precision]
        }
        Type::GroupType { .. } => [-1; 3],
    };
    let unless_negative = |writer: &mut ThriftWriter<'_>, id, number: i32| {
        if number >= 0 {
            writer.i32(id, number);
        }
    };
    unless_negative(writer, 2, length);
    if info.has_repetition() {
        writer.i32(3, repetition_id(info.repetition()));
    }
    writer.binary(4, info.name());
    if let Type::GroupType { fields, .. } = element {
        // A schema of 2³¹ elements does not fit a footer.
        writer.i32(5, i32::try_from(fields.len()).unwrap_or(i32::MAX));
    }
    if let Some(id) = converted_type_id(info.converted_type()) {
        writer.i32(6, id);
    }
    unless_negative(writer, 7, scale);
    unless_negative(writer, 8, precision);
    if info.has_id() {
        writer.i32(9, info.id());
    }
    if let Some(logical_type) = info.logical_type_ref() {
        writer.structure(10, |writer| write_logical_type(logical_type, writer));
    }
}

/// The number of a physical type.
pub(super) fn physical_type_id(physical_type: PhysicalType) -> i32 {
    match physical_type {
        PhysicalType::BOOLEAN => 0,
        PhysicalType::INT32 => 1,
        PhysicalType::INT64 => 2,
        PhysicalType::INT96 => 3,
        PhysicalType::FLOAT => 4,
        PhysicalType::DOUBLE => 5,
        PhysicalType::BYTE_ARRAY => 6,
        PhysicalType::FIXED_LEN_BYTE_ARRAY => 7,
    }
}

fn repetition_id(repetition: Repetition) -> i32 {
    match repetition {
        Repetition::REQUIRED => 0,
        Repetition::OPTIONAL => 1,
        Repetition::REPEATED => 2,
    }
}

fn converted_type_id(converted_type: ConvertedType) -> Option<i32> {
    Some(match converted_type {
        ConvertedType::NONE => return None,
        ConvertedType::UTF8 => 0,
        ConvertedType::MAP => 1,
        ConvertedType::MAP_KEY_VALUE => 2,
        ConvertedType::LIST => 3,
        ConvertedType::ENUM => 4,
        ConvertedType::DECIMAL => 5,
        ConvertedType::DATE => 6,
        ConvertedType::TIME_MILLIS => 7,
        ConvertedType::TIME_MICROS => 8,
        ConvertedType::TIMESTAMP_MILLIS => 9,
        ConvertedType::TIMESTAMP_MICROS => 10,
        ConvertedType::UINT_8 => 11,
        ConvertedType::UINT_16 => 12,
        ConvertedType::UINT_32 => 13,
        ConvertedType::UINT_64 => 14,
        ConvertedType::INT_8 => 15,
        ConvertedType::INT_16 => 16,
        ConvertedType::INT_32 => 17,
        ConvertedType::INT_64 => 18,
        ConvertedType::JSON => 19,
        ConvertedType::BSON => 20,
        ConvertedType::INTERVAL => 21,
    })
}
