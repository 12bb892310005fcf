//! Parses the schema of a file from the list of elements in its footer.

use std::borrow::Cow;
use std::sync::Arc;

use parquet::basic::{
    ConvertedType, DecimalType, EdgeInterpolationAlgorithm, GeographyType, GeometryType, IntType, LogicalType,
    Repetition, TimeType, TimeUnit, Type as PhysicalType, VariantType,
};
use parquet::file::metadata::KeyValue;
use parquet::schema::types::{SchemaDescPtr, SchemaDescriptor, Type, TypePtr};

use super::call::{LibraryError, guard};
use crate::error::{Error, Result};
use crate::thrift::{ThriftError, ThriftReader, WireType};

/// The understood fields of a `SchemaElement`.
#[derive(Debug, Default)]
struct Element<'a> {
    physical_type: Option<i32>,
    type_length: Option<i32>,
    repetition: Option<i32>,
    name: Cow<'a, str>,
    children: usize,
    converted_type: Option<i32>,
    scale: Option<i32>,
    precision: Option<i32>,
    field_id: Option<i32>,
    logical_type: Option<LogicalType>,
}

/// Parses a schema from a list of elements, whose numbers of children have been checked.
///
/// Most of the time goes to the types of the `parquet` crate, which take five allocations for each leaf.
pub(crate) fn parse_schema(bytes: &[u8]) -> Result<SchemaDescPtr> {
    let mut reader = ThriftReader::new(bytes);
    let (_, count) = reader.list().map_err(malformed)?;
    let mut elements = Elements { reader, remaining: count };
    let Some(root) = elements.next()? else { return Err(Error::corrupt("the file has no schema")) };
    let fields = elements.nodes(root.children)?;
    let builder = Type::group_type_builder(&root.name)
        .with_converted_type(converted_type(root.converted_type))
        .with_logical_type(root.logical_type)
        .with_id(root.field_id)
        .with_fields(fields);
    let schema = guard(|| builder.build().map(|root| SchemaDescriptor::new(Arc::new(root))));
    schema.map(Arc::new).map_err(|error| Error::corrupt(format!("malformed schema: {error}")))
}

fn malformed(error: ThriftError) -> Error {
    Error::malformed("schema", error)
}

/// The elements that are not nodes of the tree yet.
struct Elements<'a> {
    reader: ThriftReader<'a>,
    remaining: usize,
}

impl<'a> Elements<'a> {
    fn next(&mut self) -> Result<Option<Element<'a>>> {
        let Some(remaining) = self.remaining.checked_sub(1) else { return Ok(None) };
        self.remaining = remaining;
        Element::read(&mut self.reader).map(Some).map_err(malformed)
    }

    /// The next `count` nodes with their descendants.
    fn nodes(&mut self, count: usize) -> Result<Vec<TypePtr>> {
        let mut nodes = Vec::with_capacity(count.min(self.remaining));
        for _ in 0..count {
            nodes.push(self.node()?);
        }
        Ok(nodes)
    }

    fn node(&mut self) -> Result<TypePtr> {
        let Some(element) = self.next()? else {
            return Err(Error::corrupt("the schema ends before its last element"));
        };
        let fields = self.nodes(element.children)?;
        // Thrift's default for an absent field, which the C++ library uses too.
        let repetition = match element.repetition.unwrap_or(0) {
            0 => Repetition::REQUIRED,
            1 => Repetition::OPTIONAL,
            2 => Repetition::REPEATED,
            other => return Err(element.refuse(&format!("has repetition type {other}"))),
        };
        let node = match element.physical_type.filter(|_| element.children == 0) {
            Some(physical_type) => element.leaf(repetition, physical_type),
            None => element.group(repetition, fields),
        };
        node.map(Arc::new)
    }
}

impl Element<'_> {
    fn refuse(&self, what: &str) -> Error {
        Error::corrupt(format!("malformed schema: column {} {what}", self.name))
    }

    fn is_annotated(&self) -> bool {
        self.converted_type.is_some() || self.logical_type.is_some()
    }

    /// Builds the type with its annotations, or without them if the `parquet` crate refuses them: annotations that contradict the type are ignored.
    fn build(&self, build: impl Fn(bool) -> Result<Type, LibraryError>) -> Result<Type> {
        if self.is_annotated()
            && let Ok(node) = guard(|| build(true))
        {
            return Ok(node);
        }
        guard(|| build(false)).map_err(|error| self.refuse(&format!("is malformed: {error}")))
    }

    fn group(&self, repetition: Repetition, fields: Vec<TypePtr>) -> Result<Type> {
        self.build(|is_annotated| {
            let mut builder = Type::group_type_builder(&self.name)
                .with_repetition(repetition)
                .with_id(self.field_id)
                .with_fields(fields.clone());
            if is_annotated {
                builder = builder
                    .with_converted_type(converted_type(self.converted_type))
                    .with_logical_type(self.logical_type.clone());
            }
            builder.build()
        })
    }

    fn leaf(&self, repetition: Repetition, physical_type: i32) -> Result<Type> {
        let Some(physical_type) = known_physical_type(physical_type) else {
            // The `parquet` crate has no such type. Chunks of the column cannot be read (see `Leaves::unknown_types`).
            let builder = Type::primitive_type_builder(&self.name, PhysicalType::BYTE_ARRAY);
            let leaf = builder.with_repetition(repetition).with_id(self.field_id).build();
            return leaf.map_err(|error| self.refuse(&format!("is malformed: {error}")));
        };
        let length = match physical_type {
            PhysicalType::FIXED_LEN_BYTE_ARRAY => self
                .type_length
                .filter(|length| *length >= 0)
                .ok_or_else(|| self.refuse("is of FIXED_LEN_BYTE_ARRAY without a length"))?,
            _ => self.type_length.unwrap_or(-1),
        };
        let is_decimal = converted_type(self.converted_type) == ConvertedType::DECIMAL
            || matches!(self.logical_type, Some(LogicalType::Decimal(_)));
        // The default scale is 0.
        let scale = self.scale.unwrap_or(if is_decimal { 0 } else { -1 });
        self.build(|is_annotated| {
            let mut builder = Type::primitive_type_builder(&self.name, physical_type)
                .with_repetition(repetition)
                .with_length(length)
                .with_precision(self.precision.unwrap_or(-1))
                .with_scale(scale)
                .with_id(self.field_id);
            if is_annotated {
                builder = builder
                    .with_converted_type(converted_type(self.converted_type))
                    .with_logical_type(self.logical_type.clone());
            }
            builder.build()
        })
    }
}

/// The physical type with the number `id`; `None` if it is unknown.
pub(super) fn known_physical_type(id: i32) -> Option<PhysicalType> {
    Some(match id {
        0 => PhysicalType::BOOLEAN,
        1 => PhysicalType::INT32,
        2 => PhysicalType::INT64,
        3 => PhysicalType::INT96,
        4 => PhysicalType::FLOAT,
        5 => PhysicalType::DOUBLE,
        6 => PhysicalType::BYTE_ARRAY,
        7 => PhysicalType::FIXED_LEN_BYTE_ARRAY,
        _ => return None,
    })
}

/// Unknown numbers are no annotation.
fn converted_type(id: Option<i32>) -> ConvertedType {
    match id {
        Some(0) => ConvertedType::UTF8,
        Some(1) => ConvertedType::MAP,
        Some(2) => ConvertedType::MAP_KEY_VALUE,
        Some(3) => ConvertedType::LIST,
        Some(4) => ConvertedType::ENUM,
        Some(5) => ConvertedType::DECIMAL,
        Some(6) => ConvertedType::DATE,
        Some(7) => ConvertedType::TIME_MILLIS,
        Some(8) => ConvertedType::TIME_MICROS,
        Some(9) => ConvertedType::TIMESTAMP_MILLIS,
        Some(10) => ConvertedType::TIMESTAMP_MICROS,
        Some(11) => ConvertedType::UINT_8,
        Some(12) => ConvertedType::UINT_16,
        Some(13) => ConvertedType::UINT_32,
        Some(14) => ConvertedType::UINT_64,
        Some(15) => ConvertedType::INT_8,
        Some(16) => ConvertedType::INT_16,
        Some(17) => ConvertedType::INT_32,
        Some(18) => ConvertedType::INT_64,
        Some(19) => ConvertedType::JSON,
        Some(20) => ConvertedType::BSON,
        Some(21) => ConvertedType::INTERVAL,
        _ => ConvertedType::NONE,
    }
}

impl<'a> Element<'a> {
    fn read(reader: &mut ThriftReader<'a>) -> Result<Self, ThriftError> {
        let mut element = Self::default();
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::I32) => element.physical_type = Some(reader.i32()?),
                (2, WireType::I32) => element.type_length = Some(reader.i32()?),
                (3, WireType::I32) => element.repetition = Some(reader.i32()?),
                (4, WireType::Binary) => element.name = text(reader)?,
                (5, WireType::I32) => element.children = reader.i32()?.try_into().unwrap_or(0),
                (6, WireType::I32) => element.converted_type = Some(reader.i32()?),
                (7, WireType::I32) => element.scale = Some(reader.i32()?),
                (8, WireType::I32) => element.precision = Some(reader.i32()?),
                (9, WireType::I32) => element.field_id = Some(reader.i32()?),
                (10, WireType::Struct) => element.logical_type = logical_type(reader)?,
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;
        Ok(element)
    }
}

fn text<'a>(reader: &mut ThriftReader<'a>) -> Result<Cow<'a, str>, ThriftError> {
    let bytes = reader.binary()?;
    // For the names of a schema this is twice as fast as the general check alone.
    Ok(std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed))
}

/// The union `LogicalType`; `None` if it is empty or incomplete.
fn logical_type(reader: &mut ThriftReader<'_>) -> Result<Option<LogicalType>, ThriftError> {
    let mut logical_type = None;
    reader.each_field(|reader, field| {
        if field.wire_type != WireType::Struct {
            return reader.skip(field);
        }
        let plain = match field.id {
            1 => LogicalType::String,
            2 => LogicalType::Map,
            3 => LogicalType::List,
            4 => LogicalType::Enum,
            6 => LogicalType::Date,
            11 => LogicalType::Unknown,
            12 => LogicalType::Json,
            13 => LogicalType::Bson,
            14 => LogicalType::Uuid,
            15 => LogicalType::Float16,
            5 | 7 | 8 | 10 | 16 | 17 | 18 => {
                logical_type = parameters(reader, field.id)?;
                return Ok(());
            }
            field_id => LogicalType::_Unknown { field_id },
        };
        logical_type = Some(plain);
        reader.skip(field)
    })?;
    Ok(logical_type)
}

/// A logical type with parameters, by its number in the union.
fn parameters(reader: &mut ThriftReader<'_>, id: i16) -> Result<Option<LogicalType>, ThriftError> {
    // The fields of the structure: integers, booleans, strings and units.
    let (mut integers, mut booleans, mut string, mut unit) = ([None; 3], [None; 3], None, None);
    reader.each_field(|reader, field| {
        let place = usize::try_from(field.id).ok().filter(|place| *place < 3);
        match (place, field.wire_type) {
            (Some(place), WireType::I32 | WireType::I16) => integers[place] = Some(reader.i32()?),
            (Some(place), WireType::I8) => integers[place] = Some(reader.i8()?.into()),
            (Some(place), WireType::True) => booleans[place] = Some(true),
            (Some(place), WireType::False) => booleans[place] = Some(false),
            (Some(1), WireType::Binary) => string = Some(text(reader)?.into_owned()),
            (Some(2), WireType::Struct) => {
                reader.each_field(|reader, field| {
                    unit = match field.id {
                        1 => Some(TimeUnit::MILLIS),
                        2 => Some(TimeUnit::MICROS),
                        3 => Some(TimeUnit::NANOS),
                        _ => None,
                    };
                    reader.skip(field)
                })?;
            }
            _ => reader.skip(field)?,
        }
        Ok(())
    })?;
    let time = || Some(TimeType { is_adjusted_to_u_t_c: booleans[1]?, unit: unit? });
    Ok(match id {
        5 => integers[2]
            .map(|precision| LogicalType::Decimal(DecimalType { scale: integers[1].unwrap_or(0), precision })),
        7 => time().map(LogicalType::Time),
        8 => time().map(LogicalType::Timestamp),
        10 => integers[1]
            .and_then(|bits| i8::try_from(bits).ok())
            .zip(booleans[2])
            .map(|(bit_width, is_signed)| LogicalType::Integer(IntType { bit_width, is_signed })),
        16 => Some(LogicalType::Variant(VariantType {
            specification_version: integers[1].and_then(|version| i8::try_from(version).ok()),
        })),
        17 => Some(LogicalType::Geometry(GeometryType { crs: string })),
        18 => {
            Some(LogicalType::Geography(GeographyType { crs: string, algorithm: integers[2].map(edge_interpolation) }))
        }
        _ => None,
    })
}

fn edge_interpolation(id: i32) -> EdgeInterpolationAlgorithm {
    match id {
        0 => EdgeInterpolationAlgorithm::SPHERICAL,
        1 => EdgeInterpolationAlgorithm::VINCENTY,
        2 => EdgeInterpolationAlgorithm::THOMAS,
        3 => EdgeInterpolationAlgorithm::ANDOYER,
        4 => EdgeInterpolationAlgorithm::KARNEY,
        id => EdgeInterpolationAlgorithm::_Unknown(id),
    }
}

/// The pairs in a list of `KeyValue`. Invalid UTF-8 becomes replacement characters; malformed pairs are left out.
pub(crate) fn key_values(bytes: &[u8]) -> Vec<KeyValue> {
    let mut pairs = Vec::new();
    if bytes.is_empty() {
        return pairs;
    }
    let _ = ThriftReader::new(bytes).each_structure(|reader, _| {
        let (mut key, mut value) = (None, None);
        reader.each_field(|reader, field| {
            match (field.id, field.wire_type) {
                (1, WireType::Binary) => key = Some(text(reader)?.into_owned()),
                (2, WireType::Binary) => value = Some(text(reader)?.into_owned()),
                _ => reader.skip(field)?,
            }
            Ok(())
        })?;
        pairs.extend(key.map(|key| KeyValue { key, value }));
        Ok(())
    });
    pairs
}
