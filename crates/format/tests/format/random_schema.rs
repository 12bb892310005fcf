//! Schemas with every physical and logical type.

use std::sync::Arc;

use fastrand::Rng;
use parquet::basic::{
    ConvertedType, EdgeInterpolationAlgorithm, LogicalType, Repetition, TimeUnit, Type as PhysicalType,
};
use parquet::schema::types::{PrimitiveTypeBuilder, SchemaDescPtr, SchemaDescriptor, Type, TypePtr};

pub(crate) fn schema(random: &mut Rng) -> SchemaDescPtr {
    let fields = (0..random.usize(1..6)).map(|at| field(random, &format!("f{at}"), 3)).collect();
    let root = Type::group_type_builder("root").with_fields(fields).build().expect("a schema");
    Arc::new(SchemaDescriptor::new(Arc::new(root)))
}

fn repetition(random: &mut Rng) -> Repetition {
    [Repetition::REQUIRED, Repetition::OPTIONAL, Repetition::REPEATED][random.usize(..3)]
}

fn field(random: &mut Rng, name: &str, depth: usize) -> TypePtr {
    let id = random.bool().then(|| random.i32(..));
    if depth > 0 && random.u8(..3) == 0 {
        let fields = (0..random.usize(1..4)).map(|at| field(random, &format!("{name}ü{at}"), depth - 1)).collect();
        let logical_type = [
            None,
            Some(LogicalType::Map),
            Some(LogicalType::List),
            Some(LogicalType::variant(None)),
            Some(LogicalType::variant(Some(1))),
        ];
        let group = Type::group_type_builder(name)
            .with_repetition(repetition(random))
            .with_id(id)
            .with_fields(fields)
            .with_logical_type(logical_type[random.usize(..logical_type.len())].clone())
            .build();
        return Arc::new(group.expect("a group"));
    }
    let leaf = leaf(random, name).with_repetition(repetition(random)).with_id(id).build();
    Arc::new(leaf.expect("a leaf"))
}

fn leaf<'a>(random: &mut Rng, name: &'a str) -> PrimitiveTypeBuilder<'a> {
    let is_utc = random.bool();
    let crs = random.bool().then(|| "OGC:CRS84".to_owned());
    let algorithm = [
        None,
        Some(EdgeInterpolationAlgorithm::SPHERICAL),
        Some(EdgeInterpolationAlgorithm::KARNEY),
        Some(EdgeInterpolationAlgorithm::_Unknown(9)),
    ][random.usize(..4)];
    let types = [
        (PhysicalType::BOOLEAN, None),
        (PhysicalType::INT32, None),
        (PhysicalType::INT32, Some(LogicalType::Date)),
        (PhysicalType::INT32, Some(LogicalType::integer(8, random.bool()))),
        (PhysicalType::INT32, Some(LogicalType::integer(32, random.bool()))),
        (PhysicalType::INT32, Some(LogicalType::time(is_utc, TimeUnit::MILLIS))),
        (PhysicalType::INT32, Some(LogicalType::decimal(random.i32(0..3), 7))),
        (PhysicalType::INT64, None),
        (PhysicalType::INT64, Some(LogicalType::integer(64, random.bool()))),
        (PhysicalType::INT64, Some(LogicalType::time(is_utc, TimeUnit::MICROS))),
        (PhysicalType::INT64, Some(LogicalType::time(is_utc, TimeUnit::NANOS))),
        (PhysicalType::INT64, Some(LogicalType::timestamp(is_utc, TimeUnit::MILLIS))),
        (PhysicalType::INT64, Some(LogicalType::timestamp(is_utc, TimeUnit::MICROS))),
        (PhysicalType::INT64, Some(LogicalType::timestamp(is_utc, TimeUnit::NANOS))),
        (PhysicalType::INT64, Some(LogicalType::decimal(random.i32(0..3), 18))),
        (PhysicalType::INT96, None),
        (PhysicalType::FLOAT, None),
        (PhysicalType::DOUBLE, None),
        (PhysicalType::BYTE_ARRAY, None),
        (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        (PhysicalType::BYTE_ARRAY, Some(LogicalType::Enum)),
        (PhysicalType::BYTE_ARRAY, Some(LogicalType::Json)),
        (PhysicalType::BYTE_ARRAY, Some(LogicalType::Bson)),
        (PhysicalType::BYTE_ARRAY, Some(LogicalType::decimal(3, 40))),
        (PhysicalType::BYTE_ARRAY, Some(LogicalType::geometry(crs.clone()))),
        (PhysicalType::BYTE_ARRAY, Some(LogicalType::geography(crs, algorithm))),
        (PhysicalType::FIXED_LEN_BYTE_ARRAY, None),
        (PhysicalType::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid)),
        (PhysicalType::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Float16)),
        (PhysicalType::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::decimal(2, 10))),
        (PhysicalType::INT32, Some(LogicalType::Unknown)),
        (PhysicalType::BYTE_ARRAY, Some(LogicalType::_Unknown { field_id: 19 })),
        (PhysicalType::INT64, Some(LogicalType::_Unknown { field_id: 2555 })),
    ];
    let (physical_type, logical_type) = types[random.usize(..types.len())].clone();
    let mut builder = Type::primitive_type_builder(name, physical_type);
    if physical_type == PhysicalType::FIXED_LEN_BYTE_ARRAY {
        builder = builder.with_length(match logical_type {
            Some(LogicalType::Float16) => 2,
            Some(_) => 16,
            None => 12,
        });
        if logical_type.is_none() && random.bool() {
            builder = builder.with_converted_type(ConvertedType::INTERVAL);
        }
    }
    if let Some(LogicalType::Decimal(decimal)) = &logical_type {
        builder = builder.with_scale(decimal.scale).with_precision(decimal.precision);
    }
    builder.with_logical_type(logical_type)
}
