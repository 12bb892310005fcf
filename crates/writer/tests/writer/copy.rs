//! Row groups are copied byte for byte, with their indexes and Bloom filters, from files of any writer.

use std::fs;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int32Array, RecordBatch, StringArray, StructArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::concat::concat_batches;
use bytes::Bytes;
use lath_parquet::{Encoding, Error, ParquetFile, Projection, SortingColumn};
use lath_testkit::equality::same_values;
use lath_testkit::random::{FileShape, RandomFile};
use lath_testkit::{Seeded, parquet_test_data};
use lath_writer::{BloomFilter, ColumnOptions, ParquetWriter, WriteOptions, WriteSummary};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::{WriterProperties, WriterVersion};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;

use crate::reading::collect;
use crate::writing::write;

/// A file with all row groups of others.
fn copy(files: &[&ParquetFile], projection: Option<&Projection>) -> lath_parquet::Result<(Bytes, WriteSummary)> {
    let mut writer = ParquetWriter::new_like(Vec::new(), files[0], projection, WriteOptions::default())?;
    for file in files {
        (0..file.metadata().row_group_count()).try_for_each(|row_group| writer.copy_row_group(file, row_group))?;
    }
    let (bytes, summary) = writer.finish_into()?;
    Ok((bytes.into(), summary))
}

fn read(bytes: &Bytes) -> crate::reading::Table {
    ParquetFile::from_bytes(bytes.clone()).unwrap().scan().build().and_then(collect).unwrap()
}

/// Checks that two files have the same chunks, byte for byte, and the same metadata, by the `parquet` crate's reader.
fn check_same_chunks(expected: &Bytes, actual: &Bytes) {
    let open = |bytes: &Bytes| {
        let options = ReadOptionsBuilder::new().with_page_index().build();
        SerializedFileReader::new_with_options(bytes.clone(), options).unwrap()
    };
    let (old, new) = (open(expected), open(actual));
    assert_eq!(old.num_row_groups(), new.num_row_groups());
    for row_group in 0..old.num_row_groups() {
        let (old_group, new_group) = (old.metadata().row_group(row_group), new.metadata().row_group(row_group));
        assert_eq!(old_group.num_rows(), new_group.num_rows());
        assert_eq!(old_group.total_byte_size(), new_group.total_byte_size());
        for column in 0..old_group.num_columns() {
            let (old_chunk, new_chunk) = (old_group.column(column), new_group.column(column));
            let bytes = |file: &Bytes, (start, len): (u64, u64)| file.slice(start as usize..(start + len) as usize);
            let is_same = bytes(expected, old_chunk.byte_range()) == bytes(actual, new_chunk.byte_range());
            assert!(is_same, "chunk {row_group}, {column}");
            assert_eq!(old_chunk.statistics(), new_chunk.statistics());
            assert_eq!(old_chunk.definition_level_histogram(), new_chunk.definition_level_histogram());

            let distance = new_chunk.data_page_offset() - old_chunk.data_page_offset();
            let pages = |file: &SerializedFileReader<Bytes>, by: i64| {
                let pages = file.metadata().offset_index()?[row_group][column].page_locations().iter();
                Some(pages.map(|page| (page.offset + by, page.first_row_index)).collect::<Vec<_>>())
            };
            assert_eq!(pages(&old, distance), pages(&new, 0));
            let index =
                |file: &SerializedFileReader<Bytes>| Some(file.metadata().column_index()?[row_group][column].clone());
            assert_eq!(index(&old), index(&new));
            let filter = |file: &Bytes, chunk: &parquet::file::metadata::ColumnChunkMetaData| {
                let (start, len) = (chunk.bloom_filter_offset()? as usize, chunk.bloom_filter_length()? as usize);
                Some(file.slice(start..start + len))
            };
            assert_eq!(filter(expected, old_chunk), filter(actual, new_chunk));
        }
    }
}

#[test]
fn random_files_are_copied_chunk_by_chunk() {
    let mut random = Seeded::new("random_files_are_copied_chunk_by_chunk");
    for _ in 0..60 {
        let file = RandomFile::new(&mut random, FileShape::default());
        let (bytes, summary) = copy(&[&ParquetFile::from_bytes(file.bytes.clone()).unwrap()], None).unwrap();
        assert_eq!(summary.rows, file.row_count() as u64);
        check_same_chunks(&file.bytes, &bytes);
        let (expected, actual) = (read(&file.bytes), read(&bytes));
        assert_eq!(expected.0, actual.0);
        same_values((&expected.0, &expected.1), (&actual.0, &actual.1)).unwrap();
    }
}

/// Files of many writers, with types and schemas that Lath writes differently or not at all.
#[test]
fn files_of_the_corpus_are_copied() {
    let Some(corpus) = parquet_test_data() else { return };
    let mut copied = 0;
    for entry in fs::read_dir(corpus.join("data")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "parquet") {
            continue;
        }
        let bytes = Bytes::from(fs::read(&path).unwrap());
        let Ok(file) = ParquetFile::from_bytes(bytes.clone()) else { continue };
        // Some are gigabytes long.
        let byte_count: i64 = file.metadata().row_groups().filter_map(|row_group| row_group.total_byte_size()).sum();
        if byte_count > 1 << 20 {
            continue;
        }
        let Ok(expected) = file.scan().build().and_then(collect) else { continue };
        let bytes = match copy(&[&file], None) {
            Ok((bytes, _)) => bytes,
            // The `parquet` crate cannot write a logical type that it does not know.
            Err(Error::Unsupported { .. }) if path.ends_with("unknown-logical-type.parquet") => continue,
            Err(error) => panic!("{}: {error}", path.display()),
        };
        assert!(expected == read(&bytes), "{}", path.display());
        copied += 1;
    }
    assert!(copied > 50, "{copied} files were copied");
}

fn table(start: i32) -> RecordBatch {
    let schema: SchemaRef = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Int32, false),
        Field::new("name", DataType::Utf8, true),
        Field::new("tags", DataType::new_list(DataType::Int32, true), true),
    ]));
    let ids = Int32Array::from_iter_values(start..start + 1_000);
    let names: StringArray = (start..start + 1_000).map(|i| (i % 3 > 0).then(|| format!("name {i}"))).collect();
    let tags = arrow_array::ListArray::from_iter_primitive::<arrow_array::types::Int32Type, _, _>(
        (start..start + 1_000).map(|i| (i % 5 > 0).then(|| vec![Some(i); i as usize % 3])),
    );
    RecordBatch::try_new(schema, vec![Arc::new(ids), Arc::new(names), Arc::new(tags)]).unwrap()
}

fn file(start: i32) -> ParquetFile {
    let batch = table(start);
    let options = WriteOptions::default()
        .row_group_rows(400)
        .sorting_columns([SortingColumn::ascending("id")])
        .key_value_metadata("of", format!("{start}"))
        .column("name", ColumnOptions::new().bloom_filter(BloomFilter::DEFAULT));
    ParquetFile::from_bytes(write(&batch.schema(), &[batch], options).unwrap().0).unwrap()
}

#[test]
fn files_of_one_schema_become_one() {
    let (first, second) = (file(0), file(1_000));
    let (bytes, summary) = copy(&[&first, &second], None).unwrap();
    assert_eq!((summary.rows, summary.row_groups), (2_000, 6));
    let (expected, actual) = ([table(0), table(1_000)], read(&bytes));
    same_values((&expected[0].schema(), &expected), (&actual.0, &actual.1)).unwrap();
    let metadata = crate::reading::library_metadata(&ParquetFile::from_bytes(bytes).unwrap());
    assert!(metadata.row_groups().iter().all(|group| group.sorting_columns().unwrap()[0].column_idx == 0));
    let filters = |metadata: &parquet::file::metadata::ParquetMetaData| {
        metadata.row_groups().iter().filter(|group| group.column(1).bloom_filter_offset().is_some()).count()
    };
    assert_eq!(
        filters(&metadata),
        filters(&crate::reading::library_metadata(&first)) + filters(&crate::reading::library_metadata(&second))
    );
    let keys = metadata.file_metadata().key_value_metadata().unwrap();
    assert_eq!(keys.iter().map(|pair| &*pair.key).collect::<Vec<_>>(), ["of", "ARROW:schema"]);
}

#[test]
fn some_columns_are_copied_and_the_sorting_goes_with_its_column() {
    let source = file(0);
    for (paths, sorting) in [(vec!["id", "tags"], Some(0)), (vec!["name"], None), (vec!["tags"], None)] {
        let (bytes, _) = copy(&[&source], Some(&Projection::from_paths(paths.clone()))).unwrap();
        let expected = source.scan().select(paths).build().and_then(collect).unwrap();
        let actual = read(&bytes);
        assert_eq!(expected.0.fields(), actual.0.fields());
        same_values((&expected.0, &expected.1), (&actual.0, &actual.1)).unwrap();
        let metadata = crate::reading::library_metadata(&ParquetFile::from_bytes(bytes).unwrap());
        let copied = metadata.row_group(0).sorting_columns().map(|sorting| sorting[0].column_idx);
        assert_eq!(copied, sorting);
    }
}

#[test]
fn rows_are_written_between_row_groups_that_are_copied() {
    let (first, second) = (file(0), file(2_000));
    let middle = table(1_000);
    let mut writer = ParquetWriter::new(Vec::new(), &middle.schema(), WriteOptions::default()).unwrap();
    writer.can_copy(&first).unwrap();
    writer.copy_row_group(&first, 0).unwrap();
    writer.write(&middle).unwrap();
    writer.copy_row_group(&second, 2).unwrap();
    let (bytes, summary) = writer.finish_into().unwrap();
    assert_eq!((summary.rows, summary.row_groups), (400 + 1_000 + 200, 3));
    let expected = [table(0).slice(0, 400), middle.clone(), table(2_000).slice(800, 200)];
    let actual = read(&bytes.into());
    same_values((&middle.schema(), &expected), (&actual.0, &actual.1)).unwrap();
}

#[test]
fn files_of_other_schemas_are_refused() {
    let source = file(0);
    let refused = |fields: Vec<Field>| {
        let mut writer =
            ParquetWriter::new(Vec::new(), &Arc::new(Schema::new(fields)), WriteOptions::default()).unwrap();
        let refusal = writer.can_copy(&source).unwrap_err().to_string();
        assert_eq!(writer.copy_row_group(&source, 0).unwrap_err().to_string(), refusal);
        refusal
    };
    let id = |data_type, nullable| Field::new("id", data_type, nullable);
    assert!(refused(vec![Field::new("other", DataType::Int32, false)]).contains("no column other"));
    for field in [id(DataType::Int64, false), id(DataType::Int32, true), id(DataType::UInt32, false)] {
        assert!(refused(vec![field]).contains("column id of the file to be copied has another type"));
    }
    let mut writer = ParquetWriter::new_like(Vec::new(), &source, None, WriteOptions::default()).unwrap();
    assert!(writer.copy_row_group(&source, 3).unwrap_err().to_string().contains("no row group 3 in a file of 3"));
}

#[test]
fn rows_and_row_groups_go_to_a_file_with_the_types_of_another_writer() {
    let Some(corpus) = parquet_test_data() else { return };
    // Timestamps as INT96.
    let source = ParquetFile::open(corpus.join("data/alltypes_plain.parquet")).unwrap();
    let batch = source.scan().build().unwrap().next().unwrap().unwrap();
    let mut writer = ParquetWriter::new_like(Vec::new(), &source, None, WriteOptions::default()).unwrap();
    writer.write(&batch).unwrap();
    writer.copy_row_group(&source, 0).unwrap();
    let file = ParquetFile::from_bytes(writer.finish_into().unwrap().0.into()).unwrap();
    let types = |file: &ParquetFile| file.metadata().schema_descr().root_schema_ptr();
    assert_eq!(types(&file).get_fields(), types(&source).get_fields());
    let twice: Vec<_> = file.scan().build().unwrap().collect::<Result<_, _>>().unwrap();
    assert_eq!(
        concat_batches(&batch.schema(), &twice).unwrap(),
        concat_batches(&batch.schema(), [&batch, &batch]).unwrap()
    );
}

/// Two columns `a` of one type, one `b` between them, and a struct with two fields of one name.
fn namesakes() -> RecordBatch {
    let ints = |start: i32| Arc::new(Int32Array::from_iter_values(start..start + 100)) as ArrayRef;
    let inner = [Field::new("x", DataType::Int32, false), Field::new("x", DataType::Int32, false)];
    let pair = StructArray::new(inner.to_vec().into(), vec![ints(2_000), ints(3_000)], None);
    let field = |name: &str, data_type: &DataType| Field::new(name, data_type.clone(), false);
    let int = &DataType::Int32;
    let schema = Schema::new(vec![field("a", int), field("b", int), field("a", int), field("s", pair.data_type())]);
    RecordBatch::try_new(Arc::new(schema), vec![ints(0), ints(500), ints(1_000), Arc::new(pair)]).unwrap()
}

#[test]
fn columns_of_one_name_are_copied_each_from_its_own_place() {
    let batch = namesakes();
    let options = WriteOptions::default().row_group_rows(40);
    let source = ParquetFile::from_bytes(write(&batch.schema(), std::slice::from_ref(&batch), options).unwrap().0);
    let source = source.unwrap();
    let check = |projection: Option<Projection>, columns: &[usize]| {
        let (bytes, _) = copy(&[&source, &source], projection.as_ref()).unwrap();
        let (schema, rows) = read(&bytes);
        let expected = batch.project(columns).unwrap();
        same_values((&expected.schema(), &[expected.clone(), expected]), (&schema, &rows)).unwrap();
    };
    check(None, &[0, 1, 2, 3]);
    check(Some(Projection::from_paths(["a"])), &[0, 2]);
    check(Some(Projection::from_paths(["s", "b"])), &[1, 3]);
    check(Some(Projection::from_leaves([2])), &[2]);
    // Also to a file that was not created like it.
    let mut writer = ParquetWriter::new(Vec::new(), &batch.schema(), WriteOptions::default()).unwrap();
    (0..3).for_each(|row_group| writer.copy_row_group(&source, row_group).unwrap());
    let (schema, rows) = read(&writer.finish_into().unwrap().0.into());
    same_values((&batch.schema(), std::slice::from_ref(&batch)), (&schema, &rows)).unwrap();
}

#[test]
fn a_file_with_another_number_of_columns_of_one_name_is_not_copied() {
    let batch = namesakes();
    let one = batch.project(&[2, 1]).unwrap();
    let file = |batch: &RecordBatch| {
        let bytes = write(&batch.schema(), std::slice::from_ref(batch), WriteOptions::default()).unwrap().0;
        ParquetFile::from_bytes(bytes).unwrap()
    };
    for (like, other, counts) in [(&one, &batch, (2, 1)), (&batch.project(&[0, 2]).unwrap(), &one, (1, 2))] {
        let mut writer = ParquetWriter::new_like(Vec::new(), &file(like), None, WriteOptions::default()).unwrap();
        let refusal = writer.copy_row_group(&file(other), 0).unwrap_err().to_string();
        let expected = format!("has {} columns a, the file that is written has {}", counts.0, counts.1);
        assert!(refusal.contains(&expected), "{refusal}");
    }
}

#[test]
fn options_of_a_name_are_those_of_all_columns_that_have_it_and_sorting_by_it_is_refused() {
    let batch = namesakes();
    let options = WriteOptions::default().set(&batch.schema(), "bloom", "a").unwrap();
    let bytes = write(&batch.schema(), std::slice::from_ref(&batch), options).unwrap().0;
    let file = ParquetFile::from_bytes(bytes).unwrap();
    let has_filter = |leaf| file.metadata().chunk(0, leaf).unwrap().bloom_filter().is_some();
    assert_eq!([0, 1, 2, 3, 4].map(has_filter), [true, false, true, false, false]);
    let sorted = WriteOptions::default().sorting_columns([SortingColumn::ascending("a")]);
    let refusal = ParquetWriter::new(Vec::new(), &batch.schema(), sorted).unwrap_err().to_string();
    assert!(refusal.contains("sorting column a is ambiguous: 2 columns have this name"), "{refusal}");
}

#[test]
fn columns_of_one_name_inherit_each_its_own_options() {
    let texts: ArrayRef = Arc::new((0..100).map(|at| Some(format!("text {at}"))).collect::<StringArray>());
    let ints: ArrayRef = Arc::new(Int32Array::from_iter_values(0..100));
    let schema =
        Arc::new(Schema::new(vec![Field::new("a", DataType::Int32, false), Field::new("a", DataType::Utf8, true)]));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![ints, texts]).unwrap();
    let properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_dictionary_enabled(false)
        .build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, Arc::clone(&schema), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let source = ParquetFile::from_bytes(bytes.into()).unwrap();
    let options = WriteOptions::default().inherit(&source).unwrap();
    let file = ParquetFile::from_bytes(write(&schema, &[batch], options).unwrap().0).unwrap();
    let encodings = |file: &ParquetFile, leaf| file.metadata().chunk(0, leaf).unwrap().encodings();
    assert!(encodings(&file, 0).contains(&Encoding::DeltaBinaryPacked), "{:?}", encodings(&file, 0));
    assert!(encodings(&file, 1).contains(&Encoding::DeltaByteArray), "{:?}", encodings(&file, 1));
}

/// A file of two columns with Bloom filters. The filter of `id` has a wrong length, or is overwritten.
fn with_bad_filter(len: Option<i32>, is_overwritten: bool) -> Bytes {
    use parquet::arrow::ArrowWriter;
    use parquet::file::metadata::{ParquetMetaDataReader, ParquetMetaDataWriter};
    use parquet::file::properties::WriterProperties;

    let ids = Arc::new(Int32Array::from_iter_values(0..100));
    let rows = RecordBatch::try_from_iter([("id", ids.clone() as _), ("other", ids as _)]).unwrap();
    let properties = WriterProperties::builder().set_bloom_filter_enabled(true).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    let metadata = ParquetMetaDataReader::new().parse_and_finish(&Bytes::from(bytes.clone())).unwrap();
    let group = metadata.row_group(0).clone();
    let offset = group.column(0).bloom_filter_offset().unwrap() as usize;
    if is_overwritten {
        bytes[offset..offset + 8].fill(0xff);
    }
    let mut columns = group.columns().to_vec();
    columns[0] = columns[0].clone().into_builder().set_bloom_filter_length(len).build().unwrap();
    let group = group.into_builder().set_column_metadata(columns).build().unwrap();
    let metadata = metadata.into_builder().set_row_groups(vec![group]).build();
    let mut file = bytes;
    let footer_len = u32::from_le_bytes(file[file.len() - 8..file.len() - 4].try_into().unwrap()) as usize;
    file.truncate(file.len() - 8 - footer_len);
    ParquetMetaDataWriter::new(&mut file, &metadata).finish().unwrap();
    file.into()
}

#[test]
fn bloom_filters_are_copied_by_their_headers_and_left_out_where_they_are_none() {
    for (len, is_overwritten, is_kept) in [
        (Some(1 << 30), false, true),
        (Some(-5), false, true),
        (Some(3), false, true),
        (None, true, false),
        (Some(47), true, false),
    ] {
        let original = with_bad_filter(len, is_overwritten);
        let (bytes, _) = copy(&[&ParquetFile::from_bytes(original.clone()).unwrap()], None).unwrap();
        assert!(read(&bytes) == read(&original));
        let reader = SerializedFileReader::new(bytes.clone()).unwrap();
        let has_filter = |column: usize| reader.metadata().row_group(0).column(column).bloom_filter_offset().is_some();
        assert_eq!((has_filter(0), has_filter(1)), (is_kept, true), "{len:?} {is_overwritten}");
        let found = |value: i32| {
            let predicate = lath_parquet::Predicate::parse(&format!("id = {value} AND other = {value}")).unwrap();
            let file = ParquetFile::from_bytes(bytes.clone()).unwrap();
            let scan = file.scan().predicate(predicate).build().unwrap();
            scan.map(|batch| batch.unwrap().num_rows()).sum::<usize>()
        };
        assert_eq!((found(7), found(700)), (1, 0));
    }
}
