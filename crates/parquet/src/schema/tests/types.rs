use arrow_schema::DataType;
use arrow_schema::extension::Json;

use super::{build, build_offsets, leaves, offsets, parse};
use crate::error::Error;
use crate::schema::SchemaOptions;

fn leaf_types(message: &str, options: &SchemaOptions) -> Vec<DataType> {
    let (_, nodes) = build(&parse(message), None, options, None).unwrap();
    leaves(&nodes).iter().map(|node| node.field.data_type().clone()).collect()
}

#[test]
fn strings_are_views_at_every_depth() {
    let message = "message m { required binary a (STRING); optional binary b;
      optional group l (LIST) { repeated group list { optional binary element (JSON); } }
      optional group m (MAP) { repeated group key_value { required binary key (STRING); optional binary value; } }
      required binary d (DECIMAL(20, 2)); }";
    use DataType::{BinaryView, Decimal128, Utf8View};
    let expected = [Utf8View, BinaryView, Utf8View, Utf8View, BinaryView, Decimal128(20, 2)];
    assert_eq!(leaf_types(message, &SchemaOptions::default()), expected);

    // The nested types above the leaves are the same.
    let (schema, _) = build(&parse(message), None, &SchemaOptions::default(), None).unwrap();
    let DataType::List(element) = schema.field(2).data_type() else { panic!("{schema:?}") };
    assert_eq!(*element.data_type(), Utf8View);
    element.try_extension_type::<Json>().unwrap();
    let DataType::Map(entries, _) = schema.field(3).data_type() else { panic!("{schema:?}") };
    let DataType::Struct(fields) = entries.data_type() else { panic!("{schema:?}") };
    assert_eq!((fields[0].data_type(), fields[1].data_type()), (&Utf8View, &BinaryView));
}

#[test]
fn wide_decimals_are_decimal256_up_to_76_digits() {
    let (schema, _) = build_offsets(
        "message m { required binary a (DECIMAL(76, 38)); required fixed_len_byte_array(32) b (DECIMAL(76, 0)); }",
    );
    assert_eq!(*schema.field(0).data_type(), DataType::Decimal256(76, 38));
    assert_eq!(*schema.field(1).data_type(), DataType::Decimal256(76, 0));
}

#[test]
fn decimals_wider_than_arrow_has_are_read_as_bytes() {
    let (schema, _) =
        build_offsets("message m { required binary a (DECIMAL(77, 2)); required int32 b (DECIMAL(5, 2)); }");
    assert_eq!(*schema.field(0).data_type(), DataType::Binary);
    assert_eq!(*schema.field(1).data_type(), DataType::Decimal128(5, 2));
}

#[test]
fn dictionary_columns_are_dictionaries_of_offsets() {
    let message = "message m { required binary a (STRING); required int64 b (TIMESTAMP(MICROS, true));
      optional group l (LIST) { repeated group list { optional binary element (JSON); } } }";
    let dictionary = |value| DataType::Dictionary(Box::new(DataType::Int32), Box::new(value));
    let options = |paths: &[&str]| SchemaOptions {
        dictionary_columns: paths.iter().map(|&path| path.to_owned()).collect(),
        ..SchemaOptions::default()
    };
    assert_eq!(leaf_types(message, &options(&["a"]))[0], dictionary(DataType::Utf8));
    assert_eq!(
        leaf_types(message, &options(&["b", "l.list.element"]))[1..],
        [
            dictionary(DataType::Timestamp(arrow_schema::TimeUnit::Microsecond, Some("UTC".into()))),
            dictionary(DataType::Utf8)
        ]
    );
    // JSON as an extension type is not defined for dictionaries.
    let (_, nodes) = build(&parse(message), None, &options(&["l"]), None).unwrap();
    assert_eq!(leaves(&nodes)[2].field.extension_type_name(), None);
}

#[test]
fn columns_that_cannot_be_dictionaries_are_refused() {
    let options = SchemaOptions { dictionary_columns: vec!["a".to_owned()], ..offsets() };
    let error = build(&parse("message m { required boolean a; }"), None, &options, None).unwrap_err();
    assert!(matches!(error, Error::Invalid { .. }), "{error}");
    assert!(error.to_string().contains("'a'"), "{error}");
    let unknown = build(&parse("message m { required int32 b; }"), None, &options, None).unwrap_err();
    assert!(matches!(unknown, Error::Invalid { .. }), "{unknown}");
}
