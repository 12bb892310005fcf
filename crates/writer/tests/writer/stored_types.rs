//! Columns that are read and written again keep their Parquet types, including types that Arrow lacks.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_cast::cast;
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef, TimeUnit};
use bytes::Bytes;
use lath_parquet::{PARQUET_TYPE_KEY, ParquetFile, Projection};
use lath_writer::{ParquetWriter, Profile, WriteOptions, WriteSummary, parquet_schema};
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{ByteArray, FixedLenByteArray, Int96};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{Type, TypePtr};

/// Types that Arrow alone cannot distinguish.
const MESSAGE: &str = "message m {
    required binary enum (ENUM);
    optional binary bson (BSON);
    required binary old_json (JSON);
    required binary old_text (UTF8);
    required int32 old_small (INT_16);
    required int32 old_unsigned (UINT_32);
    required int32 local_time (TIME(MILLIS,false));
    required int64 utc_time (TIME(MICROS,true));
    required int64 old_moment (TIMESTAMP_MICROS);
    required int96 moment;
    required int32 short_decimal (DECIMAL(5,2));
    required int64 long_decimal (DECIMAL(5,2));
    required binary decimal_bytes (DECIMAL(30,4));
    required fixed_len_byte_array(9) fixed_decimal (DECIMAL(5,2));
    required binary huge_decimal (DECIMAL(100,2));
    optional group two_levels (LIST) { repeated int32 element; }
    optional group bag (LIST) { repeated group bag { optional int32 array_element; } }
    repeated int32 bare;
    optional group old_map (MAP_KEY_VALUE) { repeated group map { required binary key (UTF8); optional int32 value; } }
    optional group map_of_optional (MAP) { repeated group key_value { optional binary key (STRING); optional int32 value; } }
    required group outer { required binary enum (ENUM) = 7; optional int32 plain; }
    required int32 with_id = 12;
}";

/// Columns that Arrow alone preserves.
const ORDINARY: &str = "message m {
    required int32 a;
    optional binary text (STRING);
    optional binary json (JSON);
    required fixed_len_byte_array(16) uuid (UUID);
    optional int64 moment (TIMESTAMP(MICROS,true));
    required int32 decimal (DECIMAL(9,2));
    optional group tags (LIST) { repeated group list { optional binary element (STRING); } }
    optional group map (MAP) { repeated group key_value { required binary key (STRING); optional int32 value; } }
    required int32 with_id = 12;
}";

fn message(text: &str) -> TypePtr {
    // The parser turns JSON into a logical type in any case.
    fn with_old_annotation(ty: &TypePtr) -> TypePtr {
        if ty.is_group() || !ty.name().starts_with("old_") {
            return Arc::clone(ty);
        }
        let info = ty.get_basic_info();
        let built = Type::primitive_type_builder(ty.name(), ty.get_physical_type())
            .with_repetition(info.repetition())
            .with_converted_type(info.converted_type())
            .build();
        Arc::new(built.unwrap())
    }
    let parsed = parse_message_type(text).unwrap();
    let fields = parsed.get_fields().iter().map(with_old_annotation).collect();
    Arc::new(Type::group_type_builder("m").with_fields(fields).build().unwrap())
}

/// A file with three rows, made by the `parquet` crate: nothing is null, and lists have one element.
fn file(schema: TypePtr) -> Bytes {
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(WriterProperties::default())).unwrap();
    let descr = writer.schema_descr().clone();
    let mut row_group = writer.next_row_group().unwrap();
    for column in descr.columns() {
        let mut chunk = row_group.next_column().unwrap().unwrap();
        let (def_levels, rep_levels) = ([column.max_def_level(); 3], [0; 3]);
        let (def_levels, rep_levels) = (Some(&def_levels[..]), Some(&rep_levels[..]));
        let bytes = |text: &[u8]| ByteArray::from(text.to_vec());
        match chunk.untyped() {
            ColumnWriter::Int32ColumnWriter(writer) => writer.write_batch(&[1, -2, 300], def_levels, rep_levels),
            ColumnWriter::Int64ColumnWriter(writer) => writer.write_batch(&[1, 2, 86_399_999], def_levels, rep_levels),
            ColumnWriter::Int96ColumnWriter(writer) => {
                let moments = [[5, 0, 2_440_588], [1_000, 7, 2_440_588], [0, 0, 2_440_000]];
                writer.write_batch(&moments.map(|words| Int96::from(words.to_vec())), def_levels, rep_levels)
            }
            ColumnWriter::ByteArrayColumnWriter(writer) if column.name().contains("decimal") => {
                // 127, 128 and -1, in as many bytes as needed.
                let numbers = [bytes(&[0x7f]), bytes(&[0, 0x80]), bytes(&[0xff])];
                writer.write_batch(&numbers, def_levels, rep_levels)
            }
            ColumnWriter::ByteArrayColumnWriter(writer) => {
                writer.write_batch(&[bytes(b"1"), bytes(b"22"), bytes(b"1")], def_levels, rep_levels)
            }
            ColumnWriter::FixedLenByteArrayColumnWriter(writer) => {
                let number =
                    |last| FixedLenByteArray::from([vec![0; column.type_length() as usize - 1], vec![last]].concat());
                writer.write_batch(&[number(1), number(2), number(3)], def_levels, rep_levels)
            }
            _ => unreachable!("there is no such column"),
        }
        .unwrap();
        chunk.close().unwrap();
    }
    row_group.close().unwrap();
    writer.into_inner().unwrap().into()
}

fn read(bytes: &Bytes, columns: Option<&[&str]>) -> (SchemaRef, Vec<RecordBatch>) {
    let file = ParquetFile::from_bytes(bytes.clone()).unwrap();
    let builder = match columns {
        Some(columns) => file.scan().select(columns.iter().copied()),
        None => file.scan(),
    };
    let batches = builder.build().unwrap();
    (batches.schema(), batches.collect::<Result<_, _>>().unwrap())
}

fn write(schema: &SchemaRef, batches: &[RecordBatch], options: WriteOptions) -> (Bytes, WriteSummary) {
    let mut writer = ParquetWriter::new(Vec::new(), schema, options).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    let (bytes, summary) = writer.finish_into().unwrap();
    (bytes.into(), summary)
}

/// The rows in the `parquet` crate's format, without conversion to Arrow.
fn rows(bytes: &Bytes) -> Vec<String> {
    let reader = SerializedFileReader::new(bytes.clone()).unwrap();
    reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect()
}

fn root(bytes: &Bytes) -> TypePtr {
    let reader = SerializedFileReader::new(bytes.clone()).unwrap();
    reader.metadata().file_metadata().schema_descr().root_schema_ptr()
}

/// The type of a root column of one field that carries `stored`.
fn column(stored: &Field) -> TypePtr {
    let descr = parquet_schema(&Schema::new(vec![stored.clone()])).unwrap();
    Arc::clone(&descr.root_schema().get_fields()[0])
}

fn field<'a>(schema: &'a Schema, name: &str) -> &'a Field {
    schema.field_with_name(name).unwrap()
}

#[test]
fn columns_are_written_as_the_types_that_they_were_read_from() {
    for text in [MESSAGE, ORDINARY] {
        let before = file(message(text));
        let (schema, batches) = read(&before, None);
        for options in [
            WriteOptions::default(),
            WriteOptions::default().dictionary(false),
            WriteOptions::profile(Profile::Compatible),
            WriteOptions::profile(Profile::Compact),
            WriteOptions::profile(Profile::Lookup),
        ] {
            let (after, _) = write(&schema, &batches, options);
            assert_eq!(root(&after).get_fields(), root(&before).get_fields());
            assert_eq!(rows(&after), rows(&before));
            assert_eq!(read(&after, None).1, batches);
        }
    }
}

#[test]
fn only_columns_that_arrow_would_change_carry_their_type() {
    let (schema, _) = read(&file(message(ORDINARY)), None);
    assert!(schema.fields().iter().all(|field| !field.metadata().contains_key(PARQUET_TYPE_KEY)), "{schema:?}");
    let (schema, batches) = read(&file(message(MESSAGE)), None);
    let bare = schema.fields().iter().filter(|field| !field.metadata().contains_key(PARQUET_TYPE_KEY));
    assert_eq!(bare.map(|field| field.name().as_str()).collect::<Vec<_>>(), ["local_time", "short_decimal", "with_id"]);
    // Files keep the Arrow schema, in which the type would be repeated.
    let (after, summary) = write(&schema, &batches, WriteOptions::default());
    let pairs = summary.metadata.key_value_metadata();
    assert_eq!(pairs.iter().map(|pair| pair.key.as_str()).collect::<Vec<_>>(), ["ARROW:schema"]);
    assert_eq!(read(&after, None).0.fields(), schema.fields());
}

#[test]
fn a_part_of_a_column_carries_the_part_of_the_type() {
    let before = file(message(MESSAGE));
    let (schema, batches) = read(&before, Some(&["outer.enum", "old_map"]));
    let (after, _) = write(&schema, &batches, WriteOptions::default());
    let root = root(&after);
    let [outer, map] = root.get_fields() else { unreachable!() };
    assert_eq!(map.get_basic_info().converted_type().to_string(), "MAP_KEY_VALUE");
    let [part] = outer.get_fields() else { unreachable!() };
    assert_eq!((part.get_basic_info().converted_type().to_string().as_str(), part.get_basic_info().id()), ("ENUM", 7));
    // The rest keeps the Arrow type.
    let (schema, _) = read(&before, Some(&["outer.plain"]));
    assert!(!schema.field(0).metadata().contains_key(PARQUET_TYPE_KEY));
}

#[test]
fn a_column_may_have_another_name_and_nulls() {
    let (schema, _) = read(&file(message(MESSAGE)), None);
    let renamed = column(&field(&schema, "enum").clone().with_name("kind").with_nullable(true));
    assert_eq!((renamed.name(), renamed.is_optional()), ("kind", true));
    assert_eq!(renamed.get_basic_info().converted_type().to_string(), "ENUM");
    // A list without a level for null is written like Arrow's.
    let bare = column(&field(&schema, "bare").clone().with_nullable(true));
    assert!(bare.is_group() && bare.is_optional());
}

#[test]
fn a_column_has_the_number_of_its_field() {
    let (schema, _) = read(&file(message(MESSAGE)), None);
    for (name, id) in [("fixed_decimal", None), ("two_levels", None), ("with_id", Some(12))] {
        let carrying = field(&schema, name).clone();
        let number = |ty: &TypePtr| ty.get_basic_info().has_id().then(|| ty.get_basic_info().id());
        assert_eq!(number(&column(&carrying)), id, "{name}");
        let mut metadata = carrying.metadata().clone();
        metadata.insert("PARQUET:field_id".to_owned(), "5".to_owned());
        let numbered = column(&carrying.clone().with_metadata(metadata));
        assert_eq!(number(&numbered), Some(5), "{name}");
    }
}

#[test]
fn a_column_of_another_arrow_type_is_written_as_that() {
    let (schema, _) = read(&file(message(MESSAGE)), None);
    for (name, data_type) in [
        ("enum", DataType::Int32),
        ("bson", DataType::Utf8),
        ("old_text", DataType::Binary),
        ("old_small", DataType::Int32),
        ("utc_time", DataType::Time64(TimeUnit::Nanosecond)),
        ("old_moment", DataType::Timestamp(TimeUnit::Microsecond, None)),
        ("old_moment", DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))),
        ("long_decimal", DataType::Decimal128(6, 3)),
        ("huge_decimal", DataType::Utf8),
        ("two_levels", DataType::Int32),
    ] {
        let carrying = field(&schema, name).clone().with_data_type(data_type);
        let bare = carrying.clone().with_metadata(HashMap::new());
        assert_eq!(column(&carrying), column(&bare), "{name}");
    }
}

#[test]
fn one_leaf_of_another_arrow_type_leaves_the_others_as_they_were() {
    let (schema, _) = read(&file(message(MESSAGE)), None);
    let outer = field(&schema, "outer");
    let DataType::Struct(fields) = outer.data_type() else { unreachable!() };
    let long: FieldRef = Arc::new(fields[1].as_ref().clone().with_data_type(DataType::Int64));
    let outer =
        column(&outer.clone().with_data_type(DataType::Struct([fields[0].clone(), long].into_iter().collect())));
    assert_eq!(outer.get_fields()[0].get_basic_info().converted_type().to_string(), "ENUM");
    assert_eq!(outer.get_fields()[1].get_physical_type(), parquet::basic::Type::INT64);
}

#[test]
fn layouts_of_the_same_values_do_not_matter() {
    let (schema, batches) = read(&file(message(MESSAGE)), Some(&["enum", "old_text", "long_decimal"]));
    let dictionary = |values| DataType::Dictionary(Box::new(DataType::Int32), Box::new(values));
    let types = [dictionary(DataType::Binary), DataType::LargeUtf8, DataType::Decimal256(5, 2)];
    let fields =
        schema.fields().iter().zip(&types).map(|(field, ty)| field.as_ref().clone().with_data_type(ty.clone()));
    let other = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns = batches[0].columns().iter().zip(&types).map(|(column, ty)| cast(column, ty).unwrap());
    let columns: Vec<ArrayRef> = columns.collect();
    let rows = RecordBatch::try_new(Arc::clone(&other), columns).unwrap();
    let (after, _) = write(&other, &[rows], WriteOptions::default());
    let (expected, _) = write(&schema, &batches, WriteOptions::default());
    assert_eq!(root(&after), root(&expected));
}

#[test]
fn a_carried_type_that_cannot_be_read_is_passed_over() {
    let plain = Field::new("a", DataType::Binary, true);
    let (schema, _) = read(&file(message(MESSAGE)), None);
    let whole = &field(&schema, "enum").metadata()[PARQUET_TYPE_KEY];
    let mut values = vec![String::new(), "!".to_owned(), "AAAA".to_owned(), "//////////8=".to_owned()];
    values.extend((0..whole.len()).step_by(3).map(|len| whole[..len].to_owned()));
    for value in values {
        let carrying = plain.clone().with_metadata([(PARQUET_TYPE_KEY.to_owned(), value.clone())].into());
        assert_eq!(column(&carrying), column(&plain), "{value}");
    }
}

#[test]
fn statistics_of_decimals_in_bytes_are_those_of_numbers() {
    let (schema, batches) = read(&file(message(MESSAGE)), Some(&["decimal_bytes"]));
    for dictionary in [false, true] {
        let (_, summary) = write(&schema, &batches, WriteOptions::default().dictionary(dictionary));
        let statistics = summary.metadata.chunk(0, 0).unwrap().statistics().unwrap();
        assert_eq!(statistics.min, Some(&[0xff][..]));
        assert_eq!(statistics.max, Some(&[0, 0x80][..]));
    }
}

#[test]
fn a_file_is_written_like_another_with_its_types() {
    let bytes = file(message(MESSAGE));
    let other = ParquetFile::from_bytes(bytes.clone()).unwrap();
    let projection = Projection::from_paths(["enum", "bag", "map_of_optional"]);
    let batches = other.scan().select(["enum", "bag", "map_of_optional"]).build().unwrap();
    let mut writer = ParquetWriter::new_like(Vec::new(), &other, Some(&projection), WriteOptions::default()).unwrap();
    batches.for_each(|batch| writer.write(&batch.unwrap()).unwrap());
    let (after, _) = writer.finish_into().unwrap();
    let after = Bytes::from(after);
    assert_eq!(root(&after).get_fields().len(), 3);
    assert!(rows(&after)[2].contains("bag: [300]"), "{:?}", rows(&after));
}
