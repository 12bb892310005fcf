use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Fields, IntervalUnit, Schema, TimeUnit};
use bytes::Bytes;
use parquet::arrow::{ArrowWriter, encode_arrow_schema, parquet_to_arrow_schema};
use parquet::file::metadata::{KeyValue, ParquetMetaData, ParquetMetaDataReader};

use super::{build, leaves, offsets, parse};
use crate::options::Strings;
use crate::schema::SchemaOptions;

/// Metadata of an empty file that the crate writes for an Arrow schema.
fn written(schema: Schema) -> ParquetMetaData {
    let schema = Arc::new(schema);
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, Arc::clone(&schema), None).unwrap();
    writer.write(&RecordBatch::new_empty(schema)).unwrap();
    writer.close().unwrap();
    ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(bytes)).unwrap()
}

fn read(metadata: &ParquetMetaData, options: &SchemaOptions) -> Arc<Schema> {
    let file = metadata.file_metadata();
    build(file.schema_descr(), file.key_value_metadata().map(Vec::as_slice), options, None).unwrap().0
}

fn dictionary(keys: DataType, values: DataType) -> DataType {
    DataType::Dictionary(Box::new(keys), Box::new(values))
}

#[test]
fn types_that_parquet_cannot_express_come_back_by_the_hint() {
    let item = |data_type| Arc::new(Field::new("item", data_type, true));
    let types = [
        DataType::Date64,
        DataType::Time32(TimeUnit::Second),
        DataType::Timestamp(TimeUnit::Second, Some("Europe/Berlin".into())),
        DataType::Timestamp(TimeUnit::Nanosecond, Some("+02:00".into())),
        DataType::Duration(TimeUnit::Microsecond),
        DataType::Interval(IntervalUnit::YearMonth),
        DataType::Decimal32(7, 2),
        DataType::Decimal64(17, 2),
        DataType::Decimal256(9, 2),
        DataType::LargeUtf8,
        DataType::LargeBinary,
        dictionary(DataType::Int8, DataType::Utf8),
        dictionary(DataType::UInt32, DataType::LargeBinary),
        dictionary(DataType::Int32, DataType::Int64),
        DataType::LargeList(item(DataType::LargeUtf8)),
        DataType::FixedSizeList(item(DataType::Float32), 3),
        DataType::ListView(item(dictionary(DataType::Int32, DataType::Utf8))),
        DataType::LargeListView(item(DataType::Int32)),
    ];
    let fields: Vec<Field> =
        types.iter().enumerate().map(|(i, data_type)| Field::new(format!("c{i}"), data_type.clone(), true)).collect();
    let metadata = written(Schema::new(fields.clone()));
    assert_eq!(read(&metadata, &offsets()).fields(), &Fields::from(fields));
    let file = metadata.file_metadata();
    let expected = parquet_to_arrow_schema(file.schema_descr(), file.key_value_metadata()).unwrap();
    assert_eq!(*read(&metadata, &offsets()), expected);
}

#[test]
fn views_replace_what_the_hint_says_of_strings_but_not_in_dictionaries() {
    let metadata = written(Schema::new(vec![
        Field::new("a", DataType::LargeUtf8, true),
        Field::new("b", DataType::BinaryView, true),
        Field::new("c", dictionary(DataType::Int16, DataType::Utf8), true),
    ]));
    let types = |strings| {
        let schema = read(&metadata, &SchemaOptions { strings, ..SchemaOptions::default() });
        schema.fields().iter().map(|field| field.data_type().clone()).collect::<Vec<_>>()
    };
    let categories = dictionary(DataType::Int16, DataType::Utf8);
    assert_eq!(types(Strings::Views), [DataType::Utf8View, DataType::BinaryView, categories.clone()]);
    assert_eq!(types(Strings::Offsets), [DataType::LargeUtf8, DataType::Binary, categories]);
}

#[test]
fn extension_types_that_may_not_know_views_keep_their_storage() {
    let named = |name: &str, data_type| {
        let metadata = [("ARROW:extension:name".to_owned(), name.to_owned())].into();
        Field::new(name, data_type, true).with_metadata(metadata)
    };
    let metadata =
        written(Schema::new(vec![named("acme.path", DataType::LargeUtf8), named("geoarrow.wkb", DataType::Binary)]));
    let schema = read(&metadata, &SchemaOptions::default());
    assert_eq!(*schema.field(0).data_type(), DataType::LargeUtf8);
    assert_eq!(*schema.field(1).data_type(), DataType::BinaryView);
    assert_eq!(schema.field(0).extension_type_name(), Some("acme.path"));
}

#[test]
fn the_hint_can_be_switched_off() {
    let metadata = written(Schema::new(vec![Field::new("a", DataType::Duration(TimeUnit::Second), true)]));
    let schema = read(&metadata, &SchemaOptions { use_hint: false, ..offsets() });
    assert_eq!(*schema.field(0).data_type(), DataType::Int64);
    assert!(schema.metadata().is_empty(), "the hint itself is no metadata");
}

#[test]
fn key_value_pairs_of_the_file_and_of_the_hint_are_the_metadata_of_the_schema() {
    let hint = Schema::new(vec![Field::new("a", DataType::Int32, false)])
        .with_metadata([("from".to_owned(), "hint".to_owned())].into());
    let pairs = [
        KeyValue::new("ARROW:schema".to_owned(), encode_arrow_schema(&hint)),
        KeyValue::new("key".to_owned(), "value".to_owned()),
    ];
    let (schema, _) = build(&parse("message m { required int32 a; }"), Some(&pairs), &offsets(), None).unwrap();
    assert_eq!(schema.metadata()["from"], "hint");
    assert_eq!(schema.metadata()["key"], "value");
    assert_eq!(schema.metadata().len(), 2);
}

#[test]
fn a_hint_that_does_not_fit_or_cannot_be_read_is_ignored() {
    let other = encode_arrow_schema(&Schema::new(vec![Field::new("b", DataType::Int32, false)]));
    let good = encode_arrow_schema(&Schema::new(vec![Field::new("a", DataType::Duration(TimeUnit::Second), false)]));
    let cut = good[..good.len() / 2].to_owned();
    for value in [other, cut, "?".to_owned(), String::new()] {
        let pairs = [KeyValue::new("ARROW:schema".to_owned(), value.clone())];
        let (schema, _) = build(&parse("message m { required int64 a; }"), Some(&pairs), &offsets(), None).unwrap();
        assert_eq!(*schema.field(0).data_type(), DataType::Int64, "{value}");
    }
}

#[test]
fn every_change_of_a_byte_of_the_hint_gives_a_schema_of_the_same_leaves() {
    let hint = Schema::new(vec![
        Field::new("a", DataType::Timestamp(TimeUnit::Second, Some("UTC".into())), false),
        Field::new("d", dictionary(DataType::Int8, DataType::Utf8), true),
        Field::new("p", DataType::Decimal64(10, 2), true),
        Field::new("l", DataType::FixedSizeList(Arc::new(Field::new("element", DataType::LargeUtf8, true)), 3), true),
    ]);
    let message = "message m { required int64 a; optional binary d (STRING); optional int64 p (DECIMAL(10, 2));
      optional group l (LIST) { repeated group list { optional binary element (STRING); } } }";
    let descr = parse(message);
    let encoded = encode_arrow_schema(&hint);
    for position in 0..encoded.len() {
        for replacement in [b'A', b'/', b'f'] {
            let mut bytes = encoded.clone().into_bytes();
            bytes[position] = replacement;
            let pairs = [KeyValue::new("ARROW:schema".to_owned(), String::from_utf8(bytes).unwrap())];
            let (_, nodes) = build(&descr, Some(&pairs), &SchemaOptions::default(), None).unwrap();
            let found = leaves(&nodes);
            assert_eq!(found.len(), 4);
            for leaf in found {
                if let DataType::Decimal64(precision, scale) = leaf.field.data_type() {
                    assert_eq!((*precision, *scale), (10, 2));
                }
            }
        }
    }
}
