use std::fmt::Write;
use std::sync::Arc;

use arrow_schema::DataType;
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};

use super::{build, build_offsets, offsets, parse, render};
use crate::error::Error;
use crate::options::Limits;
use crate::schema::SchemaOptions;

const REQUIRED: Repetition = Repetition::REQUIRED;
const OPTIONAL: Repetition = Repetition::OPTIONAL;
const REPEATED: Repetition = Repetition::REPEATED;

fn group(name: &str, repetition: Repetition, annotation: ConvertedType, fields: Vec<TypePtr>) -> TypePtr {
    Arc::new(
        Type::group_type_builder(name)
            .with_repetition(repetition)
            .with_converted_type(annotation)
            .with_fields(fields)
            .build()
            .unwrap(),
    )
}

fn int32(name: &str, repetition: Repetition) -> TypePtr {
    Arc::new(Type::primitive_type_builder(name, PhysicalType::INT32).with_repetition(repetition).build().unwrap())
}

fn rendered(root: Type) -> String {
    render(&build(&SchemaDescriptor::new(Arc::new(root)), None, &offsets(), None).unwrap().1)
}

fn rendered_field(field: TypePtr) -> String {
    rendered(Type::group_type_builder("m").with_fields(vec![field]).build().unwrap())
}

#[test]
fn lists_of_the_wrong_structure_are_structs() {
    let two_children = vec![int32("a", REPEATED), int32("b", REQUIRED)];
    assert_eq!(
        rendered_field(group("l", OPTIONAL, ConvertedType::LIST, two_children)),
        "l:1/0/0{a:1/0/0[2 a:2/1/2#0] b:1/0/0#1}"
    );
    let not_repeated = vec![int32("a", OPTIONAL)];
    assert_eq!(rendered_field(group("l", OPTIONAL, ConvertedType::LIST, not_repeated)), "l:1/0/0{a:2/0/0#0}");
    let repeated_list = group("l", REPEATED, ConvertedType::LIST, vec![int32("a", REPEATED)]);
    assert_eq!(rendered_field(repeated_list), "l:0/0/0[1 l:1/1/1{a:1/1/1[2 a:2/2/2#0]}]");
}

#[test]
fn maps_of_the_wrong_structure_are_structs() {
    let of_primitive = group("m", OPTIONAL, ConvertedType::MAP, vec![int32("key", REPEATED)]);
    assert_eq!(rendered_field(of_primitive), "m:1/0/0{key:1/0/0[2 key:2/1/2#0]}");
    let entries = |fields| vec![group("key_value", REPEATED, ConvertedType::NONE, fields)];
    let three = entries(vec![int32("a", REQUIRED), int32("b", REQUIRED), int32("c", REQUIRED)]);
    assert_eq!(
        rendered_field(group("m", OPTIONAL, ConvertedType::MAP, three)),
        "m:1/0/0{key_value:1/0/0[2 key_value:2/1/2{a:2/1/2#0 b:2/1/2#1 c:2/1/2#2}]}"
    );
    let repeated_value = entries(vec![int32("a", REQUIRED), int32("b", REPEATED)]);
    assert_eq!(
        rendered_field(group("m", REQUIRED, ConvertedType::MAP, repeated_value)),
        "m:0/0/0{key_value:0/0/0[1 key_value:1/1/1{a:1/1/1#0 b:1/1/1[2 b:2/2/2#1]}]}"
    );
}

#[test]
fn annotations_of_the_root_are_ignored() {
    for annotation in [ConvertedType::LIST, ConvertedType::MAP] {
        let root = Type::group_type_builder("m")
            .with_converted_type(annotation)
            .with_fields(vec![int32("a", Repetition::REPEATED)])
            .build()
            .unwrap();
        assert_eq!(rendered(root), "a:0/0/0[1 a:1/1/1#0]");
    }
}

#[test]
fn unknown_logical_types_are_read_as_their_physical_type() {
    let physical = [
        (PhysicalType::BOOLEAN, DataType::Boolean),
        (PhysicalType::INT32, DataType::Int32),
        (PhysicalType::INT64, DataType::Int64),
        (PhysicalType::DOUBLE, DataType::Float64),
        (PhysicalType::BYTE_ARRAY, DataType::Binary),
        (PhysicalType::FIXED_LEN_BYTE_ARRAY, DataType::FixedSizeBinary(3)),
    ];
    for (physical, expected) in physical {
        let leaf = Type::primitive_type_builder("a", physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_length(3)
            .with_id(Some(7))
            .with_logical_type(Some(LogicalType::_Unknown { field_id: 99 }))
            .build()
            .unwrap();
        let root = Type::group_type_builder("m").with_fields(vec![Arc::new(leaf)]).build().unwrap();
        let descr = SchemaDescriptor::new(Arc::new(root));
        let (schema, _) = build(&descr, None, &offsets(), None).unwrap();
        assert_eq!(*schema.field(0).data_type(), expected);
        assert_eq!(schema.field(0).metadata()["PARQUET:field_id"], "7");
    }
}

#[test]
fn annotations_that_a_repeated_field_cannot_carry_do_not_spoil_the_file() {
    let (schema, nodes) = build_offsets("message m { repeated binary a (JSON); required binary b (STRING); }");
    assert_eq!(render(&nodes), "a:0/0/0[1 a:1/1/1#0] b:0/0/0#1");
    let DataType::List(element) = schema.field(0).data_type() else { panic!("{schema:?}") };
    assert_eq!(*element.data_type(), DataType::Utf8);
    assert_eq!(*schema.field(1).data_type(), DataType::Utf8);
    let variant = "message m { repeated group v (VARIANT) { required binary metadata; required binary value; } }";
    let (_, nodes) = build_offsets(variant);
    assert_eq!(render(&nodes), "v:0/0/0[1 v:1/1/1{metadata:1/1/1#0 value:1/1/1#1}]");
}

fn nested(depth: usize, repetition: &str) -> String {
    let mut message = String::from("message m { ");
    for level in 1..depth {
        write!(message, "{repetition} group g{level} {{ ").unwrap();
    }
    message + "required int32 a; " + &"} ".repeat(depth)
}

#[test]
fn schemas_deeper_than_the_limit_are_refused() {
    build_offsets(&nested(100, "required"));
    let error = build(&parse(&nested(101, "required")), None, &offsets(), None).unwrap_err();
    assert!(matches!(error, Error::Limit { limit: 100, needed: 101, .. }), "{error}");
}

#[test]
fn levels_over_255_are_not_supported() {
    let limits = Limits { schema_depth: 1000, ..Limits::default() };
    let options = SchemaOptions { limits, ..offsets() };
    build(&parse(&nested(256, "optional")), None, &options, None).unwrap();
    let error = build(&parse(&nested(257, "optional")), None, &options, None).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }), "{error}");
}
